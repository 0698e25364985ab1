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
func mocked(e ecosystem, ts []token) map[string]bool {
	names := map[string]bool{}
	for i := 0; i < len(ts); i++ {
		t := ts[i]
		if t.kind != wordToken || !slices.Contains(replacers, t.text) || !near(ts, i+1).is("(") {
			continue
		}
		end := group(ts, i+1)
		looksOn := t.is("spyOn") && !(near(ts, end).is(".") && strings.HasPrefix(near(ts, end+1).text, "mock"))
		for k := i + 2; k < end && !looksOn; k++ {
			switch {
			case ts[k].kind == stringToken:
				name := strings.Trim(ts[k].text, "\"'`")
				names[name[strings.LastIndexByte(name, '.')+1:]] = true
			case e == jsTests && ts[k].kind == wordToken && near(ts, k+1).is(":"):
				names[ts[k].text] = true
			}
		}
		i = max(i, end-1) // what stands within has been looked at
	}
	return names
}

// compareMocks says whether a test has something put in the place of what it asks.
func compareMocks(e ecosystem, before, after []token) (changes []change) {
	if e != pythonTests && e != jsTests {
		return nil
	}
	now := mocked(e, after)
	if len(now) == 0 {
		return nil
	}
	was, asked, asks := mocked(e, before), callees(assertions(e, before)), callees(assertions(e, after))
	for _, name := range sortedKeys(now) {
		if !was[name] && asked[name] && asks[name] {
			changes = append(changes, change{what: assertionWeakened, marker: "mock", certainty: sure})
		}
	}
	return changes
}

// callees are the functions of any module of which assertions ask what they return.
func callees(list []assertion) map[string]bool {
	names := map[string]bool{}
	for _, a := range list {
		words := strings.Fields(a.subject)
		if len(words) > 0 && words[0] == "await" {
			words = words[1:]
		}
		for len(words) > 2 && words[1] == "." {
			words = words[2:]
		}
		if len(words) > 1 && words[1] == "(" {
			names[words[0]] = true
		}
	}
	return names
}
