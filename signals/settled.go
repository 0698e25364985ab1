package signals

import (
	"math"
	"path"
	"slices"
	"strings"
)

// maxCompared is how many names that a text changes are held against what its
// expansions saw. More is unsettled.
const maxCompared = 100_000

// use is an expansion, and the commands that may run before or beside it.
type use struct {
	matches *matches
	// from and to are its own command and those that it runs, which begin after it;
	// again, where they may have run before.
	from, to int
	again    bool
	until    int // commands below this number run before or beside it
}

// always is after every command.
const always = math.MaxInt

// used takes note of patterns that were expanded for the commands from a number on.
func (s *script) used(words []shellWord, from int) {
	for _, w := range words {
		if w.matches != nil {
			s.uses = append(s.uses, use{matches: w.matches, from: from, to: len(s.commands), until: from})
		}
	}
}

// overlap says of expansions that what is listed below a number may run beside
// them.
func (s *script) overlap(uses []use, until int, again bool) {
	for i := range uses {
		uses[i].until = max(uses[i].until, until)
		uses[i].again = uses[i].again || again
	}
}

// settled reports that what patterns match when the line runs is what was seen:
// nothing that may run before changes it, and no option of the shell. A variable is
// split at other signs where the line says so.
func (s *script) settled(t *tree) bool {
	if len(s.uses) == 0 && !s.bound {
		return true
	}
	if s.options || slices.ContainsFunc(s.commands, func(c *invocation) bool { return slices.Contains(c.problems, "environment") }) {
		return false
	}
	compared := 0
	for _, u := range s.uses {
		for i, c := range s.commands {
			if i >= u.until && i < u.from || i >= max(u.until, u.to) {
				break
			}
			if i >= u.from && i < u.to && !u.again {
				continue
			}
			if compared += len(u.matches.sights) * len(c.touches); compared > maxCompared || c.changes(t, u.matches) {
				return false
			}
		}
	}
	return true
}

// changes reports that a command may change what an expansion saw.
func (c *invocation) changes(t *tree, m *matches) bool {
	if len(c.words) > 0 && !c.contained {
		return true
	}
	for i := range c.touches {
		one := &c.touches[i]
		if one.access == read || one.access == execute {
			continue
		}
		if one.unknown != "" {
			return true
		}
		p := t.resolveIn(one.dir, one.declared, one.access != remove)
		if p.unknown != "" || m.hangsOn(t, p.resolved) || p.link != "" && m.hangsOn(t, p.link) {
			return true
		}
	}
	return false
}

// hangsOn reports that what is written, made or deleted under a name, or below it,
// may change what was seen.
func (m *matches) hangsOn(t *tree, name string) bool {
	return slices.ContainsFunc(m.sights, func(s sight) bool {
		if below(name, s.place) {
			return true
		}
		rest, inside := relative(s.place, name)
		if !inside || s.part == nil {
			return inside
		}
		child, deeper, _ := strings.Cut(rest, "/")
		if deeper != "" {
			// What is made on the way to it.
			p := t.resolveIn("/", path.Join(s.place, child), false)
			if p.unknown == "" && p.exists {
				return false
			}
		}
		ok, doubtful := s.part.matches(child)
		return ok || doubtful
	})
}

// contained reports programs whose operands are all that they change.
func (p *program) contained(c *invocation, name string, a arguments) bool {
	switch p.rule {
	case "none":
		return len(p.effects) == 0 && !c.actsUnseen()
	case "here", "read", "pattern", "write", "delete", "copy", "move", "link", "mode", "keys":
	default:
		return false
	}
	if slices.Contains([]string{"split", "csplit", "mktemp"}, name) || slices.Contains(c.effects, string(execute)) {
		return false
	}
	if c.actsUnseen() || slices.Contains(c.problems, "option_writes") {
		return false
	}
	// Backups, and files that nobody knows the option for.
	return !slices.ContainsFunc(a.loose, func(w shellWord) bool {
		long := strings.HasPrefix(w.text, "--")
		return long && (strings.HasPrefix(w.text, "--b") || strings.HasPrefix(w.text, "--o")) || !long && strings.ContainsAny(w.text, "bo")
	})
}

// actsUnseen reports a command that may do what is not among what it touches.
func (c *invocation) actsUnseen() bool {
	return slices.ContainsFunc(c.problems, func(problem string) bool {
		switch problem {
		case "inline_code", "code_undetermined", "filter_acts", "script_unread", "option_runs_program", "function", "alias":
			return true
		}
		return false
	})
}

// keepsGlobs reports words of set that leave pathname expansion as it is.
func keepsGlobs(words []shellWord) bool {
	for i, w := range words {
		switch {
		case w.open:
			return false
		case w.text == "--":
			return true
		case i > 0 && strings.HasSuffix(words[i-1].text, "o") && strings.HasPrefix(words[i-1].text, "-"):
			if !slices.Contains([]string{"pipefail", "errexit", "nounset", "xtrace"}, w.text) {
				return false
			}
		case (strings.HasPrefix(w.text, "-") || strings.HasPrefix(w.text, "+")) && strings.Trim(w.text[1:], "euxo") != "":
			return false
		}
	}
	return true
}
