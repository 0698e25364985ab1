package signals

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// wildcard is a word that a shell takes for a pattern of names: its text, and
// which signs in it were not quoted.
type wildcard struct {
	text   string
	active []int // offsets of unquoted *, ?, [, ], !, - and ^, in order
	// unmatched is the code of why nobody can tell what it matches, where there is
	// one.
	unmatched string
}

// component is one component of a wildcard: a name, or a pattern of names.
type component struct {
	name   string // as written
	marks  []mark
	hidden bool // begins with a dot that stands for itself
}

// mark is what stands for characters in a pattern: one that is given, any text,
// any one character, or one of a set.
type mark struct {
	kind    markKind
	literal byte
	set     string
	negated bool
}

type markKind uint8

const (
	itself markKind = iota
	anyText
	anyOne
	oneOf
)

// parts takes a wildcard apart at its separators, as a shell does before it looks
// at anything else. It is false where shells, or their locales, read it
// differently.
func (w wildcard) parts() (out []component, ok bool) {
	if !plainText(w.text) || strings.Contains(w.text, `\`) || !tame(w.text, true) {
		return nil, false
	}
	at := 0
	for name := range strings.SplitSeq(w.text, "/") {
		p, ok := w.part(name, at)
		if !ok {
			return nil, false
		}
		out = append(out, p)
		at += len(name) + 1
	}
	return out, true
}

// tame reports a word that begins like a name and not like an option, an
// operator or a mark that some program reads. A pattern may begin with a sign.
func tame(s string, pattern bool) bool {
	if s == "" {
		return false
	}
	c := s[0]
	return nameByte(c) || c == '.' || c == '/' || c >= utf8.RuneSelf || pattern && (c == '*' || c == '?' || c == '[')
}

func (w wildcard) is(at int) bool {
	_, found := slices.BinarySearch(w.active, at)
	return found
}

func (w wildcard) part(name string, at int) (p component, ok bool) {
	p = component{name: name, hidden: strings.HasPrefix(name, ".")}
	pattern := false
	for i := 0; i < len(name); i++ {
		s := mark{literal: name[i]}
		if w.is(at + i) {
			switch name[i] {
			case '*':
				s.kind = anyText
			case '?':
				s.kind = anyOne
			case '[':
				end, set, known := w.set(name, at, i)
				if !known {
					return p, false
				}
				s, i = set, end
			}
		}
		pattern = pattern || s.kind != itself
		p.marks = append(p.marks, s)
	}
	if !pattern {
		p.marks = nil
	}
	// Of three stars some shells make more than of two.
	return p, !strings.Contains(name, "***")
}

// set reads a bracket: characters that stand for themselves, and spans of digits.
// What else may be in one is read by locale, or by some shells only.
func (w wildcard) set(name string, at, from int) (end int, s mark, known bool) {
	s.kind = oneOf
	i := from + 1
	if i < len(name) && name[i] == '!' && w.is(at+i) {
		s.negated = true
		i++
	}
	for first := i; i < len(name); i++ {
		c := name[i]
		switch {
		case c == ']' && w.is(at+i) && i > first:
			return i, s, true
		case c == '^' || c == '[' || c == ']' || c == '!' || c == '.' || c >= utf8.RuneSelf:
			return 0, s, false
		case c == '-' && w.is(at+i):
			if i == first || i+1 >= len(name) || !digit(name[i-1]) || !digit(name[i+1]) || name[i-1] > name[i+1] {
				return 0, s, false
			}
			for d := name[i-1]; d <= name[i+1]; d++ {
				s.set += string(rune(d))
			}
			i++
		case c == '-':
			return 0, s, false
		default:
			s.set += string(rune(c))
		}
	}
	return 0, s, false
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

// deep reports the component that some shells take for any number of folders.
func (p component) deep() bool {
	return len(p.marks) == 2 && !slices.ContainsFunc(p.marks, func(s mark) bool { return s.kind != anyText })
}

// matches reports that a name fits. It is doubtful where shells that read bytes
// and shells that read characters differ.
func (p component) matches(name string) (ok, doubtful bool) {
	if strings.HasPrefix(name, ".") && !p.hidden {
		return false, false
	}
	ok = fits(p.marks, name, false)
	return ok, !ascii(name) && ok != fits(p.marks, name, true)
}

// fits matches by hand, with the last star as the only one to come back to.
func fits(marks []mark, name string, runes bool) bool {
	star, resume := -1, 0
	i, j := 0, 0
	for j < len(name) {
		n := 1
		if runes && i < len(marks) && (marks[i].kind == anyOne || marks[i].kind == oneOf) {
			_, n = utf8.DecodeRuneInString(name[j:])
		}
		switch {
		case i < len(marks) && marks[i].kind == anyText:
			star, resume = i, j
			i++
		case i < len(marks) && marks[i].takes(name[j:j+n]):
			i++
			j += n
		case star >= 0:
			_, step := utf8.DecodeRuneInString(name[resume:])
			if !runes {
				step = 1
			}
			resume += step
			i, j = star+1, resume
		default:
			return false
		}
	}
	for i < len(marks) && marks[i].kind == anyText {
		i++
	}
	return i == len(marks)
}

// takes reports that a sign stands for one character.
func (s mark) takes(c string) bool {
	switch s.kind {
	case itself:
		return c == string([]byte{s.literal})
	case anyOne:
		return true
	case oneOf:
		return strings.Contains(s.set, c) != s.negated
	}
	return false
}
