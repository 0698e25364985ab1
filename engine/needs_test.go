package engine

import (
	"slices"
	"strings"
	"testing"
)

func TestWhatACallNeeds(t *testing.T) {
	says := func(kind, text string) Need { return Need{kind, text} }
	for _, c := range []struct {
		name string
		tool string
		set  func(p *fakePolicy, in *Input)
		want []Need
	}{
		{"nothing, when it is permitted", toolNote, func(*fakePolicy, *Input) {}, nil},
		{"nothing, when its review is approved", toolRevoke, func(p *fakePolicy, in *Input) { approve(p, in) }, nil},
		{"an approval", toolRevoke, func(*fakePolicy, *Input) {}, []Need{says("approval", "an approval of this call by reviewer")}},
		{"an approval by one of two roles", toolRevoke, func(p *fakePolicy, _ *Input) { p.contract.Roles = []string{"a", "b"} },
			[]Need{says("approval", "an approval of this call by a or b")}},
		{"an approval, though no role may give it", toolRevoke, func(p *fakePolicy, _ *Input) { p.contract.Roles = nil },
			[]Need{says("approval", "an approval of this call by somebody who may review")}},
		{"two approvals that name a gate", toolNote, func(p *fakePolicy, _ *Input) {
			p.contract.Required = 2
			p.addGate("g", Fail, ByReview, ByNobody)
			p.addGate("h", Unknown, ByNobody, ByReview)
			p.addGate("i", Pass, ByReview, ByReview)
		}, []Need{says("approval", "2 approvals of this call by reviewer that names g, h")}},
		{"another approval, when the one it has is void", toolRevoke, func(p *fakePolicy, in *Input) {
			approve(p, in)
			in.FactsHash = "sha256:f2"
		}, []Need{says("approval", "an approval of this call by reviewer")}},
		{"a gate to pass that nobody may resolve", toolNote, func(p *fakePolicy, _ *Input) { p.addGate("g", Fail, ByNobody, ByReview) },
			[]Need{says("gate", "gate g passed: gate g is fail")}},
		{"an argument", toolNote, func(p *fakePolicy, _ *Input) {
			p.edit(toolNote, func(t *Tool) { t.Arguments = map[string]Argument{"to": {Type: StringType, Required: true}} })
		}, []Need{says("argument", `required argument "to" is missing`)}},
		{"context, evidence and a component", toolNote, func(p *fakePolicy, in *Input) {
			p.edit(toolNote, func(t *Tool) {
				t.Requires = Requires{Component: true, Context: []string{"c"}, Evidence: []string{"e"}}
			})
			p.contract.Context, p.contract.Evidence = map[string]RecordRule{"c": {}}, map[string]RecordRule{"e": {}}
			setting(in, "eligible", false)
		}, []Need{says("context", `this mended: required context "c" is missing`), says("evidence", `this mended: required evidence "e" is missing`),
			says("component", "this mended: the component is not eligible now")}},
		{"a failure resolved", toolNote, func(_ *fakePolicy, in *Input) { in.State.Path.Failure = &Failure{} },
			[]Need{says("failure", "this mended: an earlier run of this call failed and the failure is not resolved")}},
		{"a later deadline and a revocation", toolNote, func(_ *fakePolicy, in *Input) {
			setting(in, "deadline", 1.0)
			in.State.Rejection = &Rejection{Seq: 3}
		}, []Need{says("deadline", "a later deadline"), says("revocation", "the rejection of entry 3 revoked")}},
		{"a deadline that can be read", toolNote, func(_ *fakePolicy, in *Input) { setting(in, "deadline", "x") }, []Need{says("deadline", "a later deadline")}},
		{"nothing that would help, for an undeclared tool", toolMissing, func(_ *fakePolicy, in *Input) { in.State.Rejection = &Rejection{} },
			[]Need{says("nothing", "nothing can allow it: the registry does not declare the tool")}},
		{"nothing that would help, under a floor that refuses", toolNote, func(p *fakePolicy, in *Input) {
			p.addFloor("a", Propose)
			p.addFloor("b", Refuse)
			in.State.Rejection = &Rejection{}
		}, []Need{says("nothing", "nothing can allow it: floor b refuses")}},
		{"nothing that would help, when the table refuses", toolNote, func(p *fakePolicy, _ *Input) {
			p.base = func(Consequence) (Tier, Reason) { return Refuse, Reason{} }
		}, []Need{says("nothing", "nothing can allow it: the tier is refuse")}},
		{"nothing that would help, when it was released", toolRevoke, func(_ *fakePolicy, in *Input) { in.State.Path.Released = 4 },
			[]Need{says("nothing", "nothing can allow it again: it was released before")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newFake()
			in := call(p, c.tool)
			c.set(p, &in)
			d := decide(p, in)
			if !slices.Equal(d.Needs(), c.want) {
				t.Errorf("Needs() = %v, want %v", d.Needs(), c.want)
			}
			if d.Permit != (c.want == nil) {
				t.Errorf("permit = %v with needs %v", d.Permit, c.want)
			}
			in.Action.Confidence = nil
			d = decide(p, in)
			if got := d.Needs(); slices.ContainsFunc(got, func(n Need) bool { return strings.Contains(n.Text, "confidence") }) {
				t.Errorf("Needs() without confidence = %v, want no confidence on it", got)
			}
		})
	}
}

func TestACallThatIsNotPermittedNeedsSomething(t *testing.T) {
	p := newFake()
	p.addGate("g", Fail, ByReview, ByReview)
	in := call(p, toolNote)
	approve(p, &in)
	if d := decide(p, in); d.Permit || len(d.Needs()) == 0 {
		t.Errorf("permit %v, needs %v: want an approval that names g", d.Permit, d.Needs())
	}
}

func TestNeedsListsTheApprovalBesideTheArgument(t *testing.T) {
	p := newFake()
	p.edit(toolRevoke, func(t *Tool) { t.Arguments = map[string]Argument{"to": {Type: StringType, Required: true}} })
	d := decide(p, call(p, toolRevoke))
	if got := d.Needs(); len(got) != 2 || got[0].Kind != "argument" || got[1].Kind != "approval" {
		t.Errorf("Needs() = %v, want the argument and the approval", got)
	}
}

func TestADecisionRemembersWhatTheTransitionRuleSaw(t *testing.T) {
	p := newFake()
	d := decide(p, call(p, toolRevoke))
	if got, want := d.Flags(), (Flags{RetryLeft: true, Recoverable: true, CanAsk: true}); got != want {
		t.Errorf("Flags() = %+v, want %+v", got, want)
	}
	d = decide(p, call(p, toolNote))
	if got := d.Flags(); got != (Flags{}) {
		t.Errorf("Flags() of a call that acts = %+v, want none: the rule was not asked", got)
	}
}
