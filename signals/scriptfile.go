package signals

import (
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxScript is the size of the largest script that is read.
const maxScript = maxLine

// file reads the script that a shell is given by name: what it holds is what
// runs. One that is not there, or cannot be read, is a problem of the command and
// no proof of anything.
func (l *line) file(c *invocation, w shellWord, in dirs) {
	dir, one := in.only()
	one = one && !l.loose || strings.HasPrefix(w.text, "/")
	if w.open || l.world.Files == nil || !one {
		c.problem("script_unread")
		return
	}
	place := l.tree.resolveIn(dir, w.text, true)
	if place.unknown != "" || !place.exists {
		c.problem("script_unread")
		return
	}
	text, err := l.world.Files.ReadFile(place.resolved, maxScript)
	if err != nil {
		c.problem("script_unread")
		return
	}
	l.out.scripts = append(l.out.scripts, place.resolved)
	l.code(c, shellWord{text: string(text)}, in)
}

// scripted reads a file that is run by its name, if it is a script of a shell. Its
// commands restrict and never allow: whoever lists the file has listed them.
func (l *line) scripted(c *invocation, w shellWord, in dirs) {
	dir, one := in.only()
	if !strings.Contains(w.text, "/") || w.open || l.world.Files == nil || l.loose || !one && !path.IsAbs(w.text) || l.depth > 0 {
		return
	}
	place := l.tree.resolveIn(dir, w.text, true)
	if place.unknown != "" || !place.exists || place.folder {
		return
	}
	text, err := l.world.Files.ReadFile(place.resolved, maxScript)
	if err != nil || !shellScript(string(text)) {
		return
	}
	child := *l
	child.depth++
	child.out, child.stdin, child.bindings = &script{}, nil, nil
	child.read(string(text), in)
	c.within = child.out.commands
}

// shellScript reports text that a shell runs: it says so, or it says nothing.
func shellScript(text string) bool {
	first, _, _ := strings.Cut(text, "\n")
	if !strings.HasPrefix(first, "#!") {
		return utf8.ValidString(text) && !strings.Contains(text, "\x00")
	}
	return slices.ContainsFunc(strings.Fields(first[2:]), func(w string) bool {
		return slices.Contains([]string{"sh", "bash", "dash", "zsh", "ksh"}, path.Base(w))
	})
}

// rewrites reports that a line may change a script that it runs: what was read is
// not what runs then.
func (s *script) rewrites() bool {
	if len(s.scripts) == 0 {
		return false
	}
	for _, c := range s.commands {
		for _, t := range c.touches {
			if t.access == write && slices.ContainsFunc(s.scripts, t.mayBe) {
				return true
			}
		}
	}
	return false
}

// mayBe reports that a path may be a file or a folder that it is in. Links are not
// followed: the same last component is enough.
func (t touch) mayBe(file string) bool {
	full := t.declared
	if !path.IsAbs(full) {
		full = t.dir + "/" + full
	}
	full = path.Clean(full)
	return t.unknown != "" || path.Base(full) == path.Base(file) || below(full, file)
}
