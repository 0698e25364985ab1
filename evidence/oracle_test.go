package evidence

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/conjunct-project/conjunct/engine"
)

// history is a store and the plain state beside it, with a batch that is filled
// and, at times, one below it that is on its way to the disk.
type history struct {
	t       *rapid.T
	r       *rand.Rand
	g       governed
	store   *Store
	kept    *plain // what is committed
	keptSeq uint64
	// below is the batch on its way, batch the one that is filled; open is the plain
	// state with both.
	below, batch *Batch
	belowPlain   *plain
	belowSeq     uint64
	open         *plain
	seq          uint64
	now          int64
	// due is what has to be looked at again before anything else.
	due     []engine.Reexamination
	ahead   []decidedAhead
	moments []moment
	space   engine.Workspace // in which everything is folded that is not ahead

	stood, again, needless int
	seen                   map[string]int
}

// decidedAhead is a decision that was made on a snapshot.
type decidedAhead struct {
	event  engine.Event
	record engine.Record
	writes engine.Writes
	reads  Reads
	seq    uint64 // of the last entry that the snapshot had
}

type moment struct {
	view  *View
	plain *plain
}

// TestAStoreIsWhatMapsWouldBe folds histories with engine.Step on a store and on
// plain maps, as the committer does: decisions made ahead on snapshots stand only
// where they would be made again, batches stand on others and are dropped with
// them, views are read long after they were taken, and what is stored and read
// back goes on the same.
func TestAStoreIsWhatMapsWouldBe(t *testing.T) {
	stood, again, needless, seen := 0, 0, 0, map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		h := &history{t: rt, r: rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1)), store: New(), kept: newPlain(), now: 10, seen: seen,
			g: governedBy(rapid.SampledFrom([]string{"trace", "window", "off"}).Draw(rt, "scope"))}
		h.batch, h.open = h.store.Begin(), h.kept.copy()
		defer func() { h.drop() }()
		for range rapid.IntRange(30, 250).Draw(rt, "steps") {
			h.step()
		}
		h.moments = append(h.moments, moment{h.batch.View(), h.open})
		for n, m := range h.moments {
			same(rt, fmt.Sprintf("view %d of %d", n, len(h.moments)), m.view, m.plain)
		}
		stood, again, needless = stood+h.stood, again+h.again, needless+h.needless
	})
	t.Logf("%d decisions stood, %d were made again, %d of them the same; %v", stood, again, needless, seen)
	if stood == 0 || again == needless {
		t.Error("no decision stood, or none changed: nothing was tried")
	}
}

func same(t *rapid.T, what string, v *View, want *plain) {
	if got, want := told(v), told(want); got != want {
		t.Fatalf("%s says\n%s\nwant\n%s", what, got, want)
	}
}

func (h *history) step() {
	if len(h.due) > 0 {
		h.lookAgain()
		return
	}
	h.now += int64(h.r.IntN(2))
	switch h.r.IntN(14) {
	case 0:
		h.launch()
	case 1:
		h.land()
	case 2:
		if h.r.IntN(3) == 0 {
			h.drop()
			h.begin()
		}
	case 3:
		h.moments = append(h.moments, moment{h.store.Snapshot(), h.kept.copy()})
	case 4:
		if h.r.IntN(4) == 0 {
			h.reload()
		}
	case 5, 6, 7:
		view := h.store.Snapshot()
		d := decidedAhead{event: h.attempt(), seq: h.keptSeq} // everything else is folded in its turn
		d.record, d.writes = engine.Step(context.Background(), h.g, view, &d.event)
		d.reads = view.Reads()
		h.ahead = append(h.ahead, d)
		if !h.store.Snapshot().Current(d.reads) {
			h.t.Fatalf("%s: what was read just now has moved", d.event.Op)
		}
	case 8, 9:
		if n := len(h.ahead); n > 0 {
			i := h.r.IntN(n)
			d := h.ahead[i]
			h.ahead = append(h.ahead[:i], h.ahead[i+1:]...)
			h.place(d.event, &d)
		}
	default:
		h.place(h.event(), nil)
	}
}

func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

// attempt proposes a call, at times under the id that it had before.
func (h *history) attempt() engine.Event {
	trace, id, n := pick(h.r, tracesUsed...), pick(h.r, idsUsed...), h.r.IntN(contents)
	if first := h.open.Path(trace, contentHash(n)).FirstID; first != "" && h.r.IntN(3) > 0 {
		id = first
	}
	e := proposal(trace, id, n)
	e.Time = h.now
	return e
}

// event is something that happens, to a path that was proposed or not.
func (h *history) event() engine.Event {
	if h.r.IntN(5) > 1 {
		return h.attempt()
	}
	trace, id, n := pick(h.r, tracesUsed...), pick(h.r, idsUsed...), h.r.IntN(contents)
	e := engine.Event{Op: pick(h.r, engine.OpReview, engine.OpReview, engine.OpReview, engine.OpResult, engine.OpResult, engine.OpChange, engine.OpSettings, engine.OpEvidence,
		engine.OpFailure, engine.OpClear, engine.OpConfirm, engine.OpCompensate, engine.OpEngage),
		Time: h.now, TraceID: trace, Call: contentHash(n), CallID: id, By: engine.Identity{Name: pick(h.r, "ada", "bob"), Role: "reviewer", Qualified: true}}
	if about := h.about(e.Op); len(about) > 0 && h.r.IntN(4) > 0 {
		key := pick(h.r, about...)
		e.TraceID, e.Call = key.Trace, key.Call
	}
	e.Review = engine.ReviewEvent{Outcome: pick(h.r, engine.Approve, engine.Approve, engine.Reject, engine.Return, engine.Revoke), Code: "other", Gates: []string{"checked", engine.Structure}}
	e.Result = engine.ResultEvent{Status: pick(h.r, engine.ResultOK, engine.ResultOK, engine.ResultError, engine.NotRun, engine.NoResult), Recoverable: true, Values: []string{pick(h.r, heldValues[:3]...)}}
	if h.r.IntN(3) == 0 {
		e.Result.Incident = "other"
	}
	e.Pins = map[string]string{pick(h.r, "context", "input", "component"): pick(h.r, "v1", "v2")}
	e.Settings = map[string]any{pick(h.r, "capacity", "review_ttl"): float64(h.r.IntN(6))}
	if e.Op == engine.OpSettings {
		e.By.Role = "operator"
		e.TraceID = pick(h.r, e.TraceID, "")
	}
	e.Evidence = engine.Evidence{Name: pick(h.r, "ci", engine.Simulation), Status: pick(h.r, engine.Pass, engine.Fail)}
	if e.Op == engine.OpEvidence {
		e.Call = pick(h.r, e.Call, "")
	}
	e.Failure = engine.FailureEvent{Active: h.r.IntN(2) == 0, Recoverable: true}
	e.Answer = engine.Answer{Item: engine.Item{Value: pick(h.r, heldValues...)}, With: pick(h.r, idsUsed...)}
	e.Engage = engine.Engagement{Component: "planner", Task: "x"}
	return e
}

// about lists the paths that an event is likely to take effect on.
func (h *history) about(op engine.Op) (out []engine.PathKey) {
	for key, p := range h.open.Paths {
		pending := p.Request != nil && p.Request.Status == engine.Pending
		if op == engine.OpResult && p.Released != 0 || op == engine.OpReview && pending || op.Judges() && op != engine.OpReview && p.Pulled != nil {
			out = append(out, key)
		}
	}
	return inOrder(out)
}

// place folds an event on top of the batch. What was decided ahead is taken where
// it is current, and is what deciding now gives.
func (h *history) place(e engine.Event, ahead *decidedAhead) {
	before := deep(e)
	wantRecord, wantWrites := engine.Step(context.Background(), h.g, h.open, &e)
	rec, w := h.space.Step(context.Background(), h.g, h.batch.View(), &e)
	if !reflect.DeepEqual(before, e) {
		h.t.Fatalf("%s: the event is another one after it was folded:\n%+v\nit was\n%+v", e.Op, e, before)
	}
	h.equal(e, "on the store", rec, w, wantRecord, wantWrites)
	if ahead != nil {
		current := h.batch.View().Current(ahead.reads) && ahead.record.Time == max(e.Time, h.batch.View().Clock())
		if !current && ahead.seq == h.seq && ahead.record.Time == wantRecord.Time {
			h.t.Fatalf("%s: nothing was written since, and what was read has moved", e.Op)
		}
		if current {
			h.stood++
			rec, w = ahead.record, ahead.writes
			h.equal(e, "ahead", rec, w, wantRecord, wantWrites)
		} else if h.again++; reflect.DeepEqual(listed(ahead.writes), listed(wantWrites)) && reflect.DeepEqual(ahead.record, wantRecord) {
			h.needless++
		}
	}
	what := e.Op.String() + " " + rec.Invalid
	if d := rec.Decision; d != nil {
		what += d.Outcome.String()
		if rec.Invalid != "" {
			what = "reused"
		}
	}
	h.seen[what]++
	h.seq++
	rec.Stamp(h.seq)
	w.Stamp(h.seq)
	h.open.apply(w)
	if err := h.batch.Apply(w); err != nil {
		h.t.Fatal(err)
	}
	h.due = append(h.due, rec.Due...)
	if h.r.IntN(4) == 0 {
		same(h.t, fmt.Sprintf("the batch after entry %d, %s", h.seq, e.Op), h.batch.View(), h.open)
	}
}

func (h *history) equal(e engine.Event, where string, rec engine.Record, w engine.Writes, wantRecord engine.Record, wantWrites engine.Writes) {
	if !reflect.DeepEqual(rec, wantRecord) || !reflect.DeepEqual(listed(w), listed(wantWrites)) {
		text := func(v any) string { b, err := json.Marshal(v); return fmt.Sprint(string(b), err) }
		h.t.Fatalf("%s %s/%s %s gives\n%s\n%s\nwant\n%s\n%s", where, e.TraceID, e.CallID, e.Op, text(rec), text(w), text(wantRecord), text(wantWrites))
	}
}

// listed makes empty lists absent ones.
func listed(w engine.Writes) engine.Writes {
	v := reflect.ValueOf(&w).Elem()
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.Slice && f.Len() == 0 {
			f.SetZero()
		}
	}
	return w
}

func (h *history) lookAgain() {
	d := h.due[0]
	h.due = h.due[1:]
	path := h.open.Path(d.Path.Trace, d.Path.Call)
	e := engine.Event{Op: engine.OpReexamine, Time: h.open.Now, TraceID: d.Path.Trace, Call: d.Path.Call, CallID: d.CallID, Agent: path.Agent, Reexamine: d, By: engine.Identity{Name: "reexamination"}}
	for n := range contents {
		if contentHash(n) == d.Path.Call {
			e.Attempt = proposal(d.Path.Trace, d.CallID, n).Attempt
		}
	}
	h.place(e, nil)
}

func (h *history) begin() {
	h.batch, h.open, h.seq = h.store.Begin(), h.kept.copy(), h.keptSeq
}

// launch sends the batch on its way and opens one on top of it.
func (h *history) launch() {
	if h.below != nil {
		h.land()
	}
	if err := h.batch.Prepare(); err != nil {
		h.t.Fatal(err)
	}
	next, err := h.batch.Next()
	if err != nil {
		h.t.Fatal(err)
	}
	h.below, h.belowPlain, h.belowSeq = h.batch, h.open.copy(), h.seq
	h.batch = next
}

// land makes the batch that was on its way visible.
func (h *history) land() {
	if h.below == nil {
		return
	}
	if err := h.below.Commit(); err != nil {
		h.t.Fatal(err)
	}
	h.kept, h.keptSeq, h.below = h.belowPlain, h.belowSeq, nil
	same(h.t, "the store", h.store.Snapshot(), h.kept)
}

// drop loses what is not committed; the numbers come again.
func (h *history) drop() {
	if h.below != nil {
		h.below.Abort()
		h.below = nil
	}
	h.batch.Abort()
	h.due = nil
}

// reload stores the state and goes on with what was read back. Nothing that was
// decided ahead on the other store is used on it.
func (h *history) reload() {
	h.drop()
	var text, again bytes.Buffer
	if err := h.store.Snapshot().Save(&text); err != nil {
		h.t.Fatal(err)
	}
	back, err := Load(text.Bytes())
	if err != nil {
		h.t.Fatal(err)
	}
	if err := back.Snapshot().Save(&again); err != nil || !bytes.Equal(text.Bytes(), again.Bytes()) {
		h.t.Fatalf("what was read back is stored as\n%s\nwant\n%s\n%v", again.String(), text.String(), err)
	}
	h.store, h.ahead = back, nil
	same(h.t, "what was read back", back.Snapshot(), h.kept)
	h.begin()
}
