package rego_test

import (
	"flag"
	"strings"
	"testing"

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

// fullShape is a small input with every kind of place in it.
func fullShape() map[string]*rego.Shape {
	text := rego.Leaf("string")
	return map[string]*rego.Shape{
		"action": rego.Object(map[string]*rego.Shape{
			"tool": rego.OneOf("deploy", "read_file"), "trace_id": text,
			"arguments": rego.Object(map[string]*rego.Shape{"amount": rego.Any().Maybe(), "to": text.Maybe()}),
			"agent":     rego.Object(map[string]*rego.Shape{"id": text.Maybe()}).Maybe(),
			"plan":      rego.Any().Maybe(),
		}),
		"consequence": rego.Object(map[string]*rego.Shape{
			"reversibility": rego.OneOf("irreversible", "costly", "reversible"), "blast_radius": rego.OneOf("external", "system", "record", "task"),
			"source": rego.OneOf("undeclared", "policy", "inferred", "declared")}),
		"facts": rego.Any(),
		"state": rego.Object(map[string]*rego.Shape{
			"settings": rego.Object(map[string]*rego.Shape{"deadline": rego.Any()}),
			"evidence": rego.Object(map[string]*rego.Shape{"ci": rego.Object(map[string]*rego.Shape{"status": rego.OneOf("pass", "fail", "unknown")}).Maybe()}),
		}),
		"now": rego.Leaf("number"),
	}
}

func shapes() map[string]*rego.Shape {
	full := rego.Object(fullShape())
	severity := fullShape()
	severity["flags"] = rego.Object(map[string]*rego.Shape{"low_confidence": rego.Leaf("boolean")})
	return map[string]*rego.Shape{
		rego.Severity: rego.Object(severity), rego.Floors: full, rego.Gates: full,
		rego.Transition: rego.Object(map[string]*rego.Shape{"flags": rego.Object(map[string]*rego.Shape{"cause": rego.OneOf("context", "own_block"), "retry_left": rego.Leaf("boolean")})}),
		rego.Authority:  rego.Object(map[string]*rego.Shape{"op": rego.OneOf("review", "change"), "role": rego.Leaf("string"), "qualified": rego.Leaf("boolean")}),
	}
}

// rest completes a package body to a bundle that loads.
var rest = map[string]string{
	rego.Severity:   `base := "execute"`,
	rego.Transition: `default next := {"transition": "stop"}`,
	rego.Authority:  `default may := false`,
}

var scope = tree{"conjunct": tree{"scope": tree{
	"tools": []any{"deploy", "read_file"}, "misspelt": []any{"deploi"}, "limit": 5.0, "numbers": []any{1.0, 2.0},
	"nested": tree{"list": []any{tree{"tool": "deploy", "max": 3.0}}},
}}}

// source is a bundle with the given package bodies, each in its own file, from
// the second row on.
func source(bodies map[string]string, gates ...string) rego.Source {
	src := rego.Source{Data: scope, Input: shapes(), Gates: gates}
	for _, pkg := range rego.Protocol() {
		body, ok := bodies[pkg]
		if !ok {
			body, ok = rest[pkg]
		}
		if ok {
			src.Modules = append(src.Modules, rego.Module{File: pkg + ".rego", Text: "package conjunct." + pkg + "\n" + body + "\n"})
		}
	}
	return src
}

func mustLoad(t testing.TB, src rego.Source) *rego.Program {
	t.Helper()
	p, problems := rego.Load(src)
	if len(problems) > 0 {
		t.Fatalf("load: got problems %v, want none, for\n%v", problems, src.Modules)
	}
	return p
}

// place is where a problem has to be, and what it has to say.
type place struct {
	file          string
	row, col      int
	code          string
	message, hint string // parts
}

// wantProblem holds that exactly one problem is found, and which.
func wantProblem(t *testing.T, what string, got []rego.Problem, want place) {
	t.Helper()
	if len(got) != 1 {
		t.Fatalf("got %d problems %+v, want one, %+v, for\n%s", len(got), got, want, what)
	}
	p := got[0]
	if p.File != want.file || p.Row != want.row || p.Col != want.col || p.Code != want.code || !strings.Contains(p.Message, want.message) || !strings.Contains(p.Hint, want.hint) {
		t.Errorf("got %+v, want %+v, for\n%s", p, want, what)
	}
}

func show(bodies map[string]string) string {
	var out strings.Builder
	for pkg, body := range bodies {
		out.WriteString("package conjunct." + pkg + "\n" + body + "\n")
	}
	return out.String()
}
