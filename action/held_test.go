package action

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/conjunct-project/conjunct/engine"
)

func decoded(t *testing.T, doc string) engine.Action {
	t.Helper()
	a, err := Decode([]byte(doc))
	if err != nil {
		t.Fatalf("%s: %v", doc, err)
	}
	return a
}

func TestWhatACallHolds(t *testing.T) {
	long := strings.Repeat("x", 200)
	for _, c := range []struct{ name, more, want string }{
		{"nothing", ``, ""},
		{"context before arguments", `,"context":{"retrieved_context":["KB-12","kb-12"],"source_record":"R","target_entity":"T@X"}`, "target_entity t@x; source_record r; retrieved_context kb-12"},
		{"empty context", `,"context":{"retrieved_context":["","  "],"source_record":"","target_entity":" "}`, ""},
		{"arguments, nested", `,"arguments":{"b":{"z":["Deep",{"y":"er"}]},"a":"A B"}`, "argument a b in a; argument z in b; argument deep in b; argument y in b; argument er in b"},
		{"a number is its text, a truth is none", `,"arguments":{"n":12345,"m":-0.50,"t":true,"x":null}`, "argument -0.5 in m; argument 12345 in n"},
		{"the same in two arguments", `,"arguments":{"a":"v","b":["v","V"]}`, "argument v in a; argument v in b"},
		{"a long value is its digest", `,"arguments":{"a":"` + long + `"}`, "argument " + Hash([]byte(long)) + " in a"},
		{"part of a value is no value", `,"arguments":{"a":"write to pat@x.example"}`, "argument write to pat@x.example in a"},
		{"names in a value are values", `,"arguments":{"accounts":{"ACME\\JDoe":true}}`, "argument acme\\jdoe in accounts"},
		{"names of arguments are no values", `,"arguments":{"pat@x.example":{"k":1}}`, "argument k in pat@x.example; argument 1 in pat@x.example"},
	} {
		t.Run(c.name, func(t *testing.T) {
			doc := `{"trace_id":"t","call_id":"c","tool":"x"` + c.more
			if !strings.Contains(c.more, `"arguments"`) {
				doc += `,"arguments":{}`
			}
			var got []string
			for _, h := range decoded(t, doc+"}").Holds {
				text := h.Kind + " " + h.Value
				if h.Argument != "" {
					text += " in " + h.Argument
				}
				got = append(got, text)
			}
			if s := strings.Join(got, "; "); s != c.want {
				t.Errorf("holds %q, want %q", s, c.want)
			}
		})
	}
}

func TestACallOfVeryManyValuesHoldsEverything(t *testing.T) {
	for _, n := range []int{searched - 1, searched, searched + 1, maxHeld, maxHeld + 1, 3 * maxHeld} {
		values := make([]string, n)
		for i := range values {
			values[i] = fmt.Sprintf(`"v%d","v%d"`, i, i/2)
		}
		a := decoded(t, `{"trace_id":"t","call_id":"c","tool":"x","arguments":{"a":[`+strings.Join(values, ",")+`]}}`)
		everything := slices.ContainsFunc(a.Holds, func(h engine.Held) bool { return h.Kind == engine.KindEverything })
		if want := min(n, maxHeld); everything != (n > maxHeld) || len(a.Holds) != want && !everything || len(a.Holds) > maxHeld+1 {
			t.Errorf("%d values: %d held, everything %v", n, len(a.Holds), everything)
		}
	}
}

func TestLikeness(t *testing.T) {
	const base = `{"trace_id":"t","call_id":"c","agent":{"id":"bot","component":"p@3"},"tool":"mail","arguments":{"to":"pat@x.example","cc":[{"n":"Lee"}],"n":1},` +
		`"context":{"source_record":"INC-1","retrieved_context":["kb-1","kb-2"]},"plan":{"steps":[{"id":"s1","tool":"y","arguments":{"a":"B"}}]}}`
	a := decoded(t, base)
	for name, change := range map[string][2]string{
		"another id":                {`"c",`, `"c9",`},
		"another trace":             {`"t",`, `"t9",`},
		"case of an argument":       {"pat@x", "PAT@X"},
		"space in an argument":      {`"pat@x.example"`, `" pat@x.example "`},
		"case deep in an argument":  {`"Lee"`, `"LEE"`},
		"case of the record":        {"INC-1", "inc-1"},
		"order of what was read":    {`"kb-1","kb-2"`, `"kb-2","kb-1"`},
		"what was read, twice":      {`"kb-1","kb-2"`, `"kb-1","kb-2","KB-1"`},
		"case of the agent":         {"bot", "Bot"},
		"case of a name in it":      {`"n":"Lee"`, `"N":"Lee"`},
		"case in the plan":          {`"a":"B"`, `"a":"b"`},
		"an invisible character":    {"Lee", "L\u200bee"},
		"a display name round it":   {`"pat@x.example"`, `"Pat <pat@x.example>"`},
		"a confidence":              {`"tool"`, `"confidence":0.5,"tool"`},
		"a number spelt in another": {`"n":1}`, `"n":1.0}`},
	} {
		b := decoded(t, strings.Replace(base, change[0], change[1], 1))
		if b.Likeness != a.Likeness {
			t.Errorf("%s makes another call", name)
		}
	}
	for name, change := range map[string][2]string{
		"another address":    {"pat@x", "pam@x"},
		"another argument":   {`"to"`, `"bcc"`},
		"another number":     {`"n":1}`, `"n":2}`},
		"another tool":       {`"mail"`, `"fax"`},
		"another agent":      {`"bot"`, `"bat"`},
		"another component":  {"p@3", "p@4"},
		"another record":     {"INC-1", "INC-2"},
		"less that was read": {`"kb-1","kb-2"`, `"kb-1"`},
		"a text, no number":  {`"n":1}`, `"n":"1"}`},
		"another step":       {`"y"`, `"z"`},
	} {
		b := decoded(t, strings.Replace(base, change[0], change[1], 1))
		if b.Likeness == a.Likeness {
			t.Errorf("%s makes no other call", name)
		}
	}
}

func TestLikenessOfACallInNormalFormIsItsHash(t *testing.T) {
	a := decoded(t, `{"trace_id":"T","call_id":"C","tool":"X","arguments":{"a":["b",1,null,{"c":"d"}]},"context":{"retrieved_context":["a","b"]}}`)
	if a.Likeness != a.CallHash {
		t.Error("nothing is to be changed, and the likeness is not the call hash")
	}
}
