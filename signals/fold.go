package signals

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// fold is the form in which names are compared where a list restricts: composed,
// of plain letters where they have a compatible form, in one case, without
// characters that nobody sees. Two names that some file system takes for one have
// one fold.
func fold(s string) string {
	if ascii(s) {
		return strings.ToLower(s)
	}
	s = strings.Map(func(r rune) rune {
		if invisible(r) {
			return -1
		}
		return r
	}, s)
	form := norm.NFKC
	if strings.Count(form.String(s), "/") > strings.Count(s, "/") {
		form = norm.NFC // a wide slash separates nothing
	}
	// Folding can leave a sequence that composes again.
	return form.String(cases.Fold().String(form.String(s)))
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// plainText reports text of printable ASCII, as nearly all of it is.
func plainText(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// invisible reports characters that direct or join text and leave no mark.
func invisible(r rune) bool {
	return unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r)
}

// hides reports text with a character that nobody sees where none belongs: a script
// may need a joiner between its letters, a picture is joined of others, and a sign
// after one says how it is drawn.
func hides(s string) bool {
	if ascii(s) || !strings.ContainsFunc(s, invisible) {
		return false
	}
	text := []rune(s)
	for i, r := range text {
		if invisible(r) && !belongs(text, i) {
			return true
		}
	}
	return false
}

// belongs reports an invisible character that is part of how the ones beside it are
// written.
func belongs(text []rune, i int) bool {
	before, after := rune(-1), rune(-1)
	for j := i - 1; j >= 0 && before < 0; j-- {
		if text[j] != '\ufe0f' || text[i] == '\ufe0f' {
			before = text[j]
		}
	}
	if i+1 < len(text) {
		after = text[i+1]
	}
	switch text[i] {
	case '\ufe0e', '\ufe0f':
		return picture(before) || after == '\u20e3'
	case '\u200c', '\u200d':
		return text[i] == '\u200d' && picture(before) && picture(after) || joined(before) && joined(after)
	}
	return false
}

func picture(r rune) bool { return r > unicode.MaxASCII && unicode.IsSymbol(r) }

// joined reports letters of scripts in which a joiner, or the lack of one, makes
// another word.
func joined(r rune) bool {
	return unicode.In(r, unicode.Arabic, unicode.Syriac, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil,
		unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar)
}

// wideSpace reports text with a space that is none to a shell: whoever reads it
// sees more words than there are.
func wideSpace(s string) bool {
	return !ascii(s) && strings.ContainsFunc(s, func(r rune) bool { return r > unicode.MaxASCII && unicode.IsSpace(r) })
}

func control(r rune) bool { return unicode.Is(unicode.Cc, r) || r == '\u2028' || r == '\u2029' }

// unreadable is the code of text that is no name at all; empty when it is one.
func unreadable(s string) string {
	if plainText(s) {
		return ""
	}
	switch {
	case !utf8.ValidString(s):
		return "invalid_utf8"
	case strings.ContainsFunc(s, control):
		return "control_character"
	}
	return ""
}
