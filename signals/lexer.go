package signals

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// tokenKind tells tokens of source text apart.
type tokenKind uint8

const (
	wordToken      tokenKind = iota + 1
	numberToken              // a number literal
	stringToken              // a string or character literal, quotes included
	markToken                // punctuation, operators of several characters whole
	lineToken                // the end of a line
	directiveToken           // a comment that a compiler obeys
)

// token is a piece of source text. Comments are none.
type token struct {
	kind   tokenKind
	indent int32 // columns before the first token of its line
	text   string
}

func (t token) is(text string) bool { return t.kind != stringToken && t.text == text }

// language is how to tell comments and strings from code.
type language struct {
	comments   []string // to the end of the line
	block      [2]string
	nested     bool     // block comments nest
	long       []string // quotes of strings that go over lines
	quotes     string   // quotes of strings that end with the line
	multiline  bool     // those go over lines too
	templates  bool     // a back quote begins a string with code in it
	patterns   bool     // a slash may begin a regular expression
	lifetimes  bool     // a quote may begin a name
	rawStrings bool     // r"..", r#".."#
	prefixes   bool     // letters before a quote belong to it
	heredocs   bool
}

// ecosystem is a language with its usual test runners, CI or configuration.
type ecosystem string

const (
	goTests     ecosystem = "go"
	pythonTests ecosystem = "python"
	javaTests   ecosystem = "java"
	jsTests     ecosystem = "js"
	rubyTests   ecosystem = "ruby"
	rustTests   ecosystem = "rust"
	csharpTests ecosystem = "csharp"
	phpTests    ecosystem = "php"
	swiftTests  ecosystem = "swift"
	cppTests    ecosystem = "cpp"
	dartTests   ecosystem = "dart"
	elixirTests ecosystem = "elixir"
	shellTests  ecosystem = "shell"
	ciFiles     ecosystem = "ci"
	configFiles ecosystem = "config"
	snapshots   ecosystem = "snapshot" // what tests expect, in files of their runner's
)

var languages = map[ecosystem]language{
	goTests:     {comments: []string{"//"}, block: [2]string{"/*", "*/"}, long: []string{"`"}, quotes: `"'`},
	pythonTests: {comments: []string{"#"}, long: []string{`"""`, `'''`}, quotes: `"'`, prefixes: true},
	javaTests:   {comments: []string{"//"}, block: [2]string{"/*", "*/"}, long: []string{`"""`}, quotes: `"'`},
	jsTests:     {comments: []string{"//"}, block: [2]string{"/*", "*/"}, quotes: `"'`, templates: true, patterns: true},
	rubyTests:   {comments: []string{"#"}, block: [2]string{"=begin", "=end"}, quotes: `"'`, multiline: true, patterns: true, heredocs: true},
	rustTests:   {comments: []string{"//"}, block: [2]string{"/*", "*/"}, nested: true, quotes: `"`, multiline: true, lifetimes: true, rawStrings: true},
	csharpTests: {comments: []string{"//"}, block: [2]string{"/*", "*/"}, long: []string{`"""`}, quotes: `"'`},
	// A mark without a space behind it begins an attribute.
	phpTests:    {comments: []string{"//", "# "}, block: [2]string{"/*", "*/"}, quotes: `"'`, multiline: true},
	swiftTests:  {comments: []string{"//"}, block: [2]string{"/*", "*/"}, nested: true, long: []string{`"""`}, quotes: `"`},
	cppTests:    {comments: []string{"//"}, block: [2]string{"/*", "*/"}, quotes: `"'`},
	dartTests:   {comments: []string{"//"}, block: [2]string{"/*", "*/"}, nested: true, long: []string{`"""`, `'''`}, quotes: `"'`, prefixes: true},
	elixirTests: {comments: []string{"#"}, long: []string{`"""`}, quotes: `"`},
	// One begins the length of a variable.
	shellTests: {comments: []string{"# "}, quotes: `"'`, multiline: true, heredocs: true},
}

// lexer cuts source text into tokens.
type lexer struct {
	language
	text   string
	at     int
	indent int32
	tokens []token
	// unclosed are the quotes that nothing closes before the end of the line that
	// stands here: to look again at each would take for ever.
	unclosed map[byte]int
	// open says that the text ends inside a comment or a string: it is a part of
	// something, and what is code in it is not known.
	open bool
}

// lex cuts source text into tokens. The second result is false where the text
// ends inside a comment or a string of several lines.
func lex(l language, text string) ([]token, bool) {
	x := lexer{language: l, text: text, tokens: make([]token, 0, len(text)*2/5+8)}
	x.newLine()
	for x.at < len(x.text) {
		x.next()
	}
	return x.tokens, !x.open
}

func (x *lexer) rest() string { return x.text[x.at:] }

func (x *lexer) newLine() {
	x.indent = 0
	for i := x.at; i < len(x.text); i++ {
		switch x.text[i] {
		case ' ':
			x.indent++
		case '\t':
			x.indent += 8
		default:
			return
		}
	}
}

func (x *lexer) emit(kind tokenKind, end int) {
	text := x.text[x.at:end]
	if kind == stringToken && (x.templates || x.prefixes || x.heredocs) {
		text = quotedAlike(text)
	}
	x.tokens = append(x.tokens, token{kind, x.indent, text})
	x.at = end
}

// quotedAlike writes a plain string with the one kind of quotes, where a language
// does not tell them apart.
func quotedAlike(s string) string {
	if n := len(s); n >= 2 && s[0] == '\'' && s[n-1] == '\'' && !strings.ContainsAny(s[1:n-1], "'\"\\#$") {
		return `"` + s[1:n-1] + `"`
	}
	return s
}

var (
	rawOpen = re(`^b?r(#*)"`)
	heredoc = re(`^<<[~-]?(["']?)([A-Z_]+)["']?`)
)

// operators are the marks of several characters, the longest first.
var operators = []string{"===", "!==", "...", "==", "!=", "<=", ">=", "=>", "->", "&&", "||", ":=", "::", "?.", "<<", ">>", "**"}

// operatorSeconds are the second characters of all operators: nearly every mark is
// told from them by what follows it.
const operatorSeconds = "=.>&|:<*"

// operator is the length of the operator that a text begins with, or 0.
func operator(s string) int {
	if len(s) < 2 || strings.IndexByte(operatorSeconds, s[1]) < 0 {
		return 0
	}
	for _, o := range operators {
		if strings.HasPrefix(s, o) {
			return len(o)
		}
	}
	return 0
}

func (x *lexer) next() {
	rest := x.rest()
	r, size := utf8.DecodeRuneInString(rest)
	switch {
	case r == '\n':
		x.emit(lineToken, x.at+1)
		x.newLine()
	case unicode.IsSpace(r):
		x.at += size
	case !x.prefixes && !x.rawStrings && beginsWord(r): // before what no letter begins
		x.emit(wordToken, x.at+wordEnd(rest))
	case x.comment(rest), x.quoted(rest):
	case beginsWord(r):
		x.emit(wordToken, x.at+wordEnd(rest))
	case '0' <= r && r <= '9':
		end := wordEnd(rest)
		if end+1 < len(rest) && rest[end] == '.' && '0' <= rest[end+1] && rest[end+1] <= '9' {
			end += 1 + wordEnd(rest[end+1:])
		}
		x.emit(numberToken, x.at+end)
	default:
		x.emit(markToken, x.at+max(size, operator(rest)))
	}
}

func beginsWord(r rune) bool { return r == '_' || r == '$' || unicode.IsLetter(r) }

// wordEnd is where letters, digits, underscores and dollars end.
func wordEnd(s string) int {
	for i, r := range s {
		if r != '_' && r != '$' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return i
		}
	}
	return len(s)
}

// prefixed is the length of the letters before a Python string, if it is one.
func prefixed(s string) int {
	for i := range min(3, len(s)) {
		switch s[i] {
		case '"', '\'':
			return i
		case 'r', 'R', 'b', 'B', 'u', 'U', 'f', 'F', 't', 'T':
		default:
			return 0
		}
	}
	return 0
}

// comment goes over a comment, and keeps what a Go compiler obeys.
func (x *lexer) comment(rest string) bool {
	if x.block[0] != "" && strings.HasPrefix(rest, x.block[0]) {
		x.at += x.blockEnd(rest)
		return true
	}
	for _, c := range x.comments {
		if !strings.HasPrefix(rest, c) {
			continue
		}
		end := len(rest)
		if i := strings.IndexByte(rest, '\n'); i >= 0 {
			end = i
		}
		line := strings.TrimSpace(rest[:end])
		if c == "//" && (strings.HasPrefix(line, "//go:build ") || strings.HasPrefix(line, "// +build ") || strings.HasPrefix(line, "//+build ")) {
			x.emit(directiveToken, x.at+end)
		} else {
			x.at += end
		}
		return true
	}
	return false
}

func (x *lexer) blockEnd(rest string) int {
	depth := 0
	for i := 0; i < len(rest); {
		switch {
		case strings.HasPrefix(rest[i:], x.block[0]) && (x.nested || depth == 0):
			depth++
			i += len(x.block[0])
		case strings.HasPrefix(rest[i:], x.block[1]):
			depth--
			i += len(x.block[1])
		default:
			i++
		}
		if depth == 0 {
			return i
		}
	}
	x.open = true
	return len(rest)
}

// quoted takes a literal whole.
func (x *lexer) quoted(rest string) bool {
	if x.prefixes {
		n := prefixed(rest)
		rest = rest[n:]
		x.at += n
	}
	if x.rawStrings && (rest[0] == 'r' || rest[0] == 'b') {
		if m := rawOpen.FindStringSubmatch(rest); m != nil {
			x.until(len(m[0]), `"`+m[1], false)
			return true
		}
	}
	if x.heredocs && rest[0] == '<' {
		if m := heredoc.FindStringSubmatch(rest); m != nil {
			return x.heredocText(rest, m)
		}
	}
	for _, q := range x.long {
		if strings.HasPrefix(rest, q) {
			x.until(len(q), q, q != "`")
			return true
		}
	}
	switch {
	case x.templates && rest[0] == '`':
		x.template(rest)
		return true
	case x.lifetimes && rest[0] == '\'':
		return x.character(rest)
	case strings.IndexByte(x.quotes, rest[0]) >= 0:
		return x.short(rest)
	case x.patterns && rest[0] == '/':
		return x.pattern(rest)
	}
	return false
}

// until takes what goes to a closing quote.
func (x *lexer) until(start int, quote string, escapes bool) {
	rest := x.rest()
	for i := start; i < len(rest); i++ {
		if escapes && rest[i] == '\\' {
			i++
		} else if strings.HasPrefix(rest[i:], quote) {
			x.emit(stringToken, x.at+i+len(quote))
			return
		}
	}
	x.open = true
	x.emit(stringToken, len(x.text))
}

// short takes a string that ends with its line. A quote that nothing closes is
// punctuation: an apostrophe in a text between tags.
func (x *lexer) short(rest string) bool {
	if x.at < x.unclosed[rest[0]] {
		return false
	}
	end := len(rest)
	for i := 1; i < len(rest); i++ {
		if rest[i] == '\n' && !x.multiline {
			end = i
			break
		}
		switch {
		case rest[i] == '\\':
			i++
		case rest[i] == rest[0]:
			x.emit(stringToken, x.at+i+1)
			return true
		}
	}
	if x.unclosed == nil {
		x.unclosed = map[byte]int{}
	}
	x.unclosed[rest[0]] = x.at + end
	return false
}

// template takes a template literal; the code in it is code.
func (x *lexer) template(rest string) {
	start := x.at
	for i := 1; i < len(rest); i++ {
		switch {
		case rest[i] == '\\':
			i++
		case rest[i] == '`':
			x.emit(stringToken, start+i+1)
			return
		case strings.HasPrefix(rest[i:], "${"):
			x.emit(stringToken, start+i)
			x.at += 2
			x.code()
			if x.at >= len(x.text) {
				x.open = true
				return
			}
			i = x.at - start - 1
		}
	}
	x.open = true
	x.emit(stringToken, len(x.text))
}

// code takes the tokens up to the brace that closes what is open.
func (x *lexer) code() {
	for depth := 1; x.at < len(x.text); {
		switch x.text[x.at] {
		case '{':
			depth++
		case '}':
			depth--
		}
		if depth == 0 {
			x.at++
			return
		}
		x.next()
	}
}

var character = re(`^'(?:\\u\{[0-9A-Fa-f]+\}|\\x..|\\.|[^'\\])'`)

func (x *lexer) character(rest string) bool {
	c := character.FindString(rest)
	if c == "" {
		return false
	}
	x.emit(stringToken, x.at+len(c))
	return true
}

// maxPattern is the length of the longest regular expression that is taken for one.
const maxPattern = 1000

// pattern takes a regular expression where a value may begin.
func (x *lexer) pattern(rest string) bool {
	if n := len(x.tokens); n > 0 {
		last := x.tokens[n-1]
		value := last.kind == numberToken || last.kind == stringToken || last.is(")") || last.is("]") || last.is("}") ||
			last.kind == wordToken && !slices.Contains([]string{"return", "typeof", "case", "in", "of", "if", "unless", "when", "and", "or", "not"}, last.text)
		if value {
			return false
		}
	}
	class := false
	for i := 1; i < min(len(rest), maxPattern) && rest[i] != '\n'; i++ {
		switch {
		case rest[i] == '\\':
			i++
		case rest[i] == '[':
			class = true
		case rest[i] == ']':
			class = false
		case rest[i] == '/' && !class:
			x.emit(stringToken, x.at+i+1)
			return true
		}
	}
	return false
}

// heredocText takes the lines up to the closing word.
func (x *lexer) heredocText(rest string, m []string) bool {
	line := strings.IndexByte(rest, '\n')
	if line < 0 {
		return false
	}
	end := regexp.MustCompile(`(?m)^[ \t]*` + m[2] + `\r?$`).FindStringIndex(rest[line:])
	if end == nil {
		x.open = true
		x.emit(stringToken, len(x.text))
		return true
	}
	x.emit(stringToken, x.at+line+end[1])
	return true
}

// group is the index behind the bracket that closes the one at i, or the length.
func group(ts []token, i int) int {
	depth := 0
	for ; i < len(ts); i++ {
		if ts[i].kind == stringToken {
			continue
		}
		switch ts[i].text {
		case "(", "[", "{":
			depth++
		case ")", "]", "}":
			if depth--; depth <= 0 {
				return i + 1
			}
		}
	}
	return len(ts)
}

// plain joins tokens, without the ends of lines, to compare by.
func plain(ts []token) string {
	if len(ts) == 1 && ts[0].kind != lineToken {
		return ts[0].text
	}
	size := 0
	for _, t := range ts {
		size += len(t.text) + 1
	}
	var b strings.Builder
	b.Grow(size)
	for _, t := range ts {
		if t.kind == lineToken {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(t.text)
	}
	return b.String()
}

// alike reports tokens that plain makes the same text of.
func alike(a, b []token) bool {
	same := func(x, y token) bool { return x.kind == y.kind && x.text == y.text }
	return slices.EqualFunc(a, b, same) || plain(a) == plain(b)
}

// solid is tokens without the ends of lines.
func solid(ts []token) []token {
	lineEnd := func(t token) bool { return t.kind == lineToken }
	if !slices.ContainsFunc(ts, lineEnd) {
		return slices.Clip(ts)
	}
	return slices.DeleteFunc(slices.Clone(ts), lineEnd)
}

// mentioned reports whether a token reads as one of some texts.
func mentioned(ts []token, texts ...string) bool {
	for _, t := range ts {
		if slices.Contains(texts, t.text) {
			return true
		}
	}
	return false
}

// split cuts tokens at separators that stand in no bracket.
func split(ts []token, separators ...string) (parts [][]token) {
	if !mentioned(ts, separators...) {
		return [][]token{ts}
	}
	parts = make([][]token, 0, 2)
	start := 0
	for i := 0; i < len(ts); i++ {
		switch t := ts[i]; {
		case t.kind == stringToken:
		case t.text == "(" || t.text == "[" || t.text == "{":
			i = group(ts, i) - 1
		case slices.Contains(separators, t.text):
			parts = append(parts, ts[start:i])
			start = i + 1
		}
	}
	return append(parts, ts[start:])
}
