package bundle

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/rego"
)

// gated is the small bundle with one Rego gate `g`, given as the text of its
// rules, and what the contract says of it.
func gated(t testing.TB, rules, contract string) Files {
	t.Helper()
	return with(small(t), gatesFile, "package conjunct.gates\n\n"+rules+"\n",
		contractFile, strings.Replace(smallContract, "gates:\n", "gates:\n  g: "+contract+"\n", 1))
}

// TestRegoGates: what a gate's rule yields, as the decision sees it.
func TestRegoGates(t *testing.T) {
	const pass = `{"verdict": "pass", "reasons": []}`
	slow := `g := {"verdict": "pass", "reasons": []} if count([1 | some a in w; some b in w; some c in w; some d in w; a + b + c + d < 0]) == 0` + "\n\nw := array.concat(x, x)\n\nx := array.concat(y, y)\n\ny := array.concat(z, z)\n\nz := array.concat(v, v)\n\nv := [1, 2, 3, input.now]"
	for _, c := range []struct {
		name, rules string
		contract    string
		verdict     engine.Verdict
		codes       []string
		outcome     engine.Outcome
		boundary    engine.Boundary
	}{
		{"pass", "g := " + pass, "{}", engine.Pass, []string{}, engine.Allow, engine.AllowCall},
		{"pass with a reason", `g := {"verdict": "pass", "reasons": ["looked_at"]}`, "{}", engine.Pass, []string{"looked_at"}, engine.Allow, engine.AllowCall},
		{"fail blocks", `g := {"verdict": "fail", "reasons": ["too_much"]}`, "{}", engine.Fail, []string{"too_much"}, engine.Block, engine.AllowCall},
		{"fail asks a person", `g := {"verdict": "fail", "reasons": ["too_much", "too_late"]}`, "{on_fail: review}", engine.Fail, []string{"too_much", "too_late"}, engine.Review, engine.RequireReview},
		{"unknown blocks where only a fail may be reviewed", `g := {"verdict": "unknown", "reasons": ["nobody_knows"]}`, "{on_fail: review}", engine.Unknown, []string{"nobody_knows"}, engine.Block, engine.AllowCall},
		{"unknown asks a person", `g := {"verdict": "unknown", "reasons": ["nobody_knows"]}`, "{on_unknown: review}", engine.Unknown, []string{"nobody_knows"}, engine.Review, engine.RequireReview},
		{"fail without a reason", `g := {"verdict": "fail", "reasons": []}`, "{}", engine.Fail, []string{"gate_gave_no_reason"}, engine.Block, engine.AllowCall},
		{"undefined", "g := " + pass + " if input.action.tool == \"pay\"", "{}", engine.Unknown, []string{rego.Undefined}, engine.Block, engine.AllowCall},
		{"undefined because a value is absent", "g := " + pass + " if input.action.agent.component != input.action.critic.component", "{}", engine.Unknown, []string{rego.Undefined}, engine.Block, engine.AllowCall},
		{"two values", "g := " + pass + " if input.now > 0\n\ng := {\"verdict\": \"fail\", \"reasons\": [\"x\"]} if input.now > 1", "{}", engine.Unknown, []string{rego.Conflict}, engine.Block, engine.AllowCall},
		{"the same value twice", "g := " + pass + " if input.now > 0\n\ng := " + pass + " if input.now > 1", "{}", engine.Pass, []string{}, engine.Allow, engine.AllowCall},
		{"true", "g if input.now > 0", "{}", engine.Unknown, []string{rego.WrongType}, engine.Block, engine.AllowCall},
		{"text", `g := "pass"`, "{}", engine.Unknown, []string{rego.WrongType}, engine.Block, engine.AllowCall},
		{"a list", `g := ["pass"]`, "{}", engine.Unknown, []string{rego.WrongType}, engine.Block, engine.AllowCall},
		{"null", `g := null`, "{}", engine.Unknown, []string{rego.WrongType}, engine.Block, engine.AllowCall},
		{"without reasons", `g := {"verdict": "pass"}`, "{}", engine.Unknown, []string{rego.WrongType}, engine.Block, engine.AllowCall},
		{"reasons that are text", `g := {"verdict": "pass", "reasons": "x"}`, "{}", engine.Unknown, []string{rego.WrongType}, engine.Block, engine.AllowCall},
		{"a reason that is a number", `g := {"verdict": "pass", "reasons": [1]}`, "{}", engine.Unknown, []string{rego.WrongType}, engine.Block, engine.AllowCall},
		{"a key more", `g := object.union({"verdict": "pass", "reasons": []}, {"note": "x"})`, "{}", engine.Unknown, []string{rego.WrongType}, engine.Block, engine.AllowCall},
		{"a verdict that is none", `g := {"verdict": lower("Passed"), "reasons": []}`, "{}", engine.Unknown, []string{rego.WrongType}, engine.Block, engine.AllowCall},
		{"a verdict in another case", `g := {"verdict": upper("pass"), "reasons": []}`, "{}", engine.Unknown, []string{rego.WrongType}, engine.Block, engine.AllowCall},
		{"a gate that calls itself not applicable", `g := {"verdict": lower("not_applicable"), "reasons": []}`, "{}", engine.Unknown, []string{rego.WrongType}, engine.Block, engine.AllowCall},
		{"a verdict that is a set of verdicts", `g := {"verdict": {"pass", "fail"}, "reasons": []}`, "{}", engine.Unknown, []string{rego.WrongType}, engine.Block, engine.AllowCall},
		{"a builtin that errs", `g := {"verdict": "pass", "reasons": []} if to_number(input.action.tool) > 0`, "{}", engine.Unknown, []string{rego.BuiltinErr}, engine.Block, engine.AllowCall},
		{"a timeout", slow, "{}", engine.Unknown, []string{rego.Timeout}, engine.Block, engine.AllowCall},
		{"a timeout is no review without on_unknown", slow, "{on_fail: review}", engine.Unknown, []string{rego.Timeout}, engine.Block, engine.AllowCall},
		{"a gate of another tool", `g := {"verdict": "fail", "reasons": ["x"]}`, "{tools: [pay]}", engine.Unknown, nil, engine.Allow, engine.AllowCall},
		{"a gate of this tool", `g := {"verdict": "fail", "reasons": ["x"]}`, "{tools: [look]}", engine.Fail, []string{"x"}, engine.Block, engine.AllowCall},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := load(t, gated(t, c.rules, c.contract))
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			if slices.Contains(c.codes, rego.Timeout) {
				ctx, cancel = context.WithTimeout(context.Background(), 30*time.Millisecond)
			}
			defer cancel()
			d := engine.Decide(ctx, b, inputOf(b, propose(t, "look", `{"query":"x"}`)))
			g := d.Gate("g")
			if c.codes == nil {
				if g.Name != "" {
					t.Errorf("the gate was evaluated: %+v", g)
				}
			} else if g.Name != "g" || g.Verdict != c.verdict || !slices.Equal(codes(g), c.codes) {
				t.Errorf("gate %q is %s with %q, want %s with %q", g.Name, g.Verdict, codes(g), c.verdict, c.codes)
			}
			if d.Outcome != c.outcome || d.Boundary != c.boundary {
				t.Errorf("outcome %s, boundary %s; want %s, %s\n%s", d.Outcome, d.Boundary, c.outcome, c.boundary, d.Reason)
			}
			if d.Permit != (c.outcome == engine.Allow) {
				t.Errorf("permit %v at outcome %s", d.Permit, d.Outcome)
			}
			for _, r := range g.Reasons {
				if c.codes != nil && r.Code != "gate_gave_no_reason" && r.Code != rego.Timeout && (r.Rule.File != gatesFile || r.Rule.Row == 0) {
					t.Errorf("reason %s stands at %v, want a row of %s", r.Code, r.Rule, gatesFile)
				}
			}
		})
	}
}

// TestGateFamily: the row of transitions is the family's.
func TestGateFamily(t *testing.T) {
	const next = "package conjunct.transition\n\nnext := {\"transition\": \"verify\"} if input.flags.cause == \"own_block\"\n"
	rules := `g := {"verdict": "fail", "reasons": ["x"]}`
	for _, c := range []struct {
		contract string
		want     engine.Transition
	}{{"{}", engine.Stop}, {"{family: EVIDENCE}", engine.Verify}, {"{family: BOUNDS}", engine.Stop}} {
		b := load(t, with(gated(t, rules, c.contract), transitionFile, next))
		if d := engine.Decide(t.Context(), b, inputOf(b, propose(t, "look", `{"query":"x"}`))); d.Transition != c.want {
			t.Errorf("gate %s: transition %s, want %s", c.contract, d.Transition, c.want)
		}
	}
}

// TestGateReasonHasTitleAndFacts: a reason says where the rule stands, what it
// is called and what it read, absent values included.
func TestGateReasonHasTitleAndFacts(t *testing.T) {
	b := load(t, gated(t, "# METADATA\n# title: The query is short\ng := {\"verdict\": \"fail\", \"reasons\": [\"query_short\"]} if count(input.action.arguments.query) < 3\n\ng := {\"verdict\": \"unknown\", \"reasons\": [\"note\"]} if input.action.arguments.note == \"x\"", "{tools: [look]}"))
	f := b.Test(t.Context(), "g", ptr(inputOf(b, propose(t, "look", `{"query":"x"}`))))
	if f.Verdict != engine.Fail || len(f.Reasons) != 1 {
		t.Fatalf("got %+v", f)
	}
	r := f.Reasons[0]
	facts := map[string]bool{}
	for _, x := range r.Facts {
		facts[x.Path] = true
	}
	if r.Rule.Title != "The query is short" || r.Text != "The query is short: query short" || !facts["/action/arguments/query"] || !facts["/action/arguments/note"] {
		t.Errorf("got %+v", r)
	}
}

func ptr[T any](v T) *T { return &v }

// TestGatesNobodyHas: a gate that does not exist is Unknown and says so.
func TestGatesNobodyHas(t *testing.T) {
	b := load(t, small(t))
	f := b.Test(t.Context(), "none", ptr(inputOf(b, propose(t, "look", `{"query":"x"}`))))
	if f.Verdict != engine.Unknown || len(f.Reasons) != 1 || f.Reasons[0].Code != rego.GateMissing {
		t.Errorf("got %+v", f)
	}
}

// TestGateListing: which gates apply to which tool, and in which order.
func TestGateListing(t *testing.T) {
	f := with(gated(t, `g := {"verdict": "pass", "reasons": []}`, "{tools: [pay], on_fail: review, family: EVIDENCE}"),
		celFile, "gates:\n  - {name: z, expression: now > 0}\n  - {name: a, match: {tools: [pay]}, expression: args.amount < 5.0, on_unknown: review}\n")
	b := load(t, f)
	names := func(tool string) (out []string) {
		for _, g := range b.Gates(tool) {
			out = append(out, g.Name)
		}
		return out
	}
	for tool, want := range map[string][]string{"pay": {"a", "g", "z"}, "look": {"z"}, "undeclared": {"z"}} {
		if got := names(tool); !slices.Equal(got, want) {
			t.Errorf("gates of %s: %q, want %q", tool, got, want)
		}
	}
	want := []engine.Gate{{Name: "a", OnUnknown: engine.ByReview}, {Name: "g", OnFail: engine.ByReview, Family: "EVIDENCE"}, {Name: "z"}}
	if got := b.Gates("pay"); !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got, want := b.OwnGates(), []string{"a", "g", "z"}; !slices.Equal(got, want) {
		t.Errorf("own gates %q, want %q", got, want)
	}
	if got, want := b.GateNames(), append(families(), "a", "g", "z"); !slices.Equal(got, want) {
		t.Errorf("gate names %q, want %q", got, want)
	}
}

// TestCrossReferences between rules, data and CEL: each mistake at its place.
func TestCrossReferences(t *testing.T) {
	const pass = `{"verdict": "pass", "reasons": []}`
	cel := func(text string) Files { return with(small(t), celFile, "gates:\n"+text) }
	for _, c := range []struct {
		name string
		f    Files
		want []string
		says string
	}{
		{"a gate both Rego and CEL", with(gated(t, "g := "+pass, "{}"), celFile, "gates:\n  - name: g\n    expression: 1 == 1\n"), []string{celFile + ":2:5 data_gate"}, "either Rego"},
		{"a Rego gate that the contract does not list", with(small(t), gatesFile, "package conjunct.gates\n\ng := "+pass+"\n"), []string{gatesFile + ":3:1 rego_unused_rule"}, "list it under gates"},
		{"a listed gate misspelt", gated(t, "deploy_windw := "+pass, "{}\n  deploy_window: {}"), []string{contractFile + ":4:3 rego_missing_gate", contractFile + ":5:3 rego_missing_gate", gatesFile + ":3:1 rego_unused_rule"}, "deploy_windw"},
		{"a Rego rule with the name of a standard gate", with(small(t), gatesFile, "package conjunct.gates\n\nBOUNDS := "+pass+"\n"), []string{gatesFile + ":3:1 rego_unused_rule"}, "BOUNDS"},
		{"a CEL gate with the name of a standard gate", cel("  - {name: BOUNDS, expression: 1 == 1}\n"), []string{celFile + ":2:12 data_name"}, "lower-case"},
		{"a gate's name with blanks", cel("  - {name: a b, expression: 1 == 1}\n"), []string{celFile + ":2:12 data_name"}, "lower-case"},
		{"a gate without a name", cel("  - {expression: 1 == 1}\n"), []string{celFile + ":2:5 data_missing_key", celFile + ":2:5 cel_expression"}, "name"},
		{"a gate without an expression", cel("  - {name: g}\n"), []string{celFile + ":2:5 data_missing_key", celFile + ":2:5 cel_expression"}, "expression"},
		{"a gate of no tool", cel("  - {name: g, match: {tools: []}, expression: 1 == 1}\n"), []string{celFile + ":2:30 data_range"}, "never applies"},
		{"tools that are no list", cel("  - {name: g, match: {tools: look}, expression: 1 == 1}\n"), []string{celFile + ":2:30 data_type"}, "must be a list"},
		{"a gate of an undeclared tool", cel("  - {name: g, match: {tools: [lok]}, expression: 1 == 1}\n"), []string{celFile + ":2:22 cel_expression"}, `"look"`},
		{"an unknown key of match", cel("  - {name: g, match: {tool: look}, expression: 1 == 1}\n"), []string{celFile + ":2:23 data_unknown_key"}, `did you mean "tools"?`},
		{"on_fail of no resolution", cel("  - {name: g, on_fail: stop, expression: 1 == 1}\n"), []string{celFile + ":2:24 data_unknown_value"}, "block, review"},
		{"a family that is none", cel("  - {name: g, family: evidence, expression: 1 == 1}\n"), []string{celFile + ":2:23 data_unknown_value"}, `did you mean "EVIDENCE"?`},
		{"a reason that is no code", cel("  - {name: g, reason: Too Late, expression: 1 == 1}\n"), []string{celFile + ":2:23 cel_expression"}, "stable code"},
		{"an unknown key of a variable", cel("  - {name: g, variables: [{nam: x, expression: '1'}], expression: 1 == 1}\n"), []string{celFile + ":2:28 data_unknown_key", celFile + ":2:27 data_missing_key", celFile + ":2:5 cel_expression"}, ""},
		{"gates that are no list", with(small(t), celFile, "gates: {g: 1}\n"), []string{celFile + ":1:8 data_type"}, "list"},
		{"an unknown key of cel", with(small(t), celFile, "gate: []\n"), []string{celFile + ":1:1 data_unknown_key"}, `did you mean "gates"?`},
		{"a rule in a package of data", with(small(t), "conjunct/scope/s.rego", "package conjunct.scope\n\nlimit := 5\n"), []string{"conjunct/scope/s.rego:1:1 rego_package"}, "conjunct.scope"},
		{"a package outside the root", with(small(t), "x.rego", "package other\n\nx := 5\n"), []string{"x.rego:1:1 rego_package"}, ""},
		{"no package at all", with(small(t), "x.rego", "x := 5\n"), []string{"x.rego:1:1 rego_parse_error"}, ""},
		{"an empty Rego file", with(small(t), "x.rego", "# nothing\n"), []string{"x.rego:0:0 rego_parse_error"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ps := problems(t, c.f)
			got := places(c.f, ps)
			slices.Sort(got)
			if slices.Sort(c.want); !slices.Equal(got, c.want) {
				t.Fatalf("problems at %q, want %q\n%v", got, c.want, ps)
			}
			if !slices.ContainsFunc(ps, func(p Problem) bool { return strings.Contains(p.Message+" "+p.Hint, c.says) }) {
				t.Errorf("none of %v says %q", ps, c.says)
			}
		})
	}
}

// TestRuleHoles are reported: a rule that names what does not exist and loads,
// or data at the place of a rule.
func TestRuleHoles(t *testing.T) {
	const pass = `{"verdict": "pass", "reasons": []}`
	floor := func(body string) Files {
		return with(small(t), floorsFile, "package conjunct.floors\n\nfloors contains {\"name\": \"f\", \"tier\": \"refuse\"} if {\n\t"+body+"\n}\n")
	}
	may := func(body string) Files {
		return with(small(t), authorityFile, "package conjunct.authority\n\ndefault may := false\n\nmay if {\n\tinput.role in data.conjunct.contract.roles\n\t"+body+"\n}\n")
	}
	for _, c := range []struct {
		name string
		f    Files
	}{
		{"a review outcome misspelt in authority", may(`input.outcome == "aprove"`)},
		{"a rejection code misspelt in authority", may(`input.code == "wrong_targt"`)},
		{"a property misspelt behind a variable", floor(`p := "reversability"; input.consequence[p] == "irreversible"`)},
		{"a property misspelt in a comprehension", floor(`some k, v in input.consequence; k == "reversability"; v == "irreversible"`)},
		{"a value misspelt behind a function", floor(`lower(input.consequence.reversibility) == "ireversible"`)},
		{"a tool misspelt behind a pattern", floor(`regex.match("^emial", input.action.tool)`)},
		{"data at the place of an entry point", with(small(t), "conjunct/authority/data.yaml", "may: true\n")},
		{"data at the place of the floors", with(small(t), "conjunct/floors/data.yaml", "floors: [{name: f, tier: refuse}]\n", floorsFile, "package conjunct.floors\n\nfloors contains {\"name\": \"g\", \"tier\": \"refuse\"} if input.action.tool == \"pay\"\n")},
		{"data that looks like floors and no rule reads", with(small(t), "conjunct/floors/data.yaml", "floors: [{name: f, tier: refuse}]\n", floorsFile, "")},
		{"a scope for a gate of one's own", gated(t, "g := "+pass, "{scope: x, rationale: y}")},
		{"a gate of no tool, which applies to every tool", gated(t, "g := "+pass, "{tools: []}")},
	} {
		t.Run(c.name, func(t *testing.T) {
			if ps := problems(t, c.f); ps == nil {
				fault(t, "it loads")
			}
		})
	}
}

// TestEmptyArgumentsMeanNone holds against a fault: a tool that declares that it takes no
// arguments is not held to it.
func TestEmptyArgumentsMeanNone(t *testing.T) {
	b := load(t, edit(t, small(t), registryFile, "arguments: {query: {type: string, required: true}}", "arguments: {}"))
	if d := engine.Decide(t.Context(), b, inputOf(b, propose(t, "look", `{"anything":"x"}`))); d.Permit {
		t.Error("a tool with `arguments: {}` takes any argument and is permitted")
	}
}

// TestSharedArgumentType: two tools that declare one argument differently.
func TestSharedArgumentType(t *testing.T) {
	f := edit(t, small(t), registryFile, "arguments: {query: {type: string, required: true}}", "arguments: {amount: {type: string}}")
	f = with(f, floorsFile, "package conjunct.floors\n\nfloors contains {\"name\": \"f\", \"tier\": \"refuse\"} if input.action.arguments.amount == \"all\"\n\nfloors contains {\"name\": \"h\", \"tier\": \"refuse\"} if input.action.arguments.amount > 10\n")
	ps := problems(t, f)
	if ps == nil {
		b := load(t, f)
		d := engine.Decide(t.Context(), b, inputOf(b, propose(t, "look", `{"amount":"all"}`)))
		if got := floorNames(&d); !slices.Contains(got, "f") {
			t.Errorf("floors %q, want f", got)
		}
	}
}

func floorNames(d *engine.Decision) []string {
	out := []string{}
	for _, f := range d.Floors {
		out = append(out, f.Name)
	}
	return out
}

// TestRaise: severity.raise makes a consequence worse, never milder; it applies
// when an argument it reads is absent.
func TestRaise(t *testing.T) {
	raise := func(lines ...string) Files {
		return with(small(t), severityRego, "package conjunct.severity\n\nbase := data.conjunct.severity.table[input.consequence.blast_radius][input.consequence.reversibility]\n\n"+strings.Join(lines, "\n\n")+"\n")
	}
	large := `raise contains {"property": "blast_radius", "value": "external"} if {
	input.action.tool == "pay"
	input.action.arguments.amount > 100
}`
	noted := `raise contains {"property": "reversibility", "value": "irreversible"} if {
	input.action.tool == "pay"
	input.action.arguments.note == "final"
}`
	milder := `raise contains {"property": "reversibility", "value": "reversible"} if input.action.tool == "pay"`
	base := engine.Consequence{Reversibility: engine.Costly, BlastRadius: engine.RecordOnly, AbsorbedBy: engine.Operator, DetectionLatency: engine.Hours, Source: engine.Declared}
	change := func(f func(*engine.Consequence)) engine.Consequence {
		c := base
		c.Source = engine.FromPolicy
		f(&c)
		return c
	}
	for _, c := range []struct {
		name      string
		rules     []string
		arguments string
		want      engine.Consequence
		tier      engine.Tier
		raised    int
	}{
		{"below the limit nothing changes", []string{large}, `{"to":"a","amount":100}`, base, engine.ExecuteNotify, 0},
		{"above the limit it is worse", []string{large}, `{"to":"a","amount":100.01}`, change(func(c *engine.Consequence) { c.BlastRadius = engine.External }), engine.Propose, 1},
		{"an absent argument applies", []string{noted}, `{"to":"a","amount":1}`, change(func(c *engine.Consequence) { c.Reversibility = engine.Irreversible }), engine.Propose, 1},
		{"a present argument does not", []string{noted}, `{"to":"a","amount":1,"note":"draft"}`, base, engine.ExecuteNotify, 0},
		{"both", []string{large, noted}, `{"to":"a","amount":101,"note":"final"}`, change(func(c *engine.Consequence) { c.BlastRadius, c.Reversibility = engine.External, engine.Irreversible }), engine.Propose, 2},
		{"nothing makes it milder", []string{milder}, `{"to":"a","amount":1}`, base, engine.ExecuteNotify, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := load(t, raise(c.rules...))
			d := engine.Decide(t.Context(), b, inputOf(b, propose(t, "pay", c.arguments)))
			if d.Consequence != c.want || d.Tier != c.tier {
				t.Errorf("%s: consequence %+v, tier %s; want %+v, %s", c.arguments, d.Consequence, d.Tier, c.want, c.tier)
			}
			raised := 0
			for _, r := range d.Reasons {
				if r.Code == "consequence_raised" {
					raised++
					if r.Rule.File != severityRego || r.Rule.Row == 0 {
						t.Errorf("the raise stands at %v", r.Rule)
					}
				}
			}
			if raised != c.raised {
				t.Errorf("%d reasons of a raise, want %d", raised, c.raised)
			}
		})
	}
	for _, c := range []struct{ name, rule, says string }{
		{"a property misspelt", `raise contains {"property": "blast_radus", "value": "external"} if input.now > 5`, `"blast_radius"`},
		{"a value misspelt", `raise contains {"property": "blast_radius", "value": "externl"} if input.now > 5`, `"external"`},
		{"a key misspelt", `raise contains {"propery": "blast_radius", "value": "external"} if input.now > 5`, `"property"`},
		{"a source", `raise contains {"property": "source", "value": "policy"} if input.now > 5`, "not a consequence property"},
		{"an argument of another tool", `raise contains {"property": "blast_radius", "value": "external"} if input.action.arguments.amount > 5`, "does not declare"},
		{"a raise that never holds", `raise contains {"property": "blast_radius", "value": "external"} if input.action.tool == "pay"; input.action.tool == "look"`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			ps := problems(t, raise(strings.ReplaceAll(c.rule, "if input.action.tool == \"pay\"; ", "if {\n\tinput.action.tool == \"pay\"\n\t")+map[bool]string{true: "\n}"}[strings.Contains(c.rule, "; ")]))
			if !slices.ContainsFunc(ps, func(p Problem) bool {
				return strings.HasSuffix(p.File, severityRego) && p.Row == 5 && strings.Contains(p.Message+p.Hint, c.says)
			}) {
				t.Errorf("problems %v, want one in row 5 that says %q", ps, c.says)
			}
		})
	}
}

// TestFloorReasons: a floor's reason names its place, its title and what was
// absent.
func TestFloorReasons(t *testing.T) {
	b := load(t, with(small(t), floorsFile, "package conjunct.floors\n\n# METADATA\n# title: Final payments are not for agents\nfloors contains {\"name\": \"final\", \"tier\": \"refuse\"} if {\n\tinput.action.tool == \"pay\"\n\tinput.action.arguments.note == \"final\"\n}\n"))
	for _, c := range []struct{ arguments, code, says string }{
		{`{"to":"a","amount":1,"note":"final"}`, "floor_applied", "Final payments are not for agents"},
		{`{"to":"a","amount":1}`, "floor_applied_undetermined", "/action/arguments/note is absent"},
	} {
		d := engine.Decide(t.Context(), b, inputOf(b, propose(t, "pay", c.arguments)))
		i := slices.IndexFunc(d.Reasons, func(r engine.Reason) bool { return r.Code == c.code })
		if d.Tier != engine.Refuse || d.Outcome != engine.Block || i < 0 || !strings.Contains(d.Reasons[i].Text, c.says) || d.Reasons[i].Rule.File != floorsFile || d.Reasons[i].Rule.Row != 5 {
			t.Errorf("%s: tier %s, reasons %+v, want %s that says %q", c.arguments, d.Tier, d.Reasons, c.code, c.says)
		}
	}
	if got, want := b.FloorNames(), []string{"final"}; !slices.Equal(got, want) || len(b.FloorRules()) != 1 {
		t.Errorf("floors %q, %v", got, b.FloorRules())
	}
}

// TestImposedIsRepeated: a replay holds floors, raises and gates to have been
// cut short where they were, and says so again.
func TestImposedIsRepeated(t *testing.T) {
	f := gated(t, `g := {"verdict": "pass", "reasons": []}`, "{}")
	f = with(f, floorsFile, "package conjunct.floors\n\nfloors contains {\"name\": \"f\", \"tier\": \"refuse\"} if input.now < 0\n",
		severityRego, "package conjunct.severity\n\nbase := \"execute\"\n\nraise contains {\"property\": \"blast_radius\", \"value\": \"external\"} if input.now < 0\n")
	b := load(t, f)
	in := inputOf(b, propose(t, "look", `{"query":"x"}`))
	if d := engine.Decide(t.Context(), b, in); !d.Permit {
		t.Fatalf("without a cut: %s", d.Reason)
	}
	for _, gate := range []string{"g", engine.FloorGate("f"), engine.RaiseGate("blast_radius")} {
		in.Imposed = []engine.Imposed{{Gate: gate, Code: "timeout"}}
		d := engine.Decide(t.Context(), b, in)
		if !slices.Contains(d.Imposed, in.Imposed[0]) {
			t.Errorf("%s: imposed %v, want it repeated", gate, d.Imposed)
		}
		if d.Permit != (gate == engine.RaiseGate("blast_radius")) {
			t.Errorf("%s: permit %v, outcome %s", gate, d.Permit, d.Outcome)
		}
	}
}

// TestMay: the authority rule; anything but true is no.
func TestMay(t *testing.T) {
	ask := engine.AuthorityRequest{Op: engine.OpReview, By: engine.Identity{Name: "ann", Role: "reviewer", Qualified: true}}
	for _, c := range []struct {
		name, rule string
		may        bool
		code       string
	}{
		{"true", "default may := false\n\nmay if input.role == \"reviewer\"", true, ""},
		{"false", "default may := false\n\nmay if input.role == \"other\"", false, "not_authorised"},
		{"undefined", "may if input.role == \"other\"", false, "not_authorised"},
		{"text", `may := "true" if input.role == "reviewer"`, false, "not_authorised"},
		{"an object", `may := {"may": true} if input.role == "reviewer"`, false, "not_authorised"},
		{"a conflict", "may := true if input.role == \"reviewer\"\n\nmay := false if input.qualified", false, rego.Conflict},
		{"a builtin that errs", "may if to_number(input.role) > 0", false, rego.BuiltinErr},
		{"state that it reads", "may if input.state.settings.capacity == 4", true, ""},
		{"state that it reads and is otherwise", "may if input.state.settings.capacity == 5", false, "not_authorised"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := load(t, with(small(t), authorityFile, "package conjunct.authority\n\n"+c.rule+"\n"))
			r := ask
			r.State = b.Start()
			may, why := b.May(t.Context(), r)
			if may != c.may || !may && why.Code != c.code {
				t.Errorf("may %v, %s; want %v, %s", may, why.Code, c.may, c.code)
			}
			if why.Rule.File != authorityFile {
				t.Errorf("the rule stands at %v", why.Rule)
			}
		})
	}
	b := load(t, small(t))
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if may, why := b.May(done, ask); may || why.Code != rego.Cancelled {
		t.Errorf("cancelled: %v, %s", may, why.Code)
	}
}

// TestExplain: the trace names every entry point that has rules, and what each
// rule did.
func TestExplain(t *testing.T) {
	b := load(t, filesOf(t, "itsm"))
	in := inputOf(b, propose(t, "deprovision_account", `{"account":"acme\\jdoe"}`))
	d := engine.Decide(t.Context(), b, in)
	got := map[string]int{}
	for _, e := range b.Explain(t.Context(), in, &d, false) {
		got[e.Entry] = len(e.Steps)
		if e.Err != "" {
			t.Errorf("%s: %s", e.Entry, e.Err)
		}
	}
	for _, want := range []string{"severity.base", "floors.floors", "transition.next"} {
		if got[want] == 0 {
			t.Errorf("no step of %s in %v", want, got)
		}
	}
	bad := load(t, gated(t, `g := {"verdict": "pass", "reasons": []} if to_number(input.action.tool) > 0`, "{}"))
	in = inputOf(bad, propose(t, "look", `{"query":"x"}`))
	d = engine.Decide(t.Context(), bad, in)
	if all := bad.Explain(t.Context(), in, &d, false); !slices.ContainsFunc(all, func(e Explanation) bool { return e.Entry == "gates.g" && e.Err != "" }) {
		t.Errorf("the error of gates.g is not in %+v", all)
	}
}

// TestRegoTestsOfABundle: OPA's runner on the bundle's own tests; one that does
// not compile names its file.
func TestRegoTestsOfABundle(t *testing.T) {
	b := load(t, filesOf(t, "itsm"))
	tests, err := Tests("../policies/itsm")
	if err != nil {
		t.Fatal(err)
	}
	results, coverage, err := b.TestRego(t.Context(), tests, "", time.Minute)
	if err != nil || len(results) < 20 || len(coverage) == 0 {
		t.Fatalf("%d results, %d files covered, %v", len(results), len(coverage), err)
	}
	for _, r := range results {
		if r.Failed {
			t.Errorf("%s failed: %s", r.Name, r.Why)
		}
	}
	broken := map[string][]byte{"conjunct/floors/x_test.rego": []byte("package conjunct.floors_test\n\ntest_x if data.conjunct.floors.none(1)\n")}
	_, _, err = b.TestRego(t.Context(), broken, "", time.Minute)
	if err == nil || !strings.Contains(err.Error(), "itsm/conjunct/floors/x_test.rego:3") {
		t.Errorf("error %v, want one that names the third row of the test", err)
	}
	dir := write(t, filesOf(t, "itsm"))
	ps, err := CheckTests(dir, maps.Clone(broken))
	if err != nil || len(ps) != 1 || ps[0].Row != 3 || !strings.HasSuffix(ps[0].File, "x_test.rego") || ps[0].Line == "" {
		t.Errorf("CheckTests: %v, %v", ps, err)
	}
	if ps, err := CheckTests(dir, tests); err != nil || len(ps) > 0 {
		t.Errorf("CheckTests: %v, %v", ps, err)
	}
}

func TestLoadErrorListsAll(t *testing.T) {
	err := &LoadError{Path: "b", Problems: []Problem{{File: "b/x", Row: 1, Col: 2, Message: "m"}, {File: "b/y", Message: "n", Hint: "h"}}}
	if got, want := err.Error(), "b/x:1:2: m\nb/y: n (h)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
