package episode_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/conjunct-project/conjunct/action"
	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/episode"
	"github.com/conjunct-project/conjunct/evidence"
)

// counted is a view that counts what is read of it: one for each key, and one
// for each member of a list.
type counted struct {
	engine.View
	n *int
}

func (c counted) count(n int) { *c.n += n }

func (c counted) Trace(id string) engine.Trace { c.count(1); return c.View.Trace(id) }
func (c counted) Path(t, h string) engine.Path { c.count(1); return c.View.Path(t, h) }
func (c counted) Setting(t, n string) (any, bool) {
	c.count(1)
	return c.View.Setting(t, n)
}
func (c counted) Rejection(same string) (engine.Rejection, bool) {
	c.count(1)
	return c.View.Rejection(same)
}
func (c counted) Waiting() []engine.PathKey { return all(c, c.View.Waiting()) }
func (c counted) Holders(value, trace string) []engine.PathKey {
	return all(c, c.View.Holders(value, trace))
}
func (c counted) Producers(trace, value string) []engine.Producer {
	return all(c, c.View.Producers(trace, value))
}
func (c counted) Results(trace, call string) []string { return all(c, c.View.Results(trace, call)) }
func (c counted) SuspicionsOf(value string) []engine.Suspicion {
	return all(c, c.View.SuspicionsOf(value))
}
func (c counted) Suspicion(trace, value string) (engine.Suspicion, bool) {
	c.count(1)
	return c.View.Suspicion(trace, value)
}

func all[T any](c counted, list []T) []T {
	c.count(1 + len(list))
	return list
}

// crowd is a state with a number of calls that have nothing to do with each
// other, half of them in the trace of some that are built on one record and of
// one more that waits and will be rejected.
type crowd struct {
	b     engine.Governance
	store *evidence.Store
	batch *evidence.Batch
	seq   uint64
}

func newCrowd(t testing.TB, b engine.Governance, unrelated, related int) *crowd {
	t.Helper()
	c := &crowd{b: b, store: evidence.New()}
	c.batch = c.store.Begin()
	for i := range unrelated {
		trace := "t"
		if i%2 == 0 {
			trace = fmt.Sprint("other-", i%97)
		}
		c.propose(t, trace, fmt.Sprint("u", i), "update_ticket_status", fmt.Sprintf(`{"ticket":"INC-%d","status":"s%d"}`, i, i), fmt.Sprintf(`{"source_record":"rec-%d"}`, i))
	}
	for i := range related {
		c.propose(t, "t", fmt.Sprint("r", i), "update_ticket_status", fmt.Sprintf(`{"ticket":"related-%d","status":"closed"}`, i), `{"source_record":"the-record"}`)
	}
	c.propose(t, "t", "rejected", "reset_credentials", `{"account":"acme\\jdoe"}`, `{"source_record":"the-record"}`)
	if err := c.batch.Commit(); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *crowd) propose(t testing.TB, trace, id, tool, args, ctx string) {
	t.Helper()
	a, err := action.Decode([]byte(fmt.Sprintf(`{"trace_id":%q,"call_id":%q,"agent":{"id":"bot"},"tool":%q,"arguments":%s,"context":%s,"confidence":0.95}`, trace, id, tool, args, ctx)))
	if err != nil {
		t.Fatal(err)
	}
	rec, w := engine.Step(context.Background(), c.b, c.batch.View(), &engine.Event{Op: engine.OpAttempt, Time: 100, Attempt: engine.Attempt{Action: a}})
	if rec.Decision.Outcome == engine.Block {
		t.Fatalf("%s: %s", id, rec.Decision.Reason)
	}
	c.keep(t, c.batch, &rec, &w)
}

func (c *crowd) keep(t testing.TB, batch *evidence.Batch, rec *engine.Record, w *engine.Writes) {
	t.Helper()
	c.seq++
	rec.Stamp(c.seq)
	w.Stamp(c.seq)
	if err := batch.Apply(*w); err != nil {
		t.Fatal(err)
	}
}

// reject rejects the call that waits, with all that it makes due, and drops it
// again. It says how many calls were looked at again and how much was read.
func (c *crowd) reject(t testing.TB) (due, reads int) {
	t.Helper()
	batch, seq := c.store.Begin(), c.seq
	defer func() { batch.Abort(); c.seq = seq }()
	e := engine.Event{Op: engine.OpReview, Time: 200, TraceID: "t", CallID: "rejected", By: engine.Identity{Name: "lena", Role: "service-desk-lead", Qualified: true},
		Review: engine.ReviewEvent{Outcome: engine.Reject, Code: "wrong_target"}}
	if err := episode.Resolve(&e, batch.View(), c.b.Contract()); err != nil {
		t.Fatal(err)
	}
	rec, w := engine.Step(context.Background(), c.b, counted{batch.View(), &reads}, &e)
	if rec.Invalid != "" {
		t.Fatal(rec.Reasons)
	}
	c.keep(t, batch, &rec, &w)
	for _, d := range rec.Due {
		view := batch.View()
		e := episode.Again(view, d)
		again, w := engine.Step(context.Background(), c.b, counted{view, &reads}, &e)
		if again.Second == nil || again.Second.Effect != engine.PulledBack {
			t.Fatalf("%+v", again)
		}
		c.keep(t, batch, &again, &w)
	}
	return len(rec.Due), reads
}

// TestReexaminationReadsWhatIsRelated holds what a rejection reads to the calls
// that it concerns, whatever else is in the journal.
func TestReexaminationReadsWhatIsRelated(t *testing.T) {
	b := load(t, "itsm")
	due, few := newCrowd(t, b, 10, 5).reject(t)
	if due != 5 {
		t.Fatalf("%d calls are due, want 5", due)
	}
	due, many := newCrowd(t, b, 10000, 5).reject(t)
	if due != 5 || many != few {
		t.Errorf("%d due and %d reads beside 10000 unrelated calls, %d reads beside 10", due, many, few)
	}
}

// TestReexaminationGrowsWithWhatIsRelated holds what is read for each related
// call to be the same however many there are.
func TestReexaminationGrowsWithWhatIsRelated(t *testing.T) {
	b := load(t, "itsm")
	read := map[int]int{}
	for _, n := range []int{50, 100, 200} {
		due, reads := newCrowd(t, b, 0, n).reject(t)
		if due != n {
			t.Fatalf("%d due, want %d", due, n)
		}
		read[n] = reads
	}
	if more, twice := read[100]-read[50], read[200]-read[100]; twice != 2*more {
		t.Errorf("50 more related calls read %d more, 100 more %d", more, twice)
	}
}

func BenchmarkReexamination(b *testing.B) {
	for _, unrelated := range []int{10, 10000} {
		b.Run(fmt.Sprint(unrelated, "_unrelated"), func(b *testing.B) {
			c := newCrowd(b, load(b, "itsm"), unrelated, 5)
			for b.Loop() {
				c.reject(b)
			}
		})
	}
}

// TestFactsAreDecidedOnAgain gives a call facts and looks whether its second
// look has the same.
func TestFactsAreDecidedOnAgain(t *testing.T) {
	for _, c := range []struct {
		known   map[string]any
		unknown []string
	}{
		{nil, nil},
		{map[string]any{"path": map[string]any{"inside": true}}, nil},
		{map[string]any{"n": 1.5}, []string{"secret: too long", "b"}},
	} {
		text, err := episode.FactsText(c.known, c.unknown)
		if err != nil {
			t.Fatal(err)
		}
		known, unknown := episode.ReadFacts(text)
		again, err := episode.FactsText(known, unknown)
		if err != nil || string(again) != string(text) {
			t.Errorf("%s reads back as %s, %v", text, again, err)
		}
	}
	if known, unknown := episode.ReadFacts(nil); known != nil || unknown != nil {
		t.Error("facts from nothing")
	}
}

func TestASecondRejectionOnTheSameMakesNothingDue(t *testing.T) {
	// Two rejections after each other, of calls built on the same: the second
	// makes nothing due that the first one did.
	var events []string
	for i := range 3 {
		events = append(events, fmt.Sprintf(`{"t":%d,"op":"attempt","action":{"trace_id":"t","call_id":"c%d","agent":{"id":"bot"},"tool":"reset_credentials","arguments":{"account":"a%d"},"context":{"source_record":"R"},"confidence":0.9}}`, i, i, i))
	}
	for i := range 3 {
		events = append(events, fmt.Sprintf(`{"t":%d,"op":"review","trace_id":"t","call":"c%d","outcome":"reject","reviewer":"lena","role":"service-desk-lead","qualified":true}`, 10+i, i))
	}
	b := load(t, "itsm")
	ep, err := episode.Decode([]byte(`{"id":"e","events":[`+strings.Join(events, ",")+`]}`), b.Contract())
	if err != nil {
		t.Fatal(err)
	}
	r, err := ep.Run(context.Background(), b)
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(r.Reexamined)
	if want := "[{c1 decided_again false} {c2 decided_again false}]"; got != want || len(r.Log.ReviewComplete) != 3 {
		t.Errorf("looked again at %s, want %s; %d rejections counted", got, want, len(r.Log.ReviewComplete))
	}
}
