package engine

import (
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// anyDocument draws a JSON value as policies see one.
func anyDocument(depth int) *rapid.Generator[any] {
	leaves := []*rapid.Generator[any]{
		rapid.Just[any](nil), rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.Map(rapid.Float64Range(-10, 10), func(f float64) any { return f }),
		rapid.Map(rapid.SampledFrom([]string{"", "a", "x"}), func(s string) any { return s }),
	}
	if depth == 0 {
		return rapid.OneOf(leaves...)
	}
	return rapid.OneOf(append(leaves,
		rapid.Map(rapid.SliceOfN(anyDocument(depth-1), 0, 2), func(l []any) any { return l }),
		rapid.Map(anyObject(depth-1), func(m map[string]any) any { return m }))...)
}

func anyObject(depth int) *rapid.Generator[map[string]any] {
	return rapid.MapOfN(rapid.SampledFrom([]string{"", "a", "b", "name", "status", "pins", "time"}), anyDocument(depth), 0, 4)
}

func anyText() *rapid.Generator[string] { return rapid.SampledFrom([]string{"", "a", "b", "v1"}) }

func anyState() *rapid.Generator[State] {
	return rapid.Custom(func(t *rapid.T) State {
		var s State
		if rapid.Bool().Draw(t, "known") {
			s.Settings = anyObject(1).Draw(t, "settings")
			s.Pins = rapid.MapOfN(anyText(), anyText(), 0, 3).Draw(t, "pins")
			s.Counters = rapid.MapOfN(anyText(), rapid.Float64Range(0, 9), 0, 3).Draw(t, "counters")
			s.Evidence = rapid.MapOfN(anyText(), rapid.Custom(func(t *rapid.T) Evidence {
				e := Evidence{Name: anyText().Draw(t, "name"), Status: Verdict(rapid.IntRange(0, 4).Draw(t, "status")), Source: anyText().Draw(t, "source"), Time: 7}
				if rapid.Bool().Draw(t, "expires") {
					e.Expires = new(int64(9))
				}
				e.Pins = rapid.MapOfN(anyText(), anyText(), 0, 2).Draw(t, "pins")
				return e
			}), 0, 3).Draw(t, "evidence")
		}
		return s
	})
}

// paths lists every path of object keys in a document, the empty one excluded.
func paths(v any, prefix []string, visit func([]string, any)) {
	if len(prefix) > 0 {
		visit(prefix, v)
	}
	if m, ok := v.(map[string]any); ok {
		for k, next := range m {
			paths(next, append(slices.Clone(prefix), k), visit)
		}
	}
}

func TestLookupAndDocumentAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := Input{Now: 42, State: anyState().Draw(t, "state"), Consequence: Consequence{Costly, TaskOnly, Customer, Days, Inferred}}
		if rapid.Bool().Draw(t, "present") {
			in.Action.Document, in.Facts = anyObject(2).Draw(t, "action"), anyObject(2).Draw(t, "facts")
		}
		doc := in.Document()
		reachable := 0
		paths(doc, nil, func(path []string, want any) {
			reachable++
			if got, ok := in.Lookup(path); !ok || !reflect.DeepEqual(got, want) {
				t.Fatalf("Lookup(%q) = %v, %v: Document() holds %v", path, got, ok, want)
			}
			_, isObject := want.(map[string]any)
			for _, key := range []string{"", "a", "status", "nowhere"} {
				longer := append(slices.Clone(path), key)
				var inside bool
				if isObject {
					_, inside = want.(map[string]any)[key]
				}
				if got, ok := in.Lookup(longer); ok != inside {
					t.Fatalf("Lookup(%q) = %v, %v: Document() has it: %v", longer, got, ok, inside)
				}
			}
		})
		if reachable < 14 { // five at the top, five properties, four parts of the state
			t.Fatalf("only %d paths in %v", reachable, doc)
		}
	})
}

func TestLookupFindsNothingWhereThePathLeadsNowhere(t *testing.T) {
	p := newFake()
	in := call(p, toolNote)
	in.Action.Document = map[string]any{"tool": "note", "arguments": map[string]any{"list": []any{"x"}}}
	in.State.Pins = map[string]string{"rule": "v1"}
	in.State.Evidence = map[string]Evidence{"ci": {Status: Pass}}
	in.State.Counters = map[string]float64{"sum": 2}
	for _, path := range [][]string{
		nil, {}, {""}, {"nowhere"}, {"flags"}, {"actions"},
		{"action", "confidence"}, {"action", "tool", "x"}, {"action", "arguments", "list", "0"}, {"action", "arguments", "x", "y"},
		{"consequence", "severity"}, {"consequence", "reversibility", "x"}, {"now", "x"},
		{"facts", "path", "outside"}, {"facts", "path", "inside", "x"},
		{"state", "nowhere"}, {"state", "path"}, {"state", "queue"}, {"state", "nowhere", "x"},
		{"state", "settings", "x"}, {"state", "settings", "capacity", "x"},
		{"state", "pins", "x"}, {"state", "pins", "rule", "x"},
		{"state", "evidence", "x"}, {"state", "evidence", "x", "status"}, {"state", "evidence", "ci", "by"}, {"state", "evidence", "ci", "status", "x"},
		{"state", "counters", "x"}, {"state", "counters", "sum", "x"},
	} {
		if got, ok := in.Lookup(path); ok {
			t.Errorf("Lookup(%q) = %v, want nothing", path, got)
		}
	}
	for _, c := range []struct {
		path []string
		want any
	}{
		{[]string{"now"}, 1000.0}, {[]string{"state", "pins", "rule"}, "v1"}, {[]string{"state", "counters", "sum"}, 2.0},
		{[]string{"state", "evidence", "ci", "status"}, "pass"}, {[]string{"facts", "path", "inside"}, true}, {[]string{"action", "tool"}, "note"},
	} {
		if got, ok := in.Lookup(c.path); !ok || got != c.want {
			t.Errorf("Lookup(%q) = %v, %v: want %v", c.path, got, ok, c.want)
		}
	}
}

func TestLookupGivesNilWhereThePathLeadsNowhere(t *testing.T) {
	t.Skip(`reported: beside false, Lookup gives "" for consequence and pins, 0.0 for counters and the clock for now/x, not nil`)
	in := Input{Now: 5}
	for _, path := range [][]string{{"consequence", "x"}, {"now", "x"}, {"state", "pins", "x"}, {"state", "counters", "x"}} {
		if got, ok := in.Lookup(path); ok || got != nil {
			t.Errorf("Lookup(%q) = %v, %v: want nil, false", path, got, ok)
		}
	}
}

func TestTheDocumentOfARecordLeavesOutWhatIsNotThere(t *testing.T) {
	bare := Evidence{Name: "ci", Status: Fail, Time: 3}.Document()
	if want := map[string]any{"name": "ci", "status": "fail", "time": 3.0}; !reflect.DeepEqual(bare, want) {
		t.Errorf("Document() = %v, want %v", bare, want)
	}
	full := Evidence{Name: "ci", Status: Pass, Source: "lab", Time: 3, Expires: new(int64(9)), Pins: map[string]string{"rule": "v1"}, By: "x", Seq: 4}.Document()
	want := map[string]any{"name": "ci", "status": "pass", "source": "lab", "time": 3.0, "expires": 9.0, "pins": map[string]any{"rule": "v1"}}
	if !reflect.DeepEqual(full, want) {
		t.Errorf("Document() = %v, want %v", full, want)
	}
}

func TestTheFirstStateIsWhatTheContractStartsWith(t *testing.T) {
	c := &Contract{Start: Start{Settings: map[string]any{"capacity": 4.0}, Pins: map[string]string{"rule": "v1"}, Evidence: map[string]Verdict{"ci": Pass, "lab": Unknown}}}
	want := State{Settings: c.Start.Settings, Pins: c.Start.Pins, Evidence: map[string]Evidence{"ci": {Name: "ci", Status: Pass}, "lab": {Name: "lab"}}}
	if got := c.FirstState(); !reflect.DeepEqual(got, want) {
		t.Errorf("FirstState() = %+v, want %+v", got, want)
	}
	if got := (&Contract{}).FirstState(); len(got.Settings)+len(got.Pins)+len(got.Evidence) != 0 {
		t.Errorf("FirstState() of the zero contract = %+v, want nothing", got)
	}
}
