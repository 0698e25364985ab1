package engine

import "slices"

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

// Clone is the same decision with nothing in it that another one holds.
func (d *Decision) Clone() Decision {
	out := *d
	out.Modifiers, out.Floors, out.Gates = slices.Clone(d.Modifiers), slices.Clone(d.Floors), slices.Clone(d.Gates)
	out.Reasons, out.FactsUnknown, out.Imposed = slices.Clone(d.Reasons), slices.Clone(d.FactsUnknown), slices.Clone(d.Imposed)
	out.Facts, _ = CloneValue(d.Facts).(map[string]any)
	out.open, out.needs = slices.Clone(d.open), slices.Clone(d.needs)
	for i := range out.Gates {
		out.Gates[i].Reasons = slices.Clone(out.Gates[i].Reasons)
	}
	out.own()
	return out
}

// own gives the reasons of a decision facts of their own. What a policy returns
// may be a table of the bundle: whoever is answered could write on it, and on
// every decision that comes after.
func (d *Decision) own() {
	n := 0
	d.eachReason(func(r *Reason) { n += len(r.Facts) })
	facts := make([]Fact, 0, n)
	d.eachReason(func(r *Reason) {
		from := len(facts)
		for _, f := range r.Facts {
			f.Value = CloneValue(f.Value)
			facts = append(facts, f)
		}
		r.Facts = facts[from:len(facts):len(facts)]
	})
}

func (d *Decision) eachReason(visit func(*Reason)) {
	for i := range d.Modifiers {
		visit(&d.Modifiers[i].Reason)
	}
	for i := range d.Gates {
		for j := range d.Gates[i].Reasons {
			visit(&d.Gates[i].Reasons[j])
		}
	}
	for i := range d.Reasons {
		visit(&d.Reasons[i])
	}
}

// CloneValue copies a JSON value, so that neither shows what is written on the
// other.
func CloneValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if v == nil {
			return v
		}
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[key] = CloneValue(value)
		}
		return out
	case []any:
		if v == nil {
			return v
		}
		out := make([]any, len(v))
		for i, value := range v {
			out[i] = CloneValue(value)
		}
		return out
	}
	return v
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
