package journal

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// current is the segment that is written to; older ones are journal.N.jsonl.
const current = "journal.jsonl"

// maxLine bounds an entry: an action of full size in its own objects, escaped.
const maxLine = 16 << 20

// Segments lists the files of a log in order: of a directory, or of a file and
// the older segments beside it. Names are probed, not listed: a listing that a
// rotation cuts through may miss some.
func Segments(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	dir, last := path, filepath.Join(path, current)
	if !info.IsDir() {
		dir, last = filepath.Dir(path), path
	}
	var out []string
	for n := 1; ; n++ {
		older := filepath.Join(dir, fmt.Sprintf("journal.%d.jsonl", n))
		if older == filepath.Clean(last) {
			break
		}
		if _, err := os.Stat(older); errors.Is(err, fs.ErrNotExist) {
			break
		} else if err != nil {
			return nil, err
		}
		out = append(out, older)
	}
	if _, err := os.Stat(last); err == nil {
		out = append(out, last)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return out, nil
}

// Fault is one thing wrong with a log, at an entry's number.
type Fault struct {
	Seq  uint64
	Code string
	Text string
	File string
	Line int
}

func (f *Fault) Error() string { return fmt.Sprintf("entry %d: %s: %s", f.Seq, f.Code, f.Where()) }

// Where is what is wrong, with the file and row that it is in where that is known.
func (f *Fault) Where() string {
	switch {
	case f.File == "":
		return f.Text
	case f.Line == 0:
		return fmt.Sprintf("%s (%s)", f.Text, filepath.Base(f.File))
	}
	return fmt.Sprintf("%s (%s:%d)", f.Text, filepath.Base(f.File), f.Line)
}

// The codes of a Fault.
const (
	Malformed   = "malformed"
	HashWrong   = "hash_mismatch"
	ChainBroken = "chain_broken"
	SeqWrong    = "seq_mismatch"
	NotDurable  = "durable_mismatch"
	TornTail    = "torn_tail"
)

// Chain checks that entries follow each other.
type Chain struct {
	Seq    uint64
	Hash   string
	Time   int64
	hasher hasher
}

// Next checks one line and moves on. The entry's body is part of line.
func (c *Chain) Next(line []byte) (Entry, *Fault) {
	fault := func(code, text string) *Fault { return &Fault{Seq: c.Seq + 1, Code: code, Text: text} }
	e, err := parseLine(line)
	if err != nil {
		return e, fault(Malformed, err.Error())
	}
	if c.hasher.of(&e, nil) != e.Hash {
		return e, fault(HashWrong, "the entry's hash is not that of its bytes")
	}
	switch {
	case e.Seq != c.Seq+1:
		return e, fault(SeqWrong, fmt.Sprintf("entry %d stands where %d is expected", e.Seq, c.Seq+1))
	case e.Prev != c.Hash:
		return e, fault(ChainBroken, "the entry does not follow the one before it")
	case e.Durable >= e.Seq:
		return e, fault(NotDurable, "the entry claims itself to be on disk")
	case e.Time < c.Time:
		return e, fault(ChainBroken, "the entry is older than the one before it")
	}
	c.Seq, c.Hash, c.Time = e.Seq, e.Hash, e.Time
	return e, nil
}

// lines yields the lines of a file with the offset of each. complete is false
// for a last line without a newline.
func lines(r io.Reader, yield func(line []byte, offset int64, complete bool) bool) error {
	br := bufio.NewReaderSize(r, 1<<20)
	var offset int64
	for {
		line, err := readLine(br)
		n := int64(len(line))
		if errors.Is(err, io.EOF) {
			if n > 0 {
				yield(line, offset, false)
			}
			return nil
		}
		if err != nil {
			return err
		}
		if !yield(line[:n-1], offset, true) {
			return nil
		}
		offset += n
	}
}

// errLong is a line that no log wrote: it is longer than an entry may be.
var errLong = fmt.Errorf("the line is longer than %d bytes", maxLine)

// readLine reads up to and with a newline. The result is good until the next
// call only where it fits the buffer.
func readLine(br *bufio.Reader) ([]byte, error) {
	line, err := br.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, err
	}
	long := slices.Clone(line)
	for errors.Is(err, bufio.ErrBufferFull) {
		if len(long) > maxLine {
			return nil, errLong
		}
		line, err = br.ReadSlice('\n')
		long = append(long, line...)
	}
	return long, err
}

// Walk reads a log of a directory or file from its first entry and calls visit
// for each. It stops at the first fault, which it returns; a last line without a
// newline is told through the fault TornTail, after everything before it was
// visited. Nothing is written.
func Walk(path string, visit func(Entry) error) (*Chain, error) {
	c := &Chain{}
	files, newest, err := opened(path)
	if err != nil {
		return c, err
	}
	if newest != nil {
		defer newest.Close()
	}
	if len(files) == 0 {
		return c, &Fault{Seq: 1, Code: Malformed, Text: "there is no journal", File: filepath.Join(path, current)}
	}
	for i, file := range files {
		if err := walkFile(c, file, i == len(files)-1, newest, visit); err != nil {
			return c, err
		}
	}
	if c.Seq == 0 {
		return c, &Fault{Seq: 1, Code: Malformed, Text: "the journal is empty", File: files[0]}
	}
	return c, nil
}

// opened lists the segments of a log with the newest one opened first: a
// rotation that comes in between only gives it another name.
func opened(path string) ([]string, *os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	last := path
	if info.IsDir() {
		last = filepath.Join(path, current)
	}
	// A rotation renames the newest file and then makes another: between the two
	// looks it may have no name in the list, and between the two steps there is
	// none to open. Look again then.
	const tries = 1000
	for range tries {
		newest, err := os.Open(last)
		missing := errors.Is(err, fs.ErrNotExist)
		if err != nil && !missing {
			return nil, nil, err
		}
		files, err := Segments(path)
		switch {
		case err != nil:
		case missing && (len(files) == 0 || files[len(files)-1] != last):
			return files, nil, nil
		case missing:
			continue
		default:
			var same os.FileInfo
			if same, err = newest.Stat(); err == nil {
				if i := indexOf(files, same); i >= 0 {
					return files[:i+1], newest, nil
				}
			}
		}
		if newest != nil {
			err = errors.Join(err, newest.Close())
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return nil, nil, fmt.Errorf("journal: %s is rotated faster than it can be read", path)
}

func indexOf(files []string, same os.FileInfo) int {
	return slices.IndexFunc(files, func(file string) bool {
		info, err := os.Stat(file)
		return err == nil && os.SameFile(info, same)
	})
}

func walkFile(c *Chain, file string, last bool, newest *os.File, visit func(Entry) error) error {
	f := newest
	if !last || newest == nil {
		older, err := os.Open(file)
		if err != nil {
			return err
		}
		defer older.Close()
		f = older
	}
	number := 0
	var failed error
	err := lines(f, func(line []byte, _ int64, complete bool) bool {
		number++
		if !complete && last {
			failed = &Fault{Seq: c.Seq + 1, Code: TornTail, Text: "the last line has no newline and is left as it is", File: file, Line: number}
			return false
		}
		e, fault := c.Next(line)
		if fault == nil && !complete {
			fault = &Fault{Seq: e.Seq, Code: Malformed, Text: "a closed segment ends without a newline"}
		}
		if fault != nil {
			fault.File, fault.Line = file, number
			failed = fault
			return false
		}
		failed = visit(e)
		return failed == nil
	})
	if errors.Is(err, errLong) {
		failed = &Fault{Seq: c.Seq + 1, Code: Malformed, Text: err.Error(), File: file, Line: number + 1}
	}
	if failed != nil {
		return failed
	}
	return err
}
