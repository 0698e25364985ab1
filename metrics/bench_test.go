package metrics_test

import (
	"slices"
	"testing"

	"github.com/conjunct-project/conjunct/journal"
	"github.com/conjunct-project/conjunct/metrics"
)

// BenchmarkFold takes in the entries of the three runs, without the disk.
func BenchmarkFold(b *testing.B) {
	l := open(b, desk(b, nil))
	l.runs()
	var entries []journal.Entry
	if _, err := journal.Walk(l.dir, func(e journal.Entry) error {
		e.Body = slices.Clone(e.Body)
		entries = append(entries, e)
		return nil
	}); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		f := metrics.New(metrics.Options{})
		for _, e := range entries {
			if err := f.Next(e); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(entries)), "ns/entry")
}
