package cel

import (
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"

	"github.com/conjunct-project/conjunct/engine"
)

// unit parses and checks one expression. It returns nil when there is a problem.
// A nil type takes any.
func (b *builder) unit(field, expression string, want *cel.Type) *unit {
	if strings.TrimSpace(expression) == "" {
		b.complain(field, complain("the expression is empty"))
		return nil
	}
	parsed, issues := b.env.Parse(expression)
	if issues.Err() != nil {
		b.issues(field, expression, nil, issues)
		return nil
	}
	checked, issues := b.env.Check(parsed)
	if issues.Err() != nil {
		b.issues(field, expression, parsed.NativeRep(), issues)
		return nil
	}
	u := newUnit(field, expression, checked, b.aliases)
	if got := checked.OutputType(); want != nil && !got.IsExactType(want) {
		b.report(u, u.root.Expr().ID(), typeComplaint(u, got, want))
		return nil
	}
	return u
}

func typeComplaint(u *unit, got, want *cel.Type) *complaint {
	c := complain("the expression is of type %s, want %s", got, want)
	if !got.IsExactType(cel.DynType) {
		return c
	}
	if want.IsExactType(cel.BoolType) {
		what := "EXPRESSION"
		if p, ok := u.alias(); ok {
			what = p.String()
		}
		return c.because("its type is known only when it runs: write " + what + " == true")
	}
	return c.because("its type is known only when it runs: write string(...)")
}

// issues reports what cel-go found.
func (b *builder) issues(field, expression string, parsed *ast.AST, issues *cel.Issues) {
	for _, e := range issues.Errors() {
		line, column := e.Location.Line(), e.Location.Column()+1
		b.add(Problem{
			Field: field, Line: max(line, 1), Column: max(column, 1),
			Message: strings.Replace(e.Message, " (in container '')", "", 1),
			Hint:    b.hint(parsed, e.ExprID),
			Snippet: snippet(expression, max(line, 1), max(column, 1)),
		})
	}
}

// hint looks at the node that cel-go complains about: a name that does not exist
// is usually misspelt.
func (b *builder) hint(parsed *ast.AST, node int64) string {
	if parsed == nil {
		return ""
	}
	var found, parent ast.Expr
	visit(parsed.Expr(), func(e ast.Expr) {
		if e.ID() == node {
			found = e
		}
		if e.Kind() == ast.SelectKind && e.AsSelect().Operand().ID() == node {
			parent = e
		}
	})
	switch {
	case found == nil:
		return ""
	case found.Kind() == ast.CallKind:
		name := found.AsCall().FunctionName()
		if !isIdentifier(name) || slices.Contains(b.functions, name) {
			return ""
		}
		if near := engine.Nearest(name, b.functions); near != "" {
			return suggest(name, []string{near})
		}
	case found.Kind() == ast.IdentKind:
		return b.nameHint(found.AsIdent(), parent)
	}
	return ""
}

func (b *builder) nameHint(name string, parent ast.Expr) string {
	switch {
	case name == "variables" && parent != nil:
		var known []string
		for _, v := range b.gate.Variables {
			known = append(known, v.Name)
		}
		return suggest(parent.AsSelect().FieldName(), known)
	case name == "confidence":
		return "a gate cannot read confidence"
	}
	return suggest(name, append(rootNames[:], "variables"))
}

// report places a complaint at a node of a unit.
func (b *builder) report(u *unit, node int64, c *complaint) { b.place(u, node, c, false) }

// remark is a report that does not refuse the gate.
func (b *builder) remark(u *unit, node int64, c *complaint) { b.place(u, node, c, true) }

func (b *builder) place(u *unit, node int64, c *complaint, warning bool) {
	at := u.root.SourceInfo().GetStartLocation(node)
	line, column := max(at.Line(), 1), max(at.Column()+1, 1)
	b.add(Problem{
		Field: u.field, Line: line, Column: column,
		Message: c.message, Hint: c.hint, Snippet: snippet(u.text, line, column), Warning: warning,
	})
}
