package reexam

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/conjunct-project/conjunct/action"
	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/episode"
	"github.com/conjunct-project/conjunct/journal"
)

// Entries that are no events.
const (
	// OpActivate puts a bundle in force; the first one begins a state.
	OpActivate = "activate"
	// OpRefused is input that was no action.
	OpRefused = "refused"
	// OpReexamine is a call that was looked at again. It follows, in the same
	// batch, from the entry that made it due; nobody sends it.
	OpReexamine = "reexamine"
)

// Versions are the programs that decided.
type Versions struct {
	Engine, OPA, CEL string
}

func (v Versions) String() string {
	return fmt.Sprintf("engine %s, OPA %s, cel-go %s", v.Engine, v.OPA, v.CEL)
}

// attemptBody is what an attempt's entry holds besides what follows from it.
type attemptBody struct {
	Action       json.RawMessage
	Bundle       string
	Facts        json.RawMessage
	FactsUnknown []string `json:"facts_unknown"`
	Redacted     []string
	Decision     engine.Decision
}

var errNotCanonical = errors.New("the body is not in canonical form")

// ReadEvent turns an entry back into its event.
func ReadEvent(e journal.Entry, c *engine.Contract) (engine.Event, error) {
	if e.Op == engine.OpAttempt.String() {
		return readAttempt(e, c)
	}
	value, canonical, err := action.ParseEntry(e.Body)
	if err != nil {
		return engine.Event{}, err
	}
	if string(canonical) != string(e.Body) {
		return engine.Event{}, errNotCanonical
	}
	tree, _ := value.(map[string]any)
	return episode.ReadEvent(tree["event"], c)
}

// readAttempt reads what an attempt rests on and passes over what follows from
// it: that is compared byte by byte once it was decided again.
func readAttempt(e journal.Entry, c *engine.Contract) (engine.Event, error) {
	body, err := readBody(e.Body)
	if err != nil {
		return engine.Event{}, err
	}
	a, err := action.Decode(body.Action)
	if err != nil {
		return engine.Event{}, err
	}
	known, err := readFacts(body.Facts)
	if err != nil {
		return engine.Event{}, err
	}
	hash, text, err := FactsHash(known, body.FactsUnknown)
	if err != nil {
		return engine.Event{}, err
	}
	attempt := engine.Attempt{Action: a, Facts: known, FactsUnknown: body.FactsUnknown, FactsHash: hash, FactsText: text, Imposed: body.Decision.Imposed}
	if len(body.Redacted) > 0 {
		if err := recorded(&attempt, &body, c); err != nil {
			return engine.Event{}, err
		}
	}
	return engine.Event{Op: engine.OpAttempt, Time: e.Time, TraceID: a.TraceID, Call: attempt.Action.CallHash, CallID: a.CallID, Attempt: attempt}, nil
}

// readBody reads an attempt's body. The decision in it is read as a whole only
// where it cannot be made again, or where the body is not as it is written.
func readBody(text []byte) (body attemptBody, err error) {
	redacted := false
	ok := members(text, func(key string, value []byte) {
		switch key {
		case "action":
			body.Action = value
		case "facts":
			body.Facts = value
		case "facts_unknown":
			err = errors.Join(err, readTexts(value, &body.FactsUnknown))
		case "decision":
			members(value, func(key string, value []byte) {
				if key == "imposed" {
					err = errors.Join(err, readTexts(value, &body.Decision.Imposed))
				}
			})
		case "redacted":
			redacted = string(value) != "[]"
		}
	})
	if !ok || redacted {
		body = attemptBody{}
		return body, json.Unmarshal(text, &body)
	}
	return body, err
}

// readTexts reads a list, most often an empty one.
func readTexts[T any](text []byte, list *[]T) error {
	if string(text) == "[]" {
		*list = []T{}
		return nil
	}
	return json.Unmarshal(text, list)
}

func readFacts(text []byte) (map[string]any, error) {
	if string(text) == "{}" {
		return map[string]any{}, nil
	}
	value, canonical, err := action.ParseEntry(text)
	if err != nil {
		return nil, err
	}
	known, ok := value.(map[string]any)
	if !ok {
		return nil, errors.New("facts is not an object")
	}
	if string(canonical) != string(text) {
		return nil, errNotCanonical
	}
	return known, nil
}

// recorded makes an attempt one that follows what the entry records: its
// arguments are not there to decide on. Only what the contract redacts may be
// missing.
func recorded(a *engine.Attempt, body *attemptBody, c *engine.Contract) error {
	for _, name := range body.Redacted {
		if !slices.Contains(c.Redact[a.Action.Tool], name) {
			return fmt.Errorf("argument %q is redacted, and the contract does not redact it", name)
		}
	}
	a.Action.CallHash, a.Action.InputHash = body.Decision.CallHash, body.Decision.InputHash
	a.Recorded = &body.Decision
	return nil
}

// noFacts is the hash where nothing is known and nothing was asked for. A test
// holds it to what it stands for.
const noFacts = "sha256:48d35cbea420ab74454061329090af7f352e781beb5d3d1646a49c2ff0c8ee00"

// FactsHash is the digest of facts that an approval is pinned to: what is known
// and what could not be determined. The text is what was hashed, or nil where
// there are none.
func FactsHash(known map[string]any, unknown []string) (hash string, text []byte, err error) {
	if len(known) == 0 && len(unknown) == 0 {
		return noFacts, nil, nil
	}
	if text, err = episode.FactsText(known, unknown); err != nil {
		return "", nil, err
	}
	return action.Hash(text), text, nil
}
