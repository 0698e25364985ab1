// Package scenario holds whole decisions that a policy author expects: an
// action, what is known when it is proposed, and what should come of it, in
// YAML. A scenario runs through the same engine and the same bundle as a real
// decision.
//
// Scenarios live outside bundle roots, in `testdata/scenarios/NAME` or beside
// the bundle directory, so that OPA's own tools still work on the bundle.
package scenario
