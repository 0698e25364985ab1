package signals

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/conjunct-project/conjunct/engine"
)

// maxTouches is how many paths one call may name. More is unknown.
const maxTouches = 1024

// access is what a call does with a path.
type access string

const (
	read    access = "read"
	write   access = "write"
	remove  access = "delete"
	execute access = "execute"
	// link is for what a new symbolic link leads to: nothing is read there yet.
	link access = "link"
)

// touch is one path that a call names, before it is resolved.
type touch struct {
	argument string // JSON pointer into the arguments
	declared string
	access   access
	dir      string // where a relative path starts
	// literal keeps a leading tilde: a shell has put the home where it means it.
	literal bool
	guessed bool   // nobody says that the word is a path
	unknown string // code of why the path cannot be known
	whole   *walk  // of a folder, what is in it is read too
}

// pathFacts computes the family path.
func pathFacts(d *Detector, ctx context.Context, c *Call, w World) (map[string]any, []Unknown) {
	t := c.look(w)
	m := newMatcher(t, d.scope, d.paths)
	unknown := m.unresolved()
	touches, missing := d.touches(ctx, c, t, m)
	unknown = append(unknown, missing...)
	seen := []any{}
	done := map[touchKey]bool{}
	for i := 0; i < len(touches); i++ {
		one := touches[i]
		if i == maxTouches {
			unknown = append(unknown, Unknown{Family: Path, Code: "too_large"})
			break
		}
		if ctx.Err() != nil {
			unknown = append(unknown, Unknown{Family: Path, Code: "timeout"})
			break
		}
		if key := one.key(); done[key] {
			continue
		} else {
			done[key] = true
		}
		fact, code := m.fact(one)
		if code != "" {
			unknown = append(unknown, Unknown{Family: Path, Code: code, Where: one.argument})
		}
		if fact != nil {
			seen = append(seen, fact)
		}
		if one.whole != nil {
			held, code := m.held(one)
			if touches = append(touches, held...); code != "" {
				unknown = append(unknown, Unknown{Family: Path, Code: code, Where: one.argument})
			}
		}
	}
	facts := map[string]any{"seen": seen}
	if len(unknown) == 0 {
		facts["paths"] = seen
		facts["any"], facts["all"] = onLists(d.pathLists, seen)
	}
	return facts, unknown
}

type touchKey struct {
	argument, declared, dir, unknown string
	access                           access
	whole                            *walk
}

func (t *touch) key() touchKey {
	return touchKey{t.argument, t.declared, t.dir, t.unknown, t.access, t.whole}
}

// unresolved says what of the scope has no place in this world. A list that
// cannot be looked up restricts nothing, so everything is unknown then.
func (m *matcher) unresolved() (out []Unknown) {
	for i, r := range m.roots {
		if r.place.unknown != "" {
			out = append(out, Unknown{Family: Path, Code: r.place.unknown, Where: "scope.roots." + strconv.Itoa(i)})
		}
	}
	for _, l := range m.lists {
		if !path.IsAbs(m.tree.world.Home) && slices.ContainsFunc(l.globs, func(g *glob) bool { return len(m.base(g).folded) == 0 }) {
			out = append(out, Unknown{Family: Path, Code: "home_unknown", Where: "scope.paths." + l.name})
		}
	}
	return out
}

// touches lists every path that a call's arguments name.
func (d *Detector) touches(ctx context.Context, c *Call, t *tree, m *matcher) (out []*touch, unknown []Unknown) {
	for _, name := range c.described() {
		v, ok := c.Action.Arguments[name]
		if !ok {
			continue
		}
		a, isPath := accessOf(c.Tool.Arguments[name].Kind, c.Tool.Effect)
		if !isPath {
			continue
		}
		pointer := engine.Pointer(name)
		switch v := v.(type) {
		case string:
			out = append(out, &touch{argument: pointer, declared: v, access: a, dir: t.world.Dir})
		case []any:
			for i, e := range v {
				at := pointer + "/" + strconv.Itoa(i)
				s, ok := e.(string)
				if !ok {
					unknown = append(unknown, Unknown{Family: Path, Code: "not_a_path", Where: at})
					continue
				}
				out = append(out, &touch{argument: at, declared: s, access: a, dir: t.world.Dir})
			}
		default:
			unknown = append(unknown, Unknown{Family: Path, Code: "not_a_path", Where: pointer})
		}
	}
	out = append(out, attached(c, t.world.Dir)...)
	script := d.script(ctx, c, t.world)
	for _, u := range script.unknown {
		unknown = append(unknown, Unknown{Family: Path, Code: u.Code, Where: u.Where})
	}
	total := 0
	for _, command := range script.commands {
		total += len(command.touches)
	}
	out = slices.Grow(out, total)
	for _, command := range script.commands {
		for i := range command.touches {
			if one := &command.touches[i]; !one.guessed || m.likely(one) {
				out = append(out, one)
			}
		}
	}
	return out, unknown
}

// attached are files that what is sent names instead of holding them: many
// programs read `@file` in a body that way.
func attached(c *Call, dir string) (out []*touch) {
	sends := false
	for _, a := range c.Tool.Arguments {
		sends = sends || a.Kind == engine.URLKind
	}
	for _, name := range c.given() {
		text, ok := c.Action.Arguments[name].(string)
		file, at := strings.CutPrefix(text, "@")
		if sends && ok && at && c.Tool.Arguments[name].Kind == engine.ContentKind && file != "" && !strings.ContainsAny(file, " \n") {
			out = append(out, &touch{argument: engine.Pointer(name), declared: file, access: read, dir: dir})
		}
	}
	return out
}

func accessOf(k engine.ArgumentKind, e engine.Effect) (access, bool) {
	switch k {
	case engine.PathKind:
		if e == engine.Read {
			return read, true
		}
		return write, true
	case engine.DeleteKind, engine.FromKind:
		return remove, true
	case engine.ToKind:
		return write, true
	}
	return "", false
}

// place resolves one path.
func (m *matcher) place(one *touch) *place {
	if one.literal {
		return m.tree.resolveIn(one.dir, one.declared, one.access != remove)
	}
	return m.tree.resolve(one.declared, one.access != remove)
}

// likely reports whether a word of a program that nobody knows names a path: it
// looks like one, there is such a file, or a list speaks of it.
func (m *matcher) likely(one *touch) bool {
	if one.unknown != "" || looksLikePath(one.declared) {
		return true
	}
	p := m.place(one)
	if p.unknown != "" || p.exists {
		return true
	}
	return len(namesIn(m.listed(p).folded)) > 0
}

// pathMembers is how many members the fact of a path has.
const pathMembers = 14

// fact is what is known of one path, and the code of what is not.
func (m *matcher) fact(one *touch) (map[string]any, string) {
	out := make(map[string]any, pathMembers)
	out["argument"], out["declared"], out["access"] = one.argument, validText(one.declared), string(one.access)
	code := one.unknown
	var p *place
	if code == "" {
		p = m.place(one)
		code = p.unknown
	}
	if code != "" {
		out["problems"] = []any{code}
		return out, code
	}
	r, inside := m.within(p.resolved)
	on := m.listed(p)
	exact, doubts := on.exact, p.problems
	if p.link != "" && one.access == write {
		// Whether the link or its target is written is the program's affair.
		_, also := m.within(p.link)
		inside = inside && also
		there := m.list(&place{resolved: p.link})
		exact = m.facts.of(slices.DeleteFunc(slices.Clone(namesIn(exact)), func(l any) bool { return !slices.Contains(namesIn(there.exact), l) }))
	}
	if one.guessed {
		// A word that may be anything is not a doubtful path for holding a colon, a
		// format or the number of a revision.
		doubts = slices.DeleteFunc(slices.Clone(doubts), func(s string) bool {
			return s == "alternate_stream" || s == "trailing_dot_or_space" || s == "short_name" || s == "variable" && !strings.Contains(one.declared, "$")
		})
	}
	out["guessed"] = one.guessed
	out["resolved"], out["link"], out["exists"] = p.resolved, p.link, p.exists
	out["inside"], out["root"], out["above"] = inside, r, m.above(p.resolved)
	out["lists"], out["lists_folded"], out["lists_under"] = exact, on.folded, on.under
	out["problems"] = textList(doubts)
	if code = cmp.Or(unreadable(p.resolved), unreadable(p.link)); code != "" {
		// A link can lead to a name that no argument could have.
		delete(out, "resolved")
		delete(out, "link")
		out["problems"] = []any{code}
	}
	return out, code
}
