package engine

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// memory is an evidence state in plain maps that writes can be applied to: the
// simplest thing that keeps what a fold wrote.
type memory struct {
	Now      int64
	Traces   map[string]Trace
	Settings map[[2]string]any
	Records  map[[3]string]Evidence
	Paths    map[PathKey]Path
	Calls    map[[2]string]string
	Standing map[string]Rejection
	Counted  map[[2]string][]Contribution
	Held     map[string]map[PathKey]bool
	Gave     map[PathKey][]ResultWrite
	Suspect  map[[2]string]Suspicion
	Denied   map[[2]string]uint64
	Named    map[nameKey]EntityRecord
}

func newMemory() *memory {
	return &memory{Traces: map[string]Trace{}, Settings: map[[2]string]any{}, Records: map[[3]string]Evidence{}, Paths: map[PathKey]Path{},
		Calls: map[[2]string]string{}, Standing: map[string]Rejection{}, Counted: map[[2]string][]Contribution{}, Named: map[nameKey]EntityRecord{},
		Held: map[string]map[PathKey]bool{}, Gave: map[PathKey][]ResultWrite{}, Suspect: map[[2]string]Suspicion{}, Denied: map[[2]string]uint64{}}
}

func (m *memory) Clock() int64                             { return m.Now }
func (m *memory) Trace(id string) Trace                    { return m.Traces[id] }
func (m *memory) Path(trace, call string) Path             { return m.Paths[PathKey{trace, call}] }
func (m *memory) Contributions(c, e string) []Contribution { return m.Counted[[2]string{c, e}] }
func (m *memory) Setting(trace, name string) (any, bool) {
	x, ok := m.Settings[[2]string{trace, name}]
	return x, ok
}
func (m *memory) Evidence(trace, call, name string) (Evidence, bool) {
	x, ok := m.Records[[3]string{trace, call, name}]
	return x, ok
}
func (m *memory) CallHash(trace, id string) (string, bool) {
	x, ok := m.Calls[[2]string{trace, id}]
	return x, ok
}
func (m *memory) Rejection(call string) (Rejection, bool) {
	x, ok := m.Standing[call]
	return x, ok
}
func (m *memory) Entity(tool string, e Entity) (EntityRecord, bool) {
	x, ok := m.Named[nameKey{tool, e}]
	return x, ok
}
func (m *memory) Refused(trace, same string) uint64 { return m.Denied[[2]string{trace, same}] }
func (m *memory) Suspected() bool                   { return len(m.Suspect) > 0 }
func (m *memory) AllSuspicions() []Suspicion {
	return m.suspicions(func(Suspicion) bool { return true })
}
func (m *memory) Suspicions(trace string) []Suspicion {
	return m.suspicions(func(s Suspicion) bool { return s.Trace == trace })
}
func (m *memory) SuspicionsOf(value string) []Suspicion {
	return m.suspicions(func(s Suspicion) bool { return s.Value == value })
}
func (m *memory) Suspicion(trace, value string) (Suspicion, bool) {
	s, ok := m.Suspect[[2]string{trace, value}]
	return s, ok
}
func (m *memory) suspicions(which func(Suspicion) bool) (out []Suspicion) {
	for _, s := range m.Suspect {
		if which(s) {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b Suspicion) int { return cmp.Or(cmp.Compare(a.Trace, b.Trace), cmp.Compare(a.Value, b.Value)) })
	return out
}
func (m *memory) Holders(value, trace string) (out []PathKey) {
	for key := range m.Held[value] {
		if trace == "" || trace == key.Trace {
			out = append(out, key)
		}
	}
	slices.SortFunc(out, func(a, b PathKey) int { return cmp.Or(cmp.Compare(a.Trace, b.Trace), cmp.Compare(a.Call, b.Call)) })
	return out
}
func (m *memory) Producers(trace, value string) (out []Producer) {
	for _, key := range slices.SortedFunc(maps.Keys(m.Gave), func(a, b PathKey) int { return cmp.Compare(a.Call, b.Call) }) {
		p := Producer{Call: key.Call}
		for _, r := range m.Gave[key] {
			if key.Trace == trace && slices.Contains(r.Values, value) {
				p.First, p.Last = cmp.Or(p.First, r.Seq), r.Seq
			}
		}
		if p.First != 0 {
			out = append(out, p)
		}
	}
	return out
}
func (m *memory) Results(trace, call string) (out []string) {
	for _, r := range m.Gave[PathKey{trace, call}] {
		out = append(out, r.Values...)
	}
	return out
}
func (m *memory) Waiting() (out []PathKey) {
	for key, p := range m.Paths {
		if p.Request != nil && p.Request.Status == Pending {
			out = append(out, key)
		}
	}
	slices.SortFunc(out, func(a, b PathKey) int { return cmp.Or(cmp.Compare(a.Trace, b.Trace), cmp.Compare(a.Call, b.Call)) })
	return out
}

func (m *memory) apply(w Writes) {
	m.Now = w.Clock
	for _, t := range w.Traces {
		m.Traces[t.ID] = t.Trace
	}
	for _, p := range w.Paths {
		m.Paths[p.Key] = p.Path
	}
	for _, s := range w.Settings {
		m.Settings[[2]string{s.Trace, s.Name}] = s.Value
	}
	for _, e := range w.Evidence {
		m.Records[[3]string{e.Trace, e.Call, e.Evidence.Name}] = e.Evidence
	}
	for _, c := range w.Calls {
		m.Calls[[2]string{c.Trace, c.ID}] = c.Hash
	}
	for _, r := range w.Rejections {
		delete(m.Standing, r.Call)
		if r.Rejection != nil {
			m.Standing[r.Call] = *r.Rejection
		}
	}
	for _, e := range w.Entities {
		m.Named[nameKey{e.Tool, e.Entity}] = e.Record
	}
	for _, c := range w.Contributions {
		key := [2]string{c.Counter, c.Entity}
		m.Counted[key] = append(slices.Clone(m.Counted[key]), c.Contribution)
	}
	for _, h := range w.Holders {
		if m.Held[h.Value] == nil {
			m.Held[h.Value] = map[PathKey]bool{}
		}
		m.Held[h.Value][h.Key] = true
	}
	for _, r := range w.Results {
		m.Gave[r.Key] = append(slices.Clone(m.Gave[r.Key]), r)
	}
	for _, s := range w.Suspicions {
		key := [2]string{s.Suspicion.Trace, s.Suspicion.Value}
		delete(m.Suspect, key)
		if !s.Cleared {
			m.Suspect[key] = s.Suspicion
		}
	}
	for _, r := range w.Refusals {
		m.Denied[[2]string{r.Trace, r.Same}] = r.Seq
	}
}

// ruled is the fake policy with an authority rule of its own.
type ruled struct {
	*fakePolicy
	may   func(AuthorityRequest) bool
	asked []AuthorityRequest
}

func (r *ruled) May(_ context.Context, q AuthorityRequest) (bool, Reason) {
	r.asked = append(r.asked, q)
	return r.may(q), Reason{Code: "not_authorised", Text: "the authority rule says no"}
}

// The cast. Reviewers are ada, bob and eve; the agent and its component never are.
const (
	task    = "T"
	other   = "U"
	theCall = "sha256:c1"
	agentID = "agent"
	planner = "planner@3"
	writer  = "wendy" // the identity in the pin `author`
)

// life folds events one after the other and holds every fold to what a fold
// promises, whatever the test is about.
type life struct {
	t     tester
	p     *ruled
	state *memory
	seq   uint64
	last  Writes
}

type tester interface {
	Helper()
	Errorf(string, ...any)
	Fatalf(string, ...any)
}

// allow accepts whatever is asked.
func allow(AuthorityRequest) bool { return true }

// newLife starts with a contract that names every pin, setting and kind that
// tests use, and an authority that accepts everything.
func newLife(t tester) *life {
	p := newFake()
	c := p.contract
	c.Start = Start{
		Settings: map[string]any{"capacity": 4.0, "queue": 0.0, "deadline": nil, "review_ttl": 10.0, "eligible": true},
		Pins:     map[string]string{"context": "x1", "rule": "r1", "component": "m1", "author": writer, "input": "i1"},
		Evidence: map[string]Verdict{},
	}
	c.TracePins = []string{"context", "rule", "component", "author"}
	c.Author = "author"
	c.Evidence = map[string]RecordRule{"ci": {}}
	c.Context = map[string]RecordRule{"record": {}}
	p.tools["merge"] = Tool{Name: "merge", Consequence: Consequence{Irreversible, SystemWide, Operator, Immediate, Declared}, Requires: Requires{Evidence: []string{"ci"}}}
	p.tools["probe"] = Tool{Name: "probe", Consequence: Consequence{Irreversible, SystemWide, Operator, Immediate, Declared}, Effect: Read}
	return &life{t: t, p: &ruled{fakePolicy: p, may: allow}, state: newMemory()}
}

// do folds one event.
func (l *life) do(e Event) Record {
	l.t.Helper()
	if e.TraceID == "" && e.Op != OpSettings {
		e.TraceID = task
	}
	if e.By.Name == "" && e.By.Role == "" {
		e.By = Identity{Name: "pep", Role: "pep"}
	}
	before, event := clone(l.state), clone(e)
	rec, w := Step(context.Background(), l.p, l.state, &e)
	again, w2 := Step(context.Background(), l.p, l.state, &e)
	sortContributions(w)
	sortContributions(w2)
	if !reflect.DeepEqual(rec, again) || !reflect.DeepEqual(w, w2) {
		l.t.Errorf("%v folded twice differs:\n%+v\n%+v", e.Op, rec, again)
	}
	l.seq++
	rec.Stamp(l.seq)
	w.Stamp(l.seq)
	if path := findSelf(reflect.ValueOf(w), "writes"); path != "" {
		l.t.Errorf("%v: %s is Self after Stamp", e.Op, path)
	}
	if path := findSelf(reflect.ValueOf(rec), "record"); path != "" {
		l.t.Errorf("%v: %s is Self after Stamp", e.Op, path)
	}
	if !reflect.DeepEqual(before, l.state) {
		l.t.Errorf("%v: Step changed the state that it read", e.Op)
	}
	if !reflect.DeepEqual(event, e) {
		l.t.Errorf("%v: Step changed the event", e.Op)
	}
	if rec.Invalid != "" {
		l.unchanged(rec, w)
	}
	if rec.Seq != l.seq || rec.Time != w.Clock || rec.Time < before.Now || rec.Source != e.By.Name || rec.Op != e.Op {
		l.t.Errorf("record %+v: want seq %d, the time of the writes (%d), source %s, op %v", rec, l.seq, w.Clock, e.By.Name, e.Op)
	}
	l.state.apply(w)
	if !reflect.DeepEqual(event, e) {
		l.t.Errorf("%v: Stamp or apply changed the event", e.Op)
	}
	l.last = w
	return rec
}

// unchanged holds an invalid event to writing nothing but the clock.
func (l *life) unchanged(rec Record, w Writes) {
	l.t.Helper()
	if want := "invalid_" + rec.Op.String(); rec.Invalid != want {
		l.t.Errorf("invalid = %q, want %q", rec.Invalid, want)
	}
	if len(w.Traces)+len(w.Settings)+len(w.Evidence)+len(w.Paths)+len(w.Calls)+len(w.Rejections)+len(w.Contributions)+len(w.Entities)+len(w.Holders)+len(w.Results)+len(w.Suspicions)+len(w.Refusals) != 0 {
		l.t.Errorf("an invalid %v writes %+v", rec.Op, w)
	}
	if len(rec.Reasons) == 0 {
		l.t.Errorf("an invalid %v gives no reason", rec.Op)
	}
	if rec.Decision != nil && rec.Decision.Permit {
		l.t.Errorf("an invalid %v permits", rec.Op)
	}
}

func sortContributions(w Writes) {
	slices.SortFunc(w.Contributions, func(a, b ContributionWrite) int { return cmp.Compare(a.Counter, b.Counter) })
}

// findSelf walks a value and names the place of a Self that is left in it.
func findSelf(v reflect.Value, path string) string {
	switch v.Kind() {
	case reflect.Uint64:
		if v.Uint() == Self {
			return path
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return findSelf(v.Elem(), path)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if found := findSelf(v.Field(i), path+"."+v.Type().Field(i).Name); found != "" {
				return found
			}
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			if found := findSelf(v.MapIndex(k), fmt.Sprintf("%s[%v]", path, k)); found != "" {
				return found
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			if found := findSelf(v.Index(i), fmt.Sprintf("%s[%d]", path, i)); found != "" {
				return found
			}
		}
	}
	return ""
}

func (l *life) contract() *Contract { return l.p.contract }

func (l *life) path() Path { return l.state.Paths[PathKey{task, theCall}] }

// proposal is the usual action: one that needs a review.
func proposal() Attempt {
	return Attempt{
		Action: Action{TraceID: task, CallID: "k1", Agent: Agent{agentID, planner}, Tool: toolRevoke, Arguments: map[string]any{},
			Confidence: new(0.9), InputHash: "sha256:in", CallHash: theCall},
		Facts: map[string]any{}, FactsHash: "sha256:f1",
	}
}

func (l *life) attempt(at int64, edits ...func(*Attempt)) Record {
	l.t.Helper()
	a := proposal()
	for _, edit := range edits {
		edit(&a)
	}
	return l.do(Event{Op: OpAttempt, Time: at, TraceID: a.Action.TraceID, Agent: a.Action.Agent, Attempt: a})
}

func (l *life) review(at int64, by string, o ReviewOutcome, edits ...func(*Event)) Record {
	l.t.Helper()
	e := Event{Op: OpReview, Time: at, TraceID: task, Call: theCall, By: Identity{Name: by, Role: "reviewer", Qualified: true}, Review: ReviewEvent{Outcome: o}}
	for _, edit := range edits {
		edit(&e)
	}
	return l.do(e)
}

func (l *life) change(at int64, call string, pins ...string) Record {
	l.t.Helper()
	m := map[string]string{}
	for i := 0; i < len(pins); i += 2 {
		m[pins[i]] = pins[i+1]
	}
	return l.do(Event{Op: OpChange, Time: at, Call: call, Pins: m})
}

func (l *life) set(at int64, name string, value any) Record {
	l.t.Helper()
	return l.do(Event{Op: OpSettings, Time: at, TraceID: task, Settings: map[string]any{name: value}})
}

func (l *life) evidence(at int64, name string, v Verdict) Record {
	l.t.Helper()
	return l.do(Event{Op: OpEvidence, Time: at, Evidence: Evidence{Name: name, Status: v}})
}

func (l *life) fail(at int64, active, recoverable bool) Record {
	l.t.Helper()
	return l.do(Event{Op: OpFailure, Time: at, Call: theCall, Failure: FailureEvent{active, recoverable}})
}

func (l *life) result(at int64, s ResultStatus) Record {
	l.t.Helper()
	return l.do(Event{Op: OpResult, Time: at, Call: theCall, Result: ResultEvent{Status: s, Recoverable: true}})
}

// approved attempts, and lets ada approve.
func (l *life) approved(at int64, edits ...func(*Attempt)) {
	l.t.Helper()
	l.want(l.attempt(at, edits...), Escalate)
	l.valid(l.review(at, "ada", Approve))
}

func (l *life) want(rec Record, want Transition) {
	l.t.Helper()
	d := rec.Decision
	if d == nil || d.Transition != want || d.Permit != (want == Act) || rec.Transition != want {
		l.t.Fatalf("decision %+v, record transition %v: want %v", d, rec.Transition, want)
	}
}

func (l *life) valid(rec Record) {
	l.t.Helper()
	if rec.Invalid != "" {
		l.t.Fatalf("%v at %d is %s (%v): want it valid", rec.Op, rec.Time, rec.Invalid, codes(rec.Reasons))
	}
}

func (l *life) invalid(rec Record, code string) {
	l.t.Helper()
	if rec.Invalid == "" || !slices.Contains(codes(rec.Reasons), code) {
		l.t.Fatalf("%v at %d: invalid %q, reasons %v: want %s", rec.Op, rec.Time, rec.Invalid, codes(rec.Reasons), code)
	}
}

func inTrace(trace string) func(*Attempt) { return func(a *Attempt) { a.Action.TraceID = trace } }
func callID(id string) func(*Attempt)     { return func(a *Attempt) { a.Action.CallID = id } }
func callHash(h string) func(*Attempt)    { return func(a *Attempt) { a.Action.CallHash = h } }
func byTool(name string) func(*Attempt)   { return func(a *Attempt) { a.Action.Tool = name } }
func byAgent(a Agent) func(*Attempt)      { return func(x *Attempt) { x.Action.Agent = a } }
func facts(hash string) func(*Attempt)    { return func(a *Attempt) { a.FactsHash = hash } }
func confidence(c float64) func(*Attempt) { return func(a *Attempt) { a.Action.Confidence = &c } }
func argument(k string, v any) func(*Attempt) {
	return func(a *Attempt) { a.Action.Arguments = with(a.Action.Arguments, k, v) }
}
func naming(gates ...string) func(*Event) { return func(e *Event) { e.Review.Gates = gates } }

// Change.

func TestAMovedPinVoidsEvidenceRequestAndApproval(t *testing.T) {
	for _, c := range []struct {
		name  string
		moves [][]string
	}{
		{"a trace pin", [][]string{{"", "context", "x2"}}},
		{"a trace pin that returns (ABA)", [][]string{{"", "context", "x2"}, {"", "context", "x1"}}},
		{"a path pin", [][]string{{theCall, "input", "i2"}}},
		{"a path pin that returns (ABA)", [][]string{{theCall, "input", "i2"}, {theCall, "input", "i1"}}},
		{"two pins, one equal", [][]string{{"", "context", "x1", "rule", "r2"}}},
		{"a pin that had no value", [][]string{{theCall, "output", "o1"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			move := func(l *life, at int64) {
				for _, m := range c.moves {
					l.valid(l.change(at, m[0], m[1:]...))
				}
			}
			ci := func(l *life, at int64) {
				l.valid(l.do(Event{Op: OpEvidence, Time: at, Call: theCall, Evidence: Evidence{Name: "ci", Status: Pass}}))
			}
			l := newLife(t)
			ci(l, 0)
			l.want(l.attempt(1, byTool("merge")), Escalate)
			move(l, 2)
			l.want(l.attempt(3, byTool("merge")), Verify)
			l.invalid(l.review(3, "ada", Approve), "no_current_request")
			ci(l, 4)
			rec := l.attempt(5, byTool("merge"))
			l.want(rec, Escalate)
			if !rec.Requested {
				t.Error("no new request after the pin moved")
			}
			l.valid(l.review(5, "ada", Approve))
			move(l, 6)
			ci(l, 7)
			l.want(l.attempt(7, byTool("merge")), Escalate)
		})
	}
}

func TestAnEqualPinDoesNothing(t *testing.T) {
	l := newLife(t)
	l.evidence(0, "ci", Pass)
	l.approved(1, byTool("merge"))
	for _, pins := range [][]string{{"context", "x1"}, {"context", "x1", "rule", "r1", "component", "m1", "author", writer}, {}} {
		l.valid(l.change(2, "", pins...))
		if len(l.last.Traces)+len(l.last.Paths) != 0 {
			t.Errorf("equal pins %v write %+v", pins, l.last)
		}
	}
	l.valid(l.change(2, theCall, "input", "i1"))
	if len(l.last.Paths) != 0 {
		t.Errorf("an equal path pin writes %+v", l.last)
	}
	l.want(l.attempt(3, byTool("merge")), Act)
}

func TestAPathPinVoidsOnlyItsPath(t *testing.T) {
	l := newLife(t)
	l.approved(1)
	l.want(l.attempt(1, callID("k2"), callHash("sha256:c2")), Escalate)
	l.valid(l.review(1, "ada", Approve, func(e *Event) { e.Call = "sha256:c2" }))
	l.valid(l.change(2, theCall, "input", "i2"))
	l.want(l.attempt(3, callID("k2"), callHash("sha256:c2")), Act)
	l.want(l.attempt(3), Escalate)
}

func TestATracePinVoidsEveryPathOfItsTraceAndNoOther(t *testing.T) {
	l := newLife(t)
	l.approved(1)
	l.want(l.attempt(1, inTrace(other)), Escalate)
	l.valid(l.review(1, "ada", Approve, func(e *Event) { e.TraceID = other }))
	l.valid(l.change(2, "sha256:c9", "rule", "r2"))
	l.want(l.attempt(3), Escalate)
	l.want(l.attempt(3, inTrace(other)), Act)
}

func TestAnUnknownPinChangesNothing(t *testing.T) {
	for _, c := range []struct {
		name, call string
		pins       []string
	}{
		{"unknown name", "", []string{"contxt", "x2"}},
		{"unknown beside a known one", theCall, []string{"context", "x2", "input", "i2", "zzz", "1"}},
		{"a path pin without a path", "", []string{"input", "i2"}},
		{"a path pin without a path beside a trace pin", "", []string{"context", "x2", "input", "i2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLife(t)
			l.approved(1)
			l.invalid(l.change(2, c.call, c.pins...), "unknown_pin")
			l.want(l.attempt(3), Act)
		})
	}
}

func TestEvidenceOfATraceOutlivesAPathPin(t *testing.T) {
	l := newLife(t)
	l.evidence(0, "ci", Pass)
	l.valid(l.change(1, theCall, "input", "i2"))
	l.want(l.attempt(2, byTool("merge")), Escalate)
	l.valid(l.change(3, "", "rule", "r2"))
	l.want(l.attempt(4, byTool("merge")), Verify)
}

func TestStartEvidenceIsVoidOnceATracePinMoved(t *testing.T) {
	l := newLife(t)
	l.contract().Start.Evidence["ci"] = Pass
	l.want(l.attempt(0, byTool("merge")), Escalate)
	l.change(1, "", "rule", "r2")
	l.change(1, "", "rule", "r1")
	l.want(l.attempt(2, byTool("merge")), Verify)
}

// Settings.

func TestSettingsVoidNothing(t *testing.T) {
	l := newLife(t)
	l.evidence(0, "ci", Pass)
	l.approved(1, byTool("merge"))
	for name, v := range map[string]any{"capacity": 0.0, "queue": 9.0, "deadline": 50.0, "eligible": false} {
		l.valid(l.set(2, name, v))
		if len(l.last.Settings) != 1 || len(l.last.Paths)+len(l.last.Traces)+len(l.last.Evidence) != 0 {
			t.Errorf("setting %s writes %+v", name, l.last)
		}
	}
	l.want(l.attempt(3, byTool("merge")), Act)
}

func TestAnUnknownSettingChangesNothing(t *testing.T) {
	l := newLife(t)
	l.invalid(l.do(Event{Op: OpSettings, TraceID: task, Settings: map[string]any{"capacity": 0.0, "capacty": 1.0, "queue": 1.0}}), "unknown_setting")
	if len(l.state.Settings) != 0 {
		t.Errorf("settings %v were written", l.state.Settings)
	}
}

func TestASettingOfATraceGoesBeforeOneOfAll(t *testing.T) {
	for _, c := range []struct {
		name         string
		trace, every any
		want         Transition
	}{
		{"neither", nil, nil, Escalate},
		{"all", nil, 0.0, Defer},
		{"trace", 0.0, nil, Defer},
		{"trace loosens", 1.0, 0.0, Escalate},
		{"trace tightens", 0.0, 1.0, Defer},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLife(t)
			for trace, v := range map[string]any{"": c.every, task: c.trace} {
				if v != nil {
					l.valid(l.do(Event{Op: OpSettings, TraceID: trace, Settings: map[string]any{"capacity": v}}))
				}
			}
			l.want(l.attempt(1), c.want)
		})
	}
}

func TestASettingOfAnotherTraceIsNotRead(t *testing.T) {
	l := newLife(t)
	l.valid(l.do(Event{Op: OpSettings, TraceID: other, Settings: map[string]any{"capacity": 0.0}}))
	l.want(l.attempt(1), Escalate)
}

// Evidence.

func TestTheLatestEvidenceReplaces(t *testing.T) {
	l := newLife(t)
	steps := []struct {
		v    Verdict
		want Transition
	}{{Unknown, Verify}, {Fail, Verify}, {Pass, Escalate}, {Fail, Verify}, {Unknown, Verify}, {NotApplicable, Verify}, {Pass, Escalate}}
	for i, s := range steps {
		l.valid(l.evidence(int64(i), "ci", s.v))
		l.want(l.attempt(int64(i), byTool("merge")), s.want)
	}
}

func TestEvidenceRecordsWhoAndWhenButNotWhatTheCallerSays(t *testing.T) {
	l := newLife(t)
	l.do(Event{Op: OpEvidence, Time: 4, By: Identity{Name: "ci-bot", Role: "pep"},
		Evidence: Evidence{Name: "ci", Status: Pass, Source: "runner", Time: 99, Seq: 99, By: "somebody else", Pins: map[string]string{"rule": "r1"}, Expires: new(int64(9))}})
	want := Evidence{Name: "ci", Status: Pass, Source: "runner", Time: 4, Seq: 1, By: "ci-bot", Pins: map[string]string{"rule": "r1"}, Expires: new(int64(9))}
	if got, _ := l.state.Evidence(task, "", "ci"); !reflect.DeepEqual(got, want) {
		t.Errorf("evidence %+v, want %+v", got, want)
	}
}

func TestUnknownEvidenceChangesNothing(t *testing.T) {
	l := newLife(t)
	l.invalid(l.evidence(0, "c1", Pass), "unknown_evidence")
	l.invalid(l.evidence(0, "", Pass), "unknown_evidence")
	l.valid(l.evidence(0, "record", Pass))
}

func TestEvidenceOfAPathIsOfThatPathOnly(t *testing.T) {
	l := newLife(t)
	l.valid(l.do(Event{Op: OpEvidence, Call: "sha256:c2", Evidence: Evidence{Name: "ci", Status: Pass}}))
	l.want(l.attempt(1, byTool("merge")), Verify)
	l.valid(l.do(Event{Op: OpEvidence, Call: theCall, TraceID: other, Evidence: Evidence{Name: "ci", Status: Pass}}))
	l.want(l.attempt(1, byTool("merge")), Verify)
	l.valid(l.do(Event{Op: OpEvidence, Call: theCall, Evidence: Evidence{Name: "ci", Status: Pass}}))
	l.want(l.attempt(1, byTool("merge")), Escalate)
}

func TestAVoidRecordOfAPathDoesNotFallBackToTheTrace(t *testing.T) {
	l := newLife(t)
	l.evidence(0, "ci", Pass)
	l.do(Event{Op: OpEvidence, Call: theCall, Evidence: Evidence{Name: "ci", Status: Pass}})
	l.change(1, theCall, "input", "i2")
	l.want(l.attempt(1, byTool("merge")), Verify)
}

func TestALaterFailureOfATraceOutweighsAnEarlierPassOfAPath(t *testing.T) {
	l := newLife(t)
	l.do(Event{Op: OpEvidence, Call: theCall, Evidence: Evidence{Name: "ci", Status: Pass}})
	l.evidence(1, "ci", Fail)
	l.want(l.attempt(2, byTool("merge")), Verify)
}

// Failure and result.

func TestAnIncidentBindsACallThatRan(t *testing.T) {
	incident := func(l *life, at int64, s ResultStatus) Record {
		return l.do(Event{Op: OpResult, Time: at, Call: theCall, Result: ResultEvent{Status: s, Recoverable: true, Incident: "wrong_target"}})
	}
	for _, c := range []struct {
		name  string
		first func(*life)
		with  ResultStatus
		want  string
	}{
		{"never released", func(*life) {}, NoResult, "not_run"},
		{"released", func(l *life) { l.attempt(1) }, NoResult, ""},
		{"released, with the result", func(l *life) { l.attempt(1) }, ResultOK, ""},
		{"released, with an error", func(l *life) { l.attempt(1) }, ResultError, ""},
		{"released, said not to have run", func(l *life) { l.attempt(1) }, NotRun, "not_run"},
		{"reported before", func(l *life) { l.attempt(1); l.result(2, ResultOK) }, NoResult, ""},
		{"reported as not run", func(l *life) { l.attempt(1); l.result(2, NotRun) }, NoResult, "not_run"},
		{"failed and resolved", func(l *life) { l.attempt(1); l.result(2, ResultError); l.fail(2, false, true) }, NoResult, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLife(t)
			l.approved(0)
			c.first(l)
			rec := incident(l, 3, c.with)
			if c.want != "" {
				l.invalid(rec, c.want)
				return
			}
			l.valid(rec)
			if r := l.attempt(4, func(a *Attempt) { a.Action.CallID, a.Action.TraceID = "k9", "another" }); !slices.Contains(codes(r.Decision.Reasons), "rejected") {
				t.Errorf("after an incident the same call gives %v in another trace, want rejected", codes(r.Decision.Reasons))
			}
		})
	}
}

func TestAFailureSpendsTheBudgetAndIsNotRefilled(t *testing.T) {
	l := newLife(t)
	l.contract().RetryBudget = 2
	l.approved(0)
	l.fail(1, true, true)
	for i, left := range []int{1, 0} {
		rec := l.attempt(2)
		l.want(rec, Retry)
		if rec.RetryLeft != left || l.path().Retries != i+1 {
			t.Errorf("retry %d: %d left, %d spent: want %d, %d", i, rec.RetryLeft, l.path().Retries, left, i+1)
		}
	}
	l.want(l.attempt(2), Stop)
	l.valid(l.fail(3, false, true))
	if l.path().Failure != nil || l.path().Retries != 2 {
		t.Errorf("path %+v: want no failure and 2 retries spent", l.path())
	}
	l.valid(l.fail(3, true, true))
	l.want(l.attempt(4), Stop)
	l.fail(4, false, true)
	l.want(l.attempt(5), Act)
}

func TestAFailureThatIsNotRecoverableStopsAndSpendsNothing(t *testing.T) {
	l := newLife(t)
	l.fail(0, true, false)
	l.want(l.attempt(1), Stop)
	if l.path().Retries != 0 {
		t.Errorf("%d retries spent, want 0", l.path().Retries)
	}
}

func TestTheFailureOfAnotherPathDoesNotCount(t *testing.T) {
	l := newLife(t)
	l.do(Event{Op: OpFailure, Call: "sha256:c2", Failure: FailureEvent{true, true}})
	l.do(Event{Op: OpFailure, Call: theCall, TraceID: other, Failure: FailureEvent{true, true}})
	l.want(l.attempt(1), Escalate)
}

func TestAMovedPinKeepsBudgetAndFailure(t *testing.T) {
	l := newLife(t)
	l.fail(0, true, true)
	l.want(l.attempt(0), Retry)
	l.change(1, "", "rule", "r2")
	l.change(1, theCall, "input", "i2")
	l.want(l.attempt(2), Stop)
	if p := l.path(); p.Retries != 1 || p.Failure == nil {
		t.Errorf("path %+v: want 1 retry spent and the failure", p)
	}
}

func TestWhatAResultDoes(t *testing.T) {
	for _, c := range []struct {
		name    string
		status  ResultStatus
		failure bool
		next    Transition
	}{
		{"ok", ResultOK, false, Stop},
		{"error", ResultError, true, Retry},
		{"not run", NotRun, false, Act},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLife(t)
			l.want(l.attempt(0, byTool(toolNote)), Act)
			l.valid(l.result(1, c.status))
			if got := l.path().Failure != nil; got != c.failure {
				t.Errorf("failure = %v, want %v", got, c.failure)
			}
			l.want(l.attempt(2, byTool(toolNote)), c.next)
		})
	}
}

func TestAnErrorIsAFailureAndALaterSuccessResolvesIt(t *testing.T) {
	l := newLife(t)
	l.contract().Calls = DecideAnew
	l.want(l.attempt(0, byTool(toolNote)), Act)
	l.result(1, ResultError)
	l.want(l.attempt(2, byTool(toolNote)), Retry)
	l.result(3, ResultOK)
	l.want(l.attempt(4, byTool(toolNote)), Act)
	rec := l.do(Event{Op: OpResult, Time: 5, Call: theCall, Result: ResultEvent{Status: ResultError, Recoverable: false}})
	l.valid(rec)
	l.want(l.attempt(6, byTool(toolNote)), Stop)
}

func TestACallThatFailedIsTriedAgainUnderCallsOnce(t *testing.T) {
	l := newLife(t)
	l.want(l.attempt(0, byTool(toolNote)), Act)
	l.result(1, ResultError)
	l.want(l.attempt(2, byTool(toolNote)), Retry)
}

func TestAResultWithoutAStatusChangesNothing(t *testing.T) {
	l := newLife(t)
	l.want(l.attempt(0, byTool(toolNote)), Act)
	l.invalid(l.result(1, NoResult), "result_missing")
	l.invalid(l.result(1, 77), "result_missing")
	l.want(l.attempt(2, byTool(toolNote)), Stop)
}

func TestAResultOfACallThatWasNotReleasedChangesNothing(t *testing.T) {
	for _, s := range []ResultStatus{ResultOK, ResultError, NotRun} {
		l := newLife(t)
		l.fail(0, true, true)
		l.invalid(l.result(1, s), "not_released")
		l.want(l.attempt(2), Retry)
	}
}

func TestACallThatRanIsNotReArmed(t *testing.T) {
	for _, first := range []ResultStatus{ResultOK, ResultError} {
		l := newLife(t)
		l.want(l.attempt(0, byTool(toolNote)), Act)
		l.result(1, first)
		l.result(2, NotRun)
		l.result(3, ResultOK)
		if rec := l.attempt(4, byTool(toolNote)); rec.Decision.Permit {
			t.Errorf("released twice although a result said %v", first)
		}
	}
}

func TestAReArmedCallNeedsANewApproval(t *testing.T) {
	l := newLife(t)
	l.approved(0)
	l.want(l.attempt(1), Act)
	l.result(2, NotRun)
	l.want(l.attempt(3), Escalate)
	l.valid(l.review(3, "ada", Approve))
	l.want(l.attempt(4), Act)
	l.want(l.attempt(4), Stop)
}

// Engage.

func TestEngageIsAdmittedByEligibilityAlone(t *testing.T) {
	components := map[string]ComponentRule{
		"planner@3": {Tasks: []string{"plan"}, Until: new(int64(10))},
		"planner@4": {Tasks: []string{"plan"}},
		"writer@1":  {Tasks: []string{"write"}},
	}
	for _, c := range []struct {
		name       string
		components map[string]ComponentRule
		eligible   any // "absent" takes the setting away
		component  string
		task       string
		at         int64
		want       Transition
	}{
		{"no list, eligible", nil, true, "planner@3", "plan", 0, ExecuteComponent},
		{"no list, not eligible", nil, false, "planner@3", "plan", 0, Stop},
		{"no list, eligible is odd", nil, "yes", "planner@3", "plan", 0, Stop},
		{"no list, eligible is null", nil, nil, "planner@3", "plan", 0, Stop},
		{"neither list nor setting", nil, "absent", "planner@3", "plan", 0, Stop},
		{"listed", components, true, "planner@3", "plan", 0, ExecuteComponent},
		{"listed, without a setting", components, "absent", "planner@3", "plan", 0, ExecuteComponent},
		{"at its end", components, true, "planner@3", "plan", 10, ExecuteComponent},
		{"past its end, another may", components, true, "planner@3", "plan", 11, Switch},
		{"not listed, another may", components, true, "planner@5", "plan", 0, Switch},
		{"no name, another may", components, true, "", "plan", 0, Switch},
		{"other task, another may", components, true, "planner@3", "write", 0, Switch},
		{"unknown task, nobody may", components, true, "planner@3", "judge", 0, Stop},
		{"the only one, past its end", map[string]ComponentRule{"planner@3": {Tasks: []string{"plan"}, Until: new(int64(1))}}, true, "planner@3", "plan", 2, Stop},
		{"an empty list", map[string]ComponentRule{}, true, "planner@3", "plan", 0, Stop},
		{"listed, but not eligible", components, false, "writer@1", "write", 0, Stop},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLife(t)
			l.contract().Components = c.components
			l.contract().Start.Settings["eligible"] = c.eligible
			if c.eligible == "absent" {
				delete(l.contract().Start.Settings, "eligible")
			}
			rec := l.do(Event{Op: OpEngage, Time: c.at, Engage: Engagement{c.component, c.task}})
			l.valid(rec)
			verdict := Fail
			if c.want == ExecuteComponent {
				verdict = Pass
			}
			if rec.Transition != c.want || rec.Gates[Eligibility] != verdict || (len(rec.Reasons) == 0) != (c.want == ExecuteComponent) {
				t.Errorf("engage: %v, gates %v, reasons %v: want %v", rec.Transition, rec.Gates, codes(rec.Reasons), c.want)
			}
			if rec.ComponentVersion != c.component || rec.RuleVersion == "" {
				t.Errorf("record %+v: want component version %q and a rule version", rec, c.component)
			}
			if rec.Decision != nil || len(l.last.Paths) != 0 {
				t.Errorf("engage decided %v and wrote %v", rec.Decision, l.last.Paths)
			}
		})
	}
}

func TestEngageIsAskedAgainAfterTheStateMoved(t *testing.T) {
	l := newLife(t)
	engage := func(at int64) Transition {
		return l.do(Event{Op: OpEngage, Time: at, Engage: Engagement{"planner@3", "plan"}}).Transition
	}
	if got := engage(0); got != ExecuteComponent {
		t.Fatalf("engage: %v", got)
	}
	l.set(1, "eligible", false)
	if got := engage(1); got != Stop {
		t.Errorf("engage once it is not eligible: %v", got)
	}
	l.contract().Components = map[string]ComponentRule{"planner@4": {Tasks: []string{"plan"}}}
	l.set(2, "eligible", true)
	if got := engage(2); got != Switch {
		t.Errorf("engage under another bundle: %v", got)
	}
}

// Attempt.

func TestACallIDReusedForOtherContentChangesNothing(t *testing.T) {
	l := newLife(t)
	l.approved(0)
	before := clone(l.state)
	rec := l.attempt(5, callHash("sha256:c2"))
	l.invalid(rec, "call_id_reused")
	if d := rec.Decision; d == nil || d.Permit || d.Outcome != Block || d.Transition != Stop || d.Cause != Bounds || len(d.Gates) == 0 {
		t.Errorf("decision %+v: want a block that BOUNDS causes", rec.Decision)
	}
	before.Now = 5
	if !reflect.DeepEqual(before, l.state) {
		t.Error("the state changed")
	}
	l.want(l.attempt(6), Act)
	l.want(l.attempt(6, inTrace(other), callHash("sha256:c2")), Escalate)
}

func TestTheSameContentUnderAnotherIDIsTheSamePath(t *testing.T) {
	l := newLife(t)
	l.want(l.attempt(0), Escalate)
	rec := l.attempt(1, callID("k2"))
	l.want(rec, Escalate)
	if rec.Requested || rec.Decision.Request != 1 {
		t.Errorf("requested %v, request %d: want the first one", rec.Requested, rec.Decision.Request)
	}
	l.valid(l.review(2, "ada", Approve))
	l.want(l.attempt(3, callID("k3")), Act)
	l.want(l.attempt(3, callID("k4")), Stop)
}

func TestAnAttemptThatIsHeldReleasesNothing(t *testing.T) {
	l := newLife(t)
	l.contract().Counters = map[string]CounterRule{"n": {Tools: []string{toolRevoke}}}
	l.want(l.attempt(0), Escalate)
	if p := l.path(); p.Released != 0 || p.Approval != nil || p.Retries != 0 || len(l.state.Counted) != 0 {
		t.Errorf("path %+v, counted %v: want nothing released", p, l.state.Counted)
	}
}

func TestTheRequestOfADecisionIsItsSeq(t *testing.T) {
	l := newLife(t)
	l.evidence(0, "ci", Pass)
	rec := l.attempt(1)
	if rec.Decision.Request != 2 || rec.Decision.Seq != 2 || l.path().Request.Seq != 2 {
		t.Errorf("request %d of entry %d, path %+v: want 2", rec.Decision.Request, rec.Decision.Seq, l.path().Request)
	}
	if rec = l.attempt(2); rec.Decision.Request != 2 || rec.Decision.Seq != 3 {
		t.Errorf("request %d of entry %d: want 2 of 3", rec.Decision.Request, rec.Decision.Seq)
	}
}

func TestTheClockNeverGoesBack(t *testing.T) {
	l := newLife(t)
	l.evidence(20, "ci", Pass)
	rec := l.attempt(5, byTool("merge"))
	if rec.Time != 20 || l.state.Now != 20 || l.path().Request.Time != 20 {
		t.Errorf("record at %d, clock %d, request at %d: want 20", rec.Time, l.state.Now, l.path().Request.Time)
	}
	if rec = l.review(1, "ada", Approve); rec.Time != 20 || rec.Delay != 0 || l.path().Approval.Time != 20 {
		t.Errorf("review at %d, delay %d: want 20, 0", rec.Time, rec.Delay)
	}
	rec = l.do(Event{Op: OpResult, Time: -5, Call: theCall})
	if rec.Invalid == "" || rec.Time != 20 {
		t.Errorf("invalid %q at %d: want an invalid event at 20", rec.Invalid, rec.Time)
	}
	l.set(20, "deadline", 19.0)
	l.want(l.attempt(0, byTool("merge")), Stop)
}

func TestEventsAtOneTickApplyInOrder(t *testing.T) {
	approveFirst, moveFirst := newLife(t), newLife(t)
	approveFirst.approved(1)
	approveFirst.change(1, "", "rule", "r2")
	approveFirst.want(approveFirst.attempt(1), Escalate)
	moveFirst.change(1, "", "rule", "r2")
	moveFirst.approved(1)
	moveFirst.want(moveFirst.attempt(1), Act)
}

// Review.

func TestAReviewNeedsACurrentRequestInTime(t *testing.T) {
	for _, c := range []struct {
		name  string
		setUp func(*life)
		at    int64
		code  string // empty: valid
	}{
		{"no attempt", func(*life) {}, 0, "no_current_request"},
		{"pending", func(l *life) { l.attempt(0) }, 1, ""},
		{"age equals the ttl", func(l *life) { l.attempt(0) }, 10, ""},
		{"age past the ttl", func(l *life) { l.attempt(0) }, 11, "no_current_request"},
		{"ttl was made shorter", func(l *life) { l.attempt(0); l.set(1, "review_ttl", 3.0) }, 4, "no_current_request"},
		{"ttl is odd", func(l *life) { l.attempt(0); l.set(1, "review_ttl", "ten") }, 4, "no_current_request"},
		{"no ttl", func(l *life) { l.set(0, "review_ttl", nil); l.attempt(0) }, 1 << 40, ""},
		{"at the deadline", func(l *life) { l.attempt(0); l.set(0, "deadline", 5.0) }, 5, ""},
		{"past the deadline", func(l *life) { l.attempt(0); l.set(0, "deadline", 5.0) }, 6, "deadline_past"},
		{"deadline is odd", func(l *life) { l.attempt(0); l.set(0, "deadline", "soon") }, 1, "deadline_past"},
		{"approved already", func(l *life) { l.approved(0) }, 1, "no_current_request"},
		{"returned", func(l *life) { l.attempt(0); l.review(0, "bob", Return) }, 1, "no_current_request"},
		{"rejected", func(l *life) { l.attempt(0); l.review(0, "bob", Reject) }, 1, "no_current_request"},
		{"revoked", func(l *life) { l.attempt(0); l.review(0, "bob", Revoke) }, 1, "no_current_request"},
		{"released", func(l *life) { l.approved(0); l.attempt(0) }, 1, "no_current_request"},
	} {
		for _, o := range []ReviewOutcome{Approve, Reject, Return} {
			t.Run(c.name+", "+o.String(), func(t *testing.T) {
				l := newLife(t)
				c.setUp(l)
				before := clone(l.path())
				rec := l.review(c.at, "ada", o)
				if c.code != "" {
					l.invalid(rec, c.code)
					if !reflect.DeepEqual(before, l.path()) {
						t.Errorf("the path moved from %+v to %+v", before, l.path())
					}
					return
				}
				l.valid(rec)
				if !rec.Completed || rec.Reviewer == nil || *rec.Reviewer != "ada" || rec.Delay != c.at {
					t.Errorf("record %+v: want a review completed by ada after %d", rec, c.at)
				}
			})
		}
	}
}

func TestAReviewWithoutAnOutcomeChangesNothing(t *testing.T) {
	for _, o := range []ReviewOutcome{NoReview, 99} {
		l := newLife(t)
		l.attempt(0)
		l.invalid(l.review(1, "ada", o), "outcome_missing")
		l.valid(l.review(1, "ada", Approve))
	}
}

func TestAReviewOfAnotherPathDoesNotCount(t *testing.T) {
	for _, edit := range []func(*Event){
		func(e *Event) { e.Call = "sha256:c2" },
		func(e *Event) { e.Call = "" },
		func(e *Event) { e.TraceID = other },
	} {
		l := newLife(t)
		l.attempt(0)
		l.invalid(l.review(1, "ada", Approve, edit), "no_current_request")
		l.want(l.attempt(2), Escalate)
	}
}

func TestAReturnClosesTheRequestAndNothingElse(t *testing.T) {
	l := newLife(t)
	l.attempt(0)
	rec := l.review(1, "ada", Return)
	if rec.ReviewOutcome != Returned || l.path().Approval != nil || len(l.state.Standing) != 0 {
		t.Errorf("record %+v, path %+v", rec, l.path())
	}
	rec = l.attempt(2)
	l.want(rec, Escalate)
	if !rec.Requested {
		t.Error("no new request after a return")
	}
}

func TestARejectionHoldsItsCode(t *testing.T) {
	for _, code := range append(RejectionCodes(), "") {
		l := newLife(t)
		l.attempt(0)
		l.valid(l.review(1, "ada", Reject, func(e *Event) { e.Review.Code = code }))
		want := Rejection{Seq: 2, Time: 1, Trace: task, Call: theCall, Reviewer: "ada", Code: cmp.Or(code, "other"), Pins: l.contract().Start.Pins}
		if got := l.state.Standing[theCall]; !reflect.DeepEqual(got, want) {
			t.Errorf("rejection %+v, want %+v", got, want)
		}
		l.want(l.attempt(2), Stop)
	}
}

func TestARevocationClearsRequestApprovalAndRejection(t *testing.T) {
	for name, setUp := range map[string]func(*life){
		"nothing":   func(*life) {},
		"request":   func(l *life) { l.attempt(0) },
		"lapsed":    func(l *life) { l.attempt(0); l.set(50, "queue", 0.0) },
		"approval":  func(l *life) { l.approved(0) },
		"rejection": func(l *life) { l.attempt(0); l.review(0, "bob", Reject) },
		"deadline":  func(l *life) { l.attempt(0); l.set(3, "deadline", 1.0) },
	} {
		t.Run(name, func(t *testing.T) {
			l := newLife(t)
			setUp(l)
			rec := l.review(60, "ada", Revoke)
			l.valid(rec)
			if p := l.path(); p.Request != nil || p.Approval != nil || len(l.state.Standing) != 0 || rec.Completed {
				t.Errorf("path %+v, rejections %v, completed %v", p, l.state.Standing, rec.Completed)
			}
			l.set(60, "deadline", nil)
			l.want(l.attempt(61), Escalate)
		})
	}
}

func TestARevocationDoesNotReArmACallThatRan(t *testing.T) {
	l := newLife(t)
	l.approved(0)
	l.want(l.attempt(1), Act)
	l.review(2, "ada", Revoke)
	l.want(l.attempt(3), Stop)
}

// Authority.

// waitingAgain is a life whose path was released once and waits for a review
// again, so that every event means something.
func waitingAgain(t tester) *life {
	l := newLife(t)
	l.contract().Calls = DecideAnew
	l.approved(0)
	l.want(l.attempt(0), Act)
	l.want(l.attempt(0), Escalate)
	return l
}

// oneOfEach is one event of each op that authority is asked for.
func oneOfEach() map[string]Event {
	return map[string]Event{
		"change":   {Op: OpChange, Pins: map[string]string{"rule": "r2"}},
		"settings": {Op: OpSettings, Settings: map[string]any{"capacity": 9.0}},
		"evidence": {Op: OpEvidence, Evidence: Evidence{Name: "ci", Status: Pass}},
		"failure":  {Op: OpFailure, Failure: FailureEvent{Active: true}},
		"engage":   {Op: OpEngage, Engage: Engagement{Component: "x", Task: "y"}},
		"approve":  {Op: OpReview, Review: ReviewEvent{Outcome: Approve}},
		"reject":   {Op: OpReview, Review: ReviewEvent{Outcome: Reject}},
		"return":   {Op: OpReview, Review: ReviewEvent{Outcome: Return}},
		"revoke":   {Op: OpReview, Review: ReviewEvent{Outcome: Revoke}},
		"ok":       {Op: OpResult, Result: ResultEvent{Status: ResultOK}},
		"error":    {Op: OpResult, Result: ResultEvent{Status: ResultError}},
		"not_run":  {Op: OpResult, Result: ResultEvent{Status: NotRun}},
	}
}

func TestWhatAuthorityRefusesChangesNothing(t *testing.T) {
	for name, e := range oneOfEach() {
		t.Run(name, func(t *testing.T) {
			l := waitingAgain(t)
			l.p.may = func(AuthorityRequest) bool { return false }
			e.Time, e.TraceID, e.Call, e.By = 1, task, theCall, Identity{Name: "ada", Role: "reviewer", Qualified: true}
			l.invalid(l.do(e), "not_authorised")
			l.p.may = allow
			l.valid(l.do(e))
		})
	}
}

func TestAuthoritySeesTheWholeEvent(t *testing.T) {
	l := newLife(t)
	l.evidence(0, "ci", Pass)
	l.attempt(1)
	l.p.asked = nil
	l.review(2, "ada", Reject, naming("g1"), func(e *Event) { e.Review.Code, e.Review.Signed = "wrong_target", true })
	got := l.p.asked[0].Document()
	state := got["state"].(map[string]any)
	if state["evidence"].(map[string]any)["ci"] == nil || state["pins"].(map[string]any)["rule"] != "r1" {
		t.Errorf("authority sees state %v", state)
	}
	delete(got, "state")
	want := map[string]any{"op": "review", "by": "ada", "role": "reviewer", "qualified": true, "outcome": "reject", "code": "wrong_target", "name": "",
		"gates": []any{"g1"}, "signed": true, "agent": map[string]any{"id": agentID, "component": planner}, "author": writer, "now": 2.0}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("authority sees %v\nwant %v", got, want)
	}
	l.p.asked = nil
	l.evidence(3, "ci", Fail)
	l.result(3, NotRun)
	if e, r := l.p.asked[0], l.p.asked[2]; e.Name != "ci" || e.Outcome != "fail" || r.Outcome != "not_run" {
		t.Errorf("authority sees %+v and %+v", e, r)
	}
}

func TestAnAttemptAsksNoAuthority(t *testing.T) {
	l := newLife(t)
	l.p.may = func(AuthorityRequest) bool { panic("asked") }
	l.want(l.attempt(0), Escalate)
}

// Panics and clocks.

func TestAPanicOfThePolicyIsInvalidAndWritesNothing(t *testing.T) {
	for name, e := range oneOfEach() {
		t.Run(name, func(t *testing.T) {
			l := waitingAgain(t)
			l.p.may = func(AuthorityRequest) bool { panic("hostile") }
			e.Time, e.Call, e.By = 1, theCall, Identity{Name: "ada", Role: "operator"}
			l.invalid(l.do(e), "engine_panic")
		})
	}
}

func TestAPanicWhileDecidingPermitsAndReleasesNothing(t *testing.T) {
	for name, hostile := range map[string]func(*fakePolicy){
		"base":      func(p *fakePolicy) { p.base = func(Consequence) (Tier, Reason) { panic("hostile") } },
		"modifiers": func(p *fakePolicy) { p.modifiers = func(Consequence, bool) []ModifierRule { panic("hostile") } },
		"next":      func(p *fakePolicy) { p.next = func(Cause, Flags) (Transition, bool) { panic("hostile") } },
	} {
		t.Run(name, func(t *testing.T) {
			l := newLife(t)
			hostile(l.p.fakePolicy)
			rec := l.attempt(0)
			l.want(rec, Stop)
			if !slices.Contains(codes(rec.Decision.Reasons), "engine_panic") || rec.Decision.Outcome != Block {
				t.Errorf("decision %+v: want a block with engine_panic", rec.Decision)
			}
			if p := l.path(); p.Released != 0 || p.Request != nil || p.Retries != 0 {
				t.Errorf("path %+v: want nothing of it", p)
			}
		})
	}
}

// A panic past the decision, while its consequences are written.
type lateView struct {
	*memory
	reads int
}

func (v *lateView) Trace(id string) Trace {
	if v.reads++; v.reads > 1 {
		panic("the state is gone")
	}
	return v.memory.Trace(id)
}

func TestAPanicAfterTheDecisionPermitsNothing(t *testing.T) {
	l := newLife(t)
	a := proposal()
	a.Action.Tool = toolNote
	rec, w := Step(context.Background(), l.p, &lateView{memory: l.state}, &Event{Op: OpAttempt, Time: 3, Attempt: a})
	if rec.Decision == nil || rec.Decision.Permit || rec.Invalid != "invalid_attempt" || !reflect.DeepEqual(w, Writes{Clock: 3}) {
		t.Errorf("record %+v, writes %+v: want an invalid attempt that writes nothing", rec, w)
	}
}

func TestAMissingPolicyOrContractIsInvalid(t *testing.T) {
	for _, p := range []Governance{nil, &ruled{fakePolicy: &fakePolicy{}, may: allow}} {
		for _, e := range []Event{{Op: OpAttempt, Attempt: proposal()}, {Op: OpFailure, By: Identity{Name: "pep"}}} {
			rec, w := Step(context.Background(), p, newMemory(), &e)
			if rec.Decision != nil && rec.Decision.Permit || len(w.Paths) != 0 && w.Paths[0].Path.Released != 0 {
				t.Errorf("%v: record %+v, writes %+v", e.Op, rec, w)
			}
			if p == nil && rec.Invalid == "" {
				t.Errorf("%v without a policy is valid", e.Op)
			}
		}
	}
}

// Writes.

func TestAKeyIsWrittenOnce(t *testing.T) {
	var w Writes
	for i := range 3 {
		for _, name := range []string{"a", "b"} {
			w.SetTrace(name, Trace{ChangedAt: uint64(i)})
			w.SetPath(PathKey{name, "c"}, Path{Retries: i})
			w.SetRejection(name, &Rejection{Seq: uint64(i)})
		}
	}
	if len(w.Traces) != 2 || len(w.Paths) != 2 || len(w.Rejections) != 2 {
		t.Fatalf("%d traces, %d paths, %d rejections: want 2 of each", len(w.Traces), len(w.Paths), len(w.Rejections))
	}
	for _, name := range []string{"a", "b"} {
		trace, ok1 := w.Trace(name)
		path, ok2 := w.Path(PathKey{name, "c"})
		r, ok3 := w.Rejection(name)
		if !ok1 || !ok2 || !ok3 || trace.ChangedAt != 2 || path.Retries != 2 || r.Seq != 2 {
			t.Errorf("%s: trace %+v %v, path %+v %v, rejection %+v %v: want the last of each", name, trace, ok1, path, ok2, r, ok3)
		}
	}
	_, trace := w.Trace("c")
	_, path := w.Path(PathKey{"a", "d"})
	if _, rejection := w.Rejection("c"); trace || path || rejection {
		t.Errorf("trace %v, path %v, rejection %v: want none that was not written", trace, path, rejection)
	}
}

// Stamp.

func TestStampReplacesEverySelf(t *testing.T) {
	votes := []Vote{{Reviewer: "a", Seq: Self}, {Reviewer: "b", Seq: 4}}
	request := &Request{Seq: Self, Votes: votes}
	key := PathKey{task, theCall}
	w := Writes{
		Traces:        []TraceWrite{{"a", Trace{ChangedAt: Self}}, {"b", Trace{ChangedAt: 3}}},
		Evidence:      []EvidenceWrite{{Evidence: Evidence{Seq: Self}}, {Evidence: Evidence{Seq: 3}}},
		Paths:         []PathWrite{{key, Path{Request: request, Approval: &Approval{Request: 3, Seq: Self, Votes: votes}, Failure: &Failure{Seq: Self, Recoverable: true}, Released: Self, ChangedAt: Self}}, {PathKey{task, "x"}, Path{Released: 3, Failure: &Failure{Seq: 3}}}},
		Rejections:    []RejectionWrite{{"a", &Rejection{Seq: Self, Code: "other"}}, {"b", nil}, {"c", &Rejection{Seq: 3}}},
		Contributions: []ContributionWrite{{Contribution: Contribution{Seq: Self}}, {Contribution: Contribution{Seq: 3}}},
		Entities:      []EntityWrite{{Record: EntityRecord{Seq: Self}}, {Record: EntityRecord{Seq: 3}}},
	}
	w.Stamp(9)
	if where := findSelf(reflect.ValueOf(w), "writes"); where != "" {
		t.Errorf("%s is left", where)
	}
	p := w.Paths[0].Path
	if p.Request.Seq != 9 || p.Request.Votes[0].Seq != 9 || p.Request.Votes[1].Seq != 4 || p.Approval.Request != 3 || !p.Failure.Recoverable {
		t.Errorf("path %+v", p)
	}
	if w.Traces[1].Trace.ChangedAt != 3 || w.Evidence[1].Evidence.Seq != 3 || w.Rejections[1].Rejection != nil || w.Rejections[2].Rejection.Seq != 3 || w.Contributions[1].Contribution.Seq != 3 || w.Entities[1].Record.Seq != 3 || w.Paths[1].Path.Failure.Seq != 3 {
		t.Errorf("another number was stamped: %+v", w)
	}
	if request.Seq != Self || votes[0].Seq != Self {
		t.Error("Stamp changed a value that the writes only refer to")
	}
}

func TestAnEventOfUnknownOpNamesItself(t *testing.T) {
	l := newLife(t)
	rec := l.do(Event{Op: OpCheckpoint})
	if !strings.HasPrefix(rec.Invalid, "invalid_checkpoint") {
		t.Errorf("invalid = %q", rec.Invalid)
	}
}

// Aliases.

func TestWhatIsStoredDoesNotChangeWithTheCallersMaps(t *testing.T) {
	l := newLife(t)
	pins := map[string]string{"rule": "r1"}
	l.do(Event{Op: OpEvidence, Evidence: Evidence{Name: "ci", Status: Pass, Pins: pins}})
	pins["rule"] = "r2"
	if got, _ := l.state.Evidence(task, "", "ci"); got.Pins["rule"] != "r1" {
		t.Errorf("stored pins %v", got.Pins)
	}
	gates := []string{"g1"}
	l.attempt(1)
	l.review(1, "ada", Approve, naming(gates...))
	gates[0] = "g2"
	if got := l.path().Approval.Votes[0].Gates[0]; got != "g1" {
		t.Errorf("stored gates %v", got)
	}
}

func TestARecordDoesNotPointIntoTheState(t *testing.T) {
	l := newLife(t)
	l.contract().Approval.Many = true
	l.approved(0)
	stored := l.path()
	rec := l.attempt(1)
	*rec.Reviewer = "mallory"
	if got := stored.Approval.Votes[0].Reviewer; got != "ada" {
		t.Errorf("the stored approval is now of %s", got)
	}
}
