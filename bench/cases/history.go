package cases

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/conjunct-project/conjunct/engine"
)

// history is what happened before the call: earlier calls, answers of people and
// of checkers, and what of it the call's tool has to bear.
type history struct {
	approval  *approval
	rejected  []call
	trace     []call
	reports   []report
	required  []string
	requester string
	policy    string // version in force
	callID    string
	unasked   bool // the call needs a yes and nobody gave one
	moved     bool // something that the approval was given under is another by now

	onlyKnown  bool
	restricted []string        // tools that are asked about
	denied     []string        // tools that never run
	declare    []string        // tools to declare though nothing calls them
	numeric    map[string]bool // arguments that are amounts
	reads      []string        // arguments that the case's rules read
}

// none reports that nothing was said about the call or another one before it; what
// earlier calls did is in the tree.
func (h *history) none() bool {
	return h.approval == nil && len(h.rejected) == 0 && len(h.reports) == 0
}

// call is an earlier call, as a context tells it.
type call struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Reason    string          `json:"reason"`
}

// UnmarshalJSON reads a call. A key that is not known may say that it was another
// call or came to something else.
func (c *call) UnmarshalJSON(text []byte) error {
	type plain call
	if err := strictly(text, (*plain)(c)); err != nil {
		return &unsupported{"an earlier call: " + err.Error()}
	}
	return nil
}

// calls are earlier calls; one alone may stand without its brackets.
type calls []call

func (l *calls) UnmarshalJSON(raw []byte) error {
	if jsonType(raw) == "object" {
		raw = slices.Concat([]byte("["), raw, []byte("]"))
	}
	return json.Unmarshal(raw, (*[]call)(l))
}

// approval is a yes that somebody gave, and to what.
type approval struct {
	call
	PolicyVersion string
	Approver      string
	Expires       string
	UsesLeft      *int
	Revoked       bool
	Said          string // what the answer was, where it is not only a yes
	// pins are further conditions that the yes was given under, by name. They are
	// the case's own: its context says what they are by now.
	pins map[string]json.RawMessage

	unnamed, undated bool
}

// void reports an approval that is none: it says something else than yes, whoever
// gave it is not named, or nobody can tell until when it holds. One without these
// keys leaves them to the contract.
func (a *approval) void() bool {
	return a.unnamed || a.undated || a.Said != "" && !slices.Contains(yes, strings.ToLower(a.Said))
}

// yes are the words for an approval.
var yes = []string{"approve", "approved", "allow", "allowed", "yes", "granted", "accepted", "active", "valid"}

// UnmarshalJSON reads an approval. Keys that say nothing of the approval itself
// are what it was given under, or, where no arguments are given, the arguments
// that were approved.
func (a *approval) UnmarshalJSON(text []byte) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	if all["arguments"] != nil || all["tool"] != nil {
		if err := a.otherNames(all); err != nil {
			return err
		}
	}
	into := map[string]any{"tool": &a.Tool, "arguments": &a.Arguments, "policy_version": &a.PolicyVersion, "approver": &a.Approver, "expires": &a.Expires, "uses_left": &a.UsesLeft, "revoked": &a.Revoked}
	_, named := all["approver"]
	_, dated := all["expires"]
	for _, word := range []string{"decision", "outcome", "status", "state"} {
		if _, given := all[word]; given && (all["arguments"] != nil || all["tool"] != nil) {
			into[word] = &a.Said
		}
	}
	for name, to := range into {
		if v, ok := all[name]; ok {
			said := a.Said
			if err := json.Unmarshal(v, to); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if said != "" && slices.Contains(yes, strings.ToLower(a.Said)) {
				// Of two words the one that is no yes counts.
				a.Said = said
			}
			delete(all, name)
		}
	}
	_, err := time.Parse(time.RFC3339, a.Expires)
	a.unnamed, a.undated = named && a.Approver == "", dated && err != nil
	if a.Tool == "" && len(a.Arguments) == 0 && len(all) == 0 {
		a.Said = "nothing"
	}
	if len(a.Arguments) > 0 {
		a.pins = all
		return nil
	}
	if len(all) > 0 {
		arguments, err := json.Marshal(all)
		a.Arguments = arguments
		return err
	}
	return nil
}

// approvalNames are further names for what an approval says.
var approvalNames = map[string]string{"approved_by": "approver", "by": "approver", "granted_by": "approver", "expires_at": "expires", "expiry": "expires", "valid_until": "expires",
	"max_uses": "uses_left", "uses": "uses_left", "remaining_uses": "uses_left", "args": "arguments"}

// otherNames reads what an approval says under other names. Under which id the call
// was proposed binds nothing.
func (a *approval) otherNames(all map[string]json.RawMessage) error {
	for said, name := range approvalNames {
		v, given := all[said]
		if _, twice := all[name]; given && !twice {
			all[name] = v
			delete(all, said)
		}
	}
	delete(all, "call_id")
	for word, no := range map[string]bool{"approved": false, "used": true, "consumed": true} {
		raw, given := all[word]
		if !given {
			continue
		}
		var is bool
		if err := json.Unmarshal(raw, &is); err != nil || string(raw) == "null" {
			return &unsupported{fmt.Sprintf("an approval with %s %s", word, raw)}
		}
		delete(all, word)
		switch none := 0; {
		case is != no:
		case word == "approved":
			a.Said = "denied"
		default:
			a.UsesLeft = &none
		}
	}
	return nil
}

// report is what a checker outside the bundle said: evidence, and no more.
type report struct {
	name   string
	status engine.Verdict
}

// instant is when the case happens: as it says, or a fixed moment.
func (s *setup) instant() (int64, error) {
	if s.now == "" && s.scope["windows"] != nil {
		return 0, errors.New("no time is given")
	}
	if s.now == "" {
		return time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC).Unix(), nil
	}
	t, err := time.Parse(time.RFC3339, s.now)
	return t.Unix(), err
}

// versions takes the keys that pin one policy and load another: the pinned one
// stays in force until it is activated away.
func (s *setup) versions(ctx map[string]json.RawMessage) error {
	raw, ok := ctx["pinned_policy"]
	if !ok {
		return nil
	}
	var pinned, effect string
	if err := json.Unmarshal(raw, &pinned); err != nil {
		return err
	}
	if text := ctx[pinned]; json.Unmarshal(text, &effect) != nil || string(text) == "null" {
		clear(ctx)
		s.refused = fmt.Errorf("the pinned policy %q is not there", pinned)
		return nil
	}
	var loaded string
	if raw, ok := ctx["loaded_policy"]; ok {
		if err := json.Unmarshal(raw, &loaded); err != nil {
			return err
		}
		delete(ctx, loaded)
	}
	delete(ctx, "pinned_policy")
	delete(ctx, "loaded_policy")
	delete(ctx, pinned)
	said, known := map[string]celGate{"allow": {Expression: "true", OnFail: "block"}, "deny": {Expression: "false", OnFail: "block"},
		"block": {Expression: "false", OnFail: "block"}, "review": {Expression: "false", OnFail: "review"}, "ask": {Expression: "false", OnFail: "review"}}[effect]
	if !known {
		return &unsupported{fmt.Sprintf("a policy that says %q", effect)}
	}
	said.Name, said.Message = "pinned-policy", "the policy that the session runs under does not allow the call"
	s.gates = append(s.gates, said)
	return nil
}
