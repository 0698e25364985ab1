// Package metrics tells from a journal how well a gate does: what got done, what
// it cost, what was stopped and whether rightly, and what was known to be wrong.
//
// It is a fold over entries as they were written: nothing is decided again and
// nothing else is read, but the bundles that entries name, for what a tool costs.
//
// A call is one path: the same content in one trace, under whatever call id. Its
// tier, class and whether it was stopped are those of its first decision; what
// comes later, a pull-back included, does not un-execute it. A path that ran and
// is proposed afresh (a read, say, that is decided anew) is another call.
//
// A permitted call counts as executed unless the enforcement point reports that
// it was not run, and as without error unless one is reported: who does not
// report hides no call that may have had its effect. Notes say how many there are.
//
// Every ratio has its counts; 0/0 is no data, not 0. A figure that more
// permission would flatter has one beside it, named known, that counts every
// call known to be wrong against it, whoever found out: a reviewer before it
// ran, or an incident after.
package metrics
