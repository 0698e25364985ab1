package engine

import (
	"fmt"
	"slices"
)

// The standard gates, in the order in which a decision lists them.
const (
	Bounds      = "BOUNDS"
	ContextGate = "CONTEXT"
	EvidenceReq = "EVIDENCE"
	Eligibility = "ELIGIBILITY"
	Supervision = "SUPERVISION"
	Resolved    = "RESOLUTION"
	Structure   = "STRUCTURE"
	CriticGate  = "CRITIC"
)

// StandardGates lists the names of the standard six.
func StandardGates() []string {
	return []string{Bounds, ContextGate, EvidenceReq, Eligibility, Supervision, Resolved}
}

// testStandardGates evaluates the six over contract data and state, then joins
// the own gates' results to them.
func (j *judgement) testStandardGates() {
	j.gate(Bounds, j.bounds())
	j.applicable(ContextGate, len(j.tool.Requires.Context) > 0, func() Finding {
		return j.records(j.tool.Requires.Context, j.contract.Context, "context")
	})
	j.applicable(EvidenceReq, len(j.tool.Requires.Evidence) > 0, func() Finding {
		return j.records(j.tool.Requires.Evidence, j.contract.Evidence, "evidence")
	})
	j.applicable(Eligibility, j.tool.Requires.Component, j.eligibility)
	j.gate(Supervision, j.supervision())
	j.gate(Resolved, j.resolution())
	j.settle(j.gated)
	j.settle(j.own)
}

// settle lists gates that a person may resolve, and lets pass those that a valid
// approval names.
func (j *judgement) settle(gates []ownGate) {
	for i, o := range gates {
		if !o.Verdict.holds() && o.resolution == ByReview && j.approved && j.in.State.Path.Approval.resolves(o.Name) {
			gates[i].Finding = Finding{Verdict: Pass, Reasons: append([]Reason{j.resolvedBy(o.Name)}, o.Reasons...)}
		}
		j.gate(o.Name, gates[i].Finding)
	}
}

func (j *judgement) gate(name string, f Finding) {
	reasons := make([]Reason, len(f.Reasons))
	for i, r := range f.Reasons {
		reasons[i] = normal(r)
	}
	g := GateResult{Name: name, Verdict: f.Verdict, Reasons: reasons}
	if f.Verdict == NotApplicable {
		g.Scope, g.Rationale = j.contract.Gates[name].Scope, j.contract.Gates[name].Rationale
	}
	j.d.Gates = append(j.d.Gates, g)
}

// applicable tests a gate that has something to test. One that has nothing is
// not applicable only where the bundle stores scope and rationale; otherwise
// it is Unknown, since nothing is proved by nothing.
func (j *judgement) applicable(name string, applies bool, test func() Finding) {
	if applies {
		j.gate(name, test())
		return
	}
	j.gate(name, j.leaveOut(name))
}

// leaveOut finds a gate not applicable, where the contract says why it may be.
func (j *judgement) leaveOut(name string) Finding {
	if rule := j.contract.Gates[name]; rule.Scope == "" || rule.Rationale == "" {
		return unknown("scope_missing", "nothing is required here, and the contract stores no scope and rationale for leaving the gate out")
	}
	return Finding{Verdict: NotApplicable}
}

// verdict joins reasons that fail with reasons that are unknown. A failure is
// said as a failure even where something else is unknown too.
func verdict(fails, unknowns []Reason) Finding {
	switch {
	case len(fails) > 0:
		return Finding{Verdict: Fail, Reasons: append(fails, unknowns...)}
	case len(unknowns) > 0:
		return Finding{Reasons: unknowns}
	}
	return Finding{Verdict: Pass}
}

// bounds passes when the boundary allows, or the required review is validly
// approved; it fails also while a rejection stands, the deadline is past, or
// the path was released already.
func (j *judgement) bounds() Finding {
	var fails []Reason
	unknowns := slices.Clone(j.mismatch)
	if j.d.Tier.Boundary() == Deny {
		fails = append(fails, reason("boundary_deny", "the tier "+j.d.Tier.String()+" denies the call, and no review can change that"))
	}
	if j.released() {
		fails = append(fails, reason("already_released", fmt.Sprintf("the same call was released by entry %d", j.in.State.Path.Released),
			NewFact("/path/released", j.in.State.Path.Released)))
	}
	if p := j.in.State.Path.Pulled; p.spent() {
		fails = append(fails, reason("pulled_back", fmt.Sprintf("the call ran and was pulled back by entry %d, so it is never run again", p.Seq),
			NewFact("/path/pulled_back", p.Seq), NewFact("/path/pulled_back/rejection", p.Rejection)))
	}
	if r := j.in.State.Rejection; r != nil {
		fails = append(fails, reason("rejected", fmt.Sprintf("a reviewer rejected this call (%s) and the rejection stands", r.Code),
			NewFact("/rejection/code", r.Code), NewFact("/rejection/seq", r.Seq)))
	}
	switch past, ok := j.deadlinePast(); {
	case !ok:
		unknowns = append(unknowns, reason("setting_invalid", "the deadline is not a whole number of seconds", settingFact(j.in, "deadline")))
	case past:
		fails = append(fails, reason("deadline_past", "the deadline is past", settingFact(j.in, "deadline"), NewFact("/now", j.in.Now)))
	}
	if j.reviewDue() {
		fails = append(fails, reason("review_required", "the call needs a person's approval"))
		fails = append(fails, j.refused...)
	}
	return verdict(fails, unknowns)
}

// reviewDue reports whether the boundary asks for a review that is not there.
func (j *judgement) reviewDue() bool { return j.d.Boundary == RequireReview && !j.approved }

// released reports whether the path ran already and may not run again.
func (j *judgement) released() bool {
	// A call that failed is RESOLUTION's question, not a second run of one that
	// is done.
	return j.contract.Calls != DecideAnew && j.tool.Effect != Read && j.in.State.Path.Released != 0 && j.in.State.Path.Failure == nil
}

func (j *judgement) deadlinePast() (past, ok bool) {
	return deadlinePast(j.in.State.Settings, j.in.Now)
}

// number reads a numeric setting. A setting that is absent or null is not
// present; ok is false when it is something else than a number.
func (j *judgement) number(setting string) (value float64, present, ok bool) {
	switch v := j.in.State.Settings[setting].(type) {
	case nil:
		return 0, false, true
	case float64:
		return v, true, true
	}
	return 0, true, false
}

func settingFact(in *Input, name string) Fact {
	path := Pointer("state", "settings", name)
	if v, ok := in.State.Settings[name]; ok {
		return NewFact(path, v)
	}
	return AbsentFact(path)
}

// records passes when every named record is there, passed, current, traceable
// and made under the versions in force.
func (j *judgement) records(required []string, rules map[string]RecordRule, kind string) Finding {
	var fails, unknowns []Reason
	for _, name := range required {
		f := j.record(name, rules, kind)
		switch f.Verdict {
		case Fail:
			fails = append(fails, f.Reasons...)
		case Pass:
		default:
			unknowns = append(unknowns, f.Reasons...)
		}
	}
	return verdict(fails, unknowns)
}

func (j *judgement) record(name string, rules map[string]RecordRule, kind string) Finding {
	path := Pointer("state", "evidence", name)
	rule, known := rules[name]
	e, present := j.in.State.Evidence[name]
	switch {
	case !known:
		return unknown(kind+"_undeclared", fmt.Sprintf("the contract does not say what makes %s %q valid", kind, name))
	case !present:
		return unknown(kind+"_missing", fmt.Sprintf("required %s %q is missing", kind, name), AbsentFact(path))
	case e.Status == Unknown:
		return unknown(kind+"_unknown", fmt.Sprintf("%s %q is unknown", kind, name), NewFact(path+"/status", e.Status.String()))
	}
	return j.current(name, path, rule, e, kind)
}

// current tests one record that is there against the contract's rule for it.
func (j *judgement) current(name, path string, rule RecordRule, e Evidence, kind string) Finding {
	var fails []Reason
	fail := func(code, text string, f ...Fact) {
		fails = append(fails, reason(kind+"_"+code, fmt.Sprintf("%s %q %s", kind, name, text), f...))
	}
	if pinned := (Agent{Component: j.in.State.Pins["component"]}); j.in.Action.Agent.Is(e.By) || pinned.Is(e.By) {
		fail("self_attested", "comes from the agent or component that it is about", NewFact(path+"/by", e.By))
	}
	if e.Status != Pass {
		fail("failed", "did not pass", NewFact(path+"/status", e.Status.String()))
	}
	if e.Time > j.in.Now || rule.TTL != nil && !aged(e.Time, j.in.Now, *rule.TTL) {
		fail("stale", "is out of date", NewFact(path+"/time", e.Time), NewFact("/now", j.in.Now))
	}
	if e.Expires != nil && j.in.Now > *e.Expires {
		fail("expired", "has expired", NewFact(path+"/expires", *e.Expires), NewFact("/now", j.in.Now))
	}
	if len(rule.Sources) > 0 && !slices.Contains(rule.Sources, e.Source) {
		fail("untraceable", "does not come from a source the contract accepts", NewFact(path+"/source", e.Source))
	}
	for _, field := range rule.Required {
		if given := field == "source" && e.Source != "" || field == "expires" && e.Expires != nil; !given {
			fail("incomplete", "lacks its "+field, AbsentFact(path+"/"+field))
		}
	}
	for _, pin := range rule.Pins {
		got, ok := e.Pins[pin]
		if now, known := j.in.State.Pins[pin]; !ok || !known || got != now {
			fail("version", "was not made under the current version of "+pin, NewFact(path+Pointer("pins", pin), got), NewFact(Pointer("state", "pins", pin), now))
		}
	}
	return verdict(fails, nil)
}

// aged reports whether what was made at t, not after now, is at most ttl old.
// The difference of any two int64 fits a uint64.
func aged(t, now, ttl int64) bool { return ttl >= 0 && uint64(now)-uint64(t) <= uint64(ttl) }

func unknown(code, text string, f ...Fact) Finding {
	return Finding{Reasons: []Reason{reason(code, text, f...)}}
}

// eligibility passes when the component may run this tool now. Without a
// setting and without a list of components nobody said so, and it is Unknown.
func (j *judgement) eligibility() Finding {
	var fails, unknowns []Reason
	asked := false
	if v, ok := j.in.State.Settings["eligible"]; ok {
		asked = true
		switch v {
		case true:
		case false:
			fails = append(fails, reason("not_eligible", "the component is not eligible now", settingFact(j.in, "eligible")))
		default:
			unknowns = append(unknowns, reason("setting_invalid", "eligible is neither true nor false", settingFact(j.in, "eligible")))
		}
	}
	if j.contract.Components != nil {
		asked = true
		name := j.in.Action.Agent.Component
		if !j.mayRun(name) {
			fails = append(fails, reason("component_not_listed", fmt.Sprintf("component %q may not run %s", name, j.tool.Name),
				NewFact("/action/agent/component", name)))
		}
	}
	if !asked {
		unknowns = append(unknowns, reason("eligibility_undeclared", "neither a setting nor a list of components says who may run the tool"))
	}
	return verdict(fails, unknowns)
}

// mayRun reports whether the contract lists the component for this tool, now.
func (j *judgement) mayRun(component string) bool {
	rule, ok := j.contract.Components[component]
	return ok && component != "" && slices.Contains(rule.Tools, j.tool.Name) && (rule.Until == nil || j.in.Now <= *rule.Until)
}

// supervision passes when no review is due, or one is pending and current, or
// one could be asked for now.
func (j *judgement) supervision() Finding {
	if !j.reviewDue() || j.pending() {
		return Finding{Verdict: Pass}
	}
	return j.couldAsk()
}

// pending reports whether the path has a current request: same epoch (a moved
// pin removes it from the state), pending, age within its limit.
func (j *judgement) pending() bool {
	return j.in.State.Path.Request.Current(j.in.Now, j.in.State.Settings, j.contract.Expiry)
}

// couldAsk passes when a review could be asked for now: somebody may review,
// the queue has room and the deadline is not past.
func (j *judgement) couldAsk() Finding {
	var fails, unknowns []Reason
	if len(j.contract.Roles) == 0 {
		unknowns = append(unknowns, reason("reviewer_undeclared", "the contract names no role that may review"))
	}
	capacity, present, ok := j.number("capacity")
	queue, queueOK := j.queue()
	switch {
	case !present:
		unknowns = append(unknowns, reason("capacity_missing", "the contract does not say how many reviews may wait", AbsentFact("/state/settings/capacity")))
	case !ok || !queueOK:
		unknowns = append(unknowns, reason("setting_invalid", "queue or capacity is not a number", settingFact(j.in, "capacity"), settingFact(j.in, "queue")))
	case !(queue < capacity):
		fails = append(fails, reason("queue_full", "no reviewer is free: the queue has reached its capacity",
			NewFact(j.queuePath(), queue), NewFact("/state/settings/capacity", capacity)))
	}
	switch past, ok := j.deadlinePast(); {
	case !ok:
		unknowns = append(unknowns, reason("setting_invalid", "the deadline is not a whole number of seconds", settingFact(j.in, "deadline")))
	case past:
		fails = append(fails, reason("deadline_past", "the deadline is past", settingFact(j.in, "deadline"), NewFact("/now", j.in.Now)))
	}
	return verdict(fails, unknowns)
}

// queuePath says where the queue's length comes from: it is counted, or a
// setting.
func (j *judgement) queuePath() string {
	if j.contract.Queue == Counted {
		return "/queue"
	}
	return "/state/settings/queue"
}

// queue is the number of reviews that wait: counted, or as the setting says.
func (j *judgement) queue() (length float64, ok bool) {
	if j.contract.Queue == Counted {
		return float64(j.in.State.Queue), true
	}
	length, present, ok := j.number("queue")
	return length, present && ok
}

// resolution passes when no failure on this path is unresolved.
func (j *judgement) resolution() Finding {
	f := j.in.State.Path.Failure
	if f == nil {
		return Finding{Verdict: Pass}
	}
	return Finding{Verdict: Fail, Reasons: []Reason{reason("failure_unresolved", "an earlier run of this call failed and the failure is not resolved",
		NewFact("/path/failure/recoverable", f.Recoverable), NewFact("/path/retries", j.in.State.Path.Retries))}}
}
