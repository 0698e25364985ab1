package reexam_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/conjunct-project/conjunct/action"
	"github.com/conjunct-project/conjunct/bundle"
	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/evidence"
	"github.com/conjunct-project/conjunct/reexam"
)

// TestBodiesAreCanonical holds the bytes that are written by hand to the ones
// the library writes.
func TestBodiesAreCanonical(t *testing.T) {
	b, err := bundle.Read(filepath.Join("..", "policies", "itsm"))
	if err != nil {
		t.Fatal(err)
	}
	person := engine.Identity{Name: "pat \"q\" \u00e9\u2028", Role: "operator"}
	events := []engine.Event{
		{Op: engine.OpSettings, TraceID: "t", By: person, Settings: map[string]any{"capacity": 3.5}},
		{Op: engine.OpSettings, TraceID: "t", By: person, Settings: map[string]any{"nosuch": nil}},
		{Op: engine.OpChange, TraceID: "t", By: person, Pins: map[string]string{"context": "v\u0001"}},
		{Op: engine.OpReview, TraceID: "t", By: person, Review: engine.ReviewEvent{Outcome: engine.Approve, Note: "<&>", Gates: []string{"a", "b"}}},
		{Op: engine.OpEngage, TraceID: "t", By: person, Engage: engine.Engagement{Component: "c", Task: "t"}},
		{Op: engine.OpClear, TraceID: "t", By: person, Answer: engine.Answer{Item: engine.Item{Kind: "k", Value: "\u2028\""}, Note: "n"}},
		{Op: engine.OpCompensate, TraceID: "t", By: person, Answer: engine.Answer{With: "c9", Signature: "s"}},
		{Op: engine.OpResult, TraceID: "t", By: person, Result: engine.ResultEvent{Status: engine.ResultOK, Latency: new(0.1), Cost: new(1e21), Produced: []string{"\u00e9"}, Incident: "other"}},
		{Op: engine.OpReexamine, TraceID: "t", Call: "sha256:x", CallID: "c\\", Reexamine: engine.Reexamination{Rejection: 7, Read: true, Origin: true,
			CallID: "c\\", Items: []engine.Item{{Kind: "target_entity", Value: "\u00e9\u2028"}, {Kind: "entity", Value: "\""}}}},
		{Op: engine.OpReexamine, TraceID: "t", Call: "sha256:x", Reexamine: engine.Reexamination{Rejection: 7, CallID: "c1"},
			Attempt: engine.Attempt{Action: engine.Action{TraceID: "t", Tool: "read_ticket", Arguments: map[string]any{"ticket": "\u2028"}}}},
		{Op: engine.OpReexamine, TraceID: "t", Call: "sha256:x", Attempt: engine.Attempt{Missing: true}},
	}
	for _, doc := range []string{
		`{"trace_id":"t","call_id":"c1","tool":"read_ticket","arguments":{"ticket":"\u00e9\u2028\\\""}}`,
		`{"trace_id":"t","call_id":"c2","tool":"email_customer","arguments":{"to":"\u0007 x","body":1e-7},"confidence":2}`,
		`{"trace_id":"t","call_id":"c3","tool":"nosuch \\ tool","arguments":{"deep":{"a":[1,2.5,null,true]}}}`,
		`{"trace_id":"t","call_id":"c4","tool":"deprovision_account","arguments":{"account":"acme\\x"},"confidence":0.99}`,
	} {
		a, err := action.Decode([]byte(doc))
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, engine.Event{Op: engine.OpAttempt, TraceID: "t", Attempt: engine.Attempt{Action: a,
			Facts: map[string]any{"z": 1.0, "a": "\u00e9"}, FactsUnknown: []string{"b\n"}, Imposed: []engine.Imposed{{Gate: "recipient-count", Code: "timeout"}}}})
	}
	for _, e := range events {
		rec, _ := engine.Step(context.Background(), b, evidence.New().Snapshot(), &e)
		if e.Op == engine.OpReview {
			rec.RetryOf, rec.Due = 3, []engine.Reexamination{{}, {}}
		}
		got, err := reexam.Body(e, rec, b, reexam.Versions{Engine: "e", OPA: "o", CEL: "c"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, want, err := action.ParseEntry(got)
		if err != nil {
			t.Fatalf("%v in %s", err, got)
		}
		if string(got) != string(want) {
			t.Errorf("%s:\n got %s\nwant %s", e.Op, got, want)
		}
	}
}

func TestTheHashOfNoFactsIsThatOfTheirCanonicalForm(t *testing.T) {
	want := action.Hash([]byte(`{"facts":{},"unknown":[]}`))
	for _, known := range []map[string]any{nil, {}} {
		for _, unknown := range [][]string{nil, {}} {
			if got, _, err := reexam.FactsHash(known, unknown); err != nil || got != want {
				t.Errorf("FactsHash(%v, %v) = %s, %v: want %s", known, unknown, got, err, want)
			}
		}
	}
	if got, _, err := reexam.FactsHash(nil, []string{"path"}); err != nil || got != action.Hash([]byte(`{"facts":{},"unknown":["path"]}`)) {
		t.Errorf("the hash of an unknown fact is %s, %v", got, err)
	}
}
