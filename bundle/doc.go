// Package bundle loads the policy of a team: one OPA bundle with Rego, data,
// CEL gates, tool registry and contract. It validates everything in it, gives
// it a digest, and wires floors, rego and cel into one engine.Policy.
//
// A bundle either loads whole or not at all: every problem is reported in one
// run, with file, row and column, and a misspelt name anywhere is a problem.
// The digest covers what decides and nothing else, so a directory, the tarball
// made of it and the embedded copy have the same one.
//
// Nothing is compiled, prepared or read per decision.
package bundle
