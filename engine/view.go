package engine

import (
	"context"
	"maps"
	"slices"
)

// View is the evidence state as a fold reads it: narrow reads by key, so that
// whoever implements it can note what a decision depended on. A key that was
// never written gives the zero value.
type View interface {
	// Clock is the time of the last record; a decision's clock never goes below it.
	Clock() int64
	// Trace is what is known of a trace.
	Trace(id string) Trace
	// Setting is a setting of a trace, or of all with an empty trace.
	Setting(trace, name string) (any, bool)
	// Evidence is the latest record of a kind, of a path or, with an empty call,
	// of the trace.
	Evidence(trace, call, name string) (Evidence, bool)
	// Path is the record of a path.
	Path(trace, call string) Path
	// CallHash is the content first proposed under a call id.
	CallHash(trace, id string) (string, bool)
	// Rejection is the standing rejection of a call, in whatever trace.
	Rejection(call string) (Rejection, bool)
	// Entity is what is recorded of an entity for a tool under a critic.
	Entity(tool string, e Entity) (EntityRecord, bool)
	// Refused is the seq of the first attempt at a call, trivial changes aside, that
	// was refused in a trace; 0 if none was.
	Refused(trace, same string) uint64
	// Suspicion is the suspicion of a value in a trace.
	Suspicion(trace, value string) (Suspicion, bool)
	// Suspicions lists what is suspect in a trace, SuspicionsOf where a value is,
	// AllSuspicions everything. Suspected reports whether anything is.
	Suspicions(trace string) []Suspicion
	SuspicionsOf(value string) []Suspicion
	AllSuspicions() []Suspicion
	Suspected() bool
	// Holders lists the calls of a trace, or of all with an empty trace, that hold a
	// value; the empty value is that of calls that hold everything. Producers lists
	// the calls of a trace whose results held a value, and Results the values that
	// results of a call held. They are read only by events that are folded in their
	// turn.
	Holders(value, trace string) []PathKey
	Producers(trace, value string) []Producer
	Results(trace, call string) []string
	// Waiting lists the paths with a request that was pending when written.
	Waiting() []PathKey
	// Contributions lists what releases added to a counter for one entity.
	Contributions(counter, entity string) []Contribution
}

// PathKey names a path.
type PathKey struct{ Trace, Call string }

// Trace is the state of one agent task.
type Trace struct {
	Pins      map[string]string
	ChangedAt uint64 // seq of the last real change of one of its pins
	Agents    []Agent
	Suspect   bool // something is or was suspect here
	Refused   bool // a call was refused here
}

// Contribution is what one release added to a counter.
type Contribution struct {
	Seq    uint64
	Time   int64
	Amount float64
	// Unknown marks an amount that could not be read: the sum is not known then.
	Unknown bool
}

// Authority is who may do what, as the bundle says.
type Authority interface {
	// May reports whether the bundle lets the identity do what the request says.
	// An error, undefined or anything but true is no.
	May(context.Context, AuthorityRequest) (bool, Reason)
}

// AuthorityRequest is what the authority rule sees.
type AuthorityRequest struct {
	Op      Op
	By      Identity
	Outcome string
	Code    string
	Name    string
	Gates   []string
	Signed  bool
	Agent   Agent
	Author  string
	State   State
	Now     int64
}

// Document is the request as the authority rule sees it.
func (r AuthorityRequest) Document() map[string]any {
	gates := make([]any, len(r.Gates))
	for i, g := range r.Gates {
		gates[i] = g
	}
	return map[string]any{
		"op": r.Op.String(), "by": r.By.Name, "role": r.By.Role, "qualified": r.By.Qualified, "outcome": r.Outcome, "code": r.Code,
		"name": r.Name, "gates": gates, "signed": r.Signed, "agent": map[string]any{"id": r.Agent.ID, "component": r.Agent.Component},
		"author": r.Author, "state": r.State.Document(), "now": float64(r.Now),
	}
}

// Governance is a whole bundle: policy for decisions, authority for everything
// else.
type Governance interface {
	Policy
	Authority
}

// readState reads what the contract names, for one path, from a view.
func readState(c *Contract, v View, trace, call string, a *Action, now int64) State {
	t, path := v.Trace(trace), v.Path(trace, call)
	s := State{
		Settings: make(map[string]any, len(c.Start.Settings)),
		Pins:     make(map[string]string, len(c.Start.Pins)+len(t.Pins)+len(path.Pins)),
		Evidence: map[string]Evidence{},
		Path:     path,
	}
	for name, first := range c.Start.Settings {
		s.Settings[name] = settingOf(v, trace, name, first)
	}
	maps.Copy(s.Pins, c.Start.Pins)
	maps.Copy(s.Pins, t.Pins)
	maps.Copy(s.Pins, path.Pins)
	since := max(t.ChangedAt, path.ChangedAt)
	for _, kinds := range []map[string]RecordRule{c.Evidence, c.Context} {
		for name := range kinds {
			if e, ok := currentEvidence(c, v, trace, call, name, t.ChangedAt, since); ok {
				s.Evidence[name] = e
			}
		}
	}
	s.Path.Request, s.Path.Approval = keep(path.Request, since), keepApproval(path.Approval, since)
	same := path.Same
	switch {
	case a != nil:
		same = c.same(a)
		s.Suspect = suspects(c, v, trace, &t, c.holdings(a), path.First)
	case same == "":
		same = call
	}
	s.Rejection = standingRejection(c, v, same)
	s.Counters = counters(c, v, a, now)
	return s
}

// settingOf is the trace's value, else everybody's, else the contract's first.
func settingOf(v View, trace, name string, first any) any {
	if value, ok := v.Setting(trace, name); ok {
		return value
	}
	if value, ok := v.Setting("", name); ok {
		return value
	}
	return first
}

// currentEvidence is the record of the path, else of the trace, unless a pin
// above it moved after it was made. What the contract starts with was made
// before everything.
func currentEvidence(c *Contract, v View, trace, call, name string, traceChanged, pathChanged uint64) (Evidence, bool) {
	own, ofPath := v.Evidence(trace, call, name)
	ofPath = ofPath && call != ""
	all, ofTrace := v.Evidence(trace, "", name)
	switch {
	case ofPath && (!ofTrace || own.Seq > all.Seq):
		return own, own.Seq > pathChanged
	case ofTrace:
		return all, all.Seq > traceChanged
	}
	status, ok := c.Start.Evidence[name]
	return Evidence{Name: name, Status: status}, ok && traceChanged == 0
}

// keep drops a request that a moved pin has voided. A pull-back asks for no
// release, so no pin ends it.
func keep(r *Request, since uint64) *Request {
	if r == nil || r.Seq <= since && !r.PulledBack {
		return nil
	}
	return r
}

func keepApproval(a *Approval, since uint64) *Approval {
	if a == nil || a.Seq <= since {
		return nil
	}
	return a
}

// standingRejection is the rejection of this call, whatever its id and trace,
// unless the contract lets moved pins void it and they have moved.
func standingRejection(c *Contract, v View, same string) *Rejection {
	standing, ok := v.Rejection(same)
	if !ok {
		return nil
	}
	r := standing
	if slices.Contains(c.RejectionVoid, BindPins) {
		// What voids it is the movement of the pins it was made under, in its own
		// trace: proposing the call in another trace is no way out.
		for r.Seq <= max(v.Trace(r.Trace).ChangedAt, v.Path(r.Trace, r.Call).ChangedAt) {
			if r.Before == nil {
				return nil
			}
			r = *r.Before
		}
	}
	return &r
}

// waiting counts the current requests of other paths.
func waiting(c *Contract, v View, self PathKey, now int64) (n int) {
	for _, key := range v.Waiting() {
		if key == self {
			continue
		}
		path, t := v.Path(key.Trace, key.Call), v.Trace(key.Trace)
		ttl := map[string]any{"review_ttl": settingOf(v, key.Trace, "review_ttl", c.Start.Settings["review_ttl"])}
		if keep(path.Request, max(t.ChangedAt, path.ChangedAt)).Current(now, ttl, c.Expiry) {
			n++
		}
	}
	return n
}

// counters sums what earlier releases added, for the entity this action names.
// A counter whose entity the action does not name is absent, and what reads it
// cannot be determined.
func counters(c *Contract, v View, a *Action, now int64) map[string]float64 {
	out := make(map[string]float64, len(c.Counters))
	for name, rule := range c.Counters {
		entity, ok := entityOf(rule, a)
		if !ok {
			continue
		}
		sum, known := 0.0, true
		for _, x := range v.Contributions(name, entity) {
			if rule.Window == 0 || x.Time <= now && aged(x.Time, now, rule.Window) {
				sum, known = sum+x.Amount, known && !x.Unknown
			}
		}
		if known {
			out[name] = sum
		}
	}
	return out
}

// entityOf is the entity that a counter tells apart; one for all without By.
func entityOf(rule CounterRule, a *Action) (string, bool) {
	if rule.By == "" {
		return "", true
	}
	if a == nil {
		return "", false
	}
	s, ok := a.Arguments[rule.By].(string)
	if ok && rule.Form != nil {
		s = rule.Form(s)
	}
	return s, ok
}

// SettingOf is the value of a setting in a trace: its own, else everybody's,
// else the contract's first.
func SettingOf(v View, c *Contract, trace, name string) any {
	return settingOf(v, trace, name, c.Start.Settings[name])
}
