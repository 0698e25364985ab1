package engine

import (
	"context"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The invariants of section 4 of the design, attacked by a bundle that wants
// everything to run and by an agent that tries every event there is.

// hostile makes a bundle that lets everybody do everything, tests nothing and
// names t for every cause.
func hostile(l *life, t Transition) {
	l.p.may = allow
	l.p.next = always(t)
	l.p.base = func(c Consequence) (Tier, Reason) { return defaultBase(c) }
	l.p.floors, l.p.gates = nil, nil
	l.p.addGate("own", Pass, ByReview, ByReview)
}

func transitions() (out []Transition) {
	for t := Stop; t <= Act+1; t++ {
		out = append(out, t)
	}
	return out
}

// spellings are names under which the agent, its component and the component
// in the pin may try to pass for somebody else.
func spellings() []string {
	return []string{agentID, "Agent", "AGENT", " agent", "agent ", "\tagent\n", planner, "planner", "Planner@3", " PLANNER ", "planner@4", "m1", "M1", "m1 ", "m1@2"}
}

func TestI1AnAgentDoesNothingToItsOwnTask(t *testing.T) {
	for name, e := range oneOfEach() {
		for _, by := range spellings() {
			t.Run(fmt.Sprintf("%s by %q", name, by), func(t *testing.T) {
				l := waitingAgain(t)
				hostile(l, Act)
				e.Time, e.TraceID, e.Call = 1, task, theCall
				e.By = Identity{Name: by, Role: "operator", Qualified: true}
				before := clone(l.state)
				l.invalid(l.do(e), "self_serving")
				before.Now = 1
				if !reflect.DeepEqual(before, l.state) {
					t.Error("the state moved")
				}
				l.want(l.attempt(2), Stop)
			})
		}
	}
}

func TestI1NobodyDoesNothing(t *testing.T) {
	for name, e := range oneOfEach() {
		l := waitingAgain(t)
		e.Time, e.Call, e.By = 1, theCall, Identity{Role: "operator", Qualified: true}
		rec := l.do(e)
		if !slices.Contains(codes(rec.Reasons), "identity_missing") {
			t.Errorf("%s by nobody: %q %v", name, rec.Invalid, codes(rec.Reasons))
		}
	}
}

func TestI1EveryAgentOfTheTraceCounts(t *testing.T) {
	l := newLife(t)
	l.attempt(0, callHash("sha256:a1"), callID("a1"), byAgent(Agent{"first", "one@1"}))
	l.attempt(0, callHash("sha256:a2"), callID("a2"), byAgent(Agent{"second", "two@1"}))
	l.attempt(0)
	l.attempt(0, callHash("sha256:a3"), callID("a3"))
	for _, by := range []string{"first", "one@1", "one", "second", "two@1", agentID, planner} {
		l.invalid(l.review(1, by, Approve), "self_serving")
	}
	if got := len(l.state.Traces[task].Agents); got != 3 {
		t.Errorf("%d agents are remembered, want 3", got)
	}
	l.valid(l.review(1, "ada", Approve))
}

func TestI1AMovedComponentPinNamesTheNewComponent(t *testing.T) {
	l := newLife(t)
	l.change(0, "", "component", "ada")
	l.attempt(1)
	l.invalid(l.review(2, "ada", Approve), "self_serving")
}

func TestI1TheAgentTheEnforcementPointNamesIsTheAgent(t *testing.T) {
	l := newLife(t)
	e := Event{Op: OpEvidence, By: Identity{Name: "scout"}, Agent: Agent{ID: "scout"}, Evidence: Evidence{Name: "ci", Status: Pass}}
	l.invalid(l.do(e), "self_serving")
}

func TestI1AnAgentWithSpacesInItsIDIsRecognised(t *testing.T) {
	for _, id := range []string{"agent x ", " agent", "agent "} {
		l := newLife(t)
		l.attempt(0, byAgent(Agent{ID: id}))
		l.invalid(l.review(1, id, Approve), "self_serving")
	}
	l := newLife(t)
	l.attempt(0, byAgent(Agent{ID: "a", Component: "planner @3"}))
	l.invalid(l.review(1, "planner", Approve), "self_serving")
}

func TestI1AnAgentDoesNotSetSettingsForAll(t *testing.T) {
	l := newLife(t)
	l.set(0, "eligible", nil)
	l.attempt(0)
	rec := l.do(Event{Op: OpSettings, Time: 1, By: Identity{Name: agentID}, Settings: map[string]any{"capacity": 1000.0}})
	if rec.Invalid == "" {
		t.Error("the agent set a setting that its own task reads")
	}
}

func TestI1AnAgentDoesNotRevokeItsRejectionThroughAnotherTrace(t *testing.T) {
	l := newLife(t)
	l.attempt(0)
	l.review(1, "ada", Reject)
	l.review(2, agentID, Revoke, func(e *Event) { e.TraceID = "fresh" })
	if _, stands := l.state.Standing[theCall]; !stands {
		t.Error("the agent lifted the rejection of its own call")
	}
	l.want(l.attempt(3, byTool(toolNote)), Stop)
}

func TestI1AnAgentDoesNotPrepareItsTaskBeforeItsFirstCall(t *testing.T) {
	l := newLife(t)
	l.do(Event{Op: OpEvidence, By: Identity{Name: agentID, Role: "pep"}, Evidence: Evidence{Name: "ci", Status: Pass}})
	l.p.edit(toolNote, func(t *Tool) { t.Requires.Evidence = []string{"ci"} })
	if rec := l.attempt(1, byTool(toolNote)); rec.Decision.Permit {
		t.Error("permitted on evidence that the agent gave itself")
	}
}

func TestI1AnEngagedComponentDoesNotReviewItsTask(t *testing.T) {
	l := newLife(t)
	l.do(Event{Op: OpEngage, Engage: Engagement{"drafter@1", "draft"}})
	l.attempt(1)
	l.invalid(l.review(2, "drafter@1", Approve), "self_serving")
}

func TestI1AComponentDoesNotEngageItself(t *testing.T) {
	l := newLife(t)
	l.invalid(l.do(Event{Op: OpEngage, By: Identity{Name: "drafter@1"}, Engage: Engagement{"drafter@1", "draft"}}), "self_serving")
}

func TestI1ACriticDoesNotReviewWhatItScored(t *testing.T) {
	l := newLife(t)
	l.attempt(0, func(a *Attempt) { a.Action.Critic = &Critic{new(1.0), "critic@1"} })
	for _, by := range []string{"critic@1", "critic", "Critic@2"} {
		l.invalid(l.review(1, by, Approve), "self_serving")
	}
}

func TestI1ACallOfAnUnknownAgentIsNotApproved(t *testing.T) {
	l := newLife(t)
	l.attempt(0, byAgent(Agent{}))
	l.review(1, "ada", Approve)
	if rec := l.attempt(2, byAgent(Agent{})); rec.Decision.Permit {
		t.Error("released on an approval of which nobody can say that it is not the agent's own")
	}
}

func TestI1AnAuthorDoesNotMoveThePinThatNamesThem(t *testing.T) {
	l := newLife(t)
	l.do(Event{Op: OpChange, By: Identity{Name: writer}, Pins: map[string]string{"author": "somebody"}})
	l.attempt(1)
	l.review(2, writer, Approve)
	if rec := l.attempt(3); rec.Decision.Permit {
		t.Error("the author approved their own work")
	}
}

func TestI1ANameOfSpacesIsNobody(t *testing.T) {
	l := newLife(t)
	l.attempt(0)
	l.invalid(l.review(1, "  ", Approve), "identity_missing")
}

func TestI1AnAgentDoesNotWinABudgetOrAReleaseByNewIDs(t *testing.T) {
	l := newLife(t)
	hostile(l, Retry)
	l.fail(0, true, true)
	acted := 0
	for i := range 20 {
		rec := l.attempt(int64(i), callID(fmt.Sprint("k", i)), confidence(float64(i%3)/2), func(a *Attempt) {
			a.Action.InputHash = fmt.Sprint("sha256:in", i)
			a.Action.Critic = &Critic{new(1.0), fmt.Sprint("critic", i)}
		})
		if rec.Transition == Retry {
			acted++
		}
	}
	if acted != 1 || l.path().Retries != 1 {
		t.Errorf("%d retries with a budget of 1", acted)
	}
}

func TestI1AReleaseIsNotReplayed(t *testing.T) {
	for _, next := range transitions() {
		l := newLife(t)
		l.approved(0)
		l.want(l.attempt(1), Act)
		hostile(l, next)
		for i := range 10 {
			if rec := l.attempt(int64(2+i), callID(fmt.Sprint("k", i+2)), confidence(1)); rec.Decision.Permit || rec.Transition != Stop {
				t.Errorf("next %v: released again: %v", next, rec.Transition)
			}
		}
	}
}

func TestI1ARejectedCallIsNotTriedElsewhere(t *testing.T) {
	for _, next := range transitions() {
		l := newLife(t)
		l.attempt(0)
		l.review(1, "ada", Reject)
		hostile(l, next)
		for i := range 10 {
			for _, tool := range []string{toolRevoke, toolNote, toolLook} {
				rec := l.attempt(2, byTool(tool), inTrace(fmt.Sprint("X", i)), callID(fmt.Sprint("k", i, tool)), confidence(float64(i)/9))
				if rec.Decision.Permit {
					t.Errorf("next %v: a rejected call of %s was released", next, tool)
				}
			}
		}
	}
}

func TestI2NothingActsBesideAGateThatIsNotPass(t *testing.T) {
	for _, next := range transitions() {
		for name, obstruct := range map[string]func(*life){
			"own gate fails":     func(l *life) { l.p.addGate("g", Fail, ByNobody, ByNobody) },
			"own gate unknown":   func(l *life) { l.p.addGate("g", Unknown, ByNobody, ByNobody) },
			"own gate to review": func(l *life) { l.p.addGate("g", Fail, ByReview, ByReview) },
			"evidence missing":   func(l *life) { l.p.edit(toolNote, func(t *Tool) { t.Requires.Evidence = []string{"ci"} }) },
			"context missing":    func(l *life) { l.p.edit(toolNote, func(t *Tool) { t.Requires.Context = []string{"record"} }) },
			"failed":             func(l *life) { l.fail(0, true, true) },
			"deadline past":      func(l *life) { l.set(0, "deadline", -1.0) },
			"deadline odd":       func(l *life) { l.set(0, "deadline", "never") },
			"not eligible": func(l *life) {
				l.p.edit(toolNote, func(t *Tool) { t.Requires.Component = true })
				l.set(0, "eligible", "yes")
			},
			"no priority": func(l *life) { l.contract().Priority = nil; l.fail(0, true, true) },
			"refused":     func(l *life) { l.p.addFloor("f", Refuse) },
		} {
			l := newLife(t)
			hostile(l, next)
			obstruct(l)
			if rec := l.attempt(1, byTool(toolNote)); rec.Decision.Permit || l.path().Released != 0 {
				t.Errorf("next %v, %s: permitted", next, name)
			}
		}
	}
}

func TestI2DenyIsNotApprovable(t *testing.T) {
	for _, next := range transitions() {
		l := newLife(t)
		l.approved(0)
		hostile(l, next)
		l.p.addFloor("f", Refuse)
		if rec := l.attempt(1); rec.Decision.Permit {
			t.Errorf("next %v: an approval released a refused call", next)
		}
		l.review(1, "ada", Approve)
		if rec := l.attempt(2, callID("k2")); rec.Decision.Permit {
			t.Errorf("next %v: an approval released a refused call", next)
		}
	}
}

func TestI4AnUnavailableReviewDefersOrStops(t *testing.T) {
	for _, next := range transitions() {
		for name, away := range map[string]func(*life){
			"queue full":       func(l *life) { l.set(0, "capacity", 0.0) },
			"capacity missing": func(l *life) { l.set(0, "capacity", nil) },
			"capacity odd":     func(l *life) { l.set(0, "capacity", "lots") },
			"no role":          func(l *life) { l.contract().Roles = nil },
			"deadline past":    func(l *life) { l.set(0, "deadline", -1.0) },
		} {
			l := newLife(t)
			hostile(l, next)
			l.set(0, "queue", 0.0)
			away(l)
			rec := l.attempt(1)
			if rec.Transition != Defer && rec.Transition != Stop || rec.Requested || rec.Decision.Permit {
				t.Errorf("next %v, %s: %v, requested %v", next, name, rec.Transition, rec.Requested)
			}
			l.invalid(l.review(1, "ada", Approve), "no_current_request")
			l.invalid(l.review(1, agentID, Approve), "self_serving")
		}
	}
}

func TestI4AFloodOfRequestsDefersTheRest(t *testing.T) {
	l := newLife(t)
	hostile(l, Escalate)
	asked := 0
	for i := range 50 {
		rec := l.attempt(0, callID(fmt.Sprint("k", i)), callHash(fmt.Sprint("sha256:x", i)), inTrace(fmt.Sprint("X", i%7)))
		if rec.Decision.Permit {
			t.Fatalf("call %d was permitted", i)
		}
		if rec.Requested {
			asked++
		} else if rec.Transition != Defer {
			t.Errorf("call %d: %v, want defer", i, rec.Transition)
		}
	}
	if asked != 4 {
		t.Errorf("%d requests with a capacity of 4", asked)
	}
	l.want(l.attempt(11, callID("k99"), callHash("sha256:x99")), Escalate)
}

// TestPermitsOfRandomLives folds random events under hostile but legal bundles
// and holds each permit to what sections 4 and 5 ask of it, by what was sent
// and not by what the engine made of it.
func TestPermitsOfRandomLives(t *testing.T) {
	permits, reviewed := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		m := newModel(rt)
		for range rapid.IntRange(5, 40).Draw(rt, "events") {
			m.event()
		}
		permits, reviewed = permits+m.permits, reviewed+m.reviewed
	})
	if !testing.Short() && (permits < 50 || reviewed < 10) {
		t.Errorf("%d permits, %d of them after review: too few to show anything", permits, reviewed)
	}
	t.Logf("%d permits, %d of them after review", permits, reviewed)
}

// vote is an approving review as it was sent.
type sentVote struct {
	by  string
	seq uint64
	at  int64
	ttl *float64
}

// model knows what was sent, and what of it could count at most.
type model struct {
	*life
	rt    *rapid.T
	n     int // draws so far
	at    int64
	pins  map[string]map[string]string // trace, or trace/call, to name to value
	moved map[string]uint64
	sets  map[[2]string]any
	acted map[string][]Agent
	votes map[PathKey][]sentVote
	since map[PathKey]uint64 // last revocation, rejection or use
	once  map[PathKey]bool
	fails map[PathKey]bool
	told  map[PathKey]bool // a result of the run came
	no    map[string]*Rejection

	permits, reviewed int
}

func newModel(rt *rapid.T) *model {
	m := &model{life: newLife(rt), rt: rt, pins: map[string]map[string]string{}, moved: map[string]uint64{}, sets: map[[2]string]any{},
		acted: map[string][]Agent{}, votes: map[PathKey][]sentVote{}, since: map[PathKey]uint64{}, once: map[PathKey]bool{}, fails: map[PathKey]bool{}, told: map[PathKey]bool{}, no: map[string]*Rejection{}}
	named := make([]Transition, NumFlags)
	for i := range named {
		named[i] = pickFrom(m, Escalate, Escalate, Act, Transition(m.upTo(int(Act))))
	}
	if !m.one(3) {
		hostile(m.life, Act)
		m.p.next = func(c Cause, f Flags) (Transition, bool) { return named[(f.Index()+int(c))%NumFlags], true }
	}
	c := m.contract()
	c.Required = 1 + m.upTo(1)
	c.Approval.Many = m.one(2)
	c.Calls = CallRule(m.upTo(1))
	c.Expiry = Expiry(m.upTo(1))
	c.Queue = QueueRule(m.upTo(1))
	if m.one(2) {
		c.RejectionVoid = []Binding{BindPins}
	}
	return m
}

func (m *model) upTo(n int) int {
	m.n++
	return rapid.IntRange(0, n).Draw(m.rt, fmt.Sprint("draw ", m.n))
}

// one in n draws is true.
func (m *model) one(n int) bool { return m.upTo(n-1) == n-1 }

func pickFrom[T any](m *model, from ...T) T { return from[m.upTo(len(from)-1)] }

func (m *model) event() {
	m.at += pickFrom(m, int64(0), 0, 0, 1, 2, 9, 10)
	trace, call := pickFrom(m, task, task, task, other), pickFrom(m, theCall, theCall, theCall, "sha256:c2")
	key := PathKey{trace, call}
	by := pickFrom(m, "ada", "ada", "bob", "bob", "eve", writer, agentID, planner, "m1", "m2", " Agent")
	e := Event{Time: m.at, TraceID: trace, By: Identity{Name: by, Role: "reviewer", Qualified: true}}
	if m.one(8) {
		m.reviewedLife(key)
		return
	}
	switch n := m.upTo(19); {
	case n < 8:
		m.attempts(key)
		return
	case n < 13:
		e.Op, e.Call = OpReview, call
		e.Review.Outcome = pickFrom(m, Approve, Approve, Approve, Approve, Reject, Return, Revoke)
	case n < 14:
		e.Op, e.Pins = OpChange, map[string]string{}
		e.Call = pickFrom(m, "", call)
		name := pickFrom(m, "rule", "component", "author", "input")
		e.Pins[name] = pickFrom(m, map[string][]string{"rule": {"r1", "r2"}, "component": {"m1", "m2"}, "author": {writer, "ada"}, "input": {"i1", "i2"}}[name]...)
	case n < 16:
		e.Op, e.Settings = OpSettings, map[string]any{}
		name := pickFrom(m, "capacity", "queue", "deadline", "review_ttl", "eligible")
		e.Settings[name] = pickFrom(m, map[string][]any{"capacity": {0.0, 1.0, 4.0, nil}, "queue": {0.0, 1.0}, "deadline": {5.0, 30.0, nil}, "review_ttl": {0.0, 5.0, 50.0, nil}, "eligible": {true, false}}[name]...)
	case n < 17:
		e.Op, e.Evidence = OpEvidence, Evidence{Name: "ci", Status: pickFrom(m, Pass, Fail)}
	case n < 18:
		e.Op, e.Call, e.Failure = OpFailure, call, FailureEvent{m.one(2), m.one(2)}
	default:
		e.Op, e.Call, e.Result = OpResult, call, ResultEvent{Status: pickFrom(m, ResultOK, ResultError, NotRun), Recoverable: true}
	}
	m.send(e, key)
}

// send folds an event and learns what of it could count.
func (m *model) send(e Event, key PathKey) {
	self := m.self(key.Trace, e.By.Name)
	rec := m.do(e)
	if self && rec.Invalid == "" {
		m.rt.Fatalf("%v by %q, who acts in trace %s, took effect", e.Op, e.By.Name, key.Trace)
	}
	if rec.Invalid == "" {
		m.learn(e, key, rec)
	}
}

// reviewedLife asks, approves and asks again, with time in between: what a
// random order of events seldom comes to.
func (m *model) reviewedLife(key PathKey) {
	m.attempts(key)
	for _, by := range []string{"ada", pickFrom(m, "ada", "bob", "eve")} {
		m.at += pickFrom(m, int64(0), 0, 1, 5)
		m.send(Event{Op: OpReview, Time: m.at, TraceID: key.Trace, Call: key.Call, By: Identity{Name: by}, Review: ReviewEvent{Outcome: Approve}}, key)
	}
	m.at += pickFrom(m, int64(0), 0, 1, 5, 10, 11)
	m.attempts(key)
}

// self reports whether a name is an agent of the trace or its component.
func (m *model) self(trace, by string) bool {
	by = strings.ToLower(strings.TrimSpace(by))
	for _, a := range m.acted[trace] {
		if by == a.ID || by == a.Component {
			return true
		}
	}
	return by == m.pin(trace, "", "component")
}

func (m *model) pin(trace, call, name string) string {
	for _, at := range []string{trace + "/" + call, trace} {
		if v, ok := m.pins[at][name]; ok {
			return v
		}
	}
	return m.contract().Start.Pins[name]
}

func (m *model) setting(trace, name string) any {
	if v, ok := m.sets[[2]string{trace, name}]; ok {
		return v
	}
	return m.contract().Start.Settings[name]
}

func (m *model) ttl(trace string) *float64 {
	if v, ok := m.setting(trace, "review_ttl").(float64); ok {
		return &v
	}
	return nil
}

// learn takes note of an event that took effect.
func (m *model) learn(e Event, key PathKey, rec Record) {
	switch e.Op {
	case OpChange:
		for name, v := range e.Pins {
			at := key.Trace
			if slices.Contains(m.contract().PathPins, name) {
				at = key.Trace + "/" + e.Call
			}
			if m.pin(key.Trace, e.Call, name) == v {
				continue
			}
			if m.pins[at] == nil {
				m.pins[at] = map[string]string{}
			}
			m.pins[at][name], m.moved[at] = v, m.seq
		}
	case OpSettings:
		for name, v := range e.Settings {
			m.sets[[2]string{key.Trace, name}] = v
		}
	case OpFailure:
		if m.fails[key] && m.told[key] && !e.Failure.Active {
			// A run that failed and is dealt with may be run again.
			m.once[key], m.told[key] = false, false
		}
		m.fails[key] = e.Failure.Active
	case OpResult:
		m.told[key] = m.told[key] || e.Result.Status != NotRun
		m.fails[key] = e.Result.Status == ResultError || e.Result.Status == NotRun && m.fails[key]
		if e.Result.Status == NotRun {
			m.once[key] = false
		}
	case OpReview:
		m.reviews(e, key, rec)
	}
}

func (m *model) reviews(e Event, key PathKey, rec Record) {
	switch e.Review.Outcome {
	case Approve:
		if e.By.Name == m.pin(key.Trace, key.Call, "author") || m.late(key.Trace) {
			m.rt.Fatalf("an approval by %s at %d took effect", e.By.Name, m.at)
		}
		m.votes[key] = append(m.votes[key], sentVote{e.By.Name, m.seq, m.at, m.ttl(key.Trace)})
	case Reject:
		m.since[key] = m.seq
		m.no[key.Call] = &Rejection{Seq: m.seq, Trace: key.Trace}
	case Revoke:
		m.since[key] = m.seq
		m.no[key.Call] = nil
	}
}

func (m *model) late(trace string) bool {
	d, ok := m.setting(trace, "deadline").(float64)
	return ok && float64(m.at) > d
}

func (m *model) attempts(key PathKey) {
	tool := pickFrom(m, toolRevoke, toolRevoke, toolNote, toolLook, "probe", toolMissing)
	// One call is one tool: the hash covers it.
	call := key.Call + tool
	if key.Call == theCall {
		tool, call = toolRevoke, theCall
	}
	key.Call = call
	c := pickFrom(m, 0.0, 0.5, 0.85, 1.0)
	edits := []func(*Attempt){inTrace(key.Trace), callID(fmt.Sprint("k", m.seq)), callHash(call), byTool(tool), confidence(c)}
	m.confidenceOnlyTightens(edits)
	rec := m.attempt(m.at, edits...)
	if !slices.Contains(m.acted[key.Trace], Agent{agentID, planner}) {
		m.acted[key.Trace] = append(m.acted[key.Trace], Agent{agentID, planner})
	}
	if rec.Decision.Permit {
		m.permits++
		m.holds(key, tool, rec)
		m.once[key], m.told[key] = true, false
		if !m.contract().Approval.Many {
			m.since[key] = m.seq
		}
	}
}

// confidenceOnlyTightens asks the same with every confidence: what one permits
// the highest permits too (I3).
func (m *model) confidenceOnlyTightens(edits []func(*Attempt)) {
	a := proposal()
	for _, edit := range edits {
		edit(&a)
	}
	permit := func(c *float64) bool {
		a.Action.Confidence = c
		rec, _ := Step(context.Background(), m.p, m.state, &Event{Op: OpAttempt, Time: m.at, Attempt: a})
		return rec.Decision.Permit
	}
	highest := permit(new(1.0))
	for _, c := range []*float64{nil, new(-1.0), new(0.0), new(0.84), new(2.0), new(math.NaN()), new(math.Inf(1))} {
		if permit(c) && !highest {
			m.rt.Fatalf("confidence %v permits what 1 does not", c)
		}
	}
	if atThreshold := permit(new(0.85)); atThreshold != highest {
		m.rt.Fatalf("confidence 0.85 permits %v, 1 permits %v", atThreshold, highest)
	}
}

// holds is what every permit has to satisfy.
func (m *model) holds(key PathKey, tool string, rec Record) {
	d := rec.Decision
	fail := func(format string, args ...any) {
		m.rt.Fatalf("permit of %s in %s at %d: %s", key.Call, key.Trace, m.at, fmt.Sprintf(format, args...))
	}
	for _, g := range d.Gates {
		if !g.Verdict.holds() {
			fail("gate %s is %v", g.Name, g.Verdict)
		}
	}
	if d.Transition != Act || d.Outcome != Allow {
		fail("transition %v, outcome %v", d.Transition, d.Outcome)
	}
	if m.late(key.Trace) {
		fail("the deadline is past")
	}
	if m.fails[key] {
		fail("a failure is unresolved")
	}
	if m.contract().Calls == Once && m.once[key] && m.p.tools[tool].Effect != Read {
		fail("it was released before")
	}
	if m.rejected(key.Call) {
		fail("a rejection stands")
	}
	switch d.Boundary {
	case AllowCall:
	case RequireReview:
		m.reviewed++
		if n := m.approvers(key); n < m.contract().Required {
			fail("%d reviewers approved, %d are required", n, m.contract().Required)
		}
	default:
		fail("boundary %v", d.Boundary)
	}
}

func (m *model) movedAt(trace, call string) uint64 {
	return max(m.moved[trace], m.moved[trace+"/"+call])
}

func (m *model) rejected(call string) bool {
	r := m.no[call]
	if r == nil {
		return false
	}
	return m.contract().RejectionVoid == nil || r.Seq > m.movedAt(r.Trace, call)
}

// approvers counts the different people whose approval can still count.
func (m *model) approvers(key PathKey) int {
	names := map[string]bool{}
	newest := int64(math.MinInt64)
	var limit *float64
	for _, v := range m.votes[key] {
		if v.seq > m.movedAt(key.Trace, key.Call) && v.seq > m.since[key] {
			names[v.by] = true
			newest, limit = v.at, v.ttl
		}
	}
	maps.DeleteFunc(names, func(by string, _ bool) bool { return m.self(key.Trace, by) })
	age := float64(m.at - newest)
	if now := m.ttl(key.Trace); now != nil && age > *now {
		return 0
	}
	if m.contract().Expiry == Final && limit != nil && age > *limit {
		return 0
	}
	return len(names)
}
