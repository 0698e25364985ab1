package rego_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/conjunct-project/conjunct/rego"
)

const floorHead = `floors contains {"name": "f", "tier": "refuse"} if `

func TestWhatDoesNotLoad(t *testing.T) {
	type bodies = map[string]string
	floor := func(condition string) bodies { return bodies{rego.Floors: floorHead + "{\n\t" + condition + "\n}"} }
	pass := `{"verdict": "pass", "reasons": []}`
	for _, c := range []struct {
		name   string
		bodies bodies
		gates  []string
		want   place
		why    string // reported and not yet mended
	}{
		{"syntax error", floor(`input.action.tool ==`), nil, place{"floors.rego", 4, 1, "rego_parse_error", "", ""}, ""},
		{"no v1 keyword", bodies{rego.Floors: `floors contains x { x := 1 }`}, nil, place{"floors.rego", 2, 1, "rego_parse_error", "`if` keyword", ""}, ""},
		{"unsafe variable", floor(`input.facts.x == y`), nil, place{"floors.rego", 3, 2, "rego_unsafe_var_error", "var y is unsafe", ""}, ""},
		{"unused variable", floor(`y := input.facts.x`), nil, place{"floors.rego", 3, 2, "rego_compile_error", "assigned var y unused", ""}, ""},
		{"unused import", bodies{rego.Floors: "import data.conjunct.scope\n" + floorHead + `input.facts.x == 1`}, nil, place{"floors.rego", 2, 1, "rego_compile_error", "import data.conjunct.scope unused", ""}, ""},
		{"recursion", floor(`count(floors) > 1`), nil, place{"floors.rego", 2, 1, "rego_recursion_error", "recursive", ""}, ""},

		{"package outside the protocol", bodies{"floor": `x := 1`}, nil, place{"floor.rego", 1, 1, "rego_package", "package conjunct.floor", `"conjunct.floors"`}, ""},
		{"rule in a data only package", bodies{"scope": `x := 1`}, nil, place{"scope.rego", 1, 1, "rego_package", "package conjunct.scope", ""}, ""},
		{"package below one of the protocol", bodies{"floors.prod": `floors contains {"name": "f", "tier": "refuse"} if input.facts.x`}, nil, place{"floors.prod.rego", 1, 1, "rego_package", "conjunct.floors.prod", ""}, ""},

		{"misspelt entry point", bodies{rego.Floors: `floor contains {"name": "f", "tier": "refuse"} if input.facts.x`}, nil, place{"floors.rego", 2, 1, "rego_unused_rule", "rule floor is no entry point", `"floors"`}, ""},
		{"unused helper", bodies{rego.Floors: floorHead + "input.facts.x\n\nhelper if input.facts.y"}, nil, place{"floors.rego", 4, 1, "rego_unused_rule", "rule helper", ""}, ""},
		{"misspelt modifier", bodies{rego.Severity: `base := "execute"` + "\n" + `modifier contains {"name": "x"} if input.flags.low_confidence`}, nil, place{"severity.rego", 3, 1, "rego_unused_rule", "rule modifier", `"modifiers"`}, ""},
		{"gate that no contract lists", bodies{rego.Gates: "g := " + pass}, nil, place{"gates.rego", 2, 1, "rego_unused_rule", "rule g", "list it under gates"}, ""},
		{"misspelt gate", bodies{rego.Gates: "deploy_windw := " + pass + "\ndeploy := " + pass}, []string{"deploy"}, place{"gates.rego", 2, 1, "rego_unused_rule", "rule deploy_windw", ""}, ""},
		{"gate that no rule defines", nil, []string{"deploy_window"}, place{"", 0, 0, "rego_missing_gate", "gate deploy_window", ""}, ""},

		{"with", floor(`input.facts.x with input.facts.x as 1`), nil, place{"floors.rego", 3, 2, "rego_with", "`with`", "_test.rego"}, ""},
		{"with on data", floor(`data.conjunct.scope.limit == 1 with data.conjunct.scope.limit as 1`), nil, place{"floors.rego", 3, 2, "rego_with", "`with`", ""}, ""},

		{"unknown section of the input", floor(`input.acton.tool == "deploy"`), nil, place{"floors.rego", 3, 2, "rego_unknown_path", "input.acton", `"action"`}, ""},
		{"unknown name in the action", floor(`input.action.tol == "deploy"`), nil, place{"floors.rego", 3, 2, "rego_unknown_path", "input.action.tol", `"tool"`}, ""},
		{"unknown argument", floor(`input.action.arguments.amuont > 5`), nil, place{"floors.rego", 3, 2, "rego_unknown_path", "input.action.arguments.amuont", `"amount"`}, ""},
		{"unknown argument in brackets", floor(`input.action["arguments"]["amuont"] > 5`), nil, place{"floors.rego", 3, 2, "rego_unknown_path", "input.action.arguments.amuont", `"amount"`}, ""},
		{"name below a leaf", floor(`input.action.tool.name == "deploy"`), nil, place{"floors.rego", 3, 2, "rego_unknown_path", "input.action.tool.name", ""}, ""},
		{"unknown consequence property", floor(`input.consequence.reversability == "costly"`), nil, place{"floors.rego", 3, 2, "rego_unknown_path", "input.consequence.reversability", `"reversibility"`}, ""},
		{"unknown setting", floor(`input.state.settings.dedline > 1`), nil, place{"floors.rego", 3, 2, "rego_unknown_path", "input.state.settings.dedline", `"deadline"`}, ""},
		{"unknown evidence", floor(`input.state.evidence.cii.status == "pass"`), nil, place{"floors.rego", 3, 2, "rego_unknown_path", "input.state.evidence.cii", `"ci"`}, ""},
		{"unknown field of evidence", floor(`input.state.evidence.ci.state == "pass"`), nil, place{"floors.rego", 3, 2, "rego_unknown_path", "input.state.evidence.ci.state", ""}, ""},
		{"flags outside severity", floor(`input.flags.low_confidence`), nil, place{"floors.rego", 3, 2, "rego_unknown_path", "input.flags", ""}, ""},
		{"action in the transition rule", bodies{rego.Transition: `next := {"transition": "stop"} if input.action.tool == "deploy"`}, nil, place{"transition.rego", 2, 35, "rego_unknown_path", "input.action", ""}, ""},
		{"unknown path in a comprehension", floor(`count([1 | input.action.tol]) > 0`), nil, place{"floors.rego", 3, 13, "rego_unknown_path", "input.action.tol", ""}, ""},
		{"unknown path in every", floor(`every x in input.facts.l { x == input.action.tol }`), nil, place{"floors.rego", 3, 34, "rego_unknown_path", "input.action.tol", ""}, ""},
		{"unknown path in a head", bodies{rego.Floors: `floors contains {"name": input.action.nam, "tier": "refuse"}`}, nil, place{"floors.rego", 2, 26, "rego_unknown_path", "input.action.nam", ""}, ""},
		{"unknown path in an else", bodies{rego.Authority: "may if input.op == \"review\"\nelse := input.rol == \"x\""}, nil, place{"authority.rego", 3, 9, "rego_unknown_path", "input.rol", `"role"`}, ""},
		{"unknown path in a function", bodies{rego.Floors: floorHead + "big(input.facts.x)\n\nbig(x) if x > input.action.arguments.amuont"}, nil, place{"floors.rego", 4, 15, "rego_unknown_path", "amuont", ""}, ""},
		{"unknown path in interpolation", floor(`input.facts.x == $"{input.action.tol}"`), nil, place{"floors.rego", 3, 22, "rego_unknown_path", "input.action.tol", ""}, ""},
		{"unknown path through an import", bodies{rego.Floors: "import input.action as a\n" + floorHead + `a.tol == "x"`}, nil, place{"floors.rego", 3, 52, "rego_unknown_path", "input.action.tol", `"tool"`}, ""},
		{"unknown path through an alias", floor("a := input.action\n\ta.tol == \"x\""), nil, place{"floors.rego", 4, 2, "rego_type_error", "a.tol", "tool"}, ""},

		{"unknown data", floor(`input.facts.x > data.conjunct.scope.limt`), nil, place{"floors.rego", 3, 18, "rego_unknown_data", "data.conjunct.scope.limt", `"limit"`}, ""},
		{"unknown data before a variable", floor(`input.action.tool == data.conjunct.scope.tols[_]`), nil, place{"floors.rego", 3, 23, "rego_unknown_data", "data.conjunct.scope.tols", `"tools"`}, ""},
		{"unknown data through an import", bodies{rego.Floors: "import data.conjunct.scope\n" + floorHead + `input.facts.x > scope.limt`}, nil, place{"floors.rego", 3, 68, "rego_unknown_data", "data.conjunct.scope.limt", `"limit"`}, ""},
		{"name below a value in data", floor(`input.facts.x > data.conjunct.scope.limit.max`), nil, place{"floors.rego", 3, 18, "rego_unknown_data", "data.conjunct.scope.limit is not an object", ""}, ""},
		{"unknown root of data", floor(`input.facts.x > data.scope.limit`), nil, place{"floors.rego", 3, 18, "rego_unknown_data", "data.scope", ""}, ""},
		{"rule of another package that is none", floor(`data.conjunct.severity.bas == "execute"`), nil, place{"floors.rego", 3, 2, "rego_unknown_data", "data.conjunct.severity", ""}, ""},

		{"confidence", floor(`input.action.confidence < 0.5`), nil, place{"floors.rego", 3, 2, "rego_confidence", "confidence", "low_confidence"}, ""},
		{"confidence in brackets", floor(`input["action"]["confidence"] < 0.5`), nil, place{"floors.rego", 3, 2, "rego_confidence", "confidence", ""}, ""},
		{"confidence through an import", bodies{rego.Floors: "import input.action as a\n" + floorHead + `a.confidence < 0.5`}, nil, place{"floors.rego", 3, 52, "rego_confidence", "confidence", ""}, ""},
		{"confidence through an alias", floor("a := input.action\n\ta.confidence < 0.5"), nil, place{"floors.rego", 4, 2, "rego_type_error", "a.confidence", ""}, ""},
		{"confidence in a gate", bodies{rego.Gates: "g := " + pass + " if input.action.confidence > 0.9"}, []string{"g"}, place{"gates.rego", 2, 44, "rego_confidence", "", ""}, ""},

		{"walk over the whole input", floor(`walk(input, [_, "x"])`), nil, place{"floors.rego", 3, 7, "rego_whole_input", "the whole input", "name the path"}, ""},
		{"the whole input in a variable", floor("x := input\n\tx.facts.y == 1"), nil, place{"floors.rego", 3, 7, "rego_whole_input", "", ""}, ""},
		{"the whole input by a variable key", floor("some k\n\tinput[k].tool == \"deploy\""), nil, place{"floors.rego", 4, 2, "rego_whole_input", "", ""}, ""},
		{"the whole input in object.get", floor(`object.get(input, ["facts", "x"], 1) == 1`), nil, place{"floors.rego", 3, 13, "rego_whole_input", "", ""}, ""},
		{"the whole input to a function", bodies{rego.Floors: floorHead + "f(input)\n\nf(x) if x.facts.y"}, nil, place{"floors.rego", 2, 54, "rego_whole_input", "", ""}, ""},

		{"misspelt value", floor(`input.consequence.reversibility == "irreversable"`), nil, place{"floors.rego", 3, 37, "rego_unknown_value", `is never "irreversable"`, `"irreversible"`}, ""},
		{"misspelt value, unequal", floor(`input.consequence.reversibility != "irreversable"`), nil, place{"floors.rego", 3, 37, "rego_unknown_value", "", `"irreversible"`}, ""},
		{"misspelt value, negated", floor(`not input.consequence.reversibility == "irreversable"`), nil, place{"floors.rego", 3, 41, "rego_unknown_value", "", `"irreversible"`}, ""},
		{"misspelt value on the left", floor(`"irreversable" == input.consequence.reversibility`), nil, place{"floors.rego", 3, 2, "rego_unknown_value", "", `"irreversible"`}, ""},
		{"misspelt value, unified", floor(`input.consequence.reversibility = "irreversable"`), nil, place{"floors.rego", 3, 36, "rego_unknown_value", "", `"irreversible"`}, ""},
		{"misspelt value in a set", floor(`input.consequence.reversibility in {"costly", "irreversable"}`), nil, place{"floors.rego", 3, 37, "rego_unknown_value", `"irreversable"`, `"irreversible"`}, ""},
		{"misspelt value in an array", floor(`input.consequence.reversibility in ["irreversable", "costly"]`), nil, place{"floors.rego", 3, 37, "rego_unknown_value", `"irreversable"`, ""}, ""},
		{"misspelt value in data", floor(`input.action.tool in data.conjunct.scope.misspelt`), nil, place{"floors.rego", 3, 23, "rego_unknown_value", `"deploi"`, `"deploy"`}, "the linter does not follow a variable that the compiler makes for a path into data"},
		{"a pattern that is none", floor(`regex.match("[", input.action.tool)`), nil, place{"floors.rego", 3, 2, "rego_pattern", `"["`, "RE2"}, ""},
		{"a pattern that is none, in a replacement", floor(`regex.replace(input.action.tool, "(", "") == "a"`), nil, place{"floors.rego", 3, 2, "rego_pattern", `"("`, ""}, ""},
		{"misspelt tool", floor(`input.action.tool == "deploi"`), nil, place{"floors.rego", 3, 23, "rego_unknown_value", `"deploi"`, `"deploy"`}, ""},
		{"misspelt source", floor(`input.consequence.source == "undecleared"`), nil, place{"floors.rego", 3, 30, "rego_unknown_value", "", `"undeclared"`}, ""},
		{"misspelt status", floor(`input.state.evidence.ci.status == "passed"`), nil, place{"floors.rego", 3, 36, "rego_unknown_value", "", `"pass"`}, ""},
		{"misspelt cause", bodies{rego.Transition: `next := {"transition": "stop"} if input.flags.cause == "own_blok"`}, nil, place{"transition.rego", 2, 56, "rego_unknown_value", "", `"own_block"`}, ""},
		{"misspelt op", bodies{rego.Authority: `may if input.op in {"revieww"}`}, nil, place{"authority.rego", 2, 20, "rego_unknown_value", "", `"review"`}, ""},
		{"misspelt value in a helper", bodies{rego.Floors: floorHead + "bad\n\nbad if input.consequence.blast_radius == \"sytem\""}, nil, place{"floors.rego", 4, 42, "rego_unknown_value", `"sytem"`, `"system"`}, ""},
		{"misspelt value in a comprehension", floor(`count([1 | input.action.tool == "deploi"]) > 0`), nil, place{"floors.rego", 3, 34, "rego_unknown_value", `"deploi"`, ""}, ""},
		{"misspelt value in every", floor(`every x in input.facts.l { x > 1; input.action.tool == "deploi" }`), nil, place{"floors.rego", 3, 57, "rego_unknown_value", `"deploi"`, ""}, ""},
		{"misspelt value in an else", bodies{rego.Authority: "may if input.qualified\nelse := true if input.op == \"revieww\""}, nil, place{"authority.rego", 3, 1, "rego_unknown_value", "", ""}, ""},
		{"null for a value", floor(`input.consequence.reversibility == null`), nil, place{"floors.rego", 3, 37, "rego_unknown_value", `"null"`, ""}, ""},

		{"negation in a gate", bodies{rego.Gates: "g := " + pass + " if {\n\tnot input.facts.bad\n}"}, []string{"g"}, place{"gates.rego", 3, 2, "rego_negation", "input.facts.bad", "unknown case"}, ""},
		{"negated equality in a gate", bodies{rego.Gates: "g := " + pass + " if {\n\tnot input.facts.risk == 3\n}"}, []string{"g"}, place{"gates.rego", 3, 2, "rego_negation", "input.facts.risk", ""}, ""},
		{"negated helper in a gate", bodies{rego.Gates: "g := " + pass + " if {\n\tnot bad\n}\n\nbad if input.action.arguments.to == \"x\""}, []string{"g"}, place{"gates.rego", 3, 2, "rego_negation", "input.action.arguments.to", ""}, ""},
		{"negation in a gate's comprehension", bodies{rego.Gates: "g := " + pass + " if {\n\tcount([1 | not input.facts.bad]) == 1\n}"}, []string{"g"}, place{"gates.rego", 3, 13, "rego_negation", "input.facts.bad", ""}, ""},
		{"negation in the helper of a gate", bodies{rego.Gates: "g := " + pass + " if clean\n\nclean if {\n\tnot input.state.evidence.ci.status == \"fail\"\n}"}, []string{"g"}, place{"gates.rego", 5, 2, "rego_negation", "input.state.evidence.ci.status", ""}, ""},
		{"negated function in a gate", bodies{rego.Gates: "g := " + pass + " if {\n\tnot bad(1)\n}\n\nbad(x) if input.facts.risk > x"}, []string{"g"}, place{"gates.rego", 3, 2, "rego_negation", "input.facts.risk", ""}, ""},

		{"type error", floor(`input.now == "x"`), nil, place{"floors.rego", 3, 2, "rego_type_error", "match error", ""}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			src := source(c.bodies, c.gates...)
			for pkg, body := range c.bodies {
				if _, standard := rest[pkg]; !standard && pkg != rego.Floors && pkg != rego.Gates {
					src.Modules = append(src.Modules, rego.Module{File: pkg + ".rego", Text: "package conjunct." + pkg + "\n" + body + "\n"})
				}
			}
			p, problems := rego.Load(src)
			if c.why != "" && len(problems) == 0 {
				reported(t, c.why)
			}
			if p != nil {
				t.Error("got a program, want none beside problems")
			}
			wantProblem(t, show(c.bodies), problems, c.want)
		})
	}
}

func TestBuiltinsThatAreNotPureDoNotLoad(t *testing.T) {
	for name, call := range map[string]string{
		"http.send":                      `http.send({"method": "get", "url": "http://x"}).status_code == 200`,
		"time.now_ns":                    `time.now_ns() > 1`,
		"bits.lsh":                       `bits.lsh(1, 1000000) > 1`,
		"numbers.range":                  `count(numbers.range(1, 100000000)) > 1`,
		"opa.runtime":                    `opa.runtime().env.HOME == "x"`,
		"net.lookup_ip_addr":             `count(net.lookup_ip_addr("x")) > 0`,
		"rand.intn":                      `rand.intn("x", 5) > 1`,
		"uuid.rfc4122":                   `uuid.rfc4122("x") == "y"`,
		"crypto.x509.parse_certificates": `count(crypto.x509.parse_certificates("x")) > 0`,
		"crypto.x509.parse_and_verify_certificates": `crypto.x509.parse_and_verify_certificates("x")[0]`,
		"io.jwt.decode_verify":                      `io.jwt.decode_verify("x", {})[0]`,
		"time.clock":                                `time.clock(1)[0] > 5`,
		"time.format":                               `time.format(1) == "x"`,
		"json.match_schema":                         `json.match_schema({}, {})[0]`,
		"trace":                                     `trace("x")`,
		"graph.reachable":                           `count(graph.reachable({}, [])) > 0`,
		"rego.parse_module":                         `rego.parse_module("x", "package x") == 1`,
		"strings.render_template":                   `strings.render_template("x", {}) == "x"`,
	} {
		t.Run(name, func(t *testing.T) {
			_, problems := rego.Load(source(map[string]string{rego.Floors: floorHead + "{\n\t" + call + "\n}"}))
			wantProblem(t, call, problems, place{"floors.rego", 3, 2 + strings.Index(call, name), "rego_forbidden_builtin", name + " may not be used", "only pure and bounded"})
		})
	}
}

func TestEveryProblemOfABundleIsReportedInOneRun(t *testing.T) {
	src := source(map[string]string{
		rego.Floors:   "floors contains {\"name\": \"f\", \"tier\": \"refuse\"} if input.action.tol\n\nfloor := 1",
		rego.Severity: `bas if input.consequence.blast_radius == "sytem"`,
	}, "deploy")
	want := []place{
		{"", 0, 0, "rego_missing_rule", "data.conjunct.severity.base", ""},
		{"", 0, 0, "rego_missing_gate", "gate deploy", ""},
		{"floors.rego", 2, 52, "rego_unknown_path", "input.action.tol", ""},
		{"floors.rego", 4, 1, "rego_unused_rule", "rule floor", ""},
		{"severity.rego", 2, 1, "rego_unused_rule", "rule bas", `"base"`},
		{"severity.rego", 2, 42, "rego_unknown_value", `"sytem"`, `"system"`},
	}
	p, got := rego.Load(src)
	if p != nil || len(got) != len(want) {
		t.Fatalf("got program %v and problems %+v, want none and %d, for %v", p, got, len(want), src.Modules)
	}
	for i := range want {
		wantProblem(t, src.Modules[0].Text, got[i:i+1], want[i])
	}
}

func TestSyntaxErrorsOfTwoFilesAreReportedTogether(t *testing.T) {
	_, got := rego.Load(source(map[string]string{rego.Floors: `floors contains if`, rego.Severity: `base := ]`}))
	var files []string
	for _, p := range got {
		if p.Code != "rego_parse_error" || p.Row < 2 {
			t.Errorf("got %+v, want a parse error with its row", p)
		}
		files = append(files, p.File)
	}
	if got := slices.Compact(files); !slices.Equal(got, []string{"floors.rego", "severity.rego"}) {
		t.Errorf("got problems in %v, want some in floors.rego, then some in severity.rego", got)
	}
}

func TestEntryPointsWithoutWhichNothingIsDecided(t *testing.T) {
	for pkg, name := range map[string]string{rego.Severity: "base", rego.Transition: "next", rego.Authority: "may"} {
		src := source(nil)
		for i, m := range src.Modules {
			if m.File == pkg+".rego" {
				src.Modules = append(src.Modules[:i:i], src.Modules[i+1:]...)
				break
			}
		}
		_, got := rego.Load(src)
		wantProblem(t, "no "+pkg, got, place{code: "rego_missing_rule", message: "data.conjunct." + pkg + "." + name})
	}
}

func TestFilesThatAreNoModules(t *testing.T) {
	for _, c := range []struct {
		name, file, text string
		want             place
	}{
		{"wrong ending", "floors.reg", "package conjunct.floors\n", place{"floors.reg", 0, 0, "rego_file_name", "not a Rego file", ""}},
		{"nothing in it", "empty.rego", "", place{"empty.rego", 0, 0, "rego_parse_error", "empty module", ""}},
		{"comments only", "comments.rego", "# nothing\n", place{"comments.rego", 0, 0, "rego_parse_error", "empty module", ""}},
		{"no package", "x.rego", "x := 1\n", place{"x.rego", 1, 1, "rego_parse_error", "package expected", ""}},
	} {
		t.Run(c.name, func(t *testing.T) {
			src := source(nil)
			src.Modules = append(src.Modules, rego.Module{File: c.file, Text: c.text})
			_, got := rego.Load(src)
			wantProblem(t, c.text, got, c.want)
		})
	}
}

func TestWhatLoads(t *testing.T) {
	type bodies = map[string]string
	for _, c := range []struct {
		name   string
		bodies bodies
		gates  []string
	}{
		{"the input imported under another name", bodies{rego.Floors: "import input.action as a\nimport data.conjunct.scope\n" + floorHead + "{\n\ta.tool == \"deploy\"\n\ta.arguments.amount > scope.limit\n}"}, nil},
		{"a helper with alternatives", bodies{rego.Floors: floorHead + "bad\n\nbad if input.facts.x\n\nbad if input.facts.y"}, nil},
		{"a helper used by a helper in else", bodies{rego.Authority: "default may := false\n\nmay if input.qualified\nelse := inner\n\ninner if input.role == \"x\""}, nil},
		{"data below a variable", bodies{rego.Floors: floorHead + "{\n\tsome e in data.conjunct.scope.nested.list\n\tinput.action.tool == e.tool\n\tinput.action.arguments.amount > e.max\n}"}, nil},
		{"negation over what is always there, in a gate", bodies{rego.Gates: `g := {"verdict": "pass", "reasons": []} if not input.consequence.reversibility == "irreversible"`}, []string{"g"}},
		{"the unknown case first, in a gate", bodies{rego.Gates: "g := {\"verdict\": \"unknown\", \"reasons\": [\"x\"]} if object.get(input.facts, \"bad\", null) == null\nelse := {\"verdict\": \"fail\", \"reasons\": [\"y\"]} if input.facts.bad\nelse := {\"verdict\": \"pass\", \"reasons\": []}"}, []string{"g"}},
		{"negation in a floor", bodies{rego.Floors: floorHead + "not input.facts.safe"}, nil},
		{"a fact nobody declared", bodies{rego.Floors: floorHead + "input.facts.anything.below > 1"}, nil},
		{"interpolation", bodies{rego.Floors: floorHead + `input.facts.x == $"{input.action.tool}!"`}, nil},
		{"another package's rule", bodies{rego.Floors: floorHead + `data.conjunct.severity.base == "propose"`}, nil},
		{"flags in severity", bodies{rego.Severity: "base := \"execute\"\nmodifiers contains {\"name\": \"x\"} if input.flags.low_confidence"}, nil},
		{"metadata", bodies{rego.Floors: "# METADATA\n# title: A title\n" + floorHead + "input.facts.x"}, nil},
		{"print, which the compiler takes out", bodies{rego.Floors: floorHead + "{\n\tprint(input.facts.x)\n\tinput.facts.x\n}"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) { mustLoad(t, source(c.bodies, c.gates...)) })
	}
}

func TestGatesAreListedSorted(t *testing.T) {
	pass := ` := {"verdict": "pass", "reasons": []}`
	p := mustLoad(t, source(map[string]string{rego.Gates: "b" + pass + "\na" + pass}, "b", "a"))
	if got := p.Gates(); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("got %v, want [a b]", got)
	}
}

// TestAGateThatWouldPassOnNothingDoesNotLoad lists forms that hold because a
// path is absent. Each is refused, or does not pass where nothing is known.
func TestAGateThatWouldPassOnNothingDoesNotLoad(t *testing.T) {
	const pass = `{"verdict": "pass", "reasons": []}`
	for _, c := range []struct{ name, gate, why string }{
		{"not", "g := " + pass + " if not input.facts.bad", ""},
		{"a negated helper", "g := " + pass + " if not bad\n\nbad if input.facts.bad", ""},
		{"not over an import", "import input.facts as f\n\ng := " + pass + " if not f.bad", ""},
		{"not over a comparison", "g := " + pass + " if not input.facts.risk > 3", ""},
		{"unequal", "g := " + pass + ` if input.facts.status != "bad"`, ""},
		{"every", "g := " + pass + " if every x in input.facts.findings { x.severity < 3 }", ""},
		{"not over an alias", "g := " + pass + " if {\n\tf := input.facts\n\tnot f.bad\n}", "an alias of a part of the input is not followed below not"},
		{"not over a function's argument", "g := " + pass + " if not bad(input.facts)\n\nbad(f) if f.bad", "a path below a function's argument is not seen; the argument itself is always there"},
		{"not over a variable key", "g := " + pass + " if {\n\tk := \"bad\"\n\tnot input.facts[k]\n}", "the path before a variable key is always there"},
		{"not over a list's element", "g := " + pass + " if not input.facts.findings[0]", ""},
		{"a default", "default g := " + pass + "\n\ng := {\"verdict\": \"fail\", \"reasons\": [\"bad\"]} if input.facts.bad", "a default that passes holds where nothing is known"},
		{"an else", "g := {\"verdict\": \"fail\", \"reasons\": [\"bad\"]} if input.facts.bad\nelse := " + pass, "an else that passes holds where nothing is known"},
		{"an empty comprehension", "g := " + pass + " if count([x | some x in input.facts.findings]) == 0", "a comprehension over an absent path is empty"},
		{"an empty set of a helper", "g := " + pass + " if count(findings) == 0\n\nfindings contains x if some x in input.facts.findings", "a set over an absent path is empty"},
		{"an equality with an empty list", "g := " + pass + " if [x | some x in input.facts.findings] == []", "a comprehension over an absent path is empty"},
		{"interpolation", "g := " + pass + ` if $"{input.facts.bad}" == "<undefined>"`, "interpolation makes a text of what is absent"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, problems := rego.Load(source(map[string]string{rego.Gates: c.gate}, "g"))
			if len(problems) > 0 {
				return
			}
			in := rego.NewInput(tree{"facts": tree{}, "action": tree{"tool": "deploy", "arguments": tree{}}})
			v, err := p.Eval(context.Background(), "gates.g", in)
			if obj, ok := v.(tree); err == nil && ok && obj["verdict"] == "pass" {
				if c.why != "" {
					reported(t, c.why)
				}
				t.Errorf("got pass where nothing is known, want a problem or no pass: %s, for\n%s", c.why, c.gate)
			}
		})
	}
}
