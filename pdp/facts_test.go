package pdp_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conjunct-project/conjunct/action"
	"github.com/conjunct-project/conjunct/bundle"
	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/pdp"
	"github.com/conjunct-project/conjunct/policies"
	"github.com/conjunct-project/conjunct/reexam"
	"github.com/conjunct-project/conjunct/signals"
)

// coder is the coding agent's bundle, with a root of its own and somebody who may
// put another one in force.
func coder(t testing.TB, root string) *bundle.Bundle {
	t.Helper()
	fsys, err := policies.FS("coding-agent")
	if err != nil {
		t.Fatal(err)
	}
	files, err := bundle.FromFS(fsys, "coding-agent")
	if err != nil {
		t.Fatal(err)
	}
	const scope = "conjunct/scope/data.yaml"
	text := strings.Replace(string(files.Content[scope]), `roots: ["."]`, fmt.Sprintf("roots: [%q]", root), 1)
	files.Content[scope] = []byte(text)
	b, err := bundle.Load(files)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func proposed(t testing.TB, id, tool, arguments string) engine.Action {
	t.Helper()
	a, err := action.Decode(fmt.Appendf(nil, `{"trace_id":"t","call_id":%q,"agent":{"id":"coder"},"tool":%q,"arguments":%s,"confidence":0.95}`, id, tool, arguments))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// A decision stands on the facts that were computed then: the auditor's machine
// has none of the files.
func TestADecisionWithFactsReplaysWithoutTheFiles(t *testing.T) {
	tree := t.TempDir()
	for _, dir := range []string{"w/src", "etc"} {
		if err := os.MkdirAll(filepath.Join(tree, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc", filepath.Join(tree, "w", "link")); err != nil {
		t.Fatal(err)
	}
	files, err := signals.Below(tree)
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	dir := filepath.Join(t.TempDir(), "state")
	if err := pdp.Init(dir, coder(t, "/w"), 1000); err != nil {
		t.Fatal(err)
	}
	p, err := pdp.Open(dir, pdp.Options{Now: func() int64 { return 1000 }, World: signals.World{Files: files, Dir: "/w", Home: "/home/u"}})
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		tool, arguments string
		want            engine.Outcome
	}{
		{"read_file", `{"path":"src/a.go"}`, engine.Allow},
		{"read_file", `{"path":"link/passwd"}`, engine.Block},
		{"shell", `{"command":"cat link/passwd"}`, engine.Block},
		{"shell", `{"command":"git status"}`, engine.Allow},
		{"shell", `{"command":"make all"}`, engine.Review},
		{"write_file", `{"path":"src/b.go","content":"package src"}`, engine.Allow},
	} {
		d, err := p.Decide(context.Background(), proposed(t, fmt.Sprint(i), c.tool, c.arguments))
		if err != nil || d.Outcome != c.want || len(d.Facts) == 0 {
			t.Fatalf("%s %s: %v, %d families of facts, %v; want %v", c.tool, c.arguments, d.Outcome, len(d.Facts), err, c.want)
		}
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(tree); err != nil {
		t.Fatal(err)
	}
	r, err := reexam.Replay(context.Background(), dir, reexam.Options{Versions: pdp.Versions()})
	if err != nil || !r.OK || r.Attempts != 6 || r.Redecided != 6 {
		t.Fatalf("replay: %+v, %v; want six attempts decided again to equal bytes", r, err)
	}
	again, err := pdp.Open(dir, pdp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
}

// stuck is a file system whose answers never come.
type stuck struct{ signals.Disk }

func (stuck) Lstat(string) (fs.FileInfo, error) { select {} }

func TestFactsThatTakeTooLongAreUnknown(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	if err := pdp.Init(dir, coder(t, "/w"), 1000); err != nil {
		t.Fatal(err)
	}
	p, err := pdp.Open(dir, pdp.Options{Timeout: 200 * time.Millisecond, World: signals.World{Files: stuck{}, Dir: "/w", Home: "/home/u"}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	d, err := p.Decide(context.Background(), proposed(t, "1", "read_file", `{"path":"a"}`))
	if err != nil || d.Permit || !slices.Contains(d.FactsUnknown, "facts: timeout") {
		t.Errorf("got permit %v, unknown %q, %v; want a block that says the facts timed out", d.Permit, d.FactsUnknown, err)
	}
}

// Facts are computed for the scope of the bundle in force. One that narrows the
// scope while they are computed decides with facts of its own.
func TestFactsAreOfTheBundleThatDecides(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	if err := pdp.Init(dir, coder(t, "/"), 1000); err != nil {
		t.Fatal(err)
	}
	narrow := coder(t, "/w")
	started, activated := make(chan struct{}), make(chan struct{})
	files := &waiting{started: started, until: activated}
	p, err := pdp.Open(dir, pdp.Options{Timeout: 10 * time.Second, World: signals.World{Files: files, Dir: "/w", Home: "/home/u"}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	go func() {
		defer close(activated)
		<-started
		if err := p.Activate(context.Background(), narrow, engine.Identity{Name: "op", Role: "operator"}); err != nil {
			t.Error(err)
		}
	}()
	d, err := p.Decide(context.Background(), proposed(t, "1", "read_file", `{"path":"/elsewhere/a"}`))
	if err != nil || d.Permit || d.Bundle.Digest != narrow.Bundle().Digest {
		t.Errorf("got permit %v under %s, %v; want a block under %s", d.Permit, d.Bundle.Digest, err, narrow.Bundle().Digest)
	}
}

// waiting is an empty file system whose first answer waits.
type waiting struct {
	signals.Memory
	started chan<- struct{}
	until   <-chan struct{}
	asked   bool
}

func (w *waiting) Lstat(name string) (fs.FileInfo, error) {
	if !w.asked {
		w.asked = true
		close(w.started)
		<-w.until
	}
	return signals.Memory{"/w": {Dir: true}, "/elsewhere": {Dir: true}}.Lstat(name)
}
