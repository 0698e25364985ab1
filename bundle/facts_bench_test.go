package bundle

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/conjunct-project/conjunct/action"
	"github.com/conjunct-project/conjunct/policies"
	"github.com/conjunct-project/conjunct/signals"
)

// coder is the coding agent's bundle, with or without the gates that need the
// secret scanner.
func coder(b *testing.B, scanner bool) *Bundle {
	b.Helper()
	fsys, err := policies.FS("coding-agent")
	if err != nil {
		b.Fatal(err)
	}
	f, err := FromFS(fsys, "coding-agent")
	if err != nil {
		b.Fatal(err)
	}
	if !scanner {
		var kept [][]byte
		for _, line := range bytes.SplitAfter(f.Content[contractFile], []byte("\n")) {
			if !bytes.Contains(line, []byte("  secrets_")) {
				kept = append(kept, line)
			}
		}
		f = with(f, contractFile, string(bytes.Join(kept, nil)), "conjunct/gates/secrets.rego", "")
	}
	return load(b, f)
}

// BenchmarkFacts is every fact that the coding agent's bundle reads of actions of
// one kilobyte, on the machine's own files. Garbage is collected as docs/design.md
// advises for a server, at five times the live heap; what the environment sets
// stays.
func BenchmarkFacts(b *testing.B) {
	if os.Getenv("GOGC") == "" {
		old := debug.SetGCPercent(400)
		b.Cleanup(func() { debug.SetGCPercent(old) })
	}
	source := strings.Repeat("\tif err := step(ctx, input); err != nil {\n\t\treturn fmt.Errorf(\"step: %w\", err)\n\t}\n", 11)
	test := "func TestStep(t *testing.T) {\n" + strings.Repeat("\tif got := step(1); got != 2 {\n\t\tt.Errorf(\"got %d\", got)\n\t}\n", 7) + "}\n"
	calls := []struct {
		name, tool string
		arguments  map[string]any
	}{
		{"write", "write_file", map[string]any{"path": "src/step.go", "content": source}},
		{"edit", "edit_file", map[string]any{"path": "src/step.go", "before": source[:500], "after": source[:400] + "// done\n"}},
		{"edit of a test", "edit_file", map[string]any{"path": "src/step_test.go", "before": test, "after": test + "\n// done\n"}},
		{"command", "shell", map[string]any{"command": "git commit -m '" + strings.Repeat("what was done and why; ", 42) + "' && go test ./..."}},
		{"sixteen commands", "shell", map[string]any{"command": strings.Repeat("git diff --stat -- src/a/package/of/some/depth/step.go; ", 15) + "git status"}},
		{"thirty-three commands", "shell", map[string]any{"command": strings.Repeat("git add src/step.go && git diff --stat -- src/step.go; ", 16) + "git status"}},
	}
	for _, scanner := range []bool{false, true} {
		loaded := coder(b, scanner)
		for _, c := range calls {
			name := c.name
			if scanner {
				name += " with the scanner"
			}
			b.Run(name, func(b *testing.B) {
				text, err := json.Marshal(map[string]any{"trace_id": "t", "call_id": "c", "tool": c.tool, "arguments": c.arguments})
				if err != nil {
					b.Fatal(err)
				}
				a, err := action.Decode(text)
				if err != nil {
					b.Fatal(err)
				}
				w := signals.World{Files: signals.Disk{}, Dir: b.TempDir(), Home: "/home/u"}
				b.ReportAllocs()
				for b.Loop() {
					loaded.Facts(context.Background(), a, 0, w)
				}
			})
		}
	}
}
