package action

import "strings"

const hintAbsent = "leave the field out if there is no value"

func absentHint(at *place, v any) string {
	if at == nil {
		return "an action is one JSON object"
	}
	if v == nil {
		return hintAbsent
	}
	return "see the action format for the fields of " + at.path()[0]
}

func stringHint(v any) string {
	if v == nil {
		return hintAbsent
	}
	return "put it in double quotes"
}

func numberHint(v any) string {
	switch v.(type) {
	case nil:
		return hintAbsent
	case string:
		return "write the number without quotes"
	}
	return "a JSON number such as 0.9"
}

// unknownHint says what may have been meant by a field that does not exist.
func unknownHint(at *place, name string, known []string) string {
	if at == nil && fold(name) == "time" {
		return "an action has no time: the clock is --now"
	}
	if near := nearest(name, known); near != "" {
		return `did you mean "` + near + `"`
	}
	return "the fields are " + strings.Join(known, ", ")
}

// nearest is the known name that a misspelt one is close to, or "". Case,
// underscores and hyphens do not count; besides, one edit in three characters
// is forgiven.
func nearest(name string, known []string) string {
	if len(name) > 2*maxShown { // no name is near; do not compare a megabyte
		return ""
	}
	best, bestDistance := "", 0
	for _, k := range known {
		d := distance(fold(name), fold(k))
		if d <= max(1, len(k)/3) && d < len(k) && (best == "" || d < bestDistance) {
			best, bestDistance = k, d
		}
	}
	return best
}

func fold(name string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(name))
}

// distance counts the edits between two short strings: insert, delete, replace
// a byte, swap two neighbours (optimal string alignment).
func distance(a, b string) int {
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
