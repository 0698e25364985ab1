package action

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/conjunct-project/conjunct/engine"
)

// Hash is "sha256:" and the lower-case hex digest of canonical bytes.
func Hash(canonical []byte) string {
	sum := sha256.Sum256(canonical)
	out := make([]byte, 0, len(hashPrefix)+2*sha256.Size)
	return string(hex.AppendEncode(append(out, hashPrefix...), sum[:]))
}

const hashPrefix = "sha256:"

// callBytes is what CallHash is taken over, in canonical form:
//
//	{"agent":{..},"arguments":{..},"context":{..},"origins":{..},"plan":{..},"tool":".."}
//
// All six keys are always there. Inside agent, context, plan and its steps a
// field whose value is "", {} or [] is left out, so that a field that is absent
// and one that is given as its zero value are the same call. A number is never
// left out: a rollback effect of 0 is a claim, none is not. Arguments and
// origins count exactly as they are, and so do the number and order of steps.
//
// The fields are written in canonical order, so that nothing is left to sort.
// No error is looked at: all that is written here was written once before, as
// part of the whole action.
func callBytes(a *engine.Action, size int) []byte {
	w := writer{out: make([]byte, 0, size+64)}
	w.begin()
	w.key("agent")
	w.begin()
	w.field("component", a.Agent.Component)
	w.field("id", a.Agent.ID)
	w.end()
	w.key("arguments")
	w.object(a.Arguments, 0)
	w.key("context")
	w.context(&a.Context)
	w.key("origins")
	w.origins(a.Origins)
	w.key("plan")
	w.plan(a.Plan)
	w.key("tool")
	w.text(a.Tool)
	w.end()
	return w.out
}

func (w *writer) context(c *engine.Context) {
	w.begin()
	if len(c.RetrievedContext) > 0 {
		w.key("retrieved_context")
		w.out = append(w.out, '[')
		for i, item := range c.RetrievedContext {
			if i > 0 {
				w.out = append(w.out, ',')
			}
			w.text(item)
		}
		w.out = append(w.out, ']')
	}
	w.field("source_record", c.SourceRecord)
	w.field("target_entity", c.TargetEntity)
	w.end()
}

func (w *writer) origins(origins map[string]string) {
	tree := make(map[string]any, len(origins))
	for pointer, origin := range origins {
		tree[pointer] = origin
	}
	w.object(tree, 0)
}

func (w *writer) plan(p *engine.Plan) {
	w.begin()
	if p != nil && len(p.Steps) > 0 {
		w.key("steps")
		w.out = append(w.out, '[')
		for i := range p.Steps {
			if i > 0 {
				w.out = append(w.out, ',')
			}
			w.step(&p.Steps[i])
		}
		w.out = append(w.out, ']')
	}
	w.end()
}

func (w *writer) step(s *engine.PlanStep) {
	w.begin()
	if len(s.Arguments) > 0 {
		w.key("arguments")
		w.object(s.Arguments, 0)
	}
	w.field("assertion", s.Assertion)
	w.effects("forward_effects", s.ForwardEffects)
	w.field("id", s.ID)
	w.field("postcondition", s.Postcondition)
	w.field("precondition", s.Precondition)
	w.effects("rollback_effects", s.RollbackEffects)
	w.field("tool", s.Tool)
	w.end()
}

// field writes a string field, unless it has its zero value.
func (w *writer) field(name, value string) {
	if value != "" {
		w.key(name)
		w.text(value)
	}
}

// effects writes a number that was given; 0 is one.
func (w *writer) effects(name string, f *float64) {
	if f != nil {
		w.key(name)
		w.number(*f)
	}
}

func (w *writer) begin() { w.out = append(w.out, '{') }
func (w *writer) end()   { w.out = append(w.out, '}') }

// key writes a field name of ours, which needs no escapes.
func (w *writer) key(name string) {
	if w.out[len(w.out)-1] != '{' {
		w.out = append(w.out, ',')
	}
	w.out = append(w.out, '"')
	w.out = append(w.out, name...)
	w.out = append(w.out, '"', ':')
}
