package pdp_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/conjunct-project/conjunct/action"
	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/pdp"
	"github.com/conjunct-project/conjunct/reexam"
)

var replayEntries = flag.Int("entries", 5000, "how many entries BenchmarkReplay and BenchmarkOpen have")

// serving sets the program up as a server should be, for both sides of a
// comparison: a thread more than there are cores, since one waits for the disk,
// and garbage collected at five times the live heap. What the environment sets
// stays. A sub-benchmark asks for itself: the number of threads is set anew for
// each.
func serving(b *testing.B) {
	b.Helper()
	if os.Getenv("GOMAXPROCS") == "" {
		old := runtime.GOMAXPROCS(runtime.NumCPU() + 1)
		b.Cleanup(func() { runtime.GOMAXPROCS(old) })
	}
	if os.Getenv("GOGC") == "" {
		old := debug.SetGCPercent(400)
		b.Cleanup(func() { debug.SetGCPercent(old) })
	}
}

// proposals decodes n different calls that are allowed. Decoding is the caller's
// and is not measured.
func proposals(b *testing.B, n int) []engine.Action {
	b.Helper()
	out := make([]engine.Action, n)
	for i := range out {
		a, err := action.Decode(fmt.Appendf(nil, `{"trace_id":"t%d","call_id":"c%d","agent":{"id":"itsm-agent"},"tool":"draft_response","arguments":{"ticket":"INC-%d","to":"a@b.example","body":"hello"},"confidence":0.95}`, i%1000, i, i))
		if err != nil {
			b.Fatal(err)
		}
		out[i] = a
	}
	return out
}

// share lets callers goroutines take numbers below n.
func share(callers, n int, do func(i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				do(int(i))
			}
		})
	}
	wg.Wait()
}

// BenchmarkDurable decides with 1, 8 and 64 callers, each answer on disk before
// it is given, beside the simplest durable log in the same run: the same bytes,
// one write and one fsync a record under a lock.
func BenchmarkDurable(b *testing.B) {
	for _, callers := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("callers=%d/decide", callers), func(b *testing.B) {
			serving(b)
			all := proposals(b, b.N)
			dir := stateOf(b, itsm(b))
			p := open(b, dir, pdp.Options{})
			b.ResetTimer()
			share(callers, b.N, func(i int) {
				if d, err := p.Decide(context.Background(), all[i]); err != nil || !d.Permit {
					b.Errorf("%v %v", d.Outcome, err)
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "decisions/s")
		})
		b.Run(fmt.Sprintf("callers=%d/fsync-a-record", callers), func(b *testing.B) {
			serving(b)
			dir := stateOf(b, itsm(b))
			p := open(b, dir, pdp.Options{})
			for _, a := range proposals(b, 1) {
				if _, err := p.Decide(context.Background(), a); err != nil {
					b.Fatal(err)
				}
			}
			text, err := os.ReadFile(filepath.Join(dir, "journal.jsonl"))
			if err != nil {
				b.Fatal(err)
			}
			lines := bytes.SplitAfter(text, []byte("\n"))
			record := lines[1]
			f, err := os.OpenFile(filepath.Join(dir, "baseline"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			var mu sync.Mutex
			b.SetBytes(int64(len(record)))
			b.ResetTimer()
			share(callers, b.N, func(int) {
				mu.Lock()
				defer mu.Unlock()
				if _, err := f.Write(record); err != nil {
					b.Error(err)
				}
				if err := f.Sync(); err != nil {
					b.Error(err)
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
		})
	}
}

// lived is a state with a journal of -entries attempts.
func lived(b *testing.B) (dir string, attempts int) {
	b.Helper()
	serving(b)
	dir = stateOf(b, itsm(b))
	p, err := pdp.Open(dir, pdp.Options{Now: func() int64 { return monday }})
	if err != nil {
		b.Fatal(err)
	}
	all := proposals(b, *replayEntries)
	share(64, len(all), func(i int) {
		if _, err := p.Decide(context.Background(), all[i]); err != nil {
			b.Error(err)
		}
	})
	if err := p.Close(); err != nil {
		b.Fatal(err)
	}
	return dir, len(all)
}

// BenchmarkOpen opens a state by deciding everything in it again, and from a
// checkpoint, which verifies the same chain.
func BenchmarkOpen(b *testing.B) {
	dir, n := lived(b)
	opened := func(b *testing.B) {
		serving(b)
		for b.Loop() {
			p, err := pdp.Open(dir, pdp.Options{Now: func() int64 { return monday }})
			if err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			if err := p.Close(); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
		b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds(), "entries/s")
	}
	b.Run("everything", opened)
	p := open(b, dir, pdp.Options{})
	start := time.Now()
	if _, err := p.Checkpoint(context.Background(), engine.Identity{Name: "op", Role: "operator"}, nil); err != nil {
		b.Fatal(err)
	}
	b.Logf("the checkpoint took %v", time.Since(start).Round(time.Millisecond))
	if err := p.Close(); err != nil {
		b.Fatal(err)
	}
	b.Run("checkpoint", opened)
}

// BenchmarkReplay verifies and decides again a journal of -entries attempts.
func BenchmarkReplay(b *testing.B) {
	dir, n := lived(b)
	b.ResetTimer()
	for b.Loop() {
		r, err := reexam.Replay(context.Background(), dir, reexam.Options{Versions: pdp.Versions()})
		if err != nil || !r.OK || r.Attempts != n {
			b.Fatalf("%v %+v", err, r)
		}
	}
	b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds(), "entries/s")
}
