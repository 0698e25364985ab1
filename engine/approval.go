package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// checkApproval looks at the path's approval again, in Go, whatever the bundle
// says: an approval that does not stand is as good as none, and the reasons
// say what moved.
func (j *judgement) checkApproval() {
	a := j.in.State.Path.Approval
	if a == nil {
		return
	}
	j.refused = j.whyVoid(a)
	j.approved = len(j.refused) == 0
}

// whyVoid lists what keeps an approval from standing; empty when it stands.
func (j *judgement) whyVoid(a *Approval) (why []Reason) {
	void := func(code, text string, f ...Fact) { why = append(why, reason(code, text, f...)) }
	in, now := j.in, j.in.Now
	if a.Time > now || !within(a.Time, a.Expires, now, in.State.Settings, j.contract.Expiry) {
		void("approval_expired", "the approval is too old", NewFact("/approval/time", a.Time), NewFact("/now", now))
	}
	if n := j.countVoters(a); n < max(1, j.contract.Required) {
		void("approval_without_reviewer", fmt.Sprintf("%d of %d reviewers stand behind the approval", n, max(1, j.contract.Required)), NewFact("/approval/reviewers", n))
	}
	for _, b := range j.contract.Approval.moved(a.Saw, in.Sees(j.policy.Bundle().Digest)) {
		other := "other"
		if b == BindBundle {
			other = "another"
		}
		void("approval_void_"+b.String(), fmt.Sprintf("the approval was given for %s %s than now", other, b))
	}
	return why
}

// countVoters counts the different people who approved and may: I1 is looked at
// again, so that no stored approval can be the agent's own.
func (j *judgement) countVoters(a *Approval) int {
	pinned, author := Agent{Component: j.in.State.Pins["component"]}, ""
	if j.contract.Author != "" {
		author = j.in.State.Pins[j.contract.Author]
	}
	if j.contract.Author != "" && author == "" || j.in.Action.Agent == (Agent{}) {
		// Where nobody is known, nobody can be told apart from the reviewers.
		return 0
	}
	var voters []string
	for _, v := range a.Votes {
		known := slices.ContainsFunc(voters, func(w string) bool { return SamePerson(w, v.Reviewer) })
		own := SamePerson(v.Reviewer, author) || j.in.Action.Agent.Is(v.Reviewer) || pinned.Is(v.Reviewer) || j.in.Action.Critic.is(v.Reviewer)
		if strings.TrimSpace(v.Reviewer) != "" && !known && !own {
			voters = append(voters, v.Reviewer)
		}
	}
	return len(voters)
}

// same reports whether one thing that was seen is as it is now.
func (b Binding) same(saw, now Versions) bool {
	switch b {
	case BindPins:
		return maps.Equal(saw.Pins, now.Pins)
	case BindBundle:
		return saw.Bundle != "" && saw.Bundle == now.Bundle
	case BindFacts:
		return saw.Facts != "" && saw.Facts == now.Facts && shown(now.Novel, saw.Novel)
	case BindEvidence:
		return maps.Equal(saw.Evidence, now.Evidence)
	case BindSuspicion:
		return slices.Equal(saw.Suspect, now.Suspect)
	}
	return false
}

// shown reports whether everything that is new now was new when it was shown.
// What somebody approved meanwhile voids nothing.
func shown(now, then []Entity) bool {
	return !slices.ContainsFunc(now, func(e Entity) bool { return !slices.Contains(then, e) })
}

// moved lists what an approval is bound to and what is no longer as it was seen.
func (a ApprovalRule) moved(saw, now Versions) (out []Binding) {
	bound := a.VoidedBy
	if bound == nil {
		bound = []Binding{BindPins, BindBundle, BindFacts, BindEvidence, BindSuspicion}
	}
	for _, b := range bound {
		if !b.same(saw, now) {
			out = append(out, b)
		}
	}
	return out
}

// Sees is what a reviewer of this input would be shown: what an approval pins.
func (in *Input) Sees(bundle string) Versions {
	seen := Versions{Facts: in.FactsHash, Bundle: bundle, Pins: maps.Clone(in.State.Pins), Suspect: slices.Clone(in.State.Suspect), Novel: in.novel}
	seen.Evidence = make(map[string]uint64, len(in.State.Evidence))
	for name, e := range in.State.Evidence {
		seen.Evidence[name] = e.Seq
	}
	return seen
}

// Current reports whether the request is pending and in time. A nil request is
// not.
func (r *Request) Current(now int64, settings map[string]any, expiry Expiry) bool {
	return r != nil && r.Status == Pending && r.PulledBack || r != nil && r.Status == Pending && r.Time <= now && within(r.Time, r.Expires, now, settings, expiry)
}

// within reports whether something made at t is still alive, inclusively. The
// limit is review_ttl as it stands now; a final limit was fixed besides when
// the thing was made, so that a longer ttl does not revive what had lapsed. A
// ttl that is not a number lets nothing live.
func within(t int64, expires *int64, now int64, settings map[string]any, expiry Expiry) bool {
	if expiry != Derived && expires != nil && now > *expires {
		return false
	}
	switch ttl := settings["review_ttl"].(type) {
	case nil:
		return true
	case float64:
		return ttl >= 0 && t <= now && float64(uint64(now)-uint64(t)) <= ttl
	}
	return false
}

// resolves reports whether every vote names the gate.
func (a *Approval) resolves(gate string) bool {
	return slices.Contains(a.Gates, gate) && slices.Contains(commonGates(a.Votes), gate)
}

// resolvedBy says who let a gate pass that had not passed by itself.
func (j *judgement) resolvedBy(gate string) Reason {
	a := j.in.State.Path.Approval
	who := make([]string, len(a.Votes))
	for i, v := range a.Votes {
		who[i] = v.Reviewer
	}
	return reason("resolved_by_review", fmt.Sprintf("%s let %s pass (request %d, rule version %s)", strings.Join(who, ", "), gate, a.Request, a.Saw.Bundle),
		NewFact("/approval/request", a.Request), NewFact("/approval/reviewers", strings.Join(who, ", ")), NewFact("/approval/bundle", a.Saw.Bundle))
}
