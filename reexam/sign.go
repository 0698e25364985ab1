package reexam

import (
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
	s := Subject{Call: call, Request: v.Path(trace, call).Request}
	if r, ok := v.Rejection(call); ok {
		s.Rejection = r.Seq
	}
	return s
}

// Reviewed is what a reviewer signs: the subject, the facts and the bundle it
// was shown with, and the answer.
func (s Subject) Reviewed(reviewer string, e engine.ReviewEvent) ([]byte, error) {
	tree := map[string]any{"request": 0.0, "rejection": float64(s.Rejection), "call_hash": s.Call, "facts_hash": "", "bundle": "",
		"outcome": e.Outcome.String(), "reviewer": reviewer, "code": e.Code, "gates": texts(e.Gates), "note": e.Note}
	if r := s.Request; r != nil {
		tree["request"], tree["facts_hash"], tree["bundle"] = float64(r.Seq), r.Saw.Facts, r.Saw.Bundle
	}
	return action.CanonicalValue(tree)
}

// Sign signs a review with a reviewer's key.
func Sign(key ed25519.PrivateKey, s Subject, reviewer string, e engine.ReviewEvent) (string, error) {
	text, err := s.Reviewed(reviewer, e)
	if err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(ed25519.Sign(key, text)), nil
}

// Verified reports whether a review carries the signature of the reviewer it
// names, over what stands in the state now.
func Verified(b *bundle.Bundle, v engine.View, event engine.Event) bool {
	who, ok := b.Reviewer(event.By.Name)
	if !ok || who.Key == nil || event.Review.Signature == "" {
		return false
	}
	signature, err := base64.StdEncoding.DecodeString(event.Review.Signature)
	if err != nil {
		return false
	}
	text, err := SubjectOf(v, event.TraceID, event.Call).Reviewed(event.By.Name, event.Review)
	return err == nil && ed25519.Verify(who.Key, text, signature)
}
