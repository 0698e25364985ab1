package pdp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/conjunct-project/conjunct/action"
	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/episode"
	"github.com/conjunct-project/conjunct/journal"
	"github.com/conjunct-project/conjunct/pdp"
	"github.com/conjunct-project/conjunct/reexam"
)

// player plays the events of an episode on a state directory.
type player struct {
	t   *testing.T
	dir string
	p   *pdp.PDP
	now int64
}

func play(t *testing.T, events []map[string]any) *player {
	t.Helper()
	pl := &player{t: t, dir: stateOf(t, with(t, map[string]func(string) string{authorityData: text(reviewers())})), now: monday}
	pl.p = open(t, pl.dir, pdp.Options{Now: func() int64 { return pl.now }})
	for _, e := range events {
		pl.event(e)
	}
	return pl
}

func (pl *player) event(tree map[string]any) engine.Record {
	pl.t.Helper()
	tree = deepCopy(pl.t, tree)
	if tree["reviewer"] != nil {
		tree["reviewer"] = "otto" // who is on the list, and needs no key
	}
	e, err := episode.ReadEvent(tree, pl.p.Bundle().Contract())
	if err != nil {
		pl.t.Fatal(err)
	}
	pl.now++
	if e.Op == engine.OpAttempt {
		decided(pl.t, pl.p, e.Attempt.Action)
		return engine.Record{}
	}
	rec, err := pl.p.Apply(context.Background(), e)
	if err != nil || rec.Invalid != "" {
		pl.t.Fatalf("%v: %v, %+v", tree, err, rec)
	}
	return rec
}

func deepCopy(t *testing.T, tree map[string]any) (out map[string]any) {
	t.Helper()
	text, err := json.Marshal(tree)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func episodeEvents(t *testing.T, file string) []map[string]any {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var ep struct{ Events []map[string]any }
	if err := json.Unmarshal(content, &ep); err != nil {
		t.Fatal(err)
	}
	return ep.Events
}

// looks lists what became of each call that was looked at again, in order: call,
// effect and the suspect values.
func looks(t *testing.T, dir string) (out []string) {
	t.Helper()
	for _, e := range entries(t, dir) {
		if e.Op != reexam.OpReexamine {
			continue
		}
		var body struct {
			Call struct {
				ID string `json:"call_id"`
			}
			Effect    string
			Origin    bool
			Items     []engine.Item
			Old, New  engine.Granted
			Rejection uint64
		}
		if err := json.Unmarshal(e.Body, &body); err != nil {
			t.Fatal(err)
		}
		text := body.Call.ID + " " + body.Effect
		if body.Origin {
			text += " origin"
		}
		out = append(out, text)
	}
	return out
}

// holds compares what was looked at again, and holds the directory to opening
// again with the same state and to replaying to equal bytes.
func (pl *player) holds(want ...string) {
	pl.t.Helper()
	if got := looks(pl.t, pl.dir); !slices.Equal(got, want) {
		pl.t.Errorf("looked at again: %q, want %q", got, want)
	}
	if r := replayed(pl.t, pl.dir); !r.OK || r.Due != 0 {
		pl.t.Errorf("replay: %+v", r)
	}
	if err := reopens(pl.t, pl.dir, pl.p); err != nil {
		pl.t.Error(shorten(err.Error()))
	}
}

var override = filepath.Join("..", "cli", "demo", "override-INC-4471.jsonl")

func TestTheOverrideRun(t *testing.T) {
	pl := play(t, episodeEvents(t, override))
	pl.holds("c0 flagged origin", "c3 pulled_back", "c4 pulled_back")
	v := pl.p.Snapshot()
	const trace = "override-INC-4471"
	path := func(id string) engine.Path {
		hash, _ := v.CallHash(trace, id)
		return v.Path(trace, hash)
	}
	for _, id := range []string{"c3", "c4"} {
		p := path(id)
		if p.Pulled == nil || !p.Pulled.Ran || p.Request == nil || p.Request.Status != engine.Pending || p.Authority != (engine.Granted{Outcome: engine.Review, Tier: engine.Propose, Boundary: engine.RequireReview}) {
			t.Errorf("%s: %+v, request %+v, authority %+v: want it pulled back and queued at propose", id, p.Pulled, p.Request, p.Authority)
		}
	}
	if p := path("c1"); p.Pulled != nil || p.Flagged != nil || p.Authority.Outcome != engine.Allow {
		t.Errorf("search_kb was touched: %+v", p)
	}
	if n := len(v.Waiting()); n != 2 {
		t.Errorf("%d calls wait, want 2", n)
	}
}

// TestTheOverrideRunVaried changes one thing of the run at a time.
func TestTheOverrideRunVaried(t *testing.T) {
	call := func(id, tool string, args, context map[string]any) map[string]any {
		a := map[string]any{"trace_id": "override-INC-4471", "call_id": id, "agent": map[string]any{"id": "itsm-agent", "component": "planner@3"},
			"tool": tool, "arguments": args, "confidence": 0.95}
		if context != nil {
			a["context"] = context
		}
		return map[string]any{"t": 0.0, "op": "attempt", "action": a}
	}
	attempt := func(events []map[string]any, id string) map[string]any {
		for _, e := range events {
			if a, ok := e["action"].(map[string]any); ok && a["call_id"] == id {
				return a
			}
		}
		t.Fatal(id)
		return nil
	}
	object := func(v any) map[string]any { return v.(map[string]any) }
	const bad = "ext-partner@wrong.example"
	for _, c := range []struct {
		name   string
		change func(events []map[string]any) []map[string]any
		want   []string
	}{
		{"the draft quotes what search_kb found", func(ev []map[string]any) []map[string]any {
			object(attempt(ev, "c4")["arguments"])["body"] = "kb-12"
			return ev
		}, []string{"c0 flagged origin", "c3 pulled_back", "c4 pulled_back"}},
		{"search_kb carries the same source record", func(ev []map[string]any) []map[string]any {
			attempt(ev, "c1")["context"] = map[string]any{"source_record": "INC-4471"}
			return ev
		}, []string{"c0 flagged origin", "c1 flagged", "c3 pulled_back", "c4 pulled_back"}},
		{"an earlier draft to the bad address", func(ev []map[string]any) []map[string]any {
			early := call("e", "draft_response", map[string]any{"ticket": "INC-1", "to": bad, "body": "Hello"}, nil)
			return slices.Insert(ev, 4, early)
		}, []string{"c0 flagged origin", "e pulled_back", "c3 pulled_back", "c4 pulled_back"}},
		{"the address is written otherwise, deep in an argument of another ticket", func(ev []map[string]any) []map[string]any {
			early := call("e", "draft_response", map[string]any{"ticket": "INC-1", "to": " Ext-Partner <EXT-PARTNER@wrong.example>", "body": "Hello"}, nil)
			return slices.Insert(ev, 4, early)
		}, []string{"c0 flagged origin", "e pulled_back", "c3 pulled_back", "c4 pulled_back"}},
		{"part of a value is not the value", func(ev []map[string]any) []map[string]any {
			early := call("e", "draft_response", map[string]any{"ticket": "INC-1", "to": "pat@customer.example", "body": "write to " + bad}, nil)
			return slices.Insert(ev, 4, early)
		}, []string{"c0 flagged origin", "c3 pulled_back", "c4 pulled_back"}},
		{"the ticket's result was never told", func(ev []map[string]any) []map[string]any {
			return slices.Delete(ev, 1, 2)
		}, []string{"c0 flagged origin", "c3 pulled_back", "c4 pulled_back"}}, // the earliest sharing read
		{"another trace holds the same", func(ev []map[string]any) []map[string]any {
			elsewhere := call("e", "draft_response", map[string]any{"ticket": "INC-4471", "to": bad, "body": "Hello"}, nil)
			object(elsewhere["action"])["trace_id"] = "another"
			return slices.Insert(ev, 4, elsewhere)
		}, []string{"c0 flagged origin", "c3 pulled_back", "c4 pulled_back"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			pl := play(t, c.change(episodeEvents(t, override)))
			pl.holds(c.want...)
		})
	}
}

// TestAJournalCutAfterARejectionLosesNothing cuts the journal after each of its
// lines and at places within them, and opens it: whatever the rejection made due
// is there again, in the same bytes.
func TestAJournalCutAfterARejectionLosesNothing(t *testing.T) {
	pl := play(t, episodeEvents(t, override))
	want := entries(t, pl.dir)
	if err := pl.p.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(filepath.Join(pl.dir, "journal.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	rejected := slices.IndexFunc(want, func(e journal.Entry) bool { return e.Op == "review" })
	lines := bytes.SplitAfter(whole, []byte("\n"))
	cut := 0
	for i, line := range lines[:len(want)] {
		for _, at := range []int{len(line), len(line) / 2, 1} {
			dir := copied(t, pl.dir)
			if err := os.WriteFile(filepath.Join(dir, "journal.jsonl"), whole[:cut+at], 0o600); err != nil {
				t.Fatal(err)
			}
			kept := i
			if at == len(line) {
				kept++
			}
			if kept == 0 {
				continue // a state without an activation is none
			}
			again := open(t, dir, pdp.Options{Now: func() int64 { return monday + 99 }})
			got := entries(t, dir)
			n := kept
			if kept > rejected {
				n = len(want)
			}
			if len(got) != n {
				t.Fatalf("cut after %d entries and %d bytes: %d entries, want %d", i, at, len(got), n)
			}
			for k := range got {
				if got[k].Hash != want[k].Hash && k < kept || !bytes.Equal(got[k].Body, want[k].Body) {
					t.Errorf("cut after %d entries: entry %d is %s\nwant %s", i, k, got[k].Body, want[k].Body)
				}
			}
			if err := reopens(t, dir, again); err != nil {
				t.Error(shorten(err.Error()))
			}
			if err := again.Close(); err != nil {
				t.Error(err)
			}
		}
		cut += len(line)
	}
}

// TestNothingComesBetweenARejectionAndWhatItMakesDue puts another entry
// where a call should have been looked at again.
func TestNothingComesBetweenARejectionAndWhatItMakesDue(t *testing.T) {
	pl := play(t, episodeEvents(t, override))
	all := entries(t, pl.dir)
	rejected := slices.IndexFunc(all, func(e journal.Entry) bool { return e.Op == "review" })
	f := reexam.NewFold(reexam.LibraryBeside(pl.dir), pdp.Versions())
	for i, e := range all {
		if i == rejected+1 {
			continue
		}
		err := f.Next(context.Background(), e)
		if failed := err != nil; failed != (i > rejected) {
			t.Fatalf("entry %d of %s without the one after the rejection: %v", i, e.Op, err)
		}
		if err != nil {
			break
		}
	}
	f = reexam.NewFold(reexam.LibraryBeside(pl.dir), pdp.Versions())
	for _, e := range all[:rejected] {
		if err := f.Next(context.Background(), e); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Next(context.Background(), all[rejected+1]); err == nil {
		t.Error("a call was looked at again and no rejection came before")
	}
}

// TestARejectedCallInOtherWords proposes a rejected call with trivial changes.
func TestARejectedCallInOtherWords(t *testing.T) {
	pl := play(t, episodeEvents(t, override))
	ev := episodeEvents(t, override)
	for i, e := range ev {
		a, ok := e["action"].(map[string]any)
		if !ok || a["call_id"] != "c2" {
			continue
		}
		for n, args := range []string{
			`{"to":"EXT-partner@Wrong.example","body":"Your mail domain is moved tonight."}`,
			`{"to":"ext-partner@wrong.example ","body":"your  mail domain is MOVED tonight."}`,
			`{"to":"<ext-partner@wrong.example>","body":"Your mail domain is moved tonight."}`,
		} {
			a["call_id"], a["trace_id"] = "again", []string{"override-INC-4471", "other", "third"}[n]
			var changed map[string]any
			if err := json.Unmarshal([]byte(args), &changed); err != nil {
				t.Fatal(err)
			}
			a["arguments"] = changed
			text, err := json.Marshal(a)
			if err != nil {
				t.Fatal(err)
			}
			again, err := action.Decode(text)
			if err != nil {
				t.Fatal(err)
			}
			d := decided(t, pl.p, again)
			if d.Outcome != engine.Block || !slices.ContainsFunc(d.Reasons, func(r engine.Reason) bool { return r.Code == "rejected" }) {
				t.Errorf("event %d, %s: %s, %s", i, args, d.Outcome, d.Reason)
			}
		}
	}
	pl.holds("c0 flagged origin", "c3 pulled_back", "c4 pulled_back")
}

func TestARetryAfterARefusalIsRecognised(t *testing.T) {
	dir := fresh(t)
	p := open(t, dir, pdp.Options{})
	first := decided(t, p, call(t, "t", "c1", "deprovision_account", `{"account":"acme\\jdoe"}`))
	decided(t, p, call(t, "t", "c2", "deprovision_account", `{"account":"ACME\\jdoe"}`))
	decided(t, p, call(t, "u", "c2", "deprovision_account", `{"account":"ACME\\jdoe"}`))
	decided(t, p, call(t, "t", "c3", "deprovision_account", `{"account":"acme\\other"}`))
	var got []string
	for _, e := range entries(t, dir)[1:] {
		var body struct {
			Record struct {
				RetryOf uint64 `json:"retry_of"`
			}
		}
		if err := json.Unmarshal(e.Body, &body); err != nil {
			t.Fatal(err)
		}
		got = append(got, map[bool]string{true: "retry", false: "first"}[body.Record.RetryOf == first.Seq])
	}
	if want := []string{"first", "retry", "first", "first"}; !slices.Equal(got, want) {
		t.Errorf("recognised %v, want %v", got, want)
	}
}
