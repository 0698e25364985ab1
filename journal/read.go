package journal

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
)

// current is the segment that is written to; older ones are journal.N.jsonl.
const current = "journal.jsonl"

// maxLine bounds an entry: an action of full size in its own objects, escaped.
const maxLine = 16 << 20

var segmentName = regexp.MustCompile(`^journal\.([1-9][0-9]*)\.jsonl$`)

// Segments lists the files of a log in order: of a directory, or of a file and
// the older segments beside it.
func Segments(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	dir, last := path, filepath.Join(path, current)
	if !info.IsDir() {
		dir, last = filepath.Dir(path), path
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	numbers := map[int]string{}
	var order []int
	limit := -1
	if m := segmentName.FindStringSubmatch(filepath.Base(last)); m != nil {
		limit, _ = strconv.Atoi(m[1])
	}
	for _, e := range entries {
		if m := segmentName.FindStringSubmatch(e.Name()); m != nil {
			n, err := strconv.Atoi(m[1])
			if err != nil || limit >= 0 && n >= limit {
				continue
			}
			numbers[n] = filepath.Join(dir, e.Name())
			order = append(order, n)
		}
	}
	slices.Sort(order)
	var out []string
	for _, n := range order {
		out = append(out, numbers[n])
	}
	if _, err := os.Stat(last); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	} else if err == nil {
		out = append(out, last)
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

func (f *Fault) Error() string {
	return fmt.Sprintf("entry %d (%s:%d): %s", f.Seq, filepath.Base(f.File), f.Line, f.Text)
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
	Seq     uint64
	Hash    string
	Time    int64
	scratch []byte
}

// Next checks one line and moves on. The entry's body is part of line.
func (c *Chain) Next(line []byte) (Entry, *Fault) {
	fault := func(code, text string) *Fault { return &Fault{Seq: c.Seq + 1, Code: code, Text: text} }
	e, err := parseLine(line)
	if err != nil {
		return e, fault(Malformed, err.Error())
	}
	var ok bool
	if c.scratch, ok = e.verify(c.scratch); !ok {
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
			return nil, fmt.Errorf("journal: a line is longer than %d bytes", maxLine)
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
	files, err := Segments(path)
	if err != nil {
		return c, err
	}
	if len(files) == 0 {
		return c, &Fault{Seq: 1, Code: Malformed, Text: "there is no journal", File: filepath.Join(path, current)}
	}
	for i, file := range files {
		if err := walkFile(c, file, i == len(files)-1, visit); err != nil {
			return c, err
		}
	}
	if c.Seq == 0 {
		return c, &Fault{Seq: 1, Code: Malformed, Text: "the journal is empty", File: files[0]}
	}
	return c, nil
}

func walkFile(c *Chain, file string, last bool, visit func(Entry) error) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	number := 0
	var failed error
	err = lines(f, func(line []byte, _ int64, complete bool) bool {
		number++
		if !complete && last {
			failed = &Fault{Seq: c.Seq + 1, Code: TornTail, Text: "the last line has no newline and is left as it is", File: file, Line: number}
			return false
		}
		e, fault := c.Next(line)
		if fault != nil {
			fault.File, fault.Line = file, number
			failed = fault
			return false
		}
		failed = visit(e)
		return failed == nil
	})
	if failed != nil {
		return failed
	}
	return err
}
