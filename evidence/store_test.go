package evidence

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/conjunct-project/conjunct/engine"
)

// apply folds writes into the store in one batch.
func apply(t testing.TB, s *Store, ws ...engine.Writes) {
	t.Helper()
	b := s.Begin()
	for _, w := range ws {
		if err := b.Apply(w); err != nil {
			b.Abort()
			t.Fatal(err)
		}
	}
	commit(t, b)
}

func commit(t testing.TB, b *Batch) {
	t.Helper()
	if err := b.Commit(); err != nil {
		t.Fatal(err)
	}
}

func pending(seq uint64) *engine.Request { return &engine.Request{Seq: seq, Status: engine.Pending} }

// kinds is one write for each kind of key, what reads it back, and another
// value for the same key. first and second never share a value.
var kinds = []struct {
	name          string
	first, second engine.Writes
	read          func(*View) any
	want, zero    any
	wantSecond    any
}{
	{
		name:  "clock",
		first: engine.Writes{Clock: 7}, second: engine.Writes{Clock: 8},
		read: func(v *View) any { return v.Clock() },
		want: int64(7), zero: int64(0), wantSecond: int64(8),
	},
	{
		name:   "trace",
		first:  engine.Writes{Traces: []engine.TraceWrite{{ID: "t", Trace: engine.Trace{Pins: map[string]string{"rule": "r1"}, ChangedAt: 1}}}},
		second: engine.Writes{Traces: []engine.TraceWrite{{ID: "t", Trace: engine.Trace{Pins: map[string]string{"rule": "r2"}, ChangedAt: 2}}}},
		read:   func(v *View) any { return v.Trace("t") },
		want:   engine.Trace{Pins: map[string]string{"rule": "r1"}, ChangedAt: 1}, zero: engine.Trace{},
		wantSecond: engine.Trace{Pins: map[string]string{"rule": "r2"}, ChangedAt: 2},
	},
	{
		name:   "setting of a trace",
		first:  engine.Writes{Settings: []engine.SettingWrite{{Trace: "t", Name: "queue", Value: 1.0}}},
		second: engine.Writes{Settings: []engine.SettingWrite{{Trace: "t", Name: "queue", Value: nil}}},
		read:   func(v *View) any { x, ok := v.Setting("t", "queue"); return [2]any{x, ok} },
		want:   [2]any{1.0, true}, zero: [2]any{nil, false}, wantSecond: [2]any{nil, true},
	},
	{
		name:   "setting of all",
		first:  engine.Writes{Settings: []engine.SettingWrite{{Name: "queue", Value: 1.0}}},
		second: engine.Writes{Settings: []engine.SettingWrite{{Name: "queue", Value: 2.0}}},
		read:   func(v *View) any { x, ok := v.Setting("", "queue"); return [2]any{x, ok} },
		want:   [2]any{1.0, true}, zero: [2]any{nil, false}, wantSecond: [2]any{2.0, true},
	},
	{
		name:   "evidence of a trace",
		first:  engine.Writes{Evidence: []engine.EvidenceWrite{{Trace: "t", Evidence: engine.Evidence{Name: "ci", Status: engine.Pass, Seq: 1}}}},
		second: engine.Writes{Evidence: []engine.EvidenceWrite{{Trace: "t", Evidence: engine.Evidence{Name: "ci", Status: engine.Fail, Seq: 2}}}},
		read:   func(v *View) any { x, ok := v.Evidence("t", "", "ci"); return [2]any{x, ok} },
		want:   [2]any{engine.Evidence{Name: "ci", Status: engine.Pass, Seq: 1}, true}, zero: [2]any{engine.Evidence{}, false},
		wantSecond: [2]any{engine.Evidence{Name: "ci", Status: engine.Fail, Seq: 2}, true},
	},
	{
		name:   "evidence of a path",
		first:  engine.Writes{Evidence: []engine.EvidenceWrite{{Trace: "t", Call: "c", Evidence: engine.Evidence{Name: "ci", Seq: 1}}}},
		second: engine.Writes{Evidence: []engine.EvidenceWrite{{Trace: "t", Call: "c", Evidence: engine.Evidence{Name: "ci", Seq: 2}}}},
		read:   func(v *View) any { x, ok := v.Evidence("t", "c", "ci"); return [2]any{x, ok} },
		want:   [2]any{engine.Evidence{Name: "ci", Seq: 1}, true}, zero: [2]any{engine.Evidence{}, false},
		wantSecond: [2]any{engine.Evidence{Name: "ci", Seq: 2}, true},
	},
	{
		name:   "path",
		first:  engine.Writes{Paths: []engine.PathWrite{{Key: engine.PathKey{Trace: "t", Call: "c"}, Path: engine.Path{Retries: 1}}}},
		second: engine.Writes{Paths: []engine.PathWrite{{Key: engine.PathKey{Trace: "t", Call: "c"}, Path: engine.Path{Retries: 2}}}},
		read:   func(v *View) any { return v.Path("t", "c") },
		want:   engine.Path{Retries: 1}, zero: engine.Path{}, wantSecond: engine.Path{Retries: 2},
	},
	{
		name:   "call id",
		first:  engine.Writes{Calls: []engine.CallWrite{{Trace: "t", ID: "c1", Hash: "h1"}}},
		second: engine.Writes{Calls: []engine.CallWrite{{Trace: "t", ID: "c1", Hash: "h2"}}},
		read:   func(v *View) any { x, ok := v.CallHash("t", "c1"); return [2]any{x, ok} },
		want:   [2]any{"h1", true}, zero: [2]any{"", false}, wantSecond: [2]any{"h2", true},
	},
	{
		name:   "rejection",
		first:  engine.Writes{Rejections: []engine.RejectionWrite{{Call: "c", Rejection: &engine.Rejection{Seq: 1, Code: "other"}}}},
		second: engine.Writes{Rejections: []engine.RejectionWrite{{Call: "c"}}},
		read:   func(v *View) any { x, ok := v.Rejection("c"); return [2]any{x, ok} },
		want:   [2]any{engine.Rejection{Seq: 1, Code: "other"}, true}, zero: [2]any{engine.Rejection{}, false},
		wantSecond: [2]any{engine.Rejection{}, false},
	},
	{
		name:   "entity",
		first:  engine.Writes{Entities: []engine.EntityWrite{{Tool: "drop", Entity: "text:orders", Record: engine.EntityRecord{Approved: true, Seq: 1}}}},
		second: engine.Writes{Entities: []engine.EntityWrite{{Tool: "drop", Entity: "text:orders", Record: engine.EntityRecord{Seq: 2}}}},
		read:   func(v *View) any { x, ok := v.Entity("drop", "text:orders"); return [2]any{x, ok} },
		want:   [2]any{engine.EntityRecord{Approved: true, Seq: 1}, true}, zero: [2]any{engine.EntityRecord{}, false},
		wantSecond: [2]any{engine.EntityRecord{Seq: 2}, true},
	},
	{
		name:   "waiting",
		first:  engine.Writes{Paths: []engine.PathWrite{{Key: engine.PathKey{Trace: "w", Call: "c"}, Path: engine.Path{Request: pending(1)}}}},
		second: engine.Writes{Paths: []engine.PathWrite{{Key: engine.PathKey{Trace: "w", Call: "c"}, Path: engine.Path{}}}},
		read:   func(v *View) any { return v.Waiting() },
		want:   []engine.PathKey{{Trace: "w", Call: "c"}}, zero: []engine.PathKey(nil), wantSecond: []engine.PathKey(nil),
	},
	{
		name:   "contributions",
		first:  engine.Writes{Contributions: []engine.ContributionWrite{{Counter: "paid", Entity: "e", Contribution: engine.Contribution{Seq: 9, Amount: 1}}}},
		second: engine.Writes{Contributions: []engine.ContributionWrite{{Counter: "paid", Entity: "e", Contribution: engine.Contribution{Seq: 10, Amount: 2}}}},
		read:   func(v *View) any { return v.Contributions("paid", "e") },
		want:   []engine.Contribution{{Seq: 9, Amount: 1}}, zero: []engine.Contribution(nil),
		wantSecond: []engine.Contribution{{Seq: 9, Amount: 1}, {Seq: 10, Amount: 2}},
	},
}

func TestAViewReadsWhatWasWritten(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			s := New()
			if got := k.read(s.Snapshot()); !reflect.DeepEqual(got, k.zero) {
				t.Errorf("never written: got %v, want %v", got, k.zero)
			}
			apply(t, s, k.first)
			if got := k.read(s.Snapshot()); !reflect.DeepEqual(got, k.want) {
				t.Errorf("written: got %v, want %v", got, k.want)
			}
			apply(t, s, k.second)
			if got := k.read(s.Snapshot()); !reflect.DeepEqual(got, k.wantSecond) {
				t.Errorf("written again: got %v, want %v", got, k.wantSecond)
			}
		})
	}
}

func TestASnapshotDoesNotShowLaterWrites(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			s := New()
			empty := s.Snapshot()
			apply(t, s, k.first)
			old := s.Snapshot()
			apply(t, s, k.second)
			if got := k.read(empty); !reflect.DeepEqual(got, k.zero) {
				t.Errorf("a snapshot of the empty store reads %v, want %v", got, k.zero)
			}
			if got := k.read(old); !reflect.DeepEqual(got, k.want) {
				t.Errorf("a snapshot after the first write reads %v, want %v", got, k.want)
			}
		})
	}
}

func TestABatchReadsItsOwnWritesAndAbortDropsThemAll(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			s := New()
			b := s.Begin()
			for _, w := range []engine.Writes{k.first, k.second} {
				if err := b.Apply(w); err != nil {
					t.Fatal(err)
				}
			}
			if got := k.read(b.View()); !reflect.DeepEqual(got, k.wantSecond) {
				t.Errorf("inside the batch: got %v, want %v", got, k.wantSecond)
			}
			if got := k.read(s.Snapshot()); !reflect.DeepEqual(got, k.zero) {
				t.Errorf("outside the open batch: got %v, want %v", got, k.zero)
			}
			b.Abort()
			if got := k.read(s.Snapshot()); !reflect.DeepEqual(got, k.zero) {
				t.Errorf("after Abort: got %v, want %v", got, k.zero)
			}
			apply(t, s, k.first)
			if got := k.read(s.Snapshot()); !reflect.DeepEqual(got, k.want) {
				t.Errorf("the next batch: got %v, want %v", got, k.want)
			}
		})
	}
}

func TestAbortAfterCommitDropsNothing(t *testing.T) {
	s := New()
	b := s.Begin()
	if err := b.Apply(engine.Writes{Clock: 3}); err != nil {
		t.Fatal(err)
	}
	commit(t, b)
	b.Abort()
	if got := s.Snapshot().Clock(); got != 3 {
		t.Errorf("clock = %d, want 3", got)
	}
}

// TestOnlyAWriteToAReadKeyMakesAViewStale reads one kind of key and writes each
// kind in turn. The clock is written with every event, so a view that has read
// it is stale after any of them.
func TestOnlyAWriteToAReadKeyMakesAViewStale(t *testing.T) {
	for _, before := range []bool{false, true} {
		for _, r := range kinds {
			for _, w := range kinds {
				t.Run(fmt.Sprintf("existed %v, %s read, %s written", before, r.name, w.name), func(t *testing.T) {
					s := New()
					if before {
						apply(t, s, r.first)
					}
					v := s.Snapshot()
					r.read(v)
					if v.Reads().Len() == 0 && r.name != "clock" {
						t.Fatal("the view noted no key")
					}
					if !s.Snapshot().Current(v.Reads()) {
						t.Fatal("a view is stale before anything was written")
					}
					write := w.first
					if before {
						write = w.second
					}
					apply(t, s, write)
					stale := r.name == w.name && r.name != "clock"
					if got := !s.Snapshot().Current(v.Reads()); got != stale {
						t.Errorf("stale = %v, want %v; reads %+v", got, stale, v.Reads().seen)
					}
					if !s.Snapshot().Current(Reads{}) {
						t.Error("a view that read nothing is stale")
					}
				})
			}
		}
	}
}

func TestAnEqualValueWrittenAgainMakesAViewStale(t *testing.T) {
	for _, k := range kinds {
		s := New()
		apply(t, s, k.first)
		v := s.Snapshot()
		k.read(v)
		apply(t, s, k.first)
		stale := !s.Snapshot().Current(v.Reads())
		// An equal clock is not written, and a path that waits already leaves the
		// list as it is.
		if want := k.name != "waiting" && k.name != "clock"; stale != want {
			t.Errorf("%s: stale = %v, want %v", k.name, stale, want)
		}
	}
}

func TestAValueThatReturnsDoesNotMakeAViewCurrentAgain(t *testing.T) {
	s := New()
	write := func(retries int) {
		apply(t, s, engine.Writes{Paths: []engine.PathWrite{{Key: engine.PathKey{Trace: "t", Call: "c"}, Path: engine.Path{Retries: retries}}}})
	}
	write(1)
	v := s.Snapshot()
	v.Path("t", "c")
	write(2)
	write(1)
	if s.Snapshot().Current(v.Reads()) {
		t.Error("Current = true after c1, c2, c1: want false")
	}
}

func TestALaterEventOfTheSameBatchMakesAnEarlierViewStale(t *testing.T) {
	s := New()
	b := s.Begin()
	v := b.View()
	v.Trace("t")
	if err := b.Apply(engine.Writes{Traces: []engine.TraceWrite{{ID: "t", Trace: engine.Trace{ChangedAt: 1}}}}); err != nil {
		t.Fatal(err)
	}
	if b.View().Current(v.Reads()) {
		t.Error("Current = true after a write in the same batch: want false")
	}
	commit(t, b)
	if s.Snapshot().Current(v.Reads()) {
		t.Error("Current = true after the commit: want false")
	}
}

func TestTwoWritesOfOneBatchAreToldApart(t *testing.T) {
	b := New().Begin()
	defer b.Abort()
	write := func(n uint64) {
		if err := b.Apply(engine.Writes{Traces: []engine.TraceWrite{{ID: "t", Trace: engine.Trace{ChangedAt: n}}}}); err != nil {
			t.Fatal(err)
		}
	}
	write(1)
	v := b.View()
	v.Trace("t")
	write(2)
	if b.View().Current(v.Reads()) {
		t.Error("Current = true after a second write in the batch: want false")
	}
}

func TestAViewThatReadWhatIsGoneIsNotCurrent(t *testing.T) {
	if New().Snapshot().Current(Reads{seen: []seen{{"gone\x00", &record{}}}}) {
		t.Error("Current = true for a key that was read and is no longer there")
	}
}

func TestAViewOfAnAbortedBatchIsNotCurrent(t *testing.T) {
	s := New()
	path := func(retries int) engine.Writes {
		return engine.Writes{Paths: []engine.PathWrite{{Key: engine.PathKey{Trace: "t", Call: "c"}, Path: engine.Path{Retries: retries}}}}
	}
	b := s.Begin()
	if err := b.Apply(path(1)); err != nil {
		t.Fatal(err)
	}
	v := b.View()
	v.Path("t", "c")
	b.Abort()
	apply(t, s, path(2))
	if s.Snapshot().Current(v.Reads()) {
		t.Error("a view that read retries 1 in an aborted batch is current beside retries 2")
	}
}

func TestADecisionStaysCurrentBesideAnUnrelatedWriteOfTheSameSecond(t *testing.T) {
	s := New()
	apply(t, s, engine.Writes{Clock: 5})
	v := s.Snapshot()
	v.Clock()
	v.Path("t", "c")
	apply(t, s, engine.Writes{Clock: 5, Paths: []engine.PathWrite{{Key: engine.PathKey{Trace: "other", Call: "c"}, Path: engine.Path{}}}})
	if !s.Snapshot().Current(v.Reads()) {
		t.Error("an event of another path in the same second made the view stale")
	}
}

func TestWaitingListsThePathsWhoseRequestIsPending(t *testing.T) {
	a, b := engine.PathKey{Trace: "a", Call: "1"}, engine.PathKey{Trace: "b", Call: "2"}
	path := func(key engine.PathKey, status engine.RequestStatus) engine.Writes {
		return engine.Writes{Paths: []engine.PathWrite{{Key: key, Path: engine.Path{Request: &engine.Request{Seq: 1, Status: status}}}}}
	}
	s := New()
	steps := []struct {
		write   engine.Writes
		want    []engine.PathKey
		noticed bool
	}{
		{path(a, engine.Pending), []engine.PathKey{a}, true},
		{path(b, engine.Pending), []engine.PathKey{a, b}, true},
		{path(a, engine.Pending), []engine.PathKey{a, b}, false},
		{path(a, engine.Approved), []engine.PathKey{b}, true},
		{path(a, engine.Returned), []engine.PathKey{b}, false},
		{path(b, engine.RejectedRequest), nil, true},
		{path(a, engine.Pending), []engine.PathKey{a}, true},
		{path(a, engine.NoRequest), nil, true},
		{path(a, engine.TimedOut), nil, false},
	}
	for i, step := range steps {
		before := s.Snapshot()
		before.Waiting()
		apply(t, s, step.write)
		now := s.Snapshot()
		if stale := !now.Current(before.Reads()); stale != step.noticed {
			t.Errorf("step %d: stale = %v, want %v", i, stale, step.noticed)
		}
		if got := now.Waiting(); !reflect.DeepEqual(got, step.want) {
			t.Errorf("step %d: waiting %v, want %v", i, got, step.want)
		}
	}
}

func TestContributionsComeInTheOrderOfTheirEntries(t *testing.T) {
	s := New()
	var want []engine.Contribution
	for _, seq := range []uint64{1, 9, 10, 99, 100, 1 << 40, engine.Self - 1} {
		want = append(want, engine.Contribution{Seq: seq, Time: int64(seq % 7), Amount: float64(seq)})
	}
	for _, c := range slices.Backward(want) {
		apply(t, s, engine.Writes{Contributions: []engine.ContributionWrite{{Counter: "n", Contribution: c}}})
	}
	if got := s.Snapshot().Contributions("n", ""); !reflect.DeepEqual(got, want) {
		t.Errorf("contributions %v, want %v", got, want)
	}
}

// odd is text that might run into its neighbours in a key.
var odd = []string{"", " ", "a", "a ", "ab", "a/b", "a\"", `a\`, `"`, `""`, "\\x00", "a\tb", "ä", "a\u0301", "\u00e1", "waiting", "\xff", "\ufffd", strings.Repeat("x", 256)}

func TestKeysWithOddTextDoNotCollide(t *testing.T) {
	seen := map[string]string{}
	put := func(key string, what ...string) {
		name := fmt.Sprintf("%q", what)
		if other, ok := seen[key]; ok && other != name {
			t.Errorf("%s and %s have the key %q", other, name, key)
		}
		seen[key] = name
	}
	put(clockKey, "clock")
	put(waitingList, "waiting list")
	for _, a := range odd {
		put(traceKey(a), "trace", a)
		put(rejectionKey(a), "rejection", a)
		put(settingsKey(a), "settings", a)
		for _, b := range odd {
			put(evidenceKey(a, b), "evidence", a, b)
			put(pathKey(a, b), "path", a, b)
			put(callKey(a, b), "call", a, b)
			put(waitingKey(engine.PathKey{Trace: a, Call: b}), "waiting", a, b)
			put(counterKey(a, b), "counter", a, b)
			put(member(counterKey(a, b), 1), "member", a, b)
		}
	}
}

func TestAnEntityMayHoldAnyText(t *testing.T) {
	s := New()
	entities := append(slices.Clone(odd), "\x00", "a\x00", "a\x00\"b", "\"a\"\x00", "00000000000000000001", "\"\x0000000000000000000001\x00")
	for i, e := range entities {
		apply(t, s, engine.Writes{Contributions: []engine.ContributionWrite{{Counter: "n", Entity: e, Contribution: engine.Contribution{Seq: uint64(i + 1), Amount: float64(i)}}}})
	}
	for i, e := range entities {
		want := []engine.Contribution{{Seq: uint64(i + 1), Amount: float64(i)}}
		if got := s.Snapshot().Contributions("n", e); !reflect.DeepEqual(got, want) {
			t.Errorf("entity %q: contributions %v, want %v", e, got, want)
		}
	}
}

func TestACounterMayBeNamedLikeTheStartOfAnother(t *testing.T) {
	s := New()
	names := []string{"", "n", "nn", "n ", "counter", "n\"e\"", `n"`}
	for i, n := range names {
		for j, e := range []string{"", "e", "ee"} {
			apply(t, s, engine.Writes{Contributions: []engine.ContributionWrite{{Counter: n, Entity: e, Contribution: engine.Contribution{Seq: uint64(3*i + j + 1)}}}})
		}
	}
	for i, n := range names {
		for j, e := range []string{"", "e", "ee"} {
			if got := s.Snapshot().Contributions(n, e); len(got) != 1 || got[0].Seq != uint64(3*i+j+1) {
				t.Errorf("counter %q, entity %q: contributions %v, want one of seq %d", n, e, got, 3*i+j+1)
			}
		}
	}
}

func TestATraceIDWithNULDoesNotReachAnotherTrace(t *testing.T) {
	if evidenceKey("a\x00b", "c") == evidenceKey("a", "b\x00c") || pathKey("a\x00b", "c") == pathKey("a", "b\x00c") {
		t.Error("two different keys are equal")
	}
}

func TestAReadOfAKeyOfAnotherTypePanics(t *testing.T) {
	s := New()
	b := s.Begin()
	b.put(traceKey("t"), "no trace")
	commit(t, b)
	defer func() {
		if recover() == nil {
			t.Error("a trace of another type was read: want a panic, which the fold turns into Unknown")
		}
	}()
	s.Snapshot().Trace("t")
}

func TestAnIndexerTakesOnlyRecordsAndTextKeys(t *testing.T) {
	var i keyIndexer
	if _, _, err := i.FromObject(7); err == nil {
		t.Error("FromObject(7): no error")
	}
	for _, args := range [][]any{nil, {7}, {"a"}, {&lookup{}, &lookup{}}} {
		if _, err := i.FromArgs(args...); err == nil {
			t.Errorf("FromArgs(%v): no error", args)
		}
	}
	if key, err := i.PrefixFromArgs(&lookup{[]byte("k")}); err != nil || string(key) != "k" {
		t.Errorf("PrefixFromArgs(k) = %q, %v", key, err)
	}
}

func TestAnApplyToAClosedBatchFails(t *testing.T) {
	b := New().Begin()
	b.Abort()
	if err := b.Apply(engine.Writes{Clock: 1}); err == nil {
		t.Error("Apply after Abort gave no error")
	}
	if err := b.Commit(); err == nil {
		t.Error("Commit after Abort gave no error")
	}
}

// TestReadersAndAWriterShareAStore is for the race detector, and holds readers
// to what a snapshot promises: two values written together are read together.
func TestReadersAndAWriterShareAStore(t *testing.T) {
	s := New()
	const rounds, readers = 300, 4
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range readers {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				v := s.Snapshot()
				n := v.Trace("t").ChangedAt
				if got := v.Path("t", "c").ChangedAt; got != n {
					t.Errorf("path of write %d beside trace of write %d", got, n)
					return
				}
				if got := len(v.Contributions("n", "")); got != int(n) {
					t.Errorf("%d contributions beside trace of write %d", got, n)
					return
				}
				v.Waiting()
				v.Current(v.Reads())
			}
		})
	}
	for i := range uint64(rounds) {
		n := i + 1
		apply(t, s, engine.Writes{Clock: int64(n),
			Traces:        []engine.TraceWrite{{ID: "t", Trace: engine.Trace{ChangedAt: n}}},
			Paths:         []engine.PathWrite{{Key: engine.PathKey{Trace: "t", Call: "c"}, Path: engine.Path{ChangedAt: n, Request: pending(n)}}},
			Contributions: []engine.ContributionWrite{{Counter: "n", Contribution: engine.Contribution{Seq: n}}}})
	}
	close(stop)
	wg.Wait()
}

func TestWritersTakeTurns(t *testing.T) {
	s := New()
	var wg sync.WaitGroup
	const writers, each = 4, 50
	for range writers {
		wg.Go(func() {
			for range each {
				b := s.Begin()
				n := b.View().Clock()
				if err := b.Apply(engine.Writes{Clock: n + 1}); err != nil {
					t.Error(err)
				}
				commit(t, b)
			}
		})
	}
	wg.Wait()
	if got := s.Snapshot().Clock(); got != writers*each {
		t.Errorf("clock = %d, want %d", got, writers*each)
	}
}

// TestHowCallsAreRelatedIsReadAsItWasWritten writes what says how calls are
// related at random, over batches and within them, and reads it back beside
// plain lists.
func TestHowCallsAreRelatedIsReadAsItWasWritten(t *testing.T) {
	names := []string{"", "a", "b", "a\x00b", `"a"`, "a\x00"}
	rapid.Check(t, func(t *rapid.T) {
		name := func(label string) string { return rapid.SampledFrom(names).Draw(t, label) }
		store := New()
		results := map[engine.PathKey][]engine.ResultWrite{}
		suspect := map[[2]string]engine.Suspicion{}
		refused := map[[2]string]uint64{}
		batch := store.Begin()
		for seq := range uint64(rapid.IntRange(1, 40).Draw(t, "events")) {
			seq++
			var w engine.Writes
			key := engine.PathKey{Trace: name("trace"), Call: name("call")}
			value := name("value")
			switch rapid.IntRange(1, 4).Draw(t, "what") {
			case 1:
				r := engine.ResultWrite{Key: key, Seq: seq, Values: []string{value, "x"}}
				w.Results = []engine.ResultWrite{r}
				results[key] = append(results[key], r)
			case 2:
				s := engine.Suspicion{Item: engine.Item{Kind: "k", Value: value}, Trace: key.Trace, Seq: seq}
				w.Suspicions = []engine.SuspicionWrite{{Suspicion: s}}
				suspect[[2]string{key.Trace, value}] = s
			case 3:
				if s, ok := suspect[[2]string{key.Trace, value}]; ok {
					w.Suspicions = []engine.SuspicionWrite{{Suspicion: s, Cleared: true}}
					delete(suspect, [2]string{key.Trace, value})
				}
			default:
				w.Refusals = []engine.RefusalWrite{{Trace: key.Trace, Same: value, Seq: seq}}
				refused[[2]string{key.Trace, value}] = seq
			}
			if err := batch.Apply(w); err != nil {
				t.Fatal(err)
			}
			if rapid.Bool().Draw(t, "commit") {
				if err := batch.Commit(); err != nil {
					t.Fatal(err)
				}
				batch = store.Begin()
			}
		}
		defer batch.Abort()
		v := batch.View()
		of := func(match func(engine.Suspicion) bool) (n int) {
			for _, s := range suspect {
				if match(s) {
					n++
				}
			}
			return n
		}
		if got := v.AllSuspicions(); len(got) != len(suspect) || v.Suspected() != (len(suspect) > 0) {
			t.Fatalf("%d suspicions, want %d", len(got), len(suspect))
		}
		for _, a := range names {
			if got, want := len(v.Suspicions(a)), of(func(s engine.Suspicion) bool { return s.Trace == a }); got != want {
				t.Fatalf("%d suspicions in %q, want %d", got, a, want)
			}
			if got, want := len(v.SuspicionsOf(a)), of(func(s engine.Suspicion) bool { return s.Value == a }); got != want {
				t.Fatalf("%d suspicions of %q, want %d", got, a, want)
			}
			for _, b := range names {
				if got, ok := v.Suspicion(a, b); got != suspect[[2]string{a, b}] || ok != (got.Seq != 0) {
					t.Fatalf("suspicion of %q in %q: %+v, %v", b, a, got, ok)
				}
				if got := v.Refused(a, b); got != refused[[2]string{a, b}] {
					t.Fatalf("refused %q in %q: %d", b, a, got)
				}
				want := map[string]engine.Producer{}
				var values []string
				for key, list := range results {
					for _, r := range list {
						if key == (engine.PathKey{Trace: a, Call: b}) {
							values = append(values, r.Values...)
						}
						if key.Trace == a && slices.Contains(r.Values, b) {
							p := want[key.Call]
							want[key.Call] = engine.Producer{Call: key.Call, First: cmp.Or(p.First, r.Seq), Last: r.Seq}
						}
					}
				}
				got := map[string]engine.Producer{}
				for _, p := range v.Producers(a, b) {
					got[p.Call] = p
				}
				if !maps.Equal(got, want) {
					t.Fatalf("%q in %q came from %v, want %v", b, a, got, want)
				}
				if r := v.Results(a, b); !slices.Equal(r, values) {
					t.Fatalf("results of %q %q: %v, want %v", a, b, r, values)
				}
			}
		}
	})
}

func TestAViewOfManyKeysNotesEachOnce(t *testing.T) {
	s := New()
	var w engine.Writes
	for i := range 3 * searched {
		w.Calls = append(w.Calls, engine.CallWrite{Trace: "t", ID: fmt.Sprint(i), Hash: fmt.Sprint("h", i)})
	}
	apply(t, s, w)
	v := s.Snapshot()
	for range 2 {
		for i := range 4 * searched {
			if hash, ok := v.CallHash("t", fmt.Sprint(i)); ok != (i < 3*searched) || ok && hash != fmt.Sprint("h", i) {
				t.Fatalf("call %d: %q, %v", i, hash, ok)
			}
		}
	}
	if n := v.Reads().Len(); n != 4*searched {
		t.Errorf("%d keys noted, want %d", n, 4*searched)
	}
	if !s.Snapshot().Current(v.Reads()) {
		t.Error("what was read is not what is there")
	}
	apply(t, s, engine.Writes{Calls: []engine.CallWrite{{Trace: "t", ID: fmt.Sprint(4*searched - 1), Hash: "new"}}})
	if s.Snapshot().Current(v.Reads()) {
		t.Error("a key that was absent and is there now is not noticed")
	}
}
