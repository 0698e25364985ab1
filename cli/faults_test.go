package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fault is one mistake planted in a copy of the ITSM bundle: old becomes new
// in a file, and check must point at the row where mark stands.
type fault struct {
	name     string
	file     string
	old, new string
	mark     string // text in the row to be named; empty: new
	says     string
	hint     string
}

const (
	floorsFile     = "conjunct/floors/floors.rego"
	registryFile   = "conjunct/registry/data.yaml"
	contractFile   = "conjunct/contract/data.yaml"
	severityData   = "conjunct/severity/data.yaml"
	severityFile   = "conjunct/severity/severity.rego"
	celFile        = "conjunct/cel/data.yaml"
	transitionFile = "conjunct/transition/transition.rego"
	authorityFile  = "conjunct/authority/authority.rego"
	manifest       = ".manifest"
)

var faults = []fault{
	{"property misspelt in a floor", floorsFile, "input.consequence.reversibility ==", "input.consequence.reversability ==", "", "input.consequence.reversability does not exist", `"reversibility"`},
	{"value misspelt in a floor", floorsFile, `== "irreversible"`, `== "ireversible"`, "", `never "ireversible"`, `"irreversible"`},
	{"value misspelt in a comparison that would always hold", floorsFile, `input.consequence.blast_radius == "system"`, `input.consequence.blast_radius != "sistem"`, "", `never "sistem"`, `"system"`},
	{"tool misspelt in a floor", floorsFile, `input.consequence.blast_radius == "system"`, `input.action.tool in {"email_custmer"}`, "", `never "email_custmer"`, `"email_customer"`},
	{"argument misspelt in a floor", floorsFile, `input.consequence.blast_radius == "system"`, "input.action.tool == \"email_customer\"\n\tinput.action.arguments.boddy == \"x\"", "boddy", "input.action.arguments.boddy does not exist", `"body"`},
	{"argument read for a tool that lacks it", floorsFile, `input.consequence.blast_radius == "system"`, `input.action.arguments.account == "root"`, "floors contains", `reads argument "account"`, "limit it"},
	{"tier misspelt in a floor", floorsFile, `"tier": "refuse"`, `"tier": "refused"`, "", `unknown tier "refused"`, `"refuse"`},
	{"key misspelt in a floor", floorsFile, `"tier": "refuse"`, `"teir": "refuse"`, "", `no key "teir"`, `"tier"`},
	{"set misspelt in floors", floorsFile, "floors contains", "floor contains", "", "rule floor is no entry point", `"floors"`},
	{"floor that no class can meet", floorsFile, `input.consequence.blast_radius == "system"`, `input.consequence.reversibility == "costly"`, "floors contains", "can never apply", "contradict"},
	{"syntax error in Rego", floorsFile, "if {", "if {{", "input.consequence.blast", "unexpected", ""},
	{"network builtin", floorsFile, `input.consequence.blast_radius == "system"`, `http.send({"method": "get", "url": "http://x.example"})`, "", "http.send may not be used", "pure and bounded"},
	{"unbounded builtin", floorsFile, `input.consequence.blast_radius == "system"`, `bits.lsh(1, 100000000) > 0`, "", "bits.lsh may not be used", "pure and bounded"},
	{"confidence read by a floor", floorsFile, `input.consequence.blast_radius == "system"`, `input.action.confidence < 0.5`, "", "may not read confidence", "low_confidence"},
	{"scope misspelt in a floor", floorsFile, `input.consequence.blast_radius == "system"`, `input.action.tool in data.conjunct.scope.recipient_domain`, "", "data.conjunct.scope.recipient_domain does not exist", `"recipient_domains"`},
	{"rule in a package of data", floorsFile, "package conjunct.floors", "package conjunct.registry", "", "package conjunct.registry is not one", ""},
	{"property misspelt in the registry", registryFile, "search_kb:\n    {reversibility", "search_kb:\n    {reversability", "reversability", `has no key "reversability"`, `"reversibility"`},
	{"value misspelt in the registry", registryFile, "reversibility: costly, blast_radius: record", "reversibility: costly, blast_radius: recrod", "", `unknown blast_radius "recrod"`, `"record"`},
	{"argument type misspelt in the registry", registryFile, "{ci: {type: string", "{ci: {type: strnig", "", `unknown argument type "strnig"`, `"string"`},
	{"key twice in the registry", registryFile, "  lookup_ci:", "  search_kb:", "lookup", `"search_kb" stands in row`, "remove the other"},
	{"second document", registryFile, "undeclared: refuse", "undeclared: refuse\n---\nundeclared: propose", "---", "second document", ""},
	{"undeclared tools allowed", registryFile, "undeclared: refuse", "undeclared: execute", "", "undeclared must be refuse or propose", ""},
	{"key misspelt in the contract", contractFile, "retry_budget: 1", "retry_buget: 1", "", `has no key "retry_buget"`, `"retry_budget"`},
	{"setting misspelt in the contract", contractFile, "capacity: 4", "capacty: 4", "", `reads the setting "capacty"`, `"capacity"`},
	{"cause misspelt in the contract", contractFile, "- ineligible", "- inelegible", "", `unknown cause "inelegible"`, `"ineligible"`},
	{"gate listed that no rule defines", contractFile, "gates:\n", "gates:\n  deploy_window: {on_fail: review}\n", "", "lists gate deploy_window", ""},
	{"gate name misspelt in the contract", contractFile, "  EVIDENCE:\n", "  EVIDENC:\n", "", "EVIDENC", ""},
	{"refuse in the table", severityData, "task: {reversible: execute,", "task: {reversible: refuse,", "", "must not be refuse", "floor"},
	{"cell missing in the table", severityData, "record: {reversible: execute, costly", "record: {costly", "", `lacks "reversible"`, ""},
	{"row misspelt in the table", severityData, "  system: {", "  systm: {", "", `has no key "systm"`, `"system"`},
	{"negative bump", severityData, "bump: 1", "bump: -1", "", "bump must lie between 0", ""},
	{"cap beyond the table", severityData, "cap: propose", "cap: execute_notify", "irreversible: propose", "beyond the cap execute_notify", ""},
	{"two base tiers", severityFile, "# METADATA\n# title: A mistake might", "base := \"propose\" if input.consequence.absorbed_by == \"operator\"\n\n# METADATA\n# title: A mistake might", "base := data", "no base tier", ""},
	{"flag misspelt in a transition", transitionFile, "input.flags.other_component", "input.flags.other_componet", "", "input.flags.other_componet does not exist", `"other_component"`},
	{"transition misspelt", transitionFile, `{"transition": "verify"}`, `{"transition": "verfy"}`, "default next", `unknown transition "verfy"`, `"verify"`},
	{"op misspelt in authority", authorityFile, `input.op == "activate"`, `input.op == "actvate"`, "", `never "actvate"`, `"activate"`},
	{"type error in CEL", celFile, "size(args.to.split('@')) <= 4", "size(args.to.split('@')) <= '4'", "", "recipient-count", ""},
	{"argument misspelt in CEL", celFile, "size(args.to.split('@')) <= 4", "size(args.too.split('@')) <= 4", "", "too", `"to"`},
	{"scope misspelt in CEL", celFile, "in scope.recipient_domains", "in scope.recipient_domain", "recipient_domain)", "recipient_domain", `"recipient_domains"`},
	{"tool misspelt in CEL", celFile, "match: {tools: [reset_credentials,", "match: {tools: [reset_credential,", "", "reset_credential", `"reset_credentials"`},
	{"key misspelt in CEL", celFile, "reason: change_window\n    on_fail", "reason: change_window\n    on_fial", "on_fial", `has no key "on_fial"`, `"on_fail"`},
	{"manifest without a root", manifest, `"roots": ["conjunct"]`, `"roots": ["cnjunct"]`, "", `roots must be ["conjunct"]`, ""},
}

// TestPlantedFaults shows that check finds every planted fault in the right
// file and row, and that decide refuses the same bundle.
func TestPlantedFaults(t *testing.T) {
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			dir := plant(t, f)
			problems := problemsOf(t, dir)
			row := rowOf(t, filepath.Join(dir, f.file), f.mark, f.new)
			if !named(problems, filepath.Join(dir, f.file), row, f.says, f.hint) {
				t.Errorf("check named no problem in %s:%d that says %q with a hint %q; it found:\n%+v", f.file, row, f.says, f.hint, problems)
			}
			action := filepath.Join("..", "testdata", "itsm", "clean.jsonl")
			var out, errs bytes.Buffer
			code := Main(Env{Args: []string{"decide", "--bundle", dir, action}, Stdout: &out, Stderr: &errs, Now: fixed})
			if code != exitUsage || out.Len() > 0 {
				t.Errorf("decide: exit %d, output %q, want 2 and none\n%s", code, out.String(), errs.String())
			}
		})
	}
}

func plant(t *testing.T, f fault) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "itsm")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("..", "policies", "itsm"))); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, f.file)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), f.old) {
		t.Fatalf("%s does not hold %q", f.file, f.old)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), f.old, f.new, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

type found struct {
	File, Message, Hint, Line string
	Row, Col                  int
}

func problemsOf(t *testing.T, dir string) []found {
	t.Helper()
	var out, errs bytes.Buffer
	code := Main(Env{Args: []string{"check", "--format", "json", dir}, Stdout: &out, Stderr: &errs, Now: fixed})
	var report struct {
		OK      bool
		Bundles []struct{ Problems []found }
	}
	if err := json.Unmarshal(out.Bytes(), &report); err != nil {
		t.Fatalf("%v in %s%s", err, out.String(), errs.String())
	}
	if code != exitNotHeld || report.OK {
		t.Fatalf("check: exit %d, ok %v, want 5 and false", code, report.OK)
	}
	return report.Bundles[0].Problems
}

// rowOf is the row in which the mark stands; the mark of a replacement is
// itself. A mark of what was replaced stands for the row of the replacement.
func rowOf(t *testing.T, file, mark, replacement string) int {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if mark == "" {
		lines := strings.Split(strings.TrimRight(replacement, "\n"), "\n")
		mark = lines[len(lines)-1]
	}
	if mark == "lookup" {
		return strings.Count(string(text[:strings.LastIndex(string(text), replacement)]), "\n") + 1
	}
	i := strings.Index(string(text), mark)
	if i < 0 {
		t.Fatalf("%s does not hold %q", file, mark)
	}
	return strings.Count(string(text[:i]), "\n") + 1
}

func named(problems []found, file string, row int, says, hint string) bool {
	for _, p := range problems {
		place := p.File == file && (p.Row == row || p.Row == 0)
		if place && strings.Contains(p.Message, says) && strings.Contains(p.Message+p.Hint, hint) && p.Line != "" {
			return true
		}
	}
	return false
}
