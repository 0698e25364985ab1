package datafile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// Node is one value of a data file with its place. Exactly one of Fields, Items
// and Value is in use.
type Node struct {
	File     string
	Row, Col int
	Kind     Kind
	Value    any // string, float64, bool or nil
	Keys     []string
	Fields   map[string]*Node
	KeyNodes map[string]*Node // place of each key
	Items    []*Node
}

// Kind tells which part of a node is in use.
type Kind uint8

const (
	Scalar Kind = iota
	Object
	Array
)

// IsObject reports whether the node is there and an object.
func (n *Node) IsObject() bool { return n != nil && n.Kind == Object }

// Any is the value as plain Go data.
func (n *Node) Any() any {
	switch n.Kind {
	case Object:
		out := make(map[string]any, len(n.Fields))
		for k, v := range n.Fields {
			out[k] = v.Any()
		}
		return out
	case Array:
		out := make([]any, len(n.Items))
		for i, v := range n.Items {
			out[i] = v.Any()
		}
		return out
	}
	return n.Value
}

// At follows keys and returns the node there, or nil.
func (n *Node) At(keys ...string) *Node {
	for _, k := range keys {
		if !n.IsObject() {
			return nil
		}
		n = n.Fields[k]
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

// Read reads one data file. The node is nil when nothing could be read.
func Read(file string, content []byte) (*Node, []Problem) {
	r := &reader{file: file}
	if !utf8.Valid(content) {
		r.report(1, 1, "data_encoding", "the file is not UTF-8", "")
		return nil, r.problems
	}
	dec := yaml.NewDecoder(bytes.NewReader(content))
	var doc, second yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return &Node{File: file, Row: 1, Col: 1, Kind: Object, Fields: map[string]*Node{}}, nil
	case err != nil:
		r.syntax(err, content)
		return nil, r.problems
	}
	switch err := dec.Decode(&second); {
	case err == nil:
		r.report(second.Line, 1, "data_second_document", "a second document in the file", "only the first would count; keep one")
	case !errors.Is(err, io.EOF):
		r.syntax(err, content)
	}
	n := r.node(doc.Content[0], 0)
	return n, r.problems
}

var yamlLine = regexp.MustCompile(`line (\d+): `)

func (r *reader) syntax(err error, content []byte) {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	row := 1
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		row, _ = strconv.Atoi(m[1])
		text = strings.Replace(text, m[0], "", 1)
	}
	hint, col := "", 1
	if at, tab := tabFrom(content, row); at == row || at > 0 && strings.Contains(text, "tab character") {
		// The parser names the row in which what a tab broke begins.
		hint, row, col = "indent with spaces", at, tab
	}
	r.report(row, col, "data_syntax", text, hint)
}

// tabFrom finds the first tab that indents a row, from a row on; 0 is none.
func tabFrom(content []byte, row int) (at, col int) {
	for i, line := range bytes.Split(content, []byte("\n")) {
		indent := line[:len(line)-len(bytes.TrimLeft(line, " \t"))]
		blank := len(bytes.TrimSpace(line)) == 0
		if tab := bytes.IndexByte(indent, '\t'); tab >= 0 && (i+1 == row || i+1 > row && !blank) {
			return i + 1, tab + 1
		}
	}
	return 0, 0
}

// maxDataDepth bounds nesting in data files.
const maxDataDepth = 64

func (r *reader) node(y *yaml.Node, depth int) *Node {
	n := &Node{File: r.file, Row: y.Line, Col: y.Column}
	if depth > maxDataDepth {
		r.report(y.Line, y.Column, "data_depth", fmt.Sprintf("nested deeper than %d levels", maxDataDepth), "")
		return n
	}
	if y.Style&yaml.TaggedStyle != 0 {
		r.report(y.Line, y.Column, "data_tag", fmt.Sprintf("a tag, %s", y.Tag), "write it as plain text, number, boolean, list or object")
	}
	if y.Anchor != "" {
		r.report(y.Line, y.Column, "data_anchor", "an anchor", "write the value out")
	}
	switch y.Kind {
	case yaml.MappingNode:
		r.object(n, y, depth)
	case yaml.SequenceNode:
		n.Kind = Array
		for _, item := range y.Content {
			n.Items = append(n.Items, r.node(item, depth+1))
		}
	case yaml.AliasNode:
		r.report(y.Line, y.Column, "data_alias", "an alias", "write the value out")
	default:
		n.Value = r.scalar(y)
	}
	return n
}

func (r *reader) object(n *Node, y *yaml.Node, depth int) {
	n.Kind = Object
	n.Fields, n.KeyNodes = map[string]*Node{}, map[string]*Node{}
	for i := 0; i+1 < len(y.Content); i += 2 {
		k, v := y.Content[i], y.Content[i+1]
		if k.Kind != yaml.ScalarNode || k.ShortTag() != "!!str" || k.Style&yaml.TaggedStyle != 0 || k.Anchor != "" {
			r.report(k.Line, k.Column, "data_key", fmt.Sprintf("key %q is not text", k.Value), "put it in quotes")
			continue
		}
		if first, twice := n.KeyNodes[k.Value]; twice {
			r.report(k.Line, k.Column, "data_duplicate_key", fmt.Sprintf("key %q stands in row %d already", k.Value, first.Row), "only one would count; remove the other")
			continue
		}
		n.Keys = append(n.Keys, k.Value)
		n.KeyNodes[k.Value] = &Node{File: r.file, Row: k.Line, Col: k.Column}
		n.Fields[k.Value] = r.node(v, depth+1)
	}
}

var jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// scalar reads text, a number, a boolean or null. What YAML would read as
// something else (dates, octal or hexadecimal numbers, infinities) is text when
// it looks like text to OPA too, and a problem when the two differ.
func (r *reader) scalar(y *yaml.Node) any {
	switch y.ShortTag() {
	case "!!str", "!!timestamp", "!!merge":
		if plain := y.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0; plain && jsonNumber.MatchString(y.Value) {
			r.number(y)
		}
		return y.Value
	case "!!null":
		return nil
	case "!!bool":
		return strings.EqualFold(y.Value, "true")
	case "!!int", "!!float":
		f, ok := exactNumber(y.Value)
		if !ok {
			r.number(y)
			return nil
		}
		return f
	}
	// Any other kind of value has a tag, which was reported.
	return nil
}

func (r *reader) number(y *yaml.Node) {
	r.report(y.Line, y.Column, "data_number", fmt.Sprintf("%s is not a number that JSON and a double both hold", y.Value), "write it as a decimal number, or in quotes")
}

// exactNumber reads a JSON number whose value is exactly that of its shortest
// double form; a whole one stays within 2^53.
func exactNumber(text string) (float64, bool) {
	const longest = 64
	f, err := strconv.ParseFloat(text, 64)
	if !jsonNumber.MatchString(text) || len(text) > longest || err != nil || math.Abs(f) > 1e300 || f != 0 && math.Abs(f) < 1e-300 {
		return 0, false
	}
	if f == math.Trunc(f) && math.Abs(f) > 1<<53-1 {
		return 0, false
	}
	var literal, shortest big.Rat
	if _, ok := literal.SetString(text); !ok {
		return 0, false
	}
	if _, ok := shortest.SetString(strconv.FormatFloat(f, 'g', -1, 64)); !ok {
		return 0, false
	}
	return f, literal.Cmp(&shortest) == 0
}

// Merge puts what from holds into n, at a path of keys. The same place filled
// twice is a problem: one of the two would silently not count.
func Merge(into *Node, keys []string, from *Node) []Problem {
	for _, k := range keys {
		next := into.Fields[k]
		if next == nil {
			next = &Node{File: from.File, Row: 1, Col: 1, Kind: Object, Fields: map[string]*Node{}, KeyNodes: map[string]*Node{}}
			into.Fields[k] = next
			into.Keys = append(into.Keys, k)
			if into.KeyNodes == nil {
				into.KeyNodes = map[string]*Node{}
			}
			into.KeyNodes[k] = next
		}
		if !next.IsObject() {
			return []Problem{clash(next, from, k)}
		}
		into = next
	}
	if !from.IsObject() {
		return []Problem{{File: from.File, Row: from.Row, Col: from.Col, Code: "data_object", Message: "the file must hold an object"}}
	}
	var problems []Problem
	for _, k := range from.Keys {
		have, ok := into.Fields[k]
		switch {
		case !ok:
			into.Fields[k] = from.Fields[k]
			into.Keys = append(into.Keys, k)
			if into.KeyNodes == nil {
				into.KeyNodes = map[string]*Node{}
			}
			into.KeyNodes[k] = from.KeyNodes[k]
		case have.IsObject() && from.Fields[k].IsObject():
			problems = append(problems, Merge(have, nil, from.Fields[k])...)
		default:
			problems = append(problems, clash(have, from.KeyNodes[k], k))
		}
	}
	return problems
}

func clash(have, from *Node, key string) Problem {
	return Problem{File: from.File, Row: from.Row, Col: from.Col, Code: "data_duplicate_key",
		Message: fmt.Sprintf("%q is given in %s:%d already", key, have.File, have.Row), Hint: "only one would count; remove the other"}
}
