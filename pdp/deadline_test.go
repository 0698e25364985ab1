package pdp_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/pdp"
)

// slow is itsm with a Rego gate on draft_response that takes long on a long
// body. It loops in OPA, which stops when it is told to; or it matches one
// pattern, which nothing stops.
func slowGate(onUnknown string, stoppable bool) map[string]func(string) string {
	test := `n := count(input.action.arguments.body); count([1 | some x in data.conjunct.scope.numbers; some y in data.conjunct.scope.numbers; some z in data.conjunct.scope.numbers; x + y + z < n]) < 0`
	if !stoppable {
		test = `regex.match("(x?y?){250}q", input.action.arguments.body)`
	}
	numbers := "\nnumbers: [" + strings.Repeat("9999999, ", 600) + "1]\n"
	return map[string]func(string) string{
		gatesRego: text(`package conjunct.gates

slow := {"verdict": "unknown", "reasons": ["no_body"]} if {
	object.get(input.action.arguments, "body", null) == null
} else := {"verdict": "fail", "reasons": ["slow_fails"]} if {
	` + test + `
} else := {"verdict": "pass", "reasons": []}
`),
		scopeData:    plus(numbers),
		contractData: plus("  slow: {on_fail: block, on_unknown: " + onUnknown + ", tools: [draft_response]}\n"),
	}
}

func draft(t testing.TB, trace, id string, n int) engine.Action {
	return call(t, trace, id, "draft_response", `{"ticket":"INC-1","to":"a@b.example","body":"`+strings.Repeat("x", n)+`"}`)
}

// TestTheAnswerComesAtTheDeadline gives the PDP a gate that does not finish.
func TestTheAnswerComesAtTheDeadline(t *testing.T) {
	for _, c := range []struct {
		name      string
		onUnknown string
		stoppable bool
		want      engine.Outcome
	}{
		{"a loop, block", "block", true, engine.Block},
		{"a loop, review", "review", true, engine.Review},
		{"a pattern that does not stop, block", "block", false, engine.Block},
		{"a pattern that does not stop, review", "review", false, engine.Review},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := stateOf(t, with(t, slowGate(c.onUnknown, c.stoppable)))
			p := open(t, dir, pdp.Options{Timeout: 40 * time.Millisecond})
			start := time.Now()
			d := decided(t, p, draft(t, "t", "c1", 40000))
			took := time.Since(start)
			if took > 300*time.Millisecond {
				t.Errorf("the answer took %v, with a deadline of 40 ms", took)
			}
			g := d.Gate("slow")
			if d.Permit || d.Outcome != c.want || g.Verdict != engine.Unknown || len(g.Reasons) == 0 || g.Reasons[0].Code != "timeout" {
				t.Errorf("outcome %v, permit %v, gate %+v", d.Outcome, d.Permit, g)
			}
			if len(d.Imposed) == 0 || d.Imposed[0] != (engine.Imposed{Gate: "slow", Code: "timeout"}) {
				t.Errorf("imposed %+v, want the slow gate's timeout", d.Imposed)
			}
			r := replayed(t, dir)
			if !r.OK || r.Imposed != 1 || r.Redecided != 1 {
				t.Errorf("replay: %+v", r)
			}
			if err := reopens(t, dir, p); err != nil {
				t.Error(shorten(err.Error()))
			}
		})
	}
}

// TestAVerdictThatTimeImposedReplays runs decisions out of time at any point of
// their way: what the journal says must follow from what it says was imposed.
func TestAVerdictThatTimeImposedReplays(t *testing.T) {
	for _, timeout := range []time.Duration{1, 20 * time.Microsecond, 100 * time.Microsecond, 300 * time.Microsecond, 2 * time.Millisecond} {
		t.Run(timeout.String(), func(t *testing.T) {
			dir := fresh(t)
			p := open(t, dir, pdp.Options{Timeout: timeout})
			imposed := 0
			for i := range 40 {
				d := decided(t, p, call(t, "t", "c"+string(rune('A'+i)), "email_customer", `{"to":"a@customer.example, b@customer.example","body":"`+strings.Repeat("y", i)+`"}`))
				if d.Permit {
					t.Fatal("a call to a customer ran without a review")
				}
				imposed += min(1, len(d.Imposed))
			}
			r := replayed(t, dir)
			if !r.OK || r.Imposed != imposed {
				t.Fatalf("%d imposed; replay: %+v", imposed, r)
			}
		})
	}
}

// TestAnEventIsNotRefusedForLackOfTime applies events with next to no time for a
// decision. Authority that ran out of time is no refusal that replay could
// derive.
func TestAnEventIsNotRefusedForLackOfTime(t *testing.T) {
	dir := fresh(t)
	p := open(t, dir, pdp.Options{Timeout: 1})
	decided(t, p, call(t, "t", "c1", "read_ticket", `{"ticket":"INC-1"}`))
	rec, err := p.Apply(context.Background(), engine.Event{Op: engine.OpSettings, By: engine.Identity{Name: "op", Role: "operator"}, Settings: map[string]any{"capacity": 1.0}})
	t.Logf("%q, %+v, %v", rec.Invalid, rec.Reasons, err)
	if err := reopens(t, dir, p); err != nil {
		t.Fatal(shorten(err.Error()))
	}
}

// TestASlowCallDoesNotHoldTheOthers decides calls whose gate cannot be stopped,
// while requests for reviews move what they have read: what was speculated is
// out of date, and is decided again where everybody waits.
func TestASlowCallDoesNotHoldTheOthers(t *testing.T) {
	dir := stateOf(t, with(t, slowGate("review", false)))
	p := open(t, dir, pdp.Options{Timeout: 60 * time.Millisecond})
	var wg sync.WaitGroup
	var mu sync.Mutex
	var longest time.Duration
	stop := make(chan struct{})
	timed := func(a engine.Action) {
		start := time.Now()
		d := decided(t, p, a)
		mu.Lock()
		defer mu.Unlock()
		longest = max(longest, time.Since(start))
		if a.Tool == "draft_response" && d.Permit {
			t.Error("a call whose gate did not finish is permitted")
		}
	}
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
				timed(call(t, "u", fmt.Sprint("q", i), "reset_credentials", fmt.Sprintf(`{"account":"acme\\u%d"}`, i)))
			}
		}
	})
	var slow sync.WaitGroup
	for w := range 4 {
		slow.Go(func() { timed(draft(t, "t", fmt.Sprint("s", w), 60000+w)) })
	}
	slow.Wait()
	close(stop)
	wg.Wait()
	if longest > 500*time.Millisecond {
		t.Errorf("a caller waited %v, with a deadline of 60 ms", longest)
	}
	if r := replayed(t, dir); !r.OK {
		t.Errorf("replay: %+v", r)
	}
}

// TestACancelledCaller asks with a context that is done.
func TestACancelledCaller(t *testing.T) {
	dir := fresh(t)
	p := open(t, dir, pdp.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for range 50 {
		d, err := p.Decide(ctx, call(t, "t", "c1", "reset_credentials", `{"account":"acme\\jdoe"}`))
		if err != nil || d.Permit {
			t.Fatalf("permit %v, %v", d.Permit, err)
		}
		for _, i := range d.Imposed {
			if i.Code != "cancelled" {
				t.Fatalf("imposed %+v: nothing ran out of time, the caller went away", i)
			}
		}
	}
	if r := replayed(t, dir); !r.OK {
		t.Fatalf("replay: %+v", r)
	}
}

// TestAnActivationIsNotRefusedForLackOfTime gives up before authority was asked:
// nothing is journalled, the old bundle stays, and the state opens again.
func TestAnActivationIsNotRefusedForLackOfTime(t *testing.T) {
	dir := fresh(t)
	p := open(t, dir, pdp.Options{})
	before, was := len(entries(t, dir)), p.Bundle().Bundle()
	stricter := with(t, map[string]func(string) string{"conjunct/registry/data.yaml": swap("read_ticket:\n    {reversibility: reversible, blast_radius: task", "read_ticket:\n    {reversibility: irreversible, blast_radius: external")})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := p.Activate(ctx, stricter, engine.Identity{Name: "op", Role: "operator"}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	if got := len(entries(t, dir)); got != before {
		t.Errorf("%d entries, want %d", got, before)
	}
	if got := p.Bundle().Bundle(); got != was {
		t.Errorf("%v is in force, want %v", got, was)
	}
	if err := reopens(t, dir, p); err != nil {
		t.Fatal(shorten(err.Error()))
	}
}
