package action

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Normal is the form in which values are compared that were written by
// different hands: two that differ only in case, spacing, invisible characters
// or Unicode form have one. What a value is decides what differs:
//
//   - a mail address, also in angle brackets or after mailto:, has no case;
//   - a path is cleaned and keeps its case, since another case may be another
//     file; a URL keeps it after the host;
//   - anything else has no case, and one space where there is space.
//
// Normal(Normal(s)) is Normal(s).
func Normal(s string) string {
	// What is left of one form may be of another: "A/" is a path, and "A" is not.
	for range len(s) {
		next := normal(s)
		if next == s {
			break
		}
		s = next
	}
	return s
}

func normal(s string) string {
	if settled(s) {
		return s
	}
	s = visible(s)
	if !solid(s) {
		s = strings.Join(strings.Fields(s), " ")
	}
	if address, ok := mail(s); ok {
		return fold(address)
	}
	spaced := strings.IndexByte(s, ' ') >= 0
	switch scheme, rest, isURL := strings.Cut(s, "://"); {
	case isURL && !spaced:
		host, place, _ := strings.Cut(rest, "/")
		return strings.TrimRight(fold(scheme)+"://"+fold(host)+"/"+place, "/")
	case strings.HasPrefix(s, "/") || strings.HasPrefix(s, "./") || strings.HasPrefix(s, "../") || strings.HasPrefix(s, "~/"),
		!spaced && strings.IndexByte(s, '/') >= 0:
		return path.Clean(s)
	}
	return fold(s)
}

// settled reports whether a value is its own normal form, which most identifiers
// are: printable ASCII without upper case, space, or what a path or an address
// is told by.
func settled(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c <= ' ' || c >= 0x7f || 'A' <= c && c <= 'Z' || c == '/' || c == '@' {
			return false
		}
	}
	return true
}

// solid reports whether a text is sure to have no space in it.
func solid(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// visible is the text in its compatibility form, without what cannot be seen.
func visible(s string) string {
	if ascii(s) {
		return s
	}
	return norm.NFKC.String(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r) {
			return -1
		}
		return r
	}, s))
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// fold takes the case away, of letters that have more than two of them too.
func fold(s string) string {
	if ascii(s) {
		return strings.ToLower(s)
	}
	return norm.NFKC.String(strings.ToLower(strings.ToUpper(s)))
}

// mail is the address that a value consists of.
func mail(s string) (address string, ok bool) {
	if open := strings.LastIndexByte(s, '<'); open >= 0 && strings.HasSuffix(s, ">") {
		s = s[open+1 : len(s)-1]
	}
	if scheme, rest, ok := strings.Cut(s, ":"); ok && strings.EqualFold(scheme, "mailto") {
		s = rest
	}
	s = strings.TrimSuffix(s, ".")
	local, domain, _ := strings.Cut(s, "@")
	if local == "" || domain == "" || strings.ContainsAny(s, " /\\<>:,;") || strings.Count(s, "@") != 1 {
		return "", false
	}
	return s, true
}
