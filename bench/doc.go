// Package bench compares ways of deciding on the same cases: what a weighted
// score lets through, when it equals the conjunction of hard gates, and what
// each costs.
//
// Every study has cases, arms and a table. An arm answers a case and sees
// nothing of what is expected of it: the types keep the two apart. Every case
// is answered by every arm, so differences are paired. Where the conjunction is
// an arm it is the real engine with a real bundle.
//
// Weighted scores exist in this package only, as the thing compared against.
// Everything here is repeatable: what is random comes from a seed that the
// result repeats.
package bench
