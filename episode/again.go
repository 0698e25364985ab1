package episode

import (
	"github.com/conjunct-project/conjunct/action"
	"github.com/conjunct-project/conjunct/engine"
)

// Again is the event of looking at a call again: the call and the facts that it
// was last proposed with. A call that the state does not hold whole is marked
// as missing.
func Again(v engine.View, r engine.Reexamination) engine.Event {
	path := v.Path(r.Path.Trace, r.Path.Call)
	e := engine.Event{Op: engine.OpReexamine, Time: v.Clock(), TraceID: r.Path.Trace, Call: r.Path.Call, CallID: r.CallID, Agent: path.Agent, Reexamine: r,
		By: engine.Identity{Name: "reexamination"}}
	if r.Read {
		return e
	}
	e.Attempt.FactsHash, e.Attempt.FactsText = path.FactsHash, path.Facts
	e.Attempt.Facts, e.Attempt.FactsUnknown = ReadFacts(path.Facts)
	var err error
	if e.Attempt.Action, err = action.Decode(path.Canonical); err != nil || path.Redacted {
		e.Attempt.Action, e.Attempt.Missing = held(r, &path), true
	}
	return e
}

// held is what the state knows of an action that it does not hold whole.
func held(r engine.Reexamination, path *engine.Path) engine.Action {
	a := engine.Action{TraceID: r.Path.Trace, CallID: r.CallID, Agent: path.Agent, Tool: path.Tool, CallHash: r.Path.Call, Likeness: path.Same}
	for _, item := range path.Holds {
		a.Holds = append(a.Holds, engine.Held{Item: item})
	}
	return a
}

// FactsText is what facts are hashed from: what is known and what could not be
// determined.
func FactsText(known map[string]any, unknown []string) ([]byte, error) {
	if known == nil {
		known = map[string]any{}
	}
	return action.CanonicalValue(map[string]any{"facts": known, "unknown": texts(unknown)})
}

// ReadFacts reads what FactsText wrote; nothing from no text.
func ReadFacts(text []byte) (known map[string]any, unknown []string) {
	if len(text) == 0 {
		return nil, nil
	}
	value, _, err := action.ParseEntry(text)
	tree, _ := value.(map[string]any)
	if err != nil {
		return nil, nil
	}
	known, _ = tree["facts"].(map[string]any)
	list, _ := tree["unknown"].([]any)
	for _, v := range list {
		if name, ok := v.(string); ok {
			unknown = append(unknown, name)
		}
	}
	return known, unknown
}
