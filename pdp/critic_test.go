package pdp_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/conjunct-project/conjunct/action"
	"github.com/conjunct-project/conjunct/bundle"
	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/pdp"
	"github.com/conjunct-project/conjunct/reexam"
)

// shredding is the itsm bundle with a tool under a critic, whose reason never
// reaches the journal, and a floor that reads the plan's facts.
func shredding(t testing.TB, rollback string) *bundle.Bundle {
	t.Helper()
	return with(t, map[string]func(string) string{
		"conjunct/registry/data.yaml": plus(`
  drop_table:
    {reversibility: irreversible, blast_radius: record, absorbed_by: operator, detection_latency: hours, forward_effects: 1, rollback_effects: ` + rollback + `,
     arguments: {table: {type: string, required: true}, reason: {type: string}}, read_only: [reason]}
`),
		contractData: plus("\ncritic: {tools: [drop_table]}\nredact: {drop_table: [reason]}\n"),
		"conjunct/floors/floors.rego": plus(`
floors contains {"name": "asymmetric", "tier": "propose"} if {
	input.action.tool == "drop_table"
	count(input.facts.plan.rollback) > 0
}
`),
		authorityData: text(reviewers()),
	})
}

// drop is a call under a critic, with a plan that holds it.
func drop(t testing.TB, id, table, reason string) engine.Action {
	t.Helper()
	rest := ""
	if reason != "" {
		rest = fmt.Sprintf(`,"reason":%q`, reason)
	}
	a, err := action.Decode(fmt.Appendf(nil, `{"trace_id":"t","call_id":%q,"agent":{"id":"itsm-agent","component":"planner@1"},"tool":"drop_table","arguments":{"table":%q%s},"confidence":0.95,
		"critic":{"score":0.99,"component":"judge@1"},"plan":{"steps":[{"id":%q,"tool":"drop_table"}]}}`, id, table, rest, id))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func novel(d engine.Decision) bool {
	return slices.ContainsFunc(d.Reasons, func(r engine.Reason) bool { return r.Code == "entity_novel" })
}

// TestWhatWasApprovedIsInTheJournal approves and rejects entities with and
// without a redacted argument, restarts in between, and derives everything again.
func TestWhatWasApprovedIsInTheJournal(t *testing.T) {
	dir := stateOf(t, shredding(t, "1"))
	options := pdp.Options{Now: func() int64 { return monday }, RedactionKey: []byte("0123456789abcdef")}
	p, err := pdp.Open(dir, options)
	if err != nil {
		t.Fatal(err)
	}
	restart := func() {
		t.Helper()
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		if p, err = pdp.Open(dir, options); err != nil {
			t.Fatal(err)
		}
	}
	defer func() { p.Close() }()
	approve := engine.ReviewEvent{Outcome: engine.Approve, Gates: []string{engine.Structure}}
	for i, reason := range []string{"left the company", ""} {
		table := fmt.Sprint("table", i)
		a := drop(t, fmt.Sprint("c", i), table, reason)
		if d := decided(t, p, a); !novel(d) || d.Gate(engine.CriticGate).Verdict != engine.NotApplicable || d.Facts["plan"] == nil {
			t.Fatalf("%s: %v, facts %v: want it new, the critic left out and facts of the plan", table, d.Reason, d.Facts)
		}
		restart()
		if rec := apply(t, p, review(a, "otto", approve)); rec.Invalid != "" {
			t.Fatalf("approval: %v", rec.Reasons)
		}
		restart()
		if d := decided(t, p, a); !d.Permit {
			t.Fatalf("approved: %s", d.Reason)
		}
		restart()
		if d := decided(t, p, drop(t, fmt.Sprint("again", i), table, "again")); novel(d) || d.Gate(engine.CriticGate).Verdict != engine.Pass {
			t.Errorf("%s: %s: want what was approved to be known", table, d.Reason)
		}
	}
	bad := drop(t, "bad", "table0", "x")
	decided(t, p, bad)
	if rec := apply(t, p, review(bad, "otto", engine.ReviewEvent{Outcome: engine.Reject, Code: "wrong_target"})); rec.Invalid != "" {
		t.Fatalf("rejection: %v", rec.Reasons)
	}
	restart()
	for table, want := range map[string]bool{"table0": true, "table1": false} {
		if d := decided(t, p, drop(t, "last"+table, table, "")); novel(d) != want {
			t.Errorf("%s is new: %v, want %v", table, novel(d), want)
		}
	}
	for _, e := range entries(t, dir) {
		if bytes.Contains(e.Body, []byte("left the company")) {
			t.Errorf("entry %d holds what is redacted", e.Seq)
		}
	}
	if r := replayed(t, dir); !r.OK || r.Redacted == 0 || r.Redecided == 0 {
		t.Errorf("replay: %+v", r)
	}
	// Under another registry the same calls show what they would come to there.
	r, err := reexam.Replay(context.Background(), dir, reexam.Options{Versions: pdp.Versions(), Against: shredding(t, "0")})
	if err != nil || !r.OK {
		t.Fatalf("backtest: %v, %+v", err, r)
	}
}

// TestABacktestUnderAnotherRegistryFindsTheSignal lets calls run under one
// registry that another would hold back. Facts cannot tell: they were made for
// the first.
func TestABacktestUnderAnotherRegistryFindsTheSignal(t *testing.T) {
	dir := stateOf(t, shredding(t, "1"))
	p := open(t, dir, pdp.Options{})
	a := drop(t, "c1", "users", "")
	decided(t, p, a)
	apply(t, p, review(a, "otto", engine.ReviewEvent{Outcome: engine.Approve, Gates: []string{engine.Structure}}))
	if d := decided(t, p, a); !d.Permit {
		t.Fatal(d.Reason)
	}
	b := drop(t, "c2", "users", "")
	decided(t, p, b)
	apply(t, p, review(b, "otto", engine.ReviewEvent{Outcome: engine.Approve}))
	if d := decided(t, p, b); !d.Permit {
		t.Fatal(d.Reason)
	}
	r, err := reexam.Replay(context.Background(), dir, reexam.Options{Versions: pdp.Versions(), Against: shredding(t, "0")})
	if err != nil || !r.OK || len(r.Changes) == 0 || r.Changes[0].Was != engine.Allow || r.Changes[0].Now == engine.Allow {
		t.Errorf("%v, %+v: want a call that ran and would not", err, r)
	}
}

// TestEntitiesAreDecidedAnewWhereTheyMoved decides calls of one entity at once
// while it is approved and rejected, and derives every answer in order.
func TestEntitiesAreDecidedAnewWhereTheyMoved(t *testing.T) {
	dir := stateOf(t, shredding(t, "1"))
	p := open(t, dir, pdp.Options{})
	apply(t, p, engine.Event{Op: engine.OpSettings, By: engine.Identity{Name: "ops", Role: "operator"}, Settings: map[string]any{"capacity": 1000.0}})
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 12 {
				a := drop(t, fmt.Sprintf("c%d-%d", w, i), "users", "")
				a, err := action.Decode(bytes.Replace(a.Canonical, []byte(`"trace_id":"t"`), fmt.Appendf(nil, `"trace_id":"t%d"`, w), 1))
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := p.Decide(context.Background(), a); err != nil {
					t.Error(err)
				}
				outcome := engine.ReviewEvent{Outcome: engine.Approve, Gates: []string{engine.Structure}}
				if (w+i)%3 == 0 {
					outcome = engine.ReviewEvent{Outcome: engine.Reject, Code: "other"}
				}
				if _, err := p.Apply(context.Background(), review(a, "otto", outcome)); err != nil {
					t.Error(err)
				}
				if _, err := p.Decide(context.Background(), a); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if r := replayed(t, dir); !r.OK || r.Attempts != 192 {
		t.Fatalf("replay: %+v", r)
	}
	known, isNew := 0, 0
	for _, e := range entries(t, dir) {
		switch body := string(e.Body); {
		case e.Op != "attempt":
		case strings.Contains(body, `"entity_novel"`):
			isNew++
		default:
			known++
		}
	}
	if known == 0 || isNew == 0 {
		t.Errorf("%d attempts found the entity known and %d new: want some of both", known, isNew)
	}
}
