package action

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestCanonicalValueRefuses(t *testing.T) {
	loop := map[string]any{}
	loop["a"] = []any{loop}
	list := make([]any, 1)
	list[0] = list
	for name, c := range map[string]struct {
		value        any
		pointer, msg string
	}{
		"int":               {map[string]any{"a": []any{1.0, 2}}, "/a/1", "type int"},
		"string map":        {map[string]string{}, "", "type map[string]string"},
		"NaN":               {[]any{math.NaN()}, "/0", "NaN is not"},
		"infinity":          {map[string]any{"a/b": math.Inf(-1)}, "/a~1b", "-Inf is not"},
		"invalid UTF-8":     {[]any{"a\xff"}, "/0", `"a\xff"`},
		"invalid UTF-8 key": {map[string]any{"a\xff": 1.0}, "", `"a\xff"`},
		"itself, a list":    {list, strings.Repeat("/0", maxTree), "deeper than 1000"},
		"itself":            {loop, "/a/0" + strings.Repeat("/a/0", maxTree/2-1), "deeper than 1000"},
	} {
		out, err := CanonicalValue(c.value)
		var e *Error
		if !errors.As(err, &e) || out != nil || e.Pointer != c.pointer || !strings.Contains(e.Msg, c.msg) || e.Hint == "" {
			t.Errorf("%s: got %s, %v, want %s: %s", name, out, err, c.pointer, c.msg)
		}
	}
}

func TestCanonicalValueTakesNilsAndDepth(t *testing.T) {
	deep := any(1.0)
	for range MaxDepth * 2 { // an action within the journal's objects
		deep = map[string]any{"a": deep}
	}
	for _, c := range []struct {
		value any
		want  string
	}{
		{map[string]any(nil), "{}"}, {[]any(nil), "[]"}, {nil, "null"}, {math.Copysign(0, -1), "0"},
		{deep, strings.Repeat(`{"a":`, MaxDepth*2) + "1" + strings.Repeat("}", MaxDepth*2)},
	} {
		got, err := CanonicalValue(c.value)
		if err != nil || string(got) != c.want {
			t.Errorf("got %s, %v, want %s", got, err, c.want)
		}
	}
}

// genText leans towards what is spelt or sorted in more than one way.
func genText() *rapid.Generator[string] {
	return rapid.Map(rapid.SliceOfN(rapid.OneOf(
		rapid.SampledFrom([]rune{'"', '\\', '/', '\b', '\f', '\n', '\r', '\t', 0, 0x1f, ' ', 'a', 'A', '0', '~', 0x7f, 0x80, 0xe9, 0x2028, 0xd7ff, 0xe000, 0xfb33, 0xfffd, 0xffff, 0x10000, 0x1f600, 0x10ffff}),
		rapid.Rune(),
	), 0, 6), func(r []rune) string { return string(r) })
}

func genValue(depth int) *rapid.Generator[any] {
	leaves := []*rapid.Generator[any]{
		rapid.Just[any](nil),
		rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.Map(genText(), func(s string) any { return s }),
		rapid.Map(rapid.IntRange(-1000, 1000), func(i int) any { return float64(i) }),
		rapid.Map(rapid.Float64().Filter(func(f float64) bool { return !math.IsInf(f, 0) && !math.IsNaN(f) }), func(f float64) any { return f + 0 }),
	}
	if depth > 0 {
		leaves = append(leaves,
			rapid.Map(rapid.SliceOfN(genValue(depth-1), 0, 4), func(a []any) any { return a }),
			rapid.Map(genObject(depth-1), func(m map[string]any) any { return m }))
	}
	return rapid.OneOf(leaves...)
}

func genObject(depth int) *rapid.Generator[map[string]any] {
	return rapid.MapOfN(genText(), genValue(depth), 0, 5)
}

func TestCanonicalIsThatOfTheLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := genValue(3).Draw(t, "value")
		doc := respell(t, v)
		want, err := libraryCanonical(doc)
		if err != nil {
			t.Fatalf("library: %s: %v", doc, err)
		}
		value, canonical, err := Parse([]byte(doc))
		if err != nil || string(canonical) != want {
			t.Fatalf("%s: got %s, %v, want %s", doc, canonical, err, want)
		}
		// The value is the one that the canonical bytes stand for.
		again, bytes, err := Parse(canonical)
		if err != nil || string(bytes) != want || !reflect.DeepEqual(again, value) {
			t.Fatalf("%s: second reading: got %s %#v, %v, want %#v", doc, bytes, again, err, value)
		}
	})
}

func TestOrderOfKeysIsThatOfTheLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.MapOfN(genText(), rapid.Just[any](nil), 2, 12).Draw(t, "object")
		got, err := CanonicalValue(m)
		if err != nil {
			t.Fatal(err)
		}
		if want, err := libraryCanonical(string(got)); err != nil || string(got) != want {
			t.Fatalf("got %s, want %s (%v)", got, want, err)
		}
	})
}
