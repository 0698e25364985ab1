package floors

import (
	"cmp"
	"context"
	"slices"

	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/rego"
)

// Clauses is a partial set of a bundle, such as its floors, ready to be
// evaluated. It is immutable and safe for concurrent use.
type Clauses struct {
	members []member
	byTool  map[string][]int // members whose every clause names the tool
	always  []int            // members that may apply to any tool
}

// member is one object of the set with the clauses that bring it about.
type member struct {
	key     map[string]string
	name    string
	clauses []rego.Clause
}

// NewClauses groups clauses by member, and members by tool, sorted by the
// member's value under the key name.
func NewClauses(clauses []rego.Clause, name string) *Clauses {
	c := &Clauses{byTool: map[string][]int{}}
	clauses = slices.Clone(clauses)
	slices.SortStableFunc(clauses, func(a, b rego.Clause) int {
		return cmp.Or(cmp.Compare(a.Key[name], b.Key[name]), cmp.Compare(a.Key["value"], b.Key["value"]))
	})
	for _, cl := range clauses {
		last := len(c.members) - 1
		if last < 0 || c.members[last].name != cl.Key[name] || c.members[last].key["value"] != cl.Key["value"] {
			c.members = append(c.members, member{key: cl.Key, name: cl.Key[name]})
			last++
		}
		c.members[last].clauses = append(c.members[last].clauses, cl)
	}
	for i := range c.members {
		c.index(i)
	}
	return c
}

func (c *Clauses) index(i int) {
	tools := map[string]bool{}
	for _, cl := range c.members[i].clauses {
		named, limited := toolsOf(cl.Atoms)
		if !limited {
			c.always = append(c.always, i)
			return
		}
		for _, t := range named {
			tools[t] = true
		}
	}
	for t := range tools {
		c.byTool[t] = append(c.byTool[t], i)
	}
}

// toolsOf lists the tools that a clause can apply to, where an atom says so.
func toolsOf(atoms []rego.Atom) (tools []string, limited bool) {
	for _, a := range atoms {
		if a.Negated || !isTool(a.Path) {
			continue
		}
		switch a.Op {
		case rego.Eq:
			name, _ := a.Value.(string)
			return []string{name}, true
		case rego.In:
			for _, v := range a.Values {
				name, _ := v.(string)
				tools = append(tools, name)
			}
			return tools, true
		}
	}
	return nil, false
}

func isTool(path []string) bool {
	return len(path) == 2 && path[0] == "action" && path[1] == "tool"
}

// Match is one member that holds or cannot be determined.
type Match struct {
	Key        map[string]string
	Determined bool
	Cut        string // timeout or cancelled, when an evaluation was cut short
	Rule       engine.Rule
	Facts      []engine.Fact
	Missing    []string // pointers to what was absent
}

// Matches lists the members that hold or cannot be determined, sorted by name.
// imposed reports members that a replay holds to have been cut short, with the
// code of the cut.
func (c *Clauses) Matches(ctx context.Context, in *engine.Input, imposed func(name string) string) []Match {
	candidates := c.always
	if own := c.byTool[in.Action.Tool]; len(own) > 0 {
		candidates = slices.Concat(c.always, own)
		slices.Sort(candidates)
	}
	e := evaluation{ctx: ctx, in: in}
	var out []Match
	for _, i := range candidates {
		m := &c.members[i]
		if code := imposed(m.name); code != "" {
			out = append(out, e.match(m, &m.clauses[0], result{t: undetermined, cut: code}))
			continue
		}
		if cl, r := e.member(m); r.t != no {
			out = append(out, e.match(m, cl, r))
		}
	}
	return out
}

// evaluation is one pass over the clauses. The input in OPA's form is made at
// most once, and only when a clause needs OPA.
type evaluation struct {
	ctx   context.Context
	in    *engine.Input
	input *rego.Input
}

type result struct {
	t   truth
	cut string
}

// member is the disjunction of the member's clauses: yes if any clause holds,
// undetermined if none does and any cannot be determined.
func (e *evaluation) member(m *member) (*rego.Clause, result) {
	var open *rego.Clause
	best := result{t: no}
	for i := range m.clauses {
		cl := &m.clauses[i]
		switch r := e.clause(cl); r.t {
		case yes:
			return cl, r
		case undetermined:
			if open == nil || best.cut == "" && r.cut != "" {
				open, best = cl, r
			}
		}
	}
	if best.cut != "" {
		// A replay that imposes the cut does not know which clause it was.
		open = &m.clauses[0]
	}
	return open, best
}

// clause evaluates one clause: a false atom first, then absent paths, then what
// only OPA understands.
func (e *evaluation) clause(c *rego.Clause) result {
	absent, failed := false, false
	for i := range c.Atoms {
		v, ok := e.in.Lookup(c.Atoms[i].Path)
		if !ok {
			absent = true
			continue
		}
		switch holds(&c.Atoms[i], v) {
		case no:
			return result{t: no}
		case undetermined:
			failed = true
		}
	}
	switch {
	case absent || c.Rest != "" && e.anyAbsent(c.Reads):
		return result{t: undetermined}
	case c.Rest != "":
		// What failed here may come after something false in OPA's order.
		return e.ask(c)
	case failed:
		return result{t: undetermined}
	}
	return result{t: yes}
}

func (e *evaluation) anyAbsent(paths [][]string) bool {
	return slices.ContainsFunc(paths, func(p []string) bool {
		_, ok := e.in.Lookup(p)
		return !ok
	})
}

// ask lets OPA evaluate the whole clause.
func (e *evaluation) ask(c *rego.Clause) result {
	if e.input == nil {
		in := rego.NewInput(e.in.Document())
		e.input = &in
	}
	holds, err := c.Holds(e.ctx, *e.input)
	if err != nil {
		r := result{t: undetermined}
		if f, ok := err.(*rego.Failure); ok && (f.Code == rego.Timeout || f.Code == rego.Cancelled) {
			r.cut = f.Code
		}
		return r
	}
	return result{t: claim(holds)}
}

func (e *evaluation) match(m *member, c *rego.Clause, r result) Match {
	out := Match{Key: m.key, Determined: r.t == yes, Cut: r.cut, Rule: c.Rule}
	for _, path := range c.Reads {
		pointer := engine.Pointer(path...)
		if v, ok := e.in.Lookup(path); ok {
			out.Facts = append(out.Facts, engine.NewFact(pointer, v))
		} else {
			out.Facts = append(out.Facts, engine.AbsentFact(pointer))
			out.Missing = append(out.Missing, pointer)
		}
	}
	return out
}

// Native counts the members that run without OPA, and lists why the others do
// not.
func (c *Clauses) Native() (native, total int, others []Other) {
	for _, m := range c.members {
		i := slices.IndexFunc(m.clauses, func(c rego.Clause) bool { return c.Rest != "" })
		if i < 0 {
			native++
		} else {
			others = append(others, Other{Name: m.name, Why: m.clauses[i].Rest, Rule: m.clauses[i].Rule})
		}
	}
	return native, len(c.members), others
}

// Other is a member that OPA evaluates, and the expression that is not a plain
// atom.
type Other struct {
	Name string
	Why  string
	Rule engine.Rule
}

// Names lists the members, sorted.
func (c *Clauses) Names() []string {
	names := make([]string, len(c.members))
	for i, m := range c.members {
		names[i] = m.name
	}
	return names
}
