package signals

import (
	"testing"

	"github.com/bmatcuk/doublestar/v4"
)

// FuzzTail: what is passed over for the text that it lacks matches nothing, and
// nothing else is told of a name than the library tells.
func FuzzTail(f *testing.F) {
	for _, pattern := range []string{"", "**", "**/.env", "**/.env.*", "**/*.pem", "*.md", "a/b?c/*x*", "{a,b}/c", "[ab]c", `a\*b`, "a/**/b", "�x", "**/id_rsa*", "x}y", "é"} {
		for _, name := range []string{"", "a", ".env", "a/.env", "a/.env.x/y", "k.pem", "k.pem/z", "b/c", "a*b", "a/b", "a/x/y/b", "\xffx", "x}y", "a/bzc/x", "é"} {
			f.Add(pattern, name)
		}
	}
	f.Fuzz(func(t *testing.T, pattern, name string) {
		if !doublestar.ValidatePattern(pattern) {
			return // no scope holds it
		}
		match := func(pattern string) bool {
			ok, err := doublestar.Match(pattern, name)
			return ok && err == nil
		}
		for _, tree := range []bool{false, true} {
			want := match(pattern) || tree && match(pattern+"/**")
			if pattern == "" {
				want = tree || name == ""
			}
			if got := newTail(pattern).matches(name, tree); got != want {
				t.Errorf("%q matches %q, tree %t: got %t, want %t", pattern, name, tree, got, want)
			}
		}
	})
}
