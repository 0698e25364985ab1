package bundle

import (
	"maps"
	"slices"
	"strings"

	"github.com/conjunct-project/conjunct/datafile"
	"github.com/conjunct-project/conjunct/engine"
)

// critic reads which tools STRUCTURE and CRITIC gate.
func (d *decoder) critic(c *engine.Contract) func(*datafile.Node) {
	return func(n *datafile.Node) {
		r := &engine.CriticRule{Threshold: 0.85}
		d.Object(n, "critic", datafile.Fields{
			"threshold": d.Number("critic.threshold", 0, 1, &r.Threshold),
			"tools":     d.Texts("critic.tools", &r.Tools),
		}, "tools")
		if list := n.At("tools"); list != nil && list.Kind == datafile.Array && len(r.Tools) == 0 {
			d.Report(n.At("tools"), "data_range", "leave critic out where no tool is under one", "critic lists no tool, so it would never apply")
		}
		c.Critic = r
	}
}

// plans reads which tools need no plan. There is one thing to say of a tool.
func (d *decoder) plans(c *engine.Contract) func(*datafile.Node) {
	return d.Each("plan", func(tool string, _, n *datafile.Node) {
		var word string
		d.oneOf("plan."+tool, &word, "single")(n)
		c.SinglePlan = append(c.SinglePlan, tool)
	})
}

// approvedEntities reads what calls may name without being new: texts and
// numbers.
func (d *decoder) approvedEntities(c *engine.Contract) func(*datafile.Node) {
	c.ApprovedEntities = map[string][]engine.Entity{}
	return d.Each("approved_entities", func(tool string, _, n *datafile.Node) {
		list := []engine.Entity{}
		d.Items("approved_entities."+tool, func(_ int, n *datafile.Node) {
			e, ok := engine.EntityOf(n.Value)
			switch {
			case n.Kind != datafile.Scalar || !ok:
				d.Report(n, "data_type", "", "an approved entity must be text or a number")
			case slices.Contains(list, e):
				d.Report(n, "data_duplicate_item", "", "approved_entities.%s names %v twice", tool, n.Value)
			default:
				list = append(list, e)
			}
		})(n)
		c.ApprovedEntities[tool] = list
	})
}

// underCritic holds what the contract says of a critic against the registry:
// whatever would silently not count is a problem.
func (l *loader) underCritic(c *datafile.Node) {
	at, rule := c.At("contract", "critic"), l.contract.Critic
	if rule == nil {
		rule = &engine.CriticRule{}
	}
	for _, name := range rule.Tools {
		switch t, known := l.registry.tools[name]; {
		case !known:
			l.Report(at.At("tools"), "data_unknown_tool", engine.DidYouMean(name, slices.Sorted(maps.Keys(l.registry.tools))), "critic names tool %q, which the registry does not declare", name)
		case t.Consequence.Reversibility != engine.Irreversible:
			l.Report(at.At("tools"), "data_critic", "a critic gates what cannot be undone", "critic names tool %s, which is %s and not irreversible", name, t.Consequence.Reversibility)
		default:
			l.redactedEntities(c, t)
		}
	}
	if gate := l.contract.Gates[engine.CriticGate]; l.contract.Critic != nil && (gate.Scope == "" || gate.Rationale == "") {
		l.Report(at, "data_gate", "write gates: {CRITIC: {scope: ..., rationale: ...}}", "CRITIC is left out where a structural signal fires, and the contract stores no scope and rationale for that")
	}
	gated := func(section, tool string) bool {
		if slices.Contains(rule.Tools, tool) {
			return true
		}
		l.Report(c.At("contract", section).KeyNodes[tool], "data_critic", engine.DidYouMean(tool, rule.Tools), "%s names %q, which is no tool under a critic", section, tool)
		return false
	}
	for _, tool := range l.contract.SinglePlan {
		t := l.registry.tools[tool]
		if gated("plan", tool) && !t.Idempotent && (t.ForwardEffects == nil || t.RollbackEffects == nil) {
			l.Report(c.At("contract", "plan").KeyNodes[tool], "data_critic", "give the tool forward_effects and rollback_effects in the registry, or idempotent: true",
				"without a plan nobody says how many effects %s has, so STRUCTURE would never pass", tool)
		}
	}
	for _, tool := range slices.Sorted(maps.Keys(l.contract.ApprovedEntities)) {
		gated("approved_entities", tool)
	}
}

// redactedEntities reports an argument that is looked at for what it names and
// never reaches the journal: a replay would not know what was approved.
func (l *loader) redactedEntities(c *datafile.Node, t engine.Tool) {
	for _, name := range l.contract.Redact[t.Name] {
		if !slices.Contains(t.ReadOnly, name) {
			l.Report(c.At("contract", "redact", t.Name), "data_critic", "mark it read_only in the registry, or do not redact it",
				"redact names argument %q of %s, which is under a critic: what it names could not be known again from the journal", name, t.Name)
		}
	}
}

// condition reads what a tool rests on or establishes.
func (d *decoder) condition(what string, into *string) func(*datafile.Node) {
	return func(n *datafile.Node) {
		d.Text(what, into)(n)
		if text, ok := n.Value.(string); ok && strings.TrimSpace(text) == "" {
			d.Report(n, "data_range", "leave it out where there is none", "%s must not be empty", what)
		}
	}
}

// count reads how many effects there are. One that is left out is not known.
func (d *decoder) count(what string, into **float64) func(*datafile.Node) {
	return func(n *datafile.Node) {
		f := new(float64)
		before := len(d.Problems)
		d.Number(what, 0, 1e15, f)(n)
		if len(d.Problems) == before {
			*into = f
		}
	}
}
