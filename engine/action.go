package engine

import (
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Action is one proposed tool call. The enforcement point attests TraceID,
// CallID, Agent, Origins and Critic; everything else is claimed by the agent: a
// claim may tighten a decision and can never satisfy a gate.
type Action struct {
	TraceID    string
	CallID     string
	Agent      Agent
	Tool       string
	Arguments  map[string]any
	Confidence *float64 // nil: not given, which counts as low
	Critic     *Critic
	Context    Context
	Origins    map[string]string // JSON pointer into Arguments to where the value came from
	Plan       *Plan

	// Document is the whole action without confidence, as policies see it.
	// Numbers are float64. It must not be changed.
	Document map[string]any
	// Canonical are the canonical bytes of the whole action, opaque here. They
	// must not be changed.
	Canonical []byte
	// InputHash covers the whole action, CallHash what the call would do. Both
	// are opaque here.
	InputHash string
	CallHash  string
	// Likeness is shared by all calls that differ from this one in nothing but
	// case, space and the like: a rejection binds it. Opaque; where it is empty
	// the call hash stands in.
	Likeness string
	// Holds lists what the call is built on, in normal form and each once. It must
	// not be changed.
	Holds []Held
}

// Clone is the same action, in which nothing moves when the other is changed.
func (a *Action) Clone() Action {
	out := *a
	document, _ := CloneValue(a.Document).(map[string]any)
	arguments, inDocument := a.Document["arguments"].(map[string]any)
	if inDocument = inDocument && reflect.ValueOf(arguments).Pointer() == reflect.ValueOf(a.Arguments).Pointer(); inDocument {
		out.Arguments = document["arguments"].(map[string]any)
	} else {
		out.Arguments, _ = CloneValue(a.Arguments).(map[string]any)
	}
	out.Document, out.Origins = document, maps.Clone(a.Origins)
	out.Canonical, out.Holds, out.Context.RetrievedContext = slices.Clone(a.Canonical), slices.Clone(a.Holds), slices.Clone(a.Context.RetrievedContext)
	out.Confidence = cloneOf(a.Confidence)
	if out.Critic = cloneOf(a.Critic); out.Critic != nil {
		out.Critic.Score = cloneOf(a.Critic.Score)
	}
	if out.Plan = cloneOf(a.Plan); out.Plan != nil {
		out.Plan.Steps = slices.Clone(a.Plan.Steps)
		for i := range out.Plan.Steps {
			s := &out.Plan.Steps[i]
			s.Arguments, _ = CloneValue(s.Arguments).(map[string]any)
			s.ForwardEffects, s.RollbackEffects = cloneOf(s.ForwardEffects), cloneOf(s.RollbackEffects)
		}
	}
	return out
}

func cloneOf[T any](p *T) *T {
	if p == nil {
		return nil
	}
	out := *p
	return &out
}

// Held is a value that a call is built on.
type Held struct {
	Item
	Argument string // in which argument it stands; empty: in the context
}

// likeness is what a rejection of the call binds.
func (a *Action) likeness() string {
	if a.Likeness != "" {
		return a.Likeness
	}
	return a.CallHash
}

// Agent is who proposes: the agent and the learned component in it.
type Agent struct {
	ID        string
	Component string
}

// Is reports whether a name is the agent's or its component's, in whatever case
// and whatever the component's version, or with none.
func (a Agent) Is(name string) bool {
	return SamePerson(a.ID, name) || sameComponent(a.Component, name)
}

// sameComponent reports whether two names are one component's: neither a
// version nor case or space makes another one.
func sameComponent(a, b string) bool {
	a, _, _ = strings.Cut(a, "@")
	b, _, _ = strings.Cut(b, "@")
	return SamePerson(a, b)
}

// SamePerson reports whether two names are one person's, whatever the case and
// the space around them. Nobody is the same as nobody.
func SamePerson(a, b string) bool {
	a, b = strings.TrimSpace(a), strings.TrimSpace(b)
	return a != "" && strings.EqualFold(a, b)
}

// Critic is a second model's score of the call.
type Critic struct {
	Score     *float64
	Component string
}

// is reports whether a name is the critic component's.
func (c *Critic) is(name string) bool { return c != nil && Agent{Component: c.Component}.Is(name) }

// Context is what the call was built on.
type Context struct {
	TargetEntity     string
	SourceRecord     string
	RetrievedContext []string
}

// Plan is the agent's declared plan.
type Plan struct {
	Steps []PlanStep
}

// PlanStep is one step of a plan. Effect cardinalities are nil when not declared.
type PlanStep struct {
	ID              string
	Tool            string
	Arguments       map[string]any
	Precondition    string
	Postcondition   string
	Assertion       string
	ForwardEffects  *float64
	RollbackEffects *float64
}

// Input is everything a decision depends on.
type Input struct {
	Action Action
	// Facts were computed from the action before policy runs. A fact that could
	// not be determined is absent here and listed in FactsUnknown.
	Facts        map[string]any
	FactsUnknown []string
	// FactsHash is an opaque digest of Facts and FactsUnknown, to pin approvals to.
	FactsHash string
	State     State
	Now       int64 // whole seconds since the epoch, UTC
	// Imposed holds verdicts that time or cancellation once forced on a gate.
	// Replay feeds them back; they can only be Unknown.
	Imposed []Imposed

	// Consequence is filled in by Decide before any gate or floor sees it.
	Consequence Consequence
	// novel is what the call names that nobody approved, for a tool under a critic.
	novel []Entity
}

// Imposed records that a gate was cut short and why.
type Imposed struct {
	Gate string `json:"gate"`
	Code string `json:"code"`
}

// Lookup follows a path of object keys through the input as policies see it:
// action, consequence, facts, state or now first. The second result is false
// where the path leads nowhere.
func (in *Input) Lookup(path []string) (any, bool) {
	if len(path) == 0 {
		return nil, false
	}
	rest := path[1:]
	switch path[0] {
	case "action":
		return walk(in.Action.Document, rest)
	case "facts":
		return walk(in.Facts, rest)
	case "state":
		return in.State.lookup(rest)
	case "consequence":
		if len(rest) == 0 {
			return in.Consequence.Document(), true
		}
		if len(rest) > 1 {
			return nil, false
		}
		if v, ok := in.Consequence.Property(rest[0]); ok {
			return v, true
		}
	case "now":
		if len(rest) == 0 {
			return float64(in.Now), true
		}
	}
	return nil, false
}

// Document is the input as policies see it, one object.
func (in *Input) Document() map[string]any {
	return map[string]any{
		"action":      object(in.Action.Document),
		"consequence": in.Consequence.Document(),
		"facts":       object(in.Facts),
		"state":       in.State.Document(),
		"now":         float64(in.Now),
	}
}

func object(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}

func walk(m map[string]any, path []string) (any, bool) {
	if len(path) == 0 {
		return object(m), true
	}
	v, ok := m[path[0]]
	for _, key := range path[1:] {
		next, isObject := v.(map[string]any)
		if !ok || !isObject {
			return nil, false
		}
		v, ok = next[key]
	}
	return v, ok
}
