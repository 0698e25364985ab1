package pdp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

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

	// What came of it, once done. Nothing of it is true when err is set.
	record engine.Record
	entry  journal.Entry
	err    error
	done   chan struct{}
}

// answer ends a request.
func (r *request) answer(err error) {
	r.err = err
	close(r.done)
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

// maxBatch bounds how many answers wait for one sync.
const maxBatch = 512

// committer is the only writer: it puts requests in order, and keeps its lists
// from batch to batch.
type committer struct {
	*PDP
	batch  []*request
	placed []*request
	drafts []journal.Draft
}

// commit runs until the requests are closed.
func (p *PDP) commit() {
	defer close(p.done)
	c := &committer{PDP: p}
	for first := range p.requests {
		c.batch = append(c.batch[:0], first)
		for len(c.batch) < maxBatch {
			more, ok := p.take()
			if !ok {
				break
			}
			c.batch = append(c.batch, more)
		}
		c.commitBatch()
		clear(c.batch)
		clear(c.placed)
		clear(c.drafts)
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
func (c *committer) commitBatch() {
	txn := c.store.Begin()
	defer txn.Abort()
	acting := c.bundle.Load()
	seq, _ := c.log.Head()
	c.placed, c.drafts = c.placed[:0], c.drafts[:0]
	view := txn.View()
	for _, r := range c.batch {
		draft, next, err := c.place(txn, view, acting, r, seq+1)
		if err != nil {
			r.answer(err)
			continue
		}
		if next != nil {
			acting = next
		}
		seq++
		c.drafts, c.placed = append(c.drafts, draft), append(c.placed, r)
	}
	if len(c.drafts) == 0 {
		return
	}
	entries, err := c.keep(txn)
	for i, r := range c.placed {
		if err == nil {
			r.entry.Seq, r.entry.Hash = entries[i].Seq, entries[i].Hash
		}
		if r.draft == nil {
			c.bodies.put(c.drafts[i].Body)
		}
	}
	if err == nil {
		c.bundle.Store(acting)
	}
	for _, r := range c.placed {
		r.answer(err)
	}
}

// keep puts what was placed on disk, and then in the state. What could fail of
// the state is done before anything is written.
func (c *committer) keep(txn *evidence.Batch) ([]journal.Entry, error) {
	if err := txn.Prepare(); err != nil {
		return nil, err
	}
	entries, err := c.log.Append(c.drafts)
	if err != nil {
		return nil, err
	}
	return entries, txn.Commit()
}

// place folds one request into the transaction. What was decided ahead of its
// turn stands when nothing that it read has moved since. The view is for reading
// what no decision rests on.
func (p *PDP) place(txn *evidence.Batch, view *evidence.View, acting *bundle.Bundle, r *request, seq uint64) (journal.Draft, *bundle.Bundle, error) {
	if r.draft != nil {
		op, body, next, err := r.draft(acting)
		if err != nil {
			return journal.Draft{}, nil, err
		}
		r.record.Time = max(r.now, view.Clock())
		return journal.Draft{Time: r.record.Time, Op: op, Body: body}, next, txn.Apply(engine.Writes{Clock: r.record.Time})
	}
	if r.bundle != nil && r.bundle != acting {
		return journal.Draft{}, nil, errBundleMoved
	}
	m := r.made
	if !stands(m, acting, view, r.event.Time) {
		ctx, cancel := context.WithTimeout(context.Background(), p.options.Timeout)
		m = p.decide(ctx, acting, txn.View(), &r.event)
		cancel()
	}
	if m.err != nil {
		return journal.Draft{}, nil, m.err
	}
	m.record.Stamp(seq)
	m.writes.Stamp(seq)
	if err := txn.Apply(m.writes); err != nil {
		return journal.Draft{}, nil, err
	}
	r.record = m.record
	return journal.Draft{Time: m.record.Time, Op: r.event.Op.String(), Body: m.body}, nil, nil
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
func (p *PDP) decide(ctx context.Context, b *bundle.Bundle, view *evidence.View, event *engine.Event) *made {
	m := &made{bundle: b}
	var e engine.Event
	if e, m.err = written(*event, b.Contract()); m.err != nil {
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
	m.body, m.err = reexam.AppendBody(p.bodies.get(), &e, &m.record, b, p.versions, p.options.RedactionKey)
	m.reads = view.Reads()
	return m
}

// buffers keeps the bodies of entries for the next ones: each is used once and
// then copied into the log.
type buffers struct{ pool sync.Pool }

func (b *buffers) get() []byte {
	if p, ok := b.pool.Get().(*[]byte); ok {
		return (*p)[:0]
	}
	return make([]byte, 0, 4096)
}

// put takes a body back. Whoever gave it must not look at it again.
func (b *buffers) put(body []byte) {
	const most = 64 << 10
	if cap(body) <= most {
		b.pool.Put(&body)
	}
}
