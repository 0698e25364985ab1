package evidence

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/conjunct-project/conjunct/engine"
)

// holders finds the calls that hold a value. What a call holds is part of its
// path and does not change after it was first proposed, so this index of the
// paths only grows and is kept beside memdb, where an entry costs a tenth. It is
// shared by all versions: it names candidates, and a view leaves out those that its
// path does not confirm, which came later or in a batch that was dropped.
type holders struct {
	mu     sync.RWMutex
	calls  map[holding][]string // those that were indexed, in their order
	traces map[string][]string  // where a value is held
}

// holding is a value in a trace.
type holding struct{ trace, value string }

func newHolders() *holders {
	return &holders{calls: map[holding][]string{}, traces: map[string][]string{}}
}

func (h *holders) add(value string, key engine.PathKey) {
	h.mu.Lock()
	defer h.mu.Unlock()
	at := holding{key.Trace, value}
	calls := h.calls[at]
	if len(calls) == 0 {
		h.traces[value] = append(h.traces[value], key.Trace)
	}
	h.calls[at] = append(calls, key.Call)
}

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
	traces := h.traces[value]
	if trace != "" {
		traces = []string{trace}
	}
	for _, t := range traces {
		for _, call := range h.calls[holding{t, value}] {
			out = append(out, engine.PathKey{Trace: t, Call: call})
		}
	}
	return out
}

// Holders lists the calls of a trace, or of all with an empty trace, that hold a
// value, in the order of their keys. No decision rests on it, so it notes nothing.
func (v *View) Holders(value, trace string) []engine.PathKey {
	out := slices.DeleteFunc(v.version.holders.candidates(value, trace), func(k engine.PathKey) bool { return !v.holds(k, value) })
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
