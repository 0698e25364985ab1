package episode_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/conjunct-project/conjunct/bundle"
	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/episode"
)

const (
	contractFile  = "conjunct/contract/data.yaml"
	registryFile  = "conjunct/registry/data.yaml"
	authorityFile = "conjunct/authority/authority.rego"
	nextFile      = "conjunct/transition/transition.rego"
	floorsFile    = "conjunct/floors/floors.rego"
	severityFile  = "conjunct/severity/data.yaml"
)

// edit replaces text in one file of a bundle; without old text the whole file.
type edit struct{ file, from, to string }

// in is an edit of the contract.
func in(from, to string) edit { return edit{contractFile, from, to} }

// variant is the protected-branch bundle with some of its text changed. Tests
// of the bundle are left out: they speak of the original.
func variant(t testing.TB, edits ...edit) *bundle.Bundle {
	t.Helper()
	b, err := tryVariant(t, edits...)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func tryVariant(t testing.TB, edits ...edit) (*bundle.Bundle, error) {
	t.Helper()
	from, to := filepath.Join("..", "policies", "protected-branch"), t.TempDir()
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, "_test.rego") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		for _, e := range edits {
			switch {
			case e.file != filepath.ToSlash(rel):
			case e.from == "":
				text = []byte(e.to)
			case !strings.Contains(string(text), e.from):
				return fmt.Errorf("%s does not hold %q", rel, e.from)
			default:
				text = []byte(strings.Replace(string(text), e.from, e.to, 1))
			}
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(to, rel)), 0o755); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), text, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	return bundle.Read(to)
}

// play folds events given as JSON, one a line.
func play(t testing.TB, b engine.Governance, events ...string) episode.Result {
	t.Helper()
	text := fmt.Sprintf(`{"id":"e","events":[%s]}`, strings.Join(events, ","))
	ep, err := episode.Decode([]byte(text), b.Contract())
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	r, err := ep.Run(context.Background(), b)
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return r
}

// Events in short.

func ci(t int) string      { return fmt.Sprintf(`{"t":%d,"op":"evidence","name":"ci","status":"pass"}`, t) }
func attempt(t int) string { return fmt.Sprintf(`{"t":%d,"op":"attempt"}`, t) }
func review(t int, who, outcome string, more ...string) string {
	return fmt.Sprintf(`{"t":%d,"op":"review","outcome":%q,"reviewer":%q,"qualified":true%s}`, t, outcome, who, strings.Join(more, ""))
}
func set(t int, name, value string) string {
	return fmt.Sprintf(`{"t":%d,"op":"settings",%q:%s}`, t, name, value)
}
func pin(t int, name, value string) string {
	return fmt.Sprintf(`{"t":%d,"op":"change",%q:%q}`, t, name, value)
}
func failure(t int, active bool) string {
	return fmt.Sprintf(`{"t":%d,"op":"failure","active":%v}`, t, active)
}
func result(t int, status string) string {
	return fmt.Sprintf(`{"t":%d,"op":"result","status":%q}`, t, status)
}

// with proposes an action of its own.
func with(t int, action string, more ...string) string {
	return fmt.Sprintf(`{"t":%d,"op":"attempt","action":%s%s}`, t, action, strings.Join(more, ""))
}

// merge is the default action under another trace, call id and confidence.
func merge(trace, id string, confidence float64) string {
	return fmt.Sprintf(`{"trace_id":%q,"call_id":%q,"agent":{"id":"merge-agent"},"tool":"merge","arguments":{"branch":"main","change":"head"},"confidence":%v}`, trace, id, confidence)
}

func names(ts []engine.Transition) string {
	out := make([]string, len(ts))
	for i, t := range ts {
		out[i] = t.String()
	}
	return strings.Join(out, " ")
}

// TestContractKeys loads a variant of the bundle for each value of each key, and
// plays the same events to all values of one key: the answers differ.
func TestContractKeys(t *testing.T) {
	approved := []string{ci(0), attempt(1), review(2, "ada", "approve")}
	after := func(events ...string) []string { return slices.Concat(approved, events) }
	for _, c := range []struct {
		name   string
		events []string
		values map[string]string // transitions, by the values' edits joined
		edits  map[string][]edit
	}{
		{
			name: "approval.uses", events: after(attempt(3), attempt(3)),
			edits:  map[string][]edit{"many": nil, "once": {in("uses: many", "uses: once")}},
			values: map[string]string{"many": "escalate act act", "once": "escalate act escalate"},
		},
		{
			name: "approval.voided_by evidence", events: after(ci(3), attempt(3)),
			edits:  map[string][]edit{"no": nil, "yes": {in("voided_by: [pins]", "voided_by: [evidence]")}},
			values: map[string]string{"no": "escalate act", "yes": "escalate escalate"},
		},
		{
			name: "approval.voided_by facts", events: after(`{"t":3,"op":"attempt","facts":{"a":1}}`, `{"t":3,"op":"attempt","facts":{}}`),
			edits:  map[string][]edit{"no": nil, "yes": {in("voided_by: [pins]", "voided_by: [facts]")}},
			values: map[string]string{"no": "escalate act act", "yes": "escalate escalate act"},
		},
		{
			name: "rejection.voided_by", events: []string{ci(0), attempt(1), review(2, "ada", "reject"), attempt(3), pin(4, "commit", "c2"), pin(4, "commit", "c1"), ci(4), attempt(5)},
			edits:  map[string][]edit{"pins": nil, "none": {in("rejection:\n  voided_by: [pins]", "rejection:\n  voided_by: none")}},
			values: map[string]string{"pins": "escalate stop escalate", "none": "escalate stop stop"},
		},
		{
			name: "expiry of an approval", events: after(set(13, "review_ttl", "50"), attempt(13)),
			edits:  map[string][]edit{"derived": nil, "final": {in("expiry: derived", "expiry: final")}},
			values: map[string]string{"derived": "escalate act", "final": "escalate escalate"},
		},
		{
			name: "expiry of a request", events: []string{ci(0), attempt(1), set(12, "review_ttl", "50"), review(12, "ada", "approve"), attempt(13)},
			edits:  map[string][]edit{"derived": nil, "final": {in("expiry: derived", "expiry: final")}},
			values: map[string]string{"derived": "escalate act", "final": "escalate escalate"},
		},
		{
			name: "queue", events: []string{ci(0), set(0, "queue", "5"), attempt(1)},
			edits:  map[string][]edit{"setting": nil, "counted": {in("queue: setting", "queue: counted")}},
			values: map[string]string{"setting": "defer", "counted": "escalate"},
		},
		{
			name: "calls", events: after(attempt(3), attempt(4), result(5, "not_run"), attempt(6)),
			edits:  map[string][]edit{"decide_anew": nil, "once": {in("calls: decide_anew", "calls: once")}},
			values: map[string]string{"decide_anew": "escalate act act act", "once": "escalate act stop act"},
		},
		{
			name: "calls of a read tool", events: after(attempt(3), attempt(4)),
			edits: map[string][]edit{"write": {in("calls: decide_anew", "calls: once")},
				"read": {in("calls: decide_anew", "calls: once"), {registryFile, "effect: write", "effect: read"}}},
			values: map[string]string{"write": "escalate act stop", "read": "escalate act act"},
		},
		{
			name: "required", events: after(attempt(2), review(2, "ada", "approve"), attempt(3), review(3, "bob", "approve"), attempt(3)),
			edits:  map[string][]edit{"1": nil, "2": {in("required: 1", "required: 2")}, "3": {in("required: 1", "required: 3")}},
			values: map[string]string{"1": "escalate act act act", "2": "escalate escalate escalate act", "3": "escalate escalate escalate escalate"},
		},
		{
			name: "author", events: []string{ci(0), attempt(1), review(2, "author", "approve"), attempt(3)},
			edits:  map[string][]edit{"pusher": nil, "nobody": {in("author: pusher\n", "")}},
			values: map[string]string{"pusher": "escalate escalate", "nobody": "escalate act"},
		},
		{
			name: "retry_budget", events: []string{ci(0), failure(0, true), attempt(1), attempt(1), attempt(1), failure(2, false), failure(2, true), attempt(2)},
			edits:  map[string][]edit{"1": nil, "0": {in("retry_budget: 1", "retry_budget: 0")}, "2": {in("retry_budget: 1", "retry_budget: 2")}},
			values: map[string]string{"1": "retry stop stop stop", "0": "stop stop stop stop", "2": "retry retry stop stop"},
		},
		{
			name: "signed_reviews", events: after(attempt(3), review(4, "ada", "approve", `,"signed":true`), attempt(5)),
			edits:  map[string][]edit{"no": nil, "yes": {in("required: 1", "required: 1\nsigned_reviews: true")}},
			values: map[string]string{"no": "escalate act act", "yes": "escalate escalate act"},
		},
		{
			name: "high_consequence", events: []string{attempt(1)},
			edits: map[string][]edit{
				"not marked": {{nextFile, "\"verify\"} if {\n\tinput.flags.cause == \"evidence\"\n}", "\"escalate\"} if {\n\tinput.flags.cause == \"evidence\"\n}"}},
				"marked": {in("required: 1", "required: 1\nhigh_consequence: {reversibility: [reversible]}"),
					{nextFile, "\"verify\"} if {\n\tinput.flags.cause == \"evidence\"\n}", "\"escalate\"} if {\n\tinput.flags.cause == \"evidence\"\n}"}},
			},
			values: map[string]string{"not marked": "stop", "marked": "escalate"},
		},
		{
			name: "components and until", events: []string{ci(0), set(0, "review_required", "false"), attempt(5), attempt(6)},
			edits: map[string][]edit{
				"no list": nil,
				"listed": {in("required: 1", "required: 1\ncomponents: {m1: {tools: [merge], until: 5}}"),
					in("agent: {id: merge-agent}", "agent: {id: merge-agent, component: m1}")},
				"not listed": {in("required: 1", "required: 1\ncomponents: {m2: {tools: [merge]}}"),
					in("agent: {id: merge-agent}", "agent: {id: merge-agent, component: m1}")},
			},
			values: map[string]string{"no list": "act act", "listed": "act switch", "not listed": "switch switch"},
		},
		{
			name: "roles", events: after(attempt(3)),
			edits:  map[string][]edit{"named": nil, "missing": {in("roles: [maintainer]\n", "")}},
			values: map[string]string{"named": "escalate act", "missing": "defer defer"},
		},
		{
			name: "capacity", events: after(attempt(3)),
			edits:  map[string][]edit{"named": nil, "missing": {in("    capacity: 1\n", "")}},
			values: map[string]string{"named": "escalate act", "missing": "defer defer"},
		},
		{
			name: "deadline", events: []string{ci(0), attempt(21)},
			edits:  map[string][]edit{"named": nil, "missing": {in("    deadline: 20\n", "")}, "null": {in("deadline: 20", "deadline: null")}},
			values: map[string]string{"named": "stop", "missing": "escalate", "null": "escalate"},
		},
		{
			name: "review_ttl", events: []string{ci(0), set(0, "deadline", "999"), attempt(1), review(500, "ada", "approve"), attempt(900)},
			edits:  map[string][]edit{"named": nil, "missing": {in("    review_ttl: 10\n", "")}},
			values: map[string]string{"named": "escalate escalate", "missing": "escalate act"},
		},
		{
			name: "evidence ttl", events: []string{ci(0), attempt(5), attempt(6)},
			edits:  map[string][]edit{"none": nil, "5": {in("ci: {}", "ci: {ttl: 5}")}},
			values: map[string]string{"none": "escalate escalate", "5": "escalate verify"},
		},
		{
			name: "counters", events: []string{ci(0), set(0, "review_required", "false"), set(0, "deadline", "99"), attempt(1), attempt(5), attempt(6), attempt(6), attempt(12)},
			edits: map[string][]edit{
				"no floor": nil,
				"two in five seconds": {in("required: 1", "required: 1\ncounters: {merges: {tools: [merge], window: 5}}"),
					{floorsFile, "# METADATA\n# title: The branch requires", "# METADATA\n# title: Too many at once\n# custom:\n#   id: too-many\nfloors contains {\"name\": \"too-many\", \"tier\": \"propose\"} if {\n\tinput.state.counters.merges >= 2\n}\n\n# METADATA\n# title: The branch requires"}},
			},
			values: map[string]string{"no floor": "act act act act act", "two in five seconds": "act act escalate escalate act"},
		},
	} {
		for value, edits := range c.edits {
			t.Run(c.name+" "+value, func(t *testing.T) {
				r := play(t, variant(t, edits...), c.events...)
				if got := names(r.Transitions); got != c.values[value] {
					t.Errorf("got %s, want %s\nevents %v", got, c.values[value], c.events)
				}
			})
		}
	}
}

// What is split over spellings of one entity adds up.
func TestACounterKnowsAnEntityInWhateverFormItIsWritten(t *testing.T) {
	merge := func(tick int, call, branch string) string {
		return fmt.Sprintf(`{"t":%d,"op":"attempt","action":{"trace_id":"branch","call_id":%q,"agent":{"id":"merge-agent"},"tool":"merge","arguments":{"branch":%q,"change":%q},"confidence":1}}`, tick, call, branch, call)
	}
	b := variant(t, in("required: 1", "required: 1\ncounters: {merges: {tools: [merge], by: branch}}"),
		edit{floorsFile, "# METADATA\n# title: The branch requires", "# METADATA\n# title: Too many\n# custom:\n#   id: too-many\nfloors contains {\"name\": \"too-many\", \"tier\": \"refuse\"} if {\n\tinput.action.tool == \"merge\"\n\tinput.state.counters.merges >= 1\n}\n\n# METADATA\n# title: The branch requires"})
	for _, c := range []struct{ branch, want string }{
		{"release", "act act"}, {"main", "act stop"}, {"MAIN", "act stop"}, {" main ", "act stop"}, {"ma\u200bin", "act stop"}, {"\uff4dain", "act stop"},
	} {
		r := play(t, b, ci(0), set(0, "review_required", "false"), merge(1, "c1", "main"), merge(2, "c2", c.branch))
		if got := names(r.Transitions); got != c.want {
			t.Errorf("main and then %q: got %s, want %s", c.branch, got, c.want)
		}
	}
}
