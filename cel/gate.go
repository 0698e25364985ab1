package cel

import "github.com/conjunct-project/conjunct/engine"

// Gate is one CEL gate, in the shape that Kubernetes users know.
type Gate struct {
	Name string
	// Tools limits the gate to these tools; nil is every tool. Only a limited gate
	// may read arguments, and only arguments that each of its tools declares.
	Tools []string
	// Variables are evaluated at most once a test, when first read. A later one
	// may read earlier ones.
	Variables []Variable
	// Expression passes the gate when it is true.
	Expression string
	// Message says why the gate failed; MessageExpression computes it, and wins
	// where it yields a text.
	Message           string
	MessageExpression string
	// Reason is the stable code of a failure; empty is "gate_failed".
	Reason string
	// CostLimit is what one evaluation may cost; 0 is the most that any gate may.
	CostLimit uint64
	// OnFail, OnUnknown and Family are what the engine does with a finding. They
	// are carried here and not looked at.
	OnFail    engine.Resolution
	OnUnknown engine.Resolution
	Family    string
	// File and Row are where the gate stands.
	File string
	Row  int
}

// Variable is a named expression, read as variables.NAME.
type Variable struct {
	Name       string
	Expression string
}

// Schema is what exists: a name that is not here is a problem when a gate is
// compiled. A nil list knows no names.
type Schema struct {
	Settings, Pins, Evidence, Counters []string
	// ArgumentsOf returns the declared arguments of a tool, nil when the tool
	// declares none, and false when the tool is unknown.
	ArgumentsOf func(tool string) (map[string]engine.Argument, bool)
	Tools       []string
	// Scope is the bundle's scope data. It must not be changed afterwards.
	Scope map[string]any
}

// MaxCost is what one evaluation of any gate may cost, about 0.1 s: the limit per
// call that Kubernetes uses.
const MaxCost = 1_000_000

// costLimit is what one evaluation of this gate may cost.
func (g *Gate) costLimit() uint64 {
	if g.CostLimit == 0 {
		return MaxCost
	}
	return min(g.CostLimit, MaxCost)
}

// defaultReason is the code of a failed gate that names none.
const defaultReason = "gate_failed"
