package engine

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
)

// Each contract key of section 5 of the design, with a test that fails when the
// key is not looked at.

func TestApprovalUses(t *testing.T) {
	for _, many := range []bool{false, true} {
		l := newLife(t)
		l.contract().Calls = DecideAnew
		l.contract().Approval.Many = many
		l.approved(0)
		l.want(l.attempt(1), Act)
		want := Escalate
		if many {
			want = Act
		}
		l.want(l.attempt(2), want)
	}
}

func TestApprovalVoidedByEachBindingAlone(t *testing.T) {
	moves := map[Binding]func(*life) []func(*Attempt){
		BindFacts:    func(*life) []func(*Attempt) { return []func(*Attempt){facts("sha256:f2")} },
		BindBundle:   func(l *life) []func(*Attempt) { l.p.bundle.Digest = "sha256:b2"; return nil },
		BindEvidence: func(l *life) []func(*Attempt) { l.evidence(2, "ci", Pass); return nil },
		BindPins:     func(l *life) []func(*Attempt) { l.contract().Start.Pins["context"] = "x2"; return nil },
	}
	all := []Binding{BindPins, BindBundle, BindFacts, BindEvidence}
	for _, moved := range all {
		for _, bound := range all {
			t.Run(fmt.Sprintf("%v moves, bound to %v", moved, bound), func(t *testing.T) {
				l := newLife(t)
				l.contract().Approval.VoidedBy = []Binding{bound}
				l.evidence(0, "ci", Pass)
				l.approved(1)
				rec := l.attempt(3, moves[moved](l)...)
				if moved == bound {
					l.want(rec, Escalate)
					if want := "approval_void_" + bound.String(); !slices.Contains(codes(rec.Decision.Reasons), want) {
						t.Errorf("reasons %v, want %s", codes(rec.Decision.Reasons), want)
					}
					return
				}
				l.want(rec, Act)
			})
		}
	}
}

func TestApprovalWithoutBindingsStillEndsWithItsEpoch(t *testing.T) {
	l := newLife(t)
	l.contract().Approval.VoidedBy = nil
	l.approved(0)
	l.change(1, "", "rule", "r2")
	l.change(1, "", "rule", "r1")
	l.want(l.attempt(2), Escalate)
}

func TestApprovalSawWhatTheRequestShowed(t *testing.T) {
	// What moves between request and approval voids the approval: the reviewer
	// was shown what stood when the review was asked for.
	l := newLife(t)
	l.evidence(0, "ci", Pass)
	l.attempt(1)
	l.evidence(2, "ci", Pass)
	l.valid(l.review(3, "ada", Approve))
	rec := l.attempt(4)
	l.want(rec, Escalate)
	if !rec.Requested {
		t.Error("no new request for what is there now")
	}
	l.valid(l.review(5, "ada", Approve))
	l.want(l.attempt(6), Act)
}

func TestExpiry(t *testing.T) {
	for _, c := range []struct {
		name   string
		expiry Expiry
		ttls   [][2]any // at, review_ttl
		at     int64
		want   Transition
	}{
		{"final, within", Final, nil, 10, Act},
		{"final, past", Final, nil, 11, Escalate},
		{"derived, past", Derived, nil, 11, Escalate},
		{"final, lengthened after it lapsed", Final, [][2]any{{11, 50.0}}, 12, Escalate},
		{"derived, lengthened after it lapsed", Derived, [][2]any{{11, 50.0}}, 12, Act},
		{"derived, lengthened, at its end", Derived, [][2]any{{11, 50.0}}, 50, Act},
		{"derived, lengthened, past its end", Derived, [][2]any{{11, 50.0}}, 51, Escalate},
		{"final, lengthened in time", Final, [][2]any{{5, 50.0}}, 12, Escalate},
		{"final, shortened", Final, [][2]any{{1, 3.0}}, 4, Escalate},
		{"derived, shortened", Derived, [][2]any{{1, 3.0}}, 4, Escalate},
		{"final, limit taken away", Final, [][2]any{{11, nil}}, 12, Escalate},
		{"derived, limit taken away", Derived, [][2]any{{11, nil}}, 12, Act},
		{"derived, shortened and lengthened", Derived, [][2]any{{1, 3.0}, {5, 10.0}}, 6, Act},
		{"final, odd", Final, [][2]any{{1, "ten"}}, 2, Escalate},
		{"derived, odd", Derived, [][2]any{{1, "ten"}}, 2, Escalate},
	} {
		t.Run(c.name, func(t *testing.T) {
			// The approval and the request follow one rule.
			l := newLife(t)
			l.contract().Expiry = c.expiry
			l.approved(0)
			for _, s := range c.ttls {
				l.set(int64(s[0].(int)), "review_ttl", s[1])
			}
			l.want(l.attempt(c.at), c.want)

			l = newLife(t)
			l.contract().Expiry = c.expiry
			l.attempt(0)
			for _, s := range c.ttls {
				l.set(int64(s[0].(int)), "review_ttl", s[1])
			}
			if rec := l.review(c.at, "ada", Approve); (rec.Invalid == "") != (c.want == Act) {
				t.Errorf("review: invalid %q, want it valid: %v", rec.Invalid, c.want == Act)
			}
		})
	}
}

func TestFinalExpiryRemembersThatAShorterTTLLetSomethingLapse(t *testing.T) {
	t.Skip("known limit: a final expiry is fixed when something is made, and a ttl that was shorter in between is not remembered")
	l := newLife(t)
	l.approved(0)
	l.set(1, "review_ttl", 3.0)
	l.want(l.attempt(5), Escalate)
	l = newLife(t)
	l.approved(0)
	l.set(1, "review_ttl", 3.0)
	l.set(5, "review_ttl", 10.0)
	l.want(l.attempt(6), Escalate)
}

func TestQueueCountsCurrentRequestsOfOtherCalls(t *testing.T) {
	at := func(i int) []func(*Attempt) {
		return []func(*Attempt){callID(fmt.Sprint("k", i+10)), callHash(fmt.Sprint("sha256:x", i)), inTrace(fmt.Sprint("X", i))}
	}
	for _, c := range []struct {
		name  string
		after func(*life)
		at    int64
		want  Transition
	}{
		{"full", func(*life) {}, 1, Defer},
		{"one approved", func(l *life) {
			l.review(1, "ada", Approve, func(e *Event) { e.TraceID, e.Call = "X0", "sha256:x0" })
		}, 1, Escalate},
		{"one returned", func(l *life) {
			l.review(1, "ada", Return, func(e *Event) { e.TraceID, e.Call = "X1", "sha256:x1" })
		}, 1, Escalate},
		{"one void", func(l *life) {
			l.do(Event{Op: OpChange, TraceID: "X1", Pins: map[string]string{"rule": "r2"}})
		}, 1, Escalate},
		{"all at their limit", func(*life) {}, 10, Defer},
		{"all lapsed", func(*life) {}, 11, Escalate},
		{"one lapsed under its own ttl", func(l *life) {
			l.do(Event{Op: OpSettings, TraceID: "X0", Settings: map[string]any{"review_ttl": 1.0}})
		}, 2, Escalate},
		{"more room", func(l *life) { l.set(1, "capacity", 5.0) }, 1, Escalate},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLife(t)
			l.set(0, "queue", 99.0) // not looked at
			for i := range 4 {
				l.want(l.attempt(0, at(i)...), Escalate)
			}
			c.after(l)
			l.want(l.attempt(c.at), c.want)
		})
	}
}

func TestAPendingRequestDoesNotCountAgainstItself(t *testing.T) {
	l := newLife(t)
	l.contract().Start.Settings["capacity"] = 1.0
	l.want(l.attempt(0), Escalate)
	l.want(l.attempt(1), Escalate)
	l.want(l.attempt(1, callID("k2"), callHash("sha256:c2")), Defer)
}

func TestQueueFromASettingIsWhatTheSettingSays(t *testing.T) {
	for _, c := range []struct {
		queue, capacity any
		want            Transition
	}{{0.0, 1.0, Escalate}, {1.0, 1.0, Defer}, {2.0, 1.0, Defer}, {0.0, 0.0, Defer}, {nil, 1.0, Defer}, {"0", 1.0, Defer}, {0.0, nil, Defer}, {0.0, "9", Defer}, {-1.0, 0.0, Escalate}} {
		l := newLife(t)
		l.contract().Queue = FromSetting
		for i := range 5 {
			l.attempt(0, callID(fmt.Sprint("k", i+10)), callHash(fmt.Sprint("sha256:x", i)))
		}
		l.set(1, "queue", c.queue)
		l.set(1, "capacity", c.capacity)
		rec := l.attempt(1)
		if rec.Transition != c.want || rec.Requested != (c.want == Escalate) {
			t.Errorf("queue %v, capacity %v: %v, requested %v: want %v", c.queue, c.capacity, rec.Transition, rec.Requested, c.want)
		}
	}
}

func TestAFullQueueLeavesAPendingRequestAlone(t *testing.T) {
	l := newLife(t)
	l.contract().Queue = FromSetting
	l.want(l.attempt(0), Escalate)
	l.set(1, "queue", 4.0)
	rec := l.attempt(1)
	l.want(rec, Defer)
	if rec.ReviewOutcome != Pending {
		t.Errorf("review outcome %v, want pending", rec.ReviewOutcome)
	}
	l.valid(l.review(2, "ada", Approve))
	l.want(l.attempt(3), Act)
}

func TestCalls(t *testing.T) {
	for _, c := range []struct {
		name  string
		calls CallRule
		tool  string
		want  Transition
	}{
		{"once", Once, toolNote, Stop},
		{"once, a read tool", Once, toolLook, Act},
		{"decide anew", DecideAnew, toolNote, Act},
		{"decide anew, a read tool", DecideAnew, toolLook, Act},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLife(t)
			l.contract().Calls = c.calls
			l.want(l.attempt(0, byTool(c.tool)), Act)
			rec := l.attempt(1, byTool(c.tool))
			l.want(rec, c.want)
			if c.want != Stop {
				return
			}
			if !slices.Contains(codes(rec.Decision.Reasons), "already_released") || rec.Decision.Outcome != Block {
				t.Errorf("%v, reasons %v: want a block, already_released", rec.Decision.Outcome, codes(rec.Decision.Reasons))
			}
			if got := factsOf(t, rec.Decision.Reasons, "already_released"); !reflect.DeepEqual(got, []Fact{NewFact("/path/released", uint64(1))}) {
				t.Errorf("facts %v, want the entry that released it", got)
			}
			l.want(l.attempt(2, byTool(c.tool), callID("k9"), confidence(1)), Stop)
			l.want(l.attempt(2, byTool(c.tool), inTrace(other)), Act)
		})
	}
}

func TestRequiredCountsDifferentReviewers(t *testing.T) {
	l := newLife(t)
	l.contract().Required = 2
	l.want(l.attempt(0), Escalate)
	rec := l.review(1, "ada", Approve)
	l.valid(rec)
	if rec.Completed || rec.ReviewOutcome != Pending || l.path().Approval != nil {
		t.Errorf("record %+v: want one of two", rec)
	}
	l.want(l.attempt(2), Escalate)
	l.invalid(l.review(2, "ada", Approve), "voted_already")
	l.want(l.attempt(2), Escalate)
	rec = l.review(3, "bob", Approve)
	l.valid(rec)
	if !rec.Completed || rec.Delay != 3 || rec.ReviewOutcome != Approved {
		t.Errorf("record %+v: want it completed after 3", rec)
	}
	l.want(l.attempt(4), Act)
}

func TestRequiredReviewersAreToldApartByMoreThanSpelling(t *testing.T) {
	for _, again := range []string{"Ada", "ADA", "ada ", " ada"} {
		l := newLife(t)
		l.contract().Required = 2
		l.attempt(0)
		l.review(1, "ada", Approve)
		l.review(1, again, Approve)
		if rec := l.attempt(2); rec.Decision.Permit {
			t.Errorf("ada and %q count as two reviewers", again)
		}
	}
}

func TestRequiredVotesEndWithTheirRequest(t *testing.T) {
	for name, between := range map[string]func(*life){
		"lapsed":   func(l *life) { l.set(14, "queue", 0.0) },
		"returned": func(l *life) { l.review(2, "eve", Return) },
		"revoked":  func(l *life) { l.review(2, "eve", Revoke) },
		"moved":    func(l *life) { l.change(2, "", "rule", "r2") },
		"evidence": func(l *life) { l.evidence(2, "ci", Pass) },
	} {
		t.Run(name, func(t *testing.T) {
			l := newLife(t)
			l.contract().Required = 2
			l.attempt(0)
			l.valid(l.review(1, "ada", Approve))
			between(l)
			rec := l.attempt(3)
			l.want(rec, Escalate)
			if !rec.Requested || len(l.path().Request.Votes) != 0 {
				t.Errorf("requested %v, votes %v: want a new request without votes", rec.Requested, l.path().Request.Votes)
			}
			l.valid(l.review(4, "bob", Approve))
			l.want(l.attempt(5), Escalate)
			l.valid(l.review(5, "ada", Approve))
			l.want(l.attempt(5), Act)
		})
	}
}

func TestAPendingRequestIsReplacedOnlyWhenWhatItShowedMoved(t *testing.T) {
	for _, bound := range []bool{false, true} {
		l := newLife(t)
		l.contract().Approval.VoidedBy = []Binding{BindFacts}
		if bound {
			l.contract().Approval.VoidedBy = []Binding{BindEvidence}
		}
		l.attempt(0)
		l.evidence(1, "ci", Pass)
		rec := l.attempt(2)
		l.want(rec, Escalate)
		if rec.Requested != bound {
			t.Errorf("bound to evidence %v: requested %v", bound, rec.Requested)
		}
	}
}

func TestRequiredIsLookedAtAgainWhenTheCallActs(t *testing.T) {
	l := newLife(t)
	l.contract().Approval.VoidedBy = []Binding{BindPins}
	l.approved(0)
	l.contract().Required = 2
	l.want(l.attempt(1), Escalate)
}

func TestRequiredBelowOneIsOne(t *testing.T) {
	for _, n := range []int{-1, 0, 1} {
		l := newLife(t)
		l.contract().Required = n
		l.want(l.attempt(0), Escalate)
		l.valid(l.review(1, "ada", Approve))
		l.want(l.attempt(2), Act)
	}
}

func TestAnApprovalResolvesOnlyGatesThatEveryVoteNames(t *testing.T) {
	for _, c := range []struct {
		name     string
		ada, bob []string
		want     Transition
	}{
		{"both name both", []string{"g1", "g2"}, []string{"g2", "g1"}, Act},
		{"one names one", []string{"g1", "g2"}, []string{"g1"}, Escalate},
		{"each names another", []string{"g1"}, []string{"g2"}, Escalate},
		{"twice the same does not help", []string{"g1", "g1"}, []string{"g1", "g1"}, Escalate},
		{"nobody names any", nil, nil, Escalate},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLife(t)
			l.contract().Required = 2
			l.p.addGate("g1", Fail, ByReview, ByReview)
			l.p.addGate("g2", Unknown, ByReview, ByReview)
			l.want(l.attempt(0, byTool(toolNote)), Escalate)
			l.valid(l.review(1, "ada", Approve, naming(c.ada...)))
			l.valid(l.review(1, "bob", Approve, naming(c.bob...)))
			l.want(l.attempt(2, byTool(toolNote)), c.want)
		})
	}
}

func TestNoApprovalResolvesAGateThatBlocks(t *testing.T) {
	l := newLife(t)
	l.p.addGate("g1", Fail, ByNobody, ByNobody)
	l.attempt(0)
	l.p.gates = nil // the request is made while the gate is away
	l.attempt(0)
	l.valid(l.review(1, "ada", Approve, naming("g1", Bounds, EvidenceReq)))
	l.p.addGate("g1", Fail, ByNobody, ByNobody)
	l.want(l.attempt(2), Stop)
}

func TestCounters(t *testing.T) {
	paying := func(l *life, rule CounterRule) {
		l.contract().Counters = map[string]CounterRule{"paid": rule}
		l.contract().Calls = DecideAnew
	}
	at := func(l *life, at int64, tool, to string, amount float64) {
		l.t.Helper()
		l.want(l.attempt(at, byTool(tool), argument("to", to), argument("amount", amount)), Act)
	}
	for _, c := range []struct {
		name string
		rule CounterRule
		now  int64
		to   any
		want any // nil: absent
	}{
		{"count", CounterRule{Tools: []string{toolNote}}, 30, "acme", 4.0},
		{"sum", CounterRule{Tools: []string{toolNote}, Sum: "amount"}, 30, "acme", 1111.0},
		{"another tool", CounterRule{Tools: []string{toolUpdate}, Sum: "amount"}, 30, "acme", 5.0},
		{"both tools", CounterRule{Tools: []string{toolUpdate, toolNote}}, 30, "acme", 5.0},
		{"by entity", CounterRule{Tools: []string{toolNote}, Sum: "amount", By: "to"}, 30, "acme", 1011.0},
		{"by another entity", CounterRule{Tools: []string{toolNote}, Sum: "amount", By: "to"}, 30, "evil", 100.0},
		{"by an entity not seen", CounterRule{Tools: []string{toolNote}, Sum: "amount", By: "to"}, 30, "new", 0.0},
		{"by an entity that is no text", CounterRule{Tools: []string{toolNote}, Sum: "amount", By: "to"}, 30, 7.0, nil},
		{"no window", CounterRule{Tools: []string{toolNote}, Sum: "amount", By: "to"}, 1 << 40, "acme", 1011.0},
		{"window, at its edge", CounterRule{Tools: []string{toolNote}, Sum: "amount", By: "to", Window: 20}, 20, "acme", 1011.0},
		{"window, past its edge", CounterRule{Tools: []string{toolNote}, Sum: "amount", By: "to", Window: 20}, 21, "acme", 1010.0},
		{"window, past all", CounterRule{Tools: []string{toolNote}, Sum: "amount", By: "to", Window: 20}, 41, "acme", 0.0},
		{"window, the last at its edge", CounterRule{Tools: []string{toolNote}, Sum: "amount", By: "to", Window: 20}, 40, "acme", 1000.0},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLife(t)
			paying(l, c.rule)
			l.p.addGate("look", Pass, ByNobody, ByNobody)
			at(l, 0, toolNote, "acme", 1)
			at(l, 10, toolNote, "acme", 10)
			at(l, 10, toolNote, "evil", 100)
			at(l, 15, toolUpdate, "acme", 5)
			at(l, 20, toolNote, "acme", 1000)
			// A held call does not count.
			l.want(l.attempt(20, callID("k2"), callHash("sha256:c2"), argument("to", "acme"), argument("amount", 7.0)), Escalate)
			// Attempts below the time of the last event are decided at that time, so
			// the counter is read straight from the state.
			action := proposal().Action
			action.Tool, action.Arguments = toolNote, map[string]any{"to": c.to}
			got := counters(l.contract(), l.state, &action, c.now)
			if v, ok := got["paid"]; ok != (c.want != nil) || ok && v != c.want {
				t.Errorf("counter %v, want %v", got, c.want)
			}
		})
	}
}

func TestACounterIsSeenByGates(t *testing.T) {
	l := newLife(t)
	l.contract().Counters = map[string]CounterRule{"n": {Tools: []string{toolNote}}}
	l.contract().Calls = DecideAnew
	l.p.addGate("look", Pass, ByNobody, ByNobody)
	for i := range 3 {
		l.want(l.attempt(int64(i), byTool(toolNote)), Act)
		if got := l.p.saw.State.Counters["n"]; got != float64(i) {
			t.Errorf("attempt %d sees %v", i, got)
		}
	}
	l.attempt(3, byTool(toolNote), callID("k2"), callHash("sha256:c2"), inTrace(other))
	if got := l.p.saw.State.Counters["n"]; got != 3 {
		t.Errorf("another trace sees %v, want 3: split calls add up across traces", got)
	}
}

func TestRejectionVoidedByNone(t *testing.T) {
	rejected := func() *life {
		l := newLife(t)
		l.attempt(0)
		l.valid(l.review(1, "ada", Reject))
		return l
	}
	for name, again := range map[string]func(*life) Record{
		"same id":            func(l *life) Record { return l.attempt(2) },
		"another call id":    func(l *life) Record { return l.attempt(2, callID("k2")) },
		"another trace":      func(l *life) Record { return l.attempt(2, inTrace(other)) },
		"another confidence": func(l *life) Record { return l.attempt(2, confidence(1)) },
		"another critic": func(l *life) Record {
			return l.attempt(2, func(a *Attempt) { a.Action.Critic = &Critic{new(1.0), "c"} })
		},
		"other facts":         func(l *life) Record { return l.attempt(2, facts("sha256:f2")) },
		"a moved pin":         func(l *life) Record { l.change(2, "", "rule", "r2"); return l.attempt(2) },
		"a pin of the path":   func(l *life) Record { l.change(2, theCall, "input", "i2"); return l.attempt(2) },
		"much later":          func(l *life) Record { return l.attempt(1 << 40) },
		"another bundle":      func(l *life) Record { l.p.bundle.Digest = "sha256:b2"; return l.attempt(2) },
		"a review not needed": func(l *life) Record { return l.attempt(2, byTool(toolNote)) },
	} {
		t.Run(name, func(t *testing.T) {
			l := rejected()
			rec := again(l)
			l.want(rec, Stop)
			if !slices.Contains(codes(rec.Decision.Reasons), "rejected") || rec.ReviewOutcome != RejectedRequest || rec.Reviewer == nil || *rec.Reviewer != "ada" {
				t.Errorf("record %+v: want it rejected by ada", rec)
			}
			l.valid(l.review(1<<41, "bob", Revoke, func(e *Event) { e.TraceID = rec.TraceID }))
			if rec = l.attempt(1 << 41); rec.Transition == Stop {
				t.Errorf("after revoke: %v", rec.Transition)
			}
		})
	}
}

func TestRejectionVoidedByPins(t *testing.T) {
	for _, c := range []struct {
		name string
		move func(*life)
		want Transition
	}{
		{"nothing moved", func(*life) {}, Stop},
		{"an equal pin", func(l *life) { l.change(2, "", "rule", "r1") }, Stop},
		{"a trace pin", func(l *life) { l.change(2, "", "rule", "r2") }, Escalate},
		{"a trace pin, ABA", func(l *life) { l.change(2, "", "rule", "r2"); l.change(2, "", "rule", "r1") }, Escalate},
		{"a path pin", func(l *life) { l.change(2, theCall, "input", "i2") }, Escalate},
		{"a pin of another path", func(l *life) { l.change(2, "sha256:c2", "input", "i2") }, Stop},
		{"a pin of another trace", func(l *life) {
			l.do(Event{Op: OpChange, Time: 2, TraceID: other, Pins: map[string]string{"rule": "r2"}})
		}, Stop},
		{"settings and evidence", func(l *life) { l.set(2, "queue", 1.0); l.evidence(2, "ci", Pass) }, Stop},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLife(t)
			l.contract().RejectionVoid = []Binding{BindPins}
			l.attempt(0)
			l.valid(l.review(1, "ada", Reject))
			c.move(l)
			l.want(l.attempt(3), c.want)
		})
	}
}

// TestARejectionIsNotLiftedByOneElsewhere rejects a call in two traces and
// then voids the second rejection alone.
func TestARejectionIsNotLiftedByOneElsewhere(t *testing.T) {
	l := newLife(t)
	l.contract().RejectionVoid = []Binding{BindPins}
	l.attempt(0)
	l.attempt(0, inTrace(other))
	l.valid(l.review(1, "ada", Reject))
	l.valid(l.review(1, "ada", Reject, func(e *Event) { e.TraceID = other }))
	l.do(Event{Op: OpChange, Time: 2, TraceID: other, Pins: map[string]string{"rule": "r2"}})
	l.want(l.attempt(3, byTool(toolNote)), Stop)
}

func TestAuthor(t *testing.T) {
	for _, c := range []struct {
		name, author string
		o            ReviewOutcome
		by           string
		valid        bool
	}{
		{"the author approves", "author", Approve, writer, false},
		{"the author rejects", "author", Reject, writer, false},
		{"the author returns", "author", Return, writer, false},
		{"the author revokes", "author", Revoke, writer, true},
		{"somebody else approves", "author", Approve, "ada", true},
		{"no author is named", "", Approve, writer, true},
		{"another pin names the author", "context", Approve, "x1", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLife(t)
			l.contract().Author = c.author
			l.attempt(0)
			if rec := l.review(1, c.by, c.o); (rec.Invalid == "") != c.valid {
				t.Errorf("invalid %q (%v), want valid %v", rec.Invalid, codes(rec.Reasons), c.valid)
			}
		})
	}
}

func TestTheAuthorIsWhoThePinNamesNow(t *testing.T) {
	l := newLife(t)
	l.change(0, "", "author", "ada")
	l.attempt(1)
	l.invalid(l.review(2, "ada", Approve), "author_reviews")
	l.valid(l.review(2, writer, Approve))
	l.change(3, "", "author", writer)
	l.want(l.attempt(4), Escalate)
}

func TestTheAuthorInAnotherSpellingIsTheAuthor(t *testing.T) {
	for _, by := range []string{"Wendy", "WENDY", "wendy ", " wendy"} {
		l := newLife(t)
		l.attempt(0)
		l.invalid(l.review(1, by, Approve), "author_reviews")
	}
}

func TestAReviewWhoseAuthorIsNotKnownIsInvalid(t *testing.T) {
	l := newLife(t)
	delete(l.contract().Start.Pins, "author")
	l.attempt(0)
	l.review(1, writer, Approve)
	l.want(l.attempt(2), Escalate)
}

func TestRetryBudget(t *testing.T) {
	for _, budget := range []int{0, 1, 3} {
		l := newLife(t)
		l.contract().RetryBudget = budget
		l.fail(0, true, true)
		for i := range budget {
			rec := l.attempt(1, callID(fmt.Sprint("k", i+10)))
			l.want(rec, Retry)
			if rec.RetryLeft != budget-i-1 {
				t.Errorf("budget %d, retry %d: %d left", budget, i, rec.RetryLeft)
			}
		}
		l.want(l.attempt(2), Stop)
		l.want(l.attempt(2, callID("k99"), confidence(1)), Stop)
	}
}

func TestTheRetryBudgetBelongsToThePath(t *testing.T) {
	l := newLife(t)
	l.fail(0, true, true)
	l.want(l.attempt(1), Retry)
	l.do(Event{Op: OpFailure, Call: "sha256:c2", Time: 1, Failure: FailureEvent{true, true}})
	l.want(l.attempt(2, callID("k2"), callHash("sha256:c2")), Retry)
	l.want(l.attempt(2), Stop)
}

func TestARetryForContextSpendsTheSameBudget(t *testing.T) {
	l := newLife(t)
	l.p.edit(toolNote, func(t *Tool) { t.Requires.Context = []string{"record"} })
	l.want(l.attempt(0, byTool(toolNote)), Retry)
	l.want(l.attempt(1, byTool(toolNote)), Defer)
	l.evidence(1, "record", Pass)
	l.fail(1, true, true)
	l.want(l.attempt(2, byTool(toolNote)), Stop)
}

func TestSignedReviews(t *testing.T) {
	for _, o := range []ReviewOutcome{Approve, Reject, Return, Revoke} {
		for _, asked := range []bool{false, true} {
			for _, signed := range []bool{false, true} {
				l := newLife(t)
				l.contract().SignedReviews = asked
				l.attempt(0)
				rec := l.review(1, "ada", o, func(e *Event) { e.Review.Signed = signed })
				if want := signed || !asked; (rec.Invalid == "") != want {
					t.Errorf("%v, signatures asked %v, signed %v: invalid %q (%v)", o, asked, signed, rec.Invalid, codes(rec.Reasons))
				}
			}
		}
	}
}

func TestHighConsequence(t *testing.T) {
	for _, c := range []struct {
		name string
		high map[string][]string
		want Transition
	}{
		{"not marked", nil, Stop},
		{"marked", map[string][]string{"reversibility": {"irreversible"}}, Escalate},
		{"another value", map[string][]string{"reversibility": {"costly"}}, Stop},
		{"one of two properties", map[string][]string{"blast_radius": {"external"}, "reversibility": {"irreversible"}}, Escalate},
		{"a property that does not exist", map[string][]string{"colour": {"red"}}, Escalate},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLife(t)
			l.contract().HighConsequence = c.high
			l.p.next = func(cause Cause, f Flags) (Transition, bool) {
				if cause == MissingEvidence {
					return Escalate, true
				}
				return defaultNext(cause, f)
			}
			l.want(l.attempt(0, byTool("merge")), c.want)
			if c.want != Escalate {
				return
			}
			// The review does not stand in for the evidence.
			l.valid(l.review(1, "ada", Approve, naming(EvidenceReq)))
			l.want(l.attempt(2, byTool("merge")), Escalate)
			l.evidence(3, "ci", Pass)
			l.want(l.attempt(3, byTool("merge")), Escalate)
		})
	}
}

func TestComponentsAndUntil(t *testing.T) {
	until := int64(10)
	for _, c := range []struct {
		name  string
		rules map[string]ComponentRule
		at    int64
		want  Transition
	}{
		{"no list", nil, 0, Act},
		{"listed", map[string]ComponentRule{planner: {Tools: []string{toolNote}}}, 0, Act},
		{"for another tool", map[string]ComponentRule{planner: {Tools: []string{toolUpdate}}}, 0, Stop},
		{"at its end", map[string]ComponentRule{planner: {Tools: []string{toolNote}, Until: &until}}, 10, Act},
		{"past its end", map[string]ComponentRule{planner: {Tools: []string{toolNote}, Until: &until}}, 11, Stop},
		{"past its end, another knows the tool", map[string]ComponentRule{planner: {Tools: []string{toolNote}, Until: &until}, "planner@4": {Tools: []string{toolNote}}}, 11, Switch},
		{"another version", map[string]ComponentRule{"planner@4": {Tools: []string{toolNote}}}, 0, Switch},
		{"nobody", map[string]ComponentRule{}, 0, Stop},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLife(t)
			l.p.edit(toolNote, func(t *Tool) { t.Requires.Component = true })
			l.contract().Components = c.rules
			l.want(l.attempt(c.at, byTool(toolNote)), c.want)
			if l.path().Retries != 0 {
				t.Errorf("a switch in answer to eligibility spent a retry")
			}
		})
	}
}

func TestMissingRolesOrCapacityLeaveSupervisionUnknown(t *testing.T) {
	for name, take := range map[string]func(*Contract){
		"roles":    func(c *Contract) { c.Roles = nil },
		"capacity": func(c *Contract) { delete(c.Start.Settings, "capacity") },
	} {
		t.Run(name, func(t *testing.T) {
			l := newLife(t)
			take(l.contract())
			rec := l.attempt(0)
			l.want(rec, Defer)
			if rec.Gates[Supervision] != Unknown || rec.Requested {
				t.Errorf("gates %v, requested %v: want SUPERVISION unknown and no request", rec.Gates, rec.Requested)
			}
			l.want(l.attempt(1, byTool(toolNote), callHash("sha256:c2"), callID("k2")), Act)
		})
	}
}
