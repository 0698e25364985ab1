package pdp_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/journal"
	"github.com/conjunct-project/conjunct/pdp"
	"github.com/conjunct-project/conjunct/reexam"
)

var operator = engine.Identity{Name: "op", Role: "operator"}

// withReviewers is a state of the itsm bundle with reviewers, so that everything can happen.
func withReviewers(t testing.TB) string {
	return stateOf(t, with(t, map[string]func(string) string{authorityData: text(reviewers())}))
}

// live lets n things happen, drawn from a seed: calls that are allowed, held,
// rejected, approved and run, results, incidents, failures, pins and settings.
func live(t testing.TB, p *pdp.PDP, seed uint64, n int) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	ctx := context.Background()
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	apply := func(e engine.Event) {
		if _, err := p.Apply(ctx, e); err != nil && !strings.Contains(err.Error(), "proposed") {
			t.Fatal(err)
		}
	}
	for i := range n {
		trace, id := pick("t", "u", "v"), pick("c1", "c2", "c3")+pick("", "x", fmt.Sprint(i))
		switch r.IntN(8) {
		case 0, 1, 2:
			tool, args := "draft_response", fmt.Sprintf(`{"ticket":"INC-%d","to":"x","body":"y"}`, r.IntN(4))
			if r.IntN(2) == 0 {
				tool, args = "reset_credentials", fmt.Sprintf(`{"account":"acme\\u%d"}`, r.IntN(6))
			}
			decided(t, p, call(t, trace, id, tool, args))
		case 3:
			e := engine.ReviewEvent{Outcome: engine.Approve}
			if r.IntN(2) == 0 {
				e = engine.ReviewEvent{Outcome: engine.Reject, Code: "wrong_target"}
			}
			apply(engine.Event{Op: engine.OpReview, TraceID: trace, CallID: id, By: engine.Identity{Name: "otto"}, Review: e})
		case 4:
			e := engine.ResultEvent{Status: engine.ResultOK, Produced: []string{"acme\\u1"}}
			if r.IntN(3) == 0 {
				e = engine.ResultEvent{Status: engine.ResultError, Recoverable: true}
			}
			apply(engine.Event{Op: engine.OpResult, TraceID: trace, CallID: id, By: operator, Result: e})
		case 5:
			apply(engine.Event{Op: engine.OpFailure, TraceID: trace, CallID: id, By: operator, Failure: engine.FailureEvent{Active: r.IntN(2) == 0, Recoverable: true}})
		case 6:
			apply(engine.Event{Op: engine.OpChange, TraceID: trace, By: operator, Pins: map[string]string{"context": pick("v1", "v2")}})
		case 7:
			apply(engine.Event{Op: engine.OpSettings, TraceID: pick(trace, ""), By: operator, Settings: map[string]any{"capacity": float64(2 + r.IntN(6))}})
		}
	}
}

func checkpoint(t testing.TB, p *pdp.PDP, key ed25519.PrivateKey) reexam.Checkpoint {
	t.Helper()
	c, err := p.Checkpoint(context.Background(), operator, key)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func saved(t testing.TB, p *pdp.PDP) string {
	t.Helper()
	var b bytes.Buffer
	if err := p.Snapshot().Save(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func journalOf(t testing.TB, dir string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "journal.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestAStateThatWasStoredGoesOnTheSame opens a directory from a stored state and
// by deciding everything again: the states are equal, and so is everything that
// is decided on them from there.
func TestAStateThatWasStoredGoesOnTheSame(t *testing.T) {
	for seed := range uint64(3) {
		dir := withReviewers(t)
		p := open(t, dir, pdp.Options{})
		live(t, p, seed, 60)
		c := checkpoint(t, p, map[bool]ed25519.PrivateKey{true: key("lena")}[seed%2 == 0])
		live(t, p, seed+100, 15)
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		other := copied(t, dir)
		if err := os.RemoveAll(filepath.Join(other, "checkpoints")); err != nil {
			t.Fatal(err)
		}
		from, all := open(t, dir, pdp.Options{}), open(t, other, pdp.Options{})
		if from.Started != c.Seq || c.Seq == 0 || all.Started != 0 {
			t.Fatalf("started from %d and %d, the checkpoint is of %d", from.Started, all.Started, c.Seq)
		}
		if got, want := saved(t, from), saved(t, all); got != want {
			t.Fatalf("from the stored state:\n%s\nfrom the journal:\n%s", got, want)
		}
		live(t, from, seed+200, 40)
		live(t, all, seed+200, 40)
		if journalOf(t, dir) != journalOf(t, other) {
			t.Fatal("what was decided on the stored state differs")
		}
		if r := replayed(t, dir); !r.OK || r.Checkpoints != 1 || r.Redecided != r.Attempts {
			t.Fatalf("replay: %+v", r)
		}
	}
}

// TestAStoredStateThatDoesNotFitIsNotUsed damages everything that a start from a
// stored state rests on. The directory opens as if there were none.
func TestAStoredStateThatDoesNotFitIsNotUsed(t *testing.T) {
	dir := withReviewers(t)
	p := open(t, dir, pdp.Options{})
	live(t, p, 7, 30)
	c := checkpoint(t, p, nil)
	live(t, p, 8, 5)
	want := saved(t, p)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	file := reexam.StateFile(dir, c.Seq)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	damage := map[string]func(dir string) error{
		"another number": func(dir string) error { return os.Rename(reexam.StateFile(dir, c.Seq), reexam.StateFile(dir, c.Seq-1)) },
		"a number beyond the end": func(dir string) error {
			return os.WriteFile(reexam.StateFile(dir, c.Seq+1000), whole, 0o600)
		},
		"the number of an entry that is no checkpoint": func(dir string) error {
			return os.WriteFile(reexam.StateFile(dir, c.Seq+1), whole, 0o600)
		},
		"an empty file": func(dir string) error { return os.WriteFile(reexam.StateFile(dir, c.Seq), nil, 0o600) },
		"a directory in its place": func(dir string) error {
			return errors.Join(os.Remove(reexam.StateFile(dir, c.Seq)), os.Mkdir(reexam.StateFile(dir, c.Seq), 0o700))
		},
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 3 {
		at, bit := r.IntN(len(whole)), r.IntN(8)
		damage[fmt.Sprintf("bit %d of byte %d", bit, at)] = func(dir string) error {
			b := bytes.Clone(whole)
			b[at] ^= 1 << bit
			return os.WriteFile(reexam.StateFile(dir, c.Seq), b, 0o600)
		}
		damage[fmt.Sprintf("cut at byte %d", at)] = func(dir string) error { return os.WriteFile(reexam.StateFile(dir, c.Seq), whole[:at], 0o600) }
	}
	for name, do := range damage {
		broken := copied(t, dir)
		if err := do(broken); err != nil {
			t.Fatal(err)
		}
		p, err := pdp.Open(broken, pdp.Options{Now: func() int64 { return monday }})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if p.Started != 0 || saved(t, p) != want {
			t.Errorf("%s: started from %d", name, p.Started)
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// forge appends an entry to a copy of a journal, with a chain of its own.
func forge(t testing.TB, dir string, c reexam.Checkpoint) string {
	t.Helper()
	to := copied(t, dir)
	l, err := journal.Open(to, 0, func(journal.Entry) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	body, err := c.Body()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append([]journal.Draft{{Time: monday, Op: reexam.OpCheckpoint, Body: body}}); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return to
}

// TestAForgedCheckpointIsFound writes checkpoints that nobody made, with a chain
// that verifies, and holds replay to finding each.
func TestAForgedCheckpointIsFound(t *testing.T) {
	dir := withReviewers(t)
	p := open(t, dir, pdp.Options{})
	live(t, p, 3, 20)
	made := checkpoint(t, p, key("lena"))
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	seq, head := uint64(0), ""
	for _, e := range entries(t, dir) {
		seq, head = e.Seq, e.Hash
	}
	good := reexam.Checkpoint{Seq: seq, Head: head, Engine: made.Engine, Form: made.Form, By: operator}
	fold, err := reexam.Load(context.Background(), dir, pdp.Versions())
	if err != nil {
		t.Fatal(err)
	}
	if good.State, err = reexam.WriteState(io.Discard, seq, head, fold.Bundle(), fold.Store.Snapshot()); err != nil {
		t.Fatal(err)
	}
	if r := replayed(t, forge(t, dir, good)); !r.OK || r.Checkpoints != 2 {
		t.Fatalf("a checkpoint as it should be: %+v", r)
	}
	for name, change := range map[string]struct {
		do   func(*reexam.Checkpoint)
		code string
	}{
		"another state":                 {func(c *reexam.Checkpoint) { c.State = made.State }, reexam.StateDiffers},
		"another entry":                 {func(c *reexam.Checkpoint) { c.Seq-- }, reexam.Differs},
		"another head":                  {func(c *reexam.Checkpoint) { c.Head = made.Head }, reexam.Differs},
		"by the agent":                  {func(c *reexam.Checkpoint) { c.By = engine.Identity{Name: "itsm-agent", Role: "agent"} }, reexam.Differs},
		"a refusal that was none":       {func(c *reexam.Checkpoint) { c.Invalid = "invalid_checkpoint" }, reexam.Differs},
		"a signer who did not sign":     {func(c *reexam.Checkpoint) { c.Signer = "lena" }, reexam.SignatureWrong},
		"a signature of another entry":  {func(c *reexam.Checkpoint) { c.Signer, c.Signature = made.Signer, made.Signature }, reexam.SignatureWrong},
		"a signature nobody stands for": {func(c *reexam.Checkpoint) { c.Signature = made.Signature }, reexam.SignatureWrong},
		"a signer without a key":        {func(c *reexam.Checkpoint) { c.Signer, c.Signature = "otto", made.Signature }, reexam.SignatureWrong},
	} {
		c := good
		change.do(&c)
		forged := forge(t, dir, c)
		if r := replayed(t, forged); r.OK || len(r.Problems) != 1 || r.Problems[0].Seq != seq+1 || r.Problems[0].Code != change.code {
			t.Errorf("%s: replay gives %+v, want %s at entry %d", name, r.Problems, change.code, seq+1)
		}
		if p, err := pdp.Open(forged, pdp.Options{}); err == nil {
			t.Errorf("%s: the directory opens", name)
			_ = p.Close()
		}
	}
}

// TestAStateInAnotherFormIsNotUsed names a form that another version might have
// written: it is not compared, which is told, and nothing starts from it.
func TestAStateInAnotherFormIsNotUsed(t *testing.T) {
	dir := withReviewers(t)
	p := open(t, dir, pdp.Options{})
	live(t, p, 3, 20)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	last := entries(t, dir)
	e := last[len(last)-1]
	fold, err := reexam.Load(context.Background(), dir, pdp.Versions())
	if err != nil {
		t.Fatal(err)
	}
	var stored bytes.Buffer
	c := reexam.Checkpoint{Seq: e.Seq, Head: e.Hash, Engine: "0.0.1", Form: "sha256:00", By: operator}
	if c.State, err = reexam.WriteState(&stored, e.Seq, e.Hash, fold.Bundle(), fold.Store.Snapshot()); err != nil {
		t.Fatal(err)
	}
	forged := forge(t, dir, c)
	if err := errors.Join(os.Mkdir(filepath.Join(forged, "checkpoints"), 0o700), os.WriteFile(reexam.StateFile(forged, e.Seq), stored.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	if r := replayed(t, forged); !r.OK || r.Checkpoints != 0 || r.Unread != 1 {
		t.Errorf("replay: %+v", r)
	}
	if p := open(t, forged, pdp.Options{}); p.Started != 0 {
		t.Errorf("started from %d", p.Started)
	}
}

func TestWhoMayMakeACheckpoint(t *testing.T) {
	dir := withReviewers(t)
	p := open(t, dir, pdp.Options{})
	live(t, p, 1, 5)
	if _, err := p.Checkpoint(context.Background(), operator, key("nobody")); !errors.Is(err, reexam.ErrNotListed) {
		t.Errorf("with a key nobody has: %v", err)
	}
	if _, err := p.Checkpoint(context.Background(), engine.Identity{Name: "itsm-agent", Role: "agent"}, nil); err == nil {
		t.Error("the agent made a checkpoint")
	}
	all := entries(t, dir)
	if last := all[len(all)-1]; last.Op != reexam.OpCheckpoint || !strings.Contains(string(last.Body), `"invalid":"invalid_checkpoint"`) {
		t.Errorf("the refusal is not in the journal: %s %s", last.Op, last.Body)
	}
	if c := checkpoint(t, p, key("lena")); c.Signer != "lena" {
		t.Errorf("signed by %q", c.Signer)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if r := replayed(t, dir); !r.OK || r.Checkpoints != 2 {
		t.Errorf("replay: %+v", r)
	}
	// One that was refused is nothing to start from, and nothing that came before
	// is kept.
	if files, err := os.ReadDir(filepath.Join(dir, "checkpoints")); err != nil || len(files) != 1 {
		t.Errorf("%v, %v: want one stored state", files, err)
	}
}

func TestARedactedStateIsStoredOnlyAsTheJournalGivesIt(t *testing.T) {
	dir := stateOf(t, redacting(t))
	o := pdp.Options{RedactionKey: []byte("0123456789abcdef")}
	p := open(t, dir, o)
	decided(t, p, call(t, "t", "c1", "draft_response", `{"ticket":"INC-1","to":"pat@private.example","body":"the patient is well"}`))
	if _, err := p.Checkpoint(context.Background(), operator, nil); !errors.Is(err, pdp.ErrRedacted) {
		t.Fatalf("with the arguments in memory: %v", err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	p = open(t, dir, o)
	c := checkpoint(t, p, nil)
	stored, err := os.ReadFile(reexam.StateFile(dir, c.Seq))
	if err != nil || strings.Contains(string(stored), "private") || strings.Contains(string(stored), "cGF0") {
		t.Errorf("%v: the stored state holds what was redacted", err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if r := replayed(t, dir); !r.OK || r.Checkpoints != 1 {
		t.Errorf("replay: %+v", r)
	}
	if again := open(t, dir, o); again.Started != c.Seq {
		t.Errorf("started from %d", again.Started)
	}
}

// TestACheckpointUnderLoad makes checkpoints while callers decide: each names the
// state that a fold gives.
func TestACheckpointUnderLoad(t *testing.T) {
	dir := fresh(t)
	p := open(t, dir, pdp.Options{Segment: 64 << 10})
	var wg sync.WaitGroup
	for w := range 12 {
		wg.Go(func() {
			for i := range 25 {
				decided(t, p, call(t, fmt.Sprint("t", w%4), fmt.Sprint("c", w, "-", i), "draft_response", fmt.Sprintf(`{"ticket":"INC-%d-%d","to":"x","body":"y"}`, w, i)))
			}
		})
	}
	for range 2 {
		wg.Go(func() {
			for range 3 {
				checkpoint(t, p, nil)
			}
		})
	}
	wg.Wait()
	want := saved(t, p)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if r := replayed(t, dir); !r.OK || r.Checkpoints != 6 || r.Attempts != 300 {
		t.Errorf("replay: %+v", r)
	}
	if again := open(t, dir, pdp.Options{}); again.Started == 0 || saved(t, again) != want {
		t.Errorf("started from %d, or another state", again.Started)
	}
}

// TestACheckpointBehindAnActivationStartsWithThatBundle keeps the bundle in force
// with the state.
func TestACheckpointBehindAnActivationStartsWithThatBundle(t *testing.T) {
	dir := fresh(t)
	p := open(t, dir, pdp.Options{})
	next := with(t, map[string]func(string) string{authorityData: text(reviewers())})
	if err := p.Activate(context.Background(), next, operator); err != nil {
		t.Fatal(err)
	}
	c := checkpoint(t, p, key("lena"))
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	again := open(t, dir, pdp.Options{})
	if again.Started != c.Seq || again.Bundle().Bundle().Digest != next.Bundle().Digest {
		t.Errorf("started from %d with %s", again.Started, again.Bundle().Bundle().Digest)
	}
}
