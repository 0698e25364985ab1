package cel

import (
	"slices"

	"github.com/google/cel-go/cel"
)

// plan makes the programs of a gate without problems.
func (b *builder) plan() *gate {
	limited := b.tooCostly()
	for _, u := range b.units() {
		b.programs(u, limited)
	}
	if b.broken {
		return nil
	}
	g := &gate{Gate: *b.gate, expression: b.expression, message: b.message, variables: b.variables, limited: limited}
	g.Tools, g.Variables = slices.Clone(b.gate.Tools), slices.Clone(b.gate.Variables)
	if g.Reason == "" {
		g.Reason = defaultReason
	}
	g.rule.Path, g.rule.File, g.rule.Row, g.rule.Title = "cel."+g.Name, g.File, g.Row, g.Message
	if g.rule.Title == "" {
		g.rule.Title = g.Name
	}
	read := append([]*unit{b.expression}, b.behind(b.expression)...)
	g.reads, g.keys = pointers(read)
	return g
}

// behind lists the variables that a unit reads, directly or not.
func (b *builder) behind(u *unit) (list []*unit) {
	for i, v := range b.gate.Variables {
		for _, name := range u.uses {
			if name != v.Name || slices.Contains(list, b.variables[i]) {
				continue
			}
			list = append(list, b.variables[i])
			for _, deeper := range b.behind(b.variables[i]) {
				if !slices.Contains(list, deeper) {
					list = append(list, deeper)
				}
			}
		}
	}
	return list
}

// tooCostly reports whether the gate may cost more than the limit. That a part of
// it must is a problem.
func (b *builder) tooCostly() bool {
	total, limit := uint64(0), b.gate.costLimit()
	for _, u := range b.units() {
		cost, err := b.env.EstimateCost(u.ast, sizes{b.schema.Scope})
		if err != nil {
			b.report(u, u.root.Expr().ID(), complain("its cost cannot be estimated: %v", err))
			continue
		}
		if cost.Min > limit {
			b.report(u, u.root.Expr().ID(), complain("it costs at least %d, and no evaluation may cost more than %d", cost.Min, limit).
				because("move the work into a fact, or make the scope data smaller"))
		}
		if sum := total + cost.Max; sum >= total {
			total = sum
		} else {
			total = ^uint64(0)
		}
	}
	return total > limit
}

// programs plans a unit. The limited program is planned for every unit: it takes
// over where a value is larger than the static bound assumed.
func (b *builder) programs(u *unit, limited bool) {
	var err error
	optimize := cel.EvalOptions(cel.OptOptimize)
	if !limited {
		if u.plain, err = b.compiler.plain.Program(u.ast, optimize, regexes(u.root), loops(u.root, 0)); err != nil {
			b.report(u, u.root.Expr().ID(), complain("%v", err))
			return
		}
	}
	// No state tracking here, ever: cel-go v0.31.0 then forgets the cost limit.
	u.limited, err = b.compiler.limited.Program(u.ast, optimize, regexes(u.root), loops(u.root, rangeLimit),
		cel.CostLimit(b.gate.costLimit()), cel.InterruptCheckFrequency(interruptFrequency))
	if err != nil {
		b.report(u, u.root.Expr().ID(), complain("%v", err))
	}
}
