package signals

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// redirects are what the redirections of one statement read and write.
type redirects struct {
	touches  []touch
	network  bool
	problems []string
	stdin    *shellWord // text that is fed to the command, or open for a file
}

func (r redirects) empty() bool { return len(r.touches) == 0 && !r.network && len(r.problems) == 0 }

// effects marks a command with what its redirections do.
func (r redirects) effects(c *invocation) {
	for _, t := range r.touches {
		c.effect(string(t.access))
		if t.access == write {
			c.problem("redirect_writes")
		}
	}
	if r.network {
		c.effect("network")
	}
	c.problem(r.problems...)
}

// apply gives a command the paths of its redirections too.
func (r redirects) apply(c *invocation) {
	r.effects(c)
	c.touches = append(c.touches, r.touches...)
}

// redirection notes the paths of what surrounds a group, a loop or a test.
func (l *line) redirection(s *syntax.Stmt, r redirects) {
	c := l.out.room.command()
	c.builtin, c.known = true, true
	r.apply(l.add(c))
}

func (l *line) redirects(list []*syntax.Redirect, in dirs) (r redirects) {
	for _, one := range list {
		if one.Hdoc != nil {
			l.inside(one.Hdoc, in)
			r.stdin = l.document(one)
			continue
		}
		w := l.word(one.Word, in)
		switch one.Op {
		case syntax.WordHdoc:
			r.stdin = &w
		case syntax.RdrIn:
			r.stdin = &shellWord{open: true}
			l.redirect(&r, w, in, read)
		case syntax.RdrInOut:
			r.stdin = &shellWord{open: true}
			l.redirect(&r, w, in, read)
			l.redirect(&r, w, in, write)
		case syntax.DplIn, syntax.DplOut:
			if descriptor(w) {
				continue
			}
			l.redirect(&r, w, in, write)
		default:
			l.redirect(&r, w, in, write)
		}
	}
	return r
}

// descriptor reports an operand that names an open file, or closes one.
func descriptor(w shellWord) bool {
	return !w.open && strings.Trim(w.text, "0123456789-") == ""
}

func (l *line) redirect(r *redirects, w shellWord, in dirs, a access) {
	switch {
	case w.stream || !w.open && harmless(w.text):
	case strings.HasPrefix(w.text, "/dev/tcp/") || strings.HasPrefix(w.text, "/dev/udp/"):
		r.network = true
		r.problems = append(r.problems, "network_redirect")
	default:
		r.touches = l.touches(r.touches, w, in, a, false)
	}
}

// harmless reports devices that keep nothing.
func harmless(name string) bool {
	switch name {
	case "/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/zero":
		return true
	}
	return false
}

// document is the text of a here-document.
func (l *line) document(r *syntax.Redirect) *shellWord {
	quoted := r.Word.Lit() == "" || strings.Contains(l.source(r.Word), `\`)
	e := expansion{line: l}
	for _, p := range r.Hdoc.Parts {
		lit, ok := p.(*syntax.Lit)
		if !ok {
			return &shellWord{open: true}
		}
		if quoted {
			e.add(lit.Value)
		} else {
			e.inQuotes(lit.Value)
		}
	}
	text := string(e.text)
	if r.Op == syntax.DashHdoc {
		var b strings.Builder
		for s := range strings.Lines(text) {
			b.WriteString(strings.TrimLeft(s, "\t"))
		}
		text = b.String()
	}
	return &shellWord{text: text}
}

// touches adds a path that a word names, from every folder the command may run in.
func (l *line) touches(list []touch, w shellWord, in dirs, a access, guessed bool) []touch {
	if list == nil {
		list = l.out.room.touches.take(max(1, len(in.names)))[:0]
	}
	t := touch{argument: l.argument, declared: w.text, access: a, literal: true, guessed: guessed}
	if w.open {
		t.unknown = w.unknown()
		return append(list, t)
	}
	if strings.HasPrefix(w.text, "/") {
		return append(list, t)
	}
	for _, t.dir = range in.names {
		list = append(list, t)
	}
	if in.open || l.loose || len(in.names) == 0 {
		t.dir, t.unknown = "", "directory_unknown"
		list = append(list, t)
	}
	return list
}
