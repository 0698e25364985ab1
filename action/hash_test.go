package action

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/conjunct-project/conjunct/engine"
	"pgregory.net/rapid"
)

func TestHash(t *testing.T) {
	if got, want := Hash(nil), "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Both hashes of the design's example, from its canonical bytes written out:
// journals and approvals hold them, so they may not move.
func TestHashesOfTheExample(t *testing.T) {
	call := `{"agent":{"component":"planner@3","id":"itsm-agent"},"arguments":{"account":"acme\\jdoe"},` +
		`"context":{"retrieved_context":["kb-12"],"source_record":"INC-5012","target_entity":"acme\\jdoe"},` +
		`"origins":{"/account":"tool_result"},` +
		`"plan":{"steps":[{"forward_effects":1,"id":"s1","postcondition":"key-rotated","rollback_effects":1,"tool":"rotate_key"}]},` +
		`"tool":"deprovision_account"}`
	input, err := libraryCanonical(example)
	if err != nil {
		t.Fatal(err)
	}
	a, err := Decode([]byte(example))
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(input))); a.InputHash != want {
		t.Errorf("input hash: got %s, want %s", a.InputHash, want)
	}
	if want := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(call))); a.CallHash != want {
		t.Errorf("call hash: got %s, want %s", a.CallHash, want)
	}
	if got := string(callBytes(&a, 0)); got != call {
		t.Errorf("call bytes:\ngot  %s\nwant %s", got, call)
	}
}

func TestCallHashOfLeastAction(t *testing.T) {
	a, err := Decode([]byte(minimal("")))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(callBytes(&a, 0)), `{"agent":{},"arguments":{},"context":{},"origins":{},"plan":{},"tool":"x"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestAbsentAndZeroAreTheSameCall(t *testing.T) {
	absent := mustDecode(t, minimal(""))
	for _, more := range []string{
		`,"agent":{}`, `,"agent":{"id":""}`, `,"agent":{"id":"","component":""}`, `,"context":{}`, `,"origins":{}`, `,"plan":{}`, `,"plan":{"steps":[]}`,
		`,"context":{"target_entity":"","source_record":"","retrieved_context":[]}`,
		`,"critic":{}`, `,"critic":{"score":0.5,"component":"c"}`, `,"confidence":0`,
	} {
		a := mustDecode(t, minimal(more))
		if a.CallHash != absent.CallHash {
			t.Errorf("%s: another call", more)
		}
		if a.InputHash == absent.InputHash {
			t.Errorf("%s: the same input", more)
		}
	}
	step := mustDecode(t, minimal(`,"plan":{"steps":[{}]}`))
	for _, more := range []string{`{"id":""}`, `{"arguments":{}}`, `{"precondition":"","postcondition":"","assertion":""}`} {
		if a := mustDecode(t, minimal(`,"plan":{"steps":[`+more+`]}`)); a.CallHash != step.CallHash {
			t.Errorf("step %s: another call", more)
		}
	}
}

// What looks like nothing and is something.
func TestDifferentCalls(t *testing.T) {
	seen := map[string]string{}
	for _, doc := range []string{
		minimal(""),
		withArgument("null"), withArgument(`""`), withArgument("{}"), withArgument("[]"), withArgument("false"), withArgument("0"), withArgument(`"0"`),
		minimal(`,"origins":{"":""}`), minimal(`,"origins":{"/a":""}`),
		minimal(`,"context":{"retrieved_context":[""]}`), minimal(`,"context":{"retrieved_context":["",""]}`),
		minimal(`,"context":{"retrieved_context":["a","b"]}`), minimal(`,"context":{"retrieved_context":["b","a"]}`),
		minimal(`,"context":{"target_entity":"a"}`), minimal(`,"context":{"source_record":"a"}`), minimal(`,"agent":{"id":"a"}`), minimal(`,"agent":{"component":"a"}`),
		minimal(`,"plan":{"steps":[{}]}`), minimal(`,"plan":{"steps":[{},{}]}`),
		minimal(`,"plan":{"steps":[{"forward_effects":0}]}`), minimal(`,"plan":{"steps":[{"rollback_effects":0}]}`),
		minimal(`,"plan":{"steps":[{"arguments":{"a":""}}]}`),
	} {
		a := mustDecode(t, doc)
		if other, ok := seen[a.CallHash]; ok {
			t.Errorf("%s and %s: the same call", doc, other)
		}
		seen[a.CallHash] = doc
	}
}

func mustDecode(t interface{ Fatalf(string, ...any) }, doc string) engine.Action {
	a, err := Decode([]byte(doc))
	if err != nil {
		t.Fatalf("%s: %v", doc, err)
	}
	return a
}

// respell writes a value in one of its many spellings.
func respell(t *rapid.T, v any) string {
	space := func() string { return rapid.SampledFrom([]string{"", "", "", " ", "\n", "\t\r\n  "}).Draw(t, "space") }
	var b strings.Builder
	b.WriteString(space())
	switch v := v.(type) {
	case map[string]any:
		keys := make([]string, 0, len(v))
		for key := range v {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		keys = rapid.Permutation(keys).Draw(t, "order")
		b.WriteString("{" + space())
		for i, key := range keys {
			if i > 0 {
				b.WriteString(",")
			}
			b.WriteString(space() + respellText(t, key) + space() + ":" + respell(t, v[key]))
		}
		b.WriteString("}")
	case []any:
		b.WriteString("[" + space())
		for i, item := range v {
			if i > 0 {
				b.WriteString(",")
			}
			b.WriteString(respell(t, item))
		}
		b.WriteString("]")
	case string:
		b.WriteString(respellText(t, v))
	case float64:
		b.WriteString(respellNumber(t, v))
	default:
		out, err := CanonicalValue(v)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(out)
	}
	b.WriteString(space())
	return b.String()
}

func respellText(t *rapid.T, s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		must := r < 0x20 || r == '"' || r == '\\'
		if !must && rapid.IntRange(0, 2).Draw(t, "escape") > 0 {
			b.WriteRune(r)
			continue
		}
		if i := strings.IndexRune("\"\\/\b\f\n\r\t", r); i >= 0 && rapid.Bool().Draw(t, "short") {
			b.WriteString(`\` + string(`"\/bfnrt`[i]))
			continue
		}
		format := rapid.SampledFrom([]string{`\u%04x`, `\u%04X`}).Draw(t, "hex")
		if r >= 0x10000 {
			fmt.Fprintf(&b, format+format, 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff)
		} else {
			fmt.Fprintf(&b, format, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func respellNumber(t *rapid.T, f float64) string {
	if f == 0 {
		return rapid.SampledFrom([]string{"0", "-0", "0.00", "0e7", "-0.0E-9", "0e99999"}).Draw(t, "zero")
	}
	if rapid.Bool().Draw(t, "fixed") {
		s := strconv.FormatFloat(f, 'f', -1, 64)
		if zeros := strings.Repeat("0", rapid.IntRange(0, 3).Draw(t, "zeros")); strings.Contains(s, ".") {
			s += zeros
		} else if zeros != "" {
			s += "." + zeros
		}
		return s
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(f, 'e', -1, 64), "e")
	if rapid.Bool().Draw(t, "point") && !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	n, err := strconv.Atoi(exponent)
	if err != nil {
		t.Fatal(err)
	}
	return mantissa + rapid.SampledFrom([]string{"e", "E"}).Draw(t, "e") + rapid.SampledFrom([]string{fmt.Sprint(n), fmt.Sprintf("%+d", n), fmt.Sprintf("%+04d", n)}).Draw(t, "exponent")
}

func genID() *rapid.Generator[string] { return rapid.StringMatching(`[ -~]{1,12}`) }

// genAction makes actions in which every field may be absent that may be.
func genAction() *rapid.Generator[map[string]any] {
	return rapid.Custom(func(t *rapid.T) map[string]any {
		m := map[string]any{
			"trace_id": genID().Draw(t, "trace"), "call_id": genID().Draw(t, "call"), "tool": genID().Draw(t, "tool"),
			"arguments": genObject(2).Draw(t, "arguments"),
		}
		maybe := func(m map[string]any, name string, draw func() any) {
			if rapid.Bool().Draw(t, "has "+name) {
				m[name] = draw()
			}
		}
		id := func() any { return genID().Draw(t, "id") }
		text := func() any { return genText().Draw(t, "text") }
		number := func() any { return float64(rapid.IntRange(0, 1000).Draw(t, "number")) / 8 }
		object := func(fields ...func(m map[string]any)) func() any {
			return func() any {
				m := map[string]any{}
				for _, field := range fields {
					field(m)
				}
				return m
			}
		}
		field := func(name string, draw func() any) func(map[string]any) {
			return func(m map[string]any) { maybe(m, name, draw) }
		}
		list := func(item func() any) func() any {
			return func() any {
				items := make([]any, rapid.IntRange(0, 3).Draw(t, "length"))
				for i := range items {
					items[i] = item()
				}
				return items
			}
		}
		maybe(m, "confidence", number)
		maybe(m, "agent", object(field("id", id), field("component", id)))
		maybe(m, "critic", object(field("score", number), field("component", id)))
		maybe(m, "context", object(field("target_entity", text), field("source_record", text), field("retrieved_context", list(text))))
		maybe(m, "origins", object(field("", text), field("/a", text), field("/b~1/0", text)))
		step := object(field("id", id), field("tool", id), field("arguments", func() any { return genObject(1).Draw(t, "arguments") }),
			field("precondition", text), field("postcondition", text), field("assertion", text), field("forward_effects", number), field("rollback_effects", number))
		maybe(m, "plan", object(field("steps", list(step))))
		return m
	})
}

// prune is a second, stupid implementation of what CallHash is taken over.
func prune(v any, deep func(key string) bool) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, item := range v {
			if deep(key) {
				item = prune(item, deep)
			}
			if a, ok := item.([]any); item == "" || ok && len(a) == 0 {
				continue
			}
			if m, ok := item.(map[string]any); ok && len(m) == 0 {
				continue
			}
			out[key] = item
		}
		return out
	case []any:
		out := []any{}
		for _, item := range v {
			out = append(out, prune(item, deep))
		}
		return out
	}
	return v
}

func TestCallHashIsThatOfThePrunedDocument(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := genAction().Draw(t, "action")
		call := map[string]any{"tool": m["tool"], "arguments": m["arguments"], "origins": map[string]any{}}
		if m["origins"] != nil {
			call["origins"] = m["origins"]
		}
		for _, part := range []string{"agent", "context", "plan"} {
			call[part] = map[string]any{}
			if m[part] != nil {
				call[part] = prune(m[part], func(key string) bool { return key == "steps" })
			}
		}
		want, err := CanonicalValue(call)
		if err != nil {
			t.Fatal(err)
		}
		a := mustDecode(t, respell(t, m))
		if got := callBytes(&a, 0); string(got) != string(want) || a.CallHash != Hash(want) {
			t.Fatalf("got  %s\nwant %s", got, want)
		}
	})
}

func TestRespellingKeepsBothHashes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := genAction().Draw(t, "action")
		a, b := mustDecode(t, respell(t, m)), mustDecode(t, respell(t, m))
		if a.InputHash != b.InputHash || a.CallHash != b.CallHash {
			t.Fatalf("got two actions: %+v, %+v", a, b)
		}
	})
}

// change gives one field another value, or takes away one that is there. A new
// value is never a zero value.
func change(t *rapid.T, m map[string]any) {
	name := rapid.SampledFrom(actionFields).Draw(t, "field")
	fresh := "new" + fmt.Sprint(rapid.IntRange(0, 1<<40).Draw(t, "new"))
	sub := func(fields ...string) (map[string]any, string) {
		o, _ := m[name].(map[string]any)
		copied := map[string]any{}
		for key, v := range o {
			copied[key] = v
		}
		m[name] = copied
		return copied, rapid.SampledFrom(fields).Draw(t, "sub field")
	}
	switch name {
	case "trace_id", "call_id", "tool":
		m[name] = fresh
	case "confidence":
		m[name] = 2000 + rapid.Float64Range(0, 1).Draw(t, "confidence")
	case "agent":
		o, key := sub(agentFields...)
		o[key] = fresh
	case "critic":
		o, _ := sub("component")
		o["component"] = fresh
	case "context":
		o, key := sub(contextFields...)
		o[key] = any(fresh)
		if key == "retrieved_context" {
			o[key] = []any{fresh}
		}
	case "origins":
		o, _ := sub("")
		o["/"+fresh] = "x"
	case "arguments":
		o, _ := sub("")
		o[fresh] = nil
	case "plan":
		o, _ := sub("")
		steps, _ := o["steps"].([]any)
		o["steps"] = append(slices.Clone(steps), map[string]any{rapid.SampledFrom([]string{"id", "tool", "precondition", "postcondition", "assertion"}).Draw(t, "step field"): fresh})
	}
	t.Logf("changed %s", name)
	m["\x00changed"] = name
}

func TestChangesShowInTheRightHashes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := genAction().Draw(t, "action")
		before := mustDecode(t, respell(t, m))
		change(t, m)
		name := m["\x00changed"].(string)
		delete(m, "\x00changed")
		after := mustDecode(t, respell(t, m))
		if before.InputHash == after.InputHash {
			t.Fatalf("%s changed: same input hash", name)
		}
		free := slices.Contains([]string{"trace_id", "call_id", "confidence", "critic"}, name)
		if (before.CallHash == after.CallHash) != free {
			t.Fatalf("%s changed: call hash kept %v, want %v", name, !free, free)
		}
	})
}
