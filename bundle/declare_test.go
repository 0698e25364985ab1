package bundle

import (
	"bytes"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/conjunct-project/conjunct/engine"
)

func refund() engine.Tool {
	return engine.Tool{Name: "refund", Cost: 0.4, Idempotent: true,
		Consequence: engine.Consequence{Reversibility: engine.Costly, BlastRadius: engine.RecordOnly, AbsorbedBy: engine.Operator, DetectionLatency: engine.Hours},
		Arguments:   map[string]engine.Argument{"order": {Type: engine.StringType, Required: true}, "amount": {Type: engine.NumberType, Required: true}, "note": {Type: engine.StringType}},
		ReadOnly:    []string{"note"}}
}

func mustTools(t *testing.T, b *Bundle, tools ...engine.Tool) *Bundle {
	t.Helper()
	next, err := Load(b.files, tools...)
	if err != nil {
		t.Fatal(err)
	}
	return next
}

func TestADeclaredToolIsRegistryData(t *testing.T) {
	b := shipped(t, "itsm")
	next := mustTools(t, b, refund())
	got, ok := next.Tool("refund")
	want := refund()
	want.Consequence.Source = engine.Declared
	if !ok || !reflect.DeepEqual(got, want) {
		t.Errorf("the registry has %+v, want %+v", got, want)
	}
	if _, there := b.Tool("refund"); there {
		t.Error("the first bundle changed")
	}
	if next.Bundle().Digest == b.Bundle().Digest {
		t.Error("the digest does not cover the tool")
	}
	if len(next.Tools()) != len(b.Tools())+1 {
		t.Errorf("%v, want one more than %v", next.Tools(), b.Tools())
	}
	var tarball bytes.Buffer
	if err := next.WriteTarball(&tarball); err != nil {
		t.Fatal(err)
	}
	files, err := FromTarball(&tarball, "b.tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	back, err := Load(files)
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := back.Tool("refund"); back.Bundle() != next.Bundle() || !reflect.DeepEqual(again, want) {
		t.Errorf("reads back as %v with %+v, want %v", back.Bundle(), again, next.Bundle())
	}
}

func TestTheOrderAndTheNumberOfDeclarationsDoNotMatter(t *testing.T) {
	b := shipped(t, "itsm")
	other := engine.Tool{Name: "look", Consequence: engine.Consequence{Reversibility: engine.Reversible, BlastRadius: engine.TaskOnly, AbsorbedBy: engine.AgentItself, DetectionLatency: engine.Immediate}, Effect: engine.Read}
	at := mustTools(t, b, refund(), other)
	for name, next := range map[string]*Bundle{
		"the other way round": mustTools(t, b, other, refund()),
		"one after the other": mustTools(t, mustTools(t, b, other), refund()),
		"twice the same":      mustTools(t, mustTools(t, b, refund(), other, refund()), other),
	} {
		if next.Bundle() != at.Bundle() {
			t.Errorf("%s: %v, want %v", name, next.Bundle(), at.Bundle())
		}
	}
	if same := mustTools(t, b); same.Bundle() != b.Bundle() {
		t.Errorf("no tools: %v, want %v", same.Bundle(), b.Bundle())
	}
}

func TestWhatTheBundleDeclaresMayBeDeclaredAgainAndNotOtherwise(t *testing.T) {
	b := shipped(t, "itsm")
	for _, name := range b.Tools() {
		tool, _ := b.Tool(name)
		if same := mustTools(t, b, tool); same.Bundle() != b.Bundle() {
			t.Errorf("%s declared as it is gives another bundle", name)
		}
		milder := tool
		milder.Cost++
		if _, err := Load(b.files, milder); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s with another cost: %v", name, err)
		}
	}
	conflicting := refund()
	conflicting.Consequence.Reversibility = engine.Reversible
	if _, err := Load(b.files, refund(), conflicting); err == nil {
		t.Error("two declarations of one tool in one call that conflict are taken")
	}
	if _, err := Load(mustTools(t, b, refund()).files, conflicting); err == nil {
		t.Error("a later declaration that conflicts is taken")
	}
}

// TestRulesMaySpeakOfToolsThatAProgramDeclares loads a floor and a gate that
// know the tool: alone the files do not load, since it would be a misspelling.
func TestRulesMaySpeakOfToolsThatAProgramDeclares(t *testing.T) {
	files := Files{Path: "shop", Content: maps.Clone(shipped(t, "default").files.Content)}
	files.Content["conjunct/floors/refunds.rego"] = []byte(`package conjunct.floors

floors contains {"name": "large-refund", "tier": "propose"} if {
	input.action.tool == "refund"
	input.action.arguments.amount > 100
}
`)
	files.Content["conjunct/cel/data.yaml"] = []byte("gates:\n  - {name: order, match: {tools: [refund]}, expression: \"args.order != ''\", message: no order}\n")
	if _, err := Load(files); err == nil {
		t.Error("rules about a tool that nobody declares load")
	}
	b, err := Load(files, refund())
	if err != nil {
		t.Fatal(err)
	}
	if got := b.FloorNames(); !slices.Contains(got, "large-refund") {
		t.Errorf("floors %v", got)
	}
	without := refund()
	delete(without.Arguments, "amount")
	if _, err := Load(files, without); err == nil {
		t.Error("a floor that reads an argument which the declared tool does not take loads")
	}
}

func TestAToolOfNothingIsTheWorst(t *testing.T) {
	got, _ := mustTools(t, shipped(t, "itsm"), engine.Tool{Name: "x"}).Tool("x")
	if want := (engine.Consequence{Source: engine.Declared}); got.Consequence != want || got.Effect != engine.Write || got.Idempotent || got.Arguments != nil {
		t.Errorf("got %+v, want the worst in every property", got)
	}
}

func TestDeclarationsThatDoNotFitAreRefused(t *testing.T) {
	b := shipped(t, "itsm")
	for name, change := range map[string]func(*engine.Tool){
		"no name":                        func(t *engine.Tool) { t.Name = "" },
		"a negative cost":                func(t *engine.Tool) { t.Cost = -1 },
		"a source that is never written": func(t *engine.Tool) { t.Consequence.Source = engine.FromPolicy },
		"an unknown read-only argument":  func(t *engine.Tool) { t.ReadOnly = []string{"nobody"} },
		"an argument of no type":         func(t *engine.Tool) { t.Arguments["order"] = engine.Argument{} },
		"evidence that nobody defines":   func(t *engine.Tool) { t.Requires.Evidence = []string{"nobody"} },
	} {
		tool := refund()
		change(&tool)
		next, err := Load(b.files, tool)
		var load *LoadError
		if err == nil || next != nil || !errors.As(err, &load) {
			t.Errorf("%s: %v, want a load error", name, err)
		}
	}
}

// TestNothingThatIsDeclaredIsSilentlyLost fills every field of a tool, one at a
// time: the registry keeps it, or the declaration is refused.
func TestNothingThatIsDeclaredIsSilentlyLost(t *testing.T) {
	b := shipped(t, "clinical")
	evidence := slices.Sorted(maps.Keys(b.Contract().Evidence))
	kept := 0
	tools := map[string]func(*engine.Tool){
		"Cost":       func(t *engine.Tool) { t.Cost = 2.5 },
		"Effect":     func(t *engine.Tool) { t.Effect = engine.Read },
		"Idempotent": func(t *engine.Tool) { t.Idempotent = true },
		"Arguments": func(t *engine.Tool) {
			t.Arguments = map[string]engine.Argument{"p": {Type: engine.StringType, Required: true, Kind: engine.PathKind}}
		},
		"ReadOnly": func(t *engine.Tool) {
			t.Arguments = map[string]engine.Argument{"p": {Type: engine.StringType}}
			t.ReadOnly = []string{"p"}
		},
		"Requires":        func(t *engine.Tool) { t.Requires = engine.Requires{Component: true, Evidence: evidence} },
		"ForwardEffects":  func(t *engine.Tool) { t.ForwardEffects = new(2.0) },
		"RollbackEffects": func(t *engine.Tool) { t.RollbackEffects = new(0.0) },
		"Precondition":    func(t *engine.Tool) { t.Precondition = "key-held" },
		"Postcondition":   func(t *engine.Tool) { t.Postcondition = "key-rotated" },
		"Consequence": func(t *engine.Tool) {
			t.Consequence = engine.Consequence{Reversibility: engine.Costly, BlastRadius: engine.TaskOnly, AbsorbedBy: engine.Operator, DetectionLatency: engine.Days, Source: engine.Inferred}
		},
		"Name": func(*engine.Tool) {},
	}
	for field := range reflect.TypeFor[engine.Tool]().Fields() {
		fill, ok := tools[field.Name]
		if !ok {
			t.Errorf("a tool has a field %s that nobody tried to declare", field.Name)
			continue
		}
		want := engine.Tool{Name: "x", Consequence: engine.Consequence{Source: engine.Declared}}
		fill(&want)
		next, err := Load(b.files, want)
		if err != nil {
			t.Logf("%s: %v", field.Name, err)
			continue
		}
		kept++
		if got, _ := next.Tool("x"); !sameTool(got, want) {
			t.Errorf("%s is lost: got %+v, want %+v", field.Name, got, want)
		}
	}
	if kept < 8 {
		t.Errorf("only %d fields can be declared", kept)
	}
}
