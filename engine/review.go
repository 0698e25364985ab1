package engine

import (
	"fmt"
	"slices"
)

// review records a reviewer's word. Approve, reject and return count only on a
// current request and before the deadline; a revocation needs neither. What
// does not count is invalid and leaves the request as it is.
func (f *fold) review() {
	path, s := f.path(), f.state()
	if f.unsigned(f.e.Review.Signed) {
		return
	}
	if f.e.Review.Outcome == Revoke {
		if s.Rejection == nil {
			// What is revoked is an approval, and with it what it said of entities.
			f.disown(&path)
		}
		path.Approval = nil
		if !path.Pulled.waits() {
			path.Request = nil
		}
		f.w.SetPath(f.key(), path)
		f.w.SetRejection(f.same(), nil)
		f.reviewer(Approved)
		f.rec.ReviewOutcome = NoRequest
		return
	}
	if o := f.e.Review.Outcome; path.Pulled.waits() && o != Reject {
		f.refuse("pulled_back_ran", "the call ran before it was pulled back, so it is not released again: confirm, compensate or acknowledge it")
		return
	}
	request := s.Path.Request
	if !request.Current(f.now, s.Settings, f.contract.Expiry) {
		f.refuse("no_current_request", "there is no current review request for this call")
		return
	}
	if past, ok := deadlinePast(s.Settings, f.now); past || !ok {
		f.refuse("deadline_past", "the deadline is past", NewFact("/now", f.now))
		return
	}
	if f.e.Review.Outcome == Approve && path.Agent == (Agent{}) {
		f.refuse("agent_unknown", "the call names no agent, so no reviewer can be told apart from it")
		return
	}
	next := *request
	switch f.e.Review.Outcome {
	case Approve:
		f.approve(&path, &next, s)
	case Reject:
		f.reject(&path, &next)
	case Return:
		next.Status = Returned
		f.complete(&path, &next)
	default:
		f.refuse("outcome_missing", "the review has no outcome")
	}
}

// approve adds a vote, and finishes the request when there are enough.
func (f *fold) approve(path *Path, next *Request, s *State) {
	by := f.e.By
	if slices.ContainsFunc(next.Votes, func(v Vote) bool { return SamePerson(v.Reviewer, by.Name) }) {
		f.refuse("voted_already", fmt.Sprintf("%s has approved this request already", by.Name))
		return
	}
	vote := Vote{Reviewer: by.Name, Role: by.Role, Time: f.now, Gates: slices.Clone(f.e.Review.Gates), Note: f.e.Review.Note, Seq: Self}
	next.Votes = append(slices.Clone(next.Votes), vote)
	if len(next.Votes) < max(1, next.Required) {
		path.Request = next
		f.w.SetPath(f.key(), *path)
		f.reviewer(Pending)
		return
	}
	next.Status = Approved
	path.Approval = &Approval{Request: next.Seq, Seq: Self, Time: f.now, Expires: expiresAt(f.now, s.Settings), Votes: next.Votes,
		Gates: commonGates(next.Votes), Saw: next.Saw}
	f.complete(path, next)
}

// commonGates lists the gates that every vote names.
func commonGates(votes []Vote) []string {
	var out []string
	if len(votes) == 0 {
		return nil
	}
	for _, g := range votes[0].Gates {
		everywhere := !slices.ContainsFunc(votes, func(v Vote) bool { return !slices.Contains(v.Gates, g) })
		if everywhere && !slices.Contains(out, g) {
			out = append(out, g)
		}
	}
	return out
}

// reject closes the request and binds the call, whatever id it comes back under.
func (f *fold) reject(path *Path, next *Request) {
	next.Status = RejectedRequest
	f.disown(path)
	path.Approval = nil
	code := f.e.Review.Code
	if code == "" {
		code = "other"
	}
	path.answer(RejectedRequest.String())
	f.bind(path, code)
	f.complete(path, next)
}

// bind makes the rejection that the event is, of the call and of its trivial
// changes, and makes suspect what the call was built on.
func (f *fold) bind(path *Path, code string) {
	same, before := f.same(), (*Rejection)(nil)
	if r, ok := f.view.Rejection(same); ok {
		before = &r
	}
	f.w.SetRejection(same, &Rejection{Before: before, Seq: Self, Time: f.now, Trace: f.e.TraceID, Call: f.e.Call, Reviewer: f.e.By.Name, Code: code, Pins: f.state().Pins})
	f.suspect(path, code)
}

func (f *fold) complete(path *Path, next *Request) {
	path.Request = next
	f.w.SetPath(f.key(), *path)
	f.reviewer(next.Status)
	f.rec.Completed, f.rec.Delay = true, f.now-next.Time
}

func (f *fold) reviewer(s RequestStatus) {
	name := f.e.By.Name
	f.rec.Reviewer, f.rec.ReviewOutcome = &name, s
}

// deadlinePast compares the clock with the deadline, inclusively. No deadline
// is no limit; ok is false when the setting cannot be read.
func deadlinePast(settings map[string]any, now int64) (past, ok bool) {
	switch d := settings["deadline"].(type) {
	case nil:
		return false, true
	case float64:
		return !(float64(now) <= d), true
	}
	return true, false
}
