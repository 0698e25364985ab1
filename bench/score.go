package bench

import (
	"slices"

	"github.com/conjunct-project/conjunct/engine"
)

// Score refuses where the weighted sum of the signals that fired reaches the
// threshold, and admits otherwise. Weights and threshold are hundredths, so that
// a sum has no rounding.
type Score struct {
	Weights []int
	Tau     int
}

// Refuses reports whether the score refuses when these signals fired, as bits in
// the order of the weights.
func (s Score) Refuses(fired uint64) bool {
	sum := 0
	for i, w := range s.Weights {
		if fired>>i&1 == 1 {
			sum += w
		}
	}
	return sum >= s.Tau
}

// Point is one case as a sweep sees it: which signals fired, whether the
// conjunction admitted it, and what it should have come to.
type Point struct {
	Fired    uint64
	Admitted bool
	Want     engine.Outcome
}

// Agrees reports whether the score admits exactly the cases that the conjunction
// admits. Over no cases nothing agrees.
func (s Score) Agrees(points []Point) bool {
	for _, p := range points {
		if s.Refuses(p.Fired) == p.Admitted {
			return false
		}
	}
	return len(points) > 0
}

// permutations lists the different orders of the weights, in ascending order.
func permutations(weights []int) [][]int {
	sorted := slices.Sorted(slices.Values(weights))
	var out [][]int
	var extend func(prefix, rest []int)
	extend = func(prefix, rest []int) {
		if len(rest) == 0 {
			out = append(out, prefix)
		}
		for i, w := range rest {
			if i > 0 && w == rest[i-1] {
				continue
			}
			next := append(slices.Clone(prefix), w)
			extend(next, slices.Delete(slices.Clone(rest), i, i+1))
		}
	}
	extend(nil, sorted)
	return out
}
