package engine

import (
	"slices"
	"testing"
)

// The record of section 5 of the design: every field, over a small life.

func reviewerOf(r Record) string {
	if r.Reviewer == nil {
		return "nil"
	}
	return *r.Reviewer
}

// recordWant is what one attempt's record has to say.
type recordWant struct {
	before, after string
	transition    Transition
	left          int
	output        string
	required      bool
	reviewer      string // "nil": none
	outcome       RequestStatus
}

func holdRecord(t *testing.T, name string, r Record, w recordWant) {
	t.Helper()
	if r.StateBefore != w.before || r.StateAfter != w.after {
		t.Errorf("%s: state %q to %q, want %q to %q", name, r.StateBefore, r.StateAfter, w.before, w.after)
	}
	if r.Transition != w.transition || r.RetryLeft != w.left || r.OutputRef != w.output || r.ReviewRequired != w.required {
		t.Errorf("%s: %v, %d left, output %q, review required %v; want %v, %d, %q, %v", name, r.Transition, r.RetryLeft, r.OutputRef, r.ReviewRequired, w.transition, w.left, w.output, w.required)
	}
	if reviewerOf(r) != w.reviewer || r.ReviewOutcome != w.outcome {
		t.Errorf("%s: reviewer %s, outcome %v; want %s, %v", name, reviewerOf(r), r.ReviewOutcome, w.reviewer, w.outcome)
	}
	if r.ContextVersion != "x1" || r.RuleVersion != "r1" || r.ComponentVersion != "m1" || r.InputHash != "sha256:in" || r.TraceID != task || r.Source != "pep" {
		t.Errorf("%s: versions %q %q %q, input %q, trace %q, source %q", name, r.ContextVersion, r.RuleVersion, r.ComponentVersion, r.InputHash, r.TraceID, r.Source)
	}
	if len(r.Gates) != len(r.Decision.Gates) || len(r.Gates) < 6 {
		t.Errorf("%s: gates %v", name, r.Gates)
	}
	for _, g := range r.Decision.Gates {
		if r.Gates[g.Name] != g.Verdict {
			t.Errorf("%s: gate %s is %v in the record, %v in the decision", name, g.Name, r.Gates[g.Name], g.Verdict)
		}
	}
	if !slices.Equal(codes(r.Reasons), codes(r.Decision.Reasons)) {
		t.Errorf("%s: reasons %v, of the decision %v", name, codes(r.Reasons), codes(r.Decision.Reasons))
	}
}

func TestTheRecordOfALifeThatEndsInARelease(t *testing.T) {
	l := newLife(t)
	l.contract().Approval.Many = true
	holdRecord(t, "first attempt", l.attempt(1), recordWant{"open", "pending", Escalate, 1, "", true, "nil", Pending})
	holdRecord(t, "while pending", l.attempt(2), recordWant{"pending", "pending", Escalate, 1, "", true, "nil", Pending})
	if r := l.review(4, "ada", Approve); reviewerOf(r) != "ada" || r.ReviewOutcome != Approved || !r.Completed || r.Delay != 3 || r.Source != "ada" {
		t.Errorf("approval: %+v", r)
	}
	holdRecord(t, "release", l.attempt(5), recordWant{"approved", "approved", Act, 1, task + "/k1", true, "ada", Approved})
}

func TestTheRecordOfARejectedCall(t *testing.T) {
	l := newLife(t)
	l.attempt(1)
	if r := l.review(2, "ada", Reject); reviewerOf(r) != "ada" || r.ReviewOutcome != RejectedRequest || !r.Completed || r.Delay != 1 {
		t.Errorf("rejection: %+v", r)
	}
	holdRecord(t, "after it", l.attempt(3), recordWant{"rejected", "rejected", Stop, 1, "", true, "ada", RejectedRequest})
}

func TestTheRecordOfARequestThatTimedOut(t *testing.T) {
	l := newLife(t)
	l.contract().Queue = FromSetting
	l.attempt(1)
	l.set(2, "queue", 9.0)
	if r := l.attempt(12); r.ReviewOutcome != TimedOut || reviewerOf(r) != "nil" || r.Transition != Defer {
		t.Errorf("record %+v: want it timed out, reviewed by nobody", r)
	}
	l.set(12, "queue", 0.0)
	if r := l.attempt(13); r.ReviewOutcome != Pending || !r.Requested {
		t.Errorf("record %+v: want a new request", r)
	}
}

func TestTheRecordOfAReturnedRequest(t *testing.T) {
	l := newLife(t)
	l.contract().Queue = FromSetting
	l.attempt(1)
	if r := l.review(2, "ada", Return); r.ReviewOutcome != Returned || reviewerOf(r) != "ada" || !r.Completed {
		t.Errorf("return: %+v", r)
	}
	l.set(2, "queue", 9.0)
	holdRecord(t, "while the queue is full", l.attempt(3), recordWant{"returned", "returned", Defer, 1, "", true, "nil", Returned})
	l.set(3, "queue", 0.0)
	holdRecord(t, "asked again", l.attempt(3), recordWant{"returned", "pending", Escalate, 1, "", true, "nil", Pending})
}

func TestTheRecordOfAFailureAndItsRetry(t *testing.T) {
	l := newLife(t)
	small := func(at int64) Record { return l.attempt(at, byTool(toolNote)) }
	l.contract().Calls = DecideAnew
	holdRecord(t, "release", small(1), recordWant{"open", "released", Act, 1, task + "/k1", false, "nil", NoRequest})
	l.result(2, ResultError)
	holdRecord(t, "retry", small(3), recordWant{"failed", "failed", Retry, 0, "", false, "nil", NoRequest})
	holdRecord(t, "budget spent", small(4), recordWant{"failed", "failed", Stop, 0, "", false, "nil", NoRequest})
	l.fail(5, false, true)
	holdRecord(t, "resolved", small(6), recordWant{"open", "released", Act, 0, task + "/k1", false, "nil", NoRequest})
}

func TestTheRecordWithoutPinsNamesBundleAndComponent(t *testing.T) {
	l := newLife(t)
	l.contract().Start.Pins = nil
	r := l.attempt(1)
	if r.RuleVersion != "sha256:b1" || r.ComponentVersion != planner || r.ContextVersion != "" {
		t.Errorf("versions %q %q %q: want the bundle's digest, the agent's component and none", r.RuleVersion, r.ComponentVersion, r.ContextVersion)
	}
}

func TestTheRecordNamesTheVersionsInForce(t *testing.T) {
	l := newLife(t)
	l.change(0, "", "context", "x2", "component", "m2")
	l.change(0, "", "rule", "r2")
	if r := l.attempt(1); r.ContextVersion != "x2" || r.RuleVersion != "r2" || r.ComponentVersion != "m2" {
		t.Errorf("versions %q %q %q", r.ContextVersion, r.RuleVersion, r.ComponentVersion)
	}
}

func TestNobodyReviewedIsNotApproval(t *testing.T) {
	l := newLife(t)
	for at := range int64(3) {
		if r := l.attempt(at); r.Reviewer != nil || r.ReviewOutcome == Approved {
			t.Errorf("record %+v: want no reviewer", r)
		}
	}
	l.contract().Required = 2
	l.attempt(20)
	l.review(21, "ada", Approve)
	if r := l.attempt(22); r.Reviewer != nil || r.ReviewOutcome != Pending {
		t.Errorf("reviewer %s, outcome %v after one of two: want nil, pending", reviewerOf(r), r.ReviewOutcome)
	}
}

func TestTheRecordDoesNotCallAVoidApprovalApproved(t *testing.T) {
	for name, void := range map[string]func(*life) Record{
		"expired":     func(l *life) Record { return l.attempt(20) },
		"moved facts": func(l *life) Record { return l.attempt(3, facts("sha256:f2")) },
		"moved pin":   func(l *life) Record { l.change(2, "", "author", "w2"); return l.attempt(3) },
	} {
		l := newLife(t)
		l.approved(1)
		r := void(l)
		l.want(r, Escalate)
		if r.Reviewer != nil || r.ReviewOutcome != Pending || r.StateAfter != "pending" || r.StateBefore == "approved" {
			t.Errorf("%s: state %q to %q, reviewer %s, outcome %v: want it pending, reviewed by nobody", name, r.StateBefore, r.StateAfter, reviewerOf(r), r.ReviewOutcome)
		}
	}
}

func TestTheRecordSaysThatAReleaseUsedItsApproval(t *testing.T) {
	l := newLife(t)
	l.approved(1)
	if r := l.attempt(2); r.StateAfter != "released" {
		t.Errorf("state after %q, want released", r.StateAfter)
	}
}

func TestTheRecordOfAnEngagementIsWhole(t *testing.T) {
	l := newLife(t)
	r := l.do(Event{Op: OpEngage, Engage: Engagement{"planner@3", "plan"}})
	if r.ContextVersion != "x1" || r.RuleVersion != "r1" || r.StateBefore == "" || r.StateAfter == "" || r.RetryLeft != 1 {
		t.Errorf("record %+v", r)
	}
}

func TestTheRecordOfAReusedCallIDIsWhole(t *testing.T) {
	l := newLife(t)
	l.attempt(0)
	r := l.attempt(1, callHash("sha256:c2"))
	if r.InputHash != "sha256:in" || r.Gates[Bounds] != Fail || r.RuleVersion != "r1" || r.StateBefore == "" {
		t.Errorf("record %+v", r)
	}
}
