package signals

import (
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/conjunct-project/conjunct/engine"
)

// plantSecrets makes a random tree in which every file holds its name, and some
// are on a list. Links lead anywhere in it.
func plantSecrets(t *testing.T, r *rand.Rand, top string) string {
	t.Helper()
	names := []string{"a.go", "k.pem", ".env", "sub", ".hid", "b.txt", "link"}
	var fill func(dir string, depth int)
	fill = func(dir string, depth int) {
		for _, n := range names {
			full := filepath.Join(dir, n)
			folder := n == "sub" || n == ".hid"
			var err error
			switch {
			case r.IntN(3) == 0:
			case folder && depth < 2:
				if err = os.Mkdir(full, 0o755); err == nil {
					fill(full, depth+1)
				}
			case n == "link":
				err = os.Symlink([]string{"../../other", "../other", "sub", "k.pem", "none"}[r.IntN(5)], full)
			case !folder && (n == "a.go" || n == "b.txt" || r.IntN(3) == 0):
				err = os.WriteFile(full, []byte("<<"+full+">>\n"), 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, dir := range []string{"work/d", "other"} {
		full := filepath.Join(top, dir)
		if err := os.MkdirAll(full, 0o755); err != nil {
			t.Fatal(err)
		}
		fill(full, 0)
	}
	return filepath.Join(top, "work")
}

// TestWholeFoldersHoldWhatIsRead runs commands that read whole folders, and holds
// that a file on a list is read if and only if facts say so.
func TestWholeFoldersHoldWhatIsRead(t *testing.T) {
	commands := []string{"grep -r . d", "grep -R . d", "grep -rh . d/", "cd d && grep -r .", "grep -r . d --include='*.go'", "grep -r . d --include=*.txt",
		"grep -r . d --exclude='*.pem'", "grep -r . d --exclude-dir=sub --exclude-dir=.hid", "grep -r . d --exclude='.e*' --exclude='*.pem'",
		"tar cf - d", "tar chf - d", "cp -r d e && cat e/k.pem", "cp -rL d e && cat e/.env", "diff -rN d none", "grep . d/*", "rg . d", "rg -uu . d", "rg -L . d", "rg . d -g '*.go'"}
	tool := engine.Tool{Arguments: map[string]engine.Argument{"command": {Kind: engine.CommandKind}}}
	read, quiet := 0, 0
	for seed := range uint64(120) {
		r := rand.New(rand.NewPCG(seed, 5))
		top, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		dir, text := plantSecrets(t, r, top), commands[r.IntN(len(commands))]
		d, _ := New(Scope{Roots: []string{top}, Paths: map[string][]string{"deny": {"**/*.pem", "**/.env"}}}, []Family{Path, Shell})
		call := &Call{Action: engine.Action{Arguments: map[string]any{"command": text}}, Tool: tool, Declared: true}
		facts, unknown := d.Facts(context.Background(), call, World{Files: Disk{}, Dir: dir, Home: filepath.Join(top, "home")})
		said := slices.ContainsFunc(facts["path"].(map[string]any)["seen"].([]any), func(p any) bool {
			on, _ := p.(map[string]any)["lists_folded"].([]any)
			return len(on) > 0 && p.(map[string]any)["exists"] == true
		})
		cmd := exec.Command("sh", "-c", text)
		cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "PWD=" + dir, "HOME=" + top}
		out, _ := cmd.Output() // how it ends is of no interest
		was := strings.Contains(string(out), ".pem>>") || strings.Contains(string(out), ".env>>")
		switch {
		case was && !said && len(unknown) == 0:
			t.Errorf("seed %d: %s reads a file on the list, and facts do not say so:\n%s", seed, text, out)
		case !was && said && strings.Contains(text, "grep"):
			t.Errorf("seed %d: facts say that %s reads a file on the list:\n%s", seed, text, out)
		case was:
			read++
		default:
			quiet++
		}
	}
	if read < 20 || quiet < 20 {
		t.Fatalf("%d commands read a file on the list and %d did not", read, quiet)
	}
}
