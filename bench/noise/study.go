package noise

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Config says what is run. The same config gives the same result.
type Config struct {
	Seed         uint64 `json:"seed"`
	Replications int    `json:"replications"`
	// Proposals in each of the two halves of a replication: the score is tuned on
	// one, and every rule is measured on the other.
	Proposals int `json:"proposals"`
	// Step, if not nil, is called after every replication.
	Step func() `json:"-"`
}

// Default is what runs where nothing else is asked for.
func Default() Config { return Config{Seed: 1, Replications: 30, Proposals: 4000} }

// Steps is how often Step will be called.
func (c Config) Steps() int { return c.Replications * len(Scenarios()) }

// Check reports whether the config gives intervals at all.
func (c Config) Check() error {
	switch {
	case c.Replications < 2 || c.Proposals < 500:
		return fmt.Errorf("noise: at least 2 replications of 500 proposals are needed for an interval")
	case c.Replications > 10_000 || c.Proposals > 1_000_000:
		return fmt.Errorf("noise: at most 10,000 replications of 1,000,000 proposals are made")
	}
	return nil
}

// Figure is a mean over replications with the half width of its 95 % interval.
type Figure struct {
	Mean float64 `json:"mean"`
	Half float64 `json:"half"`
}

func (f Figure) String() string { return fmt.Sprintf("%.2f ±%.2f", f.Mean, f.Half) }

// figure sums up one value a replication.
func figure(values []float64) Figure {
	mean, sd := stat.MeanStdDev(values, nil)
	n := float64(len(values))
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile(0.975)
	return Figure{mean, t * sd / math.Sqrt(n)}
}

// Outcome is what a rule comes to. Shares are in percent.
type Outcome struct {
	// HarmfulReleases of all harmful proposals, by the rule or by a reviewer.
	HarmfulReleases Figure `json:"harmful_releases"`
	// FalseRefusals of all harmless proposals: deferred, or rejected in error.
	FalseRefusals Figure `json:"false_refusals"`
	// Requests for review, of all proposals, and what became of them.
	Requests  Figure `json:"requests"`
	Completed Figure `json:"completed"`
	Deferred  Figure `json:"deferred"`
	// Delay is the mean time from request to answer of a completed review, minutes.
	Delay Figure `json:"delay_minutes"`
}

// values is one replication's numbers in the order of Outcome.
type values [6]float64

// Row is one rule in one scenario.
type Row struct {
	Rule    string  `json:"rule"`
	Outcome Outcome `json:"outcome"`
}

// Match compares the tuned score with one conjunction at the load which that
// conjunction has: harmful releases of the score minus those of the
// conjunction, on the same proposals.
type Match struct {
	Conjunction string `json:"conjunction"`
	Difference  Figure `json:"difference"`
	// Winner is conjunction or score where the interval of the difference leaves
	// out zero, else neither.
	Winner string `json:"winner"`
}

// Point is one point of a frontier: load and harm in percent.
type Point struct {
	Load Figure `json:"load"`
	Harm Figure `json:"harm"`
}

// Frontier is harm against load for one kind of rule.
type Frontier struct {
	Rule   string  `json:"rule"`
	Points []Point `json:"points"`
}

// ScenarioResult is everything about one scenario.
type ScenarioResult struct {
	Scenario  Scenario   `json:"scenario"`
	Rows      []Row      `json:"rows"`
	Matches   []Match    `json:"matches"`
	Frontiers []Frontier `json:"frontiers"`
}

// Result is the study.
type Result struct {
	Config    Config           `json:"config"`
	Scenarios []ScenarioResult `json:"scenarios"`
}

// Run runs the study.
func Run(ctx context.Context, c Config) (Result, error) {
	r := Result{Config: c}
	if err := c.Check(); err != nil {
		return r, err
	}
	for i, s := range Scenarios() {
		one, err := c.run(ctx, s, uint64(i))
		if err != nil {
			return r, err
		}
		r.Scenarios = append(r.Scenarios, one)
	}
	return r, nil
}

// conjunctionName is the name of a conjunction whose gates need that many
// detectors to fail.
func conjunctionName(need int) string { return fmt.Sprintf("conjunction, %d of %d", need, PerKind) }

func matchedName(need int) string {
	return fmt.Sprintf("tuned score, load of %d of %d", need, PerKind)
}

const vendorName = "vendor's score"

// ruleNames lists the rules in the order of tables.
func ruleNames() []string {
	var names []string
	for need := 1; need <= PerKind; need++ {
		names = append(names, conjunctionName(need), matchedName(need))
	}
	return append(names, vendorName)
}

// run replicates one scenario.
func (c Config) run(ctx context.Context, s Scenario, stream uint64) (ScenarioResult, error) {
	out := ScenarioResult{Scenario: s}
	measured := map[string][]values{}
	sketch := newSketch()
	for n := range c.Replications {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		rng := rand.New(rand.NewPCG(c.Seed, stream<<32|uint64(n)))
		half, test := s.draw(rng, c.Proposals), s.draw(rng, c.Proposals)
		rules, score, err := s.rules(half)
		if err != nil {
			return out, err
		}
		for name, r := range rules {
			measured[name] = append(measured[name], s.measure(r, test))
		}
		sketch.add(s, score, half, test)
		if c.Step != nil {
			c.Step()
		}
	}
	for _, name := range ruleNames() {
		out.Rows = append(out.Rows, Row{name, outcome(measured[name])})
	}
	for need := 1; need <= PerKind; need++ {
		out.Matches = append(out.Matches, match(need, measured[matchedName(need)], measured[conjunctionName(need)]))
	}
	out.Frontiers = sketch.frontiers()
	return out, nil
}

// rules makes every rule, and tunes what is tuned on one half.
func (s Scenario) rules(half []proposal) (map[string]rule, linear, error) {
	score, err := tune(half)
	if err != nil {
		return nil, score, err
	}
	at, sums := limit(s.FalsePositive), score.sums(half)
	rules := map[string]rule{vendorName: saturated{weights: [Kinds]int{45, 30, 25}, tau: 60, limit: at}}
	for need := 1; need <= PerKind; need++ {
		r := conjunction{need, at}
		rules[conjunctionName(need)] = r
		rules[matchedName(need)] = score.atLoad(sums, load(r, half))
	}
	return rules, score, nil
}

// measure lets a rule decide a sample and the reviewers work on what it holds.
func (s Scenario) measure(r rule, sample []proposal) values {
	var held []int
	var requests []request
	for i := range sample {
		if r.holds(sample[i].scores) {
			held = append(held, i)
			requests = append(requests, request{sample[i].arrives, sample[i].service})
		}
	}
	answers := s.Reviewers.serve(requests)
	var t tally
	for i, next := 0, 0; i < len(sample); i++ {
		if next < len(held) && held[next] == i {
			t.add(s.Reviewers, &sample[i], true, answers[next])
			next++
		} else {
			t.add(s.Reviewers, &sample[i], false, answer{})
		}
	}
	return t.values(len(sample))
}

// tally counts one sample.
type tally struct {
	harmful, released, harmless, refused, requests, completed int
	delay                                                     float64
}

func (t *tally) add(r Reviewers, p *proposal, held bool, a answer) {
	runs := !held
	if held {
		t.requests++
		if a.reviewed {
			t.completed++
			t.delay += a.delay
			runs = p.approved(r)
		}
	}
	switch {
	case p.harmful:
		t.harmful++
		if runs {
			t.released++
		}
	default:
		t.harmless++
		if !runs {
			t.refused++
		}
	}
}

// approved is what a reviewer says who looks at the proposal.
func (p *proposal) approved(r Reviewers) bool {
	if p.harmful {
		return p.luck < r.Misses
	}
	return p.luck >= r.Spurious
}

func (t *tally) values(n int) values {
	percent := func(count, of int) float64 { return 100 * float64(count) / float64(max(of, 1)) }
	return values{percent(t.released, t.harmful), percent(t.refused, t.harmless), percent(t.requests, n),
		percent(t.completed, n), percent(t.requests-t.completed, n), t.delay / float64(max(t.completed, 1))}
}

func outcome(replications []values) Outcome {
	column := func(i int) Figure {
		x := make([]float64, len(replications))
		for n, v := range replications {
			x[n] = v[i]
		}
		return figure(x)
	}
	return Outcome{column(0), column(1), column(2), column(3), column(4), column(5)}
}

func match(need int, score, conj []values) Match {
	diff := make([]float64, len(score))
	for n := range score {
		diff[n] = score[n][0] - conj[n][0]
	}
	m := Match{Conjunction: conjunctionName(need), Difference: figure(diff), Winner: "neither"}
	switch {
	case m.Difference.Mean-m.Difference.Half > 0:
		m.Winner = "conjunction"
	case m.Difference.Mean+m.Difference.Half < 0:
		m.Winner = "score"
	}
	return m
}
