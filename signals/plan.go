package signals

import (
	"context"
	"strconv"

	"github.com/conjunct-project/conjunct/engine"
)

// planFacts lists where the structural signals of a plan fire: what a step rests
// on without an assertion (`cross_step`), and what a rollback leaves behind
// (`rollback`). Each list is absent where the signal cannot be determined. The
// engine finds the same by itself for STRUCTURE; these are for rules to read.
func planFacts(_ *Detector, _ context.Context, c *Call, _ World) (map[string]any, []Unknown) {
	shape := engine.ShapeOf(&c.Action, c.Tools)
	facts, seen := map[string]any{}, []any{}
	var unknown []Unknown
	for _, s := range []struct {
		name   string
		signal engine.Signal
	}{{"cross_step", shape.CrossStep}, {"rollback", shape.Rollback}} {
		list := []any{}
		for _, spot := range s.signal.Fired {
			list = append(list, spotFact(s.name, spot, c.Action.Plan))
		}
		seen = append(seen, list...)
		for _, spot := range s.signal.Unknown {
			unknown = append(unknown, Unknown{Family: Plan, Code: spot.Code, Where: stepPlace(spot.Step)})
		}
		if len(s.signal.Unknown) == 0 {
			facts[s.name] = list
		}
	}
	facts["seen"] = seen
	return facts, unknown
}

// spotFact is one place where a signal fires. Steps are told by place and by id,
// since ids are the agent's to choose; the call that no step stands for has
// neither.
func spotFact(signal string, s engine.Spot, p *engine.Plan) map[string]any {
	fact := map[string]any{"signal": signal}
	step := func(name string, i int) {
		if i != engine.CallItself {
			fact[name], fact[name+"_id"] = float64(i), p.Steps[i].ID
		}
	}
	step("step", s.Step)
	if s.Condition != "" {
		step("with", s.With)
		fact["condition"] = s.Condition
		return fact
	}
	fact["forward_effects"], fact["rollback_effects"] = *s.Forward, *s.Rollback
	return fact
}

// stepPlace is where a step stands in the plan.
func stepPlace(i int) string {
	if i == engine.CallItself {
		return ""
	}
	return engine.Pointer("plan", "steps", strconv.Itoa(i))
}
