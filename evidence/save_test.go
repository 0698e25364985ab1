package evidence

import (
	"bytes"
	"encoding"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/conjunct-project/conjunct/engine"
)

// fill sets everything in a value to something drawn, whatever it is made of: a
// field that somebody adds is drawn too.
func fill(t *rapid.T, v reflect.Value, name string, depth int) {
	if u, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok && v.Kind() == reflect.Uint8 {
		v.SetUint(uint64(rapid.IntRange(0, 40).Draw(t, name)))
		for {
			text, err := v.Addr().Interface().(encoding.TextMarshaler).MarshalText()
			if err == nil && u.UnmarshalText(text) == nil {
				return
			}
			v.SetUint(v.Uint() / 2)
		}
	}
	short := func() int { return rapid.IntRange(-1, 2).Draw(t, name+" length") }
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, name))
	case reflect.Int, reflect.Int64:
		v.SetInt(rapid.Int64Range(-1<<62, 1<<62).Draw(t, name))
	case reflect.Uint64:
		v.SetUint(rapid.Uint64().Draw(t, name))
	case reflect.Uint8:
		v.SetUint(uint64(rapid.Byte().Draw(t, name)))
	case reflect.Float64:
		v.SetFloat(rapid.Float64Range(-1e300, 1e300).Draw(t, name))
	case reflect.String:
		v.SetString(rapid.OneOf(rapid.SampledFrom([]string{"", "a", "b", "\"", "<&>", "\x00", "\u2028", "sha256:00"}), rapid.String()).Draw(t, name))
	case reflect.Interface:
		if v.NumMethod() > 0 {
			t.Fatalf("%s: nothing is known that implements %s", name, v.Type())
		}
		if value := anything(t, name, depth); value != nil {
			v.Set(reflect.ValueOf(value))
		}
	case reflect.Pointer:
		if depth < 6 && rapid.Bool().Draw(t, name+" given") {
			v.Set(reflect.New(v.Type().Elem()))
			fill(t, v.Elem(), name, depth+1)
		}
	case reflect.Slice:
		if n := short(); n >= 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				fill(t, v.Index(i), fmt.Sprint(name, i), depth+1)
			}
		}
	case reflect.Map:
		if n := short(); n >= 0 {
			v.Set(reflect.MakeMap(v.Type()))
			for i := range n {
				key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
				fill(t, key, fmt.Sprint(name, " key ", i), depth+1)
				fill(t, value, fmt.Sprint(name, i), depth+1)
				v.SetMapIndex(key, value)
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if !v.Type().Field(i).IsExported() {
				t.Fatalf("%s.%s cannot be stored: it is not exported", v.Type(), v.Type().Field(i).Name)
			}
			fill(t, v.Field(i), name+"."+v.Type().Field(i).Name, depth+1)
		}
	default:
		t.Fatalf("%s: a %s is not stored", name, v.Type())
	}
}

// anything draws a JSON value.
func anything(t *rapid.T, name string, depth int) any {
	switch n := rapid.IntRange(0, 6).Draw(t, name+" type"); {
	case n == 1:
		return rapid.Bool().Draw(t, name)
	case n == 2:
		return rapid.Float64Range(-1e300, 1e300).Draw(t, name)
	case n == 3:
		return rapid.String().Draw(t, name)
	case n == 4 && depth < 6:
		return []any{anything(t, name, depth+1), 1.5}
	case n == 5 && depth < 6:
		return map[string]any{"a": anything(t, name, depth+1)}
	}
	return nil
}

// whole is a value taken apart to the last field, for comparing: an empty list or
// map is as good as none, and pointers are what they point to.
func whole(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return nil
		}
		return []any{whole(v.Elem())}
	case reflect.Slice:
		var out []any
		for i := range v.Len() {
			out = append(out, whole(v.Index(i)))
		}
		return out
	case reflect.Map:
		var out map[any]any
		for it := v.MapRange(); it.Next(); {
			if out == nil {
				out = map[any]any{}
			}
			out[it.Key().Interface()] = whole(it.Value())
		}
		return out
	case reflect.Struct:
		out := []any{v.Type()}
		for i := range v.NumField() {
			out = append(out, whole(v.Field(i)))
		}
		return out
	}
	return v.Interface()
}

// TestEveryKindOfRecordIsStored writes whatever an event can write, every field
// of engine.Writes, stores the state and reads it back.
func TestEveryKindOfRecordIsStored(t *testing.T) {
	kinds := map[string]bool{}
	rapid.Check(t, func(rt *rapid.T) {
		s := New()
		for seq := range uint64(rapid.IntRange(1, 3).Draw(rt, "events")) {
			var w engine.Writes
			fill(rt, reflect.ValueOf(&w).Elem(), "writes", 0)
			w.Stamp(seq + 1)
			apply(t, s, w)
		}
		var text bytes.Buffer
		if err := s.Snapshot().Save(&text); err != nil {
			rt.Fatal(err)
		}
		back, err := Load(text.Bytes())
		if err != nil {
			rt.Fatal(err)
		}
		got, want := everything(t, back), everything(t, s)
		if !reflect.DeepEqual(whole(reflect.ValueOf(got)), whole(reflect.ValueOf(want))) {
			rt.Fatalf("read back:\n%#v\nstored:\n%#v", got, want)
		}
		var again bytes.Buffer
		if err := back.Snapshot().Save(&again); err != nil || !bytes.Equal(again.Bytes(), text.Bytes()) {
			rt.Fatalf("%v: stored again:\n%s\nfirst:\n%s", err, again.Bytes(), text.Bytes())
		}
		if back.Snapshot().Clock() != s.Snapshot().Clock() {
			rt.Fatalf("clock %d, want %d", back.Snapshot().Clock(), s.Snapshot().Clock())
		}
		for key := range want {
			kinds[kindOf(key)] = true
		}
	})
	if testing.Short() {
		return // too few states for every kind to come up
	}
	for kind := range codecs() {
		if !kinds[kind] {
			t.Errorf("no event wrote a record of kind %q", kind)
		}
	}
}

// TestAnOpenBatchIsStoredWithItsWrites holds what is stored of a view inside a
// batch to what is stored once it is committed.
func TestAnOpenBatchIsStoredWithItsWrites(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := New()
		batch := s.Begin()
		defer func() { batch.Abort() }()
		for seq := range uint64(rapid.IntRange(1, 20).Draw(rt, "events")) {
			if rapid.IntRange(0, 3).Draw(rt, "commit") == 0 {
				commit(t, batch)
				batch = s.Begin()
			}
			if err := batch.Apply(someWrites(rt, seq+1)); err != nil {
				t.Fatal(err)
			}
		}
		var open, closed bytes.Buffer
		if err := batch.View().Save(&open); err != nil {
			t.Fatal(err)
		}
		commit(t, batch)
		if err := s.Snapshot().Save(&closed); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(open.Bytes(), closed.Bytes()) {
			rt.Fatalf("open:\n%s\ncommitted:\n%s", open.Bytes(), closed.Bytes())
		}
	})
}

func TestWhatIsNoStoredStateIsNotRead(t *testing.T) {
	clock, trace := `["clock\u0000",3]`, `["trace\u0000t\u0000",{"Pins":null,"ChangedAt":1,"Agents":null}]`
	if _, err := Load([]byte(clock + "\n" + trace + "\n")); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"no newline at the end":   clock + "\n" + trace,
		"keys out of order":       trace + "\n" + clock + "\n",
		"a key twice":             clock + "\n" + clock + "\n",
		"an unknown kind":         `["clocks\u0000",3]` + "\n",
		"a value of another type": `["clock\u0000","3"]` + "\n",
		"no array":                `{"clock\u0000":3}` + "\n",
		"three elements":          `["clock\u0000",3,4]` + "\n",
		"an empty line":           clock + "\n\n",
		"no JSON":                 "clock\n",
	} {
		if s, err := Load([]byte(text)); err == nil || s != nil {
			t.Errorf("%s: read without an error", name)
		}
	}
}

func TestARecordThatCannotBeReadBackIsNotStored(t *testing.T) {
	for key, value := range map[string]any{"nosuch\x00": 1, traceKey("t"): engine.Path{}, "call\x00\xff\x00c\x00": "h"} {
		s := New()
		b := s.Begin()
		b.put(key, value)
		commit(t, b)
		if err := s.Snapshot().Save(&bytes.Buffer{}); err == nil {
			t.Errorf("%q with a %T was stored", key, value)
		}
	}
}

func TestTheFormFollowsTheFields(t *testing.T) {
	type inner struct{ A int }
	type one struct {
		In   inner
		List []inner
		Self *one
	}
	form := func(v any) string {
		var b strings.Builder
		describe(&b, reflect.TypeOf(v), nil)
		return b.String()
	}
	type same = one
	if first, again := Form(), Form(); form(one{}) != form(same{}) || first != again {
		t.Error("one type has two forms")
	}
	for _, part := range []string{"A", "int", "List", "Self"} {
		if !strings.Contains(form(one{}), part) {
			t.Errorf("the form does not speak of %s: %s", part, form(one{}))
		}
	}
}
