package signals

import (
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

func readLimited(r io.Reader, name string, limit int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(text)) > limit {
		return nil, fmt.Errorf("signals: %s is larger than %d bytes", name, limit)
	}
	return text, err
}
