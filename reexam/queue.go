package reexam

import (
	"cmp"
	"slices"

	"github.com/conjunct-project/conjunct/engine"
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
}

// Queue lists the current requests, the oldest first.
func Queue(v engine.View, c *engine.Contract, now int64) []Waiting {
	out := []Waiting{}
	for _, key := range v.Waiting() {
		path, trace := v.Path(key.Trace, key.Call), v.Trace(key.Trace)
		r := path.Request
		settings := map[string]any{"review_ttl": engine.SettingOf(v, c, key.Trace, "review_ttl")}
		if r == nil || r.Seq <= max(trace.ChangedAt, path.ChangedAt) || !r.Current(now, settings, c.Expiry) {
			continue
		}
		w := Waiting{TraceID: key.Trace, CallID: path.CallID, Tool: path.Tool, Request: r.Seq, Since: r.Time, Expires: r.Expires,
			Gates: slices.Clone(r.Gates), Required: r.Required}
		for _, vote := range r.Votes {
			w.Votes = append(w.Votes, vote.Reviewer)
		}
		out = append(out, w)
	}
	slices.SortFunc(out, func(a, b Waiting) int { return cmp.Compare(a.Request, b.Request) })
	return out
}
