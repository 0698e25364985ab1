package noise

import (
	"context"
	"testing"
)

// BenchmarkRun is the whole study as it runs by default.
func BenchmarkRun(b *testing.B) {
	for b.Loop() {
		if _, err := Run(context.Background(), Default()); err != nil {
			b.Fatal(err)
		}
	}
}
