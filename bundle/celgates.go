package bundle

import (
	"fmt"
	"regexp"

	"github.com/conjunct-project/conjunct/cel"
	"github.com/conjunct-project/conjunct/datafile"
)

// celGate is a gate with the places of its expressions.
type celGate struct {
	gate  cel.Gate
	node  *datafile.Node
	exprs map[string]*datafile.Node // by the field names of cel.Problem
}

// celGates reads conjunct/cel/data.yaml.
func (d *decoder) celGates(n *datafile.Node) []celGate {
	if n == nil {
		return nil
	}
	var out []celGate
	d.Object(n, "cel", datafile.Fields{"gates": d.Items("gates", func(_ int, n *datafile.Node) { out = append(out, d.celGate(n)) })})
	return out
}

var gateName = regexp.MustCompile(`^[a-z][a-z0-9_]*(-[a-z0-9_]+)*$`)

func (d *decoder) celGate(n *datafile.Node) celGate {
	g := celGate{node: n, exprs: map[string]*datafile.Node{}}
	expression := func(field string, into *string) func(*datafile.Node) {
		return func(n *datafile.Node) {
			g.exprs[field] = n
			d.Text(field, into)(n)
		}
	}
	d.Object(n, "a CEL gate", datafile.Fields{
		"name":              d.Text("name", &g.gate.Name),
		"match":             d.match(&g.gate.Tools),
		"variables":         d.variables(&g),
		"expression":        expression("expression", &g.gate.Expression),
		"message":           d.Text("message", &g.gate.Message),
		"messageExpression": expression("message_expression", &g.gate.MessageExpression),
		"reason":            d.Text("reason", &g.gate.Reason),
		"cost_limit": func(n *datafile.Node) {
			var limit int64
			d.Whole("cost_limit", 1, &limit)(n)
			if limit > cel.MaxCost {
				d.Report(n, "data_range", "", "cost_limit is at most %d, which no gate may exceed", cel.MaxCost)
			}
			g.gate.CostLimit = uint64(max(limit, 0))
		},
		"on_fail":    d.Member("on_fail", &g.gate.OnFail),
		"on_unknown": d.Member("on_unknown", &g.gate.OnUnknown),
		"family":     d.family(&g.gate.Family),
	}, "name", "expression")
	if name := n.At("name"); name != nil && !gateName.MatchString(g.gate.Name) {
		d.Report(name, "data_name", "", "a gate's name is made of lower-case words joined by - or _")
	}
	g.gate.File, g.gate.Row = n.File, n.Row
	return g
}

func (d *decoder) match(tools *[]string) func(*datafile.Node) {
	return func(n *datafile.Node) {
		d.Object(n, "match", datafile.Fields{"tools": func(n *datafile.Node) {
			d.Texts("match.tools", tools)(n)
			if n.Kind == datafile.Array && len(n.Items) == 0 {
				d.Report(n, "data_range", "leave match out for every tool", "a gate that matches no tool never applies")
			}
			if len(*tools) == 0 {
				*tools = nil
			}
		}})
	}
}

func (d *decoder) variables(g *celGate) func(*datafile.Node) {
	return d.Items("variables", func(i int, n *datafile.Node) {
		var v cel.Variable
		d.Object(n, "a variable", datafile.Fields{
			"name": d.Text("name", &v.Name),
			"expression": func(n *datafile.Node) {
				g.exprs[fmt.Sprintf("variables[%d].expression", i)] = n
				d.Text("expression", &v.Expression)(n)
			},
		}, "name", "expression")
		g.gate.Variables = append(g.gate.Variables, v)
	})
}

// place turns a problem inside an expression into one in the file.
func (g *celGate) place(p cel.Problem, files Files) Problem {
	out := Problem{File: g.node.File, Row: g.node.Row, Col: g.node.Col, Code: "cel_expression",
		Message: fmt.Sprintf("gate %s: %s", p.Gate, p.Message), Hint: p.Hint, Warning: p.Warning}
	n := g.exprs[p.Field]
	if n == nil {
		if at := g.node.At(p.Field); at != nil {
			out.Row, out.Col = at.Row, at.Col
		}
		return out
	}
	out.Row, out.Col = n.Row, n.Col
	text, ok := n.Value.(string)
	if !ok || p.Line < 1 {
		return out
	}
	out.Row, out.Col = within(files, n, text, p.Line, p.Column)
	return out
}
