package floors_test

import (
	"fmt"
	"math"
	"strings"

	"github.com/conjunct-project/conjunct/engine"
)

// dice is a source of choices made of bytes, so that a fuzzer and a random
// generator drive the same grammar. When the bytes are used up every choice is
// the first, which is always the simplest.
type dice struct{ bytes []byte }

// n is a choice among k.
func (d *dice) n(k int) int {
	if len(d.bytes) == 0 {
		return 0
	}
	b := d.bytes[0]
	d.bytes = d.bytes[1:]
	return int(b) % k
}

// odds is true in one of k cases, never when the bytes are used up.
func (d *dice) odds(k int) bool { return d.n(k) == k-1 && k > 1 }

func pick[T any](d *dice, list ...T) T { return list[d.n(len(list))] }

// bundleText is one random bundle of floors with its data.
type bundleText struct {
	floors string
	scope  tree
	// plain says that only forms were drawn that become atoms.
	plain bool
}

// writer writes one bundle. Helpers collect beside the floors.
type writer struct {
	*dice
	plain   bool
	helpers []string
	locals  int
}

func (d *dice) bundle(plain bool) bundleText {
	w := &writer{dice: d, plain: plain}
	var floors []string
	for i := range 1 + d.n(4) {
		if d.odds(6) {
			floors = append(floors, fmt.Sprintf("floors contains {\"name\": sprintf(\"d%d-%%s\", [r.name]), \"tier\": r.tier} if {\n\tsome r in data.conjunct.scope.rules\n\t%s\n\t%s\n}",
				i, w.dataCondition(), w.body(0)))
			continue
		}
		floors = append(floors, fmt.Sprintf("floors contains {\"name\": \"f%d\", \"tier\": %q} if {\n\t%s\n}", i, pick(d, "refuse", "propose", "execute_notify"), w.body(0)))
	}
	return bundleText{floors: strings.Join(append(floors, w.helpers...), "\n\n"), scope: d.scope(), plain: plain}
}

func (d *dice) scope() tree {
	limits := tree{}
	for _, tool := range []string{"a", "b", "c"}[:1+d.n(3)] {
		limits[tool] = pick(d, 1.0, 0.1, 100.0)
	}
	var rules []any
	for i := range 1 + d.n(3) {
		rules = append(rules, tree{"name": fmt.Sprint("r", i), "tier": pick(d, "refuse", "propose"), "tool": pick(d, "a", "b"),
			"word": pick(d, "a", "ab", ""), "number": pick(d, 1.0, 0.1, -1.0), "tools": []any{"a", pick(d, "b", "c")}})
	}
	return tree{"words": []any{"a", pick(d, "ab", "b", "")}, "numbers": []any{1.0, pick(d, 0.1, 2.5, 1e21)}, "limits": limits, "rules": rules,
		"mixed": []any{pick[any](d, "a", 1.0, true, nil), pick[any](d, "b", 0.0, false)}, "none": []any{}, "text": pick(d, "a", "ab", "z")}
}

// dataCondition is a condition on the data-driven rule r.
func (w *writer) dataCondition() string {
	if w.odds(4) {
		return fmt.Sprintf("%s > r.number", w.path())
	}
	return pick(w.dice, "input.action.tool == r.tool", "input.action.tool in r.tools", w.path()+" == r.word", fmt.Sprintf("startswith(%s, r.word)", w.path()))
}

func (w *writer) body(depth int) string {
	lines := make([]string, 1+w.n(3))
	for i := range lines {
		lines[i] = w.expression(depth)
	}
	return strings.Join(lines, "\n\t")
}

func (w *writer) local() string {
	w.locals++
	return fmt.Sprint("v", w.locals)
}

// path is any path of the input that a floor may read.
func (w *writer) path() string {
	return "input." + pick(w.dice, "facts.s", "facts.n", "facts.b", "facts.l", "facts.o", "action.arguments.s", "action.arguments.n", "action.arguments.l",
		"state.settings.s", "state.settings.n", "facts.o.k", "action.arguments.o.k", "facts.o.k.k", "facts[\"a/b~c\"]", "action.tool", "now",
		"consequence.reversibility", "consequence.blast_radius", "state.pins.context", "state.counters.sent", "state.evidence.ci.status",
		"action.agent.id", "state.settings.l", "facts.deep.o.k", "state.settings.b", "action.origins")
}

func (w *writer) list() string {
	return "input." + pick(w.dice, "facts.l", "action.arguments.l", "state.settings.l", "facts.o", "facts.s", "facts.o.k", "action.origins")
}

func (w *writer) constant() string {
	return pick(w.dice, `"a"`, `1`, `"ab"`, `true`, `0.1`, `false`, `null`, `""`, `0`, `1.0`, `-1`, `1e21`, `"b"`, `2.5`, `"é"`,
		"data.conjunct.scope.text", `"irreversible"`, `"pass"`, `100`)
}

func (w *writer) text() string {
	return pick(w.dice, `"a"`, `"ab"`, `""`, `"b"`, `"é"`, "data.conjunct.scope.text")
}

func (w *writer) op() string { return pick(w.dice, "==", "!=", "<", "<=", ">", ">=") }

func (w *writer) collection() string {
	return pick(w.dice, `{"a", "b"}`, `["a", 1]`, `{1, 0.1, null}`, "data.conjunct.scope.words", "data.conjunct.scope.numbers", "data.conjunct.scope.mixed",
		`{"k": "a", "l": 1}`, "data.conjunct.scope.none", `{true, "ab"}`, `[[1], "a"]`)
}

// enumerated is a condition on the tool or the class, the usual ones.
func (w *writer) enumerated() string {
	return pick(w.dice, `input.action.tool == "a"`, `input.action.tool in {"a", "b"}`, `input.action.tool != "b"`,
		`input.consequence.reversibility == "irreversible"`, `input.consequence.blast_radius in {"system", "external"}`,
		`input.consequence.detection_latency == "unbounded"`, `input.consequence.absorbed_by in ["customer", "regulator"]`, `not input.action.tool == "a"`,
		`input.consequence.source == "declared"`, `startswith(input.action.tool, "a")`)
}

// expression is one line of a body.
func (w *writer) expression(depth int) string {
	not := ""
	if w.odds(4) {
		not = "not "
	}
	switch w.n(9) {
	case 0:
		return w.enumerated()
	case 1, 2:
		return not + w.comparison(w.path())
	case 3:
		return fmt.Sprintf("%s%s in %s", not, w.path(), w.collection())
	case 4:
		return fmt.Sprintf("%s%s(%s, %s)", not, pick(w.dice, "startswith", "endswith", "contains"), w.path(), w.text())
	case 5:
		return not + w.path()
	case 6:
		return w.overData()
	case 7:
		if depth < 3 {
			return not + w.helper(depth)
		}
		return w.enumerated()
	}
	if w.plain {
		return w.enumerated()
	}
	return w.other(not, depth)
}

func (w *writer) comparison(x string) string {
	// A line that begins with a minus would continue the one before.
	if c := w.constant(); w.odds(5) && c[0] != '-' {
		return fmt.Sprintf("%s %s %s", c, w.op(), x)
	}
	return fmt.Sprintf("%s %s %s", x, w.op(), w.constant())
}

// overData iterates over known data, which partial evaluation unrolls.
func (w *writer) overData() string {
	v := w.local()
	switch w.n(5) {
	case 0:
		return fmt.Sprintf("%s %s data.conjunct.scope.limits[input.action.tool]", w.path(), pick(w.dice, ">", "<=", "=="))
	case 1:
		return fmt.Sprintf("some %s in %s\n\t%s %s %s", v, pick(w.dice, "data.conjunct.scope.words", "data.conjunct.scope.mixed", "data.conjunct.scope.numbers"), w.path(), w.op(), v)
	case 2:
		return fmt.Sprintf("every %s in %s { %s %s %s }", v, pick(w.dice, "data.conjunct.scope.words", "data.conjunct.scope.mixed", "[1, \"a\"]"), w.path(), w.op(), v)
	case 3:
		return fmt.Sprintf("some %s in data.conjunct.scope.words\n\t%s(%s, %s)", v, pick(w.dice, "startswith", "endswith", "contains"), w.path(), v)
	}
	return fmt.Sprintf("%s := %s\n\t%s", v, w.path(), w.comparison(v))
}

// helper writes a rule and returns a use of it.
func (w *writer) helper(depth int) string {
	name := fmt.Sprint("h", len(w.helpers), "_", w.local())
	kinds := 3
	if !w.plain {
		kinds = 10
	}
	rule := func(text string, args ...any) { w.helpers = append(w.helpers, fmt.Sprintf(text, args...)) }
	body := func() string { return w.body(depth + 1) }
	switch w.n(kinds) {
	case 0:
		rule("%s if {\n\t%s\n}", name, body())
	case 1:
		rule("%s if {\n\t%s\n}\n\n%s if {\n\t%s\n}", name, body(), name, body())
	case 2:
		rule("%s(x) if {\n\t%s\n}\n\n%s(x) if {\n\tx == %s\n\t%s\n}", name, w.comparison("x"), name, w.constant(), body())
		return fmt.Sprintf("%s(%s)", name, w.path())
	case 3:
		rule("%s := %s if {\n\t%s\n} else := %s if {\n\t%s\n}", name, w.constant(), body(), w.constant(), body())
		return fmt.Sprintf("%s == %s", name, w.constant())
	case 4:
		rule("default %s := false\n\n%s if {\n\t%s\n}", name, name, body())
	case 5:
		v := w.local()
		rule("%s contains %s if {\n\tsome %s in %s\n\t%s\n}", name, v, v, w.list(), w.comparison(v))
		return pick(w.dice, fmt.Sprintf("%s in %s", w.path(), name), fmt.Sprintf("count(%s) > %d", name, w.n(2)), fmt.Sprintf("%s in %s", w.constant(), name))
	case 6:
		rule("%s[k] := v if {\n\tsome k, v in %s\n\t%s\n}", name, w.list(), w.comparison("v"))
		return fmt.Sprintf("%s[%s] %s %s", name, pick(w.dice, `"k"`, "0", "input.facts.s", "_"), w.op(), w.constant())
	case 7:
		rule("%s(x) := y if {\n\ty := lower(x)\n\t%s\n}", name, body())
		return fmt.Sprintf("%s(%s) %s %s", name, w.path(), w.op(), w.constant())
	case 8:
		rule("%s := [x | some x in %s; %s]", name, w.list(), w.comparison("x"))
		return fmt.Sprintf("count(%s) %s %d", name, w.op(), w.n(3))
	case 9:
		rule("%s := x if {\n\tx := %s\n\t%s\n}", name, w.path(), body())
	}
	return name
}

// other is a form that is not made of atoms.
func (w *writer) other(not string, depth int) string {
	v, p := w.local(), w.path()
	switch w.n(22) {
	case 0:
		return fmt.Sprintf("%scount(%s) %s %d", not, p, w.op(), w.n(3))
	case 1:
		return fmt.Sprintf("%sregex.match(%q, %s)", not, pick(w.dice, "^a", "b$", "^$", "["), p)
	case 2:
		return fmt.Sprintf("some %s in %s\n\t%s", v, w.list(), w.comparison(v))
	case 3:
		return fmt.Sprintf("every %s in %s { %s }", v, w.list(), w.comparison(v))
	case 4:
		return fmt.Sprintf("every %s in %s {\n\t\t%s\n\t\t%s\n\t}", v, w.list(), w.comparison(v), w.use(depth))
	case 5:
		return fmt.Sprintf("count({%s | some %s in %s; %s}) %s %d", v, v, w.list(), w.comparison(v), w.op(), w.n(2))
	case 6:
		return fmt.Sprintf("count([%s | some %s in %s; %s; %s]) > %d", v, v, w.list(), w.comparison(v), w.use(depth), w.n(2))
	case 7:
		object, key := pick(w.dice, "input.facts", "input.facts.o"), pick(w.dice, `"k"`, `"s"`, `["o", "k"]`, `"none"`)
		if pick(w.dice, true, false, false) {
			object, key = "input.action.arguments", pick(w.dice, `"s"`, `"n"`, `["o", "k"]`)
		}
		return fmt.Sprintf("%sobject.get(%s, %s, %s) %s %s", not, object, key, w.constant(), w.op(), w.constant())
	case 8:
		return fmt.Sprintf("%s%s %s %s", not, p, w.op(), w.path())
	case 9:
		return fmt.Sprintf("%s%s(%s) %s %s", not, pick(w.dice, "lower", "upper", "trim_space", "abs", "type_name"), p, w.op(), w.constant())
	case 10:
		return fmt.Sprintf("%s%s(%s)", not, pick(w.dice, "is_string", "is_number", "is_null", "is_object", "is_boolean"), p)
	case 11:
		return fmt.Sprintf("%sinput.facts[input.action.tool] %s %s", not, w.op(), w.constant())
	case 12:
		return fmt.Sprintf("walk(%s, [%sp, %sv])\n\t%sv == %s\n\tcount(%sp) > 0", p, v, v, v, w.constant(), v)
	case 13:
		return fmt.Sprintf("%s%s[0] %s %s", not, w.list(), w.op(), w.constant())
	case 14:
		return fmt.Sprintf("%s%s + 1 %s %s", not, p, w.op(), w.constant())
	case 15:
		return fmt.Sprintf("%s%s in %s", not, w.constant(), w.list())
	case 16:
		return fmt.Sprintf("%s%s == $\"{%s}b\"", not, p, w.path())
	case 17:
		return fmt.Sprintf("%s[%s, %s] == [%s, %s]", not, p, w.path(), w.constant(), w.constant())
	case 18:
		return fmt.Sprintf("%s{\"a\": 1, \"b\": 2}[%s] %s 1", not, p, w.op())
	case 19:
		return fmt.Sprintf("%sglob.match(\"a*\", [], %s)", not, p)
	case 20:
		return fmt.Sprintf("%s := {k | some k, x in %s; %s}\n\tcount(%s) > 0", v, w.list(), w.comparison("x"), v)
	}
	return fmt.Sprintf("%s := split(%s, \"b\")\n\t%s[_] %s %s", v, p, v, w.op(), w.constant())
}

// use is a reference to a rule, for the inside of a closure.
func (w *writer) use(depth int) string {
	if depth < 2 {
		return w.helper(depth + 1)
	}
	return w.enumerated()
}

// input is a random input, hostile where it may be: missing fields, values of
// every type, deep ones.
func (d *dice) input() *engine.Input {
	tool := pick(d, "a", "b", "c", "undeclared", "", "ab")
	document := tree{"trace_id": "t", "call_id": "c", "tool": tool, "arguments": d.object("s", "n", "b", "l", "o")}
	if !d.odds(3) {
		document["agent"] = tree{"id": pick(d, "a", "b", "")}
	}
	if !d.odds(3) {
		document["origins"] = d.object("k", "s")
	}
	in := &engine.Input{
		Action: engine.Action{Tool: tool, Document: document},
		Facts:  d.object("s", "n", "b", "l", "o", "a/b~c", "a", "deep"),
		Now:    pick(d, int64(1), 0, 1_700_000_000),
		Consequence: engine.Consequence{Reversibility: engine.Reversibility(d.n(3)), BlastRadius: engine.BlastRadius(d.n(4)),
			AbsorbedBy: engine.AbsorbedBy(d.n(4)), DetectionLatency: engine.DetectionLatency(d.n(4)), Source: engine.Source(d.n(4))},
		State: engine.State{Settings: d.object("s", "n", "b", "l")},
	}
	if !d.odds(3) {
		in.State.Pins = map[string]string{"context": pick(d, "a", "ab", "")}
	}
	if !d.odds(3) {
		in.State.Counters = map[string]float64{"sent": pick(d, 1, 0, 0.1, 1e21)}
	}
	if !d.odds(3) {
		in.State.Evidence = map[string]engine.Evidence{"ci": {Name: "ci", Status: pick(d, engine.Pass, engine.Fail, engine.Unknown), Time: 1}}
	}
	return in
}

// object has most of the keys, with a value of the type the key names, or any.
func (d *dice) object(keys ...string) tree {
	out := tree{}
	for _, k := range keys {
		switch d.n(8) {
		case 0, 1, 2, 3, 4:
			out[k] = d.typed(k)
		case 5, 6:
			out[k] = d.value(3)
		}
	}
	return out
}

func (d *dice) typed(key string) any {
	switch key {
	case "n":
		return pick(d, 1.0, 0.1, 0.0, -1.0, 2.5, 100.0, 1e21)
	case "b":
		return pick(d, true, false)
	case "l":
		return d.array(2)
	case "o":
		return tree{"k": d.value(2)}
	case "deep":
		return tree{"o": tree{"k": d.value(2), "o": tree{"o": tree{"o": d.value(1)}}}}
	}
	return pick(d, "a", "ab", "", "b", "é", "A", "irreversible")
}

func (d *dice) array(depth int) []any {
	out := make([]any, d.n(4))
	for i := range out {
		out[i] = d.value(depth - 1)
	}
	return out
}

func (d *dice) value(depth int) any {
	kinds := 6
	if depth > 0 {
		kinds = 8
	}
	switch d.n(kinds) {
	case 0:
		return pick(d, "a", "ab", "b", "", "é", "pass")
	case 1:
		return pick(d, 1.0, 0.0, 0.1, -1.0, 2.5, 1e21, math.Copysign(0, -1), 5e-324, 1e300, 9007199254740992.0)
	case 2:
		return true
	case 3:
		return false
	case 4:
		return nil
	case 5:
		return strings.Repeat("ab", 1+d.n(40))
	case 6:
		return d.array(depth)
	}
	return tree{"k": d.value(depth - 1), "s": d.value(depth - 1)}
}
