package engine

import (
	"math"
	"reflect"
	"slices"
	"testing"
)

func TestAValidApprovalLetsAReviewedCallAct(t *testing.T) {
	p := newFake()
	in := call(p, toolRevoke)
	if d := decide(p, in); d.Permit || d.Outcome != Review || d.Transition != Escalate {
		t.Fatalf("without an approval: permit %v, outcome %v, transition %v: want review by escalate", d.Permit, d.Outcome, d.Transition)
	}
	approve(p, &in)
	if d := decide(p, in); !d.Permit || d.Outcome != Allow || d.Transition != Act || d.Cause != "" || d.Notify || d.Tier != Propose || d.Boundary != RequireReview {
		t.Errorf("approved: permit %v, outcome %v, transition %v, notify %v, tier %v, boundary %v: want allow by act, and the tier as it was",
			d.Permit, d.Outcome, d.Transition, d.Notify, d.Tier, d.Boundary)
	}
}

// moves lists, for each thing an approval is bound to, ways in which it can move.
func moves() map[Binding]map[string]func(p *fakePolicy, in *Input) {
	return map[Binding]map[string]func(p *fakePolicy, in *Input){
		BindPins: {
			"a pin moved":     func(_ *fakePolicy, in *Input) { in.State.Pins = map[string]string{"rule": "v2", "input": "i1"} },
			"a pin went away": func(_ *fakePolicy, in *Input) { in.State.Pins = map[string]string{"rule": "v1"} },
			"a pin came": func(_ *fakePolicy, in *Input) {
				in.State.Pins = map[string]string{"rule": "v1", "input": "i1", "output": "o1"}
			},
			"a pin came empty": func(_ *fakePolicy, in *Input) {
				in.State.Pins = map[string]string{"rule": "v1", "input": "i1", "output": ""}
			},
		},
		BindBundle: {"another bundle": func(p *fakePolicy, _ *Input) { p.bundle.Digest = "sha256:b2" }},
		BindFacts:  {"other facts": func(_ *fakePolicy, in *Input) { in.FactsHash = "sha256:f2" }},
		BindEvidence: {
			"evidence was replaced": func(_ *fakePolicy, in *Input) { in.State.Evidence = map[string]Evidence{"ci": {Status: Pass, Seq: 5}} },
			"evidence went away":    func(_ *fakePolicy, in *Input) { in.State.Evidence = nil },
			"evidence came": func(_ *fakePolicy, in *Input) {
				in.State.Evidence = map[string]Evidence{"ci": {Status: Pass, Seq: 4}, "lab": {Status: Pass, Seq: 5}}
			},
		},
		BindSuspicion: {
			"an item became suspect":   func(_ *fakePolicy, in *Input) { in.State.Suspect = []Item{{"entity", "a"}, {"entity", "b"}} },
			"an item was cleared":      func(_ *fakePolicy, in *Input) { in.State.Suspect = nil },
			"another item is suspect":  func(_ *fakePolicy, in *Input) { in.State.Suspect = []Item{{"entity", "b"}} },
			"the kind of item changed": func(_ *fakePolicy, in *Input) { in.State.Suspect = []Item{{"record", "a"}} },
		},
	}
}

// seen is an input of a proposed call in which there is something of everything
// an approval can be bound to, approved.
func seen(p *fakePolicy) Input {
	in := call(p, toolRevoke)
	in.State.Pins = map[string]string{"rule": "v1", "input": "i1"}
	in.State.Evidence = map[string]Evidence{"ci": {Status: Pass, Seq: 4}}
	in.State.Suspect = []Item{{"entity", "a"}}
	approve(p, &in)
	return in
}

func TestAnApprovalIsVoidWhenAnythingItIsBoundToMoves(t *testing.T) {
	p := newFake()
	if d := decide(p, seen(p)); !d.Permit {
		t.Fatalf("nothing moved: permit = false (%s)", d.Reason)
	}
	for bound, ways := range moves() {
		for how, move := range ways {
			p := newFake()
			in := seen(p)
			move(p, &in)
			d := decide(p, in)
			if got, want := codes(d.Gate(Bounds).Reasons), []string{"review_required", "approval_void_" + bound.String()}; d.Permit || d.Outcome != Review || !slices.Equal(got, want) {
				t.Errorf("%s: permit %v, outcome %v, BOUNDS %v: want review, %v", how, d.Permit, d.Outcome, got, want)
			}

			p.contract.Approval.VoidedBy = slices.DeleteFunc(p.contract.Approval.VoidedBy, func(b Binding) bool { return b == bound })
			if d := decide(p, in); !d.Permit {
				t.Errorf("%s, not bound to %v: permit = false, want true (%s)", how, bound, d.Reason)
			}
			p.contract.Approval.VoidedBy = []Binding{bound}
			if d := decide(p, in); d.Permit {
				t.Errorf("%s, bound to %v alone: permit = true, want false", how, bound)
			}
		}
	}
}

func TestAnApprovalBoundToSomethingTheEngineDoesNotKnowIsVoid(t *testing.T) {
	p := newFake()
	p.contract.Approval.VoidedBy = []Binding{BindPins, 99}
	in := seen(p)
	if d := decide(p, in); d.Permit || !slices.Contains(codes(d.Gate(Bounds).Reasons), "approval_void_invalid(99)") {
		t.Errorf("permit %v, BOUNDS %v: want a void approval", d.Permit, codes(d.Gate(Bounds).Reasons))
	}
}

func TestAnApprovalLivesWithinItsTimeInclusively(t *testing.T) {
	for _, c := range []struct {
		name    string
		expiry  Expiry
		time    int64
		expires *int64
		ttl     any // nil: none set
		want    bool
	}{
		{"without any limit", Final, 1, nil, nil, true},
		{"made now", Final, clock, nil, 0.0, true},
		{"from the future", Final, clock + 1, nil, nil, false},
		{"from the future, within its ttl", Derived, clock + 1, nil, 60.0, false},
		{"before the final limit", Final, 1, new(clock + 1), nil, true},
		{"at the final limit", Final, 1, new(clock), nil, true},
		{"past the final limit", Final, 1, new(clock - 1), nil, false},
		{"past the final limit, whatever the ttl says now", Final, clock - 10, new(clock - 1), 1e9, false},
		{"before the ttl", Final, clock - 59, nil, 60.0, true},
		{"at the ttl", Final, clock - 60, nil, 60.0, true},
		{"past the ttl", Final, clock - 61, nil, 60.0, false},
		{"past the ttl, before the final limit", Final, clock - 61, new(clock + 9), 60.0, false},
		{"derived, past the limit fixed when made", Derived, clock - 10, new(clock - 1), nil, true},
		{"derived, a longer ttl revives it", Derived, clock - 61, new(clock - 1), 61.0, true},
		{"derived, at the ttl", Derived, clock - 60, nil, 60.0, true},
		{"derived, past the ttl", Derived, clock - 61, nil, 60.0, false},
		{"a ttl of zero, a second later", Derived, clock - 1, nil, 0.0, false},
		{"a negative ttl", Derived, clock, nil, -1.0, false},
		{"a ttl that is text", Derived, clock, nil, "60", false},
		{"a ttl that is a bool", Final, clock, nil, true, false},
		{"a ttl that was not decoded as a float", Final, clock, nil, 60, false},
		{"a ttl that is not a number", Final, clock, nil, math.NaN(), false},
		{"a ttl without end", Final, 1, nil, math.Inf(1), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newFake()
			p.contract.Expiry = c.expiry
			in := call(p, toolRevoke)
			if c.ttl != nil {
				setting(&in, "review_ttl", c.ttl)
			}
			approve(p, &in)
			in.State.Path.Approval.Time, in.State.Path.Approval.Expires = c.time, c.expires
			d := decide(p, in)
			if d.Permit != c.want {
				t.Errorf("permit = %v, want %v (%s)", d.Permit, c.want, d.Reason)
			}
			if got := slices.Contains(codes(d.Gate(Bounds).Reasons), "approval_expired"); got == c.want {
				t.Errorf("approval_expired among %v: %v, want %v", codes(d.Gate(Bounds).Reasons), got, !c.want)
			}
		})
	}
}

func TestAnApprovalThatNobodyGaveIsVoid(t *testing.T) {
	for name, votes := range map[string][]Vote{"nil": nil, "empty": {}} {
		p := newFake()
		in := call(p, toolRevoke)
		approve(p, &in)
		in.State.Path.Approval.Votes = votes
		if d := decide(p, in); d.Permit || !slices.Contains(codes(d.Gate(Bounds).Reasons), "approval_without_reviewer") {
			t.Errorf("votes %s: permit %v, BOUNDS %v: want a void approval", name, d.Permit, codes(d.Gate(Bounds).Reasons))
		}
	}
}

func TestAVoidApprovalSaysEverythingThatIsWrongWithIt(t *testing.T) {
	p := newFake()
	in := call(p, toolRevoke)
	in.State.Path.Approval = &Approval{Time: clock + 1, Saw: Versions{Facts: "x", Bundle: "x", Pins: map[string]string{"x": ""}, Evidence: map[string]uint64{"x": 0}, Suspect: []Item{{}}}}
	want := []string{"review_required", "approval_expired", "approval_without_reviewer", "approval_void_pins", "approval_void_bundle", "approval_void_facts",
		"approval_void_evidence", "approval_void_suspicion"}
	d := decide(p, in)
	if got := codes(d.Gate(Bounds).Reasons); !slices.Equal(got, want) {
		t.Errorf("BOUNDS = %v, want %v", got, want)
	}
}

func TestAnOwnGateIsResolvedOnlyByAnApprovalThatNamesIt(t *testing.T) {
	for _, c := range []struct {
		name              string
		v                 Verdict
		onFail, onUnknown Resolution
		gates             []string
		want              bool
	}{
		{"a failure to review, named", Fail, ByReview, ByNobody, []string{"own"}, true},
		{"a failure to review, named among others", Fail, ByReview, ByNobody, []string{"a", "own", "z"}, true},
		{"a failure to review, not named", Fail, ByReview, ByNobody, nil, false},
		{"a failure to review, another named", Fail, ByReview, ByNobody, []string{"other", "OWN", "own ", ""}, false},
		{"a failure that blocks, named", Fail, ByNobody, ByReview, []string{"own"}, false},
		{"an unknown to review, named", Unknown, ByNobody, ByReview, []string{"own"}, true},
		{"an unknown to review, not named", Unknown, ByNobody, ByReview, nil, false},
		{"an unknown that blocks, named", Unknown, ByReview, ByNobody, []string{"own"}, false},
		{"no verdict, to review, named", 200, ByNobody, ByReview, []string{"own"}, true}, // an unknown like any other
		{"no verdict, that blocks, named", 200, ByReview, ByNobody, []string{"own"}, false},
		{"a pass, not named", Pass, ByNobody, ByNobody, nil, true},
	} {
		for _, tool := range []string{toolNote, toolRevoke} {
			p := newFake()
			p.addGate("own", c.v, c.onFail, c.onUnknown)
			in := call(p, tool)
			approve(p, &in, c.gates...)
			d := decide(p, in)
			if d.Permit != c.want || (d.Gate("own").Verdict == Pass) != c.want {
				t.Errorf("%s, %s: permit %v, gate %v: want permit %v (%s)", c.name, tool, d.Permit, d.Gate("own").Verdict, c.want, d.Reason)
			}
			if !c.want && d.Cause != "own" {
				t.Errorf("%s, %s: cause %q, want own: the approval stands for the rest", c.name, tool, d.Cause)
			}

			in.FactsHash = "sha256:moved"
			void := decide(p, in)
			if c.v != Pass && (void.Permit || void.Gate("own").Verdict == Pass) {
				t.Errorf("%s, %s, facts moved: permit %v, gate %v: want the gate as it was", c.name, tool, void.Permit, void.Gate("own").Verdict)
			}
		}
	}
}

func TestAResolvedGateSaysWhoResolvedItUnderWhichRulesAndWhatItHadFound(t *testing.T) {
	p := newFake()
	p.addGate("own", Fail, ByReview, ByNobody)
	in := call(p, toolNote)
	approve(p, &in, "own")
	in.State.Path.Approval.Votes = append(in.State.Path.Approval.Votes, Vote{Reviewer: "bob", Gates: []string{"own"}})
	d := decide(p, in)
	g := d.Gate("own")
	if got := codes(g.Reasons); !slices.Equal(got, []string{"resolved_by_review", "own_fail"}) {
		t.Fatalf("codes = %v, want resolved_by_review and what the gate had found", got)
	}
	want := []Fact{{Path: "/approval/request", Value: uint64(7)}, {Path: "/approval/reviewers", Value: "ada, bob"}, {Path: "/approval/bundle", Value: "sha256:b1"}}
	if !reflect.DeepEqual(g.Reasons[0].Facts, want) || g.Reasons[0].Text != "ada, bob let own pass (request 7, rule version sha256:b1)" {
		t.Errorf("reason = %q %v, want who, request and rule version %v", g.Reasons[0].Text, g.Reasons[0].Facts, want)
	}
}

func TestAnApprovalThatNamesAStandardGateResolvesNothing(t *testing.T) {
	for _, s := range situations() {
		p := newFake()
		in := call(p, toolNote)
		s.prepare(p, &in)
		if s.gate == "own" || s.cause == ReviewDue {
			continue
		}
		approve(p, &in, append(StandardGates(), Structure, CriticGate)...)
		if d := decide(p, in); d.Permit || d.Gate(s.gate).Verdict.holds() {
			t.Errorf("%s: permit %v, %s %v: want what it was without an approval", s.name, d.Permit, s.gate, d.Gate(s.gate).Verdict)
		}
	}
}

func TestAnApprovedCallReleasesOnce(t *testing.T) {
	p := newFake()
	in := call(p, toolRevoke)
	approve(p, &in)
	in.State.Path.Released = 9
	if d := decide(p, in); d.Permit || !slices.Contains(codes(d.Gate(Bounds).Reasons), "already_released") {
		t.Errorf("released: permit %v, BOUNDS %v: want already_released", d.Permit, codes(d.Gate(Bounds).Reasons))
	}
	p.contract.Approval.Many = true
	if d := decide(p, in); d.Permit {
		t.Error("uses many, calls once: permit = true, want false: the call may run once whatever the approval allows")
	}
	p.contract.Calls = DecideAnew
	if d := decide(p, in); !d.Permit {
		t.Errorf("uses many, calls decided anew: permit = false, want true (%s)", d.Reason)
	}
}

func TestAnApprovalOfTooFewIsNoApproval(t *testing.T) {
	p := newFake()
	p.contract.Required = 2
	in := call(p, toolRevoke)
	approve(p, &in)
	if d := decide(p, in); d.Permit {
		t.Error("one vote of two: permit = true")
	}
	in.State.Path.Approval.Votes = append(in.State.Path.Approval.Votes, in.State.Path.Approval.Votes[0])
	if d := decide(p, in); d.Permit {
		t.Error("the same reviewer twice: permit = true")
	}
	p.contract.Required = 1
	p.addGate("own", Fail, ByReview, ByReview)
	in.State.Path.Approval.Gates = []string{"own"} // no vote names it
	if d := decide(p, in); d.Permit {
		t.Error("a gate that no vote names: permit = true")
	}
}

func TestAnApprovalByTheAgentItselfIsNoApproval(t *testing.T) {
	for _, reviewer := range []string{"agent", "planner@3", "planner", "eve"} {
		p := newFake()
		p.contract.Author = "author"
		in := call(p, toolRevoke)
		in.State.Pins = map[string]string{"author": "eve"}
		approve(p, &in)
		in.State.Path.Approval.Votes[0].Reviewer = reviewer
		if d := decide(p, in); d.Permit {
			t.Errorf("approved by %s: permit = true", reviewer)
		}
	}
}

func TestAnApprovalThatSawNothingProvesNothing(t *testing.T) {
	p := newFake()
	p.bundle.Digest = ""
	in := call(p, toolRevoke)
	in.FactsHash = ""
	approve(p, &in)
	in.State.Path.Approval.Saw = Versions{}
	if d := decide(p, in); d.Permit {
		t.Error("permit = true on an approval that is pinned to nothing")
	}
}

func TestWhatAReviewerSeesIsACopy(t *testing.T) {
	p := newFake()
	in := seen(p)
	got := in.Sees("sha256:b1")
	want := Versions{Facts: "sha256:f1", Bundle: "sha256:b1", Pins: map[string]string{"rule": "v1", "input": "i1"},
		Evidence: map[string]uint64{"ci": 4}, Suspect: []Item{{"entity", "a"}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("Sees() = %+v, want %+v", got, want)
	}
	got.Pins["rule"], got.Suspect[0].Value = "changed", "changed"
	if in.State.Pins["rule"] != "v1" || in.State.Suspect[0].Value != "a" {
		t.Errorf("state changed with what a reviewer was shown: %v, %v", in.State.Pins, in.State.Suspect)
	}
	if got := (&Input{}).Sees(""); got.Evidence == nil || len(got.Evidence) != 0 {
		t.Errorf("Sees() of nothing = %+v, want no evidence", got)
	}
}
