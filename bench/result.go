package bench

import "github.com/conjunct-project/conjunct/bench/table"

// Result is what a study comes to. Its JSON form is its own.
type Result interface {
	// Tables is the result for people.
	Tables() []table.Table
	// Records is all of it in one flat table.
	Records() table.Table
	// Holds reports whether the study came out as it says it does.
	Holds() bool
}
