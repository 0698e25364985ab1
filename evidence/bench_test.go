package evidence

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/conjunct-project/conjunct/engine"
)

// records is the size of a long-lived state.
const records = 1_000_000

// perEvent is how many records each event adds: a path, a call id and a record of
// evidence, besides clock and count.
const perEvent = 3

func longLife(i int) engine.Writes {
	trace := fmt.Sprintf("INC-%07d", i/4)
	call := fmt.Sprintf("sha256:%064x", i)
	return engine.Writes{
		Clock:    int64(i),
		Paths:    []engine.PathWrite{{Key: engine.PathKey{Trace: trace, Call: call}, Path: engine.Path{Agent: engine.Agent{ID: "agent"}, Released: uint64(i + 1)}}},
		Calls:    []engine.CallWrite{{Trace: trace, ID: fmt.Sprintf("%s:%d", trace, i), Hash: call}},
		Evidence: []engine.EvidenceWrite{{Trace: trace, Call: call, Evidence: engine.Evidence{Name: "ci", Status: engine.Pass, Seq: uint64(i + 1)}}},
	}
}

// BenchmarkRebuild builds the state of 1,000,000 records in batches of 64, as a
// replay does.
func BenchmarkRebuild(b *testing.B) {
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		s := New()
		batch := s.Begin()
		for i := range records / perEvent {
			if err := batch.Apply(longLife(i)); err != nil {
				b.Fatal(err)
			}
			if i%64 == 63 {
				commit(b, batch)
				batch = s.Begin()
			}
		}
		commit(b, batch)
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/records, "B/record")
		runtime.KeepAlive(s)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/records, "ns/record")
}

// BenchmarkRead reads what a decision reads, from a state of 100,000 paths.
func BenchmarkRead(b *testing.B) {
	s := New()
	batch := s.Begin()
	for i := range 100_000 {
		if err := batch.Apply(longLife(i)); err != nil {
			b.Fatal(err)
		}
	}
	commit(b, batch)
	i := 0
	for b.Loop() {
		i = (i + 7919) % 100_000
		trace, call := fmt.Sprintf("INC-%07d", i/4), fmt.Sprintf("sha256:%064x", i)
		v := s.Snapshot()
		v.Clock()
		v.Trace(trace)
		v.Path(trace, call)
		v.Evidence(trace, call, "ci")
		v.Setting(trace, "capacity")
		v.Rejection(call)
		if v.Reads().Len() != 5 {
			b.Fatal(v.Reads())
		}
	}
}
