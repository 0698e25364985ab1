// Package reexam folds journals again: to rebuild the evidence state, to prove
// that every decision in a journal follows from what was known (replay), and to
// tell what would change under another bundle (backtest).
//
// A replay derives every entry's body anew, with the bundle that the entry
// names, and compares bytes. It writes nothing and needs nothing but the
// journal and the bundles beside it.
package reexam
