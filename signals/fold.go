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
