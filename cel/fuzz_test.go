package cel

import (
	"context"
	"strings"
	"testing"

	"github.com/conjunct-project/conjunct/engine"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
)

// FuzzCompile holds that nothing panics, that a finding is what it says, and that
// a gate without warnings which must read an argument never passes on an input
// with nothing in it.
func FuzzCompile(f *testing.F) {
	for _, e := range []string{
		`args.amount < 5`, `args.amount < 5 || true`, `!(now < 5 && args.amount > 5)`, `args.to == "a" && args.amount == 1`,
		`has(args.to) ? args.to == "a" : true`, `args.items.all(i, i > 0)`, `args.?to.orValue("") == ""`, `"to" in args`,
		`cel.bind(a, args, a.to == "b")`, `(args.to == "a") == (args.to == "b")`, `[args.to][0] == "a"`, `args["to"].matches("^a")`,
		`facts.x.y[0] != null`, `state.evidence.ci.status == "pass"`, `type(args.to) == string`, `{"a": args.to}.size() == 1`, `now >`, "\x00", "é",
	} {
		f.Add(e)
	}
	f.Fuzz(func(t *testing.T, expression string) {
		p, problems := Compile([]Gate{limited(expression)}, schema())
		if p == nil {
			if len(problems) == 0 {
				t.Fatal("refused without a problem")
			}
			return
		}
		full := p.Test(context.Background(), "g", input("transfer", transfer()))
		empty := p.Test(context.Background(), "g", &engine.Input{})
		for _, finding := range []engine.Finding{full, empty} {
			if (finding.Verdict == engine.Pass) != (len(finding.Reasons) == 0) {
				t.Errorf("%q: a pass with reasons, or something else without: %+v", expression, finding)
			}
		}
		if len(problems) == 0 && empty.Verdict == engine.Pass && mustReadArgument(p.gates["g"].expression) {
			t.Errorf("%q passes on nothing", expression)
		}
	})
}

// mustReadArgument reports whether an expression has no part that may be skipped
// and reads an argument by name.
func mustReadArgument(u *unit) bool {
	skips := false
	u.each(func(e ast.Expr) {
		skips = skips || e.Kind() == ast.ComprehensionKind || e.Kind() == ast.SelectKind && e.AsSelect().IsTestOnly()
		if e.Kind() == ast.CallKind {
			switch name := e.AsCall().FunctionName(); name {
			case operators.Conditional, operators.In, operators.OptIndex, operators.OptSelect, "or", "orValue":
				skips = true
			}
		}
	})
	if skips {
		return false
	}
	for _, r := range u.list {
		if p := r.pointer(); strings.HasPrefix(p, "/action/arguments/") {
			return true
		}
	}
	return false
}
