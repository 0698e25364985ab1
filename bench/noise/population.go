package noise

import (
	"math"
	"math/rand/v2"
)

// Shape of what is looked at.
const (
	Kinds   = 3 // ways of being harmful, a gate for each
	PerKind = 3 // detectors that look for one way
	width   = Kinds * PerKind
)

// Scenario says how detectors err and what reviewers there are.
type Scenario struct {
	Name string `json:"name"`
	// Says what is special about it, in one sentence.
	Says string `json:"says"`
	// Harmful is the share of harmful proposals.
	Harmful float64 `json:"harmful"`
	// FalsePositive and FalseNegative are the rates of one detector at its limit,
	// on a harmless proposal and on a harm that it sees.
	FalsePositive float64 `json:"false_positive"`
	FalseNegative float64 `json:"false_negative"`
	// Correlation of the detectors' errors, 0 to 1.
	Correlation float64 `json:"correlation"`
	// Diffuse harm shows a little in every detector; otherwise only in those of
	// its own kind.
	Diffuse   bool      `json:"diffuse"`
	Reviewers Reviewers `json:"reviewers"`
}

// Scenarios lists what the study looks at.
func Scenarios() []Scenario {
	usual := Reviewers{PerHour: 60, Servers: 2, Minutes: 8, Room: 20, Patience: 60, Misses: 0.05, Spurious: 0.02}
	few := usual
	few.Servers = 1
	return []Scenario{
		{Name: "independent", Says: "Each harm shows in the detectors of its kind, and detectors err independently.",
			Harmful: 0.05, FalsePositive: 0.03, FalseNegative: 0.15, Reviewers: usual},
		{Name: "correlated", Says: "As before, and half of the variance of all detectors is shared.",
			Harmful: 0.05, FalsePositive: 0.03, FalseNegative: 0.15, Correlation: 0.5, Reviewers: usual},
		{Name: "diffuse", Says: "Each harm shows a little in all nine detectors, none of which sees it well.",
			Harmful: 0.05, FalsePositive: 0.03, FalseNegative: 0.85, Diffuse: true, Reviewers: usual},
		{Name: "one reviewer", Says: "The first scenario with one reviewer instead of two.",
			Harmful: 0.05, FalsePositive: 0.03, FalseNegative: 0.15, Reviewers: few},
	}
}

// proposal is one drawn proposal: what detectors read, when it comes, and apart
// from that whether it is harmful and how the review of it would go.
type proposal struct {
	scores  [width]float64
	arrives float64 // minutes
	service float64 // minutes that a review of it takes
	luck    float64 // uniform: whether a reviewer errs on it
	harmful bool
}

// limit is the score above which a detector fires at a false positive rate.
func limit(falsePositive float64) float64 { return quantile(1 - falsePositive) }

// quantile of the standard normal distribution.
func quantile(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }

// shift moves a score so that a harm is missed at the false negative rate.
func (s Scenario) shift() float64 { return limit(s.FalsePositive) - quantile(s.FalseNegative) }

// draw makes n proposals. Scores of a harmless one are standard normal whatever
// the correlation.
func (s Scenario) draw(rng *rand.Rand, n int) []proposal {
	out := make([]proposal, n)
	clock, shift := 0.0, s.shift()
	shared, own := math.Sqrt(s.Correlation), math.Sqrt(1-s.Correlation)
	for i := range out {
		p := &out[i]
		clock += rng.ExpFloat64() * 60 / s.Reviewers.PerHour
		p.arrives, p.service, p.luck = clock, rng.ExpFloat64()*s.Reviewers.Minutes, rng.Float64()
		p.harmful = rng.Float64() < s.Harmful
		kind, common := rng.IntN(Kinds), rng.NormFloat64()
		for k := range p.scores {
			p.scores[k] = shared*common + own*rng.NormFloat64()
			if p.harmful && (s.Diffuse || k/PerKind == kind) {
				p.scores[k] += shift
			}
		}
	}
	return out
}
