package cel

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// suggest names the candidate nearest to a misspelt word, or lists the
// candidates when there are few, or says nothing.
func suggest(word string, candidates []string) string {
	if near := nearest(word, candidates); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	if len(candidates) == 0 || len(candidates) > 12 {
		return ""
	}
	sorted := slices.Clone(candidates)
	slices.Sort(sorted)
	return "it knows " + strings.Join(sorted, ", ")
}

// nearest returns the candidate within an edit distance of a third of the word,
// first in the alphabet among equals; or nothing.
func nearest(word string, candidates []string) string {
	best, limit := "", max(1, len(word)/3)+1
	for _, c := range candidates {
		d := levenshtein.ComputeDistance(strings.ToLower(word), strings.ToLower(c))
		if d < limit || d == limit && best != "" && c < best {
			best, limit = c, d
		}
	}
	return best
}
