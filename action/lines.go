package action

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
)

// Line is one line of a JSON Lines stream.
type Line struct {
	Number int    // 1-based, blank lines counted
	Text   []byte // without its line ending; the receiver owns it
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
			text, long, err := readLine(br)
			if err != nil && !errors.Is(err, io.EOF) {
				yield(Line{Number: number}, fmt.Errorf("action: line %d: %w", number, err))
				return
			}
			line := Line{Number: number, Text: text}
			more := true
			switch {
			case long:
				more = yield(Line{Number: number}, &Error{Line: number,
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
// return before it. Of a line that is too long it keeps nothing. The error is
// io.EOF with the last line, or the reader's.
func readLine(br *bufio.Reader) (text []byte, long bool, err error) {
	for {
		part, err := br.ReadSlice('\n')
		if !long {
			text = append(text, part...)
			// Two bytes more may still be the line ending.
			if long = len(text) > MaxSize+2; long {
				text = nil
			}
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if long {
			return nil, true, err
		}
		text = bytes.TrimSuffix(text, []byte("\n"))
		text = bytes.TrimSuffix(text, []byte("\r"))
		if len(text) > MaxSize {
			return nil, true, err
		}
		return text, false, err
	}
}
