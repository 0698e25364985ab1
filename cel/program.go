package cel

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/conjunct-project/conjunct/engine"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

// Program is the compiled gates of one bundle. It is immutable and safe for
// concurrent use. The nil program knows no gate.
type Program struct {
	gates              map[string]*gate
	bounded, unbounded *adapter
	scope              ref.Val
	missingError       reflect.Type
}

// gate is one compiled gate.
type gate struct {
	Gate
	rule       engine.Rule
	expression *unit
	message    *unit // may be nil
	variables  []*unit
	limited    bool // the static cost bound is too high
	reads      []string
	keys       [][]string
}

// Names lists the gates, sorted.
func (p *Program) Names() []string {
	if p == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(p.gates))
}

// Reads lists the places of the input that a gate reads, as JSON pointers, sorted.
// It is nil for a gate that does not exist.
func (p *Program) Reads(name string) []string {
	if p == nil || p.gates[name] == nil {
		return nil
	}
	return slices.Clone(p.gates[name].reads)
}

// Test evaluates one gate. It passes on true and fails on false; whatever else
// happens is Unknown, and says why.
func (p *Program) Test(ctx context.Context, name string, in *engine.Input) (f engine.Finding) {
	if p == nil || p.gates[name] == nil {
		return engine.Finding{Reasons: []engine.Reason{{
			Code: codeNoGate, Rule: engine.Rule{Path: "cel." + name}, Facts: []engine.Fact{},
			Text: fmt.Sprintf("there is no CEL gate %q", name),
		}}}
	}
	g := p.gates[name]
	defer func() {
		if r := recover(); r != nil {
			f = g.unknown(nil, &fault{code: codeEvaluation, text: fmt.Sprint(r)})
		}
	}()
	if ctx.Err() != nil {
		return g.unknown(in, stopped(ctx))
	}
	a := p.activation(ctx, g, in, g.limited)
	v, err := a.eval(g.expression)
	if tooLarge(err) {
		a = p.activation(ctx, g, in, true)
		v, err = a.eval(g.expression)
	}
	switch {
	case err != nil:
		return g.unknown(in, a.explain(g.expression, err))
	case v == types.True:
		return engine.Finding{Verdict: engine.Pass}
	case v == types.False:
		return g.fail(a)
	}
	return g.unknown(in, &fault{code: codeEvaluation, text: "the result is not a boolean"})
}

// tooLarge reports whether a value exceeded what the static cost bound assumed.
func tooLarge(err error) bool {
	var cut interpreter.EvalCancelledError
	return err != nil && errors.As(err, &cut) && cut.Cause == oversized
}

func (g *gate) fail(a *activation) engine.Finding {
	return engine.Finding{Verdict: engine.Fail, Reasons: []engine.Reason{{
		Code: g.Reason, Rule: g.rule, Facts: g.facts(a.in, ""), Text: g.why(a),
	}}}
}

// unknown explains a fault. A nil input leaves the facts out.
func (g *gate) unknown(in *engine.Input, f *fault) engine.Finding {
	facts := []engine.Fact{}
	if in != nil {
		facts = g.facts(in, f.missing)
	}
	return engine.Finding{Verdict: engine.Unknown, Reasons: []engine.Reason{{
		Code: f.code, Rule: g.rule, Facts: facts,
		Text: fmt.Sprintf("gate %s could not be evaluated: %s", g.Name, f.text),
	}}}
}

// facts looks up what the gate reads, what was missing first.
func (g *gate) facts(in *engine.Input, missing string) []engine.Fact {
	facts := make([]engine.Fact, 0, len(g.reads)+1)
	if missing != "" {
		facts = append(facts, engine.AbsentFact(missing))
	}
	for i, pointer := range g.reads {
		if pointer == missing {
			continue
		}
		if value, ok := in.Lookup(g.keys[i]); ok {
			facts = append(facts, engine.NewFact(pointer, value))
		} else {
			facts = append(facts, engine.AbsentFact(pointer))
		}
	}
	return facts
}

// why is the text of a failure: what the message expression yields if it is one
// line of text, else the message, else the expression.
func (g *gate) why(a *activation) string {
	if g.message != nil {
		if text := strings.TrimSpace(a.message()); text != "" && !strings.ContainsAny(text, "\r\n") {
			return text
		}
	}
	if g.Message != "" {
		return g.Message
	}
	return fmt.Sprintf("gate %s is not met: %s", g.Name, g.Expression)
}

// message evaluates the message expression; an error is no message.
func (a *activation) message() (text string) {
	defer func() {
		if recover() != nil {
			text = ""
		}
	}()
	v, err := a.eval(a.gate.message)
	if tooLarge(err) {
		again := a.program.activation(a.ctx, a.gate, a.in, true)
		v, err = again.eval(a.gate.message)
	}
	s, ok := v.(types.String)
	if err != nil || !ok {
		return ""
	}
	return string(s)
}
