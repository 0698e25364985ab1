package evidence

import (
	"fmt"
	"sync"
	"testing"
)

// TestAKeyThatWasWrittenIsNeverTakenForNew writes keys across several sizes of
// the filter beside readers, and counts how many others look written.
func TestAKeyThatWasWrittenIsNeverTakenForNew(t *testing.T) {
	const keys = 1 << 16
	w := newWritten()
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for i := range keys {
				w.has(fmt.Sprint("k", i))
			}
		})
	}
	for i := range keys {
		w.add(fmt.Sprint("k", i))
		if i%997 == 0 && !w.has(fmt.Sprint("k", i/2)) {
			t.Fatalf("key %d is taken for new after %d were written", i/2, i)
		}
	}
	readers.Wait()
	wrong := 0
	for i := range keys {
		if !w.has(fmt.Sprint("k", i)) {
			t.Fatalf("key %d is taken for new", i)
		}
		if w.has(fmt.Sprint("other", i)) {
			wrong++
		}
	}
	if wrong > keys/25 {
		t.Errorf("%d of %d new keys look written", wrong, keys)
	}
}
