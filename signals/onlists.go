package signals

import "slices"

// onLists says of every list of a scope whether any element may be on it, for
// restricting, and whether all elements are, for allowing. Rules that ask no more
// than that need no loop, and run without OPA.
func onLists(lists map[string][]string, elements []any) (anyOn, allOn map[string]any) {
	anyOn, allOn = map[string]any{}, map[string]any{}
	for name := range lists {
		anyOn[name], allOn[name] = false, true
	}
	for _, e := range elements {
		fact, _ := e.(map[string]any)
		folded, _ := fact["lists_folded"].([]any)
		exact, _ := fact["lists"].([]any)
		for name := range lists {
			if slices.Contains(folded, any(name)) {
				anyOn[name] = true
			}
			if !slices.Contains(exact, any(name)) {
				allOn[name] = false
			}
		}
	}
	return anyOn, allOn
}
