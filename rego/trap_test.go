package rego_test

// Each of these is a behaviour of OPA that this package defends against, shown
// on OPA alone, and beside it that the defence holds. When an upgrade changes
// the behaviour the first half fails: then the defence may go.

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	oparego "github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/conjunct-project/conjunct/rego"
)

func opa(t testing.TB, query, module string, options ...func(*oparego.Rego)) *oparego.Rego {
	t.Helper()
	return oparego.New(append([]func(*oparego.Rego){oparego.Query(query), oparego.Module("p.rego", module)}, options...)...)
}

func opaEval(t testing.TB, input any, query, module string, options ...func(*oparego.Rego)) (oparego.ResultSet, error) {
	t.Helper()
	return opa(t, query, module, append(options, oparego.Input(input))...).Eval(context.Background())
}

func TestTrapABuiltinErrorIsUndefinedByDefault(t *testing.T) {
	module, in := "package p\n\nx if startswith(input.facts.x, \"a\")\n\ny if not startswith(input.facts.x, \"a\")", tree{"facts": tree{"x": 1}}
	if rs, err := opaEval(t, in, "data.p.x", module); len(rs) != 0 || err != nil {
		t.Errorf("got %v, %v, want OPA to call an error undefined", rs, err)
	}
	if rs, err := opaEval(t, in, "data.p.y", module); len(rs) != 1 || err != nil {
		t.Errorf("got %v, %v, want OPA to hold `not` over an error for true", rs, err)
	}
	_, err := gate(t, `g := {"verdict": "pass", "reasons": []} if not lower(input.facts.x) == "a"`).
		Eval(context.Background(), "gates.g", rego.NewInput(tree{"facts": tree{"x": 1.0}}))
	if failureOf(t, err).Code == rego.Undefined {
		t.Errorf("got %v, want a failure that is not undefined", err)
	}
}

func TestTrapAnErrorIsHiddenByTheRuleIndex(t *testing.T) {
	module := "package p\n\nx contains 1 if startswith(input.x, \"a\")"
	q, err := opa(t, "data.p.x", module, oparego.StrictBuiltinErrors(true)).PrepareForEval(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	in := oparego.EvalInput(tree{"x": 1})
	if _, err := q.Eval(context.Background(), in); err != nil {
		t.Errorf("got %v, want the index to leave the rule out before it errs", err)
	}
	if _, err := q.Eval(context.Background(), in, oparego.EvalRuleIndexing(false)); err == nil {
		t.Error("got no error without the index, want one: native floors hold to this meaning")
	}
}

func TestTrapUndefinedIsNoError(t *testing.T) {
	if rs, err := opaEval(t, tree{}, "data.p.x", "package p\n\nx if input.y"); len(rs) != 0 || err != nil {
		t.Errorf("got %v, %v, want an empty result and no error", rs, err)
	}
	if rs, err := opaEval(t, tree{}, "data.p.none", "package p"); len(rs) != 0 || err != nil {
		t.Errorf("got %v, %v for a rule that is not there, want an empty result and no error", rs, err)
	}
}

func TestTrapALoneFalseInAQueryIsAValue(t *testing.T) {
	rs, err := opaEval(t, tree{"x": "b"}, `startswith(input.x, "a")`, "package p")
	if len(rs) != 1 || err != nil {
		t.Errorf("got %v, %v, want one result whose value is false", rs, err)
	}
}

const reordered = "package p\n\n# METADATA\n# title: The title\nfloors contains \"z\" if input.a\n\nfloors contains \"m\" if input.b\n\nfloors contains \"a\" if input.c"

func TestTrapPartialEvaluationLosesPlacesAndTitlesAndReorders(t *testing.T) {
	module, err := ast.ParseModuleWithOpts("p.rego", reordered, ast.ParserOptions{ProcessAnnotation: true})
	if err != nil {
		t.Fatal(err)
	}
	pq, err := oparego.New(oparego.Query("data.p.floors"), oparego.ParsedModule(module), oparego.Unknowns([]string{"input"})).Partial(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var heads []string
	for _, m := range pq.Support {
		if len(m.Annotations) > 0 {
			t.Errorf("got annotations %v in a residual module, want none", m.Annotations)
		}
		for _, r := range m.Rules {
			heads = append(heads, r.Head.Key.String())
			if len(r.Annotations) > 0 || r.Location != nil && r.Location.Row > 1 && r.Location.File == "p.rego" {
				t.Errorf("got %v at %v, want neither annotations nor the place in the source", r.Annotations, r.Location)
			}
		}
	}
	if slices.Equal(heads, []string{`"z"`, `"m"`, `"a"`}) {
		t.Errorf("got %v, want another order than the source", heads)
	}
}

func TestTrapMetadataIsDroppedUnlessAskedFor(t *testing.T) {
	for _, process := range []bool{false, true} {
		m, err := ast.ParseModuleWithOpts("p.rego", reordered, ast.ParserOptions{ProcessAnnotation: process})
		if err != nil {
			t.Fatal(err)
		}
		if got := len(m.Annotations) > 0; got != process {
			t.Errorf("ProcessAnnotation %v: got annotations %v, want %v", process, got, process)
		}
	}
}

func TestTrapPartialEvaluationLeavesReferencesToTheSource(t *testing.T) {
	module := "package p\n\nfloors contains \"f\" if h == 2\n\nh := 1 if input.a\nelse := 2 if input.b"
	pq, err := opa(t, "data.p.floors", module, oparego.Unknowns([]string{"input"})).Partial(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, m := range pq.Support {
		text.WriteString(m.String())
	}
	if !strings.Contains(text.String(), "data.p.h") {
		t.Errorf("got residual\n%s\nwant a reference to data.p.h, which stands in no residual module", text.String())
	}
}

func TestTrapPartialEvaluationDropsWhatDoesNotTypeCheckEvenBelowNot(t *testing.T) {
	schema := ast.NewSchemaSet()
	schema.Put(ast.SchemaRootRef, tree{"type": "object", "properties": tree{"x": tree{"type": "string"}, "y": tree{}}})
	module := "package p\n\nfloors contains \"f\" if {\n\tinput.y\n\tnot input.x in data.numbers\n}"
	residual := func(options ...func(*oparego.Rego)) int {
		pq, err := opa(t, "data.p.floors", module, append(options, oparego.Unknowns([]string{"input"}), oparego.Data(tree{"numbers": []any{1, 2}}))...).Partial(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		return len(pq.Support)
	}
	if got := residual(); got != 1 {
		t.Errorf("got %d residual modules without types, want 1", got)
	}
	if got := residual(oparego.Schemas(schema)); got != 0 {
		t.Errorf("got %d residual modules with types, want none: the floor is gone, although it holds for every y", got)
	}
}

func TestTrapNotOverACallIsUndefinedWhereNotOverAnEqualityHolds(t *testing.T) {
	module := "package p\n\nx if not input.a > 1\n\ny if not input.a == 1\n\nz if not input.a"
	for rule, want := range map[string]int{"x": 0, "y": 1, "z": 1} {
		if rs, err := opaEval(t, tree{}, "data.p."+rule, module); len(rs) != want || err != nil {
			t.Errorf("%s with a absent: got %v, %v, want %d results", rule, rs, err, want)
		}
	}
}

func TestTrapASchemaFindsMisspeltPropertiesOnly(t *testing.T) {
	schema := ast.NewSchemaSet()
	schema.Put(ast.SchemaRootRef, tree{"type": "object", "additionalProperties": false, "properties": tree{"grade": tree{"type": "string", "enum": []any{"costly", "reversible"}}}})
	compile := func(condition string) bool {
		m := ast.MustParseModule("package p\n\nx if " + condition)
		c := ast.NewCompiler().WithSchemas(schema)
		c.Compile(map[string]*ast.Module{"p.rego": m})
		return !c.Failed()
	}
	if compile(`input.grad == "costly"`) {
		t.Error("got no error for input.grad, want one")
	}
	if !compile(`input.grade == "cosstly"`) {
		t.Error("got an error for a value outside the enum, want none: then the linter's own check may go")
	}
}

func TestTrapBuiltinsThatReadTheWallClockAreNotFlagged(t *testing.T) {
	flagged := map[string]bool{}
	for _, b := range ast.CapabilitiesForThisVersion().Builtins {
		flagged[b.Name] = b.Nondeterministic
	}
	if f, known := flagged["crypto.x509.parse_and_verify_certificates"]; !known || f {
		t.Errorf("got flagged %v, known %v, want it known and not flagged: an allow-list is needed", f, known)
	}
	if !flagged["http.send"] {
		t.Error("got http.send not flagged, want it flagged")
	}
}

func TestTrapTwoRulesForOneMemberAreOneMember(t *testing.T) {
	module := "package p\n\nfloors contains {\"name\": \"f\"} if input.a\n\nfloors contains {\"name\": \"f\"} if input.b"
	rs, err := opaEval(t, tree{"a": true, "b": true}, "data.p.floors", module)
	if err != nil || len(rs) != 1 || len(rs[0].Expressions[0].Value.([]any)) != 1 {
		t.Errorf("got %v, %v, want one member: nothing in the value tells that it is named twice", rs, err)
	}
}

func TestTrapAConflictIsAnErrorOnlyWhereItHappens(t *testing.T) {
	module := "package p\n\nx := 1 if input.a\n\nx := 2 if input.b"
	if rs, err := opaEval(t, tree{"a": true}, "data.p.x", module); len(rs) != 1 || err != nil {
		t.Errorf("got %v, %v, want a value: the compiler does not see the conflict", rs, err)
	}
	_, err := opaEval(t, tree{"a": true, "b": true}, "data.p.x", module)
	var e *topdown.Error
	if !errors.As(err, &e) || e.Code != topdown.ConflictErr {
		t.Errorf("got %v, want %s", err, topdown.ConflictErr)
	}
}

func TestTrapAFastEvaluationIgnoresADoneContext(t *testing.T) {
	q, err := opa(t, "data.p.x", "package p\n\nx := 1").PrepareForEval(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for range 10_000 {
		if rs, _ := q.Eval(ctx); len(rs) == 1 {
			return
		}
	}
	t.Error("got no value in 10000 evaluations with a cancelled context, want one now and then: OPA looks from beside")
}

func TestTrapAFunctionOfKnownValueGoesOnToItsElse(t *testing.T) {
	module := "package p\n\nlevel(x) := 2 if x == \"a\"\nelse := 1\n\nasked if level(input.x, 1)\n\ncompared if {\n\ty := level(input.x)\n\ty == 1\n}"
	in := tree{"x": "a"}
	if rs, err := opaEval(t, in, "data.p.asked", module); len(rs) != 1 || err != nil {
		t.Errorf("got %v, %v, want OPA to find level(\"a\") equal to 1: partial evaluation writes a comparison so", rs, err)
	}
	if rs, err := opaEval(t, in, "data.p.compared", module); len(rs) != 0 || err != nil {
		t.Errorf("got %v, %v, want undefined: level(\"a\") is 2", rs, err)
	}
}
