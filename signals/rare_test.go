package signals

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestRarePatternsSayTheSame: what a pattern needs keeps nothing from it that it
// matches.
func TestRarePatternsSayTheSame(t *testing.T) {
	patterns := map[string]rarePattern{
		"nearTests": nearTests, "pipelines": pipelines, "settings": settings, "snapshotFile": snapshotFile, "goUnseen": goUnseen, "goOS": goOS,
		"javaMain": javaMain, "jsUnseen": jsUnseen, "testFolder": testFolder,
	}
	for name, f := range map[string]rarePattern{"opensChain": opensChain, "rustAssert": rustAssert, "namesAssertion": namesAssertion, "rubyAssert": rubyAssert,
		"ofMock": ofMock, "approximate": approximate, "goTable": goTable, "ginkgo": ginkgo} {
		patterns[name] = f
	}
	for e, f := range usual {
		patterns[string(e)] = f
	}
	quick, matched := map[string]int{}, map[string]int{}
	for name, f := range patterns {
		if f.needs() == nil {
			t.Errorf("%s needs nothing", name)
		}
		f := f
		// What the pattern is made of, in any order, and in other letters.
		piece := rapid.OneOf(rapid.SampledFrom(literals(f.pattern())), rapid.SampledFrom([]string{"/", ".", "a", "_", "s", "test", "yml", "\u017f", "\u212a", "é", "go", "\n"}))
		text := rapid.Map(rapid.SliceOfN(piece, 0, 6), func(list []string) string { return strings.Join(list, "") })
		cased := rapid.OneOf(text, rapid.Map(text, strings.ToUpper), rapid.StringMatching(f.pattern().String()))
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			s := cased.Draw(t, "text")
			got, want := f.MatchString(s), f.pattern.MatchString(s)
			if got != want {
				t.Fatalf("%q: %v, and the pattern alone says %v", s, got, want)
			}
			if want {
				matched[name]++
			} else if !slices.ContainsFunc(f.needs(), func(n string) bool { return strings.Contains(strings.ToLower(s), strings.ToLower(n)) }) {
				quick[name]++
			}
		}))
		if matched[name] == 0 || quick[name] == 0 {
			t.Errorf("%s: %d names matched, and %d were told without the pattern", name, matched[name], quick[name])
		}
	}
}

// TestWhatPatternsNeed: nothing is needed that may be written another way.
func TestWhatPatternsNeed(t *testing.T) {
	for text, want := range map[string]string{
		"abc": "abc", "a+": "a", "(?i)aBc": "abc", "a(?i:bc)d": "a", "(?i:bc)": "", "a|b*": "", "abc|abd": "ab", "(?:x|yy)zz": "zz", "": "", "a?bc": "bc", "(ax|by)c{2,}": "ax,by", "[ab]": "", "^$": "",
	} {
		if got := strings.Join(rare(text).needs(), ","); got != want {
			t.Errorf("%s needs %q, want %q", text, got, want)
		}
	}
}

// literals are the texts in an expression.
func literals(e *regexp.Regexp) (list []string) {
	var walk func(*syntax.Regexp)
	walk = func(e *syntax.Regexp) {
		if e.Op == syntax.OpLiteral {
			list = append(list, string(e.Rune))
		}
		for _, sub := range e.Sub {
			walk(sub)
		}
	}
	tree, err := syntax.Parse(e.String(), syntax.Perl)
	if err != nil {
		panic(err)
	}
	walk(tree)
	return list
}
