package cases

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/conjunct-project/conjunct/action"
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
			if err := json.Unmarshal(v, to); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			delete(all, name)
		}
	}
	_, err := time.Parse(time.RFC3339, a.Expires)
	a.unnamed, a.undated = named && a.Approver == "", dated && err != nil
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

// report is what a checker outside the bundle said: evidence, and no more.
type report struct {
	name   string
	status engine.Verdict
}

// checker is the name under which the answer of an outside checker is evidence.
const checker = "checker"

// outside is what became of asking an outside checker: a program or a service.
type outside struct {
	Decision  string
	Error     string
	Exit      int
	ExitCode  int `json:"exit_code"`
	Stdout    string
	Stderr    string
	Timeout   bool
	Signal    string
	Panic     string
	Status    int // of a service, as HTTP has it
	Body      string
	Took      float64 `json:"duration_ms"`
	MayTake   float64 `json:"timeout_ms"`
	Truncated bool
}

// clean reports that the checker ended, in time and as one that has decided does.
func (o outside) clean() bool {
	ended := o.Error == "" && o.Exit == 0 && o.ExitCode == 0 && o.Signal == "" && o.Panic == "" && !o.Truncated
	inTime := !o.Timeout && (o.MayTake == 0 || o.Took <= o.MayTake)
	return ended && inTime && (o.Status == 0 || o.Status == 200)
}

// evaluator takes the answer of an outside checker. Only a clean exit with a
// decision that is known is a pass; an explicit deny is a fail, whatever else
// went wrong.
func (s *setup) evaluator(raw json.RawMessage) error { return s.ask(checker, raw) }

// evaluators takes the answers of several checkers: each of them has to pass.
func (s *setup) evaluators(raw json.RawMessage) error {
	var all []json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return err
	}
	if len(all) == 0 {
		// Nobody was asked, so nothing is known.
		return s.ask(checker, json.RawMessage("{}"))
	}
	for i, one := range all {
		if err := s.ask(fmt.Sprintf("%s_%d", checker, i+1), one); err != nil {
			return err
		}
	}
	return nil
}

// ask notes what a checker answered as evidence by a name.
func (s *setup) ask(name string, raw json.RawMessage) error {
	var e outside
	if err := strictly(raw, &e); err != nil {
		return &unsupported{"evaluator: " + err.Error()}
	}
	if e.Decision == "" {
		e.Decision = decisionIn(e.Stdout + e.Body)
	}
	status := engine.Unknown
	switch {
	case statusOf(e.Decision) == engine.Fail:
		status = engine.Fail
	case e.clean() && e.Decision == "ask":
		status = engine.Pass
		s.gates = append(s.gates, celGate{Name: strings.ReplaceAll(name, "_", "-") + "-asks", Expression: "false", Message: "the checker wants a person to look", OnFail: "review"})
	case e.clean():
		status = statusOf(e.Decision)
	}
	s.history.required = append(s.history.required, name)
	s.history.reports = append(s.history.reports, report{name, status})
	return nil
}

// decisionIn is the decision that a checker wrote: one JSON object, read like any
// input, with no key twice. Anything else says nothing.
func decisionIn(stdout string) string {
	value, _, err := action.ParseEntry([]byte(strings.TrimSpace(stdout)))
	if err != nil {
		return ""
	}
	said, _ := value.(map[string]any)
	decision, _ := said["decision"].(string)
	return decision
}

// statusOf is what a word says of something that is required. A word that is not
// known says nothing; a refusal counts in any case of letters.
func statusOf(word string) engine.Verdict {
	switch word {
	case "allow", "pass", "ok", "available", "ready":
		return engine.Pass
	}
	switch strings.ToLower(word) {
	case "deny", "fail", "block":
		return engine.Fail
	}
	return engine.Unknown
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
	if err := json.Unmarshal(ctx[pinned], &effect); err != nil {
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
	expression := map[string]string{"allow": "true", "deny": "false"}[effect]
	if expression == "" {
		return &unsupported{fmt.Sprintf("a policy that says %q", effect)}
	}
	s.gates = append(s.gates, celGate{Name: "pinned-policy", Expression: expression, Message: "the policy that the session runs under denies the call", OnFail: "block"})
	return nil
}
