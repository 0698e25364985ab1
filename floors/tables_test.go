package floors_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/floors"
	"github.com/conjunct-project/conjunct/rego"
)

func severity(t testing.TB, body string, limit engine.Tier) (*floors.Severity, []rego.Problem) {
	t.Helper()
	return floors.EnumerateSeverity(mustLoad(t, map[string]string{rego.Severity: body}, tree{"mods": []any{"m"}}), limit)
}

func mustSeverity(t testing.TB, body string) *floors.Severity {
	t.Helper()
	s, problems := severity(t, body, engine.Propose)
	if len(problems) > 0 {
		t.Fatalf("got problems %v, want none, for\n%s", problems, body)
	}
	return s
}

func TestSeverityThatRefusesTheBundle(t *testing.T) {
	const base = plainBase + "\n\n"
	for _, c := range []struct {
		name, body string
		limit      engine.Tier
		row        int
		text       string
	}{
		{"a class without a base", `base := "execute" if input.consequence.reversibility != "costly"`, engine.Propose, 3, "no base tier for costly, external, regulator, unbounded: undefined"},
		{"a class without a base for one source", `base := "execute" if input.consequence.source != "declared"`, engine.Propose, 3, "no base tier for irreversible"},
		{"refuse in the table", `base := "refuse"`, engine.Propose, 3, "base gives refuse"},
		{"refuse in one cell", "base := \"refuse\" if {\n\tinput.consequence.reversibility == \"costly\"\n\tinput.consequence.blast_radius == \"task\"\n}\nelse := \"execute\"", engine.Propose, 3, "base gives refuse for costly, task"},
		{"beyond the cap", `base := "propose"`, engine.ExecuteNotify, 3, "beyond the cap execute_notify"},
		{"no tier", `base := "exec"`, engine.Propose, 3, "base gives exec"},
		{"no text", `base := 1`, engine.Propose, 3, "base gives 1"},
		{"a set", `base contains "execute"`, engine.Propose, 3, "base gives [execute]"},
		{"a conflict", "base := \"execute\" if input.consequence.reversibility != \"costly\"\n\nbase := \"propose\" if input.consequence.blast_radius != \"task\"", engine.Propose, 3, "conflict"},
		{"a builtin error", `base := "execute" if to_number(input.consequence.reversibility) == 1`, engine.Propose, 3, "no base tier for irreversible, external, regulator, unbounded: builtin_error"},
		{"a base that depends on confidence", "base := \"execute\" if not input.flags.low_confidence\nelse := \"propose\"", engine.Propose, 3, "base depends on input.flags.low_confidence"},
		{"an action in the base", `base := "execute" if input.action.tool == "a"`, engine.Propose, 3, "base"},

		{"a modifier that low confidence switches off", base + `modifiers contains {"name": "m"} if not input.flags.low_confidence`, engine.Propose, 5, "modifier m holds at high confidence and not at low"},
		{"a modifier that low confidence switches off for one class", base + "modifiers contains {\"name\": \"m\"} if input.consequence.reversibility == \"costly\"\n\nmodifiers contains {\"name\": \"n\"} if {\n\tinput.consequence.reversibility == \"costly\"\n\tinput.consequence.blast_radius == \"task\"\n\tnot input.flags.low_confidence\n}", engine.Propose, 7, "modifier n holds at high confidence"},
		{"a modifier that never holds", base + "modifiers contains {\"name\": \"m\"} if {\n\tinput.consequence.reversibility == \"costly\"\n\tinput.consequence.reversibility == \"reversible\"\n}", engine.Propose, 5, "modifier m holds for no class"},
		{"a modifier that reads what is not there", base + `modifiers contains {"name": "m"} if input.facts.x`, engine.Propose, 5, "modifier"},
		{"a modifier that is a string", base + `modifiers contains "m" if input.flags.low_confidence`, engine.Propose, 5, `must be {"name": ...}, not m`},
		{"a modifier with a key too many", base + `modifiers contains {"name": "m", "by": 2} if input.flags.low_confidence`, engine.Propose, 5, `must be {"name": ...}`},
		{"a modifier with another key", base + `modifiers contains {"nam": "m"} if input.flags.low_confidence`, engine.Propose, 5, `must be {"name": ...}`},
		{"a modifier whose name is a number", base + `modifiers contains {"name": 1} if input.flags.low_confidence`, engine.Propose, 5, `must be {"name": ...}`},
		{"a modifier that errs", base + `modifiers contains {"name": "m"} if to_number(input.consequence.reversibility) == 1`, engine.Propose, 5, "no modifiers for irreversible, external, regulator, unbounded: builtin_error"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, problems := severity(t, c.body, c.limit)
			if len(problems) != 1 || !has(problems, "rego_table", c.row, c.text) || problems[0].File != "severity.rego" {
				t.Errorf("got %+v, want one rego_table with %q in severity.rego:%d, for\n%s", problems, c.text, c.row, c.body)
			}
		})
	}
}

// TestSeverityAgreesWithTheRule holds every class, every source and both
// confidences against the rule itself.
func TestSeverityAgreesWithTheRule(t *testing.T) {
	body := `base := "propose" if input.consequence.blast_radius == "external"
else := "execute_notify" if input.consequence.source == "inferred"
else := "propose" if input.consequence.source == "undeclared"
else := "execute_notify" if input.consequence.reversibility != "reversible"
else := "execute"

# METADATA
# title: Unbounded
modifiers contains {"name": "detection_latency"} if input.consequence.detection_latency == "unbounded"

modifiers contains {"name": "confidence"} if input.flags.low_confidence

modifiers contains {"name": "both"} if {
	input.consequence.absorbed_by in {"customer", "regulator"}
	input.consequence.source != "declared"
}`
	s := mustSeverity(t, body)
	for src := range engine.Sources() {
		for c := range engine.Classes(engine.Source(src)) {
			want := engine.Execute
			switch {
			case c.BlastRadius == engine.External, c.Source != engine.Inferred && c.Source == engine.Undeclared:
				want = engine.Propose
			case c.Source == engine.Inferred, c.Reversibility != engine.Reversible:
				want = engine.ExecuteNotify
			}
			got, reason := s.Base(c)
			if got != want || reason.Code != "base_tier" || reason.Rule.Row != 3 || len(reason.Facts) != 2 {
				t.Fatalf("%+v: got %v, %+v, want %v with its rule and facts", c, got, reason, want)
			}
			for _, low := range []bool{false, true} {
				wants := map[string]bool{"both": (c.AbsorbedBy == engine.Customer || c.AbsorbedBy == engine.Regulator) && c.Source != engine.Declared,
					"confidence": low, "detection_latency": c.DetectionLatency == engine.Unbounded}
				modifiers := s.Modifiers(c, low)
				if len(modifiers) != 3 || modifiers[0].Name != "both" || modifiers[1].Name != "confidence" || modifiers[2].Name != "detection_latency" {
					t.Fatalf("%+v: got %+v, want both, confidence, detection_latency", c, modifiers)
				}
				for _, m := range modifiers {
					if m.Holds != wants[m.Name] {
						t.Fatalf("%+v, low %v: got %s %v, want %v", c, low, m.Name, m.Holds, wants[m.Name])
					}
				}
				if r := modifiers[2].Reason; r.Text != "Unbounded" || len(r.Facts) != 1 || r.Facts[0].Path != "/consequence/detection_latency" || r.Rule.Row != 11 {
					t.Fatalf("got %+v, want the title, the fact and the row", r)
				}
				if r := modifiers[1].Reason; r.Text != "confidence" || len(r.Facts) != 0 {
					t.Fatalf("got %+v, want the name for a text and no fact", r)
				}
			}
		}
	}
}

func TestModifiersFromData(t *testing.T) {
	s := mustSeverity(t, plainBase+"\n\nmodifiers contains {\"name\": m} if {\n\tsome m in data.conjunct.scope.mods\n\tinput.flags.low_confidence\n}")
	got := s.Modifiers(engine.Consequence{}, true)
	if len(got) != 1 || got[0].Name != "m" || !got[0].Holds || got[0].Reason.Rule.Row != 5 {
		t.Errorf("got %+v, want m from data with the place of its rule", got)
	}
}

func TestABundleWithoutModifiersHasNone(t *testing.T) {
	if got := mustSeverity(t, plainBase).Modifiers(engine.Consequence{}, true); len(got) != 0 {
		t.Errorf("got %+v, want none", got)
	}
}

func TestAModifierThatAlwaysHolds(t *testing.T) {
	s := mustSeverity(t, plainBase+"\n\nmodifiers contains {\"name\": \"m\"}")
	for _, low := range []bool{false, true} {
		if got := s.Modifiers(engine.Consequence{Source: engine.Declared}, low); len(got) != 1 || !got[0].Holds {
			t.Errorf("low %v: got %+v, want m to hold", low, got)
		}
	}
}

func TestUnconditionalModifiersFromDataAreNotLost(t *testing.T) {
	s, problems := severity(t, plainBase+"\n\nmodifiers contains {\"name\": m} if some m in data.conjunct.scope.mods", engine.Propose)
	if len(problems) == 0 && len(s.Modifiers(engine.Consequence{}, false)) != 1 {
		t.Errorf("got %+v and no problem, want m, or a problem", s.Modifiers(engine.Consequence{}, false))
	}
}

func TestSeverityReadsFiniteSetsOnly(t *testing.T) {
	for name, body := range map[string]string{
		"base by a fact, negated":           "base := \"execute\" if not input.facts.danger\n\nbase := \"propose\" if input.facts.danger",
		"base by a fact, default":           "default base := \"execute\"\n\nbase := \"propose\" if input.facts.danger",
		"base by an argument":               "default base := \"execute\"\n\nbase := \"propose\" if input.action.arguments.n > 5",
		"base by the tool":                  "default base := \"execute\"\n\nbase := \"propose\" if input.action.tool == \"a\"",
		"base by a setting":                 "default base := \"execute\"\n\nbase := \"propose\" if input.state.settings.n > 5",
		"base by the time":                  "default base := \"execute\"\n\nbase := \"propose\" if input.now > 5",
		"modifier by a fact beside another": plainBase + "\n\nmodifiers contains {\"name\": \"m\"} if input.consequence.reversibility == \"costly\"\n\nmodifiers contains {\"name\": \"m\"} if input.facts.danger",
	} {
		t.Run(name, func(t *testing.T) {
			p, problems := load(map[string]string{rego.Severity: body}, tree{})
			if p != nil {
				_, problems = floors.EnumerateSeverity(p, engine.Propose)
			}
			if len(problems) == 0 {
				t.Errorf("got no problem, want one: the table does not have what the rule says, for\n%s", body)
			}
		})
	}
}

func TestModifiersOfAnotherKindAreAProblem(t *testing.T) {
	for name, body := range map[string]string{
		"a text":    plainBase + "\n\nmodifiers := \"m\" if input.flags.low_confidence",
		"an object": plainBase + "\n\nmodifiers[\"name\"] := \"m\" if input.flags.low_confidence",
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if r := recover(); r != nil {
					t.Errorf("got panic %v, want a problem", r)
				}
			}()
			if _, problems := severity(t, body, engine.Propose); len(problems) == 0 {
				t.Errorf("got no problem, want one, for\n%s", body)
			}
		})
	}
}

func transitions(t testing.TB, body string) (*floors.Transitions, []rego.Problem) {
	t.Helper()
	return floors.EnumerateTransitions(mustLoad(t, map[string]string{rego.Transition: body}, tree{}))
}

func TestTransitionsAgreeWithTheRule(t *testing.T) {
	table, problems := transitions(t, `next := {"transition": "switch"} if {
	input.flags.cause == "ineligible"
	input.flags.other_component
}

next := {"transition": "retry"} if {
	input.flags.cause in {"context", "failure"}
	input.flags.retry_left
	input.flags.recoverable
}

next := {"transition": "stop"} if {
	input.flags.cause == "failure"
	input.flags.high_consequence
}

next := {"transition": "escalate"} if {
	input.flags.cause == "review_due"
	input.flags.can_ask
}`)
	if len(problems) > 0 {
		t.Fatalf("got problems %v, want none: rows without an answer are the engine's to clamp", problems)
	}
	defined := 0
	for _, c := range engine.Causes() {
		for i := range engine.NumFlags {
			f := engine.FlagsAt(i)
			want, ok := engine.Stop, false
			switch {
			case c == engine.Ineligible && f.OtherComponent:
				want, ok = engine.Switch, true
			case c == engine.FailureOpen && f.RetryLeft && f.Recoverable && f.HighConsequence: // in conflict
			case (c == engine.StaleContext || c == engine.FailureOpen) && f.RetryLeft && f.Recoverable:
				want, ok = engine.Retry, true
			case c == engine.FailureOpen && f.HighConsequence:
				want, ok = engine.Stop, true
			case c == engine.ReviewDue && f.CanAsk:
				want, ok = engine.Escalate, true
			}
			if got, gotOK := table.Next(c, f); got != want || gotOK != ok {
				t.Errorf("%s, %+v: got %v, %v, want %v, %v", c, f, got, gotOK, want, ok)
			}
			if ok {
				defined++
			}
		}
	}
	if defined == 0 || defined == len(engine.Causes())*engine.NumFlags {
		t.Errorf("got %d defined rows, want some and not all", defined)
	}
	for _, c := range []engine.Cause{engine.NoCause, engine.ReviewDue + 1, 255} {
		if got, ok := table.Next(c, engine.Flags{}); ok || got != engine.Stop {
			t.Errorf("cause %d: got %v, %v, want stop and not ok", c, got, ok)
		}
	}
}

func TestTransitionsThatRefuseTheBundle(t *testing.T) {
	for _, c := range []struct{ name, body, text string }{
		{"no transition", `next := {"transition": "stopp"}`, `unknown transition "stopp"`},
		{"a text", `next := "stop"`, `next must be {"transition": ...}, not stop`},
		{"another key", `next := {"next": "stop"}`, "next must be"},
		{"a key too many", `next := {"transition": "stop", "why": "x"}`, "next must be"},
		{"a number", `next := {"transition": 1}`, "next must be"},
		{"a set", `next contains "stop"`, "next must be"},
		{"in one row only", "next := {\"transition\": \"wait\"} if {\n\tinput.flags.cause == \"critic\"\n\tinput.flags.high_consequence\n\tnot input.flags.can_ask\n}", `for cause critic: unknown transition "wait"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, problems := transitions(t, c.body)
			if len(problems) != 1 || !has(problems, "rego_table", 3, c.text) || problems[0].File != "transition.rego" {
				t.Errorf("got %+v, want one rego_table with %q in transition.rego:3, for\n%s", problems, c.text, c.body)
			}
		})
	}
}

func TestEveryTransitionCanBeNamed(t *testing.T) {
	for next := engine.Stop; next <= engine.Act; next++ {
		table, problems := transitions(t, fmt.Sprintf(`next := {"transition": %q}`, next))
		if got, ok := table.Next(engine.OutOfScope, engine.Flags{}); len(problems) > 0 || got != next || !ok {
			t.Errorf("%s: got %v, %v, problems %v, want it", next, got, ok, problems)
		}
	}
}

func TestAProblemOfATableIsReportedOncePerRule(t *testing.T) {
	_, problems := severity(t, `base := "refuse"`+"\n\n"+strings.Repeat("# comment\n", 3)+`modifiers contains "m" if input.flags.low_confidence`, engine.Propose)
	if len(problems) != 2 {
		t.Errorf("got %+v, want one problem of base and one of modifiers", problems)
	}
}
