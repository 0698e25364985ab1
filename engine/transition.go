package engine

import (
	"fmt"
	"slices"
)

// rows lists the transitions that each gate admits when it is not pass
// (docs/design.md, gates and transitions). A bundle chooses within the row of
// the gate that is the cause; other failed gates neither add nor remove.
var rows = map[string][]Transition{
	Bounds:      {Escalate, Defer, Stop},
	ContextGate: {Retry, Defer, Stop},
	EvidenceReq: {Verify, Retry, Stop},
	Eligibility: {Switch, Stop},
	Supervision: {Defer, Stop},
	Resolved:    {Retry, Escalate, Stop},
	Structure:   {Escalate, Defer, Stop},
	CriticGate:  {Escalate, Defer, Stop},
}

// Row lists the transitions an own gate or a standard gate admits.
func Row(gate string, family string, r Resolution) []Transition {
	if row, ok := rows[gate]; ok {
		return slices.Clone(row)
	}
	if row, ok := rows[family]; ok {
		return slices.Clone(row)
	}
	if r == ByReview {
		return slices.Clone(rows[Structure])
	}
	return []Transition{Stop}
}

// chooseTransition answers the first cause that holds, in the contract's
// order. Without a cause the call may act, and only when every applicable gate
// is pass.
func (j *judgement) chooseTransition() {
	d := j.d
	if j.released() || j.in.State.Path.Pulled.spent() {
		d.Transition, d.Cause, d.answered = Stop, Bounds, OutOfScope
		return
	}
	for _, cause := range j.contract.Priority {
		gate, holds := j.holds(cause)
		if !holds {
			continue
		}
		d.Cause, d.answered = gate, cause
		d.Transition = j.admit(cause, gate)
		return
	}
	if allPass(d.Gates) {
		d.Transition = Act
		return
	}
	for _, g := range d.Gates {
		if !g.Verdict.holds() {
			d.Cause = g.Name
			break
		}
	}
	d.Transition = fallback(d.Cause)
	j.note(reason("cause_missing", "a gate is not pass and no cause of the contract answers it"))
}

// holds reports whether a cause holds, and which gate it blames.
func (j *judgement) holds(c Cause) (gate string, holds bool) {
	failed := func(name string) bool { return !j.d.Gate(name).Verdict.holds() }
	switch c {
	case OutOfScope:
		return Bounds, j.d.Boundary == Deny
	case Ineligible:
		return Eligibility, failed(Eligibility)
	case DeadlinePast:
		past, ok := j.deadlinePast()
		return Bounds, past || !ok
	case StaleContext:
		return ContextGate, failed(ContextGate)
	case MissingEvidence:
		return EvidenceReq, failed(EvidenceReq)
	case OwnBlock:
		return j.firstOwn(ByNobody)
	case OwnReview:
		return j.firstOwn(ByReview)
	case FailureOpen:
		return Resolved, failed(Resolved)
	case Rejected:
		return Bounds, j.in.State.Rejection != nil
	case StructureFired:
		return Structure, len(j.gated) > 0 && failed(Structure)
	case CriticLow:
		return CriticGate, len(j.gated) > 0 && failed(CriticGate)
	case ReviewDue:
		if failed(Supervision) {
			return Supervision, true
		}
		return Bounds, j.reviewDue()
	}
	return "", false
}

// asks reports whether the answer to a cause is to ask a person.
func (c Cause) asks() bool {
	return c == OwnReview || c == StructureFired || c == CriticLow || c == ReviewDue
}

// firstOwn is the first own gate, by name, that is not pass and resolved that way.
func (j *judgement) firstOwn(r Resolution) (string, bool) {
	for _, o := range j.own {
		if !o.Verdict.holds() && o.resolution == r {
			return o.Name, true
		}
	}
	return "", false
}

// admit asks the bundle for a transition and clamps it to the gate's row.
func (j *judgement) admit(c Cause, gate string) Transition {
	flags := j.flags()
	j.d.flags = flags
	t, ok := j.policy.Next(c, flags)
	row := j.row(gate, flags)
	switch {
	case !ok || !slices.Contains(row, t), t == Retry && !flags.RetryLeft:
		j.note(reason("transition_not_admitted", fmt.Sprintf("the bundle named no transition that %s admits for %s", gate, c)))
		return fallback(gate)
	case j.in.State.Rejection != nil && c.asks() && (t == Escalate || t == Defer):
		// A person has answered, and no approval counts while the rejection stands.
		j.note(reason("review_answered", "a reviewer has rejected this call, so nobody is asked again"))
		return Stop
	case t == Escalate && !flags.CanAsk && slices.Contains(row, Defer):
		j.note(reason("review_unavailable", "a review cannot be asked for now, so the call is deferred"))
		return Defer
	case t == Escalate && !flags.CanAsk:
		j.note(reason("review_unavailable", "a review cannot be asked for now, so the call stops"))
		return Stop
	}
	return t
}

// fallback is what follows when no admissible transition was named.
func fallback(gate string) Transition {
	if gate == Supervision {
		return Defer
	}
	return Stop
}

// row is the set of transitions the cause's gate admits now.
func (j *judgement) row(gate string, f Flags) []Transition {
	for _, o := range j.own {
		if o.Name == gate {
			return widened(Row(gate, o.Family, o.resolution), o.Family, f)
		}
	}
	return widened(Row(gate, "", ByNobody), gate, f)
}

// widened adds to the row of missing evidence where the consequence is high.
func widened(row []Transition, gate string, f Flags) []Transition {
	if gate == EvidenceReq && f.HighConsequence {
		return append(row, Escalate)
	}
	return row
}

// flags is what the transition rule may look at.
func (j *judgement) flags() Flags {
	f := j.in.State.Path.Failure
	return Flags{
		RetryLeft:       j.in.State.Path.Retries < j.contract.RetryBudget,
		Recoverable:     f == nil || f.Recoverable,
		OtherComponent:  j.otherComponent(),
		CanAsk:          j.couldAsk().Verdict == Pass,
		HighConsequence: j.highConsequence(),
	}
}

func (j *judgement) otherComponent() bool {
	for name := range j.contract.Components {
		if name != j.in.Action.Agent.Component && j.mayRun(name) {
			return true
		}
	}
	return false
}

func (j *judgement) highConsequence() bool {
	for property, values := range j.contract.HighConsequence {
		if v, ok := j.in.Consequence.Property(property); !ok || slices.Contains(values, v) {
			return true
		}
	}
	return false
}
