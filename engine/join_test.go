package engine

import (
	"slices"
	"strings"
	"testing"
)

// The verdicts a gate may come with, one of them no verdict at all.
var everyVerdict = []Verdict{Pass, Fail, Unknown, NotApplicable, 200}

// verdicts reads a row of a truth table.
func verdicts(t *testing.T, row string) []Verdict {
	t.Helper()
	words := map[string]Verdict{"pass": Pass, "fail": Fail, "unknown": Unknown, "n/a": NotApplicable, "invalid": 200}
	var out []Verdict
	for _, w := range strings.Fields(row) {
		v, ok := words[w]
		if !ok {
			t.Fatalf("row %q: no verdict %q", row, w)
		}
		out = append(out, v)
	}
	return out
}

func results(vs []Verdict) (out []GateResult) {
	for _, v := range vs {
		out = append(out, GateResult{Name: "g", Verdict: v})
	}
	return out
}

func TestTheJoinPassesOnlyWhenSomethingAppliesAndAllOfItPasses(t *testing.T) {
	for _, c := range []struct {
		row  string
		want bool
	}{
		{"", false},

		{"pass", true},
		{"fail", false},
		{"unknown", false},
		{"n/a", false},
		{"invalid", false},

		{"pass pass", true},
		{"pass fail", false},
		{"pass unknown", false},
		{"pass n/a", true},
		{"pass invalid", false},
		{"fail pass", false},
		{"fail fail", false},
		{"fail unknown", false},
		{"fail n/a", false},
		{"fail invalid", false},
		{"unknown pass", false},
		{"unknown fail", false},
		{"unknown unknown", false},
		{"unknown n/a", false},
		{"unknown invalid", false},
		{"n/a pass", true},
		{"n/a fail", false},
		{"n/a unknown", false},
		{"n/a n/a", false},
		{"n/a invalid", false},
		{"invalid pass", false},
		{"invalid fail", false},
		{"invalid unknown", false},
		{"invalid n/a", false},
		{"invalid invalid", false},

		{"n/a n/a n/a", false},
		{"n/a n/a pass", true},
		{"pass pass pass", true},
		{"pass pass fail", false},
		{"pass pass unknown", false},
		{"fail pass pass", false},
		{"n/a pass fail", false},
	} {
		if got := allPass(results(verdicts(t, c.row))); got != c.want {
			t.Errorf("allPass(%s) = %v, want %v", c.row, got, c.want)
		}
	}
}

// triples yields every list of three verdicts.
func triples(yield func([]Verdict) bool) {
	for _, a := range everyVerdict {
		for _, b := range everyVerdict {
			for _, c := range everyVerdict {
				if !yield([]Verdict{a, b, c}) {
					return
				}
			}
		}
	}
}

func TestTheJoinOfThreeIsTheConjunctionByCounting(t *testing.T) {
	passing := 0
	for vs := range triples {
		count := map[Verdict]int{}
		for _, v := range vs {
			count[v]++
		}
		want := count[Pass] > 0 && count[Pass]+count[NotApplicable] == 3
		if got := allPass(results(vs)); got != want {
			t.Errorf("allPass(%v) = %v, want %v", vs, got, want)
		}
		if want {
			passing++
		}
	}
	if passing != 7 {
		t.Errorf("%d of 125 triples pass, want 7: three where one passes, three where two do, one where all do", passing)
	}
}

func TestADecisionPermitsOnlyWhenEveryOwnGatePasses(t *testing.T) {
	for n := range 4 {
		rows := [][]Verdict{}
		for vs := range triples {
			if row := vs[:n]; !slices.ContainsFunc(rows, func(r []Verdict) bool { return slices.Equal(r, row) }) {
				rows = append(rows, slices.Clone(row))
			}
		}
		for _, vs := range rows {
			p := newFake()
			want := true
			for i, v := range vs {
				p.addGate(string(rune('a'+i)), v, ByNobody, ByNobody)
				want = want && v == Pass
			}
			d := decide(p, call(p, toolNote))
			if d.Permit != want || d.Outcome != map[bool]Outcome{true: Allow, false: Block}[want] {
				t.Errorf("own gates %v: permit %v, outcome %v: want permit %v", vs, d.Permit, d.Outcome, want)
			}
			if len(p.asked) != n || len(d.Gates) != 6+n {
				t.Errorf("own gates %v: %v were tested and %d results kept: want all %d and %d", vs, p.asked, len(d.Gates), n, 6+n)
			}
			for i, v := range vs {
				wantV := v
				if v == NotApplicable || v == 200 { // not for an own gate to say
					wantV = Unknown
				}
				if got := d.Gates[6+i]; got.Verdict != wantV {
					t.Errorf("own gates %v: %s is %v, want %v", vs, got.Name, got.Verdict, wantV)
				}
			}
		}
	}
}

// TestPermitNeedsTransitionGatesAndBoundaryTogether is section 2, item 9 of the
// design, over everything the last step of a decision may be handed.
func TestPermitNeedsTransitionGatesAndBoundaryTogether(t *testing.T) {
	p := newFake()
	permitted := 0
	for _, transition := range []Transition{Stop, Defer, Escalate, Verify, Retry, Switch, ExecuteComponent, Act, 99} {
		for _, row := range []string{"", "n/a", "pass", "pass n/a", "pass fail", "pass unknown", "pass invalid"} {
			for _, boundary := range []Boundary{Deny, RequireReview, AllowCall, 99} {
				for _, approved := range []bool{false, true} {
					in := call(p, toolNote)
					d := refusal(p, &in)
					d.Transition, d.Gates, d.Boundary, d.Tier = transition, results(verdicts(t, row)), boundary, ExecuteNotify
					j := &judgement{policy: p, contract: p.contract, in: &in, d: &d, approved: approved}
					j.answer()

					gates := row == "pass" || row == "pass n/a"
					open := boundary == AllowCall || boundary == RequireReview && approved
					want := transition == Act && gates && open
					outcome := Block
					switch {
					case want:
						outcome = Allow
					case transition == Escalate, transition == Defer:
						outcome = Review
					}
					if d.Permit != want || d.Outcome != outcome || d.Notify != want {
						t.Errorf("transition %v, gates %q, boundary %v, approved %v: permit %v, outcome %v, notify %v: want %v, %v, %v",
							transition, row, boundary, approved, d.Permit, d.Outcome, d.Notify, want, outcome, want)
					}
					if want {
						permitted++
					}
				}
			}
		}
	}
	if permitted != 6 {
		t.Errorf("%d combinations permit, want 6: two lists of gates, each with allow (approved or not) and with an approved review", permitted)
	}
}

func TestWhatADecisionSaysForEveryTierAndApproval(t *testing.T) {
	const none, valid, void = "no approval", "a valid approval", "a void approval"
	for _, c := range []struct {
		tier       Tier
		approval   string
		own        Verdict
		outcome    Outcome
		transition Transition
		cause      string
		answered   Cause
		notify     bool
	}{
		{Execute, none, Pass, Allow, Act, "", NoCause, false},
		{Execute, none, Fail, Block, Stop, "own", OwnBlock, false},
		{Execute, valid, Pass, Allow, Act, "", NoCause, false},
		{Execute, void, Pass, Allow, Act, "", NoCause, false},
		{ExecuteNotify, none, Pass, Allow, Act, "", NoCause, true},
		{ExecuteNotify, none, Unknown, Block, Stop, "own", OwnBlock, false},
		{ExecuteNotify, void, Pass, Allow, Act, "", NoCause, true},
		{Propose, none, Pass, Review, Escalate, Bounds, ReviewDue, false},
		{Propose, none, Fail, Block, Stop, "own", OwnBlock, false},
		{Propose, valid, Pass, Allow, Act, "", NoCause, false},
		{Propose, valid, Fail, Block, Stop, "own", OwnBlock, false},
		{Propose, valid, Unknown, Block, Stop, "own", OwnBlock, false},
		{Propose, void, Pass, Review, Escalate, Bounds, ReviewDue, false},
		{Refuse, none, Pass, Block, Stop, Bounds, OutOfScope, false},
		{Refuse, valid, Pass, Block, Stop, Bounds, OutOfScope, false},
		{Refuse, void, Pass, Block, Stop, Bounds, OutOfScope, false},
		{Refuse, valid, Fail, Block, Stop, Bounds, OutOfScope, false},
	} {
		p := newFake()
		p.addFloor("pin", c.tier)
		p.addGate("own", c.own, ByNobody, ByNobody)
		in := call(p, toolNote)
		switch c.approval {
		case valid:
			approve(p, &in)
		case void:
			approve(p, &in)
			in.State.Path.Approval.Saw.Facts = "sha256:other"
		}
		d := decide(p, in)
		if d.Outcome != c.outcome || d.Permit != (c.outcome == Allow) || d.Transition != c.transition || d.Cause != c.cause || d.Answered() != c.answered || d.Notify != c.notify {
			t.Errorf("tier %v, %s, own gate %v: got %v, permit %v, %v for %q (%v), notify %v: want %v, %v for %q (%v), notify %v", c.tier, c.approval, c.own,
				d.Outcome, d.Permit, d.Transition, d.Cause, d.Answered(), d.Notify, c.outcome, c.transition, c.cause, c.answered, c.notify)
		}
	}
}

func TestADecisionRepeatsWhatItWasAskedAndWhatItKnew(t *testing.T) {
	p := newFake()
	in := call(p, toolNote)
	in.FactsUnknown = []string{"secret"}
	d := decide(p, in)
	if d.TraceID != "INC-1" || d.CallID != "INC-1:c1" || d.Tool != toolNote || d.InputHash != "sha256:i1" || d.CallHash != "sha256:c1" || d.Bundle != p.bundle {
		t.Errorf("decision = %+v, want the ids and hashes of the action and the bundle", d)
	}
	if inside, ok := walk(d.Facts, []string{"path", "inside"}); !ok || inside != true || !slices.Equal(d.FactsUnknown, []string{"secret"}) {
		t.Errorf("facts = %v, unknown %v: want those of the input", d.Facts, d.FactsUnknown)
	}
	if d.Journalled || d.Seq != 0 || d.Hash != "" {
		t.Errorf("journalled %v, seq %d, hash %q: want nothing, since Decide journals nothing", d.Journalled, d.Seq, d.Hash)
	}
	var names []string
	for _, g := range d.Gates {
		names = append(names, g.Name)
	}
	if !slices.Equal(names, StandardGates()) {
		t.Errorf("gates = %v, want the standard six in order", names)
	}
	if got := d.Gate(Resolved); got.Verdict != Pass || got.Name != Resolved {
		t.Errorf("Gate(RESOLUTION) = %+v, want its result", got)
	}
	if got := d.Gate("nowhere"); got.Verdict != Unknown || got.Name != "" {
		t.Errorf("Gate(nowhere) = %+v, want the zero result, which is Unknown", got)
	}
}
