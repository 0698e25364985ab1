package evidence

import (
	"fmt"

	"github.com/hashicorp/go-memdb"

	"github.com/conjunct-project/conjunct/engine"
)

// View is a snapshot that notes what is read from it. It implements
// engine.View.
type View struct {
	txn   *memdb.Txn
	reads Reads
}

// Reads is what was read: each key with the record that was there, or nil.
type Reads map[string]*record

var _ engine.View = (*View)(nil)

func newView(txn *memdb.Txn) *View { return &View{txn: txn, reads: make(Reads, 16)} }

// Reads is everything read so far.
func (v *View) Reads() Reads { return v.reads }

// Current reports whether every key of reads still has the record that was read.
func (v *View) Current(reads Reads) bool {
	for key, was := range reads {
		if now, _ := v.find(key); now != was {
			return false
		}
	}
	return true
}

// find reads a record without noting it.
func (v *View) find(key string) (*record, bool) {
	obj, err := v.txn.First(table, "id", key)
	if err != nil {
		// Only a wrong table, index or argument type gives an error.
		panic(fmt.Errorf("evidence: %w", err))
	}
	r, ok := obj.(*record)
	return r, ok
}

// get reads a value and notes the key. A key is looked up once: a view is of one
// moment.
func (v *View) get(key string) (any, bool) {
	r, seen := v.reads[key]
	if !seen {
		r, _ = v.find(key)
		v.reads[key] = r
	}
	if r == nil {
		return nil, false
	}
	return r.value, true
}

func read[T any](v *View, key string) (T, bool) {
	value, ok := v.get(key)
	if !ok {
		var zero T
		return zero, false
	}
	// A key is only ever written with one type; another one is a broken
	// invariant, and the fold that meets it answers Unknown.
	return value.(T), true
}

func (v *View) Clock() int64 {
	t, _ := read[int64](v, clockKey)
	return t
}

func (v *View) Trace(id string) engine.Trace {
	t, _ := read[engine.Trace](v, traceKey(id))
	return t
}

func (v *View) Setting(trace, name string) (any, bool) { return v.get(settingKey(trace, name)) }

func (v *View) Evidence(trace, call, name string) (engine.Evidence, bool) {
	return read[engine.Evidence](v, evidenceKey(trace, call, name))
}

func (v *View) Path(trace, call string) engine.Path {
	p, _ := read[engine.Path](v, pathKey(trace, call))
	return p
}

func (v *View) CallHash(trace, id string) (string, bool) {
	return read[string](v, callKey(trace, id))
}

func (v *View) Rejection(call string) (engine.Rejection, bool) {
	r, ok := read[engine.Rejection](v, rejectionKey(call))
	return r, ok && r.Seq != 0
}

func (v *View) Waiting() []engine.PathKey {
	v.get(waitingList)
	return list[engine.PathKey](v, waitingList)
}

func (v *View) Contributions(counter, entity string) []engine.Contribution {
	key := counterKey(counter, entity)
	v.get(key)
	return list[engine.Contribution](v, key)
}

// list reads the members below a key. The record at the key itself, which
// changes whenever a member does, is what is noted.
func list[T any](v *View, key string) (out []T) {
	it, err := v.txn.Get(table, "id_prefix", key)
	if err != nil {
		panic(fmt.Errorf("evidence: %w", err))
	}
	for obj := it.Next(); obj != nil; obj = it.Next() {
		r := obj.(*record)
		if r.key == key {
			continue
		}
		out = append(out, r.value.(T))
	}
	return out
}
