package reexam

import (
	"encoding/json"

	"github.com/conjunct-project/conjunct/engine"
)

// again is the body of the entry of a call that was looked at again: which item
// and which rejection made it so, and the authority that the call had and has.
func (w *writer) again(e *engine.Event, rec *engine.Record, p engine.Policy, v Versions) ([]byte, error) {
	look := rec.Second
	w.object(func() {
		w.text("bundle", p.Bundle().Digest)
		w.key("call")
		w.object(func() {
			w.text("call_hash", e.Call)
			w.text("call_id", look.CallID)
			w.text("trace_id", e.TraceID)
		})
		w.text("cel", v.CEL)
		if rec.Decision == nil {
			w.value("decision", nil)
		} else {
			w.key("decision")
			w.decision(rec)
		}
		w.text("effect", look.Effect.String())
		w.text("engine", v.Engine)
		w.key("items")
		w.array(len(look.Items), func(i int) {
			w.object(func() {
				w.text("kind", look.Items[i].Kind)
				w.text("value", look.Items[i].Value)
			})
		})
		w.key("new")
		w.granted(look.Now)
		w.key("old")
		w.granted(look.Was)
		w.text("opa", v.OPA)
		w.bool("origin", look.Origin)
		w.bool("ran", look.Ran)
		w.key("record")
		w.record(rec)
		w.int("rejection", int64(look.Rejection))
	})
	return w.out, w.err
}

func (w *writer) granted(g engine.Granted) {
	w.object(func() {
		w.text("boundary", g.Boundary.String())
		w.text("outcome", g.Outcome.String())
		w.text("tier", g.Tier.String())
	})
}

// imposedOn reads the verdicts that time imposed when a call was looked at
// again.
func imposedOn(body []byte) ([]engine.Imposed, error) {
	var b struct {
		Decision *struct{ Imposed []engine.Imposed }
	}
	if err := json.Unmarshal(body, &b); err != nil || b.Decision == nil {
		return nil, err
	}
	return b.Decision.Imposed, nil
}
