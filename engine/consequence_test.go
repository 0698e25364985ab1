package engine

import (
	"fmt"
	"slices"
	"testing"
)

func TestClassesYieldsEveryClassOnce(t *testing.T) {
	seen := map[int]Consequence{}
	for c := range Classes(Inferred) {
		if other, twice := seen[c.Class()]; twice {
			t.Errorf("Class() of %v and %v are both %d", c, other, c.Class())
		}
		if c.Class() < 0 || c.Class() >= NumClasses || c.Source != Inferred {
			t.Errorf("%v: class %d, source %v: want 0..%d and inferred", c, c.Class(), c.Source, NumClasses-1)
		}
		seen[c.Class()] = c
	}
	if len(seen) != 192 || NumClasses != 192 {
		t.Errorf("got %d classes (NumClasses %d), want 192", len(seen), NumClasses)
	}
	if got := (Consequence{}).Class(); got != 0 {
		t.Errorf("class of the zero consequence = %d, want 0, the worst", got)
	}
	n := 0
	for range Classes(Declared) {
		if n++; n == 3 {
			break
		}
	}
	if n != 3 {
		t.Errorf("a loop that stops after 3 classes saw %d", n)
	}
}

func TestThePropertiesAndSourcesAreThoseOfTheDesign(t *testing.T) {
	want := map[string][]string{
		"reversibility":     {"irreversible", "costly", "reversible"},
		"blast_radius":      {"external", "system", "record", "task"},
		"absorbed_by":       {"regulator", "customer", "operator", "agent"},
		"detection_latency": {"unbounded", "days", "hours", "immediate"},
	}
	if got := Properties(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("Properties() = %v, want %v", got, want)
	}
	if got := Sources(); !slices.Equal(got, []string{"undeclared", "policy", "inferred", "declared"}) {
		t.Errorf("Sources() = %v", got)
	}
}

func TestPropertyAndDocumentOfAConsequenceAgree(t *testing.T) {
	for c := range Classes(Declared) {
		doc := c.Document()
		if len(doc) != 5 {
			t.Fatalf("Document() of %v has %d members, want 5", c, len(doc))
		}
		for name, want := range doc {
			if got, ok := c.Property(name); !ok || got != want {
				t.Errorf("%v.Property(%q) = %q, %v: want %q", c, name, got, ok, want)
			}
		}
	}
	want := map[string]any{"reversibility": "costly", "blast_radius": "record", "absorbed_by": "operator", "detection_latency": "hours", "source": "declared"}
	if got := (Consequence{Costly, RecordOnly, Operator, Hours, Declared}).Document(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("Document() = %v, want %v", got, want)
	}
	if got, ok := (Consequence{}).Property("severity"); ok || got != "" {
		t.Errorf(`Property("severity") = %q, %v: want nothing`, got, ok)
	}
}

// grades is a consequence as five numbers, so that two can be compared without
// the engine's help.
func grades(c Consequence) [5]int {
	return [5]int{int(c.Reversibility), int(c.BlastRadius), int(c.AbsorbedBy), int(c.DetectionLatency), int(c.Source)}
}

func TestRaisedNeverLowersAndSaysWhetherItChangedAnything(t *testing.T) {
	position := map[string]int{"reversibility": 0, "blast_radius": 1, "absorbed_by": 2, "detection_latency": 3}
	for _, source := range []Source{Undeclared, FromPolicy, Inferred, Declared} {
		for c := range Classes(source) {
			for property, values := range Properties() {
				for grade, value := range values {
					got, changed := c.Raised(Raise{Property: property, Value: value})
					want := grades(c)
					if at := position[property]; grade < want[at] {
						want[at] = grade
						want[4] = min(want[4], int(FromPolicy))
					}
					if grades(got) != want || changed != (got != c) {
						t.Fatalf("%v.Raised(%s, %s) = %v, %v: want grades %v", c, property, value, got, changed, want)
					}
				}
			}
		}
	}
}

func TestARaiseThatCannotBeReadMakesEveryPropertyTheWorst(t *testing.T) {
	mild := Consequence{Reversible, TaskOnly, AgentItself, Immediate, Declared}
	for _, r := range []Raise{
		{}, {Property: "source", Value: "declared"}, {Property: "severity", Value: "high"},
		{Property: "reversibility"}, {Property: "reversibility", Value: "task"}, {Property: "blast_radius", Value: "reversible"},
		{Property: "absorbed_by", Value: "nobody"}, {Property: "detection_latency", Value: "never"}, {Property: "Reversibility", Value: "costly"},
	} {
		if got, changed := mild.Raised(r); got != (Consequence{Source: FromPolicy}) || !changed {
			t.Errorf("Raised(%+v) = %v, %v: want the worst of everything", r, got, changed)
		}
		if got, changed := (Consequence{}).Raised(r); got != (Consequence{}) || changed {
			t.Errorf("Raised(%+v) of the worst = %v, changed %v: want no change", r, got, changed)
		}
	}
}

func TestADecisionCarriesTheRaisedConsequenceAndWhy(t *testing.T) {
	p := newFake()
	p.addGate("looker", Pass, ByNobody, ByNobody)
	p.raises = []Raise{
		{Property: "blast_radius", Value: "record", Reason: Reason{Code: "raised_radius"}},
		{Property: "blast_radius", Value: "task", Reason: Reason{Code: "raise_to_milder"}},
		{Property: "reversibility", Value: "costly", Reason: Reason{Code: "raised_cost"}, Cut: "timeout"},
	}
	in := call(p, toolNote)
	in.Consequence = Consequence{Reversible, TaskOnly, AgentItself, Immediate, Declared} // never read from the caller
	d := decide(p, in)
	want := Consequence{Costly, RecordOnly, AgentItself, Immediate, FromPolicy}
	if d.Consequence != want || p.saw.Consequence != want {
		t.Errorf("consequence = %v, gates saw %v: want %v", d.Consequence, p.saw.Consequence, want)
	}
	if got := codes(d.Reasons); !slices.Equal(got, []string{"raised_radius", "raised_cost", "base_tier"}) {
		t.Errorf("reasons = %v, want the two raises that changed something, then the base tier", got)
	}
	if !slices.Equal(d.Imposed, []Imposed{{Gate: "raise/reversibility", Code: "timeout"}}) {
		t.Errorf("imposed = %v, want the raise that was cut short", d.Imposed)
	}
	if d.BaseTier != ExecuteNotify || d.Tier != ExecuteNotify {
		t.Errorf("tiers = %v, %v: want execute_notify, from the raised consequence", d.BaseTier, d.Tier)
	}
}

func TestAnUnreadableRaiseOfADeclaredToolIsSaidToComeFromPolicy(t *testing.T) {
	p := newFake()
	p.raises = []Raise{{Property: "nonsense", Reason: Reason{Code: "raise_unreadable"}}}
	if d := decide(p, call(p, toolNote)); d.Consequence.Source != FromPolicy {
		t.Errorf("source = %v, want policy: the registry declares the tool (%s)", d.Consequence.Source, d.Reason)
	}
}
