package bundle

import (
	"context"
	"fmt"
	"path"
	"time"

	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/rego"
)

// Step is what one rule did.
type Step = rego.Step

// Explanation is what the rules of one entry point did with an input.
type Explanation struct {
	Entry string `json:"entry"`
	Steps []Step `json:"steps"`
	// Err says that the evaluation failed, and why.
	Err string `json:"error,omitempty"`
}

// Explain evaluates the bundle's rules once more in topdown, on the input as
// the decision saw it, and tells what each rule did. It is for people: nothing
// in it decides.
func (b *Bundle) Explain(ctx context.Context, in engine.Input, d *engine.Decision, low bool) []Explanation {
	in.Consequence = d.Consequence
	doc := in.Document()
	doc["flags"] = map[string]any{"low_confidence": low}
	full := rego.NewInput(doc)
	entries := []string{"severity.base", "severity.modifiers", "severity.raise", "floors.floors"}
	for _, g := range b.Gates(in.Action.Tool) {
		entries = append(entries, rego.Gates+"."+g.Name)
	}
	var out []Explanation
	add := func(entry string, in rego.Input) {
		steps, err := b.program.Trace(ctx, entry, in)
		e := Explanation{Entry: entry, Steps: steps}
		if err != nil {
			e.Err = err.Error()
		}
		if len(steps) > 0 || err != nil {
			out = append(out, e)
		}
	}
	for _, e := range entries {
		add(e, full)
	}
	for _, g := range b.gates {
		if g.cel && d.Gate(g.Name).Name != "" {
			out = append(out, Explanation{Entry: "cel." + g.Name, Steps: []Step{b.celStep(g, d.Gate(g.Name))}})
		}
	}
	if d.Answered() != engine.NoCause {
		add("transition.next", rego.NewInput(map[string]any{"flags": d.Flags().Document(d.Answered())}))
	}
	return out
}

// celStep is what a CEL gate found, with its expression.
func (b *Bundle) celStep(g ownGate, r engine.GateResult) Step {
	s := Step{Rule: g.rule, Head: g.expression, Held: r.Verdict == engine.Pass}
	if !s.Held {
		s.Failed, s.Row = fmt.Sprintf("%s: %s", r.Verdict, g.expression), g.rule.Row
	}
	return s
}

// TestRego runs the Rego tests of the bundle with OPA's own runner.
func (b *Bundle) TestRego(ctx context.Context, tests map[string][]byte, run string, timeout time.Duration) ([]rego.TestResult, []rego.Coverage, error) {
	suite := rego.Suite{Modules: b.modules, Data: b.data, Run: run, Timeout: timeout}
	for name, text := range tests {
		suite.Tests = append(suite.Tests, rego.Module{File: name, Text: string(text)})
	}
	results, coverage, problems := rego.RunTests(ctx, suite)
	if len(problems) > 0 {
		e := &LoadError{Path: b.Path}
		for _, p := range problems {
			e.Problems = append(e.Problems, Problem{File: path.Join(b.Path, p.File), Row: p.Row, Col: p.Col, Code: p.Code, Message: p.Message, Hint: p.Hint})
		}
		return nil, nil, e
	}
	return results, coverage, nil
}

// CheckTests compiles the Rego tests of the bundle at a path beside its
// modules, as the runner would, and runs none.
func CheckTests(path string, tests map[string][]byte) ([]Problem, error) {
	files, err := Open(path)
	if err != nil || len(tests) == 0 {
		return nil, err
	}
	var modules []rego.Module
	for p, text := range files.Content {
		if isModule(p) {
			modules = append(modules, rego.Module{File: p, Text: string(text)})
		}
	}
	for p, text := range tests {
		modules = append(modules, rego.Module{File: p, Text: string(text)})
		files.Content[p] = text
	}
	l := &loader{files: files}
	l.addRego(rego.CheckTests(modules))
	for i := range l.Problems {
		l.locate(&l.Problems[i])
	}
	return l.Problems, nil
}
