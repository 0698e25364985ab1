package signals

import "slices"

// onLists says of every list of a scope whether any element may be on it, for
// restricting, and whether all elements are, for allowing. Rules that ask no more
// than that need no loop, and run without OPA.
func onLists(lists map[string][]string, elements []any) (anyOn, allOn map[string]any) {
	anyOn, allOn = map[string]any{}, map[string]any{}
	on := func(element any, member, name string) bool {
		fact, _ := element.(map[string]any)
		names, _ := fact[member].([]any)
		return slices.Contains(names, any(name))
	}
	for name := range lists {
		anyOn[name] = slices.ContainsFunc(elements, func(e any) bool { return on(e, "lists_folded", name) })
		allOn[name] = !slices.ContainsFunc(elements, func(e any) bool { return !on(e, "lists", name) })
	}
	return anyOn, allOn
}
