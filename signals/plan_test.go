package signals

import (
	"reflect"
	"testing"

	"github.com/conjunct-project/conjunct/engine"
)

func TestPlanFactsSayWhatFiresAndWhere(t *testing.T) {
	gone := engine.Consequence{Source: engine.Declared}
	tools := func(name string) (engine.Tool, bool) {
		t, ok := map[string]engine.Tool{"drop": {Name: "drop", Consequence: gone}, "safe": {Name: "safe", Consequence: gone, Idempotent: true}}[name]
		return t, ok
	}
	one, none := new(1.0), new(0.0)
	for name, c := range map[string]struct {
		tool    string
		steps   []engine.PlanStep
		facts   map[string]any
		unknown []string
	}{
		"no plan":                                {"safe", nil, map[string]any{"rollback": []any{}, "seen": []any{}}, []string{"plan: plan_missing"}},
		"no plan, and effects that nobody knows": {"drop", nil, map[string]any{"seen": []any{}}, []string{"plan: effects_undeclared", "plan: plan_missing"}},
		"clean":                                  {"safe", []engine.PlanStep{{ID: "a", Tool: "safe"}}, map[string]any{"cross_step": []any{}, "rollback": []any{}, "seen": []any{}}, nil},
		"both fire": {"drop", []engine.PlanStep{{ID: "x", Tool: "drop", ForwardEffects: one, RollbackEffects: none, Precondition: "Saved"}, {ID: "x", Tool: "safe", Postcondition: "saved"}},
			map[string]any{
				"cross_step": []any{map[string]any{"signal": "cross_step", "step": 0.0, "step_id": "x", "with": 1.0, "with_id": "x", "condition": "saved"}},
				"rollback":   []any{map[string]any{"signal": "rollback", "step": 0.0, "step_id": "x", "forward_effects": 1.0, "rollback_effects": 0.0}},
				"seen": []any{map[string]any{"signal": "cross_step", "step": 0.0, "step_id": "x", "with": 1.0, "with_id": "x", "condition": "saved"},
					map[string]any{"signal": "rollback", "step": 0.0, "step_id": "x", "forward_effects": 1.0, "rollback_effects": 0.0}},
			}, nil},
		"one fires and another is not known": {"drop", []engine.PlanStep{{Tool: "drop", ForwardEffects: one, RollbackEffects: none}, {Tool: "nobody"}},
			map[string]any{"cross_step": []any{}, "seen": []any{map[string]any{"signal": "rollback", "step": 0.0, "step_id": "", "forward_effects": 1.0, "rollback_effects": 0.0}}},
			[]string{"plan: effects_undeclared at /plan/steps/1"}},
		"a plan of something else": {"safe", []engine.PlanStep{{Tool: "other", ForwardEffects: one, RollbackEffects: one}}, map[string]any{"rollback": []any{}, "seen": []any{}}, []string{"plan: plan_without_call"}},
	} {
		a := engine.Action{Tool: c.tool}
		if c.steps != nil {
			a.Plan = &engine.Plan{Steps: c.steps}
		}
		d, problems := New(Scope{}, []Family{Plan})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		tool, declared := tools(c.tool)
		facts, unknown := d.Facts(t.Context(), &Call{Action: a, Tool: tool, Declared: declared, Tools: tools}, World{})
		if !reflect.DeepEqual(facts, map[string]any{"plan": c.facts}) || !reflect.DeepEqual(unknown, c.unknown) {
			t.Errorf("%s: facts %v, unknown %q\nwant %v, %q", name, facts, unknown, c.facts, c.unknown)
		}
	}
}
