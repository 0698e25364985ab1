package cel

import (
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
)

// unit is one expression of a gate: a variable, the expression or the message
// expression.
type unit struct {
	field string // as a Problem names it
	text  string
	ast   *cel.Ast
	root  *ast.AST
	reads

	// plain has no cost limit and gives up on oversized values; nil where the
	// static bound is too high. limited has a cost limit and stops when its
	// context is done.
	plain, limited cel.Program
}

func newUnit(field, text string, checked *cel.Ast, aliases map[string]path) *unit {
	root := checked.NativeRep()
	return &unit{field: field, text: text, ast: checked, root: root, reads: findReads(root, aliases)}
}

// alias returns the place that the unit is nothing but, so that a variable can
// be checked as if the place itself were written.
func (u *unit) alias() (path, bool) {
	p, ok := u.nodes[u.root.Expr().ID()]
	return p, ok
}

// kindOf returns the kind of a node's value, as far as the checker or the schema
// know it.
func (u *unit) kindOf(e ast.Expr, roots map[string]*shape) kind {
	switch u.root.GetType(e.ID()).Kind() {
	case types.StringKind:
		return textKind
	case types.IntKind, types.UintKind, types.DoubleKind:
		return numberKind
	case types.BoolKind:
		return boolKind
	case types.ListKind:
		return listKind
	case types.MapKind:
		return mapKind
	case types.DynKind, types.AnyKind, types.TypeParamKind:
		if s := u.shapeOf(e, roots); s != nil {
			return s.kind
		}
		return unknownKind
	}
	return otherKind
}

// shapeOf returns the shape of the place that a node denotes, or nil.
func (u *unit) shapeOf(e ast.Expr, roots map[string]*shape) *shape {
	p, ok := u.nodes[e.ID()]
	if !ok {
		return nil
	}
	s, _, _ := resolve(roots, p)
	return s
}

// each calls f for every node of the unit.
func (u *unit) each(f func(ast.Expr)) { visit(u.root.Expr(), f) }

func visit(e ast.Expr, f func(ast.Expr)) { ast.PreOrderVisit(e, ast.NewExprVisitor(f)) }

// pointers returns the places of the input that units read, as JSON pointers and
// as keys for engine.Input, sorted.
func pointers(units []*unit) (sorted []string, keys [][]string) {
	byPointer := map[string][]string{}
	for _, u := range units {
		for _, r := range u.list {
			if r.inInput() {
				k := r.keys()
				byPointer[pointer(k)] = k
			}
		}
	}
	for p := range byPointer {
		sorted = append(sorted, p)
	}
	slices.Sort(sorted)
	for _, p := range sorted {
		keys = append(keys, byPointer[p])
	}
	return sorted, keys
}
