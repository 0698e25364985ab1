package signals

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// Disk is the machine's own file system.
type Disk struct{}

func (Disk) Lstat(name string) (fs.FileInfo, error) { return os.Lstat(name) }
func (Disk) Readlink(name string) (string, error)   { return os.Readlink(name) }

func (Disk) ReadDir(name string, limit int) ([]fs.DirEntry, error) {
	return readFolder(name, limit, os.Lstat, os.Open)
}

// ReadFile reads a regular file. Anything else, a pipe or a device, could block
// or never end.
func (Disk) ReadFile(name string, limit int64) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("signals: %s is no regular file", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readLimited(f, name, limit)
}

// Below is the file system under a directory as if it were the whole one. A link
// in it that leads out is not followed: whoever resolves names sees where it
// points and goes on from there, below the directory again.
func Below(dir string) (*Subtree, error) {
	root, err := os.OpenRoot(dir)
	return &Subtree{root}, err
}

// Subtree is a directory that stands for the whole file system.
type Subtree struct{ root *os.Root }

// Close gives the directory back.
func (s *Subtree) Close() error { return s.root.Close() }

func (s *Subtree) Lstat(name string) (fs.FileInfo, error) { return s.root.Lstat(local(name)) }
func (s *Subtree) Readlink(name string) (string, error)   { return s.root.Readlink(local(name)) }

func (s *Subtree) ReadDir(name string, limit int) ([]fs.DirEntry, error) {
	return readFolder(local(name), limit, s.root.Lstat, s.root.Open)
}

func (s *Subtree) ReadFile(name string, limit int64) ([]byte, error) {
	info, err := s.root.Stat(local(name))
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("signals: %s is no regular file", name)
	}
	f, err := s.root.Open(local(name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readLimited(f, name, limit)
}

// local is an absolute name as one below the root.
func local(name string) string {
	if name = strings.TrimLeft(name, "/"); name == "" {
		return "."
	}
	return name
}

// readFolder lists a folder. Nothing else is opened: a pipe could block.
func readFolder(name string, limit int, lstat func(string) (fs.FileInfo, error), open func(string) (*os.File, error)) ([]fs.DirEntry, error) {
	info, err := lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("signals: %s is no folder", name)
	}
	if limit <= 0 {
		return nil, nil // to read none of it would read it all
	}
	f, err := open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(limit)
	if errors.Is(err, io.EOF) {
		err = nil // an empty folder
	}
	return entries, err
}

func readLimited(r io.Reader, name string, limit int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(text)) > limit {
		return nil, fmt.Errorf("signals: %s is larger than %d bytes", name, limit)
	}
	return text, err
}
