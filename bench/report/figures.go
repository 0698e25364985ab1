package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/conjunct-project/conjunct/bench"
	"github.com/conjunct-project/conjunct/bench/figure"
	"github.com/conjunct-project/conjunct/bench/noise"
)

// drawn is a figure with the name of its files and what it shows.
type drawn struct {
	name, caption string
	figure        figure.Figure
}

// percent of a share; nothing counted is nothing admitted.
func percent(s bench.Share) float64 {
	f, _ := s.Fraction()
	return 100 * f
}

// threshold draws what the score admits at each threshold, each point at the
// order of weights that is most favourable there.
func threshold(c *bench.Compare) drawn {
	sweep := c.Sweep()
	curves := []figure.Line{{Name: "faults to be blocked"}, {Name: "faults to be reviewed"}, {Name: "harmless controls"}}
	for _, r := range sweep.Favourable() {
		for i, y := range []float64{percent(r.Unauthorised), percent(r.AutoAdmittedReview), 100 - percent(r.FalseRefusal)} {
			curves[i].Points = append(curves[i].Points, figure.Point{X: r.Tau, Y: y})
		}
	}
	vendor := c.Arms["score_vendor"].Unauthorised
	return drawn{"threshold", "What a weighted score admits at each threshold; each point at the order of weights that admits the fewest injections. The conjunction admits all of the harmless and none of the others.",
		figure.Lines{Title: "Admitted by a weighted score", X: "threshold tau, of weights that add up to 1", Y: "admitted, % of its kind", Curves: curves, MaxX: 1, MaxY: 105, Steps: true,
			Marks: []figure.Mark{{Name: fmt.Sprintf("the vendor's: %s", vendor), X: c.Vendor.Tau, Y: percent(vendor)}}}}
}

// classes draws what each arm admits of each class.
func classes(c *bench.Compare) drawn {
	f := figure.Bars{Title: "Admitted injections by class", Groups: c.Classes()}
	for _, arm := range bench.CompareArms() {
		s := figure.Series{Name: arm}
		for _, class := range f.Groups {
			share := c.Arms[arm].PerClass[class]
			s.Values = append(s.Values, float64(share.Count))
			f.Max = max(f.Max, float64(share.Of))
		}
		f.Series = append(f.Series, s)
	}
	f.Y = fmt.Sprintf("admitted injections, of %g", f.Max)
	f.Max *= 1.1
	return drawn{"classes", "Injections of each class that each arm admitted. An arm without a bar admitted none.", f}
}

// human draws unsafe executions and human load of the critic study.
func human(c *bench.Critic) drawn {
	f := figure.Bars{Title: "Critic study", Y: "% of proposals", Groups: bench.CriticArms(), Series: []figure.Series{{Name: "unsafe executions"}, {Name: "human load"}}}
	for _, arm := range f.Groups {
		for i, share := range []bench.Share{c.Arms[arm].UnsafeExecutions, c.Arms[arm].HumanLoad} {
			f.Series[i].Values = append(f.Series[i].Values, percent(share))
			f.Max = max(f.Max, 1.1*percent(share))
		}
	}
	return drawn{"critic", "Unsafe executions and human load of each arm, of all constructed proposals.", f}
}

// farthest is the load at which a frontier is cut off: more is no review but a
// second shift.
const farthest = 40

// frontier draws harm against load in one scenario.
func frontier(s noise.ScenarioResult) drawn {
	f := figure.Lines{Title: "Harm against load: " + s.Scenario.Name, X: "review requests, % of proposals", Y: "harmful releases, % of harmful", MaxX: farthest, MaxY: 100}
	for _, one := range s.Frontiers {
		line := figure.Line{Name: one.Rule}
		for _, p := range one.Points {
			if p.Load.Mean <= farthest {
				line.Points = append(line.Points, figure.Point{X: p.Load.Mean, Y: p.Harm.Mean, Half: p.Harm.Half})
			}
		}
		slices.SortFunc(line.Points, func(a, b figure.Point) int {
			if a.X < b.X {
				return -1
			}
			return 1
		})
		f.Curves = append(f.Curves, line)
	}
	name := "frontier-" + strings.ReplaceAll(s.Scenario.Name, " ", "-")
	return drawn{name, s.Scenario.Says + " Lower and further left is better; bars are 95 % intervals of harm.", f}
}
