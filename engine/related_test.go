package engine

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// field is a few traces of calls that hold a few values, and what happens to
// them. Beside the fold it keeps the plain history: every call, result and
// suspicion, each in a list.
type field struct {
	t      *rapid.T
	p      *fakePolicy
	state  *memory
	seq    uint64
	now    int64
	calls  []*fieldCall
	wary   []fieldSuspicion
	looked []SecondLook // what the last event made due
}

// fieldCall is a call as the history knows it.
type fieldCall struct {
	key     PathKey
	attempt Attempt
	context []string // values in its context
	args    []string // values in its arguments
	first   uint64
	time    int64
	results []fieldResult
}

type fieldResult struct {
	seq    uint64
	values []string
}

type fieldSuspicion struct {
	trace, value string
	after        uint64
}

var fieldValues = []string{"a", "b", "c", "d", "e"}

func newField(t *rapid.T, scope string) *field {
	p := newFake()
	p.contract.Reexamination, p.contract.Window = scope, 5
	p.contract.Start.Settings["capacity"] = 3.0
	return &field{t: t, p: p, state: newMemory(), now: 100}
}

func (f *field) pick(n int, label string) int { return rapid.IntRange(0, n-1).Draw(f.t, label) }

func (f *field) some(label string) []string {
	return rapid.SliceOfNDistinct(rapid.SampledFrom(fieldValues), 0, 2, rapid.ID).Draw(f.t, label)
}

// fold folds an event a little later, with everything that it makes due.
func (f *field) fold(e Event) Record {
	f.now += int64(f.pick(3, "later"))
	return f.at(f.now, e)
}

func (f *field) step(e Event) Record {
	rec, w := Step(context.Background(), governed{f.p}, f.state, &e)
	again, w2 := Step(context.Background(), governed{f.p}, f.state, &e)
	if !reflect.DeepEqual(rec, again) || !reflect.DeepEqual(w, w2) {
		f.t.Fatalf("%v folded twice differs", e.Op)
	}
	f.seq++
	rec.Stamp(f.seq)
	w.Stamp(f.seq)
	f.state.apply(w)
	return rec
}

func (f *field) call(key PathKey) *fieldCall {
	for _, c := range f.calls {
		if c.key == key {
			return c
		}
	}
	f.t.Fatalf("no call %v", key)
	return nil
}

func (f *field) path(c *fieldCall) Path { return f.state.Path(c.key.Trace, c.key.Call) }

// propose proposes a new call, or an old one again, and holds what is suspect
// about it to the history.
func (f *field) propose() {
	tool := []string{toolNote, toolLook, toolRevoke, toolUpdate}[f.pick(4, "tool")]
	trace := []string{"T", "U"}[f.pick(2, "trace")]
	c := &fieldCall{context: f.some("context"), args: f.some("args")}
	if len(f.calls) > 0 && f.pick(4, "again") == 0 {
		c = f.calls[f.pick(len(f.calls), "which")]
	} else {
		hash := fmt.Sprint(tool, c.context, c.args)
		c.key = PathKey{trace, hash}
		a := Action{TraceID: trace, CallID: fmt.Sprint(tool, " ", len(f.calls)), Agent: Agent{ID: "agent"}, Tool: tool, Arguments: map[string]any{}, Confidence: new(0.9), CallHash: hash}
		kinds := []string{KindTarget, KindRetrieved}
		for i, v := range c.context {
			a.Holds = append(a.Holds, Held{Item: Item{kinds[i], v}})
		}
		for _, v := range c.args {
			a.Holds = append(a.Holds, Held{Item: Item{KindArgument, v}, Argument: "x"})
		}
		c.attempt = Attempt{Action: a, Facts: map[string]any{}, FactsHash: "f"}
		known := slices.IndexFunc(f.calls, func(o *fieldCall) bool { return o.key == c.key })
		if known >= 0 {
			c = f.calls[known]
		}
	}
	want := f.suspectValues(c)
	rec := f.fold(Event{Op: OpAttempt, Attempt: c.attempt})
	if c.first == 0 {
		c.first = f.seq
		f.calls = append(f.calls, c)
	}
	c.time = f.now
	if c.attempt.Action.Tool == toolLook {
		return
	}
	var got []string
	for _, r := range rec.Decision.Reasons {
		if r.Code == "suspect_context" {
			got = append(got, fmt.Sprint(r.Facts[0].Value))
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		f.t.Fatalf("%v is decided with %v suspect, want %v", c.key, got, want)
	}
	if len(want) > 0 && rec.Decision.Tier == Execute {
		f.t.Fatalf("%v runs at %v on suspect context", c.key, rec.Decision.Tier)
	}
}

// suspectValues is what is suspect of a call, from the history.
func (f *field) suspectValues(c *fieldCall) (out []string) {
	for _, v := range fieldValues {
		if c.holds(v) && slices.ContainsFunc(f.wary, func(s fieldSuspicion) bool { return f.meets(s, c, v) }) {
			out = append(out, v)
		}
	}
	return out
}

// meets reports whether a suspicion is of a value for a call: in its scope, and
// not of a result that came after it.
func (f *field) meets(s fieldSuspicion, c *fieldCall, v string) bool {
	inScope := s.trace == c.key.Trace || f.p.contract.Reexamination == scopeWindow
	return inScope && s.value == v && (c.first == 0 || c.first > s.after)
}

func (c *fieldCall) holds(v string) bool {
	return slices.Contains(c.context, v) || slices.Contains(c.args, v)
}

// expectation is what a rejection should come to.
type expectation struct {
	items  map[PathKey][]string
	effect map[PathKey]Reexamined
	origin PathKey
	wary   []fieldSuspicion
}

// reject says from the history and the letter of the design what a rejection of
// a call should come to. It looks at every call for every value until nothing
// more comes of it.
func (f *field) reject(r *fieldCall) expectation {
	e := expectation{items: map[PathKey][]string{}, effect: map[PathKey]Reexamined{}}
	if f.p.contract.Reexamination == "off" {
		return e
	}
	seeds := slices.Clone(r.context)
	for _, v := range r.args {
		if slices.ContainsFunc(f.calls, func(c *fieldCall) bool { return c.key.Trace == r.key.Trace && c.first < r.first && c.gave(v) }) {
			seeds = append(seeds, v)
		}
	}
	for _, v := range seeds {
		e.wary = append(e.wary, fieldSuspicion{r.key.Trace, v, 0})
	}
	for before := -1; before != len(e.wary); {
		before = len(e.wary)
		for _, s := range slices.Clone(e.wary) {
			for _, c := range f.calls {
				f.consider(&e, s, c, r)
			}
		}
	}
	e.origin = f.origin(&e, seeds, r)
	return e
}

func (c *fieldCall) gave(v string) bool {
	return slices.ContainsFunc(c.results, func(r fieldResult) bool { return slices.Contains(r.values, v) })
}

func (f *field) consider(e *expectation, s fieldSuspicion, c, r *fieldCall) {
	elsewhere := c.key.Trace != r.key.Trace
	_, bound := f.state.Standing[c.key.Call]
	switch {
	case c == r, bound, !c.holds(s.value), c.first <= s.after:
		return
	case elsewhere && (f.p.contract.Reexamination != scopeWindow || f.now-c.time > f.p.contract.Window):
		return
	case slices.ContainsFunc(f.wary, func(old fieldSuspicion) bool { return f.meets(old, c, s.value) }):
		return
	}
	if !slices.Contains(e.items[c.key], s.value) {
		e.items[c.key] = append(e.items[c.key], s.value)
	}
	path := f.path(c)
	switch {
	case c.attempt.Action.Tool == toolLook:
		e.effect[c.key] = FlaggedRead
		return
	case path.Runs > 0:
		e.effect[c.key] = PulledBack
	case path.Approval != nil:
		e.effect[c.key] = PulledBack
		return
	default:
		e.effect[c.key] = DecidedAgain
		return
	}
	for _, result := range c.results {
		for _, v := range result.values {
			down := fieldSuspicion{c.key.Trace, v, path.Ran}
			if !slices.Contains(e.wary, down) {
				e.wary = append(e.wary, down)
			}
		}
	}
}

// origin is the read that the suspect values came from.
func (f *field) origin(e *expectation, seeds []string, r *fieldCall) (origin PathKey) {
	latest := uint64(0)
	for _, c := range f.calls {
		if c.attempt.Action.Tool != toolLook || c.key.Trace != r.key.Trace || c.first >= r.first {
			continue
		}
		for _, v := range seeds {
			if !c.gave(v) {
				continue
			}
			last := uint64(0)
			for _, result := range c.results {
				if slices.Contains(result.values, v) {
					last = result.seq
				}
			}
			if last >= r.first {
				last = c.first
			}
			if last > latest {
				origin, latest = c.key, last
			}
		}
	}
	if origin != (PathKey{}) {
		return origin
	}
	for _, c := range f.calls { // in the order of their first proposal
		if e.effect[c.key] == FlaggedRead && len(e.items[c.key]) > 0 && c.key.Trace == r.key.Trace && c.first < r.first {
			return c.key
		}
	}
	return PathKey{}
}

// compare holds what was looked at again to what should have been.
func (f *field) compare(e expectation, known bool) {
	got := map[PathKey][]string{}
	var order []uint64
	origin := PathKey{}
	for _, look := range f.looked {
		c := f.call(look.Path)
		order = append(order, c.first)
		if look.Origin {
			origin = look.Path
		}
		if len(e.items[look.Path]) == 0 {
			if !look.Origin || look.Effect != FlaggedRead {
				f.t.Fatalf("%v was looked at again (%v) and is not related", look.Path, look.Items)
			}
			continue
		}
		var values []string
		for _, i := range look.Items {
			values = append(values, i.Value)
		}
		slices.Sort(values)
		got[look.Path] = values
		if look.Effect != e.effect[look.Path] {
			f.t.Fatalf("%v: %v, want %v", look.Path, look.Effect, e.effect[look.Path])
		}
	}
	for key := range e.items {
		slices.Sort(e.items[key])
	}
	if !maps.EqualFunc(got, e.items, slices.Equal) {
		f.t.Fatalf("looked again at %v, want %v", got, e.items)
	}
	if !slices.IsSorted(order) {
		f.t.Fatalf("looked at again in the order %v", order)
	}
	if origin != e.origin && !(known && origin == (PathKey{})) {
		f.t.Fatalf("origin %v, want %v", origin, e.origin)
	}
}

// flaggedOrigin reports whether a read was flagged as an origin already.
func (f *field) flaggedOrigin(key PathKey) bool {
	flag := f.state.Path(key.Trace, key.Call).Flagged
	return flag != nil && flag.Origin
}

// happen is one thing that happens.
func (f *field) happen() {
	if len(f.calls) == 0 {
		f.propose()
		return
	}
	c := f.calls[f.pick(len(f.calls), "call")]
	e := Event{TraceID: c.key.Trace, Call: c.key.Call, CallID: c.attempt.Action.CallID, By: Identity{Name: "ada", Role: "reviewer", Qualified: true}}
	switch n := f.pick(12, "what"); {
	case n < 5:
		f.propose()
	case n < 7:
		e.Op, e.Result = OpResult, ResultEvent{Status: ResultOK, Recoverable: true, Values: f.some("produced")}
		f.result(c, e)
	case n == 7:
		e.Op, e.Result = OpResult, ResultEvent{Status: NotRun}
		f.fold(e)
	case n == 8:
		e.Op, e.Review = OpReview, ReviewEvent{Outcome: Approve}
		f.fold(e)
	case n == 9:
		e.Op, e.Result = OpResult, ResultEvent{Incident: "other"}
		f.rejected(c, e)
	case n == 10 && len(f.wary) > 0:
		s := f.wary[f.pick(len(f.wary), "suspicion")]
		f.fold(Event{Op: OpClear, TraceID: s.trace, By: e.By, Answer: Answer{Item: Item{Value: s.value}}})
		f.wary = slices.DeleteFunc(f.wary, func(o fieldSuspicion) bool {
			return o.value == s.value && (o.trace == s.trace || f.p.contract.Reexamination == scopeWindow)
		})
	default:
		e.Op, e.Review = OpReview, ReviewEvent{Outcome: Reject}
		f.rejected(c, e)
	}
}

// rejected folds a rejection or an incident and compares what comes of it.
func (f *field) rejected(c *fieldCall, e Event) {
	f.now += int64(f.pick(3, "later"))
	want := f.reject(c)
	known := f.flaggedOrigin(want.origin)
	rec := f.at(f.now, e)
	if rec.Invalid != "" {
		if len(f.looked) > 0 {
			f.t.Fatalf("an invalid %v makes %v due", e.Op, f.looked)
		}
		return
	}
	f.compare(want, known)
	f.wary = append(f.wary, want.wary...)
}

// at folds an event at a time, with everything that it makes due.
func (f *field) at(now int64, e Event) Record {
	e.Time = now
	rec := f.step(e)
	f.looked = nil
	for _, due := range rec.Due {
		again := Event{Op: OpReexamine, Time: now, TraceID: due.Path.Trace, Call: due.Path.Call, CallID: due.CallID, Reexamine: due}
		if !due.Read {
			again.Attempt = f.call(due.Path).attempt
		}
		r := f.step(again)
		if r.Second == nil || r.Invalid != "" || len(r.Due) != 0 {
			f.t.Fatalf("looking again at %+v gives %+v", due, r)
		}
		if r.Decision != nil && (r.Decision.Permit || r.Decision.Notify) {
			f.t.Fatalf("a call that was looked at again is permitted: %+v", r.Decision)
		}
		f.looked = append(f.looked, *r.Second)
	}
	return rec
}

// result folds a result; that of a call that was pulled back spreads.
func (f *field) result(c *fieldCall, e Event) {
	path := f.path(c)
	rec := f.fold(e)
	if rec.Invalid != "" {
		return
	}
	c.results = append(c.results, fieldResult{rec.Seq, e.Result.Values})
	if path.Pulled == nil || path.Pulled.Answer != "" {
		if len(f.looked) > 0 {
			f.t.Fatalf("the result of a call that was not pulled back makes %v due", f.looked)
		}
		return
	}
	for _, look := range f.looked {
		if f.call(look.Path).first <= path.Ran {
			f.t.Fatalf("the result of %v spreads to %v, which came before it ran", c.key, look.Path)
		}
	}
	for _, v := range e.Result.Values {
		f.wary = append(f.wary, fieldSuspicion{c.key.Trace, v, path.Ran})
	}
}

func TestWhatARejectionReopensIsWhatTheHistorySays(t *testing.T) {
	for _, scope := range []string{scopeTrace, scopeWindow, "off"} {
		t.Run(scope, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				f := newField(t, scope)
				for range rapid.IntRange(5, 40).Draw(t, "events") {
					f.happen()
				}
			})
		})
	}
}
