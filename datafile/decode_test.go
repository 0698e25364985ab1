package datafile

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/conjunct-project/conjunct/engine"
)

// thing has one field for each method of a Decoder.
type thing struct {
	text    string
	texts   []string
	boolean bool
	number  float64
	whole   int64
	maybe   *int64
	tier    engine.Tier
	free    map[string]string
	items   []float64
}

func readThing(t *testing.T, text string) (thing, []Problem) {
	t.Helper()
	n, problems := Read("f.yaml", []byte(text))
	if len(problems) > 0 {
		t.Fatalf("Read(%q): %v", text, problems)
	}
	var d Decoder
	x := thing{free: map[string]string{}}
	d.Object(n, "the thing", Fields{
		"text":    d.Text("text", &x.text),
		"texts":   d.Texts("texts", &x.texts),
		"boolean": d.Boolean("boolean", &x.boolean),
		"number":  d.Number("number", -1, 2.5, &x.number),
		"whole":   d.Whole("whole", 1, &x.whole),
		"maybe":   d.OptionalWhole("maybe", 0, &x.maybe),
		"tier":    d.Member("tier", &x.tier),
		"free": d.Each("free", func(name string, _, n *Node) {
			var s string
			d.Text("free."+name, &s)(n)
			x.free[name] = s
		}),
		"items": d.Items("items", func(i int, n *Node) {
			var f float64
			d.Number(fmt.Sprintf("item %d", i), 0, 9, &f)(n)
			x.items = append(x.items, f)
		}),
	}, "text")
	return x, d.Problems
}

func TestDecoderReads(t *testing.T) {
	x, problems := readThing(t, "text: a\ntexts: [b, c]\nboolean: true\nnumber: 2.5\nwhole: 9007199254740991\nmaybe: 7\ntier: propose\nfree: {k: v, l: w}\nitems: [1, 2]\n")
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	seven := int64(7)
	want := thing{"a", []string{"b", "c"}, true, 2.5, 9007199254740991, &seven, engine.Propose, map[string]string{"k": "v", "l": "w"}, []float64{1, 2}}
	if !reflect.DeepEqual(x, want) {
		t.Errorf("got %+v, want %+v", x, want)
	}
}

func TestDecoderRefuses(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
		hint       string
	}{
		{"a list for the object", "[1]", []string{"1:1 data_type"}, ""},
		{"text for the object", "word", []string{"1:1 data_type"}, ""},
		{"null for the object", "~", []string{"1:1 data_type"}, ""},
		{"nothing in the object", "", []string{"1:1 data_missing_key"}, ""},
		{"a required key is missing", "number: 1\n", []string{"1:1 data_missing_key"}, ""},
		{"an unknown key", "text: a\nnumbr: 1\n", []string{"2:1 data_unknown_key"}, `did you mean "number"?`},
		{"an unknown key far from any", "text: a\nsomething_else: 1\n", []string{"2:1 data_unknown_key"}, ""},
		{"a key in another case", "text: a\nTier: propose\n", []string{"2:1 data_unknown_key"}, `did you mean "tier"?`},
		{"a required key misspelt", "txt: a\n", []string{"1:1 data_unknown_key", "1:1 data_missing_key"}, ""},
		{"a number for text", "text: 1\n", []string{"1:7 data_type"}, ""},
		{"true for text", "text: true\n", []string{"1:7 data_type"}, ""},
		{"null for text", "text:\n", []string{"1:6 data_type"}, ""},
		{"a list for text", "text: [a]\n", []string{"1:7 data_type"}, ""},
		{"an object for text", "text: {a: b}\n", []string{"1:7 data_type"}, ""},
		{"text for a list of texts", "text: a\ntexts: b\n", []string{"2:8 data_type"}, ""},
		{"an object for a list of texts", "text: a\ntexts: {b: c}\n", []string{"2:8 data_type"}, ""},
		{"a number in a list of texts", "text: a\ntexts: [b, 1]\n", []string{"2:12 data_type"}, ""},
		{"a list in a list of texts", "text: a\ntexts: [[b]]\n", []string{"2:9 data_type"}, ""},
		{"a text twice in a list", "text: a\ntexts: [b, c, b]\n", []string{"2:15 data_duplicate_item"}, ""},
		{"text for a boolean", "text: a\nboolean: yes\n", []string{"2:10 data_type"}, ""},
		{"a number for a boolean", "text: a\nboolean: 1\n", []string{"2:10 data_type"}, ""},
		{"null for a boolean", "text: a\nboolean: ~\n", []string{"2:10 data_type"}, ""},
		{"text for a number", "text: a\nnumber: \"1\"\n", []string{"2:9 data_type"}, ""},
		{"true for a number", "text: a\nnumber: true\n", []string{"2:9 data_type"}, ""},
		{"a number below its range", "text: a\nnumber: -1.01\n", []string{"2:9 data_range"}, ""},
		{"a number above its range", "text: a\nnumber: 2.51\n", []string{"2:9 data_range"}, ""},
		{"a fraction for a whole number", "text: a\nwhole: 1.5\n", []string{"2:8 data_type"}, ""},
		{"a whole number below its range", "text: a\nwhole: 0\n", []string{"2:8 data_range"}, ""},
		{"null for a whole number", "text: a\nwhole: null\n", []string{"2:8 data_type"}, ""},
		{"text for an optional whole number", "text: a\nmaybe: x\n", []string{"2:8 data_type"}, ""},
		{"a negative optional whole number", "text: a\nmaybe: -1\n", []string{"2:8 data_range"}, ""},
		{"a list for an optional whole number", "text: a\nmaybe: []\n", []string{"2:8 data_type"}, ""},
		{"a number for a member", "text: a\ntier: 1\n", []string{"2:7 data_type"}, ""},
		{"a member misspelt", "text: a\ntier: propse\n", []string{"2:7 data_unknown_value"}, ""},
		{"a member in another case", "text: a\ntier: Propose\n", []string{"2:7 data_unknown_value"}, ""},
		{"an empty member", "text: a\ntier: \"\"\n", []string{"2:7 data_unknown_value"}, ""},
		{"a list for free names", "text: a\nfree: [a]\n", []string{"2:7 data_type"}, ""},
		{"text for free names", "text: a\nfree: b\n", []string{"2:7 data_type"}, ""},
		{"a wrong value under a free name", "text: a\nfree:\n  k: 1\n", []string{"3:6 data_type"}, ""},
		{"an object for items", "text: a\nitems: {a: 1}\n", []string{"2:8 data_type"}, ""},
		{"wrong items, each", "text: a\nitems: [10, 1, x]\n", []string{"2:9 data_range", "2:16 data_type"}, ""},
		{"all problems in one run", "number: 9\nwhole: x\ntier: 1\n", []string{"1:9 data_range", "2:8 data_type", "3:7 data_type", "1:1 data_missing_key"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			x, problems := readThing(t, c.text)
			if got := places(problems); !slices.Equal(got, c.want) {
				t.Fatalf("%q: problems at %q, want %q\n%v\n%+v", c.text, got, c.want, problems, x)
			}
			if c.hint != "" && problems[0].Hint != c.hint {
				t.Errorf("%q: hint %q, want %q", c.text, problems[0].Hint, c.hint)
			}
			for _, p := range problems {
				if p.File != "f.yaml" {
					t.Errorf("%q: %+v names no file", c.text, p)
				}
			}
		})
	}
}

// TestMemberSaysWhatIsNear holds that the text of a problem with an enumeration
// helps, as no hint does.
func TestMemberSaysWhatIsNear(t *testing.T) {
	_, problems := readThing(t, "text: a\ntier: propse\n")
	want := `tier: unknown tier "propse": did you mean "propose"?`
	if len(problems) != 1 || problems[0].Message != want {
		t.Errorf("got %v, want %q", problems, want)
	}
}

func TestOptionalWholeOfNullIsNone(t *testing.T) {
	if x, problems := readThing(t, "text: a\nmaybe: null\n"); x.maybe != nil || len(problems) > 0 {
		t.Errorf("got %v, %v, want none", x.maybe, problems)
	}
}

// TestNumberOfNoNumber holds the range against what no file can hold.
func TestNumberOfNoNumber(t *testing.T) {
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		var d Decoder
		into := 0.5
		d.Number("number", 0, 1, &into)(&Node{Row: 1, Col: 1, Value: v})
		if len(d.Problems) != 1 || d.Problems[0].Code != "data_range" || into != 0.5 {
			t.Errorf("%v: %v and value %v, want data_range and 0.5", v, d.Problems, into)
		}
	}
}

// TestTextsTwiceOnlyForTexts: items that are no text are not the same text.
func TestTextsTwiceOnlyForTexts(t *testing.T) {
	_, problems := readThing(t, "text: a\ntexts: [1, 2]\n")
	want := []string{"2:9 data_type", "2:12 data_type"}
	if got := places(problems); !slices.Equal(got, want) {
		fault(t, "two items that are no text are told as the same text: %v", problems)
	}
}

// TestTextsKeepsADefault: a key that a file leaves out must leave its default.
func TestTextsKeepsADefault(t *testing.T) {
	list := []string{"default"}
	var d Decoder
	d.Object(&Node{Kind: Object}, "it", Fields{"list": d.Texts("list", &list)})
	if !slices.Equal(list, []string{"default"}) {
		fault(t, "Texts empties the list when it is made and not when it reads: got %q, want the default", list)
	}
}

func TestProblemInOneLine(t *testing.T) {
	for _, c := range []struct {
		p    Problem
		want string
	}{
		{Problem{File: "f", Row: 2, Col: 3, Message: "m", Hint: "h"}, "f:2:3: m (h)"},
		{Problem{File: "f", Row: 2, Message: "m"}, "f:2: m"},
		{Problem{File: "f", Col: 3, Message: "m"}, "f: m"},
		{Problem{File: "f", Row: 1, Col: 1, Message: "two\n  rows", Hint: "and\ttabs"}, "f:1:1: two rows (and tabs)"},
	} {
		if got := c.p.String(); got != c.want {
			t.Errorf("%+v prints %q, want %q", c.p, got, c.want)
		}
	}
}

func TestSortByPlace(t *testing.T) {
	want := []Problem{{File: "a", Row: 1, Col: 2}, {File: "a", Row: 2, Col: 1, Message: "a"}, {File: "a", Row: 2, Col: 1, Message: "b"}, {File: "a", Row: 10}, {File: "b"}}
	got := []Problem{want[4], want[3], want[2], want[1], want[0]}
	if Sort(got); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestReportWithoutNode is a problem about a whole bundle.
func TestReportWithoutNode(t *testing.T) {
	var d Decoder
	d.Report(nil, "code", "hint", "no %s", "file")
	if want := (Problem{Code: "code", Message: "no file", Hint: "hint"}); len(d.Problems) != 1 || d.Problems[0] != want {
		t.Errorf("got %+v, want %+v", d.Problems, want)
	}
}
