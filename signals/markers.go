package signals

import (
	"slices"
	"strings"
)

// marker is something in code that keeps a test from running or from failing.
type marker struct {
	name      string
	what      changeKind
	certainty certainty
}

// markers lists what keeps tests from running or failing. Nothing of room is kept: it
// is for the tokens without the ends of lines.
func markers(e ecosystem, ts, room []token) (list []marker) {
	if e != rubyTests && e != shellTests {
		room = room[:0]
		for _, t := range ts {
			if t.kind != lineToken {
				room = append(room, t)
			}
		}
		ts = room
	}
	list = append(list, never(ts)...)
	list = append(list, endings(ts)...)
	switch e {
	case goTests:
		return append(list, goMarkers(ts)...)
	case pythonTests:
		return append(list, pythonMarkers(ts)...)
	case javaTests:
		return append(list, javaMarkers(ts)...)
	case jsTests:
		return append(list, jsMarkers(ts)...)
	case rubyTests:
		return append(list, rubyMarkers(ts)...)
	case rustTests:
		return append(list, rustMarkers(ts)...)
	}
	if d, ok := dialects[e]; ok {
		return append(list, dialectMarkers(e, d, ts)...)
	}
	return list
}

// near is the token at an index, or none.
func near(ts []token, i int) token {
	if i < 0 || i >= len(ts) {
		return token{}
	}
	return ts[i]
}

func skip(name string) marker { return marker{name, skipMarker, sure} }

// never finds conditions that never hold.
func never(ts []token) (list []marker) {
	for i, t := range ts {
		if !t.is("if") && !t.is("while") {
			continue
		}
		next := near(ts, i+1)
		if next.is("(") {
			next = near(ts, i+2)
		}
		switch {
		case next.is("false"), next.is("False"), next.is("0"):
			list = append(list, skip("if false"))
		case (next.is("true") || next.is("True") || next.is("1")) && slices.ContainsFunc(ts[i:min(i+7, len(ts))], func(t token) bool { return t.is("return") }):
			list = append(list, skip("if true"))
		}
	}
	return list
}

// endings finds calls that end the whole run, or the test, as if all had passed.
func endings(ts []token) (list []marker) {
	for i, t := range ts {
		if t.kind != wordToken || !slices.Contains(endsRun, t.text) || !near(ts, i+1).is("(") {
			continue
		}
		of := near(ts, i-2)
		if joined := near(ts, i-1); !joined.is(".") && !joined.is("::") {
			continue
		}
		switch status := near(ts, i+2); {
		case of.is("runtime") && t.is("Goexit"), of.is("pytest") && t.is("exit"):
			list = append(list, skip(of.text+"."+t.text))
		case slices.Contains(ofProgram, of.text) && (status.is("0") || status.is(")")):
			list = append(list, skip(of.text+"."+t.text+"(0)"))
		}
	}
	return list
}

var (
	endsRun   = strings.Fields("Exit exit _exit Goexit halt")
	ofProgram = strings.Fields("os sys process System Runtime")
)

var (
	goSkip     = strings.Fields("Skip Skipf SkipNow")
	goPlatform = re(`^(?:// ?\+build|//go:build)\s+(?:(?:linux|darwin|windows|freebsd|netbsd|openbsd|unix|amd64|arm64|arm|386|cgo|race|go1\.\d+)|[!&|() ,\t])+$`)
	ginkgo     = rare(`^[XFP](?:It|Describe|Context|When|Specify|Entry|DescribeTable)$`)
)

func goMarkers(ts []token) (list []marker) {
	for i, t := range ts {
		if t.kind != directiveToken && t.kind != wordToken {
			continue
		}
		before, calls := near(ts, i-1), near(ts, i+1).is("(")
		switch {
		case t.kind == directiveToken && goPlatform.MatchString(strings.TrimSpace(t.text)):
			list = append(list, marker{t.text, buildTag, likely})
		case t.kind == directiveToken:
			list = append(list, marker{t.text, buildTag, sure})
		case (before.is(".") || calls && !before.is("func")) && slices.Contains(goSkip, t.text) && !valued(ts, i):
			list = append(list, skip("Skip"))
		case t.text == "Short" && before.is(".") && near(ts, i-2).is("testing"):
			list = append(list, skip("testing.Short"))
		case calls && ginkgo.MatchString(t.text):
			list = append(list, skip(t.text))
		}
	}
	return list
}

// valued reports whether the call of the name at i stands where a value is needed,
// or its value is used further: what skips a test has none.
func valued(ts []token, i int) bool {
	if !near(ts, i+1).is("(") {
		return false
	}
	start := i
	for start > 1 && ts[start-1].is(".") {
		if start -= 2; ts[start].is(")") || ts[start].is("]") {
			start = opening(ts, start)
			if start > 0 && ts[start-1].kind == wordToken {
				start--
			}
		}
	}
	return slices.Contains(valueBefore, near(ts, start-1).text) || slices.Contains(valueBehind, near(ts, group(ts, i+1)).text)
}

var (
	valueBefore = strings.Fields("= := += ( , [ return == != < > <= >= + - * / && || ! range case")
	valueBehind = strings.Fields(". == != < > <= >= + - * / && || , [")
)

// opening is the index of the bracket that the one at i closes.
func opening(ts []token, i int) int {
	for depth := 0; i >= 0; i-- {
		switch {
		case ts[i].kind == stringToken:
		case ts[i].is(")") || ts[i].is("]") || ts[i].is("}"):
			depth++
		case ts[i].is("(") || ts[i].is("[") || ts[i].is("{"):
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return 0
}

var (
	pytestMark = strings.Fields("skip skipif xfail")
	unitSkip   = strings.Fields("skip skipIf skipUnless expectedFailure SkipTest skipTest skipif xfail importorskip")
)

func pythonMarkers(ts []token) (list []marker) {
	for _, f := range redefined(ts) {
		list = append(list, marker{f, caseRemoved, sure})
	}
	for i, t := range ts {
		if t.kind == stringToken && slices.Contains(pytestMark, strings.Trim(t.text, `"'`)) && slices.ContainsFunc(ts[max(0, i-8):i], func(t token) bool { return t.is("getattr") }) {
			list = append(list, skip("mark."+strings.Trim(t.text, `"'`)))
		}
		if m, ok := collectionHook(ts, i); ok {
			list = append(list, m)
		}
		if t.kind != wordToken || near(ts, i-1).is("def") || near(ts, i-1).is("import") || near(ts, i-1).is(",") && near(ts, i+1).is(",") {
			continue
		}
		before, after := near(ts, i-1), near(ts, i+1)
		switch {
		case before.is(".") && slices.Contains(pytestMark, t.text):
			list = append(list, skip(near(ts, i-2).text+"."+t.text))
		case (before.is("@") || before.is(".") || before.is("raise") || before.is("=") || after.is("(")) && slices.Contains(unitSkip, t.text):
			list = append(list, skip(t.text))
		case t.text == "__test__" && near(ts, i+2).is("False"), t.text == "collect_ignore", t.text == "collect_ignore_glob":
			list = append(list, skip(t.text))
		case t.text == "del" && strings.HasPrefix(after.text, "test"):
			list = append(list, skip("del"))
		case t.text == "except" || t.text == "suppress":
			list = append(list, marker{t.text, assertionWeakened, swallows(pythonTests, ts, i)})
		}
	}
	return list
}

// collectionHook reads a hook by which pytest asks which tests to run and what came
// of them: one that takes tests out, or says what their outcome is, is certain.
func collectionHook(ts []token, i int) (marker, bool) {
	t, after := ts[i], near(ts, i+1)
	switch {
	case t.kind != wordToken:
	case near(ts, i-1).is("def") && (t.is("pytest_ignore_collect") || t.is("pytest_runtest_protocol")):
		return skip(t.text), true
	case near(ts, i-1).is("def") && hookOfTests.MatchString(t.text):
		return marker{t.text, skipMarker, likely}, true
	case t.is("items") && (after.is("[") && near(ts, i+2).is(":") && near(ts, i+3).is("]") && near(ts, i+4).is("=") || after.is(".") && (near(ts, i+2).is("clear") || near(ts, i+2).is("remove") || near(ts, i+2).is("pop"))),
		t.is("items") && near(ts, i-1).is("del"),
		(t.is("outcome") || t.is("exitstatus")) && near(ts, i-1).is(".") && after.is("="):
		return skip(t.text), true
	}
	return marker{}, false
}

var hookOfTests = re(`^pytest_(?:collection_modifyitems|deselected|pycollect_\w+|collect_file|generate_tests|runtest_\w+|report_teststatus|exception_interact|sessionfinish|pyfunc_call)$`)

// swallows says how sure it is that the handler at i takes the failure of an
// assertion: where one stands in what it guards, and it does nothing but take any.
func swallows(e ecosystem, ts []token, i int) certainty {
	var guarded, handled []token
	whole := false
	switch {
	case e == pythonTests && ts[i].is("suppress"):
		end := group(ts, i+1)
		whole = near(ts, i+1).is("(") && slices.ContainsFunc(ts[i+1:end], func(t token) bool { return slices.Contains(anyFailure, t.text) })
		guarded = block(ts, i)
	case e == pythonTests:
		to := i
		for to < len(ts) && !ts[to].is(":") {
			to++
		}
		whole = to == i+1 || slices.ContainsFunc(ts[i:to], func(t token) bool { return slices.Contains(anyFailure, t.text) })
		if next := near(ts, to+1); !next.is("pass") && !next.is("...") && !next.is("return") && !next.is("continue") {
			handled = ts[i:to]
		}
		for from := i; from > 0 && guarded == nil; from-- {
			if ts[from].is("try") && ts[from].indent == ts[i].indent {
				guarded = ts[from:i]
			}
		}
	default:
		if i == 0 || !ts[i-1].is("}") {
			return likely
		}
		guarded = ts[opening(ts, i-1):i]
		at := i + 1
		whole = e == jsTests
		if near(ts, at).is("(") {
			end := group(ts, at)
			whole = whole || slices.ContainsFunc(ts[at:end], func(t token) bool { return slices.Contains(anyFailure, t.text) })
			at = end
		}
		handled = []token{{}}
		if near(ts, at).is("{") {
			handled = inside(ts[at:group(ts, at)])
		}
	}
	if whole && len(handled) == 0 && slices.ContainsFunc(guarded, demands) {
		return sure
	}
	return likely
}

// block is what is indented below the line of the token at i, which ends with a
// colon.
func block(ts []token, i int) []token {
	start := i
	for start < len(ts) && !ts[start].is(":") {
		start++
	}
	start = min(start+1, len(ts))
	end := start
	for end < len(ts) && ts[end].indent > ts[i].indent {
		end++
	}
	return ts[start:end]
}

// anyFailure are the errors that a failed assertion is one of.
var anyFailure = strings.Fields("AssertionError AssertionFailedError Exception BaseException Throwable Error")

// demands reports a word that begins an assertion.
func demands(t token) bool {
	return t.kind == wordToken && (opensChain.MatchString(t.text) || namesAssertion.MatchString(t.text))
}

var javaSkip = re(`^(?:Disabled\w*|Ignore|Ignored|EnabledIf\w*|EnabledOn\w*|EnabledFor\w*)$`)

// imported reports whether the dotted name that ends at i is one of an import.
func imported(ts []token, i int) bool {
	for i > 0 && (ts[i-1].is(".") || ts[i-1].kind == wordToken && ts[i].is(".")) {
		i--
	}
	return near(ts, i-1).is("import") || near(ts, i-1).is("static")
}

func javaMarkers(ts []token) (list []marker) {
	for i, t := range ts {
		before, after := near(ts, i-1), near(ts, i+1)
		switch {
		case t.kind != wordToken:
		case (before.is("@") || before.is(".") || before.is(":")) && javaSkip.MatchString(t.text) && !imported(ts, i):
			list = append(list, skip("@"+t.text))
		case strings.HasPrefix(t.text, "assum") && after.is("("), t.text == "TestAbortedException", t.text == "AssumptionViolatedException", t.text == "SkipException":
			list = append(list, skip(t.text))
		case t.text == "enabled" && after.is("=") && near(ts, i+2).is("false"):
			list = append(list, skip("enabled=false"))
		case t.text == "catch":
			list = append(list, marker{"catch", assertionWeakened, swallows(javaTests, ts, i)})
		}
	}
	return list
}

var (
	jsSkip = strings.Fields("skip only todo skipIf runIf fails failing fixme if skipAll")
	jsMark = strings.Fields("xit xtest xspecify xdescribe xcontext fit ftest fdescribe fcontext pending")
	jsBase = strings.Fields("it test describe suite specify context bench t this ctx tap Deno scenario feature fixture Scenario")
)

func jsMarkers(ts []token) (list []marker) {
	for i, t := range ts {
		name := strings.Trim(t.text, "\"'`")
		before, after := near(ts, i-1), near(ts, i+1)
		switch {
		case (t.kind == wordToken && (before.is(".") || before.is("?.")) || t.kind == stringToken && before.is("[")) && slices.Contains(jsSkip, name) && jsRooted(ts, i-2):
			list = append(list, skip("."+name))
		case t.kind != wordToken:
		case (after.is("(") && !before.is(".") && !before.is("function") || after.is(".") && near(ts, i+2).is("each")) && slices.Contains(jsMark, name):
			list = append(list, skip(name))
		case (name == "skip" || name == "todo") && after.is(":") && !near(ts, i+2).is("false") && (before.is("{") || before.is(",")):
			list = append(list, skip("{"+name+"}"))
		case name == "catch":
			list = append(list, marker{"catch", assertionWeakened, swallows(jsTests, ts, i)})
		}
	}
	return list
}

// jsRooted reports whether the member chain that ends at i begins with a test
// function.
func jsRooted(ts []token, i int) bool {
	for ; i >= 0; i-- {
		t := near(ts, i)
		switch {
		case t.is(")") || t.is("]"):
			depth := 0
			for ; i >= 0; i-- {
				if ts[i].is(")") || ts[i].is("]") {
					depth++
				} else if ts[i].is("(") || ts[i].is("[") {
					if depth--; depth == 0 {
						break
					}
				}
			}
		case t.kind == wordToken && slices.Contains(jsBase, t.text):
			return true
		case t.kind == wordToken || t.is(".") || t.is("?."):
		default:
			return false
		}
		if i > 0 && t.kind == wordToken && !near(ts, i-1).is(".") && !near(ts, i-1).is("?.") {
			return false
		}
	}
	return false
}

var (
	rubySkip = strings.Fields("skip pending omit xit xdescribe xcontext xspecify xexample xscenario xfeature fit fdescribe fcontext focus")
	rubyFlag = strings.Fields("skip pending focus disabled")
)

func rubyMarkers(ts []token) (list []marker) {
	for i, t := range ts {
		if t.kind != wordToken {
			continue
		}
		before, after := near(ts, i-1), near(ts, i+1)
		begins := before.kind == 0 || before.kind == lineToken || before.is("do") || before.is("{") || before.is(";") || before.is("then")
		switch {
		case begins && !after.is("=") && !after.is(".") && slices.Contains(rubySkip, t.text):
			list = append(list, skip(t.text))
		case slices.Contains(rubyFlag, t.text) && (before.is(":") && !near(ts, i-2).is(":") || after.is(":")) && !near(ts, i+2).is("false"):
			list = append(list, skip(":"+t.text))
		case t.text == "rescue":
			list = append(list, marker{"rescue", assertionWeakened, likely})
		}
	}
	return list
}

func rustMarkers(ts []token) (list []marker) {
	for i, t := range ts {
		if !t.is("#") {
			continue
		}
		at := i + 1
		if near(ts, at).is("!") {
			at++
		}
		if !near(ts, at).is("[") {
			continue
		}
		attribute := inside(ts[at:group(ts, at)])
		if len(attribute) == 0 {
			continue
		}
		has := func(name string) bool {
			return slices.ContainsFunc(attribute, func(t token) bool { return t.is(name) })
		}
		switch {
		case has("ignore"):
			list = append(list, skip("#[ignore]"))
		case attribute[0].is("cfg") && plain(attribute) == "cfg ( test )":
		case attribute[0].is("cfg"), attribute[0].is("cfg_attr"):
			list = append(list, marker{"#[" + attribute[0].text + "]", buildTag, sure})
		}
	}
	return list
}

// compareMarkers says which markers there are more of. One that was there before
// is no change.
func compareMarkers(before, after []marker) (changes []change) {
	count := map[string]int{}
	for _, m := range before {
		count[m.name]++
	}
	for _, m := range after {
		if count[m.name]--; count[m.name] < 0 {
			name := m.name
			if m.what == buildTag && strings.HasPrefix(name, "//") {
				name = "build constraint"
			}
			changes = append(changes, change{what: m.what, marker: name, certainty: m.certainty})
		}
	}
	return changes
}
