package metrics

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"pgregory.net/rapid"

	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/journal"
)

// written makes an entry of a body.
func written(seq int, at int64, op string, tree map[string]any) journal.Entry {
	text, err := json.Marshal(tree)
	if err != nil {
		panic(err)
	}
	return journal.Entry{Seq: uint64(seq), Time: at, Op: op, Body: text}
}

type tree = map[string]any

// journals draws journals in the form of entries, in which everything happens
// that metrics look at, sensible or not.
func journals() *rapid.Generator[[]journal.Entry] {
	return rapid.Custom(func(t *rapid.T) []journal.Entry {
		var out []journal.Entry
		at := int64(1000)
		for i := range rapid.IntRange(0, 60).Draw(t, "entries") {
			at += rapid.Int64Range(0, 30).Draw(t, "later")
			op, body := drawn(t)
			out = append(out, written(i+1, at, op, body))
		}
		return out
	})
}

func drawn(t *rapid.T) (string, tree) {
	pick := func(name string, from ...string) string { return rapid.SampledFrom(from).Draw(t, name) }
	yes := func(name string) bool { return rapid.Bool().Draw(t, name) }
	trace, id := pick("trace", "t", "u"), pick("id", "c1", "c2", "c3", "c4")
	rec := tree{"invalid": "", "requested": false, "completed": false}
	switch pick("op", "attempt", "attempt", "review", "result", "settings") {
	case "attempt":
		d := tree{"trace_id": trace, "call_id": id, "call_hash": map[string]string{"c1": "h1", "c2": "h2", "c3": "h1", "c4": "h3"}[id],
			"tool": pick("tool", "cheap", "dear", "unknown"), "tier": pick("tier", "execute", "execute_notify", "propose", "refuse"),
			"outcome": pick("outcome", "allow", "review", "block"), "cause": pick("cause", "", "BOUNDS", "RESOLUTION"),
			"transition": pick("transition", "act", "defer", "escalate", "stop"), "reasons": []any{}, "request": nil,
			"consequence": tree{"reversibility": pick("reversibility", "reversible", "costly", "irreversible"),
				"blast_radius": pick("blast_radius", "task", "record", "system", "external"), "absorbed_by": "agent", "detection_latency": "hours", "source": "declared"}}
		d["permit"] = d["outcome"] == "allow"
		if code := pick("code", "", "already_released", "pulled_back", "rejected"); code != "" && d["permit"] == false {
			d["reasons"] = []any{tree{"code": "other"}, tree{"code": code}}
		}
		rec["requested"] = d["outcome"] == "review" && yes("requested")
		if retry := rapid.IntRange(0, 20).Draw(t, "retry of"); retry > 0 && yes("retry") {
			rec["retry_of"] = retry
		}
		if rapid.IntRange(0, 9).Draw(t, "reused") == 0 {
			rec["invalid"] = "invalid_attempt"
		}
		return "attempt", tree{"bundle": "b", "decision": d, "record": rec}
	case "review":
		rec["completed"] = yes("completed")
		rec["invalid"] = pick("invalid", "", "", "invalid_review")
		return "review", tree{"bundle": "b", "event": tree{"trace_id": trace, "call": id, "outcome": pick("outcome", "approve", "reject", "reject", "return", "revoke")}, "record": rec}
	case "result":
		e := tree{"trace_id": trace, "call": id, "status": pick("status", "ok", "error", "not_run")}
		for _, field := range []string{"latency", "overhead", "cost"} {
			if yes(field) {
				// Multiples of a quarter, so that the recount's own sums are exact.
				e[field] = float64(rapid.IntRange(0, 20).Draw(t, field)) / 4
			}
		}
		if e["status"] != "not_run" && yes("incident") {
			e["incident"] = "wrong_target"
			if yes("later") {
				delete(e, "status")
			}
		}
		return "result", tree{"bundle": "b", "event": e, "record": rec}
	}
	return "settings", tree{"bundle": "b", "event": tree{"op": "settings"}, "record": rec}
}

// registry prices two tools and knows no third.
type registry struct{ engine.Policy }

func (registry) Contract() *engine.Contract { return &engine.Contract{} }
func (registry) Tool(name string) (engine.Tool, bool) {
	cost, ok := map[string]float64{"cheap": 0.25, "dear": 4}[name]
	return engine.Tool{Name: name, Cost: cost}, ok
}

func beside(digest string) (engine.Policy, bool) { return registry{}, digest == "b" }

func reportOf(t testing.TB, entries []journal.Entry, o Options) Report {
	t.Helper()
	f := New(o)
	for _, e := range entries {
		if err := f.Next(e); err != nil {
			t.Fatal(err)
		}
	}
	return f.Report()
}

// figuresOf lists the figures that the recount has as well.
func figuresOf(r *Report) map[string]Figure {
	out := map[string]Figure{}
	for _, n := range r.All() {
		switch {
		case strings.HasPrefix(n.Name, "queue"), strings.HasPrefix(n.Name, "review_delay"), n.Name == "deferrals":
		case n.Class != "":
			out[n.Name+" "+n.Class] = n.Figure
		default:
			out[n.Name] = n.Figure
		}
	}
	return out
}

func show(f Figure) string {
	v := "no data"
	if f.Value != nil {
		v = fmt.Sprintf("%.9f", *f.Value)
	}
	return fmt.Sprintf("%s, %.9f of %.9f", v, f.Count, f.Of)
}

func compare(t interface {
	Helper()
	Errorf(string, ...any)
}, got, want map[string]Figure) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%d figures, the recount has %d", len(got), len(want))
	}
	for name, w := range want {
		if g := got[name]; show(g) != show(w) {
			t.Errorf("%s: got %s, the recount has %s", name, show(g), show(w))
		}
	}
}

func TestFiguresAreThoseOfASimpleRecount(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		entries := journals().Draw(rt, "journal")
		r := reportOf(t, entries, Options{Library: beside})
		compare(rt, figuresOf(&r), recount(t, entries, func(tool string) (float64, bool) {
			tl, ok := registry{}.Tool(tool)
			return tl.Cost, ok
		}))
	})
}

func TestATraceAloneHasTheFiguresOfAJournalOfIt(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		entries := journals().Draw(rt, "journal")
		var of []journal.Entry
		for _, e := range entries {
			if strings.Contains(string(e.Body), `"trace_id":"t"`) {
				of = append(of, e)
			}
		}
		got, want := reportOf(t, entries, Options{Library: beside, Trace: "t"}), reportOf(t, of, Options{Library: beside})
		if a, b := asJSON(t, got), asJSON(t, want); a != b {
			rt.Fatalf("got  %s\nwant %s", a, b)
		}
	})
}

func asJSON(t testing.TB, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestLettingAWrongCallRunImprovesNoFigureThatKnows takes a call that was held
// and rejected, lets it run under a lower tier instead and has it reported as
// wrong: no figure that counts what is known may get better.
func TestLettingAWrongCallRunImprovesNoFigureThatKnows(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		before := journals().Draw(rt, "journal")
		attempt := func(outcome, tier string, permit bool) journal.Entry {
			return written(1001, 5000, "attempt", tree{"bundle": "b", "record": tree{"requested": !permit}, "decision": tree{"trace_id": "w", "call_id": "c", "call_hash": "h",
				"tool": "dear", "tier": tier, "outcome": outcome, "permit": permit, "transition": "act", "reasons": []any{},
				"consequence": tree{"reversibility": "irreversible", "blast_radius": "external", "absorbed_by": "agent", "detection_latency": "hours", "source": "declared"}}})
		}
		strict := append(slices.Clone(before), attempt("review", "propose", false),
			written(1002, 5001, "review", tree{"event": tree{"trace_id": "w", "call": "c", "outcome": "reject"}, "record": tree{"completed": true}}))
		loose := append(slices.Clone(before), attempt("allow", rapid.SampledFrom([]string{"execute", "execute_notify"}).Draw(rt, "tier"), true),
			written(1002, 5001, "result", tree{"event": tree{"trace_id": "w", "call": "c", "status": "ok", "incident": "wrong_target"}, "record": tree{}}))
		was, is := reportOf(t, strict, Options{Library: beside}), reportOf(t, loose, Options{Library: beside})
		for _, c := range []struct {
			name    string
			was, is Figure
			better  float64 // 1: more is better
		}{
			{"task_completion_known", was.TaskCompletionKnown, is.TaskCompletionKnown, 1},
			{"success_known", was.SuccessKnown, is.SuccessKnown, 1},
			{"cost_per_action_known", was.CostPerActionKnown, is.CostPerActionKnown, -1},
			{"escalation_precision", was.EscalationPrecision, is.EscalationPrecision, 1},
			{"escalation_precision_decided", was.EscalationPrecisionDecided, is.EscalationPrecisionDecided, 1},
			{"override_rate", was.OverrideRate["irreversible/external"], is.OverrideRate["irreversible/external"], 1},
			{"cost_weighted_error_known", was.CostWeightedErrorKnown, is.CostWeightedErrorKnown, -1},
		} {
			if c.was.Value != nil && c.is.Value != nil && c.better*(*c.is.Value-*c.was.Value) > 1e-12 {
				rt.Errorf("%s gets better by letting a wrong call run: %s, then %s", c.name, show(c.was), show(c.is))
			}
		}
	})
}

func TestAnEntryThatIsNoneOfOursIsTold(t *testing.T) {
	for _, body := range []string{`[]`, `{"decision":{"tier":"mild"}}`, `{"decision":{"consequence":{"blast_radius":"galaxy"}}}`, `{"record":{"retry_of":-1}}`} {
		err := New(Options{}).Next(journal.Entry{Seq: 7, Op: "attempt", Body: []byte(body)})
		var fault *journal.Fault
		if !errors.As(err, &fault) || fault.Seq != 7 {
			t.Errorf("%s: got %v, want a fault of entry 7", body, err)
		}
	}
}

func TestNothingIsNoData(t *testing.T) {
	r := reportOf(t, nil, Options{})
	for _, n := range r.All() {
		switch {
		case n.Unit == Number:
			if n.Value == nil || *n.Value != 0 {
				t.Errorf("%s of an empty journal: %s, want a count of 0", n.Name, show(n.Figure))
			}
		case n.Value != nil || n.Count != 0 || n.Of != 0:
			t.Errorf("%s of an empty journal: %s, want no data", n.Name, show(n.Figure))
		}
	}
	text := asJSON(t, r)
	for _, want := range []string{`"task_completion":{"value":null,"count":0,"of":0}`, `"override_rate":{}`, `"notes":[]`} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not in %s", want, text)
		}
	}
}

func TestTheWeightOfAnIncidentFollowsTheDefaultTable(t *testing.T) {
	for c := range engine.Classes(engine.Declared) {
		class := c.Reversibility.String() + "/" + c.BlastRadius.String()
		if got := defaultTier(c).String(); got != table[class] {
			t.Errorf("%s: %s, want %s", class, got, table[class])
		}
	}
}

func TestQueueDelayAndDeferrals(t *testing.T) {
	attempt := func(seq int, at int64, id, transition string, requested bool) journal.Entry {
		return written(seq, at, "attempt", tree{"decision": tree{"trace_id": "t", "call_id": id, "call_hash": id, "tier": "propose", "outcome": "review",
			"transition": transition, "reasons": []any{}, "consequence": tree{}}, "record": tree{"requested": requested}})
	}
	review := func(seq int, at int64, id, outcome string, completed bool) journal.Entry {
		return written(seq, at, "review", tree{"event": tree{"trace_id": "t", "call": id, "outcome": outcome}, "record": tree{"completed": completed}})
	}
	r := reportOf(t, []journal.Entry{
		attempt(1, 100, "a", "escalate", true), attempt(2, 110, "b", "escalate", true), attempt(3, 120, "c", "defer", false),
		review(4, 130, "a", "approve", false), review(5, 140, "a", "approve", true), // the second of two approvals
		attempt(6, 150, "c", "escalate", true), review(7, 250, "b", "revoke", false), attempt(8, 300, "d", "defer", false),
	}, Options{})
	for _, c := range []struct {
		name string
		got  Figure
		want string
	}{
		{"review_delay_p50", r.ReviewDelayP50, "40.000000000, 1.000000000 of 3.000000000"},
		{"queue_length", r.QueueLength, "1.000000000, 1.000000000 of 3.000000000"},
		{"queue_length_max", r.QueueLengthMax, "2.000000000, 2.000000000 of 3.000000000"},
		{"deferrals", r.Deferrals, "2.000000000, 2.000000000 of 5.000000000"},
	} {
		if show(c.got) != c.want {
			t.Errorf("%s: %s, want %s", c.name, show(c.got), c.want)
		}
	}
}

// TestWhatAnswersAPullBack follows one call that ran and was pulled back, and
// one that waits, through what may end the waiting.
func TestWhatAnswersAPullBack(t *testing.T) {
	attempt := func(outcome string, permit, requested bool) (string, tree) {
		return "attempt", tree{"decision": tree{"trace_id": "t", "call_id": "c", "call_hash": "h", "tier": "propose", "outcome": outcome, "permit": permit,
			"transition": "act", "reasons": []any{}, "consequence": tree{}}, "record": tree{"requested": requested}}
	}
	again := func(effect string, ran, requested bool) (string, tree) {
		return "reexamine", tree{"call": tree{"trace_id": "t", "call_id": "c", "call_hash": "h"}, "effect": effect, "ran": ran, "record": tree{"requested": requested}}
	}
	event := func(op, field, value string, completed bool) (string, tree) {
		return op, tree{"event": tree{"trace_id": "t", "call": "c", field: value}, "record": tree{"completed": completed}}
	}
	for _, c := range []struct {
		name string
		ran  bool
		then func() (string, tree)
		want float64
	}{
		{"ran: confirmed", true, func() (string, tree) { return event("confirm", "with", "", true) }, 0},
		{"ran: compensated", true, func() (string, tree) { return event("compensate", "with", "d", true) }, 0},
		{"ran: acknowledged", true, func() (string, tree) { return event("acknowledge", "with", "", true) }, 0},
		{"ran: rejected", true, func() (string, tree) { return event("review", "outcome", "reject", true) }, 0},
		{"ran: an incident is an answer", true, func() (string, tree) { return event("result", "incident", "other", false) }, 0},
		{"ran: revoking takes nothing from the queue", true, func() (string, tree) { return event("review", "outcome", "revoke", false) }, 1},
		{"ran: a result is no answer", true, func() (string, tree) { return event("result", "status", "ok", false) }, 1},
		{"waits: revoked", false, func() (string, tree) { return event("review", "outcome", "revoke", false) }, 0},
		{"waits: the same call was rejected in other words", false, func() (string, tree) { return again("decided_again", false, false) }, 0},
		{"waits: asked for anew", false, func() (string, tree) { return again("decided_again", false, true) }, 1},
		{"waits: an answer that is no word of a reviewer", false, func() (string, tree) { return event("clear", "with", "", true) }, 1},
	} {
		f := New(Options{})
		seq := 0
		take := func(op string, body tree) {
			seq++
			if err := f.Next(written(seq, int64(seq), op, body)); err != nil {
				t.Fatal(err)
			}
		}
		if c.ran {
			take(attempt("allow", true, false))
			take(again("pulled_back", true, true))
		} else {
			take(attempt("review", false, true))
		}
		take(c.then())
		if r := f.Report(); r.QueueLength.Count != c.want {
			t.Errorf("%s: %g wait, want %g", c.name, r.QueueLength.Count, c.want)
		}
	}
}

func TestQuantilesAreSamples(t *testing.T) {
	samples := []float64{5, 1, 4, 2, 3}
	for q, want := range map[float64]float64{0.5: 3, 0.95: 5, 0.2: 1, 0: 1, 1: 5} {
		if f := quantile(samples, q, 9); f.Value == nil || *f.Value != want || f.Count != 5 || f.Of != 9 {
			t.Errorf("%v of %v: %s, want %v", q, samples, show(f), want)
		}
	}
}

func TestAThirdOfATenthIsNotRoundedOnTheWay(t *testing.T) {
	sum := exact(0)
	for range 10 {
		sum.Add(sum, exact(0.1))
	}
	if f := quotient(sum, whole(10)); f.Count != 1 || *f.Value != 0.1 {
		t.Errorf("ten times 0.1: %s", show(f))
	}
}

// TestPrometheusReadsIt holds the text to Prometheus' own parser, and to every
// figure's value and counts.
func TestPrometheusReadsIt(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := reportOf(t, journals().Draw(rt, "journal"), Options{Library: beside})
		var b strings.Builder
		if err := r.WritePrometheus(&b); err != nil {
			rt.Fatal(err)
		}
		parser := expfmt.NewTextParser(model.UTF8Validation)
		families, err := parser.TextToMetricFamilies(strings.NewReader(b.String()))
		if err != nil {
			rt.Fatalf("%v\n%s", err, b.String())
		}
		value := func(name, class string) *float64 {
			for _, m := range families[name].GetMetric() {
				if len(m.Label) == 0 && class == "" || len(m.Label) == 1 && m.Label[0].GetName() == "class" && m.Label[0].GetValue() == class {
					return m.Gauge.Value
				}
			}
			return nil
		}
		for _, n := range r.All() {
			name := "conjunct_" + n.Name
			if v := value(name+suffix[n.Unit], n.Class); (v == nil) != (n.Value == nil) || v != nil && math.Abs(*v-*n.Value) > 1e-12 {
				rt.Errorf("%s %s: %v, want %s", n.Name, n.Class, v, show(n.Figure))
			}
			if c, of := value(name+"_counted", n.Class), value(name+"_of", n.Class); c == nil || of == nil || *c != n.Count || *of != n.Of {
				rt.Errorf("%s %s: counts %v of %v, want %s", n.Name, n.Class, c, of, show(n.Figure))
			}
		}
	})
}
