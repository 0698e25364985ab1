package action

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"iter"
)

// Line is one line of a JSON Lines stream.
type Line struct {
	Number int    // 1-based, blank lines counted
	Text   []byte // without its line ending; the receiver owns it
	over   *over  // of a line whose text was too long to keep
}

// over is what is known of a text that was not kept.
type over struct {
	length int
	digest string
}

// Digest is the digest of the line's text, also where it was too long to keep.
func (l Line) Digest() string {
	if l.over != nil {
		return l.over.digest
	}
	return Hash(l.Text)
}

// Len is how many bytes the line's text has, also where it was too long to keep.
func (l Line) Len() int {
	if l.over != nil {
		return l.over.length
	}
	return len(l.Text)
}

// Lines yields the lines of r that are not blank. There is no limit to the
// stream, and it is not held in memory. A line of more than [MaxSize] bytes
// yields an [*Error] in its place, and the stream goes on after it. Where
// reading fails, the last thing yielded is the reader's error; what there was of
// its line is not.
func Lines(r io.Reader) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		br := bufio.NewReaderSize(r, 64<<10)
		for number := 1; ; number++ {
			text, over, err := readLine(br)
			if err != nil && !errors.Is(err, io.EOF) {
				yield(Line{Number: number}, fmt.Errorf("action: line %d: %w", number, err))
				return
			}
			line := Line{Number: number, Text: text}
			more := true
			switch {
			case over != nil:
				more = yield(Line{Number: number, over: over}, &Error{Line: number,
					Msg:  fmt.Sprintf("the line is longer than %d bytes", MaxSize),
					Hint: "one document a line; put large content elsewhere and name it"})
			case len(bytes.Trim(text, " \t\r")) > 0:
				more = yield(line, nil)
			}
			if err != nil || !more {
				return
			}
		}
	}
}

// Locate puts an error of this package, made from the text of the line, at the
// line. Any other error is returned as it is.
func (l Line) Locate(err error) error {
	var e *Error
	if !errors.As(err, &e) || l.Number == 0 {
		return err
	}
	at := *e
	at.Line = l.Number
	return &at
}

// readLine reads up to the next newline, which it drops together with a carriage
// return before it. Of a line that is too long it keeps only what over says. The
// error is io.EOF with the last line, or the reader's.
func readLine(br *bufio.Reader) (text []byte, long *over, err error) {
	var rest digester
	for {
		part, err := br.ReadSlice('\n')
		text = append(text, part...)
		// Two bytes more may still be the line ending.
		if rest.begun() || len(text) > MaxSize+2 {
			rest.write(text)
			text = text[:0]
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if rest.begun() {
			return nil, rest.end(), err
		}
		text = bytes.TrimSuffix(text, []byte("\n"))
		text = bytes.TrimSuffix(text, []byte("\r"))
		if len(text) > MaxSize {
			return nil, &over{len(text), Hash(text)}, err
		}
		return text, nil, err
	}
}

// digester takes the digest of a line that is not kept.
type digester struct {
	sum    hash.Hash
	length int
	// last holds back what may be the line ending.
	last []byte
}

func (d *digester) begun() bool { return d.sum != nil }

func (d *digester) write(text []byte) {
	if d.sum == nil {
		d.sum = sha256.New()
	}
	d.last = append(d.last, text...)
	d.take(max(0, len(d.last)-len("\r\n")))
}

// take hashes the first n bytes of what is held back.
func (d *digester) take(n int) {
	d.sum.Write(d.last[:n])
	d.length += n
	d.last = append(d.last[:0], d.last[n:]...)
}

func (d *digester) end() *over {
	d.last = bytes.TrimSuffix(d.last, []byte("\n"))
	d.last = bytes.TrimSuffix(d.last, []byte("\r"))
	d.take(len(d.last))
	return &over{d.length, hashPrefix + hex.EncodeToString(d.sum.Sum(nil))}
}
