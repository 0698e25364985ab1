package action

import (
	"github.com/conjunct-project/conjunct/engine"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func printable(s string) bool {
	for _, r := range s {
		if r == utf8.RuneError || r != ' ' && !unicode.IsGraphic(r) {
			return false
		}
	}
	return true
}

func TestErrorIsOneLine(t *testing.T) {
	for _, c := range []struct {
		name string
		e    Error
		want string
	}{
		{"all", Error{3, 7, "/arguments/amount", "msg", "hint"}, "line 3, column 7, /arguments/amount: msg (hint)"},
		{"no place", Error{Msg: "msg"}, "msg"},
		{"only a line", Error{Line: 2, Msg: "msg", Hint: "hint"}, "line 2: msg (hint)"},
		{"only a pointer", Error{Pointer: "/a", Msg: "msg"}, "/a: msg"},
		{"control characters", Error{Pointer: "/a\n\x1b[31m", Msg: "m\r\x00", Hint: "h\u2028\u202e"}, `/a\n\x1b[31m: m\r\x00 (h\u2028\u202e)`},
		{"invalid UTF-8", Error{Pointer: "/\xff", Msg: "\xc3("}, `/\xff: \xc3(`},
		{"backslashes and quotes are left", Error{Pointer: `/a\"`, Msg: `"\n"`}, `/a\": "\n"`},
		{"many bytes, few characters", Error{Pointer: "/" + strings.Repeat("€", 30), Msg: "m"}, "/" + strings.Repeat("€", 30) + ": m"},
		{"long key", Error{Pointer: "/a/" + strings.Repeat("x", 1<<20) + "/b", Msg: "m"}, "/a/" + strings.Repeat("x", 32) + "..." + strings.Repeat("x", 16) + "/b: m"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.e.Error(); got != c.want {
				t.Errorf("got %.300q, want %q", got, c.want)
			}
		})
	}
}

func TestErrorShortensLongPointers(t *testing.T) {
	for _, p := range []string{strings.Repeat("/0123456789", 1000), strings.Repeat("/ü€\n", 1000), "/" + strings.Repeat("\xff", 1000), "/" + strings.Repeat("\u202e", 5000)} {
		e := Error{Pointer: p, Msg: "m"}
		if got := e.Error(); len(got) > 1200 || !printable(got) || !strings.HasPrefix(got, "/") {
			t.Errorf("pointer %.20q: got %d bytes: %.200q", p, len(got), got)
		}
	}
}

func TestNearest(t *testing.T) {
	for name, want := range map[string]string{
		"tool": "tool", "TOOL": "tool", "tolo": "tool", "tools": "tool", "call_Id": "call_id", "callid": "call_id",
		"argument": "arguments", "origin": "origins", "plans": "plan", "x": "", "": "", "something": "", strings.Repeat("tool", 1000): "",
	} {
		if got := engine.Nearest(name, actionFields); got != want {
			t.Errorf("nearest(%.20q): got %q, want %q", name, got, want)
		}
	}
}
