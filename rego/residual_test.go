package rego_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/conjunct-project/conjunct/rego"
)

func residuals(t testing.TB, floors string) ([]rego.Clause, []rego.Problem) {
	t.Helper()
	return mustLoad(t, source(map[string]string{rego.Floors: floors})).Residuals("floors.floors", "name", "tier")
}

func clauses(t testing.TB, floors string) []rego.Clause {
	t.Helper()
	out, problems := residuals(t, floors)
	if len(problems) > 0 {
		t.Fatalf("got problems %v, want none, for\n%s", problems, floors)
	}
	return out
}

var operators = map[rego.Op]string{rego.Truthy: "", rego.Eq: "==", rego.Neq: "!=", rego.Lt: "<", rego.Lte: "<=", rego.Gt: ">", rego.Gte: ">=", rego.In: "in",
	rego.HasPrefix: "startswith", rego.HasSuffix: "endswith", rego.Contains: "contains"}

// text writes a clause's atoms so that they can be compared.
func text(c rego.Clause) string {
	var out []string
	for _, a := range c.Atoms {
		s := strings.Join(a.Path, ".")
		if a.Negated {
			s = "not " + s
		}
		switch a.Op {
		case rego.Truthy:
		case rego.In:
			s += fmt.Sprintf(" in %v", a.Values)
		default:
			s += fmt.Sprintf(" %s %v", operators[a.Op], a.Value)
		}
		out = append(out, s)
	}
	if c.Rest != "" {
		out = append(out, "rest")
	}
	slices.Sort(out)
	return strings.Join(out, "; ")
}

func TestWhatIsLeftOfAFloor(t *testing.T) {
	for _, c := range []struct {
		name, floors string
		want         []string // clauses, sorted
	}{
		{"comparisons", floorHead + `{ input.facts.a == 1; input.facts.b != "x"; input.facts.c < 2; input.facts.d <= true; input.facts.e > null; input.facts.f >= 0.1 }`,
			[]string{"facts.a == 1; facts.b != x; facts.c < 2; facts.d <= true; facts.e > <nil>; facts.f >= 0.1"}},
		{"reversed", floorHead + `{ 1 == input.facts.a; 2 < input.facts.c; 3 <= input.facts.d; 4 > input.facts.e; 5 >= input.facts.f; 6 != input.facts.g }`,
			[]string{"facts.a == 1; facts.c > 2; facts.d >= 3; facts.e < 4; facts.f <= 5; facts.g != 6"}},
		{"strings", floorHead + `{ startswith(input.facts.a, "x"); endswith(input.facts.b, "y"); contains(input.facts.c, "z") }`,
			[]string{"facts.a startswith x; facts.b endswith y; facts.c contains z"}},
		{"membership", floorHead + `{ input.facts.a in {1, 2}; input.facts.b in ["x", null] }`, []string{"facts.a in [1 2]; facts.b in [x <nil>]"}},
		{"truth and negation", floorHead + `{ input.facts.a; not input.facts.b; not input.facts.c == 1; not startswith(input.facts.d, "x"); not input.facts.e in {1} }`,
			[]string{"facts.a; not facts.b; not facts.c == 1; not facts.d startswith x; not facts.e in [1]"}},
		{"keys that need quoting", floorHead + `input.facts["a/b"]["c.d"] == 1`, []string{"facts.a/b.c.d == 1"}},
		{"a helper's alternatives", floorHead + "h\n\nh if input.facts.a\n\nh if input.facts.b == 1", []string{"facts.a", "facts.b == 1"}},
		{"a negated helper", floorHead + "not h\n\nh if input.facts.a\n\nh if input.facts.b == 1", []string{"not facts.a; not facts.b == 1"}},
		{"a negated helper of two conditions", floorHead + "not h\n\nh if {\n\tinput.facts.a\n\tinput.facts.b == 1\n}", []string{"not facts.a", "not facts.b == 1"}},
		{"a function", floorHead + "h(input.facts.a)\n\nh(x) if x > 5", []string{"facts.a > 5"}},
		{"a limit by tool", floorHead + `input.action.arguments.amount > {"deploy": 5, "read_file": 7}[input.action.tool]`,
			[]string{"action.arguments.amount > 5; action.tool == deploy", "action.arguments.amount > 7; action.tool == read_file"}},
		{"data", floorHead + `input.action.tool in data.conjunct.scope.tools`, []string{"action.tool in [deploy read_file]"}},
		{"iteration over data", floorHead + "{\n\tsome e in data.conjunct.scope.nested.list\n\tinput.action.tool == e.tool\n\tinput.action.arguments.amount > e.max\n}", []string{"action.arguments.amount > 3; action.tool == deploy"}},
		{"every over data", floorHead + `every x in data.conjunct.scope.numbers { input.facts.a != x }`, []string{"facts.a != 1; facts.a != 2"}},
		{"an alias", floorHead + "{\n\ta := input.facts.a\n\ta.b > 1\n}", []string{"facts.a.b > 1"}},
		{"an import", "import input.facts as f\n" + floorHead + `f.a == 1`, []string{"facts.a == 1"}},
		{"nothing", `floors contains {"name": "f", "tier": "refuse"}`, []string{""}},
		{"true whatever the input", floorHead + `1 == 1`, []string{""}},
		{"false whatever the input", floorHead + `data.conjunct.scope.limit > 100`, nil},
		{"no floor at all", ``, nil},
		{"a call", floorHead + `{ regex.match("x", input.facts.a); input.facts.b }`, []string{"facts.b; rest"}},
		{"two paths", floorHead + `input.facts.a == input.facts.b`, []string{"rest"}},
		{"an array's element", floorHead + `input.facts.a[0] == 1`, []string{"rest"}},
		{"a variable key", floorHead + `input.facts[input.action.tool] == 1`, []string{"rest"}},
		{"a composite constant", floorHead + `{ input.facts.a == [1]; input.facts.b in {"k": 1}; input.facts.c in {[1]} }`, []string{"rest"}},
		{"a number that no double is", floorHead + `input.facts.a == 9007199254740993`, []string{"rest"}},
		{"a number near the end of doubles", floorHead + `input.facts.a > 1e308`, []string{"rest"}},
		{"a call with a value", floorHead + `lower(input.facts.a) == "x"`, []string{"rest"}},
		{"a constant before a path", floorHead + `startswith("abc", input.facts.a)`, []string{"rest"}},
		{"a path in no collection", floorHead + `"x" in input.facts.a`, []string{"rest"}},
		{"a part that is no string", floorHead + `startswith(input.facts.a, input.facts.b)`, []string{"rest"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, clause := range clauses(t, c.floors) {
				if !reflect.DeepEqual(clause.Key, map[string]string{"name": "f", "tier": "refuse"}) {
					t.Errorf("got member %v, want f, refuse", clause.Key)
				}
				got = append(got, text(clause))
			}
			slices.Sort(got)
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q, for\n%s", got, c.want, c.floors)
			}
		})
	}
}

func TestReadsOfAClause(t *testing.T) {
	for _, c := range []struct {
		name, floors string
		want         []string
	}{
		{"atoms and rest", floorHead + `{ input.facts.a == 1; count(input.facts.l) > 1; input.action.tool == "deploy" }`, []string{"action.tool", "facts.a", "facts.l"}},
		{"a comprehension", floorHead + `count([x | some x in input.facts.l; x > input.facts.limit]) > 1`, []string{"facts.l", "facts.limit"}},
		{"every", floorHead + `every x in input.facts.l { x > input.facts.limit }`, []string{"facts.l", "facts.limit"}},
		{"a variable key", floorHead + `input.facts[input.action.tool] == 1`, []string{"action.tool", "facts"}},
		{"a helper set", floorHead + "input.facts.a in hs\n\nhs contains x if some x in input.facts.l", []string{"facts.a", "facts.l"}},
		{"a negated function", floorHead + "not h(input.facts.a)\n\nh(x) if {\n\tx > 1\n\tinput.facts.b\n}\n\nh(x) if {\n\tx < 0\n\tinput.facts.c\n}", []string{"facts.a", "facts.b", "facts.c"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, clause := range clauses(t, c.floors) {
				for _, path := range clause.Reads {
					got = append(got, strings.Join(path, "."))
				}
			}
			slices.Sort(got)
			if got = slices.Compact(got); !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v, for\n%s", got, c.want, c.floors)
			}
		})
	}
}

func TestReadsThroughRulesThatAreNotInlined(t *testing.T) {
	for _, c := range []struct {
		name, floors string
		want         []string
	}{
		{"else", floorHead + "h == 2\n\nh := 1 if input.facts.a == 1\nelse := 2 if input.facts.b == 1", []string{"facts.a", "facts.b"}},
		{"default", floorHead + "not h\n\ndefault h := false\n\nh if input.facts.a == 1", []string{"facts.a"}},
		{"a helper in a comprehension", floorHead + "count([1 | h; some x in input.facts.l]) > 0\n\nh if input.facts.a == 1", []string{"facts.a", "facts.l"}},
		{"a helper in every", floorHead + "every x in input.facts.l { h; x > 0 }\n\nh if input.facts.a == 1", []string{"facts.a", "facts.l"}},
		{"a function in a comprehension", floorHead + "count([1 | some x in input.facts.l; h(x)]) > 0\n\nh(x) if x > input.facts.a", []string{"facts.a", "facts.l"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, clause := range clauses(t, c.floors) {
				for _, path := range clause.Reads {
					got = append(got, strings.Join(path, "."))
				}
				in := rego.NewInput(tree{"facts": tree{"a": 1.0, "b": 1.0, "l": []any{2.0}}})
				if c.name == "else" {
					in = rego.NewInput(tree{"facts": tree{"a": 0.0, "b": 1.0}})
				}
				if c.name == "default" {
					in = rego.NewInput(tree{"facts": tree{"a": 0.0}})
				}
				if holds, err := clause.Holds(context.Background(), in); !holds || err != nil {
					t.Errorf("got %v, %v, want the clause to hold, for\n%s", holds, err, c.floors)
				}
			}
			slices.Sort(got)
			if got = slices.Compact(got); !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v, for\n%s", got, c.want, c.floors)
			}
		})
	}
}

func TestAClauseHoldsInOPAAsInTopdown(t *testing.T) {
	for _, c := range []struct {
		name, condition string
		facts           tree
		want            bool
	}{
		{"a lone call that is true", `regex.match("^a", input.facts.x)`, tree{"x": "ab"}, true},
		{"a lone call that is false", `regex.match("^a", input.facts.x)`, tree{"x": "b"}, false},
		{"two expressions that are true", `regex.match("^a", input.facts.x); count(input.facts.x) > 1`, tree{"x": "ab"}, true},
		{"two expressions, one false", `regex.match("^a", input.facts.x); count(input.facts.x) > 5`, tree{"x": "ab"}, false},
		{"two solutions", `some x in input.facts.l; x > 1`, tree{"l": []any{2.0, 3.0}}, true},
		{"no solution", `some x in input.facts.l; x > 1`, tree{"l": []any{0.0}}, false},
		{"atoms only, true", `input.facts.x == "a"; input.facts.y > 1`, tree{"x": "a", "y": 2.0}, true},
		{"atoms only, false", `input.facts.x == "a"; input.facts.y > 1`, tree{"x": "a", "y": 0.0}, false},
		{"a lone path that is false", `input.facts.x`, tree{"x": false}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := clauses(t, floorHead+"{ "+c.condition+" }")[0].Holds(context.Background(), rego.NewInput(tree{"facts": c.facts}))
			if got != c.want || err != nil {
				t.Errorf("got %v, %v, want %v, for %s with %v", got, err, c.want, c.condition, c.facts)
			}
		})
	}
}

func TestAClauseThatCannotBeEvaluatedFails(t *testing.T) {
	clause := clauses(t, floorHead+`regex.match(input.facts.x, "a")`)[0]
	if got, err := clause.Holds(context.Background(), rego.NewInput(tree{"facts": tree{"x": "["}})); got || failureOf(t, err).Code != rego.BuiltinErr {
		t.Errorf("got %v, %v, want false and %s", got, err, rego.BuiltinErr)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if got, err := clause.Holds(ctx, rego.NewInput(tree{"facts": tree{"x": "a"}})); got || failureOf(t, err).Code != rego.Cancelled {
		t.Errorf("got %v, %v, want false and %s", got, err, rego.Cancelled)
	}
}

func TestMembersThatAreNoFloors(t *testing.T) {
	for _, c := range []struct {
		name, floors string
		row          int
		code, text   string
		hint         string
	}{
		{"a complete rule", `floors := [{"name": "f", "tier": "refuse"}]`, 2, "rego_wrong_kind", "floors.floors must be a set", ""},
		{"a rule by key", `floors[x] := {"name": "f", "tier": "refuse"} if x := input.facts.x`, 2, "rego_wrong_kind", "floors.floors is one set", "contains"},
		{"a string", `floors contains "f" if input.facts.x`, 2, "rego_member", "must be an object with name, tier", ""},
		{"a string, unconditional", `floors contains "f"`, 2, "rego_member", "must be an object with name, tier", ""},
		{"a path for a name", `floors contains {"name": input.action.tool, "tier": "refuse"} if input.facts.x`, 2, "rego_member", `"name" of a member`, "not from the input"},
		{"a path for a tier", `floors contains {"name": "f", "tier": input.facts.tier} if input.facts.x`, 2, "rego_member", `"tier" of a member`, ""},
		{"a computed name", `floors contains {"name": concat("-", ["f", input.action.tool]), "tier": "refuse"} if input.facts.x`, 2, "rego_member", `"name" of a member`, ""},
		{"a number for a tier", `floors contains {"name": "f", "tier": 1} if input.facts.x`, 2, "rego_member", `"tier" of a member`, ""},
		{"a key too many", `floors contains {"name": "f", "tier": "refuse", "why": "x"} if input.facts.x`, 2, "rego_member", `no key "why"`, ""},
		{"a misspelt key", `floors contains {"name": "f", "teir": "refuse"} if input.facts.x`, 2, "rego_member", `no key "teir"`, `"tier"`},
		{"a key too few", `floors contains {"name": "f"} if input.facts.x`, 2, "rego_member", "must have name, tier", ""},
		{"a key that is no string", `floors contains {"name": "f", 1: "refuse"} if input.facts.x`, 2, "rego_member", "no key 1", ""},
		{"the second of two", floorHead + "input.facts.x\n\nfloors contains {\"name\": input.action.tool, \"tier\": \"refuse\"} if input.facts.y", 4, "rego_member", `"name" of a member`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, problems := residuals(t, c.floors)
			if len(problems) == 0 {
				t.Fatalf("got no problem, want %s, for\n%s", c.code, c.floors)
			}
			for _, p := range problems {
				if p.File != "floors.rego" || p.Row != c.row || p.Col != 1 || p.Code != c.code || !strings.Contains(p.Message, c.text) || !strings.Contains(p.Hint, c.hint) {
					t.Errorf("got %+v, want %s with %q in floors.rego:%d, hint %q, for\n%s", p, c.code, c.text, c.row, c.hint, c.floors)
				}
			}
		})
	}
}

func TestAnEntryPointWithoutRulesHasNoClauses(t *testing.T) {
	p := mustLoad(t, source(nil))
	if got, problems := p.Residuals("severity.raise", "property", "value"); got != nil || problems != nil {
		t.Errorf("got %v, %v, want nothing", got, problems)
	}
	if got := p.Place("severity.raise"); got.Path != "data.conjunct.severity.raise" || got.File != "" || got.Row != 0 {
		t.Errorf("got %+v, want the path alone", got)
	}
	if got := p.Reads("severity.raise"); len(got) != 0 {
		t.Errorf("got reads %v, want none", got)
	}
}

const titled = `# METADATA
# title: First title
# description: More of it
floors contains {"name": "b", "tier": "refuse"} if input.facts.b

floors contains {"name": "a", "tier": "refuse"} if {
	input.facts.a
}

# METADATA
# title: Third title
floors contains {"name": "c", "tier": "refuse"} if input.facts.c in {1, 2}

# METADATA
# title: From data
floors contains {"name": e.tool, "tier": "propose"} if {
	some e in data.conjunct.scope.nested.list
	input.action.tool == e.tool
}

# METADATA
# title: Always
floors contains {"name": "e", "tier": "refuse"}`

func TestAClauseKnowsTheRuleItComesFrom(t *testing.T) {
	want := map[string]string{"b": "First title:5", "a": ":7", "c": "Third title:13", "deploy": "From data:17", "e": "Always:24"}
	got := map[string]string{}
	for _, c := range clauses(t, titled) {
		if c.Rule.File != "floors.rego" || c.Rule.Path != "data.conjunct.floors.floors" {
			t.Errorf("got %+v, want floors.rego and data.conjunct.floors.floors", c.Rule)
		}
		got[c.Key["name"]] = fmt.Sprintf("%s:%d", c.Rule.Title, c.Rule.Row)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestTheRuleOfASetThatIsConstant(t *testing.T) {
	got := clauses(t, "floors contains {\"name\": \"b\", \"tier\": \"refuse\"}\n\n# METADATA\n# title: A\nfloors contains {\"name\": \"a\", \"tier\": \"refuse\"}")
	if len(got) != 2 {
		t.Fatalf("got %d clauses, want 2", len(got))
	}
	for _, c := range got {
		want := map[string]int{"b": 2, "a": 6}[c.Key["name"]]
		if c.Rule.Row != want || len(c.Atoms) != 0 || c.Rest != "" || len(c.Reads) != 0 {
			t.Errorf("got %+v, want row %d and no condition", c, want)
		}
	}
}

func TestHeadsListConstantNames(t *testing.T) {
	p := mustLoad(t, source(map[string]string{rego.Floors: titled + "\n\nfloors contains {\"name\": \"z\", \"tier\": \"refuse\"} if 1 == 2\n\nfloors contains x if x := {\"name\": \"y\", \"tier\": \"refuse\"}"}))
	var got []string
	for _, h := range p.Heads("floors.floors", "name") {
		got = append(got, fmt.Sprintf("%s:%d", h.Name, h.Rule.Row))
	}
	if want := []string{"b:5", "a:7", "c:13", "e:24", "z:26"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v: in order of the source, one that can never apply included", got, want)
	}
}

func TestReadsOfAnEntryPoint(t *testing.T) {
	p := mustLoad(t, source(map[string]string{rego.Gates: "g := {\"verdict\": \"pass\", \"reasons\": []} if {\n\th\n\tf(input.facts.x)\n\tevery y in input.facts.l { y > input.facts.limit }\n}\nelse := {\"verdict\": \"fail\", \"reasons\": []} if input.state.evidence.ci.status == \"fail\"\n\nh if input.action.tool == \"deploy\"\nelse := input.facts.e\n\nf(x) if x > input.facts[\"a/b\"]"}, "g"))
	var got []string
	for _, path := range p.Reads("gates.g") {
		got = append(got, strings.Join(path, "."))
	}
	want := []string{"action.tool", "facts.a/b", "facts.e", "facts.l", "facts.limit", "facts.x", "state.evidence.ci.status"}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestABuiltinErrorAtLoadIsAProblem(t *testing.T) {
	for _, c := range []string{`input.facts.x == to_number("abc")`, `input.facts.x > 1 / 0`} {
		_, problems := residuals(t, floorHead+c)
		if len(problems) != 1 {
			t.Errorf("got %v, want one problem, for %s", problems, c)
		}
	}
}

func TestABuiltinErrorAtLoadHasItsPlace(t *testing.T) {
	_, problems := residuals(t, floorHead+`input.facts.x == to_number("abc")`)
	if len(problems) != 1 || problems[0].File != "floors.rego" || problems[0].Row != 2 || !strings.Contains(problems[0].Message, "to_number") {
		t.Errorf("got %+v, want one problem about to_number in floors.rego:2", problems)
	}
}

func TestPartialEvaluationKeepsWhatDoesNotTypeCheck(t *testing.T) {
	for _, c := range []struct {
		name, floors string
		in           tree
	}{
		{"a negated membership of another type", floorHead + "{\n\tinput.facts.y\n\th\n}\n\nh if {\n\tinput.facts.z\n\tnot input.consequence.reversibility in data.conjunct.scope.numbers\n}",
			tree{"facts": tree{"y": true, "z": true}, "consequence": tree{"reversibility": "costly"}}},
		{"an input that is not what the schema says", floorHead + "{\n\tinput.facts.y\n\tinput.action.arguments.to == data.conjunct.scope.limit\n}",
			tree{"facts": tree{"y": true}, "action": tree{"arguments": tree{"to": 5.0}}}},
		{"a negated call of another type", floorHead + "{\n\tinput.facts.y\n\tnot startswith(input.facts.x, data.conjunct.scope.limit)\n}",
			tree{"facts": tree{"y": true, "x": "a"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, problems := residuals(t, c.floors)
			switch {
			case len(problems) > 0: // said at load
			case len(got) == 0:
				t.Errorf("got neither clause nor problem, want one, for\n%s", c.floors)
			default:
				if holds, err := got[0].Holds(context.Background(), rego.NewInput(c.in)); !holds && err == nil {
					t.Errorf("got it not to hold, want it to hold or to fail, for\n%s", c.floors)
				}
			}
		})
	}
}
