package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/conjunct-project/conjunct/bench/table"
	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/signals"
)

// Speed is how long facts and decisions took on this machine, now: without
// journal, network or start of the program.
type Speed struct {
	Corpus   string          `json:"corpus"`
	Bundle   engine.BundleID `json:"bundle"`
	Cases    int             `json:"cases"`
	Rounds   int             `json:"rounds"`
	Facts    Quantiles       `json:"facts"`
	Decision Quantiles       `json:"decision"`
}

// Quantiles are durations in seconds.
type Quantiles struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	Max float64 `json:"max"`
}

func quantiles(d []time.Duration) Quantiles {
	slices.Sort(d)
	at := func(share float64) float64 { return d[int(share*float64(len(d)-1))].Seconds() }
	return Quantiles{at(0.5), at(0.95), at(1)}
}

// RunSpeed computes the facts of every case and decides it, so many times each.
func RunSpeed(ctx context.Context, s Study, rounds int, clock func() time.Time) (r Speed, err error) {
	if rounds < 1 || len(s.Corpus.Cases) == 0 {
		return r, fmt.Errorf("bench: nothing to measure")
	}
	r = Speed{Corpus: s.Corpus.Name, Bundle: s.Policy.Bundle(), Cases: len(s.Corpus.Cases), Rounds: rounds}
	at, err := plant(s.Corpus.Dir, s.Corpus.Tree)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, at.remove()) }()
	var found, decided []time.Duration
	for i := range s.Corpus.Cases {
		k := &s.Corpus.Cases[i]
		err := at.with(k.Proposal.Tree, func(w signals.World) {
			w.Home = s.Corpus.Home
			for range rounds {
				start := clock()
				known, unknown := s.Policy.Facts(ctx, k.Proposal.Action, 0, w)
				between := clock()
				s.decide(ctx, &k.Proposal, facts{known, unknown})
				found, decided = append(found, between.Sub(start)), append(decided, clock().Sub(between))
			}
		})
		if err = errors.Join(err, ctx.Err()); err != nil {
			return r, fmt.Errorf("case %s: %w", k.ID, err)
		}
		if s.Step != nil {
			s.Step()
		}
	}
	r.Facts, r.Decision = quantiles(found), quantiles(decided)
	return r, nil
}

// Holds reports whether anything was measured.
func (r Speed) Holds() bool { return r.Cases > 0 && r.Rounds > 0 }

// Tables shows the quantiles.
func (r Speed) Tables() []table.Table {
	t := table.Table{Title: fmt.Sprintf("%d cases of corpus %s under %s, %d times each", r.Cases, r.Corpus, r.Bundle.Revision, r.Rounds),
		Head: []string{"microseconds", "p50", "p95", "largest"}}
	for _, row := range []struct {
		name string
		q    Quantiles
	}{{"facts", r.Facts}, {"decision", r.Decision}} {
		t.Rows = append(t.Rows, append([]string{row.name}, row.q.cells()...))
	}
	t.Notes = []string{"Measured now, on this machine and whatever else runs on it, without a journal."}
	return []table.Table{t}
}

func (q Quantiles) cells() (out []string) {
	for _, s := range []float64{q.P50, q.P95, q.Max} {
		out = append(out, fmt.Sprintf("%.1f", 1e6*s))
	}
	return out
}

// Records is the table of Tables, for CSV.
func (r Speed) Records() table.Table { return r.Tables()[0] }
