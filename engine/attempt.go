package engine

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

// attempt decides a proposed action and records what follows from the answer:
// a release, a review request, a retry spent.
func (f *fold) attempt() {
	f.about()
	a := &f.e.Attempt
	f.rec.TraceID = a.Action.TraceID
	if hash, used := f.view.CallHash(a.Action.TraceID, a.Action.CallID); used && hash != a.Action.CallHash {
		f.reused(hash)
		return
	}
	path := f.path()
	before := f.read(&a.Action)
	named := f.recall(&a.Action, &before)
	in := &f.space.input
	*in = Input{Action: a.Action, Facts: a.Facts, FactsUnknown: a.FactsUnknown, FactsHash: a.FactsHash, Imposed: a.Imposed, State: before, Now: f.now}
	d := f.decide(in)
	in.Consequence = d.Consequence
	f.look(in)
	f.proposed(&path, a, d, before.Suspect)
	f.follow(&path, d, in)
	f.vouch(d, in, named)
	f.w.SetPath(f.key(), path)
	f.w.Calls = append(f.w.Calls, CallWrite{a.Action.TraceID, a.Action.CallID, a.Action.CallHash})
	f.remember(a.Action.TraceID, a.Action.Agent)
	if c := a.Action.Critic; c != nil {
		f.remember(a.Action.TraceID, Agent{Component: c.Component})
	}
	f.describe(d, before, path)
}

// about makes the event one of the call that it proposes.
func (f *fold) about() {
	a := &f.e.Attempt.Action
	if f.e.TraceID == a.TraceID && f.e.Call == a.CallHash {
		return
	}
	own := *f.e
	own.TraceID, own.Call = a.TraceID, a.CallHash
	f.e = &own
}

// proposed notes what was proposed, and the first time what it holds.
func (f *fold) proposed(path *Path, a *Attempt, d *Decision, suspect []Item) {
	path.Agent, path.CallID, path.Tool, path.Canonical = a.Action.Agent, a.Action.CallID, a.Action.Tool, a.Action.Canonical
	path.Time, path.Facts, path.FactsHash, path.Authority = f.now, a.FactsText, a.FactsHash, granted(d)
	if path.First == 0 {
		path.First, path.FirstID = Self, a.Action.CallID
		path.Same, path.Redacted = f.contract.same(&a.Action), f.contract.redacts(&a.Action)
		path.Holds = f.contract.holdings(&a.Action)
		f.w.Holders = slices.Grow(f.w.Holders, len(path.Holds))
		for _, item := range path.Holds {
			f.w.Holders = append(f.w.Holders, HolderWrite{item.Value, f.key()})
		}
	}
	f.refusal(path, d)
	if t, declared := f.policy.Tool(path.Tool); declared && t.Effect == Read && len(suspect) > 0 && path.Flagged == nil {
		path.Flagged = &Flag{Items: suspect}
	}
}

// refusal recognises a call that was refused before, and remembers one that is
// refused now: by its tier, its arguments or a standing rejection, which asking
// again does not change.
func (f *fold) refusal(path *Path, d *Decision) {
	trace := f.view.Trace(f.e.TraceID)
	if trace.Refused {
		f.rec.RetryOf = f.view.Refused(f.e.TraceID, path.Same)
	}
	rejected := slices.ContainsFunc(d.Reasons, func(r Reason) bool { return r.Code == "rejected" })
	if f.rec.RetryOf != 0 || d.Permit || d.Boundary != Deny && !rejected {
		return
	}
	f.w.Refusals = append(f.w.Refusals, RefusalWrite{f.e.TraceID, path.Same, Self})
	if !trace.Refused {
		trace.Refused = true
		f.w.SetTrace(f.e.TraceID, trace)
	}
}

func (f *fold) decide(in *Input) *Decision {
	if r := f.e.Attempt.Recorded; r != nil {
		d := *r
		d.open = f.openOf(&d)
		return &d
	}
	return judge(f.ctx, f.policy, in, f.space)
}

// openOf finds again which gates only an approval that names them lets pass: a
// recorded decision does not say.
func (f *fold) openOf(d *Decision) (open []string) {
	resolutions := map[string][2]Resolution{Structure: {ByReview, ByReview}, CriticGate: {ByReview, ByReview}}
	for _, g := range f.policy.Gates(d.Tool) {
		resolutions[g.Name] = [2]Resolution{g.OnFail, g.OnUnknown}
	}
	for _, g := range d.Gates {
		on, own := resolutions[g.Name]
		if own && (g.Verdict == Fail && on[0] == ByReview || g.Verdict == Unknown && on[1] == ByReview) {
			open = append(open, g.Name)
		}
	}
	return open
}

// reused answers a call id that was proposed with another content before: it
// is an error and changes nothing.
func (f *fold) reused(hash string) {
	why := reason("call_id_reused", "the call id was used for another call before", NewFact("/call_hash", hash))
	f.refuse(why.Code, why.Text, why.Facts...)
	d := refusal(f.policy, &Input{Action: f.e.Attempt.Action, Facts: f.e.Attempt.Facts, FactsUnknown: f.e.Attempt.FactsUnknown})
	if t, declared := f.policy.Tool(f.e.Attempt.Action.Tool); declared {
		d.Consequence = t.Consequence
	}
	d.Cause, d.answered = Bounds, OutOfScope
	d.Reasons = []Reason{normal(why)}
	d.Gates = []GateResult{{Name: Bounds, Verdict: Fail, Reasons: d.Reasons}}
	d.Reason = "The call id was used for another call before, so the call is blocked."
	s := f.read(&f.e.Attempt.Action)
	f.describe(&d, s, s.Path)
}

// follow changes the path as the transition says.
func (f *fold) follow(path *Path, d *Decision, in *Input) {
	// A pending request that shows a reviewer what is no longer there would only
	// lead to an approval that is void, so the next escalation makes a new one.
	seen := func() Versions { return in.Sees(f.policy.Bundle().Digest) }
	current := in.State.Path.Request.Current(f.now, in.State.Settings, f.contract.Expiry) &&
		len(f.contract.Approval.moved(in.State.Path.Request.Saw, seen())) == 0
	if current {
		d.Request = path.Request.Seq
	}
	switch {
	case d.Permit:
		path.Released, path.Reported, path.Runs = Self, false, path.Runs+1
		if path.Ran == 0 {
			path.Ran = Self
		}
		if path.Pulled != nil {
			// A person has decided, or cleared what was suspect.
			path.Pulled, path.Request = nil, closed(path.Request, Returned)
		}
		if in.State.Path.Approval != nil && !f.contract.Approval.Many {
			path.Approval = nil
		}
		f.count(in)
	case d.Transition == Retry, d.Transition == Switch && d.answered == FailureOpen:
		path.Retries++
	case d.Transition == Escalate && !current:
		path.Request = f.request(in, seen(), d.open)
		path.Request.PulledBack = path.Pulled != nil && path.Pulled.Answer == ""
		d.Request = Self
		f.rec.Requested = true
	}
}

// request is a new review request: what a reviewer is to look at, and until
// when.
func (f *fold) request(in *Input, seen Versions, open []string) *Request {
	r := &Request{Seq: Self, Time: f.now, Status: Pending, Required: max(1, f.contract.Required), Saw: seen}
	r.Expires = expiresAt(f.now, in.State.Settings)
	r.Gates = open
	return r
}

// expiresAt is when something made now lapses under the review_ttl of now; nil
// sets no limit.
func expiresAt(now int64, settings map[string]any) *int64 {
	ttl, ok := settings["review_ttl"].(float64)
	if !ok {
		return nil
	}
	at := now - 1 // a ttl that is no length of time lets nothing live
	if ttl >= 0 {
		end := float64(now) + math.Floor(ttl)
		if end >= math.MaxInt64 {
			return nil
		}
		at = int64(end)
	}
	return &at
}

// count adds a release to the contract's counters.
func (f *fold) count(in *Input) {
	a := &in.Action
	for _, name := range slices.Sorted(maps.Keys(f.contract.Counters)) {
		rule := f.contract.Counters[name]
		entity, ok := entityOf(rule, a)
		if !ok || !slices.Contains(rule.Tools, a.Tool) {
			continue
		}
		c := Contribution{Seq: Self, Time: f.now, Amount: 1}
		if rule.Sum != "" {
			amount, isNumber := a.Arguments[rule.Sum].(float64)
			// A negative amount would make room for a later one.
			c.Amount, c.Unknown = max(0, amount), !isNumber || !(amount >= 0)
		}
		f.w.Contributions = append(f.w.Contributions, ContributionWrite{name, entity, c})
	}
}

// remember notes who has acted in the trace, so that none of them can act on it
// otherwise.
func (f *fold) remember(trace string, a Agent) {
	t, written := f.w.Trace(trace)
	if !written {
		t = f.view.Trace(trace)
	}
	if a == (Agent{}) || slices.Contains(t.Agents, a) {
		return
	}
	t.Agents = append(t.Agents[:len(t.Agents):len(t.Agents)], a)
	f.w.SetTrace(trace, t)
}

// describe fills the record of an attempt.
func (f *fold) describe(d *Decision, before State, after Path) {
	r := &f.rec
	r.Decision = d
	r.Transition = d.Transition
	if !d.approved {
		// An approval that does not stand is as good as none.
		before.Path.Approval = nil
		if !d.Permit {
			after.Approval = nil
		}
	}
	r.StateBefore = before.Path.describe(before.Rejection)
	r.StateAfter = after.describe(before.Rejection)
	f.versions(before.Pins, f.e.Attempt.Action.Agent.Component)
	r.Gates = make(map[string]Verdict, len(d.Gates))
	for _, g := range d.Gates {
		r.Gates[g.Name] = g.Verdict
	}
	r.RetryLeft = max(0, f.contract.RetryBudget-after.Retries)
	r.InputHash = d.InputHash
	if d.Permit {
		r.OutputRef = d.TraceID + "/" + d.CallID
	}
	r.Reasons = d.Reasons
	r.ReviewRequired = d.Boundary == RequireReview
	r.reviewed(before, after, f.now, f.contract.Expiry)
}

// versions fills in what was in force: the pins, else the bundle and the
// component itself.
func (f *fold) versions(pins map[string]string, component string) {
	r := &f.rec
	r.ContextVersion, r.RuleVersion, r.ComponentVersion = pins["context"], pins["rule"], pins["component"]
	if r.RuleVersion == "" {
		r.RuleVersion = f.policy.Bundle().Digest
	}
	if r.ComponentVersion == "" {
		r.ComponentVersion = component
	}
}

// reviewed says where the review of the path stands.
func (r *Record) reviewed(before State, after Path, now int64, expiry Expiry) {
	switch {
	case before.Path.Approval != nil:
		r.ReviewOutcome = Approved
		if n := len(before.Path.Approval.Votes); n > 0 {
			name := before.Path.Approval.Votes[n-1].Reviewer
			r.Reviewer = &name
		}
	case before.Rejection != nil:
		name := before.Rejection.Reviewer
		r.ReviewOutcome, r.Reviewer = RejectedRequest, &name
	case after.Request == nil:
	case after.Request.Status == Pending && !after.Request.Current(now, before.Settings, expiry):
		r.ReviewOutcome = TimedOut
	default:
		r.ReviewOutcome = after.Request.Status
	}
}

// describe names the state of a path in one word.
func (p *Path) describe(rejected *Rejection) string {
	switch {
	case p.Pulled.waits(), p.Pulled != nil && p.Request != nil && p.Request.Status == Pending:
		return "pulled_back"
	case rejected != nil:
		return "rejected"
	case p.Failure != nil:
		return "failed"
	case p.Approval != nil:
		return "approved"
	case p.Released != 0 && (p.Request == nil || p.Released > p.Request.Seq):
		return "released"
	case p.Request != nil && p.Request.Status == Approved:
		return "open" // the approval does not stand any more
	case p.Request != nil && p.Request.Status != NoRequest:
		return p.Request.Status.String()
	}
	return "open"
}

// engage admits the run of a component by ELIGIBILITY alone: before each run,
// and so again after a retry, a switch or a change of the bundle.
func (f *fold) engage() {
	e, s := f.e.Engage, f.state()
	rule, listed := f.contract.Components[e.Component]
	eligible := s.Settings["eligible"] != false && (f.contract.Components == nil || listed && rule.may(e.Task, f.now))
	if v, asked := s.Settings["eligible"]; !asked && f.contract.Components == nil || asked && v != true {
		eligible = false
	}
	f.versions(s.Pins, e.Component)
	f.rec.ComponentVersion = e.Component
	f.rec.StateBefore = s.Path.describe(s.Rejection)
	f.rec.StateAfter = f.rec.StateBefore
	f.rec.RetryLeft = max(0, f.contract.RetryBudget-s.Path.Retries)
	f.rec.Gates = map[string]Verdict{Eligibility: Fail}
	switch {
	case eligible:
		f.rec.Transition, f.rec.Gates[Eligibility] = ExecuteComponent, Pass
		f.remember(f.e.TraceID, Agent{Component: e.Component})
	case f.otherFor(e):
		f.rec.Transition = Switch
	default:
		f.rec.Transition = Stop
	}
	if !eligible {
		f.rec.Reasons = append(f.rec.Reasons, normal(reason("not_eligible", fmt.Sprintf("component %q may not run task %q now", e.Component, e.Task),
			NewFact("/engage/component", e.Component), NewFact("/engage/task", e.Task))))
	}
}

func (r ComponentRule) may(task string, now int64) bool {
	return slices.Contains(r.Tasks, task) && (r.Until == nil || now <= *r.Until)
}

func (f *fold) otherFor(e Engagement) bool {
	for name, rule := range f.contract.Components {
		if name != e.Component && rule.may(e.Task, f.now) {
			return true
		}
	}
	return false
}
