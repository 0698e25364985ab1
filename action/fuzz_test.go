package action

import (
	"errors"
	"reflect"
	"testing"

	"github.com/conjunct-project/conjunct/engine"
)

func FuzzDecode(f *testing.F) {
	f.Add([]byte(example))
	f.Add([]byte(minimal("")))
	for _, list := range [][]refusal{syntaxRefusals(), fieldRefusals(), valueRefusals()} {
		for _, c := range list {
			if len(c.doc) < 4096 {
				f.Add([]byte(c.doc))
			}
		}
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		fuzzParse(t, doc)
		a, err := Decode(doc)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || !printable(err.Error()) || !reflect.DeepEqual(a, engine.Action{}) {
				t.Fatalf("got %+v, %q", a, err)
			}
			return
		}
		canonical, err := Canonical(doc)
		if err != nil {
			t.Fatalf("decodes and is not canonical: %v", err)
		}
		again, err := Decode(canonical)
		if err != nil || !reflect.DeepEqual(again, a) || a.InputHash != Hash(canonical) {
			t.Fatalf("second reading: got %+v, %v, want %+v", again, err, a)
		}
	})
}

// fuzzParse checks that whatever is read is written to the same bytes again,
// and to those of the library.
func fuzzParse(t *testing.T, doc []byte) {
	value, canonical, err := Parse(doc)
	if err != nil {
		var e *Error
		if !errors.As(err, &e) || value != nil || canonical != nil {
			t.Fatalf("got %v, %s with %v", value, canonical, err)
		}
		return
	}
	want, err := libraryCanonical(string(doc))
	if err != nil || string(canonical) != want {
		t.Fatalf("got %s, want %s (%v)", canonical, want, err)
	}
	again, bytes, err := Parse(canonical)
	if err != nil || string(bytes) != want || !reflect.DeepEqual(again, value) {
		t.Fatalf("second reading: got %#v, %s, %v, want %#v", again, bytes, err, value)
	}
}
