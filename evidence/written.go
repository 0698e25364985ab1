package evidence

import (
	"hash/maphash"
	"sync/atomic"
)

// written remembers which keys were ever written, so that a key that never was
// need not be looked for: most of what a decision about a new call reads is not
// there. It is a Bloom filter (Bloom 1970) that grows: it may take a key for
// written that was not, never the other way. All versions share it, since what
// was never written is in none. There is one writer at a time.
type written struct {
	seed    maphash.Seed
	filters atomic.Pointer[[]filter] // the last one takes new keys
	room    int                      // how many it still takes
}

// filter is a set of bits, a power of two of them.
type filter []atomic.Uint64

// bitsPerKey and probes make one key in 200 look written that was not.
const (
	bitsPerKey = 16
	probes     = 3
)

func newWritten() *written {
	w := &written{seed: maphash.MakeSeed()}
	w.grow(1 << 12)
	return w
}

// grow adds a filter for so many keys, a power of two.
func (w *written) grow(keys int) {
	var filters []filter
	if have := w.filters.Load(); have != nil {
		filters = append(filters, *have...)
	}
	filters = append(filters, make(filter, keys*bitsPerKey/64))
	w.filters.Store(&filters)
	w.room = keys
}

func (w *written) add(key string) {
	h := maphash.String(w.seed, key)
	filters := *w.filters.Load()
	if has(filters, h) {
		return
	}
	if w.room == 0 {
		w.grow(4 * len(filters[len(filters)-1]) * 64 / bitsPerKey)
		filters = *w.filters.Load()
	}
	w.room--
	last := filters[len(filters)-1]
	for range probes {
		word, bit := last.place(h)
		word.Or(bit)
		h = next(h)
	}
}

// has reports whether a key may have been written.
func (w *written) has(key string) bool {
	return has(*w.filters.Load(), maphash.String(w.seed, key))
}

func has(filters []filter, h uint64) bool {
	for _, f := range filters {
		if f.has(h) {
			return true
		}
	}
	return false
}

func (f filter) has(h uint64) bool {
	for range probes {
		word, bit := f.place(h)
		if word.Load()&bit == 0 {
			return false
		}
		h = next(h)
	}
	return true
}

// place is the bit of a hash.
func (f filter) place(h uint64) (word *atomic.Uint64, bit uint64) {
	return &f[h>>6&uint64(len(f)-1)], 1 << (h & 63)
}

// next makes another hash of one (the step of splitmix64).
func next(h uint64) uint64 {
	h += 0x9e3779b97f4a7c15
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	return h ^ h>>27
}
