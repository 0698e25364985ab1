package cli

import (
	"bufio"
	"bytes"
	"context"
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
// which. No more is read ahead than the first line, so that whoever writes lines
// may wait for each answer.
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
	return json.Valid(firstLine(r))
}

// firstLine looks at the first line that is not blank, without taking it. A line
// that nothing ends, and one that is too long, is none.
func firstLine(r *bufio.Reader) []byte {
	for {
		head, err := r.Peek(r.Buffered())
		text := bytes.TrimLeft(head, " \t\r\n")
		if line, _, ended := bytes.Cut(text, []byte("\n")); ended {
			return line
		}
		if err == nil {
			_, err = r.Peek(len(head) + 1) // waits for what comes next
		}
		if err != nil {
			return nil
		}
	}
}

// one reads the whole input as one document, and no further than its limit.
func one(r io.Reader) iter.Seq2[action.Line, error] {
	return func(yield func(action.Line, error) bool) {
		text, err := io.ReadAll(io.LimitReader(r, action.MaxSize+1))
		yield(action.Line{Text: text}, err)
	}
}

// interruptible is a reader that a context ends. A terminal or a pipe lets nobody
// take a read back that waits for input, so the one under way is left behind; the
// program is about to end then.
type interruptible struct {
	ctx  context.Context
	from io.Reader
	left bytes.Reader // what the last read gave and nobody has taken yet
	err  error        // what it ended with, if it did
}

func (r *interruptible) Read(p []byte) (int, error) {
	if r.left.Len() == 0 && r.err == nil {
		r.next(min(len(p), 64<<10))
	}
	if r.left.Len() > 0 {
		return r.left.Read(p)
	}
	return 0, r.err
}

// next reads up to n bytes, unless the context is done before they are there.
func (r *interruptible) next(n int) {
	type result struct {
		text []byte
		err  error
	}
	done := make(chan result, 1)
	go func() {
		text := make([]byte, n)
		n, err := r.from.Read(text)
		done <- result{text[:n], err}
	}()
	select {
	case got := <-done:
		r.left.Reset(got.text)
		r.err = got.err
	case <-r.ctx.Done():
		r.err = r.ctx.Err()
	}
}
