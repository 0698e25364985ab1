package cases

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/conjunct-project/conjunct/action"
	"github.com/conjunct-project/conjunct/engine"
)

// outside is what became of asking an outside checker, a program or a service. Each
// part stands as the case writes it: people write a failure as a flag, a number or a
// text.
type outside struct {
	Decision  json.RawMessage
	Error     json.RawMessage
	Exception json.RawMessage
	Crash     json.RawMessage
	Crashed   json.RawMessage
	Away      json.RawMessage `json:"unreachable"`
	Exit      json.RawMessage
	ExitCode  json.RawMessage `json:"exit_code"`
	Stdout    json.RawMessage
	Stderr    string
	Timeout   json.RawMessage
	TimedOut  json.RawMessage `json:"timed_out"`
	Signal    json.RawMessage
	Panic     json.RawMessage
	Status    int // of a service, as HTTP has it
	Body      json.RawMessage
	Took      float64 `json:"duration_ms"`
	Latency   float64 `json:"latency_ms"`
	MayTake   float64 `json:"timeout_ms"`
	Truncated bool
	Reason    string // what the checker says of its decision
}

// clean reports that the checker ended, in time and as one that has decided does. A
// status that is given and is not zero is none.
func (o outside) clean() bool {
	for _, failed := range []json.RawMessage{o.Error, o.Exception, o.Crash, o.Crashed, o.Away, o.Timeout, o.TimedOut, o.Signal, o.Panic} {
		if !slices.Contains([]string{"", "null", "false", `""`, "0"}, string(failed)) {
			return false
		}
	}
	for _, status := range []json.RawMessage{o.Exit, o.ExitCode} {
		if len(status) > 0 && string(status) != "0" {
			return false
		}
	}
	inTime := o.MayTake == 0 || max(o.Took, o.Latency) <= o.MayTake
	return !o.Truncated && inTime && (o.Status == 0 || o.Status == 200)
}

// said is the decision that came, or nothing: one word, as it is or in what the
// checker wrote.
func (o outside) said() string {
	var word string
	if len(o.Decision) > 0 && string(o.Decision) != "null" {
		// Anything but a word says nothing, whatever else was written.
		_ = json.Unmarshal(o.Decision, &word)
		return word
	}
	written := ""
	for _, part := range []json.RawMessage{o.Stdout, o.Body} {
		var text string
		switch jsonType(part) {
		case "string":
			_ = json.Unmarshal(part, &text)
		case "object":
			text = string(part)
		}
		written += text
	}
	return decisionIn(written)
}

// checker is the name under which the answer of an outside checker is evidence.
const checker = "checker"

// evaluator takes the answer of an outside checker. Only a clean exit with a
// decision that is known is a pass; an explicit deny is a fail, whatever else
// went wrong.
func (s *setup) evaluator(raw json.RawMessage) error { return s.ask(checker, raw) }

// evaluators takes the answers of several checkers, in a list or by name: each of
// them has to pass.
func (s *setup) evaluators(raw json.RawMessage) error {
	var all []json.RawMessage
	if jsonType(raw) == "object" {
		var named map[string]json.RawMessage
		if err := json.Unmarshal(raw, &named); err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(named)) {
			all = append(all, named[name])
		}
	} else if err := json.Unmarshal(raw, &all); err != nil {
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
	word, status := e.said(), engine.Unknown
	switch {
	case statusOf(word) == engine.Fail:
		status = engine.Fail
	case e.clean() && word == "ask":
		status = engine.Pass
		s.gates = append(s.gates, celGate{Name: strings.ReplaceAll(name, "_", "-") + "-asks", Expression: "false", Message: "the checker wants a person to look", OnFail: "review"})
	case e.clean():
		status = statusOf(word)
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

// standing is what is said of something that is required: in a word, with a flag, or
// as its status. Anything else says nothing.
func standing(raw json.RawMessage) engine.Verdict {
	var told struct{ Status, State string }
	var word string
	switch jsonType(raw) {
	case "string":
		_ = json.Unmarshal(raw, &word)
	case "boolean":
		if strings.TrimSpace(string(raw)) == "true" {
			word = "ok"
		}
	case "object":
		if strictly(raw, &told) == nil && (told.Status == "" || told.State == "") {
			word = told.Status + told.State
		}
	}
	switch word {
	case "running", "up", "active", "healthy", "started", "enabled", "passed":
		return engine.Pass
	}
	return statusOf(word)
}
