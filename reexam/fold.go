package reexam

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/conjunct-project/conjunct/action"
	"github.com/conjunct-project/conjunct/bundle"
	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/episode"
	"github.com/conjunct-project/conjunct/evidence"
	"github.com/conjunct-project/conjunct/journal"
)

// Library finds a bundle by its digest.
type Library func(digest string) (*bundle.Bundle, error)

// Problem is one entry that does not follow from those before it.
type Problem struct {
	Seq  uint64 `json:"seq"`
	Code string `json:"code"`
	Text string `json:"text"`
}

// The codes of a Problem, besides those of a journal.Fault.
const (
	Undecodable   = "undecodable"
	BundleMissing = "bundle_missing"
	BundleWrong   = "bundle_mismatch"
	Differs       = "decision_differs"
	StateDiffers  = "state_differs"

	SignatureWrong = "signature_mismatch"
	IdentityWrong  = "identity_mismatch"
)

func (p *Problem) Error() string { return fmt.Sprintf("entry %d: %s: %s", p.Seq, p.Code, p.Text) }

// ProblemOf is what an error of reading a journal says of the journal: which
// entry does not verify, and why. It is nil where the error is of something else,
// a file that cannot be read for one.
func ProblemOf(err error) *Problem {
	var problem *Problem
	var fault *journal.Fault
	switch {
	case errors.As(err, &problem):
		return problem
	case errors.As(err, &fault):
		return &Problem{fault.Seq, fault.Code, fault.Where()}
	}
	return nil
}

// tornTail is the fault of a last line that is not finished, which is none of the
// entries before it; nil for any other error.
func tornTail(err error) *journal.Fault {
	var fault *journal.Fault
	if errors.As(err, &fault) && fault.Code == journal.TornTail {
		return fault
	}
	return nil
}

// Fold folds entries into an evidence state.
type Fold struct {
	Store    *evidence.Store
	library  Library
	versions Versions
	bundle   *bundle.Bundle
	scratch  []byte
	// batch holds what was folded and is not visible yet: pending entries, until
	// there are as many as are kept together.
	batch             *evidence.Batch
	pending, together int
	start             *start // a stored state that was not reached yet; nil: none
	// Attempts and Imposed count what was decided again.
	Attempts, Imposed int
	// Redacted counts attempts that could be verified and not decided again.
	Redacted int
	// Checkpoints counts states that were the fold's own; Unread those that another
	// version wrote in another form.
	Checkpoints, Unread int
	// Started is the entry whose stored state the fold started from; 0: none.
	Started uint64
	// Last is what the last event came to.
	Last engine.Record
	// Due lists the calls that have to be looked at again before anything else may
	// happen.
	Due []engine.Reexamination
	// Seq and Head are the number and hash of the last entry.
	Seq  uint64
	Head string
}

// NewFold begins with an empty state.
func NewFold(library Library, v Versions) *Fold {
	return &Fold{Store: evidence.New(), library: library, versions: v}
}

// Load folds a journal, without locking or writing it. A last line that is not
// finished is left out.
func Load(ctx context.Context, path string, v Versions) (*Fold, error) {
	return Resume(path, v, func(visit func(context.Context, journal.Entry) error) error {
		_, err := journal.Walk(path, func(e journal.Entry) error { return visit(ctx, e) })
		if tornTail(err) != nil {
			return nil
		}
		return err
	})
}

// ErrRedacted is a call whose arguments the journal does not hold.
var ErrRedacted = errors.New("reexam: the call's arguments are redacted, so it is not decided again")

// Again decides a path's action once more on the state as it is, with the facts
// it was last proposed with, for a reader: nothing is written. One whose arguments
// are redacted is ErrRedacted: what the journal holds of it is another action.
func Again(ctx context.Context, b *bundle.Bundle, v engine.View, path engine.Path, now int64) (*engine.Decision, error) {
	if path.Redacted {
		return nil, ErrRedacted
	}
	a, err := action.Decode(path.Canonical)
	if err != nil {
		return nil, err
	}
	known, unknown := episode.ReadFacts(path.Facts)
	rec, _ := engine.Step(ctx, b, v, &engine.Event{Op: engine.OpAttempt, Time: now, TraceID: a.TraceID, Call: a.CallHash, CallID: a.CallID,
		Attempt: engine.Attempt{Action: a, Facts: known, FactsUnknown: unknown, FactsHash: path.FactsHash, FactsText: path.Facts}})
	return rec.Decision, nil
}

// Bundle is the bundle in force; nil before the first activation.
func (f *Fold) Bundle() *bundle.Bundle { return f.bundle }

// Next folds one entry. The error is a *Problem when the entry does not follow
// from those before it.
func (f *Fold) Next(ctx context.Context, e journal.Entry) error {
	if err := f.next(ctx, e); err != nil {
		if lost := f.flush(); lost != nil {
			return errors.Join(err, lost)
		}
		return err
	}
	f.Seq, f.Head = e.Seq, e.Hash
	return nil
}

func (f *Fold) next(ctx context.Context, e journal.Entry) error {
	if f.start != nil {
		return f.resume(ctx, e)
	}
	if due := len(f.Due) > 0; due != (e.Op == OpReexamine) {
		return &Problem{e.Seq, Differs, fmt.Sprintf("%d calls are due to be looked at again, and the entry is of %s", len(f.Due), e.Op)}
	}
	switch e.Op {
	case OpReexamine:
		return f.again(ctx, e)
	case OpActivate:
		return f.activate(ctx, e)
	case OpRefused:
		return f.refused(e)
	case OpCheckpoint:
		return f.checkpoint(ctx, e)
	}
	if f.bundle == nil {
		return &Problem{e.Seq, BundleMissing, "no bundle was activated before"}
	}
	event, err := ReadEvent(e, f.bundle.Contract())
	if err != nil {
		return &Problem{e.Seq, Undecodable, err.Error()}
	}
	return f.step(ctx, e, event)
}

// refused holds the entry of refused input to its form.
func (f *Fold) refused(e journal.Entry) error {
	value, canonical, err := action.ParseEntry(e.Body)
	body, _ := value.(map[string]any)
	if err != nil || !bytes.Equal(canonical, e.Body) || len(body) != 4 {
		return &Problem{e.Seq, Undecodable, errors.Join(err, errNotCanonical).Error()}
	}
	for _, key := range []string{"digest", "length", "line", "pointer"} {
		if _, ok := body[key]; !ok {
			return &Problem{e.Seq, Undecodable, "the entry is not what refused input writes"}
		}
	}
	return f.keep(e, engine.Writes{Clock: e.Time})
}

// again looks at the next call that is due.
func (f *Fold) again(ctx context.Context, e journal.Entry) error {
	imposed, err := imposedOn(e.Body)
	if err != nil {
		return &Problem{e.Seq, Undecodable, err.Error()}
	}
	batch := f.begin()
	view := batch.View()
	event := episode.Again(view, f.Due[0])
	event.Attempt.Imposed = imposed
	if err := f.fold(ctx, batch, view, e, event); err != nil {
		return err
	}
	f.Due = f.Due[1:]
	return nil
}

func (f *Fold) step(ctx context.Context, e journal.Entry, event engine.Event) error {
	batch := f.begin()
	view := batch.View()
	if err := episode.Resolve(&event, view, f.bundle.Contract()); err != nil {
		return &Problem{e.Seq, Undecodable, err.Error()}
	}
	if event.Op.Judges() && signed(&event) && !Verified(f.bundle, view, event) {
		return &Problem{e.Seq, SignatureWrong, "the review's signature does not verify"}
	}
	if event.Op.Judges() && event.By != f.bundle.Identify(event.By.Name, signed(&event)) {
		return &Problem{e.Seq, IdentityWrong, "the bundle's reviewer list does not give the reviewer this role"}
	}
	if err := f.fold(ctx, batch, view, e, event); err != nil {
		return err
	}
	f.Due = f.Last.Due
	return nil
}

// fold derives an entry anew from its event and keeps what it does.
func (f *Fold) fold(ctx context.Context, batch *evidence.Batch, view *evidence.View, e journal.Entry, event engine.Event) error {
	rec, w := engine.Step(ctx, f.bundle, view, &event)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if event.Op.String() != e.Op || rec.Time != e.Time {
		return &Problem{e.Seq, Differs, fmt.Sprintf("the entry is of %s at %d, its event of %s at %d", e.Op, e.Time, event.Op, rec.Time)}
	}
	if err := f.compare(e, event, rec); err != nil {
		return err
	}
	if event.Op == engine.OpAttempt {
		f.Attempts++
		if len(event.Attempt.Imposed) > 0 {
			f.Imposed++
		}
	}
	rec.Stamp(e.Seq)
	w.Stamp(e.Seq)
	if err := batch.Apply(w); err != nil {
		return err
	}
	if err := f.folded(); err != nil {
		return err
	}
	f.Last = rec
	return nil
}

// compare derives the entry's body again. One whose arguments were redacted
// cannot be decided again: its chain was verified, and it is counted apart.
func (f *Fold) compare(e journal.Entry, event engine.Event, rec engine.Record) error {
	if event.Attempt.Recorded != nil {
		f.Redacted++
		return nil
	}
	var err error
	by := f.versionsOf(e.Body)
	f.scratch, err = AppendBody(f.scratch[:0], &event, &rec, f.bundle, by, nil)
	if err != nil {
		return &Problem{e.Seq, Undecodable, err.Error()}
	}
	if !bytes.Equal(f.scratch, e.Body) {
		return &Problem{e.Seq, Differs, "deciding again gives other bytes: " + difference(f.scratch, e.Body) + f.otherThan(by)}
	}
	return nil
}

// versionsOf reads the versions that an entry names: they are told, not
// derived, since another version may decide again.
func (f *Fold) versionsOf(body []byte) Versions {
	var v Versions
	var err error
	known := map[string]*string{"engine": &v.Engine, "opa": &v.OPA, "cel": &v.CEL}
	ok := members(body, func(key string, value []byte) {
		if to := known[key]; to != nil {
			err = errors.Join(err, json.Unmarshal(value, to))
		}
	})
	if !ok || err != nil {
		return f.versions
	}
	return v
}

// otherThan tells the versions that decided and those that decide again, where
// they are not the same: that alone may be why the bytes differ.
func (f *Fold) otherThan(by Versions) string {
	if by == f.versions {
		return ""
	}
	return fmt.Sprintf(" (decided by %s, again by %s)", by, f.versions)
}

// difference shows where two bodies part.
func difference(got, want []byte) string {
	i := 0
	for i < len(got) && i < len(want) && got[i] == want[i] {
		i++
	}
	from := max(0, i-40)
	show := func(b []byte) string { return string(b[min(from, len(b)):min(i+40, len(b))]) }
	return fmt.Sprintf("got ...%s..., the entry has ...%s...", show(got), show(want))
}

// NotLoaded is what an activate entry says of a bundle that did not load: it names
// none, asks nobody, and leaves the one before in force.
const NotLoaded = "not_loaded"

// Activation is the body of an activate entry.
func Activation(id engine.BundleID, by engine.Identity, invalid string) ([]byte, error) {
	return action.CanonicalValue(map[string]any{"bundle": id.Digest, "revision": id.Revision, "invalid": invalid,
		"by": map[string]any{"name": by.Name, "role": by.Role, "qualified": by.Qualified}})
}

// activation is the body of an activate entry.
type activation struct {
	Bundle   string
	Revision string
	By       engine.Identity
	Invalid  string
}

// activate puts a bundle in force, unless the entry says that it was refused.
func (f *Fold) activate(ctx context.Context, e journal.Entry) error {
	var a activation
	_, canonical, err := action.ParseEntry(e.Body)
	if err != nil || !bytes.Equal(canonical, e.Body) {
		return &Problem{e.Seq, Undecodable, errors.Join(err, errNotCanonical).Error()}
	}
	if err := json.Unmarshal(e.Body, &a); err != nil {
		return &Problem{e.Seq, Undecodable, err.Error()}
	}
	// Only the first activation has nobody behind it.
	if a.Invalid == NotLoaded {
		if f.bundle == nil || a.Bundle != "" || a.Revision != "" {
			return &Problem{e.Seq, Differs, "a bundle that did not load has no name, and there is one in force before"}
		}
	} else if f.bundle != nil {
		ok, _ := f.bundle.May(ctx, engine.AuthorityRequest{Op: engine.OpActivate, By: a.By})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if want := map[bool]string{true: "", false: "invalid_activate"}[ok]; a.Invalid != want {
			return &Problem{e.Seq, Differs, fmt.Sprintf("the acting bundle's authority gives %q, the entry has %q", want, a.Invalid)}
		}
	} else if a.By != (engine.Identity{}) || a.Invalid != "" {
		return &Problem{e.Seq, Differs, "the first activation names somebody"}
	}
	again, err := Activation(engine.BundleID{Digest: a.Bundle, Revision: a.Revision}, a.By, a.Invalid)
	if err != nil || !bytes.Equal(again, e.Body) {
		return &Problem{e.Seq, Differs, "the entry is not what an activation writes"}
	}
	if a.Invalid == "" {
		b, err := f.library(a.Bundle)
		if err != nil {
			return &Problem{e.Seq, BundleMissing, err.Error()}
		}
		if b.Bundle().Digest != a.Bundle {
			return &Problem{e.Seq, BundleWrong, fmt.Sprintf("the bundle has the digest %s, the entry names %s", b.Bundle().Digest, a.Bundle)}
		}
		if b.Bundle().Revision != a.Revision {
			return &Problem{e.Seq, BundleWrong, fmt.Sprintf("the bundle has the revision %q, the entry names %q", b.Bundle().Revision, a.Revision)}
		}
		f.bundle = b
	}
	return f.keep(e, engine.Writes{Clock: e.Time})
}

func (f *Fold) keep(e journal.Entry, w engine.Writes) error {
	w.Stamp(e.Seq)
	if err := f.begin().Apply(w); err != nil {
		return err
	}
	return f.folded()
}

// begin is the batch that entries are folded into.
func (f *Fold) begin() *evidence.Batch {
	if f.batch == nil {
		f.batch = f.Store.Begin()
	}
	return f.batch
}

// folded ends an entry: its writes are visible at once, or with those of the next
// ones.
func (f *Fold) folded() error {
	if f.pending++; f.pending < f.together {
		return nil
	}
	return f.flush()
}

// flush makes everything visible that was folded.
func (f *Fold) flush() error {
	if f.batch == nil {
		return nil
	}
	err := f.batch.Commit()
	f.batch, f.pending = nil, 0
	return err
}
