package bundle

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/rego"
)

// BenchmarkDecide decides the three actions of the blocked run of itsm.
func BenchmarkDecide(b *testing.B) {
	p := shipped(b, "itsm")
	for _, a := range itsmActions(b) {
		in := inputOf(p, a)
		b.Run(a.Tool, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				engine.Decide(context.Background(), p, in)
			}
		})
	}
}

// crowded is a bundle of n floors over n/10 tools, and of some CEL gates.
func crowded(t testing.TB, n, gates int) Files {
	var registry, floors, cel strings.Builder
	registry.WriteString("tools:\n")
	for i := range max(n/10, 3) {
		fmt.Fprintf(&registry, "  tool%d: {reversibility: costly, blast_radius: record, absorbed_by: operator, detection_latency: hours, arguments: {amount: {type: number, required: true}, to: {type: string, required: true}}}\n", i)
	}
	radii, grades := engine.Properties()["blast_radius"], engine.Properties()["reversibility"]
	floors.WriteString("package conjunct.floors\n\n")
	for i := range n {
		fmt.Fprintf(&floors, "floors contains {\"name\": \"floor-%d\", \"tier\": %q} if {\n\tinput.action.tool == \"tool%d\"\n\tinput.consequence.blast_radius == %q\n\tinput.consequence.reversibility == %q\n\tinput.action.arguments.amount > %d\n}\n\n",
			i, []string{"refuse", "propose"}[i%2], i%max(n/10, 3), radii[i%4], grades[i%3], i%900)
	}
	f := with(filesOf(t, "default"), registryFile, registry.String(), floorsFile, floors.String())
	if gates > 0 {
		var tools []string
		for i := range max(n/10, 3) {
			tools = append(tools, fmt.Sprintf("tool%d", i))
		}
		cel.WriteString("gates:\n")
		for i := range gates {
			fmt.Fprintf(&cel, "  - {name: gate-%d, match: {tools: [%s]}, expression: \"args.amount < %d.0 && args.to.endsWith('.example')\"}\n", i, strings.Join(tools, ", "), 1000+i)
		}
		f.Content[celFile] = []byte(cel.String())
	}
	return f
}

// BenchmarkDecideFloors decides under 10, 100 and 1000 floors and 10 CEL gates,
// beside the floors alone: native, and in topdown on the same compiled rules.
func BenchmarkDecideFloors(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		p := load(b, crowded(b, n, 10))
		var inputs []engine.Input
		for i := range 16 {
			inputs = append(inputs, inputOf(p, propose(b, fmt.Sprintf("tool%d", i%max(n/10, 3)), fmt.Sprintf(`{"amount":%d,"to":"a.example"}`, i*60))))
		}
		b.Run(fmt.Sprintf("decide/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				engine.Decide(context.Background(), p, inputs[i%16])
			}
		})
		b.Run(fmt.Sprintf("native/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				p.Floors(context.Background(), &inputs[i%16])
			}
		})
		b.Run(fmt.Sprintf("topdown/%d", n), func(b *testing.B) {
			docs := make([]rego.Input, 16)
			for i := range docs {
				docs[i] = rego.NewInput(inputs[i].Document())
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, err := p.program.Eval(context.Background(), "floors.floors", docs[i%16]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkLoad loads a bundle of 1000 floors.
func BenchmarkLoad(b *testing.B) {
	f := crowded(b, 1000, 10)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Load(f); err != nil {
			b.Fatal(err)
		}
	}
}
