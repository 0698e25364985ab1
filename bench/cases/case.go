package cases

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/conjunct-project/conjunct/action"
)

// Case is one input and what should come of it.
type Case struct {
	ID       string  `json:"id"`
	Source   string  `json:"source"`
	Kind     string  `json:"kind"`
	Request  request `json:"request"`
	Expected Answer  `json:"expected"`
	Why      string  `json:"why"`
}

// request is what is decided, as it stands in the corpus. Arguments keep their
// own bytes: a number must meet the engine as it was written.
type request struct {
	Raw       *string                    `json:"raw"`
	Tool      string                     `json:"tool"`
	Arguments json.RawMessage            `json:"arguments"`
	Context   map[string]json.RawMessage `json:"context"`
}

// Answer is the outcome of a case. Error is input that was refused, a policy that
// did not load, or a block whose only causes are unknown.
type Answer string

const (
	Allow  Answer = "allow"
	Review Answer = "review"
	Block  Answer = "block"
	Error  Answer = "error"
)

func (a *Answer) UnmarshalText(text []byte) error {
	switch v := Answer(text); v {
	case Allow, Review, Block, Error:
		*a = v
		return nil
	}
	return fmt.Errorf("expected is allow, review, block or error, not %q", text)
}

// Read reads a corpus, one case a line. Ids are unique.
func Read(r io.Reader) ([]Case, error) {
	var out []Case
	seen := map[string]bool{}
	for line, err := range action.Lines(r) {
		if err != nil {
			return nil, line.Locate(err)
		}
		c, err := readCase(line.Text)
		if err == nil && seen[c.ID] {
			err = fmt.Errorf("case %s stands twice", c.ID)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %s", line.Number, strings.TrimPrefix(err.Error(), "json: "))
		}
		seen[c.ID] = true
		out = append(out, c)
	}
	if len(out) == 0 {
		return nil, errors.New("the file holds no case")
	}
	return out, nil
}

func readCase(text []byte) (c Case, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return c, err
	}
	switch {
	case c.ID == "" || c.Kind == "" || c.Expected == "":
		return c, errors.New("a case needs id, kind and expected")
	case c.Request.Raw == nil && c.Request.Tool == "":
		return c, fmt.Errorf("case %s: the request needs a tool, or raw input", c.ID)
	}
	return c, nil
}
