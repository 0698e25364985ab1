package bundle

import (
	"cmp"
	"crypto/ed25519"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/conjunct-project/conjunct/datafile"
	"github.com/conjunct-project/conjunct/engine"
)

// Reviewer is one entry of the bundle's reviewer list, in
// conjunct/authority/data.yaml under `reviewers`. One with a key is known by
// signature alone.
type Reviewer struct {
	Role      string
	Qualified bool
	Key       ed25519.PublicKey
}

// reviewers reads the list. Whatever else stands in the authority data is the
// rules' own.
func (d *decoder) reviewers(n *datafile.Node, roles []string) map[string]Reviewer {
	out := map[string]Reviewer{}
	if !n.IsObject() {
		return out
	}
	for _, k := range n.Keys {
		if hint := engine.DidYouMean(k, []string{"reviewers"}); k != "reviewers" && hint != "" {
			d.Report(n.KeyNodes[k], "data_unknown_key", hint, "authority has no key %q", k)
		}
	}
	if n.At("reviewers") == nil {
		return out
	}
	d.Each("reviewers", func(name string, _, n *datafile.Node) {
		r := Reviewer{Qualified: true}
		d.Object(n, "reviewer "+name, datafile.Fields{
			"role":      d.Text("role", &r.Role),
			"qualified": d.Boolean("qualified", &r.Qualified),
			"key":       d.key(&r.Key),
		}, "role")
		for other, have := range out {
			if r.Key != nil && r.Key.Equal(have.Key) {
				d.Report(n, "data_key", "", "reviewers %s and %s have the same key", other, name)
			}
		}
		if name == "" {
			d.Report(n, "data_name", "", "a reviewer needs a name")
		}
		if len(roles) > 0 && r.Role != "" && !slices.Contains(roles, r.Role) {
			d.Report(n, "data_unknown_value", cmp.Or(engine.DidYouMean(r.Role, roles), "the contract names "+strings.Join(roles, ", ")), "reviewer %s has the role %q, which the contract does not name", name, r.Role)
		}
		out[name] = r
	})(n.At("reviewers"))
	return out
}

func (d *decoder) key(into *ed25519.PublicKey) func(*datafile.Node) {
	return func(n *datafile.Node) {
		var text string
		d.Text("key", &text)(n)
		raw, err := base64.StdEncoding.DecodeString(text)
		if err != nil || len(raw) != ed25519.PublicKeySize {
			d.Report(n, "data_key", "`conjunct review keygen` prints one", "the key is not the base64 of an Ed25519 public key")
			return
		}
		*into = raw
	}
}

// Reviewer is what the list says of a name, and whether it is on it.
func (b *Bundle) Reviewer(name string) (Reviewer, bool) {
	r, ok := b.reviewers[name]
	return r, ok
}

// Identify is the identity of a person by name. Role and qualification come from
// the reviewer list alone; one with a key is qualified only by a signature.
func (b *Bundle) Identify(name string, signed bool) engine.Identity {
	r, ok := b.reviewers[name]
	if !ok {
		return engine.Identity{Name: name}
	}
	return engine.Identity{Name: name, Role: r.Role, Qualified: r.Qualified && (r.Key == nil || signed)}
}

// ReviewerWith is the name of the reviewer who has a key.
func (b *Bundle) ReviewerWith(key ed25519.PublicKey) (string, bool) {
	if len(key) == 0 {
		return "", false
	}
	for name, r := range b.reviewers {
		if key.Equal(r.Key) {
			return name, true
		}
	}
	return "", false
}
