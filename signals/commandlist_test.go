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
