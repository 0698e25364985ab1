package signals

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestPatternsByProgram: a list that is asked by the program of a command says what
// every pattern, asked by itself, says.
func TestPatternsByProgram(t *testing.T) {
	program := rapid.SampledFrom([]string{"git", "Git", "/usr/bin/git", "./git", "g*t", "*", "rm", "", "ſu", "SU", "é", "é"})
	word := rapid.OneOf(program, rapid.SampledFrom([]string{"push", "-f", "--force", "-rf", "/", "a=b", "--"}))
	rapid.Check(t, func(t *rapid.T) {
		l := commandList{named: map[string][]*commandPattern{}}
		var all []*commandPattern
		for range rapid.IntRange(0, 4).Draw(t, "patterns") {
			text := program.Draw(t, "program")
			for range rapid.IntRange(0, 2).Draw(t, "words") {
				text += " " + word.Draw(t, "word")
			}
			p, message, _ := compilePattern(text)
			if message != "" {
				continue
			}
			l.add(&p)
			all = append(all, &p)
		}
		var words []shellWord
		for range rapid.IntRange(0, 4).Draw(t, "command") {
			words = append(words, shellWord{text: word.Draw(t, "text"), open: rapid.IntRange(0, 5).Draw(t, "open") == 0, many: rapid.Bool().Draw(t, "many")})
		}
		c := foldWords(words)
		if got, want := l.exact(words, c), slices.ContainsFunc(all, func(p *commandPattern) bool { return p.exact(words) }); got != want {
			t.Fatalf("exact %v: got %t, want %t", words, got, want)
		}
		if got, want := l.folded(c), slices.ContainsFunc(all, func(p *commandPattern) bool { return p.folded(c) }); got != want {
			t.Fatalf("folded %v: got %t, want %t", words, got, want)
		}
	})
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
