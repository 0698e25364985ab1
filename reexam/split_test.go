package reexam

import (
	"bytes"
	"encoding/json"
	"maps"
	"testing"

	"pgregory.net/rapid"

	"github.com/conjunct-project/conjunct/action"
)

// tree draws a JSON value.
func tree(t *rapid.T, depth int) any {
	switch n := rapid.IntRange(0, 7).Draw(t, "type"); {
	case n == 1:
		return rapid.Bool().Draw(t, "bool")
	case n == 2:
		return rapid.Float64Range(-1e9, 1e9).Draw(t, "number")
	case n <= 4:
		return rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "\"", "\\", "},{", "]", ":", "\\\""})).Draw(t, "text")
	case n == 5 && depth < 4:
		out := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "length") {
			out = append(out, tree(t, depth+1))
		}
		return out
	case n >= 6 && depth < 4:
		out := map[string]any{}
		for range rapid.IntRange(0, 3).Draw(t, "size") {
			out[rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"a", "b\"", ",", "}"})).Draw(t, "key")] = tree(t, depth+1)
		}
		return out
	}
	return nil
}

// TestMembersAreThoseOfTheLibrary holds the members of objects to what
// encoding/json makes of them.
func TestMembersAreThoseOfTheLibrary(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		object := map[string]any{}
		for range rapid.IntRange(0, 5).Draw(rt, "members") {
			object[rapid.StringMatching(`[a-z_]{1,4}`).Draw(rt, "name")] = tree(rt, 0)
		}
		text, err := action.CanonicalValue(object)
		if err != nil {
			rt.Skip(err)
		}
		want := map[string]json.RawMessage{}
		if err := json.Unmarshal(text, &want); err != nil {
			rt.Fatal(err)
		}
		got := map[string]json.RawMessage{}
		if !members(text, func(key string, value []byte) { got[key] = value }) {
			rt.Fatalf("%s is no object", text)
		}
		if !maps.EqualFunc(got, want, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
			rt.Fatalf("%s has the members %s, want %s", text, got, want)
		}
	})
}

// FuzzMembers reads anything: no panic, and an object of the library's is one
// here too.
func FuzzMembers(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a":1}`, `{"a":{"b":[1,"}"]},"c":"\""}`, `{"a":`, `{"a":1,}`, `{"a"}`, `[1]`, `{"\`, `{"a":"`, `{"a":[}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		ok := members(text, func(string, []byte) {})
		var compact bytes.Buffer
		var object map[string]json.RawMessage
		if json.Compact(&compact, text) == nil && bytes.Equal(compact.Bytes(), text) && json.Unmarshal(text, &object) == nil && object != nil && !ok {
			t.Fatalf("%q is an object", text)
		}
	})
}
