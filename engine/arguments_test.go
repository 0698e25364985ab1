package engine

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"testing"
)

func TestArgumentsAgainstTheRegistry(t *testing.T) {
	required := func(t ArgumentType) map[string]Argument { return map[string]Argument{"a": {Type: t, Required: true}} }
	optional := func(t ArgumentType) map[string]Argument { return map[string]Argument{"a": {Type: t}} }
	for _, c := range []struct {
		name     string
		declared map[string]Argument
		given    map[string]any
		want     []string // texts
	}{
		{"nothing is checked without a schema", nil, map[string]any{"x": nil}, nil},
		{"an empty schema accepts no argument", map[string]Argument{}, map[string]any{}, nil},
		{"an empty schema accepts absent arguments", map[string]Argument{}, nil, nil},
		{"an undeclared argument", map[string]Argument{}, map[string]any{"b": 1.0, "a": 1.0}, []string{`argument "a" is not declared for tool`, `argument "b" is not declared for tool`}},
		{"a required argument is missing", required(StringType), map[string]any{}, []string{`required argument "a" is missing`}},
		{"all arguments are missing", required(StringType), nil, []string{`required argument "a" is missing`}},
		{"a required argument of the right type", required(StringType), map[string]any{"a": ""}, nil},
		{"a required argument that is null", required(StringType), map[string]any{"a": nil}, []string{`argument "a" is not of type string`}},
		{"an optional argument is missing", optional(StringType), map[string]any{}, nil},
		{"an optional argument of the wrong type", optional(StringType), map[string]any{"a": 1.0}, []string{`argument "a" is not of type string`}},
		{"an optional argument that is null", optional(StringType), map[string]any{"a": nil}, []string{`argument "a" is not of type string`}},
		{"a name in another case", optional(StringType), map[string]any{"A": "x"}, []string{`argument "A" is not declared for tool`}},
		{"a type that was never set", optional(NoType), map[string]any{"a": "x"}, []string{`argument "a" is not of type none`}},
		{"everything at once, sorted", map[string]Argument{"d": {Type: StringType, Required: true}, "b": {Type: StringType, Required: true}}, map[string]any{"d": 1.0, "c": 1.0, "a": 1.0},
			[]string{`required argument "b" is missing`, `argument "d" is not of type string`, `argument "a" is not declared for tool`, `argument "c" is not declared for tool`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, r := range checkArguments(Tool{Name: "tool", Arguments: c.declared}, c.given) {
				got = append(got, r.Text)
				if r.Code != "argument_mismatch" || len(r.Facts) != 1 {
					t.Errorf("reason = %+v, want code argument_mismatch and one fact", r)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("checkArguments(%v, %v) = %q, want %q", c.declared, c.given, got, c.want)
			}
		})
	}
}

func TestAnArgumentMismatchPointsAtTheArgument(t *testing.T) {
	tool := Tool{Name: "tool", Arguments: map[string]Argument{"a/b": {Type: StringType, Required: true}, "c~d": {Type: StringType, Required: true}}}
	got := checkArguments(tool, map[string]any{"c~d": 7.0, "e": true})
	want := [][]Fact{
		{{Path: "/action/arguments/a~1b", Absent: true}},
		{{Path: "/action/arguments/c~0d", Value: 7.0}},
		{{Path: "/action/arguments/e", Value: true}},
	}
	for i, r := range got {
		if !reflect.DeepEqual(r.Facts, want[i]) {
			t.Errorf("facts of %q = %v, want %v", r.Text, r.Facts, want[i])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d reasons, want %d", len(got), len(want))
	}
}

func TestWhichValuesAreOfWhichType(t *testing.T) {
	values := map[string]any{
		"text": "x", "zero": 0.0, "minus zero": math.Copysign(0, -1), "whole": -7.0, "large whole": 9007199254740992.0, "fraction": 0.5, "tiny": math.SmallestNonzeroFloat64,
		"not a number": math.NaN(), "infinite": math.Inf(1), "true": true, "false": false, "list": []any{}, "object": map[string]any{}, "null": nil,
		"int": 7, "json.Number": json.Number("7"), "list of text": []string{}, "object of text": map[string]string{}, "bytes": []byte("x"),
	}
	matching := map[ArgumentType][]string{
		NoType:      {},
		StringType:  {"text"},
		NumberType:  {"zero", "minus zero", "whole", "large whole", "fraction", "tiny", "not a number", "infinite"},
		IntegerType: {"zero", "minus zero", "whole", "large whole"},
		BooleanType: {"true", "false"},
		ArrayType:   {"list"},
		ObjectType:  {"object"},
		AnyType: {"text", "zero", "minus zero", "whole", "large whole", "fraction", "tiny", "not a number", "infinite", "true", "false",
			"list", "object", "null"},
		99: {},
	}
	for typ, names := range matching {
		for name, v := range values {
			if got, want := typ.matches(v), slices.Contains(names, name); got != want {
				t.Errorf("%v.matches(%s) = %v, want %v", typ, name, got, want)
			}
		}
	}
}

func TestAWholeNumberBeyondInt64IsAnIntegerOnEveryMachine(t *testing.T) {
	for _, v := range []float64{math.Exp2(63), 1e19, -1e19, 1e300} {
		if !IntegerType.matches(v) {
			t.Errorf("integer.matches(%v) = false, want true", v)
		}
	}
}

func TestAnArgumentThatDoesNotFitDeniesTheCall(t *testing.T) {
	for _, given := range []map[string]any{nil, {"to": 1.0}, {"to": "ada", "cc": "bob"}} {
		p := newFake()
		p.edit(toolNote, func(t *Tool) { t.Arguments = map[string]Argument{"to": {Type: StringType, Required: true}} })
		in := call(p, toolNote)
		in.Action.Arguments = given
		d := decide(p, in)
		if d.Permit || d.Boundary != Deny || d.Tier != Execute || d.Gate(Bounds).Verdict != Unknown || d.Outcome != Block || d.Answered() != OutOfScope {
			t.Errorf("arguments %v: permit %v, boundary %v, tier %v, BOUNDS %v, outcome %v, cause %v: want deny, execute, unknown, block, out_of_scope",
				given, d.Permit, d.Boundary, d.Tier, d.Gate(Bounds).Verdict, d.Outcome, d.Answered())
		}
	}
}
