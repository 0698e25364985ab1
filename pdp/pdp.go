package pdp

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/conjunct-project/conjunct/bundle"
	"github.com/conjunct-project/conjunct/cel"
	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/evidence"
	"github.com/conjunct-project/conjunct/journal"
	"github.com/conjunct-project/conjunct/reexam"
	"github.com/conjunct-project/conjunct/rego"
	"github.com/conjunct-project/conjunct/signals"
)

// Release is the version of the engine, as entries name it.
const Release = "0.1.0"

// Versions are the programs of this build.
func Versions() reexam.Versions {
	return reexam.Versions{Engine: Release, OPA: rego.Version(), CEL: cel.Version()}
}

// Options are what Open needs besides the directory. The zero value works.
type Options struct {
	// Now is the clock, in whole seconds; nil is the system's. A decision's clock
	// never goes below the last entry, whatever this returns.
	Now func() int64
	// Timeout bounds one decision; 0 is two seconds. At the deadline what is not
	// evaluated is Unknown.
	Timeout time.Duration
	// Segment is the size at which a journal segment closes; 0 is 256 MiB.
	Segment int64
	// World is where the agent's paths and commands would act, for facts. With the
	// zero value nothing can be looked up, and what depends on it is unknown.
	World signals.World
	// RedactionKey is the outside key of the HMACs that stand for redacted
	// arguments. Without it a call that has one is not decided.
	RedactionKey []byte
}

// PDP is an open state directory. It is safe for concurrent use.
type PDP struct {
	dir         string
	options     Options
	versions    reexam.Versions
	store       *evidence.Store
	log         *journal.Log
	append      func([]journal.Draft) ([]journal.Entry, error)
	bundle      atomic.Pointer[bundle.Bundle]
	requests    chan *request
	subscribers subscribers
	buffers     buffers
	mu          sync.RWMutex // guards closed against sends
	closed      bool
	done        chan struct{}
	// Cut is how many bytes of a torn tail were removed when the state was opened.
	Cut int64
	// Started is the entry whose stored state it was opened from; 0: all entries
	// were decided again.
	Started uint64
	// redacted is set once a call with redacted arguments was decided: what is in
	// memory is then not what the journal gives.
	redacted atomic.Bool
	// callers is how many answers are being waited for.
	callers atomic.Int64
	// turns bounds how many of the callers decide at once. A thread is left for the
	// committer and the disk: whoever waits behind a hundred decisions for one keeps
	// all of them waiting.
	turns    chan struct{}
	answered requests
}

// ErrClosed is a decision point that was closed, or whose journal failed.
var ErrClosed = errors.New("pdp: closed")

// ErrLocked is a state directory that another process has open.
var ErrLocked = journal.ErrLocked

// ErrUnwritten is an entry that could not be written. Nothing more is decided
// before the directory is opened again.
var ErrUnwritten = journal.ErrPoisoned

// ErrNoState is a directory that holds no state.
var ErrNoState = errors.New("pdp: no state here; make one with `conjunct state init DIR --bundle B`")

// ErrNotEmpty is a directory that holds something already, where Init is to make a
// state.
var ErrNotEmpty = errors.New("pdp: the directory is not empty")

// Init makes a state directory with a bundle in force. The directory must be
// empty or absent.
func Init(dir string, b *bundle.Bundle, now int64) error {
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return fmt.Errorf("%w (%s)", ErrNotEmpty, dir)
	}
	if err := os.MkdirAll(filepath.Join(dir, "bundles"), 0o700); err != nil {
		return err
	}
	if err := keepBundle(dir, b); err != nil {
		return err
	}
	if err := journal.Create(dir); err != nil {
		return err
	}
	log, err := journal.Open(dir, 0, func(journal.Entry) error { return nil })
	if err != nil {
		return err
	}
	body, err := reexam.Activation(b.Bundle(), engine.Identity{}, "")
	if err != nil {
		return errors.Join(err, log.Close())
	}
	_, err = log.Append([]journal.Draft{{Time: now, Op: reexam.OpActivate, Body: body}})
	return errors.Join(err, log.Close())
}

// bundleFile is where a state directory keeps a bundle.
func bundleFile(dir, digest string) string {
	return filepath.Join(dir, "bundles", strings.TrimPrefix(digest, "sha256:")+".tar.gz")
}

// keepBundle stores a bundle by its digest, unless it is there.
func keepBundle(dir string, b *bundle.Bundle) error {
	path := bundleFile(dir, b.Bundle().Digest)
	if have, err := bundle.Read(path); err == nil && have.Bundle().Digest == b.Bundle().Digest {
		return nil
	}
	f, err := os.CreateTemp(filepath.Dir(path), "new-*")
	if err != nil {
		return err
	}
	if err := errors.Join(b.WriteTarball(f), f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	if back, err := bundle.Read(f.Name()); err != nil || back.Bundle().Digest != b.Bundle().Digest {
		return errors.Join(errors.New("pdp: the bundle could not be written so that it reads back the same"), err, os.Remove(f.Name()))
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// Open locks a state directory and folds its journal. The chain is verified from
// the first entry. Every attempt behind the last checkpoint, or every one where
// there is none, is decided again on the way; one that does not give the same
// bytes keeps the directory from being opened. A stored state that the checkpoint's
// entry does not name counts as none.
func Open(dir string, o Options) (*PDP, error) {
	if o.Now == nil {
		o.Now = func() int64 { return time.Now().Unix() }
	}
	if o.Timeout == 0 {
		o.Timeout = 2 * time.Second
	}
	files, err := journal.Segments(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%w (%s)", ErrNoState, dir)
	}
	var log *journal.Log
	cut := int64(0)
	fold, err := reexam.Resume(dir, Versions(), func(visit func(context.Context, journal.Entry) error) (err error) {
		if log != nil {
			if err := log.Close(); err != nil {
				return err
			}
		}
		log, err = journal.Open(dir, o.Segment, func(e journal.Entry) error { return visit(context.Background(), e) })
		if err == nil {
			cut += log.Cut
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if fold.Bundle() == nil {
		return nil, errors.Join(fmt.Errorf("%w (%s: no bundle was activated)", ErrNoState, dir), log.Close())
	}
	p := &PDP{dir: dir, options: o, versions: Versions(), store: fold.Store, log: log, append: log.Append, requests: make(chan *request, 1024), done: make(chan struct{}), Cut: cut, Started: fold.Started}
	p.turns = make(chan struct{}, max(1, runtime.GOMAXPROCS(0)-1))
	p.bundle.Store(fold.Bundle())
	if err := p.finish(fold.Due); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	go p.commit()
	return p, nil
}

// Close waits for what was asked before and gives the directory back.
func (p *PDP) Close() error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil
	}
	p.closed = true
	close(p.requests)
	p.mu.Unlock()
	<-p.done
	return p.log.Close()
}

// Bundle is the bundle in force.
func (p *PDP) Bundle() *bundle.Bundle { return p.bundle.Load() }

// Snapshot is the evidence state as it is now.
func (p *PDP) Snapshot() *evidence.View { return p.store.Snapshot() }

// ask sends a request that is not an attempt.
func (p *PDP) ask(ask request) (*request, error) {
	p.callers.Add(1)
	defer p.callers.Add(-1)
	ask.done = make(chan struct{}, 1)
	return &ask, p.send(&ask)
}

// send hands a request to the committer and waits for its answer. An answer
// that was made is always waited for: it is on disk then.
func (p *PDP) send(r *request) error {
	p.mu.RLock()
	if p.closed {
		p.mu.RUnlock()
		return ErrClosed
	}
	p.requests <- r
	p.mu.RUnlock()
	<-r.done
	return r.err
}
