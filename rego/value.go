package rego

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"

	"github.com/open-policy-agent/opa/v1/ast"
)

// toAST turns a tree of map[string]any, []any, string, float64, bool and nil
// into an OPA value. Numbers are written in the shortest form that reads back
// as the same double, so Rego compares exactly what was hashed.
func toAST(v any) ast.Value {
	switch v := v.(type) {
	case nil:
		return ast.Null{}
	case bool:
		return ast.Boolean(v)
	case string:
		return ast.String(v)
	case float64:
		return ast.Number(number(v))
	case int:
		return ast.Number(json.Number(strconv.Itoa(v)))
	case []any:
		terms := make([]*ast.Term, len(v))
		for i, e := range v {
			terms[i] = ast.NewTerm(toAST(e))
		}
		return ast.NewArray(terms...)
	case map[string]any:
		pairs := make([][2]*ast.Term, 0, len(v))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			pairs = append(pairs, [2]*ast.Term{ast.StringTerm(k), ast.NewTerm(toAST(v[k]))})
		}
		return ast.NewObject(pairs...)
	}
	panic(fmt.Sprintf("rego: a %T has no place in the input", v))
}

func number(f float64) json.Number {
	if f == math.Trunc(f) && math.Abs(f) < 1e21 {
		return json.Number(strconv.FormatFloat(f, 'f', 0, 64))
	}
	return json.Number(strconv.FormatFloat(f, 'g', -1, 64))
}

// toStore is data as OPA's store takes it: numbers as json.Number.
func toStore(m map[string]any) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = toStoreValue(v)
	}
	return out
}

func toStoreValue(v any) any {
	switch v := v.(type) {
	case float64:
		return number(v)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = toStoreValue(e)
		}
		return out
	case map[string]any:
		return toStore(v)
	}
	return v
}

// fromAST turns an OPA value into a tree of plain values. Sets become sorted
// arrays. A number that no double writes exactly is not ok.
func fromAST(v ast.Value) (_ any, ok bool) {
	switch v := v.(type) {
	case ast.Null:
		return nil, true
	case ast.Boolean:
		return bool(v), true
	case ast.String:
		return string(v), true
	case ast.Number:
		return exact(string(v))
	case *ast.Array:
		return fromTerms(elements(v))
	case ast.Set:
		return fromTerms(elements(v.Sorted()))
	case ast.Object:
		out := make(map[string]any, v.Len())
		for _, k := range v.Keys() {
			name, isText := k.Value.(ast.String)
			e, ok := fromAST(v.Get(k).Value)
			if !isText || !ok {
				return nil, false
			}
			out[string(name)] = e
		}
		return out, true
	}
	return nil, false
}

func fromTerms(terms []*ast.Term) (any, bool) {
	out := make([]any, len(terms))
	for i, t := range terms {
		v, ok := fromAST(t.Value)
		if !ok {
			return nil, false
		}
		out[i] = v
	}
	return out, true
}

// maxLiteral bounds the number literals that are compared exactly.
const maxLiteral = 400

// exact reads a number literal whose value is exactly that of its shortest
// double form. For such numbers comparing doubles and comparing decimals, as
// OPA does, is the same.
func exact(text string) (float64, bool) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || len(text) > maxLiteral || math.Abs(f) > 1e300 || f != 0 && math.Abs(f) < 1e-300 {
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

func elements(a *ast.Array) (out []*ast.Term) {
	a.Foreach(func(t *ast.Term) { out = append(out, t) })
	return out
}
