package signals

import (
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Limits of pathname expansion. More is unknown.
const (
	maxMatches = 512    // names that one pattern matches
	maxListed  = 20_000 // entries of all folders that one call lists
)

// matches is what a shell puts in the place of a pattern.
type matches struct {
	words []string // in order; the pattern itself where nothing matches
	// deep is the same to a shell in which ** is any number of folders; nil where
	// that makes no difference.
	deep    *matches
	sights  []sight
	unknown string // code of why nobody can tell
}

// sight is what an expansion hangs on: the names in a folder that a pattern
// matches, or what one name is.
type sight struct {
	place string
	part  *component // nil for a name
}

// folder is what was seen in a folder.
type folder struct {
	entries []fs.DirEntry // by name
	unknown string
}

// list looks into a folder, once.
func (t *tree) list(name string) *folder {
	if f := t.folders[name]; f != nil {
		return f
	}
	f := &folder{}
	entries, err := t.world.Files.ReadDir(name, maxListed-t.listed+1)
	switch t.listed += len(entries); {
	case err != nil:
		f.unknown = failure(err)
	case t.listed > maxListed:
		f.unknown = "too_large"
	default:
		slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
		f.entries = entries
	}
	if t.folders == nil {
		t.folders = map[string]*folder{}
	}
	t.folders[name] = f
	return f
}

// expand is what a shell in a folder makes of a pattern, component by component.
func (t *tree) expand(dir string, w *wildcard) *matches {
	parts, ok := w.parts()
	if !ok {
		return &matches{unknown: "undetermined_word"}
	}
	m := t.expandParts(dir, w.text, parts, false)
	if slices.ContainsFunc(parts[:len(parts)-1], component.deep) {
		m.deep = t.expandParts(dir, w.text, parts, true)
	}
	return m
}

func (t *tree) expandParts(dir, text string, parts []component, deep bool) *matches {
	e := pathnames{tree: t, dir: dir, out: &matches{}}
	found := []string{""}
	for i := range parts {
		p, last := &parts[i], i == len(parts)-1
		var next []string
		for _, prefix := range found {
			switch {
			case p.marks == nil:
				next = append(next, e.named(prefix, p.name, last)...)
			case deep && p.deep() && !last:
				next = append(next, e.below(prefix, p)...)
			default:
				next = append(next, e.matched(prefix, p, last)...)
			}
			if len(next) > maxMatches {
				e.fail("too_large")
			}
			if e.out.unknown != "" {
				return e.out
			}
		}
		found = next
	}
	if len(found) == 0 || e.dots {
		found = append(found, text)
	}
	slices.Sort(found)
	found = slices.Compact(found)
	if !slices.ContainsFunc(found, func(s string) bool { return !tame(s, s == text) }) {
		e.out.words = found
	} else {
		e.fail("option_like_name")
	}
	return e.out
}

// pathnames is one expansion at work.
type pathnames struct {
	tree *tree
	dir  string
	out  *matches
	// dots: there is a match that some shells do not take for one.
	dots bool
}

func (e *pathnames) fail(code string) {
	if e.out.unknown == "" {
		e.out.unknown = code
	}
}

// place is what a name leads to.
func (e *pathnames) place(name string, follow bool) *place {
	if name == "" {
		name = "."
	}
	p := e.tree.resolveIn(e.dir, name, follow)
	if p.unknown != "" {
		e.fail(p.unknown)
	}
	return p
}

// named goes on by a component that is no pattern. The last one has to be there.
func (e *pathnames) named(prefix, name string, last bool) []string {
	if !last {
		return []string{prefix + name + "/"}
	}
	p := e.place(prefix+name, false)
	e.out.sights = append(e.out.sights, sight{place: p.resolved})
	if !p.exists || strings.HasSuffix(prefix+name, "/") && !p.folder {
		return nil
	}
	return []string{prefix + name}
}

// matched goes on by what a pattern matches in a folder. All but the last have to
// be folders.
func (e *pathnames) matched(prefix string, p *component, last bool) (out []string) {
	entries := e.entries(prefix, p)
	names := make([]string, 0, len(entries)+2)
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	if p.hidden && e.listed(prefix) {
		names = append(names, ".", "..")
	}
	for _, name := range names {
		ok, doubtful := p.matches(name)
		if doubtful {
			e.fail("undetermined_word")
		}
		if !ok {
			continue
		}
		e.dots = e.dots || name == "." || name == ".."
		if last {
			out = append(out, prefix+name)
		} else if at := e.place(prefix+name, true); at.exists && at.folder {
			out = append(out, prefix+name+"/")
		}
		if e.out.unknown != "" {
			return nil
		}
	}
	return out
}

// listed reports that a prefix names a folder that was looked into.
func (e *pathnames) listed(prefix string) bool {
	at := e.place(prefix, true)
	return e.out.unknown == "" && at.exists && at.folder
}

// entries is what is in a folder, if it is one.
func (e *pathnames) entries(prefix string, p *component) []fs.DirEntry {
	at := e.place(prefix, true)
	if e.out.unknown != "" {
		return nil
	}
	if !at.exists || !at.folder {
		e.out.sights = append(e.out.sights, sight{place: at.resolved})
		return nil
	}
	e.out.sights = append(e.out.sights, sight{place: at.resolved, part: p})
	f := e.tree.list(at.resolved)
	if f.unknown != "" {
		e.fail(f.unknown)
	}
	return f.entries
}

// below goes on by a folder and all folders in it that are not hidden. One that a
// link leads to is looked into and no deeper.
func (e *pathnames) below(prefix string, p *component) []string {
	out, real := []string{prefix}, []string{prefix}
	for i := 0; i < len(real) && e.out.unknown == "" && len(out) <= maxMatches; i++ {
		for _, entry := range e.entries(real[i], p) {
			name := real[i] + entry.Name()
			switch {
			case strings.HasPrefix(entry.Name(), "."):
			case entry.IsDir():
				real = append(real, name+"/")
				out = append(out, name+"/")
			case entry.Type()&fs.ModeSymlink != 0:
				if at := e.place(name, true); at.exists && at.folder {
					out = append(out, name+"/")
				}
			}
		}
	}
	return out
}

// pathnames puts what a pattern matches with a word that is one.
func (l *line) pathnames(w shellWord, in dirs) shellWord {
	if w.pattern == nil {
		return w
	}
	dir, one := in.only()
	switch {
	case l.out.asWritten || l.world.Files == nil:
		return w
	case strings.HasPrefix(w.pattern.text, "/"):
		dir = "/"
	case !one || l.loose || !path.IsAbs(dir):
		return w
	}
	if m := l.tree.expand(dir, w.pattern); m.unknown == "" {
		w.matches = m
	} else {
		w.pattern.unmatched = m.unknown
	}
	return w
}

// deepened is the words as a shell has them in which ** is any number of folders;
// nil where no word differs.
func deepened(words []shellWord) (out []shellWord) {
	for i, w := range words {
		if w.matches == nil || w.matches.deep == nil || slices.Equal(w.matches.words, w.matches.deep.words) && w.matches.deep.unknown == "" {
			continue
		}
		if out == nil {
			out = slices.Clone(words)
		}
		out[i].matches = w.matches.deep
		if code := w.matches.deep.unknown; code != "" {
			p := *w.pattern
			p.unmatched = code
			out[i].matches, out[i].pattern = nil, &p
		}
	}
	return out
}

// unmatched is words of which nobody says what patterns among them match.
func unmatched(words []shellWord) []shellWord {
	if !slices.ContainsFunc(words, isPattern) {
		return words
	}
	out := slices.Clone(words)
	for i := range out {
		out[i].matches = nil
	}
	return out
}

func isPattern(w shellWord) bool { return w.matches != nil }

// take puts what they match in the place of the patterns of a command, from the
// first word up to the last; the others stay open. Whoever takes a word treats
// every match of it alike, in whichever order a shell puts them.
func (c *invocation) take(words []shellWord, from, to int) []shellWord {
	if !slices.ContainsFunc(words, isPattern) {
		return words
	}
	out := make([]shellWord, 0, len(words)+maxMatches/8)
	for i, w := range words {
		if w.matches == nil {
			out = append(out, w)
			continue
		}
		if i < from || i >= to {
			w.matches = nil
			out = append(out, w)
			continue
		}
		c.taken++
		out = appendWords(out, w.matches)
	}
	return out
}

func appendWords(out []shellWord, m *matches) []shellWord {
	for _, text := range m.words {
		out = append(out, shellWord{text: text})
	}
	return out
}

// settle says of a command that was read whether a pattern among its words is
// open to it.
func (c *invocation) settle() {
	if c.taken < c.patterns() {
		c.problem("undetermined_word")
	}
}

func (c *invocation) patterns() (n int) {
	for _, w := range c.words {
		if w.matches != nil {
			n++
		}
	}
	return n
}

// expanded is the words with what patterns among them match, where the command
// takes it so.
func (c *invocation) expanded() []shellWord {
	if n := c.patterns(); n == 0 || c.taken < n {
		return c.words
	}
	var out []shellWord
	for _, w := range c.words {
		if w.matches != nil {
			out = appendWords(out, w.matches)
		} else {
			out = append(out, w)
		}
	}
	return out
}

// operandsTaken are the operands of a program with what patterns match, as far as
// it makes no difference to it which of them comes first.
func (c *invocation) operandsTaken(p *program, name string, words []shellWord, s optionSettings) []shellWord {
	from, to := 0, len(words)
	switch p.rule {
	case "here", "read", "write", "delete", "rewrite", "guess":
	case "none":
		switch name {
		case "echo", "basename", "dirname":
		case "printf":
			from = 1
		default:
			from = to
		}
	case "package", "mode", "zip":
		from = 1
	case "script":
		if !s.inline {
			from = 1
		}
	case "pattern":
		if !s.pattern {
			from = 1
		}
	case "copy", "move":
		if n := len(words); !s.target && n > 0 && words[n-1].matches != nil && len(words[n-1].matches.words) > 1 {
			to = n - 1
		}
	case "run", "shell":
		return words // the command that is run takes them
	default:
		from = to
	}
	return c.take(words, from, to)
}
