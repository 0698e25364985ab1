package metrics

import (
	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/journal"
)

// Library finds the bundle with a digest; false where it is not there.
type Library func(digest string) (engine.Policy, bool)

// Options of a fold.
type Options struct {
	// Library finds bundles, for costs that no result reports and for events that
	// name no call. Nil: there are none.
	Library Library
	// Trace limits the figures to one trace; empty: all.
	Trace string
}

type path struct{ trace, hash string }

type name struct{ trace, id string }

// request is a review that a path waits for.
type request struct {
	since int64
	// pulled: the call ran and was pulled back, and waits for an answer to that.
	pulled bool
}

// proposed is a call, and the path under which it was proposed: one that is
// retried with trivial changes has several.
type proposed struct {
	*call
	path path
}

// Fold takes in the entries of a journal, in order.
type Fold struct {
	options Options
	calls   []*call
	last    map[path]*call
	named   map[name]proposed
	refused map[uint64]*call // by the entry

	decisions, deferrals int
	requests, longest    int
	waiting              map[path]request
	delays               []float64
	// strayed counts events about a call that cannot be told.
	strayed int
}

// New begins a fold.
func New(o Options) *Fold {
	if o.Library == nil {
		o.Library = func(string) (engine.Policy, bool) { return nil, false }
	}
	return &Fold{options: o, last: map[path]*call{}, named: map[name]proposed{}, refused: map[uint64]*call{}, waiting: map[path]request{}}
}

// Next takes in one entry. Entries that say nothing of a call are passed over;
// one that cannot be read is a *journal.Fault.
func (f *Fold) Next(e journal.Entry) error {
	next := map[string]func(journal.Entry, *body){
		engine.OpAttempt.String():     f.attempt,
		engine.OpReview.String():      f.review,
		engine.OpConfirm.String():     f.review,
		engine.OpCompensate.String():  f.review,
		engine.OpAcknowledge.String(): f.review,
		engine.OpResult.String():      f.result,
		engine.OpReexamine.String():   f.again,
	}[e.Op]
	if next == nil {
		return nil
	}
	b, err := read(e)
	if err != nil {
		return &journal.Fault{Seq: e.Seq, Code: journal.Malformed, Text: "the entry is none of a decision point: " + err.Error()}
	}
	if b.Record.Invalid == "" {
		next(e, &b)
	}
	return nil
}

func (f *Fold) attempt(e journal.Entry, b *body) {
	d := &b.Decision
	if f.options.Trace != "" && d.TraceID != f.options.Trace {
		return
	}
	f.decisions++
	if d.Transition == engine.Defer {
		f.deferrals++
	}
	key := path{d.TraceID, d.CallHash}
	c := f.call(key, b)
	f.named[name{d.TraceID, d.CallID}] = proposed{c, key}
	switch {
	case d.Permit:
		c.executed, c.under = true, b.Bundle
	case d.Outcome == engine.Block:
		f.refused[e.Seq] = c
	}
	if b.Record.Requested {
		f.request(key, request{since: e.Time})
	}
}

// call is the call that an attempt is at: that of its path, or that of which it
// is a retry with trivial changes, unless it ran and this is a new one.
func (f *Fold) call(key path, b *body) *call {
	d, c := &b.Decision, f.last[key]
	if again := f.refused[b.Record.RetryOf]; c == nil && again != nil && !again.executed {
		c = again
	}
	if c == nil || c.executed && !d.continues() {
		c = &call{first: *d}
		c.first.Reasons = nil // read, and not needed again
		f.calls = append(f.calls, c)
	}
	f.last[key] = c
	return c
}

func (f *Fold) request(p path, r request) {
	f.requests++
	f.waiting[p] = r
	f.longest = max(f.longest, len(f.waiting))
}

// of is the call that an event is about.
func (f *Fold) of(b *body) proposed {
	trace, id := b.Event.TraceID, b.Event.Call
	if p, ok := f.options.Library(b.Bundle); ok && p.Contract().DefaultAction != nil && (trace == "" || id == "") {
		first := p.Contract().DefaultAction
		if trace == "" {
			trace = first.TraceID
		}
		if id == "" {
			key := path{trace, first.CallHash}
			return proposed{f.last[key], key}
		}
	}
	return f.named[name{trace, id}]
}

// about calls do with the call that an event is about.
func (f *Fold) about(b *body, do func(proposed)) {
	c := f.of(b)
	switch {
	case c.call != nil:
		do(c)
	case f.options.Trace == "" || b.Event.TraceID == f.options.Trace:
		f.strayed++
	}
}

func (f *Fold) review(e journal.Entry, b *body) {
	f.about(b, func(c proposed) {
		r, waits := f.waiting[c.path]
		switch {
		case b.Event.Outcome == engine.Revoke.String():
			// An incident works like a rejection, and is taken back like one.
			if c.answer, c.incident = unanswered, ""; r.pulled {
				return
			}
		case !b.Record.Completed:
			return // one approval of several
		case b.Event.Outcome == engine.Approve.String():
			c.answer = approved
		case b.Event.Outcome == engine.Reject.String():
			c.answer = rejected
		}
		if waits && b.Record.Completed {
			f.delays = append(f.delays, float64(e.Time-r.since))
		}
		delete(f.waiting, c.path)
	})
}

// again takes in that a call was looked at again. That moves nothing but the
// queue: what the call was when it was first decided, it stays.
func (f *Fold) again(e journal.Entry, b *body) {
	key := path{b.Call.TraceID, b.Call.CallHash}
	c := f.last[key]
	switch {
	case c == nil:
	case b.Record.Requested:
		f.request(key, request{e.Time, b.Ran})
	case b.Effect == engine.DecidedAgain.String():
		delete(f.waiting, key) // nobody need look at it any more
	}
}

func (f *Fold) result(_ journal.Entry, b *body) {
	f.about(b, func(c proposed) {
		if c.report(b.Event); b.Event.Incident != "" {
			delete(f.waiting, c.path) // that is an answer
		}
	})
}
