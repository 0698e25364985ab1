package reexam

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/conjunct-project/conjunct/action"
	"github.com/conjunct-project/conjunct/bundle"
	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/evidence"
	"github.com/conjunct-project/conjunct/journal"
)

// OpCheckpoint names the state that a journal gives up to the entry before.
const OpCheckpoint = "checkpoint"

// Checkpoint is the body of such an entry.
type Checkpoint struct {
	// Seq and Head are the number and hash of the entry before.
	Seq  uint64
	Head string
	// State is the digest of the state there, as WriteState writes it.
	State string
	// Engine and Form say which program wrote the state, and in which form.
	Engine string
	Form   string
	By     engine.Identity
	// Signer is who of the bundle's reviewer list signed; empty: nobody.
	Signer    string
	Signature string
	Invalid   string // invalid_checkpoint, where authority refused it
}

// Body is the canonical body of the entry.
func (c Checkpoint) Body() ([]byte, error) {
	return action.CanonicalValue(map[string]any{"seq": float64(c.Seq), "head": c.Head, "state": c.State, "engine": c.Engine, "form": c.Form,
		"signer": c.Signer, "signature": c.Signature, "invalid": c.Invalid,
		"by": map[string]any{"name": c.By.Name, "role": c.By.Role, "qualified": c.By.Qualified}})
}

// signed is what a signature is over.
func (c Checkpoint) signed() ([]byte, error) {
	return action.CanonicalValue(map[string]any{"op": OpCheckpoint, "seq": float64(c.Seq), "head": c.Head, "state": c.State, "form": c.Form, "signer": c.Signer})
}

// Sign signs a checkpoint with a key that the bundle's reviewer list holds.
func (c *Checkpoint) Sign(b *bundle.Bundle, key ed25519.PrivateKey) error {
	name, ok := b.ReviewerWith(key.Public().(ed25519.PublicKey))
	if !ok {
		return ErrNotListed
	}
	c.Signer = name
	text, err := c.signed()
	c.Signature = base64.StdEncoding.EncodeToString(ed25519.Sign(key, text))
	return err
}

// ErrNotListed is a key that the reviewer list of the bundle in force lacks.
var ErrNotListed = errors.New("reexam: no reviewer of the bundle in force has this key")

// verified reports whether a checkpoint is unsigned, or signed by whom it says.
func (c Checkpoint) verified(b *bundle.Bundle) bool {
	if c.Signer == "" && c.Signature == "" {
		return true
	}
	who, ok := b.Reviewer(c.Signer)
	signature, err := base64.StdEncoding.DecodeString(c.Signature)
	if !ok || who.Key == nil || err != nil {
		return false
	}
	text, err := c.signed()
	return err == nil && ed25519.Verify(who.Key, text, signature)
}

// Asked is what the authority rule sees of a checkpoint.
func (c Checkpoint) Asked() engine.AuthorityRequest {
	return engine.AuthorityRequest{Op: engine.OpCheckpoint, By: c.By, Signed: c.Signer != ""}
}

// readCheckpoint reads the body of an entry; what it gives would be written the
// same.
func readCheckpoint(body []byte) (Checkpoint, error) {
	var c Checkpoint
	if err := json.Unmarshal(body, &c); err != nil {
		return c, err
	}
	again, err := c.Body()
	if err == nil && !bytes.Equal(again, body) {
		err = errNotCanonical
	}
	return c, err
}

// stateHead is the first line of a stored state.
type stateHead struct {
	Bundle string `json:"bundle"` // in force
	Head   string `json:"head"`
	Seq    uint64 `json:"seq"`
}

// WriteState writes the state after an entry, with the bundle in force, and gives
// its digest.
func WriteState(w io.Writer, seq uint64, head string, b *bundle.Bundle, v *evidence.View) (string, error) {
	sum := sha256.New()
	out := io.MultiWriter(sum, w)
	err := json.NewEncoder(out).Encode(stateHead{b.Bundle().Digest, head, seq})
	if err == nil {
		err = v.Save(out)
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil)), err
}

// checkpoint holds an entry to what the fold has come to.
func (f *Fold) checkpoint(ctx context.Context, e journal.Entry) error {
	if f.bundle == nil {
		return &Problem{e.Seq, BundleMissing, "no bundle was activated before"}
	}
	c, err := readCheckpoint(e.Body)
	if err != nil {
		return &Problem{e.Seq, Undecodable, err.Error()}
	}
	if err := f.authorised(ctx, e, c); err != nil {
		return err
	}
	if c.Form != evidence.Form() {
		// Another version wrote down more or less than this one knows.
		f.Unread++
		return f.keep(e, engine.Writes{Clock: e.Time})
	}
	state, err := WriteState(io.Discard, c.Seq, c.Head, f.bundle, f.begin().View())
	if err != nil {
		return err
	}
	if state != c.State {
		return &Problem{e.Seq, StateDiffers, fmt.Sprintf("the fold gives the state %s, the entry names %s", state, c.State)}
	}
	f.Checkpoints++
	return f.keep(e, engine.Writes{Clock: e.Time})
}

// authorised holds a checkpoint to its place, to the authority rule and to its
// signature.
func (f *Fold) authorised(ctx context.Context, e journal.Entry, c Checkpoint) error {
	if c.Seq != e.Seq-1 || c.Head != e.Prev {
		return &Problem{e.Seq, Differs, "the checkpoint is not of the entry before it"}
	}
	ok, _ := f.bundle.May(ctx, c.Asked())
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if want := map[bool]string{true: "", false: "invalid_checkpoint"}[ok]; c.Invalid != want {
		return &Problem{e.Seq, Differs, fmt.Sprintf("the bundle's authority gives %q, the entry has %q", want, c.Invalid)}
	}
	if !c.verified(f.bundle) {
		return &Problem{e.Seq, SignatureWrong, "the checkpoint's signature does not verify"}
	}
	return nil
}

// StateFile is where a state directory keeps the state after an entry.
func StateFile(dir string, seq uint64) string {
	return filepath.Join(dir, "checkpoints", strconv.FormatUint(seq, 10)+".jsonl")
}

// Stored lists the entries whose state a directory keeps, in plain files: reading
// anything else could never end.
func Stored(dir string) (out []uint64, err error) {
	files, err := os.ReadDir(filepath.Join(dir, "checkpoints"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	for _, f := range files {
		number, isState := strings.CutSuffix(f.Name(), ".jsonl")
		if seq, err := strconv.ParseUint(number, 10, 64); isState && err == nil && f.Type().IsRegular() {
			out = append(out, seq)
		}
	}
	return out, err
}

// start is a stored state that a fold may start from, read while the chain of
// the journal is verified.
type start struct {
	head  stateHead
	state string // its digest
	store *evidence.Store
	err   error
	read  chan struct{} // closed once the rest is there
	seq   uint64
}

// startAt begins to read a stored state.
func startAt(dir string, seq uint64) *start {
	s := &start{seq: seq, read: make(chan struct{})}
	go func() {
		defer close(s.read)
		s.err = s.load(StateFile(dir, seq))
	}()
	return s
}

func (s *start) load(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	s.state = action.Hash(text)
	first, rest, _ := bytes.Cut(text, []byte("\n"))
	if err := json.Unmarshal(first, &s.head); err != nil {
		return err
	}
	s.store, err = evidence.Load(rest)
	return err
}

// errNoStart is a stored state that the journal does not name, or that cannot be
// read. Nothing is wrong with the journal then.
var errNoStart = errors.New("reexam: the stored state is not that of the journal")

// resume passes over the entries that a stored state stands for. Their chain is
// verified by whoever reads them; what they hold is not decided again. The state
// counts only if the entry behind them names it.
func (f *Fold) resume(ctx context.Context, e journal.Entry) error {
	s := f.start
	if e.Seq <= s.seq {
		return nil
	}
	<-s.read
	c, err := readCheckpoint(e.Body)
	named := err == nil && e.Op == OpCheckpoint && c.Invalid == "" && c.State == s.state && c.Seq == s.seq &&
		c.Form == evidence.Form() && c.Engine == f.versions.Engine
	if !named || s.err != nil || s.head.Seq != c.Seq || s.head.Head != c.Head {
		return errors.Join(errNoStart, s.err)
	}
	b, err := f.library(s.head.Bundle)
	if err != nil || b.Bundle().Digest != s.head.Bundle {
		return errors.Join(errNoStart, err)
	}
	f.Store, f.bundle, f.start = s.store, b, nil
	if err := f.authorised(ctx, e, c); err != nil {
		return errors.Join(errNoStart, err)
	}
	f.Started = c.Seq
	return f.keep(e, engine.Writes{Clock: e.Time})
}

// Resume folds a journal beside which states are kept, from the last of them if
// the journal names it. walk verifies the chain from the first entry and calls
// visit for each; it is called again, for a fold of everything, where the stored
// state does not fit in any way: what it would hide is told then.
func Resume(path string, v Versions, walk func(visit func(context.Context, journal.Entry) error) error) (*Fold, error) {
	dir := path
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		dir = filepath.Dir(path)
	}
	// A directory that cannot be listed keeps nothing to start from.
	if stored, _ := Stored(dir); len(stored) > 0 {
		f := NewFold(LibraryBeside(path), v)
		last := startAt(dir, slices.Max(stored))
		f.start = last
		err := f.all(walk)
		<-last.read
		var problem *Problem
		if f.start == nil && !errors.Is(err, errNoStart) && !errors.As(err, &problem) {
			return f, err
		}
	}
	f := NewFold(LibraryBeside(path), v)
	return f, f.all(walk)
}

// many is how many entries of a whole journal become visible together.
const many = 64

// all folds everything that walk visits.
func (f *Fold) all(walk func(visit func(context.Context, journal.Entry) error) error) error {
	f.together = many
	defer func() { f.together = 0 }()
	err := walk(f.Next)
	if lost := f.flush(); err == nil {
		err = lost
	}
	return err
}
