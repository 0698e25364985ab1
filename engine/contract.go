package engine

import (
	"math"
	"slices"
)

// Contract is the runtime assurance contract of a bundle, as data: what the
// standard gates require, who may decide, and what follows. The zero value
// requires a review nobody can give.
type Contract struct {
	// Threshold is the confidence below which a call is one tier stricter.
	Threshold float64
	// Start gives the first values of settings, pins and evidence, in a dry run too.
	Start Start
	// TracePins and PathPins name the versions whose movement voids what was
	// recorded under them: per trace, or per path.
	TracePins, PathPins []string
	// Evidence and Context say what makes a record of a kind valid and current.
	Evidence, Context map[string]RecordRule
	// Components lists which tools a component may run. Nil: the setting
	// `eligible` alone decides.
	Components map[string]ComponentRule
	// RetryBudget is how often one path may be tried again.
	RetryBudget int
	// HighConsequence lists, per consequence property, the values that make a
	// call's consequence high: missing evidence may then be escalated.
	HighConsequence map[string][]string
	// Roles name who may review. Empty: SUPERVISION is unknown where a review is due.
	Roles []string
	// Required is the number of approvals a request needs; at least 1.
	Required int
	// SignedReviews makes an unsigned review invalid.
	SignedReviews bool
	// Gates holds the scope and rationale of gates that may be not applicable,
	// and what follows from each Rego gate.
	Gates map[string]GateRule
	// Priority orders the causes, first that holds first.
	Priority []Cause
	// Author is the pin that names the author, who never reviews; or empty.
	Author string

	Approval      ApprovalRule
	RejectionVoid []Binding // nil: a rejection stands until revoked
	Expiry        Expiry
	Queue         QueueRule
	Calls         CallRule
	Reexamination string // trace, window or off
	Window        int64  // seconds, for window
	Counters      map[string]CounterRule
	// Critic says which tools STRUCTURE and CRITIC gate; nil: none.
	Critic *CriticRule
	// SinglePlan names the tools under a critic whose calls stand alone: they need
	// no plan.
	SinglePlan []string
	// ApprovedEntities seeds, for each tool under a critic, what its calls may name
	// without being new.
	ApprovedEntities map[string][]Entity
	// Redact names, for each tool, the arguments whose values never reach the
	// journal.
	Redact        map[string][]string
	DefaultAction *Action // for episodes that name none
}

// Start gives first values.
type Start struct {
	Settings map[string]any
	Pins     map[string]string
	Evidence map[string]Verdict
}

// RecordRule says what makes a record of one kind valid and current.
type RecordRule struct {
	TTL      *int64 // seconds, inclusive; nil sets no limit
	Sources  []string
	Pins     []string // pins whose value the record must carry
	Required []string // event fields that must be there: source, expires
}

// ComponentRule says what a component may run.
type ComponentRule struct {
	Tools []string
	Tasks []string
	Until *int64
}

// GateRule is what the contract stores about one gate.
type GateRule struct {
	Scope     string
	Rationale string
	OnFail    Resolution
	OnUnknown Resolution
	Family    string   // standard gate whose row of transitions applies; empty: by Resolution
	Tools     []string // nil: every tool
}

// Binding is something an approval or rejection is pinned to.
type Binding uint8

const (
	BindPins Binding = iota
	BindBundle
	BindFacts
	BindEvidence
	BindSuspicion
)

var bindingNames = names{"pins", "bundle", "facts", "evidence", "suspicion"}

func (b Binding) String() string { return bindingNames.text(uint8(b)) }
func (b *Binding) UnmarshalText(t []byte) (err error) {
	*(*uint8)(b), err = bindingNames.parse("binding", t)
	return err
}

// ApprovalRule says how long an approval lives. The zero value releases once
// and is bound to everything.
type ApprovalRule struct {
	Many     bool
	VoidedBy []Binding // nil: all; empty: nothing
}

// Expiry says when a lapsed record can live again. The zero value: never.
type Expiry uint8

const (
	Final Expiry = iota
	Derived
)

var expiryNames = names{"final", "derived"}

func (e *Expiry) UnmarshalText(t []byte) (err error) {
	*(*uint8)(e), err = expiryNames.parse("expiry", t)
	return err
}

// QueueRule says where the queue's length comes from.
type QueueRule uint8

const (
	Counted QueueRule = iota
	FromSetting
)

var queueNames = names{"counted", "setting"}

func (q *QueueRule) UnmarshalText(t []byte) (err error) {
	*(*uint8)(q), err = queueNames.parse("queue", t)
	return err
}

// CallRule says what follows when a released path is proposed again.
type CallRule uint8

const (
	Once CallRule = iota
	DecideAnew
)

var callNames = names{"once", "decide_anew"}

func (c *CallRule) UnmarshalText(t []byte) (err error) {
	*(*uint8)(c), err = callNames.parse("calls", t)
	return err
}

// CounterRule sums an argument, or counts calls where Sum is empty, over
// released calls of the tools within a window.
type CounterRule struct {
	Tools  []string
	Sum    string // argument to add up
	By     string // argument that tells entities apart; empty: all together
	Window int64  // seconds; 0 has no end
	// Form is what entities are told apart by, so that one that is written in two
	// ways is one; nil takes them as they are written.
	Form func(entity string) string
}

// Tool is what the registry knows of a tool.
type Tool struct {
	Name        string
	Consequence Consequence
	Cost        float64
	Effect      Effect
	Idempotent  bool
	Arguments   map[string]Argument // nil: not checked
	ReadOnly    []string
	Requires    Requires
	// ForwardEffects and RollbackEffects count what a call does and what undoing
	// it undoes; nil: not known.
	ForwardEffects, RollbackEffects *float64
	// Precondition is what a call rests on, Postcondition what it establishes.
	Precondition, Postcondition string
}

// Requires is what a tool needs before it may run.
type Requires struct {
	Component bool
	Context   []string
	Evidence  []string
}

// Argument is the declared shape of one argument.
type Argument struct {
	Type     ArgumentType
	Required bool
	// Kind says what the value is to the tool, for facts; the zero value says
	// nothing.
	Kind ArgumentKind
}

// ArgumentKind is what an argument's value is to its tool: what facts are
// computed from.
type ArgumentKind uint8

const (
	NoKind      ArgumentKind = iota
	PathKind                 // a path, or a list of them, that is read or written as the tool's effect says
	DeleteKind               // a path, or a list of them, that is deleted
	FromKind                 // a path that is moved away
	ToKind                   // where it is moved to
	CommandKind              // a shell command line, or a list of program and arguments
	ContentKind              // the whole new content of a file, or what is sent
	Base64Kind               // the same, in base64
	BeforeKind               // the text that an edit replaces
	AfterKind                // what it puts in its place
	URLKind                  // an address on the network
	PlainKind                // none of these, whatever it holds
)

var argumentKindNames = names{"none", "path", "delete", "from", "to", "command", "content", "base64", "before", "after", "url", "plain"}

func (k ArgumentKind) String() string { return argumentKindNames.text(uint8(k)) }
func (k *ArgumentKind) UnmarshalText(b []byte) error {
	i, err := argumentKindNames[1:].parse("argument kind", b)
	if err != nil {
		*k = NoKind
		return err
	}
	*k = ArgumentKind(i + 1)
	return nil
}

// ArgumentType is a JSON type. The zero value matches nothing.
type ArgumentType uint8

const (
	NoType ArgumentType = iota
	StringType
	NumberType
	IntegerType
	BooleanType
	ArrayType
	ObjectType
	AnyType // any value, null too
)

var argumentTypeNames = names{"none", "string", "number", "integer", "boolean", "array", "object", "any"}

// ArgumentTypes lists the texts a registry may use.
func ArgumentTypes() []string { return slices.Clone(argumentTypeNames[1:]) }

func (t ArgumentType) String() string { return argumentTypeNames.text(uint8(t)) }
func (t *ArgumentType) UnmarshalText(b []byte) error {
	i, err := argumentTypeNames[1:].parse("argument type", b)
	if err != nil {
		*t = NoType
		return err
	}
	*t = ArgumentType(i + 1)
	return nil
}

func (t ArgumentType) matches(v any) bool {
	switch v := v.(type) {
	case nil:
		return t == AnyType
	case string:
		return t == StringType || t == AnyType
	case float64:
		return t == NumberType || t == AnyType || t == IntegerType && v == math.Trunc(v) && !math.IsInf(v, 0)
	case bool:
		return t == BooleanType || t == AnyType
	case []any:
		return t == ArrayType || t == AnyType
	case map[string]any:
		return t == ObjectType || t == AnyType
	}
	return false
}

// FirstState is the state of a path of which nothing is known but what the
// contract starts with.
func (c *Contract) FirstState() State {
	evidence := make(map[string]Evidence, len(c.Start.Evidence))
	for name, v := range c.Start.Evidence {
		evidence[name] = Evidence{Name: name, Status: v}
	}
	return State{Settings: c.Start.Settings, Pins: c.Start.Pins, Evidence: evidence}
}
