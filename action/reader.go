package action

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// reader takes fields out of a parsed document. The first error sticks; what is
// read after it means nothing.
type reader struct {
	doc []byte
	err error
}

// place is where a value stands: a key or index in the place above. nil is the
// document.
type place struct {
	up   *place
	name string
}

func (p *place) path() []string {
	if p == nil {
		return nil
	}
	return append(p.up.path(), p.name)
}

// fail reports the value of a field.
func (r *reader) fail(at *place, name, msg, hint string) {
	if r.err == nil {
		path := append(at.path(), name)
		_, offset := locate(r.doc, path)
		r.err = errorAt(r.doc, offset, pointerTo(path), msg, hint)
	}
}

// failKey reports the key of a field.
func (r *reader) failKey(at *place, name, msg, hint string) {
	if r.err == nil {
		path := append(at.path(), name)
		offset, _ := locate(r.doc, path)
		r.err = errorAt(r.doc, offset, pointerTo(path), msg, hint)
	}
}

// failSelf reports the value that stands at a place.
func (r *reader) failSelf(at *place, msg, hint string) {
	if r.err == nil {
		path := at.path()
		_, offset := locate(r.doc, path)
		r.err = errorAt(r.doc, offset, pointerTo(path), msg, hint)
	}
}

func pointerTo(path []string) (p jsontext.Pointer) {
	for _, name := range path {
		p = p.AppendToken(name)
	}
	return p
}

// object takes v as an object. With known names, there may be no others.
func (r *reader) object(at *place, v any, known []string) map[string]any {
	m, ok := v.(map[string]any)
	if !ok {
		r.failSelf(at, "must be an object, is "+kind(v), absentHint(at, v))
		return nil
	}
	if known == nil {
		return m
	}
	unknown := ""
	found := false
	for name := range m {
		if !slices.Contains(known, name) && (!found || name < unknown) {
			unknown, found = name, true // the first in order: maps have none
		}
	}
	if found {
		r.failKey(at, unknown, "unknown field "+quote(unknown), unknownHint(at, unknown, known))
	}
	return m
}

func (r *reader) require(at *place, m map[string]any, name string) {
	if _, ok := m[name]; !ok {
		r.fail(at, name, "required field "+strconv.Quote(name)+" is missing", "an action has "+strings.Join(required, ", "))
	}
}

// member is a field of the action itself, for fields that are objects.
func (r *reader) member(m map[string]any, name string) (any, bool) {
	v, ok := m[name]
	return v, ok && r.err == nil
}

// text takes an optional string; absent is "".
func (r *reader) text(at *place, m map[string]any, name string) string {
	v, ok := m[name]
	if !ok {
		return ""
	}
	s, ok := v.(string)
	if !ok {
		r.fail(at, name, "must be a string, is "+kind(v), stringHint(v))
	}
	return s
}

// texts takes an optional array of strings; absent and empty are nil.
func (r *reader) texts(at *place, m map[string]any, name string) []string {
	items := r.array(at, m, name)
	if len(items) == 0 {
		return nil
	}
	list := &place{up: at, name: name}
	out := make([]string, len(items))
	for i, v := range items {
		s, ok := v.(string)
		if !ok {
			r.fail(list, strconv.Itoa(i), "must be a string, is "+kind(v), stringHint(v))
			return nil
		}
		out[i] = s
	}
	return out
}

func (r *reader) array(at *place, m map[string]any, name string) []any {
	v, ok := m[name]
	if !ok {
		return nil
	}
	a, ok := v.([]any)
	if !ok {
		r.fail(at, name, "must be an array, is "+kind(v), absentHint(at, v))
	}
	return a
}

// free takes an optional object with any content; absent is nil.
func (r *reader) free(at *place, m map[string]any, name string) map[string]any {
	v, ok := m[name]
	if !ok {
		return nil
	}
	o, ok := v.(map[string]any)
	if !ok {
		r.fail(at, name, "must be an object, is "+kind(v), `a call without arguments has "arguments": {}`)
	}
	return o
}

// id takes an identifier: printable ASCII, so that two that look the same are
// the same. Absent is ""; "" itself only where empty says that it may be.
func (r *reader) id(at *place, m map[string]any, name string, empty bool) string {
	if _, ok := m[name]; !ok {
		return ""
	}
	s := r.text(at, m, name)
	bad := 0
	for bad < len(s) && s[bad] >= 0x20 && s[bad] <= 0x7e {
		bad++
	}
	switch {
	case s == "" && !empty:
		r.fail(at, name, "is empty", "give it a name")
	case len(s) > MaxID:
		r.fail(at, name, fmt.Sprintf("has %d bytes, more than %d", len(s), MaxID), "shorten the identifier, or use a digest of it")
	case bad < len(s):
		c, _ := utf8.DecodeRuneInString(s[bad:])
		r.fail(at, name, fmt.Sprintf("has %U at byte %d, identifiers are printable ASCII", c, bad+1), "use letters, digits and punctuation")
	}
	return s
}

// number takes an optional number; absent is nil. Its range is not looked at.
func (r *reader) number(at *place, m map[string]any, name string) *float64 {
	v, ok := m[name]
	if !ok {
		return nil
	}
	f, ok := v.(float64)
	if !ok {
		r.fail(at, name, "must be a number, is "+kind(v), numberHint(v))
	}
	return &f
}

// count takes an optional number that is not negative.
func (r *reader) count(at *place, m map[string]any, name string) *float64 {
	f := r.number(at, m, name)
	if f != nil && *f < 0 {
		r.fail(at, name, "must not be negative", "it counts effects; leave the field out if the number is unknown")
	}
	return f
}

func kind(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case float64:
		return "a number"
	case string:
		return "a string"
	case []any:
		return "an array"
	}
	return "an object"
}
