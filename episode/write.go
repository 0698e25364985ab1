package episode

import "github.com/conjunct-project/conjunct/engine"

// WriteEvent is an event in the form that ReadEvent reads, as plain values. An
// attempt is written without its action.
func WriteEvent(e engine.Event) map[string]any {
	out := map[string]any{"op": e.Op.String(), "t": float64(e.Time), "role": e.By.Role, "qualified": e.By.Qualified}
	text(out, "by", e.By.Name)
	text(out, "trace_id", e.TraceID)
	text(out, "call", e.CallID)
	switch e.Op {
	case engine.OpChange:
		for name, v := range e.Pins {
			out[name] = v
		}
	case engine.OpSettings:
		for name, v := range e.Settings {
			out[name] = v
		}
	case engine.OpEvidence:
		writeEvidence(out, e.Evidence)
	case engine.OpFailure:
		out["active"], out["recoverable"] = e.Failure.Active, e.Failure.Recoverable
	case engine.OpEngage:
		out["component"], out["task"] = e.Engage.Component, e.Engage.Task
	case engine.OpReview:
		out["outcome"], out["signed"] = e.Review.Outcome.String(), e.Review.Signed
		text(out, "code", e.Review.Code)
		text(out, "note", e.Review.Note)
		text(out, "signature", e.Review.Signature)
		if len(e.Review.Gates) > 0 {
			out["gates"] = texts(e.Review.Gates)
		}
	case engine.OpResult:
		writeResult(out, e.Result)
	case engine.OpClear, engine.OpConfirm, engine.OpCompensate, engine.OpAcknowledge:
		writeAnswer(out, e.Op, e.Answer)
	}
	return out
}

func writeAnswer(out map[string]any, op engine.Op, a engine.Answer) {
	out["signed"] = a.Signed
	text(out, "note", a.Note)
	text(out, "signature", a.Signature)
	text(out, "with", a.With)
	if op == engine.OpClear && a.Item != (engine.Item{}) {
		item := map[string]any{"value": a.Item.Value}
		text(item, "kind", a.Item.Kind)
		out["item"] = item
	}
}

func writeResult(out map[string]any, r engine.ResultEvent) {
	out["recoverable"] = r.Recoverable
	if r.Status != engine.NoResult {
		out["status"] = r.Status.String()
	}
	if r.Latency != nil {
		out["latency"] = *r.Latency
	}
	if r.Overhead != nil {
		out["overhead"] = *r.Overhead
	}
	if r.Cost != nil {
		out["cost"] = *r.Cost
	}
	if len(r.Produced) > 0 {
		out["produced"] = texts(r.Produced)
	}
	text(out, "incident", r.Incident)
}

func writeEvidence(out map[string]any, e engine.Evidence) {
	out["name"], out["status"] = e.Name, e.Status.String()
	text(out, "source", e.Source)
	if e.Expires != nil {
		out["expires"] = float64(*e.Expires)
	}
	if len(e.Pins) > 0 {
		pins := map[string]any{}
		for name, v := range e.Pins {
			pins[name] = v
		}
		out["pins"] = pins
	}
}

// text writes a field that is left out where it is empty.
func text(out map[string]any, field, s string) {
	if s != "" {
		out[field] = s
	}
}

func texts(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}
