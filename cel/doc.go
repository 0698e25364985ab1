// Package cel compiles and evaluates the custom hard gates of a bundle that are
// written in CEL. It is the only importer of cel-go.
//
// What it promises. Every problem of every gate is reported in one run of
// Compile, with its place. A compiled program is immutable and safe for
// concurrent use. Test is total and pure: it reads its arguments only, the same
// input gives the same finding, and no error or panic escapes. Only the boolean
// true passes and only the boolean false fails; everything else (an absent path,
// a wrong type, an exceeded cost, a context that is done) is Unknown with a
// code and the path that was missing.
//
// What a gate sees: action (without confidence), args (its arguments),
// consequence, facts, state, now (whole seconds), scope (the bundle's scope
// data) and variables. Names that the schema can decide are decided when the
// gate is compiled, since a gate that silently never matches is worse than no
// gate.
//
// Numbers: input holds JSON doubles. A whole number within 2^53-1 is an int in
// CEL, any other a double; comparisons work across the two, arithmetic does not.
//
// What it deliberately does not do: no unknown patterns (they would make has()
// unknown and hide errors), no zone functions (they read the environment's zone
// data), no network or encoding functions, no native Go types.
package cel
