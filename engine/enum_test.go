package engine

import (
	"encoding"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// enumeration is one enumeration under test: its texts in order of value, the
// way to parse one, and the way to print a value.
type enumeration struct {
	name  string
	texts []string // strictest first
	parse func(text string, before uint8) (uint8, error)
	print func(uint8) string // nil where the type has no String
	mars  func(uint8) ([]byte, error)
}

// enum describes an enumeration that prints, parses and marshals.
func enum[T ~uint8, P interface {
	*T
	encoding.TextUnmarshaler
}](name string, texts ...string) enumeration {
	e := enumeration{name: name, texts: texts}
	e.parse = func(text string, before uint8) (uint8, error) {
		v := T(before)
		err := P(&v).UnmarshalText([]byte(text))
		return uint8(v), err
	}
	var zero T
	if _, ok := any(zero).(fmt.Stringer); ok {
		e.print = func(i uint8) string { return any(T(i)).(fmt.Stringer).String() }
	}
	if _, ok := any(zero).(encoding.TextMarshaler); ok {
		e.mars = func(i uint8) ([]byte, error) { return any(T(i)).(encoding.TextMarshaler).MarshalText() }
	}
	return e
}

func enumerations() []enumeration {
	return []enumeration{
		enum[Tier]("tier", "refuse", "propose", "execute_notify", "execute"),
		enum[Boundary]("boundary", "deny", "require_review", "allow"),
		enum[Verdict]("verdict", "unknown", "fail", "not_applicable", "pass"),
		enum[Transition]("transition", "stop", "defer", "escalate", "verify", "retry", "switch", "execute", "act"),
		enum[Outcome]("outcome", "block", "review", "allow"),
		enum[Resolution]("resolution", "block", "review"),
		enum[Reversibility]("reversibility", "irreversible", "costly", "reversible"),
		enum[BlastRadius]("blast_radius", "external", "system", "record", "task"),
		enum[AbsorbedBy]("absorbed_by", "regulator", "customer", "operator", "agent"),
		enum[DetectionLatency]("detection_latency", "unbounded", "days", "hours", "immediate"),
		enum[Source]("source", "undeclared", "policy", "inferred", "declared"),
		enum[Effect]("effect", "write", "read"),
		enum[Cause]("cause", "none", "out_of_scope", "ineligible", "deadline_past", "context", "evidence",
			"own_block", "own_review", "failure", "rejected", "structure", "critic", "review_due"),
		enum[RequestStatus]("review outcome", "none", "pending", "approved", "rejected", "timed_out", "returned", "confirmed", "compensated", "acknowledged"),
		enum[Op]("op", "none", "change", "settings", "evidence", "failure", "engage", "attempt", "review",
			"clear", "confirm", "compensate", "acknowledge", "result", "activate", "checkpoint", "reexamine"),
		enum[ReviewOutcome]("review outcome", "none", "approve", "reject", "return", "revoke"),
		enum[ResultStatus]("result", "none", "ok", "error", "not_run"),
		enum[Binding]("binding", "pins", "bundle", "facts", "evidence", "suspicion"),
		enum[Expiry]("expiry", "final", "derived"),
		enum[QueueRule]("queue", "counted", "setting"),
		enum[CallRule]("calls", "once", "decide_anew"),
	}
}

func TestEveryTextOfAnEnumerationRoundTripsAndStrictestIsZero(t *testing.T) {
	for _, e := range enumerations() {
		for want, text := range e.texts {
			got, err := e.parse(text, 255)
			if err != nil || int(got) != want {
				t.Errorf("%s: UnmarshalText(%q) = %d, %v: want %d, no error", e.name, text, got, err, want)
			}
			if e.print != nil && e.print(got) != text {
				t.Errorf("%s: String() of %d = %q, want %q", e.name, got, e.print(got), text)
			}
			if e.mars == nil {
				continue
			}
			if b, err := e.mars(got); err != nil || string(b) != text {
				t.Errorf("%s: MarshalText() of %d = %q, %v: want %q", e.name, got, b, err, text)
			}
		}
	}
}

func TestUnknownTextOfAnEnumerationIsAnErrorAndTheStrictestValue(t *testing.T) {
	for _, e := range enumerations() {
		for _, text := range []string{"", " ", "nonsense-that-is-near-nothing", strings.ToUpper(e.texts[1]), e.texts[1] + " ", e.texts[1] + "\x00", "invalid(9)"} {
			for _, before := range []uint8{0, 1, 255} {
				got, err := e.parse(text, before)
				if err == nil {
					t.Errorf("%s: UnmarshalText(%q) gave no error", e.name, text)
				}
				if got != 0 && got != before {
					t.Errorf("%s: UnmarshalText(%q) over %d left %d, want 0 or the value that was there", e.name, text, before, got)
				}
			}
		}
	}
}

func TestUnknownTextOfAnEnumerationIsExplained(t *testing.T) {
	for _, e := range enumerations() {
		text := e.texts[1][:len(e.texts[1])-1] + "*"
		_, err := e.parse(text, 0)
		if want := fmt.Sprintf("unknown %s %q: did you mean %q?", e.name, text, e.texts[1]); err == nil || err.Error() != want {
			t.Errorf("%s: UnmarshalText(%q): got error %v, want %s", e.name, text, err, want)
		}
		_, err = e.parse("zzzzzzzzzzzzzzzzzzzzzz", 0)
		if want := "want one of " + strings.Join(e.texts, ", "); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: UnmarshalText of something near nothing: got error %v, want it to end in %q", e.name, err, want)
		}
	}
}

func TestAValueOutsideAnEnumerationPrintsAsInvalid(t *testing.T) {
	for _, e := range enumerations() {
		for _, v := range []uint8{uint8(len(e.texts)), 200, 255} {
			want := fmt.Sprintf("invalid(%d)", v)
			if e.print != nil && e.print(v) != want {
				t.Errorf("%s: String() of %d = %q, want %q", e.name, v, e.print(v), want)
			}
		}
	}
}

func TestArgumentTypesRoundTripAndNoneIsNotATextOfARegistry(t *testing.T) {
	want := []string{"string", "number", "integer", "boolean", "array", "object", "any"}
	if got := ArgumentTypes(); !slices.Equal(got, want) {
		t.Fatalf("ArgumentTypes() = %v, want %v", got, want)
	}
	for i, text := range want {
		var got ArgumentType
		if err := got.UnmarshalText([]byte(text)); err != nil || got != ArgumentType(i+1) || got.String() != text {
			t.Errorf("UnmarshalText(%q) = %v, %v: want %v", text, got, err, ArgumentType(i+1))
		}
	}
	for _, text := range []string{"none", "", "String", "int"} {
		var got ArgumentType
		if err := got.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("UnmarshalText(%q) = %v without error, want an error", text, got)
		}
	}
	var near ArgumentType
	if err := near.UnmarshalText([]byte("strnig")); err == nil || !strings.Contains(err.Error(), `did you mean "string"?`) {
		t.Errorf(`UnmarshalText("strnig"): got error %v, want a hint at "string"`, err)
	}
}

func TestUnknownArgumentTypeLeavesTheTypeThatMatchesNothing(t *testing.T) {
	for _, before := range []ArgumentType{NoType, ObjectType} {
		got := before
		if err := got.UnmarshalText([]byte("nonsense")); err == nil || got != NoType && got != before {
			t.Errorf("UnmarshalText(nonsense) over %v = %v, %v: want an error and none", before, got, err)
		}
	}
}

func TestBoundaryOfATier(t *testing.T) {
	for _, c := range []struct {
		tier Tier
		want Boundary
	}{{Refuse, Deny}, {Propose, RequireReview}, {ExecuteNotify, AllowCall}, {Execute, AllowCall}, {4, Deny}, {99, Deny}, {255, Deny}} {
		if got := c.tier.Boundary(); got != c.want {
			t.Errorf("%v.Boundary() = %v, want %v", c.tier, got, c.want)
		}
	}
}

func TestStricterThanOrdersTiers(t *testing.T) {
	order := []Tier{Refuse, Propose, ExecuteNotify, Execute}
	for i, a := range order {
		for k, b := range order {
			if got, want := a.StricterThan(b), i < k; got != want {
				t.Errorf("%v.StricterThan(%v) = %v, want %v", a, b, got, want)
			}
		}
	}
}

func TestOnlyPassAndNotApplicableAreNoObstacle(t *testing.T) {
	for v, want := range map[Verdict]bool{Unknown: false, Fail: false, NotApplicable: true, Pass: true, 4: false, 200: false} {
		if got := v.holds(); got != want {
			t.Errorf("%v.holds() = %v, want %v", v, got, want)
		}
	}
}

func TestCausesAreTheDefaultPriorityWithoutNone(t *testing.T) {
	want := []string{"out_of_scope", "ineligible", "deadline_past", "context", "evidence", "own_block", "own_review",
		"failure", "rejected", "structure", "critic", "review_due"}
	var got []string
	for _, c := range Causes() {
		got = append(got, c.String())
	}
	if !slices.Equal(got, want) {
		t.Errorf("Causes() = %v, want %v", got, want)
	}
}

func TestNamesThatOtherRoomsRelyOn(t *testing.T) {
	if got, want := StandardGates(), []string{"BOUNDS", "CONTEXT", "EVIDENCE", "ELIGIBILITY", "SUPERVISION", "RESOLUTION"}; !slices.Equal(got, want) {
		t.Errorf("StandardGates() = %v, want %v", got, want)
	}
	if got, want := Ops(), []string{"change", "settings", "evidence", "failure", "engage", "review", "clear", "confirm",
		"compensate", "acknowledge", "result", "activate", "checkpoint"}; !slices.Equal(got, want) {
		t.Errorf("Ops() = %v, want %v", got, want)
	}
	if got, want := RejectionCodes(), []string{"wrong_target", "wrong_timing", "insufficient_context", "policy_violation", "other"}; !slices.Equal(got, want) {
		t.Errorf("RejectionCodes() = %v, want %v", got, want)
	}
	if got := FloorGate("x"); got != "floors/x" {
		t.Errorf(`FloorGate("x") = %q, want "floors/x"`, got)
	}
	if got := RaiseGate("x"); got != "raise/x" {
		t.Errorf(`RaiseGate("x") = %q, want "raise/x"`, got)
	}
}

func TestFlagsIndexIsDenseAndHasAnInverse(t *testing.T) {
	for i := range NumFlags {
		if got := FlagsAt(i).Index(); got != i {
			t.Errorf("FlagsAt(%d).Index() = %d, want %d", i, got, i)
		}
	}
	want := map[string]any{"cause": "failure", "retry_left": true, "recoverable": false, "other_component": true, "can_ask": false, "high_consequence": true}
	got := Flags{RetryLeft: true, OtherComponent: true, HighConsequence: true}.Document(FailureOpen)
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("Document(failure) = %v, want %v", got, want)
	}
	for i := range 5 { // each flag stands for itself
		doc := FlagsAt(1 << i).Document(NoCause)
		held := 0
		for _, v := range doc {
			if v == true {
				held++
			}
		}
		if key := []string{"retry_left", "recoverable", "other_component", "can_ask", "high_consequence"}[i]; held != 1 || doc[key] != true {
			t.Errorf("FlagsAt(%d).Document() = %v, want only %s to be true", 1<<i, doc, key)
		}
	}
}
