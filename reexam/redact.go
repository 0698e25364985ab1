package reexam

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/conjunct-project/conjunct/action"
	"github.com/conjunct-project/conjunct/engine"
)

// ErrNoKey is a call whose arguments have to be redacted, without a key to do it
// with.
var ErrNoKey = errors.New("reexam: the contract redacts an argument of this tool, and no redaction key was given")

// redaction says which arguments of an action never reach the journal, and the
// outside key under which a digest of each is kept.
type redaction struct {
	names []string
	key   []byte
}

// redactionOf is what the contract redacts of an action; nil for nothing.
func redactionOf(c *engine.Contract, a engine.Action, key []byte) (*redaction, error) {
	var names []string
	for _, name := range c.Redact[a.Tool] {
		if _, given := a.Arguments[name]; given {
			names = append(names, name)
		}
	}
	switch {
	case len(names) == 0:
		return nil, nil
	case len(key) == 0:
		return nil, ErrNoKey
	}
	slices.Sort(names)
	return &redaction{names: names, key: key}, nil
}

// action is the canonical action with the values replaced by their HMAC.
func (r *redaction) action(a engine.Action) ([]byte, error) {
	value, _, err := action.Parse(a.Canonical)
	if err != nil {
		return nil, err
	}
	whole, _ := value.(map[string]any)
	arguments := maps.Clone(a.Arguments)
	for _, name := range r.names {
		text, err := action.CanonicalValue(arguments[name])
		if err != nil {
			return nil, err
		}
		mac := hmac.New(sha256.New, r.key)
		mac.Write(text)
		arguments[name] = map[string]any{"hmac-sha256": hex.EncodeToString(mac.Sum(nil))}
	}
	whole["arguments"] = arguments
	return action.CanonicalValue(whole)
}

// hides reports whether a fact shows a redacted value.
func (r *redaction) hides(path string) bool {
	if r == nil {
		return false
	}
	if path == "/action" || path == "/action/arguments" {
		return true
	}
	return slices.ContainsFunc(r.names, func(name string) bool {
		p := engine.Pointer("action", "arguments", name)
		return path == p || strings.HasPrefix(path, p+"/")
	})
}

func (r *redaction) list() []string {
	if r == nil {
		return nil
	}
	return r.names
}
