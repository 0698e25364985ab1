package bundle

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"github.com/conjunct-project/conjunct/datafile"
)

// TestCELProblemPlaces: an error inside an expression is told at its row and
// column in the file, however the expression is written. The misspelt name is
// marked with ^ in the case and taken out before it is read.
func TestCELProblemPlaces(t *testing.T) {
	for _, c := range []struct{ name, text, reported string }{
		{name: "plain", text: "  - name: g\n    match: {tools: [pay]}\n    expression: args.amount < 5.0 && ^args.amuont < 5.0\n"},
		{name: "plain, at the start", text: "  - name: g\n    match: {tools: [pay]}\n    expression: ^agrs.amount < 5.0\n"},
		{name: "plain in a flow object", text: "  - {name: g, match: {tools: [pay]}, expression: args.amount < 5.0 && ^args.amuont < 5.0}\n"},
		{name: "double-quoted", text: "  - name: g\n    match: {tools: [pay]}\n    expression: \"args.amount < 5.0 && ^args.amuont < 5.0\"\n"},
		{name: "single-quoted", text: "  - name: g\n    match: {tools: [pay]}\n    expression: '^args.amuont < 5.0'\n"},
		{name: "literal, first row", text: "  - name: g\n    match: {tools: [pay]}\n    expression: |\n      ^args.amuont < 5.0\n"},
		{name: "literal, third row", text: "  - name: g\n    match: {tools: [pay]}\n    expression: |\n      args.amount < 5.0\n      && args.to != 'x'\n      && ^args.amuont < 5.0\n"},
		{name: "literal with a chomping mark", text: "  - name: g\n    match: {tools: [pay]}\n    expression: |-\n      args.amount < 5.0\n      && ^args.amuont < 5.0\n"},
		{name: "literal with a comment behind the mark", text: "  - name: g\n    match: {tools: [pay]}\n    expression: | # why\n      args.amount < 5.0\n      && ^args.amuont < 5.0\n"},
		{name: "literal with an empty row", text: "  - name: g\n    match: {tools: [pay]}\n    expression: |\n      args.amount < 5.0\n\n      && ^args.amuont < 5.0\n"},
		{name: "literal with a row indented more", text: "  - name: g\n    match: {tools: [pay]}\n    expression: |\n      args.amount < 5.0\n        && ^args.amuont < 5.0\n", reported: "the blanks of a row indented more count twice"},
		{name: "folded, first row", text: "  - name: g\n    match: {tools: [pay]}\n    expression: >-\n      ^args.amuont < 5.0 &&\n      args.to != 'x'\n"},
		{name: "folded, second row", text: "  - name: g\n    match: {tools: [pay]}\n    expression: >-\n      args.amount < 5.0 &&\n      ^args.amuont < 5.0\n"},
		{name: "folded, third row, later", text: "  - name: g\n    match: {tools: [pay]}\n    expression: >-\n      args.amount < 5.0\n      && args.to != 'x'\n      && args.to != 'y' && ^args.amuont < 5.0\n"},
		{name: "folded without a chomping mark", text: "  - name: g\n    match: {tools: [pay]}\n    expression: >\n      args.amount < 5.0\n      && ^args.amuont < 5.0\n"},
		{name: "folded with an empty row", text: "  - name: g\n    match: {tools: [pay]}\n    expression: >-\n      args.amount < 5.0\n\n      && ^args.amuont < 5.0\n", reported: "an empty row ends the search"},
		{name: "folded with a row indented more", text: "  - name: g\n    match: {tools: [pay]}\n    expression: >-\n      args.amount < 5.0\n        && ^args.amuont < 5.0\n", reported: "a row indented more is not folded"},
		{name: "folded with letters beyond ASCII in front", text: "  - name: g\n    match: {tools: [pay]}\n    expression: >-\n      args.to != 'größe'\n      && ^args.amuont < 5.0\n", reported: "bytes are taken for characters"},
		{name: "literal with letters beyond ASCII in front", text: "  - name: g\n    match: {tools: [pay]}\n    expression: |\n      args.to != 'größe' && ^args.amuont < 5.0\n"},
		{name: "plain with letters beyond ASCII in front", text: "  - name: g\n    match: {tools: [pay]}\n    expression: args.to != 'größe' && ^args.amuont < 5.0\n"},
		{name: "quoted behind letters beyond ASCII", text: "  - {name: g, message: größe, match: {tools: [pay]}, expression: \"args.amount < 5.0 && ^args.amuont < 5.0\"}\n", reported: "the column of characters is used on bytes"},
		{name: "plain over two rows", text: "  - name: g\n    match: {tools: [pay]}\n    expression: args.amount < 5.0 &&\n      ^args.amuont < 5.0\n", reported: "rows of a plain text are joined"},
		{name: "double-quoted over two rows", text: "  - name: g\n    match: {tools: [pay]}\n    expression: \"args.amount < 5.0 &&\n      ^args.amuont < 5.0\"\n", reported: "rows of a quoted text are joined"},
		{name: "double-quoted with an escape in front", text: "  - name: g\n    match: {tools: [pay]}\n    expression: \"args.to != \\\"x\\\" && ^args.amuont < 5.0\"\n", reported: "an escape is two bytes for one"},
		{name: "single-quoted with a doubled quote in front", text: "  - name: g\n    match: {tools: [pay]}\n    expression: 'args.to != ''x'' && ^args.amuont < 5.0'\n", reported: "a doubled quote is two bytes for one"},
		{name: "a variable, plain", text: "  - name: g\n    match: {tools: [pay]}\n    variables:\n      - name: v\n        expression: ^args.amuont\n    expression: variables.v == 5.0\n"},
		{name: "the second variable, folded", text: "  - name: g\n    match: {tools: [pay]}\n    variables:\n      - name: v\n        expression: args.amount\n      - name: w\n        expression: >-\n          args.amount +\n          ^args.amuont\n    expression: variables.v < variables.w\n"},
		{name: "a message", text: "  - name: g\n    match: {tools: [pay]}\n    expression: args.amount < 5.0\n    messageExpression: |\n      'too much: '\n      + ^args.too\n"},
		{name: "with CRLF", text: "  - name: g\r\n    match: {tools: [pay]}\r\n    expression: |\r\n      args.amount < 5.0\r\n      && ^args.amuont < 5.0\r\n"},
		{name: "in the second gate", text: "  - {name: f, expression: 1 == 1}\n  - name: g\n    match: {tools: [pay]}\n    expression: ^args.amuont < 5.0\n"},
		{name: "in the second gate of a name", text: "  - {name: g, expression: 1 == 1}\n  - name: g\n    match: {tools: [pay]}\n    expression: ^args.amuont < 5.0\n", reported: "a gate is found again by its name"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			text := "gates:\n" + c.text
			before, _, _ := strings.Cut(text, "^")
			row, col := strings.Count(before, "\n")+1, len([]rune(before[strings.LastIndex(before, "\n")+1:]))+1
			f := with(small(t), celFile, strings.Replace(text, "^", "", 1))
			ps := slices.DeleteFunc(problems(t, f), func(p Problem) bool { return strings.Contains(p.Message, "another gate") })
			got := places(f, ps)
			// cel-go points at the dot of a field: the name in front of it is where
			// the case has its mark.
			ok := false
			for _, d := range []int{0, len("args")} {
				ok = ok || slices.Equal(got, []string{fmt.Sprintf("%s:%d:%d cel_expression", celFile, row, col+d)})
			}
			if !ok && c.reported != "" {
				fault(t, "%s: problems at %q, want %d:%d or %d:%d", c.reported, got, row, col, row, col+len("args"))
			}
			if !ok {
				t.Errorf("problems at %q, want %d:%d or %d:%d\n%v", got, row, col, row, col+len("args"), ps)
			}
		})
	}
}

// TestDuplicateGateIsTheSecond holds against a fault: the first of two gates of a name is
// blamed for the second.
func TestDuplicateGateIsTheSecond(t *testing.T) {
	f := with(small(t), celFile, "gates:\n  - {name: g, expression: 1 == 1}\n  - {name: g, expression: 1 == 1}\n")
	ps := problems(t, f)
	if len(ps) != 1 || !strings.Contains(ps[0].Message, "another gate") {
		t.Fatalf("problems %v, want one of another gate", ps)
	}
	if ps[0].Row != 3 {
		fault(t, "%v, want row 3", ps[0])
	}
}

// TestMatchProblemIsAtTheMatch holds against a fault: an undeclared tool is told at the
// gate and not at its row.
func TestMatchProblemIsAtTheMatch(t *testing.T) {
	f := with(small(t), celFile, "gates:\n  - name: g\n    expression: 1 == 1\n    match:\n      tools: [pay, lok]\n")
	ps := problems(t, f)
	if len(ps) != 1 || !strings.Contains(ps[0].Message, "lok") {
		t.Fatalf("problems %v, want one of the tool lok", ps)
	}
	if ps[0].Row != 5 {
		fault(t, "%v, want row 5", ps[0])
	}
}

// TestWarningsHavePlaces: a warning does not keep a bundle from loading, and
// has a place and the text of its row.
func TestWarningsHavePlaces(t *testing.T) {
	f := edit(t, small(t), registryFile, "      note: {type: string}\n", "      tags: {type: array}\n")
	f = with(f, celFile, "gates:\n  - name: g\n    match: {tools: [pay]}\n    expression: args.tags.all(x, x == 'a')\n")
	b := load(t, f)
	if len(b.Warnings) != 1 {
		t.Fatalf("warnings %v, want one", b.Warnings)
	}
	w := b.Warnings[0]
	if !w.Warning || w.File != "small/"+celFile || w.Row != 4 || w.Col < 17 || !strings.Contains(w.Line, ".all(") {
		t.Errorf("got %+v", w)
	}
}

// TestWithinFindsEveryCharacter: whatever way a text is written in YAML, the place
// of each of its characters is where that character stands in the file, or where
// its escape begins.
func TestWithinFindsEveryCharacter(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		style := rapid.SampledFrom([]string{"plain", "'", `"`, "|", ">", "|-", ">- # why"}).Draw(rt, "style")
		source := "k:\n  größe: 1\n  v: " + written(rt, style) + "\n"
		root, problems := datafile.Read("f.yaml", []byte(source))
		if len(problems) > 0 {
			rt.Skip(source)
		}
		n := root.At("k", "v")
		text, ok := n.Value.(string)
		if !ok {
			rt.Skip(source)
		}
		files, rows := Files{Content: map[string][]byte{"f.yaml": []byte(source)}}, strings.Split(source, "\n")
		line, column := 1, 0
		for _, r := range text {
			if column++; r == '\n' {
				line, column = line+1, 0
			}
			if unicode.IsSpace(r) {
				continue
			}
			row, col := within(files, n, text, line, column)
			if row < 1 || row > len(rows) || col < 1 || col > len([]rune(rows[row-1])) {
				rt.Fatalf("%q: %q at %d:%d of the text is placed at %d:%d, where nothing is", source, r, line, column, row, col)
			}
			got := []rune(rows[row-1])[col-1]
			if escaped := style == `"` && got == '\\'; got != r && !escaped {
				rt.Fatalf("%q: %q at %d:%d of the text is placed at %d:%d, where %q is", source, r, line, column, row, col, got)
			}
		}
	})
}

// written is a text of a few words in a style of YAML, over several rows.
func written(rt *rapid.T, style string) string {
	word := rapid.StringOfN(rapid.SampledFrom([]rune(`aé<.'"\`)), 1, 4, -1)
	words := rapid.SliceOfN(word, 1, 6).Draw(rt, "words")
	var out strings.Builder
	for i, w := range words {
		switch style {
		case "'":
			w = strings.ReplaceAll(w, "'", "''")
		case `"`:
			w = strings.NewReplacer(`"`, `\"`, `\`, `\\`).Replace(w)
			if rapid.Bool().Draw(rt, "escaped") {
				w = strings.NewReplacer("é", `\u00e9`, "a", `\x61`).Replace(w)
			}
		}
		between := []string{" ", "\n    ", "\n\n    ", "  "}
		switch {
		case strings.ContainsAny(style[:1], "|>"):
			between = append(between, "\n      ")
		case style == `"`:
			between = append(between, `\n`, ` \t `, "\\\n    ")
		}
		switch {
		case i > 0:
			out.WriteString(rapid.SampledFrom(between).Draw(rt, "between"))
		case strings.ContainsAny(style[:1], "|>"):
			out.WriteString(style + "\n    ")
		case style != "plain":
			out.WriteString(style)
		}
		out.WriteString(w)
	}
	if style == "'" || style == `"` {
		out.WriteString(style)
	}
	return out.String()
}
