package action

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

func TestParseTakesAnyValue(t *testing.T) {
	for doc, want := range map[string]struct {
		value     any
		canonical string
	}{
		"null": {nil, "null"}, " true ": {true, "true"}, "false": {false, "false"}, "-0": {0.0, "0"}, "1E2": {100.0, "100"},
		`"\u0061\/\u001F\u007f"`: {"a/\x1f\x7f", "\"a/\\u001f\x7f\""},
		"[ ]":                    {[]any{}, "[]"}, "{ }": {map[string]any{}, "{}"},
		`{"b":[1,{"c":null}],"a":""}`: {map[string]any{"a": "", "b": []any{1.0, map[string]any{"c": nil}}}, `{"a":"","b":[1,{"c":null}]}`},
		// RFC 8785, section 3.2.3: sorted by UTF-16 code units.
		`{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7}`: {
			map[string]any{"€": 1.0, "\r": 2.0, "\ufb33": 3.0, "1": 4.0, "😀": 5.0, "\u0080": 6.0, "ö": 7.0},
			"{\"\\r\":2,\"1\":4,\"\u0080\":6,\"ö\":7,\"€\":1,\"😀\":5,\"\ufb33\":3}"},
	} {
		value, canonical, err := Parse([]byte(doc))
		if err != nil || !reflect.DeepEqual(value, want.value) || string(canonical) != want.canonical {
			t.Errorf("%s: got %#v, %s, %v, want %#v, %s", doc, value, canonical, err, want.value, want.canonical)
		}
	}
}

func TestParseAndCanonicalRefuseAlike(t *testing.T) {
	for _, c := range syntaxRefusals() {
		if strings.Contains(c.msg, "must be an object") {
			continue // any value is one here
		}
		t.Run(c.name, func(t *testing.T) {
			value, canonical, err := Parse([]byte(c.doc))
			checkRefusal(t, c, err)
			if value != nil || canonical != nil {
				t.Errorf("got %v, %s with the error", value, canonical)
			}
			canonical, err = Canonical([]byte(c.doc))
			checkRefusal(t, c, err)
			if canonical != nil {
				t.Errorf("got %s with the error", canonical)
			}
		})
	}
}

// Traps: what is accepted once a defence is taken away. Each is refused by this
// package in TestRefused.
func TestTrapLibraryAcceptsWithoutTheDefence(t *testing.T) {
	for _, c := range []struct {
		name, doc string
		opt       jsontext.Options
	}{
		{"duplicate keys", `{"a":1,"\u0061":2}`, jsontext.AllowDuplicateNames(true)},
		{"invalid UTF-8", "\"\xff\"", jsontext.AllowInvalidUTF8(true)},
		{"lone surrogates", `"\ud800"`, jsontext.AllowInvalidUTF8(true)},
	} {
		if !jsontext.Value(c.doc).IsValid(c.opt) {
			t.Errorf("%s: the option does not matter any more", c.name)
		}
		if jsontext.Value(c.doc).IsValid() {
			t.Errorf("%s: the library's default has changed", c.name)
		}
		if _, err := Canonical([]byte(c.doc)); err == nil {
			t.Errorf("%s: accepted", c.name)
		}
	}
	if !jsontext.Value(nested(9999)).IsValid() {
		t.Error("the library now refuses 9,999 levels by itself")
	}
	dec := jsontext.NewDecoder(strings.NewReader("1 2"))
	for range 2 {
		if _, err := dec.ReadToken(); err != nil {
			t.Errorf("the decoder no longer reads on after a document: %v", err)
		}
	}
}

// Trap: what the standard library would make of the same bytes.
func TestTrapStandardLibraryIsLax(t *testing.T) {
	var a struct {
		Tool string `json:"tool"`
	}
	if err := json.Unmarshal([]byte(`{"tool":"read","TOOL":"delete"}`), &a); err != nil || a.Tool != "delete" {
		t.Logf("encoding/json has become strict: %v %+v", err, a)
	}
	if _, err := Decode([]byte(`{"trace_id":"t","call_id":"c","tool":"read","TOOL":"delete","arguments":{}}`)); err == nil {
		t.Error("accepted a second spelling of tool")
	}
}

// Errors must not cost more than their document: a long key around many values
// must not be copied for each.
func TestHostileDocumentsAreRefusedQuickly(t *testing.T) {
	long := strings.Repeat("k", 400000)
	for name, doc := range map[string]string{
		"100 MB":                     strings.Repeat(" ", 100<<20),
		"long keys around an error":  `{"` + long + `":[` + strings.Repeat("0,", 100000) + `1e999]}`,
		"unknown field after all":    minimal(`,"origins":{"/` + long + `":"` + strings.Repeat("x", 100000) + `"},"zz":[` + strings.Repeat("0,", 100000) + `0]`),
		"a hundred thousand fields":  minimal("," + manyKeys(60000)),
		"megabyte of digits":         strings.Repeat("7", MaxSize),
		"many numbers":               "[" + strings.Repeat("1e-999999999,", 10) + "1]",
		"deep with long keys":        strings.Repeat(`{"`+strings.Repeat("k", 15000)+`":`, 65),
		"deep alternation, unclosed": strings.Repeat(`[{"a":`, 100000),
	} {
		start := time.Now()
		_, err := Decode([]byte(doc))
		if err == nil || !printable(err.Error()) || len(err.Error()) > 700 {
			t.Errorf("%s: got %.300v", name, err)
		}
		if d := time.Since(start); d > 2*time.Second {
			t.Errorf("%s: took %v", name, d)
		}
	}
}

// Parsers are kept: an error in one document must not show in the next, nor one
// goroutine in another.
func TestParsersCarryNothingOver(t *testing.T) {
	want, err := Decode([]byte(example))
	if err != nil {
		t.Fatal(err)
	}
	bad := syntaxRefusals()
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 200 {
				if c := bad[(i+g)%len(bad)]; len(c.doc) < 1000 {
					if _, err := Decode([]byte(c.doc)); err == nil {
						t.Errorf("%s: accepted", c.name)
					}
				}
				doc := []byte(example)
				got, err := Decode(doc)
				clear(doc) // what was returned must not lean on the input
				if err != nil || !reflect.DeepEqual(got, want) {
					t.Errorf("got %+v, %v, want %+v", got, err, want)
				}
			}
		})
	}
	wg.Wait()
}

func TestErrorsOutliveTheirDocument(t *testing.T) {
	doc := []byte(`{"abc":{"def":NaN}}`)
	_, err := Canonical(doc)
	before := fmt.Sprint(err)
	clear(doc)
	if got := fmt.Sprint(err); got != before || !strings.Contains(got, "/abc/def") {
		t.Errorf("got %q, want %q", got, before)
	}
}
