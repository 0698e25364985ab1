package engine

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"
)

// gateCase is one situation and what a gate has to say about it.
type gateCase struct {
	name  string
	tool  string // empty: toolNote
	set   func(p *fakePolicy, in *Input)
	want  Verdict
	codes []string
}

func testGate(t *testing.T, gate string, cases []gateCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p := newFake()
			if c.tool == "" {
				c.tool = toolNote
			}
			in := call(p, c.tool)
			if c.set != nil {
				c.set(p, &in)
			}
			d := decide(p, in)
			g := d.Gate(gate)
			if g.Verdict != c.want || !slices.Equal(codes(g.Reasons), codesOf(c.codes)) {
				t.Errorf("%s = %v %v, want %v %v", gate, g.Verdict, codes(g.Reasons), c.want, c.codes)
			}
			if !g.Verdict.holds() && d.Permit {
				t.Errorf("%s is %v and the call is permitted", gate, g.Verdict)
			}
			for _, code := range c.codes {
				if !slices.Contains(codes(d.Reasons), code) {
					t.Errorf("reasons of the decision = %v, want %s among them", codes(d.Reasons), code)
				}
			}
			for _, r := range g.Reasons {
				if r.Facts == nil || r.Text == "" {
					t.Errorf("reason %s: facts %v, text %q: want a list and words", r.Code, r.Facts, r.Text)
				}
			}
		})
	}
}

func codesOf(want []string) []string {
	if want == nil {
		return []string{}
	}
	return want
}

func TestBounds(t *testing.T) {
	arguments := map[string]Argument{"to": {Type: StringType, Required: true}}
	with := func(name string, v any) func(*fakePolicy, *Input) {
		return func(_ *fakePolicy, in *Input) { setting(in, name, v) }
	}
	testGate(t, Bounds, []gateCase{
		{"passes when the tier executes", toolNote, nil, Pass, nil},
		{"passes when the tier executes and notifies", toolUpdate, nil, Pass, nil},
		{"fails when a review is due", toolRevoke, nil, Fail, []string{"review_required"}},
		{"passes when the review is approved", toolRevoke, func(p *fakePolicy, in *Input) { approve(p, in) }, Pass, nil},
		{"fails when the approval is void, and says what moved", toolRevoke, func(p *fakePolicy, in *Input) {
			approve(p, in)
			in.FactsHash = "sha256:f2"
			in.State.Pins = map[string]string{"rule": "v2"}
		}, Fail, []string{"review_required", "approval_void_pins", "approval_void_facts"}},
		{"does not mention a void approval that nobody needs", toolNote, func(p *fakePolicy, in *Input) {
			approve(p, in)
			in.FactsHash = "sha256:f2"
		}, Pass, nil},
		{"fails when the tier refuses", toolMissing, nil, Fail, []string{"boundary_deny"}},
		{"fails when the tier refuses, approval or not", toolMissing, func(p *fakePolicy, in *Input) { approve(p, in) }, Fail, []string{"boundary_deny"}},
		{"is unknown when an argument does not fit the registry", toolNote, func(p *fakePolicy, in *Input) {
			p.edit(toolNote, func(t *Tool) { t.Arguments = arguments })
		}, Unknown, []string{"argument_mismatch"}},
		{"is unknown when an argument does not fit, approval or not", toolRevoke, func(p *fakePolicy, in *Input) {
			p.edit(toolRevoke, func(t *Tool) { t.Arguments = arguments })
			approve(p, in)
		}, Unknown, []string{"argument_mismatch"}},
		{"passes when every argument fits", toolNote, func(p *fakePolicy, in *Input) {
			p.edit(toolNote, func(t *Tool) { t.Arguments = arguments })
			in.Action.Arguments["to"] = "ada"
		}, Pass, nil},
		{"fails while a rejection stands", toolNote, func(_ *fakePolicy, in *Input) {
			in.State.Rejection = &Rejection{Seq: 3, Code: "wrong_target"}
		}, Fail, []string{"rejected"}},
		{"fails while a rejection stands, approval or not", toolRevoke, func(p *fakePolicy, in *Input) {
			approve(p, in)
			in.State.Rejection = &Rejection{Seq: 3, Code: "wrong_target"}
		}, Fail, []string{"rejected"}},
		{"fails when one thing fails and another is unknown", toolNote, func(p *fakePolicy, in *Input) {
			p.edit(toolNote, func(t *Tool) { t.Arguments = arguments })
			in.State.Rejection = &Rejection{}
		}, Fail, []string{"rejected", "argument_mismatch"}},
		{"fails when the call was released already", toolNote, func(_ *fakePolicy, in *Input) { in.State.Path.Released = 5 }, Fail, []string{"already_released"}},
		{"passes when a released call may be decided anew", toolNote, func(p *fakePolicy, in *Input) {
			in.State.Path.Released = 5
			p.contract.Calls = DecideAnew
		}, Pass, nil},
		{"passes when a read was released already", toolLook, func(_ *fakePolicy, in *Input) { in.State.Path.Released = 5 }, Pass, nil},
		{"fails when a released tool is undeclared", toolMissing, func(_ *fakePolicy, in *Input) { in.State.Path.Released = 5 }, Fail, []string{"boundary_deny", "already_released"}},
		{"passes at the deadline", toolNote, with("deadline", 1000.0), Pass, nil},
		{"passes before the deadline", toolNote, with("deadline", 1000.5), Pass, nil},
		{"fails past the deadline", toolNote, with("deadline", 999.0), Fail, []string{"deadline_past"}},
		{"fails a moment past the deadline", toolNote, with("deadline", 999.999), Fail, []string{"deadline_past"}},
		{"passes with a deadline of null", toolNote, with("deadline", nil), Pass, nil},
		{"is unknown with a deadline that is text", toolNote, with("deadline", "1001"), Unknown, []string{"setting_invalid"}},
		{"is unknown with a deadline that is a bool", toolNote, with("deadline", true), Unknown, []string{"setting_invalid"}},
		{"is unknown with a deadline that was not decoded as a float", toolNote, with("deadline", 2000), Unknown, []string{"setting_invalid"}},
		{"is unknown with a deadline that is an object", toolNote, with("deadline", map[string]any{}), Unknown, []string{"setting_invalid"}},
		{"says everything that is wrong", toolMissing, func(_ *fakePolicy, in *Input) {
			in.State.Path.Released = 5
			in.State.Rejection = &Rejection{}
			setting(in, "deadline", 1.0)
		}, Fail, []string{"boundary_deny", "already_released", "rejected", "deadline_past"}},
	})
}

func TestBoundsNamesTheFactsItRead(t *testing.T) {
	p := newFake()
	in := call(p, toolRevoke)
	approve(p, &in)
	in.State.Path.Approval.Time = clock + 1
	in.State.Path.Released = 5
	in.State.Rejection = &Rejection{Seq: 3, Code: "wrong_target"}
	setting(&in, "deadline", 999.0)
	d := decide(p, in)
	for code, want := range map[string][]Fact{
		"already_released": {{Path: "/path/released", Value: uint64(5)}},
		"rejected":         {{Path: "/rejection/code", Value: "wrong_target"}, {Path: "/rejection/seq", Value: uint64(3)}},
		"deadline_past":    {{Path: "/state/settings/deadline", Value: 999.0}, {Path: "/now", Value: int64(1000)}},
		"approval_expired": {{Path: "/approval/time", Value: int64(1001)}, {Path: "/now", Value: int64(1000)}},
		"review_required":  {},
	} {
		if got := factsOf(t, d.Gate(Bounds).Reasons, code); !reflect.DeepEqual(got, want) {
			t.Errorf("facts of %s = %v, want %v", code, got, want)
		}
	}
}

func TestBoundsFailsForARefusedTierWhereAnArgumentDoesNotFitToo(t *testing.T) {
	p := newFake()
	p.addFloor("pin", Refuse)
	p.edit(toolNote, func(t *Tool) { t.Arguments = map[string]Argument{} })
	in := call(p, toolNote)
	in.Action.Arguments["extra"] = "x"
	d := decide(p, in)
	if g := d.Gate(Bounds); g.Verdict != Fail || !slices.Equal(codes(g.Reasons), []string{"boundary_deny", "argument_mismatch"}) {
		t.Errorf("BOUNDS = %v %v, want fail with boundary_deny and argument_mismatch", g.Verdict, codes(g.Reasons))
	}
}

func TestADeadlineThatIsNotANumberIsNoFreePass(t *testing.T) {
	p := newFake()
	in := call(p, toolNote)
	setting(&in, "deadline", math.NaN())
	if d := decide(p, in); d.Permit {
		t.Errorf("permit = true with a deadline of NaN, want it to be past or unknown")
	}
}

// TestRecords runs one table for both gates that ask for records: CONTEXT and
// EVIDENCE differ in their rules and the prefix of their codes only.
func TestRecords(t *testing.T) {
	for _, kind := range []struct {
		gate, prefix string
		require      func(*Tool, ...string)
		rules        func(*Contract) *map[string]RecordRule
	}{
		{ContextGate, "context", func(t *Tool, r ...string) { t.Requires.Context = r }, func(c *Contract) *map[string]RecordRule { return &c.Context }},
		{EvidenceReq, "evidence", func(t *Tool, r ...string) { t.Requires.Evidence = r }, func(c *Contract) *map[string]RecordRule { return &c.Evidence }},
	} {
		// given requires the records a and b under one rule; both are there,
		// passed, made now. The case changes what a is, or the rule.
		given := func(change func(r *RecordRule, a *Evidence, in *Input)) func(*fakePolicy, *Input) {
			return func(p *fakePolicy, in *Input) {
				p.edit(toolNote, func(t *Tool) { kind.require(t, "a", "b") })
				var r RecordRule
				a := Evidence{Name: "a", Status: Pass, Source: "ci", Time: clock, Seq: 1}
				in.State.Pins = map[string]string{"rule": "v1", "input": "i1"}
				change(&r, &a, in)
				*kind.rules(p.contract) = map[string]RecordRule{"a": r, "b": {}}
				in.State.Evidence = map[string]Evidence{"b": {Name: "b", Status: Pass, Time: clock, Seq: 2}}
				if a.Name != "" {
					in.State.Evidence["a"] = a
				}
			}
		}
		status := func(v Verdict) func(*fakePolicy, *Input) {
			return given(func(_ *RecordRule, a *Evidence, _ *Input) { a.Status = v })
		}
		code := func(suffixes ...string) (out []string) {
			for _, s := range suffixes {
				out = append(out, kind.prefix+"_"+s)
			}
			return out
		}
		var made []gateCase
		for _, c := range []struct {
			name  string
			set   func(*fakePolicy, *Input)
			want  Verdict
			codes []string
		}{
			{"passes when every record is there", given(func(*RecordRule, *Evidence, *Input) {}), Pass, nil},
			{"is unknown when a record is missing", given(func(_ *RecordRule, a *Evidence, _ *Input) { a.Name = "" }), Unknown, code("missing")},
			{"is unknown when the contract has no rule for the record", func(p *fakePolicy, in *Input) {
				given(func(*RecordRule, *Evidence, *Input) {})(p, in)
				delete(*kind.rules(p.contract), "a")
			}, Unknown, code("undeclared")},
			{"is unknown when the contract has no rules at all", func(p *fakePolicy, in *Input) {
				given(func(*RecordRule, *Evidence, *Input) {})(p, in)
				*kind.rules(p.contract) = nil
			}, Unknown, code("undeclared", "undeclared")},
			{"is unknown when a record is unknown", status(Unknown), Unknown, code("unknown")},
			{"fails when a record failed", status(Fail), Fail, code("failed")},
			{"fails when a record calls itself not applicable", status(NotApplicable), Fail, code("failed")},
			{"fails when a record's status is no status", status(200), Fail, code("failed")},

			{"passes when the age equals the ttl", given(func(r *RecordRule, a *Evidence, _ *Input) { r.TTL, a.Time = new(int64(60)), clock-60 }), Pass, nil},
			{"fails when the age is over the ttl", given(func(r *RecordRule, a *Evidence, _ *Input) { r.TTL, a.Time = new(int64(60)), clock-61 }), Fail, code("stale")},
			{"passes at a ttl of zero in the same second", given(func(r *RecordRule, _ *Evidence, _ *Input) { r.TTL = new(int64(0)) }), Pass, nil},
			{"fails at a ttl of zero a second later", given(func(r *RecordRule, a *Evidence, _ *Input) { r.TTL, a.Time = new(int64(0)), clock-1 }), Fail, code("stale")},
			{"fails at a negative ttl", given(func(r *RecordRule, _ *Evidence, _ *Input) { r.TTL = new(int64(-1)) }), Fail, code("stale")},
			{"passes at any age without a ttl", given(func(_ *RecordRule, a *Evidence, _ *Input) { a.Time = -1 << 40 }), Pass, nil},
			{"fails when the record is from the future", given(func(_ *RecordRule, a *Evidence, _ *Input) { a.Time = clock + 1 }), Fail, code("stale")},
			{"passes at the record's expiry", given(func(_ *RecordRule, a *Evidence, _ *Input) { a.Expires = new(clock) }), Pass, nil},
			{"fails after the record's expiry", given(func(_ *RecordRule, a *Evidence, _ *Input) { a.Expires = new(clock - 1) }), Fail, code("expired")},

			{"passes when the source is accepted", given(func(r *RecordRule, _ *Evidence, _ *Input) { r.Sources = []string{"lab", "ci"} }), Pass, nil},
			{"fails when the source is not accepted", given(func(r *RecordRule, _ *Evidence, _ *Input) { r.Sources = []string{"lab"} }), Fail, code("untraceable")},
			{"fails when no source is given and one is asked for", given(func(r *RecordRule, a *Evidence, _ *Input) { r.Sources, a.Source = []string{"ci"}, "" }), Fail, code("untraceable")},
			{"passes when every required field is there", given(func(r *RecordRule, a *Evidence, _ *Input) {
				r.Required, a.Expires = []string{"source", "expires"}, new(clock)
			}), Pass, nil},
			{"fails when the source is required and missing", given(func(r *RecordRule, a *Evidence, _ *Input) { r.Required, a.Source = []string{"source"}, "" }), Fail, code("incomplete")},
			{"fails when the expiry is required and missing", given(func(r *RecordRule, _ *Evidence, _ *Input) { r.Required = []string{"expires"} }), Fail, code("incomplete")},
			{"fails once for each missing field", given(func(r *RecordRule, a *Evidence, _ *Input) {
				r.Required, a.Source = []string{"source", "expires"}, ""
			}), Fail, code("incomplete", "incomplete")},

			{"passes when made under the versions in force", given(func(r *RecordRule, a *Evidence, _ *Input) {
				r.Pins, a.Pins = []string{"rule", "input"}, map[string]string{"rule": "v1", "input": "i1"}
			}), Pass, nil},
			{"passes when a version that does not matter moved", given(func(r *RecordRule, a *Evidence, _ *Input) {
				r.Pins, a.Pins = []string{"rule"}, map[string]string{"rule": "v1", "input": "i0"}
			}), Pass, nil},
			{"fails when made under another version", given(func(r *RecordRule, a *Evidence, _ *Input) {
				r.Pins, a.Pins = []string{"rule", "input"}, map[string]string{"rule": "v0", "input": "i1"}
			}), Fail, code("version")},
			{"fails when the record carries no version", given(func(r *RecordRule, _ *Evidence, _ *Input) { r.Pins = []string{"rule"} }), Fail, code("version")},
			{"fails when neither side knows the version", given(func(r *RecordRule, _ *Evidence, _ *Input) { r.Pins = []string{"output"} }), Fail, code("version")},
			{"fails when only the record knows the version", given(func(r *RecordRule, a *Evidence, _ *Input) {
				r.Pins, a.Pins = []string{"output"}, map[string]string{"output": "o1"}
			}), Fail, code("version")},

			{"fails when one record failed and another is missing, and says both", func(p *fakePolicy, in *Input) {
				status(Fail)(p, in)
				delete(in.State.Evidence, "b")
			}, Fail, code("failed", "missing")},
			{"says everything that is wrong with one record", given(func(r *RecordRule, a *Evidence, _ *Input) {
				*r = RecordRule{TTL: new(int64(1)), Sources: []string{"lab"}, Pins: []string{"rule"}, Required: []string{"source"}}
				*a = Evidence{Name: "a", Status: Fail, Time: 1, Expires: new(int64(1))}
			}), Fail, code("failed", "stale", "expired", "untraceable", "incomplete", "version")},

			{"is unknown when nothing is required and no rule is stored", func(p *fakePolicy, _ *Input) { delete(p.contract.Gates, kind.gate) }, Unknown, []string{"scope_missing"}},
			{"is unknown when nothing is required and no scope is stored", func(p *fakePolicy, _ *Input) {
				p.contract.Gates[kind.gate] = GateRule{Rationale: "because"}
			}, Unknown, []string{"scope_missing"}},
			{"is unknown when nothing is required and no rationale is stored", func(p *fakePolicy, _ *Input) {
				p.contract.Gates[kind.gate] = GateRule{Scope: "some"}
			}, Unknown, []string{"scope_missing"}},
			{"is not applicable when nothing is required and scope and rationale are stored", nil, NotApplicable, nil},
			{"is unknown when an undeclared tool requires nothing and nothing is stored", func(p *fakePolicy, in *Input) {
				p.contract.Gates = nil
				in.Action.Tool = toolMissing
			}, Unknown, []string{"scope_missing"}},
		} {
			made = append(made, gateCase{name: c.name, set: c.set, want: c.want, codes: c.codes})
		}
		t.Run(kind.gate, func(t *testing.T) { testGate(t, kind.gate, made) })
	}
}

func TestARecordNamesTheFactsItRead(t *testing.T) {
	p := newFake()
	p.edit(toolNote, func(t *Tool) { t.Requires.Evidence = []string{"ci/build", "lab"} })
	p.contract.Evidence = map[string]RecordRule{"ci/build": {Pins: []string{"rule"}, TTL: new(int64(5))}, "lab": {}}
	in := call(p, toolNote)
	in.State.Pins = map[string]string{"rule": "v2"}
	in.State.Evidence = map[string]Evidence{"ci/build": {Status: Fail, Time: 10, Pins: map[string]string{"rule": "v1"}}}
	d := decide(p, in)
	reasons := d.Gate(EvidenceReq).Reasons
	for code, want := range map[string][]Fact{
		"evidence_failed":  {{Path: "/state/evidence/ci~1build/status", Value: "fail"}},
		"evidence_stale":   {{Path: "/state/evidence/ci~1build/time", Value: int64(10)}, {Path: "/now", Value: int64(1000)}},
		"evidence_version": {{Path: "/state/evidence/ci~1build/pins/rule", Value: "v1"}, {Path: "/state/pins/rule", Value: "v2"}},
		"evidence_missing": {{Path: "/state/evidence/lab", Absent: true}},
	} {
		if got := factsOf(t, reasons, code); !reflect.DeepEqual(got, want) {
			t.Errorf("facts of %s = %v, want %v", code, got, want)
		}
	}
}

func TestARecordUnderAnEmptyPinThatNobodySetIsNotCurrent(t *testing.T) {
	p := newFake()
	p.edit(toolNote, func(t *Tool) { t.Requires.Evidence = []string{"a"} })
	p.contract.Evidence = map[string]RecordRule{"a": {Pins: []string{"rule"}}}
	in := call(p, toolNote)
	in.State.Evidence = map[string]Evidence{"a": {Status: Pass, Time: clock, Pins: map[string]string{"rule": ""}}}
	if d := decide(p, in); d.Gate(EvidenceReq).Verdict == Pass {
		t.Error("EVIDENCE = pass for a version that is not known, want evidence_version")
	}
}

func TestARequiredFieldTheEngineDoesNotKnowIsIncomplete(t *testing.T) {
	p := newFake()
	p.edit(toolNote, func(t *Tool) { t.Requires.Evidence = []string{"a"} })
	p.contract.Evidence = map[string]RecordRule{"a": {Required: []string{"sorce"}}}
	in := call(p, toolNote)
	in.State.Evidence = map[string]Evidence{"a": {Status: Pass, Time: clock}}
	if d := decide(p, in); d.Gate(EvidenceReq).Verdict == Pass {
		t.Error("EVIDENCE = pass with a required field that nothing can carry, want evidence_incomplete")
	}
}

func TestARecordFromTheBeginningOfTimeIsStale(t *testing.T) {
	p := newFake()
	p.edit(toolNote, func(t *Tool) { t.Requires.Evidence = []string{"a"} })
	p.contract.Evidence = map[string]RecordRule{"a": {TTL: new(int64(60))}}
	in := call(p, toolNote)
	in.State.Evidence = map[string]Evidence{"a": {Status: Pass, Time: math.MinInt64}}
	if d := decide(p, in); d.Gate(EvidenceReq).Verdict == Pass {
		t.Error("EVIDENCE = pass for a record older than its ttl, want evidence_stale")
	}
	in = call(p, toolRevoke)
	approve(p, &in)
	setting(&in, "review_ttl", 60.0)
	in.State.Path.Approval.Time = math.MinInt64
	if d := decide(p, in); d.Permit {
		t.Error("permit = true on an approval older than review_ttl, want approval_expired")
	}
}

func TestANotApplicableGateRepeatsTheStoredScopeAndRationale(t *testing.T) {
	p := newFake()
	d := decide(p, call(p, toolNote))
	for _, name := range []string{ContextGate, EvidenceReq, Eligibility} {
		want := p.contract.Gates[name]
		if g := d.Gate(name); g.Scope != want.Scope || g.Rationale != want.Rationale || g.Reasons == nil || g.Scope == "" {
			t.Errorf("%s: scope %q, rationale %q, reasons %v: want those of the contract and a list", name, g.Scope, g.Rationale, g.Reasons)
		}
	}
	for _, name := range []string{Bounds, Supervision, Resolved} {
		if g := d.Gate(name); g.Scope != "" || g.Rationale != "" || g.Verdict != Pass {
			t.Errorf("%s = %+v, want pass without a scope", name, g)
		}
	}
}

func TestBoundsSupervisionAndResolutionAreNeverNotApplicable(t *testing.T) {
	p := newFake()
	for _, name := range StandardGates() {
		p.contract.Gates[name] = GateRule{Scope: "s", Rationale: "r"}
	}
	for _, tool := range []string{toolNote, toolUpdate, toolRevoke, toolMissing} {
		d := decide(p, call(p, tool))
		for _, name := range []string{Bounds, Supervision, Resolved} {
			if got := d.Gate(name).Verdict; got == NotApplicable {
				t.Errorf("%s for %s = not_applicable, want a verdict", name, tool)
			}
		}
	}
}

func TestEligibility(t *testing.T) {
	given := func(set func(p *fakePolicy, in *Input)) func(*fakePolicy, *Input) {
		return func(p *fakePolicy, in *Input) {
			p.edit(toolNote, func(t *Tool) { t.Requires.Component = true })
			set(p, in)
		}
	}
	eligible := func(v any) func(*fakePolicy, *Input) {
		return given(func(_ *fakePolicy, in *Input) { setting(in, "eligible", v) })
	}
	listed := func(component string, r ComponentRule) func(*fakePolicy, *Input) {
		return given(func(p *fakePolicy, _ *Input) { p.contract.Components = map[string]ComponentRule{component: r} })
	}
	note := []string{toolUpdate, toolNote}
	testGate(t, Eligibility, []gateCase{
		{"passes when the setting says so", "", eligible(true), Pass, nil},
		{"fails when the setting says no", "", eligible(false), Fail, []string{"not_eligible"}},
		{"is unknown when the setting is text", "", eligible("true"), Unknown, []string{"setting_invalid"}},
		{"is unknown when the setting is a number", "", eligible(1.0), Unknown, []string{"setting_invalid"}},
		{"is unknown when the setting is null", "", eligible(nil), Unknown, []string{"setting_invalid"}},
		{"is unknown when the setting is an object", "", eligible(map[string]any{"eligible": true}), Unknown, []string{"setting_invalid"}},
		{"is unknown when nobody said who may run the tool", "", given(func(*fakePolicy, *Input) {}), Unknown, []string{"eligibility_undeclared"}},
		{"passes when the component is listed for the tool", "", listed("planner@3", ComponentRule{Tools: note}), Pass, nil},
		{"fails when another version is listed", "", listed("planner@2", ComponentRule{Tools: note}), Fail, []string{"component_not_listed"}},
		{"fails when the component is listed for another tool", "", listed("planner@3", ComponentRule{Tools: []string{toolUpdate}}), Fail, []string{"component_not_listed"}},
		{"fails when the component is listed for no tool", "", listed("planner@3", ComponentRule{}), Fail, []string{"component_not_listed"}},
		{"fails when the list is empty", "", given(func(p *fakePolicy, _ *Input) { p.contract.Components = map[string]ComponentRule{} }), Fail, []string{"component_not_listed"}},
		{"passes at the end of the component's time", "", listed("planner@3", ComponentRule{Tools: note, Until: new(clock)}), Pass, nil},
		{"fails past the end of the component's time", "", listed("planner@3", ComponentRule{Tools: note, Until: new(clock - 1)}), Fail, []string{"component_not_listed"}},
		{"fails when no component is named, even if the list names none", "", given(func(p *fakePolicy, in *Input) {
			in.Action.Agent.Component = ""
			p.contract.Components = map[string]ComponentRule{"": {Tools: note}}
		}), Fail, []string{"component_not_listed"}},
		{"passes when the setting and the list agree", "", given(func(p *fakePolicy, in *Input) {
			setting(in, "eligible", true)
			p.contract.Components = map[string]ComponentRule{"planner@3": {Tools: note}}
		}), Pass, nil},
		{"fails when the setting allows and the list does not", "", given(func(p *fakePolicy, in *Input) {
			setting(in, "eligible", true)
			p.contract.Components = map[string]ComponentRule{"other@1": {Tools: note}}
		}), Fail, []string{"component_not_listed"}},
		{"fails when the list allows and the setting does not", "", given(func(p *fakePolicy, in *Input) {
			setting(in, "eligible", false)
			p.contract.Components = map[string]ComponentRule{"planner@3": {Tools: note}}
		}), Fail, []string{"not_eligible"}},
		{"fails when the list fails and the setting cannot be read", "", given(func(p *fakePolicy, in *Input) {
			setting(in, "eligible", "x")
			p.contract.Components = map[string]ComponentRule{}
		}), Fail, []string{"component_not_listed", "setting_invalid"}},
		{"is not applicable where no component is required", "", func(_ *fakePolicy, in *Input) { setting(in, "eligible", false) }, NotApplicable, nil},
		{"is unknown where no component is required and nothing is stored", "", func(p *fakePolicy, _ *Input) { delete(p.contract.Gates, Eligibility) }, Unknown, []string{"scope_missing"}},
	})
}

func TestSupervision(t *testing.T) {
	with := func(name string, v any) func(*fakePolicy, *Input) {
		return func(_ *fakePolicy, in *Input) { setting(in, name, v) }
	}
	queued := func(rule QueueRule, counted int, set any) func(*fakePolicy, *Input) {
		return func(p *fakePolicy, in *Input) {
			p.contract.Queue, in.State.Queue = rule, counted
			if set != nil {
				setting(in, "queue", set)
			}
		}
	}
	// full is a queue nobody can join, so that only a pending request passes.
	full := func(r Request, set func(*fakePolicy, *Input)) func(*fakePolicy, *Input) {
		return func(p *fakePolicy, in *Input) {
			in.State.Queue = 4
			in.State.Path.Request = &r
			if set != nil {
				set(p, in)
			}
		}
	}
	cases := []gateCase{
		{"passes when no review is due", toolNote, with("capacity", 0.0), Pass, nil},
		{"passes when the call is denied, since no review would help", toolMissing, with("capacity", 0.0), Pass, nil},
		{"passes when the review is approved", toolRevoke, func(p *fakePolicy, in *Input) {
			approve(p, in)
			in.State.Queue = 4
		}, Pass, nil},
		{"fails when the approval is void and nobody is free", toolRevoke, func(p *fakePolicy, in *Input) {
			approve(p, in)
			in.State.Queue, in.FactsHash = 4, "sha256:f2"
		}, Fail, []string{"queue_full"}},
		{"passes when a review could be asked for", toolRevoke, nil, Pass, nil},
		{"passes when one place is left", toolRevoke, queued(Counted, 3, nil), Pass, nil},
		{"fails when the queue has reached its capacity", toolRevoke, queued(Counted, 4, nil), Fail, []string{"queue_full"}},
		{"fails when the queue is over its capacity", toolRevoke, queued(Counted, 5, nil), Fail, []string{"queue_full"}},
		{"does not look at the setting where the queue is counted", toolRevoke, queued(Counted, 4, 0.0), Fail, []string{"queue_full"}},
		{"passes when the setting leaves a place", toolRevoke, queued(FromSetting, 9, 3.0), Pass, nil},
		{"fails when the setting has reached capacity", toolRevoke, queued(FromSetting, 0, 4.0), Fail, []string{"queue_full"}},
		{"fails when the queue is not a number", toolRevoke, queued(FromSetting, 0, math.NaN()), Fail, []string{"queue_full"}},
		{"is unknown when the queue is a setting that is missing", toolRevoke, queued(FromSetting, 0, nil), Unknown, []string{"setting_invalid"}},
		{"is unknown when the queue is text", toolRevoke, queued(FromSetting, 0, "0"), Unknown, []string{"setting_invalid"}},
		{"is unknown when the rule for the queue is none", toolRevoke, queued(99, 0, nil), Unknown, []string{"setting_invalid"}},
		{"is unknown when the capacity is missing", toolRevoke, func(_ *fakePolicy, in *Input) { in.State.Settings = nil }, Unknown, []string{"capacity_missing"}},
		{"is unknown when the capacity is null", toolRevoke, with("capacity", nil), Unknown, []string{"capacity_missing"}},
		{"is unknown when the capacity is text", toolRevoke, with("capacity", "4"), Unknown, []string{"setting_invalid"}},
		{"fails when the capacity is zero", toolRevoke, with("capacity", 0.0), Fail, []string{"queue_full"}},
		{"fails when the capacity is not a number", toolRevoke, with("capacity", math.NaN()), Fail, []string{"queue_full"}},
		{"is unknown when no role may review", toolRevoke, func(p *fakePolicy, _ *Input) { p.contract.Roles = nil }, Unknown, []string{"reviewer_undeclared"}},
		{"passes at the deadline", toolRevoke, with("deadline", 1000.0), Pass, nil},
		{"fails past the deadline", toolRevoke, with("deadline", 999.0), Fail, []string{"deadline_past"}},
		{"says everything that is wrong", toolRevoke, func(p *fakePolicy, in *Input) {
			p.contract.Roles = nil
			in.State.Queue = 4
			setting(in, "deadline", 999.0)
		}, Fail, []string{"queue_full", "deadline_past", "reviewer_undeclared"}},

		{"passes when a request is pending, whatever the queue", toolRevoke, full(Request{Status: Pending, Time: clock - 5}, nil), Pass, nil},
		{"passes when the pending request's age equals the ttl", toolRevoke, full(Request{Status: Pending, Time: clock - 60}, with("review_ttl", 60.0)), Pass, nil},
		{"fails when the pending request is over the ttl", toolRevoke, full(Request{Status: Pending, Time: clock - 61}, with("review_ttl", 60.0)), Fail, []string{"queue_full"}},
		{"passes at the pending request's expiry", toolRevoke, full(Request{Status: Pending, Time: 1, Expires: new(clock)}, nil), Pass, nil},
		{"fails after the pending request's expiry", toolRevoke, full(Request{Status: Pending, Time: 1, Expires: new(clock - 1)}, nil), Fail, []string{"queue_full"}},
		{"passes after the expiry where expiry is derived", toolRevoke, full(Request{Status: Pending, Time: 1, Expires: new(clock - 1)}, func(p *fakePolicy, _ *Input) {
			p.contract.Expiry = Derived
		}), Pass, nil},
		{"fails when the pending request is from the future", toolRevoke, full(Request{Status: Pending, Time: clock + 1}, nil), Fail, []string{"queue_full"}},
		{"fails when the ttl of reviews cannot be read", toolRevoke, full(Request{Status: Pending, Time: clock}, with("review_ttl", "60")), Fail, []string{"queue_full"}},
		{"fails when the ttl of reviews is not a number", toolRevoke, full(Request{Status: Pending, Time: clock}, with("review_ttl", math.NaN())), Fail, []string{"queue_full"}},
	}
	for _, s := range []RequestStatus{NoRequest, Approved, RejectedRequest, TimedOut, Returned, 99} {
		cases = append(cases, gateCase{fmt.Sprintf("fails when the request is %v and nobody is free", s), toolRevoke, full(Request{Status: s, Time: clock}, nil), Fail, []string{"queue_full"}})
	}
	testGate(t, Supervision, cases)
}

func TestANilRequestIsNotCurrent(t *testing.T) {
	var r *Request
	if r.Current(clock, nil, Final) {
		t.Error("a nil request is current")
	}
}

func TestSupervisionNamesTheFactsItRead(t *testing.T) {
	p := newFake()
	p.contract.Queue = FromSetting
	in := call(p, toolRevoke)
	setting(&in, "queue", 6.0)
	d := decide(p, in)
	want := []Fact{{Path: "/state/settings/queue", Value: 6.0}, {Path: "/state/settings/capacity", Value: 4.0}}
	if got := factsOf(t, d.Gate(Supervision).Reasons, "queue_full"); !reflect.DeepEqual(got, want) {
		t.Errorf("facts of queue_full = %v, want %v", got, want)
	}
	in.State.Settings = map[string]any{"capacity": 4.0}
	d = decide(p, in)
	want = []Fact{{Path: "/state/settings/capacity", Value: 4.0}, {Path: "/state/settings/queue", Absent: true}}
	if got := factsOf(t, d.Gate(Supervision).Reasons, "setting_invalid"); !reflect.DeepEqual(got, want) {
		t.Errorf("facts of setting_invalid = %v, want %v", got, want)
	}
}

func TestSupervisionIsUnknownWhereTheDeadlineCannotBeRead(t *testing.T) {
	p := newFake()
	in := call(p, toolRevoke)
	setting(&in, "deadline", "soon")
	d := decide(p, in)
	if g := d.Gate(Supervision); g.Verdict != Unknown || !slices.Equal(codes(g.Reasons), []string{"setting_invalid"}) {
		t.Errorf("SUPERVISION = %v %v, want unknown setting_invalid", g.Verdict, codes(g.Reasons))
	}
}

func TestAFullQueueThatIsCountedIsNotSaidToBeASetting(t *testing.T) {
	p := newFake()
	in := call(p, toolRevoke)
	in.State.Queue = 4
	setting(&in, "queue", 0.0)
	d := decide(p, in)
	for _, f := range factsOf(t, d.Gate(Supervision).Reasons, "queue_full") {
		if v, ok := in.Lookup([]string{"state", "settings", "queue"}); f.Path == "/state/settings/queue" && (!ok || v != f.Value) {
			t.Errorf("fact %s = %v, the input holds %v", f.Path, f.Value, v)
		}
	}
}

func TestResolution(t *testing.T) {
	failure := func(recoverable bool) func(*fakePolicy, *Input) {
		return func(_ *fakePolicy, in *Input) { in.State.Path.Failure = &Failure{Seq: 2, Recoverable: recoverable} }
	}
	testGate(t, Resolved, []gateCase{
		{"passes when nothing failed", "", nil, Pass, nil},
		{"passes when retries were spent and the failure is resolved", "", func(_ *fakePolicy, in *Input) { in.State.Path.Retries = 9 }, Pass, nil},
		{"fails while a failure is unresolved", "", failure(true), Fail, []string{"failure_unresolved"}},
		{"fails while a failure that cannot be recovered is unresolved", "", failure(false), Fail, []string{"failure_unresolved"}},
	})
}

func TestOwnGates(t *testing.T) {
	given := func(f Finding) func(*fakePolicy, *Input) {
		return func(p *fakePolicy, _ *Input) {
			p.addGate("own", f.Verdict, ByNobody, ByNobody)
			p.findings["own"] = f
		}
	}
	because := func(codes ...string) (out []Reason) {
		for _, c := range codes {
			out = append(out, Reason{Code: c, Text: c})
		}
		return out
	}
	testGate(t, "own", []gateCase{
		{"passes without a reason", "", given(Finding{Verdict: Pass}), Pass, nil},
		{"fails for its reasons", "", given(Finding{Verdict: Fail, Reasons: because("x", "y")}), Fail, []string{"x", "y"}},
		{"fails and is said to have given no reason", "", given(Finding{Verdict: Fail}), Fail, []string{"gate_gave_no_reason"}},
		{"is unknown for its reasons", "", given(Finding{Reasons: because("x")}), Unknown, []string{"x"}},
		{"is unknown when it finds nothing", "", given(Finding{}), Unknown, []string{"gate_gave_no_reason"}},
		{"is unknown when it says it is not applicable", "", given(Finding{Verdict: NotApplicable, Reasons: because("x")}), Unknown, []string{"gate_wrong_type"}},
		{"is unknown when its verdict is none", "", given(Finding{Verdict: 200}), Unknown, []string{"gate_wrong_type"}},
		{"is unknown when its verdict is just past the last", "", given(Finding{Verdict: Pass + 1}), Unknown, []string{"gate_wrong_type"}},
		{"is unknown when it was imposed, whatever it would say now", "", func(p *fakePolicy, in *Input) {
			given(Finding{Verdict: Pass})(p, in)
			in.Imposed = []Imposed{{Gate: "other", Code: "timeout"}, {Gate: "own", Code: "cancelled"}}
		}, Unknown, []string{"cancelled"}},
	})
}

func TestWhatCutAGateShortIsRecordedSoThatReplayCanImposeIt(t *testing.T) {
	finding := func(v Verdict, codes ...string) Finding {
		f := Finding{Verdict: v}
		for _, c := range codes {
			f.Reasons = append(f.Reasons, Reason{Code: c, Text: c})
		}
		return f
	}
	for _, c := range []struct {
		name string
		f    Finding
		want []Imposed
	}{
		{"timeout", finding(Unknown, "timeout"), []Imposed{{"own", "timeout"}}},
		{"cancelled", finding(Unknown, "cancelled", "x"), []Imposed{{"own", "cancelled"}}},
		{"another code", finding(Unknown, "undefined"), []Imposed{}},
		{"timeout that failed", finding(Fail, "timeout"), []Imposed{}},
		{"timeout that passed", finding(Pass, "timeout"), []Imposed{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newFake()
			p.addGate("own", Pass, ByNobody, ByNobody)
			p.findings["own"] = c.f
			in := call(p, toolNote)
			first := decide(p, in)
			if !slices.Equal(first.Imposed, c.want) || first.Imposed == nil {
				t.Errorf("imposed = %v, want %v", first.Imposed, c.want)
			}
			in.Imposed = first.Imposed
			p.findings["own"] = Finding{Verdict: Pass} // evaluation would finish this time
			again := decide(p, in)
			if len(c.want) > 0 && (again.Permit || !slices.Equal(again.Imposed, c.want) || again.Gate("own").Verdict != Unknown) {
				t.Errorf("replay: permit %v, imposed %v, verdict %v: want the verdict that was imposed", again.Permit, again.Imposed, again.Gate("own").Verdict)
			}
		})
	}
}

func TestAPanicOfOneOwnGateIsUnknownAndTheOthersAreStillTested(t *testing.T) {
	p := newFake()
	for _, name := range []string{"a", "b", "c"} {
		p.addGate(name, Pass, ByNobody, ByNobody)
	}
	d := decide(panicking{fakePolicy: p, method: "Test", gate: "b"}, call(p, toolNote))
	want := map[string]Verdict{"a": Pass, "b": Unknown, "c": Pass}
	for name, v := range want {
		if got := d.Gate(name).Verdict; got != v {
			t.Errorf("gate %s = %v, want %v", name, got, v)
		}
	}
	if got := codes(d.Gate("b").Reasons); d.Permit || !slices.Equal(got, []string{"gate_panic"}) {
		t.Errorf("permit %v, codes %v: want false, gate_panic", d.Permit, got)
	}
}

func TestAnOwnGateThatMayBeReviewedRaisesTheBoundaryAndNeverLowersIt(t *testing.T) {
	for _, c := range []struct {
		v                 Verdict
		onFail, onUnknown Resolution
		raises            bool
	}{
		{Pass, ByReview, ByReview, false},
		{Fail, ByNobody, ByNobody, false},
		{Fail, ByReview, ByNobody, true},
		{Fail, ByNobody, ByReview, false},
		{Unknown, ByReview, ByNobody, false},
		{Unknown, ByNobody, ByReview, true},
		{NotApplicable, ByNobody, ByReview, true}, // counts as unknown
		{200, ByReview, ByNobody, false},          // counts as unknown
		{Fail, 99, 99, false},
	} {
		for _, tier := range []Tier{Refuse, Propose, ExecuteNotify, Execute} {
			p := newFake()
			p.addFloor("pin", tier)
			p.addGate("own", c.v, c.onFail, c.onUnknown)
			want := tier.Boundary()
			if c.raises && want == AllowCall {
				want = RequireReview
			}
			d := decide(p, call(p, toolNote))
			if d.Boundary != want || d.Tier != tier || d.Permit != (c.v == Pass && want == AllowCall) {
				t.Errorf("tier %v, own gate %v (on_fail %v, on_unknown %v): boundary %v, tier %v, permit %v: want boundary %v",
					tier, c.v, c.onFail, c.onUnknown, d.Boundary, d.Tier, d.Permit, want)
			}
		}
	}
}
