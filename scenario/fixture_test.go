package scenario

import (
	"fmt"
	"strings"
	"testing"

	"github.com/conjunct-project/conjunct/bundle"
	"github.com/conjunct-project/conjunct/datafile"
	"github.com/conjunct-project/conjunct/policies"
)

func loadFiles(t testing.TB, name string, change func(bundle.Files)) *bundle.Bundle {
	t.Helper()
	fsys, err := policies.FS(name)
	if err != nil {
		t.Fatal(err)
	}
	files, err := bundle.FromFS(fsys, name)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(files)
	}
	b, err := bundle.Load(files)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// desk is the itsm bundle with a tool that needs context and evidence, a
// setting, and two floors besides its own: one on a fact, one on a setting.
func desk(t testing.TB) *bundle.Bundle {
	t.Helper()
	return loadFiles(t, "itsm", func(f bundle.Files) {
		add := func(file, old, new string) {
			text := string(f.Content[file])
			if !strings.Contains(text, old) {
				t.Fatalf("%s does not hold %q", file, old)
			}
			f.Content[file] = []byte(strings.Replace(text, old, new, 1))
		}
		add("conjunct/registry/data.yaml", "tools:\n", "tools:\n  merge:\n    {reversibility: costly, blast_radius: record, absorbed_by: operator, detection_latency: hours, arguments: {change: {type: string, required: true}, size: {type: integer}},\n     requires: {evidence: [ci], context: [kb]}}\n")
		add("conjunct/contract/data.yaml", "    capacity: 4\n", "    capacity: 4\n    frozen: false\n  pins: {context: v1}\n")
		add("conjunct/contract/data.yaml", "retry_budget: 1\n", "retry_budget: 1\nevidence: {ci: {ttl: 60, sources: [runner], pins: [context]}}\ncontext: {kb: {}}\n")
		f.Content["conjunct/floors/floors.rego"] = append(f.Content["conjunct/floors/floors.rego"],
			[]byte("\nfloors contains {\"name\": \"frozen\", \"tier\": \"propose\"} if input.state.settings.frozen == true\n\nfloors contains {\"name\": \"outside\", \"tier\": \"propose\"} if input.facts.path.outside == true\n\nfloors contains {\"name\": \"late\", \"tier\": \"propose\"} if input.now > 1800000000\n")...)
	})
}

// lookup is a harmless action of the desk.
const lookup = "{trace_id: t, call_id: c, tool: read_ticket, arguments: {ticket: INC-1}, confidence: 0.96}"

// head is the beginning of a scenario: rows 1 and 2.
const head = "name: n\naction: " + lookup + "\n"

func places(ps []datafile.Problem) []string {
	out := []string{}
	for _, p := range ps {
		out = append(out, fmt.Sprintf("%d:%d %s", p.Row, p.Col, p.Code))
	}
	return out
}
