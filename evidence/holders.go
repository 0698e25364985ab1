package evidence

import (
	"cmp"
	"slices"
	"strings"

	"github.com/conjunct-project/conjunct/engine"
)

// Holders lists the calls of a trace, or of all with an empty trace, that hold a
// value, in the order of their keys. No decision rests on it, so it notes nothing.
func (v *View) Holders(value, trace string) (out []engine.PathKey) {
	index := v.version.inTrace
	if trace == "" {
		index = v.version.anywhere
	}
	index.visit(trace, value, func(key engine.PathKey) bool {
		if (trace == "" || key.Trace == trace) && v.holds(key, value) {
			out = append(out, key)
		}
		return true
	})
	slices.SortFunc(out, func(a, b engine.PathKey) int {
		return cmp.Or(cmp.Compare(a.Trace, b.Trace), cmp.Compare(a.Call, b.Call))
	})
	return slices.Compact(out) // one that was dropped and came again stands here twice
}

// holds reports whether a call was proposed with a value by the time of the view.
func (v *View) holds(key engine.PathKey, value string) bool {
	p, ok := valueOf[engine.Path](v.find(pathKey(key.Trace, key.Call)))
	return ok && p.First != 0 && slices.ContainsFunc(p.Holds, func(i engine.Item) bool { return i.Value == value })
}

// A call id is bound to the content first proposed under it. Where that was new,
// its path says so and stands for the record of the id, which is then not written:
// most calls have one id, and two records each would cost half as much again. A
// further id of the same content has a record of its own.

// binds reports whether a path stands for the record of an id.
func binds(p *engine.Path, id string) bool { return p.First != 0 && p.FirstID == id }

// CallHash is the content first proposed under a call id.
func (v *View) CallHash(trace, id string) (string, bool) {
	r := v.note(callKey(trace, id))
	if r == nil {
		return "", false
	}
	if hash, ok := r.value.(string); ok {
		return hash, true
	}
	at, err := pathOf(string(r.key))
	if err != nil {
		panic(err) // the key was made by this package
	}
	return at.Call, true
}

// call binds an id to a content.
func (b *Batch) call(c engine.CallWrite, w *engine.Writes) {
	key, at := callKey(c.Trace, c.ID), engine.PathKey{Trace: c.Trace, Call: c.Hash}
	was := b.find(key)
	if p, ok := w.Path(at); !ok || !binds(&p, c.ID) || was != nil && !was.isPath() {
		b.put(key, c.Hash)
		return
	}
	if was == nil {
		b.base.identify(key, c.ID, at)
	}
	b.pending[key] = b.pending[pathKey(c.Trace, c.Hash)]
}

// isPath reports whether a record is that of a path.
func (r *record) isPath() bool {
	_, ok := r.value.(engine.Path)
	return ok
}

// own reports whether the record is stored under a key, and not another that
// stands for it.
func (r *record) own(key string) bool { return string(r.key) == key }

// bound finds the path that stands for the record of a call id.
func (f *finder) bound(v *version, key string) (found *record) {
	parts, err := split(key)
	if err != nil || len(parts) != 2 {
		return nil
	}
	trace, id := parts[0], parts[1]
	v.ids.visit(trace, id, func(at engine.PathKey) bool {
		r := f.stored(v, pathKey(at.Trace, at.Call))
		if r != nil && at.Trace == trace {
			if p := r.value.(engine.Path); binds(&p, id) {
				found = r
			}
		}
		return found == nil
	})
	return found
}

// isCall reports whether a key is that of a call id.
func isCall(key string) bool { return strings.HasPrefix(key, "call\x00") }
