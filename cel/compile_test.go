package cel

import (
	"strings"
	"testing"
)

func TestCompileRefuses(t *testing.T) {
	on := func(e string) Gate { return limited(e) }
	every := func(e string) Gate { return Gate{Name: "g", Expression: e} }
	tests := []struct {
		name  string
		gate  Gate
		parts []string
	}{
		{"a syntax error", every(`now >`), []string{"Syntax error"}},
		{"a type error", every(`now == "a"`), []string{"no matching overload"}},
		{"an expression that is not bool", every(`action.tool + "x"`), []string{"of type string, want bool"}},
		{"an int expression", every(`now + 1`), []string{"of type int, want bool"}},
		{"a dyn expression, with the way out", on(`args.details`), []string{"of type dyn", "args.details == true"}},
		{"an empty expression", every("  "), []string{"empty"}},
		{"confidence", every(`action.confidence > 0.9`), []string{"cannot read confidence"}},
		{"confidence by index", every(`action["confidence"] == 1.0`), []string{"cannot read confidence"}},
		{"the presence of confidence", every(`has(action.confidence)`), []string{"cannot read confidence"}},
		{"the membership of confidence", every(`"confidence" in action`), []string{"cannot read confidence"}},
		{"confidence through a name", every(`cel.bind(a, action, a.confidence == 1.0)`), []string{"cannot read confidence"}},
		{"optional confidence", every(`action.?confidence.orValue(1.0) > 0.5`), []string{"cannot read confidence"}},
		{"confidence as a root", every(`confidence > 0.5`), []string{"undeclared reference to 'confidence'", "cannot read confidence"}},
		{"a computed key of the action", every(`action[consequence.source] == "a"`), []string{"must be a literal"}},
		{"an unknown root", every(`fact.inside == true`), []string{"undeclared reference to 'fact'", `did you mean "facts"`}},
		{"an unknown function", every(`action.tool.startWith("a")`), []string{"undeclared reference to 'startWith'", `did you mean "startsWith"`}},
		{"an unknown setting", every(`state.settings.scop_ok == true`), []string{"settings", `did you mean "scope_ok"`}},
		{"an unknown pin", every(`state.pins.contxt == "a"`), []string{"pins", `did you mean "context"`}},
		{"unknown evidence", every(`state.evidence.cl.status == "pass"`), []string{"evidence", `did you mean "ci"`}},
		{"unknown evidence by membership", every(`"cl" in state.evidence`), []string{"evidence", `did you mean "ci"`}},
		{"an unknown field of evidence", every(`state.evidence.ci.state == "pass"`), []string{"evidence record", "status"}},
		{"an unknown status of evidence", every(`state.evidence.ci.status == "passed"`), []string{"never", `did you mean "pass"`}},
		{"an unknown counter", every(`state.counters.spend < 5`), []string{"counters", `did you mean "spent"`}},
		{"a computed setting", every(`state.settings[action.tool] == true`), []string{"must be a literal"}},
		{"an unknown part of the state", every(`state.setting.queue == 1`), []string{"the state has no", `did you mean "settings"`}},
		{"an unknown property", every(`consequence.blast == "task"`), []string{"a consequence has no"}},
		{"an unknown value of a property", every(`consequence.blast_radius == "sistem"`), []string{"never", `did you mean "system"`}},
		{"an unknown value on the left", every(`"sistem" == consequence.blast_radius`), []string{"never"}},
		{"an unknown value that is unequal", every(`consequence.source != "guessed"`), []string{"never"}},
		{"an unknown value in a list", every(`consequence.blast_radius in ["task", "sistem"]`), []string{"never", `did you mean "system"`}},
		{"an unknown tool", every(`action.tool == "tranfer"`), []string{"never", `did you mean "transfer"`}},
		{"an unknown tool in a list", every(`!(action.tool in ["ping", "tranfer"])`), []string{"never"}},
		{"an unknown tool of a plan", every(`action.plan.steps.exists(s, s.tool == "tranfer")`), []string{"never"}},
		{"an unknown tool through a variable", Gate{Name: "g", Variables: []Variable{{"tool", "action.tool"}}, Expression: `variables.tool == "tranfer"`}, []string{"never"}},
		{"a tool that is a number", every(`action.tool == 1`), []string{"never 1"}},
		{"an unknown field of the action", every(`action.tol == "ping"`), []string{"an action has no", `did you mean "tool"`}},
		{"an unknown field of the agent", every(`action.agent.name == "a"`), []string{"an agent has no"}},
		{"a field of a text", every(`action.agent.id.x == "a"`), []string{"is a string and has no"}},
		{"an unknown field of a plan step", every(`action.plan.steps.all(s, s.tools == "a")`), []string{"a plan step has no"}},
		{"an unknown key of the scope", every(`action.tool in scope.tool`), []string{"scope has no"}},
		{"an unknown deeper key of the scope", every(`scope.limits.dayly > 1`), []string{"scope.limits has no", `did you mean "daily"`}},
		{"arguments of every tool", every(`args.to == "a"`), []string{"not limited to tools", `declare it: email_customer, transfer`}},
		{"arguments by the long way", every(`action.arguments.to == "a"`), []string{"not limited to tools"}},
		{"arguments by index", every(`args["to"] == "a"`), []string{"not limited to tools"}},
		{"arguments by membership", every(`"to" in args`), []string{"not limited to tools"}},
		{"an undeclared argument", on(`args.ammount < 5`), []string{"does not declare", `did you mean "amount"`}},
		{"an argument that one tool lacks", Gate{Name: "g", Tools: []string{"transfer", "email_customer"}, Expression: `args.amount < 5`}, []string{`"email_customer" does not declare argument "amount"`}},
		{"arguments of a tool that declares none", Gate{Name: "g", Tools: []string{"ping"}, Expression: `args.to == "a"`}, []string{"declares no arguments"}},
		{"a computed argument", on(`args[facts.name] == "a"`), []string{"must be a literal"}},
		{"an unknown tool in match", Gate{Name: "g", Tools: []string{"tranfer"}, Expression: "now > 0"}, []string{"unknown tool", `did you mean "transfer"`}},
		{"a tool that is matched twice", Gate{Name: "g", Tools: []string{"ping", "ping"}, Expression: "now > 0"}, []string{"named twice"}},
		{"a match of nothing", Gate{Name: "g", Tools: []string{}, Expression: "now > 0"}, []string{"matches no tool"}},
		{"a gate without a name", Gate{Expression: "now > 0"}, []string{"needs a name"}},
		{"an unstable reason", Gate{Name: "g", Expression: "now > 0", Reason: "Not So"}, []string{"not a stable code"}},
		{"a variable that nobody reads", Gate{Name: "g", Variables: []Variable{{"a", "1"}}, Expression: "now > 0"}, []string{`variable "a" is not used`}},
		{"a variable that only itself could read", Gate{Name: "g", Variables: []Variable{{"a", "variables.a"}}, Expression: "now > 0"}, []string{"undeclared reference to 'variables'"}},
		{"a variable that is read too early", Gate{Name: "g", Variables: []Variable{{"a", "variables.b"}, {"b", "1"}}, Expression: "variables.a > 0"}, []string{"undeclared reference"}},
		{"a variable that is named twice", Gate{Name: "g", Variables: []Variable{{"a", "1"}, {"a", "2"}}, Expression: "variables.a > 0"}, []string{"another variable"}},
		{"a variable that is no identifier", Gate{Name: "g", Variables: []Variable{{"a-b", "1"}}, Expression: "now > 0"}, []string{"not an identifier"}},
		{"a variable without expression", Gate{Name: "g", Variables: []Variable{{"a", ""}}, Expression: "variables.a > 0"}, []string{"empty"}},
		{"a misspelt variable", Gate{Name: "g", Variables: []Variable{{"amount", "1"}}, Expression: "variables.amonut > 0"}, []string{"undeclared reference", `did you mean "amount"`}},
		{"a message expression that is not text", Gate{Name: "g", Expression: "now > 0", MessageExpression: "now"}, []string{"of type int, want string"}},
		{"a message expression of any type", Gate{Name: "g", Expression: "now > 0", MessageExpression: "facts.text"}, []string{"of type dyn, want string", "string("}},
		{"an argument in a message only", Gate{Name: "g", Expression: "now > 0", MessageExpression: `string(args.to)`}, []string{"not limited to tools"}},
		{"a regular expression of many steps", every(`action.tool.matches("` + strings.Repeat("a{900}", 12) + `")`), []string{"none may have more than 10000"}},
		{"a bad regular expression", every(`action.tool.matches("(")`), []string{"invalid matches argument"}},
		{"a bad duration", every(`duration("1x") > duration("1s")`), []string{"invalid duration"}},
		{"three nested comprehensions", on(`args.items.all(a, a.all(b, b.all(c, c == 1)))`), []string{"comprehension exceeds nesting limit"}},
		{"a time zone", every(`timestamp(now).getHours("Europe/Berlin") > 8`), []string{"time zone"}},
		{"a time zone on any type", every(`facts.when.getHours("Europe/Berlin") > 8`), []string{"time zone"}},
		{"encoders", every(`base64.encode(b"a") == "x"`), []string{"undeclared reference"}},
		{"network functions", every(`ip("127.0.0.1") == ip("127.0.0.1")`), []string{"undeclared reference"}},
		{"a cost that is always too high", every(expensive()), []string{"costs at least"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, problems := Compile([]Gate{tt.gate}, schema())
			if p != nil || !has(problems, false, tt.parts...) {
				t.Errorf("Compile(%q) = %v, want a problem with %q", tt.gate.Expression, problems, tt.parts)
			}
		})
	}
}

// expensive is a loop in a loop over literal lists.
func expensive() string {
	list := "[" + strings.TrimSuffix(strings.Repeat("1,", 1500), ",") + "]"
	return list + ".map(a, " + list + ".map(b, a + b)).size() > 0"
}

func TestCompileReportsEveryProblemOfEveryGate(t *testing.T) {
	p, problems := Compile([]Gate{
		{Name: "a", Expression: "fact.x == 1 && arg.y == 2"},
		{Name: "a", Expression: `consequence.source == "x" && state.pins.y == "z"`, Reason: "X"},
		{Name: "b", Variables: []Variable{{"v", "now +"}}, Expression: "variables.v == 1", MessageExpression: "1"},
	}, schema())
	if p != nil {
		t.Error("a program came of gates with problems")
	}
	want := []string{"a expression", "a expression", "a reason", "a name", "a expression", "a expression",
		"b variables[0].expression", "b message_expression"}
	for _, w := range want {
		found := false
		for i, p := range problems {
			if p.Gate+" "+p.Field == w {
				problems = append(problems[:i:i], problems[i+1:]...)
				found = true
				break
			}
		}
		if !found {
			t.Errorf("no problem %q is left in %v", w, problems)
		}
	}
	if len(problems) > 0 {
		t.Errorf("more problems than expected: %v", problems)
	}
}

func TestProblemsHaveAPlace(t *testing.T) {
	tests := []struct {
		name, expression string
		line, column     int
		snippet          string
	}{
		{"an unknown root", "now > 0 &&\n\tfact.inside == true", 2, 2, "\tfact.inside == true\n\t^"},
		{"an unknown key", "now > 0 && consequence.blast == 'a'", 1, 23, "now > 0 && consequence.blast == 'a'\n                      ^"},
		{"an unknown member", "now > 0 &&\n  action.tool == 'x'", 2, 18, "  action.tool == 'x'\n                 ^"},
		{"the end", "now >", 1, 6, "now >\n     ^"},
		{"behind a wide letter", "'é' == 'é' && fact.x == 1", 1, 15, "'é' == 'é' && fact.x == 1\n              ^"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, problems := Compile([]Gate{{Name: "g", Expression: tt.expression}}, schema())
			if len(problems) == 0 {
				t.Fatal("no problem")
			}
			p := problems[0]
			if p.Line != tt.line || p.Column != tt.column || p.Snippet != tt.snippet {
				t.Errorf("got %d:%d\n%s\nwant %d:%d\n%s", p.Line, p.Column, p.Snippet, tt.line, tt.column, tt.snippet)
			}
		})
	}
}

func TestCompileWarns(t *testing.T) {
	tests := []struct {
		name, expression string
		parts            []string // nil: no warning
	}{
		{"two facts as alternatives", `facts.inside == true || facts.allowed == true`, []string{"compensates", "facts.inside", "facts.allowed"}},
		{"two records as alternatives", `state.evidence.ci.status == "pass" || state.evidence.scan.status == "pass"`, []string{"compensates"}},
		{"a fact and a record, one of them tested", `has(facts.inside) || state.evidence.ci.status == "pass"`, []string{"compensates"}},
		{"alternatives in a longer chain", `facts.inside == true || now > 5 || facts.allowed == true`, []string{"compensates"}},
		{"alternatives by negation", `!(facts.inside == false && facts.allowed == false)`, []string{"compensates"}},
		{"one fact with two values", `facts.kind == "a" || facts.kind == "b"`, nil},
		{"one record read twice", `state.evidence.ci.status == "pass" || state.evidence.ci.time > 5`, nil},
		{"facts in conjunction", `facts.inside == true && facts.allowed == true`, nil},
		{"an error beside true", `args.amount < 5 || true`, []string{"can pass while args.amount is absent"}},
		{"true beside an error", `now > 5 || args.amount < 5`, []string{"can pass while args.amount is absent"}},
		{"two arguments as alternatives", `args.amount < 5 || args.to == "a"`, []string{"can pass while"}},
		{"an error under negation", `!(now < 5 && args.amount > 5)`, []string{"can pass while args.amount"}},
		{"an error in a compared conjunction", `(now < 5 && args.amount > 5) == false`, []string{"can pass while args.amount"}},
		{"a setting beside true", `state.settings.scope_ok == true || now > 5`, []string{"can pass while state.settings.scope_ok"}},
		{"an absence that was asked for", `!has(args.amount) || args.amount < 5`, nil},
		{"an absence that has a default", `args.?amount.orValue(0) < 5 || now > 5`, nil},
		{"what is always there", `consequence.source == "declared" || action.tool == "transfer" || scope.limits.daily > 5`, nil},
		{"an error beside false only", `now > 5 && args.amount < 5`, nil},
		{"an argument of any type that is unequal", `args.to != "a"`, []string{"another type"}},
		{"a fact that is not true", `facts.inside != true`, []string{"another type"}},
		{"two places of any type", `args.to != facts.owner`, nil},
		{"places of different types", `state.pins.context != state.counters.spent`, []string{"string and number"}},
		{"an equality that is negated", `!(args.to == "a")`, []string{"another type"}},
		{"an inequality that is negated", `!(args.to != "a")`, nil},
		{"a property that is unequal", `consequence.source != "declared"`, nil},
		{"a tool that is unequal", `action.tool != "ping"`, nil},
		{"what is not null", `args.to != null`, nil},
		{"all of a list that may be empty", `args.items.all(i, i > 0)`, []string{"all() of nothing", "args.items"}},
		{"all of facts that may be empty", `facts.names.all(i, i.startsWith("a"))`, []string{"all() of nothing"}},
		{"all of a plan that may be empty", `action.plan.steps.all(s, s.tool == "ping")`, []string{"all() of nothing"}},
		{"all with index of a list that may be empty", `args.items.all(i, v, v > i)`, []string{"all() of nothing"}},
		{"all arguments", `args.all(k, args[k] == 1)`, []string{"all() of nothing"}},
		{"not one of a list that may be empty", `!args.items.exists(i, i > 0)`, []string{"negation"}},
		{"one of a list", `args.items.exists(i, i > 0)`, nil},
		{"all of a list with a size", `size(args.items) > 0 && args.items.all(i, i > 0)`, nil},
		{"all of a list with a size by method", `args.items.size() > 0 && args.items.all(i, i > 0)`, nil},
		{"all of a list that is not empty", `args.items != [] && args.items.all(i, i > 0)`, []string{"another type"}},
		{"all of the scope", `scope.roots.all(r, r.startsWith("/"))`, nil},
		{"all of a literal", `[1, 2].all(i, i > 0)`, nil},
		{"arithmetic with a double", `args.amount * 1.5 < 5`, []string{"int or a double", "double(args.amount)"}},
		{"arithmetic with a counter", `args.amount + state.counters.spent < 5`, []string{"double(state.counters.spent)"}},
		{"arithmetic in doubles", `double(args.amount) + double(state.counters.spent) < 5.0`, nil},
		{"arithmetic with the time", `now - 5 > 10`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, problems := Compile([]Gate{limited(tt.expression)}, schema())
			if p == nil {
				t.Fatalf("Compile(%q) refuses: %v", tt.expression, problems)
			}
			if tt.parts == nil && len(problems) > 0 {
				t.Errorf("Compile(%q) = %v, want nothing", tt.expression, problems)
			}
			if tt.parts != nil && !has(problems, true, tt.parts...) {
				t.Errorf("Compile(%q) = %v, want a warning with %q", tt.expression, problems, tt.parts)
			}
		})
	}
}

func TestWarningsSeeThroughVariables(t *testing.T) {
	g := limited(`variables.a || variables.b`)
	g.Variables = []Variable{{"a", "facts.inside == true"}, {"b", "facts.allowed == true"}}
	if _, problems := Compile([]Gate{g}, schema()); !has(problems, true, "compensates") {
		t.Errorf("got %v, want a warning of compensation", problems)
	}
}

func TestCompileAccepts(t *testing.T) {
	for _, e := range []string{
		`args.to.endsWith("@" + scope.domain)`,
		`action.arguments.to == "a"`,
		`"to" in args && args.to == "a"`,
		`args.details.deep.er == 1`,
		`state.evidence["ci"].status in ["pass"]`,
		`state.evidence.ci.pins.context == state.pins.context`,
		`scope.limits[action.tool] > 5`,
		`consequence.blast_radius in ["task", "record"]`,
		`timestamp(now).getHours() < 20`,
		`action.origins["/to"] == "user"`,
		`action.plan.steps[0].tool == "transfer"`,
		`action.plan.steps.exists(s, s.arguments.anything == 1)`,
		`cel.bind(a, args, a.to == "x")`,
		`args.?to.optMap(v, v == "x").orValue(false)`,
		`args.to.matches("^[a-z]+$")`,
		`args.to.matches("^[a-z]{2,8}(x{3})+$")`,
		`matches(string(args.to), "a{2}")`,
		`regex.extract(string(args.to), "a{2}(b)").hasValue()`,
		`sets.contains(["a"], [string(args.to)])`,
		`math.greatest(1, 2) == 2`,
		`regex.extract(string(args.to), "a(b)").hasValue()`,
		`[3, 1].sort() == [1, 3]`,
		`args.items.map(x, x.price).size() > 0`,
		`[1, 2].transformMap(i, v, v * i).size() == 2`,
	} {
		if p, problems := Compile([]Gate{limited(e)}, schema()); p == nil {
			t.Errorf("Compile(%q) = %v", e, problems)
		}
	}
}

func TestAProblemIsOneLine(t *testing.T) {
	_, problems := Compile([]Gate{{Name: "g", Expression: "fact.x == 1"}, {Name: "h", Expression: "true", Reason: "X"}}, Schema{})
	want := []string{
		`cel: gate g: expression:1:1: undeclared reference to 'fact' (did you mean "facts"?)`,
		`cel: gate h: reason: reason "X" is not a stable code (lower-case letters, digits and underscores, a letter first)`,
	}
	for i, w := range want {
		if i >= len(problems) || problems[i].Error() != w {
			t.Errorf("got %v, want %q", problems, want)
		}
	}
}

func TestAProblemInAVariableIsReportedOnce(t *testing.T) {
	g := limited(`variables.v.x == 1 && variables.v.y == 2`)
	g.Variables = []Variable{{"v", "args.nothing"}}
	if _, problems := Compile([]Gate{g}, schema()); len(problems) != 1 || problems[0].Field != "variables[0].expression" {
		t.Errorf("got %v, want one problem of the variable", problems)
	}
}

func TestASchemaWithoutNamesKnowsNothing(t *testing.T) {
	for _, e := range []string{`state.settings.a == 1`, `scope.a == 1`, `action.tool == "a"`, `state.evidence.a.status == "pass"`} {
		if p, _ := Compile([]Gate{{Name: "g", Expression: e}}, Schema{}); p != nil {
			t.Errorf("%s compiles without a schema", e)
		}
	}
	if p, _ := Compile([]Gate{limited(`args.a == 1`)}, Schema{}); p != nil {
		t.Error("an argument is read without a schema")
	}
}
