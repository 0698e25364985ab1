package cel

import (
	"fmt"
	"strings"
)

// Problem is one thing wrong with a gate. Line and Column are 1-based inside the
// expression, or 0 where no expression is involved.
type Problem struct {
	Gate    string
	Index   int    // of the gate among those compiled; negative where it is of none
	Field   string // "expression", "variables[0].expression", "message_expression", "name", "match", "reason", ...
	Line    int
	Column  int
	Message string
	Hint    string
	Snippet string // the line of the expression, and a caret below it
	Warning bool
}

// Error is the problem in one line, so that a problem can be used as an error.
func (p Problem) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "cel: gate %s: %s", p.Gate, p.Field)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
	}
	fmt.Fprintf(&b, ": %s", p.Message)
	if p.Hint != "" {
		fmt.Fprintf(&b, " (%s)", p.Hint)
	}
	return b.String()
}

// complaint is a problem that does not know its place yet.
type complaint struct{ message, hint string }

func complain(format string, args ...any) *complaint {
	return &complaint{message: fmt.Sprintf(format, args...)}
}

func (c *complaint) because(hint string) *complaint {
	c.hint = hint
	return c
}

// snippet returns the line of an expression with a caret under a 1-based column.
// Tabs are kept in front of the caret so that it stands right in any terminal.
func snippet(expression string, line, column int) string {
	lines := strings.Split(expression, "\n")
	if line < 1 || line > len(lines) {
		return ""
	}
	text := strings.TrimRight(lines[line-1], "\r")
	var pad strings.Builder
	for i, r := range []rune(text) {
		if i >= column-1 {
			break
		}
		if r == '\t' {
			pad.WriteRune('\t')
		} else {
			pad.WriteRune(' ')
		}
	}
	return text + "\n" + pad.String() + "^"
}
