// Package pdp is the decision point: it holds a state directory, decides
// actions, and answers only with what is in the journal.
//
// Decisions are made in parallel on snapshots of the evidence state. One
// committer puts them in order: it looks again at everything a decision read,
// decides anew what has moved, appends a batch to the journal with one write
// and one sync, makes the state visible, and then lets the answers go. When a
// write fails nothing of the batch is answered with a permit, and the decision
// point stays closed until it is opened again.
//
// This is also the Go API: Open, Decide, Do, Apply, Close.
package pdp
