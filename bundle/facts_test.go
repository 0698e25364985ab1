package bundle

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/conjunct-project/conjunct/action"
	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/signals"
)

const runRegistry = `tools:
  run: {reversibility: reversible, blast_radius: task, absorbed_by: agent, detection_latency: immediate,
    arguments: {line: {type: string, required: true, kind: command}}}
`

const runScope = `roots: [/w]
commands: {allow: ["ls *"], never: ["rm *"]}
windows: {night: {zone: Europe/Oslo, from: "Mon 22:00", to: "Tue 06:00"}}
own_list: [a]
`

func gate(body string) string {
	return "package conjunct.gates\n\nquiet := {\"verdict\": \"pass\", \"reasons\": []} if {\n\t" + body + "\n}\n"
}

// running is the small bundle with one tool that runs command lines, and a gate
// over facts.
func running(t testing.TB, body string) Files {
	t.Helper()
	return with(small(t), registryFile, runRegistry, "conjunct/scope/data.yaml", runScope, "conjunct/gates/gates.rego", gate(body),
		contractFile, strings.Replace(smallContract, "gates:\n", "gates:\n  quiet: {on_fail: block}\n", 1))
}

func TestFactsThatDoNotExistKeepABundleFromLoading(t *testing.T) {
	for _, c := range []struct{ name, body, hint string }{
		{"a family", "input.facts.shel.commands", `"shell"`},
		{"a member of a family", "input.facts.shell.comands", `"commands"`},
		{"a list that the scope does not have", "input.facts.shell.any.nver == false", `"never"`},
		{"a window that the scope does not have", "input.facts.time.windows.nigth == false", `"night"`},
	} {
		ps := problems(t, running(t, c.body))
		if !slices.ContainsFunc(ps, func(p Problem) bool {
			return p.Code == "rego_unknown_path" && p.Row == 4 && strings.Contains(p.Hint, c.hint)
		}) {
			t.Errorf("%s: got %v, want rego_unknown_path in row 4 with a hint at %s", c.name, ps, c.hint)
		}
	}
	for name, expression := range map[string]string{"family": "facts.shel.any.never == false", "member": "facts.shell.anny.never == false", "list": "facts.shell.any.nver == false"} {
		f := with(running(t, "input.facts.shell.any.never == false"), "conjunct/cel/data.yaml", "gates:\n  - {name: g, expression: "+expression+"}\n")
		if ps := problems(t, f); !slices.ContainsFunc(ps, func(p Problem) bool { return p.Code == "unknown_fact" }) {
			t.Errorf("a CEL gate that reads an unknown %s: got %v, want unknown_fact", name, ps)
		}
	}
}

func TestTheScopeIsHeldToItsFormWhereFactsAreComputedFromIt(t *testing.T) {
	const file = "conjunct/scope/data.yaml"
	for _, c := range []struct{ name, from, to, code string }{
		{"a misspelt key", "roots:", "rots:", "data_unknown_key"},
		{"roots as text", "[/w]", "/w", "data_type"},
		{"a list as text", `["ls *"]`, "ls", "data_type"},
		{"a zone that is none", "Europe/Oslo", "Europe/Olso", "data_scope"},
		{"a time that is none", "Mon 22:00", "Mon 25:00", "data_scope"},
		{"a window without an end", `, to: "Tue 06:00"`, "", "data_missing_key"},
	} {
		ps := problems(t, edit(t, running(t, "input.facts.shell.any.never == false"), file, c.from, c.to))
		if !slices.ContainsFunc(ps, func(p Problem) bool { return p.Code == c.code && p.File == "small/"+file && p.Row > 0 }) {
			t.Errorf("%s: got %v, want %s in %s", c.name, ps, c.code, file)
		}
	}
	// Where no rule reads facts the scope is the rules' own.
	load(t, with(small(t), file, "rots: [a]\nwindows: 7\n"))
}

func TestOnlyTheFactsThatRulesReadAreComputed(t *testing.T) {
	a, err := action.Decode([]byte(`{"trace_id":"t","call_id":"c","tool":"run","arguments":{"line":"ls; rm x"}}`))
	if err != nil {
		t.Fatal(err)
	}
	world := signals.World{Dir: "/w", Home: "/h"}
	if b := load(t, small(t)); b.ReadsFacts() {
		t.Error("a bundle without rules over facts computes them")
	}
	b := load(t, running(t, "input.facts.shell.any.never == false"))
	facts, unknown := b.Facts(context.Background(), a, 0, world)
	if _, there := facts["path"]; there || len(facts) != 1 || len(unknown) != 0 || !b.ReadsFacts() {
		t.Fatalf("got %v, %v: want the family shell and nothing else", facts, unknown)
	}
	in := engine.Input{Action: a, Facts: facts, FactsUnknown: unknown, State: b.Start()}
	if d := engine.Decide(context.Background(), b, in); d.Permit || d.Cause != "quiet" {
		t.Errorf("a line with a command on the list: permit %v because of %q", d.Permit, d.Cause)
	}
	cut, cancel := context.WithCancel(context.Background())
	cancel()
	if facts, unknown := b.Facts(cut, a, 0, world); len(facts) != 0 || !slices.Equal(unknown, []string{"shell: timeout"}) {
		t.Errorf("without time: %v, %v", facts, unknown)
	}
	a.Tool = "runn"
	if facts, unknown := b.Facts(context.Background(), a, 0, world); len(facts) != 0 || !slices.Equal(unknown, []string{"shell: arguments_undeclared"}) {
		t.Errorf("of an undeclared tool: %v, %v", facts, unknown)
	}
}

func TestANumberIsNotComparedWithText(t *testing.T) {
	for _, c := range []struct {
		body string
		bad  bool
	}{
		{`input.action.arguments.amount > "100"`, true},
		{`"100" >= input.action.arguments.amount`, true},
		{`input.action.arguments.amount == true`, true},
		{`input.action.arguments.amount in {"1", "2"}`, false}, // no constant of its own is compared
		{`input.action.arguments.amount > 100`, false},
		{`input.action.arguments.to == "100"`, false},
	} {
		f := with(small(t), "conjunct/gates/gates.rego", gate(c.body), contractFile, strings.Replace(smallContract, "gates:\n", "gates:\n  quiet: {on_fail: block, tools: [pay]}\n", 1))
		found := slices.ContainsFunc(problems(t, f), func(p Problem) bool { return p.Code == "rego_type" && p.Row == 4 })
		if found != c.bad {
			t.Errorf("%s: reported %v, want %v: %v", c.body, found, c.bad, problems(t, f))
		}
	}
}

func TestARedactedArgumentIsNotOneThatFactsShow(t *testing.T) {
	redacting := func(body, registry string) Files {
		f := running(t, body)
		return with(f, registryFile, registry, contractFile, string(f.Content[contractFile])+"redact: {run: [line]}\n")
	}
	const shell, windows = "input.facts.shell.any.never == false", "input.facts.time.windows.night == false"
	ps := problems(t, redacting(shell, runRegistry))
	if !slices.ContainsFunc(ps, func(p Problem) bool { return p.Code == "data_redact" && strings.Contains(p.Message, `"line"`) }) {
		t.Errorf("got %v, want data_redact", ps)
	}
	load(t, redacting(windows, runRegistry))
	load(t, redacting(shell, strings.Replace(runRegistry, "kind: command", "kind: plain", 1)))
}
