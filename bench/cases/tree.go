package cases

import (
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
	root, dir, home string
	nodes           map[string]node // by absolute path
}

// node is one thing in a tree: a link, a directory or a file.
type node struct {
	Symlink string  `json:"symlink"`
	Content *string `json:"content"`
	Dir     bool    `json:"dir"`
}

// files reads what a context says there is.
func (t *tree) files(raw json.RawMessage) error {
	var nodes map[string]json.RawMessage
	if err := json.Unmarshal(raw, &nodes); err != nil {
		return err
	}
	for name, raw := range nodes {
		var n node
		var content string
		switch {
		case json.Unmarshal(raw, &content) == nil:
			n.Content = &content
		default:
			if err := strictly(raw, &n); err != nil {
				return &unsupported{fmt.Sprintf("fs %s: %v", name, err)}
			}
		}
		t.nodes[t.absolute(name)] = n
	}
	return nil
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
	for _, d := range []string{t.dir, t.root} {
		if d != "" {
			return d
		}
	}
	return "/"
}

// build makes the tree below a temporary directory and returns the world in it.
// Nothing is written outside, wherever a link of the case points.
func (t *tree) build(below string) (signals.World, func() error, error) {
	for _, dir := range []string{t.root, t.workDir(), t.home} {
		if _, there := t.nodes[path.Clean(dir)]; dir != "" && !there {
			t.nodes[path.Clean(dir)] = node{Dir: true}
		}
	}
	root, err := os.OpenRoot(below)
	if err != nil {
		return signals.World{}, nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(t.nodes)) {
		if err := t.nodes[name].make(root, strings.TrimLeft(name, "/")); err != nil {
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
				t.nodes[at] = node{Dir: true}
			}
		}
	}
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
