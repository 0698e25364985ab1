package action

import (
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/conjunct-project/conjunct/engine"
)

const (
	// maxHeld bounds how many values of one call are told apart. A call of more
	// counts as one that holds everything.
	maxHeld = 1024
	// maxValue is the size in bytes above which a digest stands for a value.
	maxValue = 128
)

// Value is how a value is looked up: its normal form, or the digest of a long
// one. An empty value is nothing that could be held.
func Value(s string) string {
	if s = Normal(s); len(s) > maxValue {
		return Hash([]byte(s))
	}
	return s
}

// held lists what a call is built on: each item of its context, and every text,
// number and key that stands whole in an argument, however deep. It is in the order
// of the context and then of the arguments' names.
func held(a *engine.Action) []engine.Held {
	h := holder{list: make([]engine.Held, 0, 8)}
	h.add(engine.KindTarget, "", a.Context.TargetEntity)
	h.add(engine.KindRecord, "", a.Context.SourceRecord)
	for _, item := range a.Context.RetrievedContext {
		h.add(engine.KindRetrieved, "", item)
	}
	for _, name := range slices.Sorted(maps.Keys(a.Arguments)) {
		h.argument(name, a.Arguments[name])
	}
	if h.more {
		h.list = append(h.list[:maxHeld:maxHeld], engine.Held{Item: engine.Item{Kind: engine.KindEverything}})
	}
	return h.list
}

type holder struct {
	list []engine.Held
	seen map[engine.Held]bool // filled when the list is too long to be searched
	more bool
}

// searched is the length up to which a list is searched and no map made.
const searched = 32

func (h *holder) add(kind, argument, s string) {
	if h.more {
		return
	}
	held := engine.Held{Item: engine.Item{Kind: kind, Value: Value(s)}, Argument: argument}
	if held.Value == "" || h.has(held) {
		return
	}
	h.list = append(h.list, held)
	if h.seen != nil {
		h.seen[held] = true
	}
	h.more = len(h.list) > maxHeld
}

func (h *holder) has(held engine.Held) bool {
	if len(h.list) <= searched {
		return slices.Contains(h.list, held)
	}
	if h.seen == nil {
		h.seen = make(map[engine.Held]bool, 2*searched)
		for _, have := range h.list {
			h.seen[have] = true
		}
	}
	return h.seen[held]
}

func (h *holder) argument(name string, v any) {
	switch v := v.(type) {
	case string:
		h.add(engine.KindArgument, name, v)
	case float64:
		h.add(engine.KindArgument, name, string(jsontext.AppendFloat(nil, v, 64)))
	case []any:
		for _, e := range v {
			h.argument(name, e)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			// A list by name holds what it names.
			h.add(engine.KindArgument, name, key)
			h.argument(name, v[key])
		}
	}
}

// likeness is the hash of the call with every text in its normal form and the
// retrieved context as a set: what a call and its trivial changes share. It is
// the call hash where nothing is to be changed.
func likeness(a *engine.Action, size int) string {
	n := normalizer{}
	same := *a
	same.Agent = engine.Agent{ID: strings.ToLower(a.Agent.ID), Component: strings.ToLower(a.Agent.Component)}
	n.changed = same.Agent != a.Agent
	same.Arguments = n.object(a.Arguments)
	same.Context.TargetEntity, same.Context.SourceRecord = n.text(a.Context.TargetEntity), n.text(a.Context.SourceRecord)
	same.Context.RetrievedContext = n.set(a.Context.RetrievedContext)
	same.Plan = n.plan(a.Plan)
	if !n.changed {
		return a.CallHash
	}
	return Hash(callBytes(&same, size))
}

// normalizer takes values to their normal form and notes whether that changed
// any.
type normalizer struct{ changed bool }

func (n *normalizer) text(s string) string {
	normal := Normal(s)
	n.changed = n.changed || normal != s
	return normal
}

// value is the normal form of a value. It is the value itself where nothing
// changes.
func (n *normalizer) value(v any) any {
	switch v := v.(type) {
	case string:
		return n.text(v)
	case []any:
		out, copied := v, false
		for i, e := range v {
			inner := normalizer{}
			if e = inner.value(e); inner.changed {
				if !copied {
					out, copied = slices.Clone(v), true
				}
				out[i], n.changed = e, true
			}
		}
		return out
	case map[string]any:
		return n.object(v)
	}
	return v
}

func (n *normalizer) object(m map[string]any) map[string]any {
	out, copied := m, false
	for key, v := range m {
		inner := normalizer{}
		if v = inner.value(v); inner.changed {
			if !copied {
				out, copied = maps.Clone(m), true
			}
			out[key], n.changed = v, true
		}
	}
	var spelt []string // names that are not in their normal form
	for key := range m {
		if Normal(key) != key {
			spelt = append(spelt, key)
		}
	}
	slices.Sort(spelt)
	for _, key := range spelt {
		name := Normal(key)
		// Two names that differ in nothing else stay two.
		if _, taken := out[name]; taken {
			continue
		}
		if !copied {
			out, copied = maps.Clone(m), true
		}
		out[name], n.changed = out[key], true
		delete(out, key)
	}
	return out
}

func (n *normalizer) set(list []string) []string {
	if list == nil {
		return nil
	}
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = n.text(s)
	}
	n.changed = n.changed || !slices.IsSortedFunc(out, func(a, b string) int {
		if c := strings.Compare(a, b); c != 0 {
			return c
		}
		return 1 // a duplicate is out of order too
	})
	slices.Sort(out)
	return slices.Compact(out)
}

func (n *normalizer) plan(p *engine.Plan) *engine.Plan {
	if p == nil {
		return nil
	}
	steps := slices.Clone(p.Steps)
	for i := range steps {
		s := &steps[i]
		for _, text := range []*string{&s.ID, &s.Tool, &s.Precondition, &s.Postcondition, &s.Assertion} {
			*text = n.text(*text)
		}
		s.Arguments = n.object(s.Arguments)
	}
	return &engine.Plan{Steps: steps}
}
