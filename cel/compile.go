package cel

import (
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
)

// compiler holds what all gates of one bundle share.
type compiler struct {
	schema    *Schema
	plain     *cel.Env // values are bounded
	limited   *cel.Env // cost is bounded
	functions []string
	problems  []Problem
}

// Compile compiles the gates of a bundle. It reports all problems in one run;
// the program is nil when one of them is not a warning.
func Compile(gates []Gate, schema Schema) (*Program, []Problem) {
	c := &compiler{schema: &schema}
	p, err := c.program()
	if err != nil {
		return nil, []Problem{{Index: -1, Field: "environment", Message: err.Error()}}
	}
	seen := map[string]bool{}
	for i := range gates {
		g := &gates[i]
		b := newBuilder(c, g, i)
		if seen[g.Name] {
			b.complain("name", complain("there is another gate %q", g.Name))
		}
		seen[g.Name] = true
		if built := b.build(); built != nil {
			p.gates[g.Name] = built
		}
	}
	if slices.ContainsFunc(c.problems, func(p Problem) bool { return !p.Warning }) {
		return nil, c.problems
	}
	return p, c.problems
}

// program makes the environments and a program without gates.
func (c *compiler) program() (*Program, error) {
	registry, err := types.NewRegistry()
	if err != nil {
		return nil, err
	}
	bounded, unbounded := &adapter{registry, assumedSize}, &adapter{registry, 0}
	if c.plain, err = newEnv(bounded); err != nil {
		return nil, err
	}
	if c.limited, err = newEnv(unbounded); err != nil {
		return nil, err
	}
	c.functions = functionNames(c.plain)
	p := &Program{
		gates:   map[string]*gate{},
		bounded: bounded, unbounded: unbounded,
		// Scope is constant and its sizes are known, so it is never oversized.
		scope: unbounded.NativeToValue(nonNil(c.schema.Scope)),
	}
	p.missingError, err = missingError(c.limited)
	return p, err
}
