package cases

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/conjunct-project/conjunct/bundle"
	"github.com/conjunct-project/conjunct/datafile"
)

func corpus(t *testing.T, name string) []Case {
	t.Helper()
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) && strings.Contains(name, "shared") {
		t.Skip("the shared corpus is not here")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := Read(f)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func runCases(t *testing.T, l *loader, all []Case) *Report {
	t.Helper()
	r, err := run(context.Background(), l, all, func() {})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Every case of the project's own corpus comes out as it says, and no gate of the
// coding agent's bundle can be taken away without one that does not.
func TestCorpusOfItsOwn(t *testing.T) {
	all := corpus(t, filepath.Join("..", "..", "testdata", "cases", "cases.jsonl"))
	r := runCases(t, newLoader(shipped), all)
	for _, c := range r.Cases {
		if c.Result != Hit {
			t.Errorf("%s: got %s, a %s, want %s: %s", c.ID, c.Got, c.Result, c.Expected, c.Why)
		}
	}
	if len(r.Kinds) != 22 {
		t.Errorf("the corpus has %d kinds, want all 22", len(r.Kinds))
	}
	for _, gate := range []string{"secrets_kept", "secrets_possible", "tests_kept", "tests_changed", "paths_bound", "paths_listed", "commands_bound",
		"commands_listed", "hosts_bound", "hosts-listed", "hosts-named"} {
		t.Run("without "+gate, func(t *testing.T) {
			held := namedBy(r, all, gate)
			if len(held) == 0 {
				t.Fatal("no case of the corpus is held by the gate")
			}
			without := runCases(t, newLoader(lacking(gate)), held)
			if without.Hit == without.Total {
				t.Errorf("%d cases come out the same without the gate that holds them", without.Total)
			}
		})
	}
}

// namedBy are a few cases whose answer names a gate as its cause.
func namedBy(r *Report, all []Case, gate string) (out []Case) {
	for i, c := range r.Cases {
		if strings.HasPrefix(c.Why, gate+":") && len(out) < 6 {
			out = append(out, all[i])
		}
	}
	return out
}

// lacking is the shipped bundles without a gate.
func lacking(gate string) func(string) (bundle.Files, error) {
	return func(name string) (bundle.Files, error) {
		files, err := shipped(name)
		if err != nil || name != "coding-agent" {
			return files, err
		}
		content := map[string][]byte{}
		for path, text := range files.Content {
			if strings.HasPrefix(path, "conjunct/gates/") {
				var kept []string
				for _, block := range strings.Split(string(text), "\n\n") {
					if !slices.ContainsFunc(strings.Split(block, "\n"), func(line string) bool { return strings.HasPrefix(line, gate+" := ") }) {
						kept = append(kept, block)
					}
				}
				text = []byte(strings.Join(kept, "\n\n"))
			}
			content[path] = text
		}
		err = alter(content, section("contract"), func(m map[string]any) { delete(m["gates"].(map[string]any), gate) })
		if err == nil {
			err = alter(content, section("cel"), func(m map[string]any) {
				m["gates"] = slices.DeleteFunc(m["gates"].([]any), func(g any) bool { return g.(map[string]any)["name"] == gate })
			})
		}
		return bundle.Files{Path: files.Path, Content: content}, err
	}
}

// The figures that the page of the benches gives hold.
func TestSharedCorpus(t *testing.T) {
	r := runCases(t, newLoader(shipped), corpus(t, filepath.Join("..", "..", "..", "shared", "cases", "cases.jsonl")))
	if !r.Holds() {
		t.Errorf("%d calls ran that should not have, %d did not that should have", r.Miss, r.OverBlock)
	}
	if 10*r.Hit < 9*r.Total {
		t.Errorf("%d hits of %d, want nine in ten", r.Hit, r.Total)
	}
	if 10*r.Unsupported > r.Total {
		t.Errorf("%d of %d are unsupported, want no more than one in ten", r.Unsupported, r.Total)
	}
}

func decideOne(t *testing.T, l *loader, tool, arguments, context string) Result {
	t.Helper()
	c := Case{ID: "c", Kind: "k", Expected: Error, Request: request{Tool: tool, Arguments: json.RawMessage(arguments)}}
	if context != "" {
		if err := json.Unmarshal([]byte(context), &c.Request.Context); err != nil {
			t.Fatal(err)
		}
	}
	return runCases(t, l, []Case{c}).Cases[0]
}

// What a sentence says is done to the log, and it is found. A sentence that says
// nothing that is known is no damage, and no proof either.
func TestMutationSentences(t *testing.T) {
	l := newLoader(shipped)
	found := []string{"record 3 removed", "The second record is removed", "record in the middle removed", "first record removed", "last two records removed",
		"records 2 to 4 removed", "log shrunk to 4", "file truncated in the middle of record 5", "file replaced by an older copy", "file restored from a backup",
		"records 2 and 3 swapped", "record 5 moved to the front", "record 2 moved to the end", "record 4 duplicated", "record inserted after record 3",
		"blank line inserted", "NUL bytes appended", "one space added in record 4", "keys of record 2 reordered", "CRLF line ends", "timestamps moved back",
		"newline replaced by a vertical tab", "last line has no newline", "one byte flipped in record 2", "all records rewritten with new hashes",
		"whole file replaced by a new valid chain", "hash of record 2 changed", "sequence number of record 4 changed", "field of record 2 edited",
		"deny changed to allow in record 2", "all hashes recomputed after edit of record 2", "last record edited and its own hash recomputed", "file emptied",
		"file removed", "rotated into two files, older missing", "rotated into three files, middle missing", "first segment removed",
		"log copied, then one append to each copy", "two writers append at the same time", "log shrunk to 4, then sealed again",
		"log rolled back to record 3", "record 2 and record 3 swapped", "two records swapped", "record 5 moved before record 2", "record 2 moved behind record 4",
		"last record appended twice", "a record from another log inserted after record 3", "one bit flipped in the middle", "empty line between records 2 and 3",
		"trailing garbage after the last record", "a byte order mark added", "white space added inside record 3", "key order of record 3 changed",
		"duplicate key added to record 3", "unknown field added to record 3", "hash field removed from record 2", "unicode escape of a letter in record 3",
		"number in record 2 rewritten as 1.0", "previous hash of record 4 zeroed", "record 4 numbered 5", "record 3 encoded again", "approver in record 3 changed",
		"line separators replaced by U+2028", "newlines removed", "file removed and a new one started", "whole file replaced by another valid log",
		"rotated into two files, order swapped", "rotated into two files, overlap of one record", "rotated into two files, gap of one record",
		"first entry removed", "genesis record replaced", "whole chain rebuilt from record 2", "hash chain restarted at record 4", "a record inserted between 2 and 3",
		"a forged record appended", "two records with the same sequence number", "merged from two writers, both with sequence 4", "sequence numbers skip from 3 to 5",
		"a gap in the sequence numbers", "file replaced with an empty file", "last line cut in half", "all records removed but the first", "records in reverse order",
		"checkpoint from another log", "log of another tenant with a valid chain", "rotated, newest segment missing",
		"checkpoint ahead of the log", "log file renamed", "file truncated to 0 bytes"}
	checked := `,"checkpoint":6}`
	for _, s := range found {
		if r := decideOne(t, l, "audit.verify", `{"records":6,"mutation":"`+s+`"`+checked, ""); r.Got != Error {
			t.Errorf("%q: got %s %s (%s), want error", s, r.Got, r.Result, r.Why)
		}
	}
	for _, s := range []string{"", "none", "rotated into two files, both present", "rotated into three files, all present",
		"untouched", "log copied to another folder and verified there", "file closed and opened again",
		"verified twice", "read by another process", "file mtime changed", "one more record appended", "untouched, then one append",
		"rotated into four files, all present", "rotated into two files, both present, then one append", "none, then sealed again"} {
		if r := decideOne(t, l, "audit.verify", `{"records":6,"mutation":"`+s+`"`+checked, ""); r.Got != Allow {
			t.Errorf("%q: got %s (%s), want allow", s, r.Got, r.Why)
		}
	}
	for _, s := range []string{"record 3 admired", "something happened", "record 3 removed and then restored", "record 2 edited in a copy", "record 9 removed", "records 5 to 2 removed", "first seventeen records removed"} {
		if r := decideOne(t, l, "audit.verify", `{"records":6,"mutation":"`+s+`"`+checked, ""); r.Result != Unsupported || r.Got != "" {
			t.Errorf("%q: got %s, a %s, want unsupported", s, r.Got, r.Result)
		}
	}
}

func TestEvaluatorAnswers(t *testing.T) {
	l := newLoader(shipped)
	for said, want := range map[string]Answer{
		`{"decision":"allow"}`:                                         Allow,
		`{"decision":"deny"}`:                                          Block,
		`{"decision":"DENY","error":"timeout"}`:                        Block,
		`{"decision":"ask"}`:                                           Review,
		`{"decision":"ALLOW"}`:                                         Error,
		`{"decision":"allow","error":"timeout"}`:                       Error,
		`{"decision":"allow","exit":1}`:                                Error,
		`{"decision":"allow","timeout":true}`:                          Error,
		`{"decision":"allow","signal":"SIGKILL"}`:                      Error,
		`{"exit":1,"stdout":"{\"decision\":\"deny\"}"}`:                Block,
		`{"stdout":"{\"decision\":\"allow\"}\n"}`:                      Allow,
		`{"stdout":"{\"decision\":\"allow\"}{}"}`:                      Error,
		`{"stdout":"{\"Decision\":\"allow\"}"}`:                        Error,
		`{"stdout":"{\"decision\":\"allow\",\"decision\":\"allow\"}"}`: Error,
		`{"stdout":"note\n{\"decision\":\"allow\"}"}`:                  Error,
		`{"stdout":"[\"allow\"]"}`:                                     Error,
		`{"stdout":"{\"decision\":true}"}`:                             Error,
		`{"stdout":"allow"}`:                                           Error,
		`{"decision":true}`:                                            Error,
		`{"decision":["allow"]}`:                                       Error,
		`{"decision":null}`:                                            Error,
		`{"decision":true,"stdout":"{\"decision\":\"allow\"}"}`:        Error,
		`{"decision":"allow","error":null}`:                            Allow,
		`{"decision":"allow","error":false}`:                           Allow,
		`{"decision":"allow","error":true}`:                            Error,
		`{"decision":"allow","error":{"code":500}}`:                    Error,
		`{"decision":"allow","timeout":"5s"}`:                          Error,
		`{"decision":"allow","signal":9}`:                              Error,
		`{"decision":"allow","crashed":true}`:                          Error,
		`{"decision":"allow","exit":null}`:                             Error,
		`{"decision":"allow","latency_ms":9,"timeout_ms":5}`:           Error,
		`{"exit":0,"stdout":{"decision":"allow"}}`:                     Allow,
		`{}`: Error,
	} {
		if r := decideOne(t, l, "ship", `{"id":1}`, `{"evaluator":`+said+`}`); r.Got != want {
			t.Errorf("%s: got %s (%s), want %s", said, r.Got, r.Why, want)
		}
	}
}

// What a context says and nobody understands makes a case unsupported: it never
// counts, even where the answer would be the expected one.
func TestWhatIsNotUnderstood(t *testing.T) {
	l := newLoader(shipped)
	for _, context := range []string{`{"deny_all":true}`, `{"moon":"full"}`, `{"evaluator":{"mood":"good"}}`, `{"fs":{"a":{"mode":"0600"}}}`,
		`{"rule":{"effect":"deny","field":"id","op":"rhymes","value":1}}`, `{"rule":{"effect":"warn","field":"id","op":"eq","value":1}}`,
		`{"policy_yaml":"moon: full\n"}`, `{"freeze":{"when":"always"}}`, `{"root":7}`, `{"allow_moons":["full"]}`,
		`{"approval":{"tool":"ship","arguments":{},"mood":"good"}}`, `{"approval":{"tool":"ship","arguments":{},"used":"a little"}}`,
		`{"rejected":[{"tool":"ship","arguments":{},"until":"noon"}]}`, `{"freeze":{"tz":"UTC","from":"2030-01-01","to":"2030-02-01"}}`,
		`{"rule":{"effect":"deny","field":"id","op":"eq"}}`, `{"pinned_policy":"a","a":"perhaps"}`,
		`{"rego_files":["package p\ndeny contains 1 if input.arguments.id > 5","package q\ndeny contains 1 if true"]}`} {
		if r := decideOne(t, l, "ship", `{"id":1}`, context); r.Result != Unsupported || r.Got != "" {
			t.Errorf("%s: got %s, a %s (%s), want unsupported", context, r.Got, r.Result, r.Why)
		}
	}
}

// A comparison that is denied where it holds holds, too, where its field is missing
// or of another type; one that has to hold does not.
func TestRuleOperators(t *testing.T) {
	l := newLoader(shipped)
	for _, c := range []struct {
		op, value         string
		holds, not, other string
	}{
		{"eq", `"eu"`, `"eu"`, `"us"`, ""},
		{"ne", `"eu"`, `"us"`, `"eu"`, ""},
		{"lt", `3`, `2`, `3`, `"2"`},
		{"lte", `3`, `3`, `4`, `"3"`},
		{"gt", `3`, `4`, `3`, `"4"`},
		{"gte", `3`, `3`, `2`, `"3"`},
		{"in", `["a"]`, `"a"`, `"b"`, ""},
		{"not_in", `["a"]`, `"b"`, `"a"`, ""},
		{"contains", `"b"`, `["a","b"]`, `["a"]`, `7`},
		{"starts_with", `"a"`, `"ab"`, `"ba"`, `7`},
		{"ends_with", `"a"`, `"ba"`, `"ab"`, `7`},
		{"matches", `"^a"`, `"ab"`, `"ba"`, `7`},
	} {
		for _, effect := range []string{"deny", "allow"} {
			context := `{"rule":{"effect":"` + effect + `","field":"f","op":"` + c.op + `","value":` + c.value + `}}`
			want := map[string]bool{`{"f":` + c.holds + `}`: effect == "allow", `{"f":` + c.not + `}`: effect == "deny", `{"g":1}`: false}
			if c.other != "" {
				want[`{"f":`+c.other+`}`] = false
			}
			for arguments, runs := range want {
				if r := decideOne(t, l, "ship", arguments, context); (r.Got == Allow) != runs || r.Result == Unsupported {
					t.Errorf("%s %s %s: got %s %s (%s), want it to run: %t", effect, c.op, arguments, r.Got, r.Result, r.Why, runs)
				}
			}
		}
	}
}

// A case may not pass for a case that it is not.
func TestReadRefuses(t *testing.T) {
	good := `{"id":"a","source":"s","kind":"k","request":{"tool":"x","arguments":{}},"expected":"allow","why":"w"}`
	if _, err := Read(strings.NewReader(good)); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"no case":         "",
		"one twice":       good + "\n" + good,
		"another key":     strings.Replace(good, `"why"`, `"because"`, 1),
		"another outcome": strings.Replace(good, `"allow"`, `"perhaps"`, 1),
		"no request":      strings.Replace(good, `"tool":"x","arguments":{}`, "", 1),
		"no kind":         strings.Replace(good, `"kind":"k",`, "", 1),
	} {
		if _, err := Read(bytes.NewReader([]byte(text))); err == nil {
			t.Errorf("%s: read without a word", name)
		}
	}
}

// The data that cases are laid over keeps what they do not speak of.
func TestAlterKeepsTheRest(t *testing.T) {
	content := map[string][]byte{"a": []byte("x: 1\ny: {z: [no, on]}\n")}
	if err := alter(content, "a", func(m map[string]any) { m["x"] = 2 }); err != nil {
		t.Fatal(err)
	}
	n, problems := datafile.Read("a", content["a"])
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	got, err := json.Marshal(n.Any())
	if want := `{"x":2,"y":{"z":["no","on"]}}`; err != nil || string(got) != want {
		t.Errorf("got %s (%v), want %s", got, err, want)
	}
}

// What came before a call counts, however a case tells it.
func TestWhatCameBefore(t *testing.T) {
	l := newLoader(shipped)
	for name, c := range map[string]struct {
		tool, arguments, context string
		want                     Answer
	}{
		"what was spent before fits":           {"pay", `{"amount":10}`, `{"limits":{"amount":50},"trace":[{"tool":"pay","arguments":{"amount":40}}]}`, Allow},
		"what was spent before does not":       {"pay", `{"amount":11}`, `{"limits":{"amount":50},"trace":[{"tool":"pay","arguments":{"amount":40}}]}`, Block},
		"what was refused is not spent":        {"pay", `{"amount":11}`, `{"limits":{"amount":50},"trace":[{"tool":"pay","arguments":{"amount":60}}]}`, Allow},
		"the case says what was spent":         {"pay", `{"amount":11}`, `{"limits":{"amount":50},"spent":0,"trace":[{"tool":"pay","arguments":{"amount":40}}]}`, Allow},
		"spent of each":                        {"buy", `{"amount":9,"items":2}`, `{"limits":{"amount":50,"items":10},"spent":{"amount":40,"items":8}}`, Allow},
		"spent of each, too many of one":       {"buy", `{"amount":9,"items":3}`, `{"limits":{"amount":50,"items":10},"spent":{"amount":40,"items":8}}`, Block},
		"spent of one only":                    {"buy", `{"amount":9,"items":1}`, `{"limits":{"amount":50,"items":10},"spent":{"amount":40}}`, Error},
		"a copy of a copy":                     {"read_file", `{"path":"c"}`, `{"deny_paths":["s/**"],"trace":[{"tool":"shell","arguments":{"command":"cp s/a b"}},{"tool":"shell","arguments":{"command":"cp b c"}}]}`, Block},
		"another file than the copy":           {"read_file", `{"path":"d"}`, `{"deny_paths":["s/**"],"trace":[{"tool":"shell","arguments":{"command":"cp s/a b"}},{"tool":"shell","arguments":{"command":"cp b c"}}]}`, Allow},
		"written twice, then run":              {"shell", `{"command":"./a"}`, `{"trace":[{"tool":"write_file","arguments":{"path":"a","content":"true"}},{"tool":"shell","arguments":{"command":"chmod +x a"}}]}`, Review},
		"one origin for all":                   {"pay", `{"to":"a","amount":5}`, `{"arg_origin":"tool_result"}`, Review},
		"the user for all":                     {"pay", `{"to":"a","amount":5}`, `{"arg_origin":"user"}`, Allow},
		"several origins":                      {"pay", `{"to":"a"}`, `{"arg_origin":{"to":["user","web"]}}`, Review},
		"an origin that is none":               {"pay", `{"to":"a"}`, `{"arg_origin":{"to":null}}`, Review},
		"an origin by its pointer":             {"pay", `{"to":"a"}`, `{"arg_origin":{"/to":"user"}}`, Allow},
		"an origin of a part":                  {"invite", `{"event":{"to":"a"}}`, `{"arg_origin":{"event.to":"user"}}`, Allow},
		"the user's words say the rest":        {"pay", `{"to":"acct-7","amount":5}`, `{"user_text":"send 5 to acct-7.","arg_origin":{"to":"user"}}`, Allow},
		"the user's words say it in part":      {"pay", `{"to":"acct-7","amount":5}`, `{"user_text":"send 5 to acct-77","arg_origin":{"amount":"user"}}`, Review},
		"the user's words alone":               {"pay", `{"to":"acct-7","amount":5}`, `{"user_text":"send 5 to acct-7"}`, Allow},
		"what the user did not say":            {"pay", `{"to":"acct-9","amount":5}`, `{"user_text":"pay the bill"}`, Review},
		"a plan of calls, the first not run":   {"drop_table", `{"name":"a"}`, `{"plan":[{"id":"b","tool":"backup"},{"id":"d","tool":"drop_table"}],"done":[]}`, Review},
		"a folder by another kind of argument": {"send_email", `{"to":"a@b.example","attachments":["s/a"]}`, `{"deny_paths":["s/**"]}`, Block},
		"a path by the end of its name":        {"upload", `{"body_path":"s/a"}`, `{"deny_paths":["s/**"]}`, Block},
	} {
		if r := decideOne(t, l, c.tool, c.arguments, c.context); r.Got != c.want {
			t.Errorf("%s: got %s %s (%s), want %s", name, r.Got, r.Result, r.Why, c.want)
		}
	}
}
