package cases

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/conjunct-project/conjunct/action"
	"github.com/conjunct-project/conjunct/pdp"
	"github.com/conjunct-project/conjunct/policies"
	"github.com/conjunct-project/conjunct/reexam"
)

// audited is a journal of a number of records, damaged as a case says.
type audited struct {
	dir  string
	head string       // of the last record that a checkpoint vouches for
	done func() error // lets go of the log, where somebody else is at it
}

// audit makes a journal with the decision point, damages it, and answers allow
// where a replay holds and nothing had to be told when it was opened again.
func audit(l *loader, c Case, dir string) (answered, error) {
	var ask struct {
		Records    *int
		Mutation   string
		Checkpoint int
		Record     json.RawMessage
	}
	if err := strictly(c.Request.Arguments, &ask); err != nil {
		return answered{}, &unsupported{"arguments: " + err.Error()}
	}
	for k := range c.Request.Context {
		return answered{}, &unsupported{fmt.Sprintf("nothing is known of context key %q", k)}
	}
	j := &audited{dir: filepath.Join(dir, "state")}
	if err := j.begin(l); err != nil {
		return answered{}, err
	}
	damage, appends, err := mutationOf(ask.Mutation)
	if err != nil {
		return answered{}, err
	}
	records := 1
	if ask.Records != nil {
		records = *ask.Records
	}
	if err := j.write(max(records, ask.Checkpoint), nil, ask.Checkpoint); err != nil {
		return answered{}, err
	}
	if ask.Checkpoint > records {
		// The checkpoint vouches for records that are not there any more.
		if err := j.cut(records); err != nil {
			return answered{}, err
		}
	}
	if records < 1 {
		if err := j.rewrite(nil); err != nil {
			return answered{}, err
		}
	}
	if err := damage(j); err != nil {
		return answered{}, err
	}
	if j.done != nil {
		defer j.done()
	}
	if appends && ask.Record == nil {
		ask.Record = json.RawMessage("{}")
	}
	if ask.Record != nil {
		if told, err := j.append(ask.Record); told != "" || err != nil {
			return answered{Error, told}, err
		}
	}
	return j.verify()
}

// begin makes the state of a journal.
func (j *audited) begin(l *loader) error {
	files, err := l.base(policies.Default)
	if err != nil {
		return err
	}
	b, err := l.load(files)
	if err != nil {
		return err
	}
	return pdp.Init(j.dir, b, audited0)
}

// audited0 is when a journal begins.
var audited0 = time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC).Unix()

// write brings the journal to a number of records and notes the head after the
// one that a checkpoint names.
func (j *audited) write(records int, content json.RawMessage, checkpoint int) error {
	p, err := pdp.Open(j.dir, pdp.Options{Now: func() int64 { return audited0 }})
	if err != nil {
		return err
	}
	defer p.Close()
	for seq := uint64(0); seq < uint64(records); {
		doc, err := document("audit", fmt.Sprintf("r%d", seq), call{Tool: "record", Arguments: content}, nil)
		if err != nil {
			return err
		}
		a, err := action.Decode(doc)
		if err != nil {
			return &unsupported{"a record that is no action: " + err.Error()}
		}
		d, err := p.Decide(context.Background(), a)
		if err != nil {
			return err
		}
		if seq = d.Seq; seq == uint64(checkpoint) {
			j.head = d.Hash
		}
	}
	return nil
}

// append opens the journal as the program does after a crash and adds a record.
// What it says then is that something was set aside, or why it does not open.
func (j *audited) append(content json.RawMessage) (told string, err error) {
	p, err := pdp.Open(j.dir, pdp.Options{Now: func() int64 { return audited0 }})
	if err != nil {
		return err.Error(), nil
	}
	defer p.Close()
	if jsonType(content) != "object" {
		content = slices.Concat([]byte(`{"record":`), content, []byte("}"))
	}
	doc, err := document("audit", "appended", call{Tool: "record", Arguments: content}, nil)
	if err != nil {
		return "", err
	}
	a, err := action.Decode(doc)
	if err != nil {
		return err.Error(), nil
	}
	if _, err := p.Decide(context.Background(), a); err != nil {
		return err.Error(), nil
	}
	if p.Cut > 0 {
		told = fmt.Sprintf("%d bytes of a torn tail were set aside", p.Cut)
	}
	return told, nil
}

// verify replays what there is.
func (j *audited) verify() (answered, error) {
	if !reexam.Holds(j.dir) {
		return answered{Error, "there is no journal"}, nil
	}
	r, err := reexam.Replay(context.Background(), j.dir, reexam.Options{Head: j.head, Versions: pdp.Versions()})
	switch {
	case err != nil:
		return answered{Error, err.Error()}, nil
	case !r.OK:
		return answered{Error, r.Problems[0].Code + ": " + r.Problems[0].Text}, nil
	case r.Entries == 0 || r.Torn != "":
		return answered{Error, "the journal does not end with a whole record: " + r.Torn}, nil
	}
	return answered{Allow, ""}, nil
}

func (j *audited) file() string { return filepath.Join(j.dir, "journal.jsonl") }

// lines reads the records, each with its line ending.
func (j *audited) lines() ([][]byte, error) {
	text, err := os.ReadFile(j.file())
	if err != nil {
		return nil, err
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	return lines[:len(lines)-1], nil
}

// cut leaves the first n records.
func (j *audited) cut(n int) error {
	lines, err := j.lines()
	if err != nil {
		return err
	}
	return j.rewrite(lines[:min(n, len(lines))])
}

func (j *audited) rewrite(lines [][]byte) error {
	return os.WriteFile(j.file(), bytes.Join(lines, nil), 0o600)
}
