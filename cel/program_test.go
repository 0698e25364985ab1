package cel

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/conjunct-project/conjunct/engine"
	"github.com/google/cel-go/common/types"
)

func transfer() map[string]any {
	return map[string]any{"to": "a@example.com", "amount": float64(5), "ratio": 0.5,
		"items": []any{float64(1), 2.5}, "details": map[string]any{"b": float64(2), "a": float64(1)}}
}

func TestVerdicts(t *testing.T) {
	tests := []struct {
		name, expression string
		verdict          engine.Verdict
		code             string
	}{
		{"true passes", `args.amount == 5`, engine.Pass, ""},
		{"false fails", `args.amount == 6`, engine.Fail, "gate_failed"},
		{"an absent argument", `args.missing == 1`, engine.Unknown, "missing_value"},
		{"an absent fact", `facts.missing == 1`, engine.Unknown, "missing_value"},
		{"an absent setting", `state.settings.queue == 1`, engine.Unknown, "missing_value"},
		{"an absent record", `state.evidence.scan.status == "pass"`, engine.Unknown, "missing_value"},
		{"an absent pin", `state.pins.rule == "v1"`, engine.Unknown, "missing_value"},
		{"an absent part of the action", `action.agent.id == "a"`, engine.Unknown, "missing_value"},
		{"an absent key of a tested place", `has(facts.nothing.here)`, engine.Unknown, "missing_value"},
		{"an absent optional value", `args.?missing.value() == 1`, engine.Unknown, "missing_value"},
		{"an absent key of an element", `action.plan.steps.exists(s, s.precondition == "x")`, engine.Unknown, "missing_value"},
		{"an index that is too high", `args.items[7] == 1`, engine.Unknown, "missing_value"},
		{"a wrong type", `args.to < 5`, engine.Unknown, "evaluation_error"},
		{"a test of what has no keys", `!has(args.to.x)`, engine.Unknown, "missing_value"},
		{"no bool at run time", `args.amount || false`, engine.Unknown, "evaluation_error"},
		{"whole and fractional numbers that meet", `args.amount + 0.5 == 5.5`, engine.Unknown, "evaluation_error"},
		{"a division by zero", `5 / (now - now) == 1`, engine.Unknown, "evaluation_error"},
		{"false beside an error", `args.missing == 1 && false`, engine.Fail, "gate_failed"},
		{"true beside an error, which is warned about", `args.missing == 1 || true`, engine.Pass, ""},

		{"a counted repetition", `"aab".matches("^a{2}b$")`, engine.Pass, ""},
		{"a counted repetition that is put together", `"aab".matches("^" + "a" + "{" + string(args.amount - 3) + "}b$")`, engine.Pass, ""},
		{"a counted repetition in a library", `regex.replace("aab", "a{" + string(args.amount - 3) + "}", "c") == "cb"`, engine.Pass, ""},
		{"a regular expression of many steps that is put together", `"a".matches(["a{900}"].map(p, p+p+p+p+p+p+p+p+p+p+p+p)[0])`, engine.Unknown, "evaluation_error"},
		{"a regular expression that is none", `"a".matches("(" + string(args.amount))`, engine.Unknown, "evaluation_error"},

		{"an int equals a double", `args.amount == 5.0`, engine.Pass, ""},
		{"an int compares with a double", `args.amount < 5.5`, engine.Pass, ""},
		{"a fraction stays a double", `args.ratio == 0.5 && type(args.ratio) == double`, engine.Pass, ""},
		{"a whole number is an int", `type(args.amount) == int`, engine.Pass, ""},
		{"a whole number in a list is an int", `type(args.items[0]) == int && type(args.items[1]) == double`, engine.Pass, ""},
		{"a whole number in an object is an int", `type(args.details.a) == int`, engine.Pass, ""},
		{"a whole number is in a list", `args.amount in [5, 6]`, engine.Pass, ""},
		{"a modulus of a whole number", `args.amount % 2 == 1`, engine.Pass, ""},
		{"the time is an int", `now == 100 && type(now) == int`, engine.Pass, ""},
		{"counters compare", `state.counters.spent <= scope.limits.daily`, engine.Pass, ""},

		{"the arguments by both names", `args == action.arguments`, engine.Pass, ""},
		{"the consequence", `consequence.reversibility == "reversible" && consequence.source == "declared"`, engine.Pass, ""},
		{"the consequence as a whole", `consequence.size() == 5 && "source" in consequence`, engine.Pass, ""},
		{"the consequence by its keys", `consequence.exists(k, consequence[k] == "task")`, engine.Pass, ""},
		{"the state", `state.settings.scope_ok == true && state.pins.context == "v1"`, engine.Pass, ""},
		{"the state as a whole", `state.size() == 4 && state.evidence.size() == 1`, engine.Pass, ""},
		{"evidence", `state.evidence.ci.status == "pass" && state.evidence.ci.time < now`, engine.Pass, ""},
		{"evidence that is there", `has(state.evidence.ci) && !has(state.evidence.scan)`, engine.Pass, ""},
		{"evidence by membership", `"ci" in state.evidence && !("scan" in state.evidence)`, engine.Pass, ""},
		{"evidence by its names", `state.evidence.all(n, state.evidence[n].status == "pass")`, engine.Pass, ""},
		{"an absent source of evidence", `!has(state.evidence.ci.source)`, engine.Pass, ""},
		{"facts", `facts.path.clean.startsWith(scope.roots[0] + "/")`, engine.Pass, ""},
		{"scope", `scope.roots.exists(r, facts.path.clean.startsWith(r))`, engine.Pass, ""},
		{"scope by tool", `!has(scope.limits.daily) || scope.limits["ratio"] == 0.5`, engine.Pass, ""},
		{"the state equals itself", `state == state && [state][0].evidence == state.evidence && type(state) == map`, engine.Pass, ""},
		{"the consequence equals itself", `[consequence][0] == consequence && consequence == dyn([consequence])[0]`, engine.Pass, ""},
		{"the state is not zero", `optional.ofNonZeroValue(state).hasValue()`, engine.Pass, ""},
		{"a number is no key of the state", `dyn(state)[1] == 1`, engine.Unknown, "missing_value"},
		{"records by name and value", `state.evidence.all(n, e, e.name == n) && state.evidence.exists(n, e, e.status == "pass")`, engine.Pass, ""},
		{"mixed keys", `{1: "a", "b": 2, true: 3}.map(k, string(k)).size() == 3`, engine.Pass, ""},
		{"UTC", `timestamp(now).getMinutes() == 1`, engine.Pass, ""},
		{"a map in the order of its keys", `args.details.map(k, k) == ["a", "b"]`, engine.Pass, ""},
	}
	s := schema()
	s.ArgumentsOf = func(string) (map[string]engine.Argument, bool) {
		return map[string]engine.Argument{"to": {}, "amount": {}, "ratio": {}, "items": {}, "details": {}, "missing": {}}, true
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, problems := Compile([]Gate{limited(tt.expression)}, s)
			if p == nil {
				t.Fatal(problems)
			}
			f := p.Test(context.Background(), "g", input("transfer", transfer()))
			if f.Verdict != tt.verdict || code(f) != tt.code {
				t.Errorf("%s = %s %q, want %s %q: %v", tt.expression, f.Verdict, code(f), tt.verdict, tt.code, f.Reasons)
			}
		})
	}
}

func TestAFailureSaysWhy(t *testing.T) {
	g := limited(`args.amount < 5 && facts.inside == true`)
	g.Name, g.Reason, g.Message, g.File, g.Row = "small", "too_much", "keep it small", "cel/data.yaml", 7
	f := test(t, g, input("transfer", transfer()))
	want := engine.Finding{Verdict: engine.Fail, Reasons: []engine.Reason{{
		Code:  "too_much",
		Rule:  engine.Rule{Path: "cel.small", File: "cel/data.yaml", Row: 7, Title: "keep it small"},
		Facts: []engine.Fact{engine.NewFact("/action/arguments/amount", 5.0), engine.NewFact("/facts/inside", true)},
		Text:  "keep it small",
	}}}
	if !reflect.DeepEqual(f, want) {
		t.Errorf("got  %+v\nwant %+v", f, want)
	}
}

func TestMessages(t *testing.T) {
	tests := []struct {
		name, message, expression, want string
	}{
		{"the expression wins", "plain", `"amount is " + string(args.amount)`, "amount is 5"},
		{"an error falls back", "plain", `"x" + string(args.details.nope)`, "plain"},
		{"an empty text falls back", "plain", `" "`, "plain"},
		{"two lines fall back", "plain", `"a\nb"`, "plain"},
		{"nothing at all shows the gate", "", "", "gate g is not met: args.amount == 0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := limited(`args.amount == 0`)
			g.Message, g.MessageExpression = tt.message, tt.expression
			f := test(t, g, input("transfer", transfer()))
			if got := f.Reasons[0].Text; got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestUnknownNamesWhatIsMissing(t *testing.T) {
	tests := []struct {
		name, expression string
		variable         string
		fact, text       string
	}{
		{"an argument", `args.amount == 1`, "", "/action/arguments/amount", "args.amount is absent"},
		{"a record", `state.evidence.scan.status == "pass"`, "", "/state/evidence/scan/status", "state.evidence.scan.status is absent"},
		{"an odd key", `facts["a/b~c"] == 1`, "", "/facts/a~1b~0c", `facts["a/b~c"] is absent`},
		{"through a variable", `variables.v > 0`, "size(args.items)", "/action/arguments/items", "args.items is absent"},
		{"through cel.bind", `cel.bind(f, facts, f.other == 1)`, "", "/facts/other", "facts.other is absent"},
		{"in an element", `action.plan.steps.all(s, s.precondition == "")`, "", "/action/plan/steps/*/precondition", "action.plan.steps[*].precondition is absent"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := limited(tt.expression)
			if tt.variable != "" {
				g.Variables = []Variable{{"v", tt.variable}}
			}
			f := test(t, g, input("transfer", map[string]any{}))
			if code(f) != "missing_value" || f.Reasons[0].Facts[0] != engine.AbsentFact(tt.fact) ||
				!strings.Contains(f.Reasons[0].Text, tt.text) {
				t.Errorf("got %+v, want missing %s, %q", f, tt.fact, tt.text)
			}
		})
	}
}

func TestReads(t *testing.T) {
	tests := []struct {
		name, expression string
		want             []string
	}{
		{"arguments by every name", `args.to == action.arguments["amount"]`, []string{"/action/arguments/amount", "/action/arguments/to"}},
		{"a list as a whole", `args.items[0] == 1 && args.items.all(i, i > 0)`, []string{"/action/arguments/items"}},
		{"presence", `has(facts.inside)`, []string{"/facts/inside"}},
		{"membership", `"ci" in state.evidence`, []string{"/state/evidence/ci"}},
		{"optional", `facts.?path.?clean.orValue("") == ""`, []string{"/facts/path/clean"}},
		{"not the scope", `now > 5 && scope.limits.daily > 5`, []string{"/now"}},
		{"constants", `1 == 1`, nil},
		{"a loop variable that hides a root", `[1].all(args, args == 1)`, nil},
		{"a key that is looked up", `scope.limits[facts.name] == 1`, []string{"/facts/name"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := compile(t, limited(tt.expression)).Reads("g"); !slices.Equal(got, tt.want) {
				t.Errorf("Reads(%q) = %q, want %q", tt.expression, got, tt.want)
			}
		})
	}
	g := limited(`variables.b > 5`)
	g.Variables = []Variable{{"a", "args.amount"}, {"b", "variables.a + facts.x"}}
	if got, want := compile(t, g).Reads("g"), []string{"/action/arguments/amount", "/facts/x"}; !slices.Equal(got, want) {
		t.Errorf("Reads through variables = %q, want %q", got, want)
	}
}

func TestVariablesAreEvaluatedOnceAndOnlyWhenRead(t *testing.T) {
	g := limited(`now < 5 || variables.n > 5 && variables.n < 50 && variables.twice == 20`)
	g.Variables = []Variable{{"n", "state.counters.spent"}, {"twice", "variables.n * 2"}}
	if f := test(t, g, input("transfer", transfer())); f.Verdict != engine.Pass {
		t.Errorf("got %+v", f)
	}
	g = limited(`now > 5 || variables.absent > 5`)
	g.Variables = []Variable{{"absent", "facts.absent"}}
	if f := test(t, g, input("transfer", transfer())); f.Verdict != engine.Pass {
		t.Errorf("a variable that is not needed: got %+v", f)
	}
	p := compile(t, limited(`now > 0`))
	a := p.activation(context.Background(), &gate{Gate: Gate{Variables: []Variable{{"v", ""}}},
		variables: []*unit{nil}}, input("ping", nil), false)
	a.variables[0] = number(7)
	if v, ok := a.ResolveName("variables.v"); !ok || v != number(7) {
		t.Errorf("a variable that has a value is evaluated again: %v", v)
	}
}

func TestAContextThatIsDoneIsUnknown(t *testing.T) {
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	late, stop := context.WithDeadline(context.Background(), time.Unix(0, 0))
	defer stop()
	for _, e := range []string{`true`, `args.amount == 5`} {
		p := compile(t, limited(e))
		if f := p.Test(cancelled, "g", input("transfer", transfer())); f.Verdict != engine.Unknown || code(f) != "cancelled" {
			t.Errorf("%s when cancelled = %+v", e, f)
		}
		if f := p.Test(late, "g", input("transfer", transfer())); f.Verdict != engine.Unknown || code(f) != "timeout" {
			t.Errorf("%s when late = %+v", e, f)
		}
	}
}

// slow may take long, and heavy may cost much in few steps: both exceed the static
// bound.
const (
	slow  = `args.items.all(a, args.items.all(b, a == b))`
	heavy = `args.items.all(a, args.items.all(b, a.contains(b)))`
)

// texts is a list of n equal texts; a search in one for another costs 160,000.
func texts(n int) []any {
	return slices.Repeat([]any{strings.Repeat("x", 4000)}, n)
}

func numbers(n int) []any {
	list := make([]any, n)
	for i := range list {
		list[i] = float64(7)
	}
	return list
}

func TestALongEvaluationIsStopped(t *testing.T) {
	p := compile(t, limited(heavy))
	if f := p.Test(context.Background(), "g", input("transfer", map[string]any{"items": texts(3)})); f.Verdict != engine.Unknown || code(f) != "cost_limit" {
		t.Errorf("got %+v, want cost_limit", f)
	}
	p = compile(t, limited(slow))
	if !p.gates["g"].limited {
		t.Fatal("a loop in a loop over the input is not limited")
	}
	in := input("transfer", map[string]any{"items": numbers(3000)})
	ctx, stop := context.WithTimeout(context.Background(), 2*time.Millisecond)
	defer stop()
	if f := p.Test(ctx, "g", in); f.Verdict != engine.Unknown || code(f) != "timeout" {
		t.Errorf("got %+v, want timeout", f)
	}
	if f := p.Test(context.Background(), "g", input("transfer", map[string]any{"items": numbers(30)})); f.Verdict != engine.Pass {
		t.Errorf("a small input: got %+v, want pass", f)
	}
}

func TestVariablesShareTheCostLimit(t *testing.T) {
	g := limited(`variables.a && variables.b && variables.c`)
	for _, name := range []string{"a", "b", "c"} {
		g.Variables = append(g.Variables, Variable{name, heavy})
	}
	p := compile(t, g)
	in := input("transfer", map[string]any{"items": texts(2)})
	if f := compile(t, limited(heavy)).Test(context.Background(), "g", in); f.Verdict != engine.Pass {
		t.Errorf("one alone: got %+v, want pass", f)
	}
	if f := p.Test(context.Background(), "g", in); code(f) != "cost_limit" {
		t.Errorf("three variables, each below the limit: got %+v, want cost_limit", f)
	}
}

func TestAGateMayHaveALowerCostLimit(t *testing.T) {
	g := limited(`args.items.all(a, a > 0)`)
	in := input("transfer", map[string]any{"items": numbers(30)})
	if f := compile(t, g).Test(context.Background(), "g", in); f.Verdict != engine.Pass {
		t.Errorf("without a limit of its own: got %+v, want pass", f)
	}
	g.CostLimit = 20
	if f := compile(t, g).Test(context.Background(), "g", in); code(f) != "cost_limit" || !strings.Contains(f.Reasons[0].Text, "more than 20") {
		t.Errorf("with a lower limit: got %+v, want cost_limit at 20", f)
	}
	g.CostLimit = 100 * MaxCost
	if got := g.costLimit(); got != MaxCost {
		t.Errorf("a limit above the highest is %d, want %d", got, MaxCost)
	}
}

// The static bound assumes sizes; what is larger is evaluated under a limit. The
// trap: without the bounded adapter the first evaluation runs to its end.
func TestOversizedValuesAreEvaluatedUnderALimit(t *testing.T) {
	p := compile(t, limited(`args.items.all(a, a == 7)`))
	g := p.gates["g"]
	if g.limited {
		t.Fatal("one loop over the input is limited from the start")
	}
	ask := func(n int, limited bool) error {
		_, err := p.activation(context.Background(), g, input("transfer", map[string]any{"items": numbers(n)}), limited).eval(g.expression)
		return err
	}
	if err := ask(assumedSize, false); err != nil {
		t.Errorf("a value of the assumed size: %v", err)
	}
	if err := ask(assumedSize+1, false); !tooLarge(err) {
		t.Errorf("a larger value: %v, want to be given up", err)
	}
	if f := p.Test(context.Background(), "g", input("transfer", map[string]any{"items": numbers(assumedSize + 1)})); f.Verdict != engine.Pass {
		t.Errorf("a larger value: got %+v, want pass", f)
	}
	began := time.Now()
	if f := p.Test(context.Background(), "g", input("transfer", map[string]any{"items": numbers(400_000)})); code(f) != "cost_limit" {
		t.Errorf("a huge value: got %+v, want cost_limit", f)
	}
	// The trap: without the limit on ranges this takes minutes.
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("a huge value took %s", took)
	}
}

// An error inside a collection counts as equal in cel-go, so giving up must not be
// an error value.
func TestAnOversizedValueInsideAnObjectIsNotEqual(t *testing.T) {
	g := limited(`args.details == {"a": "x"}`)
	in := input("transfer", map[string]any{"details": map[string]any{"a": strings.Repeat("y", assumedSize+1)}})
	if f := test(t, g, in); f.Verdict != engine.Fail {
		t.Errorf("got %+v, want fail", f)
	}
	g = limited(`variables.v == {"a": "x"}`)
	g.Variables = []Variable{{"v", `{"a": args.details.a}`}}
	if f := test(t, g, in); f.Verdict != engine.Fail {
		t.Errorf("through a variable: got %+v, want fail", f)
	}
}

func TestAGateThatDoesNotExistIsUnknown(t *testing.T) {
	p := compile(t, limited(`true`))
	for _, p := range []*Program{p, nil} {
		if f := p.Test(context.Background(), "other", input("ping", nil)); f.Verdict != engine.Unknown || code(f) != "gate_missing" {
			t.Errorf("got %+v", f)
		}
		if p.Reads("other") != nil {
			t.Error("a gate that does not exist reads something")
		}
	}
}

func TestNothingEscapesATest(t *testing.T) {
	p := compile(t, limited(`args.amount == 5`))
	if f := p.Test(context.Background(), "g", nil); f.Verdict != engine.Unknown || code(f) != "evaluation_error" {
		t.Errorf("no input: got %+v", f)
	}
	if f := p.Test(context.Context(nil), "g", input("ping", nil)); f.Verdict != engine.Unknown || code(f) != "evaluation_error" {
		t.Errorf("no context: got %+v", f)
	}
	if f := p.Test(context.Background(), "g", &engine.Input{}); f.Verdict != engine.Unknown || code(f) != "missing_value" {
		t.Errorf("nothing in the input: got %+v", f)
	}
}

// The trap: a machine elsewhere must not read another hour from the same input.
func TestTimesAreUTCWhereverTheMachineIs(t *testing.T) {
	here := time.Local
	t.Cleanup(func() { time.Local = here })
	time.Local = time.FixedZone("elsewhere", 5*3600)
	if f := test(t, limited(`timestamp(now).getHours() == 0 && timestamp("1970-01-01T10:00:00Z").getHours() == 10 && timestamp("1970-01-01T10:00:00+05:00").getHours() == 5`), input("transfer", transfer())); f.Verdict != engine.Pass {
		t.Errorf("got %+v, want pass", f)
	}
}

// The trap: cel-go labels its shared error with the node of whoever met it first.
func TestTheSharedErrorDoesNotNameAPlace(t *testing.T) {
	shared := types.LabelErrNode(3, types.NoSuchOverloadErr()).(*types.Err)
	u := &unit{reads: reads{nodes: map[int64]path{shared.NodeID(): {root: "facts"}}}}
	if p, ok := u.place(shared); ok {
		t.Errorf("got %s, want no place", p)
	}
}

func TestNames(t *testing.T) {
	p, problems := Compile([]Gate{{Name: "b", Expression: "true"}, {Name: "a", Expression: "now > 0"}}, Schema{})
	if p == nil || !slices.Equal(p.Names(), []string{"a", "b"}) {
		t.Errorf("got %v, %v", p.Names(), problems)
	}
	if p, problems := Compile(nil, Schema{}); p == nil || len(problems) > 0 || len(p.Names()) > 0 {
		t.Errorf("no gates: got %v, %v", p, problems)
	}
}

func TestTestsRunConcurrently(t *testing.T) {
	g := limited(`variables.n < 50 && args.details.all(k, k != "") && args.amount in [5]`)
	g.Variables = []Variable{{"n", "state.counters.spent"}}
	p := compile(t, g, Gate{Name: "h", Tools: g.Tools, Expression: slow})
	in := input("transfer", transfer())
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 200 {
				if f := p.Test(context.Background(), "g", in); f.Verdict != engine.Pass {
					t.Errorf("got %+v", f)
				}
				p.Test(context.Background(), "h", in)
			}
		})
	}
	wg.Wait()
}

func TestMapsAreIteratedInOrder(t *testing.T) {
	for name, e := range map[string]string{
		"input":      `args.details.map(k, k)`,
		"a literal":  `{"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6, "g": 7, "h": 8, "i": 9}.map(k, k)`,
		"two names":  `args.details.transformList(k, v, k)`,
		"a result":   `args.details.transformMap(k, v, v).map(k, k)`,
		"a choice":   `(now > 5 ? args.details : {"z": 1}).map(k, k)`,
		"the facts":  `facts.many.map(k, k)`,
		"any number": `{3: 1, 1: 1, 2: 1, 9: 1, 5: 1}.map(k, string(k))`,
	} {
		t.Run(name, func(t *testing.T) {
			details := map[string]any{}
			for _, k := range "abcdefghi" {
				details[string(k)] = float64(1)
			}
			in := input("transfer", map[string]any{"details": details})
			in.Facts["many"] = details
			g := limited(`false`)
			g.MessageExpression = e + `.join(",")`
			first := test(t, g, in).Reasons[0].Text
			keys := strings.Split(first, ",")
			if len(keys) < 5 || !slices.IsSorted(keys) {
				t.Errorf("got %q, want sorted keys", first)
			}
		})
	}
}

func BenchmarkTest(b *testing.B) {
	for _, bb := range []struct{ name, expression string }{
		{"argument", `args.to.endsWith("@example.com")`},
		{"three", `action.tool == "transfer" && args.amount <= 1000 && consequence.blast_radius == "task"`},
		{"state", `state.evidence.ci.status == "pass" && state.settings.scope_ok == true`},
		{"facts", `facts.inside == true && args.amount in [5, 6, 7]`},
		{"loop", `size(args.items) > 0 && args.items.all(i, i > 0)`},
		{"limited", slow},
		{"fails", `args.amount == 6`},
		{"missing", `facts.nothing == true`},
	} {
		b.Run(bb.name, func(b *testing.B) {
			p := compile(b, limited(bb.expression))
			in := input("transfer", transfer())
			ctx := context.Background()
			b.ReportAllocs()
			for b.Loop() {
				p.Test(ctx, "g", in)
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	gates := []Gate{limited(`args.to.endsWith("@example.com") && args.amount <= 1000`)}
	for b.Loop() {
		Compile(gates, schema())
	}
}
