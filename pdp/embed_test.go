package pdp_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/conjunct-project/conjunct/pdp"
	"github.com/conjunct-project/conjunct/policies"
)

var goBlock = regexp.MustCompile("(?ms)^```go\n(package main.*?)^```$")

// TestTheReadmesProgramBuildsOutsideTheModule builds the README's Go program in
// a module of its own and runs it.
func TestTheReadmesProgramBuildsOutsideTheModule(t *testing.T) {
	desk := built(t, page(t, "README.md"))
	states := filepath.Join(t.TempDir(), "state")
	if err := pdp.Init(states, itsm(t), monday); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(desk, states).CombinedOutput()
	if got := strings.TrimSpace(string(out)); err != nil || got != "the ticket's text <nil>" {
		t.Fatalf("%v, %q", err, got)
	}
	if r := replayed(t, states); !r.OK || r.Attempts != 1 || r.Entries != 3 {
		t.Fatalf("replay: %+v", r)
	}
}

// TestTheProgramOfTheEmbeddingPageDoesWhatThePageShows runs it on a new state
// and once more on what it left, which replays from the state directory alone.
func TestTheProgramOfTheEmbeddingPageDoesWhatThePageShows(t *testing.T) {
	text := page(t, "docs", "embedding.md")
	shop := built(t, text)
	shown := regexp.MustCompile("(?ms)^```text\n(.*?)^```$").FindStringSubmatch(text)
	reviewers := regexp.MustCompile("(?ms)^```yaml file=shop/bundle/(\\S+)\n(.*?)^```$").FindStringSubmatch(text)
	if shown == nil || reviewers == nil {
		t.Fatal("the page shows no output, or no reviewers")
	}
	dir := t.TempDir()
	policy, state := filepath.Join(dir, "bundle"), filepath.Join(dir, "state")
	first, err := policies.FS(policies.Default)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(policy, first); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(policy, reviewers[1]), []byte(reviewers[2]), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(shop, policy, state).CombinedOutput()
	if got := string(out); err != nil || got != shown[1] {
		t.Fatalf("%v, got:\n%s\nthe page shows:\n%s", err, got, shown[1])
	}
	// What it left is there: nothing of c2 waits any more, so the approval fails.
	out, _ = exec.Command(shop, policy, state).CombinedOutput()
	for _, want := range []string{"c1 look_up_order: order A-17", "c2 refund: block", "waits: c6 refund", "no current review request"} {
		if !strings.Contains(string(out), want) {
			t.Fatalf("once more, %q is missing:\n%s", want, out)
		}
	}
	// Neither the bundle's directory nor the program is needed to replay.
	if err := os.RemoveAll(policy); err != nil {
		t.Fatal(err)
	}
	if r := replayed(t, copied(t, state)); !r.OK || r.Attempts < 8 || r.Redecided != r.Attempts {
		t.Fatalf("replay: %+v", r)
	}
}

func page(t *testing.T, name ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{".."}, name...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// built is the Go program of a page, built outside the module.
func built(t *testing.T, text string) string {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	m := goBlock.FindStringSubmatch(text)
	if m == nil {
		t.Fatal("the page shows no Go program")
	}
	const module = "github.com/conjunct-project/conjunct"
	mod := strings.Replace(page(t, "go.mod"), "module "+module, "module example.com/desk", 1) +
		"\nrequire " + module + " v0.0.0\n\nreplace " + module + " => " + root + "\n"
	dir := t.TempDir()
	for name, content := range map[string]string{"main.go": m[1], "go.mod": mod, "go.sum": page(t, "go.sum")} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.Command("go", "build", "-mod=mod", "-o", "desk", ".")
	build.Dir, build.Env = dir, append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return filepath.Join(dir, "desk")
}
