package signals

import (
	"fmt"
	"testing"
)

func TestOrigins(t *testing.T) {
	args := map[string]any{"to": "NO93", "amount": 5.0, "items": []any{map[string]any{"id": "a"}, map[string]any{"id": "b"}}, "note": map[string]any{}, "a/b": nil}
	for _, c := range []struct {
		name     string
		origins  map[string]string
		readOnly []string
		want     string
	}{
		{"nothing attested", nil, nil, "unknown [origin: not_attested]"},
		{"all the user's", map[string]string{"": "user"}, nil, "[]"},
		{"each the user's", map[string]string{"/to": "user", "/amount": "user", "/items": "user", "/note": "user", "/a~1b": "user"}, nil, "[]"},
		{"one from a tool", map[string]string{"": "user", "/to": "tool_result"}, nil, "[/to tool_result]"},
		{"a part from a tool", map[string]string{"": "user", "/items/1/id": "tool_result"}, nil, "[/items/1/id tool_result]"},
		{"a part the user's", map[string]string{"": "tool_result", "/items/0": "user", "/items/1": "user", "/amount": "user", "/note": "user", "/a~1b": "user"}, nil, "[/to tool_result]"},
		{"the rest from nowhere", map[string]string{"/to": "user"}, nil, "[/a~1b none /amount none /items/0/id none /items/1/id none /note none]"},
		{"another word", map[string]string{"": "user", "/to": "User"}, nil, "[/to User]"},
		{"read-only", map[string]string{"/to": "user"}, []string{"amount", "items", "note", "a/b"}, "[]"},
		{"of something else", map[string]string{"/other": "user"}, []string{"amount", "items", "note", "a/b"}, "[/to none]"},
	} {
		call := call(args)
		call.Action.Origins = c.origins
		call.Tool.ReadOnly = c.readOnly
		got, unknown := facts(t, Origin, Scope{}, call, World{})
		result := "unknown " + fmt.Sprint(unknown)
		if list, ok := got["arguments"].([]any); ok {
			var rows []string
			for _, r := range list {
				m := r.(map[string]any)
				rows = append(rows, fmt.Sprint(m["argument"], " ", m["origin"]))
			}
			result = fmt.Sprint(rows)
		}
		if result != c.want {
			t.Errorf("%s: got %s, want %s", c.name, result, c.want)
		}
		canonicalises(t, got)
	}
}
