// Package engine decides whether one proposed tool call may run.
//
// Decide is pure and total: it reads no clock, file, network, environment or
// random source, and no error or panic escapes it. What cannot be evaluated is
// Unknown, and Unknown never allows. The package imports the standard library
// only; policies reach it through the Policy interface, state as a value, and
// canonical bytes and hashes as opaque strings.
//
// The zero value of every enumeration here is its strictest member, so a value
// that somebody forgot to set refuses.
//
// What the package deliberately does not know: weights, scores and priorities
// between findings. Every applicable gate is evaluated and every finding kept;
// nothing good in one place pays for something missing in another.
package engine
