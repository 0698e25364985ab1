package rego

import (
	"maps"
	"slices"

	"github.com/conjunct-project/conjunct/engine"
)

// Shape is what may stand at one place of the input: the names below it, or
// the values it can have. It is what every path a rule reads is held against.
type Shape struct {
	// Fields are the names below; nil for a leaf.
	Fields map[string]*Shape
	// Open allows other names besides Fields.
	Open bool
	// Near allows other names that are not nearly one of Fields.
	Near bool
	// Enum lists the values of an enumeration; nil for any.
	Enum []string
	// Optional says that the place may be empty in a valid input.
	Optional bool
	// Types are the JSON types of a leaf; nil for any.
	Types []string
	// Number says that the value is a number where it is there and fits: a
	// comparison with anything else never says what its author meant. It is not
	// among Types, since what OPA knows to be a number it compares away.
	Number bool
}

// Object returns a shape with the given fields.
func Object(fields map[string]*Shape) *Shape { return &Shape{Fields: fields} }

// Known returns a shape whose fields are known, and where a name that is nearly one
// of them is a misspelling; any other name may be there.
func Known(fields map[string]*Shape) *Shape { return &Shape{Fields: fields, Near: true} }

// Leaf returns a shape without names below it, of the given JSON types.
func Leaf(types ...string) *Shape { return &Shape{Types: types} }

// OneOf returns a leaf with a closed set of values.
func OneOf(values ...string) *Shape { return &Shape{Enum: values, Types: []string{"string"}} }

// Any returns a shape that anything fits.
func Any() *Shape { return &Shape{Open: true} }

// Maybe returns a copy of s that may be absent.
func (s *Shape) Maybe() *Shape {
	c := *s
	c.Optional = true
	return &c
}

// at follows path as far as names are known. It returns the shape there, and
// whether a place on the way may be empty. bad is the index of the first
// element that cannot be, or -1.
func (s *Shape) at(path []string) (end *Shape, optional bool, bad int) {
	for i, name := range path {
		next, ok := s.Fields[name]
		switch {
		case ok:
			s = next
			optional = optional || s.Optional
		case s.Open, s.Near && engine.DidYouMean(name, slices.Sorted(maps.Keys(s.Fields))) == "":
			return nil, true, -1
		default:
			return nil, false, i
		}
	}
	return s, optional, -1
}

// Schema is the shape as a JSON Schema, as `opa check --schema` reads it.
func (s *Shape) Schema() map[string]any {
	switch {
	case s.Near:
		// OPA's types know no object of which only some names are known.
		return map[string]any{}
	case s.Fields != nil || s.Open && s.Types == nil && s.Enum == nil:
		if s.Fields == nil {
			return map[string]any{}
		}
		properties := make(map[string]any, len(s.Fields))
		required := []any{}
		for _, name := range slices.Sorted(maps.Keys(s.Fields)) {
			properties[name] = s.Fields[name].Schema()
			if !s.Fields[name].Optional {
				required = append(required, name)
			}
		}
		return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": s.Open}
	case s.Enum != nil:
		values := make([]any, len(s.Enum))
		for i, v := range s.Enum {
			values[i] = v
		}
		return map[string]any{"type": "string", "enum": values}
	case len(s.Types) == 1:
		return map[string]any{"type": s.Types[0]}
	}
	return map[string]any{}
}
