package cel

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/conjunct-project/conjunct/engine"
)

// schema is the world of the tests: two tools with arguments, one without.
func schema() Schema {
	tools := map[string]map[string]engine.Argument{
		"email_customer": {"to": {Type: engine.StringType, Required: true}, "body": {Type: engine.StringType}, "urgent": {Type: engine.BooleanType}},
		"transfer": {"to": {Type: engine.StringType, Required: true}, "amount": {Type: engine.NumberType}, "items": {Type: engine.ArrayType},
			"details": {Type: engine.ObjectType}},
		"ping": nil,
	}
	return Schema{
		Settings: []string{"scope_ok", "queue"},
		Pins:     []string{"context", "rule"},
		Evidence: []string{"ci", "scan"},
		Counters: []string{"spent"},
		Tools:    slices.Sorted(maps.Keys(tools)),
		ArgumentsOf: func(tool string) (map[string]engine.Argument, bool) {
			a, ok := tools[tool]
			return a, ok
		},
		Scope: map[string]any{
			"roots":  []any{"/srv", "/home"},
			"domain": "example.com",
			"limits": map[string]any{"daily": float64(1000), "ratio": 0.5},
		},
	}
}

// input is an action of a tool with arguments, and something of everything else.
func input(tool string, arguments map[string]any) *engine.Input {
	return &engine.Input{
		Action: engine.Action{Tool: tool, Document: map[string]any{
			"trace_id": "t", "call_id": "c", "tool": tool, "arguments": arguments,
			"plan": map[string]any{"steps": []any{map[string]any{"id": "s1", "tool": "transfer"}}},
		}},
		Facts: map[string]any{"inside": true, "path": map[string]any{"clean": "/srv/a"}, "names": []any{"b", "a"}},
		State: engine.State{
			Settings: map[string]any{"scope_ok": true},
			Pins:     map[string]string{"context": "v1"},
			Evidence: map[string]engine.Evidence{"ci": {Name: "ci", Status: engine.Pass, Time: 90}},
			Counters: map[string]float64{"spent": 10},
		},
		Now:         100,
		Consequence: engine.Consequence{Reversibility: engine.Reversible, BlastRadius: engine.TaskOnly, Source: engine.Declared},
	}
}

// limited is a gate for the tools of the fixture that declare arguments.
func limited(expression string) Gate {
	return Gate{Name: "g", Tools: []string{"transfer"}, Expression: expression}
}

func compile(t testing.TB, gates ...Gate) *Program {
	t.Helper()
	p, problems := Compile(gates, schema())
	if p == nil {
		t.Fatalf("compile %q: %v", gates[0].Expression, problems)
	}
	return p
}

func test(t testing.TB, g Gate, in *engine.Input) engine.Finding {
	t.Helper()
	return compile(t, g).Test(context.Background(), g.Name, in)
}

func code(f engine.Finding) string {
	if len(f.Reasons) == 0 {
		return ""
	}
	return f.Reasons[0].Code
}

// has reports whether a problem of the right severity contains every part.
func has(problems []Problem, warning bool, parts ...string) bool {
	return slices.ContainsFunc(problems, func(p Problem) bool {
		all := p.Message + "\n" + p.Hint
		for _, part := range parts {
			if !strings.Contains(all, part) {
				return false
			}
		}
		return p.Warning == warning
	})
}
