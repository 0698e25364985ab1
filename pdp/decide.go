package pdp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/conjunct-project/conjunct/action"
	"github.com/conjunct-project/conjunct/bundle"
	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/reexam"
)

// Decide decides an action. The decision is on disk when it returns without an
// error; with one it never permits, and says not_journalled.
func (p *PDP) Decide(ctx context.Context, a engine.Action) (engine.Decision, error) {
	p.callers.Add(1)
	defer p.callers.Add(-1)
	r := p.answered.get()
	defer p.answered.put(r)
	for {
		switch err := p.propose(ctx, a, r); {
		case errors.Is(err, errBundleMoved):
			continue
		case err != nil:
			return notJournalled(a, err), err
		}
		d := *r.record.Decision
		d.Journalled, d.Seq, d.Hash = true, r.entry.Seq, r.entry.Hash
		return d, nil
	}
}

// errBundleMoved is an action whose facts were computed for a bundle that is no
// longer in force: another scope makes other facts.
var errBundleMoved = errors.New("pdp: another bundle was put in force meanwhile")

// propose computes the facts of an action for the bundle in force, decides ahead
// and hands the attempt to the committer.
func (p *PDP) propose(ctx context.Context, a engine.Action, r *request) error {
	b, now := p.Bundle(), max(p.options.Now(), p.store.Clock())
	r.bundle, r.event = b, engine.Event{Time: now}
	var facts map[string]any
	var unknown []string
	if b.ReadsFacts() {
		facts, unknown = p.facts(ctx, b, a, now)
	}
	if err := r.attempt(a, facts, unknown); err != nil {
		return err
	}
	r.made, r.event.Attempt.Imposed = p.ahead(ctx, r)
	return p.send(r)
}

// facts computes the facts that the bundle reads, within the time for one
// decision. A computation that does not stop is not waited for: its facts are
// unknown then.
func (p *PDP) facts(ctx context.Context, b *bundle.Bundle, a engine.Action, now int64) (map[string]any, []string) {
	ctx, cancel := context.WithTimeout(ctx, p.options.Timeout)
	type facts struct {
		known   map[string]any
		unknown []string
	}
	done := make(chan facts, 1)
	a = a.Clone() // whoever is not waited for may read it when the caller has it back
	go func() {
		defer cancel()
		known, unknown := b.Facts(ctx, a, now, p.options.World)
		done <- facts{known, unknown}
	}()
	select {
	case f := <-done:
		return f.known, f.unknown
	case <-ctx.Done():
	}
	// They may have been computed at the last moment.
	select {
	case f := <-done:
		return f.known, f.unknown
	default:
		return nil, []string{"facts: timeout"}
	}
}

// attempt makes the request one to decide an action.
func (r *request) attempt(a engine.Action, facts map[string]any, unknown []string) error {
	hash, text, err := reexam.FactsHash(facts, unknown)
	r.event.Op, r.event.TraceID, r.event.Call, r.event.CallID = engine.OpAttempt, a.TraceID, a.CallHash, a.CallID
	r.event.Attempt = engine.Attempt{Action: a, Facts: facts, FactsUnknown: unknown, FactsHash: hash, FactsText: text}
	return err
}

// ahead decides on a snapshot, within the time for one decision. An evaluation
// that does not stop is not waited for: every own gate, and every rule that OPA
// evaluates, is imposed as timed out then, and the committer decides with that.
//
// What was imposed is part of the event from then on, whoever decides it again.
func (p *PDP) ahead(ctx context.Context, r *request) (*made, []engine.Imposed) {
	if len(r.bundle.Impose(r.event.Attempt.Action.Tool, "")) > 0 || ctx.Err() != nil {
		return p.inTime(ctx, r.bundle, &r.event)
	}
	// Nothing here runs in OPA or CEL, so nothing can take long.
	p.turns <- struct{}{}
	defer func() { <-p.turns }()
	if r.own == nil {
		r.own = &made{}
	}
	r.own.bundle = r.bundle
	p.store.Read(&r.view)
	p.decide(ctx, r.own, &r.view, &r.event)
	return r.own, nil
}

// inTime decides where an evaluation may not stop.
func (p *PDP) inTime(ctx context.Context, b *bundle.Bundle, e *engine.Event) (*made, []engine.Imposed) {
	ctx, cancel := context.WithTimeout(ctx, p.options.Timeout)
	result := make(chan *made, 1)
	// Nobody waits for it after the deadline, when the caller has the action back.
	own := *e
	own.Attempt.Action = e.Attempt.Action.Clone()
	go func() {
		defer cancel()
		m := making(b)
		p.decide(ctx, m, p.store.Snapshot(), &own)
		result <- m
	}()
	select {
	case m := <-result:
		return m, m.imposed()
	case <-ctx.Done():
	}
	// It may have been made at the last moment.
	select {
	case m := <-result:
		return m, m.imposed()
	default:
	}
	code := "timeout"
	if errors.Is(ctx.Err(), context.Canceled) {
		code = "cancelled"
	}
	// The answer holds facts, and what nobody waits for may still read these.
	e.Attempt.Facts, _ = engine.CloneValue(e.Attempt.Facts).(map[string]any)
	late := *e
	late.Attempt.Imposed = b.Impose(e.Attempt.Action.Tool, code)
	m := making(b)
	p.decide(context.Background(), m, p.store.Snapshot(), &late)
	return m, late.Attempt.Imposed
}

// imposed is what time forced on the decision that was made.
func (m *made) imposed() []engine.Imposed {
	if m.record.Decision == nil {
		return nil
	}
	return m.record.Decision.Imposed
}

// notJournalled is the answer when nothing could be put on disk: it blocks.
func notJournalled(a engine.Action, err error) engine.Decision {
	why := engine.Reason{Code: "not_journalled", Text: "the decision could not be journalled: " + err.Error(), Facts: []engine.Fact{}}
	return engine.Decision{TraceID: a.TraceID, CallID: a.CallID, Tool: a.Tool, InputHash: a.InputHash, CallHash: a.CallHash,
		Modifiers: []engine.Modifier{}, Floors: []engine.Floor{}, Facts: map[string]any{}, FactsUnknown: []string{}, Imposed: []engine.Imposed{},
		Gates: []engine.GateResult{{Name: engine.Bounds, Reasons: []engine.Reason{why}}}, Cause: engine.Bounds, Reasons: []engine.Reason{why},
		Reason: "The decision could not be journalled, so the call is blocked."}
}

// NotPermitted is the error of a call that may not run.
type NotPermitted struct{ Decision engine.Decision }

func (e *NotPermitted) Error() string {
	return fmt.Sprintf("pdp: %s %s: %s", e.Decision.Outcome, e.Decision.Tool, e.Decision.Reason)
}

// Do decides an action and runs fn only on a permit. It reports what became of
// the call, how long the decision and the call took and, where the result is a
// Producer or a Coster, what it says of itself, and returns what fn returned.
// The error is a *NotPermitted where fn was not run; a report that fails is
// joined to fn's own error.
func Do[T any](ctx context.Context, p *PDP, a engine.Action, fn func(context.Context) (T, error)) (T, error) {
	var none T
	asked := time.Now()
	d, err := p.Decide(ctx, a)
	if err != nil {
		return none, err
	}
	overhead := seconds(time.Since(asked))
	if !d.Permit {
		return none, &NotPermitted{d}
	}
	report := func(r engine.ResultEvent) error { return p.Result(context.WithoutCancel(ctx), a.TraceID, a.CallID, r) }
	if err := ctx.Err(); err != nil {
		return none, errors.Join(err, report(engine.ResultEvent{Status: engine.NotRun}))
	}
	start, finished := time.Now(), false
	result := func(s engine.ResultStatus) engine.ResultEvent {
		latency := seconds(time.Since(start))
		return engine.ResultEvent{Status: s, Recoverable: true, Latency: &latency, Overhead: &overhead}
	}
	defer func() {
		if !finished {
			// A panic, or a goroutine that ends here: the call may have had its
			// effect, and the journal must know. There is nobody to tell an error to.
			_ = report(result(engine.ResultError))
		}
	}()
	out, err := fn(ctx)
	finished = true
	if err != nil {
		return out, errors.Join(err, report(result(engine.ResultError)))
	}
	r := result(engine.ResultOK)
	if p, ok := any(out).(Producer); ok {
		r.Produced = p.Produced()
	}
	if c, ok := any(out).(Coster); ok {
		cost := c.Cost()
		r.Cost = &cost
	}
	return out, report(r)
}

// Producer is a result of a tool that says which entities it holds: what later
// calls may take from it. Do reports them.
type Producer interface{ Produced() []string }

// Coster is a result of a tool that says what the call cost. Do reports it.
type Coster interface{ Cost() float64 }

// seconds is a duration as it is journalled, to the microsecond.
func seconds(d time.Duration) float64 { return d.Round(time.Microsecond).Seconds() }

// pep is the enforcement point itself, when it reports what became of a call.
var pep = engine.Identity{Name: "pep", Role: "pep"}

// Result reports, as the enforcement point, what became of a permitted call.
func (p *PDP) Result(ctx context.Context, trace, call string, r engine.ResultEvent) error {
	rec, err := p.Apply(ctx, engine.Event{Op: engine.OpResult, TraceID: trace, CallID: call, By: pep, Result: r})
	if err == nil && rec.Invalid != "" {
		err = &Refused{rec}
	}
	return err
}

// Queue lists what waits for a person now, the oldest first.
func (p *PDP) Queue() []reexam.Waiting {
	v := p.Snapshot()
	return reexam.Queue(v, p.Bundle().Contract(), max(p.options.Now(), v.Clock()))
}

// Review gives a reviewer's answer to a call: approve, reject with a code,
// return or revoke. The caller has authenticated the reviewer; what they may
// decide comes from the bundle's reviewer list. An answer that took no effect is
// a *Refused.
func (p *PDP) Review(ctx context.Context, trace, call, reviewer string, r engine.ReviewEvent) (engine.Record, error) {
	rec, err := p.Apply(ctx, engine.Event{Op: engine.OpReview, TraceID: trace, CallID: call, By: engine.Identity{Name: reviewer}, Review: r})
	if err == nil && rec.Invalid != "" {
		err = &Refused{rec}
	}
	return rec, err
}

// Refused is the error of an event that authority or the contract refused.
type Refused struct{ Record engine.Record }

func (e *Refused) Error() string {
	text := e.Record.Invalid
	for _, r := range e.Record.Reasons {
		text += ": " + r.Text
	}
	return "pdp: " + text
}

// Apply folds an event that is no attempt. By says who it comes from, as the
// caller authenticated it; for a review only the name counts, and role and
// qualification come from the bundle's reviewer list. The record says whether
// it took effect.
func (p *PDP) Apply(_ context.Context, e engine.Event) (engine.Record, error) {
	if e.Op == engine.OpAttempt {
		return engine.Record{}, errors.New("pdp: an attempt is decided, not applied")
	}
	if e.Op == engine.OpCheckpoint || e.Op == engine.OpActivate {
		return engine.Record{}, fmt.Errorf("pdp: %s is no event to apply", e.Op)
	}
	e.Time = p.options.Now()
	r, err := p.ask(request{event: e})
	if err != nil {
		return engine.Record{}, err
	}
	return r.record, nil
}

// Refuse journals input that was no action: its digest, length and place. It
// never runs.
func (p *PDP) Refuse(input action.Line, bad *action.Error) error {
	body, err := action.CanonicalValue(map[string]any{"digest": input.Digest(), "length": float64(input.Len()), "pointer": bad.Pointer, "line": float64(bad.Line)})
	if err != nil {
		return err
	}
	_, err = p.ask(request{now: p.options.Now(), draft: func(place) (string, []byte, *bundle.Bundle, error) {
		return reexam.OpRefused, body, nil, nil
	}})
	return err
}

// Activate puts a bundle in force, if the acting bundle's authority rule lets
// the identity do so. A refusal is journalled too, and the old bundle stays.
func (p *PDP) Activate(ctx context.Context, b *bundle.Bundle, by engine.Identity) error {
	var refused error
	_, err := p.ask(request{now: p.options.Now(), draft: func(at place) (string, []byte, *bundle.Bundle, error) {
		refused = nil
		ctx, cancel := context.WithTimeout(ctx, p.options.Timeout)
		defer cancel()
		ok, why := at.acting.May(ctx, engine.AuthorityRequest{Op: engine.OpActivate, By: by})
		if ctx.Err() != nil {
			// Authority that ran out of time is not authority that refused.
			return "", nil, nil, fmt.Errorf("pdp: the activation was not decided in time: %w", ctx.Err())
		}
		next, invalid := b, ""
		if ok {
			if err := keepBundle(p.dir, b); err != nil {
				return "", nil, nil, err
			}
		}
		if !ok {
			next, invalid = nil, "invalid_activate"
			refused = fmt.Errorf("pdp: the bundle was not activated: %s", why.Text)
		}
		body, err := reexam.Activation(b.Bundle(), by, invalid)
		return reexam.OpActivate, body, next, err
	}})
	return errors.Join(err, refused)
}

// NotLoaded journals that a bundle which was to be put in force did not load. The
// old one stays.
func (p *PDP) NotLoaded(by engine.Identity) error {
	body, err := reexam.Activation(engine.BundleID{}, by, reexam.NotLoaded)
	if err != nil {
		return err
	}
	_, err = p.ask(request{now: p.options.Now(), draft: func(place) (string, []byte, *bundle.Bundle, error) {
		return reexam.OpActivate, body, nil, nil
	}})
	return err
}
