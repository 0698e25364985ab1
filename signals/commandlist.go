package signals

import (
	"path"
	"slices"
	"strconv"
	"strings"
)

// commandPattern is one entry of a scope's command list, by word. Of a star within a
// word any text is meant, of a star at the end any further words, or none.
type commandPattern struct {
	words []string
	open  bool // ends in a star of its own
	// for restricting: the program, the words that are options, and the others
	program  string
	flags    []string
	operands []string
}

// commandLists are the command lists of a scope, by name.
type commandLists struct {
	facts []any  // the names, as facts hold them
	some  []bool // whether there is any pattern on the list
	// the patterns of all lists by the program that they name, in the form for
	// restricting, and those that name none or name it with a star
	named map[string]*programPatterns
	loose []listedPattern
}

// programPatterns are the patterns that name one program: by the first operand that
// they name, and those that name none or name it with a star.
type programPatterns struct {
	operand map[string][]listedPattern
	others  []listedPattern
}

// listedPattern is a pattern and the number of the list that it is on.
type listedPattern struct {
	*commandPattern
	list int
}

// compilePatterns compiles the command lists of a scope, by name.
func compilePatterns(lists map[string][]string) (out commandLists, problems []ScopeProblem) {
	names := sortedKeys(lists)
	out = commandLists{some: make([]bool, len(names)), named: map[string]*programPatterns{}}
	for list, name := range names {
		out.facts = append(out.facts, name)
		for i, text := range lists[name] {
			p, message, hint := compilePattern(text)
			if message != "" {
				problems = append(problems, ScopeProblem{Path: []string{"commands", name, strconv.Itoa(i)}, Message: message, Hint: hint})
				continue
			}
			out.add(list, &p)
		}
	}
	return out, problems
}

func compilePattern(text string) (p commandPattern, message, hint string) {
	words := strings.Fields(text)
	switch {
	case len(words) == 0:
		return p, "the command pattern is empty", "* is every command"
	case unreadable(text) != "":
		return p, "the command pattern holds a control character or is not UTF-8", ""
	case strings.ContainsAny(text, "|;&<>`\"'\\") || strings.Contains(text, "$("):
		return p, "a command pattern names one command, word by word", "list each command of a line by itself, without quotes"
	}
	if words[len(words)-1] == "*" {
		p.open, words = true, words[:len(words)-1]
	}
	p.words = words
	if len(words) > 0 {
		p.program = fold(words[0])
		for _, w := range words[1:] {
			if strings.HasPrefix(w, "-") && w != "-" {
				p.flags = flags(p.flags, path.Base(words[0]), w)
			} else {
				p.operands = append(p.operands, fold(w))
			}
		}
	}
	return p, "", ""
}

func (s *commandLists) add(list int, p *commandPattern) {
	s.some[list] = true
	if len(p.words) == 0 || strings.Contains(p.words[0], "*") {
		s.loose = append(s.loose, listedPattern{p, list})
		return
	}
	of := s.named[p.program]
	if of == nil {
		of = &programPatterns{operand: map[string][]listedPattern{}}
		s.named[p.program] = of
	}
	if len(p.operands) == 0 || strings.Contains(p.operands[0], "*") {
		of.others = append(of.others, listedPattern{p, list})
	} else {
		of.operand[p.operands[0]] = append(of.operand[p.operands[0]], listedPattern{p, list})
	}
}

// holder holds the commands of one call against the lists. It works in the same
// memory for each of them.
type holder struct {
	*commandLists
	words         foldedWords
	on            []struct{ exact, folded bool } // by the number of a list
	exact, folded []any
}

// hold says which lists a command is on, for allowing and for restricting, until it
// is asked again. A command is held against the patterns that may name its program,
// and an operand that it has, and no others.
func (s *holder) hold(words []shellWord) (exact, folded []any) {
	c := &s.words
	c.fold(words)
	s.on = append(s.on[:0], make([]struct{ exact, folded bool }, len(s.facts))...)
	s.meet(s.loose, words)
	s.meetProgram(s.named[c.program], words)
	if c.name != c.program {
		s.meetProgram(s.named[c.name], words)
	}
	s.exact, s.folded = s.exact[:0], s.folded[:0]
	for i, fact := range s.facts {
		if s.on[i].exact {
			s.exact = append(s.exact, fact)
		}
		// A program that nobody can tell may be that of any pattern.
		if s.on[i].folded || c.open && s.some[i] {
			s.folded = append(s.folded, fact)
		}
	}
	return s.exact, s.folded
}

// meetProgram holds a command against the patterns of its program. The first operand
// of a pattern is one of the command's, or a word that is open.
func (s *holder) meetProgram(of *programPatterns, words []shellWord) {
	if of == nil {
		return
	}
	s.meet(of.others, words)
	if s.words.open || s.words.openWord {
		for _, patterns := range of.operand {
			s.meet(patterns, words)
		}
		return
	}
	for _, o := range s.words.operands {
		s.meet(of.operand[o.text], words)
	}
}

func (s *holder) meet(patterns []listedPattern, words []shellWord) {
	for _, p := range patterns {
		switch on := &s.on[p.list]; {
		case on.exact:
		case p.exact(words):
			on.exact, on.folded = true, true
		default:
			on.folded = on.folded || p.folded(&s.words)
		}
	}
}

// carried is the words that a program nobody knows may take for a command: from
// the first that names a program which is known, where more follow.
func carried(words []shellWord) []shellWord {
	if len(words) < 3 || words[0].open || programs()[path.Base(words[0].text)] != nil || special(path.Base(words[0].text)) != nil {
		return nil
	}
	for i, w := range words[1 : len(words)-1] {
		if !w.open && (programs()[w.text] != nil || special(w.text) != nil) {
			return words[i+1:]
		}
	}
	return nil
}

// exact reports that a command is what a pattern allows, word by word.
func (p *commandPattern) exact(words []shellWord) bool {
	if len(words) < len(p.words) || !p.open && len(words) > len(p.words) {
		return false
	}
	// The last words differ sooner than the first.
	for i, w := range slices.Backward(p.words) {
		if words[i].open || !star(w, words[i].text) {
			return false
		}
	}
	return len(words) > 0 && !words[0].open
}

// folded reports that a command may be what a pattern forbids: whatever way its
// program is named, its options are written or ordered, or its open words turn
// out.
func (p *commandPattern) folded(c *foldedWords) bool {
	if c.none {
		return false
	}
	if len(p.words) == 0 || c.open {
		return true
	}
	// Operands differ sooner than programs.
	if !meets(p.operands, c.operands, c.many) || !star(p.program, c.program) && !star(p.program, c.name) {
		return false
	}
	for _, f := range p.flags {
		if !c.openWord && !slices.ContainsFunc(c.flags, func(h string) bool { return star(f, h) || abbreviates(h, f) }) {
			return false
		}
	}
	return true
}

// foldedWords are a command's words in the form for restricting.
type foldedWords struct {
	none, open     bool   // there is no program, or nobody can tell which
	program, name  string // as named, and the last component of it
	flags          []string
	operands       []operand
	openWord, many bool // a word is open; it may be several words
}

// fold puts a command's words in the place of what was there.
func (c *foldedWords) fold(words []shellWord) {
	*c = foldedWords{none: len(words) == 0, flags: c.flags[:0], operands: c.operands[:0]}
	if c.none {
		return
	}
	c.open = words[0].open
	c.program = fold(words[0].text)
	c.name = path.Base(c.program)
	ended, maybe := false, false
	for _, w := range words[1:] {
		switch {
		case w.open:
			c.openWord, c.many = true, c.many || w.many
			c.operands = append(c.operands, operand{open: true})
			maybe = false
		case !ended && w.text == "--":
			ended, maybe = true, false
		case !ended && strings.HasPrefix(w.text, "-") && w.text != "-":
			c.flags = flags(c.flags, c.name, w.text)
			maybe = !strings.Contains(w.text, "=")
		default:
			if c.name == "git" && strings.HasPrefix(w.text, "+") {
				c.flags = append(c.flags, "-f") // of a push, what is named so is forced
			}
			c.operands = append(c.operands, operand{text: fold(w.text), maybe: maybe})
			maybe = false
		}
	}
}

// operand is a word that is no option; maybe, if it may be an option's value.
type operand struct {
	text        string
	open, maybe bool
}

// meets reports that the operands of a pattern begin a command's operands, where
// values of options may be passed over. Operands after them do not lift a
// restriction.
func meets(want []string, have []operand, many bool) bool {
	if len(want) == 0 {
		return true
	}
	if len(have) == 0 {
		return false
	}
	o := have[0]
	if o.open && many {
		return true
	}
	if (o.open || star(want[0], o.text)) && meets(want[1:], have[1:], many) {
		return true
	}
	return o.maybe && meets(want, have[1:], many)
}

// flags adds the options in one word: a cluster of letters is one each, a value
// is cut off, and a long name that has a letter is that letter.
func flags(list []string, program, w string) []string {
	name, _, _ := strings.Cut(w, "=")
	if strings.HasPrefix(name, "--") || strings.Contains(name, "*") {
		if s := letter(program, name); s != "" {
			name = s
		}
		return append(list, name)
	}
	if singleDash(program) {
		return append(list, name)
	}
	if program == "git" && name == "-D" {
		return append(list, "-d", "-f")
	}
	for _, r := range name[1:] {
		f := "-" + string(r)
		if f == "-R" && letter(program, "--recursive") != "" {
			f = "-r"
		}
		list = append(list, f)
	}
	return list
}

// letter is the letter of a long option that most programs share.
func letter(program, name string) string {
	if len(name) <= len("--f") {
		return ""
	}
	for _, l := range []struct{ long, letter string }{{"--force", "-f"}, {"--recursive", "-r"}, {"--all", "-a"}, {"--quiet", "-q"}, {"--silent", "-q"}} {
		if strings.HasPrefix(l.long, name) {
			return l.letter
		}
	}
	if program == "git" && name == "--delete" {
		return "-d"
	}
	return ""
}

// singleDash reports programs whose options have long names after one dash.
func singleDash(program string) bool {
	return slices.Contains([]string{"find", "java", "go", "terraform", "openssl"}, program)
}

// abbreviates reports that an option is short for a longer one.
func abbreviates(have, want string) bool {
	return len(have) > 3 && strings.HasPrefix(have, "--") && strings.HasPrefix(want, have)
}

// star matches text with a pattern in which a star is any text.
func star(pattern, s string) bool {
	// Nearly always they differ before any star.
	for pattern != "" && pattern[0] != '*' {
		if s == "" || s[0] != pattern[0] {
			return false
		}
		pattern, s = pattern[1:], s[1:]
	}
	if pattern == "" {
		return s == ""
	}
	parts := strings.Split(pattern[1:], "*")
	parts, last := parts[:len(parts)-1], parts[len(parts)-1]
	s, ok := strings.CutSuffix(s, last)
	for _, p := range parts {
		i := strings.Index(s, p)
		if i < 0 {
			return false
		}
		s = s[i+len(p):]
	}
	return ok
}
