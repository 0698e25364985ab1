package scenario

import (
	"context"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/conjunct-project/conjunct/engine"
)

func parseOne(t *testing.T, p Policy, text string) Scenario {
	t.Helper()
	s, problems := Parse("s.yaml", []byte(text), p)
	if len(problems) > 0 || len(s) != 1 {
		t.Fatalf("%s: %v", text, problems)
	}
	return s[0]
}

// TestEachExpectationDiffers: every key that is compared, when it differs, shows
// its row, what was wanted and what came; nothing else is told.
func TestEachExpectationDiffers(t *testing.T) {
	p := desk(t)
	for _, c := range []struct {
		expect string
		want   Difference
	}{
		{"base_tier: propose", Difference{4, "base_tier", "propose", "execute"}},
		{"tier: refuse", Difference{4, "tier", "refuse", "execute"}},
		{"boundary: deny", Difference{4, "boundary", "deny", "allow"}},
		{"transition: stop", Difference{4, "transition", "stop", "act"}},
		{"outcome: block", Difference{4, "outcome", "block", "allow"}},
		{"permit: false", Difference{4, "permit", "false", "true"}},
		{"notify: true", Difference{4, "notify", "true", "false"}},
		{"cause: BOUNDS", Difference{4, "cause", "BOUNDS", ""}},
		{"gates: {BOUNDS: fail}", Difference{4, "gate BOUNDS", "fail", "pass"}},
		{"gates: {EVIDENCE: pass}", Difference{4, "gate EVIDENCE", "pass", "not_applicable"}},
		{"gates: {change-window: pass}", Difference{4, "gate change-window", "pass", "not evaluated"}},
		{"floors: [outside, frozen]", Difference{4, "floors", "frozen, outside", "outside"}},
		{"floors: []", Difference{4, "floors", "", "outside"}},
		{"reasons: [undeclared_tool]", Difference{4, "reason", "undeclared_tool", "base_tier, floor_matched_undetermined"}},
		{"consequence: {blast_radius: system}", Difference{4, "consequence.blast_radius", "system", "task"}},
		{"consequence: {source: policy}", Difference{4, "consequence.source", "policy", "declared"}},
	} {
		t.Run(c.expect, func(t *testing.T) {
			facts := ""
			if !strings.HasPrefix(c.expect, "floors") && !strings.HasPrefix(c.expect, "reasons") {
				facts = "facts: {path: {outside: false}}\n"
			}
			s := parseOne(t, p, head+facts+"expect:\n"+map[bool]string{true: "# comment\n"}[facts == ""]+"  "+c.expect+"\n")
			c.want.Row = strings.Count(head+facts+"expect:\n"+map[bool]string{true: "# comment\n"}[facts == ""], "\n") + 1
			r := s.Run(t.Context(), p)
			if len(r.Differences) != 1 {
				t.Fatalf("differences %+v, want one\n%s", r.Differences, r.Decision.Reason)
			}
			got := r.Differences[0]
			if c.want.What == "reason" {
				if got.Row != c.want.Row || got.What != "reason" || got.Want != c.want.Want || !strings.Contains(got.Got, "base_tier") {
					t.Errorf("got %+v", got)
				}
				return
			}
			if got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

// TestEachExpectationHolds: the same keys when they hold tell nothing.
func TestEachExpectationHolds(t *testing.T) {
	p := desk(t)
	s := parseOne(t, p, head+"facts: {path: {outside: false}}\nexpect: {base_tier: execute, tier: execute, boundary: allow, transition: act, outcome: allow, permit: true, notify: false, cause: \"\", floors: [], reasons: [base_tier], "+
		"gates: {BOUNDS: pass, EVIDENCE: not_applicable}, consequence: {reversibility: reversible, blast_radius: task, absorbed_by: agent, detection_latency: immediate, source: declared}}\n")
	if r := s.Run(t.Context(), p); len(r.Differences) > 0 {
		t.Errorf("differences %+v", r.Differences)
	}
	if got, want := s.Expect.Len(), 17; got != want {
		t.Errorf("%d things are compared, want %d", got, want)
	}
}

// TestOnlyWhatIsNamedIsCompared: a call that is refused in many ways holds an
// expectation of one of them, and each of several differences is told.
func TestOnlyWhatIsNamedIsCompared(t *testing.T) {
	p := desk(t)
	action := "action: {trace_id: t, call_id: c, tool: deprovision_account, arguments: {account: 'acme\\jdoe'}, confidence: 0.94}\n"
	if r := parseOne(t, p, "name: n\n"+action+"expect: {outcome: block}\n").Run(t.Context(), p); len(r.Differences) > 0 {
		t.Errorf("differences %+v", r.Differences)
	}
	r := parseOne(t, p, "name: n\n"+action+"expect:\n  outcome: allow\n  tier: execute\n  gates:\n    BOUNDS: pass\n    SUPERVISION: fail\n  reasons: [x, boundary_deny, y]\n").Run(t.Context(), p)
	var got []string
	for _, d := range r.Differences {
		got = append(got, d.What+"="+d.Want)
	}
	if want := []string{"outcome=allow", "tier=execute", "gate BOUNDS=pass", "gate SUPERVISION=fail", "reason=x", "reason=y"}; !slices.Equal(got, want) {
		t.Errorf("differences %q, want %q", got, want)
	}
}

// TestRunUsesNowFactsAndState: each of them changes the decision.
func TestRunUsesNowFactsAndState(t *testing.T) {
	p := desk(t)
	merge := "action: {trace_id: t, call_id: c, tool: merge, arguments: {change: x}, confidence: 0.95}\nfacts: {path: {outside: false}}\n"
	const good = "state: {evidence: {ci: {status: pass, source: runner, time: 100, pins: {context: v1}}, kb: {status: pass}}}\n"
	for _, c := range []struct{ name, text string }{
		{"the state that the contract starts with", merge + "expect: {outcome: block, gates: {EVIDENCE: unknown, CONTEXT: unknown}, reasons: [evidence_missing, context_missing]}\n"},
		{"evidence", "now: 160\n" + merge + good + "expect: {outcome: allow, gates: {EVIDENCE: pass, CONTEXT: pass}}\n"},
		{"evidence a second too old", "now: 161\n" + merge + good + "expect: {gates: {EVIDENCE: fail, CONTEXT: pass}, reasons: [evidence_stale]}\n"},
		{"evidence of another source", "now: 160\n" + merge + strings.Replace(good, "runner", "me", 1) + "expect: {gates: {EVIDENCE: fail}, reasons: [evidence_untraceable]}\n"},
		{"evidence of another version", "now: 160\n" + merge + strings.Replace(good, "v1", "v2", 1) + "expect: {gates: {EVIDENCE: fail}, reasons: [evidence_version]}\n"},
		{"evidence that has expired", "now: 160\n" + merge + strings.Replace(good, "time: 100", "time: 100, expires: 159", 1) + "expect: {gates: {EVIDENCE: fail}, reasons: [evidence_expired]}\n"},
		{"a fact", "action: " + lookup + "\nfacts: {path: {outside: true}}\nexpect: {tier: propose, floors: [outside], reasons: [floor_applied]}\n"},
		{"a fact that is absent", "action: " + lookup + "\nexpect: {tier: propose, floors: [outside], reasons: [floor_applied_undetermined]}\n"},
		{"a setting", "action: " + lookup + "\nfacts: {path: {outside: false}}\nstate: {settings: {frozen: true}}\nexpect: {tier: propose, floors: [frozen]}\n"},
		{"a setting laid over another leaves it", "action: " + lookup + "\nfacts: {path: {outside: false}}\nstate: {settings: {frozen: true}}\nexpect: {outcome: review, gates: {SUPERVISION: pass}}\n"},
		{"no room for a review", "action: " + lookup + "\nfacts: {path: {outside: true}}\nstate: {settings: {capacity: 0}}\nexpect: {transition: defer, gates: {SUPERVISION: fail}, reasons: [queue_full]}\n"},
		{"now", "now: 1800000001\naction: " + lookup + "\nfacts: {path: {outside: false}}\nexpect: {floors: [late]}\n"},
		{"now, a second before", "now: 1800000000\naction: " + lookup + "\nfacts: {path: {outside: false}}\nexpect: {floors: []}\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := parseOne(t, p, "name: n\n"+c.text)
			if r := s.Run(t.Context(), p); len(r.Differences) > 0 {
				t.Errorf("differences %+v\n%s", r.Differences, r.Decision.Reason)
			}
		})
	}
}

// TestRunChangesNothing: a scenario runs the same twice, and another's state
// does not leak into it or into the contract.
func TestRunChangesNothing(t *testing.T) {
	p := desk(t)
	s := parseOne(t, p, head+"facts: {path: {outside: false}}\nstate: {settings: {frozen: true}, evidence: {ci: {status: pass}}}\nexpect: {tier: propose}\n")
	first := s.Run(t.Context(), p)
	other := parseOne(t, p, head+"facts: {path: {outside: false}}\nexpect: {tier: execute}\n").Run(t.Context(), p)
	if len(other.Differences) > 0 {
		t.Errorf("another scenario's setting is still there: %+v", other.Differences)
	}
	if again := s.Run(t.Context(), p); !reflect.DeepEqual(again, first) {
		t.Errorf("two runs differ: %+v and %+v", first, again)
	}
	if got := p.Contract().Start.Settings["frozen"]; got != false {
		t.Errorf("the contract starts with frozen %v now", got)
	}
	if len(p.Contract().FirstState().Evidence) != 0 {
		t.Error("the contract starts with evidence now")
	}
}

// TestRunWithoutTime: a scenario that is cut short does not pass.
func TestRunWithoutTime(t *testing.T) {
	p := desk(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := parseOne(t, p, "name: n\naction: {trace_id: t, call_id: c, tool: email_customer, arguments: {to: pat@customer.example, body: x}, confidence: 0.95}\nfacts: {path: {outside: false}}\nexpect: {gates: {recipient-count: pass}}\n")
	if r := s.Run(ctx, p); len(r.Differences) != 1 || r.Differences[0].Got != "unknown" {
		t.Errorf("differences %+v, want that the gate is unknown", r.Differences)
	}
}

// TestCodes lists the codes of reasons and gates once each, sorted.
func TestCodes(t *testing.T) {
	d := engine.Decision{Reasons: []engine.Reason{{Code: "c"}, {Code: "a"}, {Code: "c"}}, Gates: []engine.GateResult{{Reasons: []engine.Reason{{Code: "b"}, {Code: "a"}}}}}
	if got, want := Codes(&d), []string{"a", "b", "c"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestShippedScenarios: what ships is read without a problem and holds.
func TestShippedScenarios(t *testing.T) {
	for _, name := range []string{"default", "itsm"} {
		p := loadFiles(t, name, nil)
		dirs := Beside(filepath.Join("..", "policies", name))
		if len(dirs) != 1 {
			t.Fatalf("scenarios of %s in %q", name, dirs)
		}
		all, problems, err := ReadDir(dirs[0], p)
		if err != nil || len(problems) > 0 || len(all) == 0 {
			t.Fatalf("%s: %d scenarios, %v, %v", name, len(all), problems, err)
		}
		for _, s := range all {
			if r := s.Run(t.Context(), p); len(r.Differences) > 0 {
				t.Errorf("%s:%d %s: %+v", s.File, s.Row, s.Name, r.Differences)
			}
		}
	}
}
