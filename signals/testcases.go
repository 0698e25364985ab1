package signals

import (
	"slices"
	"strings"
)

// function is a function in a test file. A collected one is a test that the
// runner finds by its name, its annotation or the call that makes it.
type function struct {
	name      string
	collected bool
	text      []token // of its body
	lines     bool    // where a line ends says something in it
	async     bool    // a Python runner of its own runs it, or nothing does
	fails     string  // the failure that it passes by, where it has to fail
}

// body is what a function does: without the ends of lines, where they say nothing.
func (f function) body() []token {
	if f.lines {
		return f.text
	}
	return solid(f.text)
}

// same reports two functions that do and promise the same, token by token.
func (f function) same(g function) bool {
	return f.lines == g.lines && f.async == g.async && f.fails == g.fails && slices.Equal(f.text, g.text)
}

// functions lists the functions in a file, tests first of all.
func functions(e ecosystem, ts []token) []function {
	switch e {
	case goTests:
		return slices.Concat(goFunctions(ts), subtests(ts))
	case pythonTests:
		return pythonFunctions(ts)
	case javaTests:
		return javaFunctions(ts)
	case jsTests:
		return jsFunctions(ts)
	case rubyTests:
		return rubyFunctions(ts)
	case rustTests:
		return rustFunctions(ts)
	}
	if d, ok := dialects[e]; ok {
		return dialectFunctions(e, d, ts)
	}
	return nil
}

var goTest = re(`^(?:Test|Fuzz|Benchmark|Example)(?:$|[^\p{Ll}])`)

func goFunctions(ts []token) (fs []function) {
	for i := 0; i+2 < len(ts); i++ {
		if !ts[i].is("func") {
			continue
		}
		at := i + 1
		if ts[at].is("(") {
			at = group(ts, at)
		}
		if at+1 >= len(ts) || ts[at].kind != wordToken {
			continue
		}
		fs = append(fs, function{name: ts[at].text, collected: goTest.MatchString(ts[at].text), text: braces(ts, at+1)})
	}
	return fs
}

// subtests are the calls t.Run("name", ..).
func subtests(ts []token) (fs []function) {
	for i := 0; i+3 < len(ts); i++ {
		if ts[i].is(".") && ts[i+1].is("Run") && ts[i+2].is("(") && ts[i+3].kind == stringToken {
			fs = append(fs, function{name: "Run " + ts[i+3].text, collected: true, text: between(ts[i+2 : group(ts, i+2)])})
		}
	}
	return fs
}

// braces is what stands between the next braces behind the parameters at i, with the
// ends of lines; nil where there are none.
func braces(ts []token, i int) []token {
	for i < len(ts) && !ts[i].is("{") && !ts[i].is(";") {
		if ts[i].is("(") || ts[i].is("[") {
			i = group(ts, i)
			continue
		}
		i++
	}
	if i >= len(ts) || !ts[i].is("{") {
		return nil
	}
	return between(ts[i:group(ts, i)])
}

// pythonFunctions lists functions; of two with one name the runner sees the last.
func pythonFunctions(ts []token) (fs []function) {
	for _, f := range allPython(ts) {
		fs = slices.DeleteFunc(fs, func(g function) bool { return g.name == f.name })
		fs = append(fs, f)
	}
	return fs
}

// redefined lists the names of tests that another of the same name hides.
func redefined(ts []token) (names []string) {
	seen := map[string]bool{}
	for _, f := range allPython(ts) {
		if f.collected && seen[f.name] {
			names = append(names, f.name)
		}
		seen[f.name] = true
	}
	return names
}

func allPython(ts []token) (fs []function) {
	type class struct {
		indent    int32
		collected bool
		async     bool
		name      string
	}
	var within []class
	for i := 0; i+1 < len(ts); i++ {
		t := ts[i]
		if !t.is("def") && !t.is("class") || ts[i+1].kind != wordToken || i > 0 && ts[i-1].is(".") {
			continue
		}
		for len(within) > 0 && within[len(within)-1].indent >= t.indent {
			within = within[:len(within)-1]
		}
		name := ts[i+1].text
		if t.is("class") {
			bases := i+2 < len(ts) && ts[i+2].is("(")
			of := ""
			if bases {
				of = plain(ts[i+2 : group(ts, i+2)])
			}
			within = append(within, class{t.indent, strings.HasPrefix(name, "Test") || strings.Contains(of, "Test"), strings.Contains(of, "Async"), name + "."})
			continue
		}
		f := function{name: name, collected: strings.HasPrefix(name, "test") && !fixture(ts[:i]), text: indented(ts, i), lines: true, async: i > 0 && ts[i-1].is("async") && !runsAsync(ts, i-1)}
		if n := len(within); n > 0 {
			f.collected = f.collected && within[n-1].collected
			f.name = within[n-1].name + name
			f.async = f.async && !within[n-1].async
		}
		fs = append(fs, f)
	}
	return fs
}

// fixture reports whether the decorators that end a text make a fixture.
func fixture(ts []token) bool { return decorated(ts, "fixture") }

// runsAsync reports whether a mark of the test whose definition begins at i, or of
// its whole file, names what runs it.
func runsAsync(ts []token, i int) bool {
	if decorated(ts[:i], runners...) {
		return true
	}
	at := slices.IndexFunc(ts, func(t token) bool { return t.is("pytestmark") })
	return at >= 0 && slices.ContainsFunc(ts[at:min(at+12, len(ts))], func(t token) bool { return slices.Contains(runners, t.text) })
}

// runners are marks by which plugins of pytest run coroutines.
var runners = strings.Fields("asyncio anyio trio gen_test asyncio_cooperative tornado")

// decorated reports whether one of the decorators that end a text has one of the
// names.
func decorated(ts []token, names ...string) bool {
	for i := len(ts) - 1; i > 0 && len(ts)-i < 24 && !ts[i].is("def") && !ts[i].is("class"); i-- {
		if slices.Contains(names, ts[i].text) && (ts[i-1].is(".") || ts[i-1].is("@")) {
			at := i
			for at > 0 && ts[at].kind != lineToken && !ts[at].is("@") {
				at--
			}
			return ts[at].is("@")
		}
	}
	return false
}

// indented is the body of the Python function whose def is at i.
func indented(ts []token, i int) []token {
	indent := ts[i].indent
	start := i + 2
	if start < len(ts) && ts[start].is("(") {
		start = group(ts, start)
	}
	for start < len(ts) && !ts[start].is(":") {
		start++
	}
	start = min(start+1, len(ts))
	end := start
	for lines := 0; end < len(ts); end++ {
		if ts[end].kind == lineToken {
			lines++
		} else if lines > 0 && ts[end-1].kind == lineToken && ts[end].indent <= indent {
			break
		}
	}
	return ts[start:end]
}

var javaTest = strings.Fields("Test ParameterizedTest RepeatedTest TestFactory TestTemplate Property Fact Theory")

func javaFunctions(ts []token) (fs []function) {
	annotated, fails := false, ""
	for i := 0; i+2 < len(ts); i++ {
		switch {
		case ts[i].is("@") && ts[i+1].kind == wordToken:
			annotated = annotated || slices.Contains(javaTest, ts[i+1].text)
			i++
			if i+1 < len(ts) && ts[i+1].is("(") {
				end := group(ts, i+1)
				for _, arg := range split(inside(ts[i+1:end]), ",") {
					if len(arg) > 2 && (arg[0].is("expected") || arg[0].is("expectedExceptions")) {
						fails = plain(arg[2:])
					}
				}
				i = end - 1
			}
		case (ts[i].kind == wordToken || ts[i].kind == stringToken) && ts[i+1].is("(") && i > 0 && (ts[i-1].kind == wordToken || ts[i-1].is(">") || ts[i-1].is("]")) && !slices.Contains([]string{"new", "return", "else", "throw"}, ts[i-1].text):
			body := braces(ts, i+1)
			if body == nil && !annotated {
				continue
			}
			fs = append(fs, function{name: ts[i].text, collected: annotated || strings.HasPrefix(ts[i].text, "test") && ts[i-1].is("void"), text: body, fails: fails})
			annotated, fails = false, ""
		}
	}
	return fs
}

var jsTest = strings.Fields("it test specify bench xit xtest xspecify fit ftest")

func jsFunctions(ts []token) (fs []function) {
	for i := 0; i+2 < len(ts); i++ {
		switch {
		case ts[i].kind == wordToken && slices.Contains(jsTest, ts[i].text) && (i == 0 || !ts[i-1].is(".")):
			at := i + 1
			for at+1 < len(ts) && (ts[at].is(".") || ts[at].kind == wordToken || ts[at].is("[")) {
				if ts[at].is("[") {
					at = group(ts, at) - 1
				}
				at++
			}
			if at+1 < len(ts) && ts[at].is("(") && ts[at-1].is("each") {
				at = group(ts, at)
			}
			if at+1 < len(ts) && ts[at].is("(") && ts[at+1].kind == stringToken {
				fs = append(fs, function{name: ts[at+1].text, collected: true, text: callback(ts[at:group(ts, at)]), lines: true})
			}
		case ts[i].is("function") && ts[i+1].kind == wordToken:
			fs = append(fs, function{name: ts[i+1].text, collected: false, text: braces(ts, i+2)})
		case (ts[i].is("const") || ts[i].is("let") || ts[i].is("var")) && ts[i+1].kind == wordToken && ts[i+2].is("="):
			end := i + 3
			for end < len(ts) && ts[end].kind != lineToken && !ts[end].is("{") {
				end++
			}
			if slices.ContainsFunc(ts[i+3:end], func(t token) bool { return t.is("=>") || t.is("function") }) {
				fs = append(fs, function{name: ts[i+1].text, collected: false, text: braces(ts, end)})
			}
		}
	}
	return fs
}

// callback is the body of the function in the arguments of a call, with the ends of
// its lines: a return that stands alone ends with one. Where there is none it is
// all that is in them.
func callback(args []token) []token {
	for i := 1; i < len(args); i++ {
		if args[i].is("{") && (args[i-1].is("=>") || args[i-1].is(")")) {
			return args[i+1 : max(i+1, group(args, i)-1)]
		}
	}
	return inside(args)
}

var rubyTest = strings.Fields("it specify example scenario test xit xspecify xexample xscenario fit its")

// rubyFunctions takes what goes from one test to the next for its body.
func rubyFunctions(ts []token) (fs []function) {
	start := -1
	finish := func(end int) {
		if start >= 0 {
			fs[len(fs)-1].text, fs[len(fs)-1].lines = ts[start:end], true
		}
		start = -1
	}
	for i := 0; i+1 < len(ts); i++ {
		first := i == 0 || ts[i-1].kind == lineToken
		switch {
		case first && ts[i].kind == wordToken && slices.Contains(rubyTest, ts[i].text) && (ts[i+1].kind == stringToken || ts[i+1].is("(") || ts[i+1].is("{") || ts[i+1].is("do")):
			finish(i)
			fs = append(fs, function{name: ts[i+1].text, collected: true})
			start = i + 2
		case ts[i].is("def") && ts[i+1].kind == wordToken:
			finish(i)
			fs = append(fs, function{name: ts[i+1].text, collected: strings.HasPrefix(ts[i+1].text, "test_")})
			start = i + 2
		}
	}
	finish(len(ts))
	return fs
}

func rustFunctions(ts []token) (fs []function) {
	annotated, fails := false, ""
	for i := 0; i+1 < len(ts); i++ {
		switch {
		case ts[i].is("#") && ts[i+1].is("["):
			end := group(ts, i+1)
			attribute := inside(ts[i+1 : end])
			if len(attribute) > 0 {
				last := split(attribute, "(")[0]
				if attribute[0].is("should_panic") {
					fails = strings.TrimSpace("any " + plain(attribute[1:]))
				}
				annotated = annotated || strings.HasSuffix(plain(last), "test") || attribute[0].is("test_case") || attribute[0].is("rstest") || attribute[0].is("quickcheck")
			}
			i = end - 1
		case ts[i].is("fn") && ts[i+1].kind == wordToken:
			fs = append(fs, function{name: ts[i+1].text, collected: annotated, text: braces(ts, i+2), fails: fails})
			annotated, fails = false, ""
		}
	}
	return fs
}

// compareCases says which tests are gone, and which are still there and are run
// no more. lost is what those that are gone demanded.
func compareCases(e ecosystem, before, after []token) (changes []change, lost []assertion) {
	was, now := functions(e, before), functions(e, after)
	tests := func(fs []function) (list []function) {
		return slices.DeleteFunc(slices.Clone(fs), func(f function) bool { return !f.collected })
	}
	oldTests, newTests := tests(was), tests(now)
	fewer := len(oldTests) - len(newTests)
	pair := func(alike func(f, g function) bool, each func(f, g function)) {
		oldTests = slices.DeleteFunc(oldTests, func(f function) bool {
			at := slices.IndexFunc(newTests, func(g function) bool { return alike(f, g) })
			if at < 0 {
				return false
			}
			each(f, newTests[at])
			newTests = slices.Delete(newTests, at, at+1)
			return true
		})
	}
	pair(func(f, g function) bool { return f.name == g.name && alike(f.text, g.text) }, func(f, g function) {
		changes = append(changes, emptied(e, f, g)...)
	})
	pair(func(f, g function) bool { return f.name == g.name }, func(f, g function) {
		changes = append(changes, emptied(e, f, g)...)
	})
	if len(oldTests) == 0 {
		return changes, nil
	}
	helpers := addedHelpers(was, now)
	left := called(e, after, helpers)
	for _, f := range oldTests {
		demands := assertions(e, f.body())
		gone, _ := difference(demands, left)
		switch {
		case slices.ContainsFunc(now, func(g function) bool { return !g.collected && g.name == f.name }),
			slices.ContainsFunc(helpers, func(g function) bool { return len(f.body()) > 0 && alike(g.text, f.text) }):
			changes = append(changes, change{what: notCollected, name: f.name, certainty: sure})
		case fewer <= 0: // renamed, or another is there in its place
			continue
		case len(demands) > 0 && len(gone) == 0: // moved into another test
		case len(helpers) > 0:
			changes = append(changes, change{what: notCollected, name: f.name, certainty: sure})
			lost = append(lost, demands...)
		default:
			changes = append(changes, change{what: caseRemoved, name: f.name, certainty: sure})
			lost = append(lost, demands...)
		}
		fewer--
	}
	return changes, lost
}

// called lists the demands of a file without those of helpers that nothing names.
func called(e ecosystem, ts []token, helpers []function) []assertion {
	left := assertions(e, ts)
	for _, h := range helpers {
		uses := 0
		for _, t := range ts {
			if t.kind == wordToken && t.text == h.name {
				uses++
			}
		}
		if uses <= 1 {
			left, _ = difference(left, assertions(e, h.body()))
		}
	}
	return left
}

// addedHelpers is the functions that are no tests and were not there before.
func addedHelpers(was, now []function) []function {
	return slices.DeleteFunc(slices.Clone(now), func(g function) bool {
		return g.collected || slices.ContainsFunc(was, func(f function) bool { return !f.collected && f.name == g.name })
	})
}

// emptied says whether a test that is still there does nothing any more, or
// leaves before it does.
func emptied(e ecosystem, was, now function) []change {
	if was.same(now) {
		return nil // nearly always
	}
	before, after := was.body(), now.body()
	if len(doing(before)) == 0 {
		return nil
	}
	if easier(was.fails, now.fails) {
		return []change{{what: assertionWeakened, name: now.name, marker: "fails", certainty: sure}}
	}
	if len(doing(after)) == 0 {
		return []change{{what: contentEmptied, name: now.name, certainty: sure}}
	}
	switch {
	case leaves(e, after) && !leaves(e, before):
		return []change{{what: skipMarker, name: now.name, marker: "return", certainty: sure}}
	case returns(after) > returns(before):
		return []change{{what: skipMarker, name: now.name, marker: "return", certainty: likely}}
	case now.async && !was.async:
		return []change{{what: skipMarker, name: now.name, marker: "async", certainty: likely}}
	}
	return nil
}

// returns counts where a function leaves with nothing.
func returns(body []token) (n int) {
	for i, t := range body {
		if next := near(body, i+1); t.is("return") && (next.kind == 0 || next.kind == lineToken || next.is(";") || next.is("}")) {
			n++
		}
	}
	return n
}

// doing is a body without what does nothing.
func doing(body []token) []token {
	ts := solid(body)
	for len(ts) > 0 && (ts[0].is("pass") || ts[0].is("...") || ts[0].is(";") || len(ts) == 1 && ts[0].kind == stringToken) {
		ts = ts[1:]
	}
	return ts
}

// easier reports whether a test passes by a failure that it did not pass by.
func easier(was, now string) bool {
	if was == "" || now == "" {
		return now != ""
	}
	return now != was && (now == "any" || broad.MatchString(now))
}

// leaves reports whether the first statement leaves the test.
func leaves(e ecosystem, body []token) bool {
	for len(body) > 0 && body[0].kind == lineToken {
		body = body[1:]
	}
	if e != jsTests {
		body = doing(body)
	}
	if len(body) == 0 || !body[0].is("return") {
		return false
	}
	next := near(body, 1)
	return len(body) == 1 || e != rustTests && e != jsTests && e != javaTests || next.is(";") || next.is("}") || next.kind == lineToken
}

// rows lists the rows of tables that tests run over.
func rows(e ecosystem, ts []token) (list []string) {
	add := func(groups ...[]token) {
		for _, g := range groups {
			if text := plain(g); text != "" {
				list = append(list, text)
			}
		}
	}
	for i := 0; i+1 < len(ts); i++ {
		t := ts[i]
		switch {
		case e == pythonTests && t.is("parametrize") && ts[i+1].is("("):
			args := split(inside(ts[i+1:group(ts, i+1)]), ",")
			if len(args) > 1 {
				add(split(inside(args[1]), ",")...)
			}
		case e == jsTests && t.is("each") && ts[i+1].is("("):
			list := inside(ts[i+1 : group(ts, i+1)])
			add(split(inside(list), ",")...)
		case e == jsTests && t.is("each") && ts[i+1].kind == stringToken:
			for _, line := range strings.Split(ts[i+1].text, "\n") {
				list = append(list, strings.TrimSpace(line))
			}
		case e == javaTests && slices.Contains(javaRows, t.text) && ts[i+1].is("("):
			args := inside(ts[i+1 : group(ts, i+1)])
			at := slices.IndexFunc(args, func(t token) bool { return t.is("{") })
			if at >= 0 {
				args = inside(args[at:group(args, at)])
			}
			add(split(args, ",")...)
		case e == csharpTests && slices.Contains(csharpRows, t.text) && ts[i+1].is("(") && i > 0 && (ts[i-1].is("[") || ts[i-1].is(",")):
			add(ts[i+1 : group(ts, i+1)])
		case e == rustTests && (t.is("case") || t.is("test_case")) && i > 0 && (ts[i-1].is("[") || ts[i-1].is("::")) && ts[i+1].is("("):
			add(ts[i+1 : group(ts, i+1)])
		case e == goTests && t.kind == wordToken && (ts[i+1].is(":=") || ts[i+1].is("=")):
			if at := literalBody(ts, i+2); at >= 0 && goTable.MatchString(t.text) {
				add(split(inside(ts[at:group(ts, at)]), ",")...)
			}
		}
	}
	return list
}

var (
	csharpRows = strings.Fields("InlineData TestCase DataRow MemberData")

	javaRows = strings.Fields("CsvSource ValueSource EnumSource CsvFileSource")
	goTable  = rare(`(?i)^(?:tests?|(?:test)?cases|testdata|tt|tcs|table|scenarios|examples)$`)
)

// literalBody is where the braces of a composite literal of Go open, or -1.
func literalBody(ts []token, i int) int {
	if i >= len(ts) || !ts[i].is("[") && !ts[i].is("map") {
		return -1
	}
	for ; i < len(ts) && ts[i].kind != lineToken; i++ {
		switch {
		case ts[i].is("["):
			i = group(ts, i) - 1
		case (ts[i].is("struct") || ts[i].is("interface")) && i+1 < len(ts) && ts[i+1].is("{"):
			i = group(ts, i+1) - 1
		case ts[i].is("{"):
			return i
		}
	}
	return -1
}

// compareRows says whether tables lost rows or have others.
func compareRows(before, after []string) []change {
	kept := 0
	rest := slices.Clone(after)
	for _, row := range before {
		if at := slices.Index(rest, row); at >= 0 {
			rest = slices.Delete(rest, at, at+1)
			kept++
		}
	}
	gone := len(before) - kept
	switch {
	case gone > len(rest):
		return []change{{what: caseRemoved, certainty: sure}}
	case gone > 0:
		return []change{{what: expectationChanged, certainty: sure}}
	}
	return nil
}
