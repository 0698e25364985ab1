package bundle

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/policies"
)

const authorityData = "conjunct/authority/data.yaml"

func publicKey(b byte) ed25519.PublicKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{b}, ed25519.SeedSize)).Public().(ed25519.PublicKey)
}

func TestReviewers(t *testing.T) {
	key := base64.StdEncoding.EncodeToString(publicKey(1))
	b := load(t, with(small(t), authorityData, "reviewers:\n  ann: {role: reviewer}\n  bob: {role: reviewer, key: "+key+"}\n  cyd: {role: reviewer, qualified: false}\n"))
	for _, c := range []struct {
		name   string
		signed bool
		want   engine.Identity
	}{
		{"ann", false, engine.Identity{Name: "ann", Role: "reviewer", Qualified: true}},
		{"bob", false, engine.Identity{Name: "bob", Role: "reviewer"}},
		{"bob", true, engine.Identity{Name: "bob", Role: "reviewer", Qualified: true}},
		{"cyd", true, engine.Identity{Name: "cyd", Role: "reviewer"}},
		{"dan", true, engine.Identity{Name: "dan"}},
		{"", true, engine.Identity{}},
	} {
		if got := b.Identify(c.name, c.signed); got != c.want {
			t.Errorf("%q, signed %v: %+v, want %+v", c.name, c.signed, got, c.want)
		}
	}
	if name, ok := b.ReviewerWith(publicKey(1)); name != "bob" || !ok {
		t.Errorf("the key is %q's, %v", name, ok)
	}
	if name, ok := b.ReviewerWith(publicKey(2)); ok {
		t.Errorf("a stranger's key is %q's", name)
	}
	if r, ok := b.Reviewer("bob"); !ok || !r.Key.Equal(publicKey(1)) {
		t.Errorf("bob is %+v, %v", r, ok)
	}
	if _, ok := b.Reviewer("dan"); ok {
		t.Error("dan is on the list")
	}
}

func TestReviewerKeys(t *testing.T) {
	runRefusals(t, authorityData, "reviewers:\n", []refusal{
		{"no list", "  - ann", []string{"2:3 data_type"}, ""},
		{"no role", "  ann: {}", []string{"2:8 data_missing_key"}, `lacks "role"`},
		{"a role that is a number", "  ann: {role: 5}", []string{"2:15 data_type"}, ""},
		{"an unknown key", "  ann: {role: reviewer, qualifed: true}", []string{"2:25 data_unknown_key"}, `did you mean "qualified"?`},
		{"a reviewer twice", "  ann: {role: reviewer}\n  ann: {role: reviewer}", []string{"3:3 data_duplicate_key"}, ""},
		{"a key that is no base64", "  ann: {role: reviewer, key: '***'}", []string{"2:30 data_key"}, "keygen"},
		{"a key that is too short", "  ann: {role: reviewer, key: AAAA}", []string{"2:30 data_key"}, "keygen"},
	})
}

// TestReviewerHoles are reported.
func TestReviewerHoles(t *testing.T) {
	key := base64.StdEncoding.EncodeToString(publicKey(1))
	runReported(t, authorityData, "", []refusal{
		{name: "the list misspelt", text: "revewers:\n  ann: {role: reviewer}"},
		{name: "a role that the contract has not", text: "reviewers:\n  ann: {role: reviewr}"},
		{name: "one key for two", text: "reviewers:\n  ann: {role: reviewer, key: " + key + "}\n  bob: {role: reviewer, key: " + key + "}"},
		{name: "a reviewer without a name", text: "reviewers:\n  \"\": {role: reviewer}"},
	})
	b := load(t, with(small(t), authorityData, "reviewers:\n  ann: {role: reviewer}\n"))
	if name, ok := b.ReviewerWith(nil); ok {
		fault(t, "no key at all is %s's", name)
	}
}

// TestWriteTarball: what is written reads as the same bundle, and the same
// bundle writes the same bytes.
func TestWriteTarball(t *testing.T) {
	for _, name := range policies.Names() {
		b := shipped(t, name)
		var first, second bytes.Buffer
		if err := b.WriteTarball(&first); err != nil {
			t.Fatal(err)
		}
		if err := shipped(t, name).WriteTarball(&second); err != nil || !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Errorf("%s: two tarballs differ, %v", name, err)
		}
		again := load(t, fromBytes(t, first.Bytes()))
		if again.Bundle() != b.Bundle() {
			t.Errorf("%s: %v comes back as %v", name, b.Bundle(), again.Bundle())
		}
	}
}

// TestWriteTarballOfAnyName holds against a fault: what loads must be written too, or no
// state can be made of it.
func TestWriteTarballOfAnyName(t *testing.T) {
	for _, name := range []string{"conjunct/floors/größe.rego", "conjunct/floors/" + strings.Repeat("a", 120) + ".rego", "conjunct/" + strings.Repeat("deep/", 60) + "x.rego"} {
		b := load(t, with(small(t), name, "package conjunct.floors\n"))
		var out bytes.Buffer
		if err := b.WriteTarball(&out); err != nil {
			fault(t, "the bundle loads and cannot be written: %v", err)
		}
		if again := load(t, fromBytes(t, out.Bytes())); again.Bundle() != b.Bundle() {
			t.Errorf("%s: another bundle comes back", name)
		}
	}
}

// TestInputSchemaIsStable: the same text each time.
func TestInputSchemaIsStable(t *testing.T) {
	first, err := InputSchema()
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if again, err := InputSchema(); err != nil || !slices.Equal(first, again) {
			t.Fatalf("another text, %v", err)
		}
	}
}
