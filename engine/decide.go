package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// judgement is one decision being made. Its steps run once, in the order in
// which Decide names them.
type judgement struct {
	ctx      context.Context
	policy   Policy
	contract *Contract
	in       *Input
	d        *Decision

	tool     Tool
	declared bool
	mismatch []Reason // arguments against the registry's schema
	own      []ownGate
	gated    []ownGate // STRUCTURE and CRITIC, for a tool under a critic
	approved bool
	refused  []Reason // why an approval that exists does not count
}

// ownGate is a gate that a person may resolve, and what it found.
type ownGate struct {
	Gate
	Finding
	resolution Resolution // what follows while it is not pass
}

// Decide decides one action. It is pure and total: equal inputs give equal
// decisions, and no error or panic escapes. A decision permits only when the
// transition is act, every applicable gate is pass, and the boundary allows or
// a valid approval stands in for it. Deny is never approvable.
func Decide(ctx context.Context, p Policy, in Input) Decision {
	return *judge(ctx, p, &in, &Workspace{})
}

// judge decides an action and leaves in its input what policy saw.
func judge(ctx context.Context, p Policy, in *Input, s *Workspace) (d *Decision) {
	defer func() {
		if r := recover(); r != nil {
			none := broken(*in, fmt.Sprint(r))
			d = &none
		}
	}()
	d = &s.decision
	*d = refusal(p, in)
	j := &s.judgement
	*j = judgement{ctx: ctx, policy: p, contract: p.Contract(), in: in, d: d}
	j.weigh()
	j.setTier()
	j.testOwnGates()
	j.testCritic()
	j.checkApproval()
	j.testStandardGates()
	j.chooseTransition()
	j.answer()
	d.own()
	return d
}

// broken is the answer when the decision itself failed: it blocks and says so.
func broken(in Input, what string) Decision {
	in.Facts = object(in.Facts)
	d := refusal(nil, &in)
	why := normal(reason("engine_panic", "the decision could not be completed: "+what))
	d.Reasons = []Reason{why}
	d.Gates = []GateResult{{Name: "BOUNDS", Verdict: Unknown, Reasons: []Reason{why}}}
	d.Cause, d.answered = "BOUNDS", OutOfScope
	d.Reason = "The decision could not be completed, so the call is blocked."
	return d
}

// weigh finds the consequence: the registry's, raised by policy, never lowered.
func (j *judgement) weigh() {
	j.tool, j.declared = j.policy.Tool(j.in.Action.Tool)
	if !j.declared {
		j.tool = Tool{Name: j.in.Action.Tool}
		j.note(reason("undeclared_tool", fmt.Sprintf("the registry does not declare %q, so every property has its worst value", j.in.Action.Tool),
			NewFact("/action/tool", j.in.Action.Tool)))
	} else {
		j.mismatch = checkArguments(j.tool, j.in.Action.Arguments)
	}
	j.in.Consequence = j.tool.Consequence
	c := j.tool.Consequence
	for _, r := range j.policy.Raises(j.ctx, j.in) {
		raised, changed := c.Raised(r)
		if c = raised; changed {
			j.note(r.Reason)
		}
		if r.Cut != "" {
			j.d.Imposed = append(j.d.Imposed, Imposed{Gate: RaiseGate(r.Property), Code: r.Cut})
		}
	}
	j.in.Consequence = c
	j.d.Consequence = c
}

// setTier walks from the severity table through modifiers and suspicion to the
// floors. Every step can only make the tier stricter.
func (j *judgement) setTier() {
	d := j.d
	base, why := j.policy.Base(j.in.Consequence)
	base = base.valid()
	d.BaseTier = base
	j.note(why)
	tier, modifiers := base, j.modifiers()
	d.Modifiers = make([]Modifier, 0, len(modifiers))
	for _, m := range modifiers {
		bumped := tier
		if m.Holds {
			bumped = tighten(tier, j.policy.Bump(), j.policy.Cap().valid())
		}
		d.Modifiers = append(d.Modifiers, j.modifier(m, bumped != tier))
		tier = bumped
	}
	tier = min(tier, j.pinned())
	tier = j.applyFloors(tier)
	d.Tier = tier
	d.Boundary = tier.Boundary()
	if len(j.mismatch) > 0 {
		d.Boundary = Deny
	}
}

// modifiers lists the bundle's modifiers. One that holds at high confidence
// holds at low confidence too, whatever the bundle says: I3.
func (j *judgement) modifiers() []ModifierRule {
	rules := j.policy.Modifiers(j.in.Consequence, false)
	if !j.lowConfidence() {
		return rules
	}
	low := slices.Clone(j.policy.Modifiers(j.in.Consequence, true))
	for _, r := range rules {
		i := slices.IndexFunc(low, func(l ModifierRule) bool { return l.Name == r.Name })
		switch {
		case i < 0:
			low = append(low, r)
		case r.Holds:
			low[i].Holds = true
		}
	}
	return low
}

// tighten moves t by bump tiers and stops at limit, which never loosens t.
func tighten(t Tier, bump int, limit Tier) Tier {
	return min(t, max(limit, Tier(max(0, int(t)-bump))))
}

func (j *judgement) modifier(m ModifierRule, moved bool) Modifier {
	r := m.Reason
	switch {
	case moved:
		r.Code = "modifier_applied"
		j.note(r)
	case m.Holds && j.policy.Bump() > 0:
		r.Code = "modifier_capped"
		j.note(r)
	default:
		r.Code = "modifier_not_met"
	}
	return Modifier{Name: m.Name, Applied: moved, Reason: normal(r)}
}

// pinned is the loosest tier left by where the consequence comes from and by
// suspect context.
func (j *judgement) pinned() Tier {
	limit := Execute
	switch source := j.tool.Consequence.Source; {
	case j.declared && source == Declared:
	case !j.declared || source != Inferred:
		limit = min(limit, j.policy.Undeclared().valid(), Propose)
	default:
		limit = min(limit, j.policy.InferredFloor().valid())
		j.note(reason("inferred_consequence", "the tool's consequence was inferred, not declared"))
	}
	if len(j.in.State.Suspect) > 0 && j.tool.Effect != Read {
		limit = min(limit, Propose)
		for _, s := range j.in.State.Suspect {
			j.note(reason("suspect_context", fmt.Sprintf("the call is built on a suspect item: %s %q", s.Kind, clip(s.Value)),
				NewFact(Pointer("suspect", s.Kind), s.Value)))
		}
	}
	return limit
}

// applyFloors lists every matching floor and applies the strictest above the
// current tier, ties by name.
func (j *judgement) applyFloors(tier Tier) Tier {
	applied := -1
	matches := j.floors()
	for i, m := range matches {
		m.Tier = m.Tier.valid()
		j.d.Floors = append(j.d.Floors, Floor{Name: m.Name, Tier: m.Tier})
		if m.Tier.StricterThan(tier) {
			tier, applied = m.Tier, i
		}
	}
	for i, m := range matches {
		r := m.Reason
		switch {
		case i == applied:
			j.d.Floors[i].Applied = true
			r.Code = "floor_applied"
		default:
			r.Code = "floor_matched"
		}
		if !m.Determined {
			r.Code += "_undetermined"
		}
		if m.Cut != "" {
			j.d.Imposed = append(j.d.Imposed, Imposed{Gate: FloorGate(m.Name), Code: m.Cut})
		}
		j.note(r)
	}
	return tier
}

// floors lists what matches the consequence as the registry declares it and as
// policy raised it: to be raised out of a floor's reach must not loosen.
func (j *judgement) floors() []FloorMatch {
	matches := slices.Clone(j.policy.Floors(j.ctx, j.in))
	if j.in.Consequence != j.tool.Consequence {
		declared := *j.in
		declared.Consequence = j.tool.Consequence
		for _, m := range j.policy.Floors(j.ctx, &declared) {
			if !slices.ContainsFunc(matches, func(n FloorMatch) bool { return n.Name == m.Name }) {
				matches = append(matches, m)
			}
		}
	}
	slices.SortStableFunc(matches, func(a, b FloorMatch) int { return cmp.Compare(a.Name, b.Name) })
	return matches
}

// lowConfidence is the only place where confidence enters a decision: absent,
// outside 0..1 or below the threshold, it tightens. It can do nothing else.
func (j *judgement) lowConfidence() bool {
	return LowConfidence(j.in.Action.Confidence, j.contract.Threshold)
}

// LowConfidence reports whether a confidence counts as low under a threshold.
func LowConfidence(c *float64, threshold float64) bool {
	return c == nil || !(*c >= 0 && *c <= 1) || !(*c >= threshold)
}

// testOwnGates evaluates every own gate that applies, without short cut. One
// that is not pass and that a person may resolve asks for review; no gate ever
// moves the boundary the other way.
func (j *judgement) testOwnGates() {
	for _, g := range j.policy.Gates(j.in.Action.Tool) {
		f := j.test(g.Name)
		o := ownGate{Gate: g, Finding: f, resolution: g.OnUnknown}
		if f.Verdict == Fail {
			o.resolution = g.OnFail
		}
		if !f.Verdict.holds() && o.resolution == ByReview {
			j.d.Boundary = min(j.d.Boundary, RequireReview)
		}
		j.own = append(j.own, o)
	}
}

// test evaluates one own gate. A verdict once imposed by time or cancellation
// is repeated; a panic is Unknown; an own gate never declares itself not
// applicable.
func (j *judgement) test(gate string) (f Finding) {
	defer func() {
		if r := recover(); r != nil {
			f = Finding{Reasons: []Reason{reason("gate_panic", fmt.Sprintf("gate %s panicked: %v", gate, r))}}
		}
	}()
	if i := slices.IndexFunc(j.in.Imposed, func(i Imposed) bool { return i.Gate == gate }); i >= 0 {
		return j.cut(gate, j.in.Imposed[i].Code)
	}
	f = j.policy.Test(j.ctx, gate, j.in)
	if f.Verdict == NotApplicable || f.Verdict > Pass {
		f = Finding{Reasons: []Reason{reason("gate_wrong_type", "the gate gave no verdict it may give")}}
	}
	if f.Verdict != Pass && len(f.Reasons) == 0 {
		f.Reasons = []Reason{reason("gate_gave_no_reason", "the gate did not pass and said nothing")}
	}
	if code := f.Reasons; f.Verdict == Unknown && (code[0].Code == "timeout" || code[0].Code == "cancelled") {
		return j.cut(gate, code[0].Code)
	}
	return f
}

// cut is the finding of a gate that was cut short, the same when it happens and
// when a replay imposes it.
func (j *judgement) cut(gate, code string) Finding {
	j.d.Imposed = append(j.d.Imposed, Imposed{Gate: gate, Code: code})
	return Finding{Reasons: []Reason{reason(code, "the evaluation of "+gate+" was cut short")}}
}

// answer sets permit and outcome from what the gates and the transition say.
func (j *judgement) answer() {
	d := j.d
	bounded := d.Boundary == AllowCall || d.Boundary == RequireReview && j.approved
	d.Permit = d.Transition == Act && allPass(d.Gates) && bounded
	switch {
	case d.Permit:
		d.Outcome = Allow
	case d.Transition == Escalate || d.Transition == Defer:
		d.Outcome = Review
	default:
		d.Outcome = Block
	}
	d.Notify = d.Permit && d.Tier == ExecuteNotify
	for _, g := range d.Gates {
		if g.Verdict != Pass {
			d.Reasons = append(d.Reasons, g.Reasons...)
		}
	}
	for i := range d.Reasons {
		d.Reasons[i] = normal(d.Reasons[i])
	}
	d.Reason = sentence(j)
	d.needs = j.needs()
	d.approved, d.open = j.approved, j.unresolved()
}

// allPass is the join: conjunction over every applicable gate. An empty list
// proves nothing. There is no early exit, no weight and no order in it, and
// nothing may be added that lets one gate answer for another.
func allPass(gates []GateResult) bool {
	applicable := 0
	for _, g := range gates {
		if g.Verdict == NotApplicable {
			continue
		}
		if g.Verdict != Pass {
			return false
		}
		applicable++
	}
	return applicable > 0
}

func (j *judgement) note(r Reason) {
	if r.Code != "" {
		j.d.Reasons = append(j.d.Reasons, r)
	}
}

// normal makes an absent list of facts an empty one, so that it prints as one.
func normal(r Reason) Reason {
	if r.Facts == nil {
		r.Facts = []Fact{}
	}
	return r
}
