package signals

import (
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"
)

// FuzzBracketed: text that is not looked through for functions, [[ and (( has
// none.
func FuzzBracketed(f *testing.F) {
	for _, src := range []string{"ls", "f() { ls; }", "function f { ls; }", "func\\\ntion f { ls; }", "[[ a ]]", "[\\\n[ a ]]", "((1))", "if true; then f() ls; fi", "func\r\ntion f { ls; }", "echo `[[ a ]]`", "functio\\n f", "coproc f { ls; }", "<<E\nx\nE"} {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src string) {
		file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(src), "")
		if err != nil || bracketed(src) {
			return
		}
		l := line{functions: map[string]bool{}}
		if l.declared(file) || len(l.functions) > 0 {
			t.Errorf("%q is passed over and has %v", src, l.functions)
		}
	})
}
