// Package evidence keeps the evidence state in go-memdb: what the folds of
// package engine read and write.
//
// One table holds every record under one key, and no further index: a record
// is found by what it is about. Lists (the paths that wait for a review, what
// counts towards a counter) are prefixes of the same key. Stored values are
// immutable.
//
// What can be read off the paths is not written again: which calls hold a value,
// and the id that a call was first proposed under. Such calls are found by an
// index beside memdb that only grows and that all versions share; it names
// candidates, and the paths that a view has decide. In the same way a filter tells
// which keys were never written and need not be looked for.
//
// A View reads one snapshot and notes each key it read with the record that was
// there; a changed value is another record. So whoever decides in parallel
// can tell, before it commits, whether anything it depended on has moved. The
// clock is not noted: a decision holds at a time, whatever the last entry's was.
//
// A Batch holds what it writes beside the state until it is prepared; how events
// are batched does not show in what is read or kept.
package evidence
