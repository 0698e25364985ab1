package floors_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/floors"
	"github.com/conjunct-project/conjunct/rego"
)

const floorHead = `floors contains {"name": "f", "tier": "refuse"} if `

// TestThreeValuedClauses lists what a floor does, missing values included:
// "f" it holds, "f?" it applies because it cannot be determined, "" it does not
// apply.
func TestThreeValuedClauses(t *testing.T) {
	const (
		two    = floorHead + "{\n\tinput.facts.a == 1\n\tinput.facts.b == 1\n}"
		either = floorHead + "h\n\nh if input.facts.a == 1\n\nh if input.facts.b == 1"
		not    = floorHead + "not input.facts.a == 1"
		noneOf = floorHead + "not h\n\nh if input.facts.a == 1\n\nh if input.facts.b == 1"
		notAll = floorHead + "not h\n\nh if {\n\tinput.facts.a == 1\n\tinput.facts.b == 1\n}"
		begins = floorHead + "{\n\tinput.facts.a == 1\n\tstartswith(input.facts.b, \"x\")\n}"
		truth  = floorHead + "input.facts.a"
	)
	for _, c := range []struct {
		name, floors string
		facts        tree
		want         string
	}{
		{"and: both true", two, tree{"a": 1.0, "b": 1.0}, "f"},
		{"and: one false", two, tree{"a": 1.0, "b": 2.0}, ""},
		{"and: both false", two, tree{"a": 2.0, "b": 2.0}, ""},
		{"and: one absent, one true", two, tree{"a": 1.0}, "f?"},
		{"and: one absent, one false", two, tree{"b": 2.0}, ""},
		{"and: both absent", two, tree{}, "f?"},
		{"and: no facts", two, nil, "f?"},
		{"and: null is not absent", two, tree{"a": nil, "b": 1.0}, ""},
		{"and: another type is not absent", two, tree{"a": "1", "b": 1.0}, ""},

		{"or: both true", either, tree{"a": 1.0, "b": 1.0}, "f"},
		{"or: one true, one false", either, tree{"a": 2.0, "b": 1.0}, "f"},
		{"or: one true, one absent", either, tree{"b": 1.0}, "f"},
		{"or: one absent, one false", either, tree{"b": 2.0}, "f?"},
		{"or: both false", either, tree{"a": 2.0, "b": 2.0}, ""},
		{"or: both absent", either, tree{}, "f?"},

		{"not: true", not, tree{"a": 1.0}, ""},
		{"not: false", not, tree{"a": 2.0}, "f"},
		{"not: absent", not, tree{}, "f?"},

		{"none of: one true, one absent", noneOf, tree{"a": 1.0}, ""},
		{"none of: one false, one absent", noneOf, tree{"a": 2.0}, "f?"},
		{"none of: both false", noneOf, tree{"a": 2.0, "b": 2.0}, "f"},

		{"not all: one false, one absent", notAll, tree{"a": 2.0}, "f"},
		{"not all: one true, one absent", notAll, tree{"a": 1.0}, "f?"},
		{"not all: both true", notAll, tree{"a": 1.0, "b": 1.0}, ""},

		{"builtin error and true", begins, tree{"a": 1.0, "b": 5.0}, "f?"},
		{"builtin error and false", begins, tree{"a": 2.0, "b": 5.0}, ""},
		{"builtin error and absent", begins, tree{"b": nil}, "f?"},
		{"no builtin error", begins, tree{"a": 1.0, "b": "xy"}, "f"},

		{"truth: true", truth, tree{"a": true}, "f"},
		{"truth: false", truth, tree{"a": false}, ""},
		{"truth: null", truth, tree{"a": nil}, "f"},
		{"truth: zero", truth, tree{"a": 0.0}, "f"},
		{"truth: empty", truth, tree{"a": ""}, "f"},
		{"truth: an empty object", truth, tree{"a": tree{}}, "f"},
		{"truth: absent", truth, tree{}, "f?"},
	} {
		t.Run(c.name, func(t *testing.T) {
			clauses, _ := clausesOf(t, c.floors, tree{})
			if native, total, others := clauses.Native(); native != total {
				t.Fatalf("got %v not native, want all", others)
			}
			got := nativeNames(clauses, inputOf("a", nil, c.facts))
			if want := nonEmpty(c.want); !slices.Equal(got, want) {
				t.Errorf("got %v, want %v, for facts %v and\n%s", got, want, c.facts, c.floors)
			}
		})
	}
}

func nonEmpty(s string) []string {
	if s == "" {
		return []string{}
	}
	return []string{s}
}

// TestClausesThatOPAEvaluates is the same where a part is not made of atoms.
func TestClausesThatOPAEvaluates(t *testing.T) {
	const (
		match = floorHead + "{\n\tinput.facts.a == 1\n\tregex.match(input.facts.p, input.facts.b)\n}"
		fail  = floorHead + "{\n\tcount(input.facts.l) > 1\n\tstartswith(input.facts.b, \"x\")\n}"
		list  = floorHead + "{\n\tsome x in input.facts.l\n\tx > 1\n}"
		alt   = floorHead + "h\n\nh if regex.match(\"^x\", input.facts.b)\n\nh if input.facts.a == 1"
		other = floorHead + "h == 2\n\nh := 1 if input.facts.a == 1\nelse := 2 if input.facts.b == \"x\""
	)
	for _, c := range []struct {
		name, floors string
		facts        tree
		want         string
	}{
		{"all true", match, tree{"a": 1.0, "p": "^x", "b": "xy"}, "f"},
		{"the rest false", match, tree{"a": 1.0, "p": "^x", "b": "y"}, ""},
		{"an atom false", match, tree{"a": 2.0, "p": "^x", "b": "xy"}, ""},
		{"an atom false, the rest errs", match, tree{"a": 2.0, "p": "[", "b": "xy"}, ""},
		{"an atom false, a path of the rest absent", match, tree{"a": 2.0}, ""},
		{"the rest errs", match, tree{"a": 1.0, "p": "[", "b": "xy"}, "f?"},
		{"the rest is of another type", match, tree{"a": 1.0, "p": "^x", "b": 5.0}, "f?"},
		{"a path of the rest absent", match, tree{"a": 1.0, "p": "^x"}, "f?"},
		{"an atom absent, the rest false", match, tree{"p": "^x", "b": "y"}, "f?"},

		{"an atom errs after what is false", fail, tree{"l": []any{}, "b": 5.0}, ""},
		{"an atom errs after what is true", fail, tree{"l": []any{1.0, 2.0}, "b": 5.0}, "f?"},

		{"several solutions", list, tree{"l": []any{2.0, 3.0}}, "f"},
		{"no solution", list, tree{"l": []any{1.0}}, ""},
		{"an empty list", list, tree{"l": []any{}}, ""},
		{"no list", list, tree{"l": "x"}, ""},
		{"an absent list", list, tree{}, "f?"},

		{"the first alternative errs, the second true", alt, tree{"a": 1.0, "b": 5.0}, "f"},
		{"the first alternative errs, the second false", alt, tree{"a": 2.0, "b": 5.0}, "f?"},
		{"the first alternative false, the second absent", alt, tree{"b": "y"}, "f?"},
		{"both alternatives false", alt, tree{"a": 2.0, "b": "y"}, ""},

		{"else: first branch", other, tree{"a": 1.0, "b": "x"}, ""},
		{"else: second branch", other, tree{"a": 2.0, "b": "x"}, "f"},
		{"else: none", other, tree{"a": 2.0, "b": "y"}, ""},
		{"else: absent", other, tree{"a": 2.0}, "f?"},
	} {
		t.Run(c.name, func(t *testing.T) {
			clauses, _ := clausesOf(t, c.floors, tree{})
			got := nativeNames(clauses, inputOf("a", nil, c.facts))
			if want := nonEmpty(c.want); !slices.Equal(got, want) {
				t.Errorf("got %v, want %v, for facts %v and\n%s", got, want, c.facts, c.floors)
			}
		})
	}
}

const needsOPA = floorHead + "{\n\tcount([1 | some a in input.facts.l; some b in input.facts.l; some c in input.facts.l; a + b == c]) > 0\n\tinput.action.tool == \"a\"\n}"

func longList() tree {
	l := make([]any, 1000)
	for i := range l {
		l[i] = float64(i)
	}
	return tree{"l": l}
}

func TestAFloorThatIsCutShortApplies(t *testing.T) {
	clauses, _ := clausesOf(t, needsOPA, tree{})
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	late, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	for code, ctx := range map[string]context.Context{rego.Cancelled: cancelled, rego.Timeout: late} {
		got := clauses.Matches(ctx, inputOf("a", nil, longList()), notImposed)
		if len(got) != 1 || got[0].Determined || got[0].Cut != code {
			t.Errorf("got %+v, want f undetermined and cut %s", got, code)
		}
	}
	t.Run("a false atom needs no time", func(t *testing.T) {
		if got := clauses.Matches(cancelled, inputOf("b", nil, longList()), notImposed); len(got) != 0 {
			t.Errorf("got %+v, want none: the tool rules it out", got)
		}
	})
	t.Run("an absent path needs no time", func(t *testing.T) {
		got := clauses.Matches(cancelled, inputOf("a", nil, nil), notImposed)
		if len(got) != 1 || got[0].Cut != "" {
			t.Errorf("got %+v, want f undetermined and not cut", got)
		}
	})
	t.Run("atoms need no context", func(t *testing.T) {
		plain, _ := clausesOf(t, floorHead+"input.facts.a == 1", tree{})
		if got := plain.Matches(cancelled, inputOf("a", nil, tree{"a": 1.0}), notImposed); len(got) != 1 || !got[0].Determined {
			t.Errorf("got %+v, want f determined", got)
		}
	})
	t.Run("the cut is named before what is absent", func(t *testing.T) {
		both, _ := clausesOf(t, floorHead+"h\n\nh if input.facts.none\n\nh if count(input.facts.l) > 0", tree{})
		got := both.Matches(cancelled, inputOf("a", nil, tree{"l": []any{}}), notImposed)
		if len(got) != 1 || got[0].Determined || got[0].Cut != rego.Cancelled {
			t.Errorf("got %+v, want f undetermined and cut %s: replay has to impose it", got, rego.Cancelled)
		}
	})
}

func TestAnImposedFloorApplies(t *testing.T) {
	clauses, _ := clausesOf(t, floorHead+"input.facts.a == 1\n\nfloors contains {\"name\": \"g\", \"tier\": \"propose\"} if input.facts.a == 1", tree{})
	got := clauses.Matches(context.Background(), inputOf("a", nil, tree{"a": 2.0}), func(name string) string {
		return map[string]string{"g": "timeout"}[name]
	})
	if len(got) != 1 || got[0].Key["name"] != "g" || got[0].Determined || got[0].Cut != "timeout" {
		t.Errorf("got %+v, want g alone, undetermined, cut timeout: a replay holds it to what time once did", got)
	}
}

func TestAMatchSaysWhy(t *testing.T) {
	clauses, _ := clausesOf(t, "# METADATA\n# title: A title\n"+floorHead+"{\n\tinput.facts.a == 1\n\tinput.facts[\"b/c\"] == 2\n\tinput.state.settings.n > 1\n}", tree{})
	in := inputOf("a", nil, tree{"a": 1.0})
	in.State.Settings = tree{"n": 5.0}
	got := clauses.Matches(context.Background(), in, notImposed)
	if len(got) != 1 {
		t.Fatalf("got %+v, want one match", got)
	}
	m := got[0]
	want := floors.Match{
		Key:     map[string]string{"name": "f", "tier": "refuse"},
		Rule:    engine.Rule{Path: "data.conjunct.floors.floors", File: "floors.rego", Row: 5, Title: "A title"},
		Facts:   []engine.Fact{engine.NewFact("/facts/a", 1.0), engine.AbsentFact("/facts/b~1c"), engine.NewFact("/state/settings/n", 5.0)},
		Missing: []string{"/facts/b~1c"},
	}
	if !reflect.DeepEqual(m, want) {
		t.Errorf("got %+v, want %+v", m, want)
	}
}

func TestMatchesAreSortedByName(t *testing.T) {
	var body string
	for _, name := range []string{"m", "z", "a", "B", "ab"} {
		tool := map[string]string{"z": "a", "a": "a", "B": "b"}[name]
		condition := "input.facts.x"
		if tool != "" {
			condition = fmt.Sprintf("{ input.facts.x; input.action.tool == %q }", tool)
		}
		body += fmt.Sprintf("floors contains {\"name\": %q, \"tier\": \"refuse\"} if %s\n", name, condition)
	}
	clauses, _ := clausesOf(t, body, tree{})
	for tool, want := range map[string][]string{"a": {"a", "ab", "m", "z"}, "b": {"B", "ab", "m"}, "undeclared": {"ab", "m"}, "": {"ab", "m"}} {
		if got := nativeNames(clauses, inputOf(tool, nil, tree{"x": true})); !slices.Equal(got, want) {
			t.Errorf("tool %q: got %v, want %v", tool, got, want)
		}
	}
}

func TestTheIndexByToolLosesNothing(t *testing.T) {
	conditions := []string{
		`input.action.tool == "a"`, `input.action.tool in {"a", "b"}`, `input.action.tool in ["c"]`, `input.action.tool != "a"`, `not input.action.tool == "a"`,
		`not input.action.tool in {"a"}`, `startswith(input.action.tool, "a")`, `"b" == input.action.tool`, `input.action.tool`,
		`input.facts.x`, `h`, `input.action.tool == data.conjunct.scope.tools[_]`, `{ input.action.tool == "a"; input.action.tool in {"a", "c"} }`,
		`{ input.action.tool in {"a", "b"}; input.action.tool != "a" }`, `count(input.action.tool) == 1`, `{ count(input.action.tool) == 1; input.action.tool == "b" }`,
	}
	body := "h if input.action.tool == \"b\"\n\nh if input.facts.x == 7\n\n"
	for i, c := range conditions {
		body += fmt.Sprintf("floors contains {\"name\": \"f%02d\", \"tier\": \"refuse\"} if %s\n", i, c)
	}
	indexed, residual := clausesOf(t, body, tree{"tools": []any{"b", "c"}})
	for _, tool := range []string{"a", "b", "c", "ab", "undeclared", ""} {
		for _, facts := range []tree{nil, {"x": true}, {"x": 7.0}, {"x": false}} {
			in := inputOf(tool, nil, facts)
			want := []string{}
			for _, cl := range residual {
				// One clause at a time, under a path that no index knows.
				alone := floors.NewClauses([]rego.Clause{unindexed(cl)}, "name")
				want = append(want, nativeNames(alone, copyTool(in))...)
			}
			want = strongest(want)
			if got := nativeNames(indexed, in); !slices.Equal(got, want) {
				t.Errorf("tool %q, facts %v: got %v with the index, want %v", tool, facts, got, want)
			}
		}
	}
}

// unindexed is a clause whose atoms on the tool read a copy of it in the facts.
func unindexed(c rego.Clause) rego.Clause {
	c.Atoms = slices.Clone(c.Atoms)
	for i, a := range c.Atoms {
		if slices.Equal(a.Path, []string{"action", "tool"}) {
			c.Atoms[i].Path = []string{"facts", "tool copy"}
		}
	}
	return c
}

func copyTool(in *engine.Input) *engine.Input {
	out := *in
	out.Facts = tree{"tool copy": in.Action.Tool}
	for k, v := range in.Facts {
		out.Facts[k] = v
	}
	return &out
}

// strongest joins names of one member: it holds where any clause holds.
func strongest(names []string) []string {
	slices.Sort(names)
	names = slices.Compact(names)
	return slices.DeleteFunc(names, func(n string) bool {
		return n[len(n)-1] == '?' && slices.Contains(names, n[:len(n)-1])
	})
}

func TestRaisesAreMembersByPropertyAndValue(t *testing.T) {
	p := mustLoad(t, map[string]string{rego.Severity: plainBase + `
raise contains {"property": "blast_radius", "value": "system"} if input.facts.a
raise contains {"property": "blast_radius", "value": "external"} if input.facts.b
raise contains {"property": "absorbed_by", "value": "customer"} if input.facts.a`}, tree{})
	residual, problems := p.Residuals("severity.raise", "property", "value")
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	var got []string
	for _, m := range floors.NewClauses(residual, "property").Matches(context.Background(), inputOf("a", nil, tree{"a": true, "b": false}), notImposed) {
		got = append(got, m.Key["property"]+"="+m.Key["value"])
	}
	if want := []string{"absorbed_by=customer", "blast_radius=system"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestNativeSaysWhichFloorsNeedOPAAndWhy(t *testing.T) {
	clauses, _ := clausesOf(t, floorHead+"h\n\nh if input.facts.a\n\nh if count(input.facts.l) > 1\n\nfloors contains {\"name\": \"g\", \"tier\": \"refuse\"} if input.facts.a", tree{})
	native, total, others := clauses.Native()
	if native != 1 || total != 2 || len(others) != 1 || others[0].Name != "f" || others[0].Why == "" || others[0].Rule.Row != 3 {
		t.Errorf("got %d of %d, others %+v, want 1 of 2 and f with the reason and its row", native, total, others)
	}
}

func TestNoFloorsMatchNothing(t *testing.T) {
	if got := floors.NewClauses(nil, "name").Matches(context.Background(), inputOf("a", nil, nil), notImposed); len(got) != 0 {
		t.Errorf("got %v, want none", got)
	}
}

func TestNamesOfTheMembers(t *testing.T) {
	clauses, _ := clausesOf(t, "floors contains {\"name\": \"b\", \"tier\": \"refuse\"} if h\n\nh if input.facts.a\n\nh if input.facts.b\n\nfloors contains {\"name\": \"a\", \"tier\": \"refuse\"}", tree{})
	if got := clauses.Names(); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("got %v, want [a b], each once", got)
	}
}
