package signals

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/conjunct-project/conjunct/engine"
)

// Family is a group of facts: a name below `input.facts`.
type Family string

const (
	Plan   Family = "plan"
	Path   Family = "path"
	Shell  Family = "shell"
	Secret Family = "secret"
	Tests  Family = "tests"
	Origin Family = "origin"
	Time   Family = "time"
	// Network is the hosts that a call names.
	Network Family = "network"
)

// family computes the facts of one family and says what it could not determine.
type family func(*Detector, context.Context, *Call, World) (map[string]any, []Unknown)

// families is every family, in the order in which they are computed.
var families = []struct {
	name    Family
	facts   family
	members []string
}{
	{Plan, planFacts, []string{"cross_step", "rollback", "seen"}},
	{Secret, secretFacts, []string{"findings", "seen"}},
	{Tests, testFacts, []string{"changes", "moves", "seen"}},
	{Origin, originFacts, []string{"arguments", "seen"}},
	{Time, timeFacts, []string{"windows"}},
	{Path, pathFacts, []string{"paths", "any", "all", "seen"}},
	{Shell, shellFacts, []string{"commands", "any", "all", "seen"}},
	{Network, networkFacts, []string{"hosts", "seen"}},
}

// Families lists the names of the families.
func Families() []string {
	names := make([]string, len(families))
	for i, f := range families {
		names[i] = string(f.name)
	}
	return names
}

// Members lists the names below `input.facts` of one family, and what stands below
// those of them whose names a scope gives; nil for any other.
func Members(name string, s Scope) map[string][]string {
	out := map[string][]string{}
	for _, f := range families {
		if string(f.name) == name {
			for _, m := range f.members {
				out[m] = nil
			}
		}
	}
	switch Family(name) {
	case Shell:
		out["any"] = slices.Sorted(maps.Keys(s.Commands))
		out["all"] = out["any"]
	case Path:
		out["any"] = slices.Sorted(maps.Keys(s.Paths))
		out["all"] = out["any"]
	case Time:
		out["windows"] = slices.Sorted(maps.Keys(s.Windows))
	}
	return out
}

// Call is what facts are computed from, besides the world.
type Call struct {
	Action engine.Action
	// Tool is what the registry knows of the action's tool; nothing when Declared
	// is false.
	Tool     engine.Tool
	Declared bool
	// Tools is the registry, for what a plan's steps name.
	Tools func(name string) (engine.Tool, bool)
	Now   int64 // whole seconds since the epoch, UTC

	script *script // what its commands would run, once it is known
	tree   *tree   // what was seen of the world, once anything was
	// the names of the arguments that the action has and that the registry
	// describes, in order, once they are known
	givenNames, describedNames []string
}

// given lists the arguments of the action by name, in order.
func (c *Call) given() []string {
	if c.givenNames == nil {
		c.givenNames = sortedKeys(c.Action.Arguments)
	}
	return c.givenNames
}

// described lists the arguments that the registry describes by name, in order.
func (c *Call) described() []string {
	if c.describedNames == nil {
		c.describedNames = sortedKeys(c.Tool.Arguments)
	}
	return c.describedNames
}

// look is the tree of the call: what one family saw, the others see.
func (c *Call) look(w World) *tree {
	if c.tree == nil {
		c.tree = newTree(w)
	}
	return c.tree
}

// Unknown is something that could not be determined: where, and a stable code.
type Unknown struct {
	Family Family
	Code   string
	Where  string // JSON pointer into the arguments, or a place in one
}

// String is the form that decisions and the journal list.
func (u Unknown) String() string {
	if u.Where == "" {
		return fmt.Sprintf("%s: %s", u.Family, u.Code)
	}
	return fmt.Sprintf("%s: %s at %s", u.Family, u.Code, u.Where)
}

// Detector computes the facts that a bundle reads. It is immutable and safe for
// concurrent use.
type Detector struct {
	scope   Scope
	need    []Family
	tests   collection
	windows map[string]window
	scanner func() (*scanner, error) // loads on first use
	paths   []globList
	// pathLists are the names of paths, as facts hold them.
	pathLists []any
	commands  commandLists
	hosts     []hostList
}

// New makes a detector of the needed families over a bundle's scope. Every
// problem of the scope is reported with its place in it.
func New(scope Scope, need []Family) (*Detector, []ScopeProblem) {
	d := &Detector{scope: scope, need: need}
	d.scanner = sync.OnceValues(newScanner)
	var problems, more []ScopeProblem
	d.windows, more = windows(scope.Windows)
	problems = append(problems, more...)
	d.tests, more = collects(scope.Tests)
	problems = append(problems, more...)
	problems = append(problems, checkRoots(scope.Roots)...)
	d.paths, more = compileLists(scope.Paths)
	problems = append(problems, more...)
	for _, l := range d.paths {
		d.pathLists = append(d.pathLists, l.fact)
	}
	d.commands, more = compilePatterns(scope.Commands)
	problems = append(problems, more...)
	d.hosts, more = hostLists(scope)
	problems = append(problems, more...)
	return d, problems
}

// Needed reports whether any facts are computed at all.
func (d *Detector) Needed() bool { return len(d.need) > 0 }

// Facts computes the facts of a call. It is total: what fails, panics or runs
// out of time is unknown. Equal calls in equal worlds give equal facts.
func (d *Detector) Facts(ctx context.Context, c *Call, w World) (facts map[string]any, unknown []string) {
	facts = map[string]any{}
	// What is found on the way is noted in a call of its own.
	own := &Call{Action: c.Action, Tool: c.Tool, Declared: c.Declared, Tools: c.Tools, Now: c.Now}
	for _, f := range families {
		if !slices.Contains(d.need, f.name) {
			continue
		}
		got, missing := d.compute(ctx, f.name, f.facts, own, w)
		if got != nil {
			facts[string(f.name)] = got
		}
		for _, u := range missing {
			unknown = append(unknown, u.String())
		}
	}
	slices.Sort(unknown)
	return facts, slices.Compact(unknown)
}

// compute runs one family; a panic in it, or in a library below it, is unknown.
func (d *Detector) compute(ctx context.Context, name Family, f family, c *Call, w World) (facts map[string]any, unknown []Unknown) {
	defer func() {
		if r := recover(); r != nil {
			facts, unknown = nil, []Unknown{{Family: name, Code: "panic"}}
		}
	}()
	if ctx.Err() != nil {
		return nil, []Unknown{{Family: name, Code: "timeout"}}
	}
	if name != Time && name != Plan && (!c.Declared || c.Tool.Arguments == nil) {
		// Nobody said which argument is what.
		return nil, []Unknown{{Family: name, Code: "arguments_undeclared"}}
	}
	facts, unknown = f(d, ctx, c, w)
	if name == Path || name == Shell || name == Tests {
		if more := undescribed(name, c); len(more) > 0 {
			// What was found stands, and is not all.
			facts, unknown = map[string]any{"seen": facts["seen"]}, append(unknown, more...)
		}
	}
	return facts, unknown
}

// undescribed lists the arguments without a kind that hold an object: no kind
// could say what its members are to the tool, so they may be anything.
func undescribed(name Family, c *Call) (unknown []Unknown) {
	for _, argument := range c.given() {
		if c.Tool.Arguments[argument].Kind == engine.NoKind && holdsObject(c.Action.Arguments[argument]) {
			unknown = append(unknown, Unknown{Family: name, Code: "kind_missing", Where: engine.Pointer(argument)})
		}
	}
	return unknown
}

func holdsObject(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) > 0
	case []any:
		return slices.ContainsFunc(v, holdsObject)
	}
	return false
}
