package floors_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	oparego "github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/storage/inmem"

	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/floors"
	"github.com/conjunct-project/conjunct/rego"
)

// runReported runs the tests of reported and not yet mended bugs as well.
var runReported = flag.Bool("reported", false, "run the tests of reported bugs as well")

// reported skips a test that shows a bug which is reported and not yet mended.
// The fix removes the call.
func reported(t testing.TB, what string) {
	t.Helper()
	if !*runReported {
		t.Skip("reported: " + what)
	}
}

type tree = map[string]any

// floorShape is the input of floors as the bundle room gives it, for a registry
// with the tools a, b and c.
func floorShape() map[string]*rego.Shape {
	consequence := map[string]*rego.Shape{"source": rego.OneOf(engine.Sources()...)}
	for name, values := range engine.Properties() {
		consequence[name] = rego.OneOf(values...)
	}
	record := rego.Object(map[string]*rego.Shape{"name": rego.Leaf("string"), "status": rego.OneOf("pass", "fail", "unknown"),
		"source": rego.Leaf("string").Maybe(), "time": rego.Leaf("number")}).Maybe()
	any := rego.Any().Maybe()
	return map[string]*rego.Shape{
		"action": rego.Object(map[string]*rego.Shape{
			"trace_id": rego.Leaf("string"), "tool": rego.OneOf("a", "b", "c"), "origins": any, "plan": any,
			"agent": rego.Object(map[string]*rego.Shape{"id": rego.Leaf("string").Maybe()}).Maybe(),
			"arguments": rego.Object(map[string]*rego.Shape{"s": any, "n": any, "b": any, "l": any, "o": any,
				"amount": any, "to": any}),
		}),
		"consequence": rego.Object(consequence),
		"facts":       rego.Any(),
		"state": rego.Object(map[string]*rego.Shape{
			"settings": rego.Object(map[string]*rego.Shape{"s": rego.Any(), "n": rego.Any(), "b": rego.Any(), "l": rego.Any()}),
			"pins":     rego.Object(map[string]*rego.Shape{"context": rego.Leaf("string").Maybe()}),
			"evidence": rego.Object(map[string]*rego.Shape{"ci": record}),
			"counters": rego.Object(map[string]*rego.Shape{"sent": rego.Leaf("number").Maybe()}),
		}),
		"now": rego.Leaf("number"),
	}
}

func shapes() map[string]*rego.Shape {
	full := rego.Object(floorShape())
	severity := floorShape()
	severity["flags"] = rego.Object(map[string]*rego.Shape{"low_confidence": rego.Leaf("boolean")})
	flag := rego.Leaf("boolean")
	var causes []string
	for _, c := range engine.Causes() {
		causes = append(causes, c.String())
	}
	return map[string]*rego.Shape{
		rego.Severity: rego.Object(severity), rego.Floors: full, rego.Gates: full,
		rego.Transition: rego.Object(map[string]*rego.Shape{"flags": rego.Object(map[string]*rego.Shape{
			"cause": rego.OneOf(causes...), "retry_left": flag, "recoverable": flag, "other_component": flag, "can_ask": flag, "high_consequence": flag})}),
		rego.Authority: rego.Object(map[string]*rego.Shape{"op": rego.OneOf(engine.Ops()...), "role": rego.Leaf("string")}),
	}
}

const (
	plainBase       = `base := "execute"`
	plainTransition = `default next := {"transition": "stop"}`
	plainAuthority  = `default may := false`
)

// modules completes the named package bodies to a bundle that loads.
func modules(bodies map[string]string) []rego.Module {
	all := map[string]string{rego.Severity: plainBase, rego.Transition: plainTransition, rego.Authority: plainAuthority}
	for pkg, body := range bodies {
		all[pkg] = body
	}
	var out []rego.Module
	for _, pkg := range rego.Protocol() {
		if body, ok := all[pkg]; ok {
			out = append(out, rego.Module{File: pkg + ".rego", Text: "package conjunct." + pkg + "\n\n" + body + "\n"})
		}
	}
	return out
}

func load(bodies map[string]string, scope any) (*rego.Program, []rego.Problem) {
	return rego.Load(rego.Source{Modules: modules(bodies), Data: dataOf(scope), Input: shapes()})
}

func dataOf(scope any) tree { return tree{"conjunct": tree{"scope": scope}} }

func mustLoad(t testing.TB, bodies map[string]string, scope any) *rego.Program {
	t.Helper()
	p, problems := load(bodies, scope)
	if len(problems) > 0 {
		t.Fatalf("load: got problems %v, want none, for\n%v", problems, bodies)
	}
	return p
}

// clausesOf loads floors and returns them with their clauses.
func clausesOf(t testing.TB, body string, scope any) (*floors.Clauses, []rego.Clause) {
	t.Helper()
	p := mustLoad(t, map[string]string{rego.Floors: body}, scope)
	residual, problems := p.Residuals("floors.floors", "name", "tier")
	if len(problems) > 0 {
		t.Fatalf("residuals: got problems %v, want none, for\n%s", problems, body)
	}
	return floors.NewClauses(residual, "name"), residual
}

func notImposed(string) string { return "" }

// names lists the members that apply, "?" behind those that cannot be
// determined.
func names(matches []floors.Match) []string {
	out := []string{}
	for _, m := range matches {
		name := m.Key["name"]
		if !m.Determined {
			name += "?"
		}
		out = append(out, name)
	}
	return out
}

func nativeNames(c *floors.Clauses, in *engine.Input) []string {
	return names(c.Matches(context.Background(), in, notImposed))
}

// inputOf is an input with a tool, arguments and facts.
func inputOf(tool string, arguments, facts tree) *engine.Input {
	if arguments == nil {
		arguments = tree{}
	}
	return &engine.Input{
		Action: engine.Action{Tool: tool, Document: tree{"trace_id": "t", "call_id": "c", "tool": tool, "arguments": arguments}},
		Facts:  facts,
	}
}

// oracle evaluates floors in topdown, without anything of this repository. It
// is the meaning of a floor. Rule indexing is off: it hides builtin errors.
type oracle struct {
	queries map[string]oparego.PreparedEvalQuery
}

const wholeSet = ""

// newOracle prepares a query for every member given, and one for the whole set.
func newOracle(ms []rego.Module, data tree, strict bool, members ...map[string]string) (oracle, error) {
	parsed := map[string]*ast.Module{}
	for _, m := range ms {
		one, err := ast.ParseModuleWithOpts(m.File, m.Text, ast.ParserOptions{RegoVersion: ast.RegoV1})
		if err != nil {
			return oracle{}, err
		}
		parsed[m.File] = one
	}
	compiler := ast.NewCompiler()
	if compiler.Compile(parsed); compiler.Failed() {
		return oracle{}, compiler.Errors
	}
	o := oracle{queries: map[string]oparego.PreparedEvalQuery{}}
	store := inmem.NewFromObject(data)
	prepare := func(name, query string) error {
		q, err := oparego.New(oparego.Query(query), oparego.Compiler(compiler), oparego.Store(store), oparego.StrictBuiltinErrors(strict)).
			PrepareForEval(context.Background())
		o.queries[name] = q
		return err
	}
	if err := prepare(wholeSet, "data.conjunct.floors.floors"); err != nil {
		return o, err
	}
	for _, m := range members {
		key, err := json.Marshal(m)
		if err != nil {
			return o, err
		}
		if err := prepare(m["name"], fmt.Sprintf("data.conjunct.floors.floors[%s]", key)); err != nil {
			return o, err
		}
	}
	return o, nil
}

// holds asks for one member.
func (o oracle) holds(name string, in *engine.Input) (bool, error) {
	rs, err := o.queries[name].Eval(context.Background(), oparego.EvalInput(in.Document()), oparego.EvalRuleIndexing(false))
	return len(rs) > 0, err
}

// set lists the names in the whole set, sorted.
func (o oracle) set(in *engine.Input) ([]string, error) {
	rs, err := o.queries[wholeSet].Eval(context.Background(), oparego.EvalInput(in.Document()), oparego.EvalRuleIndexing(false))
	if err != nil || len(rs) == 0 {
		return nil, err
	}
	out := []string{}
	for _, m := range rs[0].Expressions[0].Value.([]any) {
		out = append(out, m.(tree)["name"].(string))
	}
	slices.Sort(out)
	return out, nil
}

func show(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%v", v)
	}
	return string(b)
}

// has reports whether some problem has the code, in the row, with the text.
func has(problems []rego.Problem, code string, row int, text string) bool {
	return slices.ContainsFunc(problems, func(p rego.Problem) bool {
		return p.Code == code && p.Row == row && strings.Contains(p.Message, text)
	})
}

// topdownRules asks plain OPA for rules; nil is undefined.
func topdownRules(t testing.TB, ms []rego.Module, data tree, entries ...string) func(entry string, input tree) any {
	t.Helper()
	queries := map[string]oparego.PreparedEvalQuery{}
	for _, entry := range entries {
		options := []func(*oparego.Rego){oparego.Query("data.conjunct." + entry), oparego.Store(inmem.NewFromObject(data))}
		for _, m := range ms {
			options = append(options, oparego.Module(m.File, m.Text))
		}
		q, err := oparego.New(options...).PrepareForEval(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		queries[entry] = q
	}
	return func(entry string, input tree) any {
		rs, err := queries[entry].Eval(context.Background(), oparego.EvalInput(input))
		if err != nil {
			t.Fatalf("topdown: %s: %v", entry, err)
		}
		if len(rs) == 0 {
			return nil
		}
		return rs[0].Expressions[0].Value
	}
}
