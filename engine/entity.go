package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
)

// Entity is what a text or number in an argument names, as it is compared:
// exactly, and a text is never a number.
type Entity string

// EntityOf is the entity that a value names. Only texts and numbers name one.
func EntityOf(v any) (Entity, bool) {
	switch v := v.(type) {
	case string:
		if len(v) > longValue {
			sum := sha256.Sum256([]byte(v))
			return Entity("long:" + hex.EncodeToString(sum[:])), true
		}
		return Entity("text:" + v), true
	case float64:
		if v == 0 {
			v = 0 // there is no negative zero in canonical bytes
		}
		return Entity("number:" + strconv.FormatFloat(v, 'g', -1, 64)), true
	}
	return "", false
}

// EntityRecord says whether an entity is approved for a tool since an entry.
type EntityRecord struct {
	Approved bool
	Seq      uint64
}

// mention is an entity at one place of a call.
type mention struct {
	Entity
	path  string
	value any
}

// maxMentions is how many different entities of one call are looked up. Novelty
// is not determined where there are more.
const maxMentions = 256

// mentions lists every different entity that the arguments of a call name, in
// the order of the arguments' names. Arguments that the registry marks
// read-only are left out. The keys of an object count as its values do: a tool
// that takes a table finds names in either.
func (t *Tool) mentions(arguments map[string]any) []mention {
	m := mentioned{}
	for _, name := range slices.Sorted(maps.Keys(arguments)) {
		if !slices.Contains(t.ReadOnly, name) {
			m.value(argumentPath(name), arguments[name])
		}
	}
	return m.list
}

type mentioned struct {
	list []mention
	seen map[Entity]bool
}

func (m *mentioned) value(path string, v any) {
	switch v := v.(type) {
	case []any:
		for i, item := range v {
			m.value(path+"/"+strconv.Itoa(i), item)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			m.add(path+Pointer(key), key)
			m.value(path+Pointer(key), v[key])
		}
	default:
		m.add(path, v)
	}
}

func (m *mentioned) add(path string, v any) {
	if m.seen == nil {
		m.seen = map[Entity]bool{}
	}
	if e, ok := EntityOf(v); ok && !m.seen[e] {
		m.seen[e] = true
		m.list = append(m.list, mention{e, path, v})
	}
}

// approvedFor reports whether an entity is approved for a tool: what was
// recorded last counts, else what the contract seeds.
func (c *Contract) approvedFor(tool string, e Entity, recorded map[Entity]bool) bool {
	if approved, known := recorded[e]; known {
		return approved
	}
	return slices.Contains(c.ApprovedEntities[tool], e)
}

// novel lists what the call names that nobody approved for its tool.
func (c *Contract) novel(t *Tool, in *Input) (list []mention, determined bool) {
	all := t.mentions(in.Action.Arguments)
	if len(all) > maxMentions {
		return nil, false
	}
	for _, m := range all {
		if !c.approvedFor(in.Action.Tool, m.Entity, in.State.Entities) {
			list = append(list, m)
		}
	}
	return list, true
}

func entities(list []mention) []Entity {
	out := make([]Entity, len(list))
	for i, m := range list {
		out[i] = m.Entity
	}
	return out
}

// recall reads what is recorded of the entities that a call names, for a tool
// under a critic, and returns them.
func (f *fold) recall(a *Action, s *State) []Entity {
	if !f.contract.Critic.covers(a.Tool) {
		return nil
	}
	t, _ := f.policy.Tool(a.Tool)
	named := entities(t.mentions(a.Arguments))
	if len(named) > maxMentions {
		return named
	}
	s.Entities = map[Entity]bool{}
	for _, e := range named {
		if r, ok := f.view.Entity(a.Tool, e); ok {
			s.Entities[e] = r.Approved
		}
	}
	return named
}

// look finds again what the decision found new: a recorded decision does not
// say.
func (f *fold) look(in *Input) {
	if f.contract.Critic.covers(in.Action.Tool) {
		t, _ := f.policy.Tool(in.Action.Tool)
		novel, _ := f.contract.novel(&t, in)
		in.novel = entities(novel)
	}
}

// vouch records that a person or a verifier approved what a released call
// names. A call that merely ran approves nothing.
func (f *fold) vouch(d *Decision, in *Input, named []Entity) {
	verified := slices.ContainsFunc(d.Gate(Structure).Reasons, func(r Reason) bool { return r.Code == simulationPassed })
	if !d.Permit || len(named) > maxMentions || d.Boundary != RequireReview && !verified {
		return
	}
	for _, e := range named {
		if !in.State.Entities[e] {
			f.w.Entities = append(f.w.Entities, EntityWrite{in.Action.Tool, e, EntityRecord{true, Self}})
		}
	}
}

// disown takes back the approval of everything that a path's call names, for
// every tool under a critic: the call that holds it was wrong.
func (f *fold) disown(path *Path) {
	if f.contract.Critic == nil {
		return
	}
	named := f.named(path)
	for _, tool := range f.contract.Critic.Tools {
		for _, e := range named {
			recorded := map[Entity]bool{}
			if r, ok := f.view.Entity(tool, e); ok {
				recorded[e] = r.Approved
			}
			if f.contract.approvedFor(tool, e, recorded) {
				f.w.Entities = append(f.w.Entities, EntityWrite{tool, e, EntityRecord{false, Self}})
			}
		}
	}
}

// named lists what the call of a path names, whatever its tool, in its arguments
// and in its context. Arguments that never reach the journal are left out: a
// replay would not know them.
func (f *fold) named(path *Path) []Entity {
	var call struct {
		Arguments map[string]any `json:"arguments"`
		Context   map[string]any `json:"context"`
	}
	if err := json.Unmarshal(path.Canonical, &call); err != nil {
		return nil // a path that was never proposed names nothing
	}
	for _, name := range f.contract.Redact[path.Tool] {
		delete(call.Arguments, name)
	}
	t, _ := f.policy.Tool(path.Tool)
	out := entities(t.mentions(call.Arguments))
	m := mentioned{}
	for _, name := range slices.Sorted(maps.Keys(call.Context)) {
		m.value(name, call.Context[name])
	}
	for _, e := range entities(m.list) {
		if !slices.Contains(out, e) {
			out = append(out, e)
		}
	}
	return out
}
