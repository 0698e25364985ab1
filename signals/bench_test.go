//go:build unix

package signals

import (
	"context"
	"strings"
	"syscall"
	"testing"
)

// source is a kilobyte of ordinary source text.
func source() string {
	text := "package pay\n\nimport \"fmt\"\n\n// Refund pays back what was taken, and says which token of the session was used.\nfunc Refund(amount int) (int, error) {\n\tif amount < 0 {\n\t\treturn 0, fmt.Errorf(\"amount %d is negative\", amount)\n\t}\n\tkey := cacheKey(amount)\n\treturn store.Take(key, amount), nil\n}\n\n"
	return strings.Repeat(text, 4)[:1024]
}

func benchmark(b *testing.B, f Family, arguments map[string]any) {
	d, _ := New(Scope{}, []Family{f})
	c := call(arguments)
	if _, unknown := d.Facts(context.Background(), c, World{}); len(unknown) > 0 {
		b.Fatal(unknown)
	}
	b.ReportAllocs()
	start := cpuTime()
	for b.Loop() {
		d.Facts(context.Background(), c, World{})
	}
	b.ReportMetric(float64(cpuTime()-start)/float64(b.N), "cpu-ns/op")
}

// cpuTime is what the process used: on a busy machine the clock says little.
func cpuTime() int64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

func BenchmarkSecret(b *testing.B) {
	b.Run("1KB", func(b *testing.B) {
		benchmark(b, Secret, map[string]any{"path": "pay/refund.go", "content": source()})
	})
	b.Run("64KB", func(b *testing.B) {
		benchmark(b, Secret, map[string]any{"path": "pay/refund.go", "content": strings.Repeat(source(), 64)})
	})
	b.Run("1KB base64", func(b *testing.B) {
		benchmark(b, Secret, map[string]any{"path": "a", "content": base64Text(source())})
	})
}

func BenchmarkTests(b *testing.B) {
	before := "package pay\n\n" + strings.Repeat("func TestRefund(t *testing.T) {\n\tif got := Refund(5); got != 5 {\n\t\tt.Fatalf(\"got %d\", got)\n\t}\n}\n\n", 5)
	benchmark(b, Tests, map[string]any{"path": "pay/refund_test.go", "before": before, "after": strings.Replace(before, "got != 5", "got != 6", 1)})
}

// BenchmarkScanner is what the first call waits for.
func BenchmarkScanner(b *testing.B) {
	for b.Loop() {
		if _, err := newScanner(); err != nil {
			b.Fatal(err)
		}
	}
}
