package engine

// Decision is the whole answer to one action, in the format users and tests
// rely on. The zero value refuses: tier refuse, boundary deny, transition stop,
// no permit, outcome block.
type Decision struct {
	TraceID     string       `json:"trace_id"`
	CallID      string       `json:"call_id"`
	Tool        string       `json:"tool"`
	InputHash   string       `json:"input_hash"`
	CallHash    string       `json:"call_hash"`
	Consequence Consequence  `json:"consequence"`
	BaseTier    Tier         `json:"base_tier"`
	Modifiers   []Modifier   `json:"modifiers"`
	Floors      []Floor      `json:"floors"`
	Tier        Tier         `json:"tier"`
	Boundary    Boundary     `json:"boundary"`
	Gates       []GateResult `json:"gates"`
	Transition  Transition   `json:"transition"`
	// Cause names the gate whose result the transition answers; empty on act.
	Cause   string  `json:"cause"`
	Permit  bool    `json:"permit"`
	Outcome Outcome `json:"outcome"`
	// Notify is set when the call may run and somebody has to be told.
	Notify bool `json:"notify"`
	// Request is the seq of the current review request of this path, or 0.
	Request uint64 `json:"request"`
	// Reason is the derived sentence; it is neither hashed nor compared.
	Reason       string         `json:"reason"`
	Reasons      []Reason       `json:"reasons"`
	Facts        map[string]any `json:"facts"`
	FactsUnknown []string       `json:"facts_unknown"`
	Imposed      []Imposed      `json:"imposed"`
	Bundle       BundleID       `json:"bundle"`
	Journalled   bool           `json:"journalled"`
	Seq          uint64         `json:"seq"`
	Hash         string         `json:"hash"`

	// answered is the cause behind Cause, and flags what the transition rule saw.
	answered Cause
	approved bool
	open     []string // own gates that only an approval naming them lets pass
	flags    Flags
	needs    []Need
}

// Answered is the cause that the transition answers; NoCause on act.
func (d *Decision) Answered() Cause { return d.answered }

// Flags is what the transition rule saw besides the cause.
func (d *Decision) Flags() Flags { return d.flags }

// Needs is the shortest list of what stands between this action and allow.
// Confidence is never on it.
func (d *Decision) Needs() []Need { return d.needs }

// Modifier is one modifier of the severity table. Applied says that it moved
// the tier; one that holds under the cap does not.
type Modifier struct {
	Name    string `json:"name"`
	Applied bool   `json:"applied"`
	Reason  Reason `json:"reason"`
}

// Floor is one floor that matched. Applied marks the one that set the tier.
type Floor struct {
	Name    string `json:"name"`
	Tier    Tier   `json:"tier"`
	Applied bool   `json:"applied"`
}

// GateResult is one gate's verdict. Scope and Rationale repeat what the bundle
// stores, where the gate is not applicable.
type GateResult struct {
	Name      string   `json:"name"`
	Verdict   Verdict  `json:"verdict"`
	Reasons   []Reason `json:"reasons"`
	Scope     string   `json:"scope,omitempty"`
	Rationale string   `json:"rationale,omitempty"`
}

// refusal is the decision before anything is known: it blocks.
func refusal(p Policy, in *Input) Decision {
	d := Decision{
		TraceID: in.Action.TraceID, CallID: in.Action.CallID, Tool: in.Action.Tool,
		InputHash: in.Action.InputHash, CallHash: in.Action.CallHash,
		Modifiers: []Modifier{}, Floors: []Floor{}, Gates: make([]GateResult, 0, 8), Reasons: make([]Reason, 0, 4),
		Facts: object(in.Facts), FactsUnknown: []string{}, Imposed: []Imposed{},
	}
	d.FactsUnknown = append(d.FactsUnknown, in.FactsUnknown...)
	if p != nil {
		d.Bundle = p.Bundle()
	}
	return d
}

// Gate returns the result of the named gate; the zero result, which is Unknown,
// when the gate was not evaluated.
func (d *Decision) Gate(name string) GateResult {
	for _, g := range d.Gates {
		if g.Name == name {
			return g
		}
	}
	return GateResult{}
}
