package engine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// CriticRule says which irreversible tools a critic gates besides everything
// else. A nil rule gates none.
type CriticRule struct {
	// Threshold is the score that CRITIC asks for, inclusively.
	Threshold float64
	Tools     []string
}

// UnderCritic reports whether calls of a tool meet STRUCTURE and CRITIC.
func (c *Contract) UnderCritic(tool string) bool { return c.Critic.covers(tool) }

func (r *CriticRule) covers(tool string) bool { return r != nil && slices.Contains(r.Tools, tool) }

// Simulation is the evidence by which a verifier lets STRUCTURE pass.
const Simulation = "simulation"

const simulationPassed = "simulation_passed"

// testCritic evaluates STRUCTURE and CRITIC for an irreversible tool that the
// contract puts under a critic. A fired signal makes the score irrelevant:
// CRITIC is not looked at then, whatever it is. Both ask for a person where
// they do not pass.
func (j *judgement) testCritic() {
	if !j.contract.Critic.covers(j.in.Action.Tool) || j.in.Consequence.Reversibility != Irreversible {
		return
	}
	structure := j.structure()
	critic := Finding{}
	if structure.Verdict == Fail {
		critic = j.leaveOut(CriticGate)
		critic.Reasons = append(critic.Reasons, j.noWeight())
	} else {
		critic = j.critic()
	}
	for _, o := range []ownGate{
		{Gate: Gate{Name: Structure}, Finding: structure, resolution: ByReview},
		{Gate: Gate{Name: CriticGate}, Finding: critic, resolution: ByReview},
	} {
		if !o.Verdict.holds() {
			j.d.Boundary = min(j.d.Boundary, RequireReview)
		}
		j.gated = append(j.gated, o)
	}
}

// structure joins the three signals: any that fires fails, any that cannot be
// determined is unknown. A simulation of this very call answers for them.
func (j *judgement) structure() Finding {
	shape := ShapeOf(&j.in.Action, j.policy.Tool)
	var fails, unknowns []Reason
	look := func(s Signal) {
		if len(s.Fired) > 0 {
			fails = append(fails, j.spots(s.Fired))
		}
		if len(s.Unknown) > 0 {
			unknowns = append(unknowns, j.spots(s.Unknown))
		}
	}
	if shape.CrossStep.Unknown != nil && slices.Contains(j.contract.SinglePlan, j.in.Action.Tool) {
		// The contract, and not the agent, says that the call stands alone.
		shape.CrossStep.Unknown = nil
	}
	look(shape.CrossStep)
	look(shape.Rollback)
	novel, determined := j.contract.novel(&j.tool, j.in)
	j.in.novel = entities(novel)
	switch {
	case !determined:
		unknowns = append(unknowns, reason("entities_too_many", fmt.Sprintf("the call names more than %d entities, so nobody can tell which are new", maxMentions)))
	case len(novel) > 0:
		fails = append(fails, novelty(novel, j.tool.Name))
	}
	f := verdict(fails, unknowns)
	if f.Verdict == Pass {
		return f
	}
	switch s := j.simulation(); {
	case s == nil:
	case s.Verdict == Pass:
		return Finding{Verdict: Pass, Reasons: append([]Reason{reason(simulationPassed, "a simulation of this call passed",
			NewFact(Pointer("state", "evidence", Simulation, "status"), Pass.String()))}, f.Reasons...)}
	default:
		f.Reasons = append(f.Reasons, s.Reasons...)
	}
	return f
}

// mostShown is how many places a reason names; it tells the number of all.
const mostShown = 8

// spots is the reason for one signal: every spot has the same code, or one of
// two that say what is missing.
func (j *judgement) spots(list []Spot) Reason {
	var facts []Fact
	for _, s := range list[:min(len(list), mostShown)] {
		facts = append(facts, j.factsOf(&s)...)
	}
	text := j.say(&list[0])
	if more := len(list) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return reason(list[0].Code, text, facts...)
}

func (j *judgement) say(s *Spot) string {
	p := j.in.Action.Plan
	switch s.Code {
	case CrossStepFound:
		return fmt.Sprintf("%s rests on %q, which %s establishes and no step between them asserts", s.where(p), clip(s.Condition), p.stepName(s.With))
	case RollbackFound:
		return fmt.Sprintf("%s has %s effects and its rollback undoes %s", s.where(p), digits(*s.Forward), digits(*s.Rollback))
	case PlanMissing:
		return "the call comes without a plan, so nobody can tell what it rests on"
	case PlanWithoutCall:
		return "no step of the plan stands for this call, so nobody can tell what it rests on"
	}
	return fmt.Sprintf("neither the registry nor the plan says how many effects %s has and how many its rollback undoes", s.where(p))
}

// factsOf are the values that a spot rests on, each where it stands: in the plan,
// or in the registry.
func (j *judgement) factsOf(s *Spot) []Fact {
	switch s.Code {
	case CrossStepFound:
		return []Fact{j.stepFact(s.Step, "precondition", s.Condition), j.stepFact(s.With, "postcondition", s.Condition)}
	case PlanMissing:
		return []Fact{AbsentFact("/action/plan")}
	case PlanWithoutCall:
		return []Fact{AbsentFact("/action/plan/steps")}
	}
	return []Fact{j.stepCount(s.Step, "forward_effects", s.Forward), j.stepCount(s.Step, "rollback_effects", s.Rollback)}
}

func (j *judgement) stepFact(step int, name, condition string) Fact {
	s := &j.in.Action.Plan.Steps[step]
	claimed := map[string]string{"precondition": s.Precondition, "postcondition": s.Postcondition}[name]
	if slices.Contains(conditions(claimed), condition) {
		return NewFact(stepPath(step, name), claimed)
	}
	return NewFact(Pointer("registry", "tools", s.Tool, name), condition)
}

func (j *judgement) stepCount(step int, name string, count *float64) Fact {
	tool, path := j.in.Action.Tool, Pointer("registry", "tools", j.in.Action.Tool, name)
	var claimed *float64
	if step != CallItself {
		s := &j.in.Action.Plan.Steps[step]
		tool, path = s.Tool, stepPath(step, name)
		claimed = map[string]*float64{"forward_effects": s.ForwardEffects, "rollback_effects": s.RollbackEffects}[name]
	}
	switch {
	case count == nil:
		return AbsentFact(path)
	case claimed == nil || *claimed != *count:
		path = Pointer("registry", "tools", tool, name)
	}
	return NewFact(path, *count)
}

func stepPath(step int, name string) string {
	return Pointer("action", "plan", "steps", strconv.Itoa(step), name)
}

func novelty(novel []mention, tool string) Reason {
	var facts []Fact
	for _, m := range novel[:min(len(novel), mostShown)] {
		facts = append(facts, NewFact(m.path, m.value))
	}
	what := fmt.Sprint(novel[0].value)
	text := fmt.Sprintf("%q holds %q, which nobody approved for %s", clip(novel[0].path), clip(what), tool)
	if more := len(novel) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return reason("entity_novel", text, facts...)
}

// simulation tests the record of a simulation of this very call: one that is
// valid by the contract's rule, made for this call hash and by somebody who is
// neither actor nor critic. Nil: there is none.
func (j *judgement) simulation() *Finding {
	e, present := j.in.State.Evidence[Simulation]
	rule, known := j.contract.Evidence[Simulation]
	path := Pointer("state", "evidence", Simulation)
	switch {
	case !present || !known:
		return nil
	case e.Call == "" || e.Call != j.in.Action.CallHash:
		f := unknown("simulation_unpinned", "the simulation is not of this very call", AbsentFact(path+"/call"))
		return &f
	case e.Status == Unknown:
		f := unknown("simulation_unknown", "the simulation's result is unknown", NewFact(path+"/status", e.Status.String()))
		return &f
	}
	f := j.current(Simulation, path, rule, e, "evidence")
	if nobody := strings.TrimSpace(e.By) == ""; nobody || j.interestedIn(e.By) || j.interestedIn(e.Source) {
		f = Finding{Verdict: Fail, Reasons: append(f.Reasons, reason("simulation_self_attested", "the simulation comes from nobody, or from the actor or the critic",
			NewFact(path+"/by", e.By), NewFact(path+"/source", e.Source)))}
	}
	return &f
}

// interestedIn reports whether a name is the actor's or the critic's, in
// whatever version.
func (j *judgement) interestedIn(name string) bool {
	return j.actor(name) || j.in.Action.Critic.is(name)
}

// actor reports whether a name is the agent's, its component's or that of the
// component in the pin.
func (j *judgement) actor(name string) bool {
	a := j.in.Action.Agent
	for _, own := range []string{a.ID, a.Component, j.in.State.Pins["component"]} {
		if sameComponent(own, name) {
			return true
		}
	}
	return false
}

// critic passes when a critic that is not the actor gave at least the threshold.
func (j *judgement) critic() Finding {
	c, a := j.in.Action.Critic, j.in.Action.Agent
	var unknowns []Reason
	lacks := func(code, text string, f ...Fact) { unknowns = append(unknowns, reason(code, text, f...)) }
	switch {
	case c == nil || c.Score == nil:
		lacks("critic_missing", "no critic scored the call", AbsentFact("/action/critic/score"))
	case !(*c.Score >= 0 && *c.Score <= 1):
		lacks("critic_out_of_range", fmt.Sprintf("the critic's score %s lies outside 0 to 1", digits(*c.Score)), NewFact("/action/critic/score", *c.Score))
	}
	switch {
	case c == nil:
	case strings.TrimSpace(c.Component) == "" || strings.TrimSpace(a.Component) == "":
		lacks("critic_unknown", "without the names of both components nobody can tell the critic from the actor",
			NewFact("/action/critic/component", c.Component), NewFact("/action/agent/component", a.Component))
	case j.actor(c.Component):
		lacks("critic_is_actor", "the critic is the component that it judges",
			NewFact("/action/critic/component", c.Component), NewFact("/action/agent/component", a.Component))
	}
	if len(unknowns) > 0 {
		return Finding{Reasons: unknowns}
	}
	threshold := j.contract.Critic.Threshold
	if !(*c.Score >= threshold) {
		return Finding{Verdict: Fail, Reasons: []Reason{reason("critic_below_threshold",
			fmt.Sprintf("the critic's score %s is below the threshold %s", digits(*c.Score), digits(threshold)), NewFact("/action/critic/score", *c.Score))}}
	}
	return Finding{Verdict: Pass}
}

// noWeight says that a structural signal fired and what the critic's score is
// worth then.
func (j *judgement) noWeight() Reason {
	if c := j.in.Action.Critic; c != nil && c.Score != nil {
		return reason("critic_no_weight", fmt.Sprintf("a structural signal fired, so the critic's score %s carries no weight", digits(*c.Score)),
			NewFact("/action/critic/score", *c.Score))
	}
	return reason("critic_no_weight", "a structural signal fired, so a critic's score would carry no weight", AbsentFact("/action/critic/score"))
}
