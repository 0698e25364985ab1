package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDocs runs every console block of the README and of the pages and
// compares what the program prints with what the page shows. A block whose
// fence says `file=PATH` is written to that path first, one that says
// `append=PATH` is added to it. UPDATE=1 writes the pages anew.
func TestDocs(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range []struct{ file, dir string }{
		{filepath.Join(root, "README.md"), root},
		{filepath.Join(root, "docs", "tutorial.md"), t.TempDir()},
		{filepath.Join(root, "docs", "bench.md"), t.TempDir()},
		{filepath.Join(root, "docs", "coding-agent.md"), t.TempDir()},
	} {
		t.Run(filepath.Base(page.file), func(t *testing.T) {
			text, err := os.ReadFile(page.file)
			if err != nil {
				t.Fatal(err)
			}
			d := &docs{t: t, dir: page.dir}
			got := d.replay(string(text))
			if d.commands == 0 {
				t.Fatalf("%s shows no command", page.file)
			}
			if os.Getenv("UPDATE") != "" {
				if err := os.WriteFile(page.file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

type docs struct {
	t        *testing.T
	dir      string
	commands int
}

var fence = regexp.MustCompile("(?ms)^```([^\n]*)\n(.*?)^```$")

func (d *docs) replay(text string) string {
	return fence.ReplaceAllStringFunc(text, func(block string) string {
		m := fence.FindStringSubmatch(block)
		info, body := m[1], m[2]
		for _, word := range strings.Fields(info) {
			if path, ok := strings.CutPrefix(word, "file="); ok {
				d.write(path, body, os.O_TRUNC)
			}
			if path, ok := strings.CutPrefix(word, "append="); ok {
				d.write(path, body, os.O_APPEND)
			}
		}
		if !strings.HasPrefix(info, "console") {
			return block
		}
		return "```" + info + "\n" + d.console(body) + "```"
	})
}

func (d *docs) write(path, body string, mode int) {
	d.t.Helper()
	path = filepath.Join(d.dir, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		d.t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|mode, 0o644)
	if err != nil {
		d.t.Fatal(err)
	}
	if _, err := f.WriteString(body); err != nil {
		d.t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		d.t.Fatal(err)
	}
}

// console runs the commands of a block and returns it with what they print.
func (d *docs) console(body string) string {
	var out strings.Builder
	for _, part := range strings.Split("\n"+body, "\n$ ")[1:] {
		command, shown, _ := strings.Cut(part, "\n")
		shown = strings.TrimRight(shown, "\n")
		d.commands++
		run := strings.Replace(command, "go run .", "conjunct", 1)
		if strings.HasPrefix(run, "go test") {
			out.WriteString("$ " + command + "\n")
			continue
		}
		cmd := exec.Command("sh", "-c", run)
		cmd.Dir = d.dir
		text, _ := cmd.CombinedOutput()
		got := strings.TrimRight(string(text), "\n")
		if got != shown && os.Getenv("UPDATE") == "" {
			d.t.Errorf("$ %s\ngot:\n%s\nthe page shows:\n%s", command, got, shown)
		}
		out.WriteString("$ " + command + "\n")
		if got != "" {
			out.WriteString(got + "\n")
		}
	}
	return out.String()
}
