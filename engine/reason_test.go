package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"reflect"
	"strings"
	"testing"
)

func TestLongValuesInFactsAreReplaced(t *testing.T) {
	long := strings.Repeat("é", 129) // 258 bytes
	sum := sha256.Sum256([]byte(long))
	edge := strings.Repeat("x", 256)
	for _, c := range []struct {
		name     string
		in, want any
	}{
		{"short text stays", "x", "x"},
		{"text of exactly the limit stays", edge, edge},
		{"text over the limit becomes digest and size", long, map[string]any{"sha256": hex.EncodeToString(sum[:]), "size": 258}},
		{"a short list stays", []any{"x"}, []any{"x"}},
		{"a short object stays", map[string]any{"a": 1.0}, map[string]any{"a": 1.0}},
		{"a number stays", 7.0, 7.0},
		{"null stays", nil, nil},
	} {
		got := NewFact("/p", c.in)
		if !reflect.DeepEqual(got, Fact{Path: "/p", Value: c.want}) {
			t.Errorf("%s: NewFact(%v) = %v, want value %v", c.name, c.in, got, c.want)
		}
	}
	if got := AbsentFact("/p"); got.Value != nil || !got.Absent || got.Path != "/p" {
		t.Errorf("AbsentFact = %+v, want an absent value at /p", got)
	}
}

func TestLongListsAndObjectsInFactsCarryTheirDigest(t *testing.T) {
	for _, v := range []any{make([]any, 200), map[string]any{"a": strings.Repeat("x", 300)}} {
		if m, _ := NewFact("/p", v).Value.(map[string]any); m["sha256"] == nil {
			t.Errorf("NewFact(long %T) = %v, want a digest", v, m)
		}
	}
}

func TestALongValueReachesNoReasonWhole(t *testing.T) {
	long := strings.Repeat("x", 5000)
	p := newFake()
	in := call(p, toolNote)
	in.State.Suspect = []Item{{Kind: "entity", Value: long}}
	d := decide(p, in)
	if strings.Contains(d.Reason, long) {
		t.Errorf("the sentence holds a value of %d bytes whole", len(long))
	}
	for _, r := range d.Reasons {
		if strings.Contains(r.Text, long) {
			t.Errorf("the text of %s holds a value of %d bytes whole", r.Code, len(long))
		}
	}
}

func TestPointerEscapesWhatAPointerCannotHold(t *testing.T) {
	for want, keys := range map[string][]string{
		"":                nil,
		"/":               {""},
		"/a/b":            {"a", "b"},
		"/a~1b":           {"a/b"},
		"/a~0b":           {"a~b"},
		"/~01":            {"~1"},
		"/~1~0//é /\"x\"": {"/~", "", "é ", `"x"`},
	} {
		if got := Pointer(keys...); got != want {
			t.Errorf("Pointer(%q) = %q, want %q", keys, got, want)
		}
	}
}

func TestEveryNameInAFactIsEscaped(t *testing.T) {
	p := newFake()
	p.edit(toolNote, func(t *Tool) { t.Requires.Evidence = []string{"a"} })
	p.contract.Evidence = map[string]RecordRule{"a": {Pins: []string{"rule/eu"}}}
	in := call(p, toolNote)
	in.State.Suspect = []Item{{Kind: "mail/address", Value: "x"}}
	in.State.Evidence = map[string]Evidence{"a": {Status: Pass, Time: clock}}
	d := decide(p, in)
	for _, r := range d.Reasons {
		for _, f := range r.Facts {
			if strings.Contains(f.Path, "rule/eu") || strings.Contains(f.Path, "mail/address") {
				t.Errorf("fact of %s at %s, want the name escaped", r.Code, f.Path)
			}
		}
	}
}
