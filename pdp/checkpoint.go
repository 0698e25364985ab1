package pdp

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/conjunct-project/conjunct/bundle"
	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/evidence"
	"github.com/conjunct-project/conjunct/reexam"
)

// ErrRedacted is a state that cannot be stored as it is in memory.
var ErrRedacted = errors.New("pdp: calls with redacted arguments were decided since the state was opened; close and open it first")

// Checkpoint stores the state beside the journal and journals its digest, signed
// with the key of one of the bundle's reviewers, or unsigned with nil. The next
// Open starts from it. Decisions wait meanwhile. A refusal by authority is
// journalled too and is an error.
func (p *PDP) Checkpoint(ctx context.Context, by engine.Identity, key ed25519.PrivateKey) (reexam.Checkpoint, error) {
	var c reexam.Checkpoint
	var refused error
	_, err := p.ask(request{now: p.options.Now(), alone: true, draft: func(at place) (string, []byte, *bundle.Bundle, error) {
		c, refused = reexam.Checkpoint{By: by, Engine: p.versions.Engine, Form: evidence.Form(), Seq: at.seq}, nil
		if p.redacted.Load() {
			return "", nil, nil, ErrRedacted
		}
		_, c.Head = p.log.Head()
		if err := p.keepState(&c, at); err != nil {
			return "", nil, nil, err
		}
		if key != nil {
			if err := c.Sign(at.acting, key); err != nil {
				return "", nil, nil, err
			}
		}
		ctx, cancel := context.WithTimeout(ctx, p.options.Timeout)
		defer cancel()
		ok, why := at.acting.May(ctx, c.Asked())
		if ctx.Err() != nil {
			// Authority that ran out of time is not authority that refused.
			return "", nil, nil, fmt.Errorf("pdp: the checkpoint was not decided in time: %w", ctx.Err())
		}
		if !ok {
			c.Invalid = "invalid_checkpoint"
			refused = errors.Join(fmt.Errorf("pdp: no checkpoint was made: %s", why.Text), os.Remove(reexam.StateFile(p.dir, c.Seq)))
		}
		body, err := c.Body()
		return reexam.OpCheckpoint, body, nil, err
	}})
	if err == nil && refused == nil {
		err = p.dropStates(c.Seq)
	}
	return c, errors.Join(err, refused)
}

// dropStates removes stored states that are older than one that is journalled:
// nothing starts from them any more.
func (p *PDP) dropStates(keep uint64) error {
	stored, err := reexam.Stored(p.dir)
	for _, seq := range stored {
		if seq >= keep {
			continue
		}
		if gone := os.Remove(reexam.StateFile(p.dir, seq)); !errors.Is(gone, os.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return err
}

// keepState writes the state that a checkpoint names, and its digest into it. It
// counts only once the checkpoint's entry is on disk.
func (p *PDP) keepState(c *reexam.Checkpoint, at place) error {
	file := reexam.StateFile(p.dir, c.Seq)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(file), "new-*")
	if err != nil {
		return err
	}
	c.State, err = reexam.WriteState(f, c.Seq, c.Head, at.acting, at.view)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	if err := os.Rename(f.Name(), file); err != nil {
		return err
	}
	return syncDir(filepath.Dir(file))
}

// syncDir makes the names in a directory durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
