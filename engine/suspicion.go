package engine

import (
	"cmp"
	"slices"
)

// Suspicion is one item that a rejection made suspect, until a qualified
// reviewer clears it.
type Suspicion struct {
	Item
	Trace string // where the item was found
	Seq   uint64 // the entry that made it suspect
	Time  int64
	// Rejection is the seq of the rejection or incident behind it, Call the call
	// that it was of, By and Code whose word it was and why.
	Rejection uint64
	Call      PathKey
	By, Code  string
	// After is the release of the pulled-back call whose result the item is; only
	// calls first proposed after it can have taken the item from there. 0: every
	// call is meant, earlier and later.
	After uint64
}

// reaches reports whether the suspicion is of a call first proposed at an entry;
// 0 is one that has yet to be proposed.
func (s Suspicion) reaches(first uint64) bool { return first == 0 || first > s.After }

// Producer is a call whose results held a value.
type Producer struct {
	Call        string
	First, Last uint64 // seqs of the results
}

// Scopes of a re-examination, as the contract names them.
const (
	scopeTrace  = "trace"
	scopeWindow = "window"
)

// holdings is what a path's call holds: the context's items first, each value
// once. Arguments that never reach the journal are left out: a replay would not
// know them.
func (c *Contract) holdings(a *Action) []Item {
	hidden := c.Redact[a.Tool]
	out := make([]Item, 0, len(a.Holds))
	for _, h := range a.Holds {
		if h.Argument != "" && slices.Contains(hidden, h.Argument) {
			continue
		}
		if !slices.ContainsFunc(out, func(i Item) bool { return i.Value == h.Value }) {
			out = append(out, h.Item)
		}
	}
	return out
}

// redacts reports whether an argument of the action never reaches the journal.
func (c *Contract) redacts(a *Action) bool {
	return slices.ContainsFunc(c.Redact[a.Tool], func(name string) bool { _, given := a.Arguments[name]; return given })
}

// same is what a rejection of the action binds. The likeness of an action whose
// arguments are redacted is not known at replay: its call hash is.
func (c *Contract) same(a *Action) string {
	if c.redacts(a) {
		return a.CallHash
	}
	return a.likeness()
}

// suspects lists the suspect items that a call holds. Where nothing was ever
// suspect it reads nothing, or one key.
func suspects(c *Contract, v View, trace string, t *Trace, items []Item, first uint64) []Item {
	var found []Suspicion
	switch {
	case c.Reexamination == scopeTrace && t.Suspect:
		found = suspectIn(v, trace, items)
	case c.Reexamination == scopeWindow && v.Suspected():
		found = suspectAnywhere(v, items)
	}
	found = slices.DeleteFunc(found, func(s Suspicion) bool { return !s.reaches(first) })
	// One item for each value: the one that was suspect first.
	slices.SortFunc(found, func(a, b Suspicion) int {
		return cmp.Or(cmp.Compare(a.Value, b.Value), cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.Trace, b.Trace))
	})
	found = slices.CompactFunc(found, func(a, b Suspicion) bool { return a.Value == b.Value })
	if len(found) == 0 {
		return nil
	}
	out := make([]Item, len(found))
	for i, s := range found {
		out[i] = s.Item
	}
	slices.SortFunc(out, func(a, b Item) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Value, b.Value)) })
	return out
}

func suspectIn(v View, trace string, items []Item) (found []Suspicion) {
	for _, item := range items {
		if item.Kind == KindEverything {
			return v.Suspicions(trace)
		}
	}
	for _, item := range items {
		if s, ok := v.Suspicion(trace, item.Value); ok {
			found = append(found, s)
		}
	}
	return found
}

func suspectAnywhere(v View, items []Item) (found []Suspicion) {
	for _, item := range items {
		if item.Kind == KindEverything {
			return v.AllSuspicions()
		}
	}
	for _, item := range items {
		found = append(found, v.SuspicionsOf(item.Value)...)
	}
	return found
}
