package signals

import (
	"context"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Limits of one command argument. More is unknown.
const (
	maxLine     = 64 << 10 // bytes
	maxCommands = 512
	maxDepth    = 16        // lines within lines: sh -c, eval, ...
	maxWords    = 256 << 10 // bytes of all words
	maxSteps    = 10_000
	maxNested   = 100
	maxDirs     = 8 // folders that a cd may have led to
)

// script is every command that the command arguments of a call would run.
type script struct {
	commands []*invocation
	unknown  []Unknown
	text     int // bytes of words so far
	steps    int // statements read so far
	// moved: something may change the folder. later: something runs when it is
	// called for. Both together leave open where that is.
	moved, later bool
	scripts      []string // that were read for what they run
	uses         []use    // patterns that were expanded
	// options: how patterns are expanded may be another way than usual.
	// asWritten: none is expanded, and no variable of a loop.
	options, asWritten bool
	room               room
	// bound: a variable of a loop was expanded. renames: variables may change by
	// more than what says so.
	bound, renames bool
}

// room is where what is read of a text is kept: hundreds of small things that live as
// long as the script.
type room struct {
	words       slab[shellWord]
	invocations slab[invocation]
	touches     slab[touch]
}

// newRoom is room of which little is left over at the end, of a line of any length.
func newRoom() room {
	return room{words: slab[shellWord]{most: 32}, invocations: slab[invocation]{most: 8}, touches: slab[touch]{most: 8}}
}

func (r *room) command() *invocation { return &r.invocations.take(1)[0] }

// invocation is one command that would run.
type invocation struct {
	argument string
	words    []shellWord // the program first
	via      []string
	builtin  bool
	known    bool          // its effects are known
	within   []*invocation // what a script runs that it is, as far as it was read
	passes   bool          // it does nothing but run the command after it
	// contained: it changes nothing besides what it touches and what the commands
	// do that it runs, which are listed.
	contained bool
	taken     int // patterns among its words that it treats all matches of alike
	effects   []string
	problems  []string
	touches   []touch
}

// follow takes what new links lead to for read where the same text goes on to
// touch anything: it may do so through them.
func (s *script) follow() {
	links, others := []*touch{}, false
	for _, c := range s.commands {
		for i := range c.touches {
			if c.touches[i].access == link {
				links = append(links, &c.touches[i])
			}
		}
		others = others || len(c.touches) > 0 && !slices.Contains(c.effects, string(link))
	}
	if !others {
		return
	}
	for _, t := range links {
		t.access = read
	}
}

func (c *invocation) program() string {
	if len(c.words) == 0 || c.words[0].open {
		return ""
	}
	return c.words[0].text
}

// size is how long the words are, with what separates them.
func (c *invocation) size() (n int) {
	for _, w := range c.words {
		n += len(w.text) + 1
	}
	return n
}

func (c *invocation) effect(names ...string) {
	for _, n := range names {
		if !slices.Contains(c.effects, n) {
			c.effects = append(c.effects, n)
		}
	}
}

// effectsOf notes what a table says that a command does. Most do nothing else, and
// have the table's list, which nobody changes.
func (c *invocation) effectsOf(list []string) {
	if len(c.effects) == 0 {
		c.effects = slices.Clip(list)
	} else {
		c.effect(list...)
	}
}

func (c *invocation) problem(names ...string) {
	for _, n := range names {
		if !slices.Contains(c.problems, n) {
			c.problems = append(c.problems, n)
		}
	}
}

// dirs are the folders that a command may run in: a cd may have failed.
type dirs struct {
	names []string
	open  bool // or in any other
}

// only is the folder, if there is one.
func (d dirs) only() (string, bool) {
	if d.open || len(d.names) != 1 {
		return "", false
	}
	return d.names[0], true
}

func (d dirs) or(o dirs) dirs {
	out := dirs{names: slices.Clip(d.names), open: d.open || o.open}
	for _, n := range o.names {
		if !slices.Contains(out.names, n) {
			out.names = append(out.names, n)
		}
	}
	if len(out.names) > maxDirs {
		return dirs{open: true}
	}
	return out
}

// none reports code that no known run reaches.
func (d dirs) none() bool { return !d.open && len(d.names) == 0 }

// line reads one piece of shell text.
type line struct {
	detector *Detector
	ctx      context.Context
	world    World
	tree     *tree
	out      *script
	argument string
	src      string
	// braced and dollars: there is an opening brace in the text, or a dollar.
	braced, dollars bool
	depth           int
	nested          int // statements within statements
	via             []string
	// names that the line gives a meaning of its own: functions.
	functions map[string]bool
	// loose: nobody can tell in which folder anything runs.
	loose bool
	// rebound: the line changes what HOME is.
	rebound bool
	// start and at are the lines of the text that its first statement and the
	// current one begin on.
	start, at uint
	// quoted: a quote of the text ends at a backslash, see deceptiveQuote.
	quoted bool
	// stdin is the text that a command is given to read, where that is known.
	stdin *shellWord
	// bindings are the variables of loops, in the turn that is read; turns is how many
	// there are of the innermost one in all.
	bindings map[string]string
	turns    int
}

func (l *line) fail(code string) {
	l.out.unknown = append(l.out.unknown, Unknown{Family: Shell, Code: code, Where: l.argument})
}

func (l *line) homeKnown() bool {
	return !l.rebound && strings.HasPrefix(l.world.Home, "/")
}

// source is a node as written.
func (l *line) source(n syntax.Node) string {
	from, to := int(n.Pos().Offset()), int(n.End().Offset())
	if from < 0 || to > len(l.src) || from > to {
		return ""
	}
	return l.src[from:to]
}

// read reads shell text: every command in it that may run.
func (l *line) read(src string, in dirs) (ok, failed dirs) {
	l.src, l.braced, l.dollars = src, strings.Contains(src, "{"), strings.Contains(src, "$")
	switch code := unreadableLine(src); {
	case len(src) > maxLine:
		l.fail("too_large")
		return in, in
	case l.depth > maxDepth:
		l.fail("too_deep")
		return in, in
	case code != "":
		l.fail(code)
		return in, in
	case continuedComment(src):
		l.fail("continued_comment")
		return in, in
	}
	l.out.options = l.out.options || strings.Contains(src, "GLOBIGNORE") || strings.Contains(src, "OPTS")
	l.out.renames = l.out.renames || renames(src)
	file, err := bashParsers.parse(src)
	if err != nil {
		l.fail("parse")
		return in, in
	}
	l.rebound = l.rebound || rebinds(src, "HOME")
	l.quoted = l.quoted || deceptiveQuote(src, file)
	if l.start, l.at = 0, 0; len(file.Stmts) > 0 {
		l.start = file.Stmts[0].Pos().Line()
	}
	differs := bracketed(src) && l.declared(file)
	ok, failed = l.stmts(file.Stmts, in)
	if differs {
		l.readPlain(in)
	}
	return ok, failed
}

// bracketed reports text that a function, [[ or (( can be in: none is without a
// bracket or the word function, whatever line ends are escaped within.
func bracketed(src string) bool {
	return strings.ContainsAny(src, `([\`) || strings.Contains(src, "function")
}

// declared takes note of the functions that text declares, and reports whether
// there is a [[ or a (( in it.
func (l *line) declared(file *syntax.File) (differs bool) {
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.FuncDecl:
			if n.Name != nil {
				l.functions[n.Name.Value] = true
			}
		case *syntax.TestClause, *syntax.ArithmCmd:
			differs = true
		}
		return true
	})
	return differs
}

// deceptiveQuote reports a single quote that ends at a backslash while another one
// follows. To a shell the quote has ended and what follows are commands; whoever
// takes the backslash for an escape reads them as text.
func deceptiveQuote(src string, file *syntax.File) (found bool) {
	if !strings.Contains(src, `\'`) {
		return false
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		q, ok := n.(*syntax.SglQuoted)
		if !ok || q.Dollar {
			return !found
		}
		slashes := len(q.Value) - len(strings.TrimRight(q.Value, `\`))
		end := min(int(q.End().Offset()), len(src))
		found = found || slashes%2 == 1 && strings.Contains(src[end:], "'")
		return !found
	})
	return found
}

// readPlain reads the text as a shell without [[ and (( has it, where that is
// text at all: [[ is a command to it, a bracket a subshell and > a redirection.
// Nobody says which shell it will be.
func (l *line) readPlain(in dirs) {
	file, err := posixParsers.parse(l.src)
	if err != nil {
		return
	}
	n := len(l.out.commands)
	defer func() { l.out.overlap(l.out.uses, always, true) }()
	l.stmts(file.Stmts, in)
	before, more := l.out.commands[:n:n], l.out.commands[n:]
	for _, c := range more {
		absent := c.program() == "[[" && len(c.touches) == 0
		if !absent && !slices.ContainsFunc(before, c.same) {
			before = append(before, c)
		}
	}
	l.out.commands = before
}

// same reports that two commands say the same.
func (c *invocation) same(o *invocation) bool {
	return slices.Equal(c.words, o.words) && slices.Equal(c.via, o.via) && slices.Equal(c.effects, o.effects) && slices.Equal(c.problems, o.problems) &&
		slices.EqualFunc(c.touches, o.touches, func(a, b touch) bool { return a.key() == b.key() })
}

// unreadableLine is the code of text that shells, terminals and people read
// differently.
func unreadableLine(s string) string {
	if plainText(s) {
		return ""
	}
	return unreadable(strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		return r
	}, s))
}

// continuedComment reports a backslash at the end of what may be a comment. To a
// shell the comment ends there; to the parser it goes on with the next line, which
// would run unseen (mvdan.cc/sh v3.14.1).
func continuedComment(src string) bool {
	for line := range strings.SplitSeq(src, "\n") {
		if strings.HasSuffix(line, `\`) && strings.Contains(line, "#") {
			return true
		}
	}
	return false
}

// rebinds reports that text may set a variable: its name stands somewhere
// without the sign that reads it.
func rebinds(src, name string) bool {
	for rest := src; ; {
		i := strings.Index(rest, name)
		if i < 0 {
			return false
		}
		at := len(src) - len(rest) + i
		rest = rest[i+len(name):]
		if rest != "" && nameByte(rest[0]) {
			continue
		}
		if at == 0 || src[at-1] != '$' && src[at-1] != '{' && !nameByte(src[at-1]) {
			return true
		}
	}
}

func nameByte(c byte) bool {
	return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9'
}

func (l *line) stmts(list []*syntax.Stmt, in dirs) (ok, failed dirs) {
	ok, failed = in, in
	for _, s := range list {
		ok, failed = l.stmt(s, in)
		in = ok.or(failed)
	}
	return ok, failed
}

// aside reads statements whose shell is another one: what they change is gone.
func (l *line) aside(list []*syntax.Stmt, in dirs) {
	stdin := l.stdin
	l.stdin = nil
	l.stmts(list, in)
	l.stdin = stdin
}

// inside reads what runs within a node that is no command itself.
func (l *line) inside(n syntax.Node, in dirs) { l.within(n, in, false) }

// number reads what runs within a node that is evaluated as a number, and with
// it the text of variables and quotes.
func (l *line) number(n syntax.Node, in dirs) { l.within(n, in, true) }

func (l *line) within(n syntax.Node, in dirs, number bool) {
	if n == nil {
		return
	}
	// A substitution is read where it is met; meeting it twice does no harm.
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			l.aside(n.Stmts, in)
			return false
		case *syntax.ProcSubst:
			uses := len(l.out.uses)
			l.aside(n.Stmts, in)
			l.out.overlap(l.out.uses[uses:], always, false)
			return false
		case *syntax.ParamExp:
			if n.Exp != nil && n.Exp.Op == syntax.OtherParamOps {
				// ${x@P} runs what it finds in the variable.
				l.fail("hidden_substitution")
			}
			if n.Index != nil && !number {
				l.number(n.Index, in)
			}
			if n.Slice != nil && !number {
				l.number(n.Slice.Offset, in)
				l.number(n.Slice.Length, in)
			}
		case *syntax.SglQuoted, *syntax.Lit:
			if number && hidesSubstitution(l.source(n)) {
				l.fail("hidden_substitution")
			}
		}
		return true
	})
}

// hidesSubstitution reports text that runs a command where it is evaluated as a
// number: a[$(x)].
func hidesSubstitution(s string) bool {
	return strings.Contains(s, "[") && (strings.Contains(s, "$(") || strings.Contains(s, "`"))
}

func (l *line) stmt(s *syntax.Stmt, in dirs) (ok, failed dirs) {
	if l.ctx.Err() != nil {
		l.fail("timeout")
		return in, in
	}
	if l.out.steps++; l.out.steps > maxSteps {
		if l.out.steps == maxSteps+1 {
			l.fail("too_large")
		}
		return in, in
	}
	if l.nested >= maxNested {
		l.fail("too_deep")
		return in, in
	}
	l.nested++
	outer := l.at
	l.at = s.Pos().Line()
	defer func() { l.nested--; l.at = outer }()
	if in.none() {
		// Nothing said so far lets it run; what was not foreseen may.
		in = dirs{open: true}
	}
	was := l.stdin
	r := l.redirects(s.Redirs, in)
	if r.stdin != nil {
		l.stdin = r.stdin
	}
	first, uses := len(l.out.commands), len(l.out.uses)
	ok, failed = l.cmd(s.Cmd, in, r)
	l.stdin = was
	if _, simple := s.Cmd.(*syntax.CallExpr); !simple && !r.empty() {
		for _, c := range l.out.commands[first:] {
			r.effects(c)
		}
		l.redirection(s, r)
		l.out.overlap(l.out.uses[uses:], len(l.out.commands), false)
	}
	if s.Negated {
		ok, failed = failed, ok
	}
	if s.Background || s.Coprocess || s.Disown {
		l.out.overlap(l.out.uses[uses:], always, false)
		return in, in
	}
	return ok, failed
}

// cmd reads a command of any form and says where the next one may run, after its
// success and after its failure.
func (l *line) cmd(c syntax.Command, in dirs, r redirects) (ok, failed dirs) {
	switch c := c.(type) {
	case nil:
		return in, in
	case *syntax.CallExpr:
		return l.callExpr(c, in, r)
	case *syntax.Block:
		return l.stmts(c.Stmts, in)
	case *syntax.Subshell:
		l.stmts(c.Stmts, in)
		return in, in
	case *syntax.BinaryCmd:
		return l.binary(c, in)
	case *syntax.IfClause:
		return l.ifClause(c, in)
	case *syntax.WhileClause:
		return l.loop(in, func(in dirs) dirs {
			ok, failed := l.stmts(c.Cond, in)
			a, b := l.stmts(c.Do, ok.or(failed))
			return ok.or(failed).or(a).or(b)
		})
	case *syntax.ForClause:
		return l.forClause(c, in)
	case *syntax.CaseClause:
		l.word(c.Word, in)
		out := in
		for _, item := range c.Items {
			for _, p := range item.Patterns {
				l.word(p, in)
			}
			ok, failed := l.stmts(item.Stmts, out)
			out = out.or(ok).or(failed)
		}
		return out, out
	case *syntax.FuncDecl:
		l.out.later = true
		uses := len(l.out.uses)
		l.stmt(c.Body, in)
		l.out.overlap(l.out.uses[uses:], always, true)
		return in, in
	case *syntax.TimeClause:
		if c.Stmt == nil {
			return in, in
		}
		return l.stmt(c.Stmt, in)
	case *syntax.CoprocClause:
		uses := len(l.out.uses)
		l.stmt(c.Stmt, in)
		l.out.overlap(l.out.uses[uses:], always, false)
		return in, in
	case *syntax.DeclClause:
		l.declare(c, in, r)
		return in, in
	case *syntax.TestClause, *syntax.ArithmCmd, *syntax.LetClause:
		l.number(c, in)
		return in, in
	}
	l.fail("unsupported")
	return in, in
}

func (l *line) binary(c *syntax.BinaryCmd, in dirs) (ok, failed dirs) {
	switch c.Op {
	case syntax.AndStmt:
		okX, failedX := l.stmt(c.X, in)
		ok, failed = l.stmt(c.Y, okX)
		return ok, failed.or(failedX)
	case syntax.OrStmt:
		okX, failedX := l.stmt(c.X, in)
		ok, failed = l.stmt(c.Y, failedX)
		return ok.or(okX), failed
	}
	// The parts of a pipe run in shells of their own, the last one perhaps not.
	uses := len(l.out.uses)
	l.stmt(c.X, in)
	piped := l.stdin
	l.stdin = &shellWord{open: true, many: true}
	ok, failed = l.stmt(c.Y, in)
	l.stdin = piped
	l.out.overlap(l.out.uses[uses:], len(l.out.commands), false)
	out := in.or(ok).or(failed)
	return out, out
}

func (l *line) ifClause(c *syntax.IfClause, in dirs) (ok, failed dirs) {
	yes, no := in, in
	if len(c.Cond) > 0 {
		yes, no = l.stmts(c.Cond, in)
	}
	ok, failed = l.stmts(c.Then, yes)
	out := ok.or(failed)
	if c.Else != nil {
		ok, failed = l.ifClause(c.Else, no)
		out = out.or(ok).or(failed)
	} else if len(c.Cond) > 0 {
		out = out.or(no)
	}
	return out, out
}

// callExpr reads a simple command.
func (l *line) callExpr(c *syntax.CallExpr, in dirs, r redirects) (ok, failed dirs) {
	var settings []string
	for _, a := range c.Assigns {
		_, problems := l.assign(a, in)
		settings = append(settings, problems...)
	}
	words := l.words(c.Args, in)
	if len(words) == 0 {
		for _, a := range c.Assigns {
			l.sets(a.Name.Value)
		}
		if len(settings) > 0 || !r.empty() {
			bare := l.out.room.command()
			bare.builtin, bare.known = true, true
			l.add(bare).problem(settings...)
			r.apply(bare)
		}
		return in, in
	}
	first := len(l.out.commands)
	ok, failed = l.run(words, in, r, settings)
	l.out.used(words, first)
	if deep := deepened(words); deep != nil {
		a, b := l.run(deep, in, redirects{}, nil)
		l.out.used(deep, first)
		ok, failed = ok.or(a), failed.or(b)
	}
	if plain := l.plainly(c.Args, in); plain != nil && !slices.Equal(plain, words) {
		a, b := l.run(plain, in, redirects{}, nil)
		l.out.used(plain, first)
		ok, failed = ok.or(a), failed.or(b)
	}
	return ok, failed
}

// assign reads an assignment: its value, and what is wrong with it.
func (l *line) assign(a *syntax.Assign, in dirs) (value shellWord, problems []string) {
	if a.Value != nil && !a.Naked {
		value = l.assigned(a.Value, in)
	}
	if hidesSubstitution(value.text) {
		l.fail("hidden_substitution")
	}
	if a.Array != nil {
		value = shellWord{text: l.source(a.Array), open: true}
		for _, e := range a.Array.Elems {
			if e.Index != nil {
				l.number(e.Index, in)
			}
			if e.Value != nil {
				l.word(e.Value, in)
			}
		}
	}
	if a.Index != nil {
		l.number(a.Index, in)
	}
	if a.Name != nil && set(a.Name.Value, value) {
		problems = append(problems, "environment")
	}
	return value, problems
}

// sets notes that the line gives a variable a value that later words, or where a
// cd leads, hang on.
func (l *line) sets(name string) {
	switch name {
	case "HOME", "PWD", "OLDPWD", "CDPATH":
		l.fail("environment")
	}
}

// declare reads export, declare, local and their like.
func (l *line) declare(c *syntax.DeclClause, in dirs, r redirects) {
	cmd := &invocation{builtin: true, known: true, contained: true, words: []shellWord{{text: c.Variant.Value}}}
	for _, a := range c.Args {
		w, problems := l.assign(a, in)
		cmd.problem(problems...)
		switch {
		case a.Naked && a.Value != nil:
			w = l.word(a.Value, in)
			name, value, given := strings.Cut(w.text, "=")
			if w.open || given && set(name, shellWord{text: value}) {
				cmd.problem("environment")
			}
			l.rebound = l.rebound || w.open
			l.sets(name)
			if hidesSubstitution(w.text) {
				l.fail("hidden_substitution")
			}
		case a.Naked || a.Index != nil:
			w = shellWord{text: l.source(a)}
		default:
			w.text = a.Name.Value + "=" + w.text
			l.sets(a.Name.Value)
		}
		cmd.words = append(cmd.words, w)
	}
	r.apply(l.add(cmd))
}

// add notes a command that may run.
func (l *line) add(c *invocation) *invocation {
	c.argument, c.via = l.argument, slices.Clone(l.via)
	if l.at > l.start {
		c.problem("later_line")
	}
	if l.quoted {
		c.problem("deceptive_quote")
	}
	for i, w := range c.words {
		l.out.text += len(w.text)
		if hides(w.text) || i == 0 && wideSpace(w.text) {
			c.problem("format_character")
		}
		if w.open && w.matches == nil && !(i > 0 && w.output && c.words[0].text == "echo" && !l.functions["echo"]) {
			// All that echo makes of what another command prints is to print it.
			c.problem("undetermined_word")
		}
	}
	switch {
	case len(l.out.commands) >= maxCommands || l.out.text > maxWords:
		if len(l.out.commands) == maxCommands || l.out.text > maxWords {
			l.fail("too_large")
		}
		return c
	}
	l.out.commands = append(l.out.commands, c)
	return c
}
