package episode

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/conjunct-project/conjunct/action"
	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/evidence"
)

// Episode is one line of an episode file.
type Episode struct {
	ID     string
	events []event
}

// Result is what an episode came to: one label and transition for each attempt,
// and the times of what happened besides.
type Result struct {
	ID          string              `json:"id"`
	Labels      []engine.Outcome    `json:"labels"`
	Transitions []engine.Transition `json:"transitions"`
	Log         Log                 `json:"log"`
	// Reexamined lists the calls that were looked at again, in order.
	Reexamined []Reexamined `json:"reexamined,omitempty"`
	// Records holds the whole record of each event.
	Records []engine.Record `json:"-"`
}

// Reexamined is a call that was looked at again.
type Reexamined struct {
	Call   string            `json:"call"`
	Effect engine.Reexamined `json:"effect"`
	Origin bool              `json:"origin,omitempty"`
}

// Log lists times.
type Log struct {
	ReviewRequest  []int64    `json:"review_request"`
	ReviewComplete []Complete `json:"review_complete"`
	InvalidReview  []int64    `json:"invalid_review"`
	Release        []int64    `json:"release"`
	Retry          []int64    `json:"retry"`
}

// Complete is a finished review: when, what, and how long after its request.
type Complete struct {
	Time    int64
	Outcome engine.ReviewOutcome
	Delay   int64
}

// MarshalJSON writes [time, outcome, delay].
func (c Complete) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, `[%d,%q,%d]`, c.Time, c.Outcome, c.Delay), nil
}

// expectations are fields that an episode file may carry for others to compare;
// they are not read here.
var expectations = []string{"labels", "transitions", "log", "shows", "reexamined"}

// Decode reads one episode. The error is an *action.Error.
func Decode(line []byte, c *engine.Contract) (Episode, error) {
	v, _, err := action.Parse(line)
	if err != nil {
		return Episode{}, err
	}
	o := newObject(v, "")
	o.require("id")
	o.require("events")
	ep := Episode{ID: o.text("id")}
	events, _ := o.get("events")
	list, ok := events.([]any)
	if !ok {
		o.fail("events", "a list of events is wanted", "")
	}
	o.rest(expectations)
	if o.err != nil {
		return Episode{}, o.err
	}
	for i, v := range list {
		e, err := readEvent(v, fmt.Sprintf("/events/%d", i), c)
		if err != nil {
			return Episode{}, err
		}
		if i > 0 && e.Time < ep.events[i-1].Time {
			return Episode{}, &action.Error{Pointer: e.pointer + "/t", Msg: fmt.Sprintf("time goes back from %d to %d", ep.events[i-1].Time, e.Time)}
		}
		ep.events = append(ep.events, e)
	}
	return ep, nil
}

// Events are the events of the episode, in order. What path each is about is
// found when it is its turn.
func (ep Episode) Events() []engine.Event {
	out := make([]engine.Event, len(ep.events))
	for i, e := range ep.events {
		out[i] = e.Event
	}
	return out
}

// Run folds the episode on an empty evidence state.
func (ep Episode) Run(ctx context.Context, p engine.Governance) (Result, error) {
	return ep.RunThrough(ctx, p, func(v engine.View) engine.View { return v })
}

// RunThrough folds the episode with every read of the evidence state going
// through a lens. It is for asking what a decision would be if the state were
// seen otherwise; nothing that enforces uses it.
func (ep Episode) RunThrough(ctx context.Context, p engine.Governance, lens func(engine.View) engine.View) (Result, error) {
	r := Result{ID: ep.ID, Labels: []engine.Outcome{}, Transitions: []engine.Transition{},
		Log: Log{ReviewRequest: []int64{}, ReviewComplete: []Complete{}, InvalidReview: []int64{}, Release: []int64{}, Retry: []int64{}}}
	f := folder{ctx: ctx, policy: p, lens: lens, store: evidence.New()}
	for _, e := range ep.events {
		rec, err := f.fold(func(v engine.View) (engine.Event, error) {
			err := e.resolve(v, p.Contract())
			return e.Event, err
		})
		if err != nil {
			return r, err
		}
		r.add(rec, e.Event)
		for _, due := range rec.Due {
			again, err := f.fold(func(v engine.View) (engine.Event, error) { return Again(v, due), nil })
			if err != nil {
				return r, err
			}
			r.Records = append(r.Records, again)
			r.Reexamined = append(r.Reexamined, Reexamined{due.CallID, again.Second.Effect, due.Origin})
		}
	}
	return r, nil
}

// folder folds events on a store, each with the next number.
type folder struct {
	ctx    context.Context
	policy engine.Governance
	lens   func(engine.View) engine.View
	store  *evidence.Store
	seq    uint64
}

// fold folds the event that is made of the state as it is.
func (f *folder) fold(event func(engine.View) (engine.Event, error)) (engine.Record, error) {
	batch := f.store.Begin()
	defer batch.Abort()
	view := batch.View()
	e, err := event(view)
	if err != nil {
		return engine.Record{}, err
	}
	rec, w := engine.Step(f.ctx, f.policy, f.lens(view), &e)
	f.seq++
	rec.Stamp(f.seq)
	w.Stamp(f.seq)
	if err := batch.Apply(w); err != nil {
		return rec, err
	}
	return rec, batch.Commit()
}

var errNoPath = errors.New("episode: the event names no call and the contract has no default_action")

// resolve finds the path that an event is about.
func (e *event) resolve(v engine.View, c *engine.Contract) error {
	first := c.DefaultAction
	if first != nil {
		e.Agent = first.Agent
		if e.TraceID == "" {
			e.TraceID = first.TraceID
		}
	}
	switch {
	case e.Op == engine.OpAttempt:
		return nil
	case e.TraceID == "" && e.Op != engine.OpSettings:
		return &action.Error{Pointer: e.pointer, Msg: "the event names no trace", Hint: errNoPath.Error()}
	case e.CallID != "":
		hash, ok := v.CallHash(e.TraceID, e.CallID)
		if !ok && first != nil && e.CallID == first.CallID {
			hash, ok = first.CallHash, true
		}
		if !ok {
			return &action.Error{Pointer: e.pointer + "/call", Msg: fmt.Sprintf("no call %q was proposed in trace %q before", e.CallID, e.TraceID)}
		}
		e.Call = hash
	case first != nil && (e.ofPath() || e.movesPath(c)):
		e.Call = first.CallHash
	case e.ofPath():
		return &action.Error{Pointer: e.pointer, Msg: "the event names no call", Hint: errNoPath.Error()}
	}
	return nil
}

// ofPath reports whether the event is about a path even where it names none.
// Evidence, settings and pins are the trace's then.
func (e *event) ofPath() bool {
	switch e.Op {
	case engine.OpFailure, engine.OpReview, engine.OpResult, engine.OpConfirm, engine.OpCompensate, engine.OpAcknowledge:
		return true
	}
	return false
}

// movesPath reports whether a change moves a pin of a path.
func (e *event) movesPath(c *engine.Contract) bool {
	for name := range e.Pins {
		if slices.Contains(c.PathPins, name) {
			return true
		}
	}
	return false
}

func (r *Result) add(rec engine.Record, e engine.Event) {
	r.Records = append(r.Records, rec)
	switch e.Op {
	case engine.OpAttempt:
		r.attempt(rec)
	case engine.OpReview:
		switch {
		case rec.Invalid != "":
			r.Log.InvalidReview = append(r.Log.InvalidReview, rec.Time)
		case rec.Completed:
			r.Log.ReviewComplete = append(r.Log.ReviewComplete, Complete{rec.Time, e.Review.Outcome, rec.Delay})
		}
	}
}

func (r *Result) attempt(rec engine.Record) {
	d := rec.Decision
	r.Labels = append(r.Labels, d.Outcome)
	r.Transitions = append(r.Transitions, d.Transition)
	switch {
	case rec.Requested:
		r.Log.ReviewRequest = append(r.Log.ReviewRequest, rec.Time)
	case d.Permit:
		r.Log.Release = append(r.Log.Release, rec.Time)
	case d.Transition == engine.Retry:
		r.Log.Retry = append(r.Log.Retry, rec.Time)
	}
}
