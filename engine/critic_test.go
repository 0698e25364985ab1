package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

const toolDrop = "drop_table"

// critical is a policy that puts one irreversible tool under a critic and asks
// nothing else of it, with a call of it that passes everything.
func critical() (*fakePolicy, Input) {
	p := newFake()
	p.tools[toolDrop] = Tool{Name: toolDrop, Consequence: Consequence{Irreversible, TaskOnly, AgentItself, Immediate, Declared}, ReadOnly: []string{"reason"}}
	p.base = func(Consequence) (Tier, Reason) { return Execute, Reason{Code: "base_tier"} }
	c := p.contract
	c.Critic = &CriticRule{Threshold: 0.85, Tools: []string{toolDrop}}
	c.ApprovedEntities = map[string][]Entity{toolDrop: {"text:orders"}}
	c.Gates[CriticGate] = GateRule{Scope: "calls in which a structural signal fires", Rationale: "a critic errs where a plan is new"}
	c.Evidence = map[string]RecordRule{Simulation: {}}
	in := call(p, toolDrop)
	in.Action.Arguments = map[string]any{"table": "orders", "reason": "no longer used"}
	in.Action.Critic = &Critic{Score: new(0.9), Component: "judge@1"}
	in.Action.Plan = &Plan{Steps: []PlanStep{{ID: "s1", Tool: toolDrop, ForwardEffects: new(1.0), RollbackEffects: new(1.0)}}}
	return p, in
}

func gateOf(p Policy, in Input, gate string) GateResult {
	d := decide(p, in)
	return d.Gate(gate)
}

// plans are changes of the call that say what STRUCTURE is to find.
var plans = map[string]struct {
	change func(*fakePolicy, *Input)
	want   Verdict
	code   string
}{
	"clean": {func(*fakePolicy, *Input) {}, Pass, ""},
	"cross step": {func(_ *fakePolicy, in *Input) {
		in.Action.Plan.Steps[0].Precondition = "saved"
		in.Action.Plan.Steps = append(in.Action.Plan.Steps, PlanStep{ID: "s2", Tool: toolNote, Postcondition: "saved"})
	}, Fail, CrossStepFound},
	"rollback": {func(_ *fakePolicy, in *Input) { in.Action.Plan.Steps[0].RollbackEffects = new(0.0) }, Fail, RollbackFound},
	"novel":    {func(_ *fakePolicy, in *Input) { in.Action.Arguments["table"] = "users" }, Fail, "entity_novel"},
	"no plan": {func(p *fakePolicy, in *Input) {
		in.Action.Plan = nil
		p.edit(toolDrop, func(t *Tool) { t.ForwardEffects, t.RollbackEffects = new(1.0), new(1.0) })
	}, Unknown, PlanMissing},
	"a plan of something else": {func(p *fakePolicy, in *Input) {
		in.Action.Plan.Steps[0].Tool = toolNote
		p.edit(toolDrop, func(t *Tool) { t.Idempotent = true })
	}, Unknown, PlanWithoutCall},
	"effects nobody knows": {func(_ *fakePolicy, in *Input) { in.Action.Plan.Steps[0].RollbackEffects = nil }, Unknown, EffectsUndefined},
}

// scores are changes of the call that say what CRITIC is to find where it is
// looked at.
var scores = map[string]struct {
	change func(*Action)
	want   Verdict
	code   string
}{
	"above":              {func(*Action) {}, Pass, ""},
	"at the threshold":   {func(a *Action) { a.Critic.Score = new(0.85) }, Pass, ""},
	"below":              {func(a *Action) { a.Critic.Score = new(0.8499999999999999) }, Fail, "critic_below_threshold"},
	"no critic":          {func(a *Action) { a.Critic = nil }, Unknown, "critic_missing"},
	"no score":           {func(a *Action) { a.Critic.Score = nil }, Unknown, "critic_missing"},
	"more than one":      {func(a *Action) { a.Critic.Score = new(1.01) }, Unknown, "critic_out_of_range"},
	"less than nothing":  {func(a *Action) { a.Critic.Score = new(-0.01) }, Unknown, "critic_out_of_range"},
	"its own critic":     {func(a *Action) { a.Critic.Component = "planner@3" }, Unknown, "critic_is_actor"},
	"another version":    {func(a *Action) { a.Critic.Component = "PLANNER@4" }, Unknown, "critic_is_actor"},
	"without a version":  {func(a *Action) { a.Critic.Component = " planner " }, Unknown, "critic_is_actor"},
	"the agent itself":   {func(a *Action) { a.Critic.Component = "agent" }, Unknown, "critic_is_actor"},
	"a nameless critic":  {func(a *Action) { a.Critic.Component = "" }, Unknown, "critic_unknown"},
	"a nameless actor":   {func(a *Action) { a.Agent.Component = "" }, Unknown, "critic_unknown"},
	"a nameless actor 2": {func(a *Action) { a.Agent = Agent{} }, Unknown, "critic_unknown"},
}

func TestStructureAndCriticTruthTable(t *testing.T) {
	for plan, s := range plans {
		for score, c := range scores {
			t.Run(plan+", "+score, func(t *testing.T) {
				p, in := critical()
				s.change(p, &in)
				c.change(&in.Action)
				d := decide(p, in)
				wantCritic, wantCode, permit := c.want, c.code, s.want == Pass && c.want == Pass
				if s.want == Fail {
					wantCritic, wantCode = NotApplicable, "critic_no_weight"
				}
				structure, critic := d.Gate(Structure), d.Gate(CriticGate)
				if structure.Verdict != s.want || s.code != "" && !slices.Contains(codes(structure.Reasons), s.code) {
					t.Errorf("STRUCTURE = %v %v, want %v %s", structure.Verdict, codes(structure.Reasons), s.want, s.code)
				}
				if critic.Verdict != wantCritic || wantCode != "" && !slices.Contains(codes(critic.Reasons), wantCode) {
					t.Errorf("CRITIC = %v %v, want %v %s", critic.Verdict, codes(critic.Reasons), wantCritic, wantCode)
				}
				if d.Permit != permit {
					t.Errorf("permit = %v, want %v", d.Permit, permit)
				}
				cause := map[bool]string{true: Structure, false: CriticGate}[s.want != Pass]
				if !permit && (d.Cause != cause || d.Transition != Escalate || d.Boundary != RequireReview || d.Outcome != Review) {
					t.Errorf("cause %s, transition %v, boundary %v, outcome %v: want %s, escalate, require_review, review", d.Cause, d.Transition, d.Boundary, d.Outcome, cause)
				}
			})
		}
	}
}

func TestAToolWithoutACriticHasNoSuchGates(t *testing.T) {
	for name, change := range map[string]func(*fakePolicy){
		"no rule":            func(p *fakePolicy) { p.contract.Critic = nil },
		"another tool":       func(p *fakePolicy) { p.contract.Critic.Tools = []string{toolNote} },
		"not irreversible":   func(p *fakePolicy) { p.edit(toolDrop, func(t *Tool) { t.Consequence.Reversibility = Costly }) },
		"the rule is zeroed": func(p *fakePolicy) { p.contract.Critic = &CriticRule{} },
	} {
		p, in := critical()
		in.Action.Plan, in.Action.Critic = nil, nil
		change(p)
		d := decide(p, in)
		if d.Gate(Structure).Name != "" || d.Gate(CriticGate).Name != "" || !d.Permit {
			t.Errorf("%s: gates %v, permit %v: want neither STRUCTURE nor CRITIC, and a permit", name, d.Gates, d.Permit)
		}
	}
}

func TestAFiredSignalIsToldWithTheScoreThatCarriesNoWeight(t *testing.T) {
	p, in := critical()
	plans["rollback"].change(p, &in)
	in.Action.Critic.Score = new(0.97)
	d := decide(p, in)
	for _, want := range []string{`STRUCTURE failed: step "s1" has 1 effects and its rollback undoes 0.`,
		"CRITIC is left out: a structural signal fired, so the critic's score 0.97 carries no weight.", "held until a person has decided"} {
		if !strings.Contains(d.Reason, want) {
			t.Errorf("sentence %q lacks %q", d.Reason, want)
		}
	}
	if !slices.Contains(codes(d.Reasons), "critic_no_weight") {
		t.Errorf("reasons = %v, want critic_no_weight among them", codes(d.Reasons))
	}
	if g := d.Gate(CriticGate); g.Scope == "" || g.Rationale == "" {
		t.Errorf("CRITIC = %+v, want the contract's scope and rationale", g)
	}
	delete(p.contract.Gates, CriticGate)
	if g := gateOf(p, in, CriticGate); g.Verdict != Unknown || !slices.Contains(codes(g.Reasons), "scope_missing") {
		t.Errorf("without scope and rationale: CRITIC = %v %v, want unknown, scope_missing", g.Verdict, codes(g.Reasons))
	}
}

func TestAnApprovalResolvesOnlyTheGatesThatItNames(t *testing.T) {
	for plan, s := range plans {
		for score, c := range scores {
			for _, named := range [][]string{nil, {Structure}, {CriticGate}, {Structure, CriticGate}, {"own"}} {
				p, in := critical()
				s.change(p, &in)
				c.change(&in.Action)
				seen := decide(p, in)
				in.novel = nil
				approve(p, &in, named...)
				in.State.Path.Approval.Saw.Novel = novelOf(p, in)
				d := decide(p, in)
				open := func(gate string) bool {
					v := seen.Gate(gate).Verdict
					return v != Pass && v != NotApplicable && !slices.Contains(named, gate)
				}
				// Nobody is known to approve where the agent is not known.
				want := !open(Structure) && !open(CriticGate) && in.Action.Agent != (Agent{})
				if s.want == Pass && c.want == Pass && in.Action.Agent != (Agent{}) {
					want = true
				}
				if d.Permit != want {
					t.Errorf("%s, %s, approved naming %v: permit %v, want %v (%s)", plan, score, named, d.Permit, want, d.Reason)
				}
				if s.want == Fail && d.Gate(CriticGate).Verdict != NotApplicable {
					t.Errorf("%s, %s, approved naming %v: CRITIC %v, want not_applicable", plan, score, named, d.Gate(CriticGate).Verdict)
				}
			}
		}
	}
}

// novelOf is what a reviewer of the input would be shown as new.
func novelOf(p *fakePolicy, in Input) []Entity {
	tool := p.tools[in.Action.Tool]
	novel, _ := p.contract.novel(&tool, &in)
	return entities(novel)
}

func TestAnApprovalIsVoidWhereMoreIsNewThanItSaw(t *testing.T) {
	p, in := critical()
	approve(p, &in, Structure, CriticGate)
	in.State.Entities = map[Entity]bool{"text:orders": false} // taken back meanwhile
	d := decide(p, in)
	if d.Permit || !slices.Contains(codes(d.Reasons), "approval_void_facts") {
		t.Errorf("permit %v, reasons %v: want none, for the reviewer was not shown that orders is new", d.Permit, codes(d.Reasons))
	}
	p, in = critical()
	in.Action.Arguments["table"] = "users"
	approve(p, &in, Structure, CriticGate)
	in.State.Path.Approval.Saw.Novel = novelOf(p, in)
	in.State.Entities = map[Entity]bool{"text:users": true} // approved meanwhile
	if d := decide(p, in); !d.Permit {
		t.Errorf("permit false (%s): what is no longer new voids nothing", d.Reason)
	}
}

func TestWhatAnApprovalLacksIsNamed(t *testing.T) {
	p, in := critical()
	plans["no plan"].change(p, &in)
	scores["below"].change(&in.Action)
	d := decide(p, in)
	if needs := d.Needs(); len(needs) != 1 || needs[0].Kind != "approval" || !strings.Contains(needs[0].Text, "names STRUCTURE, CRITIC") {
		t.Errorf("needs = %v, want one approval that names STRUCTURE, CRITIC", needs)
	}
}

// simulated puts a simulation of this call on the path.
func simulated(in *Input, change func(*Evidence)) {
	e := Evidence{Name: Simulation, Status: Pass, Time: clock, By: "lab", Call: in.Action.CallHash, Seq: 3}
	if change != nil {
		change(&e)
	}
	in.State.Evidence = map[string]Evidence{Simulation: e}
}

func TestASimulationOfThisCallLetsStructurePass(t *testing.T) {
	for plan, s := range plans {
		p, in := critical()
		s.change(p, &in)
		simulated(&in, nil)
		d := decide(p, in)
		g := d.Gate(Structure)
		if !d.Permit || g.Verdict != Pass || s.want != Pass && codes(g.Reasons)[0] != simulationPassed {
			t.Errorf("%s: permit %v, STRUCTURE %v %v: want a pass by simulation", plan, d.Permit, g.Verdict, codes(g.Reasons))
		}
		// The conjunction stays: the critic is asked again once nothing stands against it.
		in.Action.Critic.Score = new(0.2)
		if d := decide(p, in); d.Permit || d.Cause != CriticGate {
			t.Errorf("%s: with a low score permit %v, cause %s: want none, CRITIC", plan, d.Permit, d.Cause)
		}
	}
}

func TestASimulationThatDoesNotCountLetsNothingPass(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*fakePolicy, *Input)
		code   string
	}{
		"of another call":      {func(_ *fakePolicy, in *Input) { simulated(in, func(e *Evidence) { e.Call = "sha256:c2" }) }, "simulation_unpinned"},
		"of the trace":         {func(_ *fakePolicy, in *Input) { simulated(in, func(e *Evidence) { e.Call = "" }) }, "simulation_unpinned"},
		"failed":               {func(_ *fakePolicy, in *Input) { simulated(in, func(e *Evidence) { e.Status = Fail }) }, "evidence_failed"},
		"unknown":              {func(_ *fakePolicy, in *Input) { simulated(in, func(e *Evidence) { e.Status = Unknown }) }, "simulation_unknown"},
		"not applicable":       {func(_ *fakePolicy, in *Input) { simulated(in, func(e *Evidence) { e.Status = NotApplicable }) }, "evidence_failed"},
		"by the agent":         {func(_ *fakePolicy, in *Input) { simulated(in, func(e *Evidence) { e.By = "AGENT" }) }, "simulation_self_attested"},
		"by the component":     {func(_ *fakePolicy, in *Input) { simulated(in, func(e *Evidence) { e.By = "planner@9" }) }, "simulation_self_attested"},
		"by the critic":        {func(_ *fakePolicy, in *Input) { simulated(in, func(e *Evidence) { e.By = "judge" }) }, "simulation_self_attested"},
		"by another version":   {func(_ *fakePolicy, in *Input) { simulated(in, func(e *Evidence) { e.By = "Judge@2" }) }, "simulation_self_attested"},
		"by nobody":            {func(_ *fakePolicy, in *Input) { simulated(in, func(e *Evidence) { e.By = " " }) }, "simulation_self_attested"},
		"the actor as source":  {func(_ *fakePolicy, in *Input) { simulated(in, func(e *Evidence) { e.Source = "planner" }) }, "simulation_self_attested"},
		"the critic as source": {func(_ *fakePolicy, in *Input) { simulated(in, func(e *Evidence) { e.Source = "judge@1" }) }, "simulation_self_attested"},
		"by the pinned one": {func(_ *fakePolicy, in *Input) {
			simulated(in, func(e *Evidence) { e.By = "m1@2" })
			in.State.Pins = map[string]string{"component": "m1"}
		}, "simulation_self_attested"},
		"expired":         {func(_ *fakePolicy, in *Input) { simulated(in, func(e *Evidence) { e.Expires = new(clock - 1) }) }, "evidence_expired"},
		"from the future": {func(_ *fakePolicy, in *Input) { simulated(in, func(e *Evidence) { e.Time = clock + 1 }) }, "evidence_stale"},
		"older than its ttl": {func(p *fakePolicy, in *Input) {
			simulated(in, func(e *Evidence) { e.Time = clock - 2 })
			p.contract.Evidence[Simulation] = RecordRule{TTL: new(int64(1))}
		}, "evidence_stale"},
		"no source of contract": {func(p *fakePolicy, in *Input) {
			simulated(in, nil)
			p.contract.Evidence[Simulation] = RecordRule{Sources: []string{"bench"}}
		}, "evidence_untraceable"},
		"not in the contract": {func(p *fakePolicy, in *Input) { simulated(in, nil); p.contract.Evidence = nil }, ""},
		"none":                {func(*fakePolicy, *Input) {}, ""},
	} {
		for _, plan := range []string{"rollback", "no plan"} {
			p, in := critical()
			plans[plan].change(p, &in)
			c.change(p, &in)
			d := decide(p, in)
			if g := d.Gate(Structure); d.Permit || g.Verdict != plans[plan].want || c.code != "" && !slices.Contains(codes(g.Reasons), c.code) {
				t.Errorf("%s, %s: permit %v, STRUCTURE %v %v: want %v with %s", plan, name, d.Permit, g.Verdict, codes(g.Reasons), plans[plan].want, c.code)
			}
		}
	}
}

func TestTheContractAloneSaysThatACallStandsAlone(t *testing.T) {
	for _, c := range []struct {
		name            string
		forward, back   *float64
		idempotent      bool
		plan            *Plan
		want            Verdict
		code            string
		withoutContract Verdict
	}{
		{"known effects, all undone", new(1.0), new(1.0), false, nil, Pass, "", Unknown},
		{"more than is undone", new(2.0), new(1.0), false, nil, Fail, RollbackFound, Fail},
		{"unknown effects", nil, nil, false, nil, Unknown, EffectsUndefined, Unknown},
		{"half known", new(0.0), nil, false, nil, Unknown, EffectsUndefined, Unknown},
		{"idempotent", nil, nil, true, nil, Pass, "", Unknown},
		{"idempotent and asymmetric", new(2.0), new(0.0), true, nil, Pass, "", Unknown},
		{"a plan of something else", new(1.0), new(1.0), false, &Plan{Steps: []PlanStep{{Tool: toolNote}}}, Pass, "", Unknown},
		{"a plan that fires", new(1.0), new(1.0), false, &Plan{Steps: []PlanStep{{Precondition: "a"}, {Postcondition: "a"}}}, Fail, CrossStepFound, Fail},
		{"a plan that claims more", new(1.0), new(1.0), false, &Plan{Steps: []PlanStep{{Tool: toolDrop, ForwardEffects: new(5.0)}}}, Fail, RollbackFound, Fail},
	} {
		p, in := critical()
		in.Action.Plan = c.plan
		p.edit(toolDrop, func(t *Tool) { t.ForwardEffects, t.RollbackEffects, t.Idempotent = c.forward, c.back, c.idempotent })
		if g := gateOf(p, in, Structure); g.Verdict != c.withoutContract {
			t.Errorf("%s, and the contract says nothing: %v %v, want %v", c.name, g.Verdict, codes(g.Reasons), c.withoutContract)
		}
		p.contract.SinglePlan = []string{toolDrop}
		if g := gateOf(p, in, Structure); g.Verdict != c.want || c.code != "" && !slices.Contains(codes(g.Reasons), c.code) {
			t.Errorf("%s: %v %v, want %v %s", c.name, g.Verdict, codes(g.Reasons), c.want, c.code)
		}
	}
}

func TestEveryTextAndNumberOfAnArgumentIsAnEntity(t *testing.T) {
	deep := map[string]any{"a": []any{map[string]any{"b": "users"}}}
	for name, c := range map[string]struct {
		args map[string]any
		want string // pointers of what is new
	}{
		"approved":                {map[string]any{"table": "orders"}, ""},
		"nothing":                 {map[string]any{}, ""},
		"read-only":               {map[string]any{"reason": "new"}, ""},
		"new":                     {map[string]any{"table": "users"}, "/action/arguments/table"},
		"in another case":         {map[string]any{"table": "Orders"}, "/action/arguments/table"},
		"with a space":            {map[string]any{"table": "orders "}, "/action/arguments/table"},
		"empty":                   {map[string]any{"table": ""}, "/action/arguments/table"},
		"a number":                {map[string]any{"table": 7.0}, "/action/arguments/table"},
		"approved under no name":  {map[string]any{"other": "orders"}, ""},
		"in a list":               {map[string]any{"table": []any{"orders", "users"}}, "/action/arguments/table/1"},
		"nested":                  {map[string]any{"table": deep}, "/action/arguments/table/a /action/arguments/table/a/0/b /action/arguments/table/a/0/b"},
		"a key":                   {map[string]any{"grant": map[string]any{"mallory": true}}, "/action/arguments/grant/mallory"},
		"neither text nor number": {map[string]any{"a": true, "b": nil, "c": []any{}, "d": map[string]any{}}, ""},
		"read-only inside":        {map[string]any{"x": map[string]any{"reason": "new"}}, "/action/arguments/x/reason /action/arguments/x/reason"},
		"twice":                   {map[string]any{"a": "users", "b": "users"}, "/action/arguments/a"},
		"long":                    {map[string]any{"a": strings.Repeat("x", 257)}, "/action/arguments/a"},
	} {
		p, in := critical()
		in.Action.Arguments = c.args
		in.Action.Plan.Steps[0].Arguments = nil
		tool := p.tools[toolDrop]
		novel, ok := p.contract.novel(&tool, &in)
		got := make([]string, len(novel))
		for i, m := range novel {
			got[i] = m.path
		}
		if strings.Join(got, " ") != c.want || !ok {
			t.Errorf("%s: new at %v, want %s", name, got, c.want)
		}
		if d := decide(p, in); (d.Gate(Structure).Verdict == Fail) != (c.want != "") {
			t.Errorf("%s: STRUCTURE %v", name, d.Gate(Structure))
		}
	}
}

func TestMoreEntitiesThanAreLookedUpAreUnknown(t *testing.T) {
	p, in := critical()
	var list []any
	for i := range maxMentions {
		list = append(list, float64(i))
		p.contract.ApprovedEntities[toolDrop] = append(p.contract.ApprovedEntities[toolDrop], Entity(fmt.Sprint("number:", i)))
	}
	in.Action.Arguments = map[string]any{"rows": list}
	if g := gateOf(p, in, Structure); g.Verdict != Pass {
		t.Errorf("with %d approved ones: %v %v, want pass", maxMentions, g.Verdict, codes(g.Reasons))
	}
	in.Action.Arguments = map[string]any{"rows": append(list, "orders")}
	if g := gateOf(p, in, Structure); g.Verdict != Unknown || !slices.Contains(codes(g.Reasons), "entities_too_many") {
		t.Errorf("with one more: %v %v, want unknown, entities_too_many", g.Verdict, codes(g.Reasons))
	}
}

func TestATextIsNeverANumber(t *testing.T) {
	seen := map[Entity]any{}
	for _, v := range []any{"7", 7.0, "number:7", "text:7", "long:7", "", "0", 0.0, strings.Repeat("x", 256), strings.Repeat("x", 257), strings.Repeat("x", 258), "1e+21", 1e21} {
		e, ok := EntityOf(v)
		if other, twice := seen[e]; twice || !ok {
			t.Errorf("%v and %v are one entity", v, other)
		}
		seen[e] = v
	}
	negative := 0.0
	negative = -negative
	if a, _ := EntityOf(negative); a != "number:0" {
		t.Errorf("negative zero is %q", a)
	}
	for _, v := range []any{nil, true, []any{}, map[string]any{}, 7} {
		if e, ok := EntityOf(v); ok {
			t.Errorf("%v is the entity %q", v, e)
		}
	}
}
