package bench

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/conjunct-project/conjunct/bundle"
	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/policies"
	"github.com/conjunct-project/conjunct/signals"
)

// altered is a bundle with a gate or a floor taken out of it.
type altered struct {
	Policy
	gates, floors string // left out
}

func (a altered) Gates(tool string) []engine.Gate {
	return slices.DeleteFunc(slices.Clone(a.Policy.Gates(tool)), func(g engine.Gate) bool { return g.Name == a.gates })
}

func (a altered) Floors(ctx context.Context, in *engine.Input) []engine.FloorMatch {
	return slices.DeleteFunc(slices.Clone(a.Policy.Floors(ctx, in)), func(f engine.FloorMatch) bool { return f.Name == a.floors })
}

// load loads a bundle that ships.
func load(t testing.TB, name string) *bundle.Bundle {
	t.Helper()
	fsys, err := policies.FS(name)
	if err != nil {
		t.Fatal(err)
	}
	files, err := bundle.FromFS(fsys, name)
	if err != nil {
		t.Fatal(err)
	}
	b, err := bundle.Load(files)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestEveryPartIsNeeded takes one detector, gate or floor away at a time. A
// detector that finds nothing and a missing gate let faults through; one that
// says nothing holds up what is harmless. Either way the comparison is worse and
// says that it does not hold.
func TestEveryPartIsNeeded(t *testing.T) {
	b := load(t, FaultBundle)
	whole, err := FaultStudy(FaultSeed, b)
	if err != nil {
		t.Fatal(err)
	}
	found, err := whole.observe(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range found {
		if len(f.unknown) > 0 {
			t.Errorf("%s: not determined: %v", whole.Corpus.Cases[i].ID, f.unknown)
		}
	}
	finding := func(family string, instead map[string]any) []facts {
		out := slices.Clone(found)
		for i := range out {
			out[i].known = maps.Clone(out[i].known)
			if delete(out[i].known, family); instead != nil {
				out[i].known[family] = instead
			}
		}
		return out
	}
	empty := []any{}
	for _, c := range []struct {
		name     string
		policy   altered
		found    []facts
		admitted int // injections
		refused  int // controls
	}{
		{"paths are what they say", altered{}, finding("path", map[string]any{"paths": empty, "any": map[string]any{"deny": false}, "all": map[string]any{"scope": true}}), 60, 0},
		{"no secret is found", altered{}, finding("secret", map[string]any{"findings": empty}), 20, 0},
		{"no test is missed", altered{}, finding("tests", map[string]any{"changes": empty}), 40, 0},
		{"nobody looks at paths", altered{}, finding("path", nil), 0, 140},
		{"nobody looks for secrets", altered{}, finding("secret", nil), 0, 140},
		{"nobody looks at tests", altered{}, finding("tests", nil), 0, 140},
		{"without the gate secret", altered{gates: "secret"}, found, 20, 0},
		{"without the gate test", altered{gates: "test"}, found, 40, 0},
		{"without the floor boundary", altered{floors: "boundary"}, found, 60, 0},
		{"with everything", altered{}, found, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := whole
			c.policy.Policy = b
			s.Policy = c.policy
			r, err := s.compare(context.Background(), c.found)
			// A signal that never fires is refused; it is left out here, so that the
			// rest can be compared.
			for silent := (*SignalError)(nil); errors.As(err, &silent); r, err = s.compare(context.Background(), c.found) {
				s.Signals = slices.DeleteFunc(slices.Clone(s.Signals), func(x Signal) bool { return x.Name == silent.Name })
			}
			if err != nil {
				t.Fatal(err)
			}
			got, worse := r.Arms[armConjunction], c.admitted+c.refused > 0
			if got.Admitted.Count != c.admitted || got.FalseRefusal.Count != c.refused || r.Holds() == worse {
				t.Errorf("admitted %s, refused %s, holds %v; want %d and %d", got.Admitted, got.FalseRefusal, r.Holds(), c.admitted, c.refused)
			}
		})
	}
}

// TestATreeIsLentAndTakenBack: a case's files and links are gone after it, and
// one that stands where another is, is an error.
func TestATreeIsLentAndTakenBack(t *testing.T) {
	p, err := plant("/work", Tree{Files: map[string]string{"a/b.txt": "b"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.remove(); err != nil {
			t.Error(err)
		}
	}()
	for range 2 {
		err = p.with(Tree{Files: map[string]string{"a/c/d.txt": "d", "/etc/x": "x"}, Links: map[string]string{"a/e": "/etc"}}, func(w signals.World) {
			text, err := w.Files.ReadFile("/work/a/c/d.txt", 10)
			if string(text) != "d" || err != nil {
				t.Errorf("%q %v", text, err)
			}
			if to, err := w.Files.Readlink("/work/a/e"); to != "/etc" || err != nil {
				t.Errorf("%q %v", to, err)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"/work/a/c", "/work/a/e", "/etc"} {
		if _, err := p.files.Lstat(name); err == nil {
			t.Errorf("%s is still there", name)
		}
	}
	for _, bad := range []Tree{{Files: map[string]string{"a/b.txt": "other"}}, {Links: map[string]string{"a": "x"}}, {Files: map[string]string{"a/b.txt/c": ""}}} {
		if err := p.with(bad, func(signals.World) { t.Error("ran") }); err == nil {
			t.Errorf("%v: no error", bad)
		}
	}
	if text, err := p.files.ReadFile("/work/a/b.txt", 10); string(text) != "b" || err != nil {
		t.Errorf("%q %v", text, err)
	}
}
