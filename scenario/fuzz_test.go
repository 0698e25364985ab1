package scenario

import (
	"os"
	"path/filepath"
	"testing"
)

// FuzzParse: no panic; a file gives scenarios or problems with places; what is
// read compares something and can be decided.
func FuzzParse(f *testing.F) {
	p := loadFiles(f, "itsm", nil)
	for _, name := range []string{"gates", "tools"} {
		text, err := os.ReadFile(filepath.Join("..", "policies", "testdata", "scenarios", "itsm", name+".yaml"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text[:min(len(text), 2000)])
	}
	for _, s := range []string{"", "[]", "- {}", "name: n", head + "expect: {outcome: allow}", head + "facts: {a: [1]}\nstate: {settings: {capacity: 1}, evidence: {}}\nexpect: {floors: [], gates: {BOUNDS: pass}, reasons: [x]}",
		"name: n\naction: {trace_id: t, call_id: c, tool: t, arguments: {}, plan: {steps: [{id: a, tol: b}]}}\nexpect: {cause: ''}", "now: 1e300\naction: 5\nexpect: ~", "action: {agent: []}\nexpect: {consequence: {source: x}}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		scenarios, problems := Parse("s.yaml", content, p)
		if len(scenarios) == 0 && len(problems) == 0 {
			t.Fatalf("%q: neither scenarios nor problems", content)
		}
		for _, x := range problems {
			if x.File != "s.yaml" || x.Row < 1 || x.Code == "" || x.Message == "" {
				t.Fatalf("%q: %+v does not say where or what", content, x)
			}
		}
		if len(problems) > 0 {
			return
		}
		for _, s := range scenarios {
			if s.Expect.Len() == 0 {
				t.Fatalf("%q: a scenario that could not fail", content)
			}
			s.Run(t.Context(), p)
		}
	})
}
