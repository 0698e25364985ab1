package bench

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"

	"github.com/conjunct-project/conjunct/signals"
)

// planted is a directory with files and links that stands for the whole file
// system, until it is removed.
type planted struct {
	dir   string
	work  string // the working directory in it
	root  *os.Root
	files *signals.Subtree
}

// plant makes a directory with the given trees.
func plant(work string, trees ...Tree) (*planted, error) {
	dir, err := os.MkdirTemp("", "conjunct-bench-")
	if err != nil {
		return nil, err
	}
	p := &planted{dir: dir, work: work}
	if err := p.fill(trees); err != nil {
		return nil, errors.Join(err, p.remove())
	}
	return p, nil
}

func (p *planted) fill(trees []Tree) (err error) {
	if p.root, err = os.OpenRoot(p.dir); err != nil {
		return err
	}
	if err := p.root.MkdirAll(local(p.work), 0o755); err != nil {
		return err
	}
	for _, t := range trees {
		if _, err := p.add(t); err != nil {
			return err
		}
	}
	p.files, err = signals.Below(p.dir)
	return err
}

func (p *planted) remove() (err error) {
	if p.files != nil {
		err = p.files.Close()
	}
	if p.root != nil {
		err = errors.Join(err, p.root.Close())
	}
	return errors.Join(err, os.RemoveAll(p.dir))
}

// add writes a tree's files, then its links, and lists what it made, in order.
// Nothing is written outside the directory, and no name twice.
func (p *planted) add(t Tree) (made []string, err error) {
	for _, name := range slices.Sorted(maps.Keys(t.Files)) {
		err = p.make(name, &made, func(at string) error {
			f, err := p.root.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
			if err != nil {
				return err
			}
			_, err = f.WriteString(t.Files[name])
			return errors.Join(err, f.Close())
		})
		if err != nil {
			return made, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.Links)) {
		err = p.make(name, &made, func(at string) error { return p.root.Symlink(t.Links[name], at) })
		if err != nil {
			return made, err
		}
	}
	return made, nil
}

// make makes the folders that a name stands in, then the name.
func (p *planted) make(name string, made *[]string, write func(at string) error) error {
	if !path.IsAbs(name) {
		name = path.Join(p.work, name)
	}
	at := local(name)
	for i, c := range at {
		if c != '/' {
			continue
		}
		err := p.root.Mkdir(at[:i], 0o755)
		if err == nil {
			*made = append(*made, at[:i])
		} else if !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("bench: %w", err)
		}
	}
	if err := write(at); err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	*made = append(*made, at)
	return nil
}

// with runs f while a tree is there besides. The directory is afterwards as it
// was before, and an error says that it may not be.
func (p *planted) with(t Tree, f func(signals.World)) error {
	made, err := p.add(t)
	if err == nil {
		f(signals.World{Files: p.files, Dir: p.work})
	}
	for _, at := range slices.Backward(made) {
		err = errors.Join(err, p.root.Remove(at))
	}
	return err
}

// local is an absolute name as one below a root.
func local(name string) string {
	if name = path.Clean(name); name != "/" {
		return name[1:]
	}
	return "."
}
