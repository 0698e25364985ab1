package signals

import (
	"slices"
	"strconv"
	"strings"
)

// strength is how much an assertion demands.
type strength uint8

const (
	nothing strength = iota // it holds whatever the code does
	present                 // something is there, or is not a certain value
	partial                 // a part, a bound, a shape
	exact                   // one value
)

// assertion is one demand that a test makes: of a subject, by a matcher, with
// what is expected.
type assertion struct {
	subject, matcher, expected string
	strength                   strength
	args                       int
	whole                      string
}

// assertions lists the demands in tokens, in order.
func assertions(e ecosystem, ts []token) (list []assertion) {
	if e == goTests {
		list = append(list, guards(ts)...)
	}
	for i := 0; i < len(ts); i++ {
		t := ts[i]
		if e == shellTests && t.is("[") && begins(near(ts, i-1)) {
			a, end := bracket(ts, i)
			list, i = append(list, a...), max(i, end-1)
			continue
		}
		if t.kind != wordToken || declares(near(ts, i-1)) {
			continue
		}
		var a []assertion
		end := i
		// What follows is looked at first: nearly no word is worth an expression.
		next := near(ts, i+1)
		called := next.is("(")
		switch {
		case (e == pythonTests || e == elixirTests && !called) && t.text == "assert":
			a, end = statement(ts, i)
		case (called || next.is("{") && e == rubyTests) && opensChain.MatchString(t.text), e == jsTests && next.is(".") && t.is("expect") && slices.Contains(softly, near(ts, i+2).text):
			a, end = chain(e, ts, i)
			if e == jsTests && len(a) == 1 && begins(near(ts, i-1)) && settles.MatchString(a[0].whole) {
				// Nobody waits for it, so nobody hears of its failure.
				a[0].strength, a[0].whole = nothing, "unawaited "+a[0].whole
			}
		case e == rustTests && next.is("!") && i+2 < len(ts) && rustAssert.MatchString(t.text):
			a, end = chain(e, ts, i)
		case called && namesAssertion.MatchString(t.text), next.is(".") && (e == goTests || e == jsTests) && slices.Contains(namesPackage, t.text):
			a, end = chain(e, ts, i)
			if len(a) == 1 && ofMock.MatchString(t.text) && i > 0 && ts[i-1].is(".") {
				a[0].subject, a[0].expected, a[0].strength = receiver(ts, i-1), a[0].whole, strengthOf(t.text)
			}
		case (e == rubyTests || e == elixirTests || e == shellTests) && rubyAssert.MatchString(t.text):
			a, end = command(ts, i)
		}
		list = append(list, a...)
		i = max(i, end-1)
	}
	return list
}

// begins reports a token behind which a statement begins.
func begins(t token) bool {
	return t.kind == 0 || t.kind == lineToken || t.is(";") || t.is("{") || t.is("}")
}

// softly are the members of expect that demand like itself, now or in a while.
var softly = strings.Fields("soft poll element")

// settles are the demands that fail later, where the test waits for them.
var settles = re(`^expect\S*\.(?:resolves|rejects|toHave(?:URL|Title|Text|Count|Screenshot|Value|Attribute|Class|CSS)|toContainText|toBe(?:Visible|Hidden|Enabled|Disabled|Checked|Attached|Editable|InViewport))(?:\.| )`)

// declares reports a token behind which a name is made and not used.
func declares(t token) bool {
	switch t.text {
	case "def", "func", "fn", "function", "import", "@":
		return t.kind != stringToken
	}
	return false
}

var (
	opensChain     = rare(`^(?:expect\w*|assertThat|verify|that)$`)
	rustAssert     = rare(`^(?:debug_)?assert(?:_\w+)?$`)
	namesAssertion = rare(`^(?:assert\w*|refute\w*|raises|warns|fail)$`)
	namesPackage   = strings.Fields("assert require is check chai should")
	rubyAssert     = rare(`^(?:assert\w*|refute\w*|must_\w+|wont_\w+|should|should_not)$`)
	ofMock         = rare(`^assert_(?:called|any_call|has_calls|not_called|awaited|has_awaits|any_await)`)
	connectives    = []string{"to", "be", "been", "have", "and", "which", "resolves", "rejects", "deep", "should", "with", "T", "await", "soft", "poll"}
)

// receiver is what stands before the dot at i.
func receiver(ts []token, i int) string {
	start := i
	for start > 0 && ts[start-1].kind != lineToken && !ts[start-1].is(";") && !ts[start-1].is(":") {
		start--
	}
	return plain(ts[start:i])
}

// statement reads a Python assert: every part of a conjunction is one demand.
func statement(ts []token, i int) (list []assertion, end int) {
	end = i + 1
	for end < len(ts) && ts[end].kind != lineToken && !ts[end].is(";") {
		if ts[end].is("(") || ts[end].is("[") || ts[end].is("{") {
			end = group(ts, end)
			continue
		}
		end++
	}
	body := solid(ts[i+1 : end])
	body = split(body, ",")[0]
	for len(body) >= 2 && body[0].is("(") && group(body, 0) == len(body) {
		body = body[1 : len(body)-1]
	}
	if len(split(body, ",")) > 1 {
		// A tuple is true, whatever is in it.
		return []assertion{{subject: plain(body), matcher: "tuple", whole: "tuple " + plain(body)}}, end
	}
	for _, part := range split(body, "and") {
		list = append(list, condition(part))
	}
	return list, end
}

// comparisons are operators, and how much an equation by them demands.
var comparisons = []struct {
	text     string
	strength strength
}{
	{"==", exact}, {"===", exact}, {"!=", present}, {"!==", present}, {"<=", partial}, {">=", partial}, {"<", partial}, {">", partial},
	{"is", exact}, {"in", partial},
}

// condition reads a boolean expression that must hold.
func condition(ts []token) assertion {
	text := plain(ts)
	a := assertion{subject: text, matcher: "true", strength: present, whole: text}
	if parts := split(ts, "or", "||"); len(parts) > 1 {
		a.matcher, a.strength = "or", partial
		a.subject = condition(parts[0]).subject
		for _, p := range parts {
			if c := condition(p); c.strength == nothing {
				a.strength = nothing
			}
		}
		return a
	}
	for _, c := range comparisons {
		if !mentioned(ts, c.text) {
			continue
		}
		parts := split(ts, c.text)
		if len(parts) != 2 {
			continue
		}
		left, right := parts[0], parts[1]
		a.matcher, a.strength = c.text, c.strength
		if n := len(left); n > 0 && left[n-1].is("not") {
			left, a.matcher, a.strength = left[:n-1], "not "+c.text, present
		}
		if len(right) > 0 && right[0].is("not") {
			right, a.matcher, a.strength = right[1:], c.text+" not", present
		}
		if literal(left) && !literal(right) {
			left, right = right, left
		}
		if n := len(left); n > 3 && (left[0].is("len") || left[0].is("type") || left[0].is("bool") || left[0].is("str")) && left[1].is("(") && group(left, 1) == n {
			left = inside(left[1:])
			a.strength, a.matcher = min(a.strength, partial), "size "+a.matcher
		}
		a.subject, a.expected, a.args = plain(left), plain(right), 1
		if approximate.MatchString(a.expected) && a.strength == exact {
			a.strength = partial
		}
		if a.subject == a.expected || literal(left) {
			a.strength = nothing
		}
		return a
	}
	if literal(ts) {
		a.strength = nothing
	}
	return a
}

var approximate = rare(`\b(?:approx|ANY|Anything|anything|any)\b`)

// literal reports whether tokens are a literal value, brackets of such included.
func literal(ts []token) bool {
	for _, t := range ts {
		switch {
		case t.kind == numberToken, t.kind == stringToken, t.kind == lineToken:
		case !ofLiterals(t.text):
			return false
		}
	}
	return len(ts) > 0
}

// ofLiterals reports marks and words that literal values are made of.
func ofLiterals(text string) bool {
	switch text {
	case "(", ")", "[", "]", "{", "}", ",", ":", "-", "+", ".", "True", "False", "None", "true", "false", "null", "nil", "undefined", "not", "!":
		return true
	}
	return false
}

// chain reads name(args).matcher(args) and the like, in any depth.
func chain(e ecosystem, ts []token, i int) (list []assertion, end int) {
	var names []string
	var calls [][]token
	end = i
	for end < len(ts) {
		t := ts[end]
		switch {
		case t.kind == wordToken:
			names = append(names, t.text)
			end++
		case (t.is("(") || t.is("{") && e == rubyTests && len(names) == 1) && len(names) > 0:
			close := group(ts, end)
			calls = append(calls, inside(ts[end:close]))
			end = close
		case t.is("!") && e == rustTests, t.is("<") && e == javaTests:
			end++
			continue
		default:
			return nil, i
		}
		// A chain goes on over a line that begins with a dot.
		next := end
		for next < len(ts) && ts[next].kind == lineToken {
			next++
		}
		switch {
		case next < len(ts) && (ts[next].is(".") || ts[next].is("?.")) && next+1 < len(ts) && ts[next+1].kind == wordToken:
			end = next + 1
		case end < len(ts) && (ts[end].is("(") || ts[end].is("!") || ts[end].is("{") && e == rubyTests && len(calls) == 0):
		case e == rubyTests && slices.Contains([]string{"to", "not_to", "to_not"}, names[len(names)-1]):
			return rubyMatcher(names, calls, ts, end)
		default:
			if len(calls) == 0 && len(names) < 2 {
				return nil, i
			}
			return []assertion{demand(e, names, calls)}, end
		}
	}
	if len(names) == 0 {
		return nil, i
	}
	return []assertion{demand(e, names, calls)}, end
}

func inside(ts []token) []token { return solid(between(ts)) }

// between is what stands between the first and the last token.
func between(ts []token) []token {
	if len(ts) < 2 {
		return nil
	}
	return ts[1 : len(ts)-1]
}

// rubyMatcher reads what stands behind to: a matcher, with or without brackets.
func rubyMatcher(names []string, calls [][]token, ts []token, i int) ([]assertion, int) {
	end := i
	for end < len(ts) && ts[end].kind != lineToken && !ts[end].is("}") && !ts[end].is("end") {
		end++
	}
	rest := ts[i:end]
	if len(rest) > 0 && rest[0].is("(") {
		rest = inside(rest)
	}
	if len(rest) == 0 {
		return nil, end
	}
	names = append(names, rest[0].text)
	args := solid(rest[1:])
	if rest[0].is("be") && len(args) > 0 && slices.Contains([]string{">", ">=", "<", "<="}, args[0].text) {
		names[len(names)-1] = "between " + args[0].text
	}
	if len(args) > 1 && args[0].is("(") && group(args, 0) == len(args) {
		args = inside(args)
	}
	return []assertion{demand(rubyTests, names, append(calls, args))}, end
}

// command reads a call without brackets.
func command(ts []token, i int) ([]assertion, int) {
	end := i + 1
	for end < len(ts) && ts[end].kind != lineToken {
		end++
	}
	args := solid(ts[i+1 : end])
	if before := i - 2; before >= 0 && ts[i-1].is(".") {
		start := i
		for start > 0 && ts[start-1].kind != lineToken {
			start--
		}
		return []assertion{demand(rubyTests, []string{"expect", ts[i].text}, [][]token{solid(ts[start : i-1]), args})}, end
	}
	return []assertion{demand(rubyTests, []string{ts[i].text}, [][]token{args})}, end
}

// demand makes an assertion of the names and arguments of a chain of calls.
func demand(e ecosystem, names []string, calls [][]token) assertion {
	var args [][]token
	for _, c := range calls {
		if len(c) > 0 {
			args = append(args, split(c, ",")...)
		}
	}
	matcher := names
	if len(names) > 1 {
		matcher = slices.DeleteFunc(slices.Clone(names[1:]), func(n string) bool { return slices.Contains(connectives, n) })
	}
	if len(names) == 1 && (names[0] == "assertThat" || e == dartTests && opensChain.MatchString(names[0])) && len(args) > 1 && len(args[1]) > 0 {
		matcher = []string{constraint(args[1])}
		if matcher[0] == "equals" && near(args[1], 1).is("(") {
			args[1] = inside(args[1][1:])
		}
	}
	a := assertion{matcher: strings.Join(matcher, "."), args: len(args)}
	var all []string
	for _, c := range calls {
		all = append(all, plain(c))
	}
	a.whole = strings.Join(names, ".") + " " + strings.Join(all, " | ")
	a.strength = strengthOf(a.matcher)
	if e == goTests && len(args) > 0 && len(args[0]) == 1 && args[0][0].kind == wordToken && len(args) > 1 {
		args = args[1:] // t
	}
	if len(names) == 1 && raising.MatchString(a.matcher) && len(args) > 0 {
		return a.error(args)
	}
	last := names[len(names)-1]
	if len(matcher) > 0 { // a chain of connectives alone has none
		last = matcher[len(matcher)-1]
	}
	args = withoutMessage(e, last, args)
	a.args = len(args)
	return a.of(args)
}

// constraint is the name of what a subject has to be, without what it is held
// against. A plain value is an equation.
func constraint(ts []token) string {
	var words []string
	for _, t := range ts {
		if t.is("(") {
			break
		}
		if t.kind == wordToken {
			words = append(words, t.text)
		}
	}
	if len(words) == 0 || literal(ts) {
		return "equals"
	}
	return strings.Join(words, ".")
}

// error reads the demand that something fails: with which error, and what more is
// said of it by name.
func (a assertion) error(args [][]token) assertion {
	a.expected = plain(args[0])
	for _, arg := range args[1:] {
		switch {
		case len(arg) > 1 && arg[1].is("="):
			a.expected += ", " + plain(arg)
		case a.subject == "":
			a.subject = plain(arg)
		}
	}
	return a
}

// withoutMessage is the arguments of a demand without what is told when it fails.
func withoutMessage(e ecosystem, matcher string, args [][]token) [][]token {
	demanded := 0
	switch {
	case boolean.MatchString(matcher):
		demanded = 1
	case equation.MatchString(matcher):
		demanded = 2
	}
	if demanded == 0 || len(args) <= demanded || e != rustTests && (len(args[demanded]) == 0 || args[demanded][0].kind != stringToken) {
		return args
	}
	return args[:demanded]
}

// of tells the subject from what is expected: the subject is what is no literal.
func (a assertion) of(args [][]token) assertion {
	at := slices.IndexFunc(args, func(arg []token) bool { return !literal(arg) })
	var rest []string
	for i, arg := range args {
		if i != at {
			rest = append(rest, plain(arg))
		}
	}
	a.expected = strings.Join(rest, ", ")
	if at < 0 {
		if len(args) > 0 && a.strength != partial || boolean.MatchString(a.matcher) {
			a.strength = nothing
		}
		return a
	}
	a.subject = strings.TrimSuffix(strings.TrimSuffix(plain(args[at]), " . length"), " . size")
	if a.subject != plain(args[at]) {
		a.strength, a.matcher = min(a.strength, partial), "size "+a.matcher
	}
	if boolean.MatchString(a.matcher) && len(args) <= 2 {
		if c := condition(args[at]); c.matcher != "true" {
			a.subject, a.expected, a.strength = c.subject, c.expected, c.strength
			a.matcher += " " + c.matcher
		}
	}
	if len(args) > 1 && slices.Contains(rest, a.subject) && a.strength == exact {
		a.strength = nothing
	}
	return a
}

var (
	raising = re(`(?i)raise|throw|warns`)
	// equation is a matcher that takes what there is and what is expected, with more
	// behind it only to be told.
	equation = re(`(?i)^(?:debug_)?(?:assert_?)?(?:not_?)?(?:(?:strict|deep|same|deepstrict)_?)?(?:eq|ne|equals?|same|matches)$`)

	boolean = re(`(?i)^(?:assert_?(?:true)?|debug_assert|true|ok|require|check|is)$`)

	weakest = re(`(?i)^(?:assert_called|assert_awaited|toBeDefined|toBeTruthy|toBeFalsy|be_truthy|be_falsey|truthy|be_present|exists?|ok|anything|assert|called|toHaveBeenCalled|toBeInstanceOf|toBeTypeOf|instanceOf|assertCalled|verify|assert_?(?:is_?)?instance\w*|any|be_a|be_an|be_kind_of|isNotNull|isPresent)$`)
	negated = re(`(?i)(?:^|[._ ])not(?:[._ A-Z]|$)|^not|assert_?(?:is_?)?not|refute|_ne$|doesNot|wont_|Unequal`)
	partly  = re(`(?i)called_once$|awaited_once$|any_call|contain|match|includ|\bin\b|assert_?in\b|greater|less|close|almost|delta|approx|length|\blen\b|start|end_?with|regex|throw|rais|error|warns|subset|between|within|count|size|empty|true|false|\bhas|any_?of|one_?of|kind|type|member`)
)

// strengthOf is how much a matcher demands, by its name.
func strengthOf(matcher string) strength {
	switch {
	case weakest.MatchString(matcher), negated.MatchString(matcher):
		return present
	case partly.MatchString(matcher):
		return partial
	}
	return exact
}

// guards reads the demands of Go tests: an if that leads to t.Error or t.Fatal
// demands that its condition is false.
func guards(ts []token) (list []assertion) {
	type block struct{ header []token }
	var open []block
	start := 0
	for i, t := range ts {
		switch {
		case t.kind == lineToken, t.is(";") && !headed(ts[start:i]):
			start = i + 1
		case t.is("{"):
			open = append(open, block{ts[start:i]})
			start = i + 1
		case t.is("}"):
			if len(open) > 0 {
				open = open[:len(open)-1]
			}
			start = i + 1
		case i+1 < len(ts) && i > 1 && ts[i+1].is("(") && ts[i-1].is(".") && slices.Contains(fails, t.text) && !slices.Contains([]string{"fmt", "errors", "log", "slog", "logger"}, ts[i-2].text):
			var header []token
			for k := len(open) - 1; k >= 0 && header == nil; k-- {
				if headed(open[k].header) {
					header = open[k].header
				}
			}
			list = append(list, guard(header)...)
		}
	}
	return list
}

var fails = strings.Fields("Error Errorf Fatal Fatalf Fail FailNow")

// headed reports whether tokens begin an if, an else or a case.
func headed(ts []token) bool {
	return slices.ContainsFunc(ts, func(t token) bool { return t.is("if") })
}

func guard(header []token) (list []assertion) {
	at := slices.IndexFunc(header, func(t token) bool { return t.is("if") })
	if at < 0 {
		return []assertion{{subject: "", matcher: "fail", strength: exact, whole: "fail"}}
	}
	parts := split(solid(header[at+1:]), ";")
	setup := ""
	if len(parts) > 1 {
		setup = plain(parts[0]) + "; "
	}
	for _, part := range split(parts[len(parts)-1], "||") {
		a := assertion{subject: plain(part), matcher: "not", strength: partial}
		conjuncts := split(part, "&&")
		if len(conjuncts) == 1 {
			c := condition(part)
			a.subject, a.expected, a.matcher = c.subject, c.expected, "if "+c.matcher
			switch c.matcher {
			case "!=":
				a.strength = exact
			case "==":
				a.strength = present
			}
			if literal(part) {
				a.strength = nothing
			}
		} else if slices.ContainsFunc(conjuncts, func(c []token) bool { return plain(c) == "false" }) {
			a = guard(append([]token{{kind: wordToken, text: "if"}}, conjuncts[0]...))[0]
			a.strength, a.matcher = nothing, "never"
		}
		a.whole = setup + a.matcher + " " + plain(part)
		list = append(list, a)
	}
	return list
}

// given is what names are said to stand for in a file.
func given(e ecosystem, ts []token) map[string][]token {
	values := map[string][]token{}
	for i := 0; i+2 < len(ts); i++ {
		if e == pythonTests && ts[i].is("(") {
			i = group(ts, i) - 1 // named arguments look the same
			continue
		}
		if ts[i].kind != wordToken || !ts[i+1].is("=") && !ts[i+1].is(":=") {
			continue
		}
		end := i + 2
		for end < len(ts) && ts[end].kind != lineToken && !ts[end].is(";") {
			if ts[end].is("(") || ts[end].is("[") || ts[end].is("{") {
				end = group(ts, end)
				continue
			}
			end++
		}
		values[ts[i].text] = solid(ts[i+2 : end])
	}
	return values
}

// movedValues lists the names that stood for one literal and stand for another,
// and those that stood for a literal and stand for anything else.
func movedValues(e ecosystem, before, after []token) (literals, all []string) {
	now := given(e, after)
	for name, v := range given(e, before) {
		w, ok := now[name]
		if !ok || !literal(v) || plain(v) == plain(w) {
			continue
		}
		all = append(all, name)
		if literal(w) {
			literals = append(literals, name)
		}
	}
	return literals, all
}

// mentions reports whether one of the names is a word of a text.
func mentions(text string, names []string) bool {
	return slices.ContainsFunc(strings.Fields(text), func(w string) bool { return slices.Contains(names, w) })
}

// compareAssertions says what became of the demands of a test. Where what a test
// feeds in is another literal than before, another answer is no sign; where the
// literal that it expects is another one, the same text expects something else.
func compareAssertions(before, after []assertion, inputs, answers []string) (changes []change) {
	for _, b := range after {
		if mentions(b.expected, answers) && !mentions(b.subject, answers) {
			changes = append(changes, change{what: expectationChanged, certainty: sure})
		}
	}
	gone, come := difference(before, after)
	same := func(a, b assertion) []change {
		changes := judgeSame(a, b)
		return slices.DeleteFunc(changes, func(c change) bool {
			return c.what == expectationChanged && mentions(a.subject, inputs) && !mentions(b.expected, inputs)
		})
	}
	pair := func(alike func(a, b assertion) bool, judge func(a, b assertion) []change) {
		gone = slices.DeleteFunc(gone, func(a assertion) bool {
			at := slices.IndexFunc(come, func(b assertion) bool { return alike(a, b) })
			if at < 0 {
				return false
			}
			changes = append(changes, judge(a, come[at])...)
			come = slices.Delete(come, at, at+1)
			return true
		})
	}
	pair(func(a, b assertion) bool { return a.subject == b.subject && a.matcher == b.matcher }, same)
	pair(func(a, b assertion) bool { return a.subject == b.subject }, same)
	pair(func(a, b assertion) bool {
		return a.expected == b.expected && a.strength == b.strength && a.expected != ""
	}, func(a, b assertion) []change { return nil })
	pair(func(a, b assertion) bool { return b.strength >= a.strength }, func(a, b assertion) []change {
		return []change{{what: expectationChanged, certainty: likely}}
	})
	pair(func(a, b assertion) bool { return true }, judgeSame)
	for _, a := range gone {
		if a.strength > nothing {
			changes = append(changes, change{what: assertionRemoved, certainty: sure})
		}
	}
	return changes
}

// difference is what is in one list only, by the whole text.
func difference(before, after []assertion) (gone, come []assertion) {
	come = slices.Clone(after)
	for _, a := range before {
		if at := slices.IndexFunc(come, func(b assertion) bool { return a.whole == b.whole }); at >= 0 {
			come = slices.Delete(come, at, at+1)
		} else {
			gone = append(gone, a)
		}
	}
	return gone, come
}

// judgeSame compares two demands of one subject.
func judgeSame(a, b assertion) []change {
	switch {
	case b.strength < a.strength:
		return []change{{what: assertionWeakened, certainty: sure}}
	case b.strength > a.strength:
		return nil
	case a.matcher != b.matcher && a.expected == b.expected && negated.MatchString(a.matcher) == negated.MatchString(b.matcher):
		return nil
	case b.args < a.args:
		return []change{{what: assertionWeakened, certainty: sure}}
	case a.expected == b.expected, looser(b, a):
		return nil
	case looser(a, b):
		return []change{{what: assertionWeakened, certainty: sure}}
	}
	return []change{{what: expectationChanged, certainty: sure}}
}

var (
	atMost    = re(`(?i)less|atMost`)
	atLeast   = re(`(?i)greater|atLeast`)
	broad     = re(`^(?:java \. lang \. )?(?:Exception|BaseException|Throwable|Error|StandardError|RuntimeException|error|\w+ \. anything.*|any|object)(?: \. class| :: class)?(?:, .*)?$`)
	numeral   = re(`\d+(?:\.\d+)?(?:e-?\d+)?`)
	precision = re(`(?i)close|digits|places|almost`)
	tolerance = re(`(?i)approx|delta|tolerance|rtol|atol|rel|abs|within|epsilon`)
)

// looser reports whether an expectation lets more through: a wider bound, a
// larger tolerance, a broader error.
func looser(a, b assertion) bool {
	if broad.MatchString(b.expected) && !broad.MatchString(a.expected) {
		return true
	}
	x, y := numeral.FindAllString(a.expected, -1), numeral.FindAllString(b.expected, -1)
	if len(x) == 0 || len(x) != len(y) || numeral.ReplaceAllString(a.expected, "#") != numeral.ReplaceAllString(b.expected, "#") {
		return false
	}
	was, _ := strconv.ParseFloat(x[len(x)-1], 64)
	now, _ := strconv.ParseFloat(y[len(y)-1], 64)
	several := len(x) > 1 && slices.Equal(x[:len(x)-1], y[:len(y)-1])
	switch {
	case strings.Contains(a.matcher, "<") || atMost.MatchString(a.matcher):
		return now > was
	case strings.Contains(a.matcher, ">") || atLeast.MatchString(a.matcher):
		return now < was
	case several && tolerance.MatchString(a.expected):
		return now > was
	case several && precision.MatchString(a.matcher):
		return now < was
	case several && (tolerance.MatchString(a.matcher) || a.matcher == "assertEquals"):
		return now > was
	}
	return false
}
