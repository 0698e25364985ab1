package action

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/conjunct-project/conjunct/engine"
)

// minimal is the least action, with more fields (each with a comma before it)
// put in at the end.
func minimal(more string) string {
	return `{"trace_id":"t","call_id":"c","tool":"x","arguments":{}` + more + `}`
}

func withTool(tool string) string {
	return `{"trace_id":"t","call_id":"c","tool":` + tool + `,"arguments":{}}`
}

func withArgument(value string) string {
	return `{"trace_id":"t","call_id":"c","tool":"x","arguments":{"a":` + value + `}}`
}

func nested(depth int) string {
	return strings.Repeat("[", depth) + strings.Repeat("]", depth)
}

func TestExampleIsReadWhole(t *testing.T) {
	a, err := Decode([]byte(example))
	if err != nil {
		t.Fatal(err)
	}
	f := func(v float64) *float64 { return &v }
	want := engine.Action{
		TraceID: "INC-5012", CallID: "INC-5012:c2",
		Agent:      engine.Agent{ID: "itsm-agent", Component: "planner@3"},
		Tool:       "deprovision_account",
		Arguments:  map[string]any{"account": `acme\jdoe`},
		Confidence: f(0.94),
		Critic:     &engine.Critic{Score: f(0.91), Component: "critic@1"},
		Context:    engine.Context{TargetEntity: `acme\jdoe`, SourceRecord: "INC-5012", RetrievedContext: []string{"kb-12"}},
		Origins:    map[string]string{"/account": "tool_result"},
		Plan: &engine.Plan{Steps: []engine.PlanStep{{ID: "s1", Tool: "rotate_key", Arguments: map[string]any{},
			Postcondition: "key-rotated", ForwardEffects: f(1), RollbackEffects: f(1)}}},
		Document:  a.Document,
		Canonical: a.Canonical,
		InputHash: a.InputHash,
		CallHash:  a.CallHash,
		Likeness:  a.Likeness,
		Holds: []engine.Held{
			{Item: engine.Item{Kind: engine.KindTarget, Value: `acme\jdoe`}},
			{Item: engine.Item{Kind: engine.KindRecord, Value: "inc-5012"}},
			{Item: engine.Item{Kind: engine.KindRetrieved, Value: "kb-12"}},
			{Item: engine.Item{Kind: engine.KindArgument, Value: `acme\jdoe`}, Argument: "account"},
		},
	}
	if !reflect.DeepEqual(a, want) {
		t.Errorf("got  %+v\nwant %+v", a, want)
	}
	if _, ok := a.Document["confidence"]; ok {
		t.Error("policies would see the confidence")
	}
	if got := a.Document["critic"].(map[string]any)["score"]; got != 0.91 {
		t.Errorf("critic score in the document: got %v, want 0.91", got)
	}
	if len(a.Document) != 9 {
		t.Errorf("document has %d fields, want 9: %v", len(a.Document), a.Document)
	}
}

func TestAccepted(t *testing.T) {
	for name, doc := range map[string]string{
		"minimal":                    minimal(""),
		"white space around":         " \t\r\n" + minimal("") + " \r\n\t ",
		"one MiB":                    minimal("") + strings.Repeat(" ", MaxSize-len(minimal(""))),
		"depth 64":                   withArgument(nested(62)),
		"null in arguments":          withArgument("null"),
		"any key in arguments":       withArgument(`{"":1,"TOOL":2,"time":3,"confidence":4}`),
		"unicode in arguments":       withArgument(`"\ud83d\ude00 ü \u0000"`),
		"id of 256 bytes":            withTool(`"` + strings.Repeat("x", MaxID) + `"`),
		"id with every ASCII":        withTool(`" ~!\"\\/azAZ09"`),
		"id spelt in escapes":        withTool(`"\u0078"`),
		"field name in escapes":      `{"trace_id":"t","call_id":"c","\u0074ool":"x","arguments":{}}`,
		"empty agent":                minimal(`,"agent":{"id":"","component":""}`),
		"confidence out of range":    minimal(`,"confidence":-7e300`),
		"confidence zero":            minimal(`,"confidence":0`),
		"critic score out of range":  minimal(`,"critic":{"score":2}`),
		"empty critic":               minimal(`,"critic":{"component":""}`),
		"empty context":              minimal(`,"context":{"target_entity":"","source_record":"","retrieved_context":[]}`),
		"unicode context":            minimal(`,"context":{"target_entity":"Jörg\n"}`),
		"origin of all arguments":    minimal(`,"origins":{"":"user","/a~1b~0":""}`),
		"plan without steps":         minimal(`,"plan":{}`),
		"step without tool":          minimal(`,"plan":{"steps":[{"assertion":"done"},{"id":""}]}`),
		"effects of zero":            minimal(`,"plan":{"steps":[{"tool":"y","forward_effects":0,"rollback_effects":-0}]}`),
		"replacement character":      withArgument(`"` + "\ufffd" + `\ufffd"`),
		"noncharacter":               withArgument(`"` + "\uffff" + `"`),
		"same key in other objects":  withArgument(`[{"k":1},{"k":1,"l":{"k":1}}]`),
		"keys that differ in case":   withArgument(`{"k":1,"K":1}`),
		"keys that differ in form":   withArgument(`{"\u00e9":1,"e\u0301":1}`),
		"more than a hundred fields": withArgument("{" + manyKeys(500) + "}"),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Decode([]byte(doc)); err != nil {
				t.Errorf("%.200s: got %v, want no error", doc, err)
			}
		})
	}
}

func manyKeys(n int) string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf(`"k%d":%d`, i, i)
	}
	return strings.Join(keys, ",")
}

type refusal struct {
	name, doc    string
	line, column int
	pointer      string
	msg, hint    string // substrings
}

// The place is told in line and column and as a pointer, and there is a hint.
func TestRefused(t *testing.T) {
	cases := append(append(syntaxRefusals(), fieldRefusals()...), valueRefusals()...)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			a, err := Decode([]byte(c.doc))
			checkRefusal(t, c, err)
			if !reflect.DeepEqual(a, engine.Action{}) {
				t.Errorf("%.200q: an action came with the error: %+v", c.doc, a)
			}
		})
	}
}

func checkRefusal(t *testing.T, c refusal, err error) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("%.200q: got %v, want *Error", c.doc, err)
	}
	if e.Line != c.line || e.Column != c.column || e.Pointer != c.pointer {
		t.Errorf("%.200q: got line %d, column %d, pointer %q, want %d, %d, %q (%v)", c.doc, e.Line, e.Column, e.Pointer, c.line, c.column, c.pointer, e)
	}
	if !strings.Contains(e.Msg, c.msg) || !strings.Contains(e.Hint, c.hint) {
		t.Errorf("%.200q: got %q, hint %q, want %q, hint %q", c.doc, e.Msg, e.Hint, c.msg, c.hint)
	}
	if e.Msg == "" || e.Hint == "" || !printable(e.Error()) || len(e.Error()) > 700 {
		t.Errorf("%.200q: not one short printable line with a hint: %q", c.doc, e.Error())
	}
}

func syntaxRefusals() []refusal {
	at := len(`{"trace_id":"t","call_id":"c","tool":"x","arguments":{"a":`) + 1 // where withArgument puts its value
	return []refusal{
		{"empty", "", 1, 1, "", "empty", "one JSON value"},
		{"only white space", " \n ", 2, 2, "", "empty", ""},
		{"too long", minimal("") + strings.Repeat(" ", MaxSize), 0, 0, "", "more than 1048576", ""},
		{"100 MB", strings.Repeat("[", 100<<20), 0, 0, "", "more than 1048576", ""},
		{"byte order mark", "\xef\xbb\xbf" + minimal(""), 1, 1, "", "byte order mark", "without BOM"},
		{"byte order mark inside", " \ufeff" + minimal(""), 1, 2, "", "", ""},
		{"UTF-16", "\xff\xfe{\x00}\x00", 1, 1, "", "UTF-16", "UTF-8"},
		{"UTF-16 without mark", "{\x00}\x00", 1, 2, "", "", ""},
		{"second document", minimal("") + "\n" + minimal(""), 2, 1, "", "something follows", "one a line"},
		{"comma after", minimal("") + ",", 1, len(minimal("")) + 1, "", "something follows", ""},
		{"NUL after", minimal("") + "\x00", 1, len(minimal("")) + 1, "", "something follows", ""},
		{"vertical tab after", minimal("") + "\v", 1, len(minimal("")) + 1, "", "something follows", ""},
		{"cut off", "{\n\"tool\"", 2, 7, "/tool", "too early", "cut off"},
		{"cut off in a string", withArgument(`"b`)[:at+1], 1, at + 2, "/arguments/a", "too early", ""},
		{"duplicate key", minimal(`,` + "\n" + `"tool":"y"`), 2, 1, "/tool", `duplicate key "tool"`, "once"},
		{"duplicate key in escapes", minimal(`,"\u0074ool":"y"`), 1, len(minimal("")) + 1, "/tool", "duplicate key", ""},
		{"duplicate key deep", withArgument(`[0,{"b":{"c":1,"c":1}}]`), 1, at + 15, "/arguments/a/1/b/c", "duplicate key", ""},
		{"duplicate key among many", withArgument(`{` + manyKeys(100) + `,"k7":0}`), 1, at + 2 + len(manyKeys(100)), "/arguments/a/k7", "duplicate key", ""},
		{"duplicate empty key", withArgument(`{"":1,"":2}`), 1, at + 6, "/arguments/a/", "duplicate key", ""},
		{"invalid UTF-8 in a value", withArgument("\"b\xff\""), 1, at + 2, "/arguments/a", "UTF-8", "must be UTF-8"},
		{"invalid UTF-8 in a key", withArgument("{\"b\xff\":1}"), 1, at + 3, "/arguments/a", "UTF-8", "must be UTF-8"},
		{"UTF-8 of a surrogate", withArgument("\"\xed\xa0\x80\""), 1, at + 1, "/arguments/a", "UTF-8", ""},
		{"overlong UTF-8", withArgument("\"\xc0\x80\""), 1, at + 1, "/arguments/a", "UTF-8", ""},
		{"lone high surrogate", withArgument(`"\ud800"`), 1, at + 1, "/arguments/a", `\ud800`, "lone surrogate"},
		{"lone low surrogate", withArgument(`"b\uDC00"`), 1, at + 2, "/arguments/a", `\uDC00`, "lone surrogate"},
		{"surrogates in the wrong order", withArgument(`"\udc00\ud800"`), 1, at + 1, "/arguments/a", `\udc00`, "lone surrogate"},
		{"high surrogate twice", withArgument(`"\ud800\ud800"`), 1, at + 1, "/arguments/a", `\ud800`, "lone surrogate"},
		{"lone surrogate in a key", withArgument(`{"\ud800":1}`), 1, at + 2, "/arguments/a", `\ud800`, "lone surrogate"},
		{"unknown escape", withArgument(`"\x41"`), 1, at + 1, "/arguments/a", `\x`, "escapes are"},
		{"raw newline in a string", withArgument("\"b\nc\""), 1, at + 2, "/arguments/a", `\n`, "control characters"},
		{"raw NUL in a string", withArgument("\"\x00\""), 1, at + 1, "/arguments/a", "", "control characters"},
		{"depth 65", withArgument(nested(63)), 1, at + 62, "/arguments/a" + strings.Repeat("/0", 62), "deeper than 64", "flatten"},
		{"depth 65 of objects", withArgument(strings.Repeat(`{"b":`, 63) + "1" + strings.Repeat("}", 63)), 1, at + 5*62, "/arguments/a" + strings.Repeat("/b", 62), "deeper than 64", ""},
		{"10,000 levels", nested(10000), 1, 65, strings.Repeat("/0", 64), "deeper than 64", "flatten"},
		{"500,000 levels, unclosed", strings.Repeat("[", 500000), 1, 65, strings.Repeat("/0", 64), "deeper than 64", ""},
		{"not an object", `[]`, 1, 1, "", "must be an object, is an array", "one JSON object"},
		{"null", ` null`, 1, 2, "", "must be an object, is null", ""},
		{"NaN", withArgument("NaN"), 1, at, "/arguments/a", "'N'", "no NaN or Infinity"},
		{"Infinity", withArgument("Infinity"), 1, at, "/arguments/a", "", "no NaN or Infinity"},
		{"-Infinity", withArgument("-Infinity"), 1, at + 1, "/arguments/a", "", "no NaN or Infinity"},
		{"comment", withArgument("/* b */1"), 1, at, "/arguments/a", "", "no comments"},
		{"single quotes", withArgument("'b'"), 1, at, "/arguments/a", "", "double quotes"},
		{"key without quotes", withArgument("{b:1}"), 1, at + 1, "/arguments/a", "", ""},
		{"number as key", withArgument("{1:1}"), 1, at + 1, "/arguments/a", "must be a string", "double quotes"},
		{"comma too many", withArgument("[1,]"), 1, at + 2, "/arguments/a", "", "comma too many"},
		{"comma too few", withArgument("[1 2]"), 1, at + 3, "/arguments/a", "", ""},
		{"wrong bracket", withArgument("[1}"), 1, at + 2, "/arguments/a", "", "bracket"},
		{"True", withArgument("True"), 1, at, "/arguments/a", "", "true, false and null"},
		{"leading zero", withArgument("01"), 1, at + 1, "/arguments", "", "leading zeros"},
		{"plus sign", withArgument("+1"), 1, at, "/arguments/a", "", ""},
		{"no digit after the point", withArgument("1."), 1, at + 2, "/arguments/a", "", ""},
		{"columns are characters", "{\n \"ü€😀\": NaN}", 2, 9, "/ü€😀", "", ""},
	}
}

func fieldRefusals() []refusal {
	end := len(minimal("")) + 1 // where minimal puts the key of what it is given, after the comma
	in := func(object string) int { return end + len(object) }
	return []refusal{
		{"no trace_id", `{"call_id":"c","tool":"x","arguments":{}}`, 1, 1, "/trace_id", "missing", "trace_id, call_id, tool, arguments"},
		{"no call_id", "\n" + `{"trace_id":"t","tool":"x","arguments":{}}`, 2, 1, "/call_id", "missing", ""},
		{"no tool", `{"trace_id":"t","call_id":"c","arguments":{}}`, 1, 1, "/tool", "missing", ""},
		{"no arguments", `{"trace_id":"t","call_id":"c","tool":"x"}`, 1, 1, "/arguments", "missing", ""},
		{"wrong case", `{"trace_id":"t","call_id":"c","Tool":"x","arguments":{}}`, 1, 31, "/Tool", "unknown field", `did you mean "tool"`},
		{"wrong case beside the right one", minimal(`,"TOOL":"x"`), 1, end, "/TOOL", "unknown field", `did you mean "tool"`},
		{"camel case", minimal(`,"traceId":"x"`), 1, end, "/traceId", "unknown field", `did you mean "trace_id"`},
		{"hyphen", minimal(`,"trace-id":"x"`), 1, end, "/trace-id", "unknown field", `did you mean "trace_id"`},
		{"misspelt", minimal(`,"confidance":1`), 1, end, "/confidance", "unknown field", `did you mean "confidence"`},
		{"letters swapped", minimal(`,"agnet":{}`), 1, end, "/agnet", "unknown field", `did you mean "agent"`},
		{"unknown", minimal(`,"priority":1`), 1, end, "/priority", "unknown field", "the fields are trace_id, call_id"},
		{"empty name", minimal(`,"":1`), 1, end, "/", "unknown field", "the fields are"},
		{"time", minimal(`,"time":1`), 1, end, "/time", "unknown field", "the clock is --now"},
		{"name with a line break", minimal(`,"a\nb\u202e":1`), 1, end, "/a\nb\u202e", `"a\nb\u202e"`, ""},
		{"name of a megabyte", minimal(`,"` + strings.Repeat("x/~", 300000) + `":1`), 1, end, "/" + strings.Repeat("x~1~0", 300000), "unknown field", "the fields are"},
		{"two unknown, the first in order", minimal(`,"zz":1,"yy":1`), 1, end + 7, "/yy", "unknown field", ""},
		{"in agent", minimal(`,"agent":{"ID":"x"}`), 1, in(`"agent":{`), "/agent/ID", "unknown field", `did you mean "id"`},
		{"in critic", minimal(`,"critic":{"scores":1}`), 1, in(`"critic":{`), "/critic/scores", "unknown field", `did you mean "score"`},
		{"in context", minimal(`,"context":{"target":""}`), 1, in(`"context":{`), "/context/target", "unknown field", "the fields are target_entity"},
		{"in plan", minimal(`,"plan":{"step":[]}`), 1, in(`"plan":{`), "/plan/step", "unknown field", `did you mean "steps"`},
		{"in a step", minimal(`,"plan":{"steps":[{}, {"post_condition":""}]}`), 1, in(`"plan":{"steps":[{}, {`), "/plan/steps/1/post_condition", "unknown field", `did you mean "postcondition"`},
		{"time in a step", minimal(`,"plan":{"steps":[{"time":1}]}`), 1, in(`"plan":{"steps":[{`), "/plan/steps/0/time", "unknown field", "the fields are id, tool"},
	}
}

func valueRefusals() []refusal {
	tool := len(`{"trace_id":"t","call_id":"c","tool":`) + 1
	end := len(minimal("")) + 1
	in := func(object string) int { return end + len(object) }
	cases := []refusal{
		{"empty tool", withTool(`""`), 1, tool, "/tool", "empty", ""},
		{"id of 257 bytes", withTool(`"` + strings.Repeat("x", MaxID+1) + `"`), 1, tool, "/tool", "257 bytes, more than 256", ""},
		{"id with a letter beyond ASCII", withTool(`"аdmin"`), 1, tool, "/tool", "U+0430 at byte 1", ""},
		{"id with a line break", withTool(`"a\nb"`), 1, tool, "/tool", "U+000A at byte 2", ""},
		{"id with DEL", withTool(`"a\u007f"`), 1, tool, "/tool", "U+007F", ""},
		{"tool a number", withTool(`1`), 1, tool, "/tool", "must be a string, is a number", "double quotes"},
		{"arguments an array", `{"trace_id":"t","call_id":"c","tool":"x","arguments":[]}`, 1, 54, "/arguments", "must be an object, is an array", `"arguments": {}`},
		{"confidence a string", minimal(`,"confidence":"0.9"`), 1, in(`"confidence":`), "/confidence", "must be a number, is a string", "without quotes"},
		{"confidence true", minimal(`,"confidence":true`), 1, in(`"confidence":`), "/confidence", "must be a number, is a boolean", ""},
		{"confidence inexact", minimal(`,"confidence":0.94000000000000000001`), 1, in(`"confidence":`), "/confidence", "more digits than a double", ""},
		{"critic score a string", minimal(`,"critic":{"score":"1"}`), 1, in(`"critic":{"score":`), "/critic/score", "must be a number", "without quotes"},
		{"critic component empty space beyond ASCII", minimal(`,"critic":{"component":"\u00a0"}`), 1, in(`"critic":{"component":`), "/critic/component", "U+00A0", ""},
		{"agent id not ASCII", minimal(`,"agent":{"id":"ä"}`), 1, in(`"agent":{"id":`), "/agent/id", "U+00E4", ""},
		{"agent component too long", minimal(`,"agent":{"component":"` + strings.Repeat("x", 257) + `"}`), 1, in(`"agent":{"component":`), "/agent/component", "257", ""},
		{"agent a string", minimal(`,"agent":"me"`), 1, in(`"agent":`), "/agent", "must be an object", ""},
		{"retrieved context a string", minimal(`,"context":{"retrieved_context":"kb"}`), 1, in(`"context":{"retrieved_context":`), "/context/retrieved_context", "must be an array", ""},
		{"retrieved context of numbers", minimal(`,"context":{"retrieved_context":["a", 1]}`), 1, in(`"context":{"retrieved_context":["a", `), "/context/retrieved_context/1", "must be a string", ""},
		{"retrieved context with null", minimal(`,"context":{"retrieved_context":[null]}`), 1, in(`"context":{"retrieved_context":[`), "/context/retrieved_context/0", "is null", ""},
		{"origins not a pointer", minimal(`,"origins":{"account":"user"}`), 1, in(`"origins":{`), "/origins/account", "not a JSON pointer", "RFC 6901"},
		{"origins with a bad escape", minimal(`,"origins":{"/a~2":"user"}`), 1, in(`"origins":{`), "/origins/~1a~02", "not a JSON pointer", ""},
		{"origin a number", minimal(`,"origins":{"/a":"x","/b":1}`), 1, in(`"origins":{"/a":"x","/b":`), "/origins/~1b", "must be a string", ""},
		{"origin null", minimal(`,"origins":{"/b":null}`), 1, in(`"origins":{"/b":`), "/origins/~1b", "is null", ""},
		{"steps an object", minimal(`,"plan":{"steps":{}}`), 1, in(`"plan":{"steps":`), "/plan/steps", "must be an array", ""},
		{"step a string", minimal(`,"plan":{"steps":["x"]}`), 1, in(`"plan":{"steps":[`), "/plan/steps/0", "must be an object", ""},
		{"step tool empty", minimal(`,"plan":{"steps":[{"tool":""}]}`), 1, in(`"plan":{"steps":[{"tool":`), "/plan/steps/0/tool", "empty", ""},
		{"step id not ASCII", minimal(`,"plan":{"steps":[{"id":"ß"}]}`), 1, in(`"plan":{"steps":[{"id":`), "/plan/steps/0/id", "U+00DF", ""},
		{"step arguments a string", minimal(`,"plan":{"steps":[{"arguments":""}]}`), 1, in(`"plan":{"steps":[{"arguments":`), "/plan/steps/0/arguments", "must be an object", ""},
		{"forward effects negative", minimal(`,"plan":{"steps":[{"forward_effects":-1}]}`), 1, in(`"plan":{"steps":[{"forward_effects":`), "/plan/steps/0/forward_effects", "negative", ""},
		{"rollback effects negative", minimal(`,"plan":{"steps":[{"rollback_effects":-5e-324}]}`), 1, in(`"plan":{"steps":[{"rollback_effects":`), "/plan/steps/0/rollback_effects", "negative", ""},
		{"rollback effects a string", minimal(`,"plan":{"steps":[{"rollback_effects":"1"}]}`), 1, in(`"plan":{"steps":[{"rollback_effects":`), "/plan/steps/0/rollback_effects", "must be a number", ""},
	}
	return append(cases, nullRefusals(end)...)
}

// nullRefusals puts null in the place of each fixed field in turn.
func nullRefusals(end int) (cases []refusal) {
	for _, path := range []string{"agent", "confidence", "critic", "context", "origins", "plan",
		"agent/id", "agent/component", "critic/score", "critic/component",
		"context/target_entity", "context/source_record", "context/retrieved_context", "plan/steps"} {
		open := `"` + strings.ReplaceAll(path, "/", `":{"`) + `":`
		closed := strings.Repeat("}", strings.Count(path, "/"))
		cases = append(cases, refusal{"null " + path, minimal("," + open + "null" + closed), 1, end + len(open), "/" + path, "is null", ""})
	}
	for _, name := range stepFields {
		open := `"plan":{"steps":[{"` + name + `":`
		cases = append(cases, refusal{"null step " + name, minimal("," + open + "null}]}"), 1, end + len(open), "/plan/steps/0/" + name, "is null", ""})
	}
	for i, name := range required {
		doc := minimal("")
		value := []string{`"t"`, `"c"`, `"x"`, `{}`}[i]
		column := strings.Index(doc, ":"+value) + 2
		cases = append(cases, refusal{"null " + name, strings.Replace(doc, value, "null", 1), 1, column, "/" + name, "is null", ""})
	}
	return cases
}

func TestPlansAndCriticsWithoutContentAreNone(t *testing.T) {
	a, err := Decode([]byte(minimal(`,"plan":{"steps":[]},"critic":{"component":""},"context":{"retrieved_context":[]},"origins":{}`)))
	if err != nil {
		t.Fatal(err)
	}
	if a.Plan != nil || a.Critic != nil || a.Origins != nil || a.Context.RetrievedContext != nil {
		t.Errorf("got %+v, want nil plan, critic, origins and retrieved context", a)
	}
	if _, ok := a.Document["plan"]; !ok {
		t.Error("the document does not show the plan as written")
	}
}

func TestAbsentNumbersAreNil(t *testing.T) {
	a, err := Decode([]byte(minimal(`,"critic":{"component":"c"},"plan":{"steps":[{"id":"a"},{"forward_effects":0,"rollback_effects":2.5}]}`)))
	if err != nil {
		t.Fatal(err)
	}
	if a.Confidence != nil || a.Critic.Score != nil || a.Plan.Steps[0].ForwardEffects != nil || a.Plan.Steps[0].RollbackEffects != nil {
		t.Errorf("got %+v, want absent numbers as nil", a)
	}
	if s := a.Plan.Steps[1]; *s.ForwardEffects != 0 || *s.RollbackEffects != 2.5 {
		t.Errorf("got %+v, want effects 0 and 2.5", s)
	}
}

func TestInputIsNotChanged(t *testing.T) {
	for _, doc := range []string{example, example + "x", withTool("1"), withArgument("1e999")} {
		b := []byte(doc)
		_, _ = Decode(b) // the outcome is not the point
		if string(b) != doc {
			t.Errorf("the input was changed: got %q, want %q", b, doc)
		}
	}
}
