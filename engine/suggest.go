package engine

import (
	"fmt"
	"strings"
)

// longestWord is the size above which no word is near: comparing a megabyte
// with every known name would take long.
const longestWord = 64

// Nearest returns the known word that a misspelt one is close to, or nothing.
// Case, underscores, hyphens and spaces do not count; besides, one edit in
// three characters is forgiven.
func Nearest(word string, known []string) string {
	if len(word) > longestWord {
		return ""
	}
	best, bestDistance := "", 0
	for _, k := range known {
		d := editDistance(plain(word), plain(k))
		if d <= max(1, len(k)/3, len(word)/3) && d < len(k) && (best == "" || d < bestDistance) {
			best, bestDistance = k, d
		}
	}
	return best
}

// DidYouMean is a hint naming the nearest known word, or nothing.
func DidYouMean(word string, known []string) string {
	if near := Nearest(word, known); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return ""
}

func plain(word string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(word))
}

// editDistance counts the edits between two short strings: insert, delete,
// replace a byte, swap two neighbours (optimal string alignment).
func editDistance(a, b string) int {
	before, above := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range above {
		above[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			row[j] = above[j-1]
			if a[i-1] != b[j-1] {
				row[j] = 1 + min(above[j-1], above[j], row[j-1])
			}
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, above = above, row
	}
	return above[len(b)]
}
