package cases

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

var (
	packageLine  = regexp.MustCompile(`(?m)^package\s+([A-Za-z_][A-Za-z0-9_.]*)\s*$`)
	regoArgument = regexp.MustCompile(`\binput\.arguments\.([A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*)`)
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
	text := strings.Join(s.modules, "\n")
	var packages []string
	for _, m := range s.modules {
		p := packageLine.FindStringSubmatch(m)
		if p == nil {
			return errors.New("the Rego has no package")
		}
		packages = append(packages, p[1])
	}
	asked, rule, err := s.askedRule(text, packages)
	if err != nil {
		return err
	}
	files, err := placed(s.modules, packages, asked)
	if err != nil {
		return err
	}
	reads := [][]string{}
	for _, m := range regoArgument.FindAllStringSubmatch(text, -1) {
		path := strings.Split(m[1], ".")
		reads = append(reads, path)
		s.history.reads = append(s.history.reads, path[0])
	}
	paths, err := json.Marshal(reads)
	if err != nil {
		return err
	}
	files["conjunct/gates/case.rego"] = strings.ReplaceAll(regoVerdicts[rule], "PATHS", string(paths))
	s.rules = files
	s.unknownRules = map[string]string{"verdict": "block", "allow": "block", "deny": "review", "violation": "review"}[rule]
	return nil
}

// placed puts the case's modules where the bundle has its gates. A package beside the
// one that is asked is a library: what it defines is there under its own name. One
// that gives an answer too is none.
func placed(modules, packages []string, asked string) (map[string]string, error) {
	files := map[string]string{}
	for i, m := range modules {
		if packages[i] != asked && answers.MatchString(m) {
			return nil, &unsupported{fmt.Sprintf("package %s, which answers and is not asked", packages[i])}
		}
		for _, p := range packages {
			if p != asked {
				m = regexp.MustCompile(`(?m)^import data\.`+regexp.QuoteMeta(p)+`[ \t]*$`).ReplaceAllString(m, "import data."+own+" as "+lastOf(p))
			}
			m = regexp.MustCompile(`\bdata\.`+regexp.QuoteMeta(p)+`\b`).ReplaceAllString(m, "data."+own)
		}
		m = packageLine.ReplaceAllString(m, "package "+own)
		m = strings.ReplaceAll(m, "import rego.v1\n", "")
		files[fmt.Sprintf("conjunct/gates/case_%d.rego", i)] = regoInput.ReplaceAllString(m, "input.action.$1")
	}
	return files, nil
}

// answers is a rule that gives the answer of a policy.
var answers = regexp.MustCompile(`(?m)^\s*(?:default\s+)?(?:verdict|deny|violation|allow)\b`)

func lastOf(name string) string { return name[strings.LastIndex(name, ".")+1:] }

// askedRule is the package and the rule that answer: what the query names, or
// without a query a rule of the first file's package.
func (s *setup) askedRule(text string, packages []string) (asked, rule string, err error) {
	query := s.query
	if query == "" && len(packages) > 0 {
		query = "data." + packages[0]
	}
	for _, p := range packages {
		if query == "data."+p || strings.HasPrefix(query, "data."+p+".") && len(p) > len(asked) {
			asked = p
		}
	}
	if asked == "" {
		return "", "", fmt.Errorf("the query %s names no rule of the packages %s", query, strings.Join(packages, ", "))
	}
	for _, name := range []string{"verdict", "deny", "violation", "allow"} {
		named := query == "data."+asked+"."+name || s.query == "" || query == "data."+asked
		if named && regexp.MustCompile(`(?m)^\s*(?:default\s+)?`+name+`\b`).MatchString(text) {
			return asked, name, nil
		}
	}
	return "", "", errors.New("the policy has no rule that answers")
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

// objections reads a set of reasons against the call. That there is none proves
// nothing where something that the rules read is not there.
func objections(rule string) string {
	return strings.ReplaceAll(`package conjunct.gates

default case_rules := {"verdict": "unknown", "reasons": ["argument_absent"]}

case_rules := {"verdict": "fail", "reasons": ["denied"]} if {
	count(RULE) > 0
}

case_rules := {"verdict": "pass", "reasons": []} if {
	count(RULE) == 0
	every path in PATHS {
		object.get(input.action.arguments, path, {"absent": path}) != {"absent": path}
	}
}
`, "RULE", rule)
}
