package signals

import (
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
)

// rarePattern is a pattern that nearly nothing matches that is asked: what has none of
// the texts that the pattern needs in it is told without it.
type rarePattern struct {
	pattern
	needs func() []string
}

// rare makes such a pattern.
func rare(text string) rarePattern {
	return rarePattern{re(text), sync.OnceValue(func() []string {
		tree, err := syntax.Parse(text, syntax.Perl)
		if err != nil {
			return nil // the pattern says so itself
		}
		return required(tree)
	})}
}

// MatchString is what the pattern says.
func (r rarePattern) MatchString(s string) bool {
	list := r.needs()
	// Signs outside of ASCII may stand for others in any case.
	if list != nil && ascii(s) {
		lower := strings.ToLower(s)
		if !slices.ContainsFunc(list, func(one string) bool { return strings.Contains(lower, one) }) {
			return false
		}
	}
	return r.pattern.MatchString(s)
}

// required are texts in lower case of which at least one is in whatever an expression
// matches; nil where it needs none.
func required(e *syntax.Regexp) (list []string) {
	switch e.Op {
	case syntax.OpLiteral:
		return []string{strings.ToLower(string(e.Rune))}
	case syntax.OpCapture, syntax.OpPlus:
		return required(e.Sub[0])
	case syntax.OpAlternate:
		for _, sub := range e.Sub {
			one := required(sub)
			if one == nil {
				return nil
			}
			list = append(list, one...)
		}
	case syntax.OpConcat:
		for _, sub := range e.Sub {
			if one := required(sub); one != nil && leastLength(one) > leastLength(list) {
				list = one
			}
		}
	}
	return list
}

// leastLength is the length of the shortest text of a list.
func leastLength(list []string) (n int) {
	for i, s := range list {
		if i == 0 || len(s) < n {
			n = len(s)
		}
	}
	return n
}
