package datafile

import (
	"reflect"
	"slices"
	"testing"
)

// FuzzRead: no panic; what is accepted is a tree of plain values with places;
// what is refused says where; reading twice is equal.
func FuzzRead(f *testing.F) {
	for _, s := range scalars {
		f.Add([]byte("a: " + s))
		f.Add([]byte("- " + s + "\n- {" + s + ": 1}"))
	}
	for _, s := range []string{"", "---\n", "a: 1\n---\nb: 2", "a: &x {b: *x}", "<<: *a", "? [a]\n: b", "%TAG ! x:\n--- !a b", "{\"a\": [1, {\"b\": null}]}", "a: |2\n   x\n y", "a: >+\n\n x\n\n  y\n",
		"\ufeffa: 1", "a: \xff", "[[[[[[[[", "a:\r\n  b: c\rd: e", "- - - x\n  -\n", "!!set {a}", "a: !!binary x", "# only\n", "a: 'b\n\n  c'", "{a, b: c, ? d}", "...\n", "--- |\n x\n...\n--- y"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		n, problems := Read("f", content)
		again, problemsAgain := Read("f", content)
		if !reflect.DeepEqual(n, again) || !slices.Equal(problems, problemsAgain) {
			t.Fatalf("%q is read in two ways: %v and %v", content, problems, problemsAgain)
		}
		for _, p := range problems {
			if p.File != "f" || p.Row < 1 || p.Col < 1 || p.Code == "" || p.Message == "" {
				t.Fatalf("%q: %+v does not say where or what", content, p)
			}
		}
		if len(problems) > 0 {
			return
		}
		if n == nil {
			t.Fatalf("%q: neither a node nor a problem", content)
		}
		plainTree(t, n, 0)
		_ = n.Any()
	})
}

// plainTree fails unless exactly one of fields, items and value is in use, at
// every node, and every node has a place.
func plainTree(t *testing.T, n *Node, depth int) {
	t.Helper()
	if n.Row < 1 || n.Col < 1 || depth > maxDataDepth {
		t.Fatalf("a node at %d:%d, depth %d", n.Row, n.Col, depth)
	}
	switch n.Kind {
	case Object:
		if n.Value != nil || n.Items != nil || len(n.Keys) != len(n.Fields) {
			t.Fatalf("an object with %v, %v and %d keys for %d fields", n.Value, n.Items, len(n.Keys), len(n.Fields))
		}
		for _, k := range n.Keys {
			if n.Fields[k] == nil || n.KeyNodes[k] == nil || n.KeyNodes[k].Row < 1 {
				t.Fatalf("key %q has no value or no place", k)
			}
			plainTree(t, n.Fields[k], depth+1)
		}
	case Array:
		if n.Value != nil || n.Fields != nil {
			t.Fatalf("a list with %v and %v", n.Value, n.Fields)
		}
		for _, item := range n.Items {
			plainTree(t, item, depth+1)
		}
	case Scalar:
		switch n.Value.(type) {
		case string, float64, bool, nil:
		default:
			t.Fatalf("a scalar of type %T", n.Value)
		}
	default:
		t.Fatalf("kind %d", n.Kind)
	}
}
