package reexam

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/conjunct-project/conjunct/bundle"
	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/episode"
	"github.com/conjunct-project/conjunct/evidence"
	"github.com/conjunct-project/conjunct/journal"
)

// Options of a replay.
type Options struct {
	// Head is the hash of an entry that must be in the journal; empty: any.
	Head string
	// Against is a bundle to decide everything under as well; nil: none.
	Against *bundle.Bundle
	// Progress is called now and then with the number of entries so far.
	Progress func(entries int)
	Versions Versions
}

// Report is what a replay found.
type Report struct {
	Entries   int `json:"entries"`
	Attempts  int `json:"attempts"`
	Redecided int `json:"redecided"`
	Imposed   int `json:"imposed"`
	// Redacted attempts are verified and cannot be decided again.
	Redacted int `json:"redacted,omitempty"`
	// Checkpoints named the state that the fold gives; Unread ones were written in
	// another form by another version.
	Checkpoints int       `json:"checkpoints,omitempty"`
	Unread      int       `json:"checkpoints_unread,omitempty"`
	Head        string    `json:"head"`
	OK          bool      `json:"ok"`
	Problems    []Problem `json:"problems"`
	Changes     []Change  `json:"changes"`
	// Due is how many calls the last entries make due to be looked at again and the
	// journal does not hold: it was cut short, and opening the state appends them.
	Due int `json:"due,omitempty"`
	// Torn tells that the last line has no newline; it is left as it is.
	Torn string `json:"torn,omitempty"`
}

// Change is a call whose outcome would be another under the other bundle.
type Change struct {
	TraceID string         `json:"trace_id"`
	CallID  string         `json:"call_id"`
	Was     engine.Outcome `json:"was"`
	Now     engine.Outcome `json:"now"`
	// Cause is the gate or floor that moved.
	Cause string `json:"cause"`
	Seq   uint64 `json:"seq"`
}

// NewlyAllowed reports whether the call would run that did not.
func (c Change) NewlyAllowed() bool { return c.Now == engine.Allow && c.Was != engine.Allow }

// LibraryBeside reads bundles from beside a journal, each once.
func LibraryBeside(path string) Library {
	dir := path
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		dir = filepath.Dir(path)
	}
	loaded := map[string]*bundle.Bundle{}
	return func(digest string) (*bundle.Bundle, error) {
		if b, ok := loaded[digest]; ok {
			return b, nil
		}
		b, err := bundle.Read(filepath.Join(dir, "bundles", strings.TrimPrefix(digest, "sha256:")+".tar.gz"))
		if err == nil {
			loaded[digest] = b
		}
		return b, err
	}
}

// Holds reports whether there is a journal at a path.
func Holds(path string) bool {
	files, err := journal.Segments(path)
	return err == nil && len(files) > 0
}

// Replay verifies the chain of a journal, folds it again and decides every
// attempt anew: the canonical bytes must be equal. It stops at the first entry
// that does not follow from those before it. Nothing is written.
func Replay(ctx context.Context, path string, o Options) (Report, error) {
	r := Report{Problems: []Problem{}, Changes: []Change{}}
	fold := NewFold(LibraryBeside(path), o.Versions)
	fold.together = many
	other := &backtest{bundle: o.Against, store: evidence.New()}
	headSeen := o.Head == ""
	chain, err := journal.Walk(path, func(e journal.Entry) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		headSeen = headSeen || e.Hash == o.Head
		if err := fold.Next(ctx, e); err != nil {
			return err
		}
		if r.Entries++; o.Progress != nil && r.Entries%1024 == 0 {
			o.Progress(r.Entries)
		}
		return other.next(ctx, e, fold, &r)
	})
	r.Due = len(fold.Due)
	r.Attempts, r.Redecided, r.Imposed, r.Redacted, r.Head = fold.Attempts, fold.Attempts-fold.Redacted, fold.Imposed, fold.Redacted, chain.Hash
	r.Checkpoints, r.Unread = fold.Checkpoints, fold.Unread
	if err := r.fault(err); err != nil {
		return r, err
	}
	if !headSeen {
		r.Problems = append(r.Problems, Problem{chain.Seq, "head_missing", "the journal does not hold the entry " + o.Head})
	}
	slices.SortStableFunc(r.Changes, func(a, b Change) int {
		switch {
		case a.NewlyAllowed() == b.NewlyAllowed():
			return 0
		case a.NewlyAllowed():
			return -1
		}
		return 1
	})
	r.OK = len(r.Problems) == 0
	return r, nil
}

// fault turns what stopped the walk into a problem of the report; what is none
// is an error.
func (r *Report) fault(err error) error {
	if torn := tornTail(err); torn != nil {
		r.Torn = torn.Text
		return nil
	}
	if problem := ProblemOf(err); problem != nil {
		r.Problems = append(r.Problems, *problem)
		return nil
	}
	return err
}

// backtest folds the same events under another bundle, on a state of its own.
type backtest struct {
	bundle *bundle.Bundle
	store  *evidence.Store
}

func (b *backtest) next(ctx context.Context, e journal.Entry, fold *Fold, r *Report) error {
	if b.bundle == nil || e.Op == OpActivate || e.Op == OpRefused || e.Op == OpReexamine || e.Op == OpCheckpoint {
		return nil
	}
	event, err := ReadEvent(e, fold.bundle.Contract())
	if err != nil {
		return &Problem{e.Seq, Undecodable, err.Error()}
	}
	batch := b.store.Begin()
	defer batch.Abort()
	view := batch.View()
	if err := episode.Resolve(&event, view, fold.bundle.Contract()); err != nil {
		return nil // the call was never proposed under this bundle
	}
	if event.Op.Judges() {
		event.By = b.bundle.Identify(event.By.Name, signed(&event))
	}
	rec, err := b.fold(ctx, batch, view, e.Seq, event)
	if err != nil {
		return err
	}
	// What the other bundle makes due need not be what is in the journal.
	for _, due := range rec.Due {
		if _, err := b.fold(ctx, batch, batch.View(), e.Seq, episode.Again(batch.View(), due)); err != nil {
			return err
		}
	}
	if err := batch.Commit(); err != nil {
		return err
	}
	if rec.Decision != nil && fold.Last.Decision != nil && rec.Decision.Outcome != fold.Last.Decision.Outcome {
		r.Changes = append(r.Changes, change(e.Seq, fold.Last.Decision, rec.Decision))
	}
	return nil
}

func (b *backtest) fold(ctx context.Context, batch *evidence.Batch, view *evidence.View, seq uint64, event engine.Event) (engine.Record, error) {
	rec, w := engine.Step(ctx, b.bundle, view, &event)
	rec.Stamp(seq)
	w.Stamp(seq)
	return rec, batch.Apply(w)
}

func change(seq uint64, was, now *engine.Decision) Change {
	c := Change{TraceID: was.TraceID, CallID: was.CallID, Was: was.Outcome, Now: now.Outcome, Seq: seq, Cause: now.Cause}
	if c.Cause == "" {
		c.Cause = was.Cause
	}
	for _, d := range []*engine.Decision{now, was} {
		if d == was && now.Outcome < was.Outcome {
			break // a floor that is gone made nothing stricter
		}
		for _, f := range d.Floors {
			applied := func(other *engine.Decision) bool {
				return slices.ContainsFunc(other.Floors, func(g engine.Floor) bool { return g.Name == f.Name && g.Applied })
			}
			if f.Applied && applied(now) != applied(was) {
				c.Cause = "floor " + f.Name
				return c
			}
		}
	}
	return c
}
