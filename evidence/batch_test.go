package evidence

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/hashicorp/go-memdb"
	"pgregory.net/rapid"

	"github.com/conjunct-project/conjunct/engine"
)

// everything is every record of a state, by key.
func everything(t testing.TB, s *Store) map[string]any {
	t.Helper()
	it, err := s.version.Load().txn.Get(table, "id")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]any{}
	for obj := it.Next(); obj != nil; obj = it.Next() {
		r := obj.(*record)
		out[string(r.key)] = r.value
	}
	return out
}

// someWrites draws what one event might do, on few keys, so that they meet.
func someWrites(t *rapid.T, seq uint64) engine.Writes {
	name := rapid.SampledFrom([]string{"a", "b", "c"})
	w := engine.Writes{Clock: rapid.Int64Range(0, 3).Draw(t, "clock")}
	if rapid.Bool().Draw(t, "trace") {
		w.SetTrace(name.Draw(t, "id"), engine.Trace{ChangedAt: seq})
	}
	if rapid.Bool().Draw(t, "setting") {
		w.Settings = append(w.Settings, engine.SettingWrite{Trace: name.Draw(t, "of"), Name: name.Draw(t, "name"), Value: float64(seq)},
			engine.SettingWrite{Trace: name.Draw(t, "of"), Name: name.Draw(t, "name"), Value: nil})
	}
	if rapid.Bool().Draw(t, "evidence") {
		w.Evidence = append(w.Evidence, engine.EvidenceWrite{Trace: name.Draw(t, "of"), Call: name.Draw(t, "call"), Evidence: engine.Evidence{Name: name.Draw(t, "name"), Seq: seq}})
	}
	for range rapid.IntRange(0, 2).Draw(t, "paths") {
		p := engine.Path{ChangedAt: seq}
		if rapid.Bool().Draw(t, "waits") {
			p.Request = pending(seq)
		}
		w.SetPath(engine.PathKey{Trace: name.Draw(t, "of"), Call: name.Draw(t, "call")}, p)
	}
	if rapid.Bool().Draw(t, "rejection") {
		w.SetRejection(name.Draw(t, "call"), &engine.Rejection{Seq: seq})
	}
	if rapid.Bool().Draw(t, "counted") {
		w.Contributions = append(w.Contributions, engine.ContributionWrite{Counter: "n", Entity: name.Draw(t, "entity"), Contribution: engine.Contribution{Seq: seq}})
	}
	return w
}

// TestHowEventsAreBatchedDoesNotShow folds the same events one a batch and many
// a batch: what is read on the way and what is left are the same, and a decision
// is found out of date by the one if it is by the other.
func TestHowEventsAreBatchedDoesNotShow(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		one, many := New(), New()
		batch := many.Begin()
		defer func() { batch.Abort() }()
		var before, ahead *View // of the same event, one in each store
		for seq := range uint64(rapid.IntRange(1, 40).Draw(rt, "events")) {
			if rapid.IntRange(0, 3).Draw(rt, "commit") == 0 {
				commit(t, batch)
				if rapid.IntRange(0, 3).Draw(rt, "snapshot") == 0 {
					before, ahead = one.Snapshot(), many.Snapshot()
					readSome(rt, before, ahead)
				}
				batch = many.Begin()
			}
			w := someWrites(rt, seq+1)
			apply(t, one, w)
			if err := batch.Apply(w); err != nil {
				t.Fatal(err)
			}
			a, b := one.Snapshot(), batch.View()
			if before != nil && a.Current(before.Reads()) != b.Current(ahead.Reads()) {
				rt.Fatalf("event %d: current is %v one a batch, %v many a batch", seq, a.Current(before.Reads()), b.Current(ahead.Reads()))
			}
			if !reflect.DeepEqual(a.Waiting(), b.Waiting()) || a.Clock() != b.Clock() {
				rt.Fatalf("event %d: waiting %v at %d, want %v at %d", seq, b.Waiting(), b.Clock(), a.Waiting(), a.Clock())
			}
			for _, name := range []string{"a", "b", "c"} {
				if !reflect.DeepEqual(a.Contributions("n", name), b.Contributions("n", name)) {
					rt.Fatalf("event %d: contributions %v, want %v", seq, b.Contributions("n", name), a.Contributions("n", name))
				}
			}
		}
		commit(t, batch)
		if got, want := everything(t, many), everything(t, one); !reflect.DeepEqual(got, want) {
			rt.Fatalf("many a batch: %v\none a batch: %v", got, want)
		}
	})
}

// readSome reads the same few keys in both views.
func readSome(t *rapid.T, views ...*View) {
	for i, k := range kinds {
		if rapid.IntRange(0, 3).Draw(t, fmt.Sprint("read", i)) == 0 {
			for _, v := range views {
				k.read(v)
			}
		}
	}
	for _, v := range views {
		v.Path("a", "b")
		v.Rejection("c")
	}
}

func TestACommitTooLongAgoIsStillCompared(t *testing.T) {
	for _, moved := range []bool{false, true} {
		s := New()
		v := s.Snapshot()
		v.Trace("t")
		id := "other"
		if moved {
			id = "t"
		}
		apply(t, s, engine.Writes{Traces: []engine.TraceWrite{{ID: id}}})
		for i := range int64(3 * remembered) {
			if got := s.Snapshot().Current(v.Reads()); got == moved {
				t.Fatalf("after %d commits: current = %v, moved = %v", i+1, got, moved)
			}
			apply(t, s, engine.Writes{Clock: i})
		}
	}
}

func TestAPreparedBatchTakesNoMoreWrites(t *testing.T) {
	s := New()
	b := s.Begin()
	if err := b.Apply(engine.Writes{Clock: 1}); err != nil {
		t.Fatal(err)
	}
	if err := b.Prepare(); err != nil {
		t.Fatal(err)
	}
	if err := b.Apply(engine.Writes{Clock: 2}); err == nil {
		t.Error("a prepared batch took a write")
	}
	if got := s.Snapshot().Clock(); got != 0 {
		t.Errorf("clock = %d before Commit", got)
	}
	b.Abort()
	if got := s.Snapshot().Clock(); got != 0 {
		t.Errorf("clock = %d after Abort", got)
	}
	apply(t, s, engine.Writes{Clock: 3})
	if got := s.Snapshot().Clock(); got != 3 {
		t.Errorf("clock = %d after the next batch, want 3", got)
	}
}

func TestAWriteThatFailsDropsTheBatch(t *testing.T) {
	s := New()
	apply(t, s, engine.Writes{Clock: 1})
	b := s.Begin()
	if err := b.Apply(engine.Writes{Clock: 2}); err != nil {
		t.Fatal(err)
	}
	other, err := memdb.NewMemDB(&memdb.DBSchema{Tables: map[string]*memdb.TableSchema{
		"other": {Name: "other", Indexes: map[string]*memdb.IndexSchema{"id": {Name: "id", Unique: true, Indexer: keyIndexer{}}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	s.db = other
	if err := b.Prepare(); err == nil {
		t.Fatal("a write into a database without the table gave no error")
	}
	if err := b.Commit(); err == nil {
		t.Error("Commit after a failed Prepare gave no error")
	}
	if got := s.Snapshot().Clock(); got != 1 {
		t.Errorf("clock = %d, want 1", got)
	}
}
