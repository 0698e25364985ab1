package rego

import (
	"github.com/open-policy-agent/opa/v1/ast"
)

var comparisons = map[string]Op{"eq": Eq, "equal": Eq, "neq": Neq, "lt": Lt, "lte": Lte, "gt": Gt, "gte": Gte}

// mirrored is the comparison with its sides swapped.
var mirrored = map[Op]Op{Eq: Eq, Neq: Neq, Lt: Gt, Lte: Gte, Gt: Lt, Gte: Lte}

var affixes = map[string]Op{"startswith": HasPrefix, "endswith": HasSuffix, "contains": Contains}

func isTrue(e *ast.Expr) bool {
	t, ok := e.Terms.(*ast.Term)
	return ok && !e.Negated && t.Value.Compare(ast.Boolean(true)) == 0
}

// atom reads an expression as a plain condition on one input path, or reports
// that it is none. A form that is not known is never guessed at.
func atom(e *ast.Expr) (Atom, bool) {
	if len(e.With) > 0 {
		return Atom{}, false
	}
	if t, ok := e.Terms.(*ast.Term); ok {
		path, ok := fixedPath(t)
		return Atom{Op: Truthy, Negated: e.Negated, Path: path}, ok
	}
	terms, ok := e.Terms.([]*ast.Term)
	if !ok || len(terms) != 3 {
		return Atom{}, false
	}
	a, ok := binary(e.Operator().String(), terms[1], terms[2])
	a.Negated = e.Negated
	return a, ok
}

func binary(operator string, left, right *ast.Term) (Atom, bool) {
	if op, ok := comparisons[operator]; ok {
		if path, ok := fixedPath(left); ok {
			v, ok := scalar(right)
			return Atom{Op: op, Path: path, Value: v}, ok
		}
		path, ok := fixedPath(right)
		v, constant := scalar(left)
		return Atom{Op: mirrored[op], Path: path, Value: v}, ok && constant
	}
	path, ok := fixedPath(left)
	if !ok {
		return Atom{}, false
	}
	if operator == "internal.member_2" {
		values, ok := scalars(right)
		return Atom{Op: In, Path: path, Values: values}, ok
	}
	if op, known := affixes[operator]; known {
		v, ok := scalar(right)
		_, isText := v.(string)
		return Atom{Op: op, Path: path, Value: v}, ok && isText
	}
	return Atom{}, false
}

// fixedPath reads input.a.b.c, with at least one name.
func fixedPath(t *ast.Term) ([]string, bool) {
	ref, ok := t.Value.(ast.Ref)
	if !ok || !ref.HasPrefix(ast.InputRootRef) || len(ref) < 2 {
		return nil, false
	}
	return constantPath(ref)
}

func scalar(t *ast.Term) (any, bool) {
	switch t.Value.(type) {
	case ast.String, ast.Number, ast.Boolean, ast.Null:
		return fromAST(t.Value)
	}
	return nil, false
}

// scalars reads an array or set of constants.
func scalars(t *ast.Term) ([]any, bool) {
	var terms []*ast.Term
	switch v := t.Value.(type) {
	case *ast.Array:
		terms = elements(v)
	case ast.Set:
		terms = v.Slice()
	default:
		return nil, false
	}
	out := make([]any, len(terms))
	for i, t := range terms {
		v, ok := scalar(t)
		if !ok {
			return nil, false
		}
		out[i] = v
	}
	return out, true
}
