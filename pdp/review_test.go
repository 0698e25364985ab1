package pdp_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/conjunct-project/conjunct/bundle"
	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/pdp"
	"github.com/conjunct-project/conjunct/reexam"
)

// reviewed is a state whose bundle has reviewers, with one call that waits.
func reviewed(t testing.TB, more ...map[string]func(string) string) (dir string, p *pdp.PDP, a engine.Action) {
	t.Helper()
	changes := map[string]func(string) string{authorityData: text(reviewers())}
	if len(more) == 0 {
		staffed.Do(func() { staffed.bundle = with(t, changes) })
		return waits(t, staffed.bundle)
	}
	for _, m := range more {
		for name, change := range m {
			changes[name] = change
		}
	}
	return waits(t, with(t, changes))
}

// staffed is the bundle with reviewers, loaded once.
var staffed struct {
	sync.Once
	bundle *bundle.Bundle
}

func waits(t testing.TB, b *bundle.Bundle) (dir string, p *pdp.PDP, a engine.Action) {
	t.Helper()
	dir = stateOf(t, b)
	p = open(t, dir, pdp.Options{})
	a = reset(t, "t", "c1")
	if d := decided(t, p, a); d.Outcome != engine.Review || d.Permit || d.Request == 0 {
		t.Fatalf("the call is to wait: %v, request %d", d.Outcome, d.Request)
	}
	return dir, p, a
}

func reset(t testing.TB, trace, id string) engine.Action {
	return call(t, trace, id, "reset_credentials", `{"account":"acme\\jdoe"}`)
}

func review(a engine.Action, by string, r engine.ReviewEvent) engine.Event {
	return engine.Event{Op: engine.OpReview, TraceID: a.TraceID, CallID: a.CallID, By: engine.Identity{Name: by}, Review: r}
}

// subject is what a review of a would be about, with the content of a call.
func subject(p *pdp.PDP, a engine.Action, call string) reexam.Subject {
	s := reexam.SubjectOf(p.Snapshot(), a.TraceID, a.CallHash)
	s.Call = call
	return s
}

// signed is a review with lena's signature over another review of another call.
func signed(t testing.TB, p *pdp.PDP, a engine.Action, by string, r, over engine.ReviewEvent, call string) engine.Event {
	t.Helper()
	s, err := reexam.Sign(key("lena"), subject(p, a, call), review(a, by, over))
	if err != nil {
		t.Fatal(err)
	}
	r.Signature = s
	return review(a, by, r)
}

func apply(t testing.TB, p *pdp.PDP, e engine.Event) engine.Record {
	t.Helper()
	rec, err := p.Apply(context.Background(), e)
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// TestWhoMayApprove gives one waiting call to everybody in turn. Only a name on
// the list, with its key where the list has one, lets it run.
func TestWhoMayApprove(t *testing.T) {
	approve := engine.ReviewEvent{Outcome: engine.Approve}
	for _, c := range []struct {
		name  string
		event func(p *pdp.PDP, a engine.Action) engine.Event
		good  bool
	}{
		{"a reviewer with the key", func(p *pdp.PDP, a engine.Action) engine.Event {
			return signed(t, p, a, "lena", approve, approve, a.CallHash)
		}, true},
		{"a reviewer who needs no key", func(_ *pdp.PDP, a engine.Action) engine.Event { return review(a, "otto", approve) }, true},
		{"unsigned where the list has a key", func(_ *pdp.PDP, a engine.Action) engine.Event { return review(a, "lena", approve) }, false},
		{"unsigned, claiming to be signed", func(_ *pdp.PDP, a engine.Action) engine.Event {
			return review(a, "lena", engine.ReviewEvent{Outcome: engine.Approve, Signed: true})
		}, false},
		{"a forged signature", func(_ *pdp.PDP, a engine.Action) engine.Event {
			return review(a, "lena", engine.ReviewEvent{Outcome: engine.Approve, Signature: strings.Repeat("A", 86) + "=="})
		}, false},
		{"a signature that is no base64", func(_ *pdp.PDP, a engine.Action) engine.Event {
			return review(a, "lena", engine.ReviewEvent{Outcome: engine.Approve, Signature: "!"})
		}, false},
		{"a signature for another outcome", func(p *pdp.PDP, a engine.Action) engine.Event {
			return signed(t, p, a, "lena", approve, engine.ReviewEvent{Outcome: engine.Return}, a.CallHash)
		}, false},
		{"a signature for other gates", func(p *pdp.PDP, a engine.Action) engine.Event {
			return signed(t, p, a, "lena", engine.ReviewEvent{Outcome: engine.Approve, Gates: []string{"change-window"}}, approve, a.CallHash)
		}, false},
		{"a signature for another call", func(p *pdp.PDP, a engine.Action) engine.Event {
			return signed(t, p, a, "lena", approve, approve, reset(t, "t", "other").InputHash)
		}, false},
		{"a signature for another request", func(p *pdp.PDP, a engine.Action) engine.Event {
			r := *p.Snapshot().Path(a.TraceID, a.CallHash).Request
			r.Seq++
			s, err := reexam.Sign(key("lena"), reexam.Subject{Request: &r, Call: a.CallHash}, review(a, "lena", approve))
			if err != nil {
				t.Fatal(err)
			}
			return review(a, "lena", engine.ReviewEvent{Outcome: engine.Approve, Signature: s})
		}, false},
		{"another's key", func(p *pdp.PDP, a engine.Action) engine.Event {
			s, err := reexam.Sign(key("mallory"), subject(p, a, a.CallHash), review(a, "lena", approve))
			if err != nil {
				t.Fatal(err)
			}
			return review(a, "lena", engine.ReviewEvent{Outcome: engine.Approve, Signature: s})
		}, false},
		{"a reviewer who is not qualified", func(_ *pdp.PDP, a engine.Action) engine.Event { return review(a, "junior", approve) }, false},
		{"nobody on the list", func(_ *pdp.PDP, a engine.Action) engine.Event { return review(a, "mallory", approve) }, false},
		{"somebody who says what they are", func(_ *pdp.PDP, a engine.Action) engine.Event {
			e := review(a, "mallory", approve)
			e.By.Role, e.By.Qualified = "service-desk-lead", true
			return e
		}, false},
		{"the agent itself, which is on the list", func(_ *pdp.PDP, a engine.Action) engine.Event { return review(a, "itsm-agent", approve) }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, p, a := reviewed(t)
			rec := apply(t, p, c.event(p, a))
			if good := rec.Invalid == "" && rec.ReviewOutcome == engine.Approved; good != c.good {
				t.Errorf("approved %v, want %v: %q %+v", good, c.good, rec.Invalid, rec.Reasons)
			}
			if d := decided(t, p, reset(t, "t", "c2")); d.Permit != c.good {
				t.Errorf("permit %v, want %v", d.Permit, c.good)
			}
			if c.good {
				if d := decided(t, p, reset(t, "t", "c3")); d.Permit || d.Outcome != engine.Block {
					t.Errorf("an approval released twice: %v", d.Outcome)
				}
			}
			if r := replayed(t, dir); !r.OK {
				t.Errorf("replay: %+v", r)
			}
			if err := reopens(t, dir, p); err != nil {
				t.Error(shorten(err.Error()))
			}
		})
	}
}

// TestWhereSignaturesAreDemanded the contract asks for them, from everybody.
func TestWhereSignaturesAreDemanded(t *testing.T) {
	dir, p, a := reviewed(t, map[string]func(string) string{contractData: plus("signed_reviews: true\n")})
	approve := engine.ReviewEvent{Outcome: engine.Approve}
	if rec := apply(t, p, review(a, "otto", approve)); rec.Invalid == "" {
		t.Error("an unsigned approval counts")
	}
	if rec := apply(t, p, signed(t, p, a, "lena", approve, approve, a.CallHash)); rec.Invalid != "" {
		t.Errorf("a signed approval does not count: %+v", rec.Reasons)
	}
	if r := replayed(t, dir); !r.OK {
		t.Errorf("replay: %+v", r)
	}
}

// TestASignatureCountsOnce uses a signature again, for what came after.
func TestASignatureCountsOnce(t *testing.T) {
	approve := engine.ReviewEvent{Outcome: engine.Approve}
	t.Run("an approval, for the next request", func(t *testing.T) {
		_, p, a := reviewed(t)
		e := signed(t, p, a, "lena", approve, approve, a.CallHash)
		apply(t, p, e)
		if d := decided(t, p, a); !d.Permit {
			t.Fatalf("%+v", d.Reasons)
		}
		if err := p.Result(context.Background(), "t", "c1", engine.ResultEvent{Status: engine.NotRun}); err != nil {
			t.Fatal(err)
		}
		if d := decided(t, p, a); d.Permit || d.Outcome != engine.Review {
			t.Fatalf("re-armed without a new approval: %v", d.Outcome)
		}
		if rec := apply(t, p, e); rec.Invalid == "" {
			t.Fatal("the old signature approves the new request")
		}
	})
	t.Run("a revocation, of the next rejection", func(t *testing.T) {
		_, p, a := reviewed(t)
		apply(t, p, review(a, "otto", engine.ReviewEvent{Outcome: engine.Reject, Code: "wrong_target"}))
		// The same content in another trace, where no request was made.
		b := reset(t, "u", "c1")
		if d := decided(t, p, b); d.Permit || d.Outcome != engine.Block {
			t.Fatalf("the rejection does not stick: %v", d.Outcome)
		}
		revoke := engine.ReviewEvent{Outcome: engine.Revoke}
		e := signed(t, p, b, "lena", revoke, revoke, b.CallHash)
		if rec := apply(t, p, e); rec.Invalid != "" {
			t.Fatalf("%+v", rec.Reasons)
		}
		decided(t, p, reset(t, "v", "c1"))
		apply(t, p, review(reset(t, "v", "c1"), "otto", engine.ReviewEvent{Outcome: engine.Reject, Code: "wrong_target"}))
		if _, rejected := p.Snapshot().Rejection(a.CallHash); !rejected {
			t.Fatal("the second rejection was not recorded")
		}
		apply(t, p, e)
		if _, rejected := p.Snapshot().Rejection(a.CallHash); !rejected {
			t.Fatal("a signature that was seen before lifts a rejection that came after it")
		}
	})
}

// TestARejectionSticks proposes a rejected call under another id and in another
// trace, until it is revoked.
func TestARejectionSticks(t *testing.T) {
	dir, p, a := reviewed(t)
	rec := apply(t, p, review(a, "otto", engine.ReviewEvent{Outcome: engine.Reject, Code: "wrong_target"}))
	if rec.Invalid != "" || rec.ReviewOutcome != engine.RejectedRequest {
		t.Fatalf("%+v", rec)
	}
	for _, again := range []engine.Action{a, reset(t, "t", "c2"), reset(t, "u", "c1"), reset(t, "v", "c9")} {
		d := decided(t, p, again)
		if d.Permit || d.Outcome != engine.Block || !strings.Contains(fmt.Sprint(d.Reasons), "rejected") {
			t.Errorf("%s/%s: %v %+v", again.TraceID, again.CallID, d.Outcome, d.Reasons)
		}
	}
	if rec := apply(t, p, review(a, "mallory", engine.ReviewEvent{Outcome: engine.Revoke})); rec.Invalid == "" {
		t.Error("a stranger revoked a rejection")
	}
	if d := decided(t, p, reset(t, "t", "c3")); d.Outcome != engine.Block {
		t.Errorf("%v after a stranger's revocation", d.Outcome)
	}
	if rec := apply(t, p, review(a, "otto", engine.ReviewEvent{Outcome: engine.Revoke})); rec.Invalid != "" {
		t.Errorf("%+v", rec.Reasons)
	}
	if d := decided(t, p, reset(t, "t", "c4")); d.Permit || d.Outcome != engine.Review {
		t.Errorf("%v, permit %v: a revoked rejection asks again", d.Outcome, d.Permit)
	}
	if r := replayed(t, dir); !r.OK {
		t.Errorf("replay: %+v", r)
	}
}

// TestReturnAndRevoke close what they are about, and nothing runs.
func TestReturnAndRevoke(t *testing.T) {
	for _, outcome := range []engine.ReviewOutcome{engine.Return, engine.Revoke} {
		dir, p, a := reviewed(t)
		if outcome == engine.Revoke {
			apply(t, p, review(a, "otto", engine.ReviewEvent{Outcome: engine.Approve}))
		}
		if rec := apply(t, p, review(a, "otto", engine.ReviewEvent{Outcome: outcome})); rec.Invalid != "" {
			t.Fatalf("%v: %+v", outcome, rec.Reasons)
		}
		if len(p.Snapshot().Waiting()) != 0 {
			t.Errorf("%v: the request still waits", outcome)
		}
		if rec := apply(t, p, review(a, "otto", engine.ReviewEvent{Outcome: engine.Approve})); rec.Invalid == "" {
			t.Errorf("%v: approved without a request", outcome)
		}
		if d := decided(t, p, a); d.Permit || d.Outcome != engine.Review {
			t.Errorf("%v: then %v, permit %v", outcome, d.Outcome, d.Permit)
		}
		if r := replayed(t, dir); !r.OK {
			t.Errorf("replay: %+v", r)
		}
	}
}

// TestAnApprovalDiesWithItsBundle is void under another bundle.
func TestAnApprovalDiesWithItsBundle(t *testing.T) {
	dir, p, a := reviewed(t)
	apply(t, p, review(a, "otto", engine.ReviewEvent{Outcome: engine.Approve}))
	other := with(t, map[string]func(string) string{authorityData: text(reviewers()), scopeData: plus("\n# another\nnote: x\n")})
	if err := p.Activate(context.Background(), other, engine.Identity{Name: "op", Role: "operator"}); err != nil {
		t.Fatal(err)
	}
	if d := decided(t, p, a); d.Permit {
		t.Error("an approval given under another bundle releases")
	}
	if r := replayed(t, dir); !r.OK {
		t.Errorf("replay: %+v", r)
	}
}

// TestActivation is the operator's, changes what decides from then on, and is
// replayed across.
func TestActivation(t *testing.T) {
	dir := fresh(t)
	p := open(t, dir, pdp.Options{})
	ctx := context.Background()
	first := p.Bundle().Bundle().Digest
	stricter := with(t, map[string]func(string) string{"conjunct/registry/data.yaml": swap("read_ticket:\n    {reversibility: reversible, blast_radius: task", "read_ticket:\n    {reversibility: irreversible, blast_radius: external")})
	digest := stricter.Bundle().Digest
	if d := decided(t, p, call(t, "t", "c1", "read_ticket", `{"ticket":"INC-1"}`)); !d.Permit {
		t.Fatal("not permitted under the first bundle")
	}
	for _, by := range []engine.Identity{{}, {Name: "itsm-agent", Role: "agent"}, {Name: "x"}, {Name: "pep", Role: "pep"}, {Name: "lead", Role: "service-desk-lead", Qualified: true}} {
		if err := p.Activate(ctx, stricter, by); err == nil {
			t.Errorf("%+v activated a bundle", by)
		}
		all := entries(t, dir)
		if last := all[len(all)-1]; last.Op != "activate" || !strings.Contains(string(last.Body), `"invalid":"invalid_activate"`) {
			t.Errorf("the refusal is not in the journal: %s", last.Body)
		}
	}
	if d := decided(t, p, call(t, "t", "c2", "read_ticket", `{"ticket":"INC-2"}`)); !d.Permit || d.Bundle.Digest != first {
		t.Fatalf("%v under %s", d.Outcome, d.Bundle.Digest)
	}
	if err := p.NotLoaded(engine.Identity{Name: "op", Role: "operator"}); err != nil {
		t.Fatal(err)
	}
	if all := entries(t, dir); !strings.Contains(string(all[len(all)-1].Body), `"bundle":"","by":{"name":"op"`) || p.Bundle().Bundle().Digest != first {
		t.Errorf("a bundle that did not load: %s with %s in force", all[len(all)-1].Body, p.Bundle().Bundle().Digest)
	}
	if err := p.Activate(ctx, stricter, engine.Identity{Name: "op", Role: "operator"}); err != nil {
		t.Fatal(err)
	}
	d := decided(t, p, call(t, "t", "c3", "read_ticket", `{"ticket":"INC-3"}`))
	if d.Permit || d.Bundle.Digest != digest {
		t.Fatalf("%v under %s", d.Outcome, d.Bundle.Digest)
	}
	all := entries(t, dir)
	if last := all[len(all)-1]; !strings.Contains(string(last.Body), `"bundle":"`+digest+`"`) || strings.Contains(string(last.Body), first) {
		t.Fatalf("the entry does not name its bundle: %s", last.Body)
	}
	if r := replayed(t, dir); !r.OK || r.Attempts != 3 {
		t.Fatalf("replay: %+v", r)
	}
	again, err := pdp.Open(copied(t, dir), pdp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if got := again.Bundle().Bundle().Digest; got != digest {
		t.Fatalf("reopened with %s in force", got)
	}
}

// TestActivationDoesNotTrustAFileThatIsThere finds a damaged file under the
// bundle's name before the journal names it.
func TestActivationDoesNotTrustAFileThatIsThere(t *testing.T) {
	dir := fresh(t)
	p := open(t, dir, pdp.Options{})
	b := with(t, map[string]func(string) string{scopeData: plus("\nnote: x\n")})
	path := filepath.Join(dir, "bundles", strings.TrimPrefix(b.Bundle().Digest, "sha256:")+".tar.gz")
	if err := os.WriteFile(path, []byte("half a bund"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := p.Activate(context.Background(), b, engine.Identity{Name: "op", Role: "operator"})
	t.Log(err)
	if err := reopens(t, dir, p); err != nil {
		t.Fatal(shorten(err.Error()))
	}
}

// gone is a context that is found to be done when the call is about to run.
type gone struct{ context.Context }

func (gone) Err() error { return context.Canceled }

// TestDo covers the ways out of Do besides those in pdp_test.go.
func TestDo(t *testing.T) {
	mail := func(id string, n int) engine.Action {
		return call(t, "t", id, "draft_response", fmt.Sprintf(`{"ticket":"INC-%d","to":"a@b.example","body":"x"}`, n))
	}
	last := func(dir string) string {
		all := entries(t, dir)
		return string(all[len(all)-1].Body)
	}
	ctx := context.Background()
	t.Run("a panic is reported as an error and goes on", func(t *testing.T) {
		dir := fresh(t)
		p := open(t, dir, pdp.Options{})
		func() {
			defer func() {
				if r := recover(); r != "boom" {
					t.Errorf("recovered %v", r)
				}
			}()
			_, _ = pdp.Do(ctx, p, mail("c1", 1), func(context.Context) (int, error) { panic("boom") })
		}()
		if !strings.Contains(last(dir), `"status":"error"`) {
			t.Errorf("last entry: %s", last(dir))
		}
	})
	t.Run("a context that is done before the run re-arms the call", func(t *testing.T) {
		dir := fresh(t)
		p := open(t, dir, pdp.Options{})
		ran := false
		_, err := pdp.Do(gone{ctx}, p, mail("c1", 1), func(context.Context) (int, error) { ran = true; return 0, nil })
		if ran || !errors.Is(err, context.Canceled) {
			t.Fatalf("ran %v, %v", ran, err)
		}
		if !strings.Contains(last(dir), `"status":"not_run"`) {
			t.Fatalf("last entry: %s", last(dir))
		}
		if n, err := pdp.Do(ctx, p, mail("c2", 1), func(context.Context) (int, error) { return 7, nil }); n != 7 || err != nil {
			t.Fatalf("%d, %v", n, err)
		}
	})
	t.Run("a context that ends in the run does not lose the result", func(t *testing.T) {
		dir := fresh(t)
		p := open(t, dir, pdp.Options{})
		live, cancel := context.WithCancel(ctx)
		_, err := pdp.Do(live, p, mail("c1", 1), func(ctx context.Context) (int, error) { cancel(); return 0, ctx.Err() })
		if !errors.Is(err, context.Canceled) || !strings.Contains(last(dir), `"status":"error"`) {
			t.Fatalf("%v, last entry: %s", err, last(dir))
		}
	})
	t.Run("a closed decision point runs nothing", func(t *testing.T) {
		dir := fresh(t)
		p := open(t, dir, pdp.Options{})
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		ran := false
		if _, err := pdp.Do(ctx, p, mail("c1", 1), func(context.Context) (int, error) { ran = true; return 0, nil }); ran || !errors.Is(err, pdp.ErrClosed) {
			t.Fatalf("ran %v, %v", ran, err)
		}
	})
	t.Run("a held call runs nothing", func(t *testing.T) {
		p := open(t, fresh(t), pdp.Options{})
		var no *pdp.NotPermitted
		_, err := pdp.Do(ctx, p, reset(t, "t", "c1"), func(context.Context) (int, error) { t.Error("it ran"); return 0, nil })
		if !errors.As(err, &no) || no.Decision.Outcome != engine.Review {
			t.Fatalf("%v", err)
		}
	})
	t.Run("a goroutine that ends in the run is reported", func(t *testing.T) {
		dir := fresh(t)
		p := open(t, dir, pdp.Options{})
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = pdp.Do(ctx, p, mail("c1", 1), func(context.Context) (int, error) { runtime.Goexit(); return 0, nil })
		}()
		<-done
		if !strings.Contains(last(dir), `"status":"error"`) {
			t.Fatalf("the call may have had its effect, and the journal does not know: %s", last(dir))
		}
	})
}
