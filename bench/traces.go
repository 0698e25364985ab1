package bench

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/conjunct-project/conjunct/action"
	"github.com/conjunct-project/conjunct/bench/table"
	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/episode"
)

//go:embed data/traces.jsonl
var traceFile []byte

// TraceBundle is the bundle under which the transition traces were written.
const TraceBundle = "protected-branch"

// trace is a written transition trace: the episode that arms get, and apart
// from it what has to come out.
type trace struct {
	episode episode.Episode
	shows   string
	want    []engine.Transition
}

// readTraces reads the traces that come with the program.
func readTraces(c *engine.Contract) ([]trace, error) {
	var out []trace
	for line, err := range action.Lines(bytes.NewReader(traceFile)) {
		if err != nil {
			return nil, err
		}
		t, err := readTrace(line.Text, c)
		if err != nil {
			return nil, fmt.Errorf("bench: traces: %w", line.Locate(err))
		}
		out = append(out, t)
	}
	return out, nil
}

func readTrace(text []byte, c *engine.Contract) (t trace, err error) {
	if t.episode, err = episode.Decode(text, c); err != nil {
		return t, err
	}
	expected := struct {
		Shows       string              `json:"shows"`
		Transitions []engine.Transition `json:"transitions"`
	}{}
	if err := json.Unmarshal(text, &expected); err != nil {
		return t, err
	}
	t.shows, t.want = expected.Shows, expected.Transitions
	if t.shows == "" || len(t.want) == 0 {
		return t, &action.Error{Msg: fmt.Sprintf("trace %s does not say what it shows and what is expected", t.episode.ID)}
	}
	return t, nil
}

// folding is an arm of the traces: the real fold of an episode, with the
// evidence state seen through a lens and the contract changed where the arm
// leaves something out.
type folding struct {
	policy engine.Governance
	lens   func(engine.View) engine.View
}

func (f folding) Answer(ctx context.Context, ep episode.Episode) ([]engine.Transition, error) {
	r, err := ep.RunThrough(ctx, f.policy, f.lens)
	return r.Transitions, err
}

// Traces is the result of the transition traces.
type Traces struct {
	Of   int            `json:"of"`
	Arms map[string]int `json:"arms"`
	Rows []TraceRow     `json:"rows"`
}

// TraceRow is one trace with what each arm answered.
type TraceRow struct {
	ID      string                         `json:"id"`
	Shows   string                         `json:"shows"`
	Want    []engine.Transition            `json:"want"`
	Answers map[string][]engine.Transition `json:"answers"`
}

// The arms of the traces, in the order of tables.
const (
	armFull           = "full"
	armStateless      = "stateless"
	armKeepsApprovals = "keeps_approvals"
	armCapacityAlways = "capacity_always"
)

var traceArms = []string{armFull, armStateless, armKeepsApprovals, armCapacityAlways}

// RunTraces folds every trace with the whole model and with three models that
// leave one thing out. A trace counts for an arm where every transition is as
// written.
func RunTraces(ctx context.Context, p engine.Governance) (Traces, error) {
	traces, err := readTraces(p.Contract())
	if err != nil {
		return Traces{}, err
	}
	episodes := make([]episode.Episode, len(traces))
	for i, t := range traces {
		episodes[i] = t.episode
	}
	answers, err := pair(ctx, armsOfTraces(p), episodes, nil)
	if err != nil {
		return Traces{}, err
	}
	r := Traces{Of: len(traces), Arms: map[string]int{}}
	for k, t := range traces {
		row := TraceRow{ID: t.episode.ID, Shows: t.shows, Want: t.want, Answers: map[string][]engine.Transition{}}
		for i, arm := range traceArms {
			row.Answers[arm] = answers[i][k]
			if slices.Equal(answers[i][k], t.want) {
				r.Arms[arm]++
			}
		}
		r.Rows = append(r.Rows, row)
	}
	return r, nil
}

func armsOfTraces(p engine.Governance) []Named[episode.Episode, []engine.Transition] {
	arm := func(name string, p engine.Governance, lens func(engine.View) engine.View) Named[episode.Episode, []engine.Transition] {
		return Named[episode.Episode, []engine.Transition]{Name: name, Arm: folding{p, lens}}
	}
	return []Named[episode.Episode, []engine.Transition]{
		arm(armFull, p, func(v engine.View) engine.View { return v }),
		arm(armStateless, p, func(v engine.View) engine.View { return forgetful{v} }),
		arm(armKeepsApprovals, unbound(p), func(v engine.View) engine.View { return unmoved{v, p.Contract()} }),
		arm(armCapacityAlways, p, func(v engine.View) engine.View { return roomy{v} }),
	}
}

// Holds reports whether the whole model answered every trace as written and
// every model with something left out misses some.
func (t Traces) Holds() bool {
	if t.Of == 0 || t.Arms[armFull] != t.Of {
		return false
	}
	for _, arm := range traceArms[1:] {
		if t.Arms[arm] >= t.Of {
			return false
		}
	}
	return true
}

// Tables shows what each arm answered, and the counts.
func (t Traces) Tables() []table.Table {
	counts := table.Table{Title: fmt.Sprintf("Transition traces, %d written by hand, under %s", t.Of, TraceBundle), Head: []string{"arm", "as written", "leaves out"}}
	for _, arm := range traceArms {
		counts.Rows = append(counts.Rows, []string{arm, Share{t.Arms[arm], t.Of}.String(), leavesOut[arm]})
	}
	each := table.Table{Title: "What each trace shows, and which arms miss it", Head: []string{"trace", "shows", "wanted", "missed by"}}
	for _, row := range t.Rows {
		var missed []string
		for _, arm := range traceArms {
			if !slices.Equal(row.Answers[arm], row.Want) {
				missed = append(missed, arm)
			}
		}
		each.Rows = append(each.Rows, []string{row.ID, row.Shows, words(row.Want), strings.Join(missed, ", ")})
	}
	return []table.Table{counts, each}
}

// leavesOut says in words what an arm does without.
var leavesOut = map[string]string{
	armFull:           "nothing",
	armStateless:      "requests, approvals, rejections, retries and releases of earlier attempts",
	armKeepsApprovals: "that a change of commit, base, policy or component voids checks and approvals",
	armCapacityAlways: "that reviewers have limited room",
}

func words(ts []engine.Transition) string {
	out := make([]string, len(ts))
	for i, t := range ts {
		out[i] = t.String()
	}
	return strings.Join(out, " ")
}

// Records is every answer of every arm in one table.
func (t Traces) Records() table.Table {
	out := table.Table{Head: []string{"trace", "arm", "wanted", "answered", "as_written"}}
	for _, row := range t.Rows {
		for _, arm := range traceArms {
			got := row.Answers[arm]
			out.Rows = append(out.Rows, []string{row.ID, arm, words(row.Want), words(got), fmt.Sprint(slices.Equal(got, row.Want))})
		}
	}
	return out
}
