package bundle

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// node is one value of a data file with its place. Exactly one of fields,
// items and value is in use.
type node struct {
	file     string
	row, col int
	kind     kind
	value    any // string, float64, bool or nil
	keys     []string
	fields   map[string]*node
	keyNodes map[string]*node // place of each key
	items    []*node
}

type kind uint8

const (
	scalarKind kind = iota
	objectKind
	arrayKind
)

func (n *node) isObject() bool { return n != nil && n.kind == objectKind }

// any is the value as plain Go data.
func (n *node) any() any {
	switch n.kind {
	case objectKind:
		out := make(map[string]any, len(n.fields))
		for k, v := range n.fields {
			out[k] = v.any()
		}
		return out
	case arrayKind:
		out := make([]any, len(n.items))
		for i, v := range n.items {
			out[i] = v.any()
		}
		return out
	}
	return n.value
}

// at follows keys and returns the node there, or nil.
func (n *node) at(keys ...string) *node {
	for _, k := range keys {
		if !n.isObject() {
			return nil
		}
		n = n.fields[k]
	}
	return n
}

// reader turns one data file into nodes, more strictly than YAML is: one
// document, no duplicate keys, no anchors, aliases, merges or tags, text keys,
// and only numbers that JSON has. JSON files are read the same way.
type reader struct {
	file     string
	problems []Problem
}

func (r *reader) report(row, col int, code, message, hint string) {
	r.problems = append(r.problems, Problem{File: r.file, Row: row, Col: col, Code: code, Message: message, Hint: hint})
}

func readData(file string, content []byte) (*node, []Problem) {
	r := &reader{file: file}
	if !utf8.Valid(content) {
		r.report(1, 1, "data_encoding", "the file is not UTF-8", "")
		return nil, r.problems
	}
	dec := yaml.NewDecoder(bytes.NewReader(content))
	var doc, second yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return &node{file: file, row: 1, col: 1, kind: objectKind, fields: map[string]*node{}}, nil
	case err != nil:
		r.syntax(err)
		return nil, r.problems
	}
	switch err := dec.Decode(&second); {
	case err == nil:
		r.report(second.Line, 1, "data_second_document", "a second document in the file", "only the first would count; keep one")
	case !errors.Is(err, io.EOF):
		r.syntax(err)
	}
	n := r.node(doc.Content[0], 0)
	return n, r.problems
}

var yamlLine = regexp.MustCompile(`line (\d+): `)

func (r *reader) syntax(err error) {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	row := 1
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		row, _ = strconv.Atoi(m[1])
		text = strings.Replace(text, m[0], "", 1)
	}
	r.report(row, 1, "data_syntax", text, "")
}

// maxDataDepth bounds nesting in data files.
const maxDataDepth = 64

func (r *reader) node(y *yaml.Node, depth int) *node {
	n := &node{file: r.file, row: y.Line, col: y.Column}
	if depth > maxDataDepth {
		r.report(y.Line, y.Column, "data_depth", fmt.Sprintf("nested deeper than %d levels", maxDataDepth), "")
		return n
	}
	if y.Anchor != "" {
		r.report(y.Line, y.Column, "data_anchor", "an anchor", "write the value out")
	}
	switch y.Kind {
	case yaml.MappingNode:
		r.object(n, y, depth)
	case yaml.SequenceNode:
		n.kind = arrayKind
		for _, item := range y.Content {
			n.items = append(n.items, r.node(item, depth+1))
		}
	case yaml.AliasNode:
		r.report(y.Line, y.Column, "data_alias", "an alias", "write the value out")
	default:
		n.value = r.scalar(y)
	}
	return n
}

func (r *reader) object(n *node, y *yaml.Node, depth int) {
	n.kind = objectKind
	n.fields, n.keyNodes = map[string]*node{}, map[string]*node{}
	for i := 0; i+1 < len(y.Content); i += 2 {
		k, v := y.Content[i], y.Content[i+1]
		if k.Kind != yaml.ScalarNode || k.ShortTag() != "!!str" {
			r.report(k.Line, k.Column, "data_key", fmt.Sprintf("key %q is not text", k.Value), "put it in quotes")
			continue
		}
		if first, twice := n.keyNodes[k.Value]; twice {
			r.report(k.Line, k.Column, "data_duplicate_key", fmt.Sprintf("key %q stands in row %d already", k.Value, first.row), "only one would count; remove the other")
			continue
		}
		n.keys = append(n.keys, k.Value)
		n.keyNodes[k.Value] = &node{file: r.file, row: k.Line, col: k.Column}
		n.fields[k.Value] = r.node(v, depth+1)
	}
}

var jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// scalar reads text, a number, a boolean or null. What YAML would read as
// something else (dates, octal or hexadecimal numbers, infinities) is text when
// it looks like text to OPA too, and a problem when the two differ.
func (r *reader) scalar(y *yaml.Node) any {
	switch y.ShortTag() {
	case "!!str", "!!timestamp":
		return y.Value
	case "!!null":
		return nil
	case "!!bool":
		return strings.EqualFold(y.Value, "true")
	case "!!int", "!!float":
		f, err := strconv.ParseFloat(y.Value, 64)
		if !jsonNumber.MatchString(y.Value) || err != nil || math.IsInf(f, 0) || f == math.Trunc(f) && math.Abs(f) > 1<<53-1 {
			r.report(y.Line, y.Column, "data_number", fmt.Sprintf("%s is not a number that JSON and a double both hold", y.Value), "write it as a decimal number, or in quotes")
			return nil
		}
		return f
	}
	r.report(y.Line, y.Column, "data_tag", fmt.Sprintf("a value with the tag %s", y.Tag), "write it as plain text, number, boolean, list or object")
	return nil
}

// merge puts what from holds into n, at a path of keys. The same place filled
// twice is a problem: one of the two would silently not count.
func merge(into *node, keys []string, from *node) []Problem {
	for _, k := range keys {
		next := into.fields[k]
		if next == nil {
			next = &node{file: from.file, row: 1, col: 1, kind: objectKind, fields: map[string]*node{}, keyNodes: map[string]*node{}}
			into.fields[k] = next
			into.keys = append(into.keys, k)
		}
		if !next.isObject() {
			return []Problem{clash(next, from, k)}
		}
		into = next
	}
	if !from.isObject() {
		return []Problem{{File: from.file, Row: from.row, Col: from.col, Code: "data_object", Message: "the file must hold an object"}}
	}
	var problems []Problem
	for _, k := range from.keys {
		have, ok := into.fields[k]
		switch {
		case !ok:
			into.fields[k] = from.fields[k]
			into.keys = append(into.keys, k)
			if into.keyNodes == nil {
				into.keyNodes = map[string]*node{}
			}
			into.keyNodes[k] = from.keyNodes[k]
		case have.isObject() && from.fields[k].isObject():
			problems = append(problems, merge(have, nil, from.fields[k])...)
		default:
			problems = append(problems, clash(have, from.keyNodes[k], k))
		}
	}
	return problems
}

func clash(have, from *node, key string) Problem {
	return Problem{File: from.file, Row: from.row, Col: from.col, Code: "data_duplicate_key",
		Message: fmt.Sprintf("%q is given in %s:%d already", key, have.file, have.row), Hint: "only one would count; remove the other"}
}
