// Package noise asks what refusal costs when detectors are wrong at times and
// reviewers are few: a simulation, not a measurement.
//
// Proposals are drawn, some of them harmful in one of several ways. Several
// detectors look for each way; each gives a continuous score, and fires above
// its own limit. A rule turns scores into a hold or a release; what is held
// waits for a person in a queue with limited service, room and patience. Rules
// are compared on the same proposals and arrivals, over many replications, and
// every figure has an interval.
//
// Nothing in here is the engine: the question is what a conjunction of gates
// and a weighted score do with the same noisy inputs. All of it follows from a
// seed.
package noise
