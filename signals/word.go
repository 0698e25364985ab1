package signals

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// maxBraces is how many words the braces of one word may make. More is open.
const maxBraces = 256

// shellWord is one argument as the program that runs would get it.
type shellWord struct {
	text string // quotes and escapes removed; where it is open, as written
	// open: it holds something that is known only when the line runs.
	open bool
	// many: an open word that may become several words, or none.
	many bool
	// output: it is open for nothing but what commands print or a number comes to.
	output bool
	// stream: it is what another command of the line writes or reads.
	stream bool
	// pattern is what an open word is that is nothing but a pattern of names, and
	// matches what a shell puts in its place. Both are nil where nobody can tell.
	pattern *wildcard
	matches *matches
}

// unknown is the code of why nobody can tell what an open word is.
func (w shellWord) unknown() string {
	if w.pattern == nil {
		return "undetermined_word"
	}
	return cmp.Or(w.pattern.unmatched, "undetermined_word")
}

// words expands arguments: braces, quotes, escapes, the home directory. What
// runs inside of them is added to the line's commands.
func (l *line) words(args []*syntax.Word, in dirs) (out []shellWord) {
	out = l.out.room.words.take(len(args))[:0]
	for _, a := range args {
		if !l.braced || openBraces(a) == 0 {
			if text, ok := verbatim(a); ok {
				out = append(out, shellWord{text: text}) // nearly always
			} else {
				out = append(out, l.pathnames(l.word(a, in), in))
			}
			continue
		}
		for _, w := range l.braces(a) {
			out = append(out, l.pathnames(l.word(w, in), in))
		}
	}
	return out
}

// plainly is the words as a shell without braces and without $'...' has them:
// nobody says which shell it will be. It is nil where both read the same. What
// runs inside of them is not added again.
func (l *line) plainly(args []*syntax.Word, in dirs) (out []shellWord) {
	if !l.braced && !l.dollars {
		return nil
	}
	differs := false
	for _, a := range args {
		_, braces := splitBraces(a)
		differs = differs || braces || slices.ContainsFunc(a.Parts, dollarQuoted)
	}
	if !differs {
		return nil
	}
	for _, a := range args {
		out = append(out, l.pathnames(l.expand(a, in, true), in))
	}
	return out
}

func dollarQuoted(p syntax.WordPart) bool {
	switch p := p.(type) {
	case *syntax.SglQuoted:
		return p.Dollar
	case *syntax.DblQuoted:
		return p.Dollar
	}
	return false
}

// braces is what brace expansion makes of a word.
func (l *line) braces(w *syntax.Word) []*syntax.Word {
	if openBraces(w) > maxBraces {
		l.fail("too_large")
		return []*syntax.Word{w}
	}
	parts, braces := splitBraces(w)
	if !braces {
		return []*syntax.Word{w}
	}
	if countBraces(parts) > maxBraces {
		l.fail("too_large")
		return []*syntax.Word{w}
	}
	var out []*syntax.Word
	for one, err := range expand.BracesSeq(nil, parts) {
		if err != nil {
			l.fail("too_large")
			return []*syntax.Word{w}
		}
		out = append(out, one)
	}
	return out
}

// splitBraces is a word with its braces as parts of their own, if it has any.
func splitBraces(w *syntax.Word) (*syntax.Word, bool) {
	switch n := openBraces(w); {
	case n == 0:
		return w, false
	case n > maxBraces:
		return w, true
	}
	out := &syntax.Word{Parts: slices.Clone(w.Parts)}
	return out, syntax.SplitBraces(out)
}

// openBraces counts the opening braces of a word. To split one takes the parser
// the square of their number.
func openBraces(w *syntax.Word) (n int) {
	for _, p := range w.Parts {
		if lit, ok := p.(*syntax.Lit); ok {
			n += strings.Count(lit.Value, "{")
		}
	}
	return n
}

// countBraces is how many words a word with braces makes, or more than the limit.
func countBraces(w *syntax.Word) int {
	n := 1
	for _, p := range w.Parts {
		b, ok := p.(*syntax.BraceExp)
		if !ok {
			continue
		}
		sum := 0
		for _, e := range b.Elems {
			sum += countBraces(e)
		}
		if b.Sequence {
			sum = countSequence(b)
		}
		if n *= sum; n > maxBraces || n == 0 {
			return maxBraces + 1
		}
	}
	return n
}

func countSequence(b *syntax.BraceExp) int {
	var ends [2]int
	for i := range ends {
		text := b.Elems[i].Lit()
		n, err := strconv.Atoi(text)
		if err != nil {
			if len(text) != 1 {
				return maxBraces + 1
			}
			n = int(text[0])
		}
		ends[i] = n
	}
	n := ends[0] - ends[1]
	if n < 0 {
		n = -n
	}
	if n < 0 || n > maxBraces {
		return maxBraces + 1
	}
	return n + 1
}

// word expands one word.
func (l *line) word(w *syntax.Word, in dirs) shellWord { return l.expand(w, in, false) }

func (l *line) expand(w *syntax.Word, in dirs, plain bool) shellWord {
	if text, ok := verbatim(w); ok {
		return shellWord{text: text}
	}
	e := expansion{line: l, in: in, plain: plain}
	for i, p := range w.Parts {
		if lit, ok := p.(*syntax.Lit); ok {
			e.literal(lit.Value, i == 0, len(w.Parts) == 1)
			continue
		}
		e.part(p, false)
	}
	e.out.text = string(e.text)
	if e.globs && !e.out.open && !e.out.stream {
		e.out.pattern = &wildcard{text: e.out.text, active: e.active}
	}
	if e.globs {
		e.leave(false)
	}
	e.out.output = e.out.open && !e.varies
	if e.out.open {
		// As written, so that a rule can still look at it.
		e.out.text = l.source(w)
	}
	return e.out
}

// verbatim is the text of a word of one part that stands for itself, as most do.
func verbatim(w *syntax.Word) (string, bool) {
	if len(w.Parts) != 1 {
		return "", false
	}
	switch p := w.Parts[0].(type) {
	case *syntax.Lit:
		return p.Value, !expands(p.Value)
	case *syntax.SglQuoted:
		return p.Value, !p.Dollar
	}
	return "", false
}

// expands reports literal text with a sign in it that a shell may read.
func expands(s string) bool {
	for i := range len(s) {
		switch s[i] {
		case '~', '\\', '*', '?', '[':
			return true
		}
	}
	return false
}

// assigned expands the value of an assignment: it is one word, and no glob.
func (l *line) assigned(w *syntax.Word, in dirs) shellWord {
	if w == nil {
		return shellWord{}
	}
	out := l.word(w, in)
	out.many = false
	return out
}

type expansion struct {
	line *line
	in   dirs
	out  shellWord
	text []byte
	// plain reads as a shell without $'...'; what runs inside was added before.
	plain bool
	// varies: something else than output is open.
	varies bool
	// globs: there is a sign that makes it a pattern. active are the offsets of the
	// signs that are not quoted.
	globs  bool
	active []int
}

// recited is what `cat` prints of a document that stands in the line and holds
// nothing to expand.
func (l *line) recited(stmts []*syntax.Stmt) (string, bool) {
	if len(stmts) != 1 || stmts[0].Background || stmts[0].Negated || stmts[0].Coprocess || len(stmts[0].Redirs) != 1 || l.functions["cat"] {
		return "", false
	}
	call, ok := stmts[0].Cmd.(*syntax.CallExpr)
	if !ok || len(call.Assigns) > 0 || len(call.Args) != 1 || call.Args[0].Lit() != "cat" {
		return "", false
	}
	r := stmts[0].Redirs[0]
	if r.Op != syntax.Hdoc && r.Op != syntax.DashHdoc || r.N != nil || r.Hdoc == nil {
		return "", false
	}
	w := l.document(r)
	return w.text, !w.open
}

func (e *expansion) add(s string) { e.text = append(e.text, s...) }

// leave marks a part that only the run can tell.
func (e *expansion) leave(quoted bool) {
	e.varies = true
	e.printed(quoted)
}

// printed marks a part that is what a command prints, or a number.
func (e *expansion) printed(quoted bool) {
	e.out.open = true
	e.out.many = e.out.many || !quoted
}

// literal adds unquoted text: a backslash quotes what follows, and what is not
// quoted may be a pattern or a tilde.
func (e *expansion) literal(s string, first, whole bool) {
	if first && strings.HasPrefix(s, "~") {
		user, rest, slash := strings.Cut(s, "/")
		if user != "~" || !slash && !whole || !e.line.homeKnown() {
			e.leave(false)
			return
		}
		e.add(e.line.world.Home)
		if s = ""; slash {
			s = "/" + rest
		}
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s):
			if i++; s[i] != '\n' {
				e.add(s[i : i+1])
			}
		case c == '*' || c == '?' || c == '[' && (!whole || strings.Contains(s[i:], "]")):
			e.globs = true
			fallthrough
		case c == ']' || c == '!' || c == '-' || c == '^':
			e.active = append(e.active, len(e.text))
			e.add(s[i : i+1])
		default:
			e.add(s[i : i+1])
		}
	}
}

// part adds any other part of a word.
func (e *expansion) part(p syntax.WordPart, quoted bool) {
	switch p := p.(type) {
	case *syntax.Lit:
		e.inQuotes(p.Value)
	case *syntax.SglQuoted:
		if p.Dollar && e.plain {
			e.add("$" + p.Value)
		} else if !p.Dollar {
			e.add(p.Value)
		} else if s, ok := ansiC(p.Value); ok {
			e.add(s)
		} else {
			e.leave(true)
		}
	case *syntax.DblQuoted:
		if p.Dollar && e.plain {
			e.add("$")
		}
		for _, p := range p.Parts {
			e.part(p, true)
		}
	case *syntax.ParamExp:
		e.parameter(p, quoted)
	case *syntax.CmdSubst:
		e.aside(p.Stmts)
		if text, ok := e.line.recited(p.Stmts); ok && quoted {
			e.add(strings.TrimRight(text, "\n"))
		} else {
			e.printed(quoted)
		}
	case *syntax.ProcSubst:
		uses := len(e.line.out.uses)
		e.aside(p.Stmts)
		e.line.out.overlap(e.line.out.uses[uses:], always, false)
		e.out.stream = true
		e.add("/dev/fd/63")
	case *syntax.ArithmExp:
		if !e.plain {
			e.line.number(p, e.in)
		}
		e.printed(quoted)
	default:
		if !e.plain {
			e.line.inside(p, e.in)
		}
		e.leave(false)
	}
}

func (e *expansion) aside(list []*syntax.Stmt) {
	if !e.plain {
		e.line.aside(list, e.in)
	}
}

// inQuotes adds text in double quotes, where a backslash quotes four characters
// and a line end.
func (e *expansion) inQuotes(s string) {
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("$`\"\\\n", s[i+1]) >= 0 {
			if i++; s[i] == '\n' {
				continue
			}
		}
		e.add(s[i : i+1])
	}
}

// parameter adds a variable. The home and the working directory are known, and
// that of a loop over words that are.
func (e *expansion) parameter(p *syntax.ParamExp, quoted bool) {
	if !e.plain {
		e.line.inside(p, e.in)
	}
	plain := p.Param != nil && p.Flags == nil && !p.Excl && !p.Length && !p.Width && !p.IsSet && p.NestedParam == nil &&
		p.Index == nil && len(p.Modifiers) == 0 && p.Slice == nil && p.Repl == nil && p.Names == 0 && p.Exp == nil
	value, known := "", false
	if plain {
		switch p.Param.Value {
		case "HOME":
			value, known = e.line.world.Home, e.line.homeKnown()
		case "PWD":
			value, known = e.in.only()
			known = known && !e.line.loose
		default:
			value, known = e.line.bindings[p.Param.Value]
		}
	}
	if !known || !quoted && strings.ContainsAny(value, " \t\n*?[\\") {
		e.leave(quoted)
		return
	}
	e.add(value)
}

// ansiC is the text of $'...'; false where it has an escape that shells read
// differently, or one that ends the text.
func ansiC(s string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		if i++; i == len(s) {
			return "", false
		}
		if j := strings.IndexByte(`abeEfnrtv\'"?`, s[i]); j >= 0 {
			b.WriteByte("\a\b\x1b\x1b\f\n\r\t\v\\'\"?"[j])
			continue
		}
		base, most := 16, 0
		switch s[i] {
		case 'x':
			most = 2
		case 'u':
			most = 4
		case 'U':
			most = 8
		case '0', '1', '2', '3', '4', '5', '6', '7':
			base, most = 8, 3
			i--
		default:
			return "", false
		}
		n, digits := digits(s[i+1:], base, most)
		if digits == 0 || n == 0 {
			return "", false
		}
		if most <= 3 {
			b.WriteByte(byte(n))
		} else if n > utf8.MaxRune {
			return "", false
		} else {
			b.WriteRune(rune(n))
		}
		i += digits
	}
	return b.String(), true
}

// digits reads at most most digits.
func digits(s string, base, most int) (n, digits int) {
	for digits < most && digits < len(s) {
		d := strings.IndexByte("0123456789abcdef"[:base], s[digits]|0x20)
		if s[digits] < '0' || d < 0 {
			break
		}
		n = n*base + d
		digits++
	}
	return n, digits
}
