package engine

import (
	"fmt"
	"slices"
	"testing"
)

// reopened is a life in which k1 was rejected while `ran` had run, `granted` was
// approved, `queued` waited and `read` had been read, all on the same record; the
// result of `read` had held the target.
type reopened struct {
	*life
	looks map[string]SecondLook
}

const (
	ran     = "sha256:ran"
	grant   = "sha256:granted"
	queued  = "sha256:queued"
	reading = "sha256:read"
	after   = "sha256:after"
)

func (l *life) propose(at int64, id, hash, tool string, items ...Item) Record {
	l.t.Helper()
	return l.attempt(at, func(a *Attempt) {
		a.Action.CallID, a.Action.CallHash, a.Action.Tool = id, hash, tool
		for _, i := range items {
			a.Action.Holds = append(a.Action.Holds, Held{Item: i})
		}
	})
}

func record(value string) Item { return Item{KindRecord, value} }

func reopen(t *testing.T, edits ...func(*life)) *reopened {
	t.Helper()
	r := &reopened{life: newLife(t), looks: map[string]SecondLook{}}
	for _, edit := range edits {
		edit(r.life)
	}
	r.propose(0, "read", reading, toolLook, record("inc"))
	r.propose(0, "k1", theCall, toolRevoke, record("inc"), Item{KindTarget, "wrong"})
	r.propose(1, "ran", ran, toolUpdate, record("inc"))
	r.do(Event{Op: OpResult, Time: 1, Call: ran, Result: ResultEvent{Status: ResultOK, Recoverable: true, Values: []string{"gift"}}})
	r.propose(2, "granted", grant, toolRevoke, record("inc"))
	r.valid(r.review(2, "ada", Approve, func(e *Event) { e.Call = grant }))
	r.propose(3, "queued", queued, toolRevoke, record("inc"), Item{KindArgument, "x"})
	r.propose(3, "after", after, toolNote, Item{KindArgument, "gift"})
	r.lookAgain(r.review(4, "ada", Reject, func(e *Event) { e.Review.Code = "wrong_target" }))
	return r
}

// lookAgain folds what a record makes due.
func (r *reopened) lookAgain(rec Record) {
	r.t.Helper()
	r.valid(rec)
	tools := map[string]string{ran: toolUpdate, grant: toolRevoke, queued: toolRevoke, reading: toolLook, after: toolNote}
	for _, due := range rec.Due {
		path := r.state.Path(due.Path.Trace, due.Path.Call)
		a := proposal()
		a.Action.CallID, a.Action.CallHash, a.Action.Tool = due.CallID, due.Path.Call, tools[due.Path.Call]
		for _, i := range path.Holds {
			a.Action.Holds = append(a.Action.Holds, Held{Item: i})
		}
		again := r.do(Event{Op: OpReexamine, Time: rec.Time, TraceID: due.Path.Trace, Call: due.Path.Call, CallID: due.CallID, Reexamine: due, Attempt: a})
		r.looks[due.Path.Call] = *again.Second
	}
}

func (r *reopened) at(call string) Path { return r.state.Path(task, call) }

func (r *reopened) say(at int64, op Op, call, by string, edits ...func(*Event)) Record {
	r.t.Helper()
	e := Event{Op: op, Time: at, TraceID: task, Call: call, By: Identity{Name: by, Role: "reviewer", Qualified: true}}
	for _, edit := range edits {
		edit(&e)
	}
	return r.do(e)
}

func TestARejectionReopens(t *testing.T) {
	r := reopen(t)
	want := map[string]Reexamined{reading: FlaggedRead, ran: PulledBack, grant: PulledBack, queued: DecidedAgain, after: PulledBack}
	if len(r.looks) != len(want) {
		t.Fatalf("looked again at %d calls, want %d: %+v", len(r.looks), len(want), r.looks)
	}
	for call, effect := range want {
		if got := r.looks[call]; got.Effect != effect || got.Ran != (call == ran || call == after || call == reading) {
			t.Errorf("%s: %v, ran %v: want %v", call, got.Effect, got.Ran, effect)
		}
	}
	if !r.looks[reading].Origin || r.looks[ran].Origin {
		t.Error("the read is the origin, and nothing else")
	}
	for _, call := range []string{ran, grant, queued, after} {
		p := r.at(call)
		if p.Approval != nil || p.Request == nil || p.Request.Status != Pending || len(p.Request.Votes) != 0 || len(p.Request.Saw.Suspect) == 0 {
			t.Errorf("%s: approval %+v, request %+v: want none, and a request that shows what is suspect", call, p.Approval, p.Request)
		}
		if call == queued != (p.Pulled == nil) {
			t.Errorf("%s: pulled back %+v", call, p.Pulled)
		}
	}
	if was, now := r.looks[ran].Was, r.looks[ran].Now; was != (Granted{Allow, ExecuteNotify, AllowCall}) || now != (Granted{Review, Propose, RequireReview}) {
		t.Errorf("authority %+v -> %+v", was, now)
	}
	if items := r.looks[after].Items; !slices.Equal(items, []Item{{KindEntity, "gift"}}) {
		t.Errorf("after is built on %v", items)
	}
}

func TestPullBacksAreQueuedWhateverTheQueueHolds(t *testing.T) {
	r := reopen(t, func(l *life) { l.set(0, "capacity", 2.0) })
	if n := len(r.state.Waiting()); n != 4 {
		t.Errorf("%d wait, want 4 on a capacity of 2", n)
	}
	if rec := r.propose(5, "more", "sha256:more", toolRevoke); rec.Decision.Transition != Defer {
		t.Errorf("a new call is answered %v beside a full queue", rec.Decision.Transition)
	}
}

func TestAPullBackWaitsUntilItIsAnswered(t *testing.T) {
	r := reopen(t, func(l *life) { l.set(0, "review_ttl", 10.0) })
	r.change(50, "", "context", "x2")
	s := readState(r.contract(), r.state, task, ran, nil, 100)
	if !s.Path.Request.Current(100, s.Settings, r.contract().Expiry) {
		t.Error("a pull-back lapsed, or was voided by a moved pin")
	}
	r.valid(r.say(100, OpConfirm, ran, "ada"))
}

func TestACallThatRanAndWasPulledBackNeverRunsAgain(t *testing.T) {
	for _, anew := range []CallRule{Once, DecideAnew} {
		for _, answer := range []Op{NoOp, OpConfirm, OpAcknowledge} {
			r := reopen(t, func(l *life) { l.contract().Calls = anew })
			for _, o := range []ReviewOutcome{Approve, Return} {
				r.invalid(r.review(5, "ada", o, func(e *Event) { e.Call = ran }), "pulled_back_ran")
			}
			r.valid(r.review(5, "ada", Revoke, func(e *Event) { e.Call = ran }))
			if p := r.at(ran); p.Request == nil || p.Request.Status != Pending {
				t.Error("a revocation ends a pull-back that nobody answered")
			}
			if answer != NoOp {
				r.valid(r.say(6, answer, ran, "ada"))
			}
			r.valid(r.say(7, OpClear, "", "ada", func(e *Event) { e.Answer.Item.Value = "inc" }))
			rec := r.propose(8, "ran", ran, toolUpdate, record("inc"))
			r.want(rec, Stop)
			if !slices.Contains(codes(rec.Decision.Gate(Bounds).Reasons), "pulled_back") {
				t.Errorf("calls %v, %v: %v", anew, answer, codes(rec.Decision.Gate(Bounds).Reasons))
			}
		}
	}
}

func TestACallThatWasPulledBackBeforeItRanIsReviewedLikeAnyOther(t *testing.T) {
	r := reopen(t)
	r.want(r.propose(5, "granted", grant, toolRevoke, record("inc")), Escalate)
	for _, op := range []Op{OpConfirm, OpCompensate, OpAcknowledge} {
		r.invalid(r.say(5, op, grant, "ada"), "pulled_back_unrun")
	}
	r.valid(r.review(6, "ada", Approve, func(e *Event) { e.Call = grant }))
	r.want(r.propose(7, "granted", grant, toolRevoke, record("inc")), Act)
	if p := r.at(grant); p.Pulled != nil || p.Runs != 1 {
		t.Errorf("released again: %+v", p.Pulled)
	}
}

func TestTheRequestOfAQueuedCallShowsWhatBecameSuspect(t *testing.T) {
	r := reopen(t)
	r.valid(r.review(6, "ada", Approve, func(e *Event) { e.Call = queued }))
	r.want(r.propose(7, "queued", queued, toolRevoke, record("inc"), Item{KindArgument, "x"}), Act)
}

func TestACallReportedAsNotRunAfterItsPullBackWaitsForARelease(t *testing.T) {
	r := reopen(t)
	r.invalid(r.say(5, OpResult, ran, "pep", func(e *Event) { e.Result.Status = NotRun }), "reported_before")
	r.valid(r.say(5, OpResult, after, "pep", func(e *Event) { e.Result.Status = NotRun }))
	r.invalid(r.say(6, OpConfirm, after, "ada"), "pulled_back_unrun")
	r.valid(r.review(7, "ada", Approve, func(e *Event) { e.Call = after }))
	r.want(r.propose(8, "after", after, toolNote, Item{KindArgument, "gift"}), Act)
}

func TestCompensation(t *testing.T) {
	for _, c := range []struct{ name, with, want string }{
		{"a call nobody proposed", "nothing", "compensation_unknown"},
		{"no call", "", "compensation_unknown"},
		{"a call from before", "granted", "compensation_older"},
		{"the call itself", "ran", "compensation_older"},
		{"a call since, that waits", "makeup", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := reopen(t)
			r.propose(5, "makeup", "sha256:makeup", toolRevoke, record("inc"))
			rec := r.say(6, OpCompensate, ran, "ada", func(e *Event) { e.Answer.With = c.with })
			if c.want != "" {
				r.invalid(rec, c.want)
				return
			}
			r.valid(rec)
			if p := r.at(ran); p.Pulled.Answer != "compensated" || p.Request.Status != Compensated || rec.ReviewOutcome != Compensated {
				t.Errorf("%+v, %+v", p.Pulled, rec)
			}
			r.invalid(r.say(7, OpConfirm, ran, "ada"), "answered_already")
		})
	}
}

func TestWhoMayAnswer(t *testing.T) {
	for _, op := range []Op{OpClear, OpConfirm, OpCompensate, OpAcknowledge} {
		for _, c := range []struct{ by, want string }{
			{agentID, "self_serving"},
			{planner, "self_serving"},
			{"planner", "self_serving"},
			{"", "identity_missing"},
			{"wendy", "author_reviews"},
			{"eve", "not_authorised"},
		} {
			r := reopen(t)
			r.p.may = func(q AuthorityRequest) bool { return q.By.Name != "eve" }
			edit := func(e *Event) { e.Answer.Item.Value, e.Answer.With = "inc", "makeup" }
			r.propose(5, "makeup", "sha256:makeup", toolRevoke)
			call := ran
			if op == OpClear {
				call = ""
			}
			r.invalid(r.say(6, op, call, c.by, edit), c.want)
			r.valid(r.say(7, op, call, "ada", edit))
		}
	}
}

func TestNobodyClearsWhatTheirOwnTraceMadeSuspect(t *testing.T) {
	for _, by := range []string{agentID, planner, "planner", "wendy"} {
		r := reopen(t, func(l *life) { l.contract().Reexamination, l.contract().Window = scopeWindow, 100 })
		rec := r.say(5, OpClear, "", by, func(e *Event) { e.TraceID, e.Answer.Item.Value = other, "inc" })
		if _, still := r.state.Suspicion(task, "inc"); rec.Invalid == "" || !still {
			t.Errorf("%s cleared it by way of another trace: %+v", by, rec)
		}
		r.valid(r.say(6, OpClear, "", "ada", func(e *Event) { e.TraceID, e.Answer.Item.Value = other, "inc" }))
	}
}

func TestAnUnsignedAnswerWhereSignaturesAreAskedFor(t *testing.T) {
	r := reopen(t)
	r.contract().SignedReviews = true
	r.invalid(r.say(5, OpConfirm, ran, "ada"), "review_unsigned")
	r.invalid(r.say(5, OpClear, "", "ada", func(e *Event) { e.Answer.Item.Value = "inc" }), "review_unsigned")
	r.valid(r.say(5, OpConfirm, ran, "ada", func(e *Event) { e.Answer.Signed = true }))
}

func TestClearingIsOfOneItemInOneTrace(t *testing.T) {
	for _, c := range []struct {
		name, trace string
		item        Item
		want        string
	}{
		{"of its kind", task, record("inc"), ""},
		{"of any kind", task, Item{Value: "inc"}, ""},
		{"of another kind", task, Item{KindTarget, "inc"}, "not_suspect"},
		{"of another trace", other, record("inc"), "not_suspect"},
		{"of what is not suspect", task, record("x"), "not_suspect"},
		{"of nothing", task, Item{}, "not_suspect"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := reopen(t)
			rec := r.say(5, OpClear, "", "ada", func(e *Event) { e.TraceID, e.Answer.Item = c.trace, c.item })
			if c.want != "" {
				r.invalid(rec, c.want)
				return
			}
			r.valid(rec)
			if _, still := r.state.Suspicion(task, "inc"); still {
				t.Error("still suspect")
			}
			if _, still := r.state.Suspicion(task, "wrong"); !still {
				t.Error("another item was cleared too")
			}
			r.invalid(r.say(6, OpClear, "", "ada", func(e *Event) { e.Answer.Item = c.item }), "not_suspect")
			r.want(r.propose(7, "new", "sha256:new", toolNote, record("inc")), Act)
		})
	}
}

func TestClearingWhatACallWasBuiltOn(t *testing.T) {
	for call, want := range map[string][]string{theCall: {}, ran: {"gift", "wrong"}, after: {"inc", "wrong"}} {
		r := reopen(t)
		r.valid(r.say(5, OpClear, call, "ada"))
		left := []string{}
		for _, s := range r.state.AllSuspicions() {
			left = append(left, s.Value)
		}
		if !slices.Equal(left, want) {
			t.Errorf("after %s was cleared %v is suspect, want %v", call, left, want)
		}
		r.invalid(r.say(6, OpClear, call, "ada"), "not_suspect")
	}
	r := reopen(t)
	r.invalid(r.say(5, OpClear, "", "ada"), "not_suspect")
}

func TestTwoRejectionsGiveNoGhosts(t *testing.T) {
	r := reopen(t)
	for _, call := range []string{queued, grant, ran} {
		rec := r.review(6, "ada", Reject, func(e *Event) { e.Call = call })
		r.valid(rec)
		if len(rec.Due) != 0 {
			t.Errorf("rejecting %s, which is built on the same, makes %+v due", call, rec.Due)
		}
	}
	if p := r.at(ran); p.Pulled.Answer != "rejected" || p.Request.Status != RejectedRequest {
		t.Errorf("%+v, %+v", p.Pulled, p.Request)
	}
	if got := r.state.Waiting(); len(got) != 1 || got[0].Call != after {
		t.Errorf("%v wait, want what was pulled back and not answered", got)
	}
	r.invalid(r.review(7, "ada", Reject, func(e *Event) { e.Call = ran }), "no_current_request")
}

func TestAnIncidentWorksLikeARejection(t *testing.T) {
	r := &reopened{life: newLife(t), looks: map[string]SecondLook{}}
	r.propose(0, "read", reading, toolLook, record("inc"))
	r.propose(1, "ran", ran, toolUpdate, record("inc"))
	r.propose(2, "after", after, toolNote, record("inc"))
	r.lookAgain(r.do(Event{Op: OpResult, Time: 3, Call: ran, Result: ResultEvent{Incident: "wrong_timing"}}))
	if r.looks[reading].Effect != FlaggedRead || r.looks[after].Effect != PulledBack || len(r.looks) != 2 {
		t.Errorf("looked again at %+v", r.looks)
	}
	if p := r.at(after).Pulled; p.Code != "wrong_timing" || p.Call.Call != ran {
		t.Errorf("pulled back because of %+v", p)
	}
}

func TestLateResultsOfAPulledBackCallSpreadDownstreamOnly(t *testing.T) {
	r := reopen(t)
	r.propose(5, "later", "sha256:later", toolNote, Item{KindArgument, "late"})
	rec := r.do(Event{Op: OpResult, Time: 6, Call: ran, Result: ResultEvent{Status: ResultOK, Recoverable: true, Values: []string{"late", "x"}}})
	r.valid(rec)
	var got []string
	for _, d := range rec.Due {
		got = append(got, fmt.Sprintf("%s%v%d", d.Path.Call, d.Items, d.Rejection))
	}
	// queued holds x, and was proposed after ran had run.
	if want := []string{"sha256:queued[{entity x}]9", "sha256:later[{entity late}]9"}; !slices.Equal(got, want) {
		t.Errorf("due: %v, want %v", got, want)
	}
	r = reopen(t)
	r.valid(r.say(5, OpConfirm, ran, "ada"))
	if rec := r.do(Event{Op: OpResult, Time: 6, Call: ran, Result: ResultEvent{Status: ResultOK, Recoverable: true, Values: []string{"x"}}}); len(rec.Due) != 0 {
		t.Errorf("the result of a confirmed call makes %v due", rec.Due)
	}
}

func TestACallThatCannotBeDecidedAgainIsStillPulledBack(t *testing.T) {
	r := reopen(t)
	due := r.looks[ran].Reexamination
	a := proposal()
	a.Action.Tool, a.Action.CallHash, a.Missing = toolUpdate, ran, true
	a.Action.Holds = []Held{{Item: record("inc")}}
	rec := r.do(Event{Op: OpReexamine, Time: 9, TraceID: task, Call: ran, CallID: "ran", Reexamine: due, Attempt: a})
	if rec.Second.Effect != PulledBack || rec.Decision.Outcome != Block || !slices.Contains(codes(rec.Decision.Reasons), "not_redecidable") {
		t.Errorf("%+v, %v", rec.Second, codes(rec.Decision.Reasons))
	}
}

func TestACallOfVeryManyValuesIsBuiltOnEverything(t *testing.T) {
	r := reopen(t)
	rec := r.propose(5, "big", "sha256:big", toolNote, Item{Kind: KindEverything})
	if rec.Decision.Tier != Propose {
		t.Errorf("tier %v on everything", rec.Decision.Tier)
	}
	l := &reopened{life: newLife(t), looks: map[string]SecondLook{}}
	l.propose(0, "after", after, toolNote, Item{Kind: KindEverything})
	l.propose(0, "k1", theCall, toolRevoke, record("inc"))
	l.lookAgain(l.review(1, "ada", Reject))
	if l.looks[after].Effect != PulledBack || len(l.looks) != 1 {
		t.Errorf("looked again at %+v", l.looks)
	}
}

func TestNothingIsReopenedWhereTheContractSaysOff(t *testing.T) {
	r := reopen(t, func(l *life) { l.contract().Reexamination = "off" })
	if len(r.looks) != 0 || len(r.state.Suspect) != 0 {
		t.Errorf("looked again at %v, suspect %v", r.looks, r.state.Suspect)
	}
}

func TestNobodyIsAskedAboutARejectedCall(t *testing.T) {
	l := newLife(t)
	l.attempt(0)
	l.valid(l.review(1, "ada", Reject))
	l.p.addGate("zz-own", Fail, ByReview, ByReview)
	rec := l.attempt(2)
	l.want(rec, Stop)
	if rec.Requested || len(l.state.Waiting()) != 0 {
		t.Error("a rejected call waits for a person")
	}
}
