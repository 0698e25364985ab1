package reexam

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/conjunct-project/conjunct/action"
	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/episode"
	"github.com/conjunct-project/conjunct/journal"
)

// Entries that are no events.
const (
	// OpActivate puts a bundle in force; the first one begins a state.
	OpActivate = "activate"
	// OpRefused is input that was no action.
	OpRefused = "refused"
)

// Versions are the programs that decided.
type Versions struct {
	Engine, OPA, CEL string
}

// Body is the canonical body of the entry for an event and what it came to. It
// holds codes and facts and no prose, and does not depend on the entry's place
// in the journal: a request that the entry itself makes is written as null.
//
// Arguments that the contract redacts are kept as an HMAC under key.
func Body(e engine.Event, rec engine.Record, p engine.Policy, v Versions, key []byte) ([]byte, error) {
	tree := map[string]any{"bundle": p.Bundle().Digest, "engine": v.Engine, "opa": v.OPA, "cel": v.CEL}
	if e.Op != engine.OpAttempt {
		e.Time = rec.Time
		tree["event"], tree["record"] = episode.WriteEvent(e), recordTree(rec)
		return action.CanonicalValue(tree)
	}
	a := e.Attempt
	hidden, err := redactionOf(p.Contract(), a.Action, key)
	if err != nil {
		return nil, err
	}
	written := a.Action.Canonical
	if hidden != nil {
		if written, err = hidden.action(a.Action); err != nil {
			return nil, err
		}
	}
	tree["redacted"] = hidden.list()
	tree["facts"] = facts(a.Facts)
	tree["facts_unknown"] = texts(a.FactsUnknown)
	tree["decision"] = decisionTree(rec, hidden)
	tree["record"] = recordTree(rec)
	rest, err := action.CanonicalValue(tree)
	if err != nil {
		return nil, err
	}
	// "action" sorts before every other key, so its bytes go first as they are.
	body := append([]byte(`{"action":`), written...)
	return append(append(body, ','), rest[1:]...), nil
}

func facts(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}

func texts(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}

// recordTree is what an event came to, besides a decision.
func recordTree(rec engine.Record) map[string]any {
	out := map[string]any{"invalid": rec.Invalid, "transition": rec.Transition.String(), "state_before": rec.StateBefore,
		"state_after": rec.StateAfter, "retry_left": float64(rec.RetryLeft), "review_required": rec.ReviewRequired,
		"review_outcome": rec.ReviewOutcome.String(), "requested": rec.Requested, "completed": rec.Completed, "reviewer": nil,
		"context_version": rec.ContextVersion, "rule_version": rec.RuleVersion, "component_version": rec.ComponentVersion,
		"output_ref": rec.OutputRef, "reasons": []any{}}
	if rec.Reviewer != nil {
		out["reviewer"] = *rec.Reviewer
	}
	if rec.Decision == nil {
		out["reasons"] = reasonTrees(rec.Reasons, nil)
	}
	return out
}

func decisionTree(rec engine.Record, hidden *redaction) map[string]any {
	d := rec.Decision
	gates := make([]any, len(d.Gates))
	for i, g := range d.Gates {
		gates[i] = map[string]any{"name": g.Name, "verdict": g.Verdict.String(), "reasons": reasonTrees(g.Reasons, hidden)}
	}
	modifiers := make([]any, len(d.Modifiers))
	for i, m := range d.Modifiers {
		modifiers[i] = map[string]any{"name": m.Name, "applied": m.Applied}
	}
	floors := make([]any, len(d.Floors))
	for i, f := range d.Floors {
		floors[i] = map[string]any{"name": f.Name, "tier": f.Tier.String(), "applied": f.Applied}
	}
	imposed := make([]any, len(d.Imposed))
	for i, x := range d.Imposed {
		imposed[i] = map[string]any{"gate": x.Gate, "code": x.Code}
	}
	out := map[string]any{"trace_id": d.TraceID, "call_id": d.CallID, "tool": d.Tool, "input_hash": d.InputHash, "call_hash": d.CallHash,
		"consequence": d.Consequence.Document(), "base_tier": d.BaseTier.String(), "modifiers": modifiers, "floors": floors,
		"tier": d.Tier.String(), "boundary": d.Boundary.String(), "gates": gates, "transition": d.Transition.String(), "cause": d.Cause,
		"permit": d.Permit, "outcome": d.Outcome.String(), "notify": d.Notify, "request": nil, "reasons": reasonTrees(d.Reasons, hidden), "imposed": imposed}
	if !rec.Requested {
		out["request"] = float64(d.Request)
	}
	return out
}

func reasonTrees(reasons []engine.Reason, hidden *redaction) []any {
	out := make([]any, len(reasons))
	for i, r := range reasons {
		list := make([]any, len(r.Facts))
		for k, f := range r.Facts {
			fact := map[string]any{"path": f.Path, "value": plain(f.Value)}
			if f.Absent {
				fact["absent"] = true
			}
			if hidden.hides(f.Path) {
				fact["value"], fact["redacted"] = nil, true
			}
			list[k] = fact
		}
		out[i] = map[string]any{"code": r.Code, "facts": list, "rule": map[string]any{"path": r.Rule.Path, "file": r.Rule.File, "row": float64(r.Rule.Row)}}
	}
	return out
}

// plain turns the Go values that reasons hold into those that JSON has.
func plain(v any) any {
	switch v := v.(type) {
	case nil, bool, float64, string:
		return v
	case int:
		return float64(v)
	case int64:
		return float64(v)
	case uint64:
		return float64(v)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = plain(e)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = plain(e)
		}
		return out
	}
	return fmt.Sprint(v)
}

// attemptBody is what an attempt's entry holds besides what follows from it.
type attemptBody struct {
	Action       json.RawMessage
	Bundle       string
	Facts        json.RawMessage
	FactsUnknown []string `json:"facts_unknown"`
	Redacted     []string
	Decision     engine.Decision
}

var errNotCanonical = errors.New("the body is not in canonical form")

// ReadEvent turns an entry back into its event.
func ReadEvent(e journal.Entry, c *engine.Contract) (engine.Event, error) {
	if e.Op == engine.OpAttempt.String() {
		return readAttempt(e, c)
	}
	value, canonical, err := action.ParseEntry(e.Body)
	if err != nil {
		return engine.Event{}, err
	}
	if string(canonical) != string(e.Body) {
		return engine.Event{}, errNotCanonical
	}
	tree, _ := value.(map[string]any)
	return episode.ReadEvent(tree["event"], c)
}

func readAttempt(e journal.Entry, c *engine.Contract) (engine.Event, error) {
	var body attemptBody
	if err := json.Unmarshal(e.Body, &body); err != nil {
		return engine.Event{}, err
	}
	a, err := action.Decode(body.Action)
	if err != nil {
		return engine.Event{}, err
	}
	value, canonical, err := action.ParseEntry(body.Facts)
	if err != nil {
		return engine.Event{}, err
	}
	known, ok := value.(map[string]any)
	if !ok {
		return engine.Event{}, errors.New("facts is not an object")
	}
	hash, err := FactsHash(known, body.FactsUnknown)
	if err != nil || string(canonical) != string(body.Facts) {
		return engine.Event{}, errors.Join(err, errNotCanonical)
	}
	attempt := engine.Attempt{Action: a, Facts: known, FactsUnknown: body.FactsUnknown, FactsHash: hash, Imposed: body.Decision.Imposed}
	if len(body.Redacted) > 0 {
		if err := recorded(&attempt, &body, c); err != nil {
			return engine.Event{}, err
		}
	}
	return engine.Event{Op: engine.OpAttempt, Time: e.Time, TraceID: a.TraceID, Call: attempt.Action.CallHash, CallID: a.CallID, Attempt: attempt}, nil
}

// recorded makes an attempt one that follows what the entry records: its
// arguments are not there to decide on. Only what the contract redacts may be
// missing.
func recorded(a *engine.Attempt, body *attemptBody, c *engine.Contract) error {
	for _, name := range body.Redacted {
		if !slices.Contains(c.Redact[a.Action.Tool], name) {
			return fmt.Errorf("argument %q is redacted, and the contract does not redact it", name)
		}
	}
	a.Action.CallHash, a.Action.InputHash = body.Decision.CallHash, body.Decision.InputHash
	a.Recorded = &body.Decision
	return nil
}

// FactsHash is the digest of facts that an approval is pinned to: what is known
// and what could not be determined.
func FactsHash(known map[string]any, unknown []string) (string, error) {
	text, err := action.CanonicalValue(map[string]any{"facts": facts(known), "unknown": texts(unknown)})
	if err != nil {
		return "", err
	}
	return action.Hash(text), nil
}
