package engine

import "slices"

// Reexamined is what a re-examination did to a call. The zero value is the
// strictest.
type Reexamined uint8

const (
	PulledBack   Reexamined = iota
	DecidedAgain            // it waits, or may not run, as before
	FlaggedRead
)

var reexaminedNames = names{"pulled_back", "decided_again", "flagged"}

func (r Reexamined) String() string               { return reexaminedNames.text(uint8(r)) }
func (r Reexamined) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// SecondLook is what looking at a call again came to, as its entry tells it.
type SecondLook struct {
	Reexamination
	Effect Reexamined
	Ran    bool // the call ran before
	Was    Granted
	Now    Granted // the same as Was for a flagged read
}

// reexamine looks at one call again. A read is flagged. Any other is decided
// again with what has become suspect, as if it had not run and nobody had
// approved it, and is pulled back if it ran or was approved.
func (f *fold) reexamine() {
	r, path := f.e.Reexamine, f.path()
	look := &SecondLook{Reexamination: r, Effect: FlaggedRead, Ran: path.Runs > 0, Was: path.Authority, Now: path.Authority}
	f.rec.Second = look
	before := *f.state()
	f.rec.StateBefore = path.describe(before.Rejection)
	if r.Read {
		path.Flagged = &Flag{Rejection: r.Rejection, Items: slices.Clone(r.Items), Origin: r.Origin || path.Flagged != nil && path.Flagged.Origin}
	} else {
		before = f.read(&f.e.Attempt.Action)
		f.decideAgain(&path, before, look)
	}
	f.rec.StateAfter = path.describe(before.Rejection)
	f.w.SetPath(f.key(), path)
}

func (f *fold) decideAgain(path *Path, before State, look *SecondLook) {
	a := f.e.Attempt
	in := Input{Action: a.Action, Facts: a.Facts, FactsUnknown: a.FactsUnknown, FactsHash: a.FactsHash, Imposed: a.Imposed, State: before, Now: f.now}
	approved := before.Path.Approval != nil
	waits := before.Path.Request.Current(f.now, before.Settings, f.contract.Expiry)
	p := &in.State.Path
	p.Released, p.Failure, p.Approval, p.Pulled, p.Request = 0, nil, nil, nil, nil
	f.recall(&in.Action, &in.State)
	f.look(&in)
	d := f.again(&in)
	f.rec.Decision, f.rec.Reasons = &d, d.Reasons
	look.Now = granted(&d)
	path.Authority, path.Approval = look.Now, nil
	switch {
	case before.Rejection != nil && path.Runs == 0:
		// The same call was rejected in other words: nobody need look at this one.
		look.Effect = DecidedAgain
		path.Request = closed(path.Request, RejectedRequest)
	case path.Runs > 0 || approved || d.Permit:
		look.Effect = PulledBack
		f.pullBack(path, &in, &d)
	case waits:
		// Whoever answers it is to be shown what has become suspect.
		look.Effect = DecidedAgain
		pulled := path.Request.PulledBack
		path.Request = f.request(&in, in.Sees(f.policy.Bundle().Digest), d.open)
		path.Request.PulledBack = pulled
		d.Request, f.rec.Requested = Self, true
	default:
		look.Effect = DecidedAgain
	}
	d.Permit, d.Notify = false, false
}

// again decides the call, unless the journal does not hold it.
func (f *fold) again(in *Input) Decision {
	if !f.e.Attempt.Missing {
		d := *judge(f.ctx, f.policy, in, f.space)
		in.Consequence = d.Consequence
		return d
	}
	d := refusal(f.policy, in)
	why := normal(reason("not_redecidable", "the journal does not hold the call's arguments, so it cannot be decided again"))
	if t, declared := f.policy.Tool(in.Action.Tool); declared {
		d.Consequence = t.Consequence
	}
	d.Reasons, d.Cause, d.answered = []Reason{why}, Bounds, OutOfScope
	d.Gates = []GateResult{{Name: Bounds, Verdict: Unknown, Reasons: d.Reasons}}
	return d
}

// pullBack puts the call into the queue, whatever the queue's length is.
func (f *fold) pullBack(path *Path, in *Input, d *Decision) {
	r := f.e.Reexamine
	items := slices.Clone(r.Items)
	if p := path.Pulled; p != nil && p.Answer == "" {
		for _, i := range p.Items {
			if !slices.Contains(items, i) {
				items = append(items, i)
			}
		}
	}
	path.Pulled = &PullBack{Seq: Self, Rejection: r.Rejection, Call: r.Rejected, By: r.By, Code: r.Code, Items: items, Ran: path.Runs > 0}
	path.Request = f.request(in, in.Sees(f.policy.Bundle().Digest), d.open)
	path.Request.PulledBack, path.Request.Expires = true, nil
	d.Request, f.rec.Requested = Self, true
}

func granted(d *Decision) Granted { return Granted{d.Outcome, d.Tier, d.Boundary} }

// closed is a request that needs no answer any more.
func closed(r *Request, s RequestStatus) *Request {
	if r == nil || r.Status != Pending {
		return r
	}
	c := *r
	c.Status = s
	return &c
}
