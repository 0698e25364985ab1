package signals

// onLists says of every list of a scope whether any element may be on it, for
// restricting, and whether all elements are, for allowing. Rules that ask no more
// than that need no loop, and run without OPA.
func onLists(lists map[string][]string, elements []any) (anyOn, allOn map[string]any) {
	folded, exact := make(map[string]int, len(lists)), make(map[string]int, len(lists))
	for _, e := range elements {
		fact, _ := e.(map[string]any)
		count(folded, fact["lists_folded"])
		count(exact, fact["lists"])
	}
	anyOn, allOn = make(map[string]any, len(lists)), make(map[string]any, len(lists))
	for name := range lists {
		anyOn[name] = folded[name] > 0
		allOn[name] = exact[name] == len(elements)
	}
	return anyOn, allOn
}

// count adds one for every list that an element is on. None is named twice.
func count(lists map[string]int, on any) {
	names, _ := on.([]any)
	for _, name := range names {
		text, _ := name.(string)
		lists[text]++
	}
}
