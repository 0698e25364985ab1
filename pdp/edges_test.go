package pdp_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/conjunct-project/conjunct/action"
	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/journal"
	"github.com/conjunct-project/conjunct/pdp"
)

// TestAnActionAtTheLimitCanBeReplayed decides actions of nearly 1 MiB: what was
// accepted must be readable again, however much longer its canonical form is.
func TestAnActionAtTheLimitCanBeReplayed(t *testing.T) {
	const limit = 1 << 20
	fill := func(unit string) string {
		head, foot := `{"trace_id":"t","call_id":"c1","tool":"read_ticket","arguments":{"ticket":"INC-1","x":[`, `0]}}`
		return head + strings.Repeat(unit, (limit-len(head)-len(foot))/len(unit)) + foot
	}
	for name, doc := range map[string]string{
		"plain":                    fill(`"x",`),
		"numbers that grow":        fill(`1e20,`),
		"text with control escape": fill(`"\n\n\n\n\n\n\n\n",`),
	} {
		t.Run(name, func(t *testing.T) {
			dir := fresh(t)
			p := open(t, dir, pdp.Options{})
			a, err := action.Decode([]byte(doc))
			if grows := name == "numbers that grow"; grows != (err != nil) {
				t.Fatalf("got %v, want an error: %v", err, grows)
			} else if grows {
				return
			}
			d, err := p.Decide(context.Background(), a)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d bytes in, %d canonical, %v", len(doc), len(a.Canonical), d.Outcome)
			if err := reopens(t, dir, p); err != nil {
				t.Fatal(shorten(err.Error()))
			}
		})
	}
}

// TestAClockThatIsWrong decides with clocks that no journal can hold or that go
// back.
func TestAClockThatIsWrong(t *testing.T) {
	for _, c := range []struct {
		name string
		now  int64
	}{
		{"1970", 0},
		{"before 1970", -5},
		{"the first of all", math.MinInt64},
		{"the last second of 9999", 253402300799},
		{"the year 10000", 253402300800},
		{"more than a double holds", 1 << 60},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := fresh(t)
			now := int64(monday)
			p := open(t, dir, pdp.Options{Now: func() int64 { return now }})
			now = c.now
			d, err := p.Decide(context.Background(), call(t, "t", "c1", "read_ticket", `{"ticket":"INC-1"}`))
			t.Log(d.Outcome, err)
			_, err = p.Apply(context.Background(), engine.Event{Op: engine.OpFailure, TraceID: "t", CallID: "c1", By: engine.Identity{Name: "op", Role: "operator"}})
			t.Log(err)
			if err := p.Refuse(action.Line{Text: []byte("x")}, &action.Error{Pointer: "/x", Line: 1}); err != nil {
				t.Log(err)
			}
			if err := reopens(t, dir, p); err != nil {
				t.Fatal(shorten(err.Error()))
			}
		})
	}
}

// TestTimeNeverGoesBack runs the clock backwards under many callers: no entry is
// older than the one before it, nor is the clock that a decision saw.
func TestTimeNeverGoesBack(t *testing.T) {
	dir := fresh(t)
	var mu sync.Mutex
	now := int64(monday + 1000)
	p := open(t, dir, pdp.Options{Now: func() int64 {
		mu.Lock()
		defer mu.Unlock()
		now -= 7
		return now
	}})
	var wg sync.WaitGroup
	for w := range 16 {
		wg.Go(func() {
			for i := range 10 {
				decided(t, p, call(t, "t", fmt.Sprintf("c%d-%d", w, i), "reset_credentials", fmt.Sprintf(`{"account":"acme\\u%d-%d"}`, w, i)))
			}
		})
	}
	wg.Wait()
	last := int64(0)
	for _, e := range entries(t, dir) {
		if e.Time < last {
			t.Fatalf("entry %d is older than the one before it", e.Seq)
		}
		last = e.Time
	}
	if r := replayed(t, dir); !r.OK || r.Attempts != 160 {
		t.Fatalf("replay: %+v", r)
	}
}

// TestStaleSpeculation lets many callers ask at once where one review may wait:
// at most one request is pending, and the serial replay is equal.
func TestStaleSpeculation(t *testing.T) {
	for round := range 5 {
		dir := fresh(t)
		p := open(t, dir, pdp.Options{})
		if _, err := p.Apply(context.Background(), engine.Event{Op: engine.OpSettings, By: engine.Identity{Name: "op", Role: "operator"}, Settings: map[string]any{"capacity": 1.0}}); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		var mu sync.Mutex
		requests := map[uint64]int{}
		start := make(chan struct{})
		for w := range 64 {
			a := call(t, fmt.Sprintf("t%d", w), "c", "reset_credentials", fmt.Sprintf(`{"account":"acme\\u%d"}`, w))
			wg.Go(func() {
				<-start
				d := decided(t, p, a)
				mu.Lock()
				defer mu.Unlock()
				if d.Transition == engine.Escalate {
					requests[d.Request]++
				}
				if d.Permit || d.Outcome != engine.Review {
					t.Errorf("%v, permit %v", d.Outcome, d.Permit)
				}
			})
		}
		close(start)
		wg.Wait()
		if len(requests) != 1 || len(p.Snapshot().Waiting()) != 1 {
			t.Fatalf("round %d: requests %v, waiting %v: one may wait", round, requests, p.Snapshot().Waiting())
		}
		if r := replayed(t, dir); !r.OK || r.Attempts != 64 {
			t.Fatalf("replay: %+v", r)
		}
	}
}

// TestOneCallReleasesOnce proposes one call from many goroutines, under one id
// and under many.
func TestOneCallReleasesOnce(t *testing.T) {
	for _, ids := range []int{1, 32} {
		dir := fresh(t)
		p := open(t, dir, pdp.Options{})
		var wg sync.WaitGroup
		var mu sync.Mutex
		permits := 0
		for w := range 64 {
			wg.Go(func() {
				d := decided(t, p, call(t, "t", fmt.Sprint("c", w%ids), "draft_response", `{"ticket":"INC-1","to":"a@b.example","body":"x"}`))
				mu.Lock()
				defer mu.Unlock()
				if d.Permit {
					permits++
				} else if !strings.Contains(fmt.Sprint(d.Reasons), "already_released") {
					t.Errorf("refused for another reason: %+v", d.Reasons)
				}
			})
		}
		wg.Wait()
		if permits != 1 {
			t.Fatalf("%d permits for one call", permits)
		}
	}
}

// TestReusedCallID proposes another content under a known id.
func TestReusedCallID(t *testing.T) {
	dir := fresh(t)
	p := open(t, dir, pdp.Options{})
	decided(t, p, call(t, "t", "c1", "read_ticket", `{"ticket":"INC-1"}`))
	before := dump(p.Snapshot())
	d := decided(t, p, call(t, "t", "c1", "read_ticket", `{"ticket":"INC-2"}`))
	if d.Permit || d.Outcome != engine.Block || len(d.Reasons) == 0 || d.Reasons[0].Code != "call_id_reused" {
		t.Fatalf("%v %+v", d.Outcome, d.Reasons)
	}
	if after := dump(p.Snapshot()); after != before {
		t.Fatalf("the state moved from\n%s\nto\n%s", before, after)
	}
	if err := reopens(t, dir, p); err != nil {
		t.Fatal(err)
	}
}

// TestRefusedInputIsJournalled keeps the digest, length and place of what was no
// action, and nothing of it.
func TestRefusedInputIsJournalled(t *testing.T) {
	dir := fresh(t)
	p := open(t, dir, pdp.Options{})
	input := []byte(`{"trace_id":"t","call_id":"c","tool":"secret-tool","arguments":{"a":9007199254740993}}`)
	_, err := action.Decode(input)
	var bad *action.Error
	if !errors.As(err, &bad) {
		t.Fatal(err)
	}
	if err := p.Refuse(action.Line{Text: input}, bad); err != nil {
		t.Fatal(err)
	}
	all := entries(t, dir)
	last := all[len(all)-1]
	want := fmt.Sprintf(`{"digest":%q,"length":%d,"line":%d,"pointer":"/arguments/a"}`, action.Hash(input), len(input), bad.Line)
	if last.Op != "refused" || string(last.Body) != want {
		t.Fatalf("%s %s\nwant %s", last.Op, last.Body, want)
	}
	if strings.Contains(string(last.Body), "secret") {
		t.Fatal("the input itself stands in the journal")
	}
	if err := reopens(t, dir, p); err != nil {
		t.Fatal(err)
	}
}

// TestOneWriter holds a directory against a second opening, by this process too,
// and gives it back.
func TestOneWriter(t *testing.T) {
	dir := fresh(t)
	p, err := pdp.Open(dir, pdp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pdp.Open(dir, pdp.Options{}); !errors.Is(err, journal.ErrLocked) {
		t.Fatalf("got %v, want ErrLocked", err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatalf("closing again: %v", err)
	}
	d, err := p.Decide(context.Background(), call(t, "t", "c", "read_ticket", `{"ticket":"INC-1"}`))
	if !errors.Is(err, pdp.ErrClosed) || d.Permit || d.Journalled || d.Outcome != engine.Block {
		t.Fatalf("closed: %v, %+v", err, d)
	}
	open(t, dir, pdp.Options{})
}

// TestCloseWaitsForWhatWasAsked closes while callers ask: each is either told or
// refused, and what was told is on disk.
func TestCloseWaitsForWhatWasAsked(t *testing.T) {
	dir := fresh(t)
	p, err := pdp.Open(dir, pdp.Options{Now: func() int64 { return monday }})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	told := map[uint64]string{}
	for w := range 32 {
		wg.Go(func() {
			for i := 0; ; i++ {
				d, err := p.Decide(context.Background(), call(t, fmt.Sprint("t", w), fmt.Sprint("c", i), "read_ticket", `{"ticket":"INC-1"}`))
				if err != nil {
					if d.Permit || !errors.Is(err, pdp.ErrClosed) {
						t.Errorf("%v, permit %v", err, d.Permit)
					}
					return
				}
				mu.Lock()
				told[d.Seq] = d.Hash
				mu.Unlock()
			}
		})
	}
	for {
		mu.Lock()
		n := len(told)
		mu.Unlock()
		if n > 200 {
			break
		}
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	for _, e := range entries(t, dir) {
		if hash, ok := told[e.Seq]; ok && hash != e.Hash {
			t.Fatalf("entry %d has the hash %s, its caller was told %s", e.Seq, e.Hash, hash)
		}
		delete(told, e.Seq)
	}
	if len(told) > 0 {
		t.Fatalf("%d answers are not in the journal", len(told))
	}
}

// TestADirectoryThatIsNoState is not opened, and not made into one.
func TestADirectoryThatIsNoState(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{dir, filepath.Join(dir, "absent")} {
		if _, err := pdp.Open(path, pdp.Options{}); !errors.Is(err, pdp.ErrNoState) {
			t.Errorf("%s: got %v, want ErrNoState", path, err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
	if err := pdp.Init(dir, itsm(t), monday); err != nil {
		t.Fatalf("an empty directory: %v", err)
	}
	if err := pdp.Init(dir, itsm(t), monday); err == nil {
		t.Error("a state was made over a state")
	}
}
