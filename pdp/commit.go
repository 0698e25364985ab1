package pdp

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"strings"
	"sync"
	"time"

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
	own   *made // room for what is made ahead, kept with the request; nil: none yet
	view  evidence.View
	// bundle is the one that an attempt's facts were computed for; nil: any.
	bundle *bundle.Bundle
	// draft makes the body of an entry that is no event; next is the bundle that
	// it puts in force.
	draft func(place) (op string, body []byte, next *bundle.Bundle, err error)
	now   int64
	// alone wants nothing on its way to the disk while the draft is made: then the
	// hash of the entry before is known.
	alone bool

	// What came of it, once done. Nothing of it is true when err is set.
	record engine.Record
	entry  journal.Entry
	err    error
	done   chan struct{}

	buffer *buffer // to give back once it is on disk
}

// place is where the entry of a draft will stand.
type place struct {
	acting *bundle.Bundle
	view   *evidence.View
	seq    uint64 // of the entry before
}

// answer ends a request.
func (r *request) answer(err error) {
	r.err = err
	r.done <- struct{}{}
}

// newRequest gives a request whose answer is not lost when nobody waits for it.
func newRequest() *request { return &request{done: make(chan struct{}, 1)} }

// requests keeps requests that were answered for the next ones.
type requests struct{ pool sync.Pool }

func (q *requests) get() *request {
	if r, ok := q.pool.Get().(*request); ok {
		return r
	}
	return newRequest()
}

// put takes a request back that was answered, or never sent.
func (q *requests) put(r *request) {
	if r.own != nil {
		r.own.reset()
	}
	*r = request{done: r.done, own: r.own}
	q.pool.Put(r)
}

// made is a decision and what it rests on, in a workspace of its own.
type made struct {
	result
	space engine.Workspace
}

type result struct {
	record engine.Record
	writes engine.Writes
	draft  journal.Draft
	buffer *buffer // of the draft's body
	reads  evidence.Reads
	bundle *bundle.Bundle
	err    error
}

func making(b *bundle.Bundle) *made { return &made{result: result{bundle: b}} }

// reset forgets what was made and keeps the room.
func (m *made) reset() {
	m.result = result{}
	m.space.Reset()
}

// maxBatch bounds how many answers wait for one sync.
const maxBatch = 512

// batch is what one sync puts on disk.
type batch struct {
	txn      *evidence.Batch
	view     *evidence.View // for what no decision rests on
	requests []*request
	drafts   []journal.Draft
	entries  []journal.Entry
	acting   *bundle.Bundle // in force after it
	inline   bool           // synced by the committer itself
}

// committer is the only writer: it puts requests in order. With many callers it
// fills the next batch on top of the one that is on its way to the disk; with few,
// handing over costs more than it gains. Nothing of a batch is
// visible, and none of its answers given, before it is on disk; where it fails,
// what was decided on top of it is dropped too, and nothing more is decided.
type committer struct {
	*PDP
	filling batch
	flying  *batch   // on its way to the disk; nil: none
	held    *request // waits until it is alone; nothing behind it is taken in
	seq     uint64   // of the last entry that was placed
	err     error    // why nothing more is decided
	many    bool     // whether there were more than a few callers of late
	toSync  chan *batch
	synced  chan error
}

// commit runs until the requests are closed and answered.
func (p *PDP) commit() {
	defer close(p.done)
	c := &committer{PDP: p, toSync: make(chan *batch), synced: make(chan error)}
	c.seq, _ = p.log.Head()
	go func() {
		defer close(c.synced)
		for b := range c.toSync {
			c.synced <- b.sync(p.append)
		}
	}()
	c.run()
	close(c.toSync)
	<-c.synced
}

func (c *committer) run() {
	requests := c.requests
	for requests != nil || c.flying != nil {
		if c.flying != nil && c.flying.inline {
			c.land(c.sync(c.flying))
			continue
		}
		in := requests
		if len(c.filling.drafts) >= maxBatch || c.held != nil {
			in = nil
		}
		select {
		case r, ok := <-in:
			if !ok {
				requests = nil
				break
			}
			c.take(r)
			if c.flying == nil {
				c.placeWaiting(in)
				c.launch()
			}
		case err := <-c.synced:
			c.land(err)
		}
	}
}

// placeWaiting places the requests that are waiting already.
func (c *committer) placeWaiting(requests <-chan *request) {
	for len(c.filling.drafts) < maxBatch && c.held == nil {
		select {
		case r, ok := <-requests:
			if !ok {
				return // run sees it too
			}
			c.take(r)
		default:
			return
		}
	}
}

// take places a request, or holds it until it is alone.
func (c *committer) take(r *request) {
	if r.alone && c.err == nil && (c.flying != nil || len(c.filling.drafts) > 0) {
		c.held = r
		return
	}
	c.place(r)
}

// launch sends what was placed to the disk.
func (c *committer) launch() {
	c.send()
	c.prepare()
}

func (c *committer) send() {
	if len(c.filling.drafts) == 0 {
		return
	}
	b := c.filling
	b.inline = !c.many
	c.filling, c.flying = batch{}, &b
	if !b.inline {
		c.toSync <- &b
	}
}

// sync puts a batch on disk, unless the state could not follow.
func (c *committer) sync(b *batch) error {
	if c.err != nil {
		return c.err
	}
	return b.sync(c.append)
}

func (b *batch) sync(to func([]journal.Draft) ([]journal.Entry, error)) (err error) {
	b.entries, err = to(b.drafts)
	return err
}

// prepare does what could fail of making a batch visible while it is on its way:
// if it fails, the entries are on disk and the state is not theirs, so nothing
// more may be decided on it.
func (c *committer) prepare() {
	if c.flying == nil {
		c.drop(&c.filling, c.err) // nothing could be placed in it
		return
	}
	if err := c.flying.txn.Prepare(); err != nil {
		c.err = fmt.Errorf("pdp: the state cannot follow the journal; open it again: %w", err)
	}
}

// few is how many callers are waited for: with more, a batch is large anyway and
// the disk had better be kept busy.
const few = 32

// together is how long to wait for callers that were just answered to come back,
// so that all of them share one sync instead of taking turns.
const together = 50 * time.Microsecond

// gather places requests until there are n, or until nobody came for a while.
func (c *committer) gather(n int) {
	if n < 2 {
		return
	}
	late := time.NewTimer(together)
	defer late.Stop()
	for len(c.filling.drafts) < n && c.held == nil {
		select {
		case r, ok := <-c.requests:
			if !ok {
				return // run sees it too
			}
			c.take(r)
		case <-late.C:
			return
		}
	}
}

// land makes a batch that is on disk visible and answers it, with the next one
// on its way already where there are many callers.
func (c *committer) land(err error) {
	b := c.flying
	c.flying = nil
	if c.err == nil {
		c.err = err
	}
	if c.err != nil {
		c.drop(b, c.err)
		c.drop(&c.filling, c.err)
		if c.held != nil {
			c.held.answer(c.err)
			c.held = nil
		}
		return
	}
	callers := int(c.callers.Load())
	if c.many = callers > few; c.many {
		c.send()
	}
	if err := b.txn.Commit(); err != nil {
		c.err = err // it was prepared, so this cannot be
	}
	c.bundle.Store(b.acting)
	for i, r := range b.requests {
		r.entry.Seq, r.entry.Hash = b.entries[i].Seq, b.entries[i].Hash
		c.buffers.put(r.buffer)
		if d := r.record.Decision; c.err == nil && d != nil && d.Notify {
			told := *d
			told.Journalled, told.Seq, told.Hash = true, r.entry.Seq, r.entry.Hash
			c.subscribers.publish(told)
		}
		r.answer(c.err)
	}
	if !c.many && c.err == nil {
		c.gather(callers)
		c.send()
	}
	c.prepare()
	if r := c.held; r != nil && c.flying == nil {
		c.held = nil
		c.place(r)
		c.launch()
	}
}

// drop answers what was placed in a batch with an error. Nothing of it is kept.
func (c *committer) drop(b *batch, err error) {
	if b.txn != nil {
		b.txn.Abort()
	}
	for _, r := range b.requests {
		r.answer(err)
	}
	*b = batch{}
}

// place puts a request in its place behind all before it, or answers it with an
// error at once.
func (c *committer) place(r *request) {
	err := c.err
	if err == nil && c.filling.txn == nil {
		err = c.begin()
	}
	if err == nil {
		err = c.fold(&c.filling, r)
	}
	if err != nil {
		r.answer(err)
		return
	}
	if err := c.lookAgain(&c.filling, r.record.Due); err != nil {
		// What made them due cannot stand without them.
		c.err = fmt.Errorf("pdp: what a rejection makes due cannot be decided; open the state again: %w", err)
		c.drop(&c.filling, c.err)
	}
}

// lookAgain places the calls that are due to be looked at again, each in an
// entry of its own that nobody waits for.
func (c *committer) lookAgain(b *batch, due []engine.Reexamination) error {
	for _, d := range due {
		view, m := b.txn.View(), making(b.acting)
		e := episode.Again(view, d)
		ctx, cancel := context.WithTimeout(context.Background(), c.options.Timeout)
		c.step(ctx, m, view, &e)
		cancel()
		if m.err != nil {
			return m.err
		}
		if err := c.keep(b, newRequest(), m); err != nil {
			return err
		}
	}
	return nil
}

// finish looks at the calls that the end of the journal makes due: a crash may
// have cut them off from the rejection before them.
func (p *PDP) finish(due []engine.Reexamination) error {
	if len(due) == 0 {
		return nil
	}
	c := &committer{PDP: p}
	c.seq, _ = p.log.Head()
	b := &c.filling
	if err := c.begin(); err != nil {
		return err
	}
	defer b.txn.Abort()
	if err := c.lookAgain(b, due); err != nil {
		return err
	}
	if err := b.txn.Prepare(); err != nil {
		return err
	}
	if _, err := p.append(b.drafts); err != nil {
		return err
	}
	return b.txn.Commit()
}

// begin opens the state of the batch that is filled, on top of the one that is
// on its way.
func (c *committer) begin() (err error) {
	b := &c.filling
	if c.flying == nil {
		b.txn, b.acting = c.store.Begin(), c.bundle.Load()
	} else {
		b.acting = c.flying.acting
		b.txn, err = c.flying.txn.Next()
	}
	if err == nil {
		b.view = b.txn.View()
	}
	return err
}

// fold folds one request into a batch. What was decided ahead of its turn stands
// when nothing that it read has moved since.
func (c *committer) fold(b *batch, r *request) error {
	switch {
	case r.draft != nil:
		return c.foldDraft(b, r)
	case r.bundle != nil && r.bundle != b.acting:
		return errBundleMoved
	}
	m := r.made
	if !stands(m, b.acting, b.view, r.event.Time) {
		ctx, cancel := context.WithTimeout(context.Background(), c.options.Timeout)
		m = making(b.acting)
		c.decide(ctx, m, b.txn.View(), &r.event)
		cancel()
	}
	if m.err != nil {
		return m.err
	}
	return c.keep(b, r, m)
}

// foldDraft folds an entry that is no event.
func (c *committer) foldDraft(b *batch, r *request) error {
	op, body, next, err := r.draft(place{b.acting, b.view, c.seq})
	if err != nil {
		return err
	}
	r.record.Time = max(r.now, b.view.Clock())
	if err := c.add(b, r, journal.Draft{Time: r.record.Time, Op: op, Body: body}, engine.Writes{Clock: r.record.Time}); err != nil {
		return err
	}
	if next != nil {
		b.acting = next
	}
	return nil
}

// keep adds what was decided for a request to a batch.
func (c *committer) keep(b *batch, r *request, m *made) error {
	m.record.Stamp(c.seq + 1)
	m.writes.Stamp(c.seq + 1)
	r.record, r.buffer = m.record, m.buffer
	return c.add(b, r, m.draft, m.writes)
}

func (c *committer) add(b *batch, r *request, draft journal.Draft, w engine.Writes) error {
	if err := draft.Sound(); err != nil {
		return err
	}
	if err := b.txn.Apply(w); err != nil {
		return err
	}
	c.seq++
	b.requests, b.drafts = append(b.requests, r), append(b.drafts, draft)
	return nil
}

// stands reports whether what was decided ahead of its turn is what would be
// decided now: under the same bundle, at the same time, from the same records.
func stands(m *made, acting *bundle.Bundle, view *evidence.View, t int64) bool {
	return m != nil && m.bundle == acting && (m.err != nil || m.record.Time == max(t, view.Clock())) && view.Current(m.reads)
}

// written is the event as a reader of the journal will have it: whatever could
// not be read back the same is an error before anything is written.
func written(e engine.Event, c *engine.Contract) (engine.Event, error) {
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

// decide folds an event on a view, under the bundle of what is made, and notes
// what it read. Of an attempt, what was imposed becomes part of the event.
func (p *PDP) decide(ctx context.Context, m *made, view *evidence.View, event *engine.Event) {
	contract := m.bundle.Contract()
	if event.Op == engine.OpAttempt {
		if m.err = episode.Resolve(event, view, contract); m.err == nil {
			p.step(ctx, m, view, event)
		}
		return
	}
	e, err := written(*event, contract)
	if m.err = err; err != nil {
		return
	}
	if m.err = episode.Resolve(&e, view, contract); m.err != nil {
		return
	}
	if e.Op.Judges() {
		signed := reexam.Verified(m.bundle, view, e)
		e.Review.Signed, e.Answer.Signed = signed && e.Op == engine.OpReview, signed && e.Op != engine.OpReview
		e.By = m.bundle.Identify(e.By.Name, signed)
	}
	p.step(ctx, m, view, &e)
}

// step folds an event that is ready to be folded, and writes its entry.
func (p *PDP) step(ctx context.Context, m *made, view *evidence.View, e *engine.Event) {
	m.record, m.writes = m.space.Step(ctx, m.bundle, view, e)
	if e.Op != engine.OpAttempt && e.Op != engine.OpReexamine && ctx.Err() != nil {
		// Authority that ran out of time is not authority that refused.
		m.err = fmt.Errorf("pdp: the event was not decided in time: %w", ctx.Err())
		return
	}
	// An imposed verdict is part of the event from here on.
	if d := m.record.Decision; d != nil {
		e.Attempt.Imposed = d.Imposed
	}
	m.buffer = p.buffers.get()
	m.buffer.body, m.err = reexam.AppendBody(m.buffer.body[:0], e, &m.record, m.bundle, p.versions, p.options.RedactionKey)
	if m.err == nil {
		m.draft = journal.Draft{Time: m.record.Time, Op: e.Op.String(), Body: m.buffer.body}
		m.draft.Begin(m.buffer.sum)
	}
	m.reads = view.Reads()
	if len(m.bundle.Contract().Redact[e.Attempt.Action.Tool]) > 0 {
		p.redacted.Store(true)
	}
}

// buffer is room for the body of an entry and its hash.
type buffer struct {
	body []byte
	sum  hash.Hash
}

// buffers keeps the room of entries that were written for the next ones.
type buffers struct{ pool sync.Pool }

func (b *buffers) get() *buffer {
	if p, ok := b.pool.Get().(*buffer); ok {
		return p
	}
	return &buffer{body: make([]byte, 0, 4096), sum: sha256.New()}
}

// put takes room back. Whoever gave it must not look at it again.
func (b *buffers) put(p *buffer) {
	const most = 64 << 10
	if p != nil && cap(p.body) <= most {
		b.pool.Put(p)
	}
}
