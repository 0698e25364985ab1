package bundle

import (
	"encoding/json"

	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/rego"
	"github.com/conjunct-project/conjunct/signals"
)

// InputSchema is a JSON Schema of what rules see, for any registry and
// contract: `opa check --schema policies/schema/input.json DIR` finds misspelt
// properties with it. A bundle is loaded against the narrower schema of its own
// tools, settings, pins and evidence.
func InputSchema() ([]byte, error) {
	contract := &engine.Contract{TracePins: []string{}, PathPins: []string{}}
	shapes := shapes(registry{}, contract, signals.Scope{})
	for _, s := range shapes {
		open(s)
	}
	schema := rego.Schema(shapes)
	schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	schema["title"] = "The input of a Conjunct rule"
	text, err := json.MarshalIndent(schema, "", "  ")
	return append(text, '\n'), err
}

// open lets names in that a bundle of one's own would declare: arguments,
// settings, pins, evidence and counters.
func open(s *rego.Shape) {
	if action := s.Fields["action"]; action != nil {
		action.Fields["arguments"].Open = true
	}
	if state := s.Fields["state"]; state != nil {
		for _, part := range state.Fields {
			part.Open = true
		}
	}
}
