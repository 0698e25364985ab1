package floors

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/rego"
)

const numSources = 4

// Severity is the base tier and the modifiers of every class, enumerated.
type Severity struct {
	base      [numSources][engine.NumClasses]engine.Tier
	why       engine.Rule
	modifiers []modifier // sorted by name
	// What Base and Modifiers answer, made once.
	reasons [numSources][engine.NumClasses]engine.Reason
	rules   [2][numSources][engine.NumClasses][]engine.ModifierRule
}

type modifier struct {
	name  string
	rule  engine.Rule
	holds [2][numSources][engine.NumClasses]bool // by low confidence
}

// Base returns the table's tier for a class, with the rule that says so.
func (s *Severity) Base(c engine.Consequence) (engine.Tier, engine.Reason) {
	return s.base[c.Source][c.Class()], s.reasons[c.Source][c.Class()]
}

// Modifiers lists every modifier and whether it holds, sorted by name. The list
// must not be changed.
func (s *Severity) Modifiers(c engine.Consequence, lowConfidence bool) []engine.ModifierRule {
	low := 0
	if lowConfidence {
		low = 1
	}
	return s.rules[low][c.Source][c.Class()]
}

// answer makes what Base and Modifiers answer for every class.
func (s *Severity) answer() {
	for src := range numSources {
		for c := range engine.Classes(engine.Source(src)) {
			s.reasons[src][c.Class()] = s.reason(c)
			for low := range 2 {
				s.rules[low][src][c.Class()] = s.rulesFor(c, low)
			}
		}
	}
}

func (s *Severity) reason(c engine.Consequence) engine.Reason {
	t := s.base[c.Source][c.Class()]
	return engine.Reason{Code: "base_tier", Rule: s.why, Text: "the severity table gives " + t.String(), Facts: []engine.Fact{
		engine.NewFact("/consequence/reversibility", c.Reversibility.String()),
		engine.NewFact("/consequence/blast_radius", c.BlastRadius.String()),
	}}
}

func (s *Severity) rulesFor(c engine.Consequence, low int) []engine.ModifierRule {
	out := make([]engine.ModifierRule, len(s.modifiers))
	for i := range s.modifiers {
		m := &s.modifiers[i]
		title := m.rule.Title
		if title == "" {
			title = m.name
		}
		out[i] = engine.ModifierRule{Name: m.name, Holds: m.holds[low][c.Source][c.Class()], Reason: engine.Reason{Rule: m.rule, Text: title, Facts: []engine.Fact{}}}
		if v, ok := c.Property(m.name); ok {
			out[i].Reason.Facts = append(out[i].Reason.Facts, engine.NewFact("/consequence/"+m.name, v))
		}
	}
	return out
}

// enumeration walks a whole domain and collects what is wrong in it.
type enumeration struct {
	program  *rego.Program
	problems []rego.Problem
}

func (e *enumeration) report(entry, format string, args ...any) {
	rule := e.program.Place(entry)
	p := rego.Problem{File: rule.File, Row: rule.Row, Col: 1, Code: "rego_table", Message: fmt.Sprintf(format, args...)}
	if !slices.ContainsFunc(e.problems, func(q rego.Problem) bool { return q.File == p.File && q.Row == p.Row }) {
		e.problems = append(e.problems, p)
	}
}

// sources is how many values of consequence.source have to be told apart.
func (e *enumeration) sources(entry string) int {
	for _, path := range e.program.Reads(entry) {
		if len(path) < 2 || path[0] == "consequence" && path[1] == "source" {
			return numSources
		}
	}
	return 1
}

// EnumerateSeverity asks base and modifiers for every class. A class without a
// tier, a tier of refuse, a tier that depends on confidence, or a modifier that
// confidence switches off refuses the bundle.
func EnumerateSeverity(p *rego.Program, limit engine.Tier) (*Severity, []rego.Problem) {
	e := &enumeration{program: p}
	s := &Severity{why: p.Place("severity.base")}
	e.finite("severity.base")
	e.finite("severity.modifiers")
	if len(e.problems) > 0 {
		s.answer()
		return s, e.problems
	}
	e.base(s, limit)
	e.modifiers(s)
	s.answer()
	return s, e.problems
}

// finite holds a rule to the sets that are enumerated: what it said of anything
// else would silently not count.
func (e *enumeration) finite(entry string) {
	for _, path := range e.program.Reads(entry) {
		if path[0] != "consequence" && path[0] != "flags" {
			e.report(entry, "%s is a table over the consequence and may not read input.%s", entry, strings.Join(path, "."))
		}
	}
}

func (e *enumeration) base(s *Severity, limit engine.Tier) {
	n := e.sources("severity.base")
	for src := range n {
		for c := range engine.Classes(engine.Source(src)) {
			tier, ok := e.baseOf(c, false)
			if !ok {
				return
			}
			if low, ok := e.baseOf(c, true); ok && low != tier {
				e.report("severity.base", "base depends on input.flags.low_confidence for %s; confidence enters through a modifier", describe(c))
			}
			if tier.StricterThan(limit) {
				e.report("severity.base", "base gives %s for %s, which is beyond the cap %s", tier, describe(c), limit)
			}
			for other := src; other < numSources; other += n {
				s.base[other][c.Class()] = tier
			}
		}
	}
}

func (e *enumeration) baseOf(c engine.Consequence, low bool) (engine.Tier, bool) {
	v, err := e.program.Eval(context.Background(), "severity.base", severityInput(c, low))
	if err != nil {
		e.report("severity.base", "no base tier for %s: %v", describe(c), err)
		return engine.Refuse, false
	}
	var tier engine.Tier
	text, _ := v.(string)
	if err := tier.UnmarshalText([]byte(text)); err != nil {
		e.report("severity.base", "base gives %v for %s: %v", v, describe(c), err)
		return engine.Refuse, false
	}
	if tier == engine.Refuse {
		e.report("severity.base", "base gives refuse for %s; refuse is reachable only through a floor", describe(c))
	}
	return tier, true
}

func severityInput(c engine.Consequence, low bool) rego.Input {
	return rego.NewInput(map[string]any{"consequence": c.Document(), "flags": map[string]any{"low_confidence": low}})
}

func describe(c engine.Consequence) string {
	return fmt.Sprintf("%s, %s, %s, %s", c.Reversibility, c.BlastRadius, c.AbsorbedBy, c.DetectionLatency)
}

func (e *enumeration) modifiers(s *Severity) {
	found := map[string]*modifier{}
	for _, h := range e.program.Heads("severity.modifiers", "name") {
		found[h.Name] = &modifier{name: h.Name, rule: h.Rule}
	}
	if !e.program.Defines("severity.modifiers") {
		return
	}
	n := e.sources("severity.modifiers")
	for low := range 2 {
		for src := range n {
			for c := range engine.Classes(engine.Source(src)) {
				names, ok := e.modifiersOf(c, low == 1)
				if !ok {
					return
				}
				for _, name := range names {
					if found[name] == nil {
						found[name] = &modifier{name: name, rule: e.program.Place("severity.modifiers")}
					}
					for other := src; other < numSources; other += n {
						found[name].holds[low][other][c.Class()] = true
					}
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		e.onlyTightens(found[name])
		s.modifiers = append(s.modifiers, *found[name])
	}
}

func (e *enumeration) modifiersOf(c engine.Consequence, low bool) (names []string, ok bool) {
	v, err := e.program.Eval(context.Background(), "severity.modifiers", severityInput(c, low))
	if err != nil {
		e.report("severity.modifiers", "no modifiers for %s: %v", describe(c), err)
		return nil, false
	}
	members, isList := v.([]any)
	if !isList {
		e.report("severity.modifiers", "modifiers must be a set: write `modifiers contains {\"name\": ...} if ...`")
		return nil, false
	}
	for _, m := range members {
		obj, _ := m.(map[string]any)
		name, isText := obj["name"].(string)
		if !isText || len(obj) != 1 {
			e.report("severity.modifiers", "a member of modifiers must be {\"name\": ...}, not %v", m)
			return nil, false
		}
		names = append(names, name)
	}
	return names, true
}

// onlyTightens holds a modifier to I3: low confidence adds modifiers and never
// takes one away.
func (e *enumeration) onlyTightens(m *modifier) {
	ever := false
	for src := range numSources {
		for c := range engine.NumClasses {
			high, low := m.holds[0][src][c], m.holds[1][src][c]
			ever = ever || high || low
			if high && !low {
				e.reportAt(m.rule, "modifier %s holds at high confidence and not at low", m.name)
				return
			}
		}
	}
	if !ever {
		e.reportAt(m.rule, "modifier %s holds for no class", m.name)
	}
}

func (e *enumeration) reportAt(rule engine.Rule, format string, args ...any) {
	e.problems = append(e.problems, rego.Problem{File: rule.File, Row: rule.Row, Col: 1, Code: "rego_table", Message: fmt.Sprintf(format, args...)})
}

// Transitions is the transition rule's answer to every cause and flag.
type Transitions struct {
	next [engine.ReviewDue + 1][engine.NumFlags]answer
}

type answer struct {
	t  engine.Transition
	ok bool
}

// Next returns the bundle's transition for a cause. ok is false where the rule
// is undefined, in conflict or names no transition.
func (t *Transitions) Next(c engine.Cause, f engine.Flags) (engine.Transition, bool) {
	if int(c) >= len(t.next) {
		return engine.Stop, false
	}
	a := t.next[c][f.Index()]
	return a.t, a.ok
}

// EnumerateTransitions asks the transition rule for all 384 rows. A row without
// a valid answer is kept as such: the engine answers it with the strictest
// admissible transition. An answer that is no transition at all is a problem.
func EnumerateTransitions(p *rego.Program) (*Transitions, []rego.Problem) {
	e := &enumeration{program: p}
	t := &Transitions{}
	for _, c := range engine.Causes() {
		for i := range engine.NumFlags {
			t.next[c][i] = e.transition(c, engine.FlagsAt(i))
		}
	}
	return t, e.problems
}

func (e *enumeration) transition(c engine.Cause, f engine.Flags) answer {
	v, err := e.program.Eval(context.Background(), "transition.next", rego.NewInput(map[string]any{"flags": f.Document(c)}))
	if err != nil {
		return answer{}
	}
	obj, _ := v.(map[string]any)
	text, isText := obj["transition"].(string)
	var t engine.Transition
	if !isText || len(obj) != 1 {
		e.report("transition.next", "next must be {\"transition\": ...}, not %v", v)
		return answer{}
	}
	if err := t.UnmarshalText([]byte(text)); err != nil {
		e.report("transition.next", "for cause %s: %v", c, err)
		return answer{}
	}
	return answer{t, true}
}
