package scenario

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/conjunct-project/conjunct/engine"
)

// Difference is one expectation that did not hold.
type Difference struct {
	Row  int    `json:"row"`
	What string `json:"what"`
	Want string `json:"want"`
	Got  string `json:"got"`
}

// Result is a scenario, the decision it gave, and where it differs.
type Result struct {
	Scenario    Scenario
	Decision    engine.Decision
	Differences []Difference
}

// Run decides the scenario's action and compares what the scenario names.
func (s Scenario) Run(ctx context.Context, p engine.Policy) Result {
	d := engine.Decide(ctx, p, s.input(ctx, p))
	return Result{Scenario: s, Decision: d, Differences: s.Expect.compare(&d)}
}

// input lays the scenario's state over the contract's start.
func (s Scenario) input(ctx context.Context, p engine.Policy) engine.Input {
	state := p.Contract().FirstState()
	state.Settings = overlay(state.Settings, s.Settings)
	state.Evidence = overlay(state.Evidence, s.Evidence)
	state.Entities = s.Entities
	facts, unknown := s.facts(ctx, p)
	return engine.Input{Action: s.Action, Facts: facts, FactsUnknown: unknown, State: state, Now: s.Now}
}

func overlay[V any](base, over map[string]V) map[string]V {
	out := maps.Clone(base)
	if out == nil {
		out = map[string]V{}
	}
	maps.Copy(out, over)
	return out
}

func (e Expectation) compare(d *engine.Decision) (out []Difference) {
	differ := func(x expected, got string) {
		if got != x.want {
			out = append(out, Difference{x.row, x.what, x.want, got})
		}
	}
	for _, x := range e.values {
		differ(x, value(d, x.what))
	}
	for _, x := range e.gates {
		got := "not evaluated"
		if g := d.Gate(x.what); g.Name != "" {
			got = g.Verdict.String()
		}
		differ(expected{"gate " + x.what, x.want, x.row}, got)
	}
	for _, x := range e.floors {
		names := make([]string, len(d.Floors))
		for i, f := range d.Floors {
			names[i] = f.Name
		}
		differ(x, strings.Join(names, ", "))
	}
	codes := Codes(d)
	for _, x := range e.reasons {
		if !slices.Contains(codes, x.want) {
			out = append(out, Difference{x.row, x.what, x.want, strings.Join(codes, ", ")})
		}
	}
	return out
}

func value(d *engine.Decision, what string) string {
	if property, ok := strings.CutPrefix(what, "consequence."); ok {
		v, _ := d.Consequence.Property(property)
		return v
	}
	switch what {
	case "base_tier":
		return d.BaseTier.String()
	case "tier":
		return d.Tier.String()
	case "boundary":
		return d.Boundary.String()
	case "transition":
		return d.Transition.String()
	case "outcome":
		return d.Outcome.String()
	case "cause":
		return d.Cause
	case "permit":
		return fmt.Sprint(d.Permit)
	case "notify":
		return fmt.Sprint(d.Notify)
	}
	return ""
}

// Codes lists the reason codes of a decision, those of passed gates included,
// sorted.
func Codes(d *engine.Decision) []string {
	seen := map[string]bool{}
	for _, r := range d.Reasons {
		seen[r.Code] = true
	}
	for _, g := range d.Gates {
		for _, r := range g.Reasons {
			seen[r.Code] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}
