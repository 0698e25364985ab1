package bundle

import (
	"testing"

	"github.com/conjunct-project/conjunct/policies"
)

// shipped loads a bundle that ships with the program.
func shipped(t testing.TB, name string) *Bundle {
	t.Helper()
	fsys, err := policies.FS(name)
	if err != nil {
		t.Fatal(err)
	}
	files, err := FromFS(fsys, name)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Load(files)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestEveryShippedBundleLoads(t *testing.T) {
	for _, name := range policies.Names() {
		b := shipped(t, name)
		for _, w := range b.Warnings {
			t.Errorf("%s: warning: %s", name, w)
		}
		if native, total, others := b.Native(); native != total {
			t.Errorf("%s: %d of %d floors run native; the others: %v", name, native, total, others)
		}
	}
}
