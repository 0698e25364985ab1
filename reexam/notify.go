package reexam

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/journal"
)

// Notification is a call that ran at tier execute_notify: somebody has to be
// told of it.
type Notification struct {
	Seq     uint64
	Time    int64
	TraceID string
	CallID  string
	Tool    string
	Agent   engine.Agent
}

var notifies = []byte(`"notify":true`)

// Notifications lists what somebody has to be told of, from a journal that is
// neither locked nor written, the oldest first.
func Notifications(ctx context.Context, path string) ([]Notification, error) {
	out := []Notification{}
	_, err := journal.Walk(path, func(e journal.Entry) error {
		if e.Op != engine.OpAttempt.String() || !bytes.Contains(e.Body, notifies) {
			return ctx.Err()
		}
		var body struct {
			Action struct {
				TraceID string `json:"trace_id"`
				CallID  string `json:"call_id"`
				Tool    string
				Agent   engine.Agent
			}
			Decision struct{ Permit, Notify bool }
		}
		if err := json.Unmarshal(e.Body, &body); err != nil {
			return &Problem{e.Seq, Undecodable, err.Error()}
		}
		if a := body.Action; body.Decision.Permit && body.Decision.Notify {
			out = append(out, Notification{e.Seq, e.Time, a.TraceID, a.CallID, a.Tool, a.Agent})
		}
		return nil
	})
	if tornTail(err) != nil {
		err = nil
	}
	return out, err
}
