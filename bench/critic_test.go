package bench_test

import (
	"context"
	"testing"

	"github.com/conjunct-project/conjunct/bench"
	"github.com/conjunct-project/conjunct/engine"
)

// changed is a policy with another contract.
type changed struct {
	engine.Policy
	contract engine.Contract
}

func (c changed) Contract() *engine.Contract { return &c.contract }

func critic(t *testing.T, p engine.Policy, seed uint64) bench.Critic {
	t.Helper()
	r, err := bench.RunCritic(context.Background(), p, seed, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestCritic(t *testing.T) {
	r := critic(t, shipped(t, bench.CriticBundle), bench.CriticSeed)
	if r.Of != 4100 || !r.Holds() {
		t.Errorf("%d proposals, holds %v: %+v", r.Of, r.Holds(), r.Arms)
	}
	of := func(arm string) (unsafe, load int) {
		return r.Arms[arm].UnsafeExecutions.Count, r.Arms[arm].HumanLoad.Count
	}
	unsafe, load := of("conjunction")
	for _, arm := range []string{"critic", "disjunction", "average", "structure"} {
		u, l := of(arm)
		if u <= unsafe || l >= load {
			t.Errorf("%s: %d unsafe and %d for people; the conjunction %d and %d", arm, u, l, unsafe, load)
		}
	}
	// A critic that follows the form does not see the structure: of the harm that
	// only structure shows, it runs most, and the conjunction none.
	for kind, share := range r.Arms["critic"].UnsafeByKind {
		if kind != "slip" && 2*share.Count < share.Of {
			t.Errorf("critic ran %s of %s", share, kind)
		}
		if got := r.Arms["conjunction"].UnsafeByKind[kind]; kind != "slip" && got.Count != 0 {
			t.Errorf("conjunction ran %s of %s", got, kind)
		}
	}
}

// TestCriticNeedsEachGate: without the critic's threshold, or where everything is
// approved, the engine's arm is worse and the study says that it does not hold.
func TestCriticNeedsEachGate(t *testing.T) {
	b := shipped(t, bench.CriticBundle)
	whole := critic(t, b, bench.CriticSeed).Arms["conjunction"].UnsafeExecutions.Count
	for name, change := range map[string]func(*engine.Contract){
		"any score passes":     func(c *engine.Contract) { c.Critic.Threshold = 0 },
		"no tool is gated":     func(c *engine.Contract) { c.Critic.Tools = nil },
		"some tools are gated": func(c *engine.Contract) { c.Critic.Tools = c.Critic.Tools[:3] },
	} {
		t.Run(name, func(t *testing.T) {
			p := changed{b, *b.Contract()}
			rule := *p.contract.Critic
			p.contract.Critic = &rule
			change(&p.contract)
			r := critic(t, p, bench.CriticSeed)
			if got := r.Arms["conjunction"].UnsafeExecutions.Count; got <= whole || r.Holds() {
				t.Errorf("%d unsafe executions, %d with every gate; holds %v", got, whole, r.Holds())
			}
		})
	}
}

func TestCriticHoldsForAnotherSeed(t *testing.T) {
	if r := critic(t, shipped(t, bench.CriticBundle), 7); !r.Holds() {
		t.Errorf("%+v", r.Arms)
	}
}
