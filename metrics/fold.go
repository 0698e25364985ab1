package metrics

import (
	"fmt"

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

// Fold takes in the entries of a journal, in order.
type Fold struct {
	options Options
	calls   []*call
	last    map[path]*call
	named   map[name]*call

	decisions, deferrals int
	requests, longest    int
	waiting              map[*call]int64 // since when
	delays               []float64
	// strayed counts events about a call that cannot be told.
	strayed int
}

// New begins a fold.
func New(o Options) *Fold {
	if o.Library == nil {
		o.Library = func(string) (engine.Policy, bool) { return nil, false }
	}
	return &Fold{options: o, last: map[path]*call{}, named: map[name]*call{}, waiting: map[*call]int64{}}
}

// Next takes in one entry. Entries that say nothing of a call are passed over.
func (f *Fold) Next(e journal.Entry) error {
	next := map[string]func(journal.Entry, *body){
		engine.OpAttempt.String(): f.attempt,
		engine.OpReview.String():  f.review,
		engine.OpResult.String():  f.result,
	}[e.Op]
	if next == nil {
		return nil
	}
	b, err := read(e)
	if err != nil {
		return fmt.Errorf("metrics: entry %d: %w", e.Seq, err)
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
	c := f.last[key]
	if c == nil || c.executed && !d.continues() {
		c = &call{trace: d.TraceID, hash: d.CallHash, first: *d}
		f.calls = append(f.calls, c)
		f.last[key] = c
	}
	f.named[name{d.TraceID, d.CallID}] = c
	if d.Permit {
		c.executed, c.under = true, b.Bundle
	}
	if b.Record.Requested {
		f.request(c, e.Time)
	}
}

func (f *Fold) request(c *call, now int64) {
	f.requests++
	f.waiting[c] = now
	f.longest = max(f.longest, len(f.waiting))
}

// of is the call that an event is about.
func (f *Fold) of(b *body) *call {
	trace, id := b.Event.TraceID, b.Event.Call
	if p, ok := f.options.Library(b.Bundle); ok && p.Contract().DefaultAction != nil && (trace == "" || id == "") {
		first := p.Contract().DefaultAction
		if trace == "" {
			trace = first.TraceID
		}
		if id == "" {
			return f.last[path{trace, first.CallHash}]
		}
	}
	return f.named[name{trace, id}]
}

// about calls do with the call that an event is about.
func (f *Fold) about(b *body, do func(*call)) {
	c := f.of(b)
	switch {
	case c != nil:
		do(c)
	case f.options.Trace == "" || b.Event.TraceID == f.options.Trace:
		f.strayed++
	}
}

func (f *Fold) review(e journal.Entry, b *body) {
	f.about(b, func(c *call) {
		since, waited := f.waiting[c]
		switch {
		case b.Event.Outcome == engine.Revoke.String():
			// An incident works like a rejection, and is taken back like one.
			c.answer, c.incident = unanswered, ""
		case !b.Record.Completed:
			return // one approval of several
		case b.Event.Outcome == engine.Approve.String():
			c.answer = approved
		case b.Event.Outcome == engine.Reject.String():
			c.answer = rejected
		}
		if waited && b.Record.Completed {
			f.delays = append(f.delays, float64(e.Time-since))
		}
		delete(f.waiting, c)
	})
}

func (f *Fold) result(_ journal.Entry, b *body) {
	f.about(b, func(c *call) { c.report(b.Event) })
}
