package engine

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
)

// panicking is a policy of which one method panics; with gate set, Test panics
// for that gate only.
type panicking struct {
	*fakePolicy
	method, gate string
	with         any
}

func (p panicking) at(method string) {
	if p.method != method {
		return
	}
	if p.with != nil {
		panic(p.with)
	}
	panic("broken " + method)
}

func (p panicking) Bundle() BundleID                  { p.at("Bundle"); return p.fakePolicy.Bundle() }
func (p panicking) Contract() *Contract               { p.at("Contract"); return p.fakePolicy.Contract() }
func (p panicking) Tool(n string) (Tool, bool)        { p.at("Tool"); return p.fakePolicy.Tool(n) }
func (p panicking) Undeclared() Tier                  { p.at("Undeclared"); return p.fakePolicy.Undeclared() }
func (p panicking) InferredFloor() Tier               { p.at("InferredFloor"); return p.fakePolicy.InferredFloor() }
func (p panicking) Base(c Consequence) (Tier, Reason) { p.at("Base"); return p.fakePolicy.Base(c) }
func (p panicking) Bump() int                         { p.at("Bump"); return p.fakePolicy.Bump() }
func (p panicking) Cap() Tier                         { p.at("Cap"); return p.fakePolicy.Cap() }
func (p panicking) Gates(t string) []Gate             { p.at("Gates"); return p.fakePolicy.Gates(t) }
func (p panicking) Next(c Cause, f Flags) (Transition, bool) {
	p.at("Next")
	return p.fakePolicy.Next(c, f)
}
func (p panicking) Modifiers(c Consequence, l bool) []ModifierRule {
	p.at("Modifiers")
	return p.fakePolicy.Modifiers(c, l)
}
func (p panicking) Raises(ctx context.Context, in *Input) []Raise {
	p.at("Raises")
	return p.fakePolicy.Raises(ctx, in)
}
func (p panicking) Floors(ctx context.Context, in *Input) []FloorMatch {
	p.at("Floors")
	return p.fakePolicy.Floors(ctx, in)
}
func (p panicking) Test(ctx context.Context, gate string, in *Input) Finding {
	if p.gate == "" || p.gate == gate {
		p.at("Test")
	}
	return p.fakePolicy.Test(ctx, gate, in)
}

// wantBlock checks that a decision refuses in every field that could be read as
// a permission.
func wantBlock(t *testing.T, what string, d Decision) {
	t.Helper()
	if d.Permit || d.Outcome != Block || d.Transition != Stop || d.Boundary != Deny || d.Tier != Refuse || d.BaseTier != Refuse || d.Notify {
		t.Errorf("%s: permit %v, outcome %v, transition %v, boundary %v, tier %v, base %v, notify %v: want false, block, stop, deny, refuse, refuse, false",
			what, d.Permit, d.Outcome, d.Transition, d.Boundary, d.Tier, d.BaseTier, d.Notify)
	}
}

func TestTheZeroValuesRefuse(t *testing.T) {
	wantBlock(t, "zero Decision", Decision{})
	if v := (Finding{}).Verdict; v != Unknown {
		t.Errorf("verdict of the zero Finding = %v, want unknown", v)
	}
	if v := (GateResult{}).Verdict; v != Unknown || allPass([]GateResult{{}}) {
		t.Errorf("verdict of the zero GateResult = %v, want unknown, and no pass", v)
	}
	if g := (Gate{}); g.OnFail != ByNobody || g.OnUnknown != ByNobody {
		t.Errorf("zero Gate = %+v, want that nobody resolves it", g)
	}
	if f := (FloorMatch{}); f.Tier != Refuse || f.Determined {
		t.Errorf("zero FloorMatch = %+v, want an undetermined refusal", f)
	}
	if a := (Argument{}); a.Type.matches("x") || a.Type.matches(nil) || a.Type.matches(1.0) {
		t.Errorf("zero Argument matches something")
	}
	if tool := (Tool{}); tool.Effect != Write || tool.Idempotent || tool.Consequence != (Consequence{}) {
		t.Errorf("zero Tool = %+v, want a write of the worst consequence", tool)
	}
	if d := (&Decision{}); d.Answered() != NoCause {
		t.Errorf("zero Decision answers %v, want none", d.Answered())
	}
}

func TestAnEmptyInputIsRefused(t *testing.T) {
	p := newFake()
	d := decide(p, Input{})
	if d.Permit || d.Tier != Refuse || d.Outcome != Block {
		t.Errorf("permit %v, tier %v, outcome %v: want a block", d.Permit, d.Tier, d.Outcome)
	}
	if d.Facts == nil || d.FactsUnknown == nil || d.Imposed == nil {
		t.Errorf("facts %v, unknown %v, imposed %v: want lists, not null", d.Facts, d.FactsUnknown, d.Imposed)
	}
}

func TestTheZeroContractPermitsNothing(t *testing.T) {
	for _, tool := range []string{toolNote, toolUpdate, toolRevoke, toolLook, toolMissing} {
		for _, requires := range []Requires{{}, {Component: true, Context: []string{"a"}, Evidence: []string{"a"}}} {
			p := newFake()
			if tool != toolMissing {
				p.edit(tool, func(t *Tool) { t.Requires = requires })
			}
			p.contract = &Contract{}
			in := call(p, tool)
			setting(&in, "eligible", true)
			in.State.Evidence = map[string]Evidence{"a": {Status: Pass}}
			approve(p, &in)
			if d := decide(p, in); d.Permit || d.Transition == Act {
				t.Errorf("zero contract, tool %s requiring %+v: permit %v, transition %v: want no permit", tool, requires, d.Permit, d.Transition)
			}
		}
	}
	p := newFake()
	p.contract = &Contract{}
	if d := decide(p, call(p, toolRevoke)); d.Gate(Supervision).Verdict != Unknown {
		t.Errorf("SUPERVISION under the zero contract = %v, want unknown: nobody may review", d.Gate(Supervision).Verdict)
	}
}

func TestAPolicyThatIsNotThereBlocks(t *testing.T) {
	var typed *fakePolicy
	p := newFake()
	p.contract = nil
	for name, policy := range map[string]Policy{"nil policy": nil, "nil pointer": typed, "nil contract": p} {
		in := call(newFake(), toolNote)
		d := decide(policy, in)
		wantBlock(t, name, d)
		if d.Cause != Bounds || d.Answered() != OutOfScope || !slices.Equal(codes(d.Reasons), []string{"engine_panic"}) {
			t.Errorf("%s: cause %q, answered %v, codes %v: want BOUNDS, out_of_scope, engine_panic", name, d.Cause, d.Answered(), codes(d.Reasons))
		}
		if d.CallID != in.Action.CallID || d.InputHash != in.Action.InputHash || !strings.Contains(d.Reason, "blocked") {
			t.Errorf("%s: call %q, hash %q, reason %q: want those of the action, and that it is blocked", name, d.CallID, d.InputHash, d.Reason)
		}
	}
}

func TestAPolicyOfWhichAnyMethodPanicsPermitsNothing(t *testing.T) {
	values := []any{nil, errors.New("boom"), 7, panicsWhenPrinted{}, []byte("x"), (*int)(nil)}
	// Each method with a call that certainly asks it.
	for method, tool := range map[string]string{
		"Bundle": toolNote, "Contract": toolNote, "Tool": toolNote, "Base": toolNote, "Raises": toolNote, "Floors": toolNote,
		"Gates": toolNote, "Modifiers": toolNote, "Test": toolNote, "Undeclared": toolMissing, "InferredFloor": "inferred",
		"Bump": toolUpdate, "Cap": toolUpdate, "Next": toolRevoke,
	} {
		for _, with := range values {
			p := newFake()
			p.addGate("own", Pass, ByReview, ByReview)
			p.tools["inferred"] = Tool{Name: "inferred", Consequence: Consequence{Reversible, TaskOnly, AgentItself, Immediate, Inferred}}
			in := call(p, tool)
			in.Action.Confidence = nil // a modifier holds, so Bump and Cap are asked
			if method == "Next" {
				in.Action.Confidence = new(1.0)
			}
			d := decide(panicking{fakePolicy: p, method: method, with: with}, in)
			if d.Permit || d.Notify || d.Outcome == Allow || d.Transition == Act {
				t.Errorf("%s panics with %T: permit %v, outcome %v, transition %v: want no permit", method, with, d.Permit, d.Outcome, d.Transition)
			}
			if method != "Test" {
				wantBlock(t, method, d)
			}
			if _, err := json.Marshal(d); err != nil {
				t.Errorf("%s panics: the decision does not marshal: %v", method, err)
			}
		}
	}
}

// panicsWhenPrinted is a panic value that panics again when somebody prints it.
type panicsWhenPrinted struct{}

func (panicsWhenPrinted) Error() string { panic("again") }

func TestABrokenDecisionHasListsWhereTheFormatHasLists(t *testing.T) {
	b, err := json.Marshal(decide(nil, Input{}))
	if err != nil || strings.Contains(string(b), "null") {
		t.Errorf("decision of a nil policy = %s, %v: want no null", b, err)
	}
}

func TestADecisionHasListsWhereTheFormatHasLists(t *testing.T) {
	p := newFake()
	p.addGate("own", Fail, ByNobody, ByNobody)
	p.addFloor("pin", Propose)
	for _, in := range []Input{{}, call(p, toolNote), call(p, toolRevoke), call(p, toolMissing)} {
		b, err := json.Marshal(decide(p, in))
		if err != nil || strings.Contains(string(b), "null") {
			t.Errorf("decision on %q = %s, %v: want no null", in.Action.Tool, b, err)
		}
	}
}

func TestGarbageFromAPolicyPermitsNothing(t *testing.T) {
	for _, transition := range []Transition{Act, ExecuteComponent, Act + 1, 99, 255} {
		for _, tool := range []string{toolRevoke, toolMissing} {
			p := newFake()
			p.next = always(transition)
			d := decide(p, call(p, tool))
			if d.Permit || d.Transition != Stop || !slices.Contains(codes(d.Reasons), "transition_not_admitted") {
				t.Errorf("transition %v for %s: permit %v, transition %v, codes %v: want stop, transition_not_admitted", transition, tool, d.Permit, d.Transition, codes(d.Reasons))
			}
		}
	}
	for _, v := range []Verdict{NotApplicable, Pass + 1, 99, 200, 255} {
		for _, r := range []Resolution{ByNobody, ByReview, 99} {
			p := newFake()
			p.addGate("own", v, r, r)
			if d := decide(p, call(p, toolNote)); d.Permit {
				t.Errorf("own gate with verdict %v, resolution %v: permit = true", v, r)
			}
		}
	}
	p := newFake()
	p.addGate("own", Fail, 99, 99)
	in := call(p, toolNote)
	approve(p, &in, "own")
	d := decide(p, in)
	if d.Permit || d.Cause != "own" || d.Answered() != NoCause || d.Outcome != Block || !slices.Contains(codes(d.Reasons), "cause_missing") {
		t.Errorf("own gate resolved by garbage: permit %v, cause %q (%v), outcome %v, codes %v: want a block with cause_missing", d.Permit, d.Cause, d.Answered(), d.Outcome, codes(d.Reasons))
	}
}

func TestABaseTierThatIsNoneDoesNotExecute(t *testing.T) {
	for _, tier := range []Tier{Execute + 1, 99, 255} {
		p := newFake()
		p.base = func(Consequence) (Tier, Reason) { return tier, Reason{} }
		if d := decide(p, call(p, toolNote)); d.Permit || d.Boundary != Deny {
			t.Errorf("base tier %v: permit %v, tier %v, boundary %v: want deny", tier, d.Permit, d.Tier, d.Boundary)
		}
	}
}

func TestAFloorWhoseTierIsNoneStillHolds(t *testing.T) {
	for _, tier := range []Tier{Execute + 1, 99, 255} {
		p := newFake()
		p.addFloor("pin", tier)
		if d := decide(p, call(p, toolNote)); d.Permit {
			t.Errorf("floor with tier %v: permit = true at tier %v, want it to refuse", tier, d.Tier)
		}
	}
}

func TestATierOfTheRegistryThatIsNoneRefuses(t *testing.T) {
	for _, tier := range []Tier{Execute + 1, 99, 255} {
		p := newFake()
		p.inferred, p.undeclared = tier, tier
		p.edit(toolNote, func(t *Tool) { t.Consequence.Source = Inferred })
		if d := decide(p, call(p, toolNote)); d.Permit {
			t.Errorf("inferred floor %v: permit = true at tier %v", tier, d.Tier)
		}
		in := call(p, toolMissing)
		approve(p, &in)
		if d := decide(p, in); d.Permit {
			t.Errorf("undeclared %v: permit = true at tier %v", tier, d.Tier)
		}
	}
}

func TestACapThatIsNoneDoesNotSwitchModifiersOff(t *testing.T) {
	p := newFake()
	p.limit = 99
	p.edit(toolUpdate, func(t *Tool) { t.Consequence.AbsorbedBy = Customer })
	if d := decide(p, call(p, toolUpdate)); d.Permit {
		t.Errorf("cap 99: permit = true at tier %v although a modifier holds", d.Tier)
	}
}

func TestAToolWhoseSourceWasNeverSetIsTreatedAsUndeclared(t *testing.T) {
	p := newFake()
	p.edit(toolNote, func(t *Tool) { t.Consequence.Source = Undeclared })
	for _, source := range []Source{Undeclared, Declared + 1, 99} {
		p.edit(toolNote, func(t *Tool) { t.Consequence.Source = source })
		if d := decide(p, call(p, toolNote)); d.Permit {
			t.Errorf("source %v: permit = true at tier %v: %s", source, d.Tier, d.Reason)
		}
	}
}

func TestARuleOfTheContractThatIsNoneIsTheStrictest(t *testing.T) {
	p := newFake()
	p.contract.Expiry = 99
	in := call(p, toolRevoke)
	approve(p, &in)
	in.State.Path.Approval.Expires = new(clock - 1)
	if d := decide(p, in); d.Permit {
		t.Error("expiry 99: permit = true on an approval past its final limit")
	}
	p = newFake()
	p.contract.Calls = 99
	in = call(p, toolNote)
	in.State.Path.Released = 5
	if d := decide(p, in); d.Permit {
		t.Error("calls 99: permit = true for a call that was released already")
	}
}

func TestDenyIsNeverApprovable(t *testing.T) {
	for _, c := range []struct {
		name string
		set  func(*fakePolicy, *Input)
	}{
		{"a floor that refuses", func(p *fakePolicy, _ *Input) { p.addFloor("a", Refuse) }},
		{"an undeclared tool", func(_ *fakePolicy, in *Input) { in.Action.Tool = toolMissing }},
		{"a base tier of refuse", func(p *fakePolicy, _ *Input) { p.base = func(Consequence) (Tier, Reason) { return Refuse, Reason{} } }},
		{"an argument that does not fit", func(p *fakePolicy, in *Input) {
			p.edit(toolRevoke, func(t *Tool) { t.Arguments = map[string]Argument{} })
			in.Action.Arguments["x"] = 1.0
		}},
	} {
		for transition := range Transition(12) {
			p := newFake()
			p.next = always(transition)
			in := call(p, toolRevoke)
			in.Action.Confidence = new(1.0)
			c.set(p, &in)
			approve(p, &in, Bounds, "", "*")
			if d := decide(p, in); d.Permit || d.Outcome == Allow || d.Boundary != Deny {
				t.Errorf("%s, transition %v: permit %v, outcome %v, boundary %v: want no permit and deny", c.name, transition, d.Permit, d.Outcome, d.Boundary)
			}
		}
	}
}

func TestAnInputWithValuesNoDocumentCanHoldDoesNotBreakTheDecision(t *testing.T) {
	p := newFake()
	p.addGate("own", Pass, ByReview, ByReview)
	p.edit(toolNote, func(t *Tool) { t.Arguments = map[string]Argument{"n": {Type: IntegerType}} })
	in := call(p, toolNote)
	in.Action.Arguments = map[string]any{"n": math.NaN(), "c": make(chan int), "f": func() {}}
	in.State.Settings = map[string]any{"capacity": math.Inf(1), "deadline": struct{}{}, "eligible": []any{nil}}
	in.State.Path = Path{Approval: &Approval{}, Request: &Request{}, Failure: &Failure{}, Retries: math.MinInt}
	in.Now = math.MaxInt64
	if d := decide(p, in); d.Permit || slices.Contains(codes(d.Reasons), "engine_panic") {
		t.Errorf("permit %v, codes %v: want a refusal with its reasons", d.Permit, codes(d.Reasons))
	}
}
