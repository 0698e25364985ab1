package pdp_test

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/conjunct-project/conjunct/bundle"
	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/evidence"
	"github.com/conjunct-project/conjunct/journal"
	"github.com/conjunct-project/conjunct/pdp"
)

const (
	authorityData = "conjunct/authority/data.yaml"
	contractData  = "conjunct/contract/data.yaml"
	scopeData     = "conjunct/scope/data.yaml"
	celData       = "conjunct/cel/data.yaml"
	gatesRego     = "conjunct/gates/gates.rego"
)

// with is the itsm bundle with some files changed or added: pairs of a path and
// what to do with its text.
func with(t testing.TB, changes map[string]func(string) string) *bundle.Bundle {
	t.Helper()
	files, err := bundle.FromFS(os.DirFS(filepath.Join("..", "policies", "itsm")), "itsm")
	if err != nil {
		t.Fatal(err)
	}
	files.Content = maps.Clone(files.Content)
	for name, change := range changes {
		files.Content[name] = []byte(change(string(files.Content[name])))
	}
	b, err := bundle.Load(files)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func text(s string) func(string) string { return func(string) string { return s } }
func plus(s string) func(string) string { return func(old string) string { return old + s } }
func swap(old, new string) func(string) string {
	return func(s string) string {
		if strings.Count(s, old) != 1 {
			panic(fmt.Sprintf("%q stands %d times", old, strings.Count(s, old)))
		}
		return strings.Replace(s, old, new, 1)
	}
}

// key is the same reviewer's key in every run.
func key(name string) ed25519.PrivateKey {
	seed := make([]byte, ed25519.SeedSize)
	copy(seed, name)
	return ed25519.NewKeyFromSeed(seed)
}

func public(name string) string {
	return base64.StdEncoding.EncodeToString(key(name).Public().(ed25519.PublicKey))
}

// reviewers is the authority data with two reviewers: lena holds a key, otto has
// none, and itsm-agent stands on the list by mistake.
func reviewers() string {
	return fmt.Sprintf(`reviewers:
  lena: {role: service-desk-lead, key: %q}
  otto: {role: service-desk-lead}
  junior: {role: service-desk-lead, qualified: false}
  itsm-agent: {role: service-desk-lead}
`, public("lena"))
}

func stateOf(t testing.TB, b *bundle.Bundle) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "state")
	if err := pdp.Init(dir, b, monday); err != nil {
		t.Fatal(err)
	}
	return dir
}

// copied is a copy of a directory elsewhere.
func copied(t testing.TB, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "elsewhere", "state")
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}

var template struct {
	sync.Once
	dir string
}

// fresh is a state directory with the itsm bundle in force, copied from one that
// was made once.
func fresh(t testing.TB) string {
	t.Helper()
	template.Do(func() {
		dir, err := os.MkdirTemp("", "conjunct-template-")
		if err != nil {
			t.Fatal(err)
		}
		template.dir = filepath.Join(dir, "state")
		if err := pdp.Init(template.dir, itsm(t), monday); err != nil {
			t.Fatal(err)
		}
	})
	return copied(t, template.dir)
}

// entries reads the whole journal of a state.
func entries(t testing.TB, dir string) []journal.Entry {
	t.Helper()
	var out []journal.Entry
	_, err := journal.Walk(dir, func(e journal.Entry) error {
		e.Body = slices.Clone(e.Body)
		out = append(out, e)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// reopens opens a copy of a state, which folds and decides everything in it
// again, and holds it to the state and the number of entries of the living one.
func reopens(t testing.TB, dir string, living *pdp.PDP) error {
	t.Helper()
	p, err := pdp.Open(copied(t, dir), pdp.Options{Now: func() int64 { return monday }})
	if err != nil {
		return err
	}
	defer p.Close()
	if p.Cut > 0 {
		return fmt.Errorf("opening cut %d bytes of entries that were answered", p.Cut)
	}
	if got, want := dump(p.Snapshot()), dump(living.Snapshot()); got != want {
		return fmt.Errorf("the fold of the journal gives another state:\n%s\nwant:\n%s", got, want)
	}
	return nil
}

// dump is everything in a state that these tests write.
func dump(v *evidence.View) string {
	var b strings.Builder
	fmt.Fprintf(&b, "clock %d\nwaiting %v\n", v.Clock(), v.Waiting())
	for _, trace := range []string{"t", "u", "v"} {
		fmt.Fprintf(&b, "%s trace %+v\n", trace, v.Trace(trace))
		for _, name := range []string{"capacity", "deadline", "review_ttl"} {
			value, ok := v.Setting(trace, name)
			all, everywhere := v.Setting("", name)
			fmt.Fprintf(&b, "%s %s %v %v %v %v\n", trace, name, value, ok, all, everywhere)
		}
		for _, id := range []string{"c1", "c2", "c3"} {
			hash, ok := v.CallHash(trace, id)
			rejection, rejected := v.Rejection(hash)
			ci, hasCI := v.Evidence(trace, hash, "ci")
			all, everywhere := v.Evidence(trace, "", "ci")
			p := v.Path(trace, hash)
			fmt.Fprintf(&b, "%s/%s %s %v %+v %v", trace, id, hash, ok, rejection, rejected)
			fmt.Fprintf(&b, " released %d retries %d pins %v changed %d failure %+v\n", p.Released, p.Retries, p.Pins, p.ChangedAt, p.Failure)
			fmt.Fprintf(&b, " request %s approval %s evidence %+v %v %+v %v\n", deref(p.Request), deref(p.Approval), ci, hasCI, all, everywhere)
		}
	}
	return b.String()
}

func deref[T any](p *T) string {
	if p == nil {
		return "none"
	}
	return fmt.Sprintf("%+v", *p)
}

func decided(t testing.TB, p *pdp.PDP, a engine.Action) engine.Decision {
	t.Helper()
	d, err := p.Decide(context.Background(), a)
	if err != nil || !d.Journalled {
		t.Fatalf("%s: %v, journalled %v", a.CallID, err, d.Journalled)
	}
	return d
}

func shorten(s string) string {
	if len(s) > 1200 {
		return s[:1200] + "..."
	}
	return s
}
