package cel

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
)

// reasonCode is what a stable code looks like.
var reasonCode = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// builder compiles one gate.
type builder struct {
	*compiler
	gate    *Gate
	index   int // of the gate among all
	roots   map[string]*shape
	env     *cel.Env // with the variables so far
	aliases map[string]path

	variables           []*unit // nil where one does not compile
	expression, message *unit
	broken              bool
}

func newBuilder(c *compiler, g *Gate, index int) *builder {
	return &builder{compiler: c, gate: g, index: index, roots: shapes(g, c.schema), env: c.plain, aliases: map[string]path{}}
}

// build reports the problems of the gate and returns it when there are none.
func (b *builder) build() *gate {
	b.head()
	for i := range b.gate.Variables {
		b.variable(i)
	}
	b.expression = b.unit("expression", b.gate.Expression, cel.BoolType)
	if b.gate.MessageExpression != "" {
		b.message = b.unit("message_expression", b.gate.MessageExpression, cel.StringType)
	}
	b.unused()
	for _, u := range b.units() {
		b.lint(u)
	}
	if b.expression != nil {
		b.warn()
	}
	if b.broken {
		return nil
	}
	return b.plan()
}

// units lists what compiled, in the order it is written.
func (b *builder) units() []*unit {
	all := append(slices.Clone(b.variables), b.expression, b.message)
	return slices.DeleteFunc(all, func(u *unit) bool { return u == nil })
}

// head checks what is not an expression.
func (b *builder) head() {
	g := b.gate
	if strings.TrimSpace(g.Name) == "" {
		b.complain("name", complain("a gate needs a name"))
	}
	if g.Reason != "" && !reasonCode.MatchString(g.Reason) {
		b.complain("reason", complain("reason %q is not a stable code", g.Reason).
			because("lower-case letters, digits and underscores, a letter first"))
	}
	if g.Tools != nil && len(g.Tools) == 0 {
		b.complain("match", complain("the gate matches no tool").because("name its tools, or leave match out for every tool"))
	}
	for i, tool := range g.Tools {
		if !slices.Contains(b.schema.Tools, tool) {
			b.complain("match", complain("unknown tool %q", tool).because(suggest(tool, b.schema.Tools)))
		}
		if slices.Contains(g.Tools[:i], tool) {
			b.complain("match", complain("tool %q is named twice", tool))
		}
	}
}

// variable compiles one variable and declares it for what follows. One that does
// not compile is declared too, so that it is reported once.
func (b *builder) variable(i int) {
	v := b.gate.Variables[i]
	prefix := fmt.Sprintf("variables[%d]", i)
	u := b.unit(prefix+".expression", v.Expression, nil)
	b.variables = append(b.variables, u)
	if !isIdentifier(v.Name) {
		b.complain(prefix+".name", complain("variable name %q is not an identifier", v.Name))
		return
	}
	if slices.ContainsFunc(b.gate.Variables[:i], func(w Variable) bool { return w.Name == v.Name }) {
		b.complain(prefix+".name", complain("there is another variable %q", v.Name))
		return
	}
	t := types.DynType
	if u != nil {
		t = u.ast.OutputType()
		if p, ok := u.alias(); ok {
			b.aliases[v.Name] = p
		}
	}
	extended, err := b.env.Extend(cel.Variable(variablePrefix+v.Name, t))
	if err != nil {
		b.complain(prefix+".name", complain("%v", err))
		return
	}
	b.env = extended
}

// unused reports variables that nobody reads: more likely a misspelt condition
// than a spare one.
func (b *builder) unused() {
	if b.broken {
		return
	}
	for i, v := range b.gate.Variables {
		read := false
		for _, u := range b.units() {
			for _, name := range u.uses {
				read = read || name == v.Name
			}
		}
		if !read {
			b.complain(fmt.Sprintf("variables[%d].name", i), complain("variable %q is not used", v.Name))
		}
	}
}

// find returns the unit of a variable, or nil.
func (b *builder) find(name string) *unit {
	for i, v := range b.gate.Variables {
		if v.Name == name {
			return b.variables[i]
		}
	}
	return nil
}

// complain reports a problem outside any expression.
func (b *builder) complain(field string, c *complaint) {
	b.add(Problem{Field: field, Message: c.message, Hint: c.hint})
}

func (b *builder) add(p Problem) {
	p.Gate, p.Index = b.gate.Name, b.index
	b.broken = b.broken || !p.Warning
	b.problems = append(b.problems, p)
}
