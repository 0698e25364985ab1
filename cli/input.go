package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"iter"
	"path/filepath"
	"strings"

	"github.com/conjunct-project/conjunct/action"
)

// input is an opened file argument.
type input struct {
	io.Reader
	name  string
	close func() error
}

// Close closes the file; standard input stays open.
func (in *input) Close() error {
	if in.close == nil {
		return nil
	}
	return in.close()
}

// documents yields the JSON documents of an input: one a line for JSON Lines,
// which is told by the file's name or by a first line that is a document of its
// own, and the whole input otherwise, as a line with the number 0. many says
// which.
func (in *input) documents() (docs iter.Seq2[action.Line, error], many bool) {
	r := bufio.NewReaderSize(in.Reader, action.MaxSize+1)
	if in.lines(r) {
		return action.Lines(r), true
	}
	return one(r), false
}

func (in *input) lines(r *bufio.Reader) bool {
	switch strings.ToLower(filepath.Ext(in.name)) {
	case ".jsonl", ".ndjson":
		return true
	case ".json":
		return false
	}
	head, _ := r.Peek(action.MaxSize)
	first, rest, more := bytes.Cut(bytes.TrimLeft(head, " \t\r\n"), []byte("\n"))
	return more && json.Valid(first) && len(bytes.TrimSpace(rest)) > 0
}

// one reads the whole input as one document, and no further than its limit.
func one(r io.Reader) iter.Seq2[action.Line, error] {
	return func(yield func(action.Line, error) bool) {
		text, err := io.ReadAll(io.LimitReader(r, action.MaxSize+1))
		yield(action.Line{Text: text}, err)
	}
}
