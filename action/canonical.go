package action

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// maxTree bounds the depth of a Go value. It is wider than MaxDepth, since the
// journal wraps an action of full depth in its own objects; it exists so that a
// value that contains itself is an error.
const maxTree = 1000

// Canonical checks a document as strictly as [Decode], whatever value it holds,
// and gives its RFC 8785 bytes. The error is an [*Error].
func Canonical(doc []byte) ([]byte, error) {
	_, canonical, err := Parse(doc)
	return canonical, err
}

// CanonicalValue gives the RFC 8785 bytes of a Go value made of map[string]any,
// []any, float64, string, bool and nil. Any other type, a number that is not
// finite, a string that is not UTF-8 and a value that contains itself are
// errors: an [*Error] without a line.
func CanonicalValue(v any) ([]byte, error) {
	return canonicalValue(v, 256)
}

// AppendValue appends what [CanonicalValue] gives. On an error nothing is
// appended.
func AppendValue(b []byte, v any) ([]byte, error) {
	w := writer{out: b}
	if err := w.value(v, 0); err != nil {
		return b, err
	}
	return w.out, nil
}

func canonicalValue(v any, size int) ([]byte, error) {
	w := writer{out: make([]byte, 0, size), keys: make([]string, 0, 32)}
	if err := w.value(v, 0); err != nil {
		return nil, err
	}
	return w.out, nil
}

// writer appends canonical JSON. keys is a stack: each object sorts its own
// keys at the top of it.
type writer struct {
	out  []byte
	keys []string
}

// value returns *Error, not error: callers must compare it with nil before they
// hand it out as an error.
func (w *writer) value(v any, depth int) *Error {
	switch v := v.(type) {
	case nil:
		w.out = append(w.out, "null"...)
	case bool:
		if v {
			w.out = append(w.out, "true"...)
		} else {
			w.out = append(w.out, "false"...)
		}
	case float64:
		return w.number(v)
	case string:
		return w.text(v)
	case []any:
		return w.array(v, depth)
	case map[string]any:
		return w.object(v, depth)
	default:
		return &Error{Msg: fmt.Sprintf("a Go value of type %T is not JSON", v), Hint: "numbers are float64, objects map[string]any, arrays []any"}
	}
	return nil
}

func (w *writer) number(f float64) *Error {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return &Error{Msg: fmt.Sprintf("%v is not a JSON number", f), Hint: "only finite numbers have canonical bytes"}
	}
	if f == 0 {
		f = 0 // AppendFloat keeps the sign of -0, RFC 8785 does not
	}
	w.out = jsontext.AppendFloat(w.out, f, 64)
	return nil
}

func (w *writer) text(s string) (e *Error) {
	out, err := jsontext.AppendQuote(w.out, s)
	if err != nil {
		return &Error{Msg: "a string is not valid UTF-8: " + quote(s), Hint: "encode binary content, for instance as base64"}
	}
	w.out = out
	return nil
}

func (w *writer) array(a []any, depth int) *Error {
	if depth >= maxTree {
		return errTree()
	}
	w.out = append(w.out, '[')
	for i, v := range a {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		if err := w.value(v, depth+1); err != nil {
			return err.inside(fmt.Sprint(i))
		}
	}
	w.out = append(w.out, ']')
	return nil
}

func (w *writer) object(m map[string]any, depth int) *Error {
	if depth >= maxTree {
		return errTree()
	}
	base := len(w.keys)
	w.keys = slices.Grow(w.keys, len(m))
	for key := range m {
		w.keys = append(w.keys, key)
	}
	keys := w.keys[base:] // stays valid when the stack grows above it
	slices.SortFunc(keys, compareUTF16)
	w.out = append(w.out, '{')
	for i, key := range keys {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		if err := w.text(key); err != nil {
			return err
		}
		w.out = append(w.out, ':')
		if err := w.value(m[key], depth+1); err != nil {
			return err.inside(key)
		}
	}
	w.out = append(w.out, '}')
	w.keys = w.keys[:base]
	return nil
}

func errTree() *Error {
	return &Error{Msg: fmt.Sprintf("nested deeper than %d", maxTree), Hint: "does the value contain itself?"}
}

// inside puts a key before the pointer, on the way out of nested values.
func (e *Error) inside(key string) *Error {
	e.Pointer = string(jsontext.Pointer("").AppendToken(key)) + e.Pointer
	return e
}

// compareUTF16 orders keys as RFC 8785 wants them, by UTF-16 code units. That
// is the order of the UTF-8 bytes, save that the surrogates of a character
// beyond U+FFFF (first byte 0xf0 and up) come before U+E000..U+FFFF (0xee,
// 0xef).
func compareUTF16(x, y string) int {
	n := min(len(x), len(y))
	for i := range n {
		a, b := x[i], y[i]
		if a == b {
			continue
		}
		if a >= 0xee && b >= 0xee && (a >= 0xf0) != (b >= 0xf0) {
			return cmp.Compare(b, a)
		}
		return cmp.Compare(a, b)
	}
	return cmp.Compare(len(x), len(y))
}
