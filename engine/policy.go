package engine

import "context"

// Policy is one loaded bundle: what a decision asks of policy text. Every
// method is pure. A method that errs, panics or runs out of time is an Unknown
// in the decision; the engine sees to that.
type Policy interface {
	// Bundle names the policy.
	Bundle() BundleID
	// Contract returns the bundle's contract. It must not be changed.
	Contract() *Contract
	// Tool returns what the registry knows of a tool, and false when it is
	// undeclared.
	Tool(name string) (Tool, bool)
	// Undeclared is the tier of a tool the registry does not know.
	Undeclared() Tier
	// InferredFloor is the tier below which a tool whose consequence was only
	// inferred is pinned.
	InferredFloor() Tier
	// Base is the severity table's tier for a consequence.
	Base(Consequence) (Tier, Reason)
	// Modifiers lists every modifier of the bundle and whether it holds.
	Modifiers(c Consequence, lowConfidence bool) []ModifierRule
	// Bump is by how many tiers a modifier tightens, Cap the tier none goes beyond.
	Bump() int
	Cap() Tier
	// Raises lists what holds, or cannot be determined.
	Raises(context.Context, *Input) []Raise
	// Floors lists the floors that are true or cannot be determined, sorted by name.
	Floors(context.Context, *Input) []FloorMatch
	// Gates lists the own gates that apply to a tool, sorted by name.
	Gates(tool string) []Gate
	// Test evaluates one own gate.
	Test(ctx context.Context, gate string, in *Input) Finding
	// Next is the transition the bundle names for a cause. False: undefined,
	// conflicting or not a transition.
	Next(Cause, Flags) (Transition, bool)
}

// BundleID names a bundle: its author's revision and the digest of its content.
type BundleID struct {
	Revision string `json:"revision"`
	Digest   string `json:"digest"`
}

// ModifierRule is one modifier for one consequence.
type ModifierRule struct {
	Name   string
	Holds  bool
	Reason Reason
}

// FloorMatch is a floor that applies to an input.
type FloorMatch struct {
	Name string
	Tier Tier
	// Determined is false where the floor applies because something it reads is
	// absent or failed.
	Determined bool
	// Cut is the code (timeout, cancelled) when the evaluation was cut short.
	// Replay imposes it again through Input.Imposed, under FloorGate(Name).
	Cut    string
	Reason Reason
}

// FloorGate is the name under which a floor stands in Input.Imposed.
func FloorGate(name string) string { return "floors/" + name }

// Gate is an own gate of the bundle, in Rego or CEL.
type Gate struct {
	Name      string
	OnFail    Resolution
	OnUnknown Resolution
	// Family is the standard gate whose row of transitions applies, or empty.
	Family string
}

// Finding is the result of testing a gate. The zero value is Unknown.
type Finding struct {
	Verdict Verdict
	Reasons []Reason
}

// Flags is what the transition rule may look at besides the cause.
type Flags struct {
	RetryLeft       bool
	Recoverable     bool
	OtherComponent  bool
	CanAsk          bool
	HighConsequence bool
}

// Index is a dense number for the flags, 0 to 31.
func (f Flags) Index() (i int) {
	for n, b := range [...]bool{f.RetryLeft, f.Recoverable, f.OtherComponent, f.CanAsk, f.HighConsequence} {
		if b {
			i |= 1 << n
		}
	}
	return i
}

// FlagsAt is the inverse of Index.
func FlagsAt(i int) Flags {
	return Flags{i&1 != 0, i&2 != 0, i&4 != 0, i&8 != 0, i&16 != 0}
}

// NumFlags is the number of values Index has.
const NumFlags = 32

// Document is the flags as the transition rule sees them, the cause included.
func (f Flags) Document(c Cause) map[string]any {
	return map[string]any{
		"cause": c.String(), "retry_left": f.RetryLeft, "recoverable": f.Recoverable,
		"other_component": f.OtherComponent, "can_ask": f.CanAsk, "high_consequence": f.HighConsequence,
	}
}
