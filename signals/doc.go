// Package signals computes facts from one action before policy runs: what a
// path resolves to, which commands a line would run, whether content holds a
// secret. Policies stand on what a call would do and not on the string that
// was declared.
//
// A fact is a function of the action, the bundle's scope data and an explicit,
// read-only view of the world. It has no verdict of its own. What cannot be
// determined is unknown and never clean: the conclusive list of a family
// (`paths`, `commands`, `findings`, ...) is absent then, so that a floor which
// reads it applies and a gate which reads it is Unknown. What was found all the
// same is in the family's `seen`, for rules that deny. Facts are recorded with
// the decision, so a replay needs no disk.
package signals
