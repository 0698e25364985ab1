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

// loadDeclared writes the tools into the files and loads them: every check of a
// bundle is made of both together.
func loadDeclared(files Files, tools []engine.Tool) (*Bundle, error) {
	fail := func(name, format string, args ...any) error {
		return fmt.Errorf("bundle %s: tool %q %w", files.Path, name, fmt.Errorf(format, args...))
	}
	l := newLoader(files)
	// What cannot be read is told when everything is loaded.
	l.data()
	have := l.decoder.registry(l.root.At("conjunct", "registry")).tools
	declared, err := declaredIn(files)
	if err != nil {
		return nil, err
	}
	want := map[string]engine.Tool{}
	for _, t := range tools {
		if t.Consequence.Source == engine.Undeclared {
			t.Consequence.Source = engine.Declared
		}
		before, known := have[t.Name]
		if known && !sameTool(before, t) {
			return nil, fail(t.Name, "is declared twice, and not the same")
		}
		have[t.Name], want[t.Name] = t, t
		if known {
			continue
		}
		if declared[t.Name], err = json.Marshal(registryEntry(t)); err != nil {
			return nil, fail(t.Name, "cannot be declared: %w", err)
		}
	}
	if files, err = withDeclared(files, declared); err != nil {
		return nil, err
	}
	b, err := loadFiles(files)
	if err != nil {
		return nil, err
	}
	for name, t := range want {
		if kept, ok := b.Tool(name); !ok || !sameTool(kept, t) {
			return nil, fail(name, "says what a registry does not hold")
		}
	}
	return b, nil
}

// declaredIn reads the tools that a program declared before.
func declaredIn(files Files) (map[string]json.RawMessage, error) {
	declared := map[string]json.RawMessage{}
	if text, ok := files.Content[declaredFile]; ok {
		if err := json.Unmarshal(text, &declared); err != nil {
			return nil, fmt.Errorf("bundle %s: %s: %w", files.Path, declaredFile, err)
		}
	}
	return declared, nil
}

// withDeclared is the files with the declared tools; the same ones where nothing
// is declared.
func withDeclared(files Files, declared map[string]json.RawMessage) (Files, error) {
	if len(declared) == 0 {
		return files, nil
	}
	text, err := json.MarshalIndent(declared, "", "  ")
	if err != nil {
		return files, err
	}
	out := Files{Path: files.Path, Content: maps.Clone(files.Content)}
	out.Content[declaredFile] = append(text, '\n')
	return out, nil
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
