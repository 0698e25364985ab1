package bundle

import (
	"maps"
	"slices"

	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/rego"
	"github.com/conjunct-project/conjunct/signals"
)

// shapes says what the input may hold in each package of the protocol, for this
// registry and contract: the schema that every path in a rule is held against.
func shapes(r registry, c *engine.Contract, scope signals.Scope) map[string]*rego.Shape {
	full := rego.Object(map[string]*rego.Shape{
		"action":      actionShape(r),
		"consequence": consequenceShape(),
		"facts":       factsShape(scope),
		"state":       stateShape(c),
		"now":         rego.Leaf("number"),
	})
	return map[string]*rego.Shape{
		rego.Severity:   withFlags(full, map[string]*rego.Shape{"low_confidence": rego.Leaf("boolean")}),
		rego.Floors:     full,
		rego.Gates:      full,
		rego.Transition: rego.Object(map[string]*rego.Shape{"flags": rego.Object(flagShapes())}),
		rego.Authority:  authorityShape(c),
	}
}

func withFlags(s *rego.Shape, flags map[string]*rego.Shape) *rego.Shape {
	all := maps.Clone(s.Fields)
	all["flags"] = rego.Object(flags)
	return rego.Object(all)
}

func flagShapes() map[string]*rego.Shape {
	causes := make([]string, 0, len(engine.Causes()))
	for _, c := range engine.Causes() {
		causes = append(causes, c.String())
	}
	flag := rego.Leaf("boolean")
	return map[string]*rego.Shape{"cause": rego.OneOf(causes...), "retry_left": flag, "recoverable": flag,
		"other_component": flag, "can_ask": flag, "high_consequence": flag}
}

func actionShape(r registry) *rego.Shape {
	text := rego.Leaf("string")
	arguments := map[string]*rego.Shape{}
	for _, t := range r.tools {
		for name, a := range t.Arguments {
			arguments[name] = argumentShape(arguments[name], a)
		}
	}
	number := rego.Leaf("number").Maybe()
	return rego.Object(map[string]*rego.Shape{
		"trace_id":  text,
		"call_id":   text,
		"tool":      rego.OneOf(slices.Sorted(maps.Keys(r.tools))...),
		"arguments": rego.Object(arguments),
		"agent":     rego.Object(map[string]*rego.Shape{"id": text.Maybe(), "component": text.Maybe()}).Maybe(),
		"critic":    rego.Object(map[string]*rego.Shape{"score": number, "component": text.Maybe()}).Maybe(),
		"context": rego.Object(map[string]*rego.Shape{"target_entity": text.Maybe(), "source_record": text.Maybe(),
			"retrieved_context": rego.Leaf("array").Maybe()}).Maybe(),
		"origins": rego.Any().Maybe(),
		"plan":    rego.Any().Maybe(),
	})
}

// argumentShape is what two tools that share an argument agree on. Every
// argument may be absent: another tool may lack it, and an agent may leave out
// what is required.
func argumentShape(have *rego.Shape, a engine.Argument) *rego.Shape {
	next := rego.Any()
	if have != nil {
		return next.Maybe()
	}
	switch a.Type {
	case engine.NumberType, engine.IntegerType:
		next.Number = true
	case engine.NoType, engine.AnyType, engine.ObjectType, engine.ArrayType:
	default:
		next = rego.Leaf(a.Type.String())
	}
	return next.Maybe()
}

// factsShape has a name for each family of facts and for what is in it. What
// cannot be determined is absent, and so is a name that nothing computes: a floor
// that reads it applies, a gate is unknown. Only a near miss is held to be a
// misspelling, since whoever folds an episode may give facts of his own.
func factsShape(scope signals.Scope) *rego.Shape {
	families := map[string]*rego.Shape{}
	for _, family := range signals.Families() {
		fields := map[string]*rego.Shape{}
		for name, below := range signals.Members(family, scope) {
			fields[name] = rego.Any().Maybe()
			if below != nil {
				named := map[string]*rego.Shape{}
				for _, n := range below {
					named[n] = rego.Leaf("boolean").Maybe()
				}
				fields[name] = rego.Known(named).Maybe()
			}
		}
		families[family] = rego.Known(fields).Maybe()
	}
	return rego.Known(families)
}

func consequenceShape() *rego.Shape {
	f := map[string]*rego.Shape{"source": rego.OneOf(engine.Sources()...)}
	for name, values := range engine.Properties() {
		f[name] = rego.OneOf(values...)
	}
	return rego.Object(f)
}

func stateShape(c *engine.Contract) *rego.Shape {
	settings := map[string]*rego.Shape{}
	for name := range c.Start.Settings {
		settings[name] = rego.Any()
	}
	pins := map[string]*rego.Shape{}
	for _, name := range slices.Concat(c.TracePins, c.PathPins) {
		pins[name] = rego.Leaf("string").Maybe()
		if _, given := c.Start.Pins[name]; given {
			pins[name] = rego.Leaf("string")
		}
	}
	text, number := rego.Leaf("string").Maybe(), rego.Leaf("number").Maybe()
	record := rego.Object(map[string]*rego.Shape{"name": text, "status": rego.OneOf("pass", "fail", "unknown"),
		"source": text, "time": number, "expires": number, "pins": rego.Any().Maybe()}).Maybe()
	evidence := map[string]*rego.Shape{}
	for name := range c.Evidence {
		evidence[name] = record
	}
	for name := range c.Context {
		evidence[name] = record
	}
	counters := map[string]*rego.Shape{}
	for name := range c.Counters {
		counters[name] = rego.Leaf("number").Maybe()
	}
	return rego.Object(map[string]*rego.Shape{"settings": rego.Object(settings), "pins": rego.Object(pins),
		"evidence": rego.Object(evidence), "counters": rego.Object(counters)})
}

// authorityShape is what the authority rule sees of an event.
func authorityShape(c *engine.Contract) *rego.Shape {
	text := rego.Leaf("string")
	return rego.Object(map[string]*rego.Shape{
		"op": rego.OneOf(engine.Ops()...), "by": text, "role": text, "qualified": rego.Leaf("boolean"), "outcome": rego.OneOf(engine.Outcomes()...),
		"code": rego.OneOf(append(engine.RejectionCodes(), "")...), "name": text, "signed": rego.Leaf("boolean"), "gates": rego.Leaf("array"),
		"agent":  rego.Object(map[string]*rego.Shape{"id": text, "component": text}),
		"author": text, "state": stateShape(c), "now": rego.Leaf("number"),
	})
}
