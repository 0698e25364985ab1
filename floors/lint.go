package floors

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/rego"
)

// Registry is what the lint has to know of the tools.
type Registry map[string]engine.Tool

// Lint reports floors (or raises) that a reader would believe in and that do
// not do what they say: a name twice, a tier that is none, a constant that the
// enumeration does not have, a condition that no class or tool can meet, an
// argument read where a tool does not declare it.
func Lint(c *Clauses, heads []rego.Head, registry Registry) []rego.Problem {
	l := &lint{registry: registry, tools: slices.Sorted(maps.Keys(registry)), named: slices.ContainsFunc(c.members, func(m member) bool { return m.key["tier"] != "" })}
	l.heads(c, heads)
	for i := range c.members {
		l.member(&c.members[i])
	}
	return l.problems
}

type lint struct {
	registry Registry
	tools    []string
	named    bool // members are floors, which have unique names
	problems []rego.Problem
}

func (l *lint) report(rule engine.Rule, hint, format string, args ...any) {
	l.problems = append(l.problems, rego.Problem{File: rule.File, Row: rule.Row, Col: 1, Code: "rego_floor", Message: fmt.Sprintf(format, args...), Hint: hint})
}

// heads checks the names in the source: each once, and each with something left
// of it after everything that does not depend on the input is known.
func (l *lint) heads(c *Clauses, heads []rego.Head) {
	seen := map[string]engine.Rule{}
	for _, h := range heads {
		if first, twice := seen[h.Name]; twice && l.named {
			l.report(h.Rule, "use one rule with a helper for the alternatives", "%s is named a second time; it stands in %s:%d already", h.Name, first.File, first.Row)
			continue
		}
		seen[h.Name] = h.Rule
		if !slices.ContainsFunc(c.members, func(m member) bool { return m.name == h.Name }) {
			l.report(h.Rule, "a condition in it is false whatever the input", "%s can never apply", h.Name)
		}
	}
}

func (l *lint) member(m *member) {
	rule := m.clauses[0].Rule
	if tier, isFloor := m.key["tier"]; isFloor {
		l.floor(m, rule, tier)
	} else {
		l.raise(m, rule)
	}
	satisfiable := false
	for i := range m.clauses {
		c := &m.clauses[i]
		l.values(c)
		for _, path := range c.Reads {
			if path[0] == "flags" {
				l.report(c.Rule, "flags are for the severity table", "%s reads input.%s, which it never sees", m.name, strings.Join(path, "."))
			}
		}
		tools := l.toolsFor(c)
		l.types(m, c, tools)
		satisfiable = satisfiable || l.satisfiable(c, tools)
		l.arguments(m, c, tools)
	}
	if !satisfiable {
		l.report(rule, "its conditions contradict each other or the registry", "%s can never apply: no consequence class and no tool meets its conditions", m.name)
	}
}

func (l *lint) floor(m *member, rule engine.Rule, tier string) {
	if m.name == "" {
		l.report(rule, "", "a floor needs a name")
	}
	var t engine.Tier
	if t.UnmarshalText([]byte(tier)) != nil {
		tiers := []string{"refuse", "propose", "execute_notify"}
		l.report(rule, cmp.Or(engine.DidYouMean(tier, tiers), "a floor's tier is "+strings.Join(tiers, ", ")), "floor %s: unknown tier %q", m.name, tier)
	} else if t == engine.Execute {
		l.report(rule, "", "floor %s pins nothing: every tier is at least as strict as execute", m.name)
	}
	for _, c := range m.clauses {
		if c.Key["tier"] != tier {
			l.report(c.Rule, "a floor has one tier; give the second a name of its own", "floor %s has two tiers, %s and %s", m.name, tier, c.Key["tier"])
			return
		}
	}
}

func (l *lint) raise(m *member, rule engine.Rule) {
	property, value := m.key["property"], m.key["value"]
	values, ok := engine.Properties()[property]
	switch {
	case !ok:
		l.report(rule, engine.DidYouMean(property, slices.Sorted(maps.Keys(engine.Properties()))), "raise: %q is not a consequence property", property)
	case !slices.Contains(values, value):
		l.report(rule, engine.DidYouMean(value, values), "raise: %s is never %q", property, value)
	}
}

// values checks the constants that are left after data was filled in.
func (l *lint) values(c *rego.Clause) {
	for _, a := range c.Atoms {
		known := l.enumeration(a.Path)
		if known == nil || a.Op != rego.Eq && a.Op != rego.Neq && a.Op != rego.In {
			continue
		}
		for _, v := range append(slices.Clone(a.Values), onlyValue(a)...) {
			text, _ := v.(string)
			if !slices.Contains(known, text) {
				l.report(c.Rule, engine.DidYouMean(text, known), "input.%s is never %q", strings.Join(a.Path, "."), text)
			}
		}
	}
}

func onlyValue(a rego.Atom) []any {
	if a.Op == rego.In {
		return nil
	}
	return []any{a.Value}
}

func (l *lint) enumeration(path []string) []string {
	switch {
	case isTool(path):
		return l.tools
	case len(path) == 2 && path[0] == "consequence" && path[1] == "source":
		return engine.Sources()
	case len(path) == 2 && path[0] == "consequence":
		return engine.Properties()[path[1]]
	}
	return nil
}

// toolsFor lists the declared tools that no atom of the clause rules out.
func (l *lint) toolsFor(c *rego.Clause) []string {
	return slices.DeleteFunc(slices.Clone(l.tools), func(tool string) bool {
		return slices.ContainsFunc(c.Atoms, func(a rego.Atom) bool { return isTool(a.Path) && holds(&a, tool) == no })
	})
}

// satisfiable reports whether some class, and some tool where tools are
// limited, leaves no atom false.
func (l *lint) satisfiable(c *rego.Clause, tools []string) bool {
	limited := slices.ContainsFunc(c.Atoms, func(a rego.Atom) bool { return isTool(a.Path) && !a.Negated })
	if limited && len(tools) == 0 {
		return false
	}
	for src := range numSources {
		for class := range engine.Classes(engine.Source(src)) {
			if !slices.ContainsFunc(c.Atoms, func(a rego.Atom) bool { return contradicts(&a, class) }) {
				return true
			}
		}
	}
	return false
}

func contradicts(a *rego.Atom, c engine.Consequence) bool {
	if len(a.Path) != 2 || a.Path[0] != "consequence" {
		return false
	}
	v, ok := c.Property(a.Path[1])
	return ok && holds(a, v) == no
}

// types reports a constant that is compared with an argument of another type.
// Rego orders values of different types by their type, so the comparison has one
// answer whatever the argument is, and the floor would never apply or always. An
// argument that one of the tools declares of the constant's type is left alone.
func (l *lint) types(m *member, c *rego.Clause, tools []string) {
	for _, a := range c.Atoms {
		if len(a.Path) != 3 || a.Path[0] != "action" || a.Path[1] != "arguments" || a.Op < rego.Eq || a.Op > rego.In {
			continue
		}
		for _, v := range append(slices.Clone(a.Values), onlyValue(a)...) {
			if declared := l.clash(tools, a.Path[2], v); declared != engine.NoType {
				l.report(c.Rule, "write the constant as the registry declares the argument",
					"%s compares argument %q, which is declared %s, with %s", m.name, a.Path[2], declared, constant(v))
				break
			}
		}
	}
}

// clash returns the type that the first tool declares the argument of, where no
// tool declares it of a type that v could be of, and no type otherwise.
func (l *lint) clash(tools []string, argument string, v any) engine.ArgumentType {
	first := engine.NoType
	for _, tool := range tools {
		a, ok := l.registry[tool].Arguments[argument]
		if !ok || couldBe(a.Type, v) {
			return engine.NoType
		}
		if first == engine.NoType {
			first = a.Type
		}
	}
	return first
}

// couldBe reports whether an argument of the type may equal v. Rules compare with
// null to ask whether there is a value, so nothing is said of it.
func couldBe(t engine.ArgumentType, v any) bool {
	switch v.(type) {
	case string:
		return t == engine.StringType || t == engine.AnyType
	case float64:
		return t == engine.NumberType || t == engine.IntegerType || t == engine.AnyType
	case bool:
		return t == engine.BooleanType || t == engine.AnyType
	}
	return true
}

func constant(v any) string {
	if text, ok := v.(string); ok {
		return fmt.Sprintf("the text %q", text)
	}
	return fmt.Sprint(v)
}

// arguments reports an argument that is read although a tool the clause may
// apply to does not declare it: for that tool the floor would always apply.
func (l *lint) arguments(m *member, c *rego.Clause, tools []string) {
	for _, path := range c.Reads {
		if len(path) < 3 || path[0] != "action" || path[1] != "arguments" {
			continue
		}
		for _, tool := range tools {
			if _, ok := l.registry[tool].Arguments[path[2]]; !ok {
				l.report(c.Rule, "limit it with `input.action.tool in {...}` to tools that declare the argument",
					"%s reads argument %q, which tool %s does not declare", m.name, path[2], tool)
				break
			}
		}
	}
}
