package cel

import (
	"context"
	"errors"
	"strings"

	"github.com/conjunct-project/conjunct/engine"
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

// activation is the input as one test of one gate sees it. It builds nothing that
// the gate does not read. It is used once, by one goroutine.
type activation struct {
	program *Program
	gate    *gate
	in      *engine.Input
	ctx     context.Context
	limited bool

	spent       uint64 // cost of the variables, where it is limited
	consequence view
	state       view
	variables   []ref.Val // by index; nil is not evaluated yet
}

func (p *Program) activation(ctx context.Context, g *gate, in *engine.Input, limited bool) *activation {
	a := &activation{program: p, gate: g, in: in, ctx: ctx, limited: limited}
	if n := len(g.variables); n > 0 {
		a.variables = make([]ref.Val, n)
	}
	return a
}

func (a *activation) adapter() *adapter {
	if a.limited {
		return a.program.unbounded
	}
	return a.program.bounded
}

// Parent implements cel.Activation.
func (a *activation) Parent() cel.Activation { return nil }

// ResolveName implements cel.Activation.
func (a *activation) ResolveName(name string) (any, bool) {
	switch name {
	case "args":
		arguments, ok := a.in.Action.Document["arguments"]
		if !ok {
			return map[string]any{}, true
		}
		return arguments, true
	case "action":
		return nonNil(a.in.Action.Document), true
	case "consequence":
		a.consequence.source, a.consequence.adapter = consequenceSource{&a.in.Consequence}, a.adapter()
		return &a.consequence, true
	case "facts":
		return nonNil(a.in.Facts), true
	case "state":
		if a.state.source == nil {
			a.state.source, a.state.adapter = stateSource{&a.in.State, a.adapter()}, a.adapter()
		}
		return &a.state, true
	case "now":
		return types.Int(a.in.Now), true
	case "scope":
		return a.program.scope, true
	}
	if variable, ok := strings.CutPrefix(name, variablePrefix); ok {
		for i := range a.gate.Variables {
			if a.gate.Variables[i].Name == variable {
				return a.variable(i), true
			}
		}
	}
	return nil, false
}

// variable evaluates a variable when it is first read. Its error is explained at
// once, since only its own expression can say what its nodes read.
func (a *activation) variable(i int) ref.Val {
	if a.variables[i] != nil {
		return a.variables[i]
	}
	u := a.gate.variables[i]
	v, err := a.eval(u)
	if err != nil {
		var stopped interpreter.EvalCancelledError
		if errors.As(err, &stopped) && stopped.Cause == oversized {
			panic(stopped)
		}
		v = types.WrapErr(a.explain(u, err))
	}
	a.variables[i] = v
	return v
}

// eval evaluates one expression of the gate.
func (a *activation) eval(u *unit) (ref.Val, error) {
	if !a.limited {
		v, _, err := u.plain.Eval(a)
		return v, err
	}
	v, details, err := u.limited.ContextEval(a.ctx, a)
	if cost := details.ActualCost(); cost != nil {
		a.spent += *cost
	}
	if err == nil && a.spent > a.gate.costLimit() {
		err = interpreter.EvalCancelledError{Cause: interpreter.CostLimitExceeded, Message: "cost limit exceeded"}
	}
	return v, err
}
