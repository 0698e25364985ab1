package engine

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"
)

// fakeView is an evidence state in plain maps that a test fills by hand. Of how
// calls are related it knows nothing.
type fakeView struct {
	memory
	clock         int64
	traces        map[string]Trace
	settings      map[[2]string]any
	evidence      map[[3]string]Evidence
	paths         map[PathKey]Path
	calls         map[[2]string]string
	rejections    map[string]Rejection
	contributions map[[2]string][]Contribution
	entities      map[nameKey]EntityRecord
}

func (v *fakeView) Clock() int64                                 { return v.clock }
func (v *fakeView) Trace(id string) Trace                        { return v.traces[id] }
func (v *fakeView) Path(trace, call string) Path                 { return v.paths[PathKey{trace, call}] }
func (v *fakeView) Contributions(c, e string) []Contribution     { return v.contributions[[2]string{c, e}] }
func (v *fakeView) Rejection(call string) (r Rejection, ok bool) { r, ok = v.rejections[call]; return }
func (v *fakeView) Setting(trace, name string) (x any, ok bool) {
	x, ok = v.settings[[2]string{trace, name}]
	return
}
func (v *fakeView) Evidence(trace, call, name string) (e Evidence, ok bool) {
	e, ok = v.evidence[[3]string{trace, call, name}]
	return
}
func (v *fakeView) CallHash(trace, id string) (h string, ok bool) {
	h, ok = v.calls[[2]string{trace, id}]
	return
}
func (v *fakeView) Entity(tool string, e Entity) (r EntityRecord, ok bool) {
	r, ok = v.entities[nameKey{tool, e}]
	return
}
func (v *fakeView) Waiting() (out []PathKey) {
	for key, p := range v.paths {
		if p.Request != nil && p.Request.Status == Pending {
			out = append(out, key)
		}
	}
	return out
}

// governed is the fake policy with an authority that accepts everything.
type governed struct{ *fakePolicy }

func (governed) May(context.Context, AuthorityRequest) (bool, Reason) { return true, Reason{} }

// proposed is the attempt of a call, with the path that approve leaves.
func proposed(p *fakePolicy, in Input) (*fakeView, Event) {
	key := PathKey{in.Action.TraceID, in.Action.CallHash}
	v := &fakeView{clock: clock, paths: map[PathKey]Path{key: in.State.Path}, traces: map[string]Trace{key.Trace: {Pins: in.State.Pins}}}
	return v, Event{Op: OpAttempt, Time: clock, By: Identity{Name: "pep"}, Attempt: Attempt{Action: in.Action, Facts: in.Facts, FactsHash: in.FactsHash}}
}

func TestAnApprovalForOneUseIsGoneOnceItReleased(t *testing.T) {
	for _, many := range []bool{false, true} {
		p := newFake()
		p.contract.Approval.Many = many
		in := call(p, toolRevoke)
		approve(p, &in)
		v, e := proposed(p, in)
		rec, w := Step(context.Background(), governed{p}, v, &e)
		path, _ := w.Path(PathKey{"INC-1", "sha256:c1"})
		if rec.Decision == nil || !rec.Decision.Permit || path.Released != Self || (path.Approval != nil) != many {
			t.Errorf("uses many %v: record %+v, path %+v: want a release, and the approval kept: %v", many, rec.Decision, path, many)
		}
	}
}

func TestAnAttemptIsDecidedAsDecideDecidesIt(t *testing.T) {
	for _, tool := range []string{toolNote, toolUpdate, toolRevoke, toolMissing} {
		p := newFake()
		in := call(p, tool)
		v, e := proposed(p, in)
		rec, w := Step(context.Background(), governed{p}, v, &e)
		want := decide(p, in)
		if rec.Decision.Permit != want.Permit || rec.Decision.Transition != want.Transition || rec.Decision.Outcome != want.Outcome {
			t.Errorf("%s: Step permits %v by %v, Decide %v by %v", tool, rec.Decision.Permit, rec.Decision.Transition, want.Permit, want.Transition)
		}
		if path, _ := w.Path(PathKey{"INC-1", "sha256:c1"}); (path.Released == Self) != want.Permit || rec.Requested != (want.Transition == Escalate) {
			t.Errorf("%s: path %+v, requested %v: want a release iff permitted and a request iff escalated", tool, path, rec.Requested)
		}
	}
}

func TestNoPanicOfAViewEscapesStep(t *testing.T) {
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("Step on a nil view panics: %v", r)
		}
	}()
	rec, w := Step(context.Background(), governed{newFake()}, nil, &Event{Op: OpAttempt})
	if rec.Decision == nil || rec.Decision.Permit || len(w.Paths) != 0 {
		t.Errorf("record %+v, writes %+v: want a blocked attempt that writes nothing", rec, w)
	}
}

func TestWhatAReleaseCountsIsWrittenInOneOrder(t *testing.T) {
	var first []ContributionWrite
	for range 50 {
		p := newFake()
		p.contract.Counters = map[string]CounterRule{}
		for i := range 8 {
			p.contract.Counters[fmt.Sprint("c", i)] = CounterRule{Tools: []string{toolNote}}
		}
		v, e := proposed(p, call(p, toolNote))
		_, w := Step(context.Background(), governed{p}, v, &e)
		if first == nil {
			first = w.Contributions
		}
		if len(first) != 8 || !reflect.DeepEqual(first, w.Contributions) {
			t.Fatalf("contributions = %v, then %v", first, w.Contributions)
		}
	}
}

func TestANegativeAmountDoesNotLowerACounter(t *testing.T) {
	for _, amount := range []any{-1000.0, "1000", nil} {
		p := newFake()
		p.contract.Counters = map[string]CounterRule{"paid": {Tools: []string{toolNote}, Sum: "amount"}}
		in := call(p, toolNote)
		in.Action.Arguments["amount"] = amount
		v, e := proposed(p, in)
		rec, w := Step(context.Background(), governed{p}, v, &e)
		if rec.Decision.Permit && (len(w.Contributions) != 1 || !w.Contributions[0].Contribution.Unknown) {
			t.Errorf("amount %v: permitted, contributions %+v: want no permit, or something that counts", amount, w.Contributions)
		}
	}
}

func TestARevocationIsSignedWhereReviewsAre(t *testing.T) {
	p := newFake()
	p.contract.SignedReviews = true
	v := &fakeView{clock: clock, rejections: map[string]Rejection{"sha256:c1": {Seq: 3}}}
	rec, w := Step(context.Background(), governed{p}, v, &Event{Op: OpReview, TraceID: "INC-1", Call: "sha256:c1", By: Identity{Name: "ada"}, Review: ReviewEvent{Outcome: Revoke}})
	if _, lifted := w.Rejection("sha256:c1"); lifted || rec.Invalid == "" {
		t.Errorf("record %+v, rejections written %v: want invalid_review and no write", rec, w.Rejections)
	}
}

func TestARejectionVoidedByPinsStillBindsATraceThatHasNone(t *testing.T) {
	p := newFake()
	p.contract.RejectionVoid = []Binding{BindPins}
	in := call(p, toolNote)
	v, e := proposed(p, in)
	v.rejections = map[string]Rejection{"sha256:c1": {Seq: 3, Trace: "INC-0", Pins: map[string]string{"context": "v1"}}}
	if rec, _ := Step(context.Background(), governed{p}, v, &e); rec.Decision.Permit {
		t.Error("permit = true in a new trace for a call that was rejected, although no pin moved")
	}
}

func TestALongTTLDoesNotMakeARequestThatHasLapsed(t *testing.T) {
	for _, ttl := range []float64{1e19, math.MaxInt64, math.Inf(1)} {
		at := expiresAt(clock, map[string]any{"review_ttl": ttl})
		if at != nil && *at < clock {
			t.Errorf("review_ttl %v at %d: expires at %d, in the past", ttl, clock, *at)
		}
	}
}

func TestAResultOfACallThatWasNeverReleasedChangesNothing(t *testing.T) {
	p := newFake()
	key := PathKey{"INC-1", "sha256:c1"}
	v := &fakeView{clock: clock, paths: map[PathKey]Path{key: {Failure: &Failure{Seq: 2}}}}
	rec, w := Step(context.Background(), governed{p}, v, &Event{Op: OpResult, TraceID: key.Trace, Call: key.Call, By: Identity{Name: "pep"}, Result: ResultEvent{Status: ResultOK}})
	if path, written := w.Path(key); written && path.Failure == nil {
		t.Errorf("record %+v, path %+v: want the failure to stay", rec, path)
	}
}

func TestAnEventThatIsNotFoldedChangesNothing(t *testing.T) {
	for _, op := range []Op{NoOp, OpActivate, OpCheckpoint, 99} {
		rec, w := Step(context.Background(), governed{newFake()}, &fakeView{clock: 7}, &Event{Op: op, Time: 3, By: Identity{Name: "ada"}})
		if rec.Invalid != "invalid_"+op.String() || !slices.Equal(codes(rec.Reasons), []string{"op_unsupported"}) || w.Clock != 7 || len(w.Paths)+len(w.Traces)+len(w.Settings)+len(w.Evidence)+len(w.Rejections) != 0 {
			t.Errorf("%v: record %+v, writes %+v: want an invalid event that moves nothing but the clock, and that never back", op, rec, w)
		}
	}
}

// nameKey is an entity of a tool.
type nameKey struct {
	tool   string
	entity Entity
}

// TestAWorkspaceFoldsLikeANewOne folds the same events one after the other in one
// workspace and each in its own.
func TestAWorkspaceFoldsLikeANewOne(t *testing.T) {
	p := newFake()
	var space Workspace
	for round := range 3 {
		for _, tool := range []string{toolNote, toolUpdate, toolRevoke, toolMissing} {
			v, e := proposed(p, call(p, tool))
			want, wantW := Step(context.Background(), governed{p}, v, &e)
			got, gotW := space.Step(context.Background(), governed{p}, v, &e)
			if len(gotW.Paths) != len(wantW.Paths) || !reflect.DeepEqual(got, want) || !reflect.DeepEqual(listed(gotW), listed(wantW)) {
				t.Errorf("round %d, %s: %+v\nwant %+v", round, tool, got, want)
			}
			if space.Reset(); len(space.fold.w.Paths)+len(space.fold.w.Calls)+len(space.fold.w.Holders) > 0 || space.decision.Tool != "" || space.input.Action.Tool != "" {
				t.Errorf("round %d, %s: something is left of it", round, tool)
			}
		}
	}
}

// listed makes empty lists absent ones.
func listed(w Writes) Writes {
	v := reflect.ValueOf(&w).Elem()
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.Slice && f.Len() == 0 {
			f.SetZero()
		}
	}
	return w
}
