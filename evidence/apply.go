package evidence

import (
	"maps"

	"github.com/conjunct-project/conjunct/engine"
)

// Apply writes what an event did. The writes must be stamped with their seq.
func (b *Batch) Apply(w engine.Writes) error {
	if !b.open || b.after != nil {
		return errClosed
	}
	b.clock(w.Clock)
	for _, t := range w.Traces {
		b.put(traceKey(t.ID), t.Trace)
	}
	for _, s := range w.Settings {
		key := settingsKey(s.Trace)
		b.put(key, with(stored[map[string]any](b, key), s.Name, s.Value))
	}
	for _, e := range w.Evidence {
		key := evidenceKey(e.Trace, e.Call)
		b.put(key, with(stored[map[string]engine.Evidence](b, key), e.Evidence.Name, e.Evidence))
	}
	for i := range w.Paths {
		b.path(w.Paths[i].Key, &w.Paths[i].Path)
	}
	for _, c := range w.Calls {
		b.call(c, &w)
	}
	for _, r := range w.Rejections {
		b.rejection(r.Call, r.Rejection)
	}
	for _, e := range w.Entities {
		b.put(entityKey(e.Tool, e.Entity), e.Record)
	}
	for _, c := range w.Contributions {
		list := counterKey(c.Counter, c.Entity)
		b.add(list, member(list, c.Contribution.Seq), c.Contribution)
	}
	b.related(&w)
	return nil
}

// related writes what says how calls are related. Producers and results are lists
// without a count: only events that are folded in their turn read them.
func (b *Batch) related(w *engine.Writes) {
	for _, h := range w.Holders {
		b.base.hold(h.Value, h.Key)
	}
	for _, r := range w.Results {
		list := resultsKey(r.Key.Trace, r.Key.Call)
		b.index(list, member(list, r.Seq), r.Values)
		for _, value := range r.Values {
			key := producerKey(r.Key.Trace, value, r.Key.Call)
			p := engine.Producer{Call: r.Key.Call, First: r.Seq, Last: r.Seq}
			if before := stored[engine.Producer](b, key); before.First != 0 {
				p.First = before.First
			}
			b.index(producersKey(r.Key.Trace, value), key, p)
		}
	}
	for _, s := range w.Suspicions {
		b.suspicion(s.Suspicion, s.Cleared)
	}
	for _, r := range w.Refusals {
		b.put(refusedKey(r.Trace, r.Same), r.Seq)
	}
}

// suspicion makes an item suspect, or clears it. It stands among all, under its
// trace and under its value.
func (b *Batch) suspicion(s engine.Suspicion, cleared bool) {
	for list, key := range map[string]string{
		suspectedList:            suspectedKey(s.Trace, s.Value),
		suspicionsKey(s.Trace):   suspicionKey(s.Trace, s.Value),
		suspicionsOfKey(s.Value): suspicionOfKey(s.Value, s.Trace),
	} {
		if cleared {
			b.remove(list, key)
		} else {
			b.add(list, key, s)
		}
	}
}

// index writes a member of a list that has no count.
func (b *Batch) index(list, key string, value any) {
	b.list(list, key)
	b.put(key, value)
}

// with is a copy of m with one more value: stored values never change.
func with[V any](m map[string]V, name string, value V) map[string]V {
	out := make(map[string]V, len(m)+1)
	maps.Copy(out, m)
	out[name] = value
	return out
}

// find is the record of a key as the batch has it.
func (b *Batch) find(key string) *record {
	if r, ok := b.pending[key]; ok {
		return r.there()
	}
	return b.finder.find(b.base, key)
}

// stored is the value of a key as the batch has it, or the zero value.
func stored[T any](b *Batch, key string) T {
	var zero T
	if r := b.find(key); r != nil {
		return r.value.(T)
	}
	return zero
}

func (b *Batch) put(key string, value any) {
	b.base.keys.add(key)
	b.pending[key] = &record{key: []byte(key), value: value}
}

// clock writes the time of an event. An equal one is not written.
func (b *Batch) clock(now int64) {
	if b.now != now {
		b.put(clockKey, now)
		b.now = now
	}
}

// add writes a member of a list. The list itself is a record that counts its
// members: it changes whenever one of them does.
func (b *Batch) add(list, key string, value any) {
	n := stored[int](b, list)
	if b.find(key) == nil {
		n++
	}
	b.list(list, key)
	b.put(key, value)
	b.put(list, n)
}

// remove takes a member from a list.
func (b *Batch) remove(list, key string) {
	if b.find(key) == nil {
		return
	}
	b.list(list, key)
	b.put(key, nil)
	b.put(list, stored[int](b, list)-1)
}

// list notes that a member was written.
func (b *Batch) list(list, key string) {
	if _, noted := b.pending[key]; noted {
		return
	}
	if b.listed == nil {
		b.listed = map[string][]string{}
	}
	b.listed[list] = append(b.listed[list], key)
}

// path writes a path and keeps the list of those that wait for a review.
func (b *Batch) path(key engine.PathKey, p *engine.Path) {
	b.put(pathKey(key.Trace, key.Call), *p)
	if p.Flagged != nil && b.find(flaggedKey(key)) == nil {
		b.add(flaggedList, flaggedKey(key), key)
	}
	waits := p.Request != nil && p.Request.Status == engine.Pending
	if !waits && stored[int](b, waitingList) == 0 {
		return
	}
	member := waitingKey(key)
	switch waited := b.find(member) != nil; {
	case waits && !waited:
		b.add(waitingList, member, key)
	case waited && !waits:
		b.remove(waitingList, member)
	}
}

// rejection writes a rejection, or leaves an empty one where it was removed, so
// that a reader sees that something moved.
func (b *Batch) rejection(call string, r *engine.Rejection) {
	if r == nil {
		b.put(rejectionKey(call), engine.Rejection{})
		return
	}
	b.put(rejectionKey(call), *r)
}
