package metrics

import (
	"encoding/json"

	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/journal"
)

// body is what metrics read of an entry: of an attempt the decision, of another
// event the event, of a re-examination the call and its effect.
type body struct {
	Bundle   string
	Decision decision
	Event    event
	Call     struct {
		TraceID  string `json:"trace_id"`
		CallHash string `json:"call_hash"`
	}
	Effect string
	Ran    bool
	Record record
}

type decision struct {
	TraceID     string `json:"trace_id"`
	CallID      string `json:"call_id"`
	CallHash    string `json:"call_hash"`
	Tool        string
	Tier        engine.Tier
	Consequence engine.Consequence
	Outcome     engine.Outcome
	Transition  engine.Transition
	Cause       string
	Permit      bool
	Reasons     []struct{ Code string }
}

type event struct {
	TraceID string `json:"trace_id"`
	Call    string
	Outcome string // of a review
	// Of a result. Nil: not reported.
	Status   string
	Latency  *float64
	Overhead *float64
	Cost     *float64
	Incident string
}

type record struct {
	Invalid   string
	Requested bool
	Completed bool
	// RetryOf is the entry that refused the same call before, trivial changes aside.
	RetryOf uint64 `json:"retry_of"`
}

func read(e journal.Entry) (b body, err error) {
	err = json.Unmarshal(e.Body, &b)
	return b, err
}

// continues reports whether a proposal is about the run before it, and no new
// one: it was answered by what became of that run.
func (d *decision) continues() bool {
	if d.Permit {
		return false
	}
	for _, r := range d.Reasons {
		switch r.Code {
		case "already_released", "pulled_back", "rejected":
			return true
		}
	}
	return d.Cause == engine.Resolved
}
