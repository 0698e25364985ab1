package report_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/conjunct-project/conjunct/bench"
	"github.com/conjunct-project/conjunct/bench/noise"
	"github.com/conjunct-project/conjunct/bench/report"
	"github.com/conjunct-project/conjunct/bundle"
	"github.com/conjunct-project/conjunct/policies"
)

func shipped(t *testing.T, name string) *bundle.Bundle {
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

func studies(t *testing.T) (s report.Studies) {
	t.Helper()
	ctx := context.Background()
	study, err := bench.FaultStudy(bench.FaultSeed, shipped(t, bench.FaultBundle))
	if err != nil {
		t.Fatal(err)
	}
	if s.Compare, err = bench.RunCompare(ctx, study); err != nil {
		t.Fatal(err)
	}
	if s.Traces, err = bench.RunTraces(ctx, shipped(t, bench.TraceBundle)); err != nil {
		t.Fatal(err)
	}
	if s.Critic, err = bench.RunCritic(ctx, shipped(t, bench.CriticBundle), bench.CriticSeed, nil); err != nil {
		t.Fatal(err)
	}
	if s.Noise, err = noise.Run(ctx, noise.Config{Seed: 1, Replications: 2, Proposals: 1000}); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestReport(t *testing.T) {
	s := studies(t)
	t.Run("a report is whole", func(t *testing.T) { whole(t, s) })
	t.Run("a study that does not hold is told", func(t *testing.T) { broken(t, s) })
}

func whole(t *testing.T, s report.Studies) {
	dir := filepath.Join(t.TempDir(), "made", "here")
	files, err := report.Write(dir, &s)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err != nil || info.Size() == 0 || !slices.Contains(files, e.Name()) {
			t.Errorf("%s: %v", e.Name(), err)
		}
	}
	if len(entries) != len(files) {
		t.Errorf("%d files for %v", len(entries), files)
	}
	text, err := os.ReadFile(filepath.Join(dir, "index.html"))
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	figures := strings.Count(strings.Join(files, " "), ".svg")
	if n := strings.Count(page, `src="data:image/svg&#43;xml;base64,`); n != figures || strings.Count(page, "<img ") != n {
		t.Errorf("%d of %d figures are on the page", n, figures)
	}
	// Every sort of thing that would be fetched.
	for _, word := range []string{"<script", "<link", "@import", "url(", `href="`, `src="http`, `src="/`} {
		if strings.Contains(page, word) {
			t.Errorf("the page says %q", word)
		}
	}
	if strings.Contains(page, "did not come out") || strings.Contains(page, "ZgotmplZ") || !s.Holds() {
		t.Error("the page does not hold")
	}
	for _, text := range []string{"<td class=\"n\">80/100</td>", "keeps_approvals", "conjunction, 2 of 3"} {
		if !strings.Contains(page, text) {
			t.Errorf("%q is not on the page", text)
		}
	}
}

// broken looks for a study that does not hold on the page and in the answer.
func broken(t *testing.T, s report.Studies) {
	s.Traces.Arms["full"]--
	dir := t.TempDir()
	if _, err := report.Write(dir, &s); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(dir, "index.html"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(string(page), "did not come out") != 1 || s.Holds() {
		t.Error("it is told nowhere")
	}
}
