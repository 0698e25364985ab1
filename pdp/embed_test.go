package pdp_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/conjunct-project/conjunct/pdp"
)

var goBlock = regexp.MustCompile("(?ms)^```go\n(package main.*?)^```$")

// TestTheReadmesProgramBuildsOutsideTheModule builds the README's Go program in
// a module of its own and runs it.
func TestTheReadmesProgramBuildsOutsideTheModule(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	m := goBlock.FindSubmatch(readme)
	if m == nil {
		t.Fatal("the README shows no Go program")
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	const module = "github.com/conjunct-project/conjunct"
	text := strings.Replace(string(mod), "module "+module, "module example.com/desk", 1) +
		"\nrequire " + module + " v0.0.0\n\nreplace " + module + " => " + root + "\n"
	for name, content := range map[string]string{"main.go": string(m[1]), "go.mod": text, "go.sum": string(sum)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.Command("go", "build", "-mod=mod", "-o", "desk", ".")
	build.Dir, build.Env = dir, append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	states := filepath.Join(t.TempDir(), "state")
	if err := pdp.Init(states, itsm(t), monday); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(filepath.Join(dir, "desk"), states).CombinedOutput()
	if got := strings.TrimSpace(string(out)); err != nil || got != "the ticket's text <nil>" {
		t.Fatalf("%v, %q", err, got)
	}
	if r := replayed(t, states); !r.OK || r.Attempts != 1 || r.Entries != 3 {
		t.Fatalf("replay: %+v", r)
	}
}
