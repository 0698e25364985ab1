package signals

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxUnrolled is how many statements the turns of a loop may make, those of the
// loops around it counted in. With more, nobody can tell what its variable is.
const maxUnrolled = 256

// loop reads a body that runs any number of times: once, and once more if it may
// have changed the folder.
func (l *line) loop(in dirs, body func(dirs) dirs) (ok, failed dirs) {
	n, uses := len(l.out.commands), len(l.out.uses)
	out := in.or(body(in))
	if len(out.names) != len(in.names) || out.open != in.open {
		// What was unknown stays so.
		l.out.commands, l.out.uses = l.out.commands[:n], l.out.uses[:uses]
		out = dirs{open: true}
		body(out)
	}
	l.out.overlap(l.out.uses[uses:], len(l.out.commands), true)
	return out, out
}

// forClause reads a loop turn by turn where it is known what its variable will be.
func (l *line) forClause(c *syntax.ForClause, in dirs) (ok, failed dirs) {
	body := func(in dirs) dirs {
		ok, failed := l.stmts(c.Do, in)
		return ok.or(failed)
	}
	loop, words := c.Loop.(*syntax.WordIter)
	if !words {
		l.number(c.Loop, in)
		return l.loop(in, body)
	}
	name := loop.Name.Value
	if sensitive(name) {
		l.fail("environment")
	}
	items := l.words(loop.Items, in)
	items = append(items, l.plainly(loop.Items, in)...)
	values, known := valuesOf(items)
	if !known || c.Select || !l.binds(name, len(values), c.Do) {
		return l.loop(in, body)
	}
	l.out.used(items, len(l.out.commands))
	return l.inTurn(name, values, in, body)
}

// valuesOf is what a loop over words puts into its variable, in any shell.
func valuesOf(items []shellWord) (values []string, known bool) {
	for _, w := range items {
		switch {
		case w.matches != nil:
			values = append(values, w.matches.words...)
			if deep := w.matches.deep; deep != nil {
				if deep.unknown != "" {
					return nil, false
				}
				values = append(values, deep.words...)
			}
		case w.open || w.stream || w.text == "":
			return nil, false
		default:
			values = append(values, w.text)
		}
	}
	slices.Sort(values)
	return slices.Compact(values), len(values) > 0
}

// inTurn reads the body of a loop once for each value of its variable.
func (l *line) inTurn(name string, values []string, in dirs, body func(dirs) dirs) (ok, failed dirs) {
	outer := l.turns
	l.turns = max(outer, 1) * len(values)
	if l.bindings == nil {
		l.bindings = map[string]string{}
	}
	l.out.bound = true
	for _, v := range values {
		l.bindings[name] = v
		in = in.or(body(in))
	}
	delete(l.bindings, name)
	l.turns = outer
	return in, in
}

// binds reports a loop whose body reads its variable and does nothing that may
// change it, and that is short enough to be read turn by turn.
func (l *line) binds(name string, turns int, do []*syntax.Stmt) bool {
	if l.out.asWritten || l.out.renames || l.out.later || len(l.functions) > 0 || !ordinary(name) {
		return false
	}
	b := loopBody{variable: name, keeps: true}
	for _, s := range do {
		syntax.Walk(s, b.visit)
	}
	return b.reads && b.keeps && b.statements*turns*max(l.turns, 1) <= maxUnrolled
}

// ordinary reports names that mean nothing to a shell: those that do are upper
// case, or are known.
func ordinary(name string) bool {
	return name != "_" && strings.ToLower(name) == name && !slices.Contains(strings.Fields("argv histchars path cdpath fpath status"), name)
}

// renames reports text that may make one variable another name of a second one,
// or give it a form of its own.
func renames(src string) bool {
	return slices.ContainsFunc([]string{"declare", "typeset", "nameref", "integer", "float"}, func(s string) bool { return strings.Contains(src, s) })
}

// loopBody is what was seen in the body of a loop.
type loopBody struct {
	variable     string
	reads, keeps bool
	statements   int
}

func (b *loopBody) visit(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.Stmt:
		b.statements++
	case *syntax.CallExpr:
		b.keeps = b.keeps && (len(n.Args) == 0 || keepsVariables(n.Args))
	case *syntax.Assign:
		b.keeps = b.keeps && n.Name != nil && n.Name.Value != b.variable && n.Index == nil
	case *syntax.WordIter:
		b.keeps = b.keeps && n.Name.Value != b.variable
	case *syntax.Redirect:
		// {f}> puts a number into a variable.
		b.keeps = b.keeps && (n.N == nil || !strings.HasPrefix(n.N.Value, "{"))
	case *syntax.ParamExp:
		b.reads = b.reads || n.Param != nil && n.Param.Value == b.variable
		sets := n.Exp != nil && slices.Contains([]syntax.ParExpOperator{syntax.AssignUnset, syntax.AssignUnsetOrNull, syntax.OtherParamOps}, n.Exp.Op)
		b.keeps = b.keeps && !sets && n.Index == nil && n.Slice == nil
	case *syntax.CStyleLoop, *syntax.ArithmExp, *syntax.ArithmCmd, *syntax.LetClause, *syntax.CoprocClause, *syntax.FuncDecl, *syntax.DeclClause, *syntax.TestClause:
		b.keeps = false
	}
	return b.keeps
}

// keepsVariables reports a command that sets no variable, by its name: a builtin
// that may is none, and neither is what is known only when it runs.
func keepsVariables(args []*syntax.Word) bool {
	name, ok := verbatim(args[0])
	switch {
	case !ok || name == "":
		return false
	case name == "printf":
		// Other than -v and a variable.
		return len(args) > 1 && strings.HasPrefix(firstText(args[1]), "%")
	}
	return !slices.Contains(settingBuiltins, name)
}

var settingBuiltins = strings.Fields(`read getopts mapfile readarray eval source . unset let wait trap set command builtin noglob nocorrect - exec
	vared zparseopts zformat zstyle zmodload sysread zsystem print export readonly compgen fc enable hash alias emulate setopt`)

// firstText is the text that a word begins with, in quotes or not.
func firstText(w *syntax.Word) string {
	switch p := w.Parts[0].(type) {
	case *syntax.Lit:
		return p.Value
	case *syntax.SglQuoted:
		return p.Value
	case *syntax.DblQuoted:
		if len(p.Parts) > 0 {
			return firstText(&syntax.Word{Parts: p.Parts})
		}
	}
	return ""
}
