package evidence

import (
	"hash/maphash"
	"sync"

	"github.com/conjunct-project/conjunct/engine"
)

// candidates finds calls by a name in a trace that their paths bear: what a call
// holds, or the id that it was first proposed under. Neither changes after the
// first proposal, so this index of the paths only grows and is kept beside memdb,
// where an entry costs ten times as much. All versions share it: a view leaves
// out the candidates that its own path does not confirm, which came later, in a
// batch that was dropped, or by a collision of hashes. It can be made again from
// the paths.
type candidates struct {
	mu   sync.RWMutex
	seed maphash.Seed
	// entries form chains from the last to the first with one hash; last is where
	// each begins. An entry's number is its place and one. They stand in blocks,
	// since one slice would be copied again and again.
	entries [][]candidate
	n       uint32
	last    map[uint64]uint32
}

type candidate struct {
	key    engine.PathKey
	before uint32 // the number of the entry before it with this hash; 0: none
}

const block = 512

func newCandidates() *candidates {
	return &candidates{seed: maphash.MakeSeed(), last: map[uint64]uint32{}}
}

func (c *candidates) hash(trace, name string) uint64 {
	return maphash.String(c.seed, name) ^ 3*maphash.String(c.seed, trace)
}

func (c *candidates) add(trace, name string, key engine.PathKey) {
	h := c.hash(trace, name)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n%block == 0 {
		c.entries = append(c.entries, make([]candidate, 0, block))
	}
	last := &c.entries[c.n/block]
	*last = append(*last, candidate{key, c.last[h]})
	c.n++
	c.last[h] = c.n
}

// visit calls do for each candidate, the last first, until it returns false.
func (c *candidates) visit(trace, name string, do func(engine.PathKey) bool) {
	h := c.hash(trace, name)
	c.mu.RLock()
	defer c.mu.RUnlock()
	for n := c.last[h]; n != 0; {
		e := &c.entries[(n-1)/block][(n-1)%block]
		if !do(e.key) {
			return
		}
		n = e.before
	}
}

// indexes are what all versions share.
type indexes struct {
	inTrace, anywhere *candidates // by what they hold, in their trace and in any
	ids               *candidates // by the id that they were first proposed under
	keys              *written
}

func newIndexes() *indexes {
	return &indexes{newCandidates(), newCandidates(), newCandidates(), newWritten()}
}

// hold notes that a call holds a value.
func (x *indexes) hold(value string, key engine.PathKey) {
	x.inTrace.add(key.Trace, value, key)
	x.anywhere.add("", value, key)
}

// read adds a stored record.
func (x *indexes) read(r *record) error {
	key := string(r.key)
	x.keys.add(key)
	p, ok := r.value.(engine.Path)
	if !ok {
		return nil
	}
	at, err := pathOf(key)
	if err != nil || p.First == 0 {
		return err
	}
	for _, item := range p.Holds {
		x.hold(item.Value, at)
	}
	x.identify(callKey(at.Trace, p.FirstID), p.FirstID, at)
	return nil
}

// identify notes the id that a call was first proposed under, and its key.
func (x *indexes) identify(key, id string, at engine.PathKey) {
	x.ids.add(at.Trace, id, at)
	x.keys.add(key)
}
