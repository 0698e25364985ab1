package evidence

import (
	"bytes"
	"maps"
	"slices"
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
