package bench

import (
	"math"
	"slices"

	"github.com/conjunct-project/conjunct/engine"
)

// forgetful shows what holds now and nothing that an earlier decision left
// behind: settings, pins, evidence that is valid for them and whether a failure
// is open; no request, approval, rejection, spent retry, release, suspicion or
// counter. The view is no embedded one: what else a view may tell has to be
// thought of here.
type forgetful struct{ now engine.View }

var _ engine.View = forgetful{}

func (f forgetful) Clock() int64 { return f.now.Clock() }

func (f forgetful) Setting(trace, name string) (any, bool) { return f.now.Setting(trace, name) }

func (f forgetful) Evidence(trace, call, name string) (engine.Evidence, bool) {
	return f.now.Evidence(trace, call, name)
}

func (f forgetful) Trace(id string) engine.Trace {
	t := f.now.Trace(id)
	return engine.Trace{Pins: t.Pins, ChangedAt: t.ChangedAt}
}

func (f forgetful) Path(trace, call string) engine.Path {
	p := f.now.Path(trace, call)
	return engine.Path{Agent: p.Agent, Pins: p.Pins, ChangedAt: p.ChangedAt, Failure: p.Failure}
}

func (forgetful) CallHash(string, string) (string, bool)    { return "", false }
func (forgetful) Rejection(string) (engine.Rejection, bool) { return engine.Rejection{}, false }
func (forgetful) Entity(string, engine.Entity) (engine.EntityRecord, bool) {
	return engine.EntityRecord{}, false
}
func (forgetful) Refused(string, string) uint64                      { return 0 }
func (forgetful) Suspicion(string, string) (engine.Suspicion, bool)  { return engine.Suspicion{}, false }
func (forgetful) Suspicions(string) []engine.Suspicion               { return nil }
func (forgetful) SuspicionsOf(string) []engine.Suspicion             { return nil }
func (forgetful) AllSuspicions() []engine.Suspicion                  { return nil }
func (forgetful) Suspected() bool                                    { return false }
func (forgetful) Holders(string, string) []engine.PathKey            { return nil }
func (forgetful) Producers(string, string) []engine.Producer         { return nil }
func (forgetful) Results(string, string) []string                    { return nil }
func (forgetful) Waiting() []engine.PathKey                          { return nil }
func (forgetful) Contributions(string, string) []engine.Contribution { return nil }

// unmoved shows pins with the values they have and hides that they ever moved:
// evidence, requests and approvals stay. Rejections are voided as they would be.
type unmoved struct {
	engine.View
	contract *engine.Contract
}

func (u unmoved) Trace(id string) engine.Trace {
	t := u.View.Trace(id)
	t.ChangedAt = 0
	return t
}

func (u unmoved) Path(trace, call string) engine.Path {
	p := u.View.Path(trace, call)
	p.ChangedAt = 0
	return p
}

func (u unmoved) Rejection(same string) (engine.Rejection, bool) {
	r, ok := u.View.Rejection(same)
	if !ok || !slices.Contains(u.contract.RejectionVoid, engine.BindPins) {
		return r, ok
	}
	for r.Seq <= max(u.View.Trace(r.Trace).ChangedAt, u.View.Path(r.Trace, r.Call).ChangedAt) {
		if r.Before == nil {
			return engine.Rejection{}, false
		}
		r = *r.Before
	}
	return r, true
}

// roomy shows reviewers who always have room.
type roomy struct{ engine.View }

func (r roomy) Setting(trace, name string) (any, bool) {
	switch name {
	case "queue":
		return 0.0, true
	case "capacity":
		return math.MaxFloat64, true
	}
	return r.View.Setting(trace, name)
}

func (r roomy) Waiting() []engine.PathKey { return nil }

// released is a bundle whose approvals are bound to nothing.
type released struct {
	engine.Governance
	contract *engine.Contract
}

// unbound is the bundle with approvals that no change takes away.
func unbound(p engine.Governance) engine.Governance {
	c := *p.Contract()
	c.Approval.VoidedBy = []engine.Binding{}
	return released{p, &c}
}

func (r released) Contract() *engine.Contract { return r.contract }
