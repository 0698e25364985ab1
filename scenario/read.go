package scenario

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/conjunct-project/conjunct/action"
	"github.com/conjunct-project/conjunct/datafile"
	"github.com/conjunct-project/conjunct/engine"
)

// Beside lists the directories in which the scenarios of a bundle directory
// are looked for, of those that exist.
func Beside(bundleDir string) []string {
	dir := filepath.Clean(bundleDir)
	if absolute, err := filepath.Abs(dir); err == nil && (dir == "." || strings.HasPrefix(dir, "..") || filepath.Dir(dir) == ".") {
		// The last elements of such a path do not name the directory and its parents.
		dir = relative(absolute)
	}
	name, parent := filepath.Base(dir), filepath.Dir(dir)
	candidates := []string{
		filepath.Join(parent, "testdata", "scenarios", name),
		filepath.Join(filepath.Dir(parent), "testdata", "scenarios", name),
	}
	if name == "bundle" {
		candidates = append(candidates, filepath.Join(parent, "scenarios"))
	}
	var out []string
	for _, c := range candidates {
		if info, err := os.Stat(c); err == nil && info.IsDir() {
			out = append(out, c)
		}
	}
	return slices.Compact(out)
}

// relative is a path as seen from the working directory, where that is shorter
// to read.
func relative(absolute string) string {
	wd, err := os.Getwd()
	if err != nil {
		return absolute
	}
	if rel, err := filepath.Rel(wd, absolute); err == nil && filepath.IsLocal(rel) && rel != "." && filepath.Dir(filepath.Dir(rel)) != "." {
		return rel
	}
	return absolute
}

// Policy is what a scenario's names are held against.
type Policy interface {
	engine.Policy
	Tools() []string
	GateNames() []string
	FloorNames() []string
}

// ReadDir reads every YAML file below a directory, in order of path, and holds
// every name in it against the policy. All problems are returned in one run.
func ReadDir(dir string, p Policy) ([]Scenario, []datafile.Problem, error) {
	var scenarios []Scenario
	var problems []datafile.Problem
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if problem, ok := passedOver(path, d); ok {
			problems = append(problems, problem)
			return nil
		}
		if !slices.Contains(endings, strings.ToLower(filepath.Ext(path))) {
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		s, bad := Parse(path, content, p)
		scenarios = append(scenarios, s...)
		problems = append(problems, bad...)
		return nil
	})
	return scenarios, problems, err
}

// endings are those of files that hold scenarios.
var endings = []string{".yaml", ".yml", ".json"}

// passedOver reports an entry that would silently not count: a link, and a file
// whose name is nearly that of one that is read.
func passedOver(path string, d fs.DirEntry) (datafile.Problem, bool) {
	problem := datafile.Problem{File: path, Code: "scenario_not_read", Hint: "scenarios stand in files that end in .yaml, .yml or .json"}
	name := strings.ToLower(d.Name())
	switch {
	case !d.Type().IsRegular():
		problem.Message = "links and special files are not followed, so what is behind this one would not run"
	case !slices.Contains(endings, filepath.Ext(name)) && (strings.Contains(name, ".yam") || strings.Contains(name, ".yml") || strings.Contains(name, ".json")):
		problem.Message = "this file looks like scenarios and would not run"
	default:
		return datafile.Problem{}, false
	}
	return problem, true
}

// Parse reads one file: a scenario, or a list of them.
func Parse(file string, content []byte, p Policy) ([]Scenario, []datafile.Problem) {
	n, problems := datafile.Read(file, content)
	if len(problems) > 0 {
		return nil, withLines(problems, content)
	}
	r := &reader{policy: p}
	items := []*datafile.Node{n}
	if n.Kind == datafile.Array {
		items = n.Items
	}
	var out []Scenario
	rows := map[string]int{}
	for _, item := range items {
		s := r.scenario(item)
		if row, twice := rows[s.Name]; twice && s.Name != "" {
			r.Report(item, "scenario_name", "", "a scenario of this name stands in row %d already", row)
		}
		rows[s.Name] = s.Row
		out = append(out, s)
	}
	if len(items) == 0 {
		r.Report(n, "scenario_empty", "", "the file holds no scenario")
	}
	return out, withLines(r.Problems, content)
}

func withLines(problems []datafile.Problem, content []byte) []datafile.Problem {
	lines := strings.Split(string(content), "\n")
	for i, p := range problems {
		if p.Row >= 1 && p.Row <= len(lines) {
			problems[i].Line = strings.TrimRight(lines[p.Row-1], "\r")
		}
	}
	return problems
}

type reader struct {
	datafile.Decoder
	policy Policy
}

func (r *reader) scenario(n *datafile.Node) Scenario {
	s := Scenario{File: n.File, Row: n.Row, Now: defaultNow}
	r.Object(n, "a scenario", datafile.Fields{
		"name":   r.Text("name", &s.Name),
		"now":    r.now(&s.Now),
		"action": r.action(&s.Action),
		"facts":  r.facts(&s.Facts),
		"world":  r.world(&s.World),
		"state":  r.state(&s),
		"expect": r.expect(&s.Expect),
	}, "name", "action", "expect")
	if name := n.At("name"); name != nil && name.Value == s.Name && strings.TrimSpace(s.Name) == "" {
		r.Report(name, "scenario_name", "", "a scenario needs a name")
	}
	r.names(n.At("action"), &s)
	r.ofCall(n.At("state"), &s)
	if e := n.At("expect"); e != nil && s.Expect.Len() == 0 && !r.told(e) {
		r.Report(n.At("expect"), "scenario_empty", "", "the scenario expects nothing, so it could not fail")
	}
	return s
}

// told reports whether it was said already of a part of what is expected that
// nothing stands in it.
func (r *reader) told(expect *datafile.Node) bool {
	for _, part := range []string{"gates", "reasons"} {
		if n := expect.At(part); n != nil && n.Kind != datafile.Scalar && len(n.Keys)+len(n.Items) == 0 {
			return true
		}
	}
	return false
}

// names holds the tool and the arguments of an action against the registry. A
// scenario that is about an unknown one says so by expecting its reason.
func (r *reader) names(n *datafile.Node, s *Scenario) {
	if n == nil || s.Action.Tool == "" {
		return
	}
	t, declared := r.policy.Tool(s.Action.Tool)
	if !declared && !s.Expect.expects("undeclared_tool") {
		r.unknown(n.At("tool"), "tool", s.Action.Tool, r.policy.Tools())
	}
	if t.Arguments == nil || s.Expect.expects("argument_mismatch") {
		return
	}
	for _, name := range n.At("arguments").Keys {
		if _, ok := t.Arguments[name]; !ok {
			r.unknown(n.At("arguments").KeyNodes[name], "argument", name, slices.Sorted(maps.Keys(t.Arguments)))
		}
	}
}

func (r *reader) now(into *int64) func(*datafile.Node) {
	return func(n *datafile.Node) {
		if f, ok := n.Value.(float64); ok {
			if f != math.Trunc(f) {
				r.Report(n, "scenario_time", "", "time is in whole seconds")
			}
			*into = int64(f)
			return
		}
		var text string
		r.Text("now", &text)(n)
		t, err := time.Parse(time.RFC3339, text)
		if err != nil {
			r.Report(n, "scenario_time", "write it like 2026-03-02T09:30:00Z", "%q is not a time with a zone", text)
			return
		}
		if t.Nanosecond() != 0 {
			r.Report(n, "scenario_time", "", "time is in whole seconds")
		}
		*into = t.Unix()
	}
}

// action reads the action in its own format. A tool the policy does not know
// is a misspelling, unless the scenario is about undeclared tools and says so
// with a reason.
func (r *reader) action(into *engine.Action) func(*datafile.Node) {
	return func(n *datafile.Node) {
		text, err := json.Marshal(n.Any())
		if err != nil {
			r.Report(n, "scenario_action", "", "%v", err)
			return
		}
		a, err := action.Decode(text)
		var bad *action.Error
		switch {
		case errors.As(err, &bad):
			at := n
			if found := n.At(pointerKeys(bad.Pointer)...); found != nil {
				at = found
			} else if keys := pointerKeys(bad.Pointer); len(keys) > 0 {
				if parent := n.At(keys[:len(keys)-1]...); parent != nil && parent.KeyNodes[keys[len(keys)-1]] != nil {
					at = parent.KeyNodes[keys[len(keys)-1]]
				}
			}
			r.Report(at, "scenario_action", bad.Hint, "action%s: %s", bad.Pointer, bad.Msg)
		case err != nil:
			r.Report(n, "scenario_action", "", "%v", err)
		}
		*into = a
	}
}

func pointerKeys(pointer string) []string {
	if pointer == "" {
		return nil
	}
	keys := strings.Split(pointer[1:], "/")
	for i, k := range keys {
		keys[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(k)
	}
	return keys
}

func (r *reader) facts(into *map[string]any) func(*datafile.Node) {
	return func(n *datafile.Node) {
		facts, ok := n.Any().(map[string]any)
		if !ok {
			r.Report(n, "data_type", "", "facts must be an object")
		}
		*into = facts
	}
}

// state reads what is known besides the contract's start.
func (r *reader) state(s *Scenario) func(*datafile.Node) {
	s.Settings, s.Evidence, s.Entities = map[string]any{}, map[string]engine.Evidence{}, map[engine.Entity]bool{}
	return func(n *datafile.Node) {
		r.Object(n, "state", datafile.Fields{
			"settings": r.Each("settings", func(name string, key, v *datafile.Node) {
				known := r.policy.Contract().Start.Settings
				if _, ok := known[name]; !ok {
					r.unknown(key, "setting", name, slices.Sorted(maps.Keys(known)))
				}
				s.Settings[name] = v.Any()
			}),
			"evidence": r.Each("evidence", func(name string, key, v *datafile.Node) {
				s.Evidence[name] = r.evidence(name, key, v)
			}),
			"approved_entities": r.Items("approved_entities", func(_ int, v *datafile.Node) {
				e, ok := engine.EntityOf(v.Value)
				if v.Kind != datafile.Scalar || !ok {
					r.Report(v, "data_type", "", "an approved entity must be text or a number")
				}
				s.Entities[e] = true
			}),
		})
	}
}

// ofCall ties the evidence that is of this very call to it, and holds what is
// said of entities to a tool that is asked about them.
func (r *reader) ofCall(n *datafile.Node, s *Scenario) {
	for name, e := range s.Evidence {
		if of := n.At("evidence", name, "call"); of != nil && of.Value == true {
			e.Call = s.Action.CallHash
			s.Evidence[name] = e
		}
	}
	if at := n.At("approved_entities"); at != nil && s.Action.Tool != "" && !r.policy.Contract().UnderCritic(s.Action.Tool) {
		r.Report(at, "scenario_entities", "", "the policy puts %s under no critic, so no entity is new for it", s.Action.Tool)
	}
}

func (r *reader) evidence(name string, key, n *datafile.Node) engine.Evidence {
	c := r.policy.Contract()
	known := slices.Sorted(maps.Keys(c.Evidence))
	known = append(known, slices.Sorted(maps.Keys(c.Context))...)
	if !slices.Contains(known, name) {
		r.unknown(key, "evidence", name, known)
	}
	e := engine.Evidence{Name: name}
	r.Object(n, "evidence "+name, datafile.Fields{
		"status":  r.Member("status", &e.Status),
		"source":  r.Text("source", &e.Source),
		"by":      r.Text("by", &e.By),
		"call":    r.Boolean("call", new(bool)),
		"time":    r.now(&e.Time),
		"expires": r.OptionalWhole("expires", 0, &e.Expires),
		"pins": func(n *datafile.Node) {
			e.Pins = map[string]string{}
			r.Each("pins", func(name string, key, v *datafile.Node) {
				if pins := slices.Concat(c.TracePins, c.PathPins); !slices.Contains(pins, name) {
					r.unknown(key, "pin", name, pins)
				}
				var text string
				r.Text("pin", &text)(v)
				e.Pins[name] = text
			})(n)
		},
	}, "status")
	if e.Status == engine.NotApplicable {
		r.Report(n.At("status"), "data_unknown_value", "", "evidence is pass, fail or unknown")
	}
	return e
}

func (r *reader) unknown(at *datafile.Node, kind, name string, known []string) {
	r.Report(at, "scenario_unknown_"+kind, engine.DidYouMean(name, known), "the policy has no %s %q", kind, name)
}

// expect reads what is compared. Enumerations are held against their values.
func (r *reader) expect(e *Expectation) func(*datafile.Node) {
	member := func(what string, into interface {
		UnmarshalText([]byte) error
		String() string
	}) func(*datafile.Node) {
		return func(n *datafile.Node) {
			r.Member(what, into)(n)
			e.values = append(e.values, expected{what, into.String(), n.Row})
		}
	}
	return func(n *datafile.Node) {
		r.Object(n, "expect", datafile.Fields{
			"base_tier":   member("base_tier", new(engine.Tier)),
			"tier":        member("tier", new(engine.Tier)),
			"boundary":    member("boundary", new(engine.Boundary)),
			"transition":  member("transition", new(engine.Transition)),
			"outcome":     member("outcome", new(engine.Outcome)),
			"consequence": r.expectConsequence(e),
			"permit":      r.expectBool("permit", e),
			"notify":      r.expectBool("notify", e),
			"cause":       r.expectCause(e),
			"gates":       r.expectGates(e),
			"floors":      r.expectFloors(e),
			"reasons":     r.expectReasons(e),
		})
	}
}

func (r *reader) expectBool(what string, e *Expectation) func(*datafile.Node) {
	return func(n *datafile.Node) {
		var b bool
		r.Boolean(what, &b)(n)
		e.values = append(e.values, expected{what, fmt.Sprint(b), n.Row})
	}
}

func (r *reader) expectConsequence(e *Expectation) func(*datafile.Node) {
	return r.Each("consequence", func(name string, key, n *datafile.Node) {
		var text string
		r.Text(name, &text)(n)
		values, ok := engine.Properties()[name]
		if name == "source" {
			values, ok = engine.Sources(), true
		}
		switch {
		case !ok:
			r.unknown(key, "property", name, slices.Sorted(maps.Keys(engine.Properties())))
		case !slices.Contains(values, text):
			r.Report(n, "data_unknown_value", engine.DidYouMean(text, values), "%s is never %q", name, text)
		}
		e.values = append(e.values, expected{"consequence." + name, text, n.Row})
	})
}

func (r *reader) expectCause(e *Expectation) func(*datafile.Node) {
	return func(n *datafile.Node) {
		var text string
		r.Text("cause", &text)(n)
		if text != "" && !slices.Contains(r.policy.GateNames(), text) {
			r.unknown(n, "gate", text, r.policy.GateNames())
		}
		e.values = append(e.values, expected{"cause", text, n.Row})
	}
}

func (r *reader) expectGates(e *Expectation) func(*datafile.Node) {
	return r.some("gates", r.Each("gates", func(name string, key, n *datafile.Node) {
		if !slices.Contains(r.policy.GateNames(), name) {
			r.unknown(key, "gate", name, r.policy.GateNames())
		}
		var v engine.Verdict
		r.Member("gate "+name, &v)(n)
		e.gates = append(e.gates, expected{name, v.String(), n.Row})
	}))
}

// expectFloors reads the floors that match; an empty list expects none.
func (r *reader) expectFloors(e *Expectation) func(*datafile.Node) {
	return func(n *datafile.Node) {
		var names []string
		r.Texts("floors", &names)(n)
		for _, name := range names {
			if !slices.Contains(r.policy.FloorNames(), name) {
				r.unknown(n, "floor", name, r.policy.FloorNames())
			}
		}
		slices.Sort(names)
		e.floors = append(e.floors, expected{"floors", strings.Join(names, ", "), n.Row})
	}
}

// some reads what must not be empty: nothing expected is nothing compared.
func (r *reader) some(what string, read func(*datafile.Node)) func(*datafile.Node) {
	return func(n *datafile.Node) {
		if len(n.Keys)+len(n.Items) == 0 && n.Kind != datafile.Scalar {
			r.Report(n, "scenario_empty", "leave "+what+" out where nothing of them is expected", "%s names nothing, so nothing is compared", what)
		}
		read(n)
	}
}

func (r *reader) expectReasons(e *Expectation) func(*datafile.Node) {
	return r.some("reasons", r.Items("reasons", func(_ int, n *datafile.Node) {
		var code string
		r.Text("a reason", &code)(n)
		if e.expects(code) {
			r.Report(n, "data_duplicate_item", "", "reason %s is expected twice", code)
		}
		e.reasons = append(e.reasons, expected{"reason", code, n.Row})
	}))
}
