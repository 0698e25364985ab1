package scenario

import (
	"slices"
	"time"

	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/signals"
)

// Scenario is one expected decision.
type Scenario struct {
	Name   string
	File   string
	Row    int
	Action engine.Action
	Now    int64
	Facts  map[string]any
	// World is where facts are computed when the scenario gives none.
	World signals.World
	// State is laid over the contract's start state.
	Settings map[string]any
	Evidence map[string]engine.Evidence
	// Entities are approved for the action's tool besides those of the contract.
	Entities map[engine.Entity]bool
	Expect   Expectation
}

// Expectation is what a scenario names; what it does not name is not compared.
type Expectation struct {
	values  []expected
	gates   []expected
	reasons []expected
	floors  []expected
}

// expected is one named value and where it stands.
type expected struct {
	what, want string
	row        int
}

// Len is the number of things compared. A scenario that names nothing proves
// nothing.
func (e Expectation) Len() int {
	return len(e.values) + len(e.gates) + len(e.reasons) + len(e.floors)
}

// expects reports whether a reason code is named.
func (e Expectation) expects(code string) bool {
	return slices.ContainsFunc(e.reasons, func(x expected) bool { return x.want == code })
}

// defaultNow is the clock of a scenario that names no time: a Monday morning.
var defaultNow = time.Date(2026, time.March, 2, 9, 30, 0, 0, time.UTC).Unix()
