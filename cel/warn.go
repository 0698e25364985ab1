package cel

import (
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
)

// polarity says in which direction a part of an expression moves the whole.
type polarity int8

const (
	negative polarity = -1 // under an odd number of negations
	either   polarity = 0  // compared, computed with, chosen by
	positive polarity = 1
)

// warner looks for expressions that are legal and pass where an author would not
// expect it. CEL's || is true when one side is true and the other is an error.
type warner struct {
	*builder
	u      *unit
	tested []path // places whose presence some part of the gate asks for
	sized  []path // places whose size some part of the gate asks for
}

// warn reports the warnings of the gate. A message cannot pass a gate.
func (b *builder) warn() {
	w := &warner{builder: b}
	for _, u := range b.units() {
		w.collect(u)
	}
	for _, u := range b.units() {
		if u != b.message {
			w.u = u
			w.walk(u.root.Expr(), w.start(u), "")
		}
	}
}

// start is positive for the expression; what a variable is used for is not
// followed.
func (w *warner) start(u *unit) polarity {
	if u == w.expression {
		return positive
	}
	return either
}

func (w *warner) collect(u *unit) {
	for _, r := range u.list {
		if r.tested {
			w.tested = append(w.tested, r.path)
		}
	}
	u.each(func(e ast.Expr) {
		if e.Kind() != ast.CallKind {
			return
		}
		call := e.AsCall()
		for _, sized := range sizedBy(call) {
			if p, ok := u.nodes[sized.ID()]; ok {
				w.sized = append(w.sized, p)
			}
		}
	})
}

// sizedBy returns the operands whose size a call asks for.
func sizedBy(call ast.CallExpr) []ast.Expr {
	switch args := call.Args(); call.FunctionName() {
	case "size":
		if call.IsMemberFunction() {
			return []ast.Expr{call.Target()}
		}
		return args
	case operators.Equals, operators.NotEquals:
		if isEmptyList(args[0]) || isEmptyList(args[1]) {
			return args
		}
	}
	return nil
}

func isEmptyList(e ast.Expr) bool { return e.Kind() == ast.ListKind && e.AsList().Size() == 0 }

// walk visits e, whose value moves the gate in direction p. chain is the operator
// that e is an operand of, where e belongs to the same chain.
func (w *warner) walk(e ast.Expr, p polarity, chain string) {
	switch e.Kind() {
	case ast.CallKind:
		w.call(e, p, chain)
	case ast.ComprehensionKind:
		w.comprehension(e, p)
	case ast.SelectKind:
		w.walk(e.AsSelect().Operand(), either, "")
	case ast.ListKind:
		for _, element := range e.AsList().Elements() {
			w.walk(element, either, "")
		}
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			w.walk(entry.AsMapEntry().Key(), either, "")
			w.walk(entry.AsMapEntry().Value(), either, "")
		}
	}
}

func (w *warner) call(e ast.Expr, p polarity, chain string) {
	call := e.AsCall()
	args := call.Args()
	switch name := call.FunctionName(); name {
	case operators.LogicalNot:
		w.walk(args[0], -p, "")
		return
	case operators.LogicalOr, operators.LogicalAnd:
		// A conjunction under a negation absorbs errors as a disjunction does.
		absorbs := name == operators.LogicalOr && p != negative || name == operators.LogicalAnd && p != positive
		if absorbs && chain != name {
			w.disjunction(e, flatten(e, name))
		}
		for _, arg := range args {
			w.walk(arg, p, name)
		}
		return
	case operators.Conditional:
		w.walk(args[0], either, "")
		w.walk(args[1], p, "")
		w.walk(args[2], p, "")
		return
	case operators.NotEquals, operators.Equals:
		if (name == operators.NotEquals) == (p != negative) {
			w.inequality(e, args)
		}
	case operators.Add, operators.Subtract, operators.Multiply, operators.Divide:
		w.arithmetic(e, args)
	}
	if call.IsMemberFunction() {
		w.walk(call.Target(), either, "")
	}
	for _, arg := range args {
		w.walk(arg, either, "")
	}
}

// flatten returns the operands of a chain of one operator.
func flatten(e ast.Expr, operator string) []ast.Expr {
	if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != operator {
		return []ast.Expr{e}
	}
	var operands []ast.Expr
	for _, arg := range e.AsCall().Args() {
		operands = append(operands, flatten(arg, operator)...)
	}
	return operands
}

// disjunction warns of alternatives: between pieces of evidence, and of one that
// hides the absence of what another reads.
func (w *warner) disjunction(e ast.Expr, operands []ast.Expr) {
	sides := make([][]read, len(operands))
	for i, operand := range operands {
		sides[i] = w.within(w.u, operand)
	}
	for i := range operands {
		for j := range operands[:i] {
			if a, b, ok := compensation(sides[j], sides[i]); ok {
				w.remark(w.u, e.ID(), complain("%s can stand in for %s: one piece of evidence compensates for another", b, a).
					because("one gate, one question; put alternatives into the contract, where reviewers see them"))
				return
			}
		}
	}
	for i := range operands {
		if p, ok := w.absorbed(sides, i); ok {
			w.remark(w.u, e.ID(), complain("the gate can pass while %s is absent: the other side decides", p).
				because("an error beside a true side of || is ignored; ask has("+p.String()+") first"))
			return
		}
	}
}

// within lists what a part of a unit reads, through variables too.
func (b *builder) within(u *unit, e ast.Expr) (list []read) {
	visit(e, func(e ast.Expr) {
		if r, ok := u.at[e.ID()]; ok {
			list = append(list, r)
		}
		if name, ok := u.uses[e.ID()]; ok {
			if v := b.find(name); v != nil && v != u {
				list = append(list, b.within(v, v.root.Expr())...)
			}
		}
	})
	return list
}

// compensation returns a piece of evidence of each side that the other does not
// read.
func compensation(left, right []read) (path, path, bool) {
	for _, l := range left {
		for _, r := range right {
			a, isA := evidence(l.path)
			b, isB := evidence(r.path)
			if isA && isB && !a.within(b) && !b.within(a) {
				return a, b, true
			}
		}
	}
	return path{}, path{}, false
}

// evidence returns the fact or the record that a path reads.
func evidence(p path) (path, bool) {
	switch {
	case p.root == "facts" && len(p.steps) > 0:
		return p, true
	case p.root == "state" && len(p.steps) > 1 && p.steps[0].name == "evidence":
		p.steps = p.steps[:2]
		return p, true
	}
	return path{}, false
}

// absorbed returns a place whose absence is an error in operand i and goes
// unnoticed when another operand is true.
func (w *warner) absorbed(sides [][]read, i int) (path, bool) {
	for _, r := range sides[i] {
		p, ok := w.needed(r)
		if !ok {
			continue
		}
		also := func(other read) bool {
			q, ok := w.needed(other)
			return ok && q.same(p)
		}
		for j := range sides {
			if j != i && !slices.ContainsFunc(sides[j], also) {
				return p, true
			}
		}
	}
	return path{}, false
}

// needed returns the place whose absence makes a read an error, if it can be
// absent and no part of the gate asks whether it is.
func (w *warner) needed(r read) (path, bool) {
	if r.tested || r.optional || !r.inInput() {
		return path{}, false
	}
	p, ok := absentable(w.roots, r.path)
	return p, ok && !slices.ContainsFunc(w.tested, p.same)
}

// inequality warns where a value of an unexpected type is unequal, and so passes.
func (w *warner) inequality(e ast.Expr, args []ast.Expr) {
	if isNull(args[0]) || isNull(args[1]) {
		return
	}
	a, b := w.u.kindOf(args[0], w.roots), w.u.kindOf(args[1], w.roots)
	if a != b {
		w.remark(w.u, e.ID(), complain("a value of another type is unequal too, and passes: %s and %s are compared", a.name(), b.name()).
			because("say what is allowed with ==, or ask for the type first: type(X) == string"))
	}
}

func (k kind) name() string {
	if k == unknownKind {
		return "any type"
	}
	return string(k)
}

func isNull(e ast.Expr) bool { return e.Kind() == ast.LiteralKind && e.AsLiteral() == types.NullValue }

// arithmetic warns where whole and fractional numbers would meet: 10 is an int
// and 10.5 a double, and adding the two is an error.
func (w *warner) arithmetic(e ast.Expr, args []ast.Expr) {
	for i, arg := range args {
		if w.u.root.GetType(arg.ID()).Kind() != types.DynKind || w.u.shapeOf(arg, w.roots) == nil {
			continue
		}
		other := w.u.root.GetType(args[1-i].ID()).Kind()
		if other == types.DoubleKind || w.u.kindOf(arg, w.roots) == numberKind {
			p := w.u.nodes[arg.ID()]
			w.remark(w.u, e.ID(), complain("%s may be an int or a double, and the two do not add up", p).
				because("write double("+p.String()+")"))
			return
		}
	}
}

// comprehension warns of quantifiers that hold of nothing.
func (w *warner) comprehension(e ast.Expr, p polarity) {
	c := e.AsComprehension()
	w.walk(c.IterRange(), either, "")
	if isBind(c) {
		w.walk(c.AccuInit(), either, "")
		w.walk(c.Result(), p, "")
		return
	}
	all, predicate := quantifier(c)
	if predicate == nil {
		w.walk(c.AccuInit(), either, "")
		w.walk(c.LoopStep(), either, "")
		return
	}
	if all && p != negative || !all && p != positive {
		w.vacuous(e, c, all)
	}
	w.walk(predicate, p, "")
}

// quantifier recognises what all() and exists() expand to.
func quantifier(c ast.ComprehensionExpr) (all bool, predicate ast.Expr) {
	if c.AccuInit().Kind() != ast.LiteralKind || c.LoopStep().Kind() != ast.CallKind {
		return false, nil
	}
	step := c.LoopStep().AsCall()
	if len(step.Args()) != 2 || step.Args()[0].Kind() != ast.IdentKind || step.Args()[0].AsIdent() != c.AccuVar() {
		return false, nil
	}
	switch start := c.AccuInit().AsLiteral(); {
	case start == types.True && step.FunctionName() == operators.LogicalAnd:
		return true, step.Args()[1]
	case start == types.False && step.FunctionName() == operators.LogicalOr:
		return false, step.Args()[1]
	}
	return false, nil
}

func (w *warner) vacuous(e ast.Expr, c ast.ComprehensionExpr, all bool) {
	p, ok := w.u.nodes[c.IterRange().ID()]
	if !ok || !p.inInput() || slices.ContainsFunc(w.sized, p.same) {
		return
	}
	form := "all() of nothing is true"
	if !all {
		form = "exists() of nothing is false, and its negation true"
	}
	w.remark(w.u, e.ID(), complain("%s: the gate passes when %s is empty", form, p).
		because("ask for size("+p.String()+") > 0 too"))
}
