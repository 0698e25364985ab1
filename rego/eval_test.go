package rego_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/conjunct-project/conjunct/rego"
)

// gate is a program with one gate g of the given text.
func gate(t testing.TB, text string) *rego.Program {
	t.Helper()
	return mustLoad(t, source(map[string]string{rego.Gates: text}, "g"))
}

func failureOf(t *testing.T, err error) *rego.Failure {
	t.Helper()
	var f *rego.Failure
	if !errors.As(err, &f) {
		t.Fatalf("got error %v, want a *rego.Failure", err)
	}
	return f
}

func TestAnEvaluationWithoutAValueSaysWhy(t *testing.T) {
	facts := func(f tree) rego.Input { return rego.NewInput(tree{"facts": f}) }
	for _, c := range []struct {
		name, gate string
		in         rego.Input
		code, text string
	}{
		{"undefined", `g := 1 if input.facts.x == 1`, facts(tree{"x": 2.0}), rego.Undefined, "no value"},
		{"absent path", `g := 1 if input.facts.x == 1`, facts(tree{}), rego.Undefined, ""},
		{"conflict", "g := 1 if input.facts.x\n\ng := 2 if input.facts.y", facts(tree{"x": true, "y": true}), rego.Conflict, "(gates.rego:"},
		{"conflict of an object's keys", "g[\"a\"] := 1 if input.facts.x\n\ng[\"a\"] := 2 if input.facts.y", facts(tree{"x": true, "y": true}), rego.Conflict, "(gates.rego:"},
		{"conflict of a function", "g := f(input.facts.x)\n\nf(x) := 1 if x > 0\n\nf(x) := 2 if x > 1", facts(tree{"x": 5.0}), rego.Conflict, "(gates.rego:"},
		{"builtin error", `g := lower(input.facts.x)`, facts(tree{"x": 1.0}), rego.BuiltinErr, "(gates.rego:2)"},
		{"builtin error below not", `g := 1 if not startswith(input.facts.x, "a")`, facts(tree{"x": 1.0}), rego.BuiltinErr, "(gates.rego:2)"},
		{"builtin error in a comprehension", `g := [y | some x in input.facts.x; y := upper(x)]`, facts(tree{"x": []any{1.0}}), rego.BuiltinErr, ""},
		{"division by zero", `g := 1 / input.facts.x`, facts(tree{"x": 0.0}), rego.BuiltinErr, "divide by zero"},
		{"a regular expression that is none", `g := regex.match(input.facts.x, "a")`, facts(tree{"x": "["}), rego.BuiltinErr, ""},
		{"no input at all", `g := 1 if input.facts.x`, rego.NewInput(nil), rego.Undefined, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, err := gate(t, c.gate).Eval(context.Background(), "gates.g", c.in)
			if v != nil {
				t.Fatalf("got value %v, want none, for %s", v, c.gate)
			}
			f := failureOf(t, err)
			if c.code == rego.BuiltinErr && f.Code == rego.EvalError {
			}
			if f.Code != c.code || !strings.Contains(f.Text, c.text) || !strings.HasPrefix(f.Error(), c.code+": ") {
				t.Errorf("got %q, want code %s and text with %q, for %s", f, c.code, c.text, c.gate)
			}
		})
	}
	t.Run("no such entry point", func(t *testing.T) {
		_, err := gate(t, `g := 1`).Eval(context.Background(), "gates.h", facts(nil))
		if f := failureOf(t, err); f.Code != rego.GateMissing {
			t.Errorf("got %q, want code %s", f, rego.GateMissing)
		}
	})
}

func TestValues(t *testing.T) {
	n := func(s string) json.Number { return json.Number(s) }
	for _, c := range []struct {
		gate string
		want any
	}{
		{`g := input.facts.x`, tree{"a": []any{n("1"), n("0.1"), nil, true, "s"}}},
		{`g := {"b", "a", 1, null}`, []any{nil, n("1"), "a", "b"}},
		{`g := {x | some x in input.facts.l}`, []any{n("1"), n("2"), n("10")}},
		{`g := false`, false},
		{`g := null`, nil},
		{`g := input.facts.big`, n("1e+21")},
		{`g := input.facts.whole + 1`, n("100000000000000000001")},
		{`g := object.get(input.facts, "none", "d")`, "d"},
		{"default g := 1\n\ng := 2 if input.facts.none", n("1")},
		{"g := 1 if input.facts.none\nelse := 2 if input.facts.x\nelse := 3", n("2")},
		{`g := $"{input.facts.l[0]} and {input.facts.none}"`, "1 and <undefined>"},
	} {
		t.Run(c.gate, func(t *testing.T) {
			in := rego.NewInput(tree{"facts": tree{"x": tree{"a": []any{1.0, 0.1, nil, true, "s"}}, "l": []any{10.0, 2.0, 1.0, 1}, "big": 1e21, "whole": 1e20}})
			if c.gate == `g := $"{input.facts.l[0]} and {input.facts.none}"` {
				c.want = "10 and <undefined>"
			}
			got, err := gate(t, c.gate).Eval(context.Background(), "gates.g", in)
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %#v, %v, want %#v, for %s", got, err, c.want, c.gate)
			}
		})
	}
}

func TestNumbersAreComparedAsTheyWereHashed(t *testing.T) {
	for _, c := range []struct {
		value   float64
		literal string
	}{{0.1, "0.1"}, {1e21, "1e21"}, {1e21, "1000000000000000000000"}, {math.Copysign(0, -1), "0"}, {5e-324, "5e-324"}, {1e20, "100000000000000000000"}, {9007199254740992, "9007199254740992"}, {1.7976931348623157e308, "1.7976931348623157e308"}} {
		got, err := gate(t, "g := input.facts.x == "+c.literal).Eval(context.Background(), "gates.g", rego.NewInput(tree{"facts": tree{"x": c.value}}))
		if err != nil || got != true {
			t.Errorf("%v == %s: got %v, %v, want true", c.value, c.literal, got, err)
		}
	}
}

func TestAnInputOfAnotherTypeIsABrokenInvariant(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("got no panic for an int32 in the input, want one")
		}
	}()
	rego.NewInput(tree{"x": int32(1)})
}

// heavy takes minutes.
const heavy = `g := count([1 | some a in input.facts.l; some b in input.facts.l; some c in input.facts.l; a + b == c])`

func heavyInput() rego.Input {
	l := make([]any, 1000)
	for i := range l {
		l[i] = float64(i)
	}
	return rego.NewInput(tree{"facts": tree{"l": l}})
}

func TestAHeavyEvaluationIsCutShort(t *testing.T) {
	p, in := gate(t, heavy), heavyInput()
	for _, c := range []struct {
		name string
		ctx  func() (context.Context, context.CancelFunc)
		code string
	}{
		{"deadline", func() (context.Context, context.CancelFunc) {
			return context.WithTimeout(context.Background(), 20*time.Millisecond)
		}, rego.Timeout},
		{"cancelled", func() (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(context.Background())
			time.AfterFunc(20*time.Millisecond, cancel)
			return ctx, cancel
		}, rego.Cancelled},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := c.ctx()
			defer cancel()
			start := time.Now()
			v, err := p.Eval(ctx, "gates.g", in)
			if f := failureOf(t, err); v != nil || f.Code != c.code {
				t.Errorf("got %v, %v, want code %s", v, err, c.code)
			}
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("got an answer after %v, want soon after 20ms", took)
			}
		})
	}
}

func TestADoneContextIsAFailureEvenForAConstant(t *testing.T) {
	p := gate(t, `g := 1`)
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	late, cancel := context.WithDeadline(context.Background(), time.Unix(1, 0))
	defer cancel()
	for code, ctx := range map[string]context.Context{rego.Cancelled: cancelled, rego.Timeout: late} {
		v, err := p.Eval(ctx, "gates.g", rego.NewInput(nil))
		if f := failureOf(t, err); v != nil || f.Code != code {
			t.Errorf("got %v, %v, want code %s", v, err, code)
		}
	}
}

func TestAProgramIsSafeForConcurrentUse(t *testing.T) {
	p := gate(t, `g := x if x := input.facts.x + 1`)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 50 {
				got, err := p.Eval(context.Background(), "gates.g", rego.NewInput(tree{"facts": tree{"x": float64(i)}}))
				if want := json.Number(string(rune('1' + i))); err != nil || got != want {
					t.Errorf("got %v, %v, want %v", got, err, want)
				}
			}
		})
	}
	wg.Wait()
}

func TestABuiltinErrorBehindTheRuleIndexIsNoPass(t *testing.T) {
	p := gate(t, "g := {\"verdict\": \"pass\", \"reasons\": []} if not bad\n\nbad if startswith(input.state.settings.deadline, \"x\")")
	v, err := p.Eval(context.Background(), "gates.g", rego.NewInput(tree{"state": tree{"settings": tree{"deadline": 5.0}}}))
	if err == nil {
		t.Fatalf("got %v, want a failure: the builtin errs", v)
	}
	if f := failureOf(t, err); f.Code != rego.BuiltinErr {
		t.Errorf("got %v, want code %s", f, rego.BuiltinErr)
	}
}
