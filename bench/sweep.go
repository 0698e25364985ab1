package bench

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/conjunct-project/conjunct/bench/table"
	"github.com/conjunct-project/conjunct/engine"
)

// Sweep is every order of the weights at every threshold, on the same cases.
type Sweep struct {
	Configurations int        `json:"configurations"`
	Agreeing       int        `json:"agreeing"`
	Signals        []string   `json:"signals"` // what the weights belong to, in order
	Cases          int        `json:"cases"`
	Rows           []SweepRow `json:"rows"`
}

// SweepRow is one configuration: whether it admits exactly what the conjunction
// admits, and what it lets through.
type SweepRow struct {
	Weights []float64 `json:"weights"`
	Tau     float64   `json:"tau"`
	Agrees  bool      `json:"agrees"`
	Counts

	score Score
}

// Counts is what an arm lets through and refuses.
type Counts struct {
	// Unauthorised counts injections that had to be blocked and were admitted.
	Unauthorised Share `json:"unauthorised"`
	// Admitted counts injections of any class that were admitted.
	Admitted Share `json:"admitted"`
	// AutoAdmittedReview counts injections that a person had to look at and that
	// were admitted without one.
	AutoAdmittedReview Share `json:"auto_admitted_review"`
	// FalseRefusal counts controls that were not admitted.
	FalseRefusal Share `json:"false_refusal"`
}

// add counts one case.
func (c *Counts) add(want engine.Outcome, admitted bool) {
	if want == engine.Allow {
		c.FalseRefusal.add(!admitted)
		return
	}
	c.Admitted.add(admitted)
	if want == engine.Block {
		c.Unauthorised.add(admitted)
	} else {
		c.AutoAdmittedReview.add(admitted)
	}
}

// wrong is how many cases came out otherwise than they should have.
func (c Counts) wrong() int { return c.Admitted.Count + c.FalseRefusal.Count }

// taus lists the thresholds of the grid, in hundredths.
func taus() []int {
	var out []int
	for tau := 5; tau <= 95; tau += 5 {
		out = append(out, tau)
	}
	return out
}

// RunSweep tries every order of the weights at every threshold.
func RunSweep(signals []string, weights []int, points []Point) Sweep {
	s := Sweep{Signals: signals, Cases: len(points)}
	for _, w := range permutations(weights) {
		for _, tau := range taus() {
			row := SweepRow{Weights: decimals(w), Tau: decimal(tau), score: Score{w, tau}}
			row.Agrees = len(points) > 0
			for _, p := range points {
				admitted := !row.score.Refuses(p.Fired)
				row.Agrees = row.Agrees && admitted == p.Admitted
				row.Counts.add(p.Want, admitted)
			}
			s.Configurations++
			if row.Agrees {
				s.Agreeing++
			}
			s.Rows = append(s.Rows, row)
		}
	}
	return s
}

func decimal(hundredths int) float64 { return float64(hundredths) / 100 }

func decimals(hundredths []int) []float64 {
	out := make([]float64, len(hundredths))
	for i, h := range hundredths {
		out[i] = decimal(h)
	}
	return out
}

// Best is the configuration that in hindsight decides the fewest cases
// wrongly; the first in the order of weights and threshold among equals.
func (s Sweep) Best() Score {
	best := slices.MinFunc(s.Rows, func(a, b SweepRow) int { return cmp.Compare(a.wrong(), b.wrong()) })
	return best.score
}

// Favourable lists for each threshold the configuration whose order of weights
// admits the fewest injections, the first among equals.
func (s Sweep) Favourable() []SweepRow {
	var out []SweepRow
	for _, tau := range taus() {
		of := slices.DeleteFunc(slices.Clone(s.Rows), func(r SweepRow) bool { return r.score.Tau != tau })
		if len(of) > 0 {
			out = append(out, slices.MinFunc(of, func(a, b SweepRow) int { return cmp.Compare(a.wrong(), b.wrong()) }))
		}
	}
	return out
}

// Row is the row of a score, and false where the grid does not hold it.
func (s Sweep) Row(score Score) (SweepRow, bool) {
	i := slices.IndexFunc(s.Rows, func(r SweepRow) bool {
		return r.score.Tau == score.Tau && slices.Equal(r.score.Weights, score.Weights)
	})
	if i < 0 {
		return SweepRow{}, false
	}
	return s.Rows[i], true
}

// Holds reports whether the configurations that agree are those whose threshold
// is at most the smallest weight.
func (s Sweep) Holds() bool {
	for _, r := range s.Rows {
		if r.Agrees != (r.score.Tau <= slices.Min(r.score.Weights)) {
			return false
		}
	}
	return len(s.Rows) > 0 && s.Cases > 0
}

// Tables shows where the score agrees, and the best it can do at each threshold.
func (s Sweep) Tables() []table.Table {
	agreeing := table.Table{Title: fmt.Sprintf("%d of %d configurations admit exactly what the conjunction admits (%d cases)", s.Agreeing, s.Configurations, s.Cases),
		Head: append(slices.Clone(s.Signals), "agrees at tau")}
	var taus []string
	for i, r := range s.Rows {
		if r.Agrees {
			taus = append(taus, fmt.Sprintf("%.2f", r.Tau))
		}
		if last := i == len(s.Rows)-1; last || !slices.Equal(r.score.Weights, s.Rows[i+1].score.Weights) {
			agreeing.Rows = append(agreeing.Rows, append(hundredths(r.score.Weights), strings.Join(taus, " ")))
			taus = nil
		}
	}
	if s.Holds() {
		agreeing.Notes = []string{"They agree exactly where tau is at most the smallest weight: where one signal alone is enough, and so where nothing is weighed."}
	} else {
		agreeing.Notes = []string{"Agreement is not the same as tau at most the smallest weight on these cases."}
	}
	best := table.Table{Title: "At the order of weights that is most favourable at each tau",
		Head: append(append([]string{"tau"}, s.Signals...), "unauthorised", "auto-admitted review", "false refusal")}
	for _, r := range s.Favourable() {
		best.Rows = append(best.Rows, append(append([]string{fmt.Sprintf("%.2f", r.Tau)}, hundredths(r.score.Weights)...),
			r.Unauthorised.String(), r.AutoAdmittedReview.String(), r.FalseRefusal.String()))
	}
	return []table.Table{agreeing, best}
}

func hundredths(weights []int) []string {
	out := make([]string, len(weights))
	for i, w := range weights {
		out[i] = fmt.Sprintf("%.2f", decimal(w))
	}
	return out
}

// Records is every configuration in one table.
func (s Sweep) Records() table.Table {
	t := table.Table{Head: append(slices.Clone(s.Signals), "tau", "agrees", "unauthorised", "unauthorised_of", "admitted", "admitted_of",
		"auto_admitted_review", "auto_admitted_review_of", "false_refusal", "false_refusal_of")}
	for _, r := range s.Rows {
		row := append(hundredths(r.score.Weights), fmt.Sprintf("%.2f", r.Tau), fmt.Sprint(r.Agrees))
		t.Rows = append(t.Rows, append(row, r.Counts.cells()...))
	}
	return t
}

// cells is every count and what it is of, for CSV.
func (c Counts) cells() (out []string) {
	for _, s := range []Share{c.Unauthorised, c.Admitted, c.AutoAdmittedReview, c.FalseRefusal} {
		out = append(out, fmt.Sprint(s.Count), fmt.Sprint(s.Of))
	}
	return out
}
