package signals

import "slices"

// none is an empty list as a fact. Nearly every list is empty, and nobody can
// change one that is.
var none any = []any{}

// textList is a sorted list of distinct texts as a fact.
func textList(list []string) any { return inOrder(distinct(list)) }

// distinct is the distinct texts of a list, sorted.
func distinct(list []string) []string {
	for i := 1; i < len(list); i++ {
		if list[i-1] >= list[i] {
			return slices.Compact(slices.Sorted(slices.Values(list)))
		}
	}
	return list // nearly always
}

// inOrder is a list of texts as a fact.
func inOrder(list []string) any {
	if len(list) == 0 {
		return none
	}
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}

// maxKept is how many lists are kept to be given again.
const maxKept = 16

// factLists makes the lists of one family of facts of one call. One that it made
// before it gives again: most commands of a line do the same and are on the same
// lists. Facts are read, and whoever keeps them copies them.
type factLists struct{ kept []any }

// inOrder is a list of texts.
func (l *factLists) inOrder(list []string) any {
	if len(list) == 0 {
		return none
	}
	for _, fact := range l.kept {
		if slices.EqualFunc(fact.([]any), list, func(a any, b string) bool { return a == b }) {
			return fact
		}
	}
	return l.keep(inOrder(list))
}

// of is a list of what facts hold; the fact is a copy of it.
func (l *factLists) of(list []any) any {
	if len(list) == 0 {
		return none
	}
	for _, fact := range l.kept {
		if slices.Equal(fact.([]any), list) {
			return fact
		}
	}
	return l.keep(slices.Clone(list))
}

func (l *factLists) keep(fact any) any {
	if len(l.kept) < maxKept {
		l.kept = append(l.kept, fact)
	}
	return fact
}
