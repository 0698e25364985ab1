package bundle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/conjunct-project/conjunct/cel"
	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/floors"
	"github.com/conjunct-project/conjunct/rego"
	"github.com/conjunct-project/conjunct/signals"
)

// Bundle is a loaded policy. It is immutable and safe for concurrent use.
type Bundle struct {
	// Path is where it was read from.
	Path string
	// Warnings are problems that do not keep it from loading.
	Warnings []Problem

	id          engine.BundleID
	contract    *engine.Contract
	registry    registry
	severity    severity
	reviewers   map[string]Reviewer
	files       Files
	data        map[string]any
	modules     []rego.Module
	program     *rego.Program
	cel         *cel.Program
	table       *floors.Severity
	transitions *floors.Transitions
	floors      *floors.Clauses
	raises      *floors.Clauses
	gates       []ownGate
	byTool      map[string][]engine.Gate
	unlimited   []engine.Gate
	detector    *signals.Detector
	// authorityReadsState spares the authority rule a state it does not look at.
	authorityReadsState bool
}

var _ engine.Governance = (*Bundle)(nil)

// ownGate is a gate of the bundle, in Rego or CEL.
type ownGate struct {
	engine.Gate
	tools []string // nil: every tool
	cel   bool
	// rule and expression of a CEL gate, for explanations.
	rule       engine.Rule
	expression string
}

// wireGates lists the gates of both languages and which tools each applies to.
func (b *Bundle) wireGates(c *engine.Contract, celGates []celGate) {
	for _, name := range b.program.Gates() {
		g := c.Gates[name]
		b.gates = append(b.gates, ownGate{engine.Gate{Name: name, OnFail: g.OnFail, OnUnknown: g.OnUnknown, Family: g.Family}, g.Tools, false, engine.Rule{}, ""})
	}
	for _, g := range celGates {
		rule := engine.Rule{Path: "cel." + g.gate.Name, File: g.gate.File, Row: g.gate.Row, Title: g.gate.Message}
		b.gates = append(b.gates, ownGate{engine.Gate{Name: g.gate.Name, OnFail: g.gate.OnFail, OnUnknown: g.gate.OnUnknown, Family: g.gate.Family}, g.gate.Tools, true, rule, g.gate.Expression})
	}
	slices.SortFunc(b.gates, func(x, y ownGate) int { return cmp.Compare(x.Name, y.Name) })
	b.byTool = map[string][]engine.Gate{}
	for _, g := range b.gates {
		if g.tools == nil {
			b.unlimited = append(b.unlimited, g.Gate)
		}
		for tool := range b.registry.tools {
			if g.tools == nil || slices.Contains(g.tools, tool) {
				b.byTool[tool] = append(b.byTool[tool], g.Gate)
			}
		}
	}
}

func (b *Bundle) Bundle() engine.BundleID    { return b.id }
func (b *Bundle) Contract() *engine.Contract { return b.contract }
func (b *Bundle) Undeclared() engine.Tier    { return b.registry.undeclared }
func (b *Bundle) InferredFloor() engine.Tier { return b.registry.inferredFloor }
func (b *Bundle) Bump() int                  { return int(b.severity.bump) }
func (b *Bundle) Cap() engine.Tier           { return b.severity.cap }

func (b *Bundle) Tool(name string) (engine.Tool, bool) {
	t, ok := b.registry.tools[name]
	return t, ok
}

func (b *Bundle) Base(c engine.Consequence) (engine.Tier, engine.Reason) { return b.table.Base(c) }

func (b *Bundle) Modifiers(c engine.Consequence, low bool) []engine.ModifierRule {
	return b.table.Modifiers(c, low)
}

func (b *Bundle) Next(c engine.Cause, f engine.Flags) (engine.Transition, bool) {
	return b.transitions.Next(c, f)
}

// Gates lists the gates that apply to a tool. An undeclared tool meets those
// that are not limited to tools.
func (b *Bundle) Gates(tool string) []engine.Gate {
	if gates, ok := b.byTool[tool]; ok {
		return gates
	}
	return b.unlimited
}

func (b *Bundle) Floors(ctx context.Context, in *engine.Input) []engine.FloorMatch {
	matches := b.floors.Matches(ctx, in, imposed(in, engine.FloorGate))
	out := make([]engine.FloorMatch, len(matches))
	for i, m := range matches {
		var tier engine.Tier
		// The lint refused every other text; the zero tier refuses.
		_ = tier.UnmarshalText([]byte(m.Key["tier"]))
		out[i] = engine.FloorMatch{Name: m.Key["name"], Tier: tier, Determined: m.Determined, Cut: m.Cut,
			Reason: reasonOf(m, "floor "+m.Key["name"])}
	}
	return out
}

func (b *Bundle) Raises(ctx context.Context, in *engine.Input) []engine.Raise {
	matches := b.raises.Matches(ctx, in, imposed(in, engine.RaiseGate))
	out := make([]engine.Raise, len(matches))
	for i, m := range matches {
		r := reasonOf(m, fmt.Sprintf("policy raises %s to %s", m.Key["property"], m.Key["value"]))
		r.Code = "consequence_raised"
		out[i] = engine.Raise{Property: m.Key["property"], Value: m.Key["value"], Cut: m.Cut, Reason: r}
	}
	return out
}

// imposed tells for a name whether a replay holds it to have been cut short.
func imposed(in *engine.Input, gate func(string) string) func(string) string {
	return func(name string) string {
		for _, i := range in.Imposed {
			if i.Gate == gate(name) {
				return i.Code
			}
		}
		return ""
	}
}

func reasonOf(m floors.Match, what string) engine.Reason {
	text := what
	if m.Rule.Title != "" {
		text += " (" + m.Rule.Title + ")"
	}
	switch {
	case m.Determined:
	case len(m.Missing) > 0:
		text += " applies because it cannot be determined: " + strings.Join(m.Missing, ", ") + " is absent"
	default:
		text += " applies because it cannot be determined"
	}
	return engine.Reason{Rule: m.Rule, Facts: m.Facts, Text: text}
}

// Test evaluates one own gate.
func (b *Bundle) Test(ctx context.Context, name string, in *engine.Input) engine.Finding {
	i, ok := slices.BinarySearchFunc(b.gates, name, func(g ownGate, name string) int { return cmp.Compare(g.Name, name) })
	switch {
	case !ok:
		return engine.Finding{Reasons: []engine.Reason{{Code: rego.GateMissing, Text: "the bundle has no gate " + name}}}
	case b.gates[i].cel:
		return b.cel.Test(ctx, name, in)
	}
	return b.testRego(ctx, name, in)
}

// testRego evaluates a Rego gate, whose value is {"verdict", "reasons"}.
func (b *Bundle) testRego(ctx context.Context, name string, in *engine.Input) engine.Finding {
	entry := rego.Gates + "." + name
	rule := b.program.Place(entry)
	fail := func(code, text string) engine.Finding {
		return engine.Finding{Reasons: []engine.Reason{{Code: code, Rule: rule, Text: fmt.Sprintf("gate %s: %s", name, text), Facts: b.facts(entry, in)}}}
	}
	v, err := b.program.Eval(ctx, entry, rego.NewInput(in.Document()))
	if f, ok := err.(*rego.Failure); ok {
		return fail(f.Code, f.Text)
	}
	if err != nil {
		return fail(rego.EvalError, err.Error())
	}
	verdict, codes, err := readVerdict(v)
	if err != nil {
		return fail(rego.WrongType, err.Error())
	}
	f := engine.Finding{Verdict: verdict}
	for _, code := range codes {
		title := rule.Title
		if title == "" {
			title = name
		}
		f.Reasons = append(f.Reasons, engine.Reason{Code: code, Rule: rule, Text: title + ": " + strings.ReplaceAll(code, "_", " "), Facts: b.facts(entry, in)})
	}
	return f
}

// readVerdict reads {"verdict": "pass|fail|unknown", "reasons": [code, ...]}.
func readVerdict(v any) (engine.Verdict, []string, error) {
	obj, ok := v.(map[string]any)
	text, isText := obj["verdict"].(string)
	list, isList := obj["reasons"].([]any)
	if !ok || !isText || !isList || len(obj) != 2 {
		return engine.Unknown, nil, fmt.Errorf("the value must be {\"verdict\", \"reasons\"}")
	}
	var verdict engine.Verdict
	if err := verdict.UnmarshalText([]byte(text)); err != nil || verdict == engine.NotApplicable {
		return engine.Unknown, nil, fmt.Errorf("the verdict must be pass, fail or unknown, not %q", text)
	}
	codes := make([]string, len(list))
	for i, c := range list {
		if codes[i], ok = c.(string); !ok {
			return engine.Unknown, nil, fmt.Errorf("a reason must be a code")
		}
	}
	return verdict, codes, nil
}

// facts looks up the paths an entry point reads.
func (b *Bundle) facts(entry string, in *engine.Input) []engine.Fact {
	var out []engine.Fact
	for _, path := range b.program.Reads(entry) {
		if v, ok := in.Lookup(path); ok {
			out = append(out, engine.NewFact(engine.Pointer(path...), v))
		} else {
			out = append(out, engine.AbsentFact(engine.Pointer(path...)))
		}
	}
	return out
}

// reads lists every input path that any rule or gate reads.
func (b *Bundle) reads() []string {
	var out []string
	entries := []string{"severity.base", "severity.modifiers", "severity.raise", "floors.floors", "transition.next", "authority.may"}
	for _, g := range b.gates {
		entries = append(entries, rego.Gates+"."+g.Name)
	}
	for _, name := range b.program.Gates() {
		entries = append(entries, rego.Gates+"."+name)
	}
	for _, e := range entries {
		for _, path := range b.program.Reads(e) {
			out = append(out, engine.Pointer(path...))
		}
	}
	for _, name := range b.cel.Names() {
		out = append(out, b.cel.Reads(name)...)
	}
	return out
}

// Tools lists the names of the declared tools, sorted.
func (b *Bundle) Tools() []string {
	var out []string
	for name := range b.registry.tools {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// Native counts the floors that run without OPA and lists the others.
func (b *Bundle) Native() (native, total int, others []floors.Other) { return b.floors.Native() }

// Start is the state of a path before anything is known of it: what the
// contract says, as in a dry run.
func (b *Bundle) Start() engine.State { return b.contract.FirstState() }

// GateNames lists the standard gates and the bundle's own.
func (b *Bundle) GateNames() []string {
	names := families()
	for _, g := range b.gates {
		names = append(names, g.Name)
	}
	return names
}

// FloorNames lists the bundle's floors, sorted.
func (b *Bundle) FloorNames() []string { return b.floors.Names() }

// OwnGates lists the names of the bundle's own gates, sorted.
func (b *Bundle) OwnGates() []string {
	names := make([]string, len(b.gates))
	for i, g := range b.gates {
		names[i] = g.Name
	}
	return names
}

// FloorRules lists the floors that the source names, with the place of each.
func (b *Bundle) FloorRules() []rego.Head { return b.program.Heads("floors.floors", "name") }

// mayNot says who may not do what.
func mayNot(r engine.AuthorityRequest) string {
	if r.By.Role == "" {
		return fmt.Sprintf("%s has no role, so may not %s", r.By.Name, r.Op)
	}
	return fmt.Sprintf("%s, in the role %q, may not %s", r.By.Name, r.By.Role, r.Op)
}

// May asks the authority rule. Anything but true is no.
func (b *Bundle) May(ctx context.Context, r engine.AuthorityRequest) (bool, engine.Reason) {
	const entry = rego.Authority + ".may"
	no := engine.Reason{Code: "not_authorised", Rule: b.program.Place(entry),
		Text:  mayNot(r),
		Facts: []engine.Fact{engine.NewFact("/op", r.Op.String()), engine.NewFact("/by", r.By.Name), engine.NewFact("/role", r.By.Role), engine.NewFact("/qualified", r.By.Qualified)}}
	if !b.authorityReadsState {
		r.State = engine.State{}
	}
	v, err := b.program.Eval(ctx, entry, rego.NewInput(r.Document()))
	var f *rego.Failure
	if errors.As(err, &f) && f.Code != rego.Undefined {
		no.Code, no.Text = f.Code, f.Text
	}
	return err == nil && v == true, no
}

// Impose lists everything that a decision on a tool asks of OPA or CEL, as cut
// short with a code: what is left then is decided in Go alone.
func (b *Bundle) Impose(tool, code string) []engine.Imposed {
	var out []engine.Imposed
	for _, g := range b.Gates(tool) {
		out = append(out, engine.Imposed{Gate: g.Name, Code: code})
	}
	_, _, slow := b.floors.Native()
	for _, o := range slow {
		out = append(out, engine.Imposed{Gate: engine.FloorGate(o.Name), Code: code})
	}
	_, _, slow = b.raises.Native()
	for _, o := range slow {
		out = append(out, engine.Imposed{Gate: engine.RaiseGate(o.Name), Code: code})
	}
	return out
}
