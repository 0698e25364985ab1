package cases

import (
	"encoding/json"
	"testing"
)

// What a case may say in more than one way comes to the same.
func TestSpellings(t *testing.T) {
	l := newLoader(shipped)
	pay := `{"to":"a","amount":1}`
	for name, c := range map[string]struct {
		tool, arguments, context string
		want                     Answer
	}{
		"an approval by other names":           {"pay", pay, `{"approval":{"tool":"pay","args":` + pay + `,"approved_by":"lead","expires_at":"2031-01-01T00:00:00Z","max_uses":1},"requester":"agent"}`, Allow},
		"a self-approval by another name":      {"pay", pay, `{"approval":{"tool":"pay","arguments":` + pay + `,"approved_by":"agent"},"requester":"agent"}`, Block},
		"an approval that says no with a flag": {"pay", pay, `{"approval":{"tool":"pay","arguments":` + pay + `,"approved":false}}`, Block},
		"a flag does not take back a no":       {"pay", pay, `{"approval":{"tool":"pay","arguments":` + pay + `,"approved":false,"status":"approved"}}`, Block},
		"an approval that is used":             {"pay", pay, `{"approval":{"tool":"pay","arguments":` + pay + `,"used":true}}`, Block},
		"an approval under another call id":    {"pay", pay, `{"approval":{"tool":"pay","arguments":` + pay + `,"call_id":"c1"},"call_id":"c2"}`, Allow},
		"no approval":                          {"pay", pay, `{"approval":null}`, Review},
		"an approval of nothing":               {"reboot", `{}`, `{"approval":{}}`, Block},
		"one rejection":                        {"read_file", `{"path":"a"}`, `{"rejected":{"tool":"read_file","arguments":{"path":"./a"}}}`, Block},
		"what the bundle refuses by itself":    {"write_file", `{"path":"b","content":"x"}`, `{"root":"/w","rejected":[{"tool":"write_file","arguments":{"path":"/etc/a","content":"x"}}]}`, Allow},
		"a rule by its sign":                   {"ship", `{"env":"dev"}`, `{"rule":{"effect":"deny","field":"env","op":"!=","value":"dev"}}`, Allow},
		"a rule on a name with a hyphen":       {"ship", `{"a-b":1}`, `{"rule":{"effect":"deny","field":"a-b","op":"eq","value":2}}`, Allow},
		"a rule on a hyphen that is not there": {"ship", `{}`, `{"rule":{"effect":"deny","field":"a-b","op":"eq","value":2}}`, Error},
		"a rule on the tool":                   {"ship", `{}`, `{"rule":{"effect":"deny","field":"tool","op":"eq","value":"ship"}}`, Block},
		"a rule that asks":                     {"ship", `{"n":2}`, `{"rule":{"effect":"review","field":"n","op":"gt","value":1}}`, Review},
		"the second of two rules":              {"ship", `{"a":1}`, `{"rules":[{"effect":"deny","field":"a","op":"ne","value":1},{"effect":"deny","field":"b","op":"eq","value":1}]}`, Error},
		"one of two rules that allow":          {"ship", `{"a":2}`, `{"rules":[{"effect":"allow","field":"a","op":"eq","value":1},{"effect":"allow","field":"a","op":"eq","value":2}]}`, Allow},
		"an index":                             {"ship", `{"a":1}`, `{"cel":"request.arguments[\"a\"] == 1"}`, Allow},
		"an index of nothing":                  {"ship", `{}`, `{"cel":"request.arguments[\"a\"] == 1"}`, Error},
		"the tool":                             {"ship", `{}`, `{"cel":"request.tool == \"ship\""}`, Allow},
		"a path that ends before its end":      {"ship", `{"a":{"b":1}}`, `{"rego":"package p\ndeny contains 1 if input.arguments.a.c == 2"}`, Review},
		"a library":                            {"ship", `{"a":9}`, `{"rego_files":["package p\nimport data.lib\ndeny contains 1 if lib.big(input.arguments.a)","package lib\nbig(x) if x > 6"],"query":"data.p.deny"}`, Block},
		"a library, and nothing against it":    {"ship", `{"a":1}`, `{"rego_files":["package p\nimport data.lib\ndeny contains 1 if lib.big(input.arguments.a)","package lib\nbig(x) if x > 6"],"query":"data.p.deny"}`, Allow},
		"a denied number of a text":            {"ship", `{"version":"1.10"}`, `{"policy_yaml":"deny_versions: [1.10]\n"}`, Error},
		"a misspelt default":                   {"ship", `{}`, `{"policy_yaml":"defualt: allow\n"}`, Error},
		"a pinned policy that asks":            {"ship", `{}`, `{"pinned_policy":"a","loaded_policy":"b","a":"review","b":"allow"}`, Review},
		"checkers by name":                     {"ship", `{}`, `{"evaluators":{"a":{"decision":"allow"},"b":{"error":"x"}}}`, Error},
		"what is required, with a flag":        {"ship", `{}`, `{"require":"sandbox","sandbox":true}`, Allow},
		"what is required, as its status":      {"ship", `{}`, `{"require":["sandbox"],"sandbox":{"status":"unavailable"}}`, Error},
		"each night":                           {"ship", `{}`, `{"freeze":{"tz":"Europe/Oslo","from":"22:00","to":"06:00"},"now":"2026-07-14T21:30:00Z"}`, Block},
		"each night, by day":                   {"ship", `{}`, `{"freeze":{"timezone":"Europe/Oslo","from":"22:00","to":"06:00"},"now":"2026-07-14T10:00:00Z"}`, Allow},
		"over midnight from Sunday":            {"ship", `{}`, `{"freeze":{"tz":"UTC","days":["Sunday"],"from":"22:00","to":"06:00"},"now":"2026-07-13T05:59:59Z"}`, Block},
		"between two instants":                 {"ship", `{}`, `{"freeze":{"from":"2026-12-24T00:00:00Z","to":"2027-01-02T00:00:00Z"},"now":"2026-12-25T00:00:00Z"}`, Block},
		"after two instants":                   {"ship", `{}`, `{"freeze":{"from":"2026-12-24T00:00:00Z","to":"2027-01-02T00:00:00Z"},"now":"2027-01-02T00:00:00Z"}`, Allow},
		"outside of a window":                  {"ship", `{}`, `{"window":{"tz":"UTC","from":"Mon 09:00","to":"Mon 17:00"},"now":"2026-07-14T10:00:00Z"}`, Block},
		"in a window":                          {"ship", `{}`, `{"window":{"tz":"UTC","from":"Mon 09:00","to":"Mon 17:00"},"now":"2026-07-13T10:00:00Z"}`, Allow},
	} {
		if r := decideOne(t, l, c.tool, c.arguments, c.context); r.Got != c.want {
			t.Errorf("%s: got %s %s (%s), want %s", name, r.Got, r.Result, r.Why, c.want)
		}
	}
}

// Raw input is decided under the context that it comes with, in whatever white space
// it stands.
func TestRawInput(t *testing.T) {
	l := newLoader(shipped)
	only := map[string]json.RawMessage{"allow_tools": json.RawMessage(`["read_file"]`)}
	for raw, want := range map[string]Answer{
		`{"tool":"read_file","arguments":{"path":"a"}}`:                 Allow,
		" \n{\"tool\":\"read_file\",\"arguments\":{\"path\":\"a\"}}\n":  Allow,
		`{"call_id":"c","tool":"read_file","arguments":{"path":"a"}}`:   Allow,
		`{"tool":"delete_file","arguments":{"path":"a"}}`:               Block,
		`{"tool":"read_file","arguments":{"path":"a"},"arguments":{}}`:  Error,
		`{"tool":"read_file","arguments":{"path":"a"},"trace_id":null}`: Error,
	} {
		c := Case{ID: "c", Kind: "k", Expected: Error, Request: request{Raw: &raw, Context: only}}
		if r := runCases(t, l, []Case{c}).Cases[0]; r.Got != want {
			t.Errorf("%s: got %s %s (%s), want %s", raw, r.Got, r.Result, r.Why, want)
		}
	}
}
