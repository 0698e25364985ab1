package cel

import (
	"slices"
	"strings"

	"github.com/conjunct-project/conjunct/engine"
)

// suggest names the candidate nearest to a misspelt word, or lists the
// candidates when there are few, or says nothing.
func suggest(word string, candidates []string) string {
	if hint := engine.DidYouMean(word, candidates); hint != "" {
		return hint
	}
	if len(candidates) == 0 || len(candidates) > 12 {
		return ""
	}
	sorted := slices.Clone(candidates)
	slices.Sort(sorted)
	return "it knows " + strings.Join(sorted, ", ")
}
