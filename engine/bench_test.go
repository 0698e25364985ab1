package engine

import "testing"

func BenchmarkDecide(b *testing.B) {
	for name, tool := range map[string]string{"allowed": toolNote, "review": toolRevoke, "undeclared": toolMissing} {
		b.Run(name, func(b *testing.B) {
			p := newFake()
			p.addGate("a", Pass, ByNobody, ByNobody)
			p.addGate("b", Pass, ByReview, ByReview)
			p.addFloor("f", ExecuteNotify)
			in := call(p, tool)
			b.ReportAllocs()
			for b.Loop() {
				p.asked = p.asked[:0]
				if d := decide(p, in); d.Permit != (name == "allowed") {
					b.Fatalf("permit = %v", d.Permit)
				}
			}
		})
	}
}
