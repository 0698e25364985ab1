package cel

import (
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
)

// read is one place that an expression reads.
type read struct {
	path
	// tested is set where only the presence is asked for: has(), "key" in map.
	tested bool
}

// reads holds what a checked expression reads, by node.
type reads struct {
	nodes map[int64]path   // every node that denotes a place
	list  []read           // the places read, in full length
	at    map[int64]read   // list by the node that reads
	uses  map[int64]string // nodes that read a variable
}

// local is a name that the expression itself binds.
type local struct {
	outer *local
	name  string
	place path
	bound bool  // place is set
	keys  *path // the name runs over the keys of this place
}

func (l *local) find(name string) *local {
	for ; l != nil; l = l.outer {
		if l.name == name {
			return l
		}
	}
	return nil
}

// reader finds what an expression reads.
type reader struct {
	root    *ast.AST
	aliases map[string]path // variables that are nothing but a place
	found   reads
}

// findReads walks a checked expression. It follows places through names that
// cel.bind, comprehensions and variables give them.
func findReads(root *ast.AST, aliases map[string]path) reads {
	r := &reader{root: root, aliases: aliases, found: reads{
		nodes: map[int64]path{}, at: map[int64]read{}, uses: map[int64]string{},
	}}
	r.use(root.Expr(), nil)
	return r.found
}

// use notes that the value of e is looked at.
func (r *reader) use(e ast.Expr, scope *local) {
	if p, ok := r.place(e, scope); ok {
		r.note(e.ID(), read{path: p})
	}
}

func (r *reader) note(node int64, rd read) {
	r.found.list = append(r.found.list, rd)
	r.found.at[node] = rd
}

// place returns where e points, if it is nothing but a place; what else it reads
// is noted.
func (r *reader) place(e ast.Expr, scope *local) (p path, ok bool) {
	switch e.Kind() {
	case ast.IdentKind:
		p, ok = r.ident(e, scope)
	case ast.SelectKind:
		p, ok = r.selection(e, scope)
	case ast.CallKind:
		p, ok = r.call(e, scope)
	case ast.ComprehensionKind:
		p, ok = r.comprehension(e, scope)
	case ast.ListKind:
		for _, element := range e.AsList().Elements() {
			r.use(element, scope)
		}
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			r.use(entry.AsMapEntry().Key(), scope)
			r.use(entry.AsMapEntry().Value(), scope)
		}
	case ast.StructKind:
		for _, field := range e.AsStruct().Fields() {
			r.use(field.AsStructField().Value(), scope)
		}
	}
	if ok {
		p.node = e.ID()
		r.found.nodes[e.ID()] = p
	}
	return p, ok
}

func (r *reader) ident(e ast.Expr, scope *local) (path, bool) {
	name := e.AsIdent()
	// A leading dot says that the name is not a local one.
	global := strings.TrimPrefix(name, ".")
	if global == name {
		if l := scope.find(name); l != nil {
			return l.place.at(e.ID()), l.bound
		}
	}
	if variable, ok := strings.CutPrefix(global, variablePrefix); ok {
		r.found.uses[e.ID()] = variable
		p, ok := r.aliases[variable]
		return p.at(e.ID()), ok
	}
	switch global {
	case "args":
		return path{root: "action", steps: []step{{keyStep, "arguments", e.ID()}}}, true
	case "action", "consequence", "facts", "state", "now", "scope":
		return path{root: global}, true
	}
	return path{}, false
}

func (r *reader) selection(e ast.Expr, scope *local) (path, bool) {
	sel := e.AsSelect()
	p, ok := r.place(sel.Operand(), scope)
	if !ok {
		return path{}, false
	}
	p = p.with(step{keyStep, sel.FieldName(), e.ID()})
	if sel.IsTestOnly() {
		r.found.nodes[e.ID()] = p
		r.note(e.ID(), read{path: p, tested: true})
		return path{}, false
	}
	return p, true
}

func (r *reader) call(e ast.Expr, scope *local) (path, bool) {
	call := e.AsCall()
	args := call.Args()
	switch name := call.FunctionName(); {
	case (name == operators.Index || name == operators.OptIndex || name == operators.OptSelect) && len(args) == 2:
		return r.index(e, args[0], args[1], name != operators.Index, scope)
	case name == operators.In && len(args) == 2:
		r.membership(e, args[0], args[1], scope)
		return path{}, false
	case name == "dyn" && len(args) == 1:
		return r.place(args[0], scope)
	case name == "value" && call.IsMemberFunction() && len(args) == 0:
		return r.place(call.Target(), scope)
	}
	if call.IsMemberFunction() {
		r.use(call.Target(), scope)
	}
	for _, arg := range args {
		r.use(arg, scope)
	}
	return path{}, false
}

func (r *reader) index(e, operand, index ast.Expr, optional bool, scope *local) (path, bool) {
	p, ok := r.place(operand, scope)
	if !ok {
		r.use(index, scope)
		return path{}, false
	}
	p.optional = p.optional || optional
	return p.with(r.step(e, p, index, scope)), true
}

func (r *reader) step(e ast.Expr, p path, index ast.Expr, scope *local) step {
	if index.Kind() == ast.LiteralKind {
		switch v := index.AsLiteral().(type) {
		case types.String:
			return step{keyStep, string(v), e.ID()}
		case types.Int:
			return step{elementStep, types.Format(v), e.ID()}
		}
	}
	r.use(index, scope)
	if index.Kind() == ast.IdentKind {
		if l := scope.find(index.AsIdent()); l != nil && l.keys != nil && l.keys.same(p) {
			return step{elementStep, anyElement, e.ID()}
		}
	}
	return step{computedStep, anyElement, e.ID()}
}

// membership treats "key" in MAP as a test of MAP.key where MAP is known to be an
// object with names.
func (r *reader) membership(e, element, container ast.Expr, scope *local) {
	p, ok := r.place(container, scope)
	if !ok {
		r.use(element, scope)
		return
	}
	if element.Kind() == ast.LiteralKind {
		name, isText := element.AsLiteral().(types.String)
		if isText && r.root.GetType(container.ID()).Kind() == types.MapKind {
			r.note(e.ID(), read{path: p.with(step{keyStep, string(name), e.ID()}), tested: true})
			return
		}
	}
	r.note(container.ID(), read{path: p})
	r.use(element, scope)
}

func (r *reader) comprehension(e ast.Expr, scope *local) (path, bool) {
	c := e.AsComprehension()
	if isBind(c) {
		p, ok := r.place(c.AccuInit(), scope)
		return r.place(c.Result(), &local{outer: scope, name: c.AccuVar(), place: p, bound: ok})
	}
	p, ok := r.place(c.IterRange(), scope)
	if ok {
		r.note(c.IterRange().ID(), read{path: p})
	}
	r.use(c.AccuInit(), scope)
	accu := &local{outer: scope, name: c.AccuVar()}
	inner := r.iteration(c, accu, p, ok)
	r.use(c.LoopCondition(), inner)
	r.use(c.LoopStep(), inner)
	r.use(c.Result(), accu)
	return path{}, false
}

// iteration binds the names that a comprehension runs over.
func (r *reader) iteration(c ast.ComprehensionExpr, outer *local, p path, ok bool) *local {
	overMap := r.root.GetType(c.IterRange().ID()).Kind() == types.MapKind
	value := local{place: p.with(step{elementStep, anyElement, c.IterRange().ID()}), bound: ok}
	key := local{}
	if ok && overMap {
		key.keys = &p
	}
	first := value
	if c.HasIterVar2() || overMap {
		first = key
	}
	first.outer, first.name = outer, c.IterVar()
	if !c.HasIterVar2() {
		return &first
	}
	value.outer, value.name = &first, c.IterVar2()
	return &value
}

// isBind reports whether a comprehension is what cel.bind and the optional
// macros expand to: no iteration, one name.
func isBind(c ast.ComprehensionExpr) bool {
	return c.IterRange().Kind() == ast.ListKind && c.IterRange().AsList().Size() == 0 &&
		c.LoopCondition().Kind() == ast.LiteralKind && c.LoopCondition().AsLiteral() == types.False
}
