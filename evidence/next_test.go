package evidence

import (
	"testing"

	"github.com/conjunct-project/conjunct/engine"
)

// TestABatchOnTopOfAnother reads what the one below wrote before others can, and
// is dropped with it.
func TestABatchOnTopOfAnother(t *testing.T) {
	for _, kept := range []bool{true, false} {
		s := New()
		below := s.Begin()
		if _, err := below.Next(); err == nil {
			t.Error("a batch opened on top of one that may still be written to")
		}
		if err := below.Apply(engine.Writes{Clock: 1, Traces: []engine.TraceWrite{{ID: "t", Trace: engine.Trace{ChangedAt: 1}}}}); err != nil {
			t.Fatal(err)
		}
		if err := below.Prepare(); err != nil {
			t.Fatal(err)
		}
		above, err := below.Next()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := below.Next(); err == nil {
			t.Error("two batches opened on top of one")
		}
		before := s.Snapshot()
		before.Trace("t")
		if got := above.View().Trace("t").ChangedAt; got != 1 || above.View().Clock() != 1 || before.Trace("t").ChangedAt != 0 {
			t.Errorf("above reads change %d at %d; others read %d", got, above.View().Clock(), before.Trace("t").ChangedAt)
		}
		if above.View().Current(before.Reads()) {
			t.Error("a view from before the batch below is current in the one above")
		}
		if err := above.Apply(engine.Writes{Clock: 2, Traces: []engine.TraceWrite{{ID: "u", Trace: engine.Trace{ChangedAt: 2}}}}); err != nil {
			t.Fatal(err)
		}
		if !kept {
			below.Abort()
			above.Abort()
			if v := s.Snapshot(); v.Clock() != 0 || v.Trace("t").ChangedAt != 0 || v.Trace("u").ChangedAt != 0 {
				t.Error("something of the dropped batches is left")
			}
			apply(t, s, engine.Writes{Clock: 3})
			continue
		}
		commit(t, below)
		if v := s.Snapshot(); v.Clock() != 1 || v.Trace("u").ChangedAt != 0 {
			t.Errorf("after the commit below: clock %d, trace of the batch above %d", v.Clock(), v.Trace("u").ChangedAt)
		}
		commit(t, above)
		if v := s.Snapshot(); v.Clock() != 2 || v.Trace("t").ChangedAt != 1 || v.Trace("u").ChangedAt != 2 {
			t.Errorf("after both commits: clock %d, %d, %d", v.Clock(), v.Trace("t").ChangedAt, v.Trace("u").ChangedAt)
		}
		apply(t, s, engine.Writes{Clock: 3})
	}
}
