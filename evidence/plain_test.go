package evidence

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/conjunct-project/conjunct/engine"
)

// plain is the evidence state as maps that are copied whole: slow, and with
// nothing in it to go wrong. It is what a Store is held to.
type plain struct {
	Now         int64
	Traces      map[string]engine.Trace
	Settings    map[string]map[string]any
	Records     map[engine.PathKey]map[string]engine.Evidence
	Paths       map[engine.PathKey]engine.Path
	IDs         map[[2]string]string
	Rejections  map[string]engine.Rejection
	Entities    map[[2]string]engine.EntityRecord
	Held        map[engine.PathKey][]string
	Results_    []engine.ResultWrite
	Suspected_  map[[2]string]engine.Suspicion
	Refusals    map[[2]string]uint64
	Flags       map[engine.PathKey]bool
	Contributed []engine.ContributionWrite
}

func newPlain() *plain { return (&plain{}).copy() }

// copy is a state of its own, down to the last byte.
func (p *plain) copy() *plain {
	out := deep(*p)
	v := reflect.ValueOf(&out).Elem()
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.Map && f.IsNil() {
			f.Set(reflect.MakeMap(f.Type()))
		}
	}
	return &out
}

func (p *plain) apply(w engine.Writes) {
	w = deep(w)
	p.Now = w.Clock
	for _, t := range w.Traces {
		p.Traces[t.ID] = t.Trace
	}
	for _, s := range w.Settings {
		if p.Settings[s.Trace] == nil {
			p.Settings[s.Trace] = map[string]any{}
		}
		p.Settings[s.Trace][s.Name] = s.Value
	}
	for _, e := range w.Evidence {
		key := engine.PathKey{Trace: e.Trace, Call: e.Call}
		if p.Records[key] == nil {
			p.Records[key] = map[string]engine.Evidence{}
		}
		p.Records[key][e.Evidence.Name] = e.Evidence
	}
	for _, x := range w.Paths {
		p.Paths[x.Key] = x.Path
		if x.Path.Flagged != nil {
			p.Flags[x.Key] = true
		}
	}
	for _, c := range w.Calls {
		p.IDs[[2]string{c.Trace, c.ID}] = c.Hash
	}
	for _, r := range w.Rejections {
		delete(p.Rejections, r.Call)
		if r.Rejection != nil {
			p.Rejections[r.Call] = *r.Rejection
		}
	}
	for _, e := range w.Entities {
		p.Entities[[2]string{e.Tool, string(e.Entity)}] = e.Record
	}
	for _, h := range w.Holders {
		p.Held[h.Key] = append(p.Held[h.Key], h.Value)
	}
	for _, s := range w.Suspicions {
		key := [2]string{s.Suspicion.Trace, s.Suspicion.Value}
		delete(p.Suspected_, key)
		if !s.Cleared {
			p.Suspected_[key] = s.Suspicion
		}
	}
	for _, r := range w.Refusals {
		p.Refusals[[2]string{r.Trace, r.Same}] = r.Seq
	}
	p.Results_ = append(p.Results_, w.Results...)
	p.Contributed = append(p.Contributed, w.Contributions...)
}

func (p *plain) Clock() int64                 { return p.Now }
func (p *plain) Trace(id string) engine.Trace { return p.Traces[id] }
func (p *plain) Setting(trace, name string) (any, bool) {
	v, ok := p.Settings[trace][name]
	return v, ok
}
func (p *plain) Evidence(trace, call, name string) (engine.Evidence, bool) {
	e, ok := p.Records[engine.PathKey{Trace: trace, Call: call}][name]
	return e, ok
}
func (p *plain) Path(trace, call string) engine.Path {
	return p.Paths[engine.PathKey{Trace: trace, Call: call}]
}
func (p *plain) CallHash(trace, id string) (string, bool) {
	hash, ok := p.IDs[[2]string{trace, id}]
	return hash, ok
}
func (p *plain) Rejection(call string) (engine.Rejection, bool) {
	r, ok := p.Rejections[call]
	return r, ok
}
func (p *plain) Entity(tool string, e engine.Entity) (engine.EntityRecord, bool) {
	r, ok := p.Entities[[2]string{tool, string(e)}]
	return r, ok
}
func (p *plain) Refused(trace, same string) uint64 { return p.Refusals[[2]string{trace, same}] }
func (p *plain) Suspicion(trace, value string) (engine.Suspicion, bool) {
	s, ok := p.Suspected_[[2]string{trace, value}]
	return s, ok
}
func (p *plain) suspicions(mine func(engine.Suspicion) bool) (out []engine.Suspicion) {
	for _, s := range p.Suspected_ {
		if mine(s) {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b engine.Suspicion) int {
		return cmp.Or(strings.Compare(a.Trace, b.Trace), strings.Compare(a.Value, b.Value))
	})
	return out
}
func (p *plain) Suspicions(trace string) []engine.Suspicion {
	return p.suspicions(func(s engine.Suspicion) bool { return s.Trace == trace })
}
func (p *plain) SuspicionsOf(value string) []engine.Suspicion {
	return p.suspicions(func(s engine.Suspicion) bool { return s.Value == value })
}
func (p *plain) AllSuspicions() []engine.Suspicion {
	return p.suspicions(func(engine.Suspicion) bool { return true })
}
func (p *plain) Suspected() bool { return len(p.Suspected_) > 0 }
func (p *plain) Holders(value, trace string) (out []engine.PathKey) {
	for key, values := range p.Held {
		if slices.Contains(values, value) && (trace == "" || key.Trace == trace) {
			out = append(out, key)
		}
	}
	return inOrder(out)
}
func (p *plain) Producers(trace, value string) (out []engine.Producer) {
	by := map[string]engine.Producer{}
	for _, r := range p.Results_ {
		if r.Key.Trace != trace || !slices.Contains(r.Values, value) {
			continue
		}
		x, known := by[r.Key.Call]
		if !known {
			x = engine.Producer{Call: r.Key.Call, First: r.Seq}
		}
		x.Last = r.Seq
		by[r.Key.Call] = x
	}
	for _, call := range slices.Sorted(maps.Keys(by)) {
		out = append(out, by[call])
	}
	return out
}
func (p *plain) Results(trace, call string) (out []string) {
	for _, r := range p.Results_ {
		if r.Key == (engine.PathKey{Trace: trace, Call: call}) {
			out = append(out, r.Values...)
		}
	}
	return out
}
func (p *plain) Waiting() (out []engine.PathKey) {
	for key, x := range p.Paths {
		if x.Request != nil && x.Request.Status == engine.Pending {
			out = append(out, key)
		}
	}
	return inOrder(out)
}
func (p *plain) Flagged() []engine.PathKey { return inOrder(slices.Collect(maps.Keys(p.Flags))) }
func (p *plain) Contributions(counter, entity string) (out []engine.Contribution) {
	for _, c := range p.Contributed {
		if c.Counter == counter && c.Entity == entity {
			out = append(out, c.Contribution)
		}
	}
	return out
}

func inOrder(keys []engine.PathKey) []engine.PathKey {
	slices.SortFunc(keys, func(a, b engine.PathKey) int {
		return cmp.Or(strings.Compare(a.Trace, b.Trace), strings.Compare(a.Call, b.Call))
	})
	return keys
}

// wholeView is a View with what only this room reads.
type wholeView interface {
	engine.View
	Flagged() []engine.PathKey
}

// told is all that a view says of the names that these tests use.
func told(v wholeView) string {
	var out strings.Builder
	tell := func(what string, x ...any) {
		text, err := json.Marshal(x)
		if err != nil {
			panic(err)
		}
		if s := string(text); s != "[null]" && s != "[[]]" {
			fmt.Fprintf(&out, "%s %s\n", what, s)
		}
	}
	tell("clock", v.Clock())
	tell("waiting", v.Waiting())
	tell("flagged", v.Flagged())
	tell("suspected", v.Suspected())
	tell("suspicions", v.AllSuspicions())
	for _, value := range heldValues {
		tell("of "+value, v.SuspicionsOf(value))
		tell("held anywhere "+value, v.Holders(value, ""))
		for _, tool := range []string{"drop", "look"} {
			r, ok := v.Entity(tool, engine.Entity("text:"+value))
			tell("entity "+tool+value, r, ok)
		}
	}
	for _, entity := range append(heldValues, "") {
		tell("contributions "+entity, v.Contributions("dropped", entity))
	}
	for _, trace := range append(tracesUsed, "") {
		tell("trace "+trace, v.Trace(trace))
		tell("suspicions "+trace, v.Suspicions(trace))
		for _, name := range []string{"capacity", "review_ttl", "unknown"} {
			x, ok := v.Setting(trace, name)
			tell("setting "+trace+name, x, ok)
		}
		for _, value := range heldValues {
			tell("held "+trace+value, v.Holders(value, trace))
			tell("producers "+trace+value, v.Producers(trace, value))
			s, ok := v.Suspicion(trace, value)
			tell("suspicion "+trace+value, s, ok)
		}
		for _, id := range idsUsed {
			hash, ok := v.CallHash(trace, id)
			tell("call "+trace+id, hash, ok)
		}
		for n := range contents + 1 {
			call := []string{contentHash(n), ""}[n/contents]
			for _, name := range []string{"ci", "simulation"} {
				e, ok := v.Evidence(trace, call, name)
				tell("evidence "+trace+call+name, e, ok)
			}
			tell("path "+trace+call, v.Path(trace, call))
			tell("results "+trace+call, v.Results(trace, call))
			tell("refused "+trace+call, v.Refused(trace, call))
			r, ok := v.Rejection(call)
			tell("rejection "+call, r, ok)
		}
	}
	return out.String()
}

// deep copies a value to the last byte, unexported fields excepted.
func deep[T any](v T) T { return deepValue(reflect.ValueOf(&v).Elem()).Interface().(T) }

func deepValue(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	switch {
	case slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Interface, reflect.Map, reflect.Slice}, v.Kind()) && v.IsNil():
	case v.Kind() == reflect.Pointer:
		out.Set(reflect.New(v.Type().Elem()))
		out.Elem().Set(deepValue(v.Elem()))
	case v.Kind() == reflect.Interface:
		out.Set(deepValue(v.Elem()))
	case v.Kind() == reflect.Map:
		out.Set(reflect.MakeMap(v.Type()))
		for _, k := range v.MapKeys() {
			out.SetMapIndex(k, deepValue(v.MapIndex(k)))
		}
	case v.Kind() == reflect.Slice:
		out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		for i := range v.Len() {
			out.Index(i).Set(deepValue(v.Index(i)))
		}
	case v.Kind() == reflect.Struct:
		out.Set(v)
		for i := range v.NumField() {
			if out.Field(i).CanSet() {
				out.Field(i).Set(deepValue(v.Field(i)))
			}
		}
	default:
		out.Set(v)
	}
	return out
}

// governed is a bundle in plain Go: tools of several weights, an own gate that
// reads evidence, counters, a critic, a queue of three.
type governed struct{ contract *engine.Contract }

func (g governed) Bundle() engine.BundleID {
	return engine.BundleID{Revision: "r", Digest: "sha256:b"}
}
func (g governed) Contract() *engine.Contract { return g.contract }
func (g governed) Undeclared() engine.Tier    { return engine.Refuse }
func (g governed) InferredFloor() engine.Tier { return engine.Propose }
func (g governed) Bump() int                  { return 1 }
func (g governed) Cap() engine.Tier           { return engine.Propose }
func (g governed) Base(c engine.Consequence) (engine.Tier, engine.Reason) {
	tier := map[engine.Reversibility]engine.Tier{engine.Irreversible: engine.Propose, engine.Costly: engine.ExecuteNotify, engine.Reversible: engine.Execute}[c.Reversibility]
	return tier, engine.Reason{Code: "base_tier"}
}
func (g governed) Modifiers(engine.Consequence, bool) []engine.ModifierRule  { return nil }
func (g governed) Raises(context.Context, *engine.Input) []engine.Raise      { return nil }
func (g governed) Floors(context.Context, *engine.Input) []engine.FloorMatch { return nil }
func (g governed) May(context.Context, engine.AuthorityRequest) (bool, engine.Reason) {
	return true, engine.Reason{}
}
func (g governed) Gates(tool string) []engine.Gate {
	if tool != "pay" {
		return nil
	}
	return []engine.Gate{{Name: "checked", OnFail: engine.ByReview, OnUnknown: engine.ByReview}}
}
func (g governed) Test(_ context.Context, _ string, in *engine.Input) engine.Finding {
	e, ok := in.State.Evidence["ci"]
	if !ok {
		return engine.Finding{}
	}
	if in.State.Counters["dropped"] > 3 {
		panic("too much was dropped")
	}
	return engine.Finding{Verdict: e.Status, Reasons: []engine.Reason{{Code: "ci_" + e.Status.String()}}}
}
func (g governed) Tool(name string) (engine.Tool, bool) {
	c := engine.Consequence{Reversibility: engine.Reversible, BlastRadius: engine.TaskOnly, AbsorbedBy: engine.AgentItself, DetectionLatency: engine.Immediate, Source: engine.Declared}
	t := engine.Tool{Name: name, Consequence: c}
	switch name {
	case "look":
		t.Effect = engine.Read
	case "note", "pay":
	case "update":
		t.Consequence.Reversibility = engine.Costly
	case "drop", "revoke":
		t.Consequence.Reversibility = engine.Irreversible
	default:
		return engine.Tool{}, false
	}
	return t, true
}
func (g governed) Next(c engine.Cause, f engine.Flags) (engine.Transition, bool) {
	switch c {
	case engine.FailureOpen:
		if f.RetryLeft && f.Recoverable {
			return engine.Retry, true
		}
	case engine.OwnReview, engine.StructureFired, engine.CriticLow, engine.ReviewDue:
		if f.CanAsk {
			return engine.Escalate, true
		}
		return engine.Defer, true
	}
	return engine.Stop, true
}

func governedBy(scope string) governed {
	none := engine.GateRule{Scope: "no call", Rationale: "nothing is required"}
	return governed{&engine.Contract{
		Threshold: 0.85, Start: engine.Start{Settings: map[string]any{"capacity": 3.0, "review_ttl": 6.0}, Pins: map[string]string{"context": "v1"}},
		TracePins: []string{"context", "component"}, PathPins: []string{"input"}, RetryBudget: 1, Roles: []string{"reviewer"}, Required: 1,
		Evidence: map[string]engine.RecordRule{"ci": {}, engine.Simulation: {}}, Context: map[string]engine.RecordRule{},
		Priority: engine.Causes(), Reexamination: scope, Window: 5, RejectionVoid: map[string][]engine.Binding{"window": {engine.BindPins}}[scope],
		Counters: map[string]engine.CounterRule{"dropped": {Tools: []string{"drop", "note"}, By: "what", Window: 8}},
		Critic:   &engine.CriticRule{Threshold: 0.5, Tools: []string{"drop"}}, SinglePlan: []string{"drop"},
		Gates: map[string]engine.GateRule{engine.ContextGate: none, engine.EvidenceReq: none, engine.Eligibility: none},
	}}
}

var (
	tracesUsed = []string{"t", "tt", "u"}
	idsUsed    = []string{"1", "2", "12", "3"}
	heldValues = []string{"a", "b", "ab", ""}
)

const contents = 8

func contentHash(n int) string { return fmt.Sprint("sha256:", n) }

// proposal is one of a few calls, under an id.
func proposal(trace, id string, n int) engine.Event {
	tool := []string{"look", "note", "update", "drop", "pay", "revoke", "gone", "look"}[n]
	what := heldValues[n%3]
	confidence, score := 0.9, 0.9
	a := engine.Action{TraceID: trace, CallID: id, Tool: tool, CallHash: contentHash(n), InputHash: "sha256:i" + id, Likeness: contentHash(n &^ 4),
		Agent: engine.Agent{ID: "agent", Component: "planner"}, Arguments: map[string]any{"what": what}, Confidence: &confidence,
		Critic:    &engine.Critic{Score: &score, Component: "critic"},
		Canonical: []byte(fmt.Sprintf(`{"arguments":{"what":%q},"context":{"source_record":%q}}`, what, heldValues[(n+1)%3])),
		Holds:     []engine.Held{{Item: engine.Item{Kind: engine.KindRecord, Value: heldValues[(n+1)%3]}}, {Item: engine.Item{Kind: engine.KindArgument, Value: what}, Argument: "what"}}}
	if n == 5 {
		a.Holds = append(a.Holds, engine.Held{Item: engine.Item{Kind: engine.KindEverything}})
	}
	return engine.Event{Op: engine.OpAttempt, TraceID: trace, Call: a.CallHash, CallID: id, Attempt: engine.Attempt{Action: a, Facts: map[string]any{}, FactsHash: "sha256:f"}}
}
