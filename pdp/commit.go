package pdp

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/conjunct-project/conjunct/action"
	"github.com/conjunct-project/conjunct/bundle"
	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/episode"
	"github.com/conjunct-project/conjunct/evidence"
	"github.com/conjunct-project/conjunct/journal"
	"github.com/conjunct-project/conjunct/reexam"
)

// request is one thing to be put in order: an event, or an entry that is none.
type request struct {
	event engine.Event
	made  *made // what was decided ahead of its turn; nil: nothing
	// bundle is the one that an attempt's facts were computed for; nil: any.
	bundle *bundle.Bundle
	// draft makes the body of an entry that is no event; next is the bundle that
	// it puts in force.
	draft func(*bundle.Bundle) (op string, body []byte, next *bundle.Bundle, err error)
	now   int64
	reply chan reply
}

// made is a decision and what it rests on.
type made struct {
	record engine.Record
	writes engine.Writes
	body   []byte
	reads  evidence.Reads
	bundle *bundle.Bundle
	err    error
}

// reply is what came of a request. Nothing of it is true when err is set.
type reply struct {
	record engine.Record
	entry  journal.Entry
	err    error
}

// maxBatch bounds how many answers wait for one sync.
const maxBatch = 512

// commit is the only writer. It runs until the requests are closed.
func (p *PDP) commit() {
	defer close(p.done)
	for first := range p.requests {
		batch := []*request{first}
		for len(batch) < maxBatch {
			more, ok := p.take()
			if !ok {
				break
			}
			batch = append(batch, more)
		}
		p.commitBatch(batch)
	}
}

// take is the next request, if one is waiting.
func (p *PDP) take() (*request, bool) {
	select {
	case r, ok := <-p.requests:
		return r, ok
	default:
		return nil, false
	}
}

// commitBatch puts a batch in order, on disk and in the state, and answers.
func (p *PDP) commitBatch(batch []*request) {
	txn := p.store.Begin()
	defer txn.Abort()
	acting := p.bundle.Load()
	seq, _ := p.log.Head()
	var drafts []journal.Draft
	var answered []*request
	var replies []reply
	for _, r := range batch {
		done, draft, next, err := p.place(txn, acting, r, seq+1)
		if err != nil {
			r.reply <- reply{err: err}
			continue
		}
		if next != nil {
			acting = next
		}
		seq++
		drafts, answered, replies = append(drafts, draft), append(answered, r), append(replies, reply{record: done})
	}
	if len(drafts) == 0 {
		return
	}
	// What could fail is done before anything is written.
	err := txn.Prepare()
	var entries []journal.Entry
	if err == nil {
		entries, err = p.log.Append(drafts)
	}
	if err == nil {
		err = txn.Commit()
	}
	if err != nil {
		for _, r := range answered {
			r.reply <- reply{err: err}
		}
		return
	}
	p.bundle.Store(acting)
	for i, r := range answered {
		replies[i].entry = entries[i]
		r.reply <- replies[i]
	}
}

// place folds one request into the transaction. What was decided ahead of its
// turn stands when nothing that it read has moved since.
func (p *PDP) place(txn *evidence.Batch, acting *bundle.Bundle, r *request, seq uint64) (engine.Record, journal.Draft, *bundle.Bundle, error) {
	if r.draft != nil {
		op, body, next, err := r.draft(acting)
		if err != nil {
			return engine.Record{}, journal.Draft{}, nil, err
		}
		now := max(r.now, txn.View().Clock())
		return engine.Record{Time: now}, journal.Draft{Time: now, Op: op, Body: body}, next, txn.Apply(engine.Writes{Clock: now})
	}
	if r.bundle != nil && r.bundle != acting {
		return engine.Record{}, journal.Draft{}, nil, errBundleMoved
	}
	m := r.made
	if !stands(m, acting, txn.View(), r.event.Time) {
		ctx, cancel := context.WithTimeout(context.Background(), p.options.Timeout)
		m = p.decide(ctx, acting, txn.View(), r.event)
		cancel()
	}
	if m.err != nil {
		return engine.Record{}, journal.Draft{}, nil, m.err
	}
	m.record.Stamp(seq)
	m.writes.Stamp(seq)
	if err := txn.Apply(m.writes); err != nil {
		return engine.Record{}, journal.Draft{}, nil, err
	}
	return m.record, journal.Draft{Time: m.record.Time, Op: r.event.Op.String(), Body: m.body}, nil, nil
}

// stands reports whether what was decided ahead of its turn is what would be
// decided now: under the same bundle, at the same time, from the same records.
func stands(m *made, acting *bundle.Bundle, view *evidence.View, t int64) bool {
	return m != nil && m.bundle == acting && (m.err != nil || m.record.Time == max(t, view.Clock())) && view.Current(m.reads)
}

// written is the event as a reader of the journal will have it: whatever could
// not be read back the same is an error before anything is written.
func written(e engine.Event, c *engine.Contract) (engine.Event, error) {
	if e.Op == engine.OpAttempt {
		return e, nil
	}
	if strings.TrimSpace(e.By.Name) == "" {
		return e, errors.New("pdp: an event needs somebody it comes from")
	}
	if e.Call != "" && e.CallID == "" {
		return e, errors.New("pdp: name the call by its id")
	}
	text, err := action.CanonicalValue(episode.WriteEvent(e))
	if err != nil {
		return e, err
	}
	value, _, err := action.Parse(text)
	if err != nil {
		return e, err
	}
	return episode.ReadEvent(value, c)
}

// decide folds an event on a view and notes what it read.
func (p *PDP) decide(ctx context.Context, b *bundle.Bundle, view *evidence.View, e engine.Event) *made {
	m := &made{bundle: b}
	if e, m.err = written(e, b.Contract()); m.err != nil {
		return m
	}
	if m.err = episode.Resolve(&e, view, b.Contract()); m.err != nil {
		return m
	}
	if e.Op == engine.OpReview {
		e.Review.Signed = reexam.Verified(b, view, e)
		e.By = b.Identify(e.By.Name, e.Review.Signed)
	}
	m.record, m.writes = engine.Step(ctx, b, view, e)
	if e.Op != engine.OpAttempt && ctx.Err() != nil {
		// Authority that ran out of time is not authority that refused.
		m.err = fmt.Errorf("pdp: the event was not decided in time: %w", ctx.Err())
		return m
	}
	// An imposed verdict is part of the event from here on.
	if d := m.record.Decision; d != nil {
		e.Attempt.Imposed = d.Imposed
	}
	m.body, m.err = reexam.Body(e, m.record, b, Versions(), p.options.RedactionKey)
	m.reads = view.Reads()
	return m
}
