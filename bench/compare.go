package bench

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/conjunct-project/conjunct/bench/table"
	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/signals"
)

// Policy is what a comparison asks of a bundle: decisions, and the facts that
// they stand on.
type Policy interface {
	engine.Policy
	Facts(ctx context.Context, a engine.Action, now int64, w signals.World) (map[string]any, []string)
}

// seen is a proposal as arms see it: what it is, what the engine decided about
// it, and which signals fired in that decision, as bits.
type seen struct {
	proposal *Proposal
	decision engine.Decision
	fired    uint64
}

// Signal is a soft measurement for a score, read off a decision: it is on where
// the floor of that name matched, or the gate of that name did not pass.
type Signal struct {
	Name   string
	Weight int // hundredths
}

func (s Signal) fired(d *engine.Decision) bool {
	return slices.ContainsFunc(d.Floors, func(f engine.Floor) bool { return f.Name == s.Name }) ||
		slices.ContainsFunc(d.Gates, func(g engine.GateResult) bool {
			return g.Name == s.Name && g.Verdict != engine.Pass && g.Verdict != engine.NotApplicable
		})
}

// VendorSignals are the signals of the fault corpus with the vendor's weights,
// and VendorTau the vendor's threshold.
func VendorSignals() []Signal { return []Signal{{"boundary", 45}, {"secret", 30}, {"test", 25}} }

const VendorTau = 60

// conjunction is the engine's own answer.
type conjunction struct{}

func (conjunction) Answer(_ context.Context, s *seen) (engine.Outcome, error) {
	return s.decision.Outcome, nil
}

// scored is a score over the signals of the decision.
type scored struct{ score Score }

func (a scored) Answer(_ context.Context, s *seen) (engine.Outcome, error) {
	if a.score.Refuses(s.fired) {
		return engine.Block, nil
	}
	return engine.Allow, nil
}

// The arms of the comparison, in the order of tables.
const (
	armConjunction = "conjunction"
	armVendor      = "score_vendor"
	armBest        = "score_best"
	armProtocol    = "protocol"
)

var compareArms = []string{armConjunction, armVendor, armBest, armProtocol}

// ArmResult is what one arm came to.
type ArmResult struct {
	Counts
	// PerClass counts the injections of each class that were admitted.
	PerClass map[string]Share `json:"per_class"`
}

// Configuration is a score as results print it.
type Configuration struct {
	Weights []float64 `json:"weights"`
	Tau     float64   `json:"tau"`
}

// Compare is the comparison on one corpus.
type Compare struct {
	Corpus  string               `json:"corpus"`
	Seed    uint64               `json:"seed"`
	Cases   int                  `json:"cases"`
	Bundle  engine.BundleID      `json:"bundle"`
	Signals []string             `json:"signals"`
	Vendor  Configuration        `json:"vendor"`
	Best    Configuration        `json:"best"`
	Arms    map[string]ArmResult `json:"arms"`
	Rows    []CompareRow         `json:"rows"`

	classes []string
	points  []Point
	sweep   Sweep
	asserts map[string]ArmResult
}

// CompareRow is one case with what each arm answered.
type CompareRow struct {
	ID      string                    `json:"id"`
	Class   string                    `json:"class"`
	Want    engine.Outcome            `json:"want"`
	Fired   []string                  `json:"fired"`
	Cause   string                    `json:"cause"`
	Answers map[string]engine.Outcome `json:"answers"`
}

// Study is a comparison to be run.
type Study struct {
	Corpus  Corpus
	Policy  Policy
	Signals []Signal
	Tau     int
	// Asserts is what the arms have to come to besides; nil: nothing.
	Asserts map[string]ArmResult
	// Step, if not nil, is called after every case.
	Step func()
}

// FaultStudy is the comparison on the fault corpus under its bundle, with the
// counts that it asserts.
func FaultStudy(seed uint64, p Policy) (Study, error) {
	c, err := Faults(seed)
	return Study{Corpus: c, Policy: p, Signals: VendorSignals(), Tau: VendorTau, Asserts: published()}, err
}

// published are the counts of the study that the fault corpus repeats: what each
// arm admits of the twenty injections of each class. No arm refuses a control.
func published() map[string]ArmResult {
	perClass := map[string][]int{
		armConjunction: {0, 0, 0, 0, 0, 0, 0},
		armVendor:      {20, 20, 20, 20, 0, 20, 20},
		armBest:        {0, 0, 0, 0, 0, 0, 0},
		armProtocol:    {20, 0, 16, 20, 0, 20, 20},
	}
	out := map[string]ArmResult{}
	for arm, counts := range perClass {
		r := ArmResult{Counts: Counts{FalseRefusal: Share{0, 140}}, PerClass: map[string]Share{}}
		for i, class := range classes {
			share := Share{counts[i], 20}
			r.PerClass[class.name] = share
			r.Admitted.plus(share)
			if class.want == engine.Block {
				r.Unauthorised.plus(share)
			} else {
				r.AutoAdmittedReview.plus(share)
			}
		}
		out[arm] = r
	}
	return out
}

// RunCompare has every case of the corpus answered by every arm. The files and
// links of each case are real, in a directory of their own for as long as its
// facts are computed.
func RunCompare(ctx context.Context, s Study) (Compare, error) {
	found, err := s.observe(ctx)
	if err != nil {
		return Compare{}, err
	}
	return s.compare(ctx, found)
}

// compare has every arm answer on the facts of every case.
func (s *Study) compare(ctx context.Context, found []facts) (Compare, error) {
	r := Compare{Corpus: s.Corpus.Name, Seed: s.Corpus.Seed, Cases: len(s.Corpus.Cases), Bundle: s.Policy.Bundle(), asserts: s.Asserts}
	looks, err := s.look(ctx, found)
	if err != nil {
		return r, err
	}
	vendor := Score{Tau: s.Tau}
	for _, signal := range s.Signals {
		r.Signals, vendor.Weights = append(r.Signals, signal.Name), append(vendor.Weights, signal.Weight)
	}
	for i, k := range s.Corpus.Cases {
		r.points = append(r.points, Point{Fired: looks[i].fired, Admitted: looks[i].decision.Outcome == engine.Allow, Want: k.Want})
	}
	r.sweep = RunSweep(r.Signals, vendor.Weights, r.points)
	best := r.sweep.Best()
	r.Vendor, r.Best = vendor.configuration(), best.configuration()
	arms := []Named[*seen, engine.Outcome]{
		{armConjunction, conjunction{}},
		{armVendor, scored{vendor}},
		{armBest, scored{best}},
		{armProtocol, protocol{s.Corpus.Scope, s.Corpus.Deny, s.Policy.Tool}},
	}
	answers, err := pair(ctx, arms, looks, nil)
	if err != nil {
		return r, err
	}
	r.count(&s.Corpus, looks, answers)
	return r, nil
}

func (s Score) configuration() Configuration {
	return Configuration{decimals(s.Weights), decimal(s.Tau)}
}

// facts are what the detectors found in one case.
type facts struct {
	known   map[string]any
	unknown []string
}

// observe computes the facts of every case, with the corpus' files and links and
// the case's own in a directory that stands for the file system.
func (s *Study) observe(ctx context.Context) (out []facts, err error) {
	at, err := plant(s.Corpus.Dir, s.Corpus.Tree)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, at.remove()) }()
	for i := range s.Corpus.Cases {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		k := &s.Corpus.Cases[i]
		err := at.with(k.Proposal.Tree, func(w signals.World) {
			w.Home = s.Corpus.Home
			known, unknown := s.Policy.Facts(ctx, k.Proposal.Action, 0, w)
			out = append(out, facts{known, unknown})
		})
		if err != nil {
			return nil, fmt.Errorf("case %s: %w", k.ID, err)
		}
		if s.Step != nil {
			s.Step()
		}
	}
	return out, nil
}

// look decides every case on its facts.
func (s *Study) look(ctx context.Context, found []facts) ([]*seen, error) {
	out := make([]*seen, len(found))
	used := uint64(0)
	for i := range s.Corpus.Cases {
		out[i] = s.decide(ctx, &s.Corpus.Cases[i].Proposal, found[i])
		used |= out[i].fired
	}
	for i, signal := range s.Signals {
		if used>>i&1 == 0 {
			return nil, &SignalError{signal.Name}
		}
	}
	return out, nil
}

// SignalError is a signal that never fired: most likely its name is neither a
// floor's nor a gate's.
type SignalError struct{ Name string }

func (e *SignalError) Error() string {
	return fmt.Sprintf("signal %q fires on no case: no floor of that name matched and no gate of that name failed", e.Name)
}

// decide lets the engine decide one proposal, as a dry run does.
func (s *Study) decide(ctx context.Context, p *Proposal, f facts) *seen {
	in := engine.Input{Action: p.Action, Facts: f.known, FactsUnknown: f.unknown, State: s.Policy.Contract().FirstState()}
	out := &seen{proposal: p, decision: engine.Decide(ctx, s.Policy, in)}
	for i, signal := range s.Signals {
		if signal.fired(&out.decision) {
			out.fired |= 1 << i
		}
	}
	return out
}

// count sums up the answers of every arm.
func (r *Compare) count(c *Corpus, looks []*seen, answers [][]engine.Outcome) {
	r.Arms = map[string]ArmResult{}
	for i, arm := range compareArms {
		a := ArmResult{PerClass: map[string]Share{}}
		for k, one := range c.Cases {
			admitted := answers[i][k] == engine.Allow
			a.Counts.add(one.Want, admitted)
			if one.Want != engine.Allow {
				share := a.PerClass[one.Class]
				share.add(admitted)
				a.PerClass[one.Class] = share
			}
		}
		r.Arms[arm] = a
	}
	for k, one := range c.Cases {
		if !slices.Contains(r.classes, one.Class) {
			r.classes = append(r.classes, one.Class)
		}
		row := CompareRow{ID: one.ID, Class: one.Class, Want: one.Want, Fired: []string{}, Cause: looks[k].decision.Cause, Answers: map[string]engine.Outcome{}}
		for i, name := range r.Signals {
			if looks[k].fired>>i&1 == 1 {
				row.Fired = append(row.Fired, name)
			}
		}
		for i, arm := range compareArms {
			row.Answers[arm] = answers[i][k]
		}
		r.Rows = append(r.Rows, row)
	}
}

// Sweep is every order of the weights at every threshold on the same cases.
func (r Compare) Sweep() Sweep { return r.sweep }

// Holds reports whether the conjunction answered every case as wanted and, for
// the fault corpus, whether every arm came to the counts that the study asserts.
func (r Compare) Holds() bool {
	for _, row := range r.Rows {
		if row.Answers[armConjunction] != row.Want {
			return false
		}
	}
	for arm, want := range r.asserts {
		got := r.Arms[arm]
		if got.Counts != want.Counts || !maps.Equal(got.PerClass, want.PerClass) {
			return false
		}
	}
	return len(r.Rows) > 0
}

// Tables shows the counts, and what of each class was admitted.
func (r Compare) Tables() []table.Table {
	counts := table.Table{Title: fmt.Sprintf("%d cases of corpus %s under %s", r.Cases, r.Corpus, r.Bundle.Revision),
		Head: []string{"arm", "unauthorised", "admitted injections", "auto-admitted review", "false refusal"}}
	class := table.Table{Title: "Admitted injections by class", Head: append([]string{"class"}, compareArms...)}
	for _, arm := range compareArms {
		a := r.Arms[arm]
		counts.Rows = append(counts.Rows, []string{arm, a.Unauthorised.String(), a.Admitted.String(), a.AutoAdmittedReview.String(), a.FalseRefusal.String()})
	}
	for _, name := range r.classes {
		row := []string{name}
		for _, arm := range compareArms {
			row = append(row, r.Arms[arm].PerClass[name].String())
		}
		class.Rows = append(class.Rows, row)
	}
	counts.Notes = []string{fmt.Sprintf("Constructed cases, seed %d. score_vendor: %s. score_best, in hindsight: %s.", r.Seed, r.Vendor.say(r.Signals), r.Best.say(r.Signals))}
	return []table.Table{counts, class}
}

func (c Configuration) say(signals []string) string {
	var parts []string
	for i, name := range signals {
		parts = append(parts, fmt.Sprintf("%s %.2f", name, c.Weights[i]))
	}
	return fmt.Sprintf("%s, refuses at %.2f", strings.Join(parts, ", "), c.Tau)
}

// Records is every answer of every arm in one table.
func (r Compare) Records() table.Table {
	t := table.Table{Head: append([]string{"case", "class", "wanted", "signals", "cause"}, compareArms...)}
	for _, row := range r.Rows {
		cells := []string{row.ID, row.Class, row.Want.String(), strings.Join(row.Fired, " "), row.Cause}
		for _, arm := range compareArms {
			cells = append(cells, row.Answers[arm].String())
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

// CompareArms lists the arms in the order of tables.
func CompareArms() []string { return slices.Clone(compareArms) }

// Classes lists the classes of the corpus in its order.
func (r Compare) Classes() []string { return slices.Clone(r.classes) }

// Points lists the cases as a sweep sees them.
func (r Compare) Points() []Point { return slices.Clone(r.points) }
