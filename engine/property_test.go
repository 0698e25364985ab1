package engine

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// drawing decides how hostile a drawn case is.
type drawing struct {
	t *rapid.T
	n int
}

func (d *drawing) label() string { d.n++; return fmt.Sprintf("draw %d", d.n) }

// one in n draws is true.
func (d *drawing) one(n int) bool { return rapid.IntRange(1, n).Draw(d.t, d.label()) == n }
func (d *drawing) upTo(n int) int { return rapid.IntRange(0, n).Draw(d.t, d.label()) }
func (d *drawing) confidence() *float64 {
	switch d.upTo(5) {
	case 0:
		return nil
	case 1:
		return new(rapid.Float64Range(-1, 2).Draw(d.t, d.label()))
	}
	return new(rapid.Float64Range(0.8, 1).Draw(d.t, d.label()))
}
func (d *drawing) resolution() Resolution { return Resolution(d.upTo(1)) }

// caseOf draws a policy and an input in which most things are as they should
// be, so that about one case in two is permitted, and any of them may not be.
func caseOf(t *rapid.T) (*fakePolicy, Input) {
	d := &drawing{t: t}
	p := newFake()
	class := Consequence{Reversibility(d.upTo(2)), BlastRadius(d.upTo(3)), AbsorbedBy(d.upTo(3)), DetectionLatency(d.upTo(3)), Declared}
	if d.one(5) {
		class.Source = Source(1 + d.upTo(2))
	}
	tool := Tool{Name: "probe", Consequence: class, Effect: Effect(d.upTo(1))}
	if !d.one(3) {
		tool.Requires.Component = true
	}
	if !d.one(3) {
		tool.Requires.Context = []string{"ctx"}
	}
	if !d.one(3) {
		tool.Requires.Evidence = []string{"ci", "lab"}
	}
	if d.one(2) {
		tool.Arguments = map[string]Argument{"a": {Type: StringType, Required: true}}
	}
	p.tools["probe"] = tool
	p.contract.Context = map[string]RecordRule{"ctx": {TTL: new(int64(100))}}
	p.contract.Evidence = map[string]RecordRule{"ci": {Pins: []string{"rule"}}, "lab": {Sources: []string{"bench"}}}
	if d.one(8) {
		p.contract.Gates = nil
	}
	if d.one(5) {
		p.contract.Priority = rapid.Permutation(Causes()).Draw(t, d.label())[:d.upTo(len(Causes()))]
	}
	if d.one(3) {
		p.next = always(Transition(d.upTo(8)))
	}
	if d.one(4) {
		p.contract.Calls = DecideAnew
	}
	if d.one(4) {
		p.contract.Expiry = Derived
	}
	p.contract.HighConsequence = map[string][]string{"blast_radius": {"external"}}
	for i := range d.upTo(3) {
		v := Pass
		if d.one(5) {
			v = Verdict(d.upTo(4))
		}
		p.addGate(string(rune('a'+i)), v, d.resolution(), d.resolution())
	}
	for i := range max(0, d.upTo(4)-2) {
		p.addFloor(fmt.Sprintf("f%d", i), Tier(1+d.upTo(2)))
		p.floors[i].Determined = !d.one(4)
	}
	if d.one(4) {
		properties := []string{"reversibility", "blast_radius", "absorbed_by", "detection_latency"}
		p.raises = []Raise{{Property: properties[d.upTo(3)], Value: "irreversible", Reason: Reason{Code: "raised", Text: "raised"}}}
	}

	in := call(p, "probe")
	if d.one(10) {
		in.Action.Tool = toolMissing
		p.undeclared = Tier(d.upTo(1))
	}
	in.Action.Confidence = d.confidence()
	in.Action.Arguments = map[string]any{"a": "x"}
	in.Action.Context = Context{TargetEntity: "acme", RetrievedContext: []string{"kb-1"}}
	in.Action.Document = map[string]any{"tool": in.Action.Tool, "arguments": in.Action.Arguments}
	in.State.Pins = map[string]string{"rule": "v1"}
	in.State.Evidence = map[string]Evidence{
		"ctx": {Name: "ctx", Status: Pass, Time: clock - int64(d.upTo(101)), Seq: 1},
		"ci":  {Name: "ci", Status: Pass, Time: clock, Pins: map[string]string{"rule": "v1"}, Seq: 2},
		"lab": {Name: "lab", Status: Pass, Time: clock, Source: "bench", Seq: 3},
	}
	setting(&in, "eligible", true)
	in.State.Queue = d.upTo(4)
	in.State.Path.Retries = d.upTo(1)
	if d.one(6) {
		setting(&in, "deadline", float64(clock+int64(d.upTo(2)-1)))
	}
	if d.one(10) {
		in.State.Suspect = []Item{{"entity", "acme"}}
	}
	if d.one(12) {
		in.State.Rejection = &Rejection{Seq: 4, Code: "other"}
	}
	if d.one(12) {
		in.State.Path.Failure = &Failure{Recoverable: d.one(2)}
	}
	if d.one(8) {
		in.State.Path.Released = 9
	}
	if d.one(3) {
		in.State.Path.Request = &Request{Status: Pending, Time: clock - int64(d.upTo(2))}
	}
	if !d.one(3) {
		var named []string
		for _, g := range p.gates {
			if d.one(2) {
				named = append(named, g.Name)
			}
		}
		approve(p, &in, named...)
		switch a := in.State.Path.Approval; d.upTo(9) { // what moved will not move back by any change below
		case 0:
			a.Saw.Facts = "sha256:before"
		case 1:
			a.Saw.Bundle = "sha256:before"
		case 2:
			a.Saw.Suspect = append(a.Saw.Suspect, Item{"entity", "before"})
		case 3:
			a.Expires = new(clock - 1)
		}
	}
	return p, in
}

func TestTheDrawnCasesAreNeitherAllPermittedNorAllRefused(t *testing.T) {
	seen := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		p, in := caseOf(t)
		d := decide(p, in)
		seen[d.Outcome.String()]++
		if d.Permit && d.Boundary == RequireReview {
			seen["approved"]++
		}
	})
	for _, what := range []string{"allow", "review", "block", "approved"} {
		if seen[what] == 0 {
			t.Errorf("no drawn case came out as %s: %v", what, seen)
		}
	}
}

// resolvedByNobody names the one change under which the boundary may loosen: a
// gate that no longer asks for a review blocks by itself instead.
const resolvedByNobody = "nobody may resolve gate "

// worsening is a change that can only make a case worse.
type worsening struct {
	name  string
	apply func(p *fakePolicy, in *Input)
}

func worsenings(p *fakePolicy) (out []worsening) {
	add := func(name string, f func(*fakePolicy, *Input)) { out = append(out, worsening{name, f}) }
	for i, g := range p.gates {
		for _, v := range []Verdict{Fail, Unknown, NotApplicable, 200} {
			if p.findings[g.Name].Verdict == Pass {
				add(fmt.Sprintf("gate %s becomes %v", g.Name, v), func(p *fakePolicy, _ *Input) {
					p.findings[g.Name] = Finding{Verdict: v}
				})
			}
		}
		add(resolvedByNobody+g.Name, func(p *fakePolicy, _ *Input) { p.gates[i].OnFail, p.gates[i].OnUnknown = ByNobody, ByNobody })
		add("gate "+g.Name+" was cut short", func(p *fakePolicy, in *Input) {
			if p.findings[g.Name].Verdict == Pass {
				in.Imposed = append(in.Imposed, Imposed{g.Name, "timeout"})
			}
		})
	}
	for _, v := range everyVerdict {
		add(fmt.Sprintf("a gate is added that is %v", v), func(p *fakePolicy, _ *Input) { p.addGate("zz", v, ByReview, ByNobody) })
	}
	for tier := Refuse; tier <= Execute; tier++ {
		add(fmt.Sprintf("a floor of %v is added", tier), func(p *fakePolicy, _ *Input) { p.addFloor("zz", tier) })
	}
	for property, values := range Properties() {
		for _, value := range append(slices.Clone(values), "nonsense") {
			add(fmt.Sprintf("%s is raised to %s", property, value), func(p *fakePolicy, _ *Input) {
				p.raises = append(slices.Clone(p.raises), Raise{Property: property, Value: value, Reason: Reason{Code: "raised"}})
			})
		}
	}
	for _, c := range []*float64{nil, new(0.0), new(0.5), new(math.NaN()), new(math.Inf(1)), new(-1.0), new(7.0)} {
		add("confidence becomes "+said(c), func(_ *fakePolicy, in *Input) { in.Action.Confidence = c })
	}
	for _, kind := range []string{"ctx", "ci", "lab"} {
		change := func(name string, f func(*Evidence)) {
			add(kind+" "+name, func(_ *fakePolicy, in *Input) {
				e := in.State.Evidence[kind]
				f(&e)
				in.State.Evidence[kind] = e
			})
		}
		change("failed", func(e *Evidence) { e.Status = Fail })
		change("is unknown", func(e *Evidence) { e.Status = Unknown })
		change("is old", func(e *Evidence) { e.Time -= 1000 })
		change("has expired", func(e *Evidence) { e.Expires = new(clock - 1) })
		change("has another source", func(e *Evidence) { e.Source = "elsewhere" })
		change("has no pins", func(e *Evidence) { e.Pins = nil })
		add(kind+" is missing", func(_ *fakePolicy, in *Input) { delete(in.State.Evidence, kind) })
	}
	add("a pin moves", func(_ *fakePolicy, in *Input) { in.State.Pins["rule"] = "v2" })
	add("the component is not eligible", func(_ *fakePolicy, in *Input) { setting(in, "eligible", false) })
	add("nobody says whether the component is eligible", func(_ *fakePolicy, in *Input) { delete(in.State.Settings, "eligible") })
	add("the component is not listed", func(p *fakePolicy, _ *Input) { p.contract.Components = map[string]ComponentRule{} })
	add("the scope of gates that may not apply is not stored", func(p *fakePolicy, _ *Input) { p.contract.Gates = nil })
	add("a rejection", func(_ *fakePolicy, in *Input) { in.State.Rejection = &Rejection{} })
	add("a failure", func(_ *fakePolicy, in *Input) { in.State.Path.Failure = &Failure{} })
	add("a release", func(_ *fakePolicy, in *Input) { in.State.Path.Released = 10 })
	add("the deadline is past", func(_ *fakePolicy, in *Input) { setting(in, "deadline", float64(clock-1)) })
	add("the deadline cannot be read", func(_ *fakePolicy, in *Input) { setting(in, "deadline", "x") })
	add("the queue is full", func(_ *fakePolicy, in *Input) { in.State.Queue = 4 })
	add("nobody may review", func(p *fakePolicy, _ *Input) { p.contract.Roles = nil })
	add("no approval", func(_ *fakePolicy, in *Input) { in.State.Path.Approval = nil })
	add("an approval of other facts", func(_ *fakePolicy, in *Input) { in.FactsHash = "sha256:later" })
	add("an approval that nobody gave", func(_ *fakePolicy, in *Input) {
		if in.State.Path.Approval != nil {
			in.State.Path.Approval.Votes = nil
		}
	})
	add("an approval that names nothing", func(_ *fakePolicy, in *Input) {
		if in.State.Path.Approval != nil {
			in.State.Path.Approval.Gates = nil
		}
	})
	add("an item becomes suspect", func(_ *fakePolicy, in *Input) { in.State.Suspect = append(in.State.Suspect, Item{"record", "later"}) })
	add("an argument does not fit", func(p *fakePolicy, in *Input) {
		in.Action.Arguments["extra"] = 1.0
		p.edit("probe", func(t *Tool) {
			if t.Arguments == nil {
				t.Arguments = map[string]Argument{"a": {Type: StringType, Required: true}}
			}
		})
	})
	for transition := range Act + 3 {
		add(fmt.Sprintf("the policy names %v", transition), func(p *fakePolicy, _ *Input) { p.next = always(transition) })
	}
	add("the contract has no priority", func(p *fakePolicy, _ *Input) { p.contract.Priority = nil })
	return out
}

// copyOf is a case that can be changed without changing the one it came from.
func copyOf(p *fakePolicy, in Input) (*fakePolicy, Input) {
	q := *p
	q.contract = clone(p.contract)
	q.tools, q.gates, q.findings, q.floors = clone(p.tools), slices.Clone(p.gates), clone(p.findings), slices.Clone(p.floors)
	return &q, clone(in)
}

func TestNothingThatGetsWorsePermitsWhatWasNotPermitted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, in := caseOf(t)
		before := decide(p, in)
		for _, w := range worsenings(p) {
			q, worse := copyOf(p, in)
			w.apply(q, &worse)
			after := decide(q, worse)
			if after.Permit && !before.Permit {
				t.Fatalf("%s: the call is now permitted (before: %s; after: %s)", w.name, before.Reason, after.Reason)
			}
			if before.Tier.StricterThan(after.Tier) || after.Boundary > before.Boundary && !strings.HasPrefix(w.name, resolvedByNobody) {
				t.Fatalf("%s: tier %v, boundary %v became %v, %v", w.name, before.Tier, before.Boundary, after.Tier, after.Boundary)
			}
			if after.Permit != (after.Outcome == Allow) || after.Notify && !after.Permit {
				t.Fatalf("%s: permit %v, outcome %v, notify %v", w.name, after.Permit, after.Outcome, after.Notify)
			}
		}
	})
}

// perfect makes everything in a case as good as it can be.
func perfect(p *fakePolicy, in *Input) {
	p.floors, p.raises = nil, nil
	p.tools["probe"] = Tool{Name: "probe", Effect: Read, Consequence: Consequence{Reversible, TaskOnly, AgentItself, Immediate, Declared}, Requires: p.tools["probe"].Requires}
	p.contract.Priority, p.contract.Calls, p.contract.Expiry = Causes(), DecideAnew, Derived
	p.contract.Gates = defaultContract().Gates
	p.next = always(Act)
	for _, g := range p.gates {
		p.findings[g.Name] = Finding{Verdict: Pass, Reasons: []Reason{{Code: "score", Facts: []Fact{{Path: "/score", Value: 1e9}}}}}
	}
	in.Action.Tool = "probe"
	in.Action.Confidence = new(1.0)
	in.Action.Critic = &Critic{Score: new(1.0), Component: "critic@1"}
	in.Action.Arguments = map[string]any{"a": "x"}
	in.FactsUnknown, in.Imposed = nil, nil
	in.State = State{Settings: map[string]any{"capacity": 1e9, "eligible": true, "score": 1.0}, Pins: map[string]string{"rule": "v1"}, Evidence: map[string]Evidence{
		"ctx": {Status: Pass, Time: clock}, "ci": {Status: Pass, Time: clock, Pins: map[string]string{"rule": "v1"}}, "lab": {Status: Pass, Time: clock, Source: "bench"},
		"score": {Status: Pass, Time: clock},
	}}
}

func TestNoOtherGoodBuysBackOneFailedGate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, in := caseOf(t)
		p.edit("probe", func(t *Tool) {
			t.Requires = Requires{Component: true, Context: []string{"ctx"}, Evidence: []string{"ci", "lab"}}
		})
		p.addGate("own", Pass, ByReview, ByReview)
		perfect(p, &in)
		everything := append(StandardGates(), "a", "b", "c")
		approve(p, &in, append(everything, "own")...)
		if d := decide(p, in); !d.Permit {
			t.Fatalf("a perfect case is not permitted: %s", d.Reason)
		}
		for _, v := range []Verdict{Fail, Unknown, NotApplicable, 200} {
			for _, resolution := range []Resolution{ByNobody, ByReview} {
				for _, named := range []bool{false, true} {
					q, bad := copyOf(p, in)
					i := slices.IndexFunc(q.gates, func(g Gate) bool { return g.Name == "own" })
					q.gates[i].OnFail, q.gates[i].OnUnknown = resolution, resolution
					q.findings["own"] = Finding{Verdict: v}
					names := everything
					if named {
						names = append(slices.Clone(everything), "own")
					}
					approve(q, &bad, names...)
					want := named && resolution == ByReview
					if d := decide(q, bad); d.Permit != want {
						t.Fatalf("own gate %v, resolved %v, named by the approval %v: permit %v, want %v (%s)", v, resolution, named, d.Permit, want, d.Reason)
					}
				}
			}
		}
		for name, spoil := range map[string]func(q *fakePolicy, bad *Input){
			Bounds:          func(_ *fakePolicy, bad *Input) { bad.State.Rejection = &Rejection{} },
			ContextGate:     func(_ *fakePolicy, bad *Input) { delete(bad.State.Evidence, "ctx") },
			EvidenceReq:     func(_ *fakePolicy, bad *Input) { delete(bad.State.Evidence, "lab") },
			Eligibility:     func(_ *fakePolicy, bad *Input) { setting(bad, "eligible", false) },
			Resolved:        func(_ *fakePolicy, bad *Input) { bad.State.Path.Failure = &Failure{Recoverable: true} },
			"BOUNDS, floor": func(q *fakePolicy, _ *Input) { q.addFloor("f", Refuse) },
		} {
			q, bad := copyOf(p, in)
			spoil(q, &bad)
			approve(q, &bad, append(everything, "own")...)
			if d := decide(q, bad); d.Permit {
				t.Fatalf("%s does not pass and the call is permitted: %s", name, d.Reason)
			}
		}
	})
}

func TestAPermitRestsOnEveryGateTheBoundaryAndTheTransition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, in := caseOf(t)
		d := decide(p, in)
		if len(d.Gates) != 6+len(p.gates) {
			t.Fatalf("%d gates evaluated, want %d", len(d.Gates), 6+len(p.gates))
		}
		if !d.Permit {
			if d.Transition == Act || d.Outcome == Allow || d.Cause == "" {
				t.Fatalf("not permitted: transition %v, outcome %v, cause %q", d.Transition, d.Outcome, d.Cause)
			}
			return
		}
		for _, g := range d.Gates {
			if g.Verdict != Pass && (g.Verdict != NotApplicable || g.Scope == "" || g.Rationale == "") {
				t.Fatalf("permitted with %s %v (scope %q)", g.Name, g.Verdict, g.Scope)
			}
		}
		if d.Transition != Act || d.Tier == Refuse || d.Boundary == Deny || d.Cause != "" {
			t.Fatalf("permitted with transition %v, tier %v, boundary %v, cause %q", d.Transition, d.Tier, d.Boundary, d.Cause)
		}
		if d.Boundary == RequireReview && in.State.Path.Approval == nil {
			t.Fatal("permitted without the approval that the boundary requires")
		}
	})
}

func TestConfidenceNeverLoosensBelowWhatFullConfidenceGives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, in := caseOf(t)
		p.contract.Threshold = rapid.Float64Range(0, 1).Draw(t, "threshold")
		at := func(c *float64) Decision {
			q, other := copyOf(p, in)
			other.Action.Confidence = c
			return decide(q, other)
		}
		full, none := at(new(1.0)), at(nil)
		for _, c := range []float64{rapid.Float64().Draw(t, "any"), rapid.Float64Range(0, 1).Draw(t, "in range"), p.contract.Threshold,
			math.Nextafter(p.contract.Threshold, -1), math.NaN(), math.Inf(1), math.Inf(-1), 0, -0.5, 1.5} {
			got := at(&c)
			want := none
			if c >= p.contract.Threshold && c <= 1 {
				want = full
			}
			if got.Tier != want.Tier || got.Permit != want.Permit || got.Outcome != want.Outcome || got.Transition != want.Transition {
				t.Fatalf("confidence %v, threshold %v: tier %v, permit %v: want %v, %v", c, p.contract.Threshold, got.Tier, got.Permit, want.Tier, want.Permit)
			}
			if full.Tier.StricterThan(got.Tier) || got.Permit && !full.Permit {
				t.Fatalf("confidence %v: tier %v, permit %v, looser than at confidence 1: %v, %v", c, got.Tier, got.Permit, full.Tier, full.Permit)
			}
		}
	})
}

func TestTheSameInputGivesTheSameDecisionAndIsNotChanged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, in := caseOf(t)
		contract, tools, before := clone(p.contract), clone(p.tools), clone(in)
		findings, floors := clone(p.findings), clone(p.floors)
		q, other := copyOf(p, in)
		first, again, elsewhere := decide(p, in), decide(p, in), decide(q, other)
		if !reflect.DeepEqual(first, again) || !reflect.DeepEqual(first, elsewhere) {
			t.Fatalf("three decisions on equal inputs differ:\n%+v\n%+v\n%+v", first, again, elsewhere)
		}
		a, errA := json.Marshal(first)
		b, errB := json.Marshal(elsewhere)
		if errA != nil || errB != nil || string(a) != string(b) {
			t.Fatalf("bytes differ: %s (%v), %s (%v)", a, errA, b, errB)
		}
		if !reflect.DeepEqual(in, before) {
			t.Fatalf("the input changed:\n%+v\n%+v", before, in)
		}
		if !reflect.DeepEqual(p.contract, contract) || !reflect.DeepEqual(p.tools, tools) || !reflect.DeepEqual(p.findings, findings) || !reflect.DeepEqual(p.floors, floors) {
			t.Fatal("the policy changed")
		}
	})
}

func TestADecisionSurvivesItsOwnFormat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, in := caseOf(t)
		d := decide(p, in)
		b, err := json.Marshal(d)
		if err != nil {
			t.Fatalf("Marshal: %v", err)
		}
		var read Decision
		if err := json.Unmarshal(b, &read); err != nil {
			t.Fatalf("Unmarshal of %s: %v", b, err)
		}
		again, err := json.Marshal(read)
		if err != nil || string(again) != string(b) {
			t.Fatalf("decision reads back as other bytes (%v):\n%s\n%s", err, b, again)
		}
	})
}

func TestNoClaimOfTheAgentLoosensADecision(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, in := caseOf(t)
		before := decide(p, in)
		_, claimed := copyOf(p, in)
		claimed.Action.Context = Context{TargetEntity: anyText().Draw(t, "entity"), SourceRecord: anyText().Draw(t, "record"),
			RetrievedContext: rapid.SliceOf(anyText()).Draw(t, "retrieved")}
		if rapid.Bool().Draw(t, "planned") {
			claimed.Action.Plan = &Plan{Steps: []PlanStep{{ID: "s1", Tool: in.Action.Tool, Assertion: "all gates pass", ForwardEffects: new(0.0), RollbackEffects: new(9.0)}}}
		}
		if after := decide(p, claimed); !reflect.DeepEqual(before, after) {
			t.Fatalf("context and plan, which no policy read, changed the decision:\n%+v\n%+v", before, after)
		}
		claimed.Action.Confidence = (&drawing{t: t, n: 1000}).confidence()
		attested := claimed
		attested.Action.Confidence = new(1.0)
		after, most := decide(p, claimed), decide(p, attested)
		if after.Permit && !most.Permit || most.Tier.StricterThan(after.Tier) {
			t.Fatalf("claims permit what what is attested does not allow: %s", after.Reason)
		}
	})
}
