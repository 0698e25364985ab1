package bundle

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/conjunct-project/conjunct/cel"
	"github.com/conjunct-project/conjunct/datafile"
	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/floors"
	"github.com/conjunct-project/conjunct/rego"
)

// decoder reads the sections of a bundle that have a fixed form.
type decoder struct{ datafile.Decoder }

// loader carries one bundle from files to policy and collects problems.
type loader struct {
	decoder
	files    Files
	revision string
	root     *datafile.Node
	modules  []rego.Module
	texts    map[string]string // canonical module path to text
	actual   map[string]string // canonical module path to path in the files
	registry registry
	contract *engine.Contract
	severity severity
	celGates []celGate
	people   map[string]Reviewer
	warnings []Problem
}

// Load makes a policy of files, with more tools in its registry where a program
// that holds them declares them. The source of a tool that names none is
// declared. What a program says of a tool never changes what the files say: a
// tool that they declare must be declared the same.
//
// The error is a *LoadError with every problem, or says what kept the files from
// being read or the tools from being declared.
func Load(files Files, tools ...engine.Tool) (*Bundle, error) {
	if len(tools) == 0 {
		return loadFiles(files)
	}
	return loadDeclared(files, tools)
}

func newLoader(files Files) *loader {
	return &loader{files: files, texts: map[string]string{}, actual: map[string]string{}}
}

func loadFiles(files Files) (*Bundle, error) {
	l := newLoader(files)
	l.manifest()
	l.data()
	if slices.ContainsFunc(l.Problems, unreadable) {
		// What depends on a file that could not be read would only be noise.
		return nil, l.fail()
	}
	l.sections()
	l.collectModules()
	b := l.build()
	if len(l.Problems) > 0 {
		return nil, l.fail()
	}
	for i := range l.warnings {
		l.locate(&l.warnings[i])
	}
	datafile.Sort(l.warnings)
	b.Warnings = l.warnings
	return b, nil
}

// unreadable reports whether a data file gave no value at all.
func unreadable(p Problem) bool { return p.Code == "data_syntax" || p.Code == "data_encoding" }

// Read opens and loads the bundle at a path, as Load does.
func Read(name string, tools ...engine.Tool) (*Bundle, error) {
	files, err := Open(name)
	if err != nil {
		return nil, err
	}
	return Load(files, tools...)
}

func (l *loader) fail() error {
	for i := range l.Problems {
		l.locate(&l.Problems[i])
	}
	datafile.Sort(l.Problems)
	return &LoadError{Path: l.files.Path, Problems: slices.Compact(l.Problems)}
}

// locate names the file as the user knows it and adds the text of the row.
func (l *loader) locate(p *Problem) {
	if actual, ok := l.actual[p.File]; ok {
		p.File = actual
	}
	p.Line = l.files.line(p.File, p.Row)
	p.File = path.Join(l.files.Path, p.File)
}

// manifest accepts exactly what a Conjunct bundle says of itself.
func (l *loader) manifest() {
	content, ok := l.files.Content[manifestFile]
	if !ok {
		l.Problems = append(l.Problems, Problem{File: manifestFile, Code: "manifest_missing", Message: "the bundle has no .manifest",
			Hint: `write {"revision": "...", "roots": ["conjunct"], "rego_version": 1}`})
		return
	}
	n, problems := datafile.Read(manifestFile, content)
	l.Problems = append(l.Problems, problems...)
	if n == nil {
		return
	}
	var roots []string
	var version float64
	l.Object(n, "the manifest", datafile.Fields{
		"revision":     l.Text("revision", &l.revision),
		"roots":        l.Texts("roots", &roots),
		"rego_version": l.Number("rego_version", 0, 10, &version),
	}, "revision", "roots", "rego_version")
	if n.At("roots") != nil && !slices.Equal(roots, []string{"conjunct"}) {
		l.Report(n.At("roots"), "manifest_roots", "", `roots must be ["conjunct"]`)
	}
	if n.At("rego_version") != nil && version != 1 {
		l.Report(n.At("rego_version"), "manifest_rego_version", "", "rego_version must be 1")
	}
	if len(l.Problems) == 0 && !json.Valid(content) {
		l.Report(n, "manifest_json", "", "the manifest is YAML, and OPA reads JSON")
	}
}

// data reads every data file into one tree.
func (l *loader) data() {
	l.root = &datafile.Node{Kind: datafile.Object, Fields: map[string]*datafile.Node{}}
	for _, p := range slices.Sorted(maps.Keys(l.files.Content)) {
		if p == manifestFile || isModule(p) {
			continue
		}
		if !isData(p) {
			l.Problems = append(l.Problems, Problem{File: p, Code: "file_not_read", Message: "this file is no part of a bundle and would silently not count",
				Hint: "data stands in files named data.yaml or data.json, rules in .rego files"})
			continue
		}
		n, problems := datafile.Read(p, l.files.Content[p])
		l.Problems = append(l.Problems, problems...)
		if n == nil {
			continue
		}
		var keys []string
		if dir := path.Dir(p); dir != "." {
			keys = strings.Split(dir, "/")
		}
		l.Problems = append(l.Problems, datafile.Merge(l.root, keys, n)...)
	}
}

// sections decodes the parts of the data that have a fixed form. Scope is free.
func (l *loader) sections() {
	for _, k := range l.root.Keys {
		if k != "conjunct" {
			l.Report(l.root.Fields[k], "data_root", engine.DidYouMean(k, []string{"conjunct"}), "data.%s lies outside the root conjunct", k)
		}
	}
	c := l.root.At("conjunct")
	l.ruleData(c)
	if c != nil {
		known := []string{"registry", "contract", "scope", "severity", "cel", "authority", "floors", "gates", "transition"}
		for _, k := range c.Keys {
			if !slices.Contains(known, k) {
				l.Report(c.Fields[k], "data_section", engine.DidYouMean(k, known), "a bundle has no section %q", k)
			}
		}
	}
	l.registry = l.decoder.registry(c.At("registry"))
	l.contract = l.decoder.contract(c.At("contract"))
	l.severity = l.decoder.severity(c.At("severity"))
	l.celGates = l.decoder.celGates(c.At("cel"))
	l.people = l.decoder.reviewers(c.At("authority"), l.contract.Roles)
	l.toolNames(c)
	l.required(c)
	l.underCritic(c)
}

// ruleData reports data at the place of a rule: one of the two would silently
// not count.
func (l *loader) ruleData(c *datafile.Node) {
	for _, place := range [][2]string{{"severity", "base"}, {"severity", "modifiers"}, {"severity", "raise"}, {"floors", "floors"},
		{"transition", "next"}, {"authority", "may"}} {
		if n := c.At(place[:]...); n != nil {
			l.Report(n, "data_conflict", "write it as a rule", "data.conjunct.%s.%s is a rule's place and not data's", place[0], place[1])
		}
	}
	if gates := c.At("gates"); gates != nil {
		l.Report(gates, "data_conflict", "write gates as rules, or as CEL in conjunct/cel/data.yaml", "data.conjunct.gates is the rules' place and not data's")
	}
}

// toolNames holds every tool that the data speaks of against the registry.
func (l *loader) toolNames(c *datafile.Node) {
	known := slices.Sorted(maps.Keys(l.registry.tools))
	check := func(n *datafile.Node, where string, tools []string) {
		for _, t := range tools {
			if _, ok := l.registry.tools[t]; !ok {
				l.Report(n, "data_unknown_tool", engine.DidYouMean(t, known), "%s names tool %q, which the registry does not declare", where, t)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.contract.Components)) {
		check(c.At("contract", "components", name, "tools"), "component "+name, l.contract.Components[name].Tools)
	}
	for _, name := range slices.Sorted(maps.Keys(l.contract.Gates)) {
		check(c.At("contract", "gates", name, "tools"), "gate "+name, l.contract.Gates[name].Tools)
	}
	for _, tool := range slices.Sorted(maps.Keys(l.contract.Redact)) {
		at := c.At("contract", "redact").KeyNodes[tool]
		check(at, "redact", []string{tool})
		for _, name := range l.contract.Redact[tool] {
			if t := l.registry.tools[tool]; t.Arguments != nil && t.Arguments[name].Type == engine.NoType {
				l.Report(c.At("contract", "redact", tool), "data_unknown_value", engine.DidYouMean(name, argumentNames(t)), "redact names %q, which is no argument of %s", name, tool)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.contract.Counters)) {
		rule, at := l.contract.Counters[name], c.At("contract", "counters", name)
		check(at.At("tools"), "counter "+name, rule.Tools)
		l.counterArgument(at.At("sum"), name, rule.Tools, rule.Sum, engine.NumberType, engine.IntegerType)
		l.counterArgument(at.At("by"), name, rule.Tools, rule.By, engine.StringType)
	}
	if a := l.contract.DefaultAction; a != nil {
		at := c.At("contract", "default_action")
		check(at.At("tool"), "default_action", []string{a.Tool})
		t := l.registry.tools[a.Tool]
		for _, name := range slices.Sorted(maps.Keys(a.Arguments)) {
			if t.Arguments != nil && t.Arguments[name].Type == engine.NoType {
				l.Report(at.At("arguments").KeyNodes[name], "data_unknown_value", engine.DidYouMean(name, argumentNames(t)), "default_action names %q, which is no argument of %s", name, a.Tool)
			}
		}
	}
}

// counterArgument holds what a counter reads against the tools it counts: an
// amount or entity that a call need not have could not be counted, and one that
// never reaches the journal would be forgotten with the next start.
func (l *loader) counterArgument(n *datafile.Node, counter string, tools []string, name string, types ...engine.ArgumentType) {
	if name == "" {
		return
	}
	for _, tool := range tools {
		t := l.registry.tools[tool]
		a, known := t.Arguments[name]
		hint := engine.DidYouMean(name, argumentNames(t))
		if known {
			hint = "make it required, of that type"
		}
		if !a.Required || !slices.Contains(types, a.Type) {
			l.Report(n, "data_counter", hint, "counter %s reads argument %q, which tool %s does not require as %s", counter, name, tool, types[0])
		}
		if slices.Contains(l.contract.Redact[tool], name) {
			l.Report(n, "data_counter", "do not redact it, or count by something else",
				"counter %s reads argument %q of %s, which is redacted: what was counted could not be known again from the journal", counter, name, tool)
		}
	}
}

// required holds what tools require against what the contract knows.
func (l *loader) required(c *datafile.Node) {
	for _, name := range slices.Sorted(maps.Keys(l.registry.tools)) {
		t := l.registry.tools[name]
		at := c.At("registry", "tools", name, "requires")
		check := func(kind string, names []string, known map[string]engine.RecordRule) {
			for _, want := range names {
				if _, ok := known[want]; !ok {
					l.Report(at, "data_unknown_"+kind, engine.DidYouMean(want, slices.Sorted(maps.Keys(known))),
						"tool %s requires %s %q, which the contract does not define", name, kind, want)
				}
			}
		}
		check("evidence", t.Requires.Evidence, l.contract.Evidence)
		check("context", t.Requires.Context, l.contract.Context)
	}
}

var packageLine = regexp.MustCompile(`(?m)^\s*package\s+([A-Za-z0-9_.]+)`)

// collectModules gives every module its canonical path: package path and file
// name. A file that names no package keeps its own path; the compiler says what
// is wrong with it.
func (l *loader) collectModules() {
	for _, p := range slices.Sorted(maps.Keys(l.files.Content)) {
		if !isModule(p) {
			continue
		}
		text := string(l.files.Content[p])
		canonical := p
		if m := packageLine.FindStringSubmatch(text); m != nil {
			canonical = strings.ReplaceAll(m[1], ".", "/") + "/" + path.Base(p)
		}
		if other, twice := l.actual[canonical]; twice {
			l.Problems = append(l.Problems, Problem{File: p, Code: "rego_file_name", Message: fmt.Sprintf("the same package has a file of that name already, %s", other), Hint: "rename one of them"})
			continue
		}
		l.actual[canonical] = p
		l.texts[canonical] = text
		l.modules = append(l.modules, rego.Module{File: canonical, Text: text})
	}
}

// build compiles the parts and wires them into one policy.
func (l *loader) build() *Bundle {
	data, _ := l.root.Any().(map[string]any)
	b := &Bundle{Path: l.files.Path, contract: l.contract, registry: l.registry, severity: l.severity, data: data, modules: l.modules, reviewers: l.people, files: l.files}
	b.program = l.compileRego(data)
	if b.program != nil {
		l.tables(b)
	}
	b.cel = l.compileCEL()
	if b.program == nil || b.cel == nil {
		return nil
	}
	l.unusedSettings(b)
	sum, err := digest(data, l.texts)
	if err != nil {
		l.Problems = append(l.Problems, Problem{File: manifestFile, Code: "digest", Message: err.Error()})
		return nil
	}
	b.id = engine.BundleID{Revision: l.revision, Digest: sum}
	b.wireGates(l.contract, l.celGates)
	b.detector = l.detector(b)
	b.authorityReadsState = slices.ContainsFunc(b.program.Reads("authority.may"), func(path []string) bool { return path[0] == "state" })
	return b
}

func (l *loader) compileRego(data map[string]any) *rego.Program {
	var gates []string
	tools := map[string][]string{}
	for name, rule := range l.contract.Gates {
		if !slices.Contains(families(), name) {
			gates = append(gates, name)
			tools[name] = rule.Tools
		}
	}
	slices.Sort(gates)
	for _, g := range l.celGates {
		if slices.Contains(gates, g.gate.Name) {
			l.Report(g.node, "data_gate", "a gate is either Rego, listed in the contract, or CEL", "gate %s is listed in the contract too", g.gate.Name)
		}
	}
	p, problems := rego.Load(rego.Source{Modules: l.modules, Data: data, Input: shapes(l.registry, l.contract, l.namedScope()), Gates: gates, GateTools: tools})
	l.addRego(problems)
	return p
}

func (l *loader) addRego(problems []rego.Problem) {
	for _, p := range problems {
		gate, missing := strings.CutPrefix(p.Entry, rego.Gates+".")
		if missing {
			known := append(families(), gate)
			hint := cmp.Or(p.Hint, engine.DidYouMean(gate, slices.DeleteFunc(known, func(k string) bool { return k == gate })))
			l.Report(l.root.At("conjunct", "contract", "gates").KeyNodes[gate], p.Code, hint, "%s", p.Message)
			continue
		}
		l.Problems = append(l.Problems, Problem{File: p.File, Row: p.Row, Col: p.Col, Code: p.Code, Message: p.Message, Hint: p.Hint})
	}
}

// tables enumerates severity and transition and turns floors and raises into
// clauses, each held against the registry.
func (l *loader) tables(b *Bundle) {
	var problems []rego.Problem
	b.table, problems = floors.EnumerateSeverity(b.program, l.severity.cap)
	l.addRego(problems)
	b.transitions, problems = floors.EnumerateTransitions(b.program)
	l.addRego(problems)
	tools := floors.Registry(l.registry.tools)
	clauses := func(entry, name string, keys ...string) *floors.Clauses {
		residual, problems := b.program.Residuals(entry, keys...)
		l.addRego(problems)
		c := floors.NewClauses(residual, name)
		if len(problems) == 0 {
			l.addRego(floors.Lint(c, b.program.Heads(entry, name), tools))
		}
		return c
	}
	b.floors = clauses("floors.floors", "name", "name", "tier")
	b.raises = clauses("severity.raise", "property", "property", "value")
}

func (l *loader) compileCEL() *cel.Program {
	gates := make([]cel.Gate, len(l.celGates))
	for i, g := range l.celGates {
		gates[i] = g.gate
	}
	p, problems := cel.Compile(gates, l.celSchema())
	for _, problem := range problems {
		placed := Problem{File: "conjunct/cel/data.yaml", Code: "cel_expression", Message: problem.Message, Hint: problem.Hint, Warning: problem.Warning}
		if problem.Index >= 0 {
			placed = l.celGates[problem.Index].place(problem, l.files)
		}
		if problem.Warning {
			l.warnings = append(l.warnings, placed)
		} else {
			l.Problems = append(l.Problems, placed)
		}
	}
	return p
}

func (l *loader) celSchema() cel.Schema {
	scope, _ := l.scope().(map[string]any)
	return cel.Schema{
		Settings: slices.Sorted(maps.Keys(l.contract.Start.Settings)),
		Pins:     slices.Sorted(slices.Values(slices.Concat(l.contract.TracePins, l.contract.PathPins))),
		Evidence: slices.Sorted(slices.Values(slices.Concat(slices.Collect(maps.Keys(l.contract.Evidence)), slices.Collect(maps.Keys(l.contract.Context))))),
		Counters: slices.Sorted(maps.Keys(l.contract.Counters)),
		Tools:    slices.Sorted(maps.Keys(l.registry.tools)),
		Scope:    scope,
		ArgumentsOf: func(tool string) (map[string]engine.Argument, bool) {
			t, ok := l.registry.tools[tool]
			return t.Arguments, ok
		},
	}
}

func (l *loader) scope() any {
	if n := l.root.At("conjunct", "scope"); n != nil {
		return n.Any()
	}
	return nil
}

// unusedSettings reports a setting that neither a standard gate nor a rule
// reads: a misspelt limit would otherwise silently be none.
func (l *loader) unusedSettings(b *Bundle) {
	read := map[string]bool{}
	for name := range engineSettings {
		read[name] = true
	}
	for _, path := range b.reads() {
		if rest, ok := strings.CutPrefix(path, "/state/settings/"); ok {
			name, _, _ := strings.Cut(rest, "/")
			read[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.contract.Start.Settings)) {
		if !read[name] {
			n := l.root.At("conjunct", "contract", "start", "settings")
			l.Report(n.KeyNodes[name], "data_unused_setting", engine.DidYouMean(name, slices.Sorted(maps.Keys(engineSettings))),
				"no gate and no rule reads the setting %q", name)
		}
	}
}
