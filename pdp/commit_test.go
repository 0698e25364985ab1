package pdp_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/journal"
	"github.com/conjunct-project/conjunct/pdp"
)

// disk is a journal whose syncs a test holds up: each says on started how many
// entries it has, and waits for what becomes of it.
type disk struct {
	started chan int
	outcome chan error
}

func slowDisk(p *pdp.PDP) disk {
	d := disk{make(chan int), make(chan error)}
	p.Intercept(func(next pdp.Append) pdp.Append {
		return func(drafts []journal.Draft) ([]journal.Entry, error) {
			d.started <- len(drafts)
			if err := <-d.outcome; err != nil {
				return nil, err
			}
			return next(drafts)
		}
	})
	return d
}

type answered struct {
	engine.Decision
	err error
}

// ask decides in the background.
func ask(p *pdp.PDP, a engine.Action) chan answered {
	out := make(chan answered, 1)
	go func() {
		d, err := p.Decide(context.Background(), a)
		out <- answered{d, err}
	}()
	return out
}

// silent fails when an answer comes although nothing is on disk.
func silent(t *testing.T, what string, answers ...chan answered) {
	t.Helper()
	time.Sleep(20 * time.Millisecond)
	for _, a := range answers {
		select {
		case got := <-a:
			t.Fatalf("%s: answered %v %v before it was on disk", what, got.Outcome, got.err)
		default:
		}
	}
}

// TestNothingIsAnsweredOrVisibleBeforeItIsOnDisk holds up one batch and asks for
// the same call again, which only the first may release. In a crowd, the second is
// decided on top of the first while that is on its way.
func TestNothingIsAnsweredOrVisibleBeforeItIsOnDisk(t *testing.T) {
	for _, crowd := range []int{0, 60} {
		for _, broken := range []int{0, 1, 2} { // which sync fails
			t.Run(fmt.Sprintf("crowd of %d, sync %d fails", crowd, broken), func(t *testing.T) { beforeItIsOnDisk(t, crowd, broken) })
		}
	}
}

// until waits for something to come true.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for range 2000 {
		if holds() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("%s: it never did", what)
}

func beforeItIsOnDisk(t *testing.T, crowd, broken int) {
	p := open(t, fresh(t), pdp.Options{})
	d := slowDisk(p)
	fault := errors.New("the disk is gone")
	outcome := func(n int) error {
		if n == broken {
			return fault
		}
		return nil
	}
	first := call(t, "t", "c1", "draft_response", `{"ticket":"INC-1","to":"x","body":"y"}`)
	second := call(t, "t", "c2", "draft_response", `{"ticket":"INC-1","to":"x","body":"y"}`)
	if crowd > 0 {
		ask(p, call(t, "u", "c0", "read_ticket", `{"ticket":"INC-1"}`))
		<-d.started
		for i := range crowd {
			ask(p, call(t, "u", fmt.Sprint("c", i+1), "read_ticket", fmt.Sprintf(`{"ticket":"INC-%d"}`, i)))
		}
	}
	one := ask(p, first)
	if crowd > 0 {
		until(t, "the crowd gathers", func() bool { return p.Queued() == crowd+1 })
		d.outcome <- nil
	}
	if n := <-d.started; n != crowd+1 {
		t.Errorf("%d entries are on their way, want %d", n, crowd+1)
	}
	two := ask(p, second)
	if crowd > 0 {
		until(t, "the second call is taken in", func() bool { return p.Queued() == 0 })
	}
	silent(t, "first sync", one, two)
	if _, known := p.Snapshot().CallHash("t", "c1"); known {
		t.Error("the call is known before it is on disk")
	}
	d.outcome <- outcome(1)
	if broken == 1 {
		for i, a := range []chan answered{one, two} {
			if got := <-a; got.Permit || !errors.Is(got.err, fault) {
				t.Errorf("call %d after a sync that failed: permit %v, %v", i+1, got.Permit, got.err)
			}
		}
	} else {
		// The next batch goes on its way with what was decided on top of the first.
		<-d.started
		if got := <-one; !got.Permit || got.err != nil {
			t.Errorf("first: permit %v, %v", got.Permit, got.err)
		}
		silent(t, "second sync", two)
		if _, known := p.Snapshot().CallHash("t", "c2"); known {
			t.Error("the second call is known before it is on disk")
		}
		d.outcome <- outcome(2)
		got := <-two
		if got.Permit || broken == 0 && (got.err != nil || got.Reasons[len(got.Reasons)-1].Code != "already_released") || broken == 2 && !errors.Is(got.err, fault) {
			t.Errorf("second, with sync %d broken: permit %v, %v, reasons %v", broken, got.Permit, got.err, got.Reasons)
		}
	}
	if broken > 0 {
		if got := <-ask(p, call(t, "t", "c3", "read_ticket", `{"ticket":"INC-1"}`)); got.Permit || !errors.Is(got.err, fault) {
			t.Errorf("after a sync that failed: permit %v, %v", got.Permit, got.err)
		}
	}
	for id, want := range map[string]bool{"c1": broken != 1, "c2": broken == 0} {
		if _, known := p.Snapshot().CallHash("t", id); known != want {
			t.Errorf("with sync %d broken: %s is known: %v, want %v", broken, id, known, want)
		}
	}
}
