package reexam

import (
	"fmt"
	"strconv"

	"github.com/conjunct-project/conjunct/action"
	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/episode"
)

// Body is the canonical body of the entry for an event and what it came to. It
// holds codes and facts and no prose, and does not depend on the entry's place
// in the journal: a request that the entry itself makes is written as null.
//
// Arguments that the contract redacts are kept as an HMAC under key.
func Body(e engine.Event, rec engine.Record, p engine.Policy, v Versions, key []byte) ([]byte, error) {
	return AppendBody(make([]byte, 0, 4096), &e, &rec, p, v, key)
}

// AppendBody appends what Body gives.
func AppendBody(out []byte, e *engine.Event, rec *engine.Record, p engine.Policy, v Versions, key []byte) ([]byte, error) {
	w := &writer{out: out}
	if e.Op == engine.OpAttempt {
		return w.attempt(&e.Attempt, rec, p, v, key)
	}
	if e.Op == engine.OpReexamine && rec.Second != nil {
		return w.again(e, rec, p, v)
	}
	event := *e
	event.Time = rec.Time
	w.object(func() {
		w.text("bundle", p.Bundle().Digest)
		w.text("cel", v.CEL)
		w.text("engine", v.Engine)
		w.value("event", episode.WriteEvent(event))
		w.text("opa", v.OPA)
		w.key("record")
		w.record(rec)
	})
	return w.out, w.err
}

// writer writes canonical JSON by hand: the fields of every object stand in
// canonical order in the code. A test holds the result to what the library
// makes of it.
type writer struct {
	out    []byte
	first  bool
	hidden *redaction
	err    error
}

func (w *writer) comma() {
	if !w.first {
		w.out = append(w.out, ',')
	}
	w.first = false
}

func (w *writer) object(fields func()) {
	w.out = append(w.out, '{')
	w.first = true
	fields()
	w.out = append(w.out, '}')
	w.first = false
}

func (w *writer) array(n int, item func(i int)) {
	w.out = append(w.out, '[')
	w.first = true
	for i := range n {
		w.comma()
		item(i)
	}
	w.out = append(w.out, ']')
	w.first = false
}

// key writes a name that needs no escaping.
func (w *writer) key(name string) {
	w.comma()
	w.out = append(append(append(w.out, '"'), name...), '"', ':')
}

func (w *writer) any(v any) {
	out, err := action.AppendValue(w.out, v)
	if err != nil && w.err == nil {
		w.err = err
	}
	w.out = out
}

func (w *writer) value(name string, v any) {
	w.key(name)
	w.any(v)
}

func (w *writer) text(name, s string) {
	w.key(name)
	w.string(s)
}

// string writes plain text directly and leaves the rest to the library.
func (w *writer) string(s string) {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c >= 0x7f || c == '"' || c == '\\' {
			w.any(s)
			return
		}
	}
	w.out = append(append(append(w.out, '"'), s...), '"')
}

func (w *writer) bool(name string, b bool) {
	w.key(name)
	w.out = strconv.AppendBool(w.out, b)
}

func (w *writer) int(name string, n int64) {
	w.key(name)
	w.out = strconv.AppendInt(w.out, n, 10)
}

func (w *writer) texts(name string, list []string) {
	w.key(name)
	w.array(len(list), func(i int) { w.string(list[i]) })
}

func (w *writer) attempt(a *engine.Attempt, rec *engine.Record, p engine.Policy, v Versions, key []byte) ([]byte, error) {
	written := a.Action.Canonical
	hidden, err := redactionOf(p.Contract(), a.Action, key)
	if err == nil && hidden != nil {
		written, err = hidden.action(a.Action)
	}
	if err != nil {
		return nil, err
	}
	w.hidden = hidden
	w.object(func() {
		w.key("action")
		w.out = append(w.out, written...)
		w.text("bundle", p.Bundle().Digest)
		w.text("cel", v.CEL)
		w.key("decision")
		w.decision(rec)
		w.text("engine", v.Engine)
		w.value("facts", facts(a.Facts))
		w.texts("facts_unknown", a.FactsUnknown)
		w.text("opa", v.OPA)
		w.key("record")
		w.record(rec)
		w.texts("redacted", hidden.list())
	})
	return w.out, w.err
}

func (w *writer) decision(rec *engine.Record) {
	d := rec.Decision
	w.object(func() {
		w.text("base_tier", d.BaseTier.String())
		w.text("boundary", d.Boundary.String())
		w.text("call_hash", d.CallHash)
		w.text("call_id", d.CallID)
		w.text("cause", d.Cause)
		w.key("consequence")
		w.consequence(d.Consequence)
		w.key("floors")
		w.array(len(d.Floors), func(i int) { w.floor(d.Floors[i]) })
		w.key("gates")
		w.array(len(d.Gates), func(i int) { w.gate(d.Gates[i]) })
		w.key("imposed")
		w.array(len(d.Imposed), func(i int) {
			w.object(func() {
				w.text("code", d.Imposed[i].Code)
				w.text("gate", d.Imposed[i].Gate)
			})
		})
		w.text("input_hash", d.InputHash)
		w.key("modifiers")
		w.array(len(d.Modifiers), func(i int) {
			w.object(func() {
				w.bool("applied", d.Modifiers[i].Applied)
				w.text("name", d.Modifiers[i].Name)
			})
		})
		w.bool("notify", d.Notify)
		w.text("outcome", d.Outcome.String())
		w.bool("permit", d.Permit)
		w.key("reasons")
		w.reasons(d.Reasons)
		w.request(rec)
		w.text("tier", d.Tier.String())
		w.text("tool", d.Tool)
		w.text("trace_id", d.TraceID)
		w.text("transition", d.Transition.String())
	})
}

// request is the entry's request, or null where the entry itself makes it.
func (w *writer) request(rec *engine.Record) {
	if rec.Requested {
		w.value("request", nil)
		return
	}
	w.key("request")
	w.out = strconv.AppendUint(w.out, rec.Decision.Request, 10)
}

func (w *writer) consequence(c engine.Consequence) {
	w.object(func() {
		w.text("absorbed_by", c.AbsorbedBy.String())
		w.text("blast_radius", c.BlastRadius.String())
		w.text("detection_latency", c.DetectionLatency.String())
		w.text("reversibility", c.Reversibility.String())
		w.text("source", c.Source.String())
	})
}

func (w *writer) floor(f engine.Floor) {
	w.object(func() {
		w.bool("applied", f.Applied)
		w.text("name", f.Name)
		w.text("tier", f.Tier.String())
	})
}

func (w *writer) gate(g engine.GateResult) {
	w.object(func() {
		w.text("name", g.Name)
		w.key("reasons")
		w.reasons(g.Reasons)
		w.text("verdict", g.Verdict.String())
	})
}

// record is what an event came to, besides a decision.
func (w *writer) record(rec *engine.Record) {
	w.object(func() {
		w.bool("completed", rec.Completed)
		w.text("component_version", rec.ComponentVersion)
		w.text("context_version", rec.ContextVersion)
		if len(rec.Due) > 0 {
			w.int("due", int64(len(rec.Due)))
		}
		w.text("invalid", rec.Invalid)
		w.text("output_ref", rec.OutputRef)
		w.key("reasons")
		if rec.Decision == nil {
			w.reasons(rec.Reasons)
		} else {
			w.reasons(nil)
		}
		w.bool("requested", rec.Requested)
		w.int("retry_left", int64(rec.RetryLeft))
		if rec.RetryOf != 0 {
			w.int("retry_of", int64(rec.RetryOf))
		}
		w.text("review_outcome", rec.ReviewOutcome.String())
		w.bool("review_required", rec.ReviewRequired)
		if rec.Reviewer == nil {
			w.value("reviewer", nil)
		} else {
			w.text("reviewer", *rec.Reviewer)
		}
		w.text("rule_version", rec.RuleVersion)
		w.text("state_after", rec.StateAfter)
		w.text("state_before", rec.StateBefore)
		w.text("transition", rec.Transition.String())
	})
}

func (w *writer) reasons(reasons []engine.Reason) {
	w.array(len(reasons), func(i int) {
		r := &reasons[i]
		w.object(func() {
			w.text("code", r.Code)
			w.key("facts")
			w.array(len(r.Facts), func(k int) { w.fact(r.Facts[k]) })
			w.key("rule")
			w.object(func() {
				w.text("file", r.Rule.File)
				w.text("path", r.Rule.Path)
				w.int("row", int64(r.Rule.Row))
			})
		})
	})
}

func (w *writer) fact(f engine.Fact) {
	hidden := w.hidden.hides(f.Path)
	w.object(func() {
		if f.Absent {
			w.bool("absent", true)
		}
		w.text("path", f.Path)
		if hidden {
			w.bool("redacted", true)
			w.value("value", nil)
			return
		}
		if s, ok := f.Value.(string); ok {
			w.text("value", s)
			return
		}
		w.value("value", plain(f.Value))
	})
}

func facts(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}

func texts(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}

// plain turns the Go values that reasons hold into those that JSON has.
func plain(v any) any {
	switch v := v.(type) {
	case nil, bool, float64, string:
		return v
	case int:
		return float64(v)
	case int64:
		return float64(v)
	case uint64:
		return float64(v)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = plain(e)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = plain(e)
		}
		return out
	}
	return fmt.Sprint(v)
}
