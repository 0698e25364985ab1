// Package journal is the append-only, hash-chained record of everything that
// was answered: the only durable state.
//
// An entry is one line of JSON in its RFC 8785 form; other bytes do not verify.
// Each carries the hash of the one before, its own hash over everything else in
// it, and the number of the last entry that was known to be on disk when it was
// written. Entries are written in batches: one write, one fdatasync. An append
// that returns without error is on disk.
//
// After any error of a write or a sync the log is poisoned: what is on disk is
// not known, so nothing more is appended until it is opened again.
//
// The package knows nothing of what entries mean.
package journal
