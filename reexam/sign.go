package reexam

import (
	"cmp"
	"crypto/ed25519"
	"encoding/base64"

	"github.com/conjunct-project/conjunct/action"
	"github.com/conjunct-project/conjunct/bundle"
	"github.com/conjunct-project/conjunct/engine"
)

// Subject is what a review is about: the request and the rejection that stand
// for a call.
type Subject struct {
	Call      string
	Request   *engine.Request
	Rejection uint64 // seq of the standing rejection; 0 for none
}

// SubjectOf reads the subject of a review from the state.
func SubjectOf(v engine.View, trace, call string) Subject {
	path := v.Path(trace, call)
	s := Subject{Call: call, Request: path.Request}
	if r, ok := v.Rejection(cmp.Or(path.Same, call)); ok {
		s.Rejection = r.Seq
	}
	return s
}

// Reviewed is what a reviewer signs: the subject, the facts and the bundle it
// was shown with, and the answer.
func (s Subject) Reviewed(e engine.Event) ([]byte, error) {
	tree := map[string]any{"request": 0.0, "rejection": float64(s.Rejection), "call_hash": s.Call, "facts_hash": "", "bundle": "", "reviewer": e.By.Name}
	if r := s.Request; r != nil {
		tree["request"], tree["facts_hash"], tree["bundle"] = float64(r.Seq), r.Saw.Facts, r.Saw.Bundle
	}
	if e.Op == engine.OpReview {
		tree["outcome"], tree["code"], tree["gates"], tree["note"] = e.Review.Outcome.String(), e.Review.Code, texts(e.Review.Gates), e.Review.Note
	} else {
		a := e.Answer
		tree["outcome"], tree["trace_id"], tree["note"], tree["with"] = e.Op.String(), e.TraceID, a.Note, a.With
		tree["item"] = map[string]any{"kind": a.Item.Kind, "value": a.Item.Value}
	}
	return action.CanonicalValue(tree)
}

// Sign signs a review, or another answer of a reviewer, with the reviewer's key.
func Sign(key ed25519.PrivateKey, s Subject, e engine.Event) (string, error) {
	text, err := s.Reviewed(e)
	if err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(ed25519.Sign(key, text)), nil
}

// signed reports whether the event says that its signature was verified.
func signed(e *engine.Event) bool { return e.Review.Signed || e.Answer.Signed }

// Verified reports whether a reviewer's word carries the signature of the
// reviewer it names, over what stands in the state now.
func Verified(b *bundle.Bundle, v engine.View, event engine.Event) bool {
	who, ok := b.Reviewer(event.By.Name)
	text := event.Review.Signature
	if event.Op != engine.OpReview {
		text = event.Answer.Signature
	}
	if !ok || who.Key == nil || text == "" {
		return false
	}
	signature, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return false
	}
	reviewed, err := SubjectOf(v, event.TraceID, event.Call).Reviewed(event)
	return err == nil && ed25519.Verify(who.Key, reviewed, signature)
}
