package rego

import (
	"fmt"
	"regexp"

	"github.com/open-policy-agent/opa/v1/ast"
)

// patterns says which argument of a builtin is a regular expression, from 0.
var patterns = map[string]int{
	"regex.match": 0, "regex.split": 0, "regex.find_n": 0, "regex.find_all_string_submatch_n": 0, "regex.replace": 1,
}

// pattern reports a regular expression that cannot be compiled: every rule that
// evaluates it would be undefined for plain OPA and unknown here, for ever.
func (l *linter) pattern(e *ast.Expr) {
	if !e.IsCall() {
		return
	}
	i, known := patterns[e.Operator().String()]
	if !known || i >= len(e.Operands()) {
		return
	}
	text, constant := e.Operand(i).Value.(ast.String)
	if !constant {
		return
	}
	if _, err := regexp.Compile(string(text)); err != nil {
		l.report(e.Location, "rego_pattern", fmt.Sprintf("%q is no regular expression: %v", string(text), err), "RE2 syntax; a raw string in backquotes saves escapes")
	}
}
