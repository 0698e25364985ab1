package signals

import (
	"errors"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/text/unicode/norm"
)

// Limits of one path. More is unknown.
const (
	maxPath  = 4096 // bytes, as the kernel has it
	maxLinks = 40   // links followed, as the kernel has it
)

// place is what a path names once every link in it is followed.
type place struct {
	resolved string // absolute and clean; nothing in it is a link
	exists   bool
	// folder is false only for what exists and is no folder: nothing is below it.
	folder bool
	// link is where the last component itself is, when it is a link that was
	// followed: a program may put a file in its place.
	link string
	// forms are the other absolute names that led there: as declared, and as
	// every link on the way has it. They restrict and never allow.
	forms    []string
	problems []string // what makes the name doubtful, sorted
	unknown  string   // code of why it could not be resolved; empty when it was
	// on is what lists it is on, once a matcher was asked.
	on *membership
}

// tree resolves paths of one call. It looks at every name once, so that all
// facts of a call see one world.
type tree struct {
	world World
	seen  map[string]look
	known map[question]*place
	// settled are names that were followed to where they say, with no link on the
	// way: what is below them is followed from there.
	settled []settled
	// folders are what was listed, with so many entries in all.
	folders map[string]*folder
	listed  int
}

// settled is a folder, or a name that does not exist.
type settled struct {
	name   string
	exists bool
}

// question is what a tree is asked: where a name leads.
type question struct {
	dir, name string
	follow    bool
}

type look struct {
	mode   fs.FileMode
	target string // of a link
	err    error
}

// usualLooks is how many names a call looks at that names no more than a file: the
// folders above it, the roots and what lists begin with.
const usualLooks = 14

func newTree(w World) *tree {
	return &tree{world: w, seen: make(map[string]look, usualLooks), known: map[question]*place{}}
}

func (t *tree) look(name string) look {
	if l, ok := t.seen[name]; ok {
		return l
	}
	var l look
	info, err := t.world.Files.Lstat(name)
	if l.err = err; err == nil {
		if l.mode = info.Mode(); l.mode&fs.ModeSymlink != 0 {
			l.target, l.err = t.world.Files.Readlink(name)
		}
	}
	t.seen[name] = l
	return l
}

// home puts the home directory for a leading tilde. The tilde of another user,
// or a file whose name begins with one, leaves it open what is meant.
func (t *tree) home(dir, name string) (full, unknown string) {
	if !strings.HasPrefix(name, "~") {
		return name, ""
	}
	first, rest, _ := strings.Cut(name, "/")
	switch {
	case first != "~":
		return "", "home_of_user"
	case !path.IsAbs(t.world.Home):
		return "", "home_unknown"
	}
	if t.world.Files != nil && path.IsAbs(dir) && t.look(path.Join(dir, "~")).err == nil {
		return "", "ambiguous_tilde"
	}
	return t.world.Home + "/" + rest, ""
}

// resolve says what a declared argument names; a leading tilde is the home. The
// place is shared by all who ask, like that of resolveIn: nobody changes it.
func (t *tree) resolve(name string, follow bool) *place {
	full, unknown := t.home(t.world.Dir, name)
	if unknown != "" {
		return &place{unknown: unknown}
	}
	return t.resolveIn(t.world.Dir, full, follow)
}

// resolveIn resolves a path component by component, as the kernel does: `..`
// after a link is the folder above the link's target. With follow false the last
// component itself is meant, as for a deletion. What is below a missing folder
// is appended to it.
func (t *tree) resolveIn(dir, name string, follow bool) *place {
	q := question{dir, name, follow}
	p, known := t.known[q]
	if !known {
		p = t.answer(q)
		t.known[q] = p
	}
	return p
}

func (t *tree) answer(q question) *place {
	dir, name := q.dir, q.name
	p := &place{unknown: t.unresolvable(dir, name)}
	if p.unknown != "" {
		return p
	}
	full := name
	if !path.IsAbs(name) {
		full = dir + "/" + name
	}
	p.form(path.Clean(full))
	if doubtful(name) {
		p.problems = doubts(name)
		for _, other := range alternatives(name) {
			if !path.IsAbs(other) {
				other = dir + "/" + other
			}
			p.form(path.Clean(other))
		}
	}
	t.walk(p, full, q.follow || strings.HasSuffix(name, "/") || strings.HasSuffix(name, "/."))
	if p.unknown == "" && streamOfProcess(p.resolved) {
		p.problems = append(p.problems, "process_path")
	}
	slices.Sort(p.problems)
	p.problems = slices.Compact(p.problems)
	return p
}

func (p *place) form(name string) {
	if !slices.Contains(p.forms, name) {
		p.forms = append(p.forms, name)
	}
}

// unresolvable is why a name cannot be looked up.
func (t *tree) unresolvable(dir, name string) string {
	switch {
	case name == "":
		return "empty_path"
	case len(name)+len(dir) > maxPath:
		return "too_large"
	}
	if code := misleading(name); code != "" {
		return code
	}
	switch {
	case t.world.Files == nil:
		return "world_unseen"
	case !path.IsAbs(name) && !path.IsAbs(dir):
		return "directory_unknown"
	}
	return ""
}

// misleading is the code of a name that some system takes for no name of a file, or
// for that of another one.
func misleading(name string) string {
	if ordinaryName(name) && !strings.HasPrefix(name, "//") {
		return "" // nearly always
	}
	code := unreadable(name)
	switch {
	case code != "":
		return code
	case deviceNamespace(name):
		return "device_namespace"
	case strings.Contains(name, "://"):
		return "address"
	case strings.Contains(name, `\`) && climbs(strings.ReplaceAll(name, `\`, "/")):
		return "backslash_traversal"
	case !climbs(name) && climbs(otherwise(name)):
		return "encoded_traversal"
	}
	return ""
}

// ordinaryName reports a name of printable ASCII without a sign that means anything
// to some system or program.
func ordinaryName(name string) bool {
	for i := range len(name) {
		switch c := name[i]; c {
		case '\\', ':', '~', '$', '%', '?', ';', ' ':
			return false
		default:
			if c < ' ' || c > '~' {
				return false
			}
		}
	}
	return true
}

func climbs(name string) bool { return slices.Contains(strings.Split(name, "/"), "..") }

// otherwise is a name as a careless program may have it: decoded as often as it
// takes, in plain letters, with every kind of separator, and with nothing after a
// semicolon in a component.
func otherwise(name string) string {
	if plainText(name) && !strings.ContainsAny(name, `%;`) {
		return name
	}
	s := overlong.Replace(name)
	for range maxDecoded {
		next := decoded(s)
		if next == s {
			break
		}
		s = next
	}
	s = separators.Replace(norm.NFKC.String(s))
	parts := strings.Split(s, "/")
	for i, c := range parts {
		parts[i], _, _ = strings.Cut(c, ";")
	}
	return strings.Join(parts, "/")
}

// maxDecoded is how often a name is decoded.
const maxDecoded = 4

var (
	// overlong are the dot and the separators in too many bytes, which some decoders
	// take.
	overlong = strings.NewReplacer("%c0%ae", ".", "%C0%AE", ".", "%c0%af", "/", "%C0%AF", "/", "%c1%9c", "/", "%C1%9C", "/")
	// separators are what looks like one.
	separators = strings.NewReplacer(`\`, "/", "\u2044", "/", "\u2215", "/", "\u29f8", "/", "\u2216", "/", "\u29f5", "/", "\x00", "/")
)

// decoded is a name as a program has it that takes it for part of an address.
func decoded(name string) string {
	s, err := url.PathUnescape(name)
	if err != nil {
		return name
	}
	return s
}

// walk follows the components of an absolute path.
func (t *tree) walk(p *place, full string, follow bool) {
	cur, rest, exists := t.from(full)
	p.exists, p.folder = exists, true
	for links := 0; rest != ""; {
		var name string
		name, rest, _ = strings.Cut(rest, "/")
		switch name {
		case "", ".":
			continue
		case "..":
			if !p.exists || !p.folder {
				p.unknown = "parent_of_missing"
				return
			}
			cur = path.Dir(cur)
			continue
		}
		cur = join(cur, name, full)
		if processPath(cur) {
			// What it names belongs to the process that asks.
			p.unknown = "process_path"
			return
		}
		if !p.exists || streamOfProcess(cur) {
			continue
		}
		if !p.folder {
			p.exists, p.folder = false, true
			continue
		}
		l := t.look(cur)
		switch {
		case missing(l.err) || unnameable(l.err, cur, name):
			p.exists = false
		case l.err != nil:
			p.unknown = failure(l.err)
			return
		case l.mode&fs.ModeSymlink != 0 && (follow || names(rest)):
			if links++; links > maxLinks {
				p.unknown = "link_loop"
				return
			}
			if len(l.target) > maxPath || strings.Count(rest, "/") >= maxPath {
				p.unknown = "too_large"
				return
			}
			if !names(rest) && p.link == "" {
				p.link = cur
			}
			p.form(path.Clean(cur + "/" + rest))
			rest = l.target + "/" + rest
			if cur = path.Dir(cur); path.IsAbs(l.target) {
				cur = "/"
			}
			p.form(path.Clean(cur + "/" + rest))
		default:
			p.folder = l.mode.IsDir()
		}
	}
	p.resolved = cur
}

// from is where a path is followed from: the root, or what is settled above it.
func (t *tree) from(full string) (cur, rest string, exists bool) {
	for _, s := range t.settled {
		if len(full) > len(s.name) && full[len(s.name)] == '/' && strings.HasPrefix(full, s.name) {
			return s.name, full[len(s.name)+1:], s.exists
		}
	}
	return "/", full, true
}

// settle takes note of a folder that was followed, where nothing in it is a link.
// What does not exist may become one.
func (t *tree) settle(full string, p *place) {
	if p.unknown == "" && p.folder && p.link == "" && p.resolved == full && !slices.ContainsFunc(p.forms, func(f string) bool { return f != full }) && full != "/" {
		t.settled = append(t.settled, settled{full, p.exists})
	}
}

// names reports that the rest of a path names anything.
func names(rest string) bool {
	for c := range strings.SplitSeq(rest, "/") {
		if c != "" && c != "." {
			return true
		}
	}
	return false
}

// join is a name below a folder. Where full reads so it is the beginning of full:
// nearly every path is spelled as it is followed.
func join(dir, name, full string) string {
	if dir == "/" {
		dir = ""
	}
	end := len(dir) + 1 + len(name)
	if end <= len(full) && full[:len(dir)] == dir && full[len(dir)] == '/' && full[len(dir)+1:end] == name {
		return full[:end]
	}
	return dir + "/" + name
}

func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// Limits of systems: the shortest path that any refuses, and the longest name in
// bytes that any of those takes.
const (
	shortestPath = 1024
	longestName  = 4 * 255
)

// unnameable reports a component that is longer than the file system takes: no
// file has the name, and none can get it. That the path is too long says nothing
// of the name, which a program may reach from a folder nearer to it.
func unnameable(err error, full, name string) bool {
	return errors.Is(err, syscall.ENAMETOOLONG) && (len(full) < shortestPath || len(name) > longestName && len(full) < maxPath)
}

func failure(err error) string {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "permission"
	case errors.Is(err, syscall.ENAMETOOLONG):
		return "too_large"
	}
	return "unreadable"
}

// processPath reports a path that means another thing to every process.
func processPath(name string) bool {
	rest, ok := strings.CutPrefix(name, "/proc/")
	if !ok {
		return false
	}
	first, _, _ := strings.Cut(rest, "/")
	return first == "self" || first == "thread-self" || strings.Trim(first, "0123456789") == ""
}

// streamOfProcess reports a name for what the process already has open.
func streamOfProcess(name string) bool {
	return name == "/dev/stdin" || name == "/dev/stdout" || name == "/dev/stderr" ||
		name == "/dev/fd" || strings.HasPrefix(name, "/dev/fd/")
}

// deviceNamespace reports names that reach the network or a device on systems
// that read them so: `\\host\share`, `\\?\`, `\??\`, `//?/`, `C:\`.
func deviceNamespace(name string) bool {
	s := strings.ReplaceAll(name, `\`, "/")
	switch {
	case strings.HasPrefix(s, "//") && (strings.HasPrefix(name, `\`) || strings.HasPrefix(s, "//?/") || strings.HasPrefix(s, "//./")):
		return true
	case strings.HasPrefix(s, "/??/") || strings.HasPrefix(name, `\`) && strings.HasPrefix(strings.ToLower(s), "/device/"):
		return true
	}
	return drive(s)
}

// drive reports a name below a drive letter.
func drive(s string) bool {
	return len(s) > 1 && s[1] == ':' && (s[0]|0x20 >= 'a' && s[0]|0x20 <= 'z') && (len(s) == 2 || s[2] == '/')
}

// follow resolves an absolute name of the scope, without looking at how it is
// written.
func (t *tree) follow(full string) (p place) {
	if p.unknown = t.unresolvable("", full); p.unknown == "" {
		t.walk(&p, full, true)
	}
	return p
}

// doubtful reports a name that has to be looked at closer; nearly none has.
func doubtful(name string) bool {
	if !ordinaryName(name) {
		return true
	}
	for c := range strings.SplitSeq(name, "/") {
		if strings.HasSuffix(c, ".") && c != "." && c != ".." {
			return true
		}
	}
	return false
}

// doubts says what in a name is read differently by some system or program.
func doubts(name string) (out []string) {
	if strings.Contains(name, `\`) {
		out = append(out, "backslash")
	}
	if hides(name) {
		out = append(out, "format_character")
	}
	if decoded(name) != name {
		out = append(out, "percent_encoded")
	}
	if strings.Contains(name, "${") || strings.HasPrefix(name, "$") || strings.Count(name, "%") > 1 {
		out = append(out, "variable")
	}
	for c := range strings.FieldsFuncSeq(name, func(r rune) bool { return r == '/' || r == '\\' }) {
		switch {
		case c == "." || c == "..":
		case strings.HasSuffix(c, ".") || strings.HasSuffix(c, " ") || strings.HasPrefix(c, " "):
			out = append(out, "trailing_dot_or_space")
		case strings.Contains(c, ":"):
			out = append(out, "alternate_stream")
		case shortName(c):
			out = append(out, "short_name")
		}
	}
	return out
}

// shortName reports a component such as PROGRA~1.
func shortName(c string) bool {
	stem, ext, _ := strings.Cut(c, ".")
	i := strings.LastIndexByte(stem, '~')
	return i > 0 && i <= 6 && len(stem) <= 8 && len(ext) <= 3 && i+1 < len(stem) && strings.Trim(stem[i+1:], "0123456789") == ""
}

// alternatives are the other names that a doubtful one may be read as.
func alternatives(name string) (out []string) {
	if s := decoded(name); s != name && unreadable(s) == "" {
		out = append(out, s)
	}
	plain := strings.ReplaceAll(name, `\`, "/")
	if plain != name {
		out = append(out, plain)
	}
	parts := strings.Split(plain, "/")
	for i, c := range parts {
		if strings.Trim(c, ".") == "" {
			continue
		}
		c, _, _ = strings.Cut(c, ":")
		parts[i] = strings.TrimRight(c, ". ")
	}
	if s := strings.Join(parts, "/"); s != plain {
		out = append(out, s)
	}
	return out
}
