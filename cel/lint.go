package cel

import (
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
)

// zoneFunctions take a time zone as an argument, and then read the zone data of
// the machine: the same input could be decided differently elsewhere.
var zoneFunctions = [...]string{"getFullYear", "getMonth", "getDate", "getDayOfMonth", "getDayOfWeek",
	"getDayOfYear", "getHours", "getMinutes", "getSeconds", "getMilliseconds"}

// lint reports what the type checker cannot know.
func (b *builder) lint(u *unit) {
	b.lintPlaces(u)
	u.each(func(e ast.Expr) {
		if e.Kind() == ast.CallKind {
			b.lintMembers(u, e.AsCall())
			b.lintZone(u, e)
		}
	})
}

// lintPlaces resolves every place that is read against the schema.
func (b *builder) lintPlaces(u *unit) {
	type fault struct {
		node    int64
		message string
	}
	var seen []fault
	for _, r := range u.list {
		_, i, c := resolve(b.roots, r.path)
		if c == nil {
			continue
		}
		f := fault{r.steps[i].node, c.message}
		if !slices.Contains(seen, f) && !b.aliasFault(u, r.path, i) {
			seen = append(seen, f)
			b.report(u, f.node, c)
		}
	}
}

// aliasFault reports whether the fault lies in a variable that the path starts
// with: it is reported there.
func (b *builder) aliasFault(u *unit, p path, index int) bool {
	name, ok := u.uses[p.steps[index].node]
	return ok && len(b.aliases[name].steps) > index
}

// lintMembers compares literals with the enumerations they are compared to.
func (b *builder) lintMembers(u *unit, call ast.CallExpr) {
	args := call.Args()
	switch call.FunctionName() {
	case operators.Equals, operators.NotEquals:
		b.lintMember(u, args[0], args[1])
		b.lintMember(u, args[1], args[0])
	case operators.In:
		if args[1].Kind() != ast.ListKind {
			return
		}
		for _, element := range args[1].AsList().Elements() {
			b.lintMember(u, args[0], element)
		}
	}
}

func (b *builder) lintMember(u *unit, place, value ast.Expr) {
	if value.Kind() != ast.LiteralKind {
		return
	}
	s := u.shapeOf(place, b.roots)
	if s == nil || s.members == nil {
		return
	}
	literal, ok := value.AsLiteral().(types.String)
	if ok && slices.Contains(s.members, string(literal)) {
		return
	}
	b.report(u, value.ID(), complain("%s is never %s", u.nodes[place.ID()], types.Format(value.AsLiteral())).
		because(suggest(string(literal), s.members)))
}

func (b *builder) lintZone(u *unit, e ast.Expr) {
	call := e.AsCall()
	if len(call.Args()) > 0 && call.IsMemberFunction() && slices.Contains(zoneFunctions[:], call.FunctionName()) {
		b.report(u, e.ID(), complain("%s cannot take a time zone: it would read the zone data of the machine", call.FunctionName()).
			because("times are UTC; zoned times are facts"))
	}
}
