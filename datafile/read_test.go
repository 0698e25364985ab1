package datafile

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// at is a problem as the tables below write it: row:col code.
func at(p Problem) string { return fmt.Sprintf("%d:%d %s", p.Row, p.Col, p.Code) }

func places(ps []Problem) []string {
	out := []string{}
	for _, p := range ps {
		out = append(out, at(p))
	}
	return out
}

type object = map[string]any

// TestReadAccepts lists what a data file may hold and the values it then has.
func TestReadAccepts(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       any
	}{
		{"an empty file is an empty object", "", object{}},
		{"a file of comments is an empty object", "# nothing\n\n# here\n", object{}},
		{"an empty document is null", "---\n", nil},
		{"a lone null is null", "~\n", nil},
		{"text at the top is text", "word\n", "word"},
		{"a list at the top is a list", "- 1\n- b\n", []any{1.0, "b"}},
		{"block and flow nest", "a:\n  - b: {c: [1, x]}\n", object{"a": []any{object{"b": object{"c": []any{1.0, "x"}}}}}},
		{"null in all its spellings", "a: null\nb: ~\nc:\nd: Null\ne: NULL\n", object{"a": nil, "b": nil, "c": nil, "d": nil, "e": nil}},
		{"a quoted null is text", `a: "null"`, object{"a": "null"}},
		{"true and false in three cases", "a: true\nb: True\nc: TRUE\nd: false\ne: False\nf: FALSE\n", object{"a": true, "b": true, "c": true, "d": false, "e": false, "f": false}},
		{"mixed case is text", "a: tRUE\n", object{"a": "tRUE"}},
		{"a quoted true is text", `a: "true"`, object{"a": "true"}},
		{"yes, no, on, off, y and n are text", "a: [yes, No, on, OFF, y, n]\n", object{"a": []any{"yes", "No", "on", "OFF", "y", "n"}}},
		{"on is text as a key", "on: 1\n", object{"on": 1.0}},
		{"whole numbers", "a: [0, -1, 42, 9007199254740991, -9007199254740991]\n", object{"a": []any{0.0, -1.0, 42.0, 9007199254740991.0, -9007199254740991.0}}},
		{"fractions and exponents", "a: [0.5, -1.25, 1e3, 1E3, 1e+3, -1.5e-3]\n", object{"a": []any{0.5, -1.25, 1000.0, 1000.0, 1000.0, -0.0015}}},
		{"a quoted number is text", `a: ["1", '0x1f', "1e400"]`, object{"a": []any{"1", "0x1f", "1e400"}}},
		{"dates and times are text", "a: 2026-03-02\nb: 2026-03-02T09:30:00Z\nc: 2026-03-02 09:30:00\n", object{"a": "2026-03-02", "b": "2026-03-02T09:30:00Z", "c": "2026-03-02 09:30:00"}},
		{"sixties are text", "a: 12:30:45\nb: 190:20\n", object{"a": "12:30:45", "b": "190:20"}},
		{"a comma makes text of a number", "a: 1,000\n", object{"a": "1,000"}},
		{"an equals sign is text", "a: =\n", object{"a": "="}},
		{"a quoted merge key is a key", `"<<": 1`, object{"<<": 1.0}},
		{"a quoted number is a key", `"1": a`, object{"1": "a"}},
		{"an empty key in quotes", `"": a`, object{"": "a"}},
		{"literal and folded text", "a: |\n  x\n  y\nb: >-\n  x\n  y\n", object{"a": "x\ny\n", "b": "x y"}},
		{"CRLF ends a row", "a: 1\r\nb: x\r\n", object{"a": 1.0, "b": "x"}},
		{"CRLF in literal text is a newline", "a: |\r\n  x\r\n  y\r\n", object{"a": "x\ny\n"}},
		{"a tab after a colon", "a:\t1\n", object{"a": 1.0}},
		{"a byte order mark in front", "\ufeffa: 1\n", object{"a": 1.0}},
		{"the end of a document", "a: 1\n...\n", object{"a": 1.0}},
		{"a version line", "%YAML 1.1\n---\na: 1\n", object{"a": 1.0}},
		{"JSON", `{"a": {"b": [1, -0.5, 1e2, true, false, null, "x"]}}`, object{"a": object{"b": []any{1.0, -0.5, 100.0, true, false, nil, "x"}}}},
		{"JSON without spaces", `{"a":1,"b":[2,3],"c":{"d":"e"}}`, object{"a": 1.0, "b": []any{2.0, 3.0}, "c": object{"d": "e"}}},
		{"JSON indented with tabs", "{\n\t\"a\": 1,\n\t\"b\": [\n\t\t2\n\t]\n}\n", object{"a": 1.0, "b": []any{2.0}}},
		{"JSON escapes", `{"a": "\u0041\t\n\"\\\b\f\r\u00e9"}`, object{"a": "A\t\n\"\\\b\f\ré"}},
		{"JSON key escapes", `{"\u0061": 1}`, object{"a": 1.0}},
		{"other scripts", "ключ: 値\n", object{"ключ": "値"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			n, problems := Read("f.yaml", []byte(c.text))
			if len(problems) > 0 {
				t.Fatalf("Read(%q): %v", c.text, problems)
			}
			if got := n.Any(); !reflect.DeepEqual(got, c.want) {
				t.Errorf("Read(%q) = %#v, want %#v", c.text, got, c.want)
			}
		})
	}
}

const (
	hintNumber = "write it as a decimal number, or in quotes"
	hintKey    = "put it in quotes"
	hintValue  = "write the value out"
	hintTwice  = "only one would count; remove the other"
)

// TestReadRefuses lists the rules beyond YAML: each with its place, code and
// what to do about it.
func TestReadRefuses(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
		hint       string
	}{
		{"a key twice", "a: 1\nb: 2\na: 3\n", []string{"3:1 data_duplicate_key"}, hintTwice},
		{"a key twice, once in quotes", "a: 1\n\"a\": 2\n", []string{"2:1 data_duplicate_key"}, hintTwice},
		{"a key twice, deep inside", "x:\n  - y:\n      a: 1\n      a: 2\n", []string{"4:7 data_duplicate_key"}, hintTwice},
		{"a key three times", "{a: 1, a: 2, a: 3}", []string{"1:8 data_duplicate_key", "1:14 data_duplicate_key"}, hintTwice},
		{"a key twice in JSON", "{\"a\": 1,\n \"a\": 2}", []string{"2:2 data_duplicate_key"}, hintTwice},
		{"a key twice in JSON, once escaped", `{"a":1,"\u0061":2}`, []string{"1:8 data_duplicate_key"}, hintTwice},
		{"a second document", "a: 1\n---\nb: 2\n", []string{"2:1 data_second_document"}, "only the first would count; keep one"},
		{"an empty second document", "a: 1\n---\n", []string{"2:1 data_second_document"}, "only the first would count; keep one"},
		{"a second JSON document", "{\"a\": 1}\n---\n{\"b\": 2}\n", []string{"2:1 data_second_document"}, "only the first would count; keep one"},
		{"an anchor on an object", "a: &x {b: 1}\n", []string{"1:4 data_anchor"}, hintValue},
		{"an anchor on a list", "a: &x [1]\n", []string{"1:4 data_anchor"}, hintValue},
		{"an anchor on a scalar", "a: &x 1\n", []string{"1:4 data_anchor"}, hintValue},
		{"an anchor and its alias", "a: &x 1\nb: *x\n", []string{"1:4 data_anchor", "2:4 data_alias"}, hintValue},
		{"an alias inside its own anchor", "a: &x\n  b: *x\n", []string{"1:4 data_anchor", "2:6 data_alias"}, hintValue},
		{"a merge key", "a: {<<: {b: 1}}\n", []string{"1:5 data_key"}, hintKey},
		{"a merge key of an alias", "x: &x {b: 1}\ny:\n  <<: *x\n", []string{"1:4 data_anchor", "3:3 data_key"}, ""},
		{"a tag of one's own on text", "a: !secret x\n", []string{"1:4 data_tag"}, "write it as plain text, number, boolean, list or object"},
		{"binary", "a: !!binary aGVsbG8=\n", []string{"1:4 data_tag"}, "write it as plain text, number, boolean, list or object"},
		{"a number as a key", "1: a\n", []string{"1:1 data_key"}, hintKey},
		{"a fraction as a key", "1.5: a\n", []string{"1:1 data_key"}, hintKey},
		{"true as a key", "a: 1\ntrue: a\n", []string{"2:1 data_key"}, hintKey},
		{"null as a key", "null: a\n", []string{"1:1 data_key"}, hintKey},
		{"a date as a key", "2026-03-02: a\n", []string{"1:1 data_key"}, hintKey},
		{"a list as a key", "? [a]\n: 1\n", []string{"1:3 data_key"}, hintKey},
		{"an object as a key", "? {a: 1}\n: 1\n", []string{"1:3 data_key"}, hintKey},
		{"octal with a zero", "a: 012\n", []string{"1:4 data_number"}, hintNumber},
		{"octal with 0o", "a: 0o14\n", []string{"1:4 data_number"}, hintNumber},
		{"zeros in front", "a: 00\nb: 08\nc: -012\n", []string{"1:4 data_number", "2:4 data_number", "3:4 data_number"}, hintNumber},
		{"hexadecimal", "a: 0x1f\n", []string{"1:4 data_number"}, hintNumber},
		{"binary digits", "a: 0b11\n", []string{"1:4 data_number"}, hintNumber},
		{"underscores", "a: 1_000\nb: 685_230.15\n", []string{"1:4 data_number", "2:4 data_number"}, hintNumber},
		{"infinities", "a: .inf\nb: -.Inf\n", []string{"1:4 data_number", "2:4 data_number"}, hintNumber},
		{"not a number", "a: .NaN\n", []string{"1:4 data_number"}, hintNumber},
		{"a plus sign", "a: +1\n", []string{"1:4 data_number"}, hintNumber},
		{"no digit before the point", "a: .5\n", []string{"1:4 data_number"}, hintNumber},
		{"no digit after the point", "a: 1.\nb: 1.e3\n", []string{"1:4 data_number", "2:4 data_number"}, hintNumber},
		{"a whole number beyond 2^53-1", "a: 9007199254740992\nb: 9007199254740993\nc: -9007199254740992\n",
			[]string{"1:4 data_number", "2:4 data_number", "3:4 data_number"}, hintNumber},
		{"a huge whole number", "a: 99999999999999999999999\nb: 1e300\n", []string{"1:4 data_number", "2:4 data_number"}, hintNumber},
		{"a number that JSON has in a list", "a: [1, 0x2, 3]\n", []string{"1:8 data_number"}, hintNumber},
		{"all problems in one run", "a: 0x1\nb: &x 1\nb: 2\n1: 3\n---\n",
			[]string{"5:1 data_second_document", "1:4 data_number", "2:4 data_anchor", "3:1 data_duplicate_key", "4:1 data_key"}, ""},
		{"a tab as indentation", "a:\n\tb: 1\n", []string{"2:1 data_syntax"}, ""},
		{"a mapping inside a plain text", "a: b: c\n", []string{"1:1 data_syntax"}, ""},
		{"an unknown alias", "a: *x\n", []string{"1:1 data_syntax"}, ""},
		{"an open quote, at the end of the file", "a: 'x\n", []string{"2:1 data_syntax"}, ""},
		{"another version of YAML", "%YAML 1.2\n---\na: 1\n", []string{"1:1 data_syntax"}, ""},
		{"a control character", "a: \x00\n", []string{"1:1 data_syntax"}, ""},
		{"invalid UTF-8", "a: \xff\n", []string{"1:1 data_encoding"}, ""},
		{"a half surrogate", "a: \xed\xa0\x80\n", []string{"1:1 data_encoding"}, ""},
		{"UTF-16", "\xff\xfea\x00:\x00 \x001\x00", []string{"1:1 data_encoding"}, ""},
		{"an escaped half surrogate", `{"a": "\ud83d"}`, []string{"1:1 data_syntax"}, ""},
		{"something after the end of the document", "a: 1\n...\n---\nb: 2\n", []string{"3:1 data_second_document"}, "only the first would count; keep one"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, problems := Read("f.yaml", []byte(c.text))
			if got := places(problems); !slices.Equal(got, c.want) {
				t.Fatalf("Read(%q): problems at %q, want %q\n%v", c.text, got, c.want, problems)
			}
			for _, p := range problems {
				if p.File != "f.yaml" || p.Message == "" {
					t.Errorf("Read(%q): %+v names no file or says nothing", c.text, p)
				}
				if c.hint != "" && p.Hint != c.hint {
					t.Errorf("Read(%q): hint %q, want %q", c.text, p.Hint, c.hint)
				}
			}
		})
	}
}

// TestReadMisses are holes that were reported: what YAML allows, the package
// comment excludes and Read takes.
func TestReadMisses(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"a tag on an object", "a: !x {b: 1}\n", "1:4 data_tag"},
		{"a tag on a list", "a: !x [1]\n", "1:4 data_tag"},
		{"a set", "a: !!set {b}\n", "1:4 data_tag"},
		{"a tag that makes text of a number", "a: !!str 5\n", "1:4 data_tag"},
		{"a tag that makes a number of text", "a: !!int \"5\"\n", "1:4 data_tag"},
		{"a tag that makes false of text", "a: !!bool maybe\n", "1:4 data_tag"},
		{"a tag that makes null of text", "a: !!null x\n", "1:4 data_tag"},
		{"a tag that makes a time of a date, which OPA reads otherwise", "a: !!timestamp 2026-03-02\n", "1:4 data_tag"},
		{"a tag on a key", "!!str a: 1\n", "1:1 data_tag"},
		{"an anchor on a key", "&x a: 1\n", "1:1 data_anchor"},
		{"a number too large for a double becomes text", "a: 1e400\n", "1:4 data_number"},
		{"a number too large for a double becomes text in JSON", `{"a": -1e400}`, "1:7 data_number"},
		{"a number too small for a double becomes zero", "a: 1e-400\n", "1:4 data_number"},
		{"a number with more digits than a double holds", "a: 1000.00000000000000001\n", "1:4 data_number"},
		{"a line separator loses the blank after it", "{\"a\": \"x\u2028 y\"}", "1:7 data_syntax"},
		{"a next-line character becomes a blank", "{\"a\": \"x\u0085y\"}", "1:7 data_syntax"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n, problems := Read("f.yaml", []byte(c.text))
			if len(problems) == 1 && at(problems[0]) == c.want {
				return
			}
			got := places(problems)
			fault(t, "Read(%q) = %#v with problems %q, want %q", c.text, n.Any(), got, c.want)
		})
	}
}

// TestSyntaxErrorRow holds the row of what yaml.v3 cannot parse. It counts rows
// of its parser from 0, and those of its scanner from 1.
func TestSyntaxErrorRow(t *testing.T) {
	for _, c := range []struct {
		name, text string
		row        int
	}{
		{"a tab in the third row", "a: 1\nb:\n\tc: 1\n", 3},
		{"a tab behind a folded text", "a:\n  - b: >-\n      x\n      y\n\tc: 1\n", 5},
		{"a tab behind a space, and one in a blank row of the text", "a:\n  - b: >-\n      x\n\t\n      y\n \tc: 1\n", 6},
		{"a tab in a blank row", "a:\n \t\n  - b\n", 2},
		{"a mapping in plain text in the second row", "a: 1\nb: c: d\n", 2},
		{"a word after the end of the document", "a: 1\n...\nb: 2\n", 3},
		{"a bracket that closes nothing in the third row", "a: 1\nb: 2\nc: ]\n", 3},
		{"a key less indented than its siblings", "a:\n    b: 1\n  c: 2\n", 3},
		{"a comma missing in a list", "a: 1\nb: [x y, \"z\" \"w\"]\n", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, problems := Read("f.yaml", []byte(c.text))
			if len(problems) != 1 || problems[0].Code != "data_syntax" {
				t.Fatalf("Read(%q): %v, want one data_syntax", c.text, problems)
			}
			if problems[0].Row != c.row {
				fault(t, "Read(%q): row %d, want %d (%s)", c.text, problems[0].Row, c.row, problems[0].Message)
			}
		})
	}
}

// TestDepth holds the limit on nesting on both sides.
func TestDepth(t *testing.T) {
	nested := func(open, end string, n int) string {
		return strings.Repeat(open, n) + "1" + strings.Repeat(end, n)
	}
	for _, c := range []struct {
		name, text string
		ok         bool
	}{
		{"64 lists", nested("[", "]", 64), true},
		{"65 lists", nested("[", "]", 65), false},
		{"64 objects", nested("{a: ", "}", 64), true},
		{"65 objects", nested("{a: ", "}", 65), false},
		{"9000 lists", nested("[", "]", 9000), false},
		{"200000 lists", nested("[", "]", 200_000), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, problems := Read("f.yaml", []byte(c.text))
			switch {
			case c.ok && len(problems) > 0:
				t.Errorf("%s: %v, want none", c.name, problems)
			case !c.ok && (len(problems) != 1 || problems[0].Code != "data_depth" && problems[0].Code != "data_syntax" || problems[0].Row != 1):
				t.Errorf("%s: %v, want one data_depth in row 1", c.name, problems)
			}
		})
	}
}

// TestPlacesOfValues holds that every value and key keeps its place.
func TestPlacesOfValues(t *testing.T) {
	n, problems := Read("f.yaml", []byte("a:\n  b: [x, {c: 1}]\n\"d e\":\n  - |\n    text\n"))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for _, c := range []struct {
		name     string
		node     *Node
		row, col int
	}{
		{"the file", n, 1, 1},
		{"the key a", n.KeyNodes["a"], 1, 1},
		{"the value of a", n.At("a"), 2, 3},
		{"the key b", n.At("a").KeyNodes["b"], 2, 3},
		{"the list", n.At("a", "b"), 2, 6},
		{"an item", n.At("a", "b").Items[0], 2, 7},
		{"an object in a list", n.At("a", "b").Items[1], 2, 10},
		{"a value in it", n.At("a", "b").Items[1].At("c"), 2, 14},
		{"a quoted key", n.KeyNodes["d e"], 3, 1},
		{"a block text starts at its mark", n.At("d e").Items[0], 4, 5},
	} {
		if c.node == nil {
			t.Errorf("%s: no node", c.name)
		} else if c.node.Row != c.row || c.node.Col != c.col || c.node.File != "f.yaml" {
			t.Errorf("%s: %s:%d:%d, want f.yaml:%d:%d", c.name, c.node.File, c.node.Row, c.node.Col, c.row, c.col)
		}
	}
	if got, want := n.Keys, []string{"a", "d e"}; !slices.Equal(got, want) {
		t.Errorf("keys %q, want %q in the order of the file", got, want)
	}
}

// TestAtMissing holds that following keys to nowhere gives nothing.
func TestAtMissing(t *testing.T) {
	n, _ := Read("f.yaml", []byte("a: {b: 1}\nc: [1]\n"))
	for _, keys := range [][]string{{"x"}, {"a", "x"}, {"a", "b", "c"}, {"c", "0"}, {"x", "y", "z"}} {
		if got := n.At(keys...); got != nil {
			t.Errorf("At(%q) = %v, want nil", keys, got.Any())
		}
	}
	var none *Node
	if none.At("a") != nil || none.IsObject() {
		t.Error("a nil node has something below it")
	}
	if none.At() != nil || n.At() != n {
		t.Error("At without keys is not the node itself")
	}
}
