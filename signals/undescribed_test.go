package signals

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/conjunct-project/conjunct/engine"
)

// An object's members have no kind, so nobody can tell from the registry that
// one of them is no path, command or content.
func TestAnObjectThatNobodyDescribedLeavesFactsUnknown(t *testing.T) {
	edit := map[string]any{"path": "/etc/passwd", "after": "x"}
	for _, c := range []struct {
		name    string
		value   any
		kind    engine.ArgumentKind
		unknown bool
	}{
		{"a list of edits", []any{edit}, engine.NoKind, true},
		{"an edit", edit, engine.NoKind, true},
		{"deep in a list", []any{"a", []any{edit}}, engine.NoKind, true},
		{"an object where a path should be", edit, engine.PathKind, true},
		{"an object where content should be", edit, engine.ContentKind, true},
		{"an object where a command should be", edit, engine.CommandKind, true},
		{"edits where an edit's text should be", []any{edit}, engine.AfterKind, true},
		{"said to be none of these", []any{edit}, engine.PlainKind, false},
		{"a list of texts", []any{"a", "b"}, engine.NoKind, false},
		{"nothing", map[string]any{}, engine.NoKind, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, _ := New(Scope{}, []Family{Path, Shell, Tests})
			call := one("", c.kind)
			call.Action.Arguments["a"] = c.value
			facts, unknown := d.Facts(context.Background(), call, World{Files: Disk{}, Dir: "/w", Home: "/home/u"})
			known := func(family, member string) bool {
				got, _ := facts[family].(map[string]any)
				return got[member] != nil
			}
			all := known("path", "paths") && known("path", "all") && known("shell", "commands") && known("tests", "changes")
			if all == c.unknown {
				t.Errorf("known to the end: %v, unknown %v", all, unknown)
			}
			if missing := slices.ContainsFunc(unknown, func(u string) bool { return strings.Contains(u, "kind_missing at /a") }); missing != (c.unknown && c.kind == engine.NoKind) {
				t.Errorf("unknown %v", unknown)
			}
		})
	}
}
