package bundle

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/conjunct-project/conjunct/cel"
)

// celGate is a gate with the places of its expressions.
type celGate struct {
	gate  cel.Gate
	node  *node
	exprs map[string]*node // by the field names of cel.Problem
}

// celGates reads conjunct/cel/data.yaml.
func (d *decoder) celGates(n *node) []celGate {
	if n == nil {
		return nil
	}
	var out []celGate
	d.object(n, "cel", fields{"gates": d.items("gates", func(_ int, n *node) { out = append(out, d.celGate(n)) })})
	return out
}

var gateName = regexp.MustCompile(`^[a-z][a-z0-9_]*(-[a-z0-9_]+)*$`)

func (d *decoder) celGate(n *node) celGate {
	g := celGate{node: n, exprs: map[string]*node{}}
	expression := func(field string, into *string) func(*node) {
		return func(n *node) {
			g.exprs[field] = n
			d.text(field, into)(n)
		}
	}
	d.object(n, "a CEL gate", fields{
		"name":              d.text("name", &g.gate.Name),
		"match":             d.match(&g.gate.Tools),
		"variables":         d.variables(&g),
		"expression":        expression("expression", &g.gate.Expression),
		"message":           d.text("message", &g.gate.Message),
		"messageExpression": expression("message_expression", &g.gate.MessageExpression),
		"reason":            d.text("reason", &g.gate.Reason),
		"on_fail":           d.member("on_fail", &g.gate.OnFail),
		"on_unknown":        d.member("on_unknown", &g.gate.OnUnknown),
		"family":            d.family(&g.gate.Family),
	}, "name", "expression")
	if name := n.at("name"); name != nil && !gateName.MatchString(g.gate.Name) {
		d.report(name, "data_name", "", "a gate's name is made of lower-case words joined by - or _")
	}
	g.gate.File, g.gate.Row = n.file, n.row
	return g
}

func (d *decoder) match(tools *[]string) func(*node) {
	return func(n *node) {
		d.object(n, "match", fields{"tools": func(n *node) {
			d.texts("match.tools", tools)(n)
			if len(*tools) == 0 {
				d.report(n, "data_range", "leave match out for every tool", "a gate that matches no tool never applies")
			}
		}})
	}
}

func (d *decoder) variables(g *celGate) func(*node) {
	return d.items("variables", func(i int, n *node) {
		var v cel.Variable
		d.object(n, "a variable", fields{
			"name": d.text("name", &v.Name),
			"expression": func(n *node) {
				g.exprs[fmt.Sprintf("variables[%d].expression", i)] = n
				d.text("expression", &v.Expression)(n)
			},
		}, "name", "expression")
		g.gate.Variables = append(g.gate.Variables, v)
	})
}

// place turns a problem inside an expression into one in the file. A plain or
// quoted scalar starts where its node does; in a block scalar the text starts
// one row below, indented.
func (g *celGate) place(p cel.Problem, files Files) Problem {
	out := Problem{File: g.node.file, Row: g.node.row, Col: g.node.col, Code: "cel_expression",
		Message: fmt.Sprintf("gate %s: %s", p.Gate, p.Message), Hint: p.Hint, Warning: p.Warning}
	n := g.exprs[p.Field]
	if n == nil {
		return out
	}
	out.Row, out.Col = n.row, n.col
	first := files.line(n.file, n.row)
	if n.col < 1 || n.col > len(first) || p.Line < 1 {
		return out
	}
	switch first[n.col-1] {
	case '|', '>':
		out.Row = n.row + p.Line
		text := files.line(n.file, out.Row)
		out.Col = len(text) - len(strings.TrimLeft(text, " ")) + p.Column
	case '"', '\'':
		out.Col = n.col + p.Column
	default:
		out.Col = n.col + p.Column - 1
	}
	return out
}
