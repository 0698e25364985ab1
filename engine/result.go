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
		path.Released, path.Runs = 0, path.Runs-1
	}
	if r.Incident != "" {
		path.Approval = nil
		f.disown(&path)
		f.bind(r.Incident)
	}
	f.w.SetPath(f.key(), path)
}
