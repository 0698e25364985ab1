package scenario

import (
	"context"
	"path"

	"github.com/conjunct-project/conjunct/datafile"
	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/signals"
)

// detector is a policy that computes facts.
type detector interface {
	Facts(context.Context, engine.Action, int64, signals.World) (facts map[string]any, unknown []string)
	ReadsFacts() bool
}

// facts are those that the scenario gives or, where it gives none, those that the
// policy computes in the scenario's world.
func (s Scenario) facts(ctx context.Context, p engine.Policy) (map[string]any, []string) {
	d, computes := p.(detector)
	if s.Facts != nil || !computes || !d.ReadsFacts() {
		return s.Facts, nil
	}
	return d.Facts(ctx, s.Action, s.Now, s.World)
}

// world reads where the agent's paths and commands would act. Without one, what
// has to be looked up is unknown.
func (r *reader) world(into *signals.World) func(*datafile.Node) {
	return func(n *datafile.Node) {
		files := signals.Memory{}
		r.Object(n, "world", datafile.Fields{
			"dir":  r.absolute("world.dir", &into.Dir),
			"home": r.absolute("world.home", &into.Home),
			"files": r.Each("world.files", func(name string, key, n *datafile.Node) {
				if !path.IsAbs(name) || path.Clean(name) != name {
					r.Report(key, "data_name", "", "a file of the world is named by its absolute, clean path")
				}
				files[name] = r.file(n)
			}),
		}, "dir")
		if into.Dir != "" {
			files[into.Dir] = signals.Node{Dir: true}
		}
		if into.Home != "" {
			files[into.Home] = signals.Node{Dir: true}
		}
		into.Files = files
	}
}

func (r *reader) absolute(what string, into *string) func(*datafile.Node) {
	return func(n *datafile.Node) {
		r.Text(what, into)(n)
		if !path.IsAbs(*into) || path.Clean(*into) != *into {
			r.Report(n, "data_range", "", "%s must be an absolute, clean path", what)
		}
	}
}

// file reads one entry: {link: TARGET}, {text: CONTENT} or {dir: true}.
func (r *reader) file(n *datafile.Node) (f signals.Node) {
	r.Object(n, "a file", datafile.Fields{"link": r.Text("link", &f.Link), "text": r.Text("text", &f.Text), "dir": r.Boolean("dir", &f.Dir)})
	if n.IsObject() && len(n.Keys) != 1 {
		r.Report(n, "data_type", "", "a file has a link, a text or is a dir, one of them")
	}
	return f
}
