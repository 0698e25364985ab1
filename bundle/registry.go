package bundle

import (
	"slices"

	"github.com/conjunct-project/conjunct/engine"
)

// registry is conjunct/registry/data.yaml.
type registry struct {
	tools         map[string]engine.Tool
	nodes         map[string]*node
	undeclared    engine.Tier
	inferredFloor engine.Tier
	trusted       []string
}

// registry reads what tools do and cost. Only the four consequence properties
// are required of a tool.
func (d *decoder) registry(n *node) registry {
	r := registry{tools: map[string]engine.Tool{}, nodes: map[string]*node{}, undeclared: engine.Refuse, inferredFloor: engine.Propose}
	if n == nil {
		d.report(nil, "data_missing_key", "a bundle needs conjunct/registry/data.yaml", "the bundle has no registry")
		return r
	}
	d.object(n, "the registry", fields{
		"undeclared": func(n *node) {
			d.member("undeclared", &r.undeclared)(n)
			if r.undeclared > engine.Propose {
				d.report(n, "data_unknown_value", "", "undeclared must be refuse or propose")
				r.undeclared = engine.Refuse
			}
		},
		"inferred": func(n *node) {
			d.object(n, "inferred", fields{
				"floor": d.member("inferred.floor", &r.inferredFloor),
				"trust": d.texts("inferred.trust", &r.trusted),
			})
		},
		"tools": d.each("tools", func(name string, key, n *node) {
			r.tools[name] = d.tool(name, n)
			r.nodes[name] = key
			if !validID(name) {
				d.report(key, "data_name", "", "a tool's name is 1 to 256 printable ASCII characters")
			}
		}),
	})
	return r
}

func validID(s string) bool {
	return len(s) > 0 && len(s) <= 256 && !slices.ContainsFunc([]byte(s), func(b byte) bool { return b < 0x20 || b > 0x7e })
}

func (d *decoder) tool(name string, n *node) engine.Tool {
	t := engine.Tool{Name: name}
	c := &t.Consequence
	c.Source = engine.Declared
	d.object(n, "tool "+name, fields{
		"reversibility":     d.member("reversibility", &c.Reversibility),
		"blast_radius":      d.member("blast_radius", &c.BlastRadius),
		"absorbed_by":       d.member("absorbed_by", &c.AbsorbedBy),
		"detection_latency": d.member("detection_latency", &c.DetectionLatency),
		"source":            d.source(&c.Source),
		"cost":              d.number("cost", 0, 1e15, &t.Cost),
		"effect":            d.member("effect", &t.Effect),
		"idempotent":        d.boolean("idempotent", &t.Idempotent),
		"arguments":         d.arguments(&t),
		"read_only":         d.texts("read_only", &t.ReadOnly),
		"requires":          d.requires(&t.Requires),
	}, "reversibility", "blast_radius", "absorbed_by", "detection_latency")
	for _, a := range t.ReadOnly {
		if _, ok := t.Arguments[a]; !ok {
			d.report(n.at("read_only"), "data_unknown_value", engine.DidYouMean(a, argumentNames(t)), "read_only names %q, which is no argument of %s", a, name)
		}
	}
	return t
}

// source reads where a consequence comes from: a registry declares, or keeps
// what was inferred; the other two sources are never written down.
func (d *decoder) source(into *engine.Source) func(*node) {
	return func(n *node) {
		d.member("source", into)(n)
		if *into != engine.Declared && *into != engine.Inferred {
			d.report(n, "data_unknown_value", "", "source must be declared or inferred")
		}
	}
}

func (d *decoder) arguments(t *engine.Tool) func(*node) {
	t.Arguments = nil
	return d.each("arguments", func(name string, _, n *node) {
		if t.Arguments == nil {
			t.Arguments = map[string]engine.Argument{}
		}
		var a engine.Argument
		d.object(n, "argument "+name, fields{
			"type":     d.member("type", &a.Type),
			"required": d.boolean("required", &a.Required),
		}, "type")
		t.Arguments[name] = a
	})
}

func (d *decoder) requires(r *engine.Requires) func(*node) {
	return func(n *node) {
		d.object(n, "requires", fields{
			"component": d.boolean("requires.component", &r.Component),
			"context":   d.texts("requires.context", &r.Context),
			"evidence":  d.texts("requires.evidence", &r.Evidence),
		})
	}
}

func argumentNames(t engine.Tool) []string {
	var out []string
	for name := range t.Arguments {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}
