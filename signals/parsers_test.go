package signals

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"
)

// TestParsersBeginAnew: a parser that is used again reads what a new one reads, and
// what it read before stays as it was.
func TestParsersBeginAnew(t *testing.T) {
	for _, variant := range []syntax.LangVariant{syntax.LangBash, syntax.LangPOSIX} {
		anew := func(src string) (*syntax.File, error) {
			return syntax.NewParser(syntax.Variant(variant)).Parse(strings.NewReader(src), "")
		}
		again := syntax.NewParser(syntax.Variant(variant))
		var lines []string
		var files []*syntax.File
		for seed := range uint64(600) {
			w := writer{rand.New(rand.NewPCG(seed, 5))}
			text := w.line(2)
			if seed%3 == 0 {
				text = w.torn(text)
			}
			want, err := anew(text)
			if err != nil {
				continue // a parser that failed is not used again
			}
			got, err := again.Parse(strings.NewReader(text), "")
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("%q: a parser that is used again reads another text: %v", text, err)
			}
			lines, files = append(lines, text), append(files, got)
		}
		for i, text := range lines {
			if want, _ := anew(text); !reflect.DeepEqual(files[i], want) {
				t.Fatalf("%q: what was read is not what it was", text)
			}
		}
		if len(lines) < 200 {
			t.Errorf("only %d lines were read", len(lines))
		}
	}
}
