package signals

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// growNames makes a small random tree of names that patterns tell apart.
func growNames(t *testing.T, r *rand.Rand, root string) {
	t.Helper()
	names := []string{"a", "b1", "b2", ".h", "a.go", "b.go", "c d", "[x]", "x-y", "A", "é", ".a.go", "a*", "-o"}
	var fill func(dir string, depth int)
	fill = func(dir string, depth int) {
		for _, n := range names {
			full := filepath.Join(dir, n)
			var err error
			switch k := r.IntN(10); {
			case k < 4 && depth < 2:
				if err = os.Mkdir(full, 0o755); err == nil {
					fill(full, depth+1)
				}
			case k < 7:
				err = os.WriteFile(full, nil, 0o644)
			case k < 8:
				err = os.Symlink([]string{"a", "..", "../b1", "missing", root, "."}[r.IntN(6)], full)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	fill(root, 0)
}

// randomPattern is a word of shell with few signs in many places.
func randomPattern(r *rand.Rand) string {
	pieces := []string{"*", "?", "a", "b", ".", "go", "[ab]", "[!a]", "[0-9]", "h", "x-y", "'*'", "\\?", `"a"`, ".go", "**", "[1-2]", "é", "c\\ d", "[a\\-z]", "[a'-'z]", "[x", "]", "-", "A"}
	var parts []string
	for range 1 + r.IntN(3) {
		if r.IntN(8) == 0 {
			parts = append(parts, []string{"..", ".", ""}[r.IntN(3)])
			continue
		}
		text := []string{"*", "?", "[ab]*", "*.go", "**", "b?", "*[0-9]", ".*", ".[!.]*", "a", "*-*"}[r.IntN(11)]
		if r.IntN(3) == 0 {
			text = ""
		}
		for range r.IntN(3) {
			text += pieces[r.IntN(len(pieces))]
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "/")
}

// TestPatternsMatchWhatShellsMatch compares what patterns match in random trees
// with what the shells of the machine make of them.
func TestPatternsMatchWhatShellsMatch(t *testing.T) {
	shells := [][]string{{"sh", "-c"}, {"bash", "--norc", "-c"}, {"dash", "-c"}, {"bash", "--norc", "-O", "globstar", "-c"}}
	compared, matched, unknown := 0, 0, 0
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 9))
		root, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		growNames(t, r, root)
		var patterns []string
		for range 150 {
			if p := randomPattern(r); strings.ContainsAny(p, "*?[") && !strings.HasPrefix(p, "/") {
				patterns = append(patterns, p)
			}
		}
		for _, shell := range shells {
			path, err := exec.LookPath(shell[0])
			if err != nil {
				continue
			}
			script := ""
			for _, p := range patterns {
				script += "printf '%s\\037' " + p + "\nprintf '\\036'\n"
			}
			cmd := exec.Command(path, append(slices.Clone(shell[1:]), script)...)
			cmd.Dir, cmd.Env = root, []string{"LC_ALL=C.UTF-8", "PATH=/usr/bin:/bin"}
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(shell, err)
			}
			answers := strings.Split(string(out), "\x1e")
			for i, p := range patterns {
				want := strings.Split(strings.TrimSuffix(answers[i], "\x1f"), "\x1f")
				got, deep, code := patternWords(t, p, root)
				if code != "" {
					unknown++
					continue
				}
				if slices.Contains(shell, "globstar") {
					if strings.Contains(p, "**") && !strings.Contains(p, "**/") {
						continue
					}
					got = deep
				}
				deeper := slices.Contains(shell, "globstar") && strings.Contains(p, "**")
				if compared++; len(got) > 1 {
					matched++
				}
				// Some shells take . and .. for matches, and some write one separator
				// for two.
				dots := slices.ContainsFunc(got, throughDots)
				got, want = oneSeparator(got), oneSeparator(want)
				for _, w := range want {
					if !slices.Contains(got, w) {
						t.Errorf("seed %d, %s: %s matches %q, and that is none of %q", seed, shell, p, w, got)
					}
				}
				for _, w := range got {
					if !deeper && !slices.Contains(want, w) && !(dots && (throughDots(w) || strings.Contains(w, "*") || strings.Contains(w, "?"))) {
						t.Errorf("seed %d, %s: %s does not match %q, only %q", seed, shell, p, w, want)
					}
				}
			}
		}
	}
	if compared < 500 || matched < 100 {
		t.Fatalf("compared %d patterns, %d of them with more than one match; %d were unknown", compared, matched, unknown)
	}
	t.Logf("compared %d patterns, %d of them with more than one match; %d were unknown", compared, matched, unknown)
}

func throughDots(word string) bool {
	return strings.Contains("/"+word+"/", "/./") || strings.Contains("/"+word+"/", "/../")
}

func oneSeparator(words []string) (out []string) {
	for _, w := range words {
		for strings.Contains(w, "//") {
			w = strings.ReplaceAll(w, "//", "/")
		}
		out = append(out, w)
	}
	return out
}

// patternWords is what a word of shell expands to, with and without ** as any
// number of folders.
func patternWords(t *testing.T, text, root string) (words, deep []string, code string) {
	t.Helper()
	out := &script{}
	w := World{Files: Disk{}, Dir: root, Home: "/home/u"}
	d, _ := New(Scope{}, nil)
	l := &line{detector: d, ctx: t.Context(), world: w, tree: newTree(w), out: out, functions: map[string]bool{}}
	l.read("echo "+text, dirs{names: []string{root}})
	if len(out.unknown) > 0 || len(out.commands) != 1 && len(out.commands) != 2 {
		return nil, nil, "unread"
	}
	plain := func(c *invocation) (out []string, open bool) {
		for _, w := range c.expanded()[1:] {
			out = append(out, w.text)
			open = open || w.open
		}
		return out, open
	}
	words, open := plain(out.commands[0])
	more, also := plain(out.commands[len(out.commands)-1])
	if open || also {
		return nil, nil, "open"
	}
	return words, more, ""
}
