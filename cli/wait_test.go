package cli

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/conjunct-project/conjunct/pdp"
	"github.com/conjunct-project/conjunct/policies"
)

// A host that calls tools side by side asks side by side: a command waits for
// another one that has the state open, and says so when that takes too long.
func TestACommandWaitsForAnotherOnesState(t *testing.T) {
	b, err := builtIn(policies.Default)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "state")
	if err := pdp.Init(dir, b, 1000); err != nil {
		t.Fatal(err)
	}
	decide := func() (code int, stderr string) {
		var out, complaints bytes.Buffer
		in := strings.NewReader(`{"trace_id":"t","call_id":"c","tool":"x","arguments":{}}`)
		code = Main(Env{Args: []string{"decide", "--state", dir, "-"}, Stdin: in, Stdout: &out, Stderr: &complaints, Now: time.Now})
		return code, complaints.String()
	}
	held, err := pdp.Open(dir, pdp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	closed := make(chan error)
	go func() {
		time.Sleep(100 * time.Millisecond)
		closed <- held.Close()
	}()
	if code, complaints := decide(); code != exitBlocked {
		t.Errorf("while another one has it for a moment: exit %d, %s; want %d", code, complaints, exitBlocked)
	}
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	if held, err = pdp.Open(dir, pdp.Options{}); err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if code, complaints := decide(); code != exitFailed || !strings.Contains(complaints, "another process has the state open") || !strings.Contains(complaints, "\nhint: ask again;") {
		t.Errorf("while another one keeps it: exit %d, %q; want %d and the reason", code, complaints, exitFailed)
	}
}
