package signals

import (
	"io/fs"
	"path"
	"slices"
	"strings"
)

// walk is what a command reads of a folder that it reads with all that is in it.
type walk struct {
	follows bool // links in it too
	visible bool // and nothing hidden, unless an ignore file takes that back
	// Names of files, and of folders, with * for any text: only those and except
	// those. With both it depends on their order, and neither counts.
	only, except, exceptFolders []string
}

// whole notes that a command reads folders with all that is in them.
func (c *invocation) whole(w walk) {
	for i := range c.touches {
		if c.touches[i].access == read {
			c.touches[i].whole = &w
		}
	}
}

// filter takes the value of an option that leaves out files.
func (w *walk) filter(kind string, v shellWord) {
	if v.open || v.text == "" || strings.ContainsAny(v.text, `/?[]{}\`) {
		if kind != "only" {
			return // it may leave nothing out
		}
		v.text = "*"
	}
	switch kind {
	case "only":
		w.only = append(w.only, v.text)
	case "except":
		w.except = append(w.except, v.text)
	default:
		w.exceptFolders = append(w.exceptFolders, v.text)
	}
}

// takes reports that an entry of a folder is read.
func (w *walk) takes(e fs.DirEntry) bool {
	on := func(list []string) bool {
		return slices.ContainsFunc(list, func(s string) bool { return star(s, e.Name()) })
	}
	switch {
	case e.IsDir():
		return !on(w.exceptFolders)
	case len(w.only) > 0 && len(w.except) > 0:
		return true
	}
	return (len(w.only) == 0 || on(w.only)) && !on(w.except)
}

// held looks through a folder that is read whole, and finds what in it says more
// than the folder itself: a file for every list that the folder is not on, and the
// links that lead out of it, if they are followed.
func (m *matcher) held(one *touch) (found []*touch, unknown string) {
	p := m.place(one)
	if p.unknown != "" || !p.exists || !p.folder {
		return nil, ""
	}
	on := m.listed(p)
	var open []globList
	for _, l := range m.lists {
		if slices.Contains(namesIn(on.under), l.fact) && !slices.Contains(namesIn(on.folded), l.fact) {
			open = append(open, l)
		}
	}
	if len(open) == 0 && !one.whole.follows {
		return nil, ""
	}
	visible := one.whole.visible && !m.tree.takesBack(path.Dir(p.resolved), true)
	for folders := []string{"."}; len(folders) > 0; folders = folders[1:] {
		visible = visible && !m.tree.takesBack(path.Join(p.resolved, folders[0]), false)
		f := m.tree.list(path.Join(p.resolved, folders[0]))
		if f.unknown != "" {
			return found, f.unknown
		}
		for _, e := range f.entries {
			if !one.whole.takes(e) || visible && strings.HasPrefix(e.Name(), ".") {
				continue
			}
			name := path.Join(folders[0], e.Name())
			full := path.Join(p.resolved, name)
			if e.IsDir() {
				folders = append(folders, name)
			}
			hit := false
			open = slices.DeleteFunc(open, func(l globList) bool {
				on := m.names(l, p, name)
				hit = hit || on
				return on
			})
			leaves := one.whole.follows && e.Type()&fs.ModeSymlink != 0 && !below(p.resolved, m.tree.resolveIn("/", full, true).resolved)
			if hit || leaves {
				found = append(found, one.inside(full, leaves))
			}
		}
	}
	return found, ""
}

// names reports that a list restricts what is in a folder under a name.
func (m *matcher) names(l globList, folder *place, name string) bool {
	names := []string{fold(path.Join(folder.resolved, name))}
	for _, f := range folder.forms {
		if f != folder.resolved {
			names = append(names, fold(path.Join(f, name)))
		}
	}
	return slices.ContainsFunc(l.globs, func(g *glob) bool { return m.folded(g, names) })
}

// inside is the reading of something in a folder.
func (t *touch) inside(name string, whole bool) *touch {
	out := &touch{argument: t.argument, declared: name, access: t.access, dir: "/", literal: true}
	if whole {
		out.whole = t.whole
	}
	return out
}

// takesBack reports a folder, or one above it, with an ignore file that may name
// what is read all the same.
func (t *tree) takesBack(folder string, above bool) bool {
	for _, name := range []string{".gitignore", ".ignore", ".rgignore"} {
		file := t.resolveIn(folder, name, true)
		if file.unknown == "" && !file.exists {
			continue
		}
		if file.unknown != "" {
			return true
		}
		text, err := t.world.Files.ReadFile(file.resolved, maxScript)
		if err != nil || strings.Contains(string(text), "!") {
			return true
		}
	}
	return above && folder != "/" && t.takesBack(path.Dir(folder), true)
}
