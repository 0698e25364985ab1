package engine

import "slices"

// Op is what an event does to the evidence state. One vocabulary serves live
// use, journal entries and episodes. The zero value is no operation and changes
// nothing.
type Op uint8

const (
	NoOp Op = iota
	OpChange
	OpSettings
	OpEvidence
	OpFailure
	OpEngage
	OpAttempt
	OpReview
	OpClear
	OpConfirm
	OpCompensate
	OpAcknowledge
	OpResult
	OpActivate
	OpCheckpoint
	// OpReexamine looks at a call again. Nobody can send it: it follows from a
	// rejection.
	OpReexamine
)

var opNames = names{"none", "change", "settings", "evidence", "failure", "engage", "attempt", "review",
	"clear", "confirm", "compensate", "acknowledge", "result", "activate", "checkpoint", "reexamine"}

func (o Op) String() string               { return opNames.text(uint8(o)) }
func (o Op) MarshalText() ([]byte, error) { return []byte(o.String()), nil }
func (o *Op) UnmarshalText(b []byte) (err error) {
	*(*uint8)(o), err = opNames.parse("op", b)
	return err
}

// Ops lists the operations that authority is asked for: all but attempt, which
// the decision itself answers, and reexamine, which follows from a rejection.
func Ops() []string {
	var out []string
	for o := OpChange; int(o) < len(opNames); o++ {
		if o != OpAttempt && o != OpReexamine {
			out = append(out, o.String())
		}
	}
	return out
}

// Self stands for the seq of the entry that is being made, until Stamp puts
// the number in its place: a decision made ahead of its turn does not know it.
const Self = ^uint64(0)

// Event is one thing that happened. The enforcement point supplies Time, By and
// the paths; nothing of them is taken from a live caller's own words.
type Event struct {
	Op      Op
	Time    int64
	TraceID string
	// Call is the call hash of the path that the event is about; empty for the
	// trace.
	Call string
	// CallID is the id under which the path was last named; empty where it was
	// named by its content alone.
	CallID string
	// Agent is who proposed the call; what is known of it without a path.
	Agent Agent
	By    Identity

	Pins     map[string]string // change
	Settings map[string]any    // settings
	Evidence Evidence          // evidence
	Failure  FailureEvent      // failure
	Engage   Engagement        // engage
	Attempt  Attempt           // attempt
	Review   ReviewEvent       // review
	Result   ResultEvent       // result
	Answer   Answer            // clear, confirm, compensate, acknowledge
	// Reexamine is what to look at again, with the action and facts in Attempt.
	Reexamine Reexamination
}

// Identity is who an event comes from, as the enforcement point authenticated
// it. Role and Qualified come from the bundle's reviewer list.
type Identity struct {
	Name      string
	Role      string
	Qualified bool
}

// FailureEvent sets or resolves a failure of a path.
type FailureEvent struct {
	Active      bool
	Recoverable bool
}

// Engagement asks for a component to be run on a task.
type Engagement struct {
	Component string
	Task      string
}

// Attempt proposes an action with its facts.
type Attempt struct {
	Action       Action
	Facts        map[string]any
	FactsUnknown []string
	FactsHash    string
	// FactsText is what the facts were hashed from, opaque here: a re-examination
	// decides on the same ones.
	FactsText []byte
	Imposed   []Imposed
	// Missing marks an action that the journal does not hold whole: it cannot be
	// decided.
	Missing bool
	// Recorded is the decision that a journal holds for an action whose arguments
	// were redacted: it is followed and cannot be made again. Nil: decide.
	Recorded *Decision
}

// ReviewOutcome is what a reviewer says. The zero value says nothing.
type ReviewOutcome uint8

const (
	NoReview ReviewOutcome = iota
	Approve
	Reject
	Return
	Revoke
)

var reviewOutcomeNames = names{"none", "approve", "reject", "return", "revoke"}

func (o ReviewOutcome) String() string               { return reviewOutcomeNames.text(uint8(o)) }
func (o ReviewOutcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }
func (o *ReviewOutcome) UnmarshalText(b []byte) (err error) {
	*(*uint8)(o), err = reviewOutcomeNames.parse("review outcome", b)
	return err
}

// ReviewEvent is a reviewer's word on a path. The reviewer is the event's By.
type ReviewEvent struct {
	Outcome ReviewOutcome
	Code    string
	Note    string
	Gates   []string // own gates that the approval resolves
	Signed  bool     // the signature was verified
	// Signature is over what was reviewed, opaque here.
	Signature string
}

// Outcomes lists what an event may say of its outcome to an authority rule: of a
// review, of evidence, of a result, or nothing.
func Outcomes() []string {
	return slices.Concat([]string{""}, reviewOutcomeNames[1:], []string{"pass", "fail", "unknown"}, resultNames[1:])
}

// RejectionCodes lists the codes a rejection may carry.
func RejectionCodes() []string {
	return []string{"wrong_target", "wrong_timing", "insufficient_context", "policy_violation", "other"}
}

// ResultStatus is what became of a permitted call. The zero value says nothing.
type ResultStatus uint8

const (
	NoResult ResultStatus = iota
	ResultOK
	ResultError
	NotRun
)

var resultNames = names{"none", "ok", "error", "not_run"}

func (r ResultStatus) String() string               { return resultNames.text(uint8(r)) }
func (r ResultStatus) MarshalText() ([]byte, error) { return []byte(r.String()), nil }
func (r *ResultStatus) UnmarshalText(b []byte) (err error) {
	*(*uint8)(r), err = resultNames.parse("result", b)
	return err
}

// ResultEvent reports what became of a permitted call, or later that it was
// wrong.
type ResultEvent struct {
	// Status may be left out where Incident is given.
	Status      ResultStatus
	Recoverable bool
	Latency     *float64 // seconds that the call took, at least 0; nil: not told
	Overhead    *float64 // seconds that the caller waited for the decision; nil: not told
	Cost        *float64 // what it cost, at least 0; nil: not told
	// Produced are the entities found in the result: what later calls may take
	// from it. Values are they in normal form, each once, opaque here.
	Produced []string
	Values   []string
	// Incident is the rejection code of a later report that the call was wrong. It
	// works like a rejection.
	Incident string
}
