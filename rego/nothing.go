package rego

import (
	"context"
	"fmt"
	"strings"
)

// passesOnNothing reports gates that read what may be absent and pass where all
// of it is: a negation, a default or an empty comprehension makes nothing look
// like proof. Each gate is tried on the emptiest valid input, for every tool it
// applies to.
func (p *Program) passesOnNothing(src Source) []Problem {
	shape := src.Input[Gates]
	if shape == nil {
		return nil
	}
	var problems []Problem
	for _, gate := range p.gates {
		entry := Gates + "." + gate
		missing := p.optionalRead(entry, shape)
		if missing == "" {
			continue
		}
		for _, tool := range toolsOf(src, gate) {
			in, _ := shape.emptiest().(map[string]any)
			if action, ok := in["action"].(map[string]any); ok && tool != "" {
				action["tool"] = tool
			}
			v, err := p.Eval(context.Background(), entry, NewInput(in))
			if obj, ok := v.(map[string]any); err == nil && ok && obj["verdict"] == "pass" {
				rule := p.Place(entry)
				problems = append(problems, Problem{File: rule.File, Row: rule.Row, Col: 1, Code: "rego_passes_on_nothing",
					Message: fmt.Sprintf("gate %s passes where input.%s is absent", gate, missing),
					Hint:    "say the unknown case first; if it is for some tools only, list them under the gate in the contract"})
				break
			}
		}
	}
	return problems
}

func toolsOf(src Source, gate string) []string {
	if tools := src.GateTools[gate]; tools != nil {
		return tools
	}
	if s := src.Input[Gates].Fields["action"]; s != nil && s.Fields["tool"] != nil && len(s.Fields["tool"].Enum) > 0 {
		return s.Fields["tool"].Enum
	}
	return []string{""}
}

// optionalRead is a path the gate reads that may be absent, or nothing.
func (p *Program) optionalRead(entry string, shape *Shape) string {
	for _, path := range p.Reads(entry) {
		// Reading a whole open object, such as the facts, is reading what may not be
		// in it.
		if end, optional, bad := shape.at(path); bad < 0 && (optional || end != nil && end.Open) {
			return strings.Join(path, ".")
		}
	}
	return ""
}

// emptiest is a valid value of the shape that leaves out everything it may.
func (s *Shape) emptiest() any {
	switch {
	case s.Fields != nil:
		out := map[string]any{}
		for name, f := range s.Fields {
			if !f.Optional {
				out[name] = f.emptiest()
			}
		}
		return out
	case len(s.Enum) > 0:
		return s.Enum[0]
	case len(s.Types) == 1:
		return map[string]any{"string": "", "number": 0.0, "boolean": false, "array": []any{}, "object": map[string]any{}}[s.Types[0]]
	}
	return map[string]any{}
}
