package bench_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/conjunct-project/conjunct/bench"
	"github.com/conjunct-project/conjunct/engine"
)

// corpus draws cases on which the premises of the proposition hold: signals are
// binary, the conjunction refuses where any fired, controls are silent, and
// every signal fires alone somewhere.
func corpus(t *rapid.T, signals int) []bench.Point {
	points := []bench.Point{{Admitted: true, Want: engine.Allow}}
	for i := range signals {
		points = append(points, bench.Point{Fired: 1 << i, Want: engine.Block})
	}
	for range rapid.IntRange(0, 40).Draw(t, "more") {
		fired := rapid.Uint64Range(0, 1<<signals-1).Draw(t, "fired")
		points = append(points, bench.Point{Fired: fired, Admitted: fired == 0, Want: want(fired)})
	}
	return points
}

func want(fired uint64) engine.Outcome {
	if fired == 0 {
		return engine.Allow
	}
	return engine.Block
}

func weights(t *rapid.T, signals int) []int {
	return rapid.SliceOfN(rapid.IntRange(1, 100), signals, signals).Draw(t, "weights")
}

// TestProposition: a score with positive weights and threshold agrees with the
// conjunction exactly where its threshold is at most the smallest weight.
func TestProposition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "signals")
		s := bench.Score{Weights: weights(t, n), Tau: rapid.IntRange(1, 200).Draw(t, "tau")}
		points := corpus(t, n)
		if got, want := s.Agrees(points), s.Tau <= slices.Min(s.Weights); got != want {
			t.Fatalf("%+v agrees: %v, want %v on %v", s, got, want, points)
		}
	})
}

// TestPropositionNeedsItsPremises drops one premise at a time and finds a corpus
// on which the two sides of the proposition come apart.
func TestPropositionNeedsItsPremises(t *testing.T) {
	silent := bench.Point{Admitted: true, Want: engine.Allow}
	block := func(fired uint64) bench.Point { return bench.Point{Fired: fired, Want: engine.Block} }
	for _, c := range []struct {
		name   string
		score  bench.Score
		points []bench.Point
		agrees bool
	}{
		{"a threshold of zero", bench.Score{Weights: []int{30, 70}, Tau: 0}, []bench.Point{silent, block(1), block(2)}, false},
		{"a weight of zero beside a threshold of zero", bench.Score{Weights: []int{0, 70}, Tau: 0}, []bench.Point{silent, block(1), block(2)}, false},
		{"a negative weight", bench.Score{Weights: []int{50, -10}, Tau: 45}, []bench.Point{silent, block(1)}, true},
		{"a negative weight that buys back", bench.Score{Weights: []int{50, 20, -40}, Tau: -40}, []bench.Point{silent, block(1), block(2), block(4)}, false},
		{"a control that is not silent", bench.Score{Weights: []int{30, 70}, Tau: 20}, []bench.Point{{Fired: 1, Admitted: true, Want: engine.Allow}, block(1), block(2)}, false},
		{"a signal that is never alone", bench.Score{Weights: []int{30, 70}, Tau: 60}, []bench.Point{silent, block(2), block(3)}, true},
		{"a fault that no signal sees", bench.Score{Weights: []int{30, 70}, Tau: 20}, []bench.Point{silent, block(0), block(1), block(2)}, false},
		{"no cases", bench.Score{Weights: []int{30, 70}, Tau: 20}, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.score.Agrees(c.points); got != c.agrees {
				t.Fatalf("agrees: %v, want %v", got, c.agrees)
			}
			if c.agrees == (c.score.Tau <= slices.Min(c.score.Weights)) {
				t.Errorf("the proposition holds here, so nothing is shown")
			}
		})
	}
}

// TestSweepIsTheScore holds the sweep to the score, row by row, and to a sum in
// fractions where rounding does not matter.
func TestSweepIsTheScore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 4).Draw(t, "signals")
		points := corpus(t, n)
		s := bench.RunSweep([]string{"a", "b", "c", "d"}[:n], weights(t, n), points)
		agreeing := 0
		for _, r := range s.Rows {
			score := bench.Score{Tau: int(r.Tau*100 + 0.5)}
			for _, w := range r.Weights {
				score.Weights = append(score.Weights, int(w*100+0.5))
			}
			if r.Agrees != score.Agrees(points) {
				t.Fatalf("row %v: agrees %v", r, r.Agrees)
			}
			if r.Agrees {
				agreeing++
			}
		}
		if !s.Holds() || agreeing != s.Agreeing || len(s.Rows) != s.Configurations || s.Configurations%19 != 0 {
			t.Fatalf("%d of %d rows agree, %d of %d are said to; holds %v", agreeing, len(s.Rows), s.Agreeing, s.Configurations, s.Holds())
		}
	})
}
