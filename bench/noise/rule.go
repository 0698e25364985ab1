package noise

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// scores is what a rule gets of a proposal: what its detectors read, and not
// whether it is harmful.
type scores = [width]float64

// rule decides what is held for a person.
type rule interface{ holds(scores) bool }

// conjunction releases where every gate passes. A gate fails where at least
// need of its detectors fire.
type conjunction struct {
	need  int
	limit float64
}

func (c conjunction) holds(x scores) bool {
	for kind := range Kinds {
		if c.fired(x, kind) >= c.need {
			return true
		}
	}
	return false
}

func (c conjunction) fired(x scores, kind int) (n int) {
	for _, s := range x[kind*PerKind : (kind+1)*PerKind] {
		if s > c.limit {
			n++
		}
	}
	return n
}

// saturated is a weighted sum of signals that are on or off, each on where most
// detectors of its kind fire: the vendor's form. Hundredths.
type saturated struct {
	weights [Kinds]int
	tau     int
	limit   float64
}

func (s saturated) holds(x scores) bool {
	sum, gate := 0, conjunction{limit: s.limit}
	for kind, w := range s.weights {
		if 2*gate.fired(x, kind) > PerKind {
			sum += w
		}
	}
	return sum >= s.tau
}

// linear is a weighted sum of the continuous scores.
type linear struct {
	weights scores
	tau     float64
}

func (l linear) holds(x scores) bool { return l.sum(x) >= l.tau }

func (l linear) sum(x scores) (sum float64) {
	for k, w := range l.weights {
		sum += w * x[k]
	}
	return sum
}

// tune finds weights that separate harmful from harmless proposals of a sample
// as well as a weighted sum of normal scores can: the inverse of the scores'
// covariance, within the two groups, times the difference of their means.
func tune(sample []proposal) (linear, error) {
	var l linear
	groups := [2]*mat.Dense{group(sample, false), group(sample, true)}
	if groups[0] == nil || groups[1] == nil {
		return l, fmt.Errorf("noise: a sample of %d holds too few proposals of one sort to tune on", len(sample))
	}
	var within mat.SymDense
	within.ReuseAsSym(width)
	diff := mat.NewVecDense(width, nil)
	total := 0.0
	for i, g := range groups {
		var cov mat.SymDense
		stat.CovarianceMatrix(&cov, g, nil)
		n, _ := g.Dims()
		cov.ScaleSym(float64(n), &cov)
		within.AddSym(&within, &cov)
		total += float64(n)
		for k := range width {
			mean := stat.Mean(mat.Col(nil, k, g), nil)
			diff.SetVec(k, diff.AtVec(k)+mean*float64(2*i-1))
		}
	}
	within.ScaleSym(1/total, &within)
	var weights mat.VecDense
	if err := weights.SolveVec(&within, diff); err != nil {
		return l, fmt.Errorf("noise: %w", err)
	}
	for k := range width {
		l.weights[k] = weights.AtVec(k)
	}
	return l, nil
}

// group is the scores of the harmful, or harmless, proposals, one a row; nil
// where there are too few for a covariance.
func group(sample []proposal, harmful bool) *mat.Dense {
	var data []float64
	for _, p := range sample {
		if p.harmful == harmful {
			data = append(data, p.scores[:]...)
		}
	}
	if len(data) < 2*width*width {
		return nil
	}
	return mat.NewDense(len(data)/width, width, data)
}

// sums are the score's sums over a sample, in order.
func (l linear) sums(sample []proposal) []float64 {
	out := make([]float64, len(sample))
	for i := range sample {
		out[i] = l.sum(sample[i].scores)
	}
	slices.Sort(out)
	return out
}

// atLoad sets the threshold so that a share of the sample is held whose sums
// these are.
func (l linear) atLoad(sums []float64, share float64) linear {
	i := len(sums) - int(share*float64(len(sums))+0.5)
	l.tau = sums[min(max(i, 0), len(sums)-1)]
	return l
}

// load is the share of a sample that a rule holds.
func load(r rule, sample []proposal) float64 {
	n := 0
	for i := range sample {
		if r.holds(sample[i].scores) {
			n++
		}
	}
	return float64(n) / float64(len(sample))
}
