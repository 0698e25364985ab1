package datafile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing wrong with a file, and where. Row and Col are 1-based,
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
	// Warning marks what does not keep the file from being used.
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

// Sort orders problems by place.
func Sort(ps []Problem) {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Row, b.Row), cmp.Compare(a.Col, b.Col), cmp.Compare(a.Message, b.Message))
	})
}
