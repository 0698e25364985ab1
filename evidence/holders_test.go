package evidence

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/conjunct-project/conjunct/engine"
)

// held is what each call was first proposed with: the plain form of the index.
type held map[engine.PathKey][]string

// by lists the calls of a trace, or of all, that hold a value.
func (h held) by(value, trace string) (out []engine.PathKey) {
	for key, values := range h {
		if slices.Contains(values, value) && (trace == "" || key.Trace == trace) {
			out = append(out, key)
		}
	}
	return out
}

// propose is what an attempt at a call writes; the first one indexes what it
// holds.
func propose(key engine.PathKey, first uint64, values []string, again bool) (w engine.Writes) {
	p := engine.Path{First: first}
	for _, v := range values {
		p.Holds = append(p.Holds, engine.Item{Kind: engine.KindEntity, Value: v})
		if !again {
			w.Holders = append(w.Holders, engine.HolderWrite{Value: v, Key: key})
		}
	}
	w.SetPath(key, p)
	return w
}

// TestWhoHoldsAValueIsWhatAViewsPathsSay proposes calls in batches that are kept
// and dropped, and holds every view, taken at any time and read later, to the
// paths that it has.
func TestWhoHoldsAValueIsWhatAViewsPathsSay(t *testing.T) {
	names := []string{"a", "b", "a\x00b", `"a"`, "a\x00", "c"}
	type moment struct {
		view *View
		held held
	}
	rapid.Check(t, func(rt *rapid.T) {
		name := func(label string) string { return rapid.SampledFrom(names).Draw(rt, label) }
		store, kept, open := New(), held{}, held{}
		first := map[engine.PathKey]uint64{}
		batch, seq := store.Begin(), uint64(0)
		moments := []moment{{store.Snapshot(), held{}}}
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			switch rapid.IntRange(0, 6).Draw(rt, "what") {
			case 0:
				commit(t, batch)
				kept = maps.Clone(open)
				batch = store.Begin()
			case 1:
				batch.Abort()
				open, seq = maps.Clone(kept), 0 // the numbers come again
				for key := range kept {
					seq = max(seq, first[key])
				}
				batch = store.Begin()
			case 2:
				moments = append(moments, moment{store.Snapshot(), maps.Clone(kept)})
			default:
				seq++
				key := engine.PathKey{Trace: name("trace"), Call: name("call")}
				values, again := open[key]
				if !again {
					values = append(rapid.SliceOfDistinct(rapid.SampledFrom(names), rapid.ID).Draw(rt, "values"), "")
					first[key], open[key] = seq, values
				}
				if err := batch.Apply(propose(key, first[key], values, again)); err != nil {
					rt.Fatal(err)
				}
			}
		}
		moments = append(moments, moment{batch.View(), open})
		defer batch.Abort()
		for _, m := range moments {
			sameHolders(rt, m.view, m.held, append(names, ""))
		}
		var text bytes.Buffer
		if err := store.Snapshot().Save(&text); err != nil {
			rt.Fatal(err)
		}
		back, err := Load(text.Bytes())
		if err != nil {
			rt.Fatal(err)
		}
		sameHolders(rt, back.Snapshot(), kept, append(names, ""))
	})
}

func sameHolders(t *rapid.T, v *View, want held, names []string) {
	for _, value := range names {
		for _, trace := range names {
			got := v.Holders(value, trace)
			order := func(a, b engine.PathKey) int {
				return bytes.Compare([]byte(a.Trace+"\n"+a.Call), []byte(b.Trace+"\n"+b.Call))
			}
			expected := want.by(value, trace)
			slices.SortFunc(got, order)
			slices.SortFunc(expected, order)
			if !slices.Equal(got, expected) {
				t.Fatalf("%q in %q is held by %q, want %q", value, trace, got, expected)
			}
		}
	}
}

// TestAnIDIsBoundToWhatWasFirstProposedUnderIt proposes contents under several
// ids, in batches that are kept and dropped, and holds every view, taken at any
// time and read later, to a plain list of what was bound.
func TestAnIDIsBoundToWhatWasFirstProposedUnderIt(t *testing.T) {
	names := []string{"a", "b", "a\x00b", `"a"`, "c"}
	type bound map[[2]string]string
	type moment struct {
		view  *View
		bound bound
	}
	rapid.Check(t, func(rt *rapid.T) {
		name := func(label string) string { return rapid.SampledFrom(names).Draw(rt, label) }
		store, kept, open := New(), bound{}, bound{}
		keptPaths, openPaths := map[engine.PathKey]engine.Path{}, map[engine.PathKey]engine.Path{}
		batch, moments := store.Begin(), []moment{{store.Snapshot(), bound{}}}
		for seq := range uint64(rapid.IntRange(1, 40).Draw(rt, "steps")) {
			switch rapid.IntRange(0, 6).Draw(rt, "what") {
			case 0:
				commit(t, batch)
				kept, keptPaths = maps.Clone(open), maps.Clone(openPaths)
				batch = store.Begin()
			case 1:
				batch.Abort()
				open, openPaths = maps.Clone(kept), maps.Clone(keptPaths)
				batch = store.Begin()
			case 2:
				moments = append(moments, moment{store.Snapshot(), maps.Clone(kept)})
			default:
				key, id := engine.PathKey{Trace: name("trace"), Call: name("call")}, name("id")
				if hash, used := open[[2]string{key.Trace, id}]; used && hash != key.Call {
					break // refused: nothing is written
				}
				p := openPaths[key]
				if p.First == 0 {
					p.First, p.FirstID = seq+1, id
				}
				p.CallID, p.Time = id, int64(seq)
				openPaths[key], open[[2]string{key.Trace, id}] = p, key.Call
				w := engine.Writes{Calls: []engine.CallWrite{{Trace: key.Trace, ID: id, Hash: key.Call}}}
				w.SetPath(key, p)
				before := batch.View()
				before.CallHash(key.Trace, id)
				if err := batch.Apply(w); err != nil {
					rt.Fatal(err)
				}
				if batch.View().Current(before.Reads()) {
					rt.Fatalf("whoever read the id %q before it was proposed is current", id)
				}
			}
		}
		moments = append(moments, moment{batch.View(), open})
		defer batch.Abort()
		var text bytes.Buffer
		if err := store.Snapshot().Save(&text); err != nil {
			rt.Fatal(err)
		}
		back, err := Load(text.Bytes())
		if err != nil {
			rt.Fatal(err)
		}
		moments = append(moments, moment{back.Snapshot(), kept})
		for n, m := range moments {
			for _, trace := range names {
				for _, id := range names {
					want, bound := m.bound[[2]string{trace, id}]
					if got, ok := m.view.CallHash(trace, id); ok != bound || got != want {
						rt.Fatalf("view %d: %q %q is bound to %q %v, want %q %v", n, trace, id, got, ok, want, bound)
					}
				}
			}
		}
	})
}

func TestAPathWithAnImpossibleKeyIsNotLoaded(t *testing.T) {
	for _, key := range []string{`path\u0000t\u0000`, `path\u0000\"t\u0000c\u0000`, `path\u0000t\u0000c\u0000d\u0000`} {
		if _, err := Load([]byte(`["` + key + `",{"First":1}]` + "\n")); err == nil {
			t.Errorf("%s was read", key)
		}
	}
}

// TestWhatASnapshotHasIsFoundWhileMoreIsWritten reads snapshots while calls are
// written beside them, until the filter of keys has grown twice: whatever was
// written before a snapshot was taken is found in it, and what came after is not.
func TestWhatASnapshotHasIsFoundWhileMoreIsWritten(t *testing.T) {
	const calls, together = 12_000, 100
	store, done := New(), make(chan struct{})
	name := func(n int64) string { return fmt.Sprint("c", n) }
	var readers sync.WaitGroup
	for side := range 3 {
		readers.Go(func() {
			r := rand.New(rand.NewPCG(uint64(side), 3))
			for last := false; !last; {
				select {
				case <-done:
					last = true
				default:
				}
				v := store.Snapshot()
				for range 50 {
					n := 1 + r.Int64N(calls)
					hash, bound := v.CallHash("t", "id"+name(n))
					held := v.Holders("item"+name(n), "")
					if there := n <= v.Clock(); there != bound || there != (hash == name(n)) || there != (len(held) == 1) || there != (v.Path("t", name(n)).First != 0) {
						t.Errorf("at %d: call %d is bound to %q, held by %v, and stands there: %v", v.Clock(), n, hash, held, v.Path("t", name(n)).First != 0)
						return
					}
				}
			}
		})
	}
	write := func(from int64) {
		b := store.Begin()
		for n := from; n < from+together; n++ {
			w := propose(engine.PathKey{Trace: "t", Call: name(n)}, uint64(n), []string{"item" + name(n)}, false)
			w.Paths[0].Path.FirstID, w.Clock = "id"+name(n), n
			w.Calls = []engine.CallWrite{{Trace: "t", ID: "id" + name(n), Hash: name(n)}}
			if err := b.Apply(w); err != nil {
				t.Error(err)
			}
		}
		commit(t, b)
	}
	for n := int64(1); n <= calls; n += together {
		write(n)
	}
	close(done)
	readers.Wait()
	if n := len(*store.version.Load().keys.filters.Load()); n != 3 {
		t.Errorf("the filter has %d parts: it did not grow twice", n)
	}
}

// TestWritingTheSameAgainKeepsNothing proposes a few calls again and again, under
// their own ids and under others: what is kept beside memdb does not grow.
func TestWritingTheSameAgainKeepsNothing(t *testing.T) {
	store := New()
	size := func() [5]int {
		x := store.version.Load().indexes
		return [5]int{int(x.inTrace.n), int(x.anywhere.n), int(x.ids.n), x.keys.room, len(*x.keys.filters.Load())}
	}
	round := func(n int) {
		b := store.Begin()
		for c := range 4 {
			call, id := fmt.Sprint("c", c), fmt.Sprint("id", c, "-", n%2)
			w := propose(engine.PathKey{Trace: "t", Call: call}, uint64(c+1), []string{"item"}, n > 0)
			w.Paths[0].Path.FirstID, w.Paths[0].Path.CallID, w.Clock = fmt.Sprint("id", c, "-0"), id, int64(n)
			w.Calls = []engine.CallWrite{{Trace: "t", ID: id, Hash: call}}
			if err := b.Apply(w); err != nil {
				t.Fatal(err)
			}
		}
		commit(t, b)
	}
	round(0)
	round(1)
	before := size()
	for n := range 6000 {
		round(n + 2)
	}
	if after := size(); after != before {
		t.Errorf("candidates and keys grew from %v to %v", before, after)
	}
}
