package bundle

import (
	"slices"

	"github.com/conjunct-project/conjunct/datafile"
	"github.com/conjunct-project/conjunct/engine"
)

// registry is conjunct/registry/data.yaml.
type registry struct {
	tools         map[string]engine.Tool
	nodes         map[string]*datafile.Node
	undeclared    engine.Tier
	inferredFloor engine.Tier
	trusted       []string
}

// registry reads what tools do and cost. Only the four consequence properties
// are required of a tool.
func (d *decoder) registry(n *datafile.Node) registry {
	r := registry{tools: map[string]engine.Tool{}, nodes: map[string]*datafile.Node{}, undeclared: engine.Refuse, inferredFloor: engine.Propose}
	if n == nil {
		d.Report(nil, "data_missing_key", "a bundle needs conjunct/registry/data.yaml", "the bundle has no registry")
		return r
	}
	d.Object(n, "the registry", datafile.Fields{
		"undeclared": func(n *datafile.Node) {
			said, before := "", len(d.Problems)
			d.Text("undeclared", &said)(n)
			switch {
			case len(d.Problems) > before || said == engine.Refuse.String():
			case said == engine.Propose.String():
				r.undeclared = engine.Propose
			default:
				d.Report(n, "data_unknown_value", engine.DidYouMean(said, []string{engine.Refuse.String(), engine.Propose.String()}), "undeclared must be refuse or propose")
			}
		},
		"inferred": func(n *datafile.Node) {
			d.Object(n, "inferred", datafile.Fields{
				"floor": d.Member("inferred.floor", &r.inferredFloor),
				"trust": d.Texts("inferred.trust", &r.trusted),
			})
		},
		"tools": d.Each("tools", func(name string, key, n *datafile.Node) {
			r.tools[name] = d.tool(name, n)
			r.nodes[name] = key
			if !validID(name) {
				d.Report(key, "data_name", "", "a tool's name is 1 to 256 printable ASCII characters")
			}
		}),
	})
	return r
}

func validID(s string) bool {
	return len(s) > 0 && len(s) <= 256 && !slices.ContainsFunc([]byte(s), func(b byte) bool { return b < 0x20 || b > 0x7e })
}

func (d *decoder) tool(name string, n *datafile.Node) engine.Tool {
	t := engine.Tool{Name: name}
	c := &t.Consequence
	c.Source = engine.Declared
	d.Object(n, "tool "+name, datafile.Fields{
		"reversibility":     d.Member("reversibility", &c.Reversibility),
		"blast_radius":      d.Member("blast_radius", &c.BlastRadius),
		"absorbed_by":       d.Member("absorbed_by", &c.AbsorbedBy),
		"detection_latency": d.Member("detection_latency", &c.DetectionLatency),
		"source":            d.source(&c.Source),
		"cost":              d.Number("cost", 0, 1e15, &t.Cost),
		"effect":            d.Member("effect", &t.Effect),
		"idempotent":        d.Boolean("idempotent", &t.Idempotent),
		"arguments":         d.arguments(&t),
		"read_only":         d.Texts("read_only", &t.ReadOnly),
		"requires":          d.requires(&t.Requires),
		"forward_effects":   d.count("forward_effects", &t.ForwardEffects),
		"rollback_effects":  d.count("rollback_effects", &t.RollbackEffects),
		"precondition":      d.condition("precondition", &t.Precondition),
		"postcondition":     d.condition("postcondition", &t.Postcondition),
	}, "reversibility", "blast_radius", "absorbed_by", "detection_latency")
	for _, a := range t.ReadOnly {
		if _, ok := t.Arguments[a]; !ok {
			d.Report(n.At("read_only"), "data_unknown_value", engine.DidYouMean(a, argumentNames(t)), "read_only names %q, which is no argument of %s", a, name)
		}
	}
	return t
}

// source reads where a consequence comes from: a registry declares, or keeps
// what was inferred; the other two sources are never written down.
func (d *decoder) source(into *engine.Source) func(*datafile.Node) {
	return func(n *datafile.Node) {
		d.Member("source", into)(n)
		if *into != engine.Declared && *into != engine.Inferred {
			d.Report(n, "data_unknown_value", "", "source must be declared or inferred")
		}
	}
}

func (d *decoder) arguments(t *engine.Tool) func(*datafile.Node) {
	read := d.Each("arguments", func(name string, _, n *datafile.Node) {
		var a engine.Argument
		d.Object(n, "argument "+name, datafile.Fields{
			"type":     d.Member("type", &a.Type),
			"required": d.Boolean("required", &a.Required),
			"kind":     d.Member("kind", &a.Kind),
		}, "type")
		t.Arguments[name] = a
	})
	return func(n *datafile.Node) {
		// Declared to take none is not the same as not declared.
		t.Arguments = map[string]engine.Argument{}
		read(n)
	}
}

func (d *decoder) requires(r *engine.Requires) func(*datafile.Node) {
	return func(n *datafile.Node) {
		d.Object(n, "requires", datafile.Fields{
			"component": d.Boolean("requires.component", &r.Component),
			"context":   d.Texts("requires.context", &r.Context),
			"evidence":  d.Texts("requires.evidence", &r.Evidence),
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
