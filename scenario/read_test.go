package scenario

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conjunct-project/conjunct/engine"
)

// TestFormatRefuses: each key and each misspelling, with place and hint.
func TestFormatRefuses(t *testing.T) {
	p := desk(t)
	for _, c := range []struct {
		name, text string
		want       []string
		says       string // in the first problem
	}{
		{"an empty file", "", []string{"1:1 data_missing_key", "1:1 data_missing_key", "1:1 data_missing_key"}, `lacks "name"`},
		{"a file of comments", "# nothing\n", []string{"1:1 data_missing_key", "1:1 data_missing_key", "1:1 data_missing_key"}, `lacks "name"`},
		{"an empty list", "[]\n", []string{"1:1 scenario_empty"}, "no scenario"},
		{"text", "word\n", []string{"1:1 data_type"}, "must be an object"},
		{"null", "~\n", []string{"1:1 data_type"}, "must be an object"},
		{"a list of texts", "- a\n- b\n", []string{"1:3 data_type", "2:3 data_type"}, "must be an object"},
		{"a second document", head + "expect: {outcome: allow}\n---\n" + head, []string{"4:1 data_second_document"}, ""},
		{"a key twice", head + "expect: {outcome: allow}\nname: m\n", []string{"4:1 data_duplicate_key"}, ""},
		{"an unknown key", head + "expct: {outcome: allow}\n", []string{"3:1 data_unknown_key", "1:1 data_missing_key"}, `did you mean "expect"?`},
		{"a name that is a number", "name: 1\naction: " + lookup + "\nexpect: {outcome: allow}\n", []string{"1:7 data_type"}, "must be text"},
		{"expect is missing", head, []string{"1:1 data_missing_key"}, `lacks "expect"`},
		{"expect is empty", head + "expect: {}\n", []string{"3:9 scenario_empty"}, "could not fail"},
		{"expect is null", head + "expect:\n", []string{"3:8 data_type", "3:8 scenario_empty"}, ""},
		{"expect of no gates", head + "expect: {gates: {}, reasons: []}\n", []string{"3:17 scenario_empty", "3:30 scenario_empty"}, "nothing is compared"},
		{"an unknown key of expect", head + "expect:\n  outcom: allow\n", []string{"4:3 data_unknown_key", "4:3 scenario_empty"}, `did you mean "outcome"?`},
		{"an outcome misspelt", head + "expect: {outcome: alow}\n", []string{"3:19 data_unknown_value"}, `did you mean "allow"?`},
		{"a tier misspelt", head + "expect: {tier: propse}\n", []string{"3:16 data_unknown_value"}, `did you mean "propose"?`},
		{"a base tier misspelt", head + "expect: {base_tier: exceute}\n", []string{"3:21 data_unknown_value"}, `did you mean "execute"?`},
		{"a boundary misspelt", head + "expect: {boundary: require_reveiw}\n", []string{"3:20 data_unknown_value"}, `did you mean "require_review"?`},
		{"a transition misspelt", head + "expect: {transition: escalte}\n", []string{"3:22 data_unknown_value"}, `did you mean "escalate"?`},
		{"a verdict misspelt", head + "expect: {gates: {BOUNDS: passed}}\n", []string{"3:26 data_unknown_value"}, `did you mean "pass"?`},
		{"a gate misspelt", head + "expect: {gates: {BOUNS: pass}}\n", []string{"3:18 scenario_unknown_gate"}, `did you mean "BOUNDS"?`},
		{"an own gate misspelt", head + "expect: {gates: {change-windw: pass}}\n", []string{"3:18 scenario_unknown_gate"}, `did you mean "change-window"?`},
		{"gates as a list", head + "expect: {gates: [BOUNDS]}\n", []string{"3:17 data_type", "3:9 scenario_empty"}, ""},
		{"a cause misspelt", head + "expect: {cause: BOUNS}\n", []string{"3:17 scenario_unknown_gate"}, `did you mean "BOUNDS"?`},
		{"permit is a word", head + "expect: {permit: yes}\n", []string{"3:18 data_type"}, "true or false"},
		{"notify is a number", head + "expect: {notify: 1}\n", []string{"3:18 data_type"}, "true or false"},
		{"a floor misspelt", head + "expect: {floors: [frozn]}\n", []string{"3:18 scenario_unknown_floor"}, `did you mean "frozen"?`},
		{"a floor twice", head + "expect: {floors: [frozen, frozen]}\n", []string{"3:27 data_duplicate_item"}, ""},
		{"floors as text", head + "expect: {floors: frozen}\n", []string{"3:18 data_type"}, ""},
		{"reasons as text", head + "expect: {outcome: allow, reasons: base_tier}\n", []string{"3:35 data_type"}, ""},
		{"a reason that is a number", head + "expect: {reasons: [1]}\n", []string{"3:20 data_type"}, ""},
		{"a property misspelt", head + "expect: {consequence: {blast_radus: task}}\n", []string{"3:24 scenario_unknown_property"}, `did you mean "blast_radius"?`},
		{"a property's value misspelt", head + "expect: {consequence: {blast_radius: tsk}}\n", []string{"3:38 data_unknown_value"}, `did you mean "task"?`},
		{"a source misspelt", head + "expect: {consequence: {source: declard}}\n", []string{"3:32 data_unknown_value"}, `did you mean "declared"?`},
		{"a time without a zone", "now: 2026-03-02T09:30:00\n" + head + "expect: {outcome: allow}\n", []string{"1:6 scenario_time"}, "2026-03-02T09:30:00Z"},
		{"a date for a time", "now: 2026-03-02\n" + head + "expect: {outcome: allow}\n", []string{"1:6 scenario_time"}, ""},
		{"a time with a blank", "now: 2026-03-02 09:30:00Z\n" + head + "expect: {outcome: allow}\n", []string{"1:6 scenario_time"}, ""},
		{"a day that is none", "now: 2026-02-30T09:30:00Z\n" + head + "expect: {outcome: allow}\n", []string{"1:6 scenario_time"}, ""},
		{"a time that is true", "now: true\n" + head + "expect: {outcome: allow}\n", []string{"1:6 data_type", "1:6 scenario_time"}, ""},
		{"facts as a list", head + "facts: [1]\nexpect: {outcome: allow}\n", []string{"3:8 data_type"}, "must be an object"},
		{"facts as null", head + "facts:\nexpect: {outcome: allow}\n", []string{"3:7 data_type"}, "must be an object"},
		{"an unknown key of state", head + "state: {setting: {}}\nexpect: {outcome: allow}\n", []string{"3:9 data_unknown_key"}, `did you mean "settings"?`},
		{"a setting misspelt", head + "state: {settings: {frozn: true}}\nexpect: {outcome: allow}\n", []string{"3:20 scenario_unknown_setting"}, `did you mean "frozen"?`},
		{"settings as a list", head + "state: {settings: [frozen]}\nexpect: {outcome: allow}\n", []string{"3:19 data_type"}, ""},
		{"evidence misspelt", head + "state: {evidence: {co: {status: pass}}}\nexpect: {outcome: allow}\n", []string{"3:20 scenario_unknown_evidence"}, `did you mean "ci"?`},
		{"evidence without a status", head + "state: {evidence: {ci: {}}}\nexpect: {outcome: allow}\n", []string{"3:24 data_missing_key"}, `lacks "status"`},
		{"evidence of an unknown status", head + "state: {evidence: {ci: {status: ok}}}\nexpect: {outcome: allow}\n", []string{"3:33 data_unknown_value"}, "unknown verdict"},
		{"an unknown key of evidence", head + "state: {evidence: {ci: {status: pass, sorce: x}}}\nexpect: {outcome: allow}\n", []string{"3:39 data_unknown_key"}, `did you mean "source"?`},
		{"evidence at no time", head + "state: {evidence: {ci: {status: pass, time: soon}}}\nexpect: {outcome: allow}\n", []string{"3:45 scenario_time"}, ""},
		{"evidence with pins of numbers", head + "state: {evidence: {ci: {status: pass, pins: {context: 1}}}}\nexpect: {outcome: allow}\n", []string{"3:55 data_type"}, ""},
		{"an expiry of a fraction", head + "state: {evidence: {ci: {status: pass, expires: 1.5}}}\nexpect: {outcome: allow}\n", []string{"3:48 data_type"}, ""},
		{"an action that is text", "name: n\naction: word\nexpect: {outcome: allow}\n", []string{"2:9 scenario_action"}, ""},
		{"an action without an id", "name: n\naction: {trace_id: t, tool: read_ticket, arguments: {}}\nexpect: {outcome: allow}\n", []string{"2:9 scenario_action"}, "call_id"},
		{"an unknown field of the action", "name: n\naction:\n  trace_id: t\n  call_id: c\n  tool: read_ticket\n  arguments: {ticket: x}\n  confidense: 1\nexpect: {outcome: allow}\n", []string{"7:15 scenario_action"}, `did you mean "confidence"`},
		{"a confidence that is text", "name: n\naction:\n  trace_id: t\n  call_id: c\n  tool: read_ticket\n  arguments: {ticket: x}\n  confidence: high\nexpect: {outcome: allow}\n", []string{"7:15 scenario_action"}, ""},
		{"an agent's component that is a number", "name: n\naction:\n  trace_id: t\n  call_id: c\n  tool: read_ticket\n  arguments: {ticket: x}\n  agent:\n    id: a\n    component: 3\nexpect: {outcome: allow}\n", []string{"9:16 scenario_action"}, ""},
		{"a tool misspelt", "name: n\naction: {trace_id: t, call_id: c, tool: read_tickt, arguments: {ticket: x}}\nexpect: {outcome: allow}\n", []string{"2:41 scenario_unknown_tool"}, `did you mean "read_ticket"?`},
		{"an argument misspelt", "name: n\naction: {trace_id: t, call_id: c, tool: read_ticket, arguments: {tickt: x}}\nexpect: {outcome: allow}\n", []string{"2:66 scenario_unknown_argument"}, `did you mean "ticket"?`},
		{"a number that is none in JSON", "name: n\naction: {trace_id: t, call_id: c, tool: read_ticket, arguments: {ticket: 0x1}}\nexpect: {outcome: allow}\n", []string{"2:74 data_number"}, ""},
		{"mistakes in two scenarios of a list", "- {name: a, action: " + lookup + ", expect: {outcome: alow}}\n- {nme: b}\n",
			[]string{"1:131 data_unknown_value", "2:4 data_unknown_key", "2:3 data_missing_key", "2:3 data_missing_key", "2:3 data_missing_key"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, problems := Parse("s.yaml", []byte(c.text), p)
			if got := places(problems); !slices.Equal(got, c.want) {
				t.Fatalf("%s\nproblems at %q, want %q\n%v", c.text, got, c.want, problems)
			}
			if first := problems[0]; !strings.Contains(first.Message+" "+first.Hint, c.says) {
				t.Errorf("%v does not say %q", first, c.says)
			}
			for _, x := range problems {
				if x.File != "s.yaml" || c.text != "" && x.Line != strings.Split(c.text, "\n")[x.Row-1] {
					t.Errorf("%+v: file or line are wrong", x)
				}
			}
		})
	}
}

// TestFormatAccepts: each key and its value.
func TestFormatAccepts(t *testing.T) {
	p := desk(t)
	expires := int64(99)
	for _, c := range []struct {
		name, text string
		look       func(Scenario) any
		want       any
	}{
		{"the name", "name: a b\n", func(s Scenario) any { return s.Name }, "a b"},
		{"no time is a Monday morning", "", func(s Scenario) any { return time.Unix(s.Now, 0).UTC().Format(time.RFC3339) }, "2026-03-02T09:30:00Z"},
		{"a time with a zone", "now: 2026-03-02T10:30:00+01:00\n", func(s Scenario) any { return s.Now }, int64(1772443800)},
		{"a time in seconds", "now: 5\n", func(s Scenario) any { return s.Now }, int64(5)},
		{"facts", "facts: {outside: true, n: 1.5, deep: {a: [x]}}\n", func(s Scenario) any { return s.Facts }, map[string]any{"outside": true, "n": 1.5, "deep": map[string]any{"a": []any{"x"}}}},
		{"no facts", "", func(s Scenario) any { return len(s.Facts) }, 0},
		{"settings", "state: {settings: {frozen: true, capacity: null}}\n", func(s Scenario) any { return s.Settings }, map[string]any{"frozen": true, "capacity": nil}},
		{"evidence", "state: {evidence: {ci: {status: fail, source: runner, time: 5, expires: 99, pins: {context: v1}}}}\n", func(s Scenario) any { return s.Evidence["ci"] },
			engine.Evidence{Name: "ci", Status: engine.Fail, Source: "runner", Time: 5, Expires: &expires, Pins: map[string]string{"context": "v1"}}},
		{"context stands with evidence", "state: {evidence: {kb: {status: pass, time: 2026-03-02T09:00:00Z}}}\n", func(s Scenario) any { return s.Evidence["kb"] },
			engine.Evidence{Name: "kb", Status: engine.Pass, Time: 1772442000}},
		{"the action", "", func(s Scenario) any {
			return []any{s.Action.TraceID, s.Action.Tool, s.Action.Arguments["ticket"], *s.Action.Confidence, strings.HasPrefix(s.Action.CallHash, "sha256:")}
		}, []any{"t", "read_ticket", "INC-1", 0.96, true}},
		{"where it stands", "", func(s Scenario) any { return []any{s.File, s.Row} }, []any{"s.yaml", 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := c.text + "action: " + lookup + "\nexpect: {outcome: allow}\n"
			if !strings.Contains(text, "name:") {
				text = "name: n\n" + text
			}
			got, problems := Parse("s.yaml", []byte(text), p)
			if len(problems) > 0 || len(got) != 1 {
				t.Fatalf("%s: %v, %d scenarios", text, problems, len(got))
			}
			if v := c.look(got[0]); !reflect.DeepEqual(v, c.want) {
				t.Errorf("got %#v, want %#v", v, c.want)
			}
		})
	}
}

// TestUnknownNamesOnPurpose: a scenario about an undeclared tool or a wrong
// argument says so by the reason it expects.
func TestUnknownNamesOnPurpose(t *testing.T) {
	p := desk(t)
	for _, text := range []string{
		"name: n\naction: {trace_id: t, call_id: c, tool: format_disk, arguments: {}}\nexpect: {tier: refuse, reasons: [undeclared_tool]}\n",
		"name: n\naction: {trace_id: t, call_id: c, tool: read_ticket, arguments: {tickt: x}}\nexpect: {outcome: block, reasons: [argument_mismatch]}\n",
	} {
		s, problems := Parse("s.yaml", []byte(text), p)
		if len(problems) > 0 {
			t.Fatalf("%s: %v", text, problems)
		}
		if r := s[0].Run(t.Context(), p); len(r.Differences) > 0 {
			t.Errorf("%s: %+v", text, r.Differences)
		}
	}
}

// TestListAndSingle: both forms hold the same scenario, and rows count on.
func TestListAndSingle(t *testing.T) {
	p := desk(t)
	one, problems := Parse("s.yaml", []byte(head+"expect: {outcome: allow}\n"), p)
	if len(problems) > 0 || len(one) != 1 {
		t.Fatal(problems)
	}
	many, problems := Parse("s.yaml", []byte("- name: n\n  action: "+lookup+"\n  expect: {outcome: allow}\n\n- name: m\n  action: "+lookup+"\n  expect: {outcome: allow}\n"), p)
	if len(problems) > 0 || len(many) != 2 {
		t.Fatal(problems)
	}
	if many[0].Row != 1 || many[1].Row != 5 || many[1].Name != "m" {
		t.Errorf("rows %d and %d, names %q and %q", many[0].Row, many[1].Row, many[0].Name, many[1].Name)
	}
	if !reflect.DeepEqual(one[0], many[0]) {
		t.Errorf("%+v and %+v", one[0], many[0])
	}
}

// TestFormatHoles are reported: a scenario that names what does not exist, or
// says what does not count, and is read.
func TestFormatHoles(t *testing.T) {
	p := desk(t)
	for _, c := range []struct{ name, text string }{
		{"a pin misspelt", head + "state: {evidence: {ci: {status: pass, pins: {contxt: v1}}}}\nexpect: {outcome: allow}\n"},
		{"no reasons, which compares nothing", head + "expect: {outcome: allow, reasons: []}\n"},
		{"no gates, which compares nothing", head + "expect: {outcome: allow, gates: {}}\n"},
		{"a fraction of a second", "now: 5.5\n" + head + "expect: {outcome: allow}\n"},
		{"a fraction of a second in a time", "now: 2026-03-02T09:30:00.5Z\n" + head + "expect: {outcome: allow}\n"},
		{"a capacity that is text", head + "state: {settings: {capacity: four}}\nexpect: {outcome: allow}\n"},
		{"a setting that is a list", head + "state: {settings: {capacity: [4]}}\nexpect: {outcome: allow}\n"},
		{"evidence that is not applicable", head + "state: {evidence: {ci: {status: not_applicable}}}\nexpect: {outcome: allow}\n"},
		{"an empty name", "name: ''\naction: " + lookup + "\nexpect: {outcome: allow}\n"},
		{"a name twice in a file", "- {name: n, action: " + lookup + ", expect: {outcome: allow}}\n- {name: n, action: " + lookup + ", expect: {outcome: allow}}\n"},
		{"a reason twice", head + "expect: {reasons: [base_tier, base_tier]}\n"},
		{"a reason in a form that no code has", head + "expect: {reasons: [Base Tier]}\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, problems := Parse("s.yaml", []byte(c.text), p); len(problems) == 0 {
				fault(t, "it is read")
			}
		})
	}
}

// TestSettingsOfTheEngine holds against a fault: a setting that the standard gates read
// can be tested only where the contract gives it a first value.
func TestSettingsOfTheEngine(t *testing.T) {
	p := desk(t)
	for _, name := range []string{"deadline: 5", "eligible: false", "review_ttl: 5", "queue: 5"} {
		if _, problems := Parse("s.yaml", []byte(head+"state: {settings: {"+name+"}}\nexpect: {outcome: allow}\n"), p); len(problems) > 0 {
			fault(t, "%v", problems)
		}
	}
}

// TestExpiresIsATime holds against a fault: `time` may be written as a time, `expires` not.
func TestExpiresIsATime(t *testing.T) {
	if _, problems := Parse("s.yaml", []byte(head+"state: {evidence: {ci: {status: pass, expires: 2026-03-02T09:30:00Z}}}\nexpect: {outcome: allow}\n"), desk(t)); len(problems) > 0 {
		fault(t, "%v", problems)
	}
}

// TestActionProblemInAList holds against a fault: a mistake within a list is told at the
// action and not at its row.
func TestActionProblemInAList(t *testing.T) {
	_, problems := Parse("s.yaml", []byte("name: n\naction:\n  trace_id: t\n  call_id: c\n  tool: read_ticket\n  arguments: {ticket: x}\n  plan:\n    steps:\n      - id: s1\n        tol: x\nexpect: {outcome: allow}\n"), desk(t))
	if len(problems) != 1 {
		t.Fatalf("problems %v, want one", problems)
	}
	if problems[0].Row != 10 {
		fault(t, "%v, want row 10", problems[0])
	}
}

func directories(t *testing.T, dirs ...string) string {
	t.Helper()
	root := t.TempDir()
	for _, d := range dirs {
		if err := os.MkdirAll(filepath.Join(root, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// TestBeside: where the scenarios of a bundle directory are looked for.
func TestBeside(t *testing.T) {
	for _, c := range []struct {
		name   string
		dirs   []string
		bundle string
		want   []string
	}{
		{"nowhere", nil, "a/desk", nil},
		{"beside the bundle", []string{"a/desk", "a/testdata/scenarios/desk"}, "a/desk", []string{"a/testdata/scenarios/desk"}},
		{"beside its parent, as policies/NAME has them", []string{"policies/desk", "testdata/scenarios/desk"}, "policies/desk", []string{"testdata/scenarios/desk"}},
		{"both, the nearer first", []string{"a/desk", "a/testdata/scenarios/desk", "testdata/scenarios/desk"}, "a/desk", []string{"a/testdata/scenarios/desk", "testdata/scenarios/desk"}},
		{"of another bundle", []string{"a/desk", "a/testdata/scenarios/other", "a/scenarios"}, "a/desk", nil},
		{"of what init wrote", []string{"a/bundle", "a/scenarios"}, "a/bundle", []string{"a/scenarios"}},
		{"of what init wrote, with a slash", []string{"a/bundle", "a/scenarios"}, "a/bundle/", []string{"a/scenarios"}},
		{"of what init wrote, with a dot", []string{"a/bundle", "a/scenarios"}, "a/bundle/.", []string{"a/scenarios"}},
		{"within the bundle they are not looked for", []string{"a/desk/testdata/scenarios/desk", "a/desk/scenarios"}, "a/desk", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := directories(t, c.dirs...)
			var want []string
			for _, w := range c.want {
				want = append(want, filepath.Join(root, w))
			}
			if got := Beside(root + "/" + c.bundle); !slices.Equal(got, want) {
				t.Errorf("Beside(%s) = %q, want %q", c.bundle, got, want)
			}
		})
	}
	root := directories(t, "a/desk", "a/testdata/scenarios")
	if err := os.WriteFile(filepath.Join(root, "a/testdata/scenarios/desk"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := Beside(filepath.Join(root, "a/desk")); got != nil {
		t.Errorf("a file is taken for a directory of scenarios: %q", got)
	}
}

// TestBesideARelativePath holds against a fault: scenarios are looked for by the text of
// the path, so they silently do not run from within the bundle or its parent.
func TestBesideARelativePath(t *testing.T) {
	root := directories(t, "policies/desk", "testdata/scenarios/desk", "mine/bundle", "mine/scenarios")
	for _, c := range []struct{ in, bundle string }{{"policies", "desk"}, {"policies/desk", "."}, {"mine/bundle", "."}, {"mine/bundle/x", ".."}} {
		t.Run(c.bundle+" in "+c.in, func(t *testing.T) {
			if err := os.MkdirAll(filepath.Join(root, c.in), 0o755); err != nil {
				t.Fatal(err)
			}
			t.Chdir(filepath.Join(root, c.in))
			if got := Beside(c.bundle); len(got) != 1 {
				fault(t, "Beside(%q) in %s = %q, want one directory", c.bundle, c.in, got)
			}
		})
	}
}

// TestReadDir: every YAML file below, in order of path, all problems in one run.
func TestReadDir(t *testing.T) {
	p, root := desk(t), t.TempDir()
	put := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	one := func(name string) string {
		return "name: " + name + "\naction: " + lookup + "\nexpect: {outcome: allow}\n"
	}
	put("b.yaml", one("b"))
	put("a/x.yml", one("a-x"))
	put("a/y.YAML", "- "+strings.ReplaceAll(strings.TrimSpace(one("a-y")), "\n", "\n  ")+"\n")
	put("README.md", "not a scenario")
	scenarios, problems, err := ReadDir(root, p)
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	var names []string
	for _, s := range scenarios {
		names = append(names, s.Name)
	}
	if want := []string{"a-x", "a-y", "b"}; !slices.Equal(names, want) {
		t.Errorf("scenarios %q, want %q", names, want)
	}
	put("c.yaml", "name: c\n")
	put("d.yaml", "\xff")
	_, problems, err = ReadDir(root, p)
	if err != nil || !slices.Equal(places(problems), []string{"1:1 data_missing_key", "1:1 data_missing_key", "1:1 data_encoding"}) || problems[2].File != filepath.Join(root, "d.yaml") {
		t.Errorf("problems %v, %v", problems, err)
	}
	if _, _, err := ReadDir(filepath.Join(root, "none"), p); err == nil {
		t.Error("a directory that does not exist is read")
	}
}

// TestReadDirSkipsNothing holds against a fault: a file that looks like a scenario and is
// not read would be a scenario that never runs.
func TestReadDirSkipsNothing(t *testing.T) {
	p := desk(t)
	text := []byte(head + "expect: {outcome: allow}\n")
	for _, name := range []string{"s.json", "s.yaml.txt", "s.yam", "linked"} {
		t.Run(name, func(t *testing.T) {
			root, elsewhere := t.TempDir(), t.TempDir()
			var err error
			if name == "linked" {
				err = os.Symlink(elsewhere, filepath.Join(root, name))
				if err == nil {
					err = os.WriteFile(filepath.Join(elsewhere, "s.yaml"), text, 0o600)
				}
			} else {
				err = os.WriteFile(filepath.Join(root, name), text, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			if s, problems, err := ReadDir(root, p); err == nil && len(s)+len(problems) == 0 {
				fault(t, "%s is neither read nor told", name)
			}
		})
	}
}
