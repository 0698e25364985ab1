package cases

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/conjunct-project/conjunct/signals"
)

// tree is the file system of a case: where the task works and what there is.
type tree struct {
	roots     []string
	dir, home string
	said      map[string]node // as the case names them; nil where it says nothing
	nodes     map[string]node // by absolute path
}

// node is one thing in a tree: a link, a file, or else a directory.
type node struct {
	Symlink string
	Content *string
}

// files reads what a context says there is: a list of names, or what each of them
// is.
func (t *tree) files(raw json.RawMessage) error {
	t.said = map[string]node{}
	var names []string
	if json.Unmarshal(raw, &names) == nil {
		for _, name := range names {
			t.said[name] = plain(name)
		}
		return nil
	}
	var nodes map[string]json.RawMessage
	if err := json.Unmarshal(raw, &nodes); err != nil {
		return err
	}
	for name, raw := range nodes {
		n, there, err := nodeOf(name, raw)
		if err != nil {
			return &unsupported{fmt.Sprintf("fs %s: %v", name, err)}
		}
		if there {
			t.said[name] = n
		}
	}
	return nil
}

// plain is something of which only the name is known.
func plain(name string) node {
	if strings.HasSuffix(name, "/") {
		return node{}
	}
	return node{Content: new(string)}
}

// nodeOf reads what a case says of one name, and whether there is such a thing.
func nodeOf(name string, raw json.RawMessage) (n node, there bool, err error) {
	var content string
	var exists bool
	switch {
	case string(raw) == "null":
		return n, false, nil
	case json.Unmarshal(raw, &content) == nil:
		return node{Content: &content}, true, nil
	case json.Unmarshal(raw, &exists) == nil:
		return plain(name), exists, nil
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return n, false, err
	}
	there = true
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if err := n.say(key, all[key], &there); err != nil {
			return n, false, err
		}
	}
	return n, there, nil
}

// say takes one key of what is said of a name.
func (n *node) say(key string, raw json.RawMessage, there *bool) error {
	var text string
	var is bool
	isText, isBool := json.Unmarshal(raw, &text) == nil, json.Unmarshal(raw, &is) == nil
	switch key {
	case "symlink", "link", "symlink_to", "link_to", "target", "to":
		if isText && text != "" {
			n.Symlink = text
			return nil
		}
	case "content", "contents", "text", "file":
		if isText {
			n.Content = &text
			return nil
		}
		if isBool && is {
			n.Content = cmp.Or(n.Content, new(string))
			return nil
		}
	case "dir", "directory", "folder":
		if isBool {
			return nil
		}
	case "exists":
		if isBool {
			*there = is
			return nil
		}
	case "type", "kind":
		switch text {
		case "file":
			n.Content = cmp.Or(n.Content, new(string))
			return nil
		case "dir", "directory", "folder", "symlink", "link":
			return nil
		}
	}
	return fmt.Errorf("%q: %s is not understood", key, raw)
}

// linkedBy puts the symbolic link into the tree that a plain command line makes.
func (t *tree) linkedBy(line string) {
	words := strings.Fields(line)
	if len(words) < 4 || words[0] != "ln" || strings.ContainsAny(line, "|;&<>`\"'\\$*?[{\n") {
		return
	}
	soft, operands := false, words[1:]
	for len(operands) > 0 && strings.HasPrefix(operands[0], "-") {
		soft = soft || operands[0] == "--symbolic" || !strings.HasPrefix(operands[0], "--") && strings.Contains(operands[0], "s")
		operands = operands[1:]
	}
	if !soft || len(operands) != 2 {
		return
	}
	at := t.absolute(operands[1])
	if n, there := t.nodes[at]; there && n.Symlink == "" && n.Content == nil {
		at = path.Join(at, path.Base(operands[0]))
	}
	t.nodes[at] = node{Symlink: operands[0]}
}

// settle gives what the case names its place.
func (t *tree) settle() {
	for name, n := range t.said {
		t.nodes[t.absolute(name)] = n
	}
}

func (t *tree) absolute(name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join("/", t.workDir(), name)
}

// workDir is where relative paths start: the directory named, else the root of
// the task, else the root of everything.
func (t *tree) workDir() string {
	switch {
	case t.dir != "":
		return t.dir
	case len(t.roots) > 0:
		return t.roots[0]
	}
	return "/"
}

// build makes the tree below a temporary directory and returns the world in it.
// Nothing is written outside, wherever a link of the case points.
func (t *tree) build(below string) (signals.World, func() error, error) {
	for _, dir := range append([]string{t.workDir(), t.home}, t.roots...) {
		if _, there := t.nodes[path.Clean(dir)]; dir != "" && !there {
			t.nodes[path.Clean(dir)] = node{}
		}
	}
	root, err := os.OpenRoot(below)
	if err != nil {
		return signals.World{}, nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(t.nodes)) {
		if err := t.nodes[name].make(root, strings.TrimLeft(t.real(name), "/")); err != nil {
			return signals.World{}, nil, &unsupported{fmt.Sprintf("the tree cannot be made: %v", errors.Join(err, root.Close()))}
		}
	}
	files, err := signals.Below(below)
	if err != nil {
		return signals.World{}, nil, errors.Join(err, root.Close())
	}
	return signals.World{Files: files, Dir: t.workDir(), Home: t.home}, files.Close, root.Close()
}

// folders makes the folders that the paths of a call go through, as far as they
// are plain: a path through what is not there names nothing.
func (t *tree) folders(c call) {
	arguments, err := c.arguments()
	if err != nil {
		return
	}
	for name, raw := range arguments {
		var value string
		if json.Unmarshal(raw, &value) != nil || !slices.Contains([]string{"path", "from", "to"}, kindOf(name)) || strings.ContainsAny(value, "~\\\x00") {
			continue
		}
		at := t.workDir()
		if path.IsAbs(value) {
			at = "/"
		}
		parts := strings.Split(value, "/")
		for _, part := range parts[:len(parts)-1] {
			if at = path.Join(at, part); len(part) > 255 {
				break
			}
			if _, there := t.nodes[at]; !there && !t.linked(at) {
				t.nodes[at] = node{}
			}
		}
	}
}

// real is where a place is, with the links of the tree on the way to it followed.
func (t *tree) real(name string) string {
	for range 40 {
		next := t.followed(name)
		if next == name {
			break
		}
		name = next
	}
	return name
}

// followed is a place with the first link on the way to it followed.
func (t *tree) followed(name string) string {
	at := "/"
	parts := strings.Split(strings.Trim(name, "/"), "/")
	for i, part := range parts[:len(parts)-1] {
		at = path.Join(at, part)
		if target := t.nodes[at].Symlink; target != "" {
			if !path.IsAbs(target) {
				target = path.Join(path.Dir(at), target)
			}
			return path.Join(append([]string{target}, parts[i+1:]...)...)
		}
	}
	return name
}

// linked reports whether a place lies behind a link of the tree.
func (t *tree) linked(name string) bool {
	for at := name; at != "/"; at = path.Dir(at) {
		if t.nodes[at].Symlink != "" {
			return true
		}
	}
	return false
}

func (n node) make(root *os.Root, name string) error {
	if name == "" {
		return nil
	}
	if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return err
	}
	switch {
	case n.Symlink != "":
		return root.Symlink(n.Symlink, name)
	case n.Content != nil:
		return root.WriteFile(name, []byte(*n.Content), 0o600)
	}
	return root.MkdirAll(name, 0o700)
}
