package bundle

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/conjunct-project/conjunct/engine"
)

// declaredFile is where tools that a program declares stand in a bundle: data
// like any other, so that the digest covers them and OPA reads them.
const declaredFile = "conjunct/registry/tools/data.json"

// WithTools is the bundle with more tools in its registry, as a program that
// holds the tools declares them. The source of a tool that names none is
// declared. Every check of a bundle applies again: the error is a *LoadError
// where the tools do not fit the rest of it.
//
// A tool that the registry declares already must be declared the same: what a
// program says of a tool never changes what the bundle says.
func (b *Bundle) WithTools(tools ...engine.Tool) (*Bundle, error) {
	declared := map[string]json.RawMessage{}
	if have, ok := b.files.Content[declaredFile]; ok {
		if err := json.Unmarshal(have, &declared); err != nil {
			return nil, fmt.Errorf("bundle %s: %s: %w", b.Path, declaredFile, err)
		}
	}
	want := map[string]engine.Tool{}
	for _, t := range tools {
		if t.Consequence.Source == engine.Undeclared {
			t.Consequence.Source = engine.Declared
		}
		have, known := b.Tool(t.Name)
		if other, twice := want[t.Name]; twice {
			have, known = other, true
		}
		if known && !sameTool(have, t) {
			return nil, fmt.Errorf("bundle %s: tool %q is declared twice, and not the same", b.Path, t.Name)
		}
		if want[t.Name] = t; known {
			continue
		}
		text, err := json.Marshal(registryEntry(t))
		if err != nil {
			return nil, fmt.Errorf("bundle %s: tool %q: %w", b.Path, t.Name, err)
		}
		declared[t.Name] = text
	}
	next, err := b.with(declared)
	if err != nil {
		return nil, err
	}
	for name, t := range want {
		if have, ok := next.Tool(name); !ok || !sameTool(have, t) {
			return nil, fmt.Errorf("bundle %s: tool %q: a registry cannot hold everything that is declared of it", b.Path, name)
		}
	}
	return next, nil
}

func (b *Bundle) with(declared map[string]json.RawMessage) (*Bundle, error) {
	files := Files{Path: b.files.Path, Content: maps.Clone(b.files.Content)}
	if len(declared) == 0 {
		return b, nil
	}
	text, err := json.MarshalIndent(declared, "", "  ")
	if err != nil {
		return nil, err
	}
	files.Content[declaredFile] = append(text, '\n')
	return Load(files)
}

// sameTool reports whether two declarations say the same. Lists are sets.
func sameTool(a, b engine.Tool) bool {
	for _, t := range []*engine.Tool{&a, &b} {
		for _, list := range []*[]string{&t.ReadOnly, &t.Requires.Context, &t.Requires.Evidence} {
			*list = append([]string{}, slices.Sorted(slices.Values(*list))...)
		}
	}
	return reflect.DeepEqual(a, b)
}

// registryEntry is a tool as a registry writes it. What is left out has its
// default there.
func registryEntry(t engine.Tool) map[string]any {
	c := t.Consequence
	out := map[string]any{"reversibility": c.Reversibility, "blast_radius": c.BlastRadius, "absorbed_by": c.AbsorbedBy,
		"detection_latency": c.DetectionLatency, "source": c.Source, "cost": t.Cost, "effect": t.Effect, "idempotent": t.Idempotent}
	if t.Arguments != nil {
		arguments := map[string]any{}
		for name, a := range t.Arguments {
			argument := map[string]any{"type": a.Type.String(), "required": a.Required}
			if a.Kind != engine.NoKind {
				argument["kind"] = a.Kind.String()
			}
			arguments[name] = argument
		}
		out["arguments"] = arguments
	}
	if len(t.ReadOnly) > 0 {
		out["read_only"] = t.ReadOnly
	}
	if r := t.Requires; r.Component || len(r.Context)+len(r.Evidence) > 0 {
		requires := map[string]any{"component": r.Component}
		for name, list := range map[string][]string{"context": r.Context, "evidence": r.Evidence} {
			if len(list) > 0 {
				requires[name] = list
			}
		}
		out["requires"] = requires
	}
	for name, n := range map[string]*float64{"forward_effects": t.ForwardEffects, "rollback_effects": t.RollbackEffects} {
		if n != nil {
			out[name] = *n
		}
	}
	for name, s := range map[string]string{"precondition": t.Precondition, "postcondition": t.Postcondition} {
		if s != "" {
			out[name] = s
		}
	}
	return out
}
