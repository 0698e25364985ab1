package datafile

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/util"
	"gopkg.in/yaml.v3"
	"pgregory.net/rapid"
)

// scalars are spellings that YAML gives a meaning, and what Read may make of
// them. Most are refused; those that are not must mean the same to yaml.v3 and
// to OPA.
var scalars = []string{"a", "yes", "no", "on", "off", "y", "n", "true", "false", "True", "FALSE", "null", "~", "Null", "", "0", "-0", "1", "-1", "+1", "012", "0o14", "0x1f", "0b1",
	"1_000", ".5", "1.", "1.5", "1e3", "1E-3", "1.e3", ".inf", "-.INF", ".nan", "9007199254740991", "9007199254740993", "18446744073709551615", "1e300", "1e308", "1e-300", "12:30:45", "2026-03-02",
	"2026-03-02T09:30:00Z", "2026-03-02 09:30:00", "=", "<<", "'1'", `"true"`, `"a\tb"`, "'it''s'", `"\u00e9"`, "a b", "a#b", "é", "-", "1,000", "0.1", "-12.75"}

// document draws a random document in block or flow style.
func document(t *rapid.T) string {
	var b strings.Builder
	var block func(indent string, depth int)
	var flow func(depth int)
	scalar := func() string { return rapid.SampledFrom(scalars).Draw(t, "scalar") }
	key := func(i int) string {
		return rapid.SampledFrom([]string{fmt.Sprint("k", i), fmt.Sprintf("%q", fmt.Sprint("q ", i)), "on", "yes", "same", "1", "'2'", "é", "a.b"}).Draw(t, "key")
	}
	flow = func(depth int) {
		switch kind := rapid.IntRange(0, 3).Draw(t, "flow"); {
		case kind == 0 && depth < 4:
			b.WriteString("{")
			for i := range rapid.IntRange(0, 3).Draw(t, "size") {
				b.WriteString(strings.Repeat(", ", min(i, 1)) + key(i) + ": ")
				flow(depth + 1)
			}
			b.WriteString("}")
		case kind == 1 && depth < 4:
			b.WriteString("[")
			for i := range rapid.IntRange(0, 3).Draw(t, "size") {
				b.WriteString(strings.Repeat(", ", min(i, 1)))
				flow(depth + 1)
			}
			b.WriteString("]")
		default:
			b.WriteString(scalar())
		}
	}
	block = func(indent string, depth int) {
		for i := range rapid.IntRange(1, 4).Draw(t, "size") {
			b.WriteString(indent + key(i) + ":")
			switch kind := rapid.IntRange(0, 4).Draw(t, "block"); {
			case kind == 0 && depth < 4:
				b.WriteString("\n")
				block(indent+"  ", depth+1)
				continue
			case kind == 1:
				fmt.Fprintf(&b, " |\n%s  one\n%s   two\n", indent, indent)
				continue
			case kind == 2:
				fmt.Fprintf(&b, " >-\n%s  one\n%s  two\n\n%s  three\n", indent, indent, indent)
				continue
			default:
				b.WriteString(" ")
				flow(depth)
			}
			b.WriteString(rapid.SampledFrom([]string{"\n", " # comment\n", "\r\n"}).Draw(t, "end"))
		}
	}
	if rapid.Bool().Draw(t, "top") {
		flow(0)
	} else {
		block("", 0)
	}
	return b.String()
}

// normal makes yaml.v3's numbers doubles and its times text, as they stand in
// the file where the two agree.
func normal(v any) any {
	switch v := v.(type) {
	case int:
		return float64(v)
	case int64:
		return float64(v)
	case uint64:
		return float64(v)
	case float64:
		return v + 0 // no negative zero
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = normal(e)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = normal(e)
		}
		return out
	}
	return v
}

// dates makes every text that yaml.v3 would read as a time that time's text.
func dates(v any) any {
	switch v := v.(type) {
	case string:
		for _, form := range []string{time.RFC3339Nano, "2006-01-02 15:04:05", "2006-01-02"} {
			if at, err := time.Parse(form, v); err == nil {
				return at.UTC().Format(time.RFC3339Nano)
			}
		}
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = dates(e)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = dates(e)
		}
		return out
	}
	return normal(v)
}

// numbers makes OPA's JSON numbers doubles.
func numbers(v any) any {
	switch v := v.(type) {
	case interface{ Float64() (float64, error) }:
		f, err := v.Float64()
		if err != nil {
			return err
		}
		return f + 0
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = numbers(e)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = numbers(e)
		}
		return out
	}
	return v
}

// TestReadAgreesWithYAMLAndOPA is a trap test: what Read accepts means the same
// to yaml.v3 and to OPA, which reads the same files for `opa test` and `opa
// build`. It fails when either changes how it reads a scalar, or when Read stops
// refusing what they read otherwise.
func TestReadAgreesWithYAMLAndOPA(t *testing.T) {
	accepted := 0
	rapid.Check(t, func(t *rapid.T) {
		text := document(t)
		n, problems := Read("f.yaml", []byte(text))
		if len(problems) > 0 {
			return
		}
		accepted++
		got := n.Any()
		if text == "" {
			return // nothing: an empty object here, null there
		}
		var theirs any
		if err := yaml.Unmarshal([]byte(text), &theirs); err != nil {
			t.Fatalf("%q: Read accepts it and yaml.v3 says %v", text, err)
		}
		if want := normal(theirs); !reflect.DeepEqual(dates(got), dates(want)) {
			t.Fatalf("%q: Read gives %#v, yaml.v3 %#v", text, got, want)
		}
		var opa any
		if err := util.Unmarshal([]byte(text), &opa); err != nil {
			t.Fatalf("%q: Read accepts it and OPA says %v", text, err)
		}
		if want := numbers(opa); !reflect.DeepEqual(normal(got), want) {
			t.Fatalf("%q: Read gives %#v, OPA %#v", text, got, want)
		}
	})
	if accepted == 0 {
		t.Error("no random document was accepted, so nothing was compared")
	}
}

// TestScalarsAgreeWithOPA goes through every spelling once.
func TestScalarsAgreeWithOPA(t *testing.T) {
	for _, s := range scalars {
		text := "a: " + s + "\n"
		n, problems := Read("f.yaml", []byte(text))
		if len(problems) > 0 {
			continue
		}
		var opa any
		if err := util.Unmarshal([]byte(text), &opa); err != nil {
			t.Errorf("%q: Read accepts it and OPA says %v", text, err)
		} else if got, want := normal(n.Any()), numbers(opa); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: Read gives %#v, OPA %#v", text, got, want)
		}
	}
}

// TestNumbersAreDoubles holds every number that Read accepts against its
// spelling, for random spellings.
func TestNumbersAreDoubles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spelling := rapid.StringMatching(`[-+]?(0|[1-9][0-9]{0,18}|0[0-9x_]{1,3})(\.[0-9]{0,4})?([eE][-+]?[0-9]{1,3})?`).Draw(t, "number")
		n, problems := Read("f.yaml", []byte("a: "+spelling))
		if len(problems) > 0 {
			return
		}
		f, isNumber := n.At("a").Value.(float64)
		want, err := strconv.ParseFloat(spelling, 64)
		switch {
		case isNumber && (err != nil || f != want || math.IsInf(f, 0) || f == math.Trunc(f) && math.Abs(f) > 1<<53-1):
			t.Fatalf("%q is read as %v", spelling, f)
		case !isNumber && err == nil && jsonNumber.MatchString(spelling):
			t.Fatalf("%q is read as %#v, want the number %v", spelling, n.At("a").Value, want)
		}
	})
}
