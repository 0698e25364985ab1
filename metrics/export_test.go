package metrics

import (
	"slices"
	"testing"

	"github.com/conjunct-project/conjunct/journal"
)

// CompareWithRecount holds a report to the simple recount of the journal in a
// directory.
func CompareWithRecount(t *testing.T, dir string, r *Report, cost func(tool string) (float64, bool)) {
	t.Helper()
	var entries []journal.Entry
	if _, err := journal.Walk(dir, func(e journal.Entry) error {
		e.Body = slices.Clone(e.Body)
		if e.Op == "attempt" || e.Op == "review" || e.Op == "result" {
			entries = append(entries, e)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	compare(t, figuresOf(r), recount(t, entries, cost))
}
