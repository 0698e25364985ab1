package episode_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"sync"
	"testing"

	"github.com/conjunct-project/conjunct/bundle"
	"github.com/conjunct-project/conjunct/episode"
)

// episodes is how many random episodes are compared.
var episodes = flag.Int("episodes", 10_000, "random episodes to compare with the second implementation")

func load(t testing.TB, name string) *bundle.Bundle {
	t.Helper()
	b, err := bundle.Read(filepath.Join("..", "policies", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// branch is a second, deliberately simple implementation of the published text
// of the protected-branch policy. It shares nothing with the engine.
type branch struct {
	pins      map[string]string
	ci        string
	scope     bool
	eligible  bool
	required  bool
	queue     float64
	capacity  float64
	deadline  float64
	ttl       float64
	failed    bool
	budget    int
	requested float64 // -1: none
	approved  float64 // -1: none
	rejected  bool

	labels      []string
	transitions []string
	log         struct {
		request, release, retry, invalid []float64
		complete                         [][]any
	}
}

func newBranch() *branch {
	return &branch{pins: map[string]string{"commit": "c1", "base": "b1", "policy": "p1", "component": "m1", "input": "i1", "pusher": "author"},
		scope: true, eligible: true, required: true, capacity: 1, deadline: 20, ttl: 10, budget: 1, requested: -1, approved: -1}
}

func (b *branch) event(e map[string]any) {
	t := e["t"].(float64)
	switch e["op"] {
	case "settings":
		b.settings(e)
	case "evidence":
		b.ci = e["status"].(string)
	case "failure":
		b.failed = e["active"].(bool)
	case "change":
		for name := range b.pins {
			if v, ok := e[name]; ok && v != b.pins[name] {
				b.pins[name] = v.(string)
				b.ci, b.requested, b.approved, b.rejected = "", -1, -1, false
			}
		}
	case "review":
		b.review(t, e)
	case "attempt":
		transition := b.attempt(t)
		label := map[string]string{"act": "allow", "escalate": "review", "defer": "review"}[transition]
		if label == "" {
			label = "block"
		}
		b.labels = append(b.labels, label)
		b.transitions = append(b.transitions, transition)
	}
}

func (b *branch) settings(e map[string]any) {
	for name, into := range map[string]*bool{"scope": &b.scope, "eligible": &b.eligible, "review_required": &b.required} {
		if v, ok := e[name]; ok {
			*into = v.(bool)
		}
	}
	for name, into := range map[string]*float64{"queue": &b.queue, "capacity": &b.capacity, "deadline": &b.deadline, "review_ttl": &b.ttl} {
		if v, ok := e[name]; ok {
			*into = v.(float64)
		}
	}
}

func (b *branch) review(t float64, e map[string]any) {
	if e["outcome"] == "revoke" {
		b.requested, b.approved, b.rejected = -1, -1, false
		return
	}
	current := b.requested >= 0 && t-b.requested <= b.ttl
	if !current || e["qualified"] != true || e["reviewer"] == b.pins["pusher"] || t > b.deadline {
		b.log.invalid = append(b.log.invalid, t)
		return
	}
	b.log.complete = append(b.log.complete, []any{t, e["outcome"], t - b.requested})
	b.requested = -1
	switch e["outcome"] {
	case "approve":
		b.approved = t
	case "reject":
		b.rejected = true
	}
}

func (b *branch) attempt(t float64) string {
	switch {
	case !b.scope:
		return "stop"
	case !b.eligible:
		return "switch"
	case t > b.deadline:
		return "stop"
	case b.ci != "pass":
		return "verify"
	case b.failed && b.budget > 0:
		b.budget--
		b.log.retry = append(b.log.retry, t)
		return "retry"
	case b.failed, b.rejected:
		return "stop"
	case !b.required, b.approved >= 0 && t-b.approved <= b.ttl:
		b.log.release = append(b.log.release, t)
		return "act"
	case b.queue >= b.capacity:
		return "defer"
	}
	if b.requested < 0 || t-b.requested > b.ttl {
		b.requested = t
		b.log.request = append(b.log.request, t)
	}
	return "escalate"
}

// result is what the simple implementation says, in the form of the program's
// output.
func (b *branch) result(id string) map[string]any {
	text := fmt.Sprintf(`{"id":%q,"labels":%s,"transitions":%s,"log":{"review_request":%s,"review_complete":%s,"invalid_review":%s,"release":%s,"retry":%s}}`,
		id, list(b.labels), list(b.transitions), list(b.log.request), list(b.log.complete), list(b.log.invalid), list(b.log.release), list(b.log.retry))
	var out map[string]any
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		panic(err)
	}
	return out
}

func list[T any](v []T) string {
	if v == nil {
		return "[]"
	}
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// generator makes episodes that crowd around every boundary of the policy.
type generator struct{ *rand.Rand }

func pick[T any](g generator, from ...T) T { return from[g.IntN(len(from))] }

func (g generator) episode() []any {
	events := []any{}
	t := float64(0)
	if g.IntN(3) > 0 {
		events = append(events, map[string]any{"t": t, "op": "evidence", "name": "ci", "status": "pass"})
	}
	for range 3 + g.IntN(22) {
		// Mostly the same tick or the next, sometimes to an edge of ttl or deadline.
		t += pick(g, 0.0, 0, 0, 1, 1, 2, 5, 9, 10, 11)
		events = append(events, g.event(t))
	}
	return events
}

func (g generator) event(t float64) map[string]any {
	e := map[string]any{"t": t}
	switch n := g.IntN(100); {
	case n < 38:
		e["op"] = "attempt"
	case n < 60:
		e["op"], e["outcome"] = "review", pick(g, "approve", "approve", "approve", "reject", "reject", "return", "revoke")
		e["reviewer"], e["qualified"] = pick(g, "maintainer", "maintainer", "lead", "author", "bob"), g.IntN(5) > 0
	case n < 72:
		e["op"], e["name"], e["status"] = "evidence", "ci", pick(g, "pass", "pass", "pass", "pass", "fail", "unknown")
	case n < 80:
		e["op"] = "change"
		name := pick(g, "commit", "base", "policy", "component", "input", "pusher")
		e[name] = pick(g, map[string][]string{"commit": {"c1", "c2"}, "base": {"b1", "b2"}, "policy": {"p1", "p2"}, "component": {"m1", "m2"},
			"input": {"i1", "i2"}, "pusher": {"author", "bob", "maintainer"}}[name]...)
	case n < 87:
		e["op"], e["active"] = "failure", g.IntN(2) == 0
	default:
		e["op"] = "settings"
		for range 1 + g.IntN(2) {
			g.setting(e)
		}
	}
	return e
}

func (g generator) setting(e map[string]any) {
	switch pick(g, "scope", "eligible", "review_required", "review_required", "queue", "capacity", "deadline", "review_ttl", "review_ttl") {
	case "scope":
		e["scope"] = g.IntN(4) > 0
	case "eligible":
		e["eligible"] = g.IntN(4) > 0
	case "review_required":
		e["review_required"] = g.IntN(2) == 0
	case "queue":
		e["queue"] = pick(g, 0.0, 0, 1, 2)
	case "capacity":
		e["capacity"] = pick(g, 0.0, 1, 1, 2)
	case "deadline":
		e["deadline"] = pick(g, 5.0, 10, 20, 21, 100, 100)
	default:
		e["review_ttl"] = pick(g, 0.0, 1, 5, 9, 10, 11, 50)
	}
}

// TestProtectedBranchAgainstASecondImplementation folds random episodes with
// the engine and with the simple implementation above.
func TestProtectedBranchAgainstASecondImplementation(t *testing.T) {
	total := *episodes
	b := load(t, "protected-branch")
	var wg sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	seen := make([]map[string]int, workers)
	for w := range workers {
		seen[w] = map[string]int{}
		wg.Go(func() {
			g := generator{rand.New(rand.NewPCG(20261130, uint64(w)))}
			for i := range total / workers {
				if !compare(t, b, g.episode(), fmt.Sprintf("w%d-%d", w, i), seen[w]) {
					return
				}
			}
		})
	}
	wg.Wait()
	reached(t, seen)
}

// compare folds one episode twice and counts what it reached.
func compare(t *testing.T, b *bundle.Bundle, events []any, id string, seen map[string]int) bool {
	text, err := json.Marshal(map[string]any{"id": id, "events": events})
	if err != nil {
		t.Error(err)
		return false
	}
	ep, err := episode.Decode(text, b.Contract())
	if err != nil {
		t.Errorf("%v in %s", err, text)
		return false
	}
	r, err := ep.Run(context.Background(), b)
	if err != nil {
		t.Errorf("%v in %s", err, text)
		return false
	}
	simple := newBranch()
	for _, e := range events {
		simple.event(e.(map[string]any))
	}
	out, err := json.Marshal(r)
	if err != nil {
		t.Error(err)
		return false
	}
	var got map[string]any
	if err := json.Unmarshal(out, &got); err != nil {
		t.Error(err)
		return false
	}
	if want := simple.result(id); !reflect.DeepEqual(got, want) {
		t.Errorf("episode %s\n got %s\nwant %v", text, out, want)
		return false
	}
	for _, tr := range simple.transitions {
		seen[tr]++
	}
	seen["complete"] += len(simple.log.complete)
	seen["invalid"] += len(simple.log.invalid)
	return true
}

// reached fails where the random episodes never came to something.
func reached(t *testing.T, seen []map[string]int) {
	total := map[string]int{}
	for _, s := range seen {
		for k, n := range s {
			total[k] += n
		}
	}
	for _, k := range []string{"act", "stop", "switch", "verify", "retry", "defer", "escalate", "complete", "invalid"} {
		if total[k] < 100 {
			t.Errorf("the episodes reached %s only %d times", k, total[k])
		}
	}
	t.Logf("reached: %v", total)
}

// TestPublishedEpisodes holds run to the eight published episodes.
func TestPublishedEpisodes(t *testing.T) {
	file := filepath.Join("..", "..", "shared", "rac", "dev.jsonl")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Skipf("%s is not here", file)
	}
	b := load(t, "protected-branch")
	lines := bufio.NewScanner(bytes.NewReader(text))
	n := 0
	for lines.Scan() {
		n++
		var want map[string]any
		if err := json.Unmarshal(lines.Bytes(), &want); err != nil {
			t.Fatal(err)
		}
		delete(want, "events")
		ep, err := episode.Decode(lines.Bytes(), b.Contract())
		if err != nil {
			t.Fatal(err)
		}
		r, err := ep.Run(context.Background(), b)
		if err != nil {
			t.Fatal(err)
		}
		out, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v, want %v", ep.ID, got, want)
		}
	}
	if n == 0 {
		t.Fatal("no episode")
	}
}
