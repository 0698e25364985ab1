package bundle

import (
	"strings"

	"github.com/conjunct-project/conjunct/datafile"
)

// Problem is one thing wrong with a bundle, and where.
type Problem = datafile.Problem

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
