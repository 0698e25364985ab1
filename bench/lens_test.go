package bench

import (
	"context"
	"testing"

	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/episode"
)

// TestLensesLeaveOutOneThing plays what no trace of the study has: each arm is
// the whole model in everything but what it leaves out.
func TestLensesLeaveOutOneThing(t *testing.T) {
	const (
		ci      = `{"t":1,"op":"evidence","name":"ci","status":"pass"}`
		attempt = `{"t":1,"op":"attempt"}`
		move    = `{"t":1,"op":"change","commit":"c2"}`
		full    = `{"t":1,"op":"settings","queue":1}`
		fails   = `{"t":1,"op":"failure","active":true}`
		free    = `{"t":1,"op":"settings","review_required":false}`
	)
	review := func(outcome string) string {
		return `{"t":1,"op":"review","outcome":"` + outcome + `","reviewer":"ada","qualified":true}`
	}
	for _, c := range []struct {
		name   string
		events []string
		want   map[string]string
	}{
		{"a rejection ends when the pins move", []string{ci, attempt, review("reject"), move, ci, attempt},
			map[string]string{armFull: "escalate escalate", armStateless: "escalate escalate", armKeepsApprovals: "escalate escalate", armCapacityAlways: "escalate escalate"}},
		{"a rejection stands while they do not", []string{ci, attempt, review("reject"), attempt},
			map[string]string{armFull: "escalate stop", armStateless: "escalate escalate", armKeepsApprovals: "escalate stop", armCapacityAlways: "escalate stop"}},
		{"an open failure is a thing of now", []string{free, ci, fails, attempt},
			map[string]string{armFull: "retry", armStateless: "retry", armKeepsApprovals: "retry", armCapacityAlways: "retry"}},
		{"a moved pin takes evidence, and a full queue defers", []string{ci, full, attempt, move, attempt},
			map[string]string{armFull: "defer verify", armStateless: "defer verify", armKeepsApprovals: "defer defer", armCapacityAlways: "escalate verify"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := load(t, TraceBundle)
			ep := decode(t, b.Contract(), c.events)
			for _, arm := range armsOfTraces(b) {
				got, err := arm.Arm.Answer(context.Background(), ep)
				if err != nil {
					t.Fatal(err)
				}
				if words(got) != c.want[arm.Name] {
					t.Errorf("%s: got %s, want %s", arm.Name, words(got), c.want[arm.Name])
				}
			}
		})
	}
}

func decode(t *testing.T, c *engine.Contract, events []string) episode.Episode {
	t.Helper()
	text := `{"id":"e","events":[`
	for i, e := range events {
		if i > 0 {
			text += ","
		}
		text += e
	}
	ep, err := episode.Decode([]byte(text+"]}"), c)
	if err != nil {
		t.Fatal(err)
	}
	return ep
}
