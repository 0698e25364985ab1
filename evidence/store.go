package evidence

import (
	"fmt"

	"github.com/hashicorp/go-memdb"

	"github.com/conjunct-project/conjunct/engine"
)

const table = "state"

// record is one stored value. Every write makes a new record, so that two reads
// of a key saw the same value if and only if they got the same record.
type record struct {
	key   string
	value any
}

// keyIndexer indexes a record by its key. Reflection, as memdb's own indexers
// use it, costs a fifth of a rebuild.
type keyIndexer struct{}

func (keyIndexer) FromObject(obj any) (bool, []byte, error) {
	r, ok := obj.(*record)
	if !ok {
		return false, nil, fmt.Errorf("evidence: a %T is no record", obj)
	}
	return true, []byte(r.key), nil
}

func (keyIndexer) FromArgs(args ...any) ([]byte, error) {
	if len(args) != 1 {
		return nil, fmt.Errorf("evidence: one key is wanted, not %d", len(args))
	}
	key, ok := args[0].(string)
	if !ok {
		return nil, fmt.Errorf("evidence: a %T is no key", args[0])
	}
	return []byte(key), nil
}

func (i keyIndexer) PrefixFromArgs(args ...any) ([]byte, error) { return i.FromArgs(args...) }

// Store is the evidence state. It is safe for concurrent use: many readers, one
// writer at a time.
type Store struct{ db *memdb.MemDB }

// New returns an empty store.
func New() *Store {
	db, err := memdb.NewMemDB(&memdb.DBSchema{Tables: map[string]*memdb.TableSchema{
		table: {Name: table, Indexes: map[string]*memdb.IndexSchema{"id": {Name: "id", Unique: true, Indexer: keyIndexer{}}}},
	}})
	if err != nil {
		// The schema is a constant of this package.
		panic(err)
	}
	return &Store{db: db}
}

// Snapshot returns a view of the state as it is now. Later writes do not show
// in it. A view is for one goroutine.
func (s *Store) Snapshot() *View { return newView(s.db.Txn(false)) }

// Batch is a write transaction: events folded one after the other, all of them
// kept or none. One batch is open at a time; Begin waits for the one before.
type Batch struct{ txn *memdb.Txn }

// Begin opens a batch.
func (s *Store) Begin() *Batch {
	return &Batch{txn: s.db.Txn(true)}
}

// View reads the state with what the batch has written so far.
func (b *Batch) View() *View { return newView(b.txn) }

// Commit makes the batch visible.
func (b *Batch) Commit() { b.txn.Commit() }

// Abort drops the batch; after Commit it does nothing.
func (b *Batch) Abort() { b.txn.Abort() }

// Apply writes what an event did. The writes must be stamped with their seq.
func (b *Batch) Apply(w engine.Writes) error {
	a := &applier{txn: b.txn, view: newView(b.txn)}
	// An equal clock is not written: it would make every decision that read it
	// look out of date.
	if r, ok := a.view.find(clockKey); !ok || r.value != w.Clock {
		a.put(clockKey, w.Clock)
	}
	for _, t := range w.Traces {
		a.put(traceKey(t.ID), t.Trace)
	}
	for _, s := range w.Settings {
		a.put(settingKey(s.Trace, s.Name), s.Value)
	}
	for _, e := range w.Evidence {
		a.put(evidenceKey(e.Trace, e.Call, e.Evidence.Name), e.Evidence)
	}
	for _, p := range w.Paths {
		a.path(p.Key, p.Path)
	}
	for _, c := range w.Calls {
		a.put(callKey(c.Trace, c.ID), c.Hash)
	}
	for _, r := range w.Rejections {
		a.rejection(r.Call, r.Rejection)
	}
	for _, c := range w.Contributions {
		list := counterKey(c.Counter, c.Entity)
		a.put(member(list, c.Contribution.Seq), c.Contribution)
		a.put(list, nil)
	}
	return a.err
}

// applier writes the records of one event and keeps the first error.
type applier struct {
	txn  *memdb.Txn
	view *View
	err  error
}

func (a *applier) put(key string, value any) {
	if a.err == nil {
		a.err = a.txn.Insert(table, &record{key: key, value: value})
	}
}

func (a *applier) remove(key string) {
	if a.err == nil {
		_, a.err = a.txn.DeleteAll(table, "id", key)
	}
}

// path writes a path and keeps the list of those that wait for a review.
func (a *applier) path(key engine.PathKey, p engine.Path) {
	waits := p.Request != nil && p.Request.Status == engine.Pending
	_, waited := a.view.get(waitingKey(key))
	a.put(pathKey(key.Trace, key.Call), p)
	switch {
	case waits && !waited:
		a.put(waitingKey(key), key)
		a.put(waitingList, nil)
	case waited && !waits:
		a.remove(waitingKey(key))
		a.put(waitingList, nil)
	}
}

// rejection writes a rejection, or leaves an empty one where it was removed, so
// that a reader sees that something moved.
func (a *applier) rejection(call string, r *engine.Rejection) {
	if r == nil {
		a.put(rejectionKey(call), engine.Rejection{})
		return
	}
	a.put(rejectionKey(call), *r)
}
