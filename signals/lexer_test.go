package signals

import (
	"slices"
	"strings"
	"testing"
)

// FuzzOperator: an operator is the first of the table that the text begins with.
func FuzzOperator(f *testing.F) {
	for _, o := range operators {
		f.Add(o)
		f.Add(o + "x")
		f.Add(o[:1])
	}
	f.Add("")
	f.Add("é=")
	f.Fuzz(func(t *testing.T, s string) {
		want := 0
		if at := slices.IndexFunc(operators, func(o string) bool { return strings.HasPrefix(s, o) }); at >= 0 {
			want = len(operators[at])
		}
		if got := operator(s); got != want {
			t.Errorf("operator %q: got %d, want %d", s, got, want)
		}
	})
}
