package cel

import (
	"maps"
	"slices"
	"strings"

	"github.com/conjunct-project/conjunct/engine"
)

// kind is a type as far as two values of it can be compared.
type kind string

const (
	unknownKind kind = ""
	textKind    kind = "string"
	numberKind  kind = "number"
	boolKind    kind = "bool"
	listKind    kind = "list"
	mapKind     kind = "map"
	otherKind   kind = "other"
)

// shape says what can stand at a place of the input.
type shape struct {
	kind kind
	// field returns the shape under a key; nil where nothing has keys.
	field func(name string) (*shape, *complaint)
	// named is set where every key must be known when the gate is compiled.
	named bool
	// element is the shape of what a list holds, or of any value of a map.
	element *shape
	// members lists the only texts that can stand here; nil is any.
	members []string
	// present is set where the place cannot be absent when its parent is there.
	present bool
}

// anything is a place that the schema does not know.
func anything() *shape {
	s := &shape{}
	s.field = func(string) (*shape, *complaint) { return s, nil }
	s.element = s
	return s
}

func leaf(k kind) *shape { return &shape{kind: k} }

func text() *shape { return leaf(textKind) }

// oneOf is a text of an enumeration; an empty one has no members.
func oneOf(members []string) *shape {
	return &shape{kind: textKind, members: append([]string{}, members...)}
}

func list(element *shape) *shape { return &shape{kind: listKind, element: element} }

func (s *shape) always() *shape {
	s.present = true
	return s
}

// object is a place with these keys and no others. title says what it is.
func object(title string, fields map[string]*shape) *shape {
	return &shape{kind: mapKind, named: true, element: anything(), field: func(name string) (*shape, *complaint) {
		if f, ok := fields[name]; ok {
			return f, nil
		}
		return nil, complain("%s has no %q", title, name).because(suggest(name, slices.Collect(maps.Keys(fields))))
	}}
}

// names is an object with one shape under each name.
func names(title string, known []string, each *shape) *shape {
	fields := make(map[string]*shape, len(known))
	for _, name := range known {
		fields[name] = each
	}
	return object(title, fields)
}

// shapes returns what a gate can read, by root.
func shapes(g *Gate, schema *Schema) map[string]*shape {
	consequence := map[string]*shape{"source": oneOf(engine.Sources()).always()}
	for name, members := range engine.Properties() {
		consequence[name] = oneOf(members).always()
	}
	return map[string]*shape{
		"action":      actionShape(g, schema),
		"consequence": object("a consequence", consequence),
		"facts":       {kind: mapKind, field: anything().field, element: anything()},
		"state":       stateShape(schema),
		"now":         leaf(numberKind),
		"scope":       dataShape("scope", schema.Scope),
	}
}

func actionShape(g *Gate, schema *Schema) *shape {
	steps := object("a plan step", map[string]*shape{
		"id": text(), "tool": oneOf(schema.Tools), "arguments": anything(), "precondition": text(),
		"postcondition": text(), "assertion": text(),
		"forward_effects": leaf(numberKind), "rollback_effects": leaf(numberKind),
	})
	s := object("an action", map[string]*shape{
		"trace_id":  text().always(),
		"call_id":   text().always(),
		"tool":      oneOf(schema.Tools).always(),
		"arguments": argumentsShape(g, schema).always(),
		"agent":     object("an agent", map[string]*shape{"id": text(), "component": text()}),
		"context": object("a context", map[string]*shape{
			"target_entity": text(), "source_record": text(), "retrieved_context": list(text())}),
		"critic":  object("a critic", map[string]*shape{"score": leaf(numberKind), "component": text()}),
		"origins": {kind: mapKind, field: func(string) (*shape, *complaint) { return text(), nil }, element: text()},
		"plan":    object("a plan", map[string]*shape{"steps": list(steps)}),
	})
	known := s.field
	s.field = func(name string) (*shape, *complaint) {
		if name == "confidence" {
			return nil, complain("a gate cannot read confidence").
				because("confidence only tightens the tier; a gate that it could satisfy would let the agent vouch for itself")
		}
		return known(name)
	}
	return s
}

// argumentsShape admits the arguments that every tool of the gate declares.
func argumentsShape(g *Gate, schema *Schema) *shape {
	return &shape{kind: mapKind, named: true, element: anything(), field: func(name string) (*shape, *complaint) {
		if g.Tools == nil {
			return nil, complain("args.%s is read, but the gate is not limited to tools that declare it", name).
				because(limitHint(name, schema))
		}
		for _, tool := range g.Tools {
			declared, known := schema.argumentsOf(tool)
			if !known {
				continue // the unknown tool is a problem of its own
			}
			if declared == nil {
				return nil, complain("args.%s is read, but tool %q declares no arguments", name, tool).
					because("declare its arguments in the registry")
			}
			if _, ok := declared[name]; !ok {
				return nil, complain("tool %q does not declare argument %q", tool, name).
					because(suggest(name, slices.Collect(maps.Keys(declared))))
			}
		}
		return anything(), nil
	}}
}

// limitHint says which tools a gate that reads an argument could be limited to.
func limitHint(argument string, schema *Schema) string {
	var tools []string
	for _, tool := range schema.Tools {
		declared, _ := schema.argumentsOf(tool)
		if _, ok := declared[argument]; ok {
			tools = append(tools, tool)
		}
	}
	if len(tools) == 0 || len(tools) > 12 {
		return "name the tools it is for"
	}
	slices.Sort(tools)
	return "tools that declare it: " + strings.Join(tools, ", ")
}

func (s *Schema) argumentsOf(tool string) (map[string]engine.Argument, bool) {
	if s.ArgumentsOf == nil {
		return nil, false
	}
	return s.ArgumentsOf(tool)
}

func stateShape(schema *Schema) *shape {
	pins := names("the bundle's pins", schema.Pins, text())
	record := object("an evidence record", map[string]*shape{
		"name":   text().always(),
		"status": oneOf([]string{engine.Pass.String(), engine.Fail.String(), engine.Unknown.String()}).always(),
		"time":   leaf(numberKind).always(), "expires": leaf(numberKind), "source": text(), "pins": pins,
	})
	return object("the state", map[string]*shape{
		"settings": names("the contract's settings", schema.Settings, anything()).always(),
		"pins":     names("the bundle's pins", schema.Pins, text()).always(),
		"evidence": names("the contract's evidence", schema.Evidence, record).always(),
		"counters": names("the contract's counters", schema.Counters, leaf(numberKind)).always(),
	})
}

// dataShape is the shape of constant data. A key that is computed may look up
// anything in it, a key that is written must be there.
func dataShape(title string, value any) *shape {
	switch v := value.(type) {
	case map[string]any:
		fields := make(map[string]*shape, len(v))
		for name, inner := range v {
			fields[name] = dataShape(title+"."+name, inner)
		}
		s := object(title, fields).always()
		s.named = false
		return s
	case []any:
		return list(anything()).always()
	case string:
		return text().always()
	case bool:
		return leaf(boolKind).always()
	case float64, int, int64, uint64:
		return leaf(numberKind).always()
	}
	return anything().always()
}

// resolve follows a path through the shapes. The index is of the step that the
// complaint is about.
func resolve(roots map[string]*shape, p path) (s *shape, index int, c *complaint) {
	s = roots[p.root]
	for i, st := range p.steps {
		switch {
		case st.kind == keyStep && s.field == nil:
			return nil, i, complain("%s is a %s and has no %q", path{root: p.root, steps: p.steps[:i]}, s.kind, st.name)
		case st.kind == keyStep:
			if s, c = s.field(st.name); c != nil {
				return nil, i, c
			}
		case st.kind == computedStep && s.named:
			return nil, i, complain("the key that is read from %s must be a literal", path{root: p.root, steps: p.steps[:i]}).
				because("a computed name cannot be checked against the bundle")
		case s.element != nil:
			s = s.element
		default:
			s = anything()
		}
	}
	return s, 0, nil
}

// absentable returns the part of a path whose absence makes the path absent: up to
// the last step that an input can lack. False: the place is always there.
func absentable(roots map[string]*shape, p path) (path, bool) {
	for n := len(p.steps); n > 0; n-- {
		part := path{root: p.root, steps: p.steps[:n]}
		if s, _, c := resolve(roots, part); c == nil && !s.present {
			return part, true
		}
	}
	return path{}, false
}
