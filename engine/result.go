package engine

// result follows what became of a permitted call: an error is a failure, a
// success resolves it, and a call that was never run may be proposed again. An
// incident, reported with the result or later, works like a rejection.
func (f *fold) result() {
	path, r := f.path(), f.e.Result
	switch {
	case r.Status == NoResult && r.Incident == "", r.Status > NotRun:
		f.refuse("result_missing", "the event gives no result")
		return
	case r.Status != NoResult && path.Released == 0:
		f.refuse("not_released", "the call was not released, so nothing can have become of it")
		return
	case r.Status == NotRun && path.Reported:
		f.refuse("reported_before", "it was reported before that the call ran")
		return
	case r.Incident != "" && (path.Runs == 0 || r.Status == NotRun):
		f.refuse("not_run", "the call did not run, so it did nothing wrong")
		return
	}
	switch r.Status {
	case ResultOK:
		path.Failure, path.Reported = nil, true
	case ResultError:
		path.Reported = true
		path.Failure = &Failure{Seq: Self, Recoverable: r.Recoverable}
	case NotRun:
		path.unrun()
	}
	if len(r.Values) > 0 && r.Status != NotRun {
		f.w.Results = append(f.w.Results, ResultWrite{Key: f.key(), Seq: Self, Values: r.Values})
		f.spreadResults(&path, r.Values)
	}
	if r.Incident != "" {
		path.answer(RejectedRequest.String())
		path.Request, path.Approval = closed(path.Request, RejectedRequest), nil
		f.disown(&path)
		f.bind(&path, r.Incident)
	}
	f.w.SetPath(f.key(), path)
}

// unrun takes back a release whose call was never run. A call that was pulled
// back as one that ran waits for a release then, as any other.
func (p *Path) unrun() {
	p.Released, p.Runs = 0, p.Runs-1
	if p.Runs > 0 {
		return
	}
	p.Ran = 0
	if p.Pulled.waits() {
		c := *p.Pulled
		c.Ran = false
		p.Pulled = &c
	}
}
