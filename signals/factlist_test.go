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

// TestSlabsGiveEachPieceOnce: what is taken is zero, has no room to grow into and
// belongs to nobody else.
func TestSlabsGiveEachPieceOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s slab[int]
		var taken [][]int
		for i := range rapid.IntRange(1, 100).Draw(t, "pieces") {
			n := rapid.IntRange(0, 2*maxPiece).Draw(t, "size")
			piece := s.take(n)
			if len(piece) != n || cap(piece) != n {
				t.Fatalf("a piece of %d and room for %d, want %d", len(piece), cap(piece), n)
			}
			for j := range piece {
				if piece[j] != 0 {
					t.Fatalf("piece %d has what is in another", i)
				}
				piece[j] = i + 1
			}
			taken = append(taken, piece)
		}
		for i, piece := range taken {
			for _, v := range piece {
				if v != i+1 {
					t.Fatalf("piece %d was written by another", i)
				}
			}
		}
	})
}
