package rego_test

import (
	"encoding/json"
	"testing"

	"github.com/conjunct-project/conjunct/rego"
)

func TestAShapeAsASchema(t *testing.T) {
	for _, c := range []struct {
		name  string
		shape *rego.Shape
		want  string
	}{
		{"anything", rego.Any(), `{}`},
		{"a leaf of one type", rego.Leaf("number"), `{"type":"number"}`},
		{"a leaf of two types", rego.Leaf("number", "null"), `{}`},
		{"an enumeration", rego.OneOf("a", "b"), `{"enum":["a","b"],"type":"string"}`},
		{"an empty object", rego.Object(nil), `{}`},
		{"an object", rego.Object(map[string]*rego.Shape{"b": rego.Leaf("string").Maybe(), "a": rego.Any()}),
			`{"additionalProperties":false,"properties":{"a":{},"b":{"type":"string"}},"required":["a"],"type":"object"}`},
		{"an open object", &rego.Shape{Fields: map[string]*rego.Shape{"a": rego.Any().Maybe()}, Open: true},
			`{"additionalProperties":true,"properties":{"a":{}},"required":[],"type":"object"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, err := json.Marshal(c.shape.Schema())
			if err != nil || string(b) != c.want {
				t.Errorf("got %s, %v, want %s", b, err, c.want)
			}
		})
	}
}

func TestMaybeLeavesTheShapeAsItWas(t *testing.T) {
	s := rego.Leaf("string")
	if m := s.Maybe(); !m.Optional || s.Optional {
		t.Errorf("got optional %v and %v, want only the copy optional", m.Optional, s.Optional)
	}
}

func TestPackagesThatSeeDifferentInputs(t *testing.T) {
	for _, c := range []struct {
		name          string
		floors, gates *rego.Shape
		condition     string // in a gate
	}{
		{"two leaves that differ", rego.Leaf("string"), rego.Leaf("number"), `input.x == 1`},
		{"two enumerations that differ", rego.OneOf("a"), rego.OneOf("b"), `input.x == "b"`},
		{"a leaf and an object", rego.Leaf("string"), rego.Object(map[string]*rego.Shape{"y": rego.Leaf("number")}), `input.x.y == 1`},
		{"two objects", rego.Object(map[string]*rego.Shape{"z": rego.Any()}), rego.Object(map[string]*rego.Shape{"y": rego.Leaf("number")}), `input.x.y == 1`},
		{"missing in one", nil, rego.Leaf("number"), `input.x == 1`},
	} {
		t.Run(c.name, func(t *testing.T) {
			src := source(map[string]string{rego.Gates: `g := {"verdict": "pass", "reasons": []} if ` + c.condition}, "g")
			src.Input = map[string]*rego.Shape{rego.Floors: rego.Object(map[string]*rego.Shape{}), rego.Gates: rego.Object(map[string]*rego.Shape{"x": c.gates})}
			if c.floors != nil {
				src.Input[rego.Floors] = rego.Object(map[string]*rego.Shape{"x": c.floors})
			}
			mustLoad(t, src)
		})
	}
	t.Run("a closed object and anything", func(t *testing.T) {
		src := source(map[string]string{rego.Gates: `g := {"verdict": "pass", "reasons": []} if input.x.y == 1`}, "g")
		src.Input = map[string]*rego.Shape{
			rego.Floors: rego.Object(map[string]*rego.Shape{"x": rego.Object(map[string]*rego.Shape{"z": rego.Any()})}),
			rego.Gates:  rego.Object(map[string]*rego.Shape{"x": rego.Any()})}
		mustLoad(t, src)
	})
}

func TestAPackageWithoutAShapeReadsNothing(t *testing.T) {
	src := source(map[string]string{rego.Gates: `g := {"verdict": "pass", "reasons": []} if input.now > 1`}, "g")
	delete(src.Input, rego.Gates)
	_, got := rego.Load(src)
	wantProblem(t, "gates", got, place{"gates.rego", 2, 44, "rego_unknown_path", "input.now", ""})
}
