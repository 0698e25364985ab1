package rego

import (
	"cmp"
	"context"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/conjunct-project/conjunct/engine"
)

// Step is what one rule did in a traced evaluation.
type Step struct {
	Rule engine.Rule `json:"rule"`
	// Head is the rule's head as written.
	Head string `json:"head"`
	Held bool   `json:"held"`
	// Failed is the expression that did not hold, and where; empty when the rule
	// held.
	Failed string `json:"failed,omitempty"`
	Row    int    `json:"row,omitempty"`
}

// Trace evaluates an entry point in topdown and tells of every rule that was
// tried whether it held, and where it did not, in order of file and row.
func (p *Program) Trace(ctx context.Context, entry string, in Input) ([]Step, error) {
	q, ok := p.queries[entry]
	if !ok {
		return nil, nil
	}
	t := &tracer{steps: map[*ast.Rule]*Step{}, queries: map[uint64]*ast.Rule{}, program: p, entry: entry}
	_, err := q.Eval(ctx, rego.EvalParsedInput(in.value), rego.EvalQueryTracer(t), rego.EvalRuleIndexing(false), rego.EvalEarlyExit(false))
	if err != nil {
		err = failure(ctx, err)
	}
	var out []Step
	for _, s := range t.steps {
		out = append(out, *s)
	}
	slices.SortFunc(out, func(a, b Step) int {
		return cmp.Or(cmp.Compare(a.Rule.File, b.Rule.File), cmp.Compare(a.Rule.Row, b.Rule.Row), cmp.Compare(a.Head, b.Head))
	})
	return out, err
}

// tracer follows rules through a topdown evaluation.
type tracer struct {
	program *Program
	entry   string
	steps   map[*ast.Rule]*Step
	queries map[uint64]*ast.Rule // the rule whose body a query evaluates
}

func (t *tracer) Enabled() bool               { return true }
func (t *tracer) Config() topdown.TraceConfig { return topdown.TraceConfig{PlugLocalVars: false} }

func (t *tracer) TraceEvent(e topdown.Event) {
	switch node := e.Node.(type) {
	case *ast.Rule:
		t.rule(e, node)
	case *ast.Expr:
		r := t.queries[e.QueryID]
		if e.Op == topdown.FailOp && r != nil && t.steps[r] != nil && !t.steps[r].Held {
			t.steps[r].Failed = node.String()
			if node.Location != nil {
				t.steps[r].Failed, t.steps[r].Row = string(node.Location.Text), node.Location.Row
			}
		}
	}
}

func (t *tracer) rule(e topdown.Event, r *ast.Rule) {
	switch e.Op {
	case topdown.EnterOp:
		t.queries[e.QueryID] = r
		if t.steps[r] == nil {
			t.steps[r] = &Step{Rule: t.program.place(r, t.entry), Head: r.Head.String()}
		}
	case topdown.ExitOp:
		if s := t.steps[r]; s != nil {
			s.Held, s.Failed, s.Row = true, "", 0
		}
	}
}
