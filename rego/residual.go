package rego

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"

	"github.com/conjunct-project/conjunct/engine"
)

// Op is what an atom asks of the value at a path.
type Op uint8

const (
	Truthy Op = iota // the value is there and not false
	Eq
	Neq
	Lt
	Lte
	Gt
	Gte
	In        // the value is one of Values
	HasPrefix // builtin startswith
	HasSuffix // builtin endswith
	Contains  // builtin contains
)

// Atom is one plain condition on one input path.
type Atom struct {
	Op      Op
	Negated bool
	Path    []string
	// Value is a string, float64, bool or nil; for In, Values holds them.
	Value  any
	Values []any
}

// Clause is one way in which a member of a partial set comes about: all its
// atoms, and the rest that is not made of atoms.
type Clause struct {
	Key   map[string]string // the member: an object of strings
	Rule  engine.Rule       // the source rule
	Atoms []Atom
	// Reads lists every input path the clause reads, the rest's included.
	Reads [][]string
	// Rest tells why the clause is not made of atoms alone; empty when it is.
	Rest string
	rest *lazyQuery
}

// lazyQuery is compiled at load where the clause needs OPA, and otherwise only
// when somebody asks OPA all the same.
type lazyQuery struct {
	prepare func() (query, error)
	once    sync.Once
	q       query
	err     error
}

func (l *lazyQuery) ready() (query, error) {
	l.once.Do(func() { l.q, l.err = l.prepare() })
	return l.q, l.err
}

// Holds evaluates the whole clause in OPA. The error is a *Failure.
func (c *Clause) Holds(ctx context.Context, in Input) (bool, error) {
	if c.rest == nil {
		return true, ctx.Err() // a member that depends on nothing
	}
	q, err := c.rest.ready()
	if err != nil {
		return false, &Failure{EvalError, err.Error()}
	}
	_, err = q.eval(ctx, in)
	if f, ok := err.(*Failure); ok && f.Code == Undefined {
		return false, nil
	}
	return err == nil, err
}

// Residuals evaluates a partial set of objects as far as it goes without an
// input, and returns what is left as clauses, in no particular order. Every
// member must be an object of constant strings under exactly the given keys.
func (p *Program) Residuals(entry string, keys ...string) ([]Clause, []Problem) {
	sources := p.rules[entry]
	if len(sources) == 0 {
		return nil, nil
	}
	for _, r := range sources {
		if len(r.Head.Ref()) != 1 {
			return nil, []Problem{at(r.Location, "rego_wrong_kind", fmt.Sprintf("%s is one set: a rule named %s adds nothing to it", entry, r.Head.Ref()), "write `"+ruleName(r)+" contains {...} if ...`")}
		}
		if r.Head.RuleKind() != ast.MultiValue {
			return nil, []Problem{at(r.Location, "rego_wrong_kind", fmt.Sprintf("%s must be a set: write `%s contains {...} if ...`", entry, ruleName(r)), "")}
		}
	}
	ref := "data.conjunct." + entry
	pq, err := rego.New(rego.Query(ref), rego.Compiler(p.loose), rego.Store(p.store), rego.StrictBuiltinErrors(true),
		rego.Unknowns([]string{"input"})).Partial(context.Background())
	if err != nil {
		return nil, fromOPA(err)
	}
	r := &residuals{program: p, entry: entry, keys: keys, sources: sources}
	r.support(pq)
	return r.read(pq)
}

type residuals struct {
	program  *Program
	entry    string
	keys     []string
	sources  []*ast.Rule
	compiler *ast.Compiler // of the support modules
	problems []Problem
}

// support compiles the modules that partial evaluation leaves behind.
func (r *residuals) support(pq *rego.PartialQueries) {
	modules := maps.Clone(r.program.modules)
	for i, m := range pq.Support {
		modules[fmt.Sprintf("residual_%d.rego", i)] = m
	}
	clauses := &ast.Module{Package: &ast.Package{Path: clausePackage}}
	for _, rule := range r.rules(pq) {
		name := ast.Var(fmt.Sprintf("c%d", len(clauses.Rules)))
		head := ast.NewHead(name, nil, ast.BooleanTerm(true))
		clauses.Rules = append(clauses.Rules, &ast.Rule{Head: head, Body: rule.Body.Copy(), Module: clauses, Location: r.sources[0].Location})
	}
	if len(clauses.Rules) > 0 {
		modules["clauses.rego"] = clauses
	}
	r.compiler = ast.NewCompiler().WithCapabilities(capabilities()).WithDefaultRegoVersion(ast.RegoV1)
	r.compiler.Compile(modules)
	if r.compiler.Failed() {
		r.problems = append(r.problems, fromOPA(r.compiler.Errors)...)
	}
}

// read turns the residual rules into clauses. Where nothing depends on the
// input, OPA leaves no rules, and the set itself is what is left.
func (r *residuals) read(pq *rego.PartialQueries) ([]Clause, []Problem) {
	if len(r.problems) > 0 {
		return nil, r.problems
	}
	partial := "data.partial.conjunct." + r.entry
	left := len(pq.Queries) == 1 && pq.Queries[0].String() == partial
	if !left {
		return r.constants()
	}
	var clauses []Clause
	for i, rule := range r.rules(pq) {
		if c, ok := r.clause(i, rule); ok {
			clauses = append(clauses, c)
		}
	}
	return clauses, r.problems
}

func (r *residuals) rules(pq *rego.PartialQueries) (out []*ast.Rule) {
	partial := "data.partial.conjunct." + r.entry
	for _, m := range pq.Support {
		for _, rule := range m.Rules {
			if rule.Ref().String() == partial {
				out = append(out, rule)
			}
		}
	}
	return out
}

var clausePackage = ast.MustParseRef("data.conjunct_clauses")

// constants returns a clause without conditions for each member of a set that
// does not depend on the input.
func (r *residuals) constants() ([]Clause, []Problem) {
	v, err := r.program.Eval(context.Background(), r.entry, NewInput(map[string]any{}))
	if err != nil {
		return nil, []Problem{at(r.sources[0].Location, "rego_evaluation", err.Error(), "")}
	}
	members, _ := v.([]any)
	var clauses []Clause
	for _, m := range members {
		term, err := ast.InterfaceToValue(m)
		if err != nil {
			continue
		}
		if key, ok := r.key(ast.NewTerm(term), r.sources[0].Location); ok {
			clauses = append(clauses, Clause{Key: key, Rule: r.source(key)})
		}
	}
	return clauses, r.problems
}

func (r *residuals) clause(i int, rule *ast.Rule) (Clause, bool) {
	key, ok := r.key(rule.Head.Key, r.guess(rule))
	if !ok {
		return Clause{}, false
	}
	c := Clause{Key: key, Rule: r.source(key), Reads: inputPaths(r.compiler, rule.Body)}
	for _, e := range rule.Body {
		if isTrue(e) {
			continue
		}
		if a, ok := atom(e); ok {
			c.Atoms = append(c.Atoms, a)
		} else if c.Rest == "" {
			c.Rest = e.String()
		}
	}
	c.rest = &lazyQuery{prepare: func() (query, error) { return r.program.compileClause(r.compiler, i) }}
	if c.Rest != "" {
		if _, err := c.rest.ready(); err != nil {
			r.problems = append(r.problems, Problem{File: c.Rule.File, Row: c.Rule.Row, Code: "rego_residual", Message: err.Error()})
			return Clause{}, false
		}
	}
	return c, true
}

func (p *Program) compileClause(c *ast.Compiler, i int) (query, error) {
	prepared, err := rego.New(rego.Query(fmt.Sprintf("data.conjunct_clauses.c%d", i)), rego.Compiler(c), rego.Store(p.store), rego.StrictBuiltinErrors(true)).
		PrepareForEval(context.Background())
	return query{prepared}, err
}

// guess is the place to blame for a member that is not constant: the first
// source rule whose head is not constant.
func (r *residuals) guess(*ast.Rule) *ast.Location {
	for _, s := range r.sources {
		if !s.Head.Key.IsGround() {
			return s.Location
		}
	}
	return r.sources[0].Location
}

// key reads a member: an object with exactly the wanted keys and constant
// strings.
func (r *residuals) key(t *ast.Term, loc *ast.Location) (map[string]string, bool) {
	want := strings.Join(r.keys, ", ")
	obj, ok := t.Value.(ast.Object)
	if !ok {
		r.problems = append(r.problems, at(loc, "rego_member", fmt.Sprintf("a member of %s must be an object with %s", r.entry, want), ""))
		return nil, false
	}
	key := map[string]string{}
	obj.Foreach(func(k, v *ast.Term) {
		name, _ := k.Value.(ast.String)
		value, isText := v.Value.(ast.String)
		switch {
		case !slices.Contains(r.keys, string(name)):
			r.problems = append(r.problems, at(loc, "rego_member", fmt.Sprintf("a member of %s has no key %s", r.entry, k), engine.DidYouMean(string(name), r.keys)))
		case !isText:
			r.problems = append(r.problems, at(loc, "rego_member", fmt.Sprintf("%s of a member of %s must be a constant string, not %s", name, r.entry, v), "it may come from data, and not from the input"))
		default:
			key[string(name)] = string(value)
		}
	})
	if len(key) != len(r.keys) && obj.Len() < len(r.keys) {
		r.problems = append(r.problems, at(loc, "rego_member", fmt.Sprintf("a member of %s must have %s", r.entry, want), ""))
	}
	return key, len(key) == len(r.keys) && obj.Len() == len(r.keys)
}

// source finds the rule a member comes from: partial evaluation loses places
// and titles and reorders, so it is found again by the constant first key.
func (r *residuals) source(key map[string]string) engine.Rule {
	var open *ast.Rule
	for _, s := range r.sources {
		obj, ok := s.Head.Key.Value.(ast.Object)
		if !ok {
			open = s
			continue
		}
		same := true
		for _, k := range r.keys {
			v := obj.Get(ast.StringTerm(k))
			if v == nil {
				same = false
			} else if text, constant := v.Value.(ast.String); constant && string(text) != key[k] {
				same = false
			}
		}
		switch {
		case same && s.Head.Key.IsGround():
			return r.program.place(s, r.entry)
		case same:
			open = s
		}
	}
	if open == nil {
		open = r.sources[0]
	}
	return r.program.place(open, r.entry)
}

// place is where a rule stands, with the title of its METADATA.
func (p *Program) place(r *ast.Rule, entry string) engine.Rule {
	out := engine.Rule{Path: "data.conjunct." + entry}
	if r.Location != nil {
		out.File, out.Row = r.Location.File, r.Location.Row
	}
	for _, a := range p.compiler.GetAnnotationSet().Chain(r) {
		if a.Annotations != nil && a.Annotations.Title != "" {
			out.Title = a.Annotations.Title
			break
		}
	}
	return out
}

// Heads lists the constant members that the source rules of a partial set
// name, whether or not anything is left of them, with the place of each.
func (p *Program) Heads(entry, key string) []Head {
	var out []Head
	for _, r := range p.rules[entry] {
		if r.Head.Key == nil {
			continue
		}
		obj, ok := r.Head.Key.Value.(ast.Object)
		if !ok {
			continue
		}
		if v := obj.Get(ast.StringTerm(key)); v != nil {
			if name, constant := v.Value.(ast.String); constant {
				out = append(out, Head{Name: string(name), Rule: p.place(r, entry)})
			}
		}
	}
	return out
}

// Head is a constant member in a source rule.
type Head struct {
	Name string
	Rule engine.Rule
}

// Reads lists the input paths that an entry point reads, through every rule it
// uses, sorted.
func (p *Program) Reads(entry string) [][]string {
	seen := map[string][]string{}
	for _, r := range p.rules[entry] {
		for _, path := range inputPaths(p.compiler, r) {
			seen[engine.Pointer(path...)] = path
		}
	}
	out := make([][]string, 0, len(seen))
	for _, key := range slices.Sorted(maps.Keys(seen)) {
		out = append(out, seen[key])
	}
	return out
}

// Place is where an entry point's first rule stands.
func (p *Program) Place(entry string) engine.Rule {
	if len(p.rules[entry]) == 0 {
		return engine.Rule{Path: "data.conjunct." + entry}
	}
	return p.place(p.rules[entry][0], entry)
}

// Defines reports whether any rule stands under an entry point.
func (p *Program) Defines(entry string) bool { return len(p.rules[entry]) > 0 }
