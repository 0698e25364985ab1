package signals

import "slices"

// onLists says of every list of a scope whether any element may be on it, for
// restricting, and whether all elements are, for allowing. Rules that ask no more
// than that need no loop, and run without OPA. The lists are named as facts name
// them.
func onLists(lists, elements []any) (anyOn, allOn map[string]any) {
	counts := make([]onList, len(lists))
	for _, e := range elements {
		fact, _ := e.(map[string]any)
		for _, name := range namesIn(fact["lists_folded"]) {
			counts[slices.Index(lists, name)].folded++
		}
		for _, name := range namesIn(fact["lists"]) {
			counts[slices.Index(lists, name)].exact++
		}
	}
	anyOn, allOn = make(map[string]any, len(lists)), make(map[string]any, len(lists))
	for i, list := range lists {
		name, _ := list.(string)
		anyOn[name] = counts[i].folded > 0
		allOn[name] = counts[i].exact == len(elements)
	}
	return anyOn, allOn
}

// onList is how many elements are on a list.
type onList struct{ exact, folded int }

// namesIn is the lists that a fact names, none twice; none where it has no such
// member.
func namesIn(lists any) []any {
	names, _ := lists.([]any)
	return names
}
