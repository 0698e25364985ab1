package rego

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/conjunct-project/conjunct/engine"
)

// linter holds compiled modules against the protocol, the shape of the input
// and the data.
type linter struct {
	compiler *ast.Compiler
	src      Source
	entries  map[string][]string
	rules    map[string][]*ast.Rule
	problems []Problem
}

func (l *linter) run() []Problem {
	l.rules = map[string][]*ast.Rule{}
	for _, file := range slices.Sorted(maps.Keys(l.compiler.Modules)) {
		l.module(l.compiler.Modules[file])
	}
	l.missingEntries()
	l.unreachable()
	return l.problems
}

func (l *linter) report(loc *ast.Location, code, message, hint string) {
	l.problems = append(l.problems, at(loc, code, message, hint))
}

// module checks that the package is one of the protocol, and every rule in it.
func (l *linter) module(m *ast.Module) {
	pkg, ok := packageName(m.Package.Path)
	if !ok || !slices.Contains(Protocol(), pkg) {
		name := strings.TrimPrefix(m.Package.Path.String(), "data.")
		l.report(m.Package.Location, "rego_package", fmt.Sprintf("package %s is not one in which a bundle has rules", name),
			engine.DidYouMean(name, prefixed("conjunct.", Protocol())))
		return
	}
	for _, r := range m.Rules {
		for ; r != nil; r = r.Else {
			name := pkg + "." + ruleName(r)
			l.rules[name] = append(l.rules[name], r)
			l.rule(pkg, r)
		}
	}
}

// packageName returns x for data.conjunct.x.
func packageName(path ast.Ref) (string, bool) {
	if len(path) != 3 {
		return "", false
	}
	root, ok1 := path[1].Value.(ast.String)
	name, ok2 := path[2].Value.(ast.String)
	return string(name), ok1 && ok2 && root == "conjunct"
}

func prefixed(prefix string, list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = prefix + s
	}
	return out
}

func ruleName(r *ast.Rule) string { return string(r.Head.Ref()[0].Value.(ast.Var)) }

// rule checks everything in one rule.
func (l *linter) rule(pkg string, r *ast.Rule) {
	if (pkg == Floors || pkg == Severity) && len(r.Head.Args) > 0 && (r.Else != nil || r.Default) {
		l.report(r.Location, "rego_function", "a function with else or default cannot be evaluated ahead of the input",
			"write one function a case, each with its condition")
	}
	locals := inputLocals(r)
	ast.WalkExprs(r, func(e *ast.Expr) bool {
		if len(e.With) > 0 {
			l.report(e.Location, "rego_with", "`with` replaces what a rule reads, so it stands in tests only", "move it to a _test.rego file")
		}
		l.expression(pkg, e, locals)
		return false
	})
	if pkg == Gates {
		ast.WalkTerms(r, func(t *ast.Term) bool {
			l.verdict(r, t)
			return false
		})
	}
	ast.WalkRefs(r, func(ref ast.Ref) bool {
		l.reference(pkg, r, ref)
		return false
	})
}

// verdict holds the literal value of a gate against its form.
func (l *linter) verdict(r *ast.Rule, t *ast.Term) {
	obj, ok := t.Value.(ast.Object)
	if !ok || obj.Get(ast.StringTerm("reasons")) == nil && obj.Get(ast.StringTerm("verdict")) == nil {
		return
	}
	loc := t.Location
	if loc == nil {
		loc = r.Location
	}
	for _, k := range obj.Keys() {
		if name, isText := k.Value.(ast.String); isText && name != "verdict" && name != "reasons" {
			l.report(loc, "rego_verdict", fmt.Sprintf("a gate's value has no key %q", string(name)), engine.DidYouMean(string(name), []string{"verdict", "reasons"}))
		}
	}
	v := obj.Get(ast.StringTerm("verdict"))
	if v == nil {
		l.report(loc, "rego_verdict", "a gate's value needs a verdict", "")
		return
	}
	verdicts := []string{"pass", "fail", "unknown"}
	if text, isText := v.Value.(ast.String); isText && !slices.Contains(verdicts, string(text)) {
		hint := engine.DidYouMean(string(text), verdicts)
		if hint == "" {
			hint = "one of pass, fail, unknown"
		}
		l.report(loc, "rego_verdict", fmt.Sprintf("a verdict is never %q", string(text)), hint)
	}
}

// expression checks constants against enumerations, and negation in gates.
func (l *linter) expression(pkg string, e *ast.Expr, locals map[ast.Var]*ast.Term) {
	if e.Negated && pkg == Gates {
		l.negation(e)
	}
	l.pattern(e)
	terms, ok := e.Terms.([]*ast.Term)
	if ok && len(terms) >= 4 && e.Operator().String() == "object.get" {
		l.objectGet(pkg, e, follow(terms[1], locals), terms[2])
	}
	// Where the value is used, as in `b := x == y`, there is a fourth term.
	if !ok || len(terms) != 3 && len(terms) != 4 {
		return
	}
	if _, constant := scalar(terms[1]); !constant && terms[1].Equal(terms[2]) {
		l.report(e.Location, "rego_self_comparison", fmt.Sprintf("%s is compared with itself", terms[1]), "it says only whether the path is there")
	}
	switch e.Operator().String() {
	case "lt", "lte", "gt", "gte":
		l.order(pkg, e, follow(terms[1], locals), follow(terms[2], locals))
		l.numbers(pkg, e, follow(terms[1], locals), terms[2])
		l.numbers(pkg, e, follow(terms[2], locals), terms[1])
	case "eq", "equal", "neq", "assign", "internal.member_2":
		a, b := follow(terms[1], locals), follow(terms[2], locals)
		l.compare(pkg, e, a, b)
		l.compare(pkg, e, b, a)
		l.numbers(pkg, e, a, b)
		l.numbers(pkg, e, b, a)
	}
}

// numbers reports a number that is compared with a constant that is none: OPA
// orders every number before every text, so the answer is the same for all.
func (l *linter) numbers(pkg string, e *ast.Expr, path, other *ast.Term) {
	ref, ok := path.Value.(ast.Ref)
	if !ok || !ref.HasPrefix(ast.InputRootRef) {
		return
	}
	keys, whole := constantPath(ref)
	shape, _, bad := l.input(pkg).at(keys)
	if !whole || bad >= 0 || shape == nil || !shape.Number {
		return
	}
	switch other.Value.(type) {
	case ast.String, ast.Boolean:
		l.report(e.Location, "rego_type", fmt.Sprintf("%s is a number and is compared with %s", ref, other), "write the constant as the registry declares the argument")
	}
}

// order reports a comparison by order of what has none.
func (l *linter) order(pkg string, e *ast.Expr, sides ...*ast.Term) {
	for _, t := range sides {
		ref, ok := t.Value.(ast.Ref)
		if !ok || !ref.HasPrefix(ast.InputRootRef) {
			continue
		}
		path, whole := constantPath(ref)
		if shape, _, bad := l.input(pkg).at(path); whole && bad < 0 && shape != nil && shape.Enum != nil {
			l.report(e.Location, "rego_unknown_value", fmt.Sprintf("%s is compared by order, which its values do not have", ref), "name the values with `in`")
		}
	}
}

// objectGet holds the constant key of object.get against the shape, as if it
// were part of the path.
func (l *linter) objectGet(pkg string, e *ast.Expr, object, key *ast.Term) {
	ref, ok := object.Value.(ast.Ref)
	if !ok || !ref.HasPrefix(ast.InputRootRef) {
		return
	}
	path, whole := constantPath(ref)
	if !whole {
		return
	}
	keys := []*ast.Term{key}
	if list, ok := key.Value.(*ast.Array); ok {
		keys = elements(list)
	}
	for _, k := range keys {
		s, ok := k.Value.(ast.String)
		if !ok {
			break
		}
		path = append(path, string(s))
	}
	l.inputPath(pkg, e.Location, path)
}

// inputLocals maps the variables of a rule that stand for an input path. The
// compiler makes such variables itself, for the arguments of calls.
func inputLocals(r *ast.Rule) map[ast.Var]*ast.Term {
	locals := map[ast.Var]*ast.Term{}
	ast.WalkExprs(r, func(e *ast.Expr) bool {
		terms, ok := e.Terms.([]*ast.Term)
		if !ok || len(terms) != 3 || !e.IsEquality() && !e.IsAssignment() {
			return false
		}
		for _, side := range [...][2]*ast.Term{{terms[1], terms[2]}, {terms[2], terms[1]}} {
			v, isVar := side[0].Value.(ast.Var)
			ref, isRef := side[1].Value.(ast.Ref)
			if isVar && isRef && (ref.HasPrefix(ast.InputRootRef) || ref.HasPrefix(ast.DefaultRootRef)) {
				locals[v] = side[1]
			}
		}
		return false
	})
	return locals
}

func follow(t *ast.Term, locals map[ast.Var]*ast.Term) *ast.Term {
	if v, ok := t.Value.(ast.Var); ok && locals[v] != nil {
		return locals[v]
	}
	return t
}

// compare reports constants in value that the enumeration at ref does not have.
func (l *linter) compare(pkg string, e *ast.Expr, ref, value *ast.Term) {
	r, ok := ref.Value.(ast.Ref)
	if !ok || !r.HasPrefix(ast.InputRootRef) {
		return
	}
	path, whole := constantPath(r)
	shape, _, bad := l.input(pkg).at(path)
	if !whole || bad >= 0 || shape == nil || shape.Enum == nil {
		return
	}
	for _, c := range l.constants(value) {
		if !slices.Contains(shape.Enum, c) {
			loc := value.Location
			if loc == nil {
				loc = e.Location
			}
			l.report(loc, "rego_unknown_value", fmt.Sprintf("%s is never %q", r, c), engine.DidYouMean(c, shape.Enum))
		}
	}
}

// constants lists the values a term stands for: a constant, the members of a
// collection, or the data below a path.
func (l *linter) constants(t *ast.Term) (out []string) {
	switch v := t.Value.(type) {
	case ast.String:
		return []string{string(v)}
	case ast.Number, ast.Boolean, ast.Null:
		return []string{t.String()}
	case ast.Set:
		v.Foreach(func(t *ast.Term) { out = append(out, l.constants(t)...) })
	case *ast.Array:
		v.Foreach(func(t *ast.Term) { out = append(out, l.constants(t)...) })
	case ast.Ref:
		if path, whole := constantPath(v); whole && v.HasPrefix(ast.DefaultRootRef) {
			return texts(lookup(l.src.Data, path))
		}
	}
	return out
}

func texts(v any) (out []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, e := range v {
			out = append(out, texts(e)...)
		}
	}
	return out
}

func lookup(v any, path []string) any {
	for _, name := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[name]
	}
	return v
}

// negation reports `not` over a path that may be absent: it holds when the
// path is undefined, so a gate would pass on nothing.
func (l *linter) negation(e *ast.Expr) {
	for _, read := range l.reads(e) {
		if _, optional, bad := l.input(Gates).at(read); bad < 0 && optional {
			l.report(e.Location, "rego_negation", fmt.Sprintf("`not` over input.%s, which may be absent: it would hold because nothing is known", strings.Join(read, ".")),
				"say the unknown case first, with object.get or a rule of its own")
			return
		}
	}
}

// reads lists the input paths that x reads, also through the rules it uses.
func (l *linter) reads(x any) [][]string { return inputPaths(l.compiler, x) }

// reference checks one input or data path.
func (l *linter) reference(pkg string, r *ast.Rule, ref ast.Ref) {
	loc := r.Location
	if len(ref) > 0 && ref[0].Location != nil {
		loc = ref[0].Location
	}
	path, _ := constantPath(ref)
	switch {
	case ref.HasPrefix(ast.InputRootRef):
		l.inputPath(pkg, loc, path)
	case ref.HasPrefix(ast.DefaultRootRef):
		l.dataPath(loc, ref, path)
	}
}

func (l *linter) inputPath(pkg string, loc *ast.Location, path []string) {
	if len(path) > 1 && path[0] == "action" && path[1] == "confidence" {
		l.report(loc, "rego_confidence", "a rule may not read confidence", "confidence only tightens, through the severity modifiers (input.flags.low_confidence)")
		return
	}
	if len(path) == 0 {
		l.report(loc, "rego_whole_input", "a rule may not read the whole input", "name the path it needs")
		return
	}
	if _, _, bad := l.input(pkg).at(path); bad >= 0 {
		parent, _, _ := l.input(pkg).at(path[:bad])
		l.report(loc, "rego_unknown_path", fmt.Sprintf("input.%s does not exist", strings.Join(path[:bad+1], ".")),
			engine.DidYouMean(path[bad], slices.Sorted(maps.Keys(parent.Fields))))
	}
}

// dataPath checks that a path below data leads to a rule or to data.
func (l *linter) dataPath(loc *ast.Location, ref ast.Ref, path []string) {
	if len(l.compiler.GetRulesWithPrefix(ref.ConstantPrefix())) > 0 || len(l.compiler.GetRules(ref)) > 0 {
		return
	}
	var v any = l.src.Data
	for i, name := range path {
		switch node := v.(type) {
		case map[string]any:
			next, ok := node[name]
			if !ok {
				known := slices.Sorted(maps.Keys(node))
				l.report(loc, "rego_unknown_data", fmt.Sprintf("data.%s does not exist", strings.Join(path[:i+1], ".")), engine.DidYouMean(name, known))
				return
			}
			v = next
		default:
			l.report(loc, "rego_unknown_data", fmt.Sprintf("data.%s is not an object", strings.Join(path[:i], ".")), "")
			return
		}
	}
}

func (l *linter) input(pkg string) *Shape {
	if s := l.src.Input[pkg]; s != nil {
		return s
	}
	return Object(nil)
}

// missingEntries reports gates that the contract lists and no rule defines, and
// entry points without which nothing can be decided.
func (l *linter) missingEntries() {
	for _, need := range [...][2]string{{Severity, "base"}, {Transition, "next"}, {Authority, "may"}} {
		if len(l.rules[need[0]+"."+need[1]]) == 0 {
			l.report(nil, "rego_missing_rule", fmt.Sprintf("no rule defines data.conjunct.%s.%s", need[0], need[1]), "")
		}
	}
	for _, gate := range l.src.Gates {
		if len(l.rules[Gates+"."+gate]) == 0 {
			l.problems = append(l.problems, Problem{Entry: Gates + "." + gate, Code: "rego_missing_gate",
				Message: fmt.Sprintf("the contract lists gate %s and no rule data.conjunct.gates.%s defines it", gate, gate),
				Hint:    engine.DidYouMean(gate, l.names(Gates))})
		}
	}
}

func (l *linter) names(pkg string) (out []string) {
	for _, name := range slices.Sorted(maps.Keys(l.rules)) {
		if rest, ok := strings.CutPrefix(name, pkg+"."); ok {
			out = append(out, rest)
		}
	}
	return out
}

// unreachable reports rules that no entry point uses: a misspelt floor or gate
// would otherwise silently not exist.
func (l *linter) unreachable() {
	used := map[*ast.Rule]bool{}
	for pkg, names := range l.entries {
		for _, name := range names {
			for _, r := range l.rules[pkg+"."+name] {
				mark(l.compiler, r, used)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.rules)) {
		r := l.rules[name][0]
		if used[r] {
			continue
		}
		pkg, rule, _ := strings.Cut(name, ".")
		hint := engine.DidYouMean(rule, l.entries[pkg])
		if pkg == Gates && hint == "" {
			hint = "list it under gates in conjunct/contract/data.yaml"
		}
		l.report(r.Location, "rego_unused_rule", fmt.Sprintf("rule %s is no entry point of package conjunct.%s and none uses it", rule, pkg), hint)
	}
}

func mark(c *ast.Compiler, r *ast.Rule, used map[*ast.Rule]bool) {
	if used[r] {
		return
	}
	used[r] = true
	for dep := range c.Graph.Dependencies(r) {
		if next, ok := dep.(*ast.Rule); ok {
			mark(c, next, used)
		}
	}
	if r.Else != nil {
		mark(c, r.Else, used)
	}
}

// constantPath is the part of a reference that names a fixed place: the string
// elements after its head. whole is false where a variable follows.
func constantPath(ref ast.Ref) (path []string, whole bool) {
	for _, t := range ref[1:] {
		s, ok := t.Value.(ast.String)
		if !ok {
			return path, false
		}
		path = append(path, string(s))
	}
	return path, true
}

// inputPaths lists the constant paths into the input that x reads, through
// every rule reachable from it, sorted.
func inputPaths(c *ast.Compiler, x any) [][]string {
	found := map[string][]string{}
	seen := map[*ast.Rule]bool{}
	var visit func(any)
	visit = func(x any) {
		ast.WalkRefs(x, func(ref ast.Ref) bool {
			if ref.HasPrefix(ast.InputRootRef) {
				path, _ := constantPath(ref)
				found[engine.Pointer(path...)] = path
			} else if ref.HasPrefix(ast.DefaultRootRef) {
				for _, r := range c.GetRulesDynamicWithOpts(ref, ast.RulesOptions{IncludeHiddenModules: true}) {
					for ; r != nil && !seen[r]; r = r.Else {
						seen[r] = true
						visit(r)
					}
				}
			}
			return false
		})
	}
	visit(x)
	out := make([][]string, 0, len(found))
	for _, key := range slices.Sorted(maps.Keys(found)) {
		out = append(out, found[key])
	}
	return out
}
