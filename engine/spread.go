package engine

import (
	"cmp"
	"slices"
)

// Reexamination is one call that has to be looked at again, because an item
// that it holds has become suspect.
type Reexamination struct {
	// Rejection is the seq of the rejection or incident behind it, Rejected the call
	// that it was of, By and Code whose word it was and why.
	Rejection uint64
	Rejected  PathKey
	By, Code  string
	// Path is the call to look at, CallID the id it was last proposed under.
	Path   PathKey
	CallID string
	// Items are the items that have become suspect for the call: what it holds, or,
	// for the origin, what its result held.
	Items []Item
	// Read marks a call of a tool that only reads: it is flagged, never decided
	// again.
	Read bool
	// Origin marks the read that the suspect value came from, as far as is known.
	Origin bool

	first uint64 // seq of the first proposal, which is the order
}

// spread finds what becomes suspect by one rejection, and which calls that
// concerns.
type spread struct {
	f     *fold
	from  Suspicion // what every suspicion of this rejection shares
	due   map[PathKey]*Reexamination
	queue []Suspicion
}

// suspect is what a rejection or an incident does besides binding its call: the
// items that the call holds become suspect, and every other call that holds one
// is due to be looked at again.
func (f *fold) suspect(path *Path, code string) {
	if !f.contract.reexamines() {
		return
	}
	s := f.spread(Suspicion{Rejection: Self, Call: f.key(), By: f.e.By.Name, Code: code})
	seeds := f.seeds(path)
	for _, item := range seeds {
		s.add(item, f.e.TraceID, 0)
	}
	s.run()
	s.flagOrigin(seeds, path.First)
	f.rec.Due = s.sorted()
}

// spreadResults makes the results that came of a pulled-back call suspect, as if they
// had come before it was pulled back.
func (f *fold) spreadResults(path *Path, values []string) {
	p := path.Pulled
	if p == nil || p.Answer != "" || !f.contract.reexamines() {
		return
	}
	s := f.spread(Suspicion{Rejection: p.Rejection, Call: p.Call, By: p.By, Code: p.Code})
	for _, value := range values {
		s.add(Item{Kind: KindEntity, Value: value}, f.e.TraceID, path.Ran)
	}
	s.run()
	f.rec.Due = s.sorted()
}

func (c *Contract) reexamines() bool {
	return c.Reexamination == scopeTrace || c.Reexamination == scopeWindow
}

// spread begins with what every suspicion of one rejection shares.
func (f *fold) spread(from Suspicion) *spread {
	from.Seq, from.Time = Self, f.now
	return &spread{f: f, from: from, due: map[PathKey]*Reexamination{}}
}

// seeds lists the items that a rejected call was built on: its context, and the
// entities that its arguments took from results of earlier calls.
func (f *fold) seeds(path *Path) (items []Item) {
	for _, item := range path.Holds {
		switch {
		case item.Kind == KindEverything:
		case item.Kind != KindArgument:
			items = append(items, item)
		case f.taken(item.Value, path.First):
			items = append(items, Item{Kind: KindEntity, Value: item.Value})
		}
	}
	return items
}

// taken reports whether a result of an earlier call of the trace held a value.
func (f *fold) taken(value string, before uint64) bool {
	return slices.ContainsFunc(f.view.Producers(f.e.TraceID, value), func(p Producer) bool {
		return f.view.Path(f.e.TraceID, p.Call).First < before
	})
}

// add queues an item of a trace to become suspect, for calls first proposed
// after an entry.
func (s *spread) add(item Item, trace string, after uint64) {
	next := s.from
	next.Item, next.Trace, next.After = item, trace, after
	s.queue = append(s.queue, next)
}

// run makes what is queued suspect, and what that pulls back gives more.
func (s *spread) run() {
	for len(s.queue) > 0 {
		next := s.queue[0]
		s.queue = s.queue[1:]
		for _, key := range s.holders(next.Value) {
			s.concern(next, key)
		}
		s.write(next)
	}
}

// holders lists the calls that hold a value, within the contract's scope.
func (s *spread) holders(value string) []PathKey {
	trace := s.f.e.TraceID
	if s.f.contract.Reexamination == scopeWindow {
		trace = ""
	}
	return append(s.f.view.Holders(value, trace), s.f.view.Holders("", trace)...)
}

// concern makes a call due that an item has become suspect for.
func (s *spread) concern(next Suspicion, key PathKey) {
	f := s.f
	path := f.view.Path(key.Trace, key.Call)
	switch {
	case key == s.from.Call, !next.reaches(path.First):
		return
	case key.Trace != f.e.TraceID && !aged(min(path.Time, f.now), f.now, f.contract.Window):
		return
	case standingRejection(f.contract, f.view, path.Same) != nil:
		return // a person has answered it already
	case s.known(next, key.Trace, path.First):
		return // it was decided with the item suspect, or is waiting for a person because of it
	}
	due, again := s.due[key]
	if !again {
		due = s.look(key, &path)
	}
	if slices.ContainsFunc(due.Items, func(i Item) bool { return i.Value == next.Value }) {
		return
	}
	due.Items = append(due.Items, next.Item)
	if !again && !due.Read && path.Runs > 0 {
		s.downstream(key, path.Ran)
	}
}

// look makes a call due.
func (s *spread) look(key PathKey, path *Path) *Reexamination {
	tool, declared := s.f.policy.Tool(path.Tool)
	due := &Reexamination{Rejection: s.from.Rejection, Rejected: s.from.Call, By: s.from.By, Code: s.from.Code,
		Path: key, CallID: path.CallID, Read: declared && tool.Effect == Read, first: path.First}
	s.due[key] = due
	return due
}

// downstream makes the results of a call that is pulled back suspect, for the
// calls that came after it ran.
func (s *spread) downstream(key PathKey, ran uint64) {
	for _, value := range s.f.view.Results(key.Trace, key.Call) {
		s.add(Item{Kind: KindEntity, Value: value}, key.Trace, ran)
	}
}

// known reports whether the item was suspect for the call before.
func (s *spread) known(next Suspicion, trace string, first uint64) bool {
	before := s.standing(trace, next.Value)
	return slices.ContainsFunc(before, func(b Suspicion) bool { return b.reaches(first) })
}

// standing lists the suspicions of a value that calls of a trace meet.
func (s *spread) standing(trace, value string) []Suspicion {
	if s.f.contract.Reexamination == scopeWindow {
		return s.f.view.SuspicionsOf(value)
	}
	if before, ok := s.f.view.Suspicion(trace, value); ok {
		return []Suspicion{before}
	}
	return nil
}

// write makes an item suspect, unless it is so already for as many calls. One
// that is suspect for more calls than before keeps its kind.
func (s *spread) write(next Suspicion) {
	before, ok := s.f.view.Suspicion(next.Trace, next.Value)
	for _, w := range s.f.w.Suspicions {
		if w.Suspicion.Value == next.Value && w.Suspicion.Trace == next.Trace {
			before, ok = w.Suspicion, true
		}
	}
	if ok && before.After <= next.After {
		return
	}
	if ok {
		next.Kind = before.Kind
	}
	s.f.w.SetSuspicion(next)
	if t := s.f.trace(next.Trace); !t.Suspect {
		t.Suspect = true
		s.f.w.SetTrace(next.Trace, t)
	}
}

// flagOrigin flags where a suspect value came from: the latest earlier read
// whose result holds one, else the earliest sharing read before the call.
func (s *spread) flagOrigin(seeds []Item, before uint64) {
	f := s.f
	origin, items := s.latestSource(seeds, before)
	if origin == (PathKey{}) {
		origin = s.earliestSharing(before)
	}
	if origin == (PathKey{}) {
		f.note("origin_unknown", "no read is known that the suspect items came from")
		return
	}
	path := f.view.Path(origin.Trace, origin.Call)
	f.note("origin_found", "the suspect items came from "+path.CallID, NewFact("/origin/call_id", path.CallID), NewFact("/origin/tool", path.Tool))
	due := s.due[origin]
	if due == nil {
		if path.Flagged != nil && path.Flagged.Origin {
			return // as before
		}
		due = s.look(origin, &path)
		due.Items = items
	}
	due.Origin = true
}

// latestSource is the latest earlier read whose result holds a suspect value,
// and the items that it held.
func (s *spread) latestSource(seeds []Item, before uint64) (origin PathKey, items []Item) {
	latest := uint64(0)
	for _, item := range seeds {
		for _, p := range s.f.view.Producers(s.f.e.TraceID, item.Value) {
			path := s.f.view.Path(s.f.e.TraceID, p.Call)
			tool, declared := s.f.policy.Tool(path.Tool)
			if !declared || tool.Effect != Read || path.First >= before {
				continue
			}
			at := p.Last
			if at >= before {
				at = path.First // told late, or read again since
			}
			key := PathKey{s.f.e.TraceID, p.Call}
			switch {
			case key == origin:
				items = append(items, item)
				latest = max(latest, at)
			case at > latest:
				origin, latest, items = key, at, []Item{item}
			}
		}
	}
	return origin, items
}

func (s *spread) earliestSharing(before uint64) (origin PathKey) {
	earliest := before
	for key, d := range s.due {
		if d.Read && key.Trace == s.f.e.TraceID && d.first < earliest {
			origin, earliest = key, d.first
		}
	}
	return origin
}

// sorted lists what is due in the order in which the calls were first proposed.
func (s *spread) sorted() []Reexamination {
	out := make([]Reexamination, 0, len(s.due))
	for _, d := range s.due {
		slices.SortFunc(d.Items, func(a, b Item) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Value, b.Value)) })
		out = append(out, *d)
	}
	slices.SortFunc(out, func(a, b Reexamination) int {
		return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(a.Path.Trace, b.Path.Trace), cmp.Compare(a.Path.Call, b.Path.Call))
	})
	return out
}

// trace is the trace as this event leaves it so far.
func (f *fold) trace(id string) Trace {
	if t, written := f.w.Trace(id); written {
		return t
	}
	return f.view.Trace(id)
}

// note adds a reason to the record of an event that is not refused.
func (f *fold) note(code, text string, facts ...Fact) {
	f.rec.Reasons = append(f.rec.Reasons, normal(reason(code, text, facts...)))
}
