package signals

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestPatternsByProgram: the lists that are asked by the program of a command say
// what every pattern, asked by itself, says.
func TestPatternsByProgram(t *testing.T) {
	program := rapid.SampledFrom([]string{"git", "Git", "/usr/bin/git", "./git", "g*t", "*", "rm", "", "ſu", "SU", "é", "é"})
	word := rapid.OneOf(program, rapid.SampledFrom([]string{"push", "-f", "--force", "-rf", "/", "a=b", "--"}))
	pattern := rapid.Custom(func(t *rapid.T) string {
		words := append([]string{program.Draw(t, "program")}, rapid.SliceOfN(word, 0, 2).Draw(t, "words")...)
		return strings.Join(words, " ")
	})
	shell := rapid.Custom(func(t *rapid.T) shellWord {
		return shellWord{text: word.Draw(t, "text"), open: rapid.IntRange(0, 5).Draw(t, "open") == 0, many: rapid.Bool().Draw(t, "many")}
	})
	rapid.Check(t, func(t *rapid.T) {
		scope := map[string][]string{}
		for _, name := range []string{"allow", "deny", "review"} {
			scope[name] = rapid.SliceOfN(pattern, 0, 3).Draw(t, name)
		}
		lists, _ := compilePatterns(scope)
		h := holder{commandLists: &lists}
		for range 3 { // one after the other
			words := rapid.SliceOfN(shell, 0, 4).Draw(t, "command")
			exact, folded := h.hold(words)
			wantExact, wantFolded := eachPattern(scope, words)
			if !slices.Equal(exact, wantExact) || !slices.Equal(folded, wantFolded) {
				t.Fatalf("%v of %v: got %v and %v, want %v and %v", words, scope, exact, folded, wantExact, wantFolded)
			}
		}
	})
}

// eachPattern asks every pattern of every list.
func eachPattern(scope map[string][]string, words []shellWord) (exact, folded []any) {
	for _, name := range slices.Sorted(maps.Keys(scope)) {
		var list []*commandPattern
		for _, text := range scope[name] {
			if p, message, _ := compilePattern(text); message == "" {
				list = append(list, &p)
			}
		}
		on := slices.ContainsFunc(list, func(p *commandPattern) bool { return p.exact(words) })
		if on {
			exact = append(exact, name)
		}
		var c foldedWords
		c.fold(words)
		if on || slices.ContainsFunc(list, func(p *commandPattern) bool { return p.folded(&c) }) {
			folded = append(folded, name)
		}
	}
	return exact, folded
}

// FuzzStar: a star is any text, and everything else is itself.
func FuzzStar(f *testing.F) {
	for _, pattern := range []string{"", "*", "a", "a*", "*a", "a*a", "ab*b", "delete-*", "*-x-*", "**", "a**b"} {
		for _, s := range []string{"", "a", "ab", "aa", "abb", "delete-", "delete-it", "x-x-x", "b"} {
			f.Add(pattern, s)
		}
	}
	f.Fuzz(func(t *testing.T, pattern, s string) {
		if len(pattern) > 20 || len(s) > 40 {
			return // the simple way takes for ever
		}
		if got, want := star(pattern, s), starSimply(pattern, s); got != want {
			t.Errorf("%q, %q: got %t, want %t", pattern, s, got, want)
		}
	})
}

// starSimply tries every text for a star.
func starSimply(pattern, s string) bool {
	switch {
	case pattern == "":
		return s == ""
	case pattern[0] != '*':
		return s != "" && s[0] == pattern[0] && starSimply(pattern[1:], s[1:])
	}
	return starSimply(pattern[1:], s) || s != "" && starSimply(pattern, s[1:])
}
