package pdp_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/conjunct-project/conjunct/pdp"
	"github.com/conjunct-project/conjunct/reexam"
)

// TestAPipeInPlaceOfAStoredStateKeepsNothingWaiting puts a pipe where a later state
// would be: nobody ever writes to it.
func TestAPipeInPlaceOfAStoredStateKeepsNothingWaiting(t *testing.T) {
	dir := withReviewers(t)
	p := open(t, dir, pdp.Options{})
	live(t, p, 7, 10)
	c := checkpoint(t, p, nil)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(reexam.StateFile(dir, c.Seq+5), 0o600); err != nil {
		t.Skip(err)
	}
	opened := make(chan error, 1)
	go func() {
		p, err := pdp.Open(dir, pdp.Options{})
		if err == nil {
			err = p.Close()
		}
		opened <- err
	}()
	select {
	case err := <-opened:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the state did not open")
	}
}
