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
	for ; i < len(words); i++ {
		if words[i].open && words[i].many {
			// It may be -exec and all that follows.
			l.fail("program_undetermined")
			continue
		}
		switch words[i].text {
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
			i = l.finding(c, words, i, in)
		}
	}
	return in, in
}

// finding reads the command after words[at] and returns where it ends.
func (l *line) finding(c *invocation, words []shellWord, at int, in dirs) int {
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
	l.run(appended(words[at+1:end], "{}"), in, redirects{}, nil)
	l.via = l.via[:len(l.via)-1]
	return end
}
