package signals

import (
	"testing"

	"pgregory.net/rapid"
)

// TestSlabsGiveEachPieceOnce: what is taken is zero, has no room to grow into and
// belongs to nobody else.
func TestSlabsGiveEachPieceOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := slab[int]{most: rapid.IntRange(0, 20).Draw(t, "most")}
		var taken [][]int
		for i := range rapid.IntRange(1, 100).Draw(t, "pieces") {
			n := rapid.IntRange(0, 30).Draw(t, "size")
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
