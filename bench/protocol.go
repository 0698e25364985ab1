package bench

import (
	"context"
	"slices"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/conjunct-project/conjunct/engine"
)

// protocol is the arm that looks at what is declared: every declared path
// against the scope and deny globs, as the string it is, and whether the change
// is a well-formed diff of these paths. It knows no links and no content.
type protocol struct {
	scope, deny []string
	tools       func(string) (engine.Tool, bool)
}

func (p protocol) Answer(_ context.Context, s *seen) (engine.Outcome, error) {
	paths, ok := p.declared(&s.proposal.Action)
	if !ok || s.proposal.Diff != "" && !diffIsOf(s.proposal.Diff, paths) {
		return engine.Block, nil
	}
	for _, name := range paths {
		if !matches(p.scope, name) || matches(p.deny, name) {
			return engine.Block, nil
		}
	}
	return engine.Allow, nil
}

// declared lists the paths that an action's arguments name, as declared. A tool
// that nobody declared names what nobody can tell.
func (p protocol) declared(a *engine.Action) (paths []string, ok bool) {
	tool, ok := p.tools(a.Tool)
	if !ok {
		return nil, false
	}
	for name, arg := range tool.Arguments {
		switch arg.Kind {
		case engine.PathKind, engine.DeleteKind, engine.FromKind, engine.ToKind:
		default:
			continue
		}
		switch v := a.Arguments[name].(type) {
		case nil:
		case string:
			paths = append(paths, v)
		case []any:
			for _, e := range v {
				s, isText := e.(string)
				if !isText {
					return nil, false
				}
				paths = append(paths, s)
			}
		default:
			return nil, false
		}
	}
	slices.Sort(paths)
	return paths, true
}

func matches(globs []string, name string) bool {
	return slices.ContainsFunc(globs, func(g string) bool { return doublestar.MatchUnvalidated(g, name) })
}

// diffIsOf reports whether a diff is well formed and declares these paths and no
// others.
func diffIsOf(diff string, paths []string) bool {
	declared, ok := diffPaths(diff)
	slices.Sort(declared)
	return ok && slices.Equal(slices.Compact(declared), slices.Compact(slices.Clone(paths)))
}
