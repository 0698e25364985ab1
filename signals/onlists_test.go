package signals

import (
	"context"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/conjunct-project/conjunct/engine"
)

func TestAnyAndAllOfTheLists(t *testing.T) {
	scope := Scope{Roots: []string{"/w"}, Commands: map[string][]string{"allow": {"ls *", "cat *"}, "never": {"rm *"}}, Paths: map[string][]string{"allow": {"**"}, "deny": {"secret"}}}
	for _, tt := range []struct {
		line                string
		allAllow, anyNever  any // nil: absent
		allPaths, anyDenied any
		conclusive          bool
	}{
		{"ls; cat a", true, false, true, false, true},
		{"ls; rm a", false, true, true, false, true},
		{"cat SECRET", true, false, true, true, true},
		{"cat /etc/passwd", true, false, false, false, true},
		{"ls (", nil, nil, nil, nil, false},
	} {
		d, problems := New(scope, []Family{Shell, Path})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		files := Memory{"/w": {Dir: true}}
		facts, _ := d.Facts(context.Background(), one(tt.line, engine.CommandKind), World{Files: files, Dir: "/w", Home: "/h"})
		member := func(family, member, list string) any {
			m, ok := facts[family].(map[string]any)[member].(map[string]any)
			if ok != tt.conclusive {
				t.Errorf("%s: %s.%s is there: %v", tt.line, family, member, ok)
			}
			return m[list]
		}
		got := []any{member("shell", "all", "allow"), member("shell", "any", "never"), member("path", "all", "allow"), member("path", "any", "deny")}
		for i, want := range []any{tt.allAllow, tt.anyNever, tt.allPaths, tt.anyDenied} {
			if got[i] != want {
				t.Errorf("%s: %v, want %v %v %v %v", tt.line, got, tt.allAllow, tt.anyNever, tt.allPaths, tt.anyDenied)
				break
			}
		}
	}
}

// TestListsCounted: counting says what looking for each list in each element says.
func TestListsCounted(t *testing.T) {
	lists := []any{"a", "b", "c"}
	names := rapid.Map(rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 3, rapid.ID), textList)
	rapid.Check(t, func(t *rapid.T) {
		var elements []any
		for range rapid.IntRange(0, 3).Draw(t, "elements") {
			fact := map[string]any{"lists": names.Draw(t, "lists"), "lists_folded": names.Draw(t, "folded")}
			if rapid.IntRange(0, 5).Draw(t, "unresolved") == 0 {
				fact = map[string]any{}
			}
			elements = append(elements, fact)
		}
		on := func(element any, member, name string) bool {
			list, _ := element.(map[string]any)[member].([]any)
			return slices.Contains(list, any(name))
		}
		wantAny, wantAll := map[string]any{}, map[string]any{}
		for _, list := range lists {
			name := list.(string)
			wantAny[name] = slices.ContainsFunc(elements, func(e any) bool { return on(e, "lists_folded", name) })
			wantAll[name] = !slices.ContainsFunc(elements, func(e any) bool { return !on(e, "lists", name) })
		}
		if anyOn, allOn := onLists(lists, elements); !reflect.DeepEqual(anyOn, wantAny) || !reflect.DeepEqual(allOn, wantAll) {
			t.Fatalf("%v: got %v and %v, want %v and %v", elements, anyOn, allOn, wantAny, wantAll)
		}
	})
}
