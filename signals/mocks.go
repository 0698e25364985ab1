package signals

import (
	"slices"
	"strings"
)

// A test that puts something in the place of what it is about shows only what it
// put there.

// replacers are the calls that put something in the place of a function.
var replacers = strings.Fields("patch object setattr spyOn stub mock doMock replace replaceProperty when")

// mocked lists the names of what a test puts something in the place of.
func mocked(e ecosystem, ts []token) (names []string) {
	if e != pythonTests && e != jsTests {
		return nil
	}
	for i, t := range ts {
		if t.kind != wordToken || !slices.Contains(replacers, t.text) || !near(ts, i+1).is("(") {
			continue
		}
		end := group(ts, i+1)
		if t.is("spyOn") && !(near(ts, end).is(".") && strings.HasPrefix(near(ts, end+1).text, "mock")) {
			continue // it only looks on
		}
		for k, arg := range ts[i+1 : end] {
			switch {
			case arg.kind == stringToken:
				name := strings.Trim(arg.text, "\"'`")
				names = append(names, name[strings.LastIndexByte(name, '.')+1:])
			case e == jsTests && arg.kind == wordToken && near(ts, i+2+k).is(":"):
				names = append(names, arg.text)
			}
		}
	}
	return names
}

// compareMocks says whether a test has something put in the place of what it asks.
func compareMocks(e ecosystem, before, after []token) (changes []change) {
	was := mocked(e, before)
	asked := assertions(e, before)
	for _, name := range mocked(e, after) {
		if slices.Contains(was, name) || name == "" {
			continue
		}
		asks := func(a assertion) bool { return calls(a.subject, name) }
		if slices.ContainsFunc(asked, asks) && slices.ContainsFunc(assertions(e, after), asks) {
			changes = append(changes, change{what: assertionWeakened, marker: "mock", certainty: sure})
		}
	}
	return changes
}

// calls reports whether a subject is what a function of a name returns, the
// function of any module.
func calls(subject, name string) bool {
	words := strings.Fields(subject)
	for len(words) > 2 && words[1] == "." {
		words = words[2:]
	}
	if len(words) > 0 && words[0] == "await" {
		words = words[1:]
	}
	return len(words) > 1 && words[0] == name && words[1] == "("
}
