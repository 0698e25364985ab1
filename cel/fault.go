package cel

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/interpreter"
)

// The codes of a gate that is Unknown.
const (
	codeMissing    = "missing_value"
	codeTimeout    = "timeout"
	codeCancelled  = "cancelled"
	codeCost       = "cost_limit"
	codeEvaluation = "evaluation_error"
	codeNoGate     = "gate_missing"
)

// fault says why an expression has no value.
type fault struct {
	code    string
	missing string // JSON pointer of what is absent, or empty
	text    string
}

func (f *fault) Error() string { return f.text }

// stopped is the fault of a context that is done.
func stopped(ctx context.Context) *fault {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &fault{code: codeTimeout, text: "the time was up"}
	}
	return &fault{code: codeCancelled, text: "it was cancelled"}
}

// explain turns the error of a unit into a fault.
func (a *activation) explain(u *unit, err error) *fault {
	var known *fault
	var cut interpreter.EvalCancelledError
	var interrupted interpreter.InterruptError
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &cut) && cut.Cause == interpreter.CostLimitExceeded:
		return &fault{code: codeCost, text: fmt.Sprintf("it costs more than %d", a.gate.costLimit())}
	case errors.As(err, &interrupted):
		return stopped(a.ctx)
	}
	p, located := u.place(err)
	if located {
		if _, there := a.in.Lookup(p.keys()); !there && p.inInput() {
			return &fault{codeMissing, p.pointer(), fmt.Sprintf("%s is absent", p)}
		}
	}
	if !a.program.isMissing(err) {
		return &fault{code: codeEvaluation, text: err.Error()}
	}
	if located && p.inInput() {
		return &fault{codeMissing, p.pointer(), fmt.Sprintf("%s is absent", p)}
	}
	return &fault{code: codeMissing, text: err.Error()}
}

// place returns what the failing node of the unit reads.
func (u *unit) place(err error) (path, bool) {
	var failed *types.Err
	// The shared error has the node of whoever met it first.
	if !errors.As(err, &failed) || failed == types.NoSuchOverloadErr() {
		return path{}, false
	}
	p, ok := u.nodes[failed.NodeID()]
	return p, ok
}

// missingError returns the type with which cel-go says that a key, an index or an
// attribute is missing. It is not exported, and its text is not for matching.
func missingError(env *cel.Env) (reflect.Type, error) {
	checked, issues := env.Compile(`facts.missing`)
	if issues.Err() != nil {
		return nil, issues.Err()
	}
	program, err := env.Program(checked)
	if err != nil {
		return nil, err
	}
	_, _, err = program.Eval(map[string]any{"facts": map[string]any{}})
	if err == nil {
		return nil, errors.New("cel: a missing key is not an error")
	}
	return reflect.TypeOf(innermost(err)), nil
}

func innermost(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}

func (p *Program) isMissing(err error) bool { return reflect.TypeOf(innermost(err)) == p.missingError }
