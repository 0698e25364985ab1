package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// situation is an input for which one cause is the answer.
type situation struct {
	name    string
	cause   Cause
	gate    string
	row     string // texts the gate admits, from the table of section 4
	high    string // the same where the bundle marks the consequence as high
	canAsk  bool   // a review can be asked for in this situation unless the queue is full
	prepare func(p *fakePolicy, in *Input)
}

func withOwnGate(v Verdict, onFail, onUnknown Resolution, family string) func(*fakePolicy, *Input) {
	return func(p *fakePolicy, _ *Input) {
		p.addGate("own", v, onFail, onUnknown)
		p.gates[0].Family = family
	}
}

func situations() []situation {
	return []situation{
		{"out of scope", OutOfScope, Bounds, "escalate defer stop", "", true, func(_ *fakePolicy, in *Input) { in.Action.Tool = toolMissing }},
		{"ineligible", Ineligible, Eligibility, "switch stop", "", true, func(p *fakePolicy, in *Input) {
			p.edit(toolNote, func(t *Tool) { t.Requires.Component = true })
			setting(in, "eligible", false)
		}},
		{"deadline past", DeadlinePast, Bounds, "escalate defer stop", "", false, func(_ *fakePolicy, in *Input) { setting(in, "deadline", 1.0) }},
		{"deadline unreadable", DeadlinePast, Bounds, "escalate defer stop", "", false, func(_ *fakePolicy, in *Input) { setting(in, "deadline", "x") }},
		{"context stale", StaleContext, ContextGate, "retry defer stop", "", true, func(p *fakePolicy, _ *Input) {
			p.edit(toolNote, func(t *Tool) { t.Requires.Context = []string{"a"} })
		}},
		{"evidence missing", MissingEvidence, EvidenceReq, "verify retry stop", "verify retry stop escalate", true, func(p *fakePolicy, _ *Input) {
			p.edit(toolNote, func(t *Tool) { t.Requires.Evidence = []string{"a"} })
		}},
		{"failure open", FailureOpen, Resolved, "retry escalate stop", "", true, func(_ *fakePolicy, in *Input) {
			in.State.Path.Failure = &Failure{Recoverable: true}
		}},
		{"rejected", Rejected, Bounds, "escalate defer stop", "", true, func(_ *fakePolicy, in *Input) { in.State.Rejection = &Rejection{} }},
		{"review due", ReviewDue, Bounds, "escalate defer stop", "", true, func(_ *fakePolicy, in *Input) {
			in.Action.Tool = toolRevoke
			in.State.Path.Request = &Request{Status: Pending, Time: clock} // SUPERVISION passes even when the queue is full
		}},
		{"review due and nobody may give it", ReviewDue, Supervision, "defer stop", "", false, func(p *fakePolicy, in *Input) {
			in.Action.Tool = toolRevoke
			p.contract.Roles = nil
		}},
		{"own gate fails for good", OwnBlock, "own", "stop", "", true, withOwnGate(Fail, ByNobody, ByReview, "")},
		{"own gate is unknown for good", OwnBlock, "own", "stop", "", true, withOwnGate(Unknown, ByReview, ByNobody, "")},
		{"own gate fails, to review", OwnReview, "own", "escalate defer stop", "", true, withOwnGate(Fail, ByReview, ByNobody, "")},
		{"own gate is unknown, to review", OwnReview, "own", "escalate defer stop", "", true, withOwnGate(Unknown, ByNobody, ByReview, "")},
		{"own gate of a family that does not exist", OwnBlock, "own", "stop", "", true, withOwnGate(Fail, ByNobody, ByNobody, "NOWHERE")},
		{"own gate of family BOUNDS", OwnBlock, "own", "escalate defer stop", "", true, withOwnGate(Fail, ByNobody, ByNobody, Bounds)},
		{"own gate of family CONTEXT", OwnBlock, "own", "retry defer stop", "", true, withOwnGate(Fail, ByNobody, ByNobody, ContextGate)},
		{"own gate of family EVIDENCE", OwnBlock, "own", "verify retry stop", "verify retry stop escalate", true, withOwnGate(Fail, ByNobody, ByNobody, EvidenceReq)},
		{"own gate of family ELIGIBILITY", OwnReview, "own", "switch stop", "", true, withOwnGate(Fail, ByReview, ByNobody, Eligibility)},
		{"own gate of family SUPERVISION", OwnBlock, "own", "defer stop", "", true, withOwnGate(Fail, ByNobody, ByNobody, Supervision)},
		{"own gate of family RESOLUTION", OwnReview, "own", "retry escalate stop", "", true, withOwnGate(Unknown, ByNobody, ByReview, Resolved)},
		{"own gate of family STRUCTURE", OwnBlock, "own", "escalate defer stop", "", true, withOwnGate(Fail, ByNobody, ByNobody, Structure)},
		{"own gate of family CRITIC", OwnBlock, "own", "escalate defer stop", "", true, withOwnGate(Fail, ByNobody, ByNobody, CriticGate)},
	}
}

// clamp is what has to come of a transition the policy names, written from the
// design's words and not from the engine's table.
func clamp(row []string, gate, named string, defined, retryLeft, canAsk bool) (want, code string) {
	refused := "stop"
	if gate == Supervision {
		refused = "defer"
	}
	switch {
	case !defined, !slices.Contains(row, named), named == "retry" && !retryLeft:
		return refused, "transition_not_admitted"
	case named == "escalate" && !canAsk && slices.Contains(row, "defer"):
		return "defer", "review_unavailable"
	case named == "escalate" && !canAsk:
		return "stop", "review_unavailable"
	}
	return named, ""
}

func TestTheEngineAdmitsOnlyTheRowOfTheCause(t *testing.T) {
	all := []Transition{Stop, Defer, Escalate, Verify, Retry, Switch, ExecuteComponent, Act, Act + 1, 99, 255}
	admitted := 0
	for _, s := range situations() {
		for i := range 1 << 4 {
			retryLeft, full, high, defined := i&1 != 0, i&2 != 0, i&4 != 0, i&8 != 0
			canAsk := s.canAsk && !full
			row := strings.Fields(s.row)
			if high && s.high != "" {
				row = strings.Fields(s.high)
			}
			for _, named := range all {
				p := newFake()
				in := call(p, toolNote)
				s.prepare(p, &in)
				if !retryLeft {
					in.State.Path.Retries = 1
				}
				if full {
					in.State.Queue = 4
				}
				if high {
					p.contract.HighConsequence = map[string][]string{"blast_radius": {"external", "task", "system"}}
				}
				var asked []Cause
				p.next = func(c Cause, f Flags) (Transition, bool) {
					asked = append(asked, c)
					if f.RetryLeft != retryLeft || f.CanAsk != canAsk || f.HighConsequence != high {
						t.Errorf("%s: flags %+v: want retry_left %v, can_ask %v, high_consequence %v", s.name, f, retryLeft, canAsk, high)
					}
					return named, defined
				}
				d := decide(p, in)

				want, code := clamp(row, s.gate, named.String(), defined, retryLeft, canAsk)
				at := fmt.Sprintf("%s: policy names %v (defined %v), retry left %v, can ask %v, high %v", s.name, named, defined, retryLeft, canAsk, high)
				if d.Transition.String() != want || d.Cause != s.gate || d.Answered() != s.cause || !slices.Equal(asked, []Cause{s.cause}) {
					t.Errorf("%s: got %v for %s (%v), asked %v: want %s for %s (%v)", at, d.Transition, d.Cause, d.Answered(), asked, want, s.gate, s.cause)
				}
				for _, c := range []string{"transition_not_admitted", "review_unavailable"} {
					if got := slices.Contains(codes(d.Reasons), c); got != (c == code) {
						t.Errorf("%s: code %s among the reasons: %v, want %v", at, c, got, c == code)
					}
				}
				if d.Permit || (d.Outcome == Review) != (want == "escalate" || want == "defer") || d.Outcome == Allow {
					t.Errorf("%s: permit %v, outcome %v with %s", at, d.Permit, d.Outcome, want)
				}
				if code == "" {
					admitted++
				}
			}
		}
	}
	if admitted == 0 {
		t.Error("no transition was admitted as named; the table tests nothing")
	}
}

func TestRowOfAGate(t *testing.T) {
	for _, c := range []struct {
		gate, family string
		r            Resolution
		want         string
	}{
		{Bounds, "", ByNobody, "[escalate defer stop]"},
		{ContextGate, "", ByNobody, "[retry defer stop]"},
		{EvidenceReq, "", ByNobody, "[verify retry stop]"},
		{Eligibility, "", ByNobody, "[switch stop]"},
		{Supervision, "", ByNobody, "[defer stop]"},
		{Resolved, "", ByNobody, "[retry escalate stop]"},
		{Structure, "", ByNobody, "[escalate defer stop]"},
		{CriticGate, "", ByNobody, "[escalate defer stop]"},
		{"own", "", ByNobody, "[stop]"},
		{"own", "", ByReview, "[escalate defer stop]"},
		{"own", "", 99, "[stop]"},
		{"own", "NOWHERE", ByNobody, "[stop]"},
		{"own", Resolved, ByNobody, "[retry escalate stop]"},
		{"own", Supervision, ByReview, "[defer stop]"},
		{Supervision, Resolved, ByReview, "[defer stop]"},
	} {
		if got := fmt.Sprint(Row(c.gate, c.family, c.r)); got != c.want {
			t.Errorf("Row(%s, %q, %v) = %s, want %s", c.gate, c.family, c.r, got, c.want)
		}
	}
}

func TestTheFirstCauseInTheContractsOrderIsAnswered(t *testing.T) {
	// everything at once: each cause of the default order holds, except a
	// SUPERVISION that passes
	given := func() (*fakePolicy, Input) {
		p := newFake()
		p.undeclared = Refuse
		p.addFloor("pin", Propose)
		p.edit(toolNote, func(t *Tool) {
			t.Requires = Requires{Component: true, Context: []string{"a"}, Evidence: []string{"a"}}
		})
		p.addGate("a-block", Fail, ByNobody, ByNobody)
		p.addGate("b-block", Fail, ByNobody, ByNobody)
		p.addGate("c-review", Fail, ByReview, ByReview)
		p.addGate("d-review", Fail, ByReview, ByReview)
		in := call(p, toolNote)
		setting(&in, "eligible", false)
		setting(&in, "deadline", 1.0)
		in.State.Path.Failure = &Failure{Recoverable: true}
		in.State.Rejection = &Rejection{}
		in.State.Path.Request = &Request{Status: Pending, Time: clock}
		return p, in
	}
	gateOf := map[Cause]string{OutOfScope: Bounds, Ineligible: Eligibility, DeadlinePast: Bounds, StaleContext: ContextGate, MissingEvidence: EvidenceReq,
		OwnBlock: "a-block", OwnReview: "c-review", FailureOpen: Resolved, Rejected: Bounds, ReviewDue: Bounds}
	for _, first := range Causes() {
		p, in := given()
		if first == OutOfScope {
			p.addFloor("refusal", Refuse)
		}
		p.contract.Priority = append([]Cause{first}, p.contract.Priority...)
		d := decide(p, in)
		want, gate := first, gateOf[first]
		if first == StructureFired || first == CriticLow { // no such gate applies here, so the next one is answered
			want, gate = Ineligible, Eligibility
		}
		if d.Answered() != want || d.Cause != gate {
			t.Errorf("%v first: answered %v of %s, want %v of %s", first, d.Answered(), d.Cause, want, gate)
		}
		if got := len(d.Gates); got != 10 {
			t.Errorf("%v first: %d gates evaluated, want all 10", first, got)
		}
	}
	p, in := given()
	order := slices.Clone(Causes())
	slices.Reverse(order)
	p.contract.Priority = order
	if d := decide(p, in); d.Answered() != ReviewDue {
		t.Errorf("reversed order: answered %v, want review_due", d.Answered())
	}
}

func TestACauseThatTheContractLeavesOutStillStopsTheCall(t *testing.T) {
	for _, s := range situations() {
		p := newFake()
		in := call(p, toolNote)
		s.prepare(p, &in)
		p.contract.Priority = nil
		p.next = always(Act)
		d := decide(p, in)
		want := Stop // also where SUPERVISION is not pass: BOUNDS, which stands before it, is not either
		if d.Permit || d.Transition != want || d.Answered() != NoCause || !slices.Contains(codes(d.Reasons), "cause_missing") {
			t.Errorf("%s: permit %v, transition %v, answered %v, codes %v: want %v, none, cause_missing", s.name, d.Permit, d.Transition, d.Answered(), codes(d.Reasons), want)
		}
		if i := slices.IndexFunc(d.Gates, func(g GateResult) bool { return !g.Verdict.holds() }); i < 0 || d.Cause != d.Gates[i].Name {
			t.Errorf("%s: cause %q, want the first gate that is not pass", s.name, d.Cause)
		}
	}
}

func TestAnUnknownCauseOfTheContractNeverHolds(t *testing.T) {
	p := newFake()
	p.contract.Priority = []Cause{NoCause, ReviewDue + 1, 200}
	p.next = always(Act)
	if d := decide(p, call(p, toolRevoke)); d.Permit || d.Transition != Stop || d.Answered() != NoCause {
		t.Errorf("permit %v, transition %v, answered %v: want a stop that answers nothing", d.Permit, d.Transition, d.Answered())
	}
	if d := decide(p, call(p, toolNote)); !d.Permit || d.Transition != Act || d.Cause != "" {
		t.Errorf("permit %v, transition %v, cause %q: want act, since nothing is wrong", d.Permit, d.Transition, d.Cause)
	}
}

func TestActIsNeverThePolicysToName(t *testing.T) {
	p := newFake()
	asked := 0
	p.next = func(Cause, Flags) (Transition, bool) { asked++; return Stop, true }
	if d := decide(p, call(p, toolNote)); !d.Permit || asked != 0 {
		t.Errorf("permit %v, asked %d times: want true and 0: without a cause the policy has no say", d.Permit, asked)
	}
	for _, s := range situations() {
		p := newFake()
		p.next = always(Act)
		in := call(p, toolNote)
		s.prepare(p, &in)
		if d := decide(p, in); d.Permit || d.Transition == Act {
			t.Errorf("%s: the policy named act and got permit %v, %v", s.name, d.Permit, d.Transition)
		}
	}
}

func TestAReleasedCallStopsBeforeAnyCauseIsAnswered(t *testing.T) {
	for _, s := range situations() {
		p := newFake()
		p.next = always(Escalate)
		in := call(p, toolNote)
		s.prepare(p, &in)
		if in.State.Path.Failure != nil {
			continue // a call that failed is RESOLUTION's question
		}
		in.State.Path.Released = 12
		d := decide(p, in)
		if d.Permit || d.Outcome != Block || d.Transition != Stop || d.Cause != Bounds {
			t.Errorf("%s, released: permit %v, outcome %v, %v for %s: want block, stop for BOUNDS", s.name, d.Permit, d.Outcome, d.Transition, d.Cause)
		}
		if got := codes(d.Gate(Bounds).Reasons); !slices.Contains(got, "already_released") {
			t.Errorf("%s, released: BOUNDS says %v, want already_released among it", s.name, got)
		}
	}
}

func TestWhatTheTransitionRuleMayLookAt(t *testing.T) {
	note := []string{toolNote}
	for _, c := range []struct {
		name string
		set  func(p *fakePolicy, in *Input)
		want Flags
	}{
		{"as the contract starts", func(*fakePolicy, *Input) {}, Flags{RetryLeft: true, Recoverable: true, CanAsk: true}},
		{"the last retry is left", func(p *fakePolicy, in *Input) { p.contract.RetryBudget, in.State.Path.Retries = 3, 2 }, Flags{RetryLeft: true, Recoverable: true, CanAsk: true}},
		{"the budget is spent", func(p *fakePolicy, in *Input) { p.contract.RetryBudget, in.State.Path.Retries = 3, 3 }, Flags{Recoverable: true, CanAsk: true}},
		{"the budget is overspent", func(_ *fakePolicy, in *Input) { in.State.Path.Retries = 9 }, Flags{Recoverable: true, CanAsk: true}},
		{"no budget", func(p *fakePolicy, _ *Input) { p.contract.RetryBudget = 0 }, Flags{Recoverable: true, CanAsk: true}},
		{"a failure that cannot be recovered", func(_ *fakePolicy, in *Input) { in.State.Path.Failure = &Failure{} }, Flags{RetryLeft: true, CanAsk: true}},
		{"a failure that can be recovered", func(_ *fakePolicy, in *Input) { in.State.Path.Failure = &Failure{Recoverable: true} }, Flags{RetryLeft: true, Recoverable: true, CanAsk: true}},
		{"another component may run the tool", func(p *fakePolicy, _ *Input) {
			p.contract.Components = map[string]ComponentRule{"other@1": {Tools: note, Until: new(clock)}}
		}, Flags{RetryLeft: true, Recoverable: true, OtherComponent: true, CanAsk: true}},
		{"another component's time is over", func(p *fakePolicy, _ *Input) {
			p.contract.Components = map[string]ComponentRule{"other@1": {Tools: note, Until: new(clock - 1)}}
		}, Flags{RetryLeft: true, Recoverable: true, CanAsk: true}},
		{"another component may run another tool", func(p *fakePolicy, _ *Input) {
			p.contract.Components = map[string]ComponentRule{"other@1": {Tools: []string{toolLook}}}
		}, Flags{RetryLeft: true, Recoverable: true, CanAsk: true}},
		{"only the component itself is listed", func(p *fakePolicy, _ *Input) {
			p.contract.Components = map[string]ComponentRule{"planner@3": {Tools: note}, "": {Tools: note}}
		}, Flags{RetryLeft: true, Recoverable: true, CanAsk: true}},
		{"nobody can be asked", func(_ *fakePolicy, in *Input) { setting(in, "capacity", 0.0) }, Flags{RetryLeft: true, Recoverable: true}},
		{"it is not known whether anybody can be asked", func(_ *fakePolicy, in *Input) { in.State.Settings = nil }, Flags{RetryLeft: true, Recoverable: true}},
		{"a value that the contract calls high", func(p *fakePolicy, _ *Input) {
			p.contract.HighConsequence = map[string][]string{"reversibility": {"costly", "reversible"}}
		}, Flags{RetryLeft: true, Recoverable: true, CanAsk: true, HighConsequence: true}},
		{"no value that the contract calls high", func(p *fakePolicy, _ *Input) {
			p.contract.HighConsequence = map[string][]string{"reversibility": {"irreversible"}, "blast_radius": nil}
		}, Flags{RetryLeft: true, Recoverable: true, CanAsk: true}},
		{"a property that does not exist counts as high", func(p *fakePolicy, _ *Input) {
			p.contract.HighConsequence = map[string][]string{"severity": {}}
		}, Flags{RetryLeft: true, Recoverable: true, CanAsk: true, HighConsequence: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newFake()
			p.addGate("own", Fail, ByNobody, ByNobody) // some cause, so that the rule is asked
			in := call(p, toolNote)
			c.set(p, &in)
			var got Flags
			p.next = func(_ Cause, f Flags) (Transition, bool) { got = f; return Stop, true }
			decide(p, in)
			if got != c.want {
				t.Errorf("flags = %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestTheDefaultTransitionRuleAsAWhole(t *testing.T) {
	other := map[string]ComponentRule{"other@1": {Tools: []string{toolNote, toolRevoke}}}
	for _, s := range situations() {
		for i := range 8 {
			retryLeft, full, switchable := i&1 != 0, i&2 != 0, i&4 != 0
			p := newFake()
			in := call(p, toolNote)
			s.prepare(p, &in)
			if !retryLeft {
				in.State.Path.Retries = 1
			}
			if full {
				in.State.Queue = 4
			}
			if switchable {
				p.contract.Components = other
			}
			named, _ := defaultNext(s.cause, Flags{RetryLeft: retryLeft, Recoverable: true, OtherComponent: switchable, CanAsk: s.canAsk && !full})
			want, _ := clamp(strings.Fields(s.row), s.gate, named.String(), true, retryLeft, s.canAsk && !full)
			if d := decide(p, in); d.Transition.String() != want {
				t.Errorf("%s, retry left %v, full %v, other component %v: %v, want %s", s.name, retryLeft, full, switchable, d.Transition, want)
			}
		}
	}
}

func TestAnOwnGateOfFamilyEvidenceMayEscalateWhereTheConsequenceIsHigh(t *testing.T) {
	p := newFake()
	withOwnGate(Fail, ByReview, ByReview, EvidenceReq)(p, nil)
	p.contract.HighConsequence = map[string][]string{"blast_radius": {"task"}}
	p.next = always(Escalate)
	if d := decide(p, call(p, toolNote)); d.Transition != Escalate {
		t.Errorf("transition = %v, want escalate", d.Transition)
	}
}

func TestTheRowsCannotBeChangedFromOutside(t *testing.T) {
	row := Row(Supervision, "", ByNobody)
	was := row[0]
	row[0] = Act
	defer func() { row[0] = was }()
	if got := Row(Supervision, "", ByNobody)[0]; got == Act {
		t.Errorf("Row(SUPERVISION)[0] = %v after a caller changed its copy, want %v", got, was)
	}
}
