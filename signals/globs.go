package signals

import (
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// glob is one pattern of a scope's path list: a folder to start from, and what
// below it is meant.
type glob struct {
	start  anchor
	base   string // literal folders that the pattern begins with; absolute for anchored ones
	rest   tail   // the pattern below base
	folded tail   // rest in the form for restricting
	tree   bool   // everything below a match belongs to it, for allowing too
	place  int    // number of start and base among those of all lists
}

// tail is a pattern for names below a folder. The empty one is the folder itself.
type tail struct {
	pattern string
	deep    string // matches what is below a match
	needle  string // stands in every name that is or is below a match
}

func newTail(pattern string) tail {
	return tail{pattern: pattern, deep: pattern + "/**", needle: needle(pattern)}
}

// needle is the longest text without signs in a component of a pattern. What a
// brace, a class or an escape stands for is left open, and so are characters that
// may stand for others.
func needle(pattern string) (longest string) {
	if !plainText(pattern) || strings.ContainsAny(pattern, `{}[]\`) {
		return ""
	}
	for text := range strings.FieldsFuncSeq(pattern, func(r rune) bool { return strings.ContainsRune("/*?", r) }) {
		if len(text) > len(longest) {
			longest = text
		}
	}
	return longest
}

// anchor is where a glob starts.
type anchor uint8

const (
	anchorRoots anchor = iota // below each root, or the working directory
	anchorTop                 // absolute
	anchorHome                // below the home directory
)

// globList is a named list.
type globList struct {
	name  string
	fact  any // the name, as facts hold it
	globs []*glob
}

// compileLists compiles the path lists of a scope, by name.
func compileLists(lists map[string][]string) (out []globList, problems []ScopeProblem) {
	places := map[baseKey]int{}
	for _, name := range slices.Sorted(maps.Keys(lists)) {
		l := globList{name: name, fact: name}
		for i, text := range lists[name] {
			g, message, hint := compileGlob(text)
			if message != "" {
				problems = append(problems, ScopeProblem{Path: []string{"paths", name, strconv.Itoa(i)}, Message: message, Hint: hint})
				continue
			}
			key := baseKey{start: g.start, base: g.base}
			if _, known := places[key]; !known {
				places[key] = len(places)
			}
			g.place = places[key]
			l.globs = append(l.globs, &g)
		}
		out = append(out, l)
	}
	return out, problems
}

// checkRoots reports roots that name no folder in any world.
func checkRoots(roots []string) (problems []ScopeProblem) {
	for i, r := range roots {
		message := ""
		switch {
		case r == "":
			message = "the root is empty"
		case unreadable(r) != "" || len(r) > maxPath:
			message = "the root is no path"
		case strings.HasPrefix(r, "~") && r != "~" && !strings.HasPrefix(r, "~/"):
			message = "the home of another user cannot be known"
		}
		if message != "" {
			problems = append(problems, ScopeProblem{Path: []string{"roots", strconv.Itoa(i)}, Message: message, Hint: "write the folder in full, or . for the working directory"})
		}
	}
	return problems
}

func compileGlob(text string) (g glob, message, hint string) {
	for _, home := range []string{"$HOME", "${HOME}"} {
		if rest, ok := strings.CutPrefix(text, home); ok && (rest == "" || rest[0] == '/') {
			text = "~" + rest
		}
	}
	name := text
	switch {
	case strings.HasPrefix(text, "$"):
		return g, "a glob names no variable", "write the folder in full, ~ for the home, or [$] for a name that begins so"
	case text == "":
		return g, "the glob is empty", "** is everything below a root"
	case unreadable(text) != "":
		return g, "the glob holds a control character or is not UTF-8", ""
	case len(text) > maxPath:
		return g, "the glob is longer than " + strconv.Itoa(maxPath) + " bytes", ""
	case text == "~" || strings.HasPrefix(text, "~/"):
		g.start, name = anchorHome, strings.TrimPrefix(text[1:], "/")
	case strings.HasPrefix(text, "~"):
		return g, "the home of another user cannot be known", "write the folder in full"
	case strings.HasPrefix(text, "/"):
		g.start = anchorTop
	}
	if slices.Contains(strings.Split(name, "/"), "..") {
		return g, "a glob does not climb", "write the folder in full"
	}
	name, g.tree = tidy(name, strings.HasSuffix(name, "/") || name == "")
	if !doublestar.ValidatePattern(name) {
		return g, "the glob cannot be read", "close every [ and {, and end no glob with a backslash"
	}
	base, rest := literalBase(name)
	g.base = base
	g.rest, g.folded = newTail(rest), newTail(fold(rest))
	g.tree = g.tree || !strings.ContainsAny(path.Base(rest), `*?[{\`)
	return g, "", ""
}

// tidy removes what says nothing in a glob: `.` components and doubled or
// trailing separators. A trailing one says that a folder is meant.
func tidy(name string, folder bool) (string, bool) {
	var out []string
	for _, c := range strings.Split(name, "/") {
		if c != "" && c != "." {
			out = append(out, c)
		}
	}
	s := strings.Join(out, "/")
	if strings.HasPrefix(name, "/") {
		s = "/" + s
	}
	return s, folder || s == "" || s == "/"
}

// literalBase takes the literal folders off the front of a glob.
func literalBase(name string) (base, rest string) {
	if !strings.ContainsAny(name, `*?[{\`) {
		return name, ""
	}
	base, rest = doublestar.SplitPattern(name)
	if base == "." {
		base = ""
	}
	return base, rest
}

// matcher matches the lists against the places of one call. Literal beginnings
// of globs are resolved like any path, so that a list names the folder and not
// one spelling of it.
type matcher struct {
	tree  *tree
	roots []root
	lists []globList
	bases []baseNames // by the place of a glob
	home  *place      // of the agent, once it was looked up
	facts factLists
	// room for where globs start, and for what is found of one place: its names, and
	// the lists that it is on.
	room struct {
		bases                slab[string]
		names                []string
		exact, folded, under []any
	}
}

// root is a directory that a task may work in.
type root struct {
	name  string // absolute, as declared
	place place  // of its own: it may be unknown for being missing
}

type baseKey struct {
	start anchor
	base  string
}

// baseNames are the folders that a glob starts from, once they are known.
type baseNames struct {
	known  bool
	exact  []string // for allowing
	folded []string // for restricting: these and more
}

func newMatcher(t *tree, scope Scope, lists []globList) *matcher {
	m := &matcher{tree: t, lists: lists, roots: make([]root, 0, len(scope.Roots))}
	m.room.bases.most = 16
	places := 0
	for _, l := range lists {
		for _, g := range l.globs {
			places = max(places, g.place+1)
		}
	}
	m.bases = make([]baseNames, places)
	for _, name := range scope.Roots {
		r := root{name: name, place: *t.resolve(name, true)}
		if r.place.unknown == "" && !r.place.exists {
			r.place.unknown = "root_missing"
		}
		if full, unknown := t.home(t.world.Dir, name); unknown == "" {
			if !path.IsAbs(full) {
				full = t.world.Dir + "/" + full
			}
			r.name = path.Clean(full)
			t.settle(r.name, &r.place)
		}
		m.roots = append(m.roots, r)
	}
	return m
}

// within is the deepest root that holds a place.
func (m *matcher) within(name string) (string, bool) {
	deepest, in := "", false
	for i := range m.roots {
		if p := &m.roots[i].place; p.unknown == "" && below(p.resolved, name) && len(p.resolved) > len(deepest) {
			deepest, in = p.resolved, true
		}
	}
	return deepest, in
}

// above reports that a place is a folder that a root is in.
func (m *matcher) above(name string) bool {
	for i := range m.roots {
		if p := &m.roots[i].place; p.unknown == "" && p.resolved != name && below(name, p.resolved) {
			return true
		}
	}
	return false
}

// below reports that a name is a folder or something in it, by component.
func below(folder, name string) bool {
	rest, ok := strings.CutPrefix(name, folder)
	return ok && (rest == "" || rest[0] == '/' || folder == "/")
}

// membership is the lists that a place is on, as facts. exact is for allowing: the place itself
// in the spelling of the list. folded is for restricting: the place or any name
// that led to it, in any case or composition. under is folded for what may be
// inside a folder.
type membership struct{ exact, folded, under any }

// listed says which lists a place is on. All who ask share the answer: nobody
// changes it.
func (m *matcher) listed(p *place) *membership {
	if p.on == nil {
		p.on = m.list(p)
	}
	return p.on
}

func (m *matcher) list(p *place) *membership {
	names := append(m.room.names[:0], fold(p.resolved))
	for _, f := range p.forms {
		if f == p.resolved {
			continue // nearly always
		}
		if f = fold(f); !slices.Contains(names, f) {
			names = append(names, f)
		}
	}
	exact, folded, under := m.room.exact[:0], m.room.folded[:0], m.room.under[:0]
	for i := range m.lists {
		l := &m.lists[i]
		on := slices.ContainsFunc(l.globs, func(g *glob) bool { return m.exact(g, p.resolved) })
		if on {
			exact = append(exact, l.fact)
		}
		if on || slices.ContainsFunc(l.globs, func(g *glob) bool { return m.folded(g, names) }) {
			folded = append(folded, l.fact)
		}
		if p.folder && slices.ContainsFunc(l.globs, func(g *glob) bool { return m.under(g, names, !p.exists) }) {
			under = append(under, l.fact)
		}
	}
	m.room.names, m.room.exact, m.room.folded, m.room.under = names, exact, folded, under
	return &membership{exact: m.facts.of(exact), folded: m.facts.of(folded), under: m.facts.of(under)}
}

func (m *matcher) exact(g *glob, name string) bool {
	for _, base := range m.base(g).exact {
		rest, ok := relative(base, name)
		if ok && g.rest.matches(rest, g.tree) {
			return true
		}
	}
	return false
}

func (m *matcher) folded(g *glob, names []string) bool {
	for _, base := range m.base(g).folded {
		for _, name := range names {
			// What is in a denied folder is denied, however the folder was written.
			if rest, ok := relative(base, name); ok && g.folded.matches(rest, true) {
				return true
			}
		}
	}
	return false
}

// under reports that a glob can match one of the names or something below it. With
// named set the glob has to lead through the name, and not by a `**`, which leads
// through every name that nothing has yet.
func (m *matcher) under(g *glob, names []string, named bool) bool {
	for _, base := range m.base(g).folded {
		for _, name := range names {
			if below(name, base) {
				return true
			}
			if rest, ok := relative(base, name); ok && leads(g.folded.pattern, rest, named) {
				return true
			}
		}
	}
	return false
}

// relative is a name below a folder; the folder itself is the empty name.
func relative(folder, name string) (string, bool) {
	if !below(folder, name) {
		return "", false
	}
	return strings.TrimPrefix(name[len(folder):], "/"), true
}

// matches compares a name below a glob's base with the rest of the glob; with
// tree set a name below a match is one too.
func (t tail) matches(name string, tree bool) bool {
	switch {
	case t.pattern == "":
		return tree || name == ""
	case !strings.Contains(name, t.needle):
		return false // nearly always
	}
	return match(t.pattern, name) || tree && match(t.deep, name)
}

// leads reports that a folder or something below it can match a pattern. With named
// set a `**` leads only to where the pattern goes on by what the folder is called.
func leads(pattern, folder string, named bool) bool {
	if folder == "" {
		return true
	}
	head, rest, more := strings.Cut(pattern, "/")
	switch {
	case strings.ContainsAny(head, "{}["):
		return true // a brace or bracket may hold a separator
	case head == "**" && named && more:
		for deeper := true; deeper; _, folder, deeper = strings.Cut(folder, "/") {
			if leads(rest, folder, named) {
				return true
			}
		}
		return false
	case head == "**":
		return true
	}
	first, deeper, _ := strings.Cut(folder, "/")
	if !strings.ContainsAny(head, `*?\`) { // as most are
		return head == first && (!more || leads(rest, deeper, named))
	}
	ok, err := doublestar.Match(head, first)
	return (ok || err != nil) && (!more || leads(rest, deeper, named))
}

// base is where a glob starts in this world.
func (m *matcher) base(g *glob) *baseNames {
	b := &m.bases[g.place]
	if b.known {
		return b
	}
	b.known = true
	switch g.start {
	case anchorTop:
		b.exact = m.rebased(g.base)
	case anchorHome:
		b.exact = m.belowHome(g.base)
	default:
		b.exact = m.belowRoots(g.base)
		b.folded = append(b.folded, path.Join("/", m.tree.world.Dir, g.base))
		for _, r := range m.roots {
			b.folded = append(b.folded, path.Join(r.name, g.base))
		}
	}
	b.folded = m.folds(b.folded, b.exact)
	return b
}

// rebased is an absolute folder as written and, where it is below a root that is
// reached through a link, below what the root resolves to. Links below a root do
// not widen a list.
func (m *matcher) rebased(base string) []string {
	out := []string{base}
	for _, r := range m.roots {
		if rest, ok := relative(r.name, base); ok && r.name != "" && r.place.unknown == "" {
			out = append(out, path.Join(r.place.resolved, rest))
		}
	}
	return out
}

func (m *matcher) belowHome(base string) []string {
	home := m.tree.world.Home
	if !path.IsAbs(home) {
		return nil
	}
	if m.home == nil {
		p := m.tree.follow(home)
		m.home = &p
		m.tree.settle(path.Clean(home), m.home)
	}
	out := m.room.bases.take(2)[:1]
	if out[0] = path.Join(home, base); m.home.unknown == "" && m.home.resolved != home {
		out = append(out, path.Join(m.home.resolved, base))
	}
	return out
}

func (m *matcher) belowRoots(base string) (out []string) {
	for _, r := range m.roots {
		if r.place.unknown == "" {
			out = append(out, path.Join(r.place.resolved, base))
		}
	}
	if len(m.roots) > 0 {
		return out
	}
	if p := m.tree.follow(m.tree.world.Dir); p.unknown == "" {
		out = append(out, path.Join(p.resolved, base))
	}
	return out
}

// folds adds what folders resolve to and folds them.
func (m *matcher) folds(more, bases []string) (out []string) {
	out = m.room.bases.take(2)[:0]
	add := func(name string) {
		if name = fold(name); !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	follow := func(base string) {
		add(base)
		p := m.tree.follow(base)
		if p.unknown == "" {
			add(p.resolved)
		}
		for _, f := range p.forms {
			add(f)
		}
	}
	for i, b := range more {
		if !slices.Contains(more[:i], b) {
			follow(b)
		}
	}
	for i, b := range bases {
		if !slices.Contains(bases[:i], b) && !slices.Contains(more, b) {
			follow(b)
		}
	}
	return out
}
