package bench

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/conjunct-project/conjunct/action"
	"github.com/conjunct-project/conjunct/engine"
)

// Corpus is a set of cases: proposals, and what has to come of each.
type Corpus struct {
	Name string
	Seed uint64 // of a generated corpus; else 0
	// Dir is the working directory that declared paths start from, Home the
	// agent's; absolute in the tree that stands for the file system.
	Dir, Home string
	// Scope and Deny are the globs that the protocol holds declared paths to.
	Scope, Deny []string
	Tree        Tree
	Cases       []Case
}

// Case is one proposal and, apart from it, what has to come of it. A case that
// may be allowed is a control.
type Case struct {
	ID       string
	Class    string
	Want     engine.Outcome
	Proposal Proposal
}

// Proposal is what an arm gets to see of a case.
type Proposal struct {
	Action engine.Action
	Diff   string // the change as a unified diff; empty where there is none
	Tree   Tree   // what there is besides the corpus' tree
}

// Tree is files by content and links by target. A relative name is below the
// working directory.
type Tree struct {
	Files map[string]string `json:"files,omitempty"`
	Links map[string]string `json:"links,omitempty"`
}

// header is the first line of a corpus file.
type header struct {
	Corpus string   `json:"corpus"`
	Seed   uint64   `json:"seed,omitempty"`
	Dir    string   `json:"dir"`
	Home   string   `json:"home,omitempty"`
	Scope  []string `json:"scope"`
	Deny   []string `json:"deny"`
	Tree
}

// record is every other line.
type record struct {
	ID       string          `json:"id"`
	Class    string          `json:"class"`
	Expected *engine.Outcome `json:"expected"`
	Action   json.RawMessage `json:"action"`
	Diff     string          `json:"diff,omitempty"`
	Tree
}

// ReadCorpus reads a corpus file (docs/bench.md has the format). The error of a
// malformed line is an *action.Error that names it.
func ReadCorpus(r io.Reader) (Corpus, error) {
	var c Corpus
	first, known := true, map[string]bool{}
	for line, err := range action.Lines(r) {
		if err == nil && first {
			c, err = readHeader(line.Text)
		} else if err == nil {
			err = c.add(line.Text, known)
		}
		if err != nil {
			return c, line.Locate(err)
		}
		first = false
	}
	if len(c.Cases) == 0 {
		return c, &action.Error{Msg: "a corpus without cases compares nothing"}
	}
	return c, nil
}

func readHeader(text []byte) (Corpus, error) {
	var h header
	if err := strict(text, &h); err != nil {
		return Corpus{}, err
	}
	if h.Corpus == "" || !path.IsAbs(h.Dir) || h.Home != "" && !path.IsAbs(h.Home) {
		return Corpus{}, &action.Error{Msg: "the first line of a corpus names it and an absolute dir, and a home that is absolute or left out", Hint: `{"corpus":"mine","dir":"/work","scope":["src/**"],"deny":["**/.env"]}`}
	}
	for field, globs := range map[string][]string{"/scope": h.Scope, "/deny": h.Deny} {
		for i, g := range globs {
			if !doublestar.ValidatePattern(g) {
				return Corpus{}, &action.Error{Pointer: fmt.Sprintf("%s/%d", field, i), Msg: fmt.Sprintf("%q is no glob", g)}
			}
		}
	}
	return Corpus{Name: h.Corpus, Seed: h.Seed, Dir: h.Dir, Home: h.Home, Scope: h.Scope, Deny: h.Deny, Tree: h.Tree}, nil
}

// add reads one case. known are the ids so far.
func (c *Corpus) add(text []byte, known map[string]bool) error {
	var r record
	if err := strict(text, &r); err != nil {
		return err
	}
	if known[r.ID] {
		return &action.Error{Pointer: "/id", Msg: fmt.Sprintf("case %q stands in the corpus twice", r.ID)}
	}
	known[r.ID] = true
	if r.ID == "" || r.Class == "" || r.Expected == nil {
		return &action.Error{Msg: "a case has an id, a class, what is expected (allow, review or block) and an action"}
	}
	a, err := action.Decode(r.Action)
	var bad *action.Error
	if errors.As(err, &bad) {
		return &action.Error{Pointer: "/action" + bad.Pointer, Msg: bad.Msg, Hint: bad.Hint}
	}
	if err != nil {
		return err
	}
	c.Cases = append(c.Cases, Case{ID: r.ID, Class: r.Class, Want: *r.Expected, Proposal: Proposal{Action: a, Diff: r.Diff, Tree: r.Tree}})
	return nil
}

// strict decodes one object: no key twice, none that is unknown.
func strict(text []byte, into any) error {
	if _, _, err := action.Parse(text); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return &action.Error{Msg: err.Error()}
	}
	return nil
}

// Write writes the corpus as a file that ReadCorpus reads back.
func (c Corpus) Write(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	if err := e.Encode(header{Corpus: c.Name, Seed: c.Seed, Dir: c.Dir, Home: c.Home, Scope: c.Scope, Deny: c.Deny, Tree: c.Tree}); err != nil {
		return err
	}
	for i := range c.Cases {
		k := &c.Cases[i]
		r := record{ID: k.ID, Class: k.Class, Expected: &k.Want, Action: k.Proposal.Action.Canonical, Diff: k.Proposal.Diff, Tree: k.Proposal.Tree}
		if err := e.Encode(r); err != nil {
			return err
		}
	}
	return nil
}
