package bundle

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/policies"
)

// oracle is the severity table of the design, written a second time.
func oracle(c engine.Consequence, low bool) engine.Tier {
	order := []engine.Tier{engine.Execute, engine.ExecuteNotify, engine.Propose}
	grade := map[engine.Reversibility]int{engine.Reversible: 0, engine.Costly: 1, engine.Irreversible: 2}[c.Reversibility]
	row := map[engine.BlastRadius][]int{engine.TaskOnly: {0, 1, 2}, engine.RecordOnly: {0, 1, 2}, engine.SystemWide: {1, 2, 2}, engine.External: {2, 2, 2}}[c.BlastRadius]
	at := row[grade]
	for _, m := range []bool{c.DetectionLatency == engine.Unbounded, c.AbsorbedBy == engine.Customer || c.AbsorbedBy == engine.Regulator, low} {
		if m {
			at++
		}
	}
	return order[min(at, 2)]
}

// TestDefaultOracle: all 192 classes of the default bundle, decided whole: 12
// execute, 34 execute_notify, 146 propose at confidence 0.90; 0, 12, 180 at 0.50;
// never refuse.
func TestDefaultOracle(t *testing.T) {
	var text strings.Builder
	text.WriteString("tools:\n")
	var tools []engine.Consequence
	for c := range engine.Classes(engine.Declared) {
		r, _ := c.Property("reversibility")
		b, _ := c.Property("blast_radius")
		a, _ := c.Property("absorbed_by")
		l, _ := c.Property("detection_latency")
		fmt.Fprintf(&text, "  t%d: {reversibility: %s, blast_radius: %s, absorbed_by: %s, detection_latency: %s}\n", len(tools), r, b, a, l)
		tools = append(tools, c)
	}
	b := load(t, with(filesOf(t, "default"), registryFile, text.String()))
	for _, q := range []struct {
		confidence string
		low        bool
		want       map[engine.Tier]int
	}{
		{"0.9", false, map[engine.Tier]int{engine.Execute: 12, engine.ExecuteNotify: 34, engine.Propose: 146}},
		{"0.85", false, map[engine.Tier]int{engine.Execute: 12, engine.ExecuteNotify: 34, engine.Propose: 146}},
		{"0.5", true, map[engine.Tier]int{engine.ExecuteNotify: 12, engine.Propose: 180}},
	} {
		got := map[engine.Tier]int{}
		for i, c := range tools {
			a := decode(t, fmt.Sprintf(`{"trace_id":"t","call_id":"c","tool":"t%d","arguments":{},"confidence":%s}`, i, q.confidence))
			d := engine.Decide(t.Context(), b, inputOf(b, a))
			got[d.Tier]++
			if want := oracle(c, q.low); d.Tier != want || d.Consequence != c {
				t.Errorf("%+v at %s: tier %s, want %s", c, q.confidence, d.Tier, want)
			}
			if d.Permit != (d.Tier.Boundary() == engine.AllowCall) {
				t.Errorf("%+v at %s: tier %s, permit %v", c, q.confidence, d.Tier, d.Permit)
			}
		}
		if !reflect.DeepEqual(got, q.want) {
			t.Errorf("confidence %s: %v, want %v", q.confidence, got, q.want)
		}
	}
}

// TestShippedTables: no bundle that ships has a refuse in its table, loosens at
// low confidence, or leaves one of the 384 rows of transitions open.
func TestShippedTables(t *testing.T) {
	for _, name := range policies.Names() {
		b := shipped(t, name)
		for src := range 4 {
			for c := range engine.Classes(engine.Source(src)) {
				tier, why := b.Base(c)
				if tier == engine.Refuse || why.Rule.File == "" {
					t.Errorf("%s: base of %+v is %s by %v", name, c, tier, why.Rule)
				}
				high, low := b.Modifiers(c, false), b.Modifiers(c, true)
				if len(high) != len(low) {
					t.Errorf("%s: %d and %d modifiers of %+v", name, len(high), len(low), c)
				}
				for i := range high {
					if high[i].Holds && !low[i].Holds {
						t.Errorf("%s: %s of %+v is lost at low confidence", name, high[i].Name, c)
					}
				}
			}
		}
		for _, cause := range engine.Causes() {
			for i := range engine.NumFlags {
				if next, ok := b.Next(cause, engine.FlagsAt(i)); !ok || next == engine.Act || next == engine.ExecuteComponent {
					t.Errorf("%s: after %s with %+v: %s, %v", name, cause, engine.FlagsAt(i), next, ok)
				}
			}
		}
		if b.Bump() != 1 || b.Cap() != engine.Propose || b.Undeclared() != engine.Refuse || b.InferredFloor() != engine.Propose {
			t.Errorf("%s: bump %d, cap %s, undeclared %s, inferred %s", name, b.Bump(), b.Cap(), b.Undeclared(), b.InferredFloor())
		}
	}
}

// TestUndeclaredToolIsNeverAllowed: for every bundle that ships, whatever the
// call says of itself.
func TestUndeclaredToolIsNeverAllowed(t *testing.T) {
	bundles := map[string]*Bundle{"small with propose": load(t, with(small(t), registryFile, smallRegistry+"undeclared: propose\n"))}
	for _, name := range policies.Names() {
		bundles[name] = shipped(t, name)
	}
	for name, b := range bundles {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				tool := rapid.OneOf(rapid.StringMatching(`[ -~]{1,20}`), rapid.SampledFrom(variants(b.Tools()))).Draw(t, "tool")
				if _, declared := b.Tool(tool); declared {
					return
				}
				confidence := 1.0
				in := engine.Input{Action: engine.Action{TraceID: "t", CallID: "c", Tool: tool, Confidence: &confidence, Arguments: map[string]any{"to": "a"},
					Document: map[string]any{"trace_id": "t", "call_id": "c", "tool": tool, "arguments": map[string]any{"to": "a"}}}, State: b.Start(), Now: noon}
				d := engine.Decide(context.Background(), b, in)
				if d.Permit || d.Outcome == engine.Allow || d.Boundary == engine.AllowCall || d.Consequence != (engine.Consequence{}) {
					t.Fatalf("tool %q: %s, %s, %+v", tool, d.Outcome, d.Boundary, d.Consequence)
				}
				if b.Undeclared() == engine.Refuse && (d.Tier != engine.Refuse || d.Outcome != engine.Block) {
					t.Fatalf("tool %q: tier %s, outcome %s", tool, d.Tier, d.Outcome)
				}
			})
		})
	}
}

// variants are names near the declared ones.
func variants(tools []string) []string {
	out := []string{"x"}
	for _, t := range tools {
		out = append(out, strings.ToUpper(t), t+" ", " "+t, t+"2", t[1:]+"x", strings.ReplaceAll(t, "_", "-"))
	}
	return out
}

// itsmActions are the three actions of the blocked run.
func itsmActions(t testing.TB) []engine.Action {
	t.Helper()
	var out []engine.Action
	for _, l := range lines(t, "../testdata/itsm/blocked.jsonl") {
		out = append(out, decode(t, l))
	}
	if len(out) != 3 {
		t.Fatalf("%d actions, want 3", len(out))
	}
	return out
}

// TestConcurrentUse: one bundle used by 16 goroutines gives the decisions that
// it gives alone. It is of use with -race.
func TestConcurrentUse(t *testing.T) {
	rules := `g := {"verdict": "pass", "reasons": []} if count(input.action.arguments) > 0`
	f := filesOf(t, "itsm")
	f = with(f, gatesFile, "package conjunct.gates\n\n"+rules+"\n", contractFile, strings.Replace(string(f.Content[contractFile]), "gates:\n  CONTEXT", "gates:\n  g: {}\n  CONTEXT", 1),
		floorsFile, string(f.Content[floorsFile])+"\nfloors contains {\"name\": \"odd\", \"tier\": \"propose\"} if count(input.action.trace_id) > 100\n")
	b := load(t, f)
	if native, total, others := b.Native(); native != 1 || total != 2 {
		t.Fatalf("%d of %d floors are native, want 1 of 2: %v", native, total, others)
	}
	inputs := []engine.Input{}
	for _, a := range append(itsmActions(t), propose(t, "email_customer", `{"to":"pat@wrong.example","body":"x"}`), propose(t, "none", `{}`)) {
		inputs = append(inputs, inputOf(b, a))
	}
	want := make([]engine.Decision, len(inputs))
	for i, in := range inputs {
		want[i] = engine.Decide(t.Context(), b, in)
	}
	var all sync.WaitGroup
	for g := range 16 {
		all.Go(func() {
			for n := range 20 {
				i := (g + n) % len(inputs)
				if got := engine.Decide(t.Context(), b, inputs[i]); !reflect.DeepEqual(got, want[i]) {
					t.Errorf("goroutine %d: another decision on %s: %s, want %s", g, inputs[i].Action.Tool, got.Reason, want[i].Reason)
					return
				}
				if may, _ := b.May(t.Context(), engine.AuthorityRequest{Op: engine.OpReview, By: engine.Identity{Role: "service-desk-lead", Qualified: true}}); !may {
					t.Errorf("goroutine %d: a lead may not review", g)
				}
			}
		})
	}
	all.Wait()
}

// TestLoadTwiceDecidesEqual: loading is deterministic, down to the decisions.
func TestLoadTwiceDecidesEqual(t *testing.T) {
	for _, name := range policies.Names() {
		a, b := shipped(t, name), shipped(t, name)
		if a.Bundle() != b.Bundle() || !slices.Equal(a.Tools(), b.Tools()) || !slices.Equal(a.GateNames(), b.GateNames()) || !reflect.DeepEqual(a.FloorRules(), b.FloorRules()) {
			t.Errorf("%s: two loads differ", name)
		}
		for _, tool := range append(a.Tools(), "undeclared") {
			in := inputOf(a, propose(t, tool, `{"to":"x"}`))
			if x, y := engine.Decide(t.Context(), a, in), engine.Decide(t.Context(), b, in); !reflect.DeepEqual(x, y) {
				t.Errorf("%s: two decisions on %s differ: %s and %s", name, tool, x.Reason, y.Reason)
			}
		}
	}
}

// TestDecisionIsTheSameAtAnyStorage: what decides is in the digest, so equal
// digests decide equally, the moved file included.
func TestDecisionIsTheSameAtAnyStorage(t *testing.T) {
	f := filesOf(t, "itsm")
	a := load(t, f)
	b := load(t, with(merge(t, f, "data.json"), floorsFile, "", "z/floors.rego", string(f.Content[floorsFile])))
	for _, action := range itsmActions(t) {
		x, y := engine.Decide(t.Context(), a, inputOf(a, action)), engine.Decide(t.Context(), b, inputOf(b, action))
		if !reflect.DeepEqual(x, y) {
			t.Errorf("%s: %+v and %+v", action.Tool, x, y)
		}
	}
}
