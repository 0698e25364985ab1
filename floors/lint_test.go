package floors_test

import (
	"strings"
	"testing"

	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/floors"
	"github.com/conjunct-project/conjunct/rego"
)

// registry declares the tools a, b and c; arguments differ.
func registry() floors.Registry {
	text := engine.Argument{Type: engine.StringType}
	return floors.Registry{
		"a": {Name: "a", Arguments: map[string]engine.Argument{"amount": {Type: engine.NumberType}, "to": text}},
		"b": {Name: "b", Arguments: map[string]engine.Argument{"to": text}},
		"c": {Name: "c"},
	}
}

var lintScope = tree{"tools": []any{"a"}, "misspelt": []any{"a", "delte"}, "limits": tree{"a": 5.0, "delte": 6.0}, "limit": 5.0,
	"rules": []any{tree{"name": "r1", "tier": "refuse", "tool": "a"}, tree{"name": "r2", "tier": "propos", "tool": "b"}},
	"lost":  []any{tree{"name": "r1", "tier": "refuse", "tool": "a"}, tree{"name": "r2", "tier": "refuse", "tol": "b"}, tree{"name": "r3", "teir": "refuse", "tool": "b"}}}

// lint loads floors and returns what the load, the residual and the lint say.
func lint(t testing.TB, body string) []rego.Problem {
	t.Helper()
	p, problems := load(map[string]string{rego.Floors: body}, lintScope)
	if p == nil {
		return problems
	}
	residual, problems := p.Residuals("floors.floors", "name", "tier")
	if len(problems) > 0 {
		return problems
	}
	return floors.Lint(floors.NewClauses(residual, "name"), p.Heads("floors.floors", "name"), registry())
}

func TestFloorsThatDoNotSayWhatAReaderBelieves(t *testing.T) {
	for _, c := range []struct {
		name, body string
		row        int
		text, hint string
	}{
		{"named twice", floorHead + "input.facts.x\n\n" + floorHead + "input.facts.y", 5, "f is named a second time; it stands in floors.rego:3 already", "helper"},
		{"named twice with another tier", floorHead + "input.facts.x\n\nfloors contains {\"name\": \"f\", \"tier\": \"propose\"} if input.facts.y", 5, "f is named a second time", ""},
		{"no name", `floors contains {"name": "", "tier": "refuse"} if input.facts.x`, 3, "a floor needs a name", ""},
		{"false whatever the input", floorHead + "data.conjunct.scope.limit > 10", 3, "f can never apply", "false whatever the input"},
		{"false among others", "floors contains {\"name\": \"g\", \"tier\": \"refuse\"} if input.facts.x\n\n" + floorHead + "{\n\tinput.facts.x\n\t1 == 2\n}", 5, "f can never apply", ""},
		{"data that is not there for any tool", floorHead + "data.conjunct.scope.limits[input.action.tool] > 100", 3, "f can never apply", ""},
		{"two values of one property", floorHead + "{\n\tinput.consequence.reversibility == \"costly\"\n\tinput.consequence.reversibility == \"reversible\"\n}", 3, "f can never apply: no consequence class and no tool", "contradict"},
		{"every value of a property ruled out", floorHead + "{\n\tinput.consequence.reversibility != \"costly\"\n\tnot input.consequence.reversibility in {\"reversible\", \"irreversible\"}\n}", 3, "f can never apply", ""},
		{"two sources", floorHead + "{\n\tinput.consequence.source == \"declared\"\n\tinput.consequence.source == \"inferred\"\n}", 3, "f can never apply", ""},
		{"two tools", floorHead + "{\n\tinput.action.tool == \"a\"\n\tinput.action.tool == \"b\"\n}", 3, "f can never apply", ""},
		{"a tool in no set", floorHead + "{\n\tinput.action.tool in {\"a\", \"b\"}\n\tinput.action.tool != \"a\"\n\tinput.action.tool != \"b\"\n}", 3, "f can never apply", ""},
		{"a prefix that no tool has", floorHead + `startswith(input.action.tool, "delte_")`, 3, "f can never apply", ""},
		{"a text where the argument is a number", floorHead + "{\n\tinput.action.tool == \"a\"\n\tinput.action.arguments.amount > \"100\"\n}", 3, `f compares argument "amount", which is declared number, with the text "100"`, "as the registry declares"},
		{"a number where the argument is a text", floorHead + "{\n\tinput.action.tool in {\"a\", \"b\"}\n\tnot input.action.arguments.to == 7\n}", 3, `f compares argument "to", which is declared string, with 7`, ""},
		{"one of a set is of another type", floorHead + "{\n\tinput.action.tool == \"a\"\n\tinput.action.arguments.to in {\"x\", true}\n}", 3, `with true`, ""},
		{"a tier that is none", `floors contains {"name": "f", "tier": "refus"} if input.facts.x`, 3, `unknown tier "refus"`, `"refuse"`},
		{"a tier that is far from any", `floors contains {"name": "f", "tier": "deny"} if input.facts.x`, 3, `unknown tier "deny"`, ""},
		{"the tier execute", `floors contains {"name": "f", "tier": "execute"} if input.facts.x`, 3, "floor f pins nothing", ""},
		{"two tiers from data", "floors contains {\"name\": \"f\", \"tier\": t} if {\n\tsome t in [\"refuse\", \"propose\"]\n\tinput.facts.x\n}", 3, "floor f has two tiers", ""},
		{"a tier from data that is none", "floors contains {\"name\": r.name, \"tier\": r.tier} if {\n\tsome r in data.conjunct.scope.rules\n\tinput.action.tool == r.tool\n}", 3, `unknown tier "propos"`, `"propose"`},
		{"a tool in data that is none", floorHead + `input.action.tool in data.conjunct.scope.misspelt`, 3, `delte`, ""},
		{"a tool as a key in data that is none", floorHead + "{\n\tinput.action.tool == \"a\"\n\tinput.action.arguments.amount > data.conjunct.scope.limits[input.action.tool]\n}", 3, `delte`, ""},
		{"a value through a variable", floorHead + "{\n\tx := input.consequence.reversibility\n\tx == \"irreversable\"\n}", 3, `irreversable`, `"irreversible"`},
		{"a value through a function", floorHead + "is(input.consequence.reversibility, \"irreversable\")\n\nis(x, y) if x == y", 3, `irreversable`, `"irreversible"`},
		{"a value as a key", floorHead + `{"irreversable": true}[input.consequence.reversibility]`, 3, `irreversable`, `"irreversible"`},
		{"a value in an array that is compared", floorHead + `[input.consequence.reversibility, input.consequence.blast_radius] == ["irreversible", "sytem"]`, 3, `sytem`, `"system"`},
		{"a value through a loop", floorHead + "{\n\tsome x in [\"costly\", \"irreversable\"]\n\tinput.consequence.reversibility == x\n}", 3, `irreversable`, `"irreversible"`},
		{"a value through a negated loop", floorHead + `every x in ["costly", "irreversable"] { input.consequence.reversibility != x }`, 3, `irreversable`, `"irreversible"`},
		{"a tool that is computed", floorHead + `input.action.tool == concat("_", ["delete", "it"])`, 3, `delete_it`, ""},
		{"a source", floorHead + "{\n\tx := input.consequence.source\n\tx == \"infered\"\n}", 3, `infered`, `"inferred"`},

		{"an argument without a limit by tool", floorHead + `input.action.arguments.amount > 5`, 3, `f reads argument "amount", which tool b does not declare`, "limit it"},
		{"an argument of a tool that lacks it", floorHead + "{\n\tinput.action.tool == \"b\"\n\tinput.action.arguments.amount > 5\n}", 3, `argument "amount", which tool b does not declare`, ""},
		{"an argument of tools of which one lacks it", floorHead + "{\n\tinput.action.tool in {\"a\", \"b\"}\n\tinput.action.arguments.amount > 5\n}", 3, `which tool b does not declare`, ""},
		{"an argument of a tool that declares none", floorHead + "{\n\tinput.action.tool == \"c\"\n\tinput.action.arguments.to == \"x\"\n}", 3, `argument "to", which tool c does not declare`, ""},
		{"an argument limited by what the tool is not", floorHead + "{\n\tinput.action.tool != \"b\"\n\tinput.action.arguments.amount > 5\n}", 3, `which tool c does not declare`, ""},
		{"an argument in what OPA evaluates", floorHead + `count(input.action.arguments.to) > 5`, 3, `argument "to", which tool c does not declare`, ""},
		{"an argument in one alternative", floorHead + "h\n\nh if input.facts.x\n\nh if input.action.arguments.amount > 5", 3, `argument "amount"`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			problems := lint(t, c.body)
			if len(problems) == 0 {
				t.Fatalf("got no problem, want %q, for\n%s", c.text, c.body)
			}
			for _, p := range problems {
				if p.File != "floors.rego" || p.Row == 0 || p.Col == 0 {
					t.Errorf("got %+v, want its place, for\n%s", p, c.body)
				}
				if p.Row == c.row && strings.Contains(p.Message, c.text) && strings.Contains(p.Hint, c.hint) {
					return
				}
			}
			// The linter of rego may say it first, at the constant itself.
			if !has(problems, "rego_unknown_value", problems[0].Row, c.text) {
				t.Errorf("got %+v, want %q with hint %q in row %d, for\n%s", problems, c.text, c.hint, c.row, c.body)
			}
		})
	}
}

func TestFloorsThatAreFine(t *testing.T) {
	for name, body := range map[string]string{
		"an argument of the tool that declares it": floorHead + "{\n\tinput.action.tool == \"a\"\n\tinput.action.arguments.amount > 5\n}",
		"an argument that several declare":         floorHead + "{\n\tinput.action.tool in {\"a\", \"b\"}\n\tinput.action.arguments.to == \"x\"\n}",
		"an argument limited by exclusion":         floorHead + "{\n\tinput.action.tool != \"c\"\n\tinput.action.arguments.to == \"x\"\n}",
		"an argument limited by a helper":          floorHead + "{\n\tpays\n\tinput.action.arguments.amount > 5\n}\n\npays if input.action.tool == \"a\"",
		"an argument limited by data":              floorHead + "{\n\tinput.action.tool in data.conjunct.scope.tools\n\tinput.action.arguments.amount > 5\n}",
		"one class in one alternative":             floorHead + "h\n\nh if {\n\tinput.consequence.reversibility == \"costly\"\n\tinput.consequence.reversibility == \"reversible\"\n}\n\nh if input.facts.x",
		"no condition":                             `floors contains {"name": "f", "tier": "execute_notify"}`,
		"the undeclared source":                    floorHead + `input.consequence.source == "undeclared"`,
		"every value of a property":                floorHead + `input.consequence.reversibility in {"costly", "reversible", "irreversible"}`,
		"not a declared tool":                      floorHead + `not input.action.tool in {"a", "b", "c"}`,
	} {
		t.Run(name, func(t *testing.T) {
			if got := lint(t, body); len(got) > 0 {
				t.Errorf("got %+v, want no problem, for\n%s", got, body)
			}
		})
	}
}

func TestRaisesThatDoNotSayWhatAReaderBelieves(t *testing.T) {
	raise := func(property, value, condition string) string {
		return `raise contains {"property": "` + property + `", "value": "` + value + `"} if ` + condition
	}
	for _, c := range []struct{ name, body, text, hint string }{
		{"a property that is none", raise("blast_radios", "system", "input.facts.x"), `"blast_radios" is not a consequence property`, `"blast_radius"`},
		{"the source", raise("source", "policy", "input.facts.x"), `"source" is not a consequence property`, ""},
		{"a value that is none", raise("blast_radius", "sytem", "input.facts.x"), `blast_radius is never "sytem"`, `"system"`},
		{"a value of another property", raise("blast_radius", "costly", "input.facts.x"), `blast_radius is never "costly"`, ""},
		{"a raise that can never apply", raise("blast_radius", "system", "1 == 2"), "blast_radius can never apply", ""},
		{"a class that contradicts itself", raise("blast_radius", "system", "{\n\tinput.consequence.source == \"declared\"\n\tinput.consequence.source == \"inferred\"\n}"), "can never apply", ""},
		{"an argument without a limit", raise("blast_radius", "system", "input.action.arguments.amount > 5"), `argument "amount", which tool b does not declare`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := mustLoad(t, map[string]string{rego.Severity: plainBase + "\n" + c.body}, lintScope)
			residual, problems := p.Residuals("severity.raise", "property", "value")
			if len(problems) == 0 {
				problems = floors.Lint(floors.NewClauses(residual, "property"), p.Heads("severity.raise", "property"), registry())
			}
			if len(problems) != 1 || problems[0].Row != 4 || !strings.Contains(problems[0].Message, c.text) || !strings.Contains(problems[0].Hint, c.hint) {
				t.Errorf("got %+v, want %q in row 4, hint %q, for\n%s", problems, c.text, c.hint, c.body)
			}
		})
	}
}

func TestTwoRaisesOfOnePropertyAreFine(t *testing.T) {
	reported(t, "Lint holds raises to one rule a property, though two values of one property are two members")
	p := mustLoad(t, map[string]string{rego.Severity: plainBase + `
raise contains {"property": "blast_radius", "value": "system"} if input.facts.a
raise contains {"property": "blast_radius", "value": "external"} if input.facts.b`}, lintScope)
	residual, problems := p.Residuals("severity.raise", "property", "value")
	problems = append(problems, floors.Lint(floors.NewClauses(residual, "property"), p.Heads("severity.raise", "property"), registry())...)
	if len(problems) > 0 {
		t.Errorf("got %+v, want none", problems)
	}
}

// TestAMisspellingDoesNotLoad lists forms in which a floor silently does not
// exist, or does not say what it seems to.
func TestAMisspellingDoesNotLoad(t *testing.T) {
	for _, c := range []struct{ name, body, why string }{
		{"an argument's name in object.get", floorHead + "{\n\tinput.action.tool == \"a\"\n\tobject.get(input.action.arguments, \"amuont\", 0) > 5\n}",
			"a constant key in object.get is not held against the shape and the registry"},
		{"a property's name in object.get", floorHead + `object.get(input.consequence, "reversability", "") == "irreversible"`,
			"a constant key in object.get is not held against the shape"},
		{"an argument in object.get without a limit by tool", floorHead + `object.get(input.action.arguments, "amount", 0) > 5`,
			"a constant key in object.get is not held against the registry"},
		{"a tool in a regular expression", floorHead + `regex.match("^delte_", input.action.tool)`,
			"a rest that reads only the tool or the class is not tried over their finite sets"},
		{"a value below lower", floorHead + `lower(input.consequence.reversibility) == "irreversable"`,
			"a rest that reads only the tool or the class is not tried over their finite sets"},
		{"a path in an array", floorHead + `"irreversable" in [input.consequence.reversibility]`,
			"a rest that reads only the tool or the class is not tried over their finite sets"},
		{"a class that contradicts itself in what OPA evaluates", floorHead + "{\n\tinput.consequence.reversibility == \"costly\"\n\tlower(input.consequence.reversibility) == \"irreversible\"\n}",
			"a rest that reads only the tool or the class is not tried over their finite sets"},
		{"a comparison whose value is used", floorHead + "{\n\tb := input.consequence.reversibility == \"irreversable\"\n\tb\n}",
			"the linter looks at comparisons of three terms only"},
		{"keys of a data driven floor", "floors contains {\"name\": r.name, \"tier\": r.tier} if {\n\tsome r in data.conjunct.scope.lost\n\tinput.action.tool == r.tool\n}",
			"an element of data that lacks a key which the rule reads brings about no clause, and nothing tells"},
		{"a false condition under a computed name", "floors contains {\"name\": concat(\"-\", [\"f\", \"g\"]), \"tier\": \"refuse\"} if 1 == 2",
			"Heads lists names that are constant in the source only"},
		{"a floor below a key", "floors[r.tool] contains {\"name\": r.name, \"tier\": r.tier} if some r in data.conjunct.scope.rules",
			"a rule floors.x or floors[x] counts as the entry point and is no clause"},
		{"a value that is compared by order", floorHead + `input.consequence.reversibility >= "irreversable"`,
			"order of enumeration values is alphabetical, which no author means"},
		{"a value beside or", "import rego.v2\n\n" + floorHead + `input.consequence.reversibility == "irreversable" or input.facts.x`,
			"the linter does not look below or"},
		{"two facts that contradict each other", floorHead + "{\n\tinput.facts.x == \"a\"\n\tinput.facts.x == \"b\"\n}",
			"contradictions are looked for among class and tool only"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := lint(t, c.body); len(got) == 0 {
				reported(t, c.why)
				t.Errorf("got no problem, want one: %s, for\n%s", c.why, c.body)
			}
		})
	}
}

func TestARaiseMayNotReadWhatItNeverSees(t *testing.T) {
	reported(t, "severity's shape has input.flags for base and modifiers; raise shares it and never sees it, so such a raise applies to every call")
	p, problems := load(map[string]string{rego.Severity: plainBase + "\nraise contains {\"property\": \"blast_radius\", \"value\": \"system\"} if input.flags.low_confidence"}, lintScope)
	if p != nil {
		var residual []rego.Clause
		residual, problems = p.Residuals("severity.raise", "property", "value")
		problems = append(problems, floors.Lint(floors.NewClauses(residual, "property"), p.Heads("severity.raise", "property"), registry())...)
	}
	if len(problems) == 0 {
		t.Error("got no problem, want one: no input of a raise has flags")
	}
}
