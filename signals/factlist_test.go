package signals

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

// TestListsThatAreGivenAgain: whatever was asked for before, a list of facts holds
// what it was asked for, and nobody else's list changes.
func TestListsThatAreGivenAgain(t *testing.T) {
	word := rapid.SampledFrom([]string{"read", "write", "execute", "delete", ""})
	rapid.Check(t, func(t *rapid.T) {
		var l factLists
		var got, want []any
		for range rapid.IntRange(1, 3*maxKept).Draw(t, "lists") {
			texts := rapid.SliceOfN(word, 0, 3).Draw(t, "texts")
			list := []any{}
			for _, s := range texts {
				list = append(list, s)
			}
			if want = append(want, list); rapid.Bool().Draw(t, "of") {
				own := append([]any(nil), list...)
				got = append(got, l.of(own))
				clear(own) // it was copied
			} else {
				got = append(got, l.inOrder(texts))
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}
