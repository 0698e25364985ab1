package floors_test

import (
	"context"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/conjunct-project/conjunct/bundle"
	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/policies"
	"github.com/conjunct-project/conjunct/rego"
)

// shipped reads a bundle as a stranger would: modules and data, with none of
// the bundle room.
func shipped(t testing.TB, name string) ([]rego.Module, tree) {
	t.Helper()
	files, err := policies.FS(name)
	if err != nil {
		t.Fatal(err)
	}
	var ms []rego.Module
	data := tree{}
	err = fs.WalkDir(files, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(files, p)
		switch {
		case err != nil:
			return err
		case strings.HasSuffix(p, "_test.rego"):
		case strings.HasSuffix(p, ".rego"):
			ms = append(ms, rego.Module{File: p, Text: string(text)})
		case strings.HasSuffix(p, "data.yaml"):
			at := data
			for _, key := range strings.Split(strings.TrimSuffix(p, "/data.yaml"), "/") {
				if at[key] == nil {
					at[key] = tree{}
				}
				at = at[key].(tree)
			}
			return yaml.Unmarshal(text, &at)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return ms, data
}

func TestShippedFloorsAgreeWithTopdown(t *testing.T) {
	applied := 0
	for _, name := range policies.Names() {
		t.Run(name, func(t *testing.T) {
			ms, data := shipped(t, name)
			strict, err := newOracle(ms, data, true)
			if err != nil {
				t.Fatal(err)
			}
			fsys, _ := policies.FS(name)
			files, err := bundle.FromFS(fsys, name)
			if err != nil {
				t.Fatal(err)
			}
			b, err := bundle.Load(files)
			if err != nil {
				t.Fatal(err)
			}
			for seed := range uint64(6) {
				for src := range engine.Sources() {
					for c := range engine.Classes(engine.Source(src)) {
						in := (&dice{random(seed, 60)}).input()
						in.Consequence = c
						in.Action.Tool = append(b.Tools(), "undeclared")[int(seed)%(len(b.Tools())+1)]
						in.Action.Document["tool"] = in.Action.Tool
						want, err := strict.set(in)
						if err != nil {
							t.Fatalf("topdown: %v, for %s", err, show(in.Document()))
						}
						got, sure := []string{}, []string{}
						for _, m := range b.Floors(context.Background(), in) {
							got = append(got, m.Name)
							if m.Determined || !slices.ContainsFunc(m.Reason.Facts, func(f engine.Fact) bool { return f.Absent }) {
								sure = append(sure, m.Name)
							}
						}
						// Where everything is present both are the same; never fewer otherwise.
						for _, n := range want {
							if !slices.Contains(got, n) {
								t.Fatalf("got %v, want %v, for %s", got, want, show(in.Document()))
							}
						}
						for _, n := range sure {
							if !slices.Contains(want, n) {
								t.Fatalf("got %v, want %v, for %s: nothing that it reads is absent", got, want, show(in.Document()))
							}
						}
						applied += len(got)
					}
				}
			}
		})
	}
	if applied == 0 {
		t.Error("got no floor of any bundle that ever applied, want some")
	}
}

// TestShippedTablesAgreeWithTopdown holds every class and every cause against
// topdown.
func TestShippedTablesAgreeWithTopdown(t *testing.T) {
	for _, name := range policies.Names() {
		t.Run(name, func(t *testing.T) {
			ms, data := shipped(t, name)
			ask := topdownRules(t, ms, data, "severity.base", "severity.modifiers", "transition.next")
			fsys, _ := policies.FS(name)
			files, err := bundle.FromFS(fsys, name)
			if err != nil {
				t.Fatal(err)
			}
			b, err := bundle.Load(files)
			if err != nil {
				t.Fatal(err)
			}
			for src := range engine.Sources() {
				for c := range engine.Classes(engine.Source(src)) {
					for _, low := range []bool{false, true} {
						in := tree{"consequence": c.Document(), "flags": tree{"low_confidence": low}}
						if got, _ := b.Base(c); ask("severity.base", in) != got.String() {
							t.Fatalf("%+v: got base %v, want %v", c, got, ask("severity.base", in))
						}
						var got []string
						for _, m := range b.Modifiers(c, low) {
							if m.Holds {
								got = append(got, m.Name)
							}
						}
						var want []string
						for _, m := range ask("severity.modifiers", in).([]any) {
							want = append(want, m.(tree)["name"].(string))
						}
						slices.Sort(want)
						if !slices.Equal(got, want) {
							t.Fatalf("%+v, low %v: got modifiers %v, want %v", c, low, got, want)
						}
					}
				}
			}
			for _, cause := range engine.Causes() {
				for i := range engine.NumFlags {
					f := engine.FlagsAt(i)
					got, ok := b.Next(cause, f)
					want, _ := ask("transition.next", tree{"flags": f.Document(cause)}).(tree)
					if !ok || want["transition"] != got.String() {
						t.Fatalf("%s, %+v: got %v, %v, want %v", cause, f, got, ok, want)
					}
				}
			}
		})
	}
}
