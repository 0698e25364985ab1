package signals

import (
	"slices"
	"strings"
)

// find looks for files, and deletes them or runs commands on them.
func (l *line) find(c *invocation, words []shellWord, in dirs) (ok, failed dirs) {
	starts, i := []shellWord{}, 0
	for ; i < len(words); i++ {
		t := words[i].text
		if !words[i].open && slices.Contains([]string{"-H", "-L", "-P"}, t) {
			continue
		}
		if !words[i].open && (strings.HasPrefix(t, "-") || t == "(" || t == "!") {
			break
		}
		if starts = append(starts, words[i]); words[i].open && words[i].many && words[i].matches == nil {
			l.fail("program_undetermined")
		}
	}
	starts, words = c.take(starts, 0, len(starts)), slices.Concat(words[:i], unmatched(words[i:]))
	if len(starts) == 0 {
		starts = []shellWord{{text: "."}}
	}
	l.operands(c, starts, in, read)
	f := found{starts: starts, walk: walk{follows: true}}
	for ; i < len(words); i++ {
		if words[i].open && words[i].many {
			// It may be -exec and all that follows.
			l.fail("program_undetermined")
			continue
		}
		switch words[i].text {
		case "-name":
			if i++; i < len(words) {
				f.walk.filter("only", words[i])
			}
		case "-path", "-iname", "-ipath", "-regex", "-iregex", "-lname", "-ilname", "-wholename", "-type", "-size", "-mtime", "-mmin", "-perm", "-user", "-group", "-maxdepth", "-mindepth":
			i++ // a value, whatever it looks like
		case "-o", "-or", ",", "!", "-not":
			f.any = true
		case "-delete":
			c.problem("option_writes")
			l.operands(c, starts, in, remove)
		case "-fprint", "-fprint0", "-fls", "-fprintf":
			c.problem("option_writes")
			if i++; i < len(words) {
				l.operands(c, words[i:i+1], in, write)
			}
		case "-files0-from", "-newer", "-samefile", "-anewer", "-cnewer":
			if i++; i < len(words) {
				l.operands(c, words[i:i+1], in, read)
			}
		case "-exec", "-execdir", "-ok", "-okdir":
			i = l.finding(c, words, i, in, f)
		}
	}
	return in, in
}

// finding reads the command after words[at] and returns where it ends.
func (l *line) finding(c *invocation, words []shellWord, at int, in dirs, f found) int {
	end := at + 1
	for end < len(words) && (words[end].open || words[end].text != ";" && !(words[end].text == "+" && words[end-1].text == "{}")) {
		end++
	}
	if end == at+1 {
		return end
	}
	c.effect("execute")
	if strings.HasSuffix(words[at].text, "dir") {
		in = dirs{open: true}
	}
	l.via = append(l.via, c.program())
	uses := len(l.out.uses)
	defer func() { l.out.overlap(l.out.uses[uses:], len(l.out.commands), true) }()
	if run := words[at+1 : end]; f.read(run) {
		l.readFound(run, in, f)
	} else {
		l.run(appended(run, "{}"), in, redirects{}, nil)
	}
	l.via = l.via[:len(l.via)-1]
	return end
}

// found is where find looks, and what it takes of what is there.
type found struct {
	starts []shellWord
	walk   walk
	any    bool // what it takes hangs on more than that all conditions hold
}

// read reports a command that only reads what is found, each under its own name.
func (f *found) read(words []shellWord) bool {
	p := programs()[words[0].text]
	if words[0].open || p == nil || p.rule != "read" && p.rule != "pattern" && p.rule != "here" {
		return false
	}
	marks := 0
	for _, w := range words {
		if w.text == "{}" {
			marks++
		} else if w.open || strings.Contains(w.text, "{}") {
			return false
		}
	}
	return marks == 1 && !slices.ContainsFunc(f.starts, func(w shellWord) bool { return w.open })
}

// readFound reads a command over what is found: it is over the folders that find
// starts from, with what is in them.
func (l *line) readFound(words []shellWord, in dirs, f found) {
	if f.any {
		f.walk.only = nil
	}
	at := slices.IndexFunc(words, func(w shellWord) bool { return w.text == "{}" })
	for _, start := range f.starts {
		first := len(l.out.commands)
		over := slices.Clone(words)
		over[at] = start
		l.run(over, in, redirects{}, nil)
		for _, c := range l.out.commands[first:] {
			c.whole(f.walk)
			if len(c.words) == len(words) {
				c.words = words
			}
		}
	}
}
