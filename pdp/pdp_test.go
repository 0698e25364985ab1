package pdp_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/conjunct-project/conjunct/action"
	"github.com/conjunct-project/conjunct/bundle"
	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/pdp"
	"github.com/conjunct-project/conjunct/reexam"
)

const monday = 1772443800 // 2026-03-02T09:30:00Z

func itsm(t testing.TB) *bundle.Bundle {
	t.Helper()
	b, err := bundle.Read(filepath.Join("..", "policies", "itsm"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func open(t testing.TB, dir string, o pdp.Options) *pdp.PDP {
	t.Helper()
	if o.Now == nil {
		o.Now = func() int64 { return monday }
	}
	p, err := pdp.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func state(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "state")
	if err := pdp.Init(dir, itsm(t), monday); err != nil {
		t.Fatal(err)
	}
	return dir
}

func call(t testing.TB, trace, id, tool, arguments string) engine.Action {
	t.Helper()
	a, err := action.Decode([]byte(fmt.Sprintf(`{"trace_id":%q,"call_id":%q,"agent":{"id":"itsm-agent"},"tool":%q,"arguments":%s,"confidence":0.95}`, trace, id, tool, arguments)))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func replayed(t testing.TB, dir string) reexam.Report {
	t.Helper()
	r, err := reexam.Replay(context.Background(), dir, reexam.Options{Versions: pdp.Versions()})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestManyCallersShareOneQueue lets 64 callers decide at once, most of them on a
// queue of four, and derives every answer again in order.
func TestManyCallersShareOneQueue(t *testing.T) {
	dir := state(t)
	p := open(t, dir, pdp.Options{})
	var wg sync.WaitGroup
	var mu sync.Mutex
	answers := map[uint64]engine.Outcome{}
	for w := range 64 {
		wg.Go(func() {
			for i := range 10 {
				tool, args := "read_ticket", `{"ticket":"INC-1"}`
				if i%2 == 0 {
					tool, args = "reset_credentials", fmt.Sprintf(`{"account":"acme\\u%d-%d"}`, w, i)
				}
				d, err := p.Decide(context.Background(), call(t, fmt.Sprintf("t%d", w), fmt.Sprintf("c%d", i), tool, args))
				if err != nil || !d.Journalled {
					t.Errorf("%v, journalled %v", err, d.Journalled)
					return
				}
				mu.Lock()
				answers[d.Seq] = d.Outcome
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	r := replayed(t, dir)
	if !r.OK || r.Attempts != 640 || r.Entries != 641 || len(answers) != 640 {
		t.Fatalf("replay: %+v, %d answers", r, len(answers))
	}
}

// TestDoRunsOnlyOnAPermit holds Do to running its function on a permit alone and
// to reporting what became of it.
func TestDoRunsOnlyOnAPermit(t *testing.T) {
	dir := state(t)
	p := open(t, dir, pdp.Options{})
	ctx := context.Background()
	out, err := pdp.Do(ctx, p, call(t, "t", "c1", "draft_response", `{"ticket":"INC-1","to":"a@b.example","body":"x"}`), func(context.Context) (string, error) { return "sent", nil })
	if out != "sent" || err != nil {
		t.Fatalf("got %q, %v", out, err)
	}
	ran := false
	_, err = pdp.Do(ctx, p, call(t, "t", "c2", "deprovision_account", `{"account":"acme\\jdoe"}`), func(context.Context) (string, error) { ran = true; return "", nil })
	var no *pdp.NotPermitted
	if ran || !errors.As(err, &no) || no.Decision.Outcome != engine.Block {
		t.Fatalf("ran %v, error %v", ran, err)
	}
	failure := errors.New("no")
	if _, err = pdp.Do(ctx, p, call(t, "t", "c3", "draft_response", `{"ticket":"INC-2","to":"a@b.example","body":"x"}`), func(context.Context) (string, error) { return "", failure }); !errors.Is(err, failure) {
		t.Fatalf("got %v, want the function's own error", err)
	}
	// The same content again, whatever its id: it ran, and it failed.
	d, err := p.Decide(ctx, call(t, "t", "c4", "draft_response", `{"ticket":"INC-2","to":"a@b.example","body":"x"}`))
	if err != nil || d.Permit || d.Gate(engine.Resolved).Verdict != engine.Fail {
		t.Fatalf("got %v, permit %v, %v", err, d.Permit, d.Gate(engine.Resolved))
	}
	if r := replayed(t, dir); !r.OK || r.Attempts != 4 {
		t.Fatalf("replay: %+v", r)
	}
}
