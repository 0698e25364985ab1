package pdp_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/pdp"
	"github.com/conjunct-project/conjunct/reexam"
)

func TestASubscriberIsToldOfWhatRanAndSomebodyHasToKnow(t *testing.T) {
	dir := fresh(t)
	p := open(t, dir, pdp.Options{})
	var told []string
	hold := make(chan struct{})
	stop := p.Subscribe(func(d engine.Decision) {
		<-hold // a subscriber that is slow keeps no decision waiting
		if !d.Permit || d.Tier != engine.ExecuteNotify || !d.Journalled || d.Seq == 0 || d.Hash == "" {
			t.Errorf("told of %+v", d)
		}
		told = append(told, d.CallID)
	})
	var want []string
	for i := range 5 {
		id := fmt.Sprintf("n%d", i)
		if d := decided(t, p, call(t, "t", id, "update_ticket_status", fmt.Sprintf(`{"ticket":"INC-%d","status":"closed"}`, i))); d.Permit && d.Notify {
			want = append(want, id)
		}
		decided(t, p, call(t, "t", "r"+id, "read_ticket", fmt.Sprintf(`{"ticket":"INC-%d"}`, i)))
	}
	if len(want) != 5 {
		t.Fatalf("%v run at execute_notify", want)
	}
	close(hold)
	stop()
	if !slices.Equal(told, want) {
		t.Errorf("told of %v, want %v", told, want)
	}
	// Who does not subscribe any more is told of nothing, and the journal has it.
	decided(t, p, call(t, "t", "n9", "update_ticket_status", `{"ticket":"INC-9","status":"closed"}`))
	time.Sleep(10 * time.Millisecond)
	if len(told) != 5 {
		t.Errorf("told of %v after stop", told)
	}
	list, err := reexam.Notifications(context.Background(), dir)
	if err != nil || len(list) != 6 || list[0].CallID != "n0" || list[5].CallID != "n9" || list[5].Agent.ID != "itsm-agent" || list[5].Tool != "update_ticket_status" {
		t.Errorf("the journal's notifications: %+v, %v", list, err)
	}
}
