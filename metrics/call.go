package metrics

import (
	"math/big"

	"github.com/conjunct-project/conjunct/engine"
)

// call is one call and what became of it.
type call struct {
	first decision
	// executed: permitted, and not reported as not run. Under is the bundle that
	// permitted it.
	executed bool
	under    string
	answer   answer
	result   string
	incident string
	latency  *float64
	overhead *float64
	cost     *float64
}

// answer is what a person decided of a call.
type answer uint8

const (
	unanswered answer = iota
	approved
	rejected
)

func (c *call) queued() bool  { return c.first.Outcome == engine.Review }
func (c *call) stopped() bool { return c.first.Outcome != engine.Allow }
func (c *call) wrong() bool   { return c.answer == rejected || c.executed && c.incident != "" }
func (c *call) failed() bool  { return c.result == engine.ResultError.String() }

func (c *call) class() string {
	return c.first.Consequence.Reversibility.String() + "/" + c.first.Consequence.BlastRadius.String()
}

// report takes in what a result says; what it leaves out stands as it was.
func (c *call) report(e event) {
	if e.Status == engine.NotRun.String() {
		c.executed, c.result, c.latency, c.overhead, c.cost = false, "", nil, nil, nil
		return
	}
	if e.Status != "" {
		c.result = e.Status
	}
	for _, v := range []struct{ into, from **float64 }{{&c.latency, &e.Latency}, {&c.overhead, &e.Overhead}, {&c.cost, &e.Cost}} {
		if *v.from != nil {
			*v.into = *v.from
		}
	}
	if e.Incident != "" {
		c.incident = e.Incident
	}
}

// price is what the call cost: as reported, else as the registry has it.
func (c *call) price(library Library) (*big.Rat, bool) {
	if c.cost != nil {
		return exact(*c.cost), true
	}
	if p, ok := library(c.under); ok {
		if t, declared := p.Tool(c.first.Tool); declared {
			return exact(t.Cost), true
		}
	}
	return nil, false
}

var weights = map[engine.Tier]int{engine.Execute: 1, engine.ExecuteNotify: 2, engine.Propose: 5, engine.Refuse: 13}

func (c *call) weight() int { return weights[c.first.Tier] }

// knownWeight is the weight where incidents count. A call that ran and was wrong
// weighs at least what the default table makes of its consequence: otherwise a
// bundle that lowers the tier of a call would make the mistake weigh less.
func (c *call) knownWeight() int {
	if c.executed && c.incident != "" {
		return max(c.weight(), weights[defaultTier(c.first.Consequence)])
	}
	return c.weight()
}

// defaultTier is the default bundle's severity table; a test holds it to that.
func defaultTier(c engine.Consequence) engine.Tier {
	switch {
	case c.BlastRadius == engine.External, c.Reversibility == engine.Irreversible:
		return engine.Propose
	case c.BlastRadius == engine.SystemWide && c.Reversibility == engine.Costly:
		return engine.Propose
	case c.BlastRadius == engine.SystemWide, c.Reversibility == engine.Costly:
		return engine.ExecuteNotify
	}
	return engine.Execute
}
