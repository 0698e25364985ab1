package bundle

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/conjunct-project/conjunct/action"
	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/policies"
)

const (
	registryFile = "conjunct/registry/data.yaml"
	contractFile = "conjunct/contract/data.yaml"
	scopeFile    = "conjunct/scope/data.yaml"
	severityFile = "conjunct/severity/data.yaml"
	celFile      = "conjunct/cel/data.yaml"
	floorsFile   = "conjunct/floors/floors.rego"
	gatesFile    = "conjunct/gates/gates.rego"

	severityRego   = "conjunct/severity/severity.rego"
	transitionFile = "conjunct/transition/transition.rego"
	authorityFile  = "conjunct/authority/authority.rego"
)

// noon is Monday, 2 March 2026, 12:00 UTC: inside the change windows of itsm.
const noon = 1772452800

// filesOf are the files of a shipped bundle, to be changed by a test.
func filesOf(t testing.TB, name string) Files {
	t.Helper()
	fsys, err := policies.FS(name)
	if err != nil {
		t.Fatal(err)
	}
	files, err := FromFS(fsys, name)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// small is a bundle of two tools and the fewest rules that load quickly: every
// table below changes one file of it. Its base tier is always execute.
func small(t testing.TB) Files {
	t.Helper()
	f := filesOf(t, "default")
	f.Path = "small"
	f.Content[transitionFile] = []byte("package conjunct.transition\n\nnext := {\"transition\": \"escalate\"} if input.flags.cause in {\"own_review\", \"review_due\"}\n")
	f.Content[authorityFile] = []byte("package conjunct.authority\n\ndefault may := false\n\nmay if input.role in data.conjunct.contract.roles\n")
	f.Content[severityRego] = []byte("package conjunct.severity\n\nbase := \"execute\"\n")
	f.Content[registryFile] = []byte(smallRegistry)
	f.Content[contractFile] = []byte(smallContract)
	f.Content[scopeFile] = []byte("words: [a, b]\nlimit: 100\nlimits: {pay: 10}\n")
	return f
}

const smallRegistry = `tools:
  pay:
    reversibility: costly
    blast_radius: record
    absorbed_by: operator
    detection_latency: hours
    effect: write
    arguments:
      to: {type: string, required: true}
      amount: {type: number, required: true}
      note: {type: string}
  look:
    reversibility: reversible
    blast_radius: task
    absorbed_by: agent
    detection_latency: immediate
    effect: read
    arguments: {query: {type: string, required: true}}
`

const smallContract = `start: {settings: {capacity: 4}}
roles: [reviewer]
gates:
  CONTEXT: {scope: s, rationale: r}
  EVIDENCE: {scope: s, rationale: r}
  ELIGIBILITY: {scope: s, rationale: r}
`

// with returns a copy of f in which a file has another text; an empty text
// removes the file.
func with(f Files, pairs ...string) Files {
	f.Content = maps.Clone(f.Content)
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			delete(f.Content, pairs[i])
		} else {
			f.Content[pairs[i]] = []byte(pairs[i+1])
		}
	}
	return f
}

// edit returns a copy of f in which old became new, once, in a file.
func edit(t testing.TB, f Files, file, old, new string) Files {
	t.Helper()
	text := string(f.Content[file])
	if strings.Count(text, old) != 1 {
		t.Fatalf("%s holds %q %d times, want once", file, old, strings.Count(text, old))
	}
	return with(f, file, strings.Replace(text, old, new, 1))
}

func load(t testing.TB, f Files) *Bundle {
	t.Helper()
	b, err := Load(f)
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	return b
}

// problems are what keeps f from loading; nil when it loads.
func problems(t testing.TB, f Files) []Problem {
	t.Helper()
	_, err := Load(f)
	var e *LoadError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &e):
		t.Fatalf("Load: %v, want a LoadError", err)
	case len(e.Problems) == 0:
		t.Fatal("a LoadError without problems")
	}
	return e.Problems
}

// places are problems as the tables write them: file:row:col code, the file
// below the bundle.
func places(f Files, ps []Problem) []string {
	out := []string{}
	for _, p := range ps {
		out = append(out, fmt.Sprintf("%s:%d:%d %s", strings.TrimPrefix(p.File, f.Path+"/"), p.Row, p.Col, p.Code))
	}
	return out
}

// propose decodes an action of a tool with arguments in JSON.
func propose(t testing.TB, tool, arguments string) engine.Action {
	t.Helper()
	return decode(t, fmt.Sprintf(`{"trace_id":"t","call_id":"c","agent":{"id":"a","component":"m@1"},"tool":%q,"arguments":%s,"confidence":0.95}`, tool, arguments))
}

func decode(t testing.TB, text string) engine.Action {
	t.Helper()
	a, err := action.Decode([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return a
}

// inputOf is an action on the state that the contract starts with.
func inputOf(b *Bundle, a engine.Action) engine.Input {
	return engine.Input{Action: a, Facts: map[string]any{}, State: b.Start(), Now: noon}
}

// lines are the lines of a file.
func lines(t testing.TB, name string) []string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// codes are the reason codes of a gate.
func codes(g engine.GateResult) []string {
	out := []string{}
	for _, r := range g.Reasons {
		out = append(out, r.Code)
	}
	return out
}
