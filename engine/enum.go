package engine

import (
	"fmt"
	"slices"
	"strings"
)

// names holds the text of an enumeration, indexed by value.
type names []string

func (n names) text(i uint8) string {
	if int(i) < len(n) {
		return n[i]
	}
	return fmt.Sprintf("invalid(%d)", i)
}

// parse finds text among n. Unknown text is an error and never a value.
func (n names) parse(kind string, text []byte) (uint8, error) {
	if i := slices.Index(n, string(text)); i >= 0 {
		return uint8(i), nil
	}
	if hint := DidYouMean(string(text), n); hint != "" {
		return 0, fmt.Errorf("unknown %s %q: %s", kind, text, hint)
	}
	return 0, fmt.Errorf("unknown %s %q: want one of %s", kind, text, strings.Join(n, ", "))
}

// Tier is what a call may do, from strictest to loosest. The zero value refuses.
type Tier uint8

const (
	Refuse Tier = iota
	Propose
	ExecuteNotify
	Execute
)

var tierNames = names{"refuse", "propose", "execute_notify", "execute"}

func (t Tier) String() string               { return tierNames.text(uint8(t)) }
func (t Tier) MarshalText() ([]byte, error) { return []byte(t.String()), nil }
func (t *Tier) UnmarshalText(b []byte) (err error) {
	*(*uint8)(t), err = tierNames.parse("tier", b)
	return err
}

// valid is t, or Refuse for what is no tier.
func (t Tier) valid() Tier {
	if t > Execute {
		return Refuse
	}
	return t
}

// StricterThan reports whether t leaves less freedom than u.
func (t Tier) StricterThan(u Tier) bool { return t < u }

// Boundary is what a tier permits: nothing, a person's decision, or the call itself.
type Boundary uint8

const (
	Deny Boundary = iota
	RequireReview
	AllowCall
)

var boundaryNames = names{"deny", "require_review", "allow"}

func (b Boundary) String() string               { return boundaryNames.text(uint8(b)) }
func (b Boundary) MarshalText() ([]byte, error) { return []byte(b.String()), nil }
func (b *Boundary) UnmarshalText(t []byte) (err error) {
	*(*uint8)(b), err = boundaryNames.parse("boundary", t)
	return err
}

// Boundary derives the boundary from the tier.
func (t Tier) Boundary() Boundary {
	switch t {
	case Execute, ExecuteNotify:
		return AllowCall
	case Propose:
		return RequireReview
	}
	return Deny
}

// Verdict is the result of a gate. The zero value is Unknown, which never allows.
type Verdict uint8

const (
	Unknown Verdict = iota
	Fail
	NotApplicable
	Pass
)

var verdictNames = names{"unknown", "fail", "not_applicable", "pass"}

func (v Verdict) String() string               { return verdictNames.text(uint8(v)) }
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }
func (v *Verdict) UnmarshalText(b []byte) (err error) {
	*(*uint8)(v), err = verdictNames.parse("verdict", b)
	return err
}

// holds reports whether the verdict is no obstacle.
func (v Verdict) holds() bool { return v == Pass || v == NotApplicable }

// Transition is what has to happen next. The zero value stops.
type Transition uint8

const (
	Stop Transition = iota
	Defer
	Escalate
	Verify
	Retry
	Switch
	ExecuteComponent
	Act
)

var transitionNames = names{"stop", "defer", "escalate", "verify", "retry", "switch", "execute", "act"}

func (t Transition) String() string               { return transitionNames.text(uint8(t)) }
func (t Transition) MarshalText() ([]byte, error) { return []byte(t.String()), nil }
func (t *Transition) UnmarshalText(b []byte) (err error) {
	*(*uint8)(t), err = transitionNames.parse("transition", b)
	return err
}

// Outcome is the answer to the caller. The zero value blocks.
type Outcome uint8

const (
	Block Outcome = iota
	Review
	Allow
)

var outcomeNames = names{"block", "review", "allow"}

func (o Outcome) String() string               { return outcomeNames.text(uint8(o)) }
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }
func (o *Outcome) UnmarshalText(b []byte) (err error) {
	*(*uint8)(o), err = outcomeNames.parse("outcome", b)
	return err
}

// Resolution is what follows when an own gate fails or is unknown. The zero
// value blocks; only ByReview lets a person resolve the gate.
type Resolution uint8

const (
	ByNobody Resolution = iota
	ByReview
)

var resolutionNames = names{"block", "review"}

func (r Resolution) String() string               { return resolutionNames.text(uint8(r)) }
func (r Resolution) MarshalText() ([]byte, error) { return []byte(r.String()), nil }
func (r *Resolution) UnmarshalText(b []byte) (err error) {
	*(*uint8)(r), err = resolutionNames.parse("resolution", b)
	return err
}

// Reversibility says whether the call's effect can be undone.
type Reversibility uint8

const (
	Irreversible Reversibility = iota
	Costly
	Reversible
)

// BlastRadius says how far the call's effect reaches.
type BlastRadius uint8

const (
	External BlastRadius = iota
	SystemWide
	RecordOnly
	TaskOnly
)

// AbsorbedBy says who pays when the call was wrong.
type AbsorbedBy uint8

const (
	Regulator AbsorbedBy = iota
	Customer
	Operator
	AgentItself
)

// DetectionLatency says how late a wrong call would be noticed.
type DetectionLatency uint8

const (
	Unbounded DetectionLatency = iota
	Days
	Hours
	Immediate
)

// Source says where a consequence comes from.
type Source uint8

const (
	Undeclared Source = iota
	FromPolicy
	Inferred
	Declared
)

var (
	reversibilityNames    = names{"irreversible", "costly", "reversible"}
	blastRadiusNames      = names{"external", "system", "record", "task"}
	absorbedByNames       = names{"regulator", "customer", "operator", "agent"}
	detectionLatencyNames = names{"unbounded", "days", "hours", "immediate"}
	sourceNames           = names{"undeclared", "policy", "inferred", "declared"}
)

func (r Reversibility) String() string               { return reversibilityNames.text(uint8(r)) }
func (r Reversibility) MarshalText() ([]byte, error) { return []byte(r.String()), nil }
func (r *Reversibility) UnmarshalText(b []byte) (err error) {
	*(*uint8)(r), err = reversibilityNames.parse("reversibility", b)
	return err
}

func (r BlastRadius) String() string               { return blastRadiusNames.text(uint8(r)) }
func (r BlastRadius) MarshalText() ([]byte, error) { return []byte(r.String()), nil }
func (r *BlastRadius) UnmarshalText(b []byte) (err error) {
	*(*uint8)(r), err = blastRadiusNames.parse("blast_radius", b)
	return err
}

func (a AbsorbedBy) String() string               { return absorbedByNames.text(uint8(a)) }
func (a AbsorbedBy) MarshalText() ([]byte, error) { return []byte(a.String()), nil }
func (a *AbsorbedBy) UnmarshalText(b []byte) (err error) {
	*(*uint8)(a), err = absorbedByNames.parse("absorbed_by", b)
	return err
}

func (d DetectionLatency) String() string               { return detectionLatencyNames.text(uint8(d)) }
func (d DetectionLatency) MarshalText() ([]byte, error) { return []byte(d.String()), nil }
func (d *DetectionLatency) UnmarshalText(b []byte) (err error) {
	*(*uint8)(d), err = detectionLatencyNames.parse("detection_latency", b)
	return err
}

func (s Source) String() string               { return sourceNames.text(uint8(s)) }
func (s Source) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
func (s *Source) UnmarshalText(b []byte) (err error) {
	*(*uint8)(s), err = sourceNames.parse("source", b)
	return err
}

// Effect says whether a tool changes anything. The zero value writes.
type Effect uint8

const (
	Write Effect = iota
	Read
)

var effectNames = names{"write", "read"}

func (e Effect) String() string               { return effectNames.text(uint8(e)) }
func (e Effect) MarshalText() ([]byte, error) { return []byte(e.String()), nil }
func (e *Effect) UnmarshalText(b []byte) (err error) {
	*(*uint8)(e), err = effectNames.parse("effect", b)
	return err
}

// Cause is the one question that the transition rule answers: the first gate
// that is not pass, in the contract's order.
type Cause uint8

const (
	NoCause Cause = iota
	OutOfScope
	Ineligible
	DeadlinePast
	StaleContext
	MissingEvidence
	OwnBlock
	OwnReview
	FailureOpen
	Rejected
	StructureFired
	CriticLow
	ReviewDue
)

var causeNames = names{"none", "out_of_scope", "ineligible", "deadline_past", "context", "evidence",
	"own_block", "own_review", "failure", "rejected", "structure", "critic", "review_due"}

func (c Cause) String() string               { return causeNames.text(uint8(c)) }
func (c Cause) MarshalText() ([]byte, error) { return []byte(c.String()), nil }
func (c *Cause) UnmarshalText(b []byte) (err error) {
	*(*uint8)(c), err = causeNames.parse("cause", b)
	return err
}

// Causes lists every cause in the default order. It never holds NoCause.
func Causes() []Cause {
	all := make([]Cause, 0, ReviewDue)
	for c := OutOfScope; c <= ReviewDue; c++ {
		all = append(all, c)
	}
	return all
}
