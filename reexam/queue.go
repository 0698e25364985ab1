package reexam

import (
	"cmp"
	"slices"

	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/evidence"
)

// Waiting is one request for a person's review that is current.
type Waiting struct {
	TraceID, CallID, Tool string
	// Request is its id: the seq of the entry that made it.
	Request uint64
	Since   int64
	Expires *int64 // nil: it does not lapse
	// Gates are own gates that did not pass and that an approval has to name.
	Gates []string
	// Votes are the reviewers who approved so far, of Required.
	Votes    []string
	Required int
	// PulledBack says why the call was pulled back; nil: it was not. One that ran
	// asks for no release.
	PulledBack *engine.PullBack
}

// Queue lists the current requests, the oldest first.
func Queue(v engine.View, c *engine.Contract, now int64) []Waiting {
	out := []Waiting{}
	for _, key := range v.Waiting() {
		path, trace := v.Path(key.Trace, key.Call), v.Trace(key.Trace)
		r := path.Request
		settings := map[string]any{"review_ttl": engine.SettingOf(v, c, key.Trace, "review_ttl")}
		moved := r != nil && r.Seq <= max(trace.ChangedAt, path.ChangedAt) && !r.PulledBack
		if r == nil || moved || !r.Current(now, settings, c.Expiry) {
			continue
		}
		w := Waiting{TraceID: key.Trace, CallID: path.CallID, Tool: path.Tool, Request: r.Seq, Since: r.Time, Expires: r.Expires,
			Gates: slices.Clone(r.Gates), Required: r.Required}
		if r.PulledBack {
			w.PulledBack = path.Pulled
		}
		for _, vote := range r.Votes {
			w.Votes = append(w.Votes, vote.Reviewer)
		}
		out = append(out, w)
	}
	slices.SortFunc(out, func(a, b Waiting) int { return cmp.Compare(a.Request, b.Request) })
	return out
}

// FlaggedRead is a read that holds, or gave, what is suspect now.
type FlaggedRead struct {
	TraceID, CallID, Tool string
	Items                 []engine.Item
	// Origin marks the read that the suspect values came from.
	Origin bool
}

// Suspects lists what is suspect now and the reads that have to do with it, the
// oldest first.
func Suspects(v *evidence.View) (items []engine.Suspicion, reads []FlaggedRead) {
	items = v.AllSuspicions()
	slices.SortStableFunc(items, func(a, b engine.Suspicion) int { return cmp.Compare(a.Seq, b.Seq) })
	first := map[string]uint64{}
	for _, key := range v.Flagged() {
		path := v.Path(key.Trace, key.Call)
		read := FlaggedRead{TraceID: key.Trace, CallID: path.CallID, Tool: path.Tool, Origin: path.Flagged.Origin}
		for _, i := range path.Flagged.Items {
			if len(v.SuspicionsOf(i.Value)) > 0 {
				read.Items = append(read.Items, i)
			}
		}
		if len(read.Items) > 0 {
			reads = append(reads, read)
			first[read.TraceID+"/"+read.CallID] = path.First
		}
	}
	slices.SortStableFunc(reads, func(a, b FlaggedRead) int {
		return cmp.Compare(first[a.TraceID+"/"+a.CallID], first[b.TraceID+"/"+b.CallID])
	})
	return items, reads
}
