package engine

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestCrossStepSignal(t *testing.T) {
	for name, c := range map[string]struct {
		steps string // tool:precondition:assertion:postcondition, one a word; - for none
		want  string // step<with, in order
	}{
		"nothing needed":                               {"drop:::", ""},
		"needed and established by nobody":             {"drop:saved::", ""},
		"established before":                           {"note:::saved drop:saved::", "1<0"},
		"established after":                            {"drop:saved:: note:::saved", "0<1"},
		"established by itself only":                   {"drop:saved::saved", ""},
		"asserted between":                             {"note:::saved -::saved: drop:saved::", ""},
		"another asserted between":                     {"note:::saved -::other: drop:saved::", "2<0"},
		"asserted before both":                         {"-::saved: note:::saved drop:saved::", "2<1"},
		"asserted after both":                          {"note:::saved drop:saved:: -::saved:", "1<0"},
		"asserted by the step itself":                  {"note:::saved drop:saved:saved:", "1<0"},
		"asserted by the one that says so":             {"note::saved:saved drop:saved::", "1<0"},
		"asserted, then established again":             {"note:::saved -::saved: note:::saved drop:saved::", "3<2"},
		"asserted in between, established again after": {"note:::saved -::saved: drop:saved:: note:::saved", "2<3"},
		"consumer first, asserted between":             {"drop:saved:: -::saved: note:::saved", "0<2"},
		"in another case":                              {"note:::SAVED drop:saved::", "1<0"},
		"asserted in another case":                     {"note:::saved -::Saved: drop:saved::", ""},
		"two that need it":                             {"note:::saved drop:saved:: drop:saved::", "1<0 2<0"},
		"the registry needs it":                        {"note:::ready open:::", "1<0"},
		"the registry needs and it is asserted":        {"note:::ready -::ready: open:::", ""},
		"the registry establishes it":                  {"ready::: drop:ready::", "1<0"},
		"both of the registry":                         {"ready::: open:::", "1<0"},
		"a claim beside the registry's":                {"note:::saved open:saved::", "1<0"},
		"a claim does not hide the registry":           {"note:::ready open:other::", "1<0"},
	} {
		a := planOf(c.steps)
		s := ShapeOf(&a, lookup).CrossStep
		got := make([]string, len(s.Fired))
		for i, f := range s.Fired {
			got[i] = fmt.Sprintf("%d<%d", f.Step, f.With)
		}
		if strings.Join(got, " ") != c.want || s.Clear != (c.want == "") {
			t.Errorf("%s: fires at %q, clear %v, want %q", name, got, s.Clear, c.want)
		}
	}
}

// planOf is a call of the tool drop with a plan in short form.
func planOf(steps string) Action {
	a := Action{Tool: "drop", Plan: &Plan{}}
	for i, word := range strings.Fields(steps) {
		part := strings.Split(word, ":")
		a.Plan.Steps = append(a.Plan.Steps, PlanStep{ID: fmt.Sprint("s", i), Tool: strings.Trim(part[0], "-"), Precondition: part[1], Assertion: part[2], Postcondition: part[3]})
	}
	a.Tool = a.Plan.Steps[len(a.Plan.Steps)-1].Tool
	return a
}

// lookup is the registry of these tests.
func lookup(name string) (Tool, bool) {
	lost := Consequence{Source: Declared}
	mild := Consequence{Reversible, TaskOnly, AgentItself, Immediate, Declared}
	t, ok := map[string]Tool{
		"note":  {Consequence: mild},
		"ready": {Consequence: mild, Postcondition: "ready"},
		"drop":  {Consequence: lost},
		"open":  {Consequence: lost, Precondition: "ready"},
		"idem":  {Consequence: lost, Idempotent: true},
		"even":  {Consequence: lost, ForwardEffects: new(2.0), RollbackEffects: new(2.0)},
		"loses": {Consequence: mild, ForwardEffects: new(2.0), RollbackEffects: new(1.0)},
		"half":  {Consequence: lost, ForwardEffects: new(1.0)},
	}[name]
	return t, ok
}

func TestRollbackSignal(t *testing.T) {
	one, two, none := new(1.0), new(2.0), (*float64)(nil)
	for _, c := range []struct {
		tool          string
		forward, back *float64
		want          string
	}{
		{"drop", one, one, "clear"}, {"drop", two, one, RollbackFound}, {"drop", one, two, "clear"},
		{"drop", none, none, EffectsUndefined}, {"drop", one, none, EffectsUndefined}, {"drop", none, one, EffectsUndefined},
		{"drop", new(0.0), none, EffectsUndefined}, {"drop", new(math.NaN()), one, EffectsUndefined}, {"drop", new(-1.0), one, EffectsUndefined},
		{"drop", one, new(math.Inf(1)), EffectsUndefined}, {"drop", one, new(-1.0), EffectsUndefined}, {"drop", new(0.5), new(0.25), RollbackFound},
		{"idem", two, none, "clear"}, {"idem", two, new(0.0), "clear"}, {"idem", none, none, "clear"},
		// A claim beside what the registry knows counts only where it is worse.
		{"even", none, none, "clear"}, {"even", new(3.0), none, RollbackFound}, {"even", none, one, RollbackFound}, {"even", one, new(9.0), "clear"}, {"even", new(0.0), new(0.0), RollbackFound},
		{"even", new(math.NaN()), new(math.Inf(1)), "clear"},
		{"half", none, one, "clear"}, {"half", new(0.0), new(0.0), RollbackFound}, {"half", none, none, EffectsUndefined},
		// What can be undone needs no cardinality, and fires where it has one.
		{"note", none, none, "clear"}, {"note", one, none, "clear"}, {"note", two, one, RollbackFound}, {"loses", none, none, RollbackFound}, {"loses", none, two, RollbackFound},
		// What nobody declared cannot be undone; what calls nothing has no effects but those that it claims.
		{"nobody", none, none, EffectsUndefined}, {"nobody", one, one, "clear"}, {"nobody", two, one, RollbackFound},
		{"", none, none, "clear"}, {"", one, new(0.0), RollbackFound},
	} {
		a := Action{Tool: "idem", Plan: &Plan{Steps: []PlanStep{{Tool: "idem"}, {Tool: c.tool, ForwardEffects: c.forward, RollbackEffects: c.back}}}}
		s := ShapeOf(&a, lookup).Rollback
		got := "clear"
		switch {
		case len(s.Fired) > 0:
			got = s.Fired[0].Code
		case len(s.Unknown) > 0:
			got = s.Unknown[0].Code
		}
		if got != c.want || s.Clear != (got == "clear") {
			t.Errorf("%s forward %s back %s: %s, clear %v, want %s", c.tool, told(c.forward), told(c.back), got, s.Clear, c.want)
		}
	}
}

func told(f *float64) string {
	if f == nil {
		return "none"
	}
	return digits(*f)
}

func TestAPlanStandsForACallOnlyWithItsArguments(t *testing.T) {
	for _, c := range []struct {
		name string
		step PlanStep
		want bool
	}{
		{"no arguments told", PlanStep{Tool: "drop"}, true},
		{"the same", PlanStep{Tool: "drop", Arguments: map[string]any{"a": "x", "n": map[string]any{"l": []any{1.0}}}}, true},
		{"some of them", PlanStep{Tool: "drop", Arguments: map[string]any{"a": "x"}}, true},
		{"another value", PlanStep{Tool: "drop", Arguments: map[string]any{"a": "y"}}, false},
		{"another type", PlanStep{Tool: "drop", Arguments: map[string]any{"n": "x"}}, false},
		{"one more", PlanStep{Tool: "drop", Arguments: map[string]any{"b": "x"}}, false},
		{"null for one that is absent", PlanStep{Tool: "drop", Arguments: map[string]any{"b": nil}}, false},
		{"another tool", PlanStep{Tool: "Drop"}, false},
		{"no tool", PlanStep{}, false},
	} {
		a := Action{Tool: "drop", Arguments: map[string]any{"a": "x", "n": map[string]any{"l": []any{1.0}}}, Plan: &Plan{Steps: []PlanStep{c.step}}}
		if got := a.Plan.holds(&a); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
		if got := ShapeOf(&a, lookup).CrossStep.Clear; got != c.want {
			t.Errorf("%s: cross step clear %v, want %v", c.name, got, c.want)
		}
	}
}

// The oracle: the three signals as the design says them, one step at a time and
// every pair against every step.

func same(a, b string) bool {
	a, b = strings.TrimSpace(a), strings.TrimSpace(b)
	return a != "" && strings.EqualFold(a, b)
}

func oracleNeeds(s PlanStep, condition string) bool {
	t, _ := lookup(s.Tool)
	return same(s.Precondition, condition) || same(t.Precondition, condition)
}

func oracleEstablishes(s PlanStep, condition string) bool {
	t, _ := lookup(s.Tool)
	return same(s.Postcondition, condition) || same(t.Postcondition, condition)
}

func oracleCross(steps []PlanStep, vocabulary []string) (fires []int) {
	for i := range steps {
		fired := false
		for k := range steps {
			for _, c := range vocabulary {
				if i == k || !oracleNeeds(steps[i], c) || !oracleEstablishes(steps[k], c) {
					continue
				}
				asserted := false
				for m := k + 1; m < i; m++ {
					asserted = asserted || same(steps[m].Assertion, c)
				}
				fired = fired || !asserted
			}
		}
		if fired {
			fires = append(fires, i)
		}
	}
	return fires
}

// oracleRollback is fired, unknown or clean.
func oracleRollback(tool string, forward, back *float64) string {
	t, declared := lookup(tool)
	f, b := t.ForwardEffects, t.RollbackEffects
	if f == nil || forward != nil && *forward > *f {
		f = forward
	}
	if b == nil || back != nil && *back < *b {
		b = back
	}
	irreversible := tool != "" && (!declared || t.Consequence.Reversibility == Irreversible)
	switch {
	case t.Idempotent:
		return "clean"
	case f != nil && b != nil && *f-*b > 0:
		return "fired"
	case (f == nil || b == nil) && irreversible:
		return "unknown"
	}
	return "clean"
}

func TestSignalsAsAStupidReadingOfTheDesignFindsThem(t *testing.T) {
	tools := []string{"note", "ready", "drop", "open", "idem", "even", "loses", "half", "nobody", ""}
	vocabulary := []string{"a", "b", "ready"}
	spelt := []string{"", "", "a", "A", " a ", "b", "B ", "ready", "Ready"}
	values := []any{"acme", "acme ", 7.0, true, nil, map[string]any{"acme": "zed"}, []any{"acme", []any{"new"}}, "new"}
	rapid.Check(t, func(t *rapid.T) {
		count := func(label string) *float64 {
			return rapid.SampledFrom([]*float64{nil, new(0.0), new(1.0), new(2.0), new(3.0)}).Draw(t, label)
		}
		var steps []PlanStep
		for i := range rapid.IntRange(0, 7).Draw(t, "steps") {
			label := func(s string) string { return fmt.Sprint(s, i) }
			steps = append(steps, PlanStep{ID: rapid.SampledFrom([]string{"", "s", "s1"}).Draw(t, label("id")), Tool: rapid.SampledFrom(tools).Draw(t, label("tool")),
				Precondition: rapid.SampledFrom(spelt).Draw(t, label("pre")), Assertion: rapid.SampledFrom(spelt).Draw(t, label("assert")), Postcondition: rapid.SampledFrom(spelt).Draw(t, label("post")),
				ForwardEffects: count(label("forward")), RollbackEffects: count(label("back"))})
		}
		a := Action{Tool: rapid.SampledFrom([]string{"drop", "open", "even", "idem", "half"}).Draw(t, "tool"), Arguments: map[string]any{}}
		for _, name := range []string{"to", "note"} {
			if v := rapid.SampledFrom(values).Draw(t, name); v != nil {
				a.Arguments[name] = v
			}
		}
		if len(steps) > 0 {
			a.Plan = &Plan{Steps: steps}
		}
		shape := ShapeOf(&a, lookup)

		var cross []int
		for _, s := range shape.CrossStep.Fired {
			if !slices.Contains(cross, s.Step) {
				cross = append(cross, s.Step)
			}
		}
		wantCross := oracleCross(steps, vocabulary)
		planned := slices.ContainsFunc(steps, func(s PlanStep) bool { return s.Tool == a.Tool })
		if !slices.Equal(cross, wantCross) || shape.CrossStep.Clear != (planned && len(wantCross) == 0) {
			t.Fatalf("cross step fires at %v, clear %v: want %v, planned %v\n%+v", cross, shape.CrossStep.Clear, wantCross, planned, steps)
		}

		var fired, unknown []int
		judge := func(i int, verdict string) {
			switch verdict {
			case "fired":
				fired = append(fired, i)
			case "unknown":
				unknown = append(unknown, i)
			}
		}
		for i, s := range steps {
			judge(i, oracleRollback(s.Tool, s.ForwardEffects, s.RollbackEffects))
		}
		if !planned {
			judge(CallItself, oracleRollback(a.Tool, nil, nil))
		}
		if got := places(shape.Rollback.Fired); !slices.Equal(got, fired) {
			t.Fatalf("rollback fires at %v, want %v\n%+v", got, fired, steps)
		}
		if got := places(shape.Rollback.Unknown); !slices.Equal(got, unknown) || shape.Rollback.Clear != (len(fired)+len(unknown) == 0) {
			t.Fatalf("rollback unknown at %v, clear %v: want %v\n%+v", got, shape.Rollback.Clear, unknown, steps)
		}

		c := &Contract{ApprovedEntities: map[string][]Entity{a.Tool: {"text:acme", "number:7"}}}
		tool := Tool{ReadOnly: []string{"note"}}
		novel, _ := c.novel(&tool, &Input{Action: a})
		wantNovel := strings.Contains(fmt.Sprint(a.Arguments["to"]), "new") || strings.Contains(fmt.Sprint(a.Arguments["to"]), "zed") || a.Arguments["to"] == "acme "
		if (len(novel) > 0) != wantNovel {
			t.Fatalf("arguments %v: novel %v, want some: %v", a.Arguments, novel, wantNovel)
		}
	})
}

func places(spots []Spot) (out []int) {
	for _, s := range spots {
		out = append(out, s.Step)
	}
	return out
}

// criticCase draws a call under a critic in which anything may be wrong.
func criticCase(t *rapid.T) (*fakePolicy, Input) {
	p, in := critical()
	draw := func(label string, change ...func()) { rapid.SampledFrom(change).Draw(t, label)() }
	nothing := func() {}
	plans[rapid.SampledFrom(slices.Sorted(maps.Keys(plans))).Draw(t, "plan")].change(p, &in)
	draw("score", nothing, func() { in.Action.Critic.Score = new(rapid.Float64Range(-0.5, 1.5).Draw(t, "value")) }, func() { in.Action.Critic = nil })
	draw("critic", nothing, nothing, func() {
		if in.Action.Critic != nil {
			in.Action.Critic.Component = "planner@1"
		}
	})
	draw("simulation", nothing, nothing, func() { simulated(&in, nil) }, func() { simulated(&in, func(e *Evidence) { e.Status = Fail }) })
	draw("single", nothing, func() { p.contract.SinglePlan = []string{toolDrop} })
	draw("own gate", nothing, nothing, func() { p.addGate("own", Fail, ByReview, ByReview) })
	draw("next", nothing, func() { p.next = always(Act) }, func() { p.next = always(Retry) })
	if rapid.Bool().Draw(t, "approved") {
		approve(p, &in, rapid.SliceOfDistinct(rapid.SampledFrom([]string{Structure, CriticGate, "own", Bounds}), rapid.ID).Draw(t, "named")...)
		in.State.Path.Approval.Saw.Novel = novelOf(p, in)
	}
	return p, in
}

func TestNoScoreBuysPastAFiredSignal(t *testing.T) {
	permits := 0
	rapid.Check(t, func(t *rapid.T) {
		p, in := criticCase(t)
		before := decide(p, in)
		raised := in
		raised.Action.Critic = &Critic{Score: new(rapid.Float64Range(0, 1).Draw(t, "raised")), Component: "judge@1"}
		after := decide(p, raised)
		if before.Permit {
			permits++
		}
		// Whatever the score, STRUCTURE is what it was.
		simulated := in.State.Evidence[Simulation].Name != ""
		if s, u := before.Gate(Structure), after.Gate(Structure); s.Verdict != u.Verdict && !simulated {
			t.Fatalf("another score makes STRUCTURE %v of %v", u.Verdict, s.Verdict)
		}
		fired := after.Gate(CriticGate).Verdict == NotApplicable
		if fired && after.Permit != before.Permit {
			t.Fatalf("a signal fires, and another score makes permit %v of %v: %s", after.Permit, before.Permit, after.Reason)
		}
		if after.Permit && !fired {
			named := in.State.Path.Approval != nil && in.State.Path.Approval.resolves(CriticGate)
			if s := *raised.Action.Critic.Score; s < 0.85 && !named {
				t.Fatalf("permitted with a score of %v", s)
			}
		}
		if fired && after.Permit && !(in.State.Path.Approval != nil && in.State.Path.Approval.resolves(Structure)) {
			t.Fatalf("permitted although a signal fires and nobody resolved it: %s", after.Reason)
		}
	})
	if permits == 0 {
		t.Error("no drawn case permits: the property is vacuous")
	}
}

func TestAGateMoreOnlyTightens(t *testing.T) {
	// Under a critic nothing is permitted that is not permitted without one, and
	// no boundary is looser.
	rapid.Check(t, func(t *rapid.T) {
		p, in := criticCase(t)
		with := decide(p, in)
		p.contract.Critic = nil
		if without := decide(p, in); with.Permit && !without.Permit || with.Boundary > without.Boundary || with.Tier != without.Tier {
			t.Fatalf("with a critic permit %v, boundary %v, tier %v; without one %v, %v, %v", with.Permit, with.Boundary, with.Tier, without.Permit, without.Boundary, without.Tier)
		}
	})
}

func TestWhatAPlanClaimsBesidesOnlyTightens(t *testing.T) {
	// For a tool of which the registry knows everything no claim makes a pass of
	// what is none.
	rapid.Check(t, func(t *rapid.T) {
		p, in := critical()
		p.edit(toolDrop, func(t *Tool) { t.ForwardEffects, t.RollbackEffects, t.Precondition = new(2.0), new(1.0), "saved" })
		p.tools[toolNote] = Tool{Name: toolNote, Consequence: p.tools[toolNote].Consequence, Postcondition: "saved"}
		in.Action.Plan = &Plan{Steps: []PlanStep{{Tool: toolNote}, {Tool: toolDrop}}}
		for i := range in.Action.Plan.Steps {
			s := &in.Action.Plan.Steps[i]
			s.Precondition = rapid.SampledFrom([]string{"", "x", "saved"}).Draw(t, "pre")
			s.Postcondition = rapid.SampledFrom([]string{"", "x"}).Draw(t, "post")
			s.Assertion = rapid.SampledFrom([]string{"", "saved"}).Draw(t, "assertion")
			s.ID = rapid.SampledFrom([]string{"", "s"}).Draw(t, "id")
			s.ForwardEffects, s.RollbackEffects = new(rapid.Float64Range(0, 3).Draw(t, "forward")), new(rapid.Float64Range(0, 9).Draw(t, "back"))
		}
		found := codes(gateOf(p, in, Structure).Reasons)
		if !slices.Contains(found, CrossStepFound) || !slices.Contains(found, RollbackFound) {
			t.Fatalf("STRUCTURE finds %v: want what the registry knows, whatever the plan claims", found)
		}
	})
}

func TestManyStepsAreLookedAtQuickly(t *testing.T) {
	// 20000 steps that all need what all establish: every pair fires.
	a := Action{Tool: "drop", Plan: &Plan{}}
	for range 20000 {
		a.Plan.Steps = append(a.Plan.Steps, PlanStep{Tool: "drop", ID: "s", Precondition: "a", Postcondition: "a"})
	}
	if got := len(ShapeOf(&a, lookup).CrossStep.Fired); got != 20000 {
		t.Errorf("%d steps fire, want 20000", got)
	}
}
