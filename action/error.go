package action

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Error is malformed input: where, what, and what to do about it.
type Error struct {
	Line    int    // 1-based; 0 is unknown
	Column  int    // 1-based, in characters (code points); 0 is unknown
	Pointer string // RFC 6901 pointer to the value, or to where it is missing; "" is the document
	Msg     string
	Hint    string // "" is none
}

// Longest pieces of the input that an error repeats, in characters.
const (
	maxShown     = 48
	maxShownPath = 160
)

// Error is one line, `line 3, column 7, /arguments/amount: msg (hint)`. What it
// repeats of the input is shortened and has no control characters.
func (e *Error) Error() string {
	var where []string
	if e.Line > 0 {
		where = append(where, "line "+strconv.Itoa(e.Line))
	}
	if e.Column > 0 {
		where = append(where, "column "+strconv.Itoa(e.Column))
	}
	if e.Pointer != "" {
		where = append(where, showPointer(e.Pointer))
	}
	s := plain(e.Msg)
	if len(where) > 0 {
		s = strings.Join(where, ", ") + ": " + s
	}
	if e.Hint != "" {
		s += " (" + plain(e.Hint) + ")"
	}
	return s
}

// errorAt makes the error for a byte offset of doc.
func errorAt(doc []byte, offset int, pointer jsontext.Pointer, msg, hint string) *Error {
	before := doc[:min(offset, len(doc))]
	return &Error{
		Line:    1 + bytes.Count(before, []byte("\n")),
		Column:  1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]),
		Pointer: strings.ToValidUTF8(string(pointer), "\ufffd"),
		Msg:     msg,
		Hint:    hint,
	}
}

// quote shows a piece of the input in quotes, shortened.
func quote(s string) string { return strconv.Quote(shorten(s, maxShown)) }

// showPointer shortens each key of a pointer, then the pointer.
func showPointer(p string) string {
	if len(p) > maxShown {
		keys := strings.Split(shorten(p, 4*maxShownPath), "/")
		for i, key := range keys {
			keys[i] = shorten(key, maxShown)
		}
		p = shorten(strings.Join(keys, "/"), maxShownPath)
	}
	return plain(p)
}

// shorten keeps both ends of a string of more than n characters. It looks at no
// more of the string than it keeps, which may be a megabyte long.
func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	head, tail := 0, len(s)
	for i := 0; i < n*2/3 && head < tail; i++ {
		_, size := utf8.DecodeRuneInString(s[head:tail])
		head += size
	}
	for i := 0; i < n/3 && head < tail; i++ {
		_, size := utf8.DecodeLastRuneInString(s[head:tail])
		tail -= size
	}
	if head >= tail {
		return s
	}
	return s[:head] + "..." + s[tail:]
}

// plain escapes what does not print: control characters, line separators,
// bidirectional controls, invalid UTF-8.
func plain(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case !strconv.IsPrint(r):
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		default:
			b.WriteRune(r)
		}
		s = s[size:]
	}
	return b.String()
}
