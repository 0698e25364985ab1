package signals

import (
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"
)

// Memory is a file system in memory, for trials: what stands at each absolute,
// clean name. The folders above a name are there too.
type Memory map[string]Node

// Node is a file with its text or, with a link, a symbolic link.
type Node struct {
	Link string
	Text string
	Dir  bool
}

func (n Node) mode() fs.FileMode {
	switch {
	case n.Link != "":
		return fs.ModeSymlink | 0o777
	case n.Dir:
		return fs.ModeDir | 0o755
	}
	return 0o644
}

func (m Memory) node(name string) (Node, error) {
	if n, ok := m[name]; ok {
		return n, nil
	}
	for other := range m {
		if strings.HasPrefix(other, strings.TrimSuffix(name, "/")+"/") {
			return Node{Dir: true}, nil
		}
	}
	return Node{}, fs.ErrNotExist
}

func (m Memory) Lstat(name string) (fs.FileInfo, error) {
	n, err := m.node(name)
	if err != nil {
		return nil, &fs.PathError{Op: "lstat", Path: name, Err: err}
	}
	return nodeInfo{path.Base(name), n}, nil
}

func (m Memory) Readlink(name string) (string, error) {
	n, err := m.node(name)
	if err == nil && n.Link == "" {
		err = fs.ErrInvalid
	}
	if err != nil {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: err}
	}
	return n.Link, nil
}

func (m Memory) ReadDir(name string, limit int) (entries []fs.DirEntry, err error) {
	n, err := m.node(name)
	if err == nil && !n.mode().IsDir() {
		err = fs.ErrInvalid
	}
	if err != nil {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: err}
	}
	seen := map[string]bool{}
	for other := range m {
		rest, below := strings.CutPrefix(other, strings.TrimSuffix(name, "/")+"/")
		first, _, _ := strings.Cut(rest, "/")
		if !below || first == "" || seen[first] || len(entries) == limit {
			continue
		}
		seen[first] = true
		info, err := m.Lstat(path.Join(name, first))
		if err != nil {
			return nil, err
		}
		entries = append(entries, fs.FileInfoToDirEntry(info))
	}
	return entries, nil
}

func (m Memory) ReadFile(name string, limit int64) ([]byte, error) {
	n, err := m.node(name)
	if err == nil && (n.Link != "" || n.Dir) {
		err = fs.ErrInvalid
	}
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: name, Err: err}
	}
	if int64(len(n.Text)) > limit {
		return nil, fmt.Errorf("signals: %s is larger than %d bytes", name, limit)
	}
	return []byte(n.Text), nil
}

type nodeInfo struct {
	name string
	node Node
}

func (i nodeInfo) Name() string       { return i.name }
func (i nodeInfo) Size() int64        { return int64(len(i.node.Text)) }
func (i nodeInfo) Mode() fs.FileMode  { return i.node.mode() }
func (i nodeInfo) ModTime() time.Time { return time.Time{} }
func (i nodeInfo) IsDir() bool        { return i.node.mode().IsDir() }
func (i nodeInfo) Sys() any           { return nil }
