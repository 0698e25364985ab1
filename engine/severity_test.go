package engine

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// tierOf decides a tool of one class and returns the decision.
func tierOf(p *fakePolicy, c Consequence, confidence *float64) Decision {
	p.tools["probe"] = Tool{Name: "probe", Consequence: c}
	in := call(p, "probe")
	in.Action.Confidence = confidence
	return decide(p, in)
}

func TestTheOracleOfTheDefaultBundle(t *testing.T) {
	for _, c := range []struct {
		confidence float64
		want       map[Tier]int
	}{
		{0.90, map[Tier]int{Execute: 12, ExecuteNotify: 34, Propose: 146}},
		{0.50, map[Tier]int{ExecuteNotify: 12, Propose: 180}},
	} {
		p, got := newFake(), map[Tier]int{}
		for class := range Classes(Declared) {
			d := tierOf(p, class, new(c.confidence))
			got[d.Tier]++
			if d.Boundary != d.Tier.Boundary() || d.Permit != (d.Boundary == AllowCall) || d.Notify != (d.Tier == ExecuteNotify) {
				t.Errorf("%v at %v: tier %v, boundary %v, permit %v, notify %v do not fit", class, c.confidence, d.Tier, d.Boundary, d.Permit, d.Notify)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("tiers over all classes at confidence %v = %v, want %v", c.confidence, got, c.want)
		}
	}
}

func TestConfidenceCountsAsLow(t *testing.T) {
	below := math.Nextafter(0.85, 0)
	for _, c := range []struct {
		name       string
		confidence *float64
		low        bool
	}{
		{"absent", nil, true},
		{"not a number", new(math.NaN()), true},
		{"infinite", new(math.Inf(1)), true},
		{"minus infinite", new(math.Inf(-1)), true},
		{"just above one", new(math.Nextafter(1, 2)), true},
		{"a percentage", new(90.0), true},
		{"negative", new(-0.1), true},
		{"just below zero", new(math.Nextafter(0, -1)), true},
		{"zero", new(0.0), true},
		{"minus zero", new(math.Copysign(0, -1)), true},
		{"just below the threshold", new(below), true},
		{"at the threshold", new(0.85), false},
		{"just above the threshold", new(math.Nextafter(0.85, 1)), false},
		{"one", new(1.0), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newFake()
			want := Execute
			if c.low {
				want = ExecuteNotify
			}
			in := call(p, toolNote)
			in.Action.Confidence = c.confidence
			if d := decide(p, in); d.Tier != want || !d.Permit || d.Notify != c.low {
				t.Errorf("tier = %v, permit %v, notify %v: want %v (%s)", d.Tier, d.Permit, d.Notify, want, d.Reason)
			}
		})
	}
	t.Run("every confidence counts as low under a threshold that is not a number", func(t *testing.T) {
		p := newFake()
		p.contract.Threshold = math.NaN()
		if d := tierOf(p, Consequence{Reversible, TaskOnly, AgentItself, Immediate, Declared}, new(1.0)); d.Tier != ExecuteNotify {
			t.Errorf("tier = %v, want execute_notify", d.Tier)
		}
	})
}

func TestConfidenceOnlyTightensOverTheWholeDomain(t *testing.T) {
	values := []*float64{nil, new(math.NaN()), new(math.Inf(1)), new(math.Inf(-1)), new(-1.0), new(0.0), new(0.3), new(0.5),
		new(math.Nextafter(0.85, 0)), new(0.85), new(0.9), new(1.0), new(math.Nextafter(1, 2)), new(2.0)}
	deaf := newFake() // the same bundle without a modifier for confidence
	deaf.modifiers = func(c Consequence, _ bool) []ModifierRule { return defaultModifiers(c, false) }
	p := newFake()
	for class := range Classes(Declared) {
		full, without, zero := tierOf(p, class, new(1.0)), tierOf(deaf, class, new(1.0)), tierOf(p, class, new(0.0))
		if full.Tier != without.Tier {
			t.Errorf("%v: tier at confidence 1 = %v, without confidence %v: full confidence must loosen nothing", class, full.Tier, without.Tier)
		}
		for _, v := range values {
			got, low := tierOf(p, class, v), v == nil || !(*v >= 0.85 && *v <= 1)
			want := full
			if low {
				want = zero
			}
			if got.Tier != want.Tier || got.Permit != want.Permit || full.Tier.StricterThan(got.Tier) {
				t.Errorf("%v at %v: tier %v, permit %v: want %v, %v", class, said(v), got.Tier, got.Permit, want.Tier, want.Permit)
			}
		}
	}
}

func said(v *float64) string {
	if v == nil {
		return "no confidence"
	}
	return digits(*v)
}

func TestALowConfidenceModifierThatIsUpsideDownDoesNotLoosen(t *testing.T) {
	p := newFake()
	p.modifiers = func(_ Consequence, low bool) []ModifierRule {
		return []ModifierRule{{Name: "upside_down", Holds: !low}}
	}
	mild := Consequence{Costly, RecordOnly, Operator, Hours, Declared}
	full, low := tierOf(p, mild, new(1.0)), tierOf(p, mild, new(0.1))
	if full.Tier.StricterThan(low.Tier) || low.Permit && !full.Permit {
		t.Errorf("tier at 0.1 = %v (permit %v), at 1 = %v (permit %v): low confidence loosened", low.Tier, low.Permit, full.Tier, full.Permit)
	}
}

func TestTightenMovesTowardsTheLimitAndNeverLoosens(t *testing.T) {
	for _, c := range []struct {
		tier  Tier
		bump  int
		limit Tier
		want  Tier
	}{
		{Execute, 1, Propose, ExecuteNotify},
		{ExecuteNotify, 1, Propose, Propose},
		{Propose, 1, Propose, Propose},
		{Refuse, 1, Propose, Refuse},
		{Execute, 2, Propose, Propose},
		{Execute, 3, Propose, Propose},
		{Execute, 3, Refuse, Refuse},
		{Execute, 1, ExecuteNotify, ExecuteNotify},
		{Execute, 2, ExecuteNotify, ExecuteNotify},
		{Propose, 1, Execute, Propose},
		{Execute, 0, Propose, Execute},
		{Propose, -1, Propose, Propose},
		{Execute, -1, Refuse, Execute},
		{Refuse, -3, Refuse, Refuse},
		{Execute, math.MaxInt, Refuse, Refuse},
	} {
		if got := tighten(c.tier, c.bump, c.limit); got != c.want {
			t.Errorf("tighten(%v, %d, %v) = %v, want %v", c.tier, c.bump, c.limit, got, c.want)
		}
	}
	for tier := Refuse; tier <= Execute; tier++ {
		for limit := range Tier(255) {
			for bump := -300; bump <= 300; bump++ {
				if got := tighten(tier, bump, limit); got > tier {
					t.Fatalf("tighten(%v, %d, %v) = %v: it loosened", tier, bump, limit, got)
				}
			}
		}
	}
}

func TestModifiersAddUpAndTheCapHolds(t *testing.T) {
	applied := func(d Decision) (moved, capped []string) {
		for _, m := range d.Modifiers {
			switch {
			case m.Applied && m.Reason.Code == "modifier_applied":
				moved = append(moved, m.Name)
			case !m.Applied && m.Reason.Code == "modifier_capped":
				capped = append(capped, m.Name)
			case m.Applied || m.Reason.Code != "modifier_not_met":
				t.Errorf("modifier %+v: applied and code do not fit", m)
			}
			if m.Reason.Facts == nil {
				t.Errorf("modifier %s has facts null, want a list", m.Name)
			}
		}
		return moved, capped
	}
	for _, c := range []struct {
		name          string
		class         Consequence
		confidence    float64
		base, tier    Tier
		moved, capped []string
	}{
		{"none holds", Consequence{Reversible, TaskOnly, Operator, Days, Declared}, 0.9, Execute, Execute, nil, nil},
		{"one moves", Consequence{Reversible, TaskOnly, Customer, Days, Declared}, 0.9, Execute, ExecuteNotify, []string{"absorbed_by"}, nil},
		{"two move", Consequence{Reversible, TaskOnly, Regulator, Unbounded, Declared}, 0.9, Execute, Propose, []string{"absorbed_by", "detection_latency"}, nil},
		{"the third meets the cap", Consequence{Reversible, RecordOnly, Regulator, Unbounded, Declared}, 0.5, Execute, Propose,
			[]string{"absorbed_by", "confidence"}, []string{"detection_latency"}},
		{"all meet the cap", Consequence{Irreversible, External, Customer, Unbounded, Declared}, 0.1, Propose, Propose,
			nil, []string{"absorbed_by", "confidence", "detection_latency"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newFake()
			d := tierOf(p, c.class, new(c.confidence))
			moved, capped := applied(d)
			if d.BaseTier != c.base || d.Tier != c.tier || !slices.Equal(moved, c.moved) || !slices.Equal(capped, c.capped) {
				t.Errorf("base %v, tier %v, moved %v, capped %v: want %v, %v, %v, %v", d.BaseTier, d.Tier, moved, capped, c.base, c.tier, c.moved, c.capped)
			}
			var noted int
			for _, r := range d.Reasons {
				if r.Code == "modifier_applied" || r.Code == "modifier_capped" {
					noted++
				}
			}
			if noted != len(c.moved)+len(c.capped) || len(d.Modifiers) != 3 {
				t.Errorf("%d modifiers stand in reasons, %d are listed: want %d and 3", noted, len(d.Modifiers), len(c.moved)+len(c.capped))
			}
		})
	}
}

func TestFloors(t *testing.T) {
	floors := func(d Decision) (out []string) {
		for _, f := range d.Floors {
			s := f.Name + " " + f.Tier.String()
			if f.Applied {
				s += " applied"
			}
			out = append(out, s)
		}
		return out
	}
	for _, c := range []struct {
		name  string
		tool  string
		add   map[string]Tier
		tier  Tier
		want  []string
		codes []string
	}{
		{"no floor leaves the tier", toolNote, nil, Execute, nil, nil},
		{"a floor pins the tier", toolNote, map[string]Tier{"a": Propose}, Propose, []string{"a propose applied"}, []string{"floor_applied"}},
		{"a floor at the tier is listed and not applied", toolRevoke, map[string]Tier{"a": Propose}, Propose, []string{"a propose"}, []string{"floor_matched"}},
		{"a floor looser than the tier does not loosen", toolRevoke, map[string]Tier{"a": Execute}, Propose, []string{"a execute"}, []string{"floor_matched"}},
		{"the strictest applies, wherever it stands", toolNote, map[string]Tier{"a": Propose, "b": Refuse, "c": ExecuteNotify}, Refuse,
			[]string{"a propose", "b refuse applied", "c execute_notify"}, []string{"floor_matched", "floor_applied", "floor_matched"}},
		{"the first of equals by name applies", toolNote, map[string]Tier{"a": ExecuteNotify, "b": Propose, "c": Propose}, Propose,
			[]string{"a execute_notify", "b propose applied", "c propose"}, []string{"floor_matched", "floor_applied", "floor_matched"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newFake()
			for name, tier := range c.add {
				p.addFloor(name, tier)
			}
			d := decide(p, call(p, c.tool))
			if d.Tier != c.tier || !slices.Equal(floors(d), c.want) {
				t.Errorf("tier %v, floors %v: want %v, %v", d.Tier, floors(d), c.tier, c.want)
			}
			got := slices.DeleteFunc(codes(d.Reasons), func(s string) bool { return !slices.Contains([]string{"floor_applied", "floor_matched"}, s) })
			if !slices.Equal(got, c.codes) {
				t.Errorf("floor codes %v, want %v", got, c.codes)
			}
			if d.BaseTier.StricterThan(p.tierBefore(c.tool)) {
				t.Errorf("base tier %v moved with the floor", d.BaseTier)
			}
		})
	}
}

// tierBefore is the severity table's tier of a declared tool.
func (p *fakePolicy) tierBefore(tool string) Tier {
	t, _ := p.base(p.tools[tool].Consequence)
	return t
}

func TestAFloorThatCannotBeDeterminedAppliesAndSaysSo(t *testing.T) {
	p := newFake()
	p.floors = []FloorMatch{
		{Name: "a", Tier: Refuse, Reason: Reason{Text: "a reads what is absent"}},
		{Name: "b", Tier: Propose, Cut: "timeout", Reason: Reason{Text: "b ran out of time"}},
	}
	d := decide(p, call(p, toolNote))
	if d.Tier != Refuse || d.Permit {
		t.Errorf("tier = %v, permit %v: want refuse", d.Tier, d.Permit)
	}
	if got, want := codes(d.Reasons)[1:3], []string{"floor_applied_undetermined", "floor_matched_undetermined"}; !slices.Equal(got, want) {
		t.Errorf("codes = %v, want %v", got, want)
	}
	if !slices.Equal(d.Imposed, []Imposed{{Gate: "floors/b", Code: "timeout"}}) {
		t.Errorf("imposed = %v, want floors/b by timeout", d.Imposed)
	}
}

func TestAFloorOutranksFullConfidence(t *testing.T) {
	p := newFake()
	p.addFloor("irreversible-system-out-of-scope", Refuse)
	in := call(p, toolRevoke)
	in.Action.Confidence = new(1.0)
	approve(p, &in)
	if d := decide(p, in); d.Permit || d.Tier != Refuse || d.Boundary != Deny || d.Outcome != Block {
		t.Errorf("permit %v, tier %v, boundary %v, outcome %v: want false, refuse, deny, block", d.Permit, d.Tier, d.Boundary, d.Outcome)
	}
}

func TestWhereTheConsequenceComesFromPinsTheTier(t *testing.T) {
	suspect := []Item{{Kind: "entity", Value: "acme"}}
	for _, c := range []struct {
		name string
		set  func(*fakePolicy, *Input)
		tool string
		tier Tier
		code string
	}{
		{"an undeclared tool is refused", func(*fakePolicy, *Input) {}, toolMissing, Refuse, "undeclared_tool"},
		{"an undeclared tool is proposed where the registry says so", func(p *fakePolicy, _ *Input) { p.undeclared = Propose }, toolMissing, Propose, "undeclared_tool"},
		{"an inferred consequence is pinned", func(p *fakePolicy, _ *Input) { p.edit(toolNote, func(t *Tool) { t.Consequence.Source = Inferred }) }, toolNote, Propose, "inferred_consequence"},
		{"an inferred consequence that policy raises stays pinned", func(p *fakePolicy, _ *Input) {
			p.edit(toolNote, func(t *Tool) { t.Consequence.Source = Inferred })
			p.raises = []Raise{{Property: "absorbed_by", Value: "operator"}}
		}, toolNote, Propose, "inferred_consequence"},
		{"an inferred consequence the bundle trusts is not pinned", func(p *fakePolicy, _ *Input) {
			p.inferred = Execute
			p.edit(toolNote, func(t *Tool) { t.Consequence.Source = Inferred })
		}, toolNote, Execute, "inferred_consequence"},
		{"suspect context pins a write to propose", func(_ *fakePolicy, in *Input) { in.State.Suspect = suspect }, toolNote, Propose, "suspect_context"},
		{"suspect context does not loosen a refusal", func(p *fakePolicy, in *Input) {
			in.State.Suspect = suspect
			p.addFloor("a", Refuse)
		}, toolNote, Refuse, "suspect_context"},
		{"suspect context does not hold back a read", func(_ *fakePolicy, in *Input) { in.State.Suspect = suspect }, toolLook, Execute, ""},
		{"suspect context of an undeclared tool counts as a write", func(p *fakePolicy, in *Input) {
			p.undeclared = Execute
			p.base = func(Consequence) (Tier, Reason) { return Execute, Reason{} }
			p.modifiers = func(Consequence, bool) []ModifierRule { return nil }
			in.State.Suspect = suspect
		}, toolMissing, Propose, "suspect_context"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newFake()
			in := call(p, c.tool)
			c.set(p, &in)
			d := decide(p, in)
			if d.Tier != c.tier || d.Boundary != c.tier.Boundary() {
				t.Errorf("tier %v, boundary %v: want %v", d.Tier, d.Boundary, c.tier)
			}
			if c.code != "" && !slices.Contains(codes(d.Reasons), c.code) {
				t.Errorf("reasons = %v, want %s among them", codes(d.Reasons), c.code)
			}
			if c.code == "" && slices.Contains(codes(d.Reasons), "suspect_context") {
				t.Errorf("reasons = %v, want no suspicion that moves a tier", codes(d.Reasons))
			}
		})
	}
	p := newFake()
	d := decide(p, call(p, toolMissing))
	if d.Consequence != (Consequence{}) {
		t.Errorf("consequence of an undeclared tool = %v, want the worst, undeclared", d.Consequence)
	}
	facts := factsOf(t, d.Reasons, "undeclared_tool")
	if len(facts) != 1 || facts[0].Path != "/action/tool" || facts[0].Value != toolMissing {
		t.Errorf("facts = %v, want the tool's name at /action/tool", facts)
	}
}
