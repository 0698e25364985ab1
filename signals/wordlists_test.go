package signals

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// wordLists are the lists of whole words, each with the expression that says the
// same.
var wordLists = []struct {
	name       string
	words      []string
	expression string
}{
	{"goSkip", goSkip, `^(?:Skip|Skipf|SkipNow)$`},
	{"fails", fails, `^(?:Errorf?|Fatalf?|Fail|FailNow)$`},
	{"namesPackage", namesPackage, `^(?:assert|require|is|check|chai|should)$`},
	{"pytestMark", pytestMark, `^(?:skip|skipif|xfail)$`},
	{"unitSkip", unitSkip, `^(?:skip|skipIf|skipUnless|expectedFailure|SkipTest|skipTest|skipif|xfail|importorskip)$`},
	{"jsSkip", jsSkip, `^(?:skip|only|todo|skipIf|runIf|fails|failing|fixme|if|skipAll)$`},
	{"jsMark", jsMark, `^(?:xit|xtest|xspecify|xdescribe|xcontext|fit|ftest|fdescribe|fcontext|pending)$`},
	{"jsBase", jsBase, `^(?:it|test|describe|suite|specify|context|bench|t|this|ctx|tap|Deno|scenario|feature|fixture|Scenario)$`},
	{"jsTest", jsTest, `^(?:it|test|specify|bench|xit|xtest|xspecify|fit|ftest)$`},
	{"javaTest", javaTest, `^(?:Test|ParameterizedTest|RepeatedTest|TestFactory|TestTemplate|Property|Fact|Theory)$`},
	{"javaRows", javaRows, `^(?:CsvSource|ValueSource|EnumSource|CsvFileSource)$`},
	{"rubySkip", rubySkip, `^(?:skip|pending|omit|xit|xdescribe|xcontext|xspecify|xexample|xscenario|xfeature|fit|fdescribe|fcontext|focus)$`},
	{"rubyFlag", rubyFlag, `^(?:skip|pending|focus|disabled)$`},
	{"rubyTest", rubyTest, `^(?:it|specify|example|scenario|test|xit|xspecify|xexample|xscenario|fit|its)$`},
}

// TestWordLists: every list holds the words of its expression and nothing near
// them.
func TestWordLists(t *testing.T) {
	var all []string
	for _, l := range wordLists {
		all = append(all, l.words...)
		all = append(all, strings.FieldsFunc(l.expression, func(r rune) bool { return strings.ContainsRune(`^$(?:|)`, r) })...)
	}
	for _, l := range wordLists {
		expression := regexp.MustCompile(l.expression)
		for _, word := range all {
			for _, near := range append(cut(word), word, word+"s", word+"f", "x"+word, word+"\n", " "+word, strings.ToUpper(word), strings.ToLower(word)) {
				if got, want := slices.Contains(l.words, near), expression.MatchString(near); got != want {
					t.Errorf("%s holds %q: got %t, want %t", l.name, near, got, want)
				}
			}
		}
	}
}

// cut is a word with each of its bytes left out.
func cut(word string) (out []string) {
	for i := range len(word) {
		out = append(out, word[:i]+word[i+1:])
	}
	return out
}
