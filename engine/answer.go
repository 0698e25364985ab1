package engine

import (
	"fmt"
	"slices"
)

// Answer is a reviewer's answer to suspicion or to a pull-back.
type Answer struct {
	// Item is what `clear` clears, in normal form; without a kind it is that value
	// of whatever kind, and without a value everything suspect that the event's
	// call was built on, or made so by being rejected.
	Item Item
	// With is the call id, in the same trace, of what compensates.
	With string
	Note string
	// Signed says that the signature was verified; Signature is over what was
	// answered, opaque here.
	Signed    bool
	Signature string
}

// answers are the operations that only a reviewer has.
func (o Op) answers() bool {
	return o == OpClear || o == OpConfirm || o == OpCompensate || o == OpAcknowledge
}

// Judges reports whether the operation is a reviewer's word: who may say it
// comes from the bundle's reviewer list.
func (o Op) Judges() bool { return o == OpReview || o.answers() }

// clear ends the suspicion of an item. What was pulled back because of it still
// waits for an answer.
func (f *fold) clear() {
	if f.unsigned(f.e.Answer.Signed) {
		return
	}
	for _, s := range f.clearable() {
		if code := f.ownSuspicion(s); code != "" {
			f.w.Suspicions = nil
			f.refuse(code, fmt.Sprintf("%s may not clear what the calls of trace %q made suspect", f.e.By.Name, s.Trace), NewFact("/by", f.e.By.Name))
			return
		}
		f.w.Suspicions = append(f.w.Suspicions, SuspicionWrite{Suspicion: s, Cleared: true})
	}
	if len(f.w.Suspicions) == 0 {
		f.refuse("not_suspect", fmt.Sprintf("no such item is suspect in trace %q", f.e.TraceID), NewFact("/item/value", f.e.Answer.Item.Value))
		return
	}
	f.reviewer(NoRequest)
}

// clearable lists the suspicions that the event is about.
func (f *fold) clearable() (out []Suspicion) {
	item, path := f.e.Answer.Item, f.path()
	mine := func(s Suspicion) bool {
		return (s.Trace == f.e.TraceID || f.contract.Reexamination == scopeWindow) && (item.Kind == "" || item.Kind == s.Kind)
	}
	if item.Value != "" {
		return slices.DeleteFunc(f.view.SuspicionsOf(item.Value), func(s Suspicion) bool { return !mine(s) })
	}
	return slices.DeleteFunc(f.view.AllSuspicions(), func(s Suspicion) bool {
		holds := slices.ContainsFunc(path.Holds, func(i Item) bool { return i.Value == s.Value })
		return f.e.Call == "" || !mine(s) || s.Call != f.key() && !holds
	})
}

// ownSuspicion is I1 for what another trace than the event's made suspect: who has
// a part there does not clear it by way of a trace of somebody else.
func (f *fold) ownSuspicion(s Suspicion) string {
	by := f.e.By.Name
	for _, trace := range []string{s.Trace, s.Call.Trace} {
		pins := readState(f.contract, f.view, trace, "", nil, f.now).Pins
		for _, a := range append(slices.Clone(f.view.Trace(trace).Agents), Agent{Component: pins["component"]}) {
			if a.Is(by) {
				return "self_serving"
			}
		}
		if pin := f.contract.Author; pin != "" && SamePerson(by, pins[pin]) {
			return "author_reviews"
		}
	}
	return ""
}

// answer is what a reviewer says to a call that ran and was pulled back. Nothing
// runs again by it.
func (f *fold) answer() {
	path := f.path()
	switch {
	case f.unsigned(f.e.Answer.Signed):
		return
	case path.Pulled == nil:
		f.refuse("not_pulled_back", "the call was not pulled back")
		return
	case !path.Pulled.Ran:
		f.refuse("pulled_back_unrun", "the call was pulled back before it ran: approve, reject or return it")
		return
	case path.Pulled.Answer != "":
		f.refuse("answered_already", fmt.Sprintf("the pull-back was answered already: %s", path.Pulled.Answer))
		return
	}
	status := map[Op]RequestStatus{OpConfirm: Confirmed, OpCompensate: Compensated, OpAcknowledge: Acknowledged}[f.e.Op]
	if f.e.Op == OpCompensate && !f.compensates(&path) {
		return
	}
	next := *path.Request
	next.Status = status
	path.answer(status.String())
	f.complete(&path, &next)
}

// compensates reports whether the answer names a call that was proposed, and so
// gated, since the pull-back.
func (f *fold) compensates(path *Path) bool {
	with := f.e.Answer.With
	hash, known := f.view.CallHash(f.e.TraceID, with)
	first := f.view.Path(f.e.TraceID, hash).First
	switch {
	case !known:
		f.refuse("compensation_unknown", fmt.Sprintf("no call %q was proposed in the trace: what compensates is a call of its own, and gated like any other", with))
	case hash == f.e.Call || first <= path.Pulled.Seq:
		f.refuse("compensation_older", fmt.Sprintf("call %q was proposed before the pull-back, so it does not compensate", with))
	default:
		return true
	}
	return false
}

// answer notes what a reviewer said to the pull-back.
func (p *Path) answer(what string) {
	if p.Pulled != nil {
		c := *p.Pulled
		c.Answer = what
		p.Pulled = &c
	}
}

// unsigned refuses a reviewer's word where the contract asks for a signature
// and there is none.
func (f *fold) unsigned(signed bool) bool {
	if f.contract.SignedReviews && !signed {
		f.refuse("review_unsigned", "the contract asks for signed reviews")
		return true
	}
	return false
}
