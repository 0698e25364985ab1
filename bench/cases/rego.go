package cases

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var (
	packageLine  = regexp.MustCompile(`(?m)^package\s+([A-Za-z_][A-Za-z0-9_.]*)\s*$`)
	regoArgument = regexp.MustCompile(`\binput\.arguments\.([A-Za-z_][A-Za-z0-9_]*)`)
	regoInput    = regexp.MustCompile(`\binput\.(tool|arguments)\b`)
)

// own is the package of the case's own rules in the bundle.
const own = "conjunct.gates"

// ownRules puts the case's Rego into the bundle's gates and asks it for the
// verdict: a rule `deny` passes when it is empty, a rule `verdict` when it is
// "allow". An answer that is undefined leaves the gate without a value, which is
// unknown.
func (s *setup) ownRules() error {
	if s.modules == nil {
		return nil
	}
	files := map[string]string{}
	text := strings.Join(s.modules, "\n")
	var packages []string
	for i, m := range s.modules {
		p := packageLine.FindStringSubmatch(m)
		if p == nil {
			return errors.New("the Rego has no package")
		}
		packages = append(packages, p[1])
		m = packageLine.ReplaceAllString(m, "package "+own)
		m = strings.ReplaceAll(m, "import rego.v1\n", "")
		files[fmt.Sprintf("conjunct/gates/case_%d.rego", i)] = regoInput.ReplaceAllString(m, "input.action.$1")
	}
	rule, err := s.askedRule(text, packages)
	if err != nil {
		return err
	}
	reads := []string{}
	for _, m := range regoArgument.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(reads, m[1]) {
			reads = append(reads, m[1])
		}
	}
	names, err := json.Marshal(reads)
	if err != nil {
		return err
	}
	files["conjunct/gates/case.rego"] = strings.ReplaceAll(regoVerdicts[rule], "%s", string(names))
	s.history.reads = append(s.history.reads, reads...)
	s.rules, s.unknownRules = files, map[string]string{"verdict": "block", "allow": "block", "deny": "review", "violation": "review"}[rule]
	return nil
}

// askedRule is the rule that answers: what the query names, or without a query
// the rule of the first file's package.
func (s *setup) askedRule(text string, packages []string) (string, error) {
	asked := s.query
	if asked == "" && len(packages) > 0 {
		asked = "data." + packages[0]
	}
	for _, p := range packages {
		if asked != "data."+p && !strings.HasPrefix(asked, "data."+p+".") {
			return "", fmt.Errorf("the query %s names no rule of package %s", asked, p)
		}
	}
	for _, name := range []string{"verdict", "deny", "violation", "allow"} {
		named := strings.HasSuffix(asked, "."+name) || s.query == ""
		if named && regexp.MustCompile(`(?m)^\s*`+name+`\b`).MatchString(text) {
			return name, nil
		}
	}
	return "", fmt.Errorf("the policy has no rule that answers")
}

// regoVerdicts reads the answer of the case's rules. An empty set of objections
// proves nothing where an argument that the rules read is not there: a person is
// asked then.
var regoVerdicts = map[string]string{
	"deny":      objections("deny"),
	"violation": objections("violation"),
	"allow": `package conjunct.gates

case_rules := {"verdict": "pass", "reasons": []} if {
	allow == true
}

case_rules := {"verdict": "fail", "reasons": ["denied"]} if {
	allow == false
}
`,
	"verdict": `package conjunct.gates

case_rules := {"verdict": "pass", "reasons": []} if {
	verdict == "allow"
}

case_rules := {"verdict": "fail", "reasons": ["denied"]} if {
	verdict != "allow"
}
`,
}

// objections reads a set of reasons against the call.
func objections(rule string) string {
	return strings.ReplaceAll(`package conjunct.gates

default case_rules := {"verdict": "unknown", "reasons": ["argument_absent"]}

case_rules := {"verdict": "fail", "reasons": ["denied"]} if {
	count(RULE) > 0
}

case_rules := {"verdict": "pass", "reasons": []} if {
	count(RULE) == 0
	every name in %s {
		name in object.keys(input.action.arguments)
	}
}
`, "RULE", rule)
}
