package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
)

// criticLife is a life in which the usual call is of a tool under a critic and
// another tool is under one too.
func criticLife(t tester) *life {
	l := newLife(t)
	p, c := l.p, l.contract()
	p.edit(toolRevoke, func(t *Tool) {
		t.ForwardEffects, t.RollbackEffects, t.ReadOnly = new(1.0), new(1.0), []string{"reason"}
	})
	p.tools[toolDrop] = Tool{Name: toolDrop, Consequence: p.tools[toolRevoke].Consequence, Idempotent: true}
	c.Critic = &CriticRule{Threshold: 0.85, Tools: []string{toolRevoke, toolDrop}}
	c.SinglePlan = []string{toolRevoke, toolDrop}
	c.ApprovedEntities = map[string][]Entity{toolDrop: {"text:seed"}}
	c.Gates[CriticGate] = GateRule{Scope: "s", Rationale: "r"}
	c.Evidence[Simulation] = RecordRule{}
	return l
}

// naming an entity makes another call of it, scored by a critic.
func of(tool, call string, arguments map[string]any) func(*Attempt) {
	return func(a *Attempt) {
		a.Action.Tool, a.Action.CallID, a.Action.CallHash = tool, call, "sha256:"+call
		a.Action.Arguments, a.Action.Critic = arguments, &Critic{new(0.9), "judge@1"}
		text, err := json.Marshal(map[string]any{"arguments": arguments, "tool": tool})
		if err != nil {
			panic(err)
		}
		a.Action.Canonical = text
	}
}

func to(call string) func(*Event) { return func(e *Event) { e.Call = "sha256:" + call } }

// isNew reports what STRUCTURE says of a call that names one thing.
func (l *life) isNew(at int64, tool, entity string) bool {
	l.t.Helper()
	l.seq++
	rec := l.attempt(at, of(tool, fmt.Sprint("probe", l.seq), map[string]any{"account": entity}))
	if rec.Requested {
		l.valid(l.review(at, "ada", Return, to(fmt.Sprint("probe", l.seq-1))))
	}
	return slices.Contains(codes(rec.Decision.Reasons), "entity_novel")
}

func TestWhatAPersonApprovedIsNewNoLonger(t *testing.T) {
	l := criticLife(t)
	call := of(toolRevoke, "c1", map[string]any{"account": "bob", "reason": "left"})
	l.want(l.attempt(0, call), Escalate)
	if !slices.Equal(l.state.Paths[PathKey{task, "sha256:c1"}].Request.Saw.Novel, []Entity{"text:bob"}) {
		t.Errorf("request %+v: want it to show that bob is new", l.state.Paths[PathKey{task, "sha256:c1"}].Request.Saw)
	}
	if !l.isNew(1, toolRevoke, "bob") {
		t.Error("bob is known because he was asked for")
	}
	l.valid(l.review(1, "ada", Approve, to("c1"), naming(Structure)))
	if !l.isNew(1, toolRevoke, "bob") {
		t.Error("bob is known although the approved call was not released")
	}
	l.want(l.attempt(2, call), Act)
	if l.isNew(3, toolRevoke, "bob") {
		t.Error("bob is new although a person approved him")
	}
	if !l.isNew(3, toolDrop, "bob") {
		t.Error("bob was approved for one tool and counts for another")
	}
	if !l.isNew(3, toolRevoke, "left") {
		t.Error("a read-only argument approved what it holds")
	}
}

func TestWhatMerelyRanStaysNew(t *testing.T) {
	// A boundary that allows, and a signal that a bundle's own approval rule never
	// saw: the only release without a person is one in which nothing is new.
	l := criticLife(t)
	l.p.base = func(Consequence) (Tier, Reason) { return Execute, Reason{} }
	l.want(l.attempt(0, of(toolDrop, "c1", map[string]any{"account": "seed"})), Act)
	if len(l.last.Entities) != 0 {
		t.Errorf("a call that merely ran wrote %v", l.last.Entities)
	}
	// A tool under no critic that ran on bob says nothing of bob.
	l.want(l.attempt(1, of(toolNote, "c2", map[string]any{"account": "bob"})), Act)
	if !l.isNew(2, toolDrop, "bob") || len(l.state.Named) != 0 {
		t.Errorf("bob is known: %v", l.state.Named)
	}
}

func TestASimulationApprovesWhatTheCallNames(t *testing.T) {
	l := criticLife(t)
	l.p.base = func(Consequence) (Tier, Reason) { return Execute, Reason{} }
	call := of(toolRevoke, "c1", map[string]any{"account": "bob"})
	l.want(l.attempt(0, call), Escalate)
	simulate := func(by string) Record {
		return l.do(Event{Op: OpEvidence, Time: 1, Call: "sha256:c1", By: Identity{Name: by}, Evidence: Evidence{Name: Simulation, Status: Pass}})
	}
	for _, by := range []string{agentID, planner, "planner", "judge@1", "Judge"} {
		l.invalid(simulate(by), "self_serving")
	}
	l.want(l.attempt(1, call), Escalate) // nothing was simulated yet
	l.valid(simulate("lab"))
	l.want(l.attempt(2, call), Act)
	if l.isNew(3, toolRevoke, "bob") {
		t.Error("bob is new although a verifier let him pass")
	}
}

func TestARejectionTakesBackWhatTheCallHolds(t *testing.T) {
	for name, c := range map[string]struct {
		rejected func(*Attempt)
	}{
		"of the same tool":          {of(toolRevoke, "r1", map[string]any{"account": "bob", "other": "seed"})},
		"of another under a critic": {of(toolDrop, "r1", map[string]any{"list": []any{"bob", map[string]any{"x": "seed"}}})},
		"of one under none":         {of("merge", "r1", map[string]any{"account": "bob", "seed": map[string]any{"seed": true}})},
		"in its context": {func(a *Attempt) {
			of(toolNote, "r1", nil)(a)
			a.Action.Tool, a.Action.Canonical = "merge", []byte(`{"arguments":{},"context":{"retrieved_context":["kb","seed"],"target_entity":"bob"},"tool":"merge"}`)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			l := criticLife(t)
			l.evidence(0, "ci", Pass)
			for i, tool := range []string{toolRevoke, toolDrop} {
				call := fmt.Sprint("c", i)
				l.want(l.attempt(0, of(tool, call, map[string]any{"account": "bob"})), Escalate)
				l.valid(l.review(0, "ada", Approve, to(call), naming(Structure)))
				l.want(l.attempt(0, of(tool, call, map[string]any{"account": "bob"})), Act)
			}
			if l.isNew(1, toolRevoke, "bob") || l.isNew(1, toolDrop, "bob") || l.isNew(1, toolDrop, "seed") {
				t.Fatal("bob or seed is new")
			}
			l.attempt(2, c.rejected)
			l.valid(l.review(3, "eve", Reject, to("r1")))
			if !l.isNew(4, toolRevoke, "bob") || !l.isNew(4, toolDrop, "bob") || !l.isNew(4, toolDrop, "seed") {
				t.Errorf("what a rejected call holds is still known: %v", l.state.Named)
			}
			// Taking the rejection back does not bring it back; a new approval does.
			l.valid(l.review(5, "eve", Revoke, to("r1")))
			if !l.isNew(5, toolRevoke, "bob") {
				t.Error("bob is known because a rejection was revoked")
			}
			l.attempt(6, of(toolRevoke, "c9", map[string]any{"account": "bob", "reason": "again"}))
			l.valid(l.review(6, "ada", Approve, to("c9"), naming(Structure)))
			l.want(l.attempt(6, of(toolRevoke, "c9", map[string]any{"account": "bob", "reason": "again"})), Act)
			if l.isNew(7, toolRevoke, "bob") {
				t.Error("bob is new although he was approved again")
			}
		})
	}
}

func TestAnIncidentAndARevokedApprovalTakeBackTheSame(t *testing.T) {
	for name, takeBack := range map[string]func(*life){
		"incident": func(l *life) {
			l.valid(l.do(Event{Op: OpResult, Time: 2, Call: "sha256:c1", Result: ResultEvent{Incident: "wrong_target"}}))
		},
		"revocation": func(l *life) { l.valid(l.review(2, "eve", Revoke, to("c1"))) },
	} {
		l := criticLife(t)
		call := of(toolRevoke, "c1", map[string]any{"account": "bob"})
		l.attempt(0, call)
		l.valid(l.review(1, "ada", Approve, to("c1"), naming(Structure)))
		l.want(l.attempt(1, call), Act)
		if l.isNew(1, toolRevoke, "bob") {
			t.Fatalf("%s: bob is new", name)
		}
		takeBack(l)
		if !l.isNew(3, toolRevoke, "bob") {
			t.Errorf("after %s bob is still known", name)
		}
	}
}

func TestARevokedRejectionTakesNothingBack(t *testing.T) {
	l := criticLife(t)
	l.attempt(0, of(toolRevoke, "r1", map[string]any{"account": "bob"}))
	l.valid(l.review(0, "eve", Reject, to("r1")))
	l.attempt(1, of(toolRevoke, "c1", map[string]any{"account": "bob", "x": "y"}))
	l.valid(l.review(1, "ada", Approve, to("c1"), naming(Structure)))
	l.want(l.attempt(1, of(toolRevoke, "c1", map[string]any{"account": "bob", "x": "y"})), Act)
	l.valid(l.review(2, "eve", Revoke, to("r1")))
	if l.isNew(3, toolRevoke, "bob") {
		t.Error("bob is new: a rejection that was taken back took back what came after it")
	}
}

func TestARedactedArgumentTakesNothingBack(t *testing.T) {
	// A replay does not know it, so nothing may rest on it.
	l := criticLife(t)
	l.contract().Redact = map[string][]string{"merge": {"account"}}
	l.evidence(0, "ci", Pass)
	l.attempt(0, of("merge", "r1", map[string]any{"account": "seed"}))
	l.valid(l.review(0, "eve", Reject, to("r1")))
	if len(l.last.Entities) != 0 || l.isNew(1, toolDrop, "seed") {
		t.Errorf("writes %v: want none from a redacted argument", l.last.Entities)
	}
}

func TestAnApprovalOfTooMuchApprovesNothing(t *testing.T) {
	l := criticLife(t)
	var list []any
	for i := range maxMentions + 1 {
		list = append(list, fmt.Sprint("a", i))
	}
	call := of(toolRevoke, "c1", map[string]any{"list": list})
	l.want(l.attempt(0, call), Escalate)
	l.valid(l.review(1, "ada", Approve, to("c1"), naming(Structure)))
	l.want(l.attempt(1, call), Act)
	if len(l.state.Named) != 0 {
		t.Errorf("%d entities are approved, want none", len(l.state.Named))
	}
}

func TestAToolWithoutACriticReadsAndWritesNoEntities(t *testing.T) {
	l := criticLife(t)
	l.contract().Critic = nil
	l.attempt(0, of(toolRevoke, "c1", map[string]any{"account": "bob"}))
	l.valid(l.review(1, "ada", Approve, to("c1")))
	l.want(l.attempt(1, of(toolRevoke, "c1", map[string]any{"account": "bob"})), Act)
	l.attempt(2, of(toolRevoke, "c2", map[string]any{"account": "bob", "x": "y"}))
	l.valid(l.review(2, "ada", Reject, to("c2")))
	if len(l.state.Named) != 0 {
		t.Errorf("entities %v, want none", l.state.Named)
	}
}

func TestARejectedCallWithoutItsBytesTakesNothingBack(t *testing.T) {
	l := criticLife(t)
	l.attempt(0, of(toolDrop, "r1", map[string]any{"account": "seed"}), func(a *Attempt) { a.Action.Canonical = []byte("{") })
	l.valid(l.review(0, "eve", Reject, to("r1")))
	if len(l.last.Entities) != 0 {
		t.Errorf("writes %v, want none", l.last.Entities)
	}
}

func TestWhatIsApprovedAlreadyIsNotWrittenAgain(t *testing.T) {
	l := criticLife(t)
	for i := range 2 {
		call := fmt.Sprint("c", i)
		arguments := map[string]any{"account": "bob", "reason": call}
		l.attempt(0, of(toolRevoke, call, arguments))
		l.valid(l.review(0, "ada", Approve, to(call), naming(Structure)))
		l.want(l.attempt(0, of(toolRevoke, call, arguments)), Act)
		if got := len(l.last.Entities); got != 1-i {
			t.Errorf("release %d writes %d entities, want %d: an equal record makes other decisions look out of date", i, got, 1-i)
		}
	}
}

func TestAToolWithoutACriticAllocatesNothingForOne(t *testing.T) {
	allocations := func(rule *CriticRule) float64 {
		p := newFake()
		p.contract.Critic = rule
		v, e := proposed(p, call(p, toolNote))
		return testing.AllocsPerRun(200, func() { Step(context.Background(), governed{p}, v, &e) })
	}
	without, with := allocations(nil), allocations(&CriticRule{Threshold: 0.85, Tools: []string{toolDrop}})
	if with > without {
		t.Errorf("%v allocations where another tool is under a critic, %v where none is", with, without)
	}
}

func TestAReviewerOfAPulledBackCallIsShownWhatIsNew(t *testing.T) {
	for _, approved := range []bool{false, true} {
		l := criticLife(t)
		call := of(toolRevoke, "c1", map[string]any{"account": "bob"})
		l.want(l.attempt(0, call), Escalate)
		if approved {
			l.valid(l.review(1, "ada", Approve, to("c1"), naming(Structure)))
		}
		a := proposal()
		call(&a)
		l.valid(l.do(Event{Op: OpReexamine, Time: 2, Call: "sha256:c1", By: Identity{Name: "reexamination"}, Attempt: a,
			Reexamine: Reexamination{Rejection: 1, Path: PathKey{task, "sha256:c1"}}}))
		if saw := l.state.Paths[PathKey{task, "sha256:c1"}].Request.Saw; !slices.Equal(saw.Novel, []Entity{"text:bob"}) {
			t.Errorf("approved before: %v: the request shows %v as new, want bob", approved, saw.Novel)
		}
		l.valid(l.review(3, "ada", Approve, to("c1"), naming(Structure)))
		l.want(l.attempt(4, call), Act)
	}
}
