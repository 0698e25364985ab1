package signals

import (
	"slices"
	"strings"
)

// dialect is what is said of tests in a language whose runners are much alike: how
// a test begins, and what keeps one from running. What its assertions are called
// is put into common words first, by spoken.
type dialect struct {
	// skips keep a test from running wherever they are called or stand in an
	// attribute; members do behind a dot, and labels where a value is given to them.
	skips, members, labels []string
	// tags are strings that say so.
	tags pattern
	// prefix begins the name of what is not run.
	prefix string
	// calls make a test with their arguments for its name; defines is the word
	// before the name of a function, which is a test where named matches or an
	// attribute of attributes stands before it.
	calls, attributes []string
	defines           string
	named             pattern
}

var dialects = map[ecosystem]dialect{
	csharpTests: {
		skips:      strings.Fields("SkipException IgnoreException InconclusiveException"),
		members:    strings.Fields("assertIgnore assertInconclusive assertSkip assertSkipWhen assertSkipUnless"),
		labels:     strings.Fields("Skip Ignore IgnoreReason Explicit"),
		attributes: strings.Fields("Fact Theory Test TestCase TestCaseSource TestMethod DataTestMethod Property"),
	},
	phpTests: {
		skips:      strings.Fields("markTestSkipped markTestIncomplete SkippedTestError"),
		members:    strings.Fields("skip todo only skipOnWindows skipOnMac skipOnLinux"),
		calls:      strings.Fields("it test"),
		attributes: strings.Fields("Test"),
		defines:    "function",
		named:      re(`^test`),
	},
	swiftTests: {
		skips:      strings.Fields("XCTSkip XCTSkipIf XCTSkipUnless XCTExpectFailure withKnownIssue"),
		members:    strings.Fields("disabled"),
		attributes: strings.Fields("Test"),
		defines:    "func",
		named:      re(`^test`),
	},
	cppTests: {
		skips:   strings.Fields("GTEST_SKIP SKIP TEST_IGNORE TEST_IGNORE_MESSAGE QSKIP QEXPECT_FAIL"),
		members: strings.Fields("disabled skip may_fail should_fail expected_failures"),
		tags:    re(`\[(?:\.|!(?:mayfail|shouldfail|throws)\])`),
		prefix:  "DISABLED_",
		calls:   strings.Fields("TEST TEST_F TEST_P TYPED_TEST TYPED_TEST_P TEST_CASE TEST_CASE_METHOD TEMPLATE_TEST_CASE SCENARIO BOOST_AUTO_TEST_CASE BOOST_FIXTURE_TEST_CASE BOOST_DATA_TEST_CASE TEST_METHOD"),
		defines: "void",
		named:   re(`^(?:test_|test[A-Z])`),
	},
	dartTests: {
		skips:  strings.Fields("markTestSkipped"),
		labels: strings.Fields("skip solo Skip"),
		calls:  strings.Fields("test testWidgets"),
	},
	elixirTests: {
		labels: strings.Fields("skip pending"),
		calls:  strings.Fields("test property"),
	},
	shellTests: {
		calls:   strings.Fields("test"),
		defines: "function",
		named:   re(`^test`),
	},
}

// tests reports whether a function of a name is a test.
func (d dialect) tests(name string) bool { return d.named != nil && d.named.MatchString(name) }

// dialectMarkers lists what keeps tests from running.
func dialectMarkers(e ecosystem, d dialect, ts []token) (list []marker) {
	for i, t := range ts {
		before := near(ts, i-1)
		switch {
		case t.kind == stringToken:
			if d.tags != nil && d.tags.MatchString(t.text) {
				list = append(list, skip(d.tags.FindString(t.text)))
			}
		case t.kind != wordToken || declares(before) && !before.is("@") || before.is("void") || imported(ts, i):
		case slices.Contains(d.skips, t.text),
			(before.is(".") || strings.HasPrefix(t.text, "assert")) && slices.Contains(d.members, t.text) && (e == cppTests || !valued(ts, i)),
			d.prefix != "" && strings.HasPrefix(t.text, d.prefix):
			list = append(list, skip(t.text))
		case slices.Contains(d.labels, t.text) && labelled(ts, i):
			list = append(list, skip(t.text))
		case e == shellTests && t.is("skip") && (before.kind == 0 || before.kind == lineToken || before.is("{") || before.is(";") || before.is("&&") || before.is("||") || before.is("then")):
			list = append(list, skip(t.text))
		case t.is("catch") && e != elixirTests && e != shellTests:
			list = append(list, marker{"catch", assertionWeakened, swallows(javaTests, ts, i)})
		}
	}
	return list
}

// labelled reports whether the name at i is given a value other than one that says
// no, or is an attribute, an atom or a call by itself.
func labelled(ts []token, i int) bool {
	before, after := near(ts, i-1), near(ts, i+1)
	if after.is("=") || after.is(":") {
		value := near(ts, i+2)
		return !value.is("false") && !value.is("null") && !value.is("nil")
	}
	return before.is("[") && (after.is("]") || after.is("(") || after.is(",")) || before.is(",") && (after.is("]") || after.is("(")) ||
		before.is("@") || before.is(":") && !near(ts, i-2).is(":") || after.is(".") && strings.HasPrefix(near(ts, i+2).text, "If")
}

// dialectFunctions lists the tests in a file and the functions beside them.
func dialectFunctions(e ecosystem, d dialect, ts []token) (fs []function) {
	annotated := false
	for i := 0; i+1 < len(ts); i++ {
		t, after := ts[i], ts[i+1]
		switch {
		case (t.is("[") || t.is("@")) && slices.Contains(d.attributes, after.text):
			annotated = true
		case t.kind != wordToken:
		case slices.Contains(d.calls, t.text) && !near(ts, i-1).is("."):
			if f, end := calledTest(e, ts, i); end > i {
				fs = append(fs, f)
			}
		case d.defines != "" && t.is(d.defines) && after.kind == wordToken:
			name := after.text
			fs = append(fs, function{name: name, collected: annotated || d.tests(name), text: braces(ts, i+2)})
			annotated = false
		case e == csharpTests && after.is("(") && i > 0 && (ts[i-1].kind == wordToken || ts[i-1].is(">") || ts[i-1].is("]")) && !slices.Contains(notBefore, ts[i-1].text):
			if body := braces(ts, i+1); body != nil || annotated {
				fs = append(fs, function{name: t.text, collected: annotated, text: body})
				annotated = false
			}
		case e == shellTests && after.is("(") && near(ts, i+2).is(")") && near(ts, i+3).is("{"):
			fs = append(fs, function{name: t.text, collected: d.tests(t.text), text: braces(ts, i+3), lines: true})
		}
	}
	return fs
}

var notBefore = strings.Fields("new return else throw await")

// calledTest reads the test that the call, or the block, at i makes.
func calledTest(e ecosystem, ts []token, i int) (f function, end int) {
	switch after := near(ts, i+1); {
	case e == elixirTests && after.kind == stringToken:
		end = i + 2
		for end < len(ts) && !(ts[end].indent <= ts[i].indent && (ts[end].is("end") || ts[end].is("test") || ts[end].is("property"))) {
			end++
		}
		start := i + 2
		for start < end && !ts[start].is("do") {
			start++
		}
		return function{name: after.text, collected: true, text: ts[min(start+1, end):end], lines: true}, end
	case e == shellTests && near(ts, i-1).is("@") && after.kind == stringToken:
		return function{name: after.text, collected: true, text: braces(ts, i+2), lines: true}, i + 2
	case after.is("(") && e == cppTests:
		end = group(ts, i+1)
		return function{name: strings.ReplaceAll(plain(inside(ts[i+1:end])), "DISABLED_", ""), collected: true, text: braces(ts, end)}, end
	case after.is("(") && near(ts, i+2).kind == stringToken:
		end = group(ts, i+1)
		return function{name: ts[i+2].text, collected: true, text: callback(ts[i+1 : end]), lines: true}, end
	}
	return f, i
}

var (
	macro = re(`^(?:EXPECT|ASSERT|CHECK|REQUIRE|BOOST_(?:CHECK|REQUIRE|TEST)|TEST_ASSERT|TEST_CHECK)(?:_(\w+))?$`)
	qt    = map[string]string{"QVERIFY": "assert", "QVERIFY2": "assert", "QCOMPARE": "assert_eq"}
)

// spoken is a text with its assertions in common words: assertEqual(a, b),
// expect(a).Be(b), and members behind a dot.
func spoken(e ecosystem, ts []token) []token {
	if _, ok := dialects[e]; !ok {
		return ts
	}
	out := make([]token, 0, len(ts))
	for i := 0; i < len(ts); i++ {
		t := ts[i]
		called := near(ts, i+1).is("(")
		switch {
		case (e == phpTests || e == cppTests) && (t.is("->") || t.is("::")):
			t.text = "."
		case t.kind != wordToken:
		case e == csharpTests && t.is("Assert") && near(ts, i+1).is(".") && near(ts, i+2).kind == wordToken:
			i += 2
			t.text = "assert" + ts[i].text
		case e == csharpTests && t.is("Should") && called && near(ts, i+2).is(")") && near(ts, i-1).is("."):
			out = expecting(out[:len(out)-1], t)
			i += 2
			continue
		case e == swiftTests && called && strings.HasPrefix(t.text, "XCTAssert"):
			t.text = strings.TrimPrefix(t.text, "XCT")
			t.text = strings.ToLower(t.text[:1]) + t.text[1:]
		case e == swiftTests && called && (t.is("expect") || t.is("require")) && near(ts, i-1).is("#"):
			t.text = "assert"
		case e == cppTests && called && qt[t.text] != "":
			t.text = qt[t.text]
		case e == cppTests && called:
			if m := macro.FindStringSubmatch(t.text); m != nil {
				t.text = strings.TrimSuffix("assert_"+strings.ToLower(m[1]), "_")
			}
		}
		out = append(out, t)
	}
	return out
}

// longest is the number of tokens of a statement that is still read from its end.
const longest = 400

// expecting puts the statement that ends a text into the brackets of expect.
func expecting(ts []token, at token) []token {
	start := len(ts)
	for depth := 0; start > max(0, len(ts)-longest); start-- {
		switch t := ts[start-1]; {
		case t.is(")") || t.is("]"):
			depth++
		case t.is("(") || t.is("["):
			depth--
		}
		if t := ts[start-1]; depth < 0 || depth == 0 && (t.kind == lineToken && (start < 2 || !ts[start-2].is(".")) || t.is(";") || t.is("{") || t.is("}") || t.is("=>")) {
			break
		}
	}
	mark := func(kind tokenKind, text string) token { return token{kind, at.indent, text} }
	subject := slices.Clone(ts[start:])
	ts = append(ts[:start], mark(wordToken, "expect"), mark(markToken, "("))
	return append(append(ts, subject...), mark(markToken, ")"))
}

// bracket reads the test of a shell that begins at i: what it compares, or what
// has to be there.
func bracket(ts []token, i int) (list []assertion, end int) {
	end = group(ts, i)
	inner := inside(ts[i:end])
	if len(inner) > 1 && inner[0].is("[") {
		inner = inside(inner)
	}
	a := assertion{subject: plain(inner), matcher: "true", strength: present, whole: "[ " + plain(inner)}
	for _, c := range shellComparisons {
		if parts := split(inner, c.text); len(parts) == 2 {
			a.subject, a.expected, a.matcher, a.strength = plain(parts[0]), plain(parts[1]), c.text, c.strength
		}
	}
	if a.subject == a.expected {
		a.strength = nothing
	}
	return []assertion{a}, end
}

var shellComparisons = []struct {
	text     string
	strength strength
}{{"=", exact}, {"==", exact}, {"eq", exact}, {"!=", present}, {"ne", present}, {"=~", partial}, {"gt", partial}, {"ge", partial}, {"lt", partial}, {"le", partial}}
