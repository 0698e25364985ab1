package signals

import (
	"context"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/conjunct-project/conjunct/engine"
)

// grow makes a random tree with folders, files and links of every kind: inwards,
// outwards, dangling, in loops, through each other.
func grow(t *testing.T, r *rand.Rand, root string) {
	t.Helper()
	names := []string{"a", "b", "c", "d"}
	var fill func(dir string, depth int)
	fill = func(dir string, depth int) {
		for _, n := range names {
			full := filepath.Join(dir, n)
			var err error
			switch k := r.IntN(10); {
			case k < 4 && depth < 3:
				if err = os.Mkdir(full, 0o755); err == nil {
					fill(full, depth+1)
				}
			case k < 6:
				err = os.WriteFile(full, nil, 0o644)
			case k < 9:
				err = os.Symlink(randomPath(r, root, names), full)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	fill(root, 0)
}

// randomPath is a path of few names and many turns, relative or absolute.
func randomPath(r *rand.Rand, root string, names []string) string {
	var parts []string
	for range 1 + r.IntN(5) {
		switch r.IntN(8) {
		case 0, 1:
			parts = append(parts, "..")
		case 2:
			parts = append(parts, ".")
		case 3:
			parts = append(parts, "")
		default:
			parts = append(parts, names[r.IntN(len(names))])
		}
	}
	p := strings.Join(parts, "/")
	if r.IntN(4) == 0 {
		return root + "/" + p
	}
	if p == "" || p[0] == '/' {
		return "./" + p
	}
	return p
}

// TestPathsAreResolvedAsTheKernelDoes compares what paths resolve to in random
// trees with what the operating system makes of them.
func TestPathsAreResolvedAsTheKernelDoes(t *testing.T) {
	exist, absent, unknown := 0, 0, 0
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 1))
		root, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		grow(t, r, root)
		for range 300 {
			name := randomPath(r, root, []string{"a", "b", "c", "d", "new"})
			p := newTree(World{Files: Disk{}, Dir: root}).resolve(name, true)
			full := name
			if !path.IsAbs(name) {
				full = root + "/" + name
			}
			info, err := os.Stat(full)
			switch {
			case p.unknown != "":
				unknown++
				if err == nil {
					t.Fatalf("seed %d: %s is unknown (%s), and it exists", seed, name, p.unknown)
				}
			case err == nil:
				exist++
				want, err := filepath.EvalSymlinks(full)
				if err != nil {
					t.Fatal(err)
				}
				if p.resolved != want || !p.exists || p.folder != info.IsDir() {
					t.Fatalf("seed %d: %s: got %s (exists %v, folder %v), want %s (folder %v)", seed, name, p.resolved, p.exists, p.folder, want, info.IsDir())
				}
			default:
				absent++
				// A separator after a file is an error to the kernel; programs that
				// take it off reach the file.
				if p.exists && p.folder {
					t.Fatalf("seed %d: %s: exists as %s, and the system says %v", seed, name, p.resolved, err)
				}
				created(t, seed, name, full, p)
			}
		}
	}
	if exist < 500 || absent < 500 || unknown < 50 {
		t.Fatalf("looked at %d existing, %d absent and %d unknown paths only", exist, absent, unknown)
	}
}

// TestNamesLongerThanTheFileSystemTakes holds that a component that is too long
// names nothing, and that a path that is too long says nothing of a name in it.
func TestNamesLongerThanTheFileSystemTakes(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("n", 300)
	if err := os.WriteFile(filepath.Join(root, long), nil, 0o644); err == nil {
		t.Skip("this file system takes long names")
	}
	// Below deep is a path that nobody can look up from the top.
	folder := strings.Repeat("d", 200) + "/"
	deep := filepath.Join(root, strings.Repeat(folder, 16))
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(deep, filepath.Join(root, "l")); err != nil {
		t.Fatal(err)
	}
	subtree, err := Below("/")
	if err != nil {
		t.Fatal(err)
	}
	defer subtree.Close()
	for _, c := range []struct{ dir, name, resolved, unknown string }{
		{root, long, root + "/" + long, ""},
		{root, folder + long + "/x", root + "/" + folder + long + "/x", ""},
		{root, "what was done and why " + long, root + "/what was done and why " + long, ""},
		{root, strings.Repeat("n", 2000), root + "/" + strings.Repeat("n", 2000), ""},
		{deep, strings.Repeat("n", 900), "", "too_large"},
		{root, "l/" + strings.Repeat("x/", 300) + "y", deep + "/" + strings.Repeat("x/", 300) + "y", ""},
		{root, "l/" + strings.Repeat("n", 800), "", "too_large"},
		{root, "l/" + strings.Repeat("n", 1500), "", "too_large"},
		{root, long + "/..", "", "parent_of_missing"},
	} {
		for _, files := range []Files{Disk{}, subtree} {
			p := newTree(World{Files: files, Dir: c.dir}).resolve(c.name, true)
			want := path.Clean(c.resolved)
			if c.resolved == "" {
				want = ""
			}
			if p.unknown != c.unknown || p.resolved != want || p.unknown == "" && p.exists {
				t.Errorf("%T, %.30s... of %d bytes: got %.80s (exists %v, unknown %q), want %.80s (unknown %q)", files, c.name, len(c.name), p.resolved, p.exists, p.unknown, want, c.unknown)
			}
		}
	}
}

// created makes a file at an absent path, where the system lets it, and looks
// where it came to be.
func created(t *testing.T, seed uint64, name, full string, p *place) {
	t.Helper()
	if err := os.WriteFile(full, nil, 0o644); err != nil {
		return
	}
	want, err := filepath.EvalSymlinks(full)
	if err != nil {
		t.Fatal(err)
	}
	if p.resolved != want {
		t.Fatalf("seed %d: a write to %s came to be at %s, and %s was resolved", seed, name, want, p.resolved)
	}
	if err := os.Remove(want); err != nil {
		t.Fatal(err)
	}
}

// TestDeletionsTakeWhatIsResolved compares what a deletion takes.
func TestDeletionsTakeWhatIsResolved(t *testing.T) {
	taken := 0
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 2))
		root, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		grow(t, r, root)
		for range 100 {
			name := randomPath(r, root, []string{"a", "b", "c", "d"})
			full := name
			if !path.IsAbs(name) {
				full = root + "/" + name
			}
			p := newTree(World{Files: Disk{}, Dir: root}).resolve(name, false)
			if p.unknown != "" || !strings.HasPrefix(p.resolved, root+"/") {
				continue
			}
			_, before := os.Lstat(p.resolved)
			// As rm does it: the last component itself.
			if err := os.Remove(full); err != nil {
				continue
			}
			taken++
			if _, after := os.Lstat(p.resolved); before != nil || after == nil {
				t.Fatalf("seed %d: deleting %s did not take %s", seed, name, p.resolved)
			}
		}
	}
	if taken < 20 {
		t.Fatalf("only %d deletions", taken)
	}
}

// FuzzPath holds that no name crashes the resolver, and that what is not unknown
// is absolute, clean and text.
func FuzzPath(f *testing.F) {
	for _, c := range readCases(f, "testdata/paths.jsonl") {
		f.Add(c.Path)
	}
	d, _ := New(Scope{Roots: []string{"/w/app"}, Paths: map[string][]string{"deny": {"**/.env*", "~/.ssh/", "/etc/**"}}}, []Family{Path})
	tool := engine.Tool{Arguments: map[string]engine.Argument{"path": {Kind: engine.PathKind}}}
	w := World{Files: files{"/w/app/": "", "/w/app/l": "/etc", "/w/app/o": "o", "/home/u/": "", "/etc/": ""}, Dir: "/w/app", Home: "/home/u"}
	f.Fuzz(func(t *testing.T, name string) {
		call := &Call{Action: engine.Action{Arguments: map[string]any{"path": name}}, Tool: tool, Declared: true}
		facts, unknown := d.Facts(context.Background(), call, w)
		for _, u := range unknown {
			if strings.Contains(u, "panic") {
				t.Fatal(strconv.Quote(name), u)
			}
		}
		paths, ok := facts["path"].(map[string]any)["paths"].([]any)
		if ok == (len(unknown) > 0) {
			t.Fatalf("%q: paths %v and unknown %v", name, paths, unknown)
		}
		if !ok {
			return
		}
		resolved := paths[0].(map[string]any)["resolved"].(string)
		if !path.IsAbs(resolved) || path.Clean(resolved) != resolved || unreadable(name) != "" {
			t.Fatalf("%q resolved to %q", name, resolved)
		}
	})
}
