package cel

import (
	"slices"
	"strings"
)

// stepKind says how a path goes on.
type stepKind uint8

const (
	keyStep      stepKind = iota // a key known when the gate is compiled
	elementStep                  // an element of a list, or any value of a map
	computedStep                 // a key that only the input decides
)

// anyElement is the name of an element step whose index is not known.
const anyElement = "*"

// step is one step of a path, with the node of the expression that takes it.
type step struct {
	kind stepKind
	name string
	node int64
}

// path is where an expression reads the policy input (or the scope data).
// args is the same place as action.arguments and is kept as the latter.
type path struct {
	root  string
	steps []step
	// optional is set where a step tolerates absence (?. or [?]).
	optional bool
	// node is the node of the expression that denotes the whole path.
	node int64
}

// with returns the path that takes one more step. It never shares memory.
func (p path) with(s step) path {
	p.steps = append(slices.Clip(p.steps), s)
	return p
}

// at returns the path as if node alone took every step.
func (p path) at(node int64) path {
	p.node = node
	p.steps = slices.Clone(p.steps)
	for i := range p.steps {
		p.steps[i].node = node
	}
	return p
}

// keys is the part of the path that leads through objects by known keys, as
// engine.Input looks it up.
func (p path) keys() []string {
	keys := []string{p.root}
	for _, s := range p.steps {
		if s.kind != keyStep {
			break
		}
		keys = append(keys, s.name)
	}
	return keys
}

// pointer is the path as a JSON pointer; an unknown element is "*".
func (p path) pointer() string {
	names := []string{p.root}
	for _, s := range p.steps {
		names = append(names, s.name)
	}
	return pointer(names)
}

// inInput reports whether the path leads into the policy input: scope is part of
// the bundle.
func (p path) inInput() bool { return p.root != "scope" }

// String is the path as a gate writes it.
func (p path) String() string {
	var b strings.Builder
	steps := p.steps
	if p.root == "action" && len(steps) > 0 && steps[0].kind == keyStep && steps[0].name == "arguments" {
		b.WriteString("args")
		steps = steps[1:]
	} else {
		b.WriteString(p.root)
	}
	for _, s := range steps {
		switch {
		case s.kind != keyStep:
			b.WriteString("[" + s.name + "]")
		case isIdentifier(s.name):
			b.WriteString("." + s.name)
		default:
			b.WriteString(`["` + s.name + `"]`)
		}
	}
	return b.String()
}

// within reports whether p is q or leads on from it.
func (p path) within(q path) bool {
	if p.root != q.root || len(p.steps) < len(q.steps) {
		return false
	}
	for i, s := range q.steps {
		if p.steps[i].kind != s.kind || p.steps[i].name != s.name {
			return false
		}
	}
	return true
}

// same reports whether p and q are one place.
func (p path) same(q path) bool { return p.within(q) && q.within(p) }

func pointer(keys []string) string {
	var b strings.Builder
	for _, k := range keys {
		b.WriteByte('/')
		if strings.ContainsAny(k, "~/") {
			k = strings.ReplaceAll(strings.ReplaceAll(k, "~", "~0"), "/", "~1")
		}
		b.WriteString(k)
	}
	return b.String()
}

func isIdentifier(s string) bool {
	for i, r := range s {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}
