package engine

import (
	"fmt"
	"maps"
	"slices"
)

// checkArguments compares arguments with the registry's schema and returns a
// reason for each that is missing, mistyped or undeclared, sorted by name.
func checkArguments(t Tool, args map[string]any) []Reason {
	if t.Arguments == nil || fits(t, args) {
		return nil
	}
	var out []Reason
	mismatch := func(text string, f Fact) {
		out = append(out, Reason{Code: "argument_mismatch", Text: text, Facts: []Fact{f}})
	}
	for _, name := range slices.Sorted(maps.Keys(t.Arguments)) {
		want := t.Arguments[name]
		v, ok := args[name]
		path := argumentPath(name)
		switch {
		case !ok && want.Required:
			mismatch(fmt.Sprintf("required argument %q is missing", name), AbsentFact(path))
		case ok && !want.Type.matches(v):
			mismatch(fmt.Sprintf("argument %q is not of type %s", name, want.Type), NewFact(path, v))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(args)) {
		if _, ok := t.Arguments[name]; !ok {
			mismatch(fmt.Sprintf("argument %q is not declared for %s", name, t.Name), NewFact(argumentPath(name), args[name]))
		}
	}
	return out
}

// fits reports whether there is nothing to say of the arguments.
func fits(t Tool, args map[string]any) bool {
	declared := 0
	for name, want := range t.Arguments {
		v, ok := args[name]
		if !ok && want.Required || ok && !want.Type.matches(v) {
			return false
		}
		if ok {
			declared++
		}
	}
	return declared == len(args)
}

func argumentPath(name string) string { return Pointer("action", "arguments", name) }
