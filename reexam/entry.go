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

func readAttempt(e journal.Entry, c *engine.Contract) (engine.Event, error) {
	var body attemptBody
	if err := json.Unmarshal(e.Body, &body); err != nil {
		return engine.Event{}, err
	}
	a, err := action.Decode(body.Action)
	if err != nil {
		return engine.Event{}, err
	}
	value, canonical, err := action.ParseEntry(body.Facts)
	if err != nil {
		return engine.Event{}, err
	}
	known, ok := value.(map[string]any)
	if !ok {
		return engine.Event{}, errors.New("facts is not an object")
	}
	hash, text, err := FactsHash(known, body.FactsUnknown)
	if err != nil || string(canonical) != string(body.Facts) {
		return engine.Event{}, errors.Join(err, errNotCanonical)
	}
	attempt := engine.Attempt{Action: a, Facts: known, FactsUnknown: body.FactsUnknown, FactsHash: hash, FactsText: text, Imposed: body.Decision.Imposed}
	if len(body.Redacted) > 0 {
		if err := recorded(&attempt, &body, c); err != nil {
			return engine.Event{}, err
		}
	}
	return engine.Event{Op: engine.OpAttempt, Time: e.Time, TraceID: a.TraceID, Call: attempt.Action.CallHash, CallID: a.CallID, Attempt: attempt}, nil
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
