// Package episode reads and folds episodes: sequences of events with their
// times, one episode a line, as test data and examples are written.
//
// An episode uses the same events and the same fold as live use, on an empty
// evidence state of its own. In a file who did something may be stated; where
// it is not, it was the trusted script.
package episode
