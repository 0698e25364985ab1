package cli

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conjunct-project/conjunct/pdp"
	"github.com/conjunct-project/conjunct/policies"
	"github.com/conjunct-project/conjunct/reexam"
)

// stopping interrupts after so many answers.
type stopping struct {
	bytes.Buffer
	after int
	stop  context.CancelFunc
}

func (s *stopping) Write(p []byte) (int, error) {
	if s.after--; s.after == 0 {
		s.stop()
	}
	return s.Buffer.Write(p)
}

const readOne = `{"trace_id":"t","call_id":"c","agent":{"id":"a"},"tool":"reset_credentials","arguments":{"account":"acme\\jdoe"},"confidence":0.96}`

// A file of many is left between two lines: every answer that was given is a whole
// one and, on a state, journalled as the policy gives it; nothing is decided
// behind it.
func TestAnInterruptEndsDecideBetweenTwoLines(t *testing.T) {
	b, err := builtIn("itsm")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "state")
	if err := pdp.Init(dir, b, fixed().Unix()); err != nil {
		t.Fatal(err)
	}
	for _, on := range [][]string{{"--bundle", "itsm"}, {"--state", dir}} {
		ctx, stop := context.WithCancel(context.Background())
		out, complaints := &stopping{after: 3, stop: stop}, &bytes.Buffer{}
		in := strings.NewReader(strings.Repeat(readOne+"\n", 50))
		code := mainUntil(ctx, Env{Args: append([]string{"decide", "-", "--format", "json"}, on...), Stdin: in, Stdout: out, Stderr: complaints, Now: fixed})
		if n := strings.Count(out.String(), `"outcome":"review"`); code != exitFailed || n != 3 || strings.Contains(out.String(), "cancelled") {
			t.Errorf("%v: exit %d, %d answers, want 1 and 3:\n%s", on, code, n, out)
		}
		if want := "conjunct: standard input: interrupted before line 4: it and what follows were left out\n"; complaints.String() != want {
			t.Errorf("%v: complained %q, want %q", on, complaints, want)
		}
	}
	r, err := reexam.Replay(context.Background(), dir, reexam.Options{Versions: pdp.Versions()})
	if err != nil || !r.OK || r.Attempts != 3 || r.Imposed != 0 {
		t.Errorf("the journal holds %+v, %v; want 3 attempts with nothing imposed", r, err)
	}
}

// Whoever types a document can think better of it.
func TestAnInterruptEndsAWaitForInput(t *testing.T) {
	for _, args := range [][]string{{"decide", "-"}, {"run", "--bundle", policies.Default, "-"}} {
		synctest.Test(t, func(t *testing.T) {
			ctx, stop := context.WithCancel(context.Background())
			in, typing := io.Pipe()
			defer typing.Close()
			time.AfterFunc(time.Second, stop)
			var out, complaints bytes.Buffer
			code := mainUntil(ctx, Env{Args: args, Stdin: in, Stdout: &out, Stderr: &complaints, Now: fixed})
			if want := "conjunct: standard input: interrupted\n"; code != exitFailed || out.Len() > 0 || complaints.String() != want {
				t.Errorf("%v: exit %d, output %q, complained %q; want 1, none and %q", args, code, &out, &complaints, want)
			}
		})
	}
}

// What an interrupt cut short did not fail.
func TestAnInterruptedTestSaysNothingOfTheBundle(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	stop()
	for _, args := range [][]string{{"test", filepath.Join("..", "policies", "itsm")}, {"bench", "noise"}, {"demo"}} {
		var out, complaints bytes.Buffer
		code := mainUntil(ctx, Env{Args: args, Stdout: &out, Stderr: &complaints, Now: fixed})
		if code != exitFailed || strings.Contains(out.String(), "FAIL") || complaints.String() != "conjunct: interrupted\n" {
			t.Errorf("%v: exit %d, output %q, complained %q; want 1 and that it was interrupted", args, code, &out, &complaints)
		}
	}
}
