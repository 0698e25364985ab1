package evidence

import (
	"cmp"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"

	"github.com/conjunct-project/conjunct/engine"
)

// holders finds the calls that hold a value. What a call holds is part of its
// path and does not change after it was first proposed, so this index of the
// paths only grows and is kept beside memdb, where an entry costs ten times as
// much. It is shared by all versions: it names candidates, and a view leaves out
// those that its path does not confirm: they came later, in a batch that was
// dropped, or by a collision of hashes.
type holders struct {
	mu   sync.RWMutex
	seed maphash.Seed
	// entries are two kinds of chain, each from the last entry to the first: those
	// with a value, and those with a value in a trace. A chain is found by a hash,
	// and values of one hash share it. An entry's number is its place and one. They
	// stand in blocks, since one slice would be copied again and again.
	entries [][]holder
	n       uint32
	values  map[uint64]uint32
	traces  map[uint64]uint32
}

// holder is a call, and the entries before it with the same value: in any trace,
// and in its own.
type holder struct {
	key            engine.PathKey
	before, inside uint32
}

const block = 512

func newHolders() *holders {
	return &holders{seed: maphash.MakeSeed(), values: map[uint64]uint32{}, traces: map[uint64]uint32{}}
}

// hashes are those of a value, and of it in a trace.
func (h *holders) hashes(value, trace string) (all, own uint64) {
	all = maphash.String(h.seed, value)
	return all, all ^ 3*maphash.String(h.seed, trace)
}

func (h *holders) add(value string, key engine.PathKey) {
	h.mu.Lock()
	defer h.mu.Unlock()
	all, own := h.hashes(value, key.Trace)
	if h.n%block == 0 {
		h.entries = append(h.entries, make([]holder, 0, block))
	}
	last := &h.entries[h.n/block]
	*last = append(*last, holder{key, h.values[all], h.traces[own]})
	h.n++
	h.values[all], h.traces[own] = h.n, h.n
}

// entry is the one with a number.
func (h *holders) entry(n uint32) *holder { return &h.entries[(n-1)/block][(n-1)%block] }

// read adds what the call of a stored path holds.
func (h *holders) read(key string, p *engine.Path) error {
	if p.First == 0 {
		return nil
	}
	parts, err := split(key)
	if err != nil || len(parts) != 2 {
		return errors.Join(fmt.Errorf("evidence: %q is no path", key), err)
	}
	for _, item := range p.Holds {
		h.add(item.Value, engine.PathKey{Trace: parts[0], Call: parts[1]})
	}
	return nil
}

// candidates are the calls of a trace, or of all with an empty one, that may hold
// a value.
func (h *holders) candidates(value, trace string) (out []engine.PathKey) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	all, own := h.hashes(value, trace)
	if trace == "" {
		for n := h.values[all]; n != 0; n = h.entry(n).before {
			out = append(out, h.entry(n).key)
		}
		return out
	}
	for n := h.traces[own]; n != 0; n = h.entry(n).inside {
		out = append(out, h.entry(n).key)
	}
	return out
}

// Holders lists the calls of a trace, or of all with an empty trace, that hold a
// value, in the order of their keys. No decision rests on it, so it notes nothing.
func (v *View) Holders(value, trace string) []engine.PathKey {
	out := slices.DeleteFunc(v.version.holders.candidates(value, trace), func(k engine.PathKey) bool {
		return trace != "" && k.Trace != trace || !v.holds(k, value)
	})
	slices.SortFunc(out, func(a, b engine.PathKey) int {
		return cmp.Or(cmp.Compare(a.Trace, b.Trace), cmp.Compare(a.Call, b.Call))
	})
	return slices.Compact(out) // one that was dropped and came again stands here twice
}

// holds reports whether a call was proposed with a value by the time of the view.
func (v *View) holds(k engine.PathKey, value string) bool {
	r := v.find(pathKey(k.Trace, k.Call))
	if r == nil {
		return false
	}
	p := r.value.(engine.Path)
	return p.First != 0 && slices.ContainsFunc(p.Holds, func(i engine.Item) bool { return i.Value == value })
}
