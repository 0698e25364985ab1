package cases

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/conjunct-project/conjunct/bundle"
	"github.com/conjunct-project/conjunct/datafile"
	"github.com/conjunct-project/conjunct/policies"
)

// base is the bundle that a case is decided with: the coding agent's, unless it is
// about nothing that this one looks at.
func (s *setup) base() string {
	for name, t := range s.tools {
		declared, _ := t["arguments"].(map[string]any)
		for _, a := range declared {
			if kind, ok := a.(map[string]any)["kind"]; ok && kind != "" {
				return "coding-agent"
			}
		}
		if name == "shell" {
			return "coding-agent"
		}
	}
	if len(s.tree.roots) > 0 || s.tree.dir != "" {
		return "coding-agent"
	}
	return policies.Default
}

// reviewer is the person of an approval or a rejection, and her role.
const (
	reviewer     = "lead"
	reviewerRole = "maintainer"
)

// reviewerKey signs reviews. It is no secret: it opens nothing but the throw-away
// state of a case.
var reviewerKey = ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))

// section is a data file of the bundle that a case changes.
func section(name string) string { return "conjunct/" + name + "/data.yaml" }

// files is the base bundle with the case's scope, registry, contract and gates.
func (s *setup) files(tools []string) (bundle.Files, error) {
	base := s.base()
	files, err := s.loader.base(base)
	if err != nil {
		return files, err
	}
	content := maps.Clone(files.Content)
	if s.anyHost() {
		delete(content, "conjunct/gates/hosts.rego")
	}
	for name, text := range s.rules {
		content[name] = []byte(text)
	}
	change := map[string]func(map[string]any){
		"scope": s.layScope,
		"registry": func(m map[string]any) {
			m["undeclared"] = s.undeclared
			s.layTools(m)
		},
		"contract":  func(m map[string]any) { s.layContract(m, tools) },
		"authority": layReviewer,
		"cel":       func(m map[string]any) { s.layGates(m, tools) },
	}
	for _, name := range slices.Sorted(maps.Keys(change)) {
		if err := alter(content, section(name), change[name]); err != nil {
			return files, err
		}
	}
	return bundle.Files{Path: base, Content: content}, nil
}

// anyHost reports a case that lists commands and says nothing of hosts: a listed
// command may talk to whichever it does.
func (s *setup) anyHost() bool {
	commands, _ := s.scope["commands"].(map[string]any)
	return s.scope["hosts"] == nil && commands["allow"] != nil
}

// alter changes a data file of a bundle, which may be absent.
func alter(content map[string][]byte, name string, change func(map[string]any)) error {
	data := map[string]any{}
	if text, ok := content[name]; ok {
		n, problems := datafile.Read(name, text)
		if len(problems) > 0 {
			return fmt.Errorf("%s", problems[0])
		}
		data, _ = n.Any().(map[string]any)
	}
	change(data)
	text, err := json.Marshal(data)
	if err != nil {
		return err
	}
	// JSON is YAML, and keeps the numbers of the case as they were written.
	content[name] = text
	return nil
}

// layScope leaves no list of the bundle's own in place of one that the case does
// not give: what it does not list is open.
func (s *setup) layScope(m map[string]any) {
	maps.Copy(m, map[string]any{"roots": []string{"/"}, "paths": map[string]any{"allow": []string{"/**"}}, "commands": map[string]any{"allow": []string{"*"}, "irreversible": []string{}, "privileged": []string{}},
		"hosts": map[string]any{"allow": []string{"*"}}})
	if len(s.tree.roots) > 0 {
		m["roots"] = s.tree.roots
	}
	for k, v := range s.scope {
		lists, isLists := v.(map[string]any)
		have, _ := m[k].(map[string]any)
		if isLists && have != nil {
			maps.Copy(have, lists)
			continue
		}
		m[k] = v
	}
}

// reach is the roots of the task, and the folders apart from them that its list
// allows as a whole.
func (s *setup) reach() []string {
	roots := slices.Clone(s.tree.roots)
	lists, _ := s.scope["paths"].(map[string]any)
	allowed, _ := lists["allow"].([]string)
	for _, glob := range allowed {
		folder := strings.TrimSuffix(strings.TrimSuffix(glob, "**"), "/")
		if !path.IsAbs(folder) || strings.ContainsAny(folder, `*?[{\`) {
			continue
		}
		if !slices.ContainsFunc(roots, func(r string) bool { return holds(r, folder) || holds(folder, r) }) {
			roots = append(roots, folder)
		}
	}
	return roots
}

// holds reports that a folder is another one, or that it is in it.
func holds(folder, other string) bool {
	return strings.HasPrefix(path.Clean(other)+"/", strings.TrimSuffix(path.Clean(folder), "/")+"/")
}

func (s *setup) layTools(m map[string]any) {
	tools, _ := m["tools"].(map[string]any)
	if tools == nil {
		tools = map[string]any{}
	}
	for name, t := range s.tools {
		have, known := tools[name].(map[string]any)
		if !known || s.history.onlyKnown && another(have, t) {
			tools[name] = t
			continue
		}
		// What the bundle knows of its own tool stands; arguments it does not
		// declare come with the case.
		merge(have, t)
	}
	m["tools"] = tools
}

// another reports that a case's tool has arguments and none of those of the bundle's
// tool of that name: it is another one.
func another(have map[string]any, t tool) bool {
	arguments, _ := have["arguments"].(map[string]any)
	given, _ := t["arguments"].(map[string]any)
	for name := range given {
		if _, declared := arguments[name]; declared {
			return false
		}
	}
	return len(given) > 0
}

func merge(have map[string]any, t tool) {
	arguments, _ := have["arguments"].(map[string]any)
	more, _ := t["arguments"].(map[string]any)
	if arguments == nil || more == nil {
		return
	}
	for name, a := range more {
		if _, declared := arguments[name]; declared {
			continue
		}
		arguments[name] = a
		standsIn(a, arguments, more)
	}
	for _, property := range []string{"reversibility", "blast_radius"} {
		if t[property] == "costly" || t[property] == "system" {
			have[property] = t[property]
		}
	}
	if t["requires"] != nil {
		have["requires"] = t["requires"]
	}
}

// standsIn has an argument of the case stand for one that the bundle's tool requires
// and the case does not give, where both are of one kind: it is another name of it.
func standsIn(a any, arguments, given map[string]any) {
	kind := a.(map[string]any)["kind"]
	if kind == nil {
		return
	}
	for name, own := range arguments {
		declared, _ := own.(map[string]any)
		if _, there := given[name]; !there && declared["kind"] == kind {
			delete(declared, "required")
		}
	}
}

func (s *setup) layContract(m map[string]any, tools []string) {
	maps.Copy(m, s.contract)
	if gates, ok := m["gates"].(map[string]any); ok && s.anyHost() {
		delete(gates, "hosts_bound")
	}
	start, _ := m["start"].(map[string]any)
	if start == nil {
		start = map[string]any{}
		m["start"] = start
	}
	settings, _ := start["settings"].(map[string]any)
	if settings == nil {
		settings = map[string]any{}
	}
	maps.Copy(settings, s.settings)
	start["settings"] = settings
	m["roles"] = []string{reviewerRole}
	if len(s.history.required) > 0 {
		evidence := map[string]any{}
		for _, name := range s.history.required {
			evidence[name] = map[string]any{}
		}
		m["evidence"] = evidence
	}
	if s.criticGate {
		gates, _ := m["gates"].(map[string]any)
		gates["CRITIC"] = map[string]any{"scope": "calls whose plan raises a structural signal", "rationale": "a score carries no weight there"}
	}
	if s.rules != nil {
		gates, _ := m["gates"].(map[string]any)
		gates["case_rules"] = map[string]any{"on_fail": "block", "on_unknown": s.unknownRules, "tools": tools}
	}
}

func layReviewer(m map[string]any) {
	key, _ := reviewerKey.Public().(ed25519.PublicKey)
	m["reviewers"] = map[string]any{reviewer: map[string]any{"role": reviewerRole, "key": base64.StdEncoding.EncodeToString(key)}}
}

// layGates adds the case's gates, for the tool that it is about.
func (s *setup) layGates(m map[string]any, tools []string) {
	gates := []any{}
	if have, ok := m["gates"].([]any); ok {
		gates = slices.DeleteFunc(have, func(g any) bool { return s.anyHost() && g.(map[string]any)["name"] == "hosts-listed" })
	}
	if s.anyHost() {
		for _, g := range gates {
			// What is seen of hosts counts, and that there may be more is no matter.
			if one := g.(map[string]any); one["name"] == "hosts-named" {
				one["expression"] = strings.ReplaceAll(one["expression"].(string), "facts.network.hosts", "facts.network.seen")
			}
		}
	}
	for _, g := range s.gates {
		if g.Match == nil {
			g.Match = &match{tools}
		}
		g.CostLimit = s.costLimit
		gates = append(gates, g)
	}
	m["gates"] = gates
}
