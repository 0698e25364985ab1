package cel

import (
	"fmt"
	"regexp/syntax"
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

// regexLimit bounds the program of a regular expression, also of one that a gate
// puts together.
const regexLimit = 10_000

// regexFunctions are the functions that take a regular expression, behind the text
// that it is held against.
var regexFunctions = []string{"matches", "regex.extract", "regex.extractAll", "regex.replace"}

// regexArgument is the regular expression of a call, if it has one.
func regexArgument(e ast.Expr) (ast.Expr, bool) {
	if e.Kind() != ast.CallKind || !slices.Contains(regexFunctions, e.AsCall().FunctionName()) {
		return nil, false
	}
	c, at := e.AsCall(), 1
	if c.IsMemberFunction() {
		at = 0
	}
	if len(c.Args()) <= at {
		return nil, false
	}
	return c.Args()[at], true
}

// regexTooLarge says that the program of a regular expression is larger than any may
// be. The limit of cel-go v0.31.0 is not used: it compiles without simplifying
// first, which panics at a repetition that is counted.
func regexTooLarge(pattern string) error {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil // said by whoever compiles it
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err == nil && len(program.Inst) > regexLimit {
		return fmt.Errorf("a regular expression of %d steps, and none may have more than %d", len(program.Inst), regexLimit)
	}
	return nil
}

// regexSizes is a check of the regular expressions that a gate spells out.
type regexSizes struct{}

// Name implements cel.ASTValidator.
func (regexSizes) Name() string { return "conjunct.regex_sizes" }

// Validate implements cel.ASTValidator.
func (regexSizes) Validate(_ *cel.Env, _ cel.ValidatorConfig, a *ast.AST, issues *cel.Issues) {
	ast.PostOrderVisit(a.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		arg, ok := regexArgument(e)
		if !ok || arg.Kind() != ast.LiteralKind {
			return
		}
		if pattern, ok := arg.AsLiteral().Value().(string); ok {
			if err := regexTooLarge(pattern); err != nil {
				issues.ReportErrorAtID(arg.ID(), "%v", err)
			}
		}
	}))
}

// regexes holds the regular expressions that a gate puts together to the same
// limit when it runs.
func regexes(root *ast.AST) cel.ProgramOption {
	patterns := map[int64]bool{}
	ast.PostOrderVisit(root.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if arg, ok := regexArgument(e); ok && arg.Kind() != ast.LiteralKind {
			patterns[arg.ID()] = true
		}
	}))
	return cel.CustomDecoratorV2(func(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
		if patterns[i.ID()] {
			return limitedRegex{i}, nil
		}
		return i, nil
	})
}

// limitedRegex is a regular expression that is known when it is used.
type limitedRegex struct{ interpreter.InterpretableV2 }

func (r limitedRegex) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	v := r.InterpretableV2.Exec(frame)
	if pattern, ok := v.(types.String); ok {
		if err := regexTooLarge(string(pattern)); err != nil {
			return types.WrapErr(err)
		}
	}
	return v
}

func (r limitedRegex) Eval(vars interpreter.Activation) ref.Val {
	return r.Exec(interpreter.AsFrame(vars))
}
