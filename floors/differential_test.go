package floors_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/floors"
	"github.com/conjunct-project/conjunct/rego"
)

var long = flag.Duration("long", 0, "how long each random differential test runs on after its first bundles")

// tally counts what a differential run has seen, so that a generator that only
// draws trifles is noticed.
type tally struct{ bundles, refused, cells, agreed, applied, errors, absent, reordered int }

// pair is one bundle of floors in both forms.
type pair struct {
	text    bundleText
	native  *floors.Clauses
	clauses []rego.Clause
	reads   map[string][][]string // by name, over all its clauses
	strict  oracle
	mild    oracle // a builtin error is undefined
}

// newPair loads a bundle. It is false for a bundle that does not load.
func newPair(b bundleText) (*pair, []rego.Problem, error) {
	p, problems := load(map[string]string{rego.Floors: b.floors}, b.scope)
	if len(problems) > 0 {
		return nil, problems, nil
	}
	residual, problems := p.Residuals("floors.floors", "name", "tier")
	if len(problems) > 0 {
		return nil, problems, nil
	}
	out := &pair{text: b, native: floors.NewClauses(residual, "name"), reads: map[string][][]string{}}
	floors.Lint(out.native, p.Heads("floors.floors", "name"), floors.Registry{"a": engine.Tool{}, "b": engine.Tool{}, "c": engine.Tool{}})
	out.clauses = residual
	var keys []map[string]string
	for _, c := range residual {
		out.reads[c.Key["name"]] = append(out.reads[c.Key["name"]], c.Reads...)
		keys = append(keys, c.Key)
	}
	ms := modules(map[string]string{rego.Floors: b.floors})
	var err error
	if out.strict, err = newOracle(ms, dataOf(b.scope), true, keys...); err != nil {
		return nil, nil, err
	}
	out.mild, err = newOracle(ms, dataOf(b.scope), false, keys...)
	return out, nil, err
}

// describe lists the clauses of a floor.
func (p *pair) describe(name string) string {
	var out strings.Builder
	for _, c := range p.clauses {
		if c.Key["name"] == name {
			fmt.Fprintf(&out, "%v rest %q reads %v\n", c.Atoms, c.Rest, c.Reads)
		}
	}
	return out.String()
}

// rest reports whether OPA evaluates any part of the floor.
func (p *pair) rest(name string) bool {
	return slices.ContainsFunc(p.clauses, func(c rego.Clause) bool { return c.Key["name"] == name && c.Rest != "" })
}

// errs reports whether a clause of the floor, as OPA evaluates what is left of
// it, ends in a builtin's error.
func (p *pair) errs(name string, in *engine.Input) bool {
	return slices.ContainsFunc(p.clauses, func(c rego.Clause) bool {
		if c.Key["name"] != name {
			return false
		}
		_, err := c.Holds(context.Background(), rego.NewInput(in.Document()))
		f, ok := err.(*rego.Failure)
		return ok && (f.Code == rego.BuiltinErr || f.Code == rego.EvalError)
	})
}

func present(in *engine.Input, paths [][]string) bool {
	return !slices.ContainsFunc(paths, func(p []string) bool {
		_, ok := in.Lookup(p)
		return !ok
	})
}

// compare holds native against topdown for one input: equal where every path
// that the floor reads is present and OPA gives no error, never fewer otherwise.
func (p *pair) compare(in *engine.Input, seen *tally) error {
	got := map[string]bool{}
	for _, m := range p.native.Matches(context.Background(), in, notImposed) {
		got[m.Key["name"]] = m.Determined
	}
	fail := func(name, format string, args ...any) error {
		return fmt.Errorf("floor %s: %s\n--- floors\n%s\n--- clauses\n%s\n--- scope\n%s\n--- input\n%s", name, fmt.Sprintf(format, args...), p.text.floors, p.describe(name), show(p.text.scope), show(in.Document()))
	}
	for name, reads := range p.reads {
		if p.text.plain && p.rest(name) {
			continue
		}
		seen.cells++
		determined, applies := got[name]
		want, err := p.strict.holds(name, in)
		if err != nil {
			seen.errors++
			if want, err = p.mild.holds(name, in); err != nil {
				// Two values of one rule. What is left of it has no conflict, one value
				// is enough there.
				continue
			}
			if want && !applies {
				return fail(name, "got it left out, want it to apply: topdown says it holds")
			}
			continue
		}
		if applies {
			seen.applied++
		}
		switch {
		case want && !applies:
			return fail(name, "got it left out, want it to apply: topdown says it holds")
		case !present(in, reads):
			seen.absent++
		case applies && !determined && p.errs(name, in):
			// Partial evaluation reorders a body, so an error may come before what
			// is false. The floor applies: never fewer.
			seen.reordered++
		case want != applies:
			return fail(name, "got applies %v, want %v: every path is present", applies, want)
		case applies && !determined:
			return fail(name, "got it undetermined, want it determined: every path is present")
		default:
			seen.agreed++
		}
	}
	// A floor that topdown has and no clause brings about would not be in reads.
	set, err := p.mild.set(in)
	if err != nil {
		return nil
	}
	for _, name := range set {
		if _, applies := got[name]; !applies && !(p.text.plain && p.rest(name)) {
			return fail(name, "got no such floor, want it to apply: it is in topdown's set")
		}
	}
	return nil
}

// run draws a bundle and holds it against inputs.
func run(bytes []byte, plain bool, inputs int, seen *tally) error {
	d := &dice{bytes}
	b := d.bundle(plain)
	p, problems, err := newPair(b)
	if err != nil {
		return fmt.Errorf("plain OPA: %v\n--- floors\n%s", err, b.floors)
	}
	if p == nil {
		seen.refused++
		return expectedProblems(b, problems)
	}
	seen.bundles++
	for range inputs {
		if err := p.compare(d.input(), seen); err != nil {
			return err
		}
	}
	return nil
}

// expectedProblems lets pass what the grammar can draw and a bundle may not
// say: constants that an enumeration does not have, types and patterns that do not fit, a
// path compared with itself, and a name that a data-driven floor gives twice.
func expectedProblems(b bundleText, problems []rego.Problem) error {
	for _, p := range problems {
		switch p.Code {
		case "rego_unknown_value", "rego_type_error", "rego_error", "rego_unsafe_var_error", "rego_self_comparison", "rego_pattern":
		default:
			return fmt.Errorf("got problem %+v, want the bundle to load\n--- floors\n%s", p, b.floors)
		}
	}
	return nil
}

func random(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	out := make([]byte, n)
	for i := range out {
		out[i] = byte(r.UintN(256))
	}
	return out
}

// differential runs over the first random bundles, the same ones every time; for
// longer with -long.
func differential(t *testing.T, plain bool, bundles uint64) {
	var seen tally
	stop := time.Now().Add(*long)
	for seed := uint64(0); seed < bundles || time.Now().Before(stop); seed++ {
		if err := run(random(seed, 1500), plain, 12, &seen); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	t.Logf("%+v", seen)
	if seen.bundles < seen.refused/4 || seen.applied == 0 || seen.agreed < seen.cells/10 {
		t.Errorf("got %+v: the generator no longer draws bundles that say something", seen)
	}
}

// The plain ones are made of atoms and nothing else.
func TestPlainFloorsAgreeWithTopdown(t *testing.T) { differential(t, true, 250) }

func TestFloorsOfEveryFormAgreeWithTopdown(t *testing.T) {
	differential(t, false, 400)
}

func TestSmallFloorsAgreeWithTopdown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var seen tally
		if err := run(rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "choices"), false, 4, &seen); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzNativeAgainstTopdown: the bytes are the choices of the generator.
func FuzzNativeAgainstTopdown(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(random(seed, 400), seed%2 == 0)
	}
	f.Fuzz(func(t *testing.T, choices []byte, plain bool) {
		var seen tally
		if err := run(choices, plain, 6, &seen); err != nil {
			t.Fatal(err)
		}
	})
}

// writtenFloors are forms that the grammar does not draw. why tells of a bug
// that is reported beside those that all of them wait for.
var writtenFloors = []struct{ name, floors, why string }{
	{"or and and of rego.v2", "import rego.v2\n\n" + floorHead + "{\n\tinput.facts.s == \"a\" or (input.facts.n > 1 and input.facts.b)\n}", ""},
	{"not of the future", "import future.keywords.not\n\n" + floorHead + "not startswith(input.facts.s, \"a\")", ""},
	{"nested every", floorHead + "every x in input.facts.l { every k, y in input.facts.o { x != y; k != \"s\" } }", ""},
	{"a set of paths", floorHead + "{input.facts.s, input.action.arguments.s} & {\"a\", \"ab\"} != set()", ""},
	{"a union of data", floorHead + "input.action.tool in {t | some t in data.conjunct.scope.words} | {\"b\"}", ""},
	{"a rule of a rule", floorHead + "grades[input.consequence.reversibility] > limit\n\ngrades := {\"costly\": 1, \"irreversible\": input.facts.n}\n\nlimit := input.state.settings.n if input.facts.b\nelse := 0", ""},
	{"another package", floorHead + "data.conjunct.severity.base == \"execute\"", ""},
	{"an object of helpers", floorHead + "{\n\tsome k in [\"s\", \"n\"]\n\tlimits[k] < input.facts[k]\n}\n\nlimits[\"s\"] := \"a\"\n\nlimits[\"n\"] := input.state.settings.n", ""},
	{"a chain of negations", floorHead + "not h1\n\nh1 if not h2\n\nh2 if {\n\tnot h3\n\tinput.facts.b\n}\n\nh3 if {\n\tinput.facts.n > 1\n\tinput.facts.s == \"a\"\n}", ""},
	{"a function of nothing", floorHead + "f(1) == input.facts.n\n\nf(x) := x if input.facts.b", ""},
	{"interpolation", floorHead + `$"{input.facts.s}-{input.facts.none}" == "a-<undefined>"`, ""},
	{"a nested object", floorHead + `{"k": {"l": input.facts.s}} == {"k": {"l": "a"}}`, ""},
	{"unequal paths", floorHead + "input.facts.s != input.facts.s", ""},
	{"a path in a variable", floorHead + "{\n\t[x, y] := input.facts.l\n\tx == y\n}", ""},
	{"min and max", floorHead + "max(input.facts.l) > min(data.conjunct.scope.numbers)", ""},
	{"metadata", "# METADATA\n# title: t\n" + floorHead + "{\n\tinput.facts.b\n\trego.metadata.rule().title == \"t\"\n}", ""},
	{"a function that asks for a key, below not", floorHead + "{\n\tnot has(input.facts, \"s\")\n\tinput.action.tool\n}\n\nhas(o, k) if _ = o[k]", ""},
	{"a function that asks for a true key, below not", floorHead + "{\n\tnot has(input.facts, \"s\")\n\tinput.action.tool\n}\n\nhas(o, k) if o[k]", ""},
	{"a rule that asks for a path, below not", floorHead + "{\n\tnot has\n\tinput.action.tool\n}\n\nhas if input.facts.s = _", ""},
	{"a variable equal to itself, below not", floorHead + "{\n\tnot has\n\tinput.action.tool\n}\n\nhas if { x := input.facts.s; x == x }", "a variable is compared with itself"},
	{"a key among keys", floorHead + "{\n\t\"s\" in object.keys(input.facts)\n}", ""},
	{"a key not among keys", floorHead + "{\n\tnot \"s\" in object.keys(input.facts)\n}", ""},
	{"iteration for a key", floorHead + "{\n\tsome k, _ in input.facts\n\tk == \"s\"\n}", ""},
	{"an object in the head of a condition", floorHead + "{\n\tinput.facts = {\"s\": x}\n\tx == 1\n}", ""},
	{"an array in the head of a condition", floorHead + "{\n\tinput.facts.l = [x, y]\n\tx != y\n}", ""},
	{"a value below an alias", floorHead + "{\n\tx := input.facts.o\n\tinput.facts[\"s\"] == x.k\n}", ""},
	{"an object comprehension", floorHead + "{\n\tx := {k: v | some k, v in input.facts; k != \"s\"}\n\tcount(x) == 1\n}", ""},
	{"a rule of two values, below not", floorHead + "{\n\tnot h == 1\n\tinput.facts.b\n}\n\nh := 1 if input.facts.n > 1\n\nh := 2 if input.facts.s == \"a\"", ""},
	{"a rule with a default, below not", floorHead + "{\n\tnot lvl == 1\n\tinput.facts.b\n}\n\ndefault lvl := 1\n\nlvl := 2 if input.facts.n > 1", ""},
	{"an object's key of two values", floorHead + "{\n\tlvl.a != 1\n\tinput.facts.b\n}\n\nlvl[k] := 1 if { some k in [\"a\", \"b\"]; input.facts.s == k }\n\nlvl[k] := 2 if {k := \"a\"; input.facts.n > 1 }", ""},
	{"a set's member, below not", floorHead + "{\n\tnot lvl[input.facts.s]\n\tinput.facts.b\n}\n\nlvl contains k if { some k in [\"a\", \"b\"]; input.facts.n > 1 }", ""},
	{"no member of a set", floorHead + "{\n\tnot input.facts.s in lvl\n\tinput.facts.b\n}\n\nlvl contains k if { some k in [\"a\", \"b\"]; input.facts.n > 1 }", ""},
	{"an empty set of a helper", floorHead + "{\n\tcount(lvl) == 0\n\tinput.facts.b\n}\n\nlvl contains k if { some k in [\"a\", \"b\"]; input.facts.n > 1 }", ""},
	{"an iteration, below not", floorHead + "{\n\tnot any_bad\n}\n\nany_bad if { some x in input.facts.l; x > 1 }", ""},
	{"an iteration over paths, below not", floorHead + "{\n\tnot any_bad\n}\n\nany_bad if { some x in [input.facts.n, input.action.arguments.n]; x > 1 }", ""},
	{"an iteration over paths", floorHead + "{\n\tsome x in [input.facts.n, input.action.arguments.n]\n\tx > 1 }", ""},
	{"an element of paths", floorHead + "{\n\tx := [input.facts.n, input.action.arguments.n][_]\n\tx > 1 }", ""},
	{"every path", floorHead + "{\n\tevery x in [input.facts.n, input.action.arguments.n] { x > 1 } }", ""},
	{"a count of paths", floorHead + "{\n\tcount([input.facts.n, input.action.arguments.n]) == 2\n\tinput.facts.b }", ""},
	{"an object of one path", floorHead + "{\n\tx := {\"k\": input.facts.n}\n\tx.k > 0\n}", ""},
	{"an object of two paths", floorHead + "{\n\tx := {\"k\": input.facts.n, \"l\": input.facts.s}\n\tx.k > 0\n}", ""},
	{"a function by pattern", floorHead + "{\n\tf(input.facts)\n}\n\nf({\"s\": \"a\"}) := true\n\nf(x) if x.n == 1", ""},
	{"a function of an array, below not", floorHead + "{\n\tnot f([input.facts.n, input.facts.s])\n}\n\nf([x, _]) if x == 1", ""},

	{"a function with else, its value known", floorHead + "level(input.facts.n, input.facts.s) == 1\n\n" + levelElse, whyElse},
	{"a function with else, its value known, below not", floorHead + "{\n\tnot h\n\tinput.facts.b\n}\n\nh if {\n\tlevel(input.facts.n, input.facts.s) == 1\n\tinput.action.tool\n}\n\n" + levelElse, whyElse},
	{"a function with a default, its value known", floorHead + "level(input.facts.n) == 1\n\n" + levelDefault, whyElse},
	{"a function with a default, its value known, below not", floorHead + "{\n\tnot h\n\tinput.facts.b\n}\n\nh if {\n\tlevel(input.facts.n) == 1\n\tinput.action.tool\n}\n\n" + levelDefault, whyElse},
	{"a path equal to itself, below not", floorHead + "{\n\tnot input.facts.s == input.facts.s\n\tinput.action.tool\n}", "partial evaluation takes a path to be equal to itself where it is absent"},
}

const (
	levelElse    = "level(x, y) := 1 if x > 1\nelse := 2 if y == \"a\"\nelse := 1"
	levelDefault = "default level(_) := 1\n\nlevel(x) := 2 if x > 1"
	whyElse      = "partial evaluation writes f(x) == 1 as f(x, 1), and OPA then goes on to the else or default where an earlier branch gives another value"
)

func TestWrittenFloorsAgreeWithTopdown(t *testing.T) {
	for _, c := range writtenFloors {
		t.Run(c.name, func(t *testing.T) {
			p, problems, err := newPair(bundleText{floors: c.floors, scope: (&dice{random(7, 100)}).scope()})
			if c.why != "" {
				if len(problems) == 0 {
					t.Fatalf("got no problem, want a refusal: %s\n%s", c.why, c.floors)
				}
				return
			}
			if err != nil || len(problems) > 0 {
				t.Fatalf("got %v, %v, want the floors to load\n%s", problems, err, c.floors)
			}
			var seen tally
			for seed := range uint64(200) {
				if err := p.compare((&dice{random(seed, 200)}).input(), &seen); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
