package signals

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestListingsAreBounded holds expansions to their limits: more is unknown.
func TestListingsAreBounded(t *testing.T) {
	names := func(n int) files {
		f := files{}
		for i := range n {
			f[fmt.Sprintf("/w/app/f%05d", i)] = ""
		}
		return f
	}
	for _, c := range []struct {
		files   int
		pattern string
		unknown string
	}{
		{maxMatches, "f*", ""},
		{maxMatches + 1, "f*", "too_large"},
		{maxListed, "f0000?", ""},
		{maxListed + 1, "f0000?", "too_large"},
	} {
		got := (&testCase{Line: "cat " + c.pattern, Files: names(c.files)}).observed(t).Unknown
		if want := fmt.Sprint([]string{c.unknown}); fmt.Sprint(got) != want && (c.unknown != "" || len(got) > 0) {
			t.Errorf("%s in a folder of %d: unknown %q, want %q", c.pattern, c.files, got, c.unknown)
		}
	}
}

// TestFoldersAreListedAlike compares the views of the world with each other.
func TestFoldersAreListedAlike(t *testing.T) {
	root := t.TempDir()
	memory := Memory{"/": {Dir: true}, "/d": {Dir: true}, "/e": {Dir: true}}
	if err := os.MkdirAll(filepath.Join(root, "d"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(root, "e"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b", "c"} {
		memory["/d/"+name] = Node{}
		if err := os.WriteFile(filepath.Join(root, "d", name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tree, err := Below(root)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	for _, c := range []struct {
		name        string
		limit, want int // want -1: an error
	}{{"/d", 5, 3}, {"/d", 3, 3}, {"/d", 2, 2}, {"/d", 0, 0}, {"/e", 5, 0}, {"/d/a", 5, -1}, {"/none", 5, -1}} {
		for what, list := range map[string]func() ([]fs.DirEntry, error){
			"the disk":  func() ([]fs.DirEntry, error) { return Disk{}.ReadDir(root+c.name, c.limit) },
			"a subtree": func() ([]fs.DirEntry, error) { return tree.ReadDir(c.name, c.limit) },
			"memory":    func() ([]fs.DirEntry, error) { return memory.ReadDir(c.name, c.limit) },
		} {
			entries, err := list()
			if (err != nil) != (c.want < 0) || err == nil && len(entries) != c.want {
				t.Errorf("%s lists %d entries of %s (%v) where %d were asked for, want %d", what, len(entries), c.name, err, c.limit, c.want)
			}
		}
	}
}
