package signals

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/conjunct-project/conjunct/engine"
)

// BenchmarkPathAndShell is the facts of a command line of one kilobyte, on the
// machine's own files and with lists such as a coding agent has.
func BenchmarkPathAndShell(b *testing.B) {
	dir := b.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "src", "pkg"), 0o755); err != nil {
		b.Fatal(err)
	}
	scope := Scope{Roots: []string{dir}, Paths: map[string][]string{
		"deny":      {"**/.env*", "~/.ssh/**", "~/.aws/", "/etc/**", ".git/config", "**/*.pem", "secrets/**"},
		"allow":     {"src/**", "docs/**", "*.md"},
		"protected": {".agent/**", ".github/workflows/**"},
	}, Commands: map[string][]string{
		"allow": {"git status", "git diff *", "git log *", "ls *", "cat *", "grep *", "go test *", "go build *", "echo *", "head *"},
		"deny":  {"rm -rf *", "git push *", "sudo *", "curl *"},
	}}
	line := "cd src && grep -rn 'func main' pkg | head -n 5; cat README.md > out.txt; git diff --stat -- pkg/a.go && go test ./pkg/...; "
	for len(line) < 900 {
		line += "echo 'one more line of text that is long enough' >> notes.md; "
	}
	line += "ls pkg"
	d, problems := New(scope, []Family{Path, Shell})
	if len(problems) > 0 {
		b.Fatal(problems)
	}
	tool := engine.Tool{Arguments: map[string]engine.Argument{"command": {Kind: engine.CommandKind}}}
	call := &Call{Action: engine.Action{Arguments: map[string]any{"command": line}}, Tool: tool, Declared: true}
	w := World{Files: Disk{}, Dir: dir, Home: "/root"}
	b.ReportAllocs()
	for b.Loop() {
		if _, unknown := d.Facts(context.Background(), call, w); len(unknown) > 0 {
			b.Fatal(unknown)
		}
	}
}

// BenchmarkPathOfFile is the facts of a write of one kilobyte.
func BenchmarkPathOfFile(b *testing.B) {
	dir := b.TempDir()
	d, _ := New(Scope{Roots: []string{dir}, Paths: map[string][]string{
		"deny": {"**/.env*", "~/.ssh/**", "/etc/**"}, "allow": {"src/**"}}}, []Family{Path, Shell})
	tool := engine.Tool{Arguments: map[string]engine.Argument{"path": {Kind: engine.PathKind}, "content": {Kind: engine.ContentKind}}}
	call := &Call{Action: engine.Action{Arguments: map[string]any{"path": "src/a/b.go", "content": strings.Repeat("x", 1000)}}, Tool: tool, Declared: true}
	w := World{Files: Disk{}, Dir: dir, Home: "/root"}
	b.ReportAllocs()
	for b.Loop() {
		if _, unknown := d.Facts(context.Background(), call, w); len(unknown) > 0 {
			b.Fatal(unknown)
		}
	}
}
