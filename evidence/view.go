package evidence

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/conjunct-project/conjunct/engine"
)

// View is a snapshot that notes what is read from it. It implements
// engine.View.
type View struct {
	version *version
	batch   *Batch // whose writes show; nil: none
	reads   Reads
	at      map[string]int // where a key stands among the reads, once there are many
	// The trace, path and settings that were read last: a fold asks for them again
	// and again.
	trace, path      recent
	settings, shared recent
	room             [12]seen // for the first reads
	finder
}

// recent is a record that was read and noted, by what it is of.
type recent struct {
	trace, call string
	was         *record
	known       bool
}

// of reports whether a record is what was read of this path.
func (r *recent) of(trace, call string) bool { return r.known && r.trace == trace && r.call == call }

// finder is room for handing a key to memdb.
type finder struct {
	key  lookup
	args [1]any
}

// Reads is what was read: each key with the record that was there, or nil. The
// clock is not among them: what a decision saw of it stands in its time.
type Reads struct {
	// since is the version that was read; 0: none that was ever committed.
	since uint64
	seen  []seen
}

type seen struct {
	key string
	was *record
}

var _ engine.View = (*View)(nil)

func newView(version *version, batch *Batch) *View {
	v := &View{}
	v.begin(version, batch)
	return v
}

func (v *View) begin(version *version, batch *Batch) {
	*v = View{version: version, batch: batch, finder: v.finder}
	v.reads.seen = v.room[:0]
	if batch == nil {
		v.reads.since = version.number
	}
}

// Reads is everything read so far.
func (v *View) Reads() Reads { return v.reads }

// Len is how many keys were read.
func (r Reads) Len() int { return len(r.seen) }

// Current reports whether every key of reads still has the record that was read.
func (v *View) Current(reads Reads) bool {
	age := v.version.number - reads.since
	remembered := reads.since != 0 && reads.since <= v.version.number && age <= uint64(len(v.version.written))
	for _, s := range reads.seen {
		if remembered && !v.writtenSince(age, s.key) {
			continue
		}
		if v.find(s.key) != s.was {
			return false
		}
	}
	return true
}

// writtenSince reports whether one of the last commits wrote a key, or the
// view's own batch did.
func (v *View) writtenSince(commits uint64, key string) bool {
	if v.batch != nil {
		if _, ok := v.batch.pending[key]; ok {
			return true
		}
	}
	for _, written := range v.version.written[:commits] {
		if _, ok := written[key]; ok {
			return true
		}
	}
	return false
}

// there is the record, or nil for one that stands for a removal.
func (r *record) there() *record {
	if r == nil || r.value == nil {
		return nil
	}
	return r
}

// find reads a record without noting it.
func (v *View) find(key string) *record {
	if v.batch != nil {
		if r, ok := v.batch.pending[key]; ok {
			return r.there()
		}
	}
	return v.finder.find(v.version, key)
}

// find reads a record of the committed state.
func (f *finder) find(v *version, key string) *record {
	if !v.keys.has(key) {
		return nil
	}
	r := f.stored(v, key)
	if r == nil && isCall(key) {
		return f.bound(v, key)
	}
	return r
}

// stored reads the record that is stored under a key.
func (f *finder) stored(v *version, key string) *record {
	f.key.key = append(f.key.key[:0], key...)
	f.args[0] = &f.key
	obj, err := v.txn.First(table, "id", f.args[:]...)
	if err != nil {
		// Only a wrong table, index or argument type gives an error.
		panic(fmt.Errorf("evidence: %w", err))
	}
	r, _ := obj.(*record)
	return r
}

// note reads a record and notes the key. A key is looked up once: a view is of
// one moment.
func (v *View) note(key string) *record {
	if s := v.noted(key); s != nil {
		return s.was
	}
	r := v.find(key)
	if v.at != nil {
		v.at[key] = len(v.reads.seen)
	}
	v.reads.seen = append(v.reads.seen, seen{key, r})
	return r
}

// searched is how many keys are searched one after the other. A decision reads a
// few; a rejection reads everything that is related.
const searched = 64

// noted is what was read of a key before; nil for nothing.
func (v *View) noted(key string) *seen {
	if len(v.reads.seen) > searched {
		if v.at == nil {
			v.at = make(map[string]int, 4*searched)
			for i := range v.reads.seen {
				v.at[v.reads.seen[i].key] = i
			}
		}
		if i, ok := v.at[key]; ok {
			return &v.reads.seen[i]
		}
		return nil
	}
	for i := range v.reads.seen {
		if s := &v.reads.seen[i]; s.key == key {
			return s
		}
	}
	return nil
}

func read[T any](v *View, key string) (T, bool) { return valueOf[T](v.note(key)) }

func valueOf[T any](r *record) (T, bool) {
	if r == nil {
		var zero T
		return zero, false
	}
	// A key is only ever written with one type; another one is a broken
	// invariant, and the fold that meets it answers Unknown.
	return r.value.(T), true
}

func (v *View) Clock() int64 {
	if v.batch != nil {
		return v.batch.now
	}
	return v.version.clock
}

func (v *View) Trace(id string) engine.Trace {
	if !v.trace.of(id, "") {
		v.trace = recent{id, "", v.note(traceKey(id)), true}
	}
	t, _ := valueOf[engine.Trace](v.trace.was)
	return t
}

func (v *View) Setting(trace, name string) (any, bool) {
	last := &v.settings
	if trace == "" {
		last = &v.shared
	}
	if !last.of(trace, "") {
		*last = recent{trace, "", v.note(settingsKey(trace)), true}
	}
	settings, _ := valueOf[map[string]any](last.was)
	value, ok := settings[name]
	return value, ok
}

func (v *View) Evidence(trace, call, name string) (engine.Evidence, bool) {
	records, _ := read[map[string]engine.Evidence](v, evidenceKey(trace, call))
	e, ok := records[name]
	return e, ok
}

func (v *View) Path(trace, call string) engine.Path {
	if !v.path.of(trace, call) {
		v.path = recent{trace, call, v.note(pathKey(trace, call)), true}
	}
	p, _ := valueOf[engine.Path](v.path.was)
	return p
}

func (v *View) Rejection(call string) (engine.Rejection, bool) {
	r, ok := read[engine.Rejection](v, rejectionKey(call))
	return r, ok && r.Seq != 0
}

func (v *View) Entity(tool string, e engine.Entity) (engine.EntityRecord, bool) {
	return read[engine.EntityRecord](v, entityKey(tool, e))
}

func (v *View) Refused(trace, same string) uint64 {
	seq, _ := read[uint64](v, refusedKey(trace, same))
	return seq
}

func (v *View) Suspected() bool {
	n, _ := read[int](v, suspectedList)
	return n > 0
}

func (v *View) AllSuspicions() []engine.Suspicion {
	return list[engine.Suspicion](v, suspectedList)
}

func (v *View) Suspicion(trace, value string) (engine.Suspicion, bool) {
	return read[engine.Suspicion](v, suspicionKey(trace, value))
}

func (v *View) Suspicions(trace string) []engine.Suspicion {
	return list[engine.Suspicion](v, suspicionsKey(trace))
}

func (v *View) SuspicionsOf(value string) []engine.Suspicion {
	return list[engine.Suspicion](v, suspicionsOfKey(value))
}

// Flagged lists the reads that were ever flagged.
func (v *View) Flagged() []engine.PathKey { return list[engine.PathKey](v, flaggedList) }

func (v *View) Producers(trace, value string) []engine.Producer {
	list := producersKey(trace, value)
	return values[engine.Producer](v.under(list, members(list)))
}

func (v *View) Results(trace, call string) (out []string) {
	list := resultsKey(trace, call)
	for _, held := range values[[]string](v.under(list, members(list))) {
		out = append(out, held...)
	}
	return out
}

func (v *View) Waiting() []engine.PathKey { return list[engine.PathKey](v, waitingList) }

func (v *View) Contributions(counter, entity string) []engine.Contribution {
	return list[engine.Contribution](v, counterKey(counter, entity))
}

// list reads the members of a list, in the order of their keys. The record of
// the list, which changes whenever a member does, is what is noted.
func list[T any](v *View, key string) []T {
	if n, _ := read[int](v, key); n == 0 {
		return nil
	}
	return values[T](v.under(key, members(key)))
}

func values[T any](records []*record) []T {
	if len(records) == 0 {
		return nil
	}
	out := make([]T, len(records))
	for i, r := range records {
		out[i] = r.value.(T)
	}
	return out
}

// under reads the members of a list whose keys begin with a prefix.
func (v *View) under(list, prefix string) (out []*record) {
	it, err := v.version.txn.Get(table, "id_prefix", &lookup{[]byte(prefix)})
	if err != nil {
		panic(fmt.Errorf("evidence: %w", err))
	}
	var changed []string
	if v.batch != nil {
		changed = v.batch.listed[list]
	}
	for obj := it.Next(); obj != nil; obj = it.Next() {
		r := obj.(*record)
		if len(changed) > 0 {
			if _, written := v.batch.pending[string(r.key)]; written {
				continue
			}
		}
		out = append(out, r)
	}
	for _, key := range changed {
		if r := v.batch.pending[key].there(); r != nil && strings.HasPrefix(key, prefix) {
			out = append(out, r)
		}
	}
	if len(changed) > 0 {
		slices.SortFunc(out, func(a, b *record) int { return bytes.Compare(a.key, b.key) })
	}
	return out
}
