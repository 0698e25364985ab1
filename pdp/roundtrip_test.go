package pdp_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/pdp"
)

// TestAnEventThatWasAppliedCanBeReplayed gives Apply events of every kind, odd
// ones included. Whether one is refused, invalid or good, the directory must
// open again and have the same state: an event that replay cannot read back
// makes the whole state unusable.
func TestAnEventThatWasAppliedCanBeReplayed(t *testing.T) {
	operator := engine.Identity{Name: "op", Role: "operator"}
	long := func(n int) string { return strings.Repeat("x", n) }
	expires := int64(-1)
	cases := []struct {
		name string
		e    engine.Event
	}{
		{"a result", engine.Event{Op: engine.OpResult, TraceID: "t", CallID: "c1", By: operator, Result: engine.ResultEvent{Status: engine.ResultOK}}},
		{"a result for a call that was held", engine.Event{Op: engine.OpResult, TraceID: "t", CallID: "c2", By: operator, Result: engine.ResultEvent{Status: engine.ResultOK}}},
		{"a result by a stranger", engine.Event{Op: engine.OpResult, TraceID: "t", CallID: "c1", By: engine.Identity{Name: "x", Role: "agent"}, Result: engine.ResultEvent{Status: engine.ResultOK}}},
		{"a result in full", engine.Event{Op: engine.OpResult, TraceID: "t", CallID: "c1", By: operator, Result: engine.ResultEvent{Status: engine.ResultOK, Latency: new(0.25), Overhead: new(0.001), Cost: new(0.0), Produced: []string{"pat@customer.example", "a, b"}}}},
		{"an incident", engine.Event{Op: engine.OpResult, TraceID: "t", CallID: "c1", By: operator, Result: engine.ResultEvent{Incident: "wrong_target"}}},
		{"an incident of a call that was held", engine.Event{Op: engine.OpResult, TraceID: "t", CallID: "c2", By: operator, Result: engine.ResultEvent{Incident: "wrong_target"}}},
		{"an incident that is none", engine.Event{Op: engine.OpResult, TraceID: "t", CallID: "c1", By: operator, Result: engine.ResultEvent{Incident: "wrong"}}},
		{"a latency that is no number", engine.Event{Op: engine.OpResult, TraceID: "t", CallID: "c1", By: operator, Result: engine.ResultEvent{Status: engine.ResultOK, Latency: new(math.NaN())}}},
		{"an entity that is not UTF-8", engine.Event{Op: engine.OpResult, TraceID: "t", CallID: "c1", By: operator, Result: engine.ResultEvent{Status: engine.ResultOK, Produced: []string{"\xff"}}}},
		{"a failure", engine.Event{Op: engine.OpFailure, TraceID: "t", CallID: "c1", By: operator, Failure: engine.FailureEvent{Active: true}}},
		{"a settings event", engine.Event{Op: engine.OpSettings, By: operator, Settings: map[string]any{"capacity": 1.0}}},
		{"a change", engine.Event{Op: engine.OpChange, TraceID: "t", By: operator, Pins: map[string]string{"context": "v2"}}},
		{"a change of a path's pin", engine.Event{Op: engine.OpChange, TraceID: "t", CallID: "c2", By: operator, Pins: map[string]string{"input": "v2"}}},
		{"an engagement", engine.Event{Op: engine.OpEngage, TraceID: "t", By: operator, Engage: engine.Engagement{Component: "planner", Task: "x"}}},
		{"a review by nobody known", engine.Event{Op: engine.OpReview, TraceID: "t", CallID: "c2", By: engine.Identity{Name: "x"}, Review: engine.ReviewEvent{Outcome: engine.Approve}}},
		{"a review that claims a role", engine.Event{Op: engine.OpReview, TraceID: "t", CallID: "c2", By: engine.Identity{Name: "x", Role: "service-desk-lead", Qualified: true}, Review: engine.ReviewEvent{Outcome: engine.Approve}}},
		{"a review by the agent", engine.Event{Op: engine.OpReview, TraceID: "t", CallID: "c2", By: engine.Identity{Name: "itsm-agent"}, Review: engine.ReviewEvent{Outcome: engine.Approve}}},
		{"a call nobody proposed", engine.Event{Op: engine.OpResult, TraceID: "t", CallID: "c9", By: operator, Result: engine.ResultEvent{Status: engine.ResultOK}}},
		{"a note that is not UTF-8", engine.Event{Op: engine.OpReview, TraceID: "t", CallID: "c2", By: engine.Identity{Name: "x"}, Review: engine.ReviewEvent{Outcome: engine.Approve, Note: "\xff"}}},
		{"a setting that is no JSON value", engine.Event{Op: engine.OpSettings, By: operator, Settings: map[string]any{"capacity": 1}}},

		{"a result by nobody", engine.Event{Op: engine.OpResult, TraceID: "t", CallID: "c1", Result: engine.ResultEvent{Status: engine.ResultOK}}},
		{"a review by nobody", engine.Event{Op: engine.OpReview, TraceID: "t", CallID: "c2", Review: engine.ReviewEvent{Outcome: engine.Approve}}},
		{"a result that says nothing", engine.Event{Op: engine.OpResult, TraceID: "t", CallID: "c1", By: operator}},
		{"a review without an outcome", engine.Event{Op: engine.OpReview, TraceID: "t", CallID: "c2", By: engine.Identity{Name: "x"}}},
		{"a rejection code that is none", engine.Event{Op: engine.OpReview, TraceID: "t", CallID: "c2", By: engine.Identity{Name: "x"}, Review: engine.ReviewEvent{Outcome: engine.Reject, Code: "nonsense"}}},
		{"evidence that the contract does not name", engine.Event{Op: engine.OpEvidence, TraceID: "t", By: operator, Evidence: engine.Evidence{Name: "ci", Status: engine.Pass}}},
		{"evidence that expires before 1970", engine.Event{Op: engine.OpEvidence, TraceID: "t", By: operator, Evidence: engine.Evidence{Name: "ci", Status: engine.Pass, Expires: &expires}}},
		{"a setting that the contract does not name", engine.Event{Op: engine.OpSettings, By: operator, Settings: map[string]any{"capacty": 4.0}}},
		{"a setting of another type", engine.Event{Op: engine.OpSettings, By: operator, Settings: map[string]any{"capacity": "4"}}},
		{"a setting that is an object", engine.Event{Op: engine.OpSettings, By: operator, Settings: map[string]any{"capacity": map[string]any{}}}},
		{"a pin that the contract does not name", engine.Event{Op: engine.OpChange, TraceID: "t", By: operator, Pins: map[string]string{"colour": "red"}}},
		{"a change of a path's pin by the call's hash", engine.Event{Op: engine.OpChange, TraceID: "t", Call: "sha256:x", By: operator, Pins: map[string]string{"input": "v2"}}},
		{"a result by the call's hash", engine.Event{Op: engine.OpFailure, TraceID: "t", Call: "sha256:x", By: operator, Failure: engine.FailureEvent{Active: true}}},
		{"an engagement with nothing", engine.Event{Op: engine.OpEngage, TraceID: "t", By: operator}},
		{"a clearing of nothing", engine.Event{Op: engine.OpClear, TraceID: "t", By: operator}},
		{"a clearing of a call", engine.Event{Op: engine.OpClear, TraceID: "t", CallID: "c1", By: engine.Identity{Name: "x"}}},
		{"a clearing by an operator", engine.Event{Op: engine.OpClear, TraceID: "t", By: operator, Answer: engine.Answer{Item: engine.Item{Value: "x"}}}},
		{"a clearing of an odd value", engine.Event{Op: engine.OpClear, TraceID: "t", By: engine.Identity{Name: "x"}, Answer: engine.Answer{Item: engine.Item{Kind: "k", Value: " A\u200b b\n"}, Note: "n"}}},
		{"a clearing of what is not UTF-8", engine.Event{Op: engine.OpClear, TraceID: "t", By: operator, Answer: engine.Answer{Item: engine.Item{Value: "\xff"}}}},
		{"a confirmation of a call that was not pulled back", engine.Event{Op: engine.OpConfirm, TraceID: "t", CallID: "c1", By: engine.Identity{Name: "x"}}},
		{"a compensation without a call", engine.Event{Op: engine.OpCompensate, TraceID: "t", CallID: "c1", By: engine.Identity{Name: "x"}}},
		{"a compensation", engine.Event{Op: engine.OpCompensate, TraceID: "t", CallID: "c1", By: engine.Identity{Name: "x"}, Answer: engine.Answer{With: "c2", Signature: "no signature"}}},
		{"an acknowledgement that claims to be signed", engine.Event{Op: engine.OpAcknowledge, TraceID: "t", CallID: "c1", By: engine.Identity{Name: "x", Role: "service-desk-lead", Qualified: true}, Answer: engine.Answer{Signed: true}}},
		{"a second look", engine.Event{Op: engine.OpReexamine, TraceID: "t", CallID: "c1", By: operator}},
		{"an activation as an event", engine.Event{Op: engine.OpActivate, TraceID: "t", By: operator}},
		{"a checkpoint as an event", engine.Event{Op: engine.OpCheckpoint, TraceID: "t", By: operator}},
		{"no operation", engine.Event{By: operator}},
		{"an operation that does not exist", engine.Event{Op: 99, By: operator}},
		{"a note larger than an entry may be", engine.Event{Op: engine.OpReview, TraceID: "t", CallID: "c2", By: engine.Identity{Name: "x"}, Review: engine.ReviewEvent{Outcome: engine.Approve, Note: long(17 << 20)}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dir := fresh(t)
			p := open(t, dir, pdp.Options{})
			ctx := context.Background()
			for id, tool := range map[string]string{"c1": "read_ticket", "c2": "update_ticket_status"} {
				args := `{"ticket":"INC-1"}`
				if id == "c2" {
					args = `{"ticket":"INC-1","status":"closed"}`
				}
				if _, err := p.Decide(ctx, call(t, "t", id, tool, args)); err != nil {
					t.Fatal(err)
				}
			}
			rec, err := p.Apply(ctx, c.e)
			t.Logf("applied: %q, %v", rec.Invalid, err)
			if err := reopens(t, dir, p); err != nil {
				t.Fatal(shorten(err.Error()))
			}
			// An entry after it claims it to be on disk.
			decided(t, p, call(t, "t", "c3", "read_ticket", `{"ticket":"INC-3"}`))
			if err := reopens(t, dir, p); err != nil {
				t.Fatal(shorten(err.Error()))
			}
		})
	}
}

// TestEvidenceOfAPathStaysThere gives evidence to a call that is named by its
// content, as a caller in Go may.
func TestEvidenceOfAPathStaysThere(t *testing.T) {
	b := with(t, map[string]func(string) string{
		contractData:                  plus("evidence:\n  ci: {ttl: 1000}\n"),
		"conjunct/registry/data.yaml": swap("effect: read, arguments: {ci: {type: string, required: true}}", "effect: read, requires: {evidence: [ci]}, arguments: {ci: {type: string, required: true}}"),
	})
	dir := stateOf(t, b)
	p := open(t, dir, pdp.Options{})
	a := call(t, "t", "c1", "lookup_ci", `{"ci":"x"}`)
	if d := decided(t, p, a); d.Permit {
		t.Fatal("permitted without evidence")
	}
	if rec, err := p.Apply(context.Background(), engine.Event{Op: engine.OpEvidence, TraceID: "t", Call: a.CallHash, By: engine.Identity{Name: "op", Role: "operator"},
		Evidence: engine.Evidence{Name: "ci", Status: engine.Pass}}); err == nil {
		t.Fatal("a call named by its content alone is accepted", rec)
	}
	if rec, err := p.Apply(context.Background(), engine.Event{Op: engine.OpEvidence, TraceID: "t", CallID: "c1", By: engine.Identity{Name: "op", Role: "operator"},
		Evidence: engine.Evidence{Name: "ci", Status: engine.Pass}}); err != nil || rec.Invalid != "" {
		t.Fatal(err, rec)
	}
	if err := reopens(t, dir, p); err != nil {
		t.Fatal(shorten(err.Error()))
	}
}
