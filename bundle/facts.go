package bundle

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/conjunct-project/conjunct/datafile"
	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/signals"
)

// Facts computes the facts that the bundle's rules read of an action, and lists
// what could not be determined. It is total; at the context's end what is not
// computed is unknown.
func (b *Bundle) Facts(ctx context.Context, a engine.Action, now int64, w signals.World) (facts map[string]any, unknown []string) {
	tool, declared := b.Tool(a.Tool)
	return b.detector.Facts(ctx, &signals.Call{Action: a, Tool: tool, Declared: declared, Tools: b.Tool, Now: now}, w)
}

// ReadsFacts reports whether any rule or gate reads facts.
func (b *Bundle) ReadsFacts() bool { return b.detector.Needed() }

// detector computes what the rules read and nothing else. The scope is free
// form, so its keys are held to a form only where facts are computed from it.
func (l *loader) detector(b *Bundle) *signals.Detector {
	need := l.families(b)
	l.factsOfRedacted(need)
	var scope signals.Scope
	n := l.root.At("conjunct", "scope")
	if len(need) > 0 && n != nil {
		scope = l.factScope(n)
	}
	d, problems := signals.New(scope, need)
	for _, p := range problems {
		l.Report(deepest(n, p.Path), "data_scope", p.Hint, "scope %s: %s", strings.Join(p.Path, "."), p.Message)
	}
	return d
}

// factsOfRedacted reports a redacted argument that facts would show: they stand in
// the journal as they are.
func (l *loader) factsOfRedacted(need []signals.Family) {
	shows := func(f signals.Family) bool {
		return f == signals.Path || f == signals.Shell || f == signals.Network || f == signals.Tests
	}
	if !slices.ContainsFunc(need, shows) {
		return
	}
	for _, tool := range slices.Sorted(maps.Keys(l.contract.Redact)) {
		for _, name := range l.contract.Redact[tool] {
			if kind := l.registry.tools[tool].Arguments[name].Kind; kind != engine.NoKind && kind != engine.PlainKind {
				l.Report(l.root.At("conjunct", "contract", "redact", tool), "data_redact", "do not redact it, or take its kind away in the registry",
					"redact names argument %q of %s, which is a %s: the facts that rules read would write it into the journal", name, tool, kind)
			}
		}
	}
}

// families lists the families of facts that a rule or gate reads.
func (l *loader) families(b *Bundle) (need []signals.Family) {
	seen := map[string]bool{}
	for _, path := range b.reads() {
		rest, ok := strings.CutPrefix(path, "/facts")
		if !ok {
			continue
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(rest, "/"), "/")
		if name == "" {
			// The whole object is read.
			for _, f := range signals.Families() {
				seen[f] = true
			}
			continue
		}
		if !slices.Contains(signals.Families(), name) {
			l.misspelt("facts."+name, name, signals.Families())
			continue
		}
		l.factMember(name, rest)
		seen[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(seen)) {
		need = append(need, signals.Family(name))
	}
	return need
}

// factMember holds what a gate reads of a family against what the family has.
func (l *loader) factMember(family, path string) {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	if len(parts) < 2 {
		return
	}
	members := signals.Members(family, l.namedScope())
	below, known := members[parts[1]]
	switch what := strings.Join(append([]string{"facts"}, parts[:2]...), "."); {
	case !known:
		l.misspelt(what, parts[1], slices.Sorted(maps.Keys(members)))
	case below != nil && len(parts) > 2 && !slices.Contains(below, parts[2]):
		l.misspelt(what+"."+parts[2], parts[2], below)
	}
}

// misspelt reports a fact that is nearly the name of a known one.
func (l *loader) misspelt(what, name string, known []string) {
	if hint := engine.DidYouMean(name, known); hint != "" {
		l.Report(nil, "unknown_fact", hint, "a gate reads %s, and there is no such fact", what)
	}
}

// namedScope is what of the scope gives facts their names.
func (l *loader) namedScope() signals.Scope {
	s := signals.Scope{Paths: map[string][]string{}, Commands: map[string][]string{}, Windows: map[string]signals.Window{}}
	scope := l.root.At("conjunct", "scope")
	for section, lists := range map[string]map[string][]string{"paths": s.Paths, "commands": s.Commands} {
		if n := scope.At(section); n.IsObject() {
			for _, k := range n.Keys {
				lists[k] = nil
			}
		}
	}
	if n := scope.At("windows"); n.IsObject() {
		for _, k := range n.Keys {
			s.Windows[k] = signals.Window{}
		}
	}
	return s
}

// deepest is the node as far down a path as there is one.
func deepest(n *datafile.Node, path []string) *datafile.Node {
	for _, k := range path {
		next := n.At(k)
		if next == nil {
			break
		}
		n = next
	}
	return n
}

// factScope reads the keys of the scope that facts are computed from. Other keys
// are the rules' own; one that is nearly the name of a known one is a misspelling.
func (l *loader) factScope(n *datafile.Node) (s signals.Scope) {
	lists := func(what string, into *map[string][]string) func(*datafile.Node) {
		*into = map[string][]string{}
		return l.Each(what, func(name string, _, n *datafile.Node) {
			var list []string
			l.Texts(what+"."+name, &list)(n)
			(*into)[name] = list
		})
	}
	read := datafile.Fields{
		"roots":    l.Texts("scope.roots", &s.Roots),
		"paths":    lists("scope.paths", &s.Paths),
		"commands": lists("scope.commands", &s.Commands),
		"hosts":    lists("scope.hosts", &s.Hosts),
		"wrappers": l.Texts("scope.wrappers", &s.Wrappers),
		"tests": func(n *datafile.Node) {
			l.Object(n, "scope.tests", datafile.Fields{
				"collect": l.Texts("scope.tests.collect", &s.Tests.Collect),
				"ignore":  l.Texts("scope.tests.ignore", &s.Tests.Ignore),
			})
		},
		"windows": l.windows(&s),
	}
	known := slices.Sorted(maps.Keys(read))
	for _, k := range n.Keys {
		if field, ok := read[k]; ok {
			field(n.Fields[k])
		} else if hint := engine.DidYouMean(k, known); hint != "" {
			l.Report(n.KeyNodes[k], "data_unknown_key", hint, "scope has no key %q", k)
		}
	}
	return s
}

func (l *loader) windows(s *signals.Scope) func(*datafile.Node) {
	s.Windows = map[string]signals.Window{}
	return l.Each("scope.windows", func(name string, _, n *datafile.Node) {
		var w signals.Window
		l.Object(n, "window "+name, datafile.Fields{
			"zone": l.Text("zone", &w.Zone),
			"from": l.Text("from", &w.From),
			"to":   l.Text("to", &w.To),
		}, "zone", "from", "to")
		s.Windows[name] = w
	})
}
