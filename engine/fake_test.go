package engine

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// fakePolicy is a bundle in plain Go: the default bundle's severity table,
// modifiers, contract and transition rule, with a few tools. Tests change its
// fields.
type fakePolicy struct {
	bundle     BundleID
	contract   *Contract
	tools      map[string]Tool
	undeclared Tier
	inferred   Tier
	bump       int
	limit      Tier
	base       func(Consequence) (Tier, Reason)
	modifiers  func(Consequence, bool) []ModifierRule
	raises     []Raise
	floors     []FloorMatch
	gates      []Gate
	findings   map[string]Finding
	next       func(Cause, Flags) (Transition, bool)

	asked []string // gates tested, in order
	saw   Input    // what the last own gate saw
}

func newFake() *fakePolicy {
	return &fakePolicy{
		bundle:     BundleID{Revision: "r1", Digest: "sha256:b1"},
		contract:   defaultContract(),
		tools:      defaultTools(),
		undeclared: Refuse,
		inferred:   Propose,
		bump:       1,
		limit:      Propose,
		base:       defaultBase,
		modifiers:  defaultModifiers,
		findings:   map[string]Finding{},
		next:       defaultNext,
	}
}

func (p *fakePolicy) Bundle() BundleID                               { return p.bundle }
func (p *fakePolicy) Contract() *Contract                            { return p.contract }
func (p *fakePolicy) Undeclared() Tier                               { return p.undeclared }
func (p *fakePolicy) InferredFloor() Tier                            { return p.inferred }
func (p *fakePolicy) Base(c Consequence) (Tier, Reason)              { return p.base(c) }
func (p *fakePolicy) Bump() int                                      { return p.bump }
func (p *fakePolicy) Cap() Tier                                      { return p.limit }
func (p *fakePolicy) Raises(context.Context, *Input) []Raise         { return p.raises }
func (p *fakePolicy) Floors(context.Context, *Input) []FloorMatch    { return p.floors }
func (p *fakePolicy) Gates(string) []Gate                            { return p.gates }
func (p *fakePolicy) Next(c Cause, f Flags) (Transition, bool)       { return p.next(c, f) }
func (p *fakePolicy) Modifiers(c Consequence, l bool) []ModifierRule { return p.modifiers(c, l) }

func (p *fakePolicy) Tool(name string) (Tool, bool) {
	t, ok := p.tools[name]
	return t, ok
}

func (p *fakePolicy) Test(_ context.Context, gate string, in *Input) Finding {
	p.asked = append(p.asked, gate)
	p.saw = *in
	return p.findings[gate]
}

// addGate gives the policy an own gate with a fixed finding. Gates stay sorted
// by name, as a Policy promises.
func (p *fakePolicy) addGate(name string, v Verdict, onFail, onUnknown Resolution) {
	p.gates = append(p.gates, Gate{Name: name, OnFail: onFail, OnUnknown: onUnknown})
	slices.SortFunc(p.gates, func(a, b Gate) int { return strings.Compare(a.Name, b.Name) })
	p.findings[name] = Finding{Verdict: v, Reasons: []Reason{{Code: "own_" + v.String(), Text: "gate " + name + " is " + v.String()}}}
}

// addFloor gives the policy a floor that holds for every call.
func (p *fakePolicy) addFloor(name string, t Tier) {
	p.floors = append(p.floors, FloorMatch{Name: name, Tier: t, Determined: true, Reason: Reason{Text: "floor " + name + " holds"}})
	slices.SortStableFunc(p.floors, func(a, b FloorMatch) int { return strings.Compare(a.Name, b.Name) })
}

// edit changes one declared tool.
func (p *fakePolicy) edit(tool string, change func(*Tool)) {
	t := p.tools[tool]
	change(&t)
	p.tools[tool] = t
}

func defaultContract() *Contract {
	return &Contract{
		Threshold:   0.85,
		Start:       Start{Settings: map[string]any{"capacity": 4.0}},
		TracePins:   []string{"context", "rule", "component"},
		PathPins:    []string{"input", "output"},
		RetryBudget: 1,
		Roles:       []string{"reviewer"},
		Required:    1,
		Gates: map[string]GateRule{
			ContextGate: {Scope: "tools that require context", Rationale: "no context item is required"},
			EvidenceReq: {Scope: "tools that require evidence", Rationale: "no evidence is required"},
			Eligibility: {Scope: "tools that require a component", Rationale: "no component is required"},
		},
		Priority:      Causes(),
		Approval:      ApprovalRule{VoidedBy: []Binding{BindPins, BindBundle, BindFacts, BindEvidence, BindSuspicion}},
		Reexamination: "trace",
	}
}

// Tools, one for each tier the severity table gives.
const (
	toolNote    = "note"          // execute
	toolUpdate  = "update_record" // execute_notify
	toolRevoke  = "revoke_access" // propose
	toolLook    = "look_up"       // execute, effect read
	toolMissing = "not_in_registry"
)

func defaultTools() map[string]Tool {
	mild := Consequence{Reversible, TaskOnly, AgentItself, Immediate, Declared}
	tools := map[string]Tool{
		toolNote:   {Consequence: mild},
		toolUpdate: {Consequence: Consequence{Costly, RecordOnly, Operator, Hours, Declared}},
		toolRevoke: {Consequence: Consequence{Irreversible, SystemWide, Operator, Immediate, Declared}},
		toolLook:   {Consequence: mild, Effect: Read},
	}
	for name, t := range tools {
		t.Name = name
		tools[name] = t
	}
	return tools
}

func defaultBase(c Consequence) (Tier, Reason) {
	table := map[BlastRadius][3]Tier{ // irreversible, costly, reversible
		TaskOnly:   {Propose, ExecuteNotify, Execute},
		RecordOnly: {Propose, ExecuteNotify, Execute},
		SystemWide: {Propose, Propose, ExecuteNotify},
		External:   {Propose, Propose, Propose},
	}
	return table[c.BlastRadius][c.Reversibility], Reason{Code: "base_tier", Text: "base tier from the severity table"}
}

func defaultModifiers(c Consequence, low bool) []ModifierRule {
	return []ModifierRule{
		{Name: "absorbed_by", Holds: c.AbsorbedBy == Customer || c.AbsorbedBy == Regulator},
		{Name: "confidence", Holds: low},
		{Name: "detection_latency", Holds: c.DetectionLatency == Unbounded},
	}
}

// defaultNext is policies/default/conjunct/transition/transition.rego.
func defaultNext(c Cause, f Flags) (Transition, bool) {
	switch c {
	case Ineligible:
		if f.OtherComponent {
			return Switch, true
		}
	case StaleContext:
		if f.RetryLeft {
			return Retry, true
		}
		return Defer, true
	case MissingEvidence:
		return Verify, true
	case FailureOpen:
		if f.RetryLeft && f.Recoverable {
			return Retry, true
		}
	case OwnReview, StructureFired, CriticLow, ReviewDue:
		if f.CanAsk {
			return Escalate, true
		}
		return Defer, true
	}
	return Stop, true
}

// always is a transition rule that names t whatever the cause.
func always(t Transition) func(Cause, Flags) (Transition, bool) {
	return func(Cause, Flags) (Transition, bool) { return t, true }
}

const clock = int64(1000)

// call is an input for one tool at the clock, confident, in the contract's first state.
func call(p *fakePolicy, tool string) Input {
	in := Input{
		Action: Action{
			TraceID: "INC-1", CallID: "INC-1:c1", Agent: Agent{ID: "agent", Component: "planner@3"},
			Tool: tool, Arguments: map[string]any{}, Confidence: new(0.9),
			InputHash: "sha256:i1", CallHash: "sha256:c1",
		},
		Facts:     map[string]any{"path": map[string]any{"inside": true}},
		FactsHash: "sha256:f1",
		Now:       clock,
	}
	in.State = p.contract.FirstState()
	return in
}

// approve puts a valid approval of what is there now on the path.
func approve(p *fakePolicy, in *Input, gates ...string) {
	in.State.Path.Approval = &Approval{
		Request: 7, Seq: 8, Time: clock - 10, Gates: gates,
		Votes: []Vote{{Reviewer: "ada", Role: "reviewer", Time: clock - 10, Gates: gates, Seq: 8}},
		Saw:   in.Sees(p.bundle.Digest),
	}
}

// setting changes one setting without touching the contract's first values.
func setting(in *Input, name string, value any) {
	settings := map[string]any{name: value}
	for k, v := range in.State.Settings {
		if k != name {
			settings[k] = v
		}
	}
	in.State.Settings = settings
}

func decide(p Policy, in Input) Decision { return Decide(context.Background(), p, in) }

// codes lists the codes of reasons in order.
func codes(reasons []Reason) []string {
	out := []string{}
	for _, r := range reasons {
		out = append(out, r.Code)
	}
	return out
}

// factsOf returns the facts of the first reason with a code.
func factsOf(t *testing.T, reasons []Reason, code string) []Fact {
	t.Helper()
	for _, r := range reasons {
		if r.Code == code {
			return r.Facts
		}
	}
	t.Fatalf("reasons = %v, want one with code %s", codes(reasons), code)
	return nil
}

// clone copies a value deeply, so that a test can tell whether it was changed.
func clone[T any](v T) T { return cloneValue(reflect.ValueOf(&v).Elem()).Interface().(T) }

func cloneValue(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			out.Set(reflect.New(v.Type().Elem()))
			out.Elem().Set(cloneValue(v.Elem()))
		}
	case reflect.Interface:
		if !v.IsNil() {
			out.Set(cloneValue(v.Elem()))
		}
	case reflect.Map:
		if !v.IsNil() {
			out.Set(reflect.MakeMap(v.Type()))
			for _, k := range v.MapKeys() {
				out.SetMapIndex(k, cloneValue(v.MapIndex(k)))
			}
		}
	case reflect.Slice:
		if !v.IsNil() {
			out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
			for i := range v.Len() {
				out.Index(i).Set(cloneValue(v.Index(i)))
			}
		}
	case reflect.Struct:
		out.Set(v)
		for i := range v.NumField() {
			if out.Field(i).CanSet() {
				out.Field(i).Set(cloneValue(v.Field(i)))
			}
		}
	default:
		out.Set(v)
	}
	return out
}

func TestTheFakePolicyIsAPolicyWhoseDefaultsPermitTheMildestCall(t *testing.T) {
	p := newFake()
	d := decide(p, call(p, toolNote))
	if !d.Permit || d.Outcome != Allow || d.Tier != Execute {
		t.Fatalf("Decide(note) = permit %v, outcome %v, tier %v: want true, allow, execute (%s)", d.Permit, d.Outcome, d.Tier, d.Reason)
	}
}
