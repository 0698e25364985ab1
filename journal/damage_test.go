package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// small makes a log of batches with the given sizes and returns its directory
// and its lines, each with its newline.
func small(t *testing.T, batches ...int) (string, [][]byte) {
	t.Helper()
	dir := t.TempDir()
	if err := Create(dir); err != nil {
		t.Fatal(err)
	}
	l, err := Open(dir, 0, func(Entry) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, size := range batches {
		var drafts []Draft
		for range size {
			n++
			drafts = append(drafts, Draft{Time: int64(1000 + n), Op: "test", Body: fmt.Appendf(nil, `{"n":%d,"text":",\"durable\":"}`, n)})
		}
		if _, err := l.Append(drafts); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, read(t, dir)
}

func read(t *testing.T, dir string) [][]byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, current))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.SplitAfter(text, []byte("\n"))[:bytes.Count(text, []byte("\n"))]
}

func put(t *testing.T, dir string, text []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, current), text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// walked reads a log to its end and returns the number of good entries and the
// fault that ended it.
func walked(t *testing.T, dir string) (int, *Fault) {
	t.Helper()
	n := 0
	_, err := Walk(dir, func(Entry) error { n++; return nil })
	var fault *Fault
	if err != nil && !errors.As(err, &fault) {
		t.Fatal(err)
	}
	return n, fault
}

// reopened opens a log for writing and returns how many entries it has then, or
// the error.
func reopened(t *testing.T, dir string) (int, int64, error) {
	t.Helper()
	n := 0
	l, err := Open(dir, 0, func(Entry) error { n++; return nil })
	if err != nil {
		return 0, 0, err
	}
	cut := l.Cut
	return n, cut, l.Close()
}

func TestEveryFlippedByteIsFoundAtItsEntry(t *testing.T) {
	dir, lines := small(t, 1, 2, 1)
	whole := bytes.Join(lines, nil)
	entry, start := 0, 0
	for i := range whole {
		if i == start+len(lines[entry]) {
			start, entry = i, entry+1
		}
		for _, mask := range []byte{0x01, 0x20, 0x80} {
			damaged := bytes.Clone(whole)
			damaged[i] ^= mask
			put(t, dir, damaged)
			n, fault := walked(t, dir)
			if fault == nil {
				t.Fatalf("byte %d of entry %d flipped by %#x: %d entries and no fault", i-start, entry+1, mask, n)
			}
			// A newline that becomes something else joins two entries, and the last
			// one has no end then.
			if fault.Seq != uint64(entry+1) || n != entry {
				t.Fatalf("byte %d of entry %d flipped by %#x: fault %v after %d entries", i-start, entry+1, mask, fault, n)
			}
		}
	}
}

func TestDroppedSwappedAndDuplicatedEntriesAreFound(t *testing.T) {
	dir, lines := small(t, 1, 2, 1, 3)
	for i := range lines {
		dropped := append(append([][]byte{}, lines[:i]...), lines[i+1:]...)
		put(t, dir, bytes.Join(dropped, nil))
		n, fault := walked(t, dir)
		switch {
		case i == len(lines)-1:
			// A cut tail looks whole; only the head tells.
			if fault != nil || n != len(lines)-1 {
				t.Errorf("the last entry dropped: %d entries, %v", n, fault)
			}
		case fault == nil || fault.Seq != uint64(i+1):
			t.Errorf("entry %d dropped: %d entries, %v", i+1, n, fault)
		}
		twice := append(append(append([][]byte{}, lines[:i+1]...), lines[i]), lines[i+1:]...)
		put(t, dir, bytes.Join(twice, nil))
		if _, fault := walked(t, dir); fault == nil || fault.Seq != uint64(i+2) {
			t.Errorf("entry %d twice: %v", i+1, fault)
		}
		for k := i + 1; k < len(lines); k++ {
			swapped := append([][]byte{}, lines...)
			swapped[i], swapped[k] = swapped[k], swapped[i]
			put(t, dir, bytes.Join(swapped, nil))
			if _, fault := walked(t, dir); fault == nil || fault.Seq != uint64(i+1) {
				t.Errorf("entries %d and %d swapped: %v", i+1, k+1, fault)
			}
		}
	}
}

// TestATornTailIsCutAndNothingElse truncates a log at every byte. What is whole
// stays, what is torn goes, and an entry that ended well is never lost.
func TestATornTailIsCutAndNothingElse(t *testing.T) {
	dir, lines := small(t, 1, 2, 2)
	whole := bytes.Join(lines, nil)
	for size := 1; size <= len(whole); size++ {
		complete, end := 0, 0
		for _, l := range lines {
			if end+len(l) > size {
				break
			}
			complete, end = complete+1, end+len(l)
		}
		put(t, dir, whole[:size])
		if n, fault := walked(t, dir); n != complete || (fault == nil) != (size == end) || fault != nil && complete > 0 && fault.Code != TornTail {
			t.Fatalf("%d bytes: %d entries, %v, want %d", size, n, fault, complete)
		}
		n, cut, err := reopened(t, dir)
		if err != nil || n != complete || cut != int64(size-end) {
			t.Fatalf("%d bytes: opened with %d entries, cut %d, %v; want %d and %d", size, n, cut, err, complete, size-end)
		}
		if left := len(bytes.Join(read(t, dir), nil)); left != end {
			t.Fatalf("%d bytes: %d left after opening, want %d", size, left, end)
		}
	}
}

func TestGarbageIsCutOnlyWhereNoLaterEntryClaimsItDurable(t *testing.T) {
	dir, lines := small(t, 1, 1, 2)
	zeros := func(i int) []byte {
		out := append([][]byte{}, lines...)
		line := make([]byte, len(lines[i]))
		line[len(line)-1] = '\n'
		out[i] = line
		return bytes.Join(out, nil)
	}
	// Entries 3 and 4 are of one batch: a crash may leave the second on disk and
	// not the first.
	put(t, dir, zeros(2))
	if n, cut, err := reopened(t, dir); err != nil || n != 2 || cut == 0 {
		t.Errorf("the first of a torn batch: %d entries, cut %d, %v; want 2 and a cut", n, cut, err)
	}
	// Entry 2 was on disk before 3 was written: it was damaged there.
	put(t, dir, zeros(1))
	if _, _, err := reopened(t, dir); err == nil {
		t.Error("an entry that was on disk is cut away")
	}
	if left := bytes.Count(bytes.Join(read(t, dir), nil), []byte("\n")); left != 4 {
		t.Errorf("%d lines left, want the log as it was", left)
	}
	// A whole entry with another hash was changed, the last one too.
	changed := append([][]byte{}, lines...)
	changed[3] = bytes.Replace(lines[3], []byte(`"n":4`), []byte(`"n":5`), 1)
	put(t, dir, bytes.Join(changed, nil))
	var fault *Fault
	if _, _, err := reopened(t, dir); !errors.As(err, &fault) || fault.Code != HashWrong || fault.Seq != 4 {
		t.Errorf("the last entry changed: %v", err)
	}
}

// What ends with a newline was written to its end, whatever stands in it: it was
// answered, so it is not cut away, and replay names it.
func TestALastLineThatWasWrittenToItsEndIsNeverCut(t *testing.T) {
	dir, lines := small(t, 1, 1, 1)
	last := lines[2]
	for name, line := range map[string][]byte{
		"a flipped brace":       append([]byte("[")[:1:1], last[1:]...),
		"a space":               append([]byte(" "), last...),
		"a carriage return":     append(bytes.Clone(last[:len(last)-1]), "\r\n"...),
		"another order of keys": append(bytes.Replace(last[:len(last)-2:len(last)-2], []byte(`{"body"`), []byte(`{"a":1,"body"`), 1), "}\n"...),
		"half of it":            append(bytes.Clone(last[:len(last)/2]), '\n'),
		"other text":            []byte("garbage\n"),
		"nothing":               []byte("\n"),
	} {
		text := slices.Concat(lines[0], lines[1], line)
		put(t, dir, text)
		var fault *Fault
		if _, _, err := reopened(t, dir); !errors.As(err, &fault) || fault.Seq != 3 {
			t.Errorf("%s: opening it gives %v, want a fault of entry 3", name, err)
		}
		if left, err := os.ReadFile(filepath.Join(dir, current)); err != nil || !bytes.Equal(left, text) {
			t.Errorf("%s: opening it changed the file (%v)", name, err)
		}
	}
}

// broken is a segment whose writes or syncs fail.
type broken struct {
	file
	write, sync error
	short       bool
}

func (b *broken) Write(p []byte) (int, error) {
	if b.write != nil {
		n, _ := b.file.Write(p[:len(p)/2])
		return n, b.write
	}
	if b.short {
		return b.file.Write(p[:len(p)-1])
	}
	return b.file.Write(p)
}

func (b *broken) Sync() error {
	if b.sync != nil {
		return b.sync
	}
	return b.file.Sync()
}

func TestAFailedWritePoisonsTheLogUntilItIsOpenedAgain(t *testing.T) {
	full := errors.New("no space left on device")
	for name, b := range map[string]*broken{"write": {write: full}, "sync": {sync: full}, "short write": {short: true}} {
		t.Run(name, func(t *testing.T) {
			dir, _ := small(t, 2)
			l, err := Open(dir, 0, func(Entry) error { return nil })
			if err != nil {
				t.Fatal(err)
			}
			b.file = l.file
			l.file = b
			draft := []Draft{{Time: 2000, Op: "test", Body: []byte(`{}`)}}
			if _, err := l.Append(draft); !errors.Is(err, ErrPoisoned) {
				t.Fatalf("got %v, want a poisoned log", err)
			}
			b.write, b.sync, b.short = nil, nil, false
			if _, err := l.Append(draft); !errors.Is(err, ErrPoisoned) {
				t.Fatalf("the disk has room again: got %v, want it poisoned still", err)
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			n, _, err := reopened(t, dir)
			if err != nil || n < 2 || n > 3 {
				t.Fatalf("opened again with %d entries, %v", n, err)
			}
			if m, fault := walked(t, dir); fault != nil || m != n {
				t.Fatalf("%d entries, %v", m, fault)
			}
		})
	}
}

func TestOneWriterAtATime(t *testing.T) {
	dir, _ := small(t, 1)
	l, err := Open(dir, 0, func(Entry) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := Open(dir, 0, func(Entry) error { return nil }); !errors.Is(err, ErrLocked) {
		t.Errorf("a second writer: %v", err)
	}
}

func TestALogThatSomebodyElseTouchedIsNotWritten(t *testing.T) {
	for name, touch := range map[string]func(dir string) error{
		"appended to": func(dir string) error {
			f, err := os.OpenFile(filepath.Join(dir, current), os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = io.WriteString(f, "x\n")
			return errors.Join(err, f.Close())
		},
		"replaced": func(dir string) error {
			path := filepath.Join(dir, current)
			text, err := os.ReadFile(path)
			return errors.Join(err, os.Rename(path, path+".old"), os.WriteFile(path, text, 0o600))
		},
		"removed":      func(dir string) error { return os.Remove(filepath.Join(dir, current)) },
		"lock removed": func(dir string) error { return os.Remove(filepath.Join(dir, "lock")) },
		"lock replaced": func(dir string) error {
			path := filepath.Join(dir, "lock")
			return errors.Join(os.Rename(path, path+".old"), os.WriteFile(path, nil, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, _ := small(t, 1)
			l, err := Open(dir, 0, func(Entry) error { return nil })
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			if err := touch(dir); err != nil {
				t.Fatal(err)
			}
			if _, err := l.Append([]Draft{{Time: 5000, Op: "test", Body: []byte(`{}`)}}); err == nil {
				t.Error("it is written to all the same")
			}
		})
	}
}

func TestTheChainGoesOnAcrossSegments(t *testing.T) {
	dir := t.TempDir()
	if err := Create(dir); err != nil {
		t.Fatal(err)
	}
	l, err := Open(dir, 600, func(Entry) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		// A clock that goes backwards does not take the log with it.
		if _, err := l.Append([]Draft{{Time: int64(5000 - i), Op: "test", Body: fmt.Appendf(nil, `{"n":%d}`, i)}}); err != nil {
			t.Fatal(err)
		}
	}
	seq, head := l.Head()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := Segments(dir)
	if err != nil || len(files) < 4 {
		t.Fatalf("%d segments, %v", len(files), err)
	}
	n := 0
	chain, err := Walk(dir, func(e Entry) error {
		n++
		if e.Time != 5000 {
			t.Errorf("entry %d has the time %d", e.Seq, e.Time)
		}
		return nil
	})
	if err != nil || n != 20 || chain.Hash != head || chain.Seq != seq {
		t.Fatalf("%d entries, head %s, %v", n, chain.Hash, err)
	}
	// A closed segment is read with the older ones beside it.
	middle := 0
	if _, err := Walk(files[1], func(Entry) error { middle++; return nil }); err != nil || middle == 0 || middle >= 20 {
		t.Errorf("up to %s: %d entries, %v", filepath.Base(files[1]), middle, err)
	}
	// Without the first one nothing verifies.
	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	if m, fault := walked(t, dir); fault == nil || m != 0 || fault.Seq != 1 {
		t.Errorf("the first segment removed: %d entries, %v", m, fault)
	}
}

// A line longer than any entry is damage like another: it has an entry's number,
// and it is never cut as the tail of a write that a crash stopped.
func TestALineLongerThanAnyEntryIsFoundAtItsEntry(t *testing.T) {
	dir, lines := small(t, 1, 1)
	long := bytes.Repeat([]byte("x"), maxLine+2<<20)
	for _, c := range []struct {
		name  string
		lines [][]byte
		seq   uint64
	}{
		{"in the middle", [][]byte{lines[0], long, []byte("\n"), lines[1]}, 2},
		{"at the end", [][]byte{lines[0], lines[1], long, []byte("\n")}, 3},
		{"at the end, not ended", [][]byte{lines[0], lines[1], long}, 3},
	} {
		text := bytes.Join(c.lines, nil)
		put(t, dir, text)
		if _, fault := walked(t, dir); fault == nil || fault.Code != Malformed || fault.Seq != c.seq {
			t.Errorf("%s: got %v, want a malformed entry %d", c.name, fault, c.seq)
		}
		var fault *Fault
		if _, _, err := reopened(t, dir); !errors.As(err, &fault) || fault.Seq != c.seq {
			t.Errorf("%s: opening it gives %v, want a fault of entry %d", c.name, err, c.seq)
		}
		if left, err := os.ReadFile(filepath.Join(dir, current)); err != nil || !bytes.Equal(left, text) {
			t.Errorf("%s: opening it changed the file (%v)", c.name, err)
		}
	}
}
