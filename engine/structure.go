package engine

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
)

// Shape is what the structure of a plan says of a call, by itself: two of the
// three structural signals. The third, entity novelty, needs the state.
type Shape struct {
	CrossStep Signal
	Rollback  Signal
}

// Signal is one structural signal. The zero value knows nothing: it has not
// fired and is not clear.
type Signal struct {
	// Fired lists where the signal fires, in the order of the steps.
	Fired []Spot
	// Unknown lists what keeps it from being determined where it does not fire.
	Unknown []Spot
	// Clear says that everything was looked at and nothing fires.
	Clear bool
}

// Spot is a place in a plan.
type Spot struct {
	Code string
	// Step is the step's index; CallItself where it is the call that no step
	// stands for.
	Step int
	// With is the step that establishes the condition.
	With      int
	Condition string
	// Forward and Rollback are the cardinalities that count; nil: not known.
	Forward, Rollback *float64
}

// CallItself stands for the proposed call in the place of a step's index.
const CallItself = -1

// The codes of a Spot, and of the reasons that come from it.
const (
	CrossStepFound   = "cross_step_precondition"
	RollbackFound    = "rollback_asymmetry"
	PlanMissing      = "plan_missing"
	PlanWithoutCall  = "plan_without_call"
	EffectsUndefined = "effects_undeclared"
)

// ShapeOf finds the structural signals of the plan of a call. What the registry
// knows of a tool counts; what the plan claims besides can only make a signal
// fire that would not, never the other way.
func ShapeOf(a *Action, tools func(string) (Tool, bool)) Shape {
	planned := a.Plan.holds(a)
	return Shape{CrossStep: crossStep(a.Plan, planned, tools), Rollback: rollback(a, planned, tools)}
}

// holds reports whether a step of the plan stands for the call: the same tool,
// and no argument that differs. A plan of something else says nothing of it.
func (p *Plan) holds(a *Action) bool {
	return p != nil && slices.ContainsFunc(p.Steps, func(s PlanStep) bool {
		if s.Tool != a.Tool {
			return false
		}
		for name, v := range s.Arguments {
			if given, ok := a.Arguments[name]; !ok || !reflect.DeepEqual(v, given) {
				return false
			}
		}
		return true
	})
}

// crossStep finds every step that needs what another step of the plan
// establishes, whatever their order, where no step between that one and this
// one asserts it. Steps are told apart by their place: their ids are the
// agent's to choose.
func crossStep(p *Plan, planned bool, tools func(string) (Tool, bool)) (s Signal) {
	if p == nil {
		s.Unknown = []Spot{{Code: PlanMissing, Step: CallItself}}
		return s
	}
	if !planned {
		s.Unknown = []Spot{{Code: PlanWithoutCall, Step: CallItself}}
	}
	established, asserted := map[string][]int{}, map[string][]int{}
	needed := make([][]string, len(p.Steps))
	for i := range p.Steps {
		step := &p.Steps[i]
		t, _ := tools(step.Tool)
		for _, c := range conditions(t.Postcondition, step.Postcondition) {
			established[c] = append(established[c], i)
		}
		for _, c := range conditions(step.Assertion) {
			asserted[c] = append(asserted[c], i)
		}
		needed[i] = conditions(t.Precondition, step.Precondition)
	}
	for i, list := range needed {
		for _, c := range list {
			if with, ok := unasserted(established[c], asserted[c], i); ok {
				s.Fired = append(s.Fired, Spot{Code: CrossStepFound, Step: i, With: with, Condition: c})
			}
		}
	}
	s.Clear = planned && len(s.Fired) == 0
	return s
}

// conditions are the different conditions among names, as they are compared:
// without regard to case and space, so that spelling one otherwise hides nothing.
func conditions(names ...string) (out []string) {
	for _, name := range names {
		c := strings.ToLower(strings.Join(strings.Fields(name), " "))
		if c != "" && !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	return out
}

// unasserted finds a step among established (in order) on which step i rests
// without an assertion in between. The last one before i is the one to look at:
// what stands between it and i stands between every earlier one and i. Nothing
// stands between i and a step that comes after it.
func unasserted(established, asserted []int, i int) (int, bool) {
	at, found := slices.BinarySearch(established, i)
	if at > 0 {
		last := established[at-1]
		k, _ := slices.BinarySearch(asserted, last+1)
		if k == len(asserted) || asserted[k] >= i {
			return last, true
		}
	}
	if found {
		at++ // a step is not its own sibling
	}
	if at < len(established) {
		return established[at], true
	}
	return 0, false
}

// rollback finds every step that does more than its rollback undoes, and every
// irreversible one of which that is not known. The call counts whether or not a
// step stands for it.
func rollback(a *Action, planned bool, tools func(string) (Tool, bool)) (s Signal) {
	add := func(i int, tool string, forward, back *float64) {
		t, declared := tools(tool)
		if declared && t.Idempotent {
			return
		}
		spot := Spot{Step: i, Forward: stricter(t.ForwardEffects, forward, math.Max), Rollback: stricter(t.RollbackEffects, back, math.Min)}
		known := spot.Forward != nil && spot.Rollback != nil
		switch {
		case known && *spot.Forward > *spot.Rollback:
			spot.Code = RollbackFound
			s.Fired = append(s.Fired, spot)
		case !known && tool != "" && t.Consequence.Reversibility == Irreversible:
			spot.Code = EffectsUndefined
			s.Unknown = append(s.Unknown, spot)
		}
	}
	if a.Plan != nil {
		for i := range a.Plan.Steps {
			step := &a.Plan.Steps[i]
			add(i, step.Tool, step.ForwardEffects, step.RollbackEffects)
		}
	}
	if !planned {
		add(CallItself, a.Tool, nil, nil)
	}
	s.Clear = len(s.Fired) == 0 && len(s.Unknown) == 0
	return s
}

// stricter is the cardinality that counts: the registry's, or the claim where it
// is the worse one or the registry knows none. What is no count is not known.
func stricter(known, claimed *float64, worse func(x, y float64) float64) *float64 {
	known, claimed = counted(known), counted(claimed)
	switch {
	case known == nil:
		return claimed
	case claimed == nil:
		return known
	}
	return new(worse(*known, *claimed))
}

func counted(f *float64) *float64 {
	if f == nil || !(*f >= 0) || math.IsInf(*f, 0) {
		return nil
	}
	return f
}

// where names the step of a spot for people.
func (s *Spot) where(p *Plan) string { return p.stepName(s.Step) }

// stepName is how a step is told: by its id, unless that is missing or another
// step has it too.
func (p *Plan) stepName(i int) string {
	if i == CallItself || p == nil {
		return "the call itself"
	}
	id := p.Steps[i].ID
	twice := 0
	for k := range p.Steps {
		if p.Steps[k].ID == id {
			twice++
		}
	}
	if id == "" || twice > 1 {
		return fmt.Sprintf("step %d", i+1)
	}
	return fmt.Sprintf("step %q", clip(id))
}
