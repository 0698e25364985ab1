package engine

import (
	"fmt"
	"strings"
)

// Need is one thing that stands between an action and allow: which approval,
// which evidence, which argument.
type Need struct {
	Kind string `json:"kind"` // argument, agent, approval, evidence, context, component, gate, failure, deadline, revocation, nothing
	Text string `json:"text"`
}

// needs lists what is missing, in the order of the gates. A call that nothing
// can allow has exactly that on its list: asking for anything else would be
// in vain.
func (j *judgement) needs() []Need {
	if j.d.Permit {
		return nil
	}
	if dead := j.hopeless(); len(dead) > 0 {
		return dead
	}
	var out []Need
	need := func(kind, format string, args ...any) { out = append(out, Need{kind, fmt.Sprintf(format, args...)}) }
	for _, r := range j.mismatch {
		need("argument", "%s", r.Text)
	}
	out = append(out, j.needsOfGates()...)
	if past, ok := j.deadlinePast(); past || !ok {
		need("deadline", "a later deadline")
	}
	if r := j.in.State.Rejection; r != nil {
		need("revocation", "the rejection of entry %d revoked", r.Seq)
	}
	if j.in.Action.Agent == (Agent{}) && !j.approved && j.d.Tier.Boundary() == RequireReview {
		need("agent", "an agent named in the call: without one no reviewer can be told apart from it")
	}
	if gates := j.unresolved(); len(gates) > 0 || !j.approved && j.d.Tier.Boundary() == RequireReview {
		out = append(out, j.needsApproval(gates))
	}
	return out
}

// hopeless lists the reasons for which no approval, evidence or argument could
// allow the call.
func (j *judgement) hopeless() (out []Need) {
	if j.d.Tier == Refuse {
		text := "nothing can allow it: the tier is refuse"
		for _, f := range j.d.Floors {
			if f.Applied {
				text = "nothing can allow it: floor " + f.Name + " refuses"
			}
		}
		if !j.declared && len(j.d.Floors) == 0 {
			text = "nothing can allow it: the registry does not declare the tool"
		}
		out = append(out, Need{"nothing", text})
	}
	if j.in.State.Path.Pulled.spent() {
		out = append(out, Need{"nothing", "nothing can allow it again: it ran and was pulled back"})
	} else if j.released() {
		out = append(out, Need{"nothing", "nothing can allow it again: it was released before"})
	}
	return out
}

func (j *judgement) needsOfGates() (out []Need) {
	kinds := map[string]string{ContextGate: "context", EvidenceReq: "evidence", Eligibility: "component", Resolved: "failure"}
	for _, g := range j.d.Gates {
		if kind := kinds[g.Name]; kind != "" && !g.Verdict.holds() {
			for _, r := range g.Reasons {
				out = append(out, Need{kind, "this mended: " + r.Text})
			}
		}
	}
	for _, o := range j.own {
		if !o.Verdict.holds() && o.resolution == ByNobody {
			for _, r := range o.Reasons {
				out = append(out, Need{"gate", fmt.Sprintf("gate %s passed: %s", o.Name, r.Text)})
			}
		}
	}
	return out
}

// unresolved lists the gates that only an approval which names them lets pass.
func (j *judgement) unresolved() (gates []string) {
	for _, list := range [][]ownGate{j.gated, j.own} {
		for _, o := range list {
			if !o.Verdict.holds() && o.resolution == ByReview {
				gates = append(gates, o.Name)
			}
		}
	}
	return gates
}

func (j *judgement) needsApproval(gates []string) Need {
	who := "somebody who may review"
	if len(j.contract.Roles) > 0 {
		who = strings.Join(j.contract.Roles, " or ")
	}
	text := "an approval of this call by " + who
	if j.contract.Required > 1 {
		text = fmt.Sprintf("%d approvals of this call by %s", j.contract.Required, who)
	}
	if len(gates) > 0 {
		text += " that names " + strings.Join(gates, ", ")
	}
	return Need{"approval", text}
}
