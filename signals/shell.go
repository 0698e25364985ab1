package signals

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/conjunct-project/conjunct/engine"
)

// shellFacts computes the family shell.
func shellFacts(d *Detector, ctx context.Context, c *Call, w World) (map[string]any, []Unknown) {
	s := d.script(ctx, c, w)
	f := newCommandFacts(d, s)
	seen := make([]any, 0, len(s.commands))
	for _, one := range s.commands {
		seen = append(seen, f.fact(one))
	}
	facts := map[string]any{"seen": seen}
	if len(s.unknown) == 0 {
		facts["commands"] = seen
		facts["any"], facts["all"] = onLists(d.commands.facts, seen)
	}
	return facts, s.unknown
}

// commandFacts makes the facts of the commands of one call.
type commandFacts struct {
	holder   holder
	lists    factLists
	words    []any           // room for all words
	texts    strings.Builder // the texts of the commands, one behind the other
	argument any             // that the last command is in
}

func newCommandFacts(d *Detector, s *script) *commandFacts {
	f := &commandFacts{holder: holder{commandLists: &d.commands}}
	words, size := 0, 0
	for _, c := range s.commands {
		words += len(c.words)
		size += c.size()
	}
	f.words = make([]any, 0, words)
	f.texts.Grow(size)
	return f
}

// fact is what is known of one command.
func (f *commandFacts) fact(c *invocation) map[string]any {
	words, text := f.read(c)
	exact, folded := f.held(c)
	program := any("")
	if c.program() != "" {
		program = words[0]
	}
	if f.argument != c.argument {
		f.argument = c.argument
	}
	return map[string]any{
		"argument": f.argument, "program": program, "words": words, "text": text, "via": f.lists.inOrder(c.via),
		"builtin": c.builtin, "known": c.known, "passes": c.passes, "effects": f.lists.inOrder(distinct(c.effects)),
		"lists": f.lists.of(exact), "lists_folded": f.lists.of(folded), "problems": f.lists.inOrder(distinct(c.problems)),
	}
}

// held says which lists a command is on. What its words may carry, and what the
// script runs that it is, puts it on those that restrict.
func (f *commandFacts) held(c *invocation) (exact, folded []any) {
	words := c.expanded()
	exact, folded = f.holder.hold(words)
	under := make([][]shellWord, 0, len(c.within))
	for _, inner := range c.within {
		under = append(under, inner.expanded())
	}
	if tail := carried(words); tail != nil {
		under = append(under, tail)
	}
	if len(under) == 0 {
		return exact, folded
	}
	exact, folded = slices.Clone(exact), slices.Clone(folded)
	for _, words := range under {
		_, more := f.holder.hold(words)
		for _, m := range more {
			if !slices.Contains(folded, m) {
				folded = append(folded, m)
			}
		}
	}
	slices.SortFunc(folded, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
	return exact, folded
}

// read is the words of a command and all of them as one text.
func (f *commandFacts) read(c *invocation) (words []any, text string) {
	from, start := len(f.words), f.texts.Len()
	for i, w := range c.words {
		word := validText(w.text)
		if i > 0 {
			f.texts.WriteByte(' ')
		}
		f.texts.WriteString(word)
		f.words = append(f.words, word)
	}
	// What is written behind it leaves it as it is.
	return slices.Clip(f.words[from:]), f.texts.String()[start:]
}

// validText is text that every journal can hold.
func validText(s string) string {
	return strings.ToValidUTF8(s, "\uFFFD")
}

// script is what the command arguments of a call would run. It is computed once.
func (d *Detector) script(ctx context.Context, c *Call, w World) *script {
	if c.script != nil {
		return c.script
	}
	c.script = d.read(ctx, c, w, false, false)
	loose := c.script.moved && c.script.later
	if loose {
		c.script = d.read(ctx, c, w, true, false)
	}
	if !c.script.settled(c.look(w)) {
		c.script = d.read(ctx, c, w, loose, true)
	}
	if c.script.rewrites() {
		c.script.unknown = append(c.script.unknown, Unknown{Family: Shell, Code: "script_changed"})
	}
	return c.script
}

// read reads every command argument; loose says that nobody can tell in which
// folder anything runs: a function or a trap may have changed it; asWritten, that
// nobody can tell what patterns match.
func (d *Detector) read(ctx context.Context, c *Call, w World, loose, asWritten bool) *script {
	out := &script{asWritten: asWritten, room: newRoom()}
	in := workDirs(c, w)
	declared, given := false, false
	for _, name := range c.described() {
		v, ok := c.Action.Arguments[name]
		if c.Tool.Arguments[name].Kind != engine.CommandKind {
			continue
		}
		if declared, given = true, given || ok; !ok {
			continue
		}
		l := &line{detector: d, ctx: ctx, world: w, tree: c.look(w), out: out, argument: engine.Pointer(name), functions: map[string]bool{}, loose: loose}
		before := len(out.commands)
		switch v := v.(type) {
		case string:
			l.read(v, in)
		case []any:
			l.argv(v, in)
		default:
			l.fail("not_a_command")
		}
		if len(out.commands) == before && len(out.unknown) == 0 {
			// Nothing is proved by nothing.
			l.fail("no_command")
		}
	}
	out.follow()
	if declared && !given {
		out.unknown = append(out.unknown, Unknown{Family: Shell, Code: "no_command"})
	}
	return out
}

// workDirs are the folders that a command may start in: the working directory,
// and any that the call names beside the command.
func workDirs(c *Call, w World) (in dirs) {
	if strings.HasPrefix(w.Dir, "/") {
		in.names = append(in.names, w.Dir)
	} else {
		in.open = true
	}
	for _, name := range c.described() {
		if c.Tool.Arguments[name].Kind != engine.PathKind {
			continue
		}
		if s, ok := c.Action.Arguments[name].(string); ok {
			in = in.or(in.change(s))
		}
	}
	return in
}

// argv reads a program and its arguments, which no shell expands.
func (l *line) argv(list []any, in dirs) {
	var words []shellWord
	size := 0
	for i, e := range list {
		s, ok := e.(string)
		if size += len(s); !ok || size > maxLine {
			l.fail("not_a_command")
			return
		}
		if strings.ContainsRune(s, 0) {
			l.argument += "/" + strconv.Itoa(i)
			l.fail("control_character")
			return
		}
		words = append(words, shellWord{text: s})
	}
	if len(words) > 0 {
		l.run(words, in, redirects{}, nil)
	}
}
