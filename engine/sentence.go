package engine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// sentence renders a decision for people, from the same findings that decided
// it and in a fixed order, so that it cannot say anything else than they do.
func sentence(j *judgement) string {
	parts := append(make([]string, 0, 12), j.sayConsequence(), j.sayTier(), j.sayConfidence())
	if s := j.saySuspicion(); s != "" {
		parts = append(parts, s)
	}
	parts = append(parts, j.sayFloor()...)
	if j.d.Tier != j.d.BaseTier && !slices.ContainsFunc(j.d.Floors, func(f Floor) bool { return f.Applied }) {
		why := ""
		if !j.declared {
			why = ": the registry does not declare the tool"
		}
		parts = append(parts, "The tier is "+j.d.Tier.String()+why+".")
	}
	parts = append(parts, j.sayGates()...)
	parts = append(parts, j.sayOutcome())
	return strings.Join(parts, " ")
}

var latencyWords = map[DetectionLatency]string{
	Immediate: "at once", Hours: "within hours", Days: "within days", Unbounded: "perhaps never",
}

var radiusWords = map[BlastRadius]string{
	TaskOnly: "the task at hand", RecordOnly: "one record", SystemWide: "a whole system", External: "the world outside",
}

var sourceWords = map[Source]string{
	Declared: "", Inferred: " (inferred, not declared)", FromPolicy: " (raised by policy)", Undeclared: " (undeclared: the worst is assumed)",
}

var absorbedWords = map[AbsorbedBy]string{
	AgentItself: "the agent", Operator: "the operator", Customer: "the customer", Regulator: "the regulator",
}

func (j *judgement) sayConsequence() string {
	c := j.d.Consequence
	return named(j.d.Tool) + " is " + strings.Replace(c.Reversibility.String(), "costly", "costly to reverse", 1) +
		" and reaches " + radiusWords[c.BlastRadius] + "; if it is wrong, " + absorbedWords[c.AbsorbedBy] +
		" pays and it is noticed " + latencyWords[c.DetectionLatency] + sourceWords[c.Source] + "."
}

// named quotes a name that is not plainly a name: an agent chooses it, and it
// must not speak for the engine.
func named(tool string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-.:/", r)
	}
	if tool != "" && !strings.ContainsFunc(tool, func(r rune) bool { return !plain(r) }) {
		return clip(tool)
	}
	return strconv.Quote(clip(tool))
}

func (j *judgement) sayTier() string {
	var moved, capped []string
	for _, m := range j.d.Modifiers {
		switch {
		case m.Applied:
			moved = append(moved, m.Name)
		case m.Reason.Code == "modifier_capped":
			capped = append(capped, m.Name)
		}
	}
	s := "Base tier " + j.d.BaseTier.String()
	if len(moved) > 0 {
		s += ", tightened by " + strings.Join(moved, ", ")
	}
	if len(capped) > 0 {
		s += fmt.Sprintf("; %s would tighten it, the cap %s holds", strings.Join(capped, ", "), j.policy.Cap())
	}
	return s + "."
}

func (j *judgement) sayConfidence() string {
	threshold := digits(j.contract.Threshold)
	switch c := j.in.Action.Confidence; {
	case c == nil:
		return fmt.Sprintf("No confidence was given, which counts as below the threshold %s.", threshold)
	case !(*c >= 0 && *c <= 1):
		return fmt.Sprintf("Confidence %s lies outside 0 to 1, which counts as below the threshold %s.", digits(*c), threshold)
	case j.lowConfidence():
		return fmt.Sprintf("Confidence %s is below the threshold %s.", digits(*c), threshold)
	default:
		return "Confidence " + digits(*c) + " meets the threshold " + threshold + " and loosens nothing."
	}
}

// digits prints enough digits that two different numbers never look equal.
func digits(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

func (j *judgement) saySuspicion() string {
	if len(j.in.State.Suspect) == 0 {
		return ""
	}
	items := make([]string, len(j.in.State.Suspect))
	for i, s := range j.in.State.Suspect {
		items[i] = fmt.Sprintf("%s %q", s.Kind, clip(s.Value))
	}
	return "It is built on context that a rejection made suspect: " + strings.Join(items, ", ") + "."
}

func (j *judgement) sayFloor() (out []string) {
	for _, f := range j.d.Floors {
		if f.Applied {
			out = append(out, fmt.Sprintf("Floor %s sets the tier to %s; confidence cannot buy past a policy floor.", f.Name, f.Tier))
		}
	}
	for _, r := range j.d.Reasons {
		if strings.HasPrefix(r.Code, "floor_") && strings.HasSuffix(r.Code, "_undetermined") {
			out = append(out, r.Text+".")
		}
	}
	return out
}

func (j *judgement) sayGates() (out []string) {
	for _, g := range j.d.Gates {
		if g.Verdict == NotApplicable && len(g.Reasons) > 0 {
			out = append(out, fmt.Sprintf("%s is left out: %s.", g.Name, g.Reasons[0].Text))
		}
		if g.Verdict.holds() {
			continue
		}
		words := map[Verdict]string{Fail: "failed", Unknown: "could not be determined"}[g.Verdict]
		why := make([]string, len(g.Reasons))
		for i, r := range g.Reasons {
			why[i] = r.Text
		}
		out = append(out, fmt.Sprintf("%s %s: %s.", g.Name, words, strings.Join(why, "; ")))
	}
	return out
}

func (j *judgement) sayOutcome() string {
	d := j.d
	switch {
	case d.Notify:
		return "The call may run, and somebody is told."
	case d.Permit:
		return "The call may run."
	case d.Transition == Escalate && d.Boundary == Deny:
		return "The call is held for a person, who cannot allow it (escalate)."
	case d.Transition == Escalate:
		return "The call is held until a person has decided (escalate)."
	case d.Transition == Defer && d.answered == StaleContext:
		return "The call is held until its context is current (defer)."
	case d.Transition == Defer:
		return "The call is held: nobody can decide it now (defer)."
	default:
		return fmt.Sprintf("The call is blocked (%s).", d.Transition)
	}
}
