package engine

import (
	"fmt"
	"reflect"
	"testing"
)

// fill puts something into every field that can be set, and a tree where any
// value may stand.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Interface:
		v.Set(reflect.ValueOf(map[string]any{"list": []any{"a", map[string]any{"n": 1.0}}}))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		value := reflect.New(v.Type().Elem()).Elem()
		fill(value)
		v.SetMapIndex(reflect.ValueOf("key").Convert(v.Type().Key()), value)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 3))
		fill(v.Index(0))
		fill(v.Index(1))
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(v.Field(i))
			}
		}
	case reflect.String:
		v.SetString("text")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(0.5)
	}
}

// standing lists where everything stands that a value leads to, unexported fields
// too, by how one gets there.
func standing(path string, v reflect.Value, out map[uintptr]string) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			out[v.Pointer()] = path
			standing(path, v.Elem(), out)
		}
	case reflect.Interface:
		standing(path, v.Elem(), out)
	case reflect.Map:
		if !v.IsNil() {
			out[v.Pointer()] = path
		}
		for _, k := range v.MapKeys() {
			standing(fmt.Sprint(path, "/", k), v.MapIndex(k), out)
		}
	case reflect.Slice:
		if v.Cap() > 0 {
			out[v.Pointer()] = path
		}
		for i := range v.Len() {
			standing(fmt.Sprint(path, "/", i), v.Index(i), out)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			standing(path+"."+v.Type().Field(i).Name, v.Field(i), out)
		}
	}
}

// apart holds a copy to being equal and to sharing nothing.
func apart[T any](t *testing.T, what string, one, other T) {
	t.Helper()
	if !reflect.DeepEqual(one, other) {
		t.Errorf("%s: got %+v, want %+v", what, other, one)
	}
	first, second := map[uintptr]string{}, map[uintptr]string{}
	standing("", reflect.ValueOf(one), first)
	standing("", reflect.ValueOf(other), second)
	for at, path := range second {
		if shared, ok := first[at]; ok {
			t.Errorf("%s: %s of the copy is %s of the original", what, path, shared)
		}
	}
	if len(first) == 0 || len(second) != len(first) {
		t.Errorf("%s: %d places of one, %d of the other", what, len(first), len(second))
	}
}

func TestACopySharesNothing(t *testing.T) {
	var a Action
	fill(reflect.ValueOf(&a).Elem())
	apart(t, "an action", a, a.Clone())
	a.Document["arguments"] = a.Arguments
	apart(t, "an action whose arguments are its document's", a, a.Clone())
	copied := a.Clone()
	copied.Arguments["more"] = true
	if _, ok := copied.Document["arguments"].(map[string]any)["more"]; !ok {
		t.Error("the copy's arguments are not those of its document any more")
	}
	if got := (&Action{}).Clone(); !reflect.DeepEqual(got, Action{}) {
		t.Errorf("nothing is copied as %+v", got)
	}

	var d Decision
	fill(reflect.ValueOf(&d).Elem())
	d.open, d.needs = []string{"gate"}, []Need{{}}
	fill(reflect.ValueOf(&d.needs).Elem())
	apart(t, "a decision", d, d.Clone())
}

// TestADecisionSharesNothingWithItsBundle asks a policy twice that gives the same
// tables every time.
func TestADecisionSharesNothingWithItsBundle(t *testing.T) {
	facts := []Fact{NewFact("/here", map[string]any{"deep": []any{"x"}})}
	table := []Reason{{Code: "own_fail", Facts: facts}}
	p := newFake()
	p.base = func(Consequence) (Tier, Reason) { return Execute, Reason{Code: "base_tier", Facts: facts} }
	p.modifiers = func(Consequence, bool) []ModifierRule {
		return []ModifierRule{{Name: "m", Holds: true, Reason: Reason{Code: "m", Facts: facts}}}
	}
	p.raises = []Raise{{Property: "blast_radius", Value: "record", Reason: Reason{Code: "raised", Facts: facts}}}
	p.addFloor("floor", Propose)
	p.floors[0].Reason.Facts = facts
	p.addGate("own", Fail, ByReview, ByReview)
	p.findings["own"] = Finding{Verdict: Fail, Reasons: table}
	d := decide(p, call(p, toolNote))
	theirs, ours := map[uintptr]string{}, map[uintptr]string{}
	standing("", reflect.ValueOf(table), theirs)
	standing("", reflect.ValueOf(d), ours)
	for at, path := range ours {
		if shared, ok := theirs[at]; ok {
			t.Errorf("%s of the decision is %s of the bundle", path, shared)
		}
	}
	if n := len(d.Reasons); n < 4 || len(d.Gate("own").Reasons) != 1 {
		t.Errorf("%d reasons, gate %+v: the tables were not used", n, d.Gate("own"))
	}
}
