package floors_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	oparego "github.com/open-policy-agent/opa/v1/rego"

	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/floors"
	"github.com/conjunct-project/conjunct/rego"
)

// manyFloors is a bundle of n floors as a reader would write them: one rule over
// data, or a rule each.
func manyFloors(n int, driven bool) (map[string]string, tree, *rego.Shape) {
	tools := make([]string, max(n/10, 3))
	for i := range tools {
		tools[i] = fmt.Sprintf("tool%d", i)
	}
	shape := floorShape()
	shape["action"].Fields["tool"] = rego.OneOf(tools...)
	radii, grades := engine.Properties()["blast_radius"], engine.Properties()["reversibility"]
	var list []any
	var text strings.Builder
	for i := range n {
		f := tree{"name": fmt.Sprintf("floor-%d", i), "tier": []string{"refuse", "propose"}[i%2], "tool": tools[i%len(tools)], "radius": radii[i%4], "grade": grades[i%3], "over": float64(i % 900)}
		list = append(list, f)
		fmt.Fprintf(&text, "floors contains {\"name\": %q, \"tier\": %q} if {\n\tinput.action.tool == %q\n\tinput.consequence.blast_radius == %q\n\tinput.consequence.reversibility == %q\n\tinput.action.arguments.amount > %d\n}\n\n",
			f["name"], f["tier"], f["tool"], f["radius"], f["grade"], i%900)
	}
	if driven {
		text.Reset()
		text.WriteString(`floors contains {"name": f.name, "tier": f.tier} if {
	some f in data.conjunct.scope.floors
	input.action.tool == f.tool
	input.consequence.blast_radius == f.radius
	input.consequence.reversibility == f.grade
	input.action.arguments.amount > f.over
}`)
	}
	return map[string]string{rego.Floors: text.String()}, tree{"floors": list}, rego.Object(shape)
}

func manyProgram(b testing.TB, n int, driven bool) (*rego.Program, rego.Source) {
	bodies, scope, shape := manyFloors(n, driven)
	src := rego.Source{Modules: modules(bodies), Data: dataOf(scope), Input: shapes()}
	src.Input[rego.Floors] = shape
	p, problems := rego.Load(src)
	if len(problems) > 0 {
		b.Fatalf("%v", problems[0])
	}
	return p, src
}

// benchInputs are the same for both engines.
func benchInputs(n int) []*engine.Input {
	var out []*engine.Input
	for i := range 16 {
		in := inputOf(fmt.Sprintf("tool%d", i%max(n/10, 3)), tree{"amount": float64(i * 70), "to": "x"}, tree{"resolved": "/srv"})
		in.Consequence = engine.Consequence{Reversibility: engine.Reversibility(i % 3), BlastRadius: engine.BlastRadius(i % 4), Source: engine.Declared}
		out = append(out, in)
	}
	return out
}

func BenchmarkFloors(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		p, src := manyProgram(b, n, true)
		residual, problems := p.Residuals("floors.floors", "name", "tier")
		if len(problems) > 0 {
			b.Fatal(problems)
		}
		clauses := floors.NewClauses(residual, "name")
		inputs := benchInputs(n)
		b.Run(fmt.Sprintf("native/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				clauses.Matches(context.Background(), inputs[i%len(inputs)], notImposed)
			}
		})
		b.Run(fmt.Sprintf("topdown/%d", n), func(b *testing.B) {
			o, err := newOracle(src.Modules, src.Data, true)
			if err != nil {
				b.Fatal(err)
			}
			parsed := make([]oparego.EvalOption, len(inputs))
			for i, in := range inputs {
				parsed[i] = oparego.EvalInput(in.Document())
			}
			q := o.queries[wholeSet]
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, err := q.Eval(context.Background(), parsed[i%len(parsed)]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkResiduals(b *testing.B) {
	for _, driven := range []bool{true, false} {
		p, _ := manyProgram(b, 1000, driven)
		b.Run(fmt.Sprintf("driven=%v/1000", driven), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, problems := p.Residuals("floors.floors", "name", "tier"); len(problems) > 0 {
					b.Fatal(problems)
				}
			}
		})
	}
}

func BenchmarkLoad(b *testing.B) {
	for _, driven := range []bool{true, false} {
		_, src := manyProgram(b, 1000, driven)
		b.Run(fmt.Sprintf("driven=%v/1000", driven), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, problems := rego.Load(src); len(problems) > 0 {
					b.Fatal(problems)
				}
			}
		})
	}
}

// TestManyFloorsAgreeWithTopdown keeps the benchmark honest: both engines give
// the same floors on its inputs, and some apply.
func TestManyFloorsAgreeWithTopdown(t *testing.T) {
	for _, driven := range []bool{true, false} {
		p, src := manyProgram(t, 200, driven)
		residual, problems := p.Residuals("floors.floors", "name", "tier")
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		clauses := floors.NewClauses(residual, "name")
		if native, total, others := clauses.Native(); native != 200 || total != 200 {
			t.Fatalf("driven %v: got %d of %d native, others %v, want 200", driven, native, total, others)
		}
		o, err := newOracle(src.Modules, src.Data, true)
		if err != nil {
			t.Fatal(err)
		}
		applied := 0
		for _, in := range benchInputs(200) {
			want, err := o.set(in)
			if err != nil {
				t.Fatal(err)
			}
			got := nativeNames(clauses, in)
			if strings.Join(got, " ") != strings.Join(want, " ") {
				t.Errorf("driven %v: got %v, want %v, for %s", driven, got, want, show(in.Document()))
			}
			applied += len(want)
		}
		if applied == 0 {
			t.Error("got no floor that applied, want some")
		}
	}
}
