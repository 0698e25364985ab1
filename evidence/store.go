package evidence

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/go-memdb"
)

const table = "state"

// record is one stored value. Every write makes a new record, so that two reads
// of a key saw the same value if and only if they got the same record.
type record struct {
	key   []byte
	value any // nil marks a record that was removed
}

// lookup is a key as it is handed to memdb: a pointer to it costs nothing to
// pass.
type lookup struct{ key []byte }

// keyIndexer indexes a record by its key. Reflection, as memdb's own indexers
// use it, costs a fifth of a rebuild.
type keyIndexer struct{}

func (keyIndexer) FromObject(obj any) (bool, []byte, error) {
	r, ok := obj.(*record)
	if !ok {
		return false, nil, fmt.Errorf("evidence: a %T is no record", obj)
	}
	return true, r.key, nil
}

func (keyIndexer) FromArgs(args ...any) ([]byte, error) {
	if len(args) != 1 {
		return nil, fmt.Errorf("evidence: one key is wanted, not %d", len(args))
	}
	l, ok := args[0].(*lookup)
	if !ok {
		return nil, fmt.Errorf("evidence: a %T is no key", args[0])
	}
	return l.key, nil
}

func (i keyIndexer) PrefixFromArgs(args ...any) ([]byte, error) { return i.FromArgs(args...) }

// Store is the evidence state. It is safe for concurrent use: many readers, one
// writer at a time.
type Store struct {
	db      *memdb.MemDB
	writer  sync.Mutex // held while a batch is open
	version atomic.Pointer[version]
}

// version is the state after a commit.
type version struct {
	number uint64 // from 1
	txn    *memdb.Txn
	clock  int64
	// written lists what the last commits wrote, this one's first.
	written []map[string]*record
	*indexes
}

// remembered is how many commits a decision may be old and still be compared
// only with what was written since. An older one is compared key by key.
const remembered = 16

// New returns an empty store.
func New() *Store {
	db, err := memdb.NewMemDB(&memdb.DBSchema{Tables: map[string]*memdb.TableSchema{
		table: {Name: table, Indexes: map[string]*memdb.IndexSchema{"id": {Name: "id", Unique: true, Indexer: keyIndexer{}}}},
	}})
	if err != nil {
		// The schema is a constant of this package.
		panic(err)
	}
	// Nobody watches: a snapshot is a database of its own that does not track
	// whom a write would have to tell.
	s := &Store{db: db.Snapshot()}
	s.version.Store(&version{number: 1, txn: s.db.Txn(false), indexes: newIndexes()})
	return s
}

// Snapshot returns a view of the state as it is now. Later writes do not show
// in it. A view is for one goroutine.
func (s *Store) Snapshot() *View { return newView(s.version.Load(), nil) }

// Read makes a view that nobody uses any more one of the state as it is now.
func (s *Store) Read(v *View) { v.begin(s.version.Load(), nil) }

// Clock is the time of the last record.
func (s *Store) Clock() int64 { return s.version.Load().clock }

// Batch is a write transaction: events folded one after the other, all of them
// kept or none. One batch is open at a time; Begin waits for the one before.
//
// What it writes is held beside the state until it is prepared: a read between
// two writes of a memdb transaction makes the second copy every node again.
type Batch struct {
	store   *Store
	base    *version
	pending map[string]*record
	// listed holds the keys of the members that were written, by list.
	listed map[string][]string
	now    int64
	// Once prepared: the open transaction and what the state is after it.
	txn   *memdb.Txn
	after *version
	open  bool
	last  bool // no batch stands on top of this one
	finder
}

// Begin opens a batch.
func (s *Store) Begin() *Batch {
	s.writer.Lock()
	return newBatch(s, s.version.Load())
}

func newBatch(s *Store, base *version) *Batch {
	return &Batch{store: s, base: base, now: base.clock, pending: map[string]*record{}, open: true, last: true}
}

// View reads the state with what the batch has written so far.
func (b *Batch) View() *View { return newView(b.base, b) }

var errClosed = errors.New("evidence: the batch is closed, or prepared already")

// Prepare does everything that could fail. After it the batch takes no more
// writes, and Commit only makes it visible.
func (b *Batch) Prepare() error {
	if !b.open {
		return errClosed
	}
	if b.after != nil {
		return nil
	}
	txn := b.store.db.Txn(true)
	for key, r := range b.pending {
		if !r.own(key) {
			continue
		}
		if err := write(txn, r); err != nil {
			txn.Abort()
			b.Abort()
			return err
		}
	}
	after := &version{number: b.base.number + 1, txn: txn.Snapshot(), clock: b.now, indexes: b.base.indexes}
	after.written = append(make([]map[string]*record, 0, remembered), b.pending)
	after.written = append(after.written, b.base.written[:min(len(b.base.written), remembered-1)]...)
	b.txn, b.after = txn, after
	return nil
}

func write(txn *memdb.Txn, r *record) error {
	if r.value != nil {
		return txn.Insert(table, r)
	}
	if err := txn.Delete(table, r); !errors.Is(err, memdb.ErrNotFound) {
		return err
	}
	return nil // the batch itself had written it
}

// Next opens a batch on top of this one, which must be prepared: it reads what
// this one wrote, before that is visible to others. It can be prepared once
// this one is committed; where this one is dropped, it must be dropped too.
func (b *Batch) Next() (*Batch, error) {
	if !b.open || b.after == nil || !b.last {
		return nil, errClosed
	}
	b.last = false
	return newBatch(b.store, b.after), nil
}

// Commit makes the batch visible. It fails only where Prepare would have.
func (b *Batch) Commit() error {
	if err := b.Prepare(); err != nil {
		return err
	}
	b.txn.Commit()
	b.store.version.Store(b.after)
	b.close()
	return nil
}

// Abort drops the batch; after Commit it does nothing.
func (b *Batch) Abort() {
	if !b.open {
		return
	}
	if b.txn != nil {
		b.txn.Abort()
	}
	b.close()
}

// close lets the next writer in, unless a batch stands on top of this one.
func (b *Batch) close() {
	b.open = false
	if b.last {
		b.store.writer.Unlock()
	}
}
