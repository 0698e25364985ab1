package rego

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
)

// The packages of the protocol, below data.conjunct.
const (
	Severity   = "severity"
	Floors     = "floors"
	Gates      = "gates"
	Transition = "transition"
	Authority  = "authority"
)

// Protocol lists the packages in which a bundle may have rules.
func Protocol() []string { return []string{Severity, Floors, Gates, Transition, Authority} }

// Entries lists the entry points of each package. Those of gates are the
// contract's.
func entries(gates []string) map[string][]string {
	return map[string][]string{
		Severity:   {"base", "modifiers", "raise"},
		Floors:     {"floors"},
		Gates:      gates,
		Transition: {"next"},
		Authority:  {"may"},
	}
}

// Module is the text of one Rego file.
type Module struct {
	File string
	Text string
}

// Source is what a Program is made of.
type Source struct {
	Modules []Module
	// Data is the tree below `data`, numbers as float64.
	Data map[string]any
	// Input is what the input may hold, for each package of the protocol.
	Input map[string]*Shape
	// Gates names the gates that the contract lists in Rego.
	Gates []string
	// GateTools limits a gate to tools, where the contract does.
	GateTools map[string][]string
}

// Program is the compiled Rego of one bundle. It is immutable and safe for
// concurrent use.
type Program struct {
	compiler *ast.Compiler
	modules  map[string]*ast.Module // as parsed
	loose    *ast.Compiler          // without types, for partial evaluation
	store    storage.Store
	queries  map[string]query
	rules    map[string][]*ast.Rule // by package and name, "floors.floors"
	gates    []string
}

// Load compiles the modules. All problems are returned in one run; the program
// is nil when there is any.
func Load(src Source) (*Program, []Problem) {
	modules, problems := parse(src.Modules)
	if len(problems) > 0 {
		return nil, sorted(problems)
	}
	compiler := newCompiler(src)
	compiler.Compile(modules)
	if compiler.Failed() {
		problems = append(problems, explainCompile(compiler.Errors)...)
		// A type error leaves the rules resolved, so the lints still run and may
		// say in better words what is wrong.
		if slices.ContainsFunc(compiler.Errors, func(e *ast.Error) bool { return e.Code != ast.TypeErr }) {
			return nil, sorted(problems)
		}
		compiler = newCompiler(Source{})
		compiler.Compile(modules)
		if compiler.Failed() {
			return nil, sorted(problems)
		}
	}
	l := &linter{compiler: compiler, src: src, entries: entries(src.Gates)}
	problems = append(problems, l.run()...)
	if len(problems) > 0 {
		return nil, sorted(problems)
	}
	loose := ast.NewCompiler().WithCapabilities(untyped()).WithDefaultRegoVersion(ast.RegoV1)
	if loose.Compile(modules); loose.Failed() {
		return nil, fromOPA(loose.Errors)
	}
	p := &Program{compiler: compiler, modules: modules, loose: loose, store: inmem.NewFromObjectWithOpts(toStore(src.Data), inmem.OptRoundTripOnWrite(false), inmem.OptReturnASTValuesOnRead(true)),
		queries: map[string]query{}, rules: l.rules, gates: slices.Clone(src.Gates)}
	if problems := p.prepare(); len(problems) > 0 {
		return nil, problems
	}
	if problems := p.passesOnNothing(src); len(problems) > 0 {
		return nil, sorted(problems)
	}
	return p, nil
}

// newCompiler makes a strict compiler that knows the shape of the input; with
// an empty source one that does not check types against it.
func newCompiler(src Source) *ast.Compiler {
	c := ast.NewCompiler().WithStrict(true).WithCapabilities(capabilities()).WithDefaultRegoVersion(ast.RegoV1)
	if len(src.Input) > 0 {
		schemas := ast.NewSchemaSet()
		schemas.Put(ast.SchemaRootRef, Schema(src.Input))
		c = c.WithSchemas(schemas)
	}
	return c
}

// Schema is the JSON Schema that all modules of a bundle are checked against.
func Schema(input map[string]*Shape) map[string]any { return merged(input).Schema() }

// merged is a shape that has the fields of every package's input: OPA checks
// all modules against one schema, the linter each against its own.
func merged(shapes map[string]*Shape) *Shape {
	out := Object(map[string]*Shape{})
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		out = union(out, shapes[name])
	}
	return out
}

// union has the fields of both; where one of two leaves differs, anything fits.
func union(a, b *Shape) *Shape {
	switch {
	case a == nil:
		return b
	case b == nil || a == b:
		return a
	case a.Fields == nil || b.Fields == nil:
		if a.Fields == nil && b.Fields == nil && a.Open == b.Open && slices.Equal(a.Types, b.Types) && slices.Equal(a.Enum, b.Enum) {
			return a
		}
		return Any()
	}
	fields := maps.Clone(a.Fields)
	for name, shape := range b.Fields {
		fields[name] = union(fields[name], shape)
	}
	return &Shape{Fields: fields, Open: a.Open || b.Open}
}

func parse(sources []Module) (map[string]*ast.Module, []Problem) {
	var problems []Problem
	modules := make(map[string]*ast.Module, len(sources))
	for _, s := range sources {
		if !strings.HasSuffix(s.File, ".rego") {
			problems = append(problems, Problem{File: s.File, Code: "rego_file_name", Message: "not a Rego file"})
			continue
		}
		m, err := ast.ParseModuleWithOpts(s.File, s.Text, ast.ParserOptions{ProcessAnnotation: true, RegoVersion: ast.RegoV1})
		switch {
		case err != nil:
			problems = append(problems, fromOPA(err)...)
		case m == nil:
			problems = append(problems, Problem{File: s.File, Row: 1, Col: 1, Code: "rego_empty", Message: "the file holds no package"})
		default:
			modules[s.File] = m
		}
	}
	return modules, problems
}

// explainCompile adds what the allow-list has to do with an unknown function.
func explainCompile(errs ast.Errors) []Problem {
	problems := fromOPA(errs)
	for i, p := range problems {
		name, ok := strings.CutPrefix(p.Message, "undefined function ")
		if ok && forbidden(name) {
			problems[i].Code = "rego_forbidden_builtin"
			problems[i].Message = fmt.Sprintf("%s may not be used in a bundle", name)
			problems[i].Hint = "only pure and bounded builtins are allowed: no network, clock, randomness or environment"
		}
	}
	return problems
}

// Gates lists the names of the gates, sorted.
func (p *Program) Gates() []string { return slices.Sorted(slices.Values(p.gates)) }
