package reexam

import (
	"crypto/ed25519"
	"encoding/base64"

	"github.com/conjunct-project/conjunct/action"
	"github.com/conjunct-project/conjunct/bundle"
	"github.com/conjunct-project/conjunct/engine"
)

// Reviewed is what a reviewer signs: the request, the content of the call, the
// facts and the bundle it was shown with, and the answer.
func Reviewed(r *engine.Request, call, reviewer string, e engine.ReviewEvent) ([]byte, error) {
	tree := map[string]any{"request": 0.0, "call_hash": call, "facts_hash": "", "bundle": "", "outcome": e.Outcome.String(),
		"reviewer": reviewer, "code": e.Code, "gates": texts(e.Gates)}
	if r != nil {
		tree["request"], tree["facts_hash"], tree["bundle"] = float64(r.Seq), r.Saw.Facts, r.Saw.Bundle
	}
	return action.CanonicalValue(tree)
}

// Sign signs a review with a reviewer's key.
func Sign(key ed25519.PrivateKey, r *engine.Request, call, reviewer string, e engine.ReviewEvent) (string, error) {
	text, err := Reviewed(r, call, reviewer, e)
	if err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(ed25519.Sign(key, text)), nil
}

// Verified reports whether a review carries the signature of the reviewer it
// names, over what stands in the state now.
func Verified(b *bundle.Bundle, path engine.Path, event engine.Event) bool {
	who, ok := b.Reviewer(event.By.Name)
	if !ok || who.Key == nil || event.Review.Signature == "" {
		return false
	}
	signature, err := base64.StdEncoding.DecodeString(event.Review.Signature)
	if err != nil {
		return false
	}
	text, err := Reviewed(path.Request, event.Call, event.By.Name, event.Review)
	return err == nil && ed25519.Verify(who.Key, text, signature)
}
