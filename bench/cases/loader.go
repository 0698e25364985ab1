package cases

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"

	"github.com/conjunct-project/conjunct/bundle"
	"github.com/conjunct-project/conjunct/policies"
)

// loader loads bundles. Many cases come to the same one, and a bundle does not
// change once it is loaded.
type loader struct {
	base   func(name string) (bundle.Files, error)
	loaded map[[sha256.Size]byte]*bundle.Bundle
}

func newLoader(base func(string) (bundle.Files, error)) *loader {
	return &loader{base, map[[sha256.Size]byte]*bundle.Bundle{}}
}

// shipped is the text of a bundle that comes with the program.
func shipped(name string) (bundle.Files, error) {
	fsys, err := policies.FS(name)
	if err != nil {
		return bundle.Files{}, err
	}
	return bundle.FromFS(fsys, name)
}

func (l *loader) load(files bundle.Files) (*bundle.Bundle, error) {
	key := contentKey(files)
	if b := l.loaded[key]; b != nil {
		return b, nil
	}
	b, err := bundle.Load(files)
	if err == nil {
		l.loaded[key] = b
	}
	return b, err
}

func contentKey(files bundle.Files) (key [sha256.Size]byte) {
	h := sha256.New()
	fmt.Fprintf(h, "%q\n", files.Path)
	for _, name := range slices.Sorted(maps.Keys(files.Content)) {
		fmt.Fprintf(h, "%q %d\n", name, len(files.Content[name]))
		h.Write(files.Content[name])
	}
	return [sha256.Size]byte(h.Sum(nil))
}
