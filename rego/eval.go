package rego

import (
	"context"
	"errors"
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/topdown"
)

// Failure is why an evaluation gave no value. Code is stable.
type Failure struct {
	Code string
	Text string
}

func (f *Failure) Error() string { return f.Code + ": " + f.Text }

// The codes of a Failure.
const (
	Undefined   = "undefined"
	Conflict    = "conflict"
	WrongType   = "wrong_type"
	BuiltinErr  = "builtin_error"
	EvalError   = "evaluation_error"
	Timeout     = "timeout"
	Cancelled   = "cancelled"
	GateMissing = "gate_missing"
)

// query is an entry point compiled once. It is safe for concurrent use.
type query struct{ rego.PreparedEvalQuery }

// prepare compiles a query for every entry point that has rules.
func (p *Program) prepare() []Problem {
	var problems []Problem
	for pkg, names := range entries(p.gates) {
		for _, name := range names {
			key := pkg + "." + name
			if len(p.rules[key]) == 0 {
				continue
			}
			q, err := p.compile(rego.Query("data.conjunct." + key))
			if err != nil {
				problems = append(problems, fromOPA(err)...)
				continue
			}
			p.queries[key] = q
		}
	}
	return problems
}

func (p *Program) compile(what func(*rego.Rego)) (query, error) {
	prepared, err := rego.New(what, rego.Compiler(p.compiler), rego.Store(p.store), rego.StrictBuiltinErrors(true)).
		PrepareForEval(context.Background())
	return query{prepared}, err
}

// Input is a policy input in OPA's form, to be evaluated against many times.
type Input struct{ value ast.Value }

// NewInput converts a tree of plain values.
func NewInput(doc map[string]any) Input { return Input{toAST(doc)} }

// Eval evaluates one entry point, such as "gates.deploy_window". The error is a
// *Failure; undefined is one of them.
func (p *Program) Eval(ctx context.Context, entry string, in Input) (any, error) {
	q, ok := p.queries[entry]
	if !ok {
		return nil, &Failure{GateMissing, "no rule defines data.conjunct." + entry}
	}
	return q.eval(ctx, in)
}

// eval runs the query. A context that is already done is a failure even where
// OPA would finish before it looks.
func (q query) eval(ctx context.Context, in Input) (any, error) {
	if err := ctx.Err(); err != nil {
		return nil, failure(ctx, err)
	}
	rs, err := q.Eval(ctx, rego.EvalParsedInput(in.value), rego.EvalSortSets(true), rego.EvalRuleIndexing(false))
	if err == nil {
		err = ctx.Err()
	}
	switch {
	case err != nil:
		return nil, failure(ctx, err)
	case len(rs) == 0:
		return nil, &Failure{Undefined, "the rule has no value for this input"}
	case len(rs) > 1 || len(rs[0].Expressions) != 1:
		return nil, &Failure{WrongType, "the rule has more than one value"}
	}
	return rs[0].Expressions[0].Value, nil
}

func failure(ctx context.Context, err error) *Failure {
	var e *topdown.Error
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return &Failure{Timeout, "the evaluation ran out of time"}
	case ctx.Err() != nil || topdown.IsCancel(err):
		return &Failure{Cancelled, "the evaluation was cancelled"}
	case errors.As(err, &e) && e.Code == topdown.ConflictErr:
		return &Failure{Conflict, e.Message + place(e.Location)}
	case errors.As(err, &e) && (e.Code == topdown.BuiltinErr || e.Code == topdown.TypeErr):
		return &Failure{BuiltinErr, e.Message + place(e.Location)}
	}
	return &Failure{EvalError, err.Error()}
}

func place(loc *ast.Location) string {
	if loc == nil {
		return ""
	}
	return fmt.Sprintf(" (%s:%d)", loc.File, loc.Row)
}
