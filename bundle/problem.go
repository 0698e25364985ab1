package bundle

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing wrong with a bundle, and where. Row and Col are 1-based,
// 0 when the whole file is meant.
type Problem struct {
	File    string `json:"file"`
	Row     int    `json:"row"`
	Col     int    `json:"col"`
	Code    string `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	// Line is the text of the row, for showing the place.
	Line string `json:"line,omitempty"`
	// Warning marks what does not keep a bundle from loading.
	Warning bool `json:"warning,omitempty"`
}

// String is the problem in one line.
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Row > 0 {
		fmt.Fprintf(&b, ":%d", p.Row)
		if p.Col > 0 {
			fmt.Fprintf(&b, ":%d", p.Col)
		}
	}
	fmt.Fprintf(&b, ": %s", oneLine(p.Message))
	if p.Hint != "" {
		fmt.Fprintf(&b, " (%s)", oneLine(p.Hint))
	}
	return b.String()
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// LoadError is a bundle that does not load: all its problems, ordered by place.
type LoadError struct {
	Path     string
	Problems []Problem
}

func (e *LoadError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

func sortProblems(ps []Problem) {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Row, b.Row), cmp.Compare(a.Col, b.Col), cmp.Compare(a.Message, b.Message))
	})
}
