package pdp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/conjunct-project/conjunct/action"
	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/pdp"
	"github.com/conjunct-project/conjunct/reexam"
)

// onRecord is a call on one record of a trace.
func onRecord(t testing.TB, trace, id, tool, arguments, record string) engine.Action {
	t.Helper()
	a, err := action.Decode([]byte(fmt.Sprintf(`{"trace_id":%q,"call_id":%q,"agent":{"id":"itsm-agent"},"tool":%q,"arguments":%s,"context":{"source_record":%q},"confidence":0.95}`, trace, id, tool, arguments, record)))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func reject(t testing.TB, p *pdp.PDP, trace, id string) engine.Record {
	t.Helper()
	rec, err := p.Review(context.Background(), trace, id, "otto", engine.ReviewEvent{Outcome: engine.Reject, Code: "wrong_target"})
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// TestARedactedCallIsPulledBackUndecided re-opens a call whose arguments the
// journal does not hold: replay has to come to the same without them.
func TestARedactedCallIsPulledBackUndecided(t *testing.T) {
	b := with(t, map[string]func(string) string{
		authorityData: text(reviewers()),
		contractData:  plus("redact:\n  update_ticket_status: [status]\n  reset_credentials: [account]\n"),
	})
	dir := stateOf(t, b)
	p := open(t, dir, pdp.Options{RedactionKey: []byte("sixteen bytes at least")})
	decided(t, p, onRecord(t, "t", "c1", "update_ticket_status", `{"ticket":"INC-1","status":"closed"}`, "INC-1"))
	decided(t, p, onRecord(t, "t", "c2", "update_ticket_status", `{"ticket":"INC-9","status":"secret-word"}`, "INC-9"))
	decided(t, p, onRecord(t, "t", "c3", "reset_credentials", `{"account":"secret-word"}`, "INC-1"))
	reject(t, p, "t", "c3")
	if got := looks(t, dir); !slices.Equal(got, []string{"c1 pulled_back"}) {
		t.Errorf("looked again at %v", got)
	}
	last := entries(t, dir)
	if body := string(last[len(last)-1].Body); !strings.Contains(body, `"not_redecidable"`) {
		t.Errorf("the entry says %s", body)
	}
	for _, e := range last {
		if strings.Contains(string(e.Body), "secret-word") || strings.Contains(string(e.Body), `"closed"`) {
			t.Errorf("entry %d holds what is redacted: %s", e.Seq, e.Body)
		}
	}
	if r := replayed(t, dir); !r.OK || r.Redacted != 3 {
		t.Errorf("replay: %+v", r)
	}
	again := open(t, copied(t, dir), pdp.Options{RedactionKey: []byte("sixteen bytes at least")})
	if got, want := dump(again.Snapshot()), dump(p.Snapshot()); got != want {
		t.Errorf("opened again:\n%s\nwant\n%s", got, want)
	}
	if d := decided(t, again, onRecord(t, "t", "c4", "reset_credentials", `{"account":"secret-word"}`, "INC-1")); !slices.ContainsFunc(d.Reasons, func(r engine.Reason) bool { return r.Code == "rejected" }) {
		t.Errorf("the rejected call comes back: %s", d.Reason)
	}
}

// TestAWindowReachesOtherTraces re-opens calls of other traces that were proposed
// within the window, and holds later ones of any trace.
func TestAWindowReachesOtherTraces(t *testing.T) {
	for _, c := range []struct {
		scope string
		want  []string
		tier  engine.Tier
	}{
		{"reexamination: trace", []string{"here pulled_back"}, engine.ExecuteNotify},
		{"reexamination: window\nwindow: 60", []string{"here pulled_back", "near pulled_back"}, engine.Propose},
		{"reexamination: off", nil, engine.ExecuteNotify},
	} {
		t.Run(c.scope, func(t *testing.T) {
			now := int64(monday)
			b := with(t, map[string]func(string) string{authorityData: text(reviewers()), contractData: swap("reexamination: trace", c.scope)})
			dir := stateOf(t, b)
			p := open(t, dir, pdp.Options{Now: func() int64 { return now }})
			update := func(trace, id string) engine.Decision {
				return decided(t, p, onRecord(t, trace, id, "update_ticket_status", `{"ticket":"INC-1","status":"`+id+`"}`, "the-record"))
			}
			update("u", "far")
			update("t", "here")
			now += 100
			update("v", "near")
			decided(t, p, onRecord(t, "t", "bad", "reset_credentials", `{"account":"x"}`, "the-record"))
			now += 10
			reject(t, p, "t", "bad")
			if got := looks(t, dir); !slices.Equal(got, c.want) {
				t.Errorf("looked again at %v, want %v", got, c.want)
			}
			now += 1000
			if d := update("w", "later"); d.Tier != c.tier {
				t.Errorf("a later call of another trace has tier %v, want %v", d.Tier, c.tier)
			}
			if r := replayed(t, dir); !r.OK {
				t.Errorf("replay: %+v", r)
			}
		})
	}
}

// TestCallsDecidedAheadMeetTheSuspicionThatCameBetween proposes calls on a record
// from many sides while a call on it is rejected: whatever stands behind the
// rejection in the journal was decided with the record suspect.
func TestCallsDecidedAheadMeetTheSuspicionThatCameBetween(t *testing.T) {
	b := with(t, map[string]func(string) string{authorityData: text(reviewers()), contractData: swap("capacity: 4", "capacity: 4000")})
	dir := stateOf(t, b)
	p := open(t, dir, pdp.Options{})
	decided(t, p, onRecord(t, "t", "bad", "reset_credentials", `{"account":"x"}`, "the-record"))
	var wg sync.WaitGroup
	start := make(chan struct{})
	for side := range 4 {
		wg.Go(func() {
			<-start
			for i := range 15 {
				decided(t, p, onRecord(t, "t", fmt.Sprint("c", side, "-", i), "update_ticket_status", fmt.Sprintf(`{"ticket":"INC-%d-%d","status":"closed"}`, side, i), "the-record"))
			}
		})
	}
	close(start)
	for range 20 {
		decided(t, p, onRecord(t, "u", "noise", "read_ticket", `{"ticket":"INC-1"}`, "other"))
	}
	rejection := reject(t, p, "t", "bad").Seq
	wg.Wait()
	ran, held := 0, 0
	for _, e := range entries(t, dir) {
		if e.Op != "attempt" || strings.Contains(string(e.Body), `"noise"`) {
			continue
		}
		var body struct{ Decision struct{ Permit bool } }
		if err := json.Unmarshal(e.Body, &body); err != nil {
			t.Fatal(err)
		}
		if e.Seq > rejection && body.Decision.Permit {
			t.Errorf("entry %d is permitted on what entry %d made suspect", e.Seq, rejection)
		}
		if body.Decision.Permit {
			ran++
		} else {
			held++
		}
	}
	if got := len(looks(t, dir)); got != ran {
		t.Errorf("%d calls ran before the rejection, and %d were looked at again", ran, got)
	}
	if r := replayed(t, dir); !r.OK || held == 0 {
		t.Errorf("replay: %+v, %d held", r, held)
	}
}

// TestSignedAnswers answers with lena's key, which the list asks of her.
func TestSignedAnswers(t *testing.T) {
	pl := play(t, episodeEvents(t, override))
	hash, _ := pl.p.Snapshot().CallHash("override-INC-4471", "c4")
	e := engine.Event{Op: engine.OpAcknowledge, TraceID: "override-INC-4471", CallID: "c4", By: engine.Identity{Name: "lena"}, Answer: engine.Answer{Note: "told them"}}
	if rec, err := pl.p.Apply(context.Background(), e); err != nil || rec.Invalid == "" {
		t.Errorf("lena answers without her key: %+v, %v", rec, err)
	}
	var err error
	if e.Answer.Signature, err = reexam.Sign(key("lena"), reexam.SubjectOf(pl.p.Snapshot(), "override-INC-4471", hash), e); err != nil {
		t.Fatal(err)
	}
	forged := e
	forged.Op = engine.OpConfirm
	if rec, err := pl.p.Apply(context.Background(), forged); err != nil || rec.Invalid == "" {
		t.Errorf("a signature of an acknowledgement confirms: %+v, %v", rec, err)
	}
	if rec, err := pl.p.Apply(context.Background(), e); err != nil || rec.Invalid != "" {
		t.Errorf("signed: %+v, %v", rec, err)
	}
	clear := engine.Event{Op: engine.OpClear, TraceID: "override-INC-4471", By: engine.Identity{Name: "lena"}, Answer: engine.Answer{Item: engine.Item{Kind: "source_record", Value: "inc-4471"}}}
	if clear.Answer.Signature, err = reexam.Sign(key("lena"), reexam.SubjectOf(pl.p.Snapshot(), clear.TraceID, ""), clear); err != nil {
		t.Fatal(err)
	}
	if rec, err := pl.p.Apply(context.Background(), clear); err != nil || rec.Invalid != "" {
		t.Errorf("signed clearing: %+v, %v", rec, err)
	}
	pl.holds("c0 flagged origin", "c3 pulled_back", "c4 pulled_back")
}
