// Package rego loads the Rego of a bundle and evaluates its few entry points.
// It is the only importer of OPA.
//
// Loading is stricter than OPA's own: builtins come from an allow-list of pure
// and bounded ones, rules live in the five packages of the protocol and are
// all reachable from an entry point, every input and data path that a rule
// reads must exist, constants compared with an enumeration must be members of
// it, and all problems are found in one run, each with file, row and column.
//
// Evaluation never guesses: undefined, conflict, wrong type, error, timeout
// and cancellation are different failures with a code each, and none of them
// is a value.
//
// At load the rules of a partial set can be evaluated as far as they go
// without an input (Residuals): what remains is a list of clauses of plain
// atoms, as data, so that other packages can evaluate and inspect them without
// OPA.
//
// The package does not read files: it is given the text of the modules and the
// data.
package rego
