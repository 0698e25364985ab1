package signals

import (
	"bytes"
	"compress/bzip2"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"encoding/base32"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"html"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	maxDecodings = 8       // encodings inside one another
	maxPieces    = 200     // readings of one text
	maxText      = 1 << 19 // bytes of one text, decoded or not
	maxTotal     = 1 << 22 // bytes of all readings of one text
	minRun       = 16      // printable bytes in a row that make a text of what is not
	minEncoded   = 16      // letters of an alphabet in a row that may be in it
)

// piece is one reading of a text: what it comes to after some decodings.
type piece struct {
	text      string
	encodings []string
	certainty certainty
}

// decoder reads a text in every way it knows, decodings inside one another
// included. problem says why a reading may be missing; empty: none is.
type decoder struct {
	pieces  []piece
	seen    map[string]bool
	total   int
	problem string
}

// readings lists every reading of a text, the text itself first.
func readings(start ...piece) (pieces []piece, problem string) {
	d := decoder{seen: map[string]bool{}}
	for _, p := range start {
		d.add(p)
	}
	for i := 0; i < len(d.pieces) && d.problem == ""; i++ {
		d.decode(d.pieces[i])
	}
	return d.pieces, d.problem
}

// add keeps a reading that is new.
func (d *decoder) add(p piece) {
	switch {
	case p.text == "" || d.seen[p.text]:
		return
	case len(p.text) > maxText:
		d.problem, p.text = "too_large", p.text[:maxText]
	case len(p.encodings) > maxDecodings, len(d.pieces) == maxPieces, d.total > maxTotal:
		d.problem = "too_deep"
		return
	}
	d.seen[p.text] = true
	d.total += len(p.text)
	d.pieces = append(d.pieces, p)
}

// from adds what one decoding, or several at once, make of a piece.
func (d *decoder) from(p piece, text string, c certainty, encodings ...string) {
	if c == certain {
		c = p.certainty
	}
	d.add(piece{text: text, encodings: slices.Concat(p.encodings, encodings), certainty: c})
}

func (d *decoder) decode(p piece) {
	d.letters(p)
	for _, group := range escapings {
		text := p.text
		var names []string
		for _, e := range group {
			if strings.Contains(text, e.sign) {
				if next := e.decode(text); next != text {
					text, names = next, append(names, e.name)
				}
			}
		}
		if len(names) > 0 {
			d.from(p, text, certain, names...)
		}
	}
	d.turned(p)
	d.join(p)
	for _, r := range runs {
		d.decodeRuns(p, r)
	}
}

// letters reads a text without what is invisible in it and with the letters that
// it seems to have.
func (d *decoder) letters(p piece) {
	text, names := visible(p.text), []string(nil)
	if text != p.text {
		names = append(names, "invisible")
	}
	if folded := latin(text); folded != text {
		text, names = folded, append(names, "homoglyph")
	}
	if names != nil {
		d.from(p, text, certain, names...)
	}
}

// turned reads a text back to front, or with its letters turned by thirteen, where
// something in it says that a program would.
func (d *decoder) turned(p piece) {
	for _, t := range turnings {
		there := slices.ContainsFunc(t.signs, func(sign string) bool { return strings.Contains(p.text, sign) })
		if there && !slices.Contains(p.encodings, t.name) && t.said.MatchString(p.text) {
			d.from(p, strings.Map(t.letter, t.order(p.text)), certain, t.name)
		}
	}
}

var turnings = []struct {
	name   string
	signs  []string // nothing is turned where none of these is
	said   pattern
	order  func(string) string
	letter func(rune) rune
}{
	{"reversed", []string{"[::-1]", "rev", "Rev", "\u202e"}, re(`\[::-1\]|(?i:reversed?\()|strrev\(|\|[ \t]*rev\b|\x{202e}`), backToFront, func(r rune) rune { return r }},
	{"rot13", []string{"13", "n-z", "N-Z"}, re(`(?i)rot_?-?13|n-za-m`), func(s string) string { return s }, rot13},
}

func backToFront(s string) string {
	rs := []rune(s)
	slices.Reverse(rs)
	return string(rs)
}

func rot13(r rune) rune {
	switch {
	case 'a' <= r && r <= 'z':
		return 'a' + (r-'a'+13)%26
	case 'A' <= r && r <= 'Z':
		return 'A' + (r-'A'+13)%26
	}
	return r
}

// join reads a text with its parts put together: as a program certainly would,
// and as it may.
func (d *decoder) join(p piece) {
	text, c := p.text, certain
	var names []string
	if next := spaced.ReplaceAllStringFunc(text, unspaced); next != text {
		d.from(p, next, possible, "spaced")
	}
	if next := parts(text); next != "" {
		d.from(p, next, possible, "parts")
	}
	for _, j := range joinings {
		if !strings.ContainsAny(text, j.sign) {
			continue
		}
		sure := j.certainty == certain || j.said.MatchString(text)
		if !sure && c == certain && names != nil {
			d.from(p, text, c, names...)
		}
		if next := j.between.ReplaceAllString(text, "$1"); next != text {
			text, names = next, append(names, j.name)
			if !sure {
				c = possible
			}
		}
	}
	if names != nil {
		d.from(p, text, c, names...)
	}
}

// escaping is an encoding of single characters in the midst of others.
type escaping struct {
	name   string
	sign   string // nothing is encoded where this is not
	decode func(string) string
}

var (
	percentSign = re(`%[0-9A-Fa-f]{2}`)
	escapeSign  = re(`\\+(?:u[0-9A-Fa-f]{4}|u\{[0-9A-Fa-f]{1,6}\}|U[0-9A-Fa-f]{8}|x[0-9A-Fa-f]{2}|[0-3][0-7]{2})`)
	printedSign = re(`=[0-9A-F]{2}|=\r?\n`)
	listedSign  = re(`(?:(?:0[xX])?[0-9A-Fa-f]{2,3}[\s,:;]+){11,}(?:0[xX])?[0-9A-Fa-f]{2,3}`)
	listed      = re(`(?:0[xX])?[0-9A-Fa-f]{2,3}`)
)

// escapings are applied together where they are in one group. Those that much
// plain text looks like are applied alone.
var escapings = [][]escaping{
	{
		{"percent", "%", func(s string) string {
			return percentSign.ReplaceAllStringFunc(s, func(m string) string { return oneByte(m[1:], 16) })
		}},
		{"escape", `\`, func(s string) string { return toText(escapeSign.ReplaceAllStringFunc(s, unescape)) }},
		{"entity", "&", html.UnescapeString},
	},
	{{"quoted_printable", "=", func(s string) string {
		return printedSign.ReplaceAllStringFunc(s, func(m string) string {
			if strings.HasSuffix(m, "\n") {
				return ""
			}
			return oneByte(m[1:], 16)
		})
	}}},
	{{"codes", ",", func(s string) string { return listedSign.ReplaceAllStringFunc(s, fromList) }}},
	{{"codes", ":", func(s string) string { return listedSign.ReplaceAllStringFunc(s, fromList) }}},
	{{"dump", " ", fromDump}},
	{{"codes", " ", func(s string) string { return listedSign.ReplaceAllStringFunc(s, fromList) }}},
}

// dumped is a line of a dump in hexadecimal: where it stands, and its bytes.
var dumped = re(`(?m)^[ \t]*[0-9A-Fa-f]{4,16}:?[ \t]+((?:[0-9A-Fa-f]{2}){1,8}(?:[ \t]{1,3}(?:[0-9A-Fa-f]{2}){1,8}){0,31})(?:[ \t|].*)?\r?$`)

// fromDump reads the bytes of a dump as one text.
func fromDump(s string) string {
	lines := dumped.FindAllStringSubmatch(s, -1)
	if lines == nil {
		return s
	}
	var b strings.Builder
	for _, m := range lines {
		b.WriteString(strings.Join(strings.Fields(m[1]), ""))
	}
	digits := b.String()
	raw, err := hex.DecodeString(digits[:len(digits)/2*2])
	if err != nil {
		return s
	}
	text, _, _ := open(raw)
	return text
}

// oneByte is the byte with a number.
func oneByte(digits string, base int) string {
	n, err := strconv.ParseUint(digits, base, 8)
	if err != nil {
		return digits
	}
	return string([]byte{byte(n)})
}

// toText is for what decodings made of single bytes: it stays as it is where it
// is text.
func toText(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return printable([]byte(s))
}

func unescape(m string) string {
	m = strings.TrimLeft(m, `\`)
	base, digits := 16, strings.Trim(m[1:], "{}")
	if m[0] >= '0' && m[0] <= '3' {
		return oneByte(m, 8)
	}
	if m[0] == 'x' {
		return oneByte(digits, base)
	}
	n, err := strconv.ParseUint(digits, base, 32)
	if err != nil || n > unicode.MaxRune {
		return m
	}
	return string(rune(n))
}

// fromList reads a list of character codes, decimal or hexadecimal as the list
// looks, and leaves other lists of numbers alone.
func fromList(m string) string {
	for _, base := range []int{10, 16} {
		var b []byte
		for _, n := range listed.FindAllString(m, -1) {
			if base == 16 {
				n = strings.TrimPrefix(strings.ToLower(n), "0x")
			}
			code, err := strconv.ParseUint(n, base, 8)
			if err != nil || code >= utf8.RuneSelf || code < ' ' && !unicode.IsSpace(rune(code)) {
				b = nil
				break
			}
			b = append(b, byte(code))
		}
		if b != nil {
			return string(b)
		}
	}
	return m
}

// joining is a way to write one text in parts.
type joining struct {
	name      string
	sign      string  // one of these characters is there
	between   pattern // what stands between the parts, and its group stays
	certainty certainty
	said      pattern // where this is said of the text, it is certain all the same
}

var joinings = []joining{
	{"concatenation", "\"'`", re("[\"'`][ \t]*(?:\\\\?\r?\n[ \t]*)?(?:\\+|\\.\\.?|&|<>|\\|\\||\\^|~|-join)?[ \t]*(?:\\\\?\r?\n[ \t]*)?[uUrRbBfF]?[\"'`]"), certain, unsaid},
	{"interpolation", "$", re("[$]\\{\\s*[\"'`]([^\"'`{}]+)[\"'`]\\s*\\}"), certain, unsaid},
	{"continuation", "\\", re(`\\\r?\n[ \t]*`), certain, unsaid},
	{"list", "\"'`", re("[\"'`]\\s*,\\s*[\"'`]"), possible, re(`\.join\(|\bimplode\(|-join\b|\bconcat\(|\bpaste0?\(`)},
	{"empty_quotes", "\"'\\$", re("\"\"|''|``|\\\\([A-Z0-9])|\\$@|\\$\\*|\\$\\{\\s*[\"'`]*\\s*\\}"), possible, unsaid},
}

// unsaid is never said.
var unsaid = re(`[^\s\S]`)

// spaced is a text whose letters stand apart.
var spaced = re(`(?:\b[A-Za-z0-9][ _.|\x{a0}-]){11,}[A-Za-z0-9]\b`)

func unspaced(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= utf8.RuneSelf || strings.ContainsRune(" _.|-", r) {
			return -1
		}
		return r
	}, s)
}

// part is a value in a program that may be a part of another.
var part = re("(?:^|[\\s;&({,])[A-Za-z_$][\\w$.]{0,40}[ \t]*:?=[ \t]*[\"'`]?([A-Za-z0-9+/_=-]{2,64})[\"'`]?")

// parts puts the values that a program gives to names together, each with those
// that follow it.
func parts(s string) string {
	if !strings.Contains(s, "=") {
		return ""
	}
	found := part.FindAllStringSubmatch(s, maxJoined)
	values := make([]string, len(found))
	for i, m := range found {
		values[i] = m[1]
	}
	return neighbours(values)
}

const (
	maxJoined = 64  // texts that are put together
	joinTo    = 200 // bytes of texts put together
)

// neighbours puts each text together with the few that follow it, one result a
// line, and with many where they are very short.
func neighbours(texts []string) string {
	var b strings.Builder
	for i := range texts {
		joined := texts[i]
		for j := i + 1; j < len(texts) && len(joined) <= joinTo && (j-i <= 3 || len(texts[j]) <= 4); j++ {
			joined += texts[j]
			if len(joined) <= joinTo && len(joined) >= 2*shortest {
				b.WriteString(joined)
				b.WriteString("\n;\n")
			}
		}
	}
	return b.String()
}

// run is an encoding of a whole stretch of text.
type run struct {
	name    string
	letters letters
	wrapped bool                  // with space between the letters
	min     int                   // letters
	decode  func(string) [][]byte // how it may be read, the likeliest first
}

// letters is the alphabet of an encoding.
type letters string

func (l letters) has(b byte) bool {
	switch {
	case 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9':
		switch l {
		case "base64":
			return true
		case "hex":
			return b <= '9' || 'a' <= b && b <= 'f' || 'A' <= b && b <= 'F'
		}
		return 'A' <= b && b <= 'Z' || '2' <= b && b <= '7'
	}
	return l == "base64" && (b == '+' || b == '/' || b == '-' || b == '_')
}

var runs = []run{
	{"base64", "base64", false, minEncoded, base64s},
	{"base64", "base64", true, minEncoded, wrapped64},
	{"hex", "hex", false, 24, hexes},
	{"hex", "hex", true, 24, wrappedHex},
	{"base32", "base32", false, 26, base32s},
}

// find lists the stretches of a text that may be in the encoding, as begin and
// end. A wrapped one has space, or an escaped end of line, in it.
func (r run) find(s string) (found [][2]int) {
	for i := 0; i < len(s); i++ {
		if !r.letters.has(s[i]) {
			continue
		}
		start, end, n, spaces := i, i, 0, 0
		for i < len(s) {
			switch gap := 0; {
			case r.letters.has(s[i]):
				n++
				i++
				end = i
				continue
			case !r.wrapped:
			default:
				if gap = space(s[i:]); gap > 0 {
					spaces++
					i += gap
					continue
				}
			}
			break
		}
		if n >= r.min && (!r.wrapped || spaces > 0) {
			for end < len(s) && s[end] == '=' {
				end++
			}
			found = append(found, [2]int{start, end})
		}
	}
	return found
}

// space is the length of what a line is wrapped with at the beginning of a text.
func space(s string) int {
	switch {
	case s[0] == ' ' || s[0] == '\t' || s[0] == '\n' || s[0] == '\r':
		return 1
	case len(s) > 1 && s[0] == '\\' && (s[1] == 'n' || s[1] == 'r' || s[1] == '\n'):
		return 2
	}
	return 0
}

// decodeRuns reads the stretches of one encoding: in their place where they are
// text, so that what stands before them is still before them; and by themselves.
func (d *decoder) decodeRuns(p piece, r run) {
	found := r.find(p.text)
	if found == nil {
		return
	}
	var inPlace strings.Builder
	apart, last := map[string][]string{}, 0
	for _, at := range found {
		for i, raw := range r.decode(p.text[at[0]:at[1]]) {
			text, inner, problem := open(raw)
			if problem != "" {
				d.problem = problem
			}
			if text == "" {
				continue
			}
			if i == 0 && inner == "" && utf8.Valid(raw) {
				inPlace.WriteString(p.text[last:at[0]])
				inPlace.WriteString(text)
				last = at[1]
				continue
			}
			apart[inner] = append(apart[inner], text)
		}
	}
	if last > 0 {
		inPlace.WriteString(p.text[last:])
		d.from(p, inPlace.String(), certain, r.name)
	}
	for _, packing := range sortedKeys(apart) {
		names := []string{r.name}
		if packing != "" {
			names = append(names, packing)
		}
		d.from(p, strings.Join(apart[packing], "\n;\n"), certain, names...)
	}
}

// base64s decodes in the standard and the URL alphabet. What stands before may
// use the same letters, so it is also read from the next three characters on, and
// from behind each separator that is a letter of the alphabet too.
func base64s(s string) (out [][]byte) {
	s = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(s, "="))
	starts := []int{0, 1, 2, 3}
	for i := range len(s) {
		if (s[i] == '/' || s[i] == '+') && len(starts) < 16 && i+16 < len(s) && !slices.Contains(starts, i+1) {
			starts = append(starts, i+1)
		}
	}
	for _, start := range starts {
		if len(s)-start < 12 {
			break
		}
		part := s[start:]
		if len(part)%4 == 1 {
			part = part[:len(part)-1]
		}
		raw, err := base64.RawStdEncoding.DecodeString(part)
		if err != nil {
			raw = nil
		}
		out = append(out, raw)
	}
	return out
}

var white = re(`\\\r?\n|\\[rn]|\s+`)

func wrapped64(s string) [][]byte { return base64s(white.ReplaceAllString(s, "")) }

func hexes(s string) (out [][]byte) {
	for start := range 2 {
		part := s[start:]
		raw, err := hex.DecodeString(part[:len(part)/2*2])
		if err != nil {
			raw = nil
		}
		out = append(out, raw)
	}
	return out
}

func wrappedHex(s string) [][]byte {
	s = strings.Join(strings.Fields(s), "")
	if len(s) < 24 {
		return nil
	}
	return hexes(s)
}

func base32s(s string) [][]byte {
	s = strings.TrimRight(s, "=")
	for i := len(s); i > len(s)-8; i-- {
		if raw, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(s[:i]); err == nil {
			return [][]byte{raw}
		}
	}
	return nil
}

// open makes text of bytes: as they are, out of what they are packed in, or the
// printable stretches in them. Bytes with no text in them come to nothing.
func open(raw []byte) (text, packing, problem string) {
	for _, p := range packings {
		if !bytes.HasPrefix(raw, []byte(p.magic)) {
			continue
		}
		r, err := p.open(bytes.NewReader(raw))
		if err != nil {
			continue // it only looked like it
		}
		unpacked, err := io.ReadAll(io.LimitReader(r, maxText+1))
		switch {
		case len(unpacked) > maxText:
			return printable(unpacked[:maxText]), p.name, "too_large"
		case err != nil && len(unpacked) == 0:
			continue
		}
		// A bad checksum at the end hides nothing of what was read.
		inner, _, problem := open(unpacked)
		return inner, p.name, problem
	}
	for _, magic := range sealed {
		if bytes.HasPrefix(raw, []byte(magic)) {
			return printable(raw), "", "packed"
		}
	}
	if s, ok := fromUTF16(raw); ok {
		return s, "utf16", ""
	}
	if utf8.Valid(raw) && !bytes.ContainsRune(raw, 0) && mostlyPrintable(raw) {
		return string(raw), "", ""
	}
	if text := inflated(raw); text != "" {
		return text, "deflate", ""
	}
	return printable(raw), "", ""
}

// inflated is the text that bytes are the packed form of, without the frame that
// would tell so; empty where they are not, or not of a text.
func inflated(raw []byte) string {
	if len(raw) < minEncoded {
		return ""
	}
	x, _ := inflaters.Get().(*inflater)
	defer inflaters.Put(x)
	x.text.Reset()
	x.source.Reset(raw)
	if err := x.reader.(flate.Resetter).Reset(&x.source, nil); err != nil {
		return ""
	}
	_, err := x.text.ReadFrom(io.LimitReader(x.reader, maxText))
	text := x.text.Bytes()
	if err != nil || len(text) < minEncoded || x.source.Len() > 2 || !utf8.Valid(text) || !mostlyPrintable(text) {
		return ""
	}
	return string(text)
}

// inflater unpacks, and is used again: nearly nothing that is tried is packed.
type inflater struct {
	source bytes.Reader
	reader io.ReadCloser
	text   bytes.Buffer
}

var inflaters = sync.Pool{New: func() any { return &inflater{reader: flate.NewReader(bytes.NewReader(nil))} }}

var packings = []struct {
	name, magic string
	open        func(io.Reader) (io.Reader, error)
}{
	{"gzip", "\x1f\x8b\x08", func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }},
	{"zlib", "\x78\x01", zlibReader},
	{"zlib", "\x78\x5e", zlibReader},
	{"zlib", "\x78\x9c", zlibReader},
	{"zlib", "\x78\xda", zlibReader},
	{"bzip2", "BZh", func(r io.Reader) (io.Reader, error) { return bzip2.NewReader(r), nil }},
}

func zlibReader(r io.Reader) (io.Reader, error) { return zlib.NewReader(r) }

// sealed are the first bytes of packings that are not opened: what is in them is
// unknown.
var sealed = []string{"PK\x03\x04", "\xfd7zXZ\x00", "\x28\xb5\x2f\xfd", "7z\xbc\xaf\x27\x1c", "Rar!\x1a\x07", "\x04\x22\x4d\x18"}

// fromUTF16 reads UTF-16 with a byte order mark, or what is Latin text in it
// without one.
func fromUTF16(raw []byte) (string, bool) {
	if len(raw) < 8 {
		return "", false
	}
	var order binary.ByteOrder
	switch {
	case raw[0] == 0xff && raw[1] == 0xfe:
		order, raw = binary.LittleEndian, raw[2:]
	case raw[0] == 0xfe && raw[1] == 0xff:
		order, raw = binary.BigEndian, raw[2:]
	case raw[0] != 0 && raw[1] == 0 && raw[2] != 0 && raw[3] == 0:
		order = binary.LittleEndian
	case raw[0] == 0 && raw[1] != 0 && raw[2] == 0 && raw[3] != 0:
		order = binary.BigEndian
	default:
		return "", false
	}
	units := make([]uint16, len(raw)/2)
	for i := range units {
		units[i] = order.Uint16(raw[2*i:])
	}
	return string(utf16.Decode(units)), true
}

func mostlyPrintable(raw []byte) bool {
	odd := 0
	for _, b := range raw {
		if b < ' ' && b != '\n' && b != '\r' && b != '\t' || b == 0x7f {
			odd++
		}
	}
	return odd*16 <= len(raw)
}

// printable is the stretches of printable ASCII in bytes, as strings(1) shows them.
func printable(raw []byte) string {
	var b strings.Builder
	start := 0
	for i := 0; i <= len(raw); i++ {
		if i < len(raw) && (raw[i] >= ' ' && raw[i] < 0x7f || raw[i] == '\n' || raw[i] == '\t' || raw[i] == '\r') {
			continue
		}
		if i-start >= minRun {
			b.Write(raw[start:i])
			b.WriteByte('\n')
		}
		start = i + 1
	}
	return b.String()
}

// visible is a text without the characters that show nothing: format and control
// characters, variation selectors, fillers.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r < utf8.RuneSelf:
			if r < ' ' && r != '\n' && r != '\r' && r != '\t' || r == 0x7f {
				return -1
			}
		case unicode.Is(unicode.Cf, r), unicode.Is(unicode.Cc, r), unicode.Is(unicode.Variation_Selector, r),
			unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r), r == 0x2800, r == unicode.ReplacementChar:
			return -1
		}
		return r
	}, s)
}

// latin is a visible text with the letters that look Latin made Latin, compatible
// forms made plain and accents left out.
func latin(s string) string {
	if !slices.ContainsFunc([]byte(s), func(b byte) bool { return b >= utf8.RuneSelf }) {
		return s
	}
	table := lookalikes()
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		if l, ok := table[r]; ok {
			return l
		}
		return r
	}, norm.NFKD.String(visible(s)))
}

// lookalikes are letters of other scripts that are drawn like Latin ones.
var lookalikes = sync.OnceValue(func() map[rune]rune {
	return pairs(
		"АAВBЕEКKМMНHОOРPСCТTУYХXЅSІIЈJԚQԜWҮYЗ3аaеeоoрpсcуyхxѕsіiјjԛqԝwһhԁdӏlкkмmтtвbнhүyґr" +
			"ΑAΒBΕEΖZΗHΙIΚKΜMΝNΟOΡPΤTΥYΧXϹCϺMαaγyιiκkνvοoρpτtυuχxϲcϳj" +
			"ᎪAᏴBᏟCᎠDᎬEᏀGᎻHᏆIᎫJᏦKᏞLᎷMᏢPᎡRᏚSᎢTᏙVᎳWᏃZՏSՕOսuոnօoցgհhզqıi" +
			"‐-‑-‒-–-—-−-∕/⁄/﹢+∶:ꞌ'").table()
})

// pairs is letters, each followed by its look-alike.
type pairs string

func (p pairs) table() map[rune]rune {
	rs := []rune(string(p))
	m := make(map[rune]rune, len(rs)/2)
	for i := 0; i+1 < len(rs); i += 2 {
		m[rs[i]] = rs[i+1]
	}
	return m
}
