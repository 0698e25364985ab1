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
	needs func() []string // in lower case for a pattern that begins with (?i)
	fold  bool
}

// rare makes such a pattern.
func rare(text string) rarePattern {
	r := rarePattern{pattern: re(text), fold: strings.HasPrefix(text, "(?i)")}
	r.needs = sync.OnceValue(func() []string {
		tree, err := syntax.Parse(text, syntax.Perl)
		if err != nil {
			return nil // the pattern says so itself
		}
		return required(tree, r.fold)
	})
	return r
}

// MatchString is what the pattern says.
func (r rarePattern) MatchString(s string) bool {
	list, folded := r.needs(), s
	// Signs outside of ASCII may stand for others in any case.
	if list != nil && (!r.fold || ascii(s)) {
		if r.fold {
			folded = strings.ToLower(s)
		}
		if !slices.ContainsFunc(list, func(one string) bool { return strings.Contains(folded, one) }) {
			return false
		}
	}
	return r.pattern.MatchString(s)
}

// required are texts of which at least one is in whatever an expression matches, in
// lower case for one in any case; nil where it needs none.
func required(e *syntax.Regexp, fold bool) (list []string) {
	switch e.Op {
	case syntax.OpLiteral:
		switch text := string(e.Rune); {
		case fold:
			return []string{strings.ToLower(text)}
		case e.Flags&syntax.FoldCase == 0:
			return []string{text}
		}
	case syntax.OpCapture, syntax.OpPlus:
		return required(e.Sub[0], fold)
	case syntax.OpAlternate:
		for _, sub := range e.Sub {
			one := required(sub, fold)
			if one == nil {
				return nil
			}
			list = append(list, one...)
		}
	case syntax.OpConcat:
		for _, sub := range e.Sub {
			if one := required(sub, fold); one != nil && leastLength(one) > leastLength(list) {
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
