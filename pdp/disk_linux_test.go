package pdp_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/pdp"
)

// TestAFullDisk fills a small file system under many callers: from then on
// nothing is permitted, the answer says why, and with room again the directory
// opens with everything that was answered.
func TestAFullDisk(t *testing.T) {
	mount := t.TempDir()
	if err := syscall.Mount("tmpfs", mount, "tmpfs", 0, "size=1m"); err != nil {
		t.Skip("cannot mount: ", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(mount, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	dir := filepath.Join(mount, "state")
	if err := os.CopyFS(dir, os.DirFS(fresh(t))); err != nil {
		t.Fatal(err)
	}
	p, err := pdp.Open(dir, pdp.Options{Now: func() int64 { return monday }})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	told := map[uint64]string{}
	for w := range 8 {
		wg.Go(func() {
			failed := 0
			for i := 0; failed < 3 && i < 2000; i++ {
				a := call(t, fmt.Sprint("t", w), fmt.Sprint("c", i), "draft_response", fmt.Sprintf(`{"ticket":"INC-%d","to":"x","body":%q}`, i, strings.Repeat("y", 4000)))
				d, err := p.Decide(context.Background(), a)
				if err != nil {
					failed++
					if d.Permit || d.Journalled || d.Outcome != engine.Block || len(d.Reasons) == 0 || d.Reasons[0].Code != "not_journalled" {
						t.Errorf("on a full disk: %+v", d)
					}
					continue
				}
				if failed > 0 {
					t.Error("an answer after a failed write, without opening again")
				}
				mu.Lock()
				told[d.Seq] = d.Hash
				mu.Unlock()
			}
			if failed == 0 {
				t.Error("the disk never filled")
			}
		})
	}
	wg.Wait()
	if _, err := p.Apply(context.Background(), engine.Event{Op: engine.OpFailure, TraceID: "t0", CallID: "c0", By: engine.Identity{Name: "op", Role: "operator"}}); err == nil {
		t.Error("an event was applied after a failed write")
	}
	if err := p.Close(); err != nil {
		t.Errorf("closing after a failed write: %v", err)
	}
	if err := syscall.Mount("tmpfs", mount, "tmpfs", syscall.MS_REMOUNT, "size=8m"); err != nil {
		t.Fatal(err)
	}
	again := open(t, dir, pdp.Options{})
	t.Logf("%d answers, %d bytes of a torn tail cut", len(told), again.Cut)
	for _, e := range entries(t, dir) {
		if hash, ok := told[e.Seq]; ok && hash != e.Hash {
			t.Fatalf("entry %d differs from what was told", e.Seq)
		}
		delete(told, e.Seq)
	}
	if len(told) > 0 {
		t.Fatalf("%d answers are not in the journal", len(told))
	}
	decided(t, again, call(t, "after", "c", "read_ticket", `{"ticket":"INC-1"}`))
	if r := replayed(t, dir); !r.OK {
		t.Fatalf("replay: %+v", r)
	}
}
