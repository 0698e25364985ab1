package datafile

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// file is one data file of a merge: where it lands, its name and its text.
type file struct {
	keys []string
	name string
	text string
}

func merged(t *testing.T, files []file) (*Node, []Problem) {
	t.Helper()
	root := &Node{Kind: Object, Fields: map[string]*Node{}}
	var all []Problem
	for _, f := range files {
		n, problems := Read(f.name, []byte(f.text))
		if len(problems) > 0 {
			t.Fatalf("%s: %v", f.name, problems)
		}
		all = append(all, Merge(root, f.keys, n)...)
	}
	return root, all
}

func TestMerge(t *testing.T) {
	for _, c := range []struct {
		name  string
		files []file
		want  any
	}{
		{"a file at the top", []file{{nil, "f", "a: 1\n"}}, object{"a": 1.0}},
		{"a file at a path", []file{{[]string{"x", "y"}, "f", "a: 1\n"}}, object{"x": object{"y": object{"a": 1.0}}}},
		{"an empty file still makes its path", []file{{[]string{"x", "y"}, "f", "# nothing\n"}}, object{"x": object{"y": object{}}}},
		{"two paths beside each other", []file{{[]string{"x"}, "f", "a: 1\n"}, {[]string{"y"}, "g", "a: 1\n"}}, object{"x": object{"a": 1.0}, "y": object{"a": 1.0}}},
		{"two files at one path", []file{{[]string{"x"}, "f", "a: 1\n"}, {[]string{"x"}, "g", "b: 2\n"}}, object{"x": object{"a": 1.0, "b": 2.0}}},
		{"objects merge", []file{{nil, "f", "a: {b: 1, c: {d: 2}}\n"}, {nil, "g", "a: {e: 3, c: {f: 4}}\n"}},
			object{"a": object{"b": 1.0, "e": 3.0, "c": object{"d": 2.0, "f": 4.0}}}},
		{"a file below another's object", []file{{nil, "f", "a: {b: 1}\n"}, {[]string{"a"}, "g", "c: 2\n"}}, object{"a": object{"b": 1.0, "c": 2.0}}},
		{"into an empty file", []file{{nil, "f", ""}, {nil, "g", "a: 1\n"}}, object{"a": 1.0}},
		{"into an empty file at a path", []file{{[]string{"x"}, "f", ""}, {[]string{"x"}, "g", "a: 1\n"}, {[]string{"x"}, "h", "b: 1\n"}}, object{"x": object{"a": 1.0, "b": 1.0}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			root, problems := merged(t, c.files)
			if len(problems) > 0 {
				t.Fatalf("problems %v, want none", problems)
			}
			if got := root.Any(); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %#v, want %#v", got, c.want)
			}
		})
	}
}

func TestMergeClashes(t *testing.T) {
	for _, c := range []struct {
		name  string
		files []file
		want  []string // file:row:col code
		other string   // the place that the message names
	}{
		{"the same key in two files", []file{{nil, "f", "\na: 1\n"}, {nil, "g", "b: 0\na: 2\n"}}, []string{"g 2:1 data_duplicate_key"}, "f:2"},
		{"the same key with the same value", []file{{nil, "f", "a: 1\n"}, {nil, "g", "a: 1\n"}}, []string{"g 1:1 data_duplicate_key"}, "f:1"},
		{"a key in two objects that merge", []file{{nil, "f", "x:\n  y:\n    a: 1\n"}, {nil, "g", "x: {y: {b: 1, a: 2}}\n"}}, []string{"g 1:15 data_duplicate_key"}, "f:3"},
		{"text against an object", []file{{nil, "f", "a: {b: 1}\n"}, {nil, "g", "a: x\n"}}, []string{"g 1:1 data_duplicate_key"}, "f:1"},
		{"an object against text", []file{{nil, "f", "a: x\n"}, {nil, "g", "a: {b: 1}\n"}}, []string{"g 1:1 data_duplicate_key"}, "f:1"},
		{"two lists", []file{{nil, "f", "a: [1]\n"}, {nil, "g", "a: [2]\n"}}, []string{"g 1:1 data_duplicate_key"}, "f:1"},
		{"null against an object", []file{{nil, "f", "a: null\n"}, {nil, "g", "a: {b: 1}\n"}}, []string{"g 1:1 data_duplicate_key"}, "f:1"},
		{"a path through text", []file{{nil, "f", "x: 5\n"}, {[]string{"x", "y"}, "g", "a: 1\n"}}, []string{"g 1:1 data_duplicate_key"}, "f:1"},
		{"a path through a list", []file{{nil, "f", "x: [5]\n"}, {[]string{"x"}, "g", "a: 1\n"}}, []string{"g 1:1 data_duplicate_key"}, "f:1"},
		{"two clashes in one run", []file{{nil, "f", "a: 1\nb: 1\n"}, {nil, "g", "a: 1\nb: 1\n"}}, []string{"g 1:1 data_duplicate_key", "g 2:1 data_duplicate_key"}, ""},
		{"a list at the top", []file{{nil, "f", "- 1\n"}}, []string{"f 1:1 data_object"}, ""},
		{"text at the top of a path", []file{{[]string{"x"}, "f", "word\n"}}, []string{"f 1:1 data_object"}, ""},
		{"a lone null", []file{{[]string{"x"}, "f", "~\n"}}, []string{"f 1:1 data_object"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, problems := merged(t, c.files)
			got := []string{}
			for _, p := range problems {
				got = append(got, p.File+" "+at(p))
			}
			if !slices.Equal(got, c.want) {
				t.Fatalf("got %q, want %q\n%v", got, c.want, problems)
			}
			if !strings.Contains(problems[0].Message, c.other) {
				t.Errorf("%q does not name the other place %q", problems[0].Message, c.other)
			}
		})
	}
}

// TestMergeKeepsPlaces holds that a key made by a directory has a place too: a
// problem about it would otherwise name no file.
func TestMergeKeepsPlaces(t *testing.T) {
	root, _ := merged(t, []file{{[]string{"x", "y"}, "x/y/data.yaml", "a: 1\n"}, {[]string{"x"}, "x/data.yaml", "b: 1\n"}})
	if got, want := root.At("x").Keys, []string{"y", "b"}; !slices.Equal(got, want) {
		t.Errorf("keys %q, want %q", got, want)
	}
	if k := root.At("x").KeyNodes["b"]; k == nil || k.File != "x/data.yaml" || k.Row != 1 {
		t.Errorf("the key b stands at %v, want x/data.yaml:1", k)
	}
	if root.KeyNodes["x"] == nil || root.At("x").KeyNodes["y"] == nil {
		t.Error("Merge gives the keys that stand for directories no place")
	}
}

// TestMergeOrderDoesNotMatter holds that the tree does not depend on which file
// comes first.
func TestMergeOrderDoesNotMatter(t *testing.T) {
	files := []file{{[]string{"c", "r"}, "c/r", "a: 1\n"}, {[]string{"c"}, "c", "r: {b: 2}\ns: {d: 1}\n"}, {nil, "top", "c: {s: {e: [1]}}\nd: x\n"}}
	first, _ := merged(t, files)
	for _, order := range [][]int{{0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		other, problems := merged(t, []file{files[order[0]], files[order[1]], files[order[2]]})
		if len(problems) > 0 || !reflect.DeepEqual(first.Any(), other.Any()) {
			t.Errorf("order %v: %#v %v, want %#v", order, other.Any(), problems, first.Any())
		}
	}
}
