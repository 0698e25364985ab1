package metrics

import (
	"encoding/json"
	"slices"
	"sort"
	"testing"

	"github.com/conjunct-project/conjunct/journal"
)

// recount is the second implementation: it holds the whole journal in memory,
// and says of each call what holds of it, in as many passes as that takes.
func recount(t testing.TB, entries []journal.Entry, cost func(tool string) (float64, bool)) map[string]Figure {
	t.Helper()
	r := &recounted{t: t}
	for _, e := range entries {
		var tree map[string]any
		if err := json.Unmarshal(e.Body, &tree); err != nil {
			t.Fatal(err)
		}
		x := line{seq: int(e.Seq), at: e.Time, op: e.Op, tree: tree}
		if rec, _ := tree["record"].(map[string]any); rec == nil || rec["invalid"] == "" || rec["invalid"] == nil {
			r.lines = append(r.lines, x)
		}
	}
	r.group()
	return r.figures(cost)
}

type line struct {
	seq  int
	at   int64
	op   string
	tree map[string]any
}

// at follows a path of keys; nil where it leads nowhere.
func at(tree any, keys ...string) any {
	for _, k := range keys {
		m, _ := tree.(map[string]any)
		tree = m[k]
	}
	return tree
}

type recounted struct {
	t     testing.TB
	lines []line
	calls []*counted
	ids   map[[2]any]*counted
}

type counted struct{ attempts, reviews, results []line }

func (r *recounted) group() {
	type key = [2]any
	last := map[key]*counted{}
	r.ids = map[key]*counted{}
	for _, l := range r.lines {
		switch l.op {
		case "attempt":
			d := l.tree["decision"]
			k := key{at(d, "trace_id"), at(d, "call_hash")}
			if last[k] == nil {
				last[k] = r.retried(at(l.tree, "record", "retry_of"))
			}
			if c := last[k]; c == nil || c.ran() && !answersARun(d) {
				last[k] = &counted{}
				r.calls = append(r.calls, last[k])
			}
			last[k].attempts = append(last[k].attempts, l)
			r.ids[key{at(d, "trace_id"), at(d, "call_id")}] = last[k]
		case "review", "result":
			c := r.ids[key{at(l.tree, "event", "trace_id"), at(l.tree, "event", "call")}]
			if c == nil {
				continue
			}
			if l.op == "review" {
				c.reviews = append(c.reviews, l)
			} else {
				c.results = append(c.results, l)
			}
		}
	}
}

// retried is the call that the entry with a number refused, if it has not run.
func (r *recounted) retried(seq any) *counted {
	for _, c := range r.calls {
		for _, l := range c.attempts {
			if float64(l.seq) == seq && at(l.tree, "decision", "outcome") == "block" && !c.ran() {
				return c
			}
		}
	}
	return nil
}

func answersARun(d any) bool {
	if at(d, "permit") == true {
		return false
	}
	reasons, _ := at(d, "reasons").([]any)
	return at(d, "cause") == "RESOLUTION" || slices.ContainsFunc(reasons, func(r any) bool {
		return slices.Contains([]any{"already_released", "pulled_back", "rejected"}, at(r, "code"))
	})
}

// ran: the last thing said about a run is a permit and not that it did not
// happen.
func (c *counted) ran() bool {
	permit, unrun := 0, 0
	for _, l := range c.attempts {
		if at(l.tree, "decision", "permit") == true {
			permit = l.seq
		}
	}
	for _, l := range c.results {
		if at(l.tree, "event", "status") == "not_run" {
			unrun = l.seq
		}
	}
	return permit > unrun
}

// since the last report that the call was not run.
func (c *counted) reports() []line {
	from := 0
	for i, l := range c.results {
		if at(l.tree, "event", "status") == "not_run" {
			from = i + 1
		}
	}
	return c.results[from:]
}

func (c *counted) latest(field string) any {
	for _, l := range slices.Backward(c.reports()) {
		if v := at(l.tree, "event", field); v != nil {
			return v
		}
	}
	return nil
}

func (c *counted) answer() string {
	for _, l := range slices.Backward(c.reviews) {
		switch outcome := at(l.tree, "event", "outcome"); {
		case outcome == "revoke":
			return ""
		case at(l.tree, "record", "completed") == true && outcome != "return":
			return outcome.(string)
		}
	}
	return ""
}

func (c *counted) incident() bool {
	revoked := 0
	for _, l := range c.reviews {
		if at(l.tree, "event", "outcome") == "revoke" {
			revoked = l.seq
		}
	}
	return slices.ContainsFunc(c.results, func(l line) bool { return l.seq > revoked && at(l.tree, "event", "incident") != nil })
}

func (c *counted) first(keys ...string) string {
	s, _ := at(c.attempts[0].tree, append([]string{"decision"}, keys...)...).(string)
	return s
}

func (c *counted) class() string {
	return c.first("consequence", "reversibility") + "/" + c.first("consequence", "blast_radius")
}

// table is the default severity table in the words of the design.
var table = map[string]string{
	"reversible/task": "execute", "costly/task": "execute_notify", "irreversible/task": "propose",
	"reversible/record": "execute", "costly/record": "execute_notify", "irreversible/record": "propose",
	"reversible/system": "execute_notify", "costly/system": "propose", "irreversible/system": "propose",
	"reversible/external": "propose", "costly/external": "propose", "irreversible/external": "propose",
}

var points = map[string]float64{"execute": 1, "execute_notify": 2, "propose": 5, "refuse": 13}

func (r *recounted) figures(cost func(tool string) (float64, bool)) map[string]Figure {
	sum := func(f func(c *counted) float64) (total float64) {
		for _, c := range r.calls {
			total += f(c)
		}
		return total
	}
	count := func(holds func(c *counted) bool) float64 {
		return sum(func(c *counted) float64 {
			if holds(c) {
				return 1
			}
			return 0
		})
	}
	rejected := func(c *counted) bool { return c.answer() == "reject" }
	wrong := func(c *counted) bool { return rejected(c) || c.ran() && c.incident() }
	stopped := func(c *counted) bool { return c.first("outcome") != "allow" }
	failed := func(c *counted) bool { return c.latest("status") == "error" }
	weight := func(c *counted) float64 { return points[c.first("tier")] }
	known := func(c *counted) float64 {
		if c.ran() && c.incident() {
			return max(weight(c), points[table[c.class()]])
		}
		return weight(c)
	}
	only := func(holds func(*counted) bool, f func(*counted) float64) func(*counted) float64 {
		return func(c *counted) float64 {
			if holds(c) {
				return f(c)
			}
			return 0
		}
	}
	price := func(c *counted) (float64, bool) {
		if v, ok := c.latest("cost").(float64); ok {
			return v, true
		}
		return cost(c.first("tool"))
	}
	priced := func(c *counted) bool { _, ok := price(c); return c.ran() && ok }
	share := func(n, of float64) Figure {
		f := Figure{Count: n, Of: of}
		if of != 0 {
			v := n / of
			f.Value = &v
		}
		return f
	}
	all, executed := float64(len(r.calls)), count((*counted).ran)
	total := sum(only(priced, func(c *counted) float64 { p, _ := price(c); return p }))
	out := map[string]Figure{
		"task_completion":              share(executed, all),
		"task_completion_known":        share(count(func(c *counted) bool { return c.ran() && !wrong(c) }), all),
		"success":                      share(count(func(c *counted) bool { return c.ran() && !failed(c) }), executed),
		"success_known":                share(count(func(c *counted) bool { return c.ran() && !failed(c) && !wrong(c) }), executed),
		"cost_per_action":              share(total, count(priced)),
		"cost_per_action_known":        share(total, count(func(c *counted) bool { return priced(c) && !wrong(c) })),
		"escalation_precision":         share(count(func(c *counted) bool { return stopped(c) && rejected(c) }), count(stopped)),
		"escalation_precision_decided": share(count(func(c *counted) bool { return stopped(c) && rejected(c) }), count(func(c *counted) bool { return stopped(c) && c.answer() != "" })),
		"cost_weighted_error":          share(sum(only(rejected, weight)), sum(weight)),
		"cost_weighted_error_known":    share(sum(only(wrong, known)), sum(known)),
	}
	for class := range table {
		queued := func(c *counted) bool { return c.class() == class && c.first("outcome") == "review" }
		if n := count(queued); n > 0 {
			out["override_rate "+class] = share(count(func(c *counted) bool { return queued(c) && rejected(c) }), n)
		}
	}
	for _, field := range []string{"latency", "overhead"} {
		var samples []float64
		for _, c := range r.calls {
			if v, ok := c.latest(field).(float64); ok && c.ran() {
				samples = append(samples, v)
			}
		}
		name := map[string]string{"latency": "tool_latency", "overhead": "gate_overhead"}[field]
		for suffix, q := range map[string]int{"_p50": 50, "_p95": 95} {
			out[name+suffix] = percentile(samples, q, executed)
		}
	}
	return out
}

// percentile counts upwards until enough samples are at most the candidate.
func percentile(samples []float64, q int, of float64) Figure {
	sort.Float64s(samples)
	f := Figure{Count: float64(len(samples)), Of: of}
	for i := range samples {
		if (i+1)*100 >= q*len(samples) {
			f.Value = &samples[i]
			break
		}
	}
	return f
}
