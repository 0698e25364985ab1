package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Record is what one event came to. An attempt and an engagement carry every
// field; another event says whether it took effect.
type Record struct {
	Seq     uint64   `json:"seq"`
	Time    int64    `json:"time"`
	Op      Op       `json:"op"`
	TraceID string   `json:"trace_id"`
	Source  string   `json:"source"`
	Invalid string   `json:"invalid,omitempty"` // invalid_<op>, when it changed nothing
	Reasons []Reason `json:"reasons"`

	StateBefore      string             `json:"state_before,omitempty"`
	StateAfter       string             `json:"state_after,omitempty"`
	Transition       Transition         `json:"transition"`
	ContextVersion   string             `json:"context_version,omitempty"`
	RuleVersion      string             `json:"rule_version,omitempty"`
	ComponentVersion string             `json:"component_version,omitempty"`
	Gates            map[string]Verdict `json:"gates,omitempty"`
	RetryLeft        int                `json:"retry_left"`
	InputHash        string             `json:"input_hash,omitempty"`
	OutputRef        string             `json:"output_ref,omitempty"`
	ReviewRequired   bool               `json:"review_required"`
	// Reviewer is nil until somebody reviewed; nil is not approval.
	Reviewer      *string       `json:"reviewer"`
	ReviewOutcome RequestStatus `json:"review_outcome"`
	// Delay is how long a completed review took, in seconds.
	Delay int64 `json:"delay,omitempty"`
	// Completed marks the review that finished its request.
	Completed bool `json:"completed,omitempty"`
	// Requested marks the attempt that created a review request.
	Requested bool `json:"requested,omitempty"`

	Decision *Decision `json:"decision,omitempty"`

	// RetryOf is the seq of the attempt at the same call, trivial changes aside,
	// that was refused in this trace before; 0: none.
	RetryOf uint64 `json:"retry_of,omitempty"`
	// Second is what a re-examination found.
	Second *SecondLook `json:"-"`
	// Due lists the calls that have to be looked at again next, in this order. They
	// are looked at before anything else happens.
	Due []Reexamination `json:"-"`
}

// Writes is what one event does to the evidence state. The zero value changes
// nothing. A key is written once: SetTrace, SetPath and SetRejection replace.
type Writes struct {
	Clock         int64
	Traces        []TraceWrite
	Settings      []SettingWrite
	Evidence      []EvidenceWrite
	Paths         []PathWrite
	Calls         []CallWrite
	Rejections    []RejectionWrite
	Contributions []ContributionWrite
	Entities      []EntityWrite
	Holders       []HolderWrite
	Results       []ResultWrite
	Suspicions    []SuspicionWrite
	Refusals      []RefusalWrite
}

// HolderWrite says that a call holds a value.
type HolderWrite struct {
	Value string
	Key   PathKey
}

// ResultWrite adds what a result of a call held.
type ResultWrite struct {
	Key    PathKey
	Seq    uint64
	Values []string
}

// SuspicionWrite makes an item suspect, or clears it.
type SuspicionWrite struct {
	Suspicion Suspicion
	Cleared   bool
}

// SetSuspicion makes an item suspect. There is one suspicion for a value in a
// trace.
func (w *Writes) SetSuspicion(s Suspicion) {
	for i := range w.Suspicions {
		if have := w.Suspicions[i].Suspicion; have.Value == s.Value && have.Trace == s.Trace {
			w.Suspicions[i] = SuspicionWrite{Suspicion: s}
			return
		}
	}
	w.Suspicions = append(w.Suspicions, SuspicionWrite{Suspicion: s})
}

// RefusalWrite notes that a call, trivial changes aside, was refused in a trace.
type RefusalWrite struct {
	Trace, Same string
	Seq         uint64
}

// TraceWrite replaces a trace.
type TraceWrite struct {
	ID    string
	Trace Trace
}

// PathWrite replaces a path.
type PathWrite struct {
	Key  PathKey
	Path Path
}

// RejectionWrite replaces the rejection of a call; nil removes it.
type RejectionWrite struct {
	Call      string
	Rejection *Rejection
}

// Trace is the trace as it is written here, if it is.
func (w *Writes) Trace(id string) (Trace, bool) {
	for i := range w.Traces {
		if w.Traces[i].ID == id {
			return w.Traces[i].Trace, true
		}
	}
	return Trace{}, false
}

// SetTrace writes a trace.
func (w *Writes) SetTrace(id string, t Trace) {
	for i := range w.Traces {
		if w.Traces[i].ID == id {
			w.Traces[i].Trace = t
			return
		}
	}
	w.Traces = append(w.Traces, TraceWrite{id, t})
}

// Path is the path as it is written here, if it is.
func (w *Writes) Path(key PathKey) (Path, bool) {
	for i := range w.Paths {
		if w.Paths[i].Key == key {
			return w.Paths[i].Path, true
		}
	}
	return Path{}, false
}

// SetPath writes a path.
func (w *Writes) SetPath(key PathKey, p Path) {
	for i := range w.Paths {
		if w.Paths[i].Key == key {
			w.Paths[i].Path = p
			return
		}
	}
	w.Paths = append(w.Paths, PathWrite{key, p})
}

// Rejection is the rejection as it is written here, if it is.
func (w *Writes) Rejection(call string) (*Rejection, bool) {
	for i := range w.Rejections {
		if w.Rejections[i].Call == call {
			return w.Rejections[i].Rejection, true
		}
	}
	return nil, false
}

// SetRejection writes the rejection of a call, or removes it.
func (w *Writes) SetRejection(call string, r *Rejection) {
	for i := range w.Rejections {
		if w.Rejections[i].Call == call {
			w.Rejections[i].Rejection = r
			return
		}
	}
	w.Rejections = append(w.Rejections, RejectionWrite{call, r})
}

// SettingWrite sets a setting; an empty trace sets it for all.
type SettingWrite struct {
	Trace, Name string
	Value       any
}

// EvidenceWrite replaces a record.
type EvidenceWrite struct {
	Trace, Call string
	Evidence    Evidence
}

// CallWrite ties a call id to the content first proposed under it.
type CallWrite struct{ Trace, ID, Hash string }

// ContributionWrite adds to a counter.
type ContributionWrite struct {
	Counter, Entity string
	Contribution    Contribution
}

// EntityWrite says whether an entity is approved for a tool.
type EntityWrite struct {
	Tool   string
	Entity Entity
	Record EntityRecord
}

// Stamp puts the entry's seq in the place of Self.
func (w *Writes) Stamp(seq uint64) {
	put := func(n *uint64) {
		if *n == Self {
			*n = seq
		}
	}
	for i := range w.Traces {
		put(&w.Traces[i].Trace.ChangedAt)
	}
	for i := range w.Evidence {
		put(&w.Evidence[i].Evidence.Seq)
	}
	for i := range w.Paths {
		p := &w.Paths[i].Path
		put(&p.ChangedAt)
		put(&p.Released)
		put(&p.First)
		put(&p.Ran)
		if p.Pulled != nil && p.Pulled.Seq == Self {
			c := *p.Pulled
			c.Seq = seq
			p.Pulled = &c
		}
		p.Request, p.Approval = p.Request.stamped(seq), p.Approval.stamped(seq)
		if p.Failure != nil && p.Failure.Seq == Self {
			p.Failure = &Failure{Seq: seq, Recoverable: p.Failure.Recoverable}
		}
	}
	for i := range w.Rejections {
		if r := w.Rejections[i].Rejection; r != nil && r.Seq == Self {
			c := *r
			c.Seq = seq
			w.Rejections[i].Rejection = &c
		}
	}
	for i := range w.Contributions {
		put(&w.Contributions[i].Contribution.Seq)
	}
	for i := range w.Entities {
		put(&w.Entities[i].Record.Seq)
	}
	for i := range w.Results {
		put(&w.Results[i].Seq)
	}
	for i := range w.Suspicions {
		put(&w.Suspicions[i].Suspicion.Seq)
		put(&w.Suspicions[i].Suspicion.Rejection)
	}
	for i := range w.Refusals {
		put(&w.Refusals[i].Seq)
	}
}

func (r *Request) stamped(seq uint64) *Request {
	if r == nil {
		return nil
	}
	c := *r
	if c.Seq == Self {
		c.Seq = seq
	}
	c.Votes = stampedVotes(r.Votes, seq)
	return &c
}

func (a *Approval) stamped(seq uint64) *Approval {
	if a == nil {
		return nil
	}
	c := *a
	if c.Seq == Self {
		c.Seq = seq
	}
	c.Votes = stampedVotes(a.Votes, seq)
	return &c
}

func stampedVotes(votes []Vote, seq uint64) []Vote {
	out := slices.Clone(votes)
	for i := range out {
		if out[i].Seq == Self {
			out[i].Seq = seq
		}
	}
	return out
}

// Stamp puts the entry's seq in the place of Self, in the decision too.
func (r *Record) Stamp(seq uint64) {
	r.Seq = seq
	if d := r.Decision; d != nil {
		d.Seq = seq
		if d.Request == Self {
			d.Request = seq
		}
	}
	for i := range r.Due {
		if r.Due[i].Rejection == Self {
			r.Due[i].Rejection = seq
		}
	}
}

// fold is one event being folded into the state.
type fold struct {
	ctx      context.Context
	policy   Governance
	contract *Contract
	view     View
	e        *Event
	now      int64
	before   *State
	rec      Record
	w        Writes
	space    *Workspace // that it is in
}

// Step folds one event into the evidence state: the only way in which the
// state moves. It is pure and total. An event that is not admitted is recorded
// as invalid and changes nothing but the clock; an attempt is decided by Decide.
// The event itself is not changed.
func Step(ctx context.Context, p Governance, v View, e *Event) (Record, Writes) {
	return new(Workspace).Step(ctx, p, v, e)
}

// Step is the function Step in this workspace.
func (s *Workspace) Step(ctx context.Context, p Governance, v View, e *Event) (rec Record, w Writes) {
	now := e.Time
	defer func() {
		if r := recover(); r != nil {
			rec, w = brokenStep(e, now, fmt.Sprint(r)), Writes{Clock: now}
		}
	}()
	now = max(now, v.Clock())
	s.Reset()
	f := &s.fold
	*f = fold{ctx: ctx, policy: p, contract: p.Contract(), view: v, e: e, now: now, space: s, w: f.w}
	f.rec = Record{Seq: Self, Time: now, Op: e.Op, TraceID: e.TraceID, Source: e.By.Name, Reasons: []Reason{}}
	f.w.Clock = now
	if e.Op == OpAttempt {
		f.attempt()
		return f.rec, f.w
	}
	steps := map[Op]func(){OpChange: f.change, OpSettings: f.settings, OpEvidence: f.evidence, OpFailure: f.failure,
		OpEngage: f.engage, OpReview: f.review, OpResult: f.result,
		OpClear: f.clear, OpConfirm: f.answer, OpCompensate: f.answer, OpAcknowledge: f.answer}
	switch step := steps[e.Op]; {
	case e.Op == OpReexamine:
		f.reexamine()
	case step == nil:
		f.refuse("op_unsupported", "this version folds no "+e.Op.String())
	case f.admitted():
		step()
	}
	return f.rec, f.w
}

func brokenStep(e *Event, now int64, what string) Record {
	rec := Record{Seq: Self, Time: now, Op: e.Op, TraceID: e.TraceID, Source: e.By.Name, Invalid: "invalid_" + e.Op.String(),
		Reasons: []Reason{normal(reason("engine_panic", "the event could not be folded: "+what))}}
	if e.Op == OpAttempt {
		d := broken(Input{Action: e.Attempt.Action, Facts: e.Attempt.Facts}, what)
		rec.Decision = &d
	}
	return rec
}

// refuse records the event as invalid; nothing of it is written.
func (f *fold) refuse(code, text string, facts ...Fact) {
	f.rec.Invalid = "invalid_" + f.e.Op.String()
	f.rec.Reasons = append(f.rec.Reasons, normal(reason(code, text, facts...)))
}

// admitted holds the event to I1 and then to the bundle's authority rule.
func (f *fold) admitted() bool {
	if f.e.Op == OpSettings && f.e.TraceID == "" && f.e.By.Role != "operator" && f.e.By.Role != "pep" {
		// Nobody can tell whether a task of theirs is among all traces.
		f.refuse("settings_for_all", "settings for every trace come from operators and the enforcement point")
		return false
	}
	if code := f.selfServing(); code != "" {
		f.refuse(code, fmt.Sprintf("%s may not do this to its own call", f.e.By.Name), NewFact("/by", f.e.By.Name))
		return false
	}
	ok, why := f.policy.May(f.ctx, f.authorityRequest())
	if !ok {
		f.rec.Invalid = "invalid_" + f.e.Op.String()
		f.rec.Reasons = append(f.rec.Reasons, normal(why))
	}
	return ok
}

func (f *fold) authorityRequest() AuthorityRequest {
	e := f.e
	s := f.state()
	r := AuthorityRequest{Op: e.Op, By: e.By, Agent: f.agent(), State: *s, Now: f.now, Author: s.Pins[f.contract.Author]}
	switch e.Op {
	case OpReview:
		r.Outcome, r.Code, r.Gates, r.Signed = e.Review.Outcome.String(), e.Review.Code, e.Review.Gates, e.Review.Signed
	case OpEvidence:
		r.Name, r.Outcome = e.Evidence.Name, e.Evidence.Status.String()
	case OpClear, OpConfirm, OpCompensate, OpAcknowledge:
		r.Signed = e.Answer.Signed
	case OpResult:
		r.Code = e.Result.Incident
		if e.Result.Status != NoResult {
			r.Outcome = e.Result.Status.String()
		}
	}
	return r
}

// agent is who proposed the call of the event.
func (f *fold) agent() Agent {
	if a := f.view.Path(f.e.TraceID, f.e.Call).Agent; a != (Agent{}) {
		return a
	}
	return f.e.Agent
}

// selfServing is I1, in Go: no agent and no component acts on its own task,
// and the author of what is reviewed neither approves, rejects nor returns it.
// An identity without a name is nobody and may do nothing.
func (f *fold) selfServing() string {
	by := f.e.By.Name
	if strings.TrimSpace(by) == "" {
		return "identity_missing"
	}
	for _, a := range f.interested() {
		if a.Is(by) {
			return "self_serving"
		}
	}
	return f.authorActs(by)
}

// interested lists everybody who has a part in the call of the event: whoever
// proposed in its trace, whoever proposed the call where it was rejected, and
// the pinned component.
func (f *fold) interested() []Agent {
	out := append(slices.Clone(f.view.Trace(f.e.TraceID).Agents), f.e.Agent, f.agent(), Agent{Component: f.state().Pins["component"]},
		Agent{Component: f.e.Engage.Component})
	if r, ok := f.view.Rejection(f.same()); ok && f.e.Call != "" {
		there := f.view.Trace(r.Trace)
		out = append(append(out, there.Agents...), f.view.Path(r.Trace, r.Call).Agent, Agent{Component: there.Pins["component"]})
	}
	return out
}

// authorActs keeps an author from judging what is theirs, and from moving the
// pin that says so.
func (f *fold) authorActs(by string) string {
	pin := f.contract.Author
	if pin == "" {
		return ""
	}
	author := f.state().Pins[pin]
	if next, moves := f.e.Pins[pin]; f.e.Op == OpChange && moves && (SamePerson(by, author) || SamePerson(by, next)) {
		return "author_moves_pin"
	}
	switch judging := f.e.Op.answers() || f.e.Op == OpReview && f.e.Review.Outcome != Revoke; {
	case judging && author == "":
		return "author_unknown"
	case judging && SamePerson(by, author):
		return "author_reviews"
	}
	return ""
}

// state is the state of the event's path, without the counters of an action. It
// is read once.
func (f *fold) state() *State {
	if f.before == nil {
		s := f.read(nil)
		f.before = &s
	}
	return f.before
}

func (f *fold) read(a *Action) State {
	s := readState(f.contract, f.view, f.e.TraceID, f.e.Call, a, f.now)
	if f.contract.Queue == Counted && f.e.Op == OpAttempt {
		// Only a proposal asks whether the queue has room: a pull-back is queued
		// whatever the queue holds.
		s.Queue = waiting(f.contract, f.view, f.key(), f.now)
	}
	return s
}

// same is what a rejection of the event's call binds.
func (f *fold) same() string { return sameAs(f.view, f.e.TraceID, f.e.Call) }

// sameAs is what a rejection of a call binds; the call itself where it was never
// proposed.
func sameAs(v View, trace, call string) string {
	if same := v.Path(trace, call).Same; same != "" {
		return same
	}
	return call
}

func (f *fold) key() PathKey { return PathKey{f.e.TraceID, f.e.Call} }

func (f *fold) path() Path { return f.view.Path(f.e.TraceID, f.e.Call) }

// change moves pins. A real difference starts a new epoch of what hangs below;
// an equal value does nothing, and a value that returns does not bring back
// what was void (ABA).
func (f *fold) change() {
	t, path := f.view.Trace(f.e.TraceID), f.path()
	now := f.state().Pins
	moved, movedPath := false, false
	for _, name := range slices.Sorted(maps.Keys(f.e.Pins)) {
		value := f.e.Pins[name]
		if now[name] == value {
			continue
		}
		switch {
		case slices.Contains(f.contract.TracePins, name):
			t.Pins, moved = with(t.Pins, name, value), true
		case slices.Contains(f.contract.PathPins, name) && f.e.Call != "":
			path.Pins, movedPath = with(path.Pins, name, value), true
		default:
			f.refuse("unknown_pin", fmt.Sprintf("the contract has no pin %q here", name))
			return
		}
	}
	if moved {
		t.ChangedAt = Self
		f.w.SetTrace(f.e.TraceID, t)
	}
	if movedPath {
		path.ChangedAt = Self
		f.w.SetPath(f.key(), path)
	}
}

// with is a copy of m with one more value: stored values never change.
func with[V any](m map[string]V, name string, value V) map[string]V {
	out := make(map[string]V, len(m)+1)
	maps.Copy(out, m)
	out[name] = value
	return out
}

// settings sets facts the contract names. They void no record.
func (f *fold) settings() {
	for _, name := range slices.Sorted(maps.Keys(f.e.Settings)) {
		if _, known := f.contract.Start.Settings[name]; !known {
			f.refuse("unknown_setting", fmt.Sprintf("the contract has no setting %q", name))
			f.w.Settings = nil
			return
		}
		f.w.Settings = append(f.w.Settings, SettingWrite{f.e.TraceID, name, f.e.Settings[name]})
	}
}

// evidence replaces the record of its kind.
func (f *fold) evidence() {
	e := f.e.Evidence
	_, isEvidence := f.contract.Evidence[e.Name]
	if _, isContext := f.contract.Context[e.Name]; !isEvidence && !isContext {
		f.refuse("unknown_evidence", fmt.Sprintf("the contract has no evidence %q", e.Name))
		return
	}
	e.Seq, e.Time, e.By, e.Call, e.Pins = Self, f.now, f.e.By.Name, f.e.Call, maps.Clone(e.Pins)
	f.w.Evidence = append(f.w.Evidence, EvidenceWrite{f.e.TraceID, f.e.Call, e})
}

// failure sets or resolves the failure of a path; the budget is not refilled.
func (f *fold) failure() {
	path := f.path()
	if path.Failure != nil && path.Reported && !f.e.Failure.Active {
		// The run that failed is dealt with, so the call may be proposed again.
		path.Released, path.Reported = 0, false
	}
	path.Failure = nil
	if f.e.Failure.Active {
		path.Failure = &Failure{Seq: Self, Recoverable: f.e.Failure.Recoverable}
	}
	f.w.SetPath(f.key(), path)
}
