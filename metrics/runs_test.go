package metrics_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/conjunct-project/conjunct/action"
	"github.com/conjunct-project/conjunct/bundle"
	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/episode"
	"github.com/conjunct-project/conjunct/metrics"
	"github.com/conjunct-project/conjunct/pdp"
	"github.com/conjunct-project/conjunct/policies"
	"github.com/conjunct-project/conjunct/reexam"
)

// desk is the itsm bundle with a reviewer, and with some files changed.
func desk(t testing.TB, changes map[string]func(string) string) *bundle.Bundle {
	t.Helper()
	fsys, err := policies.FS("itsm")
	if err != nil {
		t.Fatal(err)
	}
	files, err := bundle.FromFS(fsys, "itsm")
	if err != nil {
		t.Fatal(err)
	}
	files.Content = maps.Clone(files.Content)
	files.Content["conjunct/authority/data.yaml"] = []byte("reviewers:\n  lena: {role: service-desk-lead}\n")
	for name, change := range changes {
		was := string(files.Content[name])
		is := change(was)
		if was == is {
			t.Fatalf("%s: nothing changed", name)
		}
		files.Content[name] = []byte(is)
	}
	b, err := bundle.Load(files)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// life is a decision point on a state directory of its own.
type life struct {
	t   testing.TB
	dir string
	now int64
	*pdp.PDP
}

func open(t testing.TB, b *bundle.Bundle) *life {
	t.Helper()
	l := &life{t: t, dir: filepath.Join(t.TempDir(), "state")}
	if err := pdp.Init(l.dir, b, 0); err != nil {
		t.Fatal(err)
	}
	p, err := pdp.Open(l.dir, pdp.Options{Now: func() int64 { return l.now }})
	if err != nil {
		t.Fatal(err)
	}
	l.PDP = p
	t.Cleanup(func() { p.Close() })
	return l
}

// runs plays the three service desk runs.
func (l *life) runs() {
	l.t.Helper()
	for _, name := range []string{"clean-INC-4471", "blocked-INC-5012", "override-INC-4471"} {
		text, err := os.ReadFile(filepath.Join("..", "cli", "demo", name+".jsonl"))
		if err != nil {
			l.t.Fatal(err)
		}
		run, err := episode.Decode(bytes.TrimSpace(text), l.Bundle().Contract())
		if err != nil {
			l.t.Fatal(err)
		}
		for _, e := range run.Events() {
			l.now = e.Time
			l.play(e)
		}
	}
}

func (l *life) play(e engine.Event) {
	l.t.Helper()
	if e.Op == engine.OpAttempt {
		if _, err := l.Decide(context.Background(), e.Attempt.Action); err != nil {
			l.t.Fatal(err)
		}
		return
	}
	if _, err := l.Apply(context.Background(), e); err != nil {
		l.t.Fatal(err)
	}
}

func (l *life) incident(trace, call string) {
	l.t.Helper()
	l.event(engine.Event{Op: engine.OpResult, TraceID: trace, CallID: call, By: engine.Identity{Name: "desk", Role: "operator"},
		Result: engine.ResultEvent{Incident: "wrong_target"}})
}

// event is one that has to take effect.
func (l *life) event(e engine.Event) {
	l.t.Helper()
	l.now++
	if rec, err := l.Apply(context.Background(), e); err != nil || rec.Invalid != "" {
		l.t.Fatal(err, rec.Reasons)
	}
}

func (l *life) metrics() metrics.Report {
	l.t.Helper()
	library := reexam.LibraryBeside(l.dir)
	r, err := metrics.Of(context.Background(), l.dir, metrics.Options{Library: func(digest string) (engine.Policy, bool) {
		b, err := library(digest)
		return b, err == nil
	}})
	if err != nil {
		l.t.Fatal(err)
	}
	return r
}

func show(f metrics.Figure) string {
	if f.Value == nil {
		return fmt.Sprintf("no data, %g of %g", f.Count, f.Of)
	}
	return fmt.Sprintf("%.4f, %g of %g", *f.Value, f.Count, f.Of)
}

func expect(t *testing.T, r metrics.Report, want map[string]string) {
	t.Helper()
	got := map[string]string{}
	for _, n := range r.All() {
		got[strings.TrimSpace(n.Name+" "+n.Class)] = show(n.Figure)
	}
	for name, w := range want {
		if got[name] != w {
			t.Errorf("%s: %s, want %s", name, got[name], w)
		}
	}
}

func TestTheThreeRuns(t *testing.T) {
	l := open(t, desk(t, nil))
	l.runs()
	r := l.metrics()
	expect(t, r, map[string]string{
		"task_completion":                     "0.7692, 10 of 13",
		"task_completion_known":               "0.7692, 10 of 13",
		"success":                             "1.0000, 10 of 10",
		"cost_per_action":                     "0.3200, 3.2 of 10",
		"escalation_precision":                "0.3333, 1 of 3",
		"escalation_precision_decided":        "1.0000, 1 of 1",
		"cost_weighted_error":                 "0.1429, 5 of 35",
		"cost_weighted_error_known":           "0.1429, 5 of 35",
		"override_rate costly/system":         "0.0000, 0 of 1",
		"override_rate irreversible/external": "1.0000, 1 of 1",
		"tool_latency_p50":                    "0.2500, 10 of 10",
		"tool_latency_p95":                    "0.6200, 10 of 10",
		"review_delay_p50":                    "280.0000, 1 of 4",
		"gate_overhead_p50":                   "no data, 0 of 10",
	})
	if len(r.OverrideRate) != 2 {
		t.Errorf("override rates of %v, want the two classes that were queued", r.OverrideRate)
	}
	if len(r.Notes) != 0 {
		t.Errorf("notes: %q, want none: every call is reported and every tool is declared", r.Notes)
	}
}

func TestAnIncidentCountsWhereWhatIsKnownCounts(t *testing.T) {
	l := open(t, desk(t, nil))
	l.runs()
	l.incident("override-INC-4471", "c3")
	want := map[string]string{
		"task_completion":           "0.7692, 10 of 13",
		"task_completion_known":     "0.6923, 9 of 13",
		"success":                   "1.0000, 10 of 10",
		"success_known":             "0.9000, 9 of 10",
		"cost_per_action":           "0.3200, 3.2 of 10",
		"cost_per_action_known":     "0.3556, 3.2 of 9",
		"escalation_precision":      "0.3333, 1 of 3",
		"cost_weighted_error":       "0.1429, 5 of 35",
		"cost_weighted_error_known": "0.2000, 7 of 35",
	}
	expect(t, l.metrics(), want)
	// What is revoked is known no longer.
	l.event(engine.Event{Op: engine.OpReview, TraceID: "override-INC-4471", CallID: "c3", By: engine.Identity{Name: "lena"},
		Review: engine.ReviewEvent{Outcome: engine.Revoke}})
	expect(t, l.metrics(), map[string]string{"cost_weighted_error_known": "0.1429, 5 of 35", "task_completion_known": "0.7692, 10 of 13"})
}

// TestALooserGateAndIncidentsGiveWorseErrors plays the same runs under looser
// bundles. What is wrong runs then and is reported: no figure that knows of it
// gets better, and where several calls weigh less the error gets worse.
func TestALooserGateAndIncidentsGiveWorseErrors(t *testing.T) {
	strict := open(t, desk(t, nil))
	strict.runs()
	was := strict.metrics()
	const severity, gates, floors = "conjunct/severity/data.yaml", "conjunct/cel/data.yaml", "conjunct/floors/floors.rego"
	none := func(string) string { return "gates: []\n" }
	mail := func(l *life) { l.incident("override-INC-4471", "c2") }
	for _, c := range []struct {
		name  string
		loose map[string]func(string) string
		then  func(*life)
		worse string // "": the error may stay as it is
	}{
		{"mail goes out by itself", map[string]func(string) string{gates: none, severity: func(s string) string {
			s = strings.Replace(s, "external: {reversible: propose, costly: propose, irreversible: propose}", "external: {reversible: propose, costly: propose, irreversible: execute}", 1)
			return strings.Replace(s, "bump: 1", "bump: 0", 1)
		}}, mail, ""},
		{"everything has a lower tier", map[string]func(string) string{gates: none, severity: func(s string) string {
			s = strings.ReplaceAll(strings.ReplaceAll(s, ": execute_notify", ": execute"), ": propose", ": execute")
			return strings.NewReplacer("cap: execute", "cap: propose", "bump: 1", "bump: 0").Replace(s)
		}}, mail, "0.1724, 5 of 29"},
		{"no floor, and a careless reviewer", map[string]func(string) string{floors: func(string) string { return "package conjunct.floors\n" }}, func(l *life) {
			l.event(engine.Event{Op: engine.OpReview, TraceID: "blocked-INC-5012", CallID: "c2", By: engine.Identity{Name: "lena"},
				Review: engine.ReviewEvent{Outcome: engine.Approve}})
			l.again("blocked-INC-5012", "c2")
			l.incident("blocked-INC-5012", "c2")
		}, "0.3704, 10 of 27"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := open(t, desk(t, c.loose))
			l.runs()
			c.then(l)
			is := l.metrics()
			for _, f := range []struct {
				name    string
				was, is metrics.Figure
				better  float64 // 1: more is better
			}{
				{"cost_weighted_error_known", was.CostWeightedErrorKnown, is.CostWeightedErrorKnown, -1},
				{"escalation_precision", was.EscalationPrecision, is.EscalationPrecision, 1},
				{"success_known", was.SuccessKnown, is.SuccessKnown, 1},
				{"override_rate", was.OverrideRate["irreversible/external"], is.OverrideRate["irreversible/external"], 1},
			} {
				if f.is.Value != nil && f.better*(*f.is.Value-*f.was.Value) > 0 {
					t.Errorf("%s got better: %s, then %s", f.name, show(f.was), show(f.is))
				}
			}
			if c.worse != "" && show(is.CostWeightedErrorKnown) != c.worse {
				t.Errorf("cost_weighted_error_known was %s, is %s, want %s", show(was.CostWeightedErrorKnown), show(is.CostWeightedErrorKnown), c.worse)
			}
		})
	}
}

// again proposes a call of the runs once more.
func (l *life) again(trace, id string) {
	l.t.Helper()
	l.now++
	v := l.Snapshot()
	hash, _ := v.CallHash(trace, id)
	a, err := action.Decode(v.Path(trace, hash).Canonical)
	if err != nil {
		l.t.Fatal(err)
	}
	if d, err := l.Decide(context.Background(), a); err != nil || !d.Permit {
		l.t.Fatal(err, d.Reason)
	}
}

var days = flag.Int("days", 4, "random days to live through")

// TestARecountOfRandomDays lets a decision point live through random days and
// holds the figures of its journal to the simple recount.
func TestARecountOfRandomDays(t *testing.T) {
	b := desk(t, nil)
	arguments := map[string]string{"read_ticket": `{"ticket":"%s"}`, "update_ticket_status": `{"ticket":"%s","status":"open"}`,
		"email_customer": `{"to":"%s@customer.example","body":"x"}`, "reset_credentials": `{"account":"acme\\%s"}`,
		"deprovision_account": `{"account":"acme\\%s"}`, "unheard_of": `{"x":"%s"}`}
	tools := []string{"read_ticket", "update_ticket_status", "email_customer", "reset_credentials", "deprovision_account", "unheard_of"}
	ran, asked := 0.0, 0.0
	for seed := range uint64(*days) {
		r := rand.New(rand.NewPCG(seed, 1))
		pick := func(from []string) string { return from[r.IntN(len(from))] }
		l := open(t, b)
		l.now = 1772445600
		for range 150 {
			l.now += int64(r.IntN(100))
			trace, id := pick([]string{"t", "u"}), pick([]string{"a", "b", "c", "d", "e", "f", "g", "h"})
			tool := tools[int(id[0]-'a')%len(tools)]
			switch r.IntN(6) {
			case 0, 1:
				if r.IntN(8) == 0 {
					tool = pick(tools) // the id may be another call's then
				}
				a, err := action.Decode(fmt.Appendf(nil, `{"trace_id":%q,"call_id":%q,"agent":{"id":"desk"},"tool":%q,"arguments":%s,"confidence":%s,"context":{"source_record":%q}}`,
					trace, id, tool, fmt.Sprintf(arguments[tool], pick([]string{"x", "x", "y"})), pick([]string{"0.9", "0.5"}), pick([]string{"r1", "r2"})))
				if err != nil {
					t.Fatal(err)
				}
				l.play(engine.Event{Op: engine.OpAttempt, Attempt: engine.Attempt{Action: a}})
			case 2, 3:
				o := []engine.ReviewOutcome{engine.Approve, engine.Reject, engine.Return, engine.Revoke}[r.IntN(4)]
				l.tryEvent(engine.Event{Op: engine.OpReview, TraceID: trace, CallID: id, By: engine.Identity{Name: pick([]string{"lena", "nobody"})},
					Review: engine.ReviewEvent{Outcome: o, Code: "other", Gates: []string{"recipient-domain", "change-window"}}})
			case 4:
				e := engine.Event{Op: engine.OpResult, TraceID: trace, CallID: id, By: engine.Identity{Name: "pep", Role: "pep"}, Result: engine.ResultEvent{Recoverable: true}}
				e.Result.Status = []engine.ResultStatus{engine.ResultOK, engine.ResultError, engine.NotRun}[r.IntN(3)]
				if latency := float64(r.IntN(9)) / 4; r.IntN(2) == 0 {
					e.Result.Latency, e.Result.Cost = &latency, &latency
				}
				if e.Result.Status != engine.NotRun && r.IntN(4) == 0 {
					e.Result.Incident = "other"
				}
				if e.Result.Status == engine.ResultOK {
					e.Result.Produced = []string{pick([]string{"x", "y", "x@customer.example"})}
				}
				l.tryEvent(e)
			case 5:
				op := []engine.Op{engine.OpConfirm, engine.OpAcknowledge}[r.IntN(2)]
				l.tryEvent(engine.Event{Op: op, TraceID: trace, CallID: id, By: engine.Identity{Name: "lena"}})
			}
		}
		got := l.metrics()
		ran, asked = ran+got.Success.Of, asked+got.QueueLength.Of
		if n := len(l.Queue()); int(*got.QueueLength.Value) != n {
			t.Errorf("seed %d: queue_length %s, and %d calls wait", seed, show(got.QueueLength), n)
		}
		metrics.CompareWithRecount(t, l.dir, &got, func(tool string) (float64, bool) { tl, ok := b.Tool(tool); return tl.Cost, ok })
	}
	if each := float64(*days); ran < 3*each || asked < 3*each {
		t.Errorf("in %d days %g calls ran and %g reviews were asked for: too little happened", *days, ran, asked)
	}
}

// tryEvent applies an event about a call that may not be there.
func (l *life) tryEvent(e engine.Event) {
	if _, ok := l.Snapshot().CallHash(e.TraceID, e.CallID); ok {
		l.play(e)
	}
}

// TestEventsThatNameNoCallAreOfTheDefaultAction needs the bundles beside the
// journal, and says so where they are not.
func TestEventsThatNameNoCallAreOfTheDefaultAction(t *testing.T) {
	fsys, err := policies.FS("protected-branch")
	if err != nil {
		t.Fatal(err)
	}
	files, err := bundle.FromFS(fsys, "protected-branch")
	if err != nil {
		t.Fatal(err)
	}
	files.Content["conjunct/authority/data.yaml"] = []byte("reviewers:\n  pat: {role: maintainer}\n")
	b, err := bundle.Load(files)
	if err != nil {
		t.Fatal(err)
	}
	l := open(t, b)
	pep := engine.Identity{Name: "ci", Role: "pep"}
	l.event(engine.Event{Op: engine.OpEvidence, TraceID: b.Contract().DefaultAction.TraceID, By: pep, Evidence: engine.Evidence{Name: "ci", Status: engine.Pass}})
	merge := func() {
		l.now++
		l.play(engine.Event{Op: engine.OpAttempt, Attempt: engine.Attempt{Action: *b.Contract().DefaultAction}})
	}
	merge()
	l.event(engine.Event{Op: engine.OpReview, By: engine.Identity{Name: "pat"}, Review: engine.ReviewEvent{Outcome: engine.Approve}})
	merge()
	l.event(engine.Event{Op: engine.OpResult, By: pep, Result: engine.ResultEvent{Status: engine.ResultError}})
	want := map[string]string{"task_completion": "1.0000, 1 of 1", "success": "0.0000, 0 of 1", "escalation_precision_decided": "0.0000, 0 of 1", "queue_length": "0.0000, 0 of 1"}
	expect(t, l.metrics(), want)

	alone, err := metrics.Of(context.Background(), l.dir, metrics.Options{})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, alone, map[string]string{"success": "1.0000, 1 of 1", "escalation_precision_decided": "no data, 0 of 0", "cost_per_action": "no data, 0 of 0"})
	if text := strings.Join(alone.Notes, "\n"); !strings.Contains(text, "2 events are about a call that cannot be told") || !strings.Contains(text, "what 1 of 1 executed calls cost is not known") {
		t.Errorf("notes %q do not say what is missing", alone.Notes)
	}
}
