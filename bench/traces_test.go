package bench_test

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/conjunct-project/conjunct/bench"
	"github.com/conjunct-project/conjunct/bundle"
	"github.com/conjunct-project/conjunct/policies"
)

func shipped(t testing.TB, name string) *bundle.Bundle {
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

func TestTraces(t *testing.T) {
	r, err := bench.RunTraces(context.Background(), shipped(t, bench.TraceBundle))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{"full": 18, "stateless": 12, "keeps_approvals": 13, "capacity_always": 16}
	if r.Of != 18 || !maps.Equal(r.Arms, want) {
		t.Errorf("got %v of %d, want %v", r.Arms, r.Of, want)
	}
	for _, row := range r.Rows {
		for arm, got := range row.Answers {
			if !slices.Equal(got, row.Want) {
				t.Logf("%s: %s answers %v, want %v", row.ID, arm, got, row.Want)
			}
		}
	}
}
