package journal

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"github.com/conjunct-project/conjunct/action"
)

const start = 1772443800

func none(Entry) error { return nil }

// draft is a small entry; the body is canonical.
func draft(n int) Draft {
	return Draft{Time: start + int64(n), Op: "attempt", Body: fmt.Appendf(nil, `{"n":%d,"text":"durable, \",\"hash\" and more"}`, n)}
}

// logOf writes batches of the given sizes into a new directory.
func logOf(t testing.TB, segment int64, batches ...int) string {
	t.Helper()
	dir := t.TempDir()
	if err := Create(dir); err != nil {
		t.Fatal(err)
	}
	l := openLog(t, dir, segment)
	n := 0
	for _, size := range batches {
		var drafts []Draft
		for range size {
			n++
			drafts = append(drafts, draft(n))
		}
		if _, err := l.Append(drafts); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func openLog(t testing.TB, dir string, segment int64) *Log {
	t.Helper()
	l, err := Open(dir, segment, none)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func contents(t testing.TB, dir string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, current))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// walked reads a journal.jsonl of the given content.
func readLog(t testing.TB, dir string, text []byte) (entries []Entry, err error) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, current), text, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = Walk(dir, func(e Entry) error {
		e.Body = slices.Clone(e.Body)
		entries = append(entries, e)
		return nil
	})
	return entries, err
}

// damage is one change of a journal and the first entry that it touches.
type damage struct {
	name string
	text []byte
	seq  int // the number of the first entry that is not as it was
	torn bool
}

// TestDamageIsFoundAtItsEntry flips every byte, and drops, doubles, swaps and
// cuts every line of a log of eight entries in five batches. Reading names the
// entry; opening refuses, or cuts what no later entry claims to be on disk. What
// is before the damage is read as it was, and nothing else is ever accepted.
func TestDamageIsFoundAtItsEntry(t *testing.T) {
	dir := logOf(t, 0, 1, 2, 1, 3, 1)
	whole := contents(t, dir)
	lines := bytes.SplitAfter(whole, []byte("\n"))
	lines = lines[:len(lines)-1]
	original, err := readLog(t, dir, whole)
	if err != nil || len(original) != 8 {
		t.Fatal(err, len(original))
	}
	var all []damage
	add := func(seq int, torn bool, text []byte, format string, args ...any) {
		all = append(all, damage{fmt.Sprintf(format, args...), text, seq, torn})
	}
	join := func(l ...[]byte) []byte { return bytes.Join(l, nil) }
	at := 0
	for i, line := range lines {
		for k := range line {
			for _, bit := range []byte{1, 0x20, 0x80} {
				if (bit == 1 && k%2 != 0 || bit != 1 && k%13 != 0) && k < len(line)-1 {
					continue // a sample
				}
				text := bytes.Clone(whole)
				text[at+k] ^= bit
				last := i == len(lines)-1 && k == len(line)-1
				add(i+1, last, text, "bit %#x of byte %d of entry %d", bit, k, i+1)
			}
		}
		at += len(line)
		if i < len(lines)-1 {
			add(i+1, false, join(slices.Concat(lines[:i], lines[i+1:])...), "entry %d dropped", i+1)
			for j := i + 1; j < len(lines); j++ {
				swapped := slices.Clone(lines)
				swapped[i], swapped[j] = swapped[j], swapped[i]
				add(i+1, false, join(swapped...), "entries %d and %d swapped", i+1, j+1)
			}
		}
		add(i+2, false, join(slices.Concat(lines[:i+1], lines[i:])...), "entry %d doubled", i+1)
		add(i+2, false, join(slices.Concat(lines[:i+1], [][]byte{[]byte("\n")}, lines[i+1:])...), "an empty line after entry %d", i+1)
		add(i+1, false, join(slices.Concat(lines[:i], [][]byte{[]byte(" ")}, lines[i:])...), "a space before entry %d", i+1)
		add(i+1, i == len(lines)-1, join(slices.Concat(lines[:i], [][]byte{bytes.Repeat([]byte{0}, len(line))}, lines[i+1:])...), "entry %d is zeros", i+1)
		add(i+1, false, bytes.Replace(whole, line, bytes.Replace(line, []byte("\n"), []byte("\r\n"), 1), 1), "a carriage return in entry %d", i+1)
	}
	for n := range whole {
		entry := bytes.Count(whole[:n], []byte("\n"))
		if n > 0 && whole[n-1] != '\n' {
			add(entry+1, true, whole[:n], "cut at byte %d", n)
		}
	}
	for _, tail := range []string{"x", `{"body":`, "\x00\x00\x00\x00"} {
		add(9, true, append(bytes.Clone(whole), tail...), "%q after the last entry", tail)
	}
	t.Logf("%d kinds of damage", len(all))
	for _, d := range all {
		got, err := readLog(t, dir, d.text)
		var fault *Fault
		if !errors.As(err, &fault) || fault.Seq != uint64(d.seq) || (fault.Code == TornTail) != (d.torn) {
			t.Fatalf("%s: got %v, want a fault at entry %d, torn %v", d.name, err, d.seq, d.torn)
		}
		if !equal(got, original[:d.seq-1]) {
			t.Fatalf("%s: %d entries were read before it, changed ones among them", d.name, len(got))
		}
		openDamaged(t, dir, d, original)
	}
}

func equal(a, b []Entry) bool {
	return slices.EqualFunc(a, b, func(x, y Entry) bool {
		return x.Seq == y.Seq && x.Time == y.Time && x.Hash == y.Hash && x.Prev == y.Prev && x.Op == y.Op && x.Durable == y.Durable && bytes.Equal(x.Body, y.Body)
	})
}

// openDamaged opens a damaged log: it is refused and left as it is, or cut to
// the entries before the damage, where nobody claimed more.
func openDamaged(t *testing.T, dir string, d damage, original []Entry) {
	t.Helper()
	var got []Entry
	l, err := Open(dir, 0, func(e Entry) error {
		e.Body = slices.Clone(e.Body)
		got = append(got, e)
		return nil
	})
	if err != nil {
		if l != nil || !bytes.Equal(contents(t, dir), d.text) {
			t.Fatalf("%s: refused (%v), and changed", d.name, err)
		}
		if d.torn {
			t.Fatalf("%s: a torn tail is refused: %v", d.name, err)
		}
		return
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if !equal(got, original[:d.seq-1]) {
		t.Fatalf("%s: opened with other entries", d.name)
	}
	// Entries that still stand in the text after the damage may claim it.
	for _, line := range bytes.Split(d.text, []byte("\n")) {
		if e, err := parseLine(line); err == nil && e.Durable >= uint64(d.seq) {
			t.Fatalf("%s: cut, and entry %d knew that it was on disk", d.name, e.Seq)
		}
	}
	if l.Cut == 0 || int64(len(d.text))-l.Cut != int64(len(contents(t, dir))) {
		t.Fatalf("%s: told %d bytes, %d of %d are left", d.name, l.Cut, len(contents(t, dir)), len(d.text))
	}
	if again, err := readLog(t, dir, contents(t, dir)); d.seq > 1 && (err != nil || !equal(again, original[:d.seq-1])) {
		t.Fatalf("%s: after the cut: %v", d.name, err)
	}
}

// TestTheDurableRule damages an entry of the last batch, which nobody claims, and
// one that a later batch claims.
func TestTheDurableRule(t *testing.T) {
	for _, c := range []struct {
		name    string
		batches []int
		damage  int // the line that is made garbage
		opens   int // how many entries are left; -1: refused
	}{
		{"the last batch, its first entry", []int{1, 3}, 2, 1},
		{"the last batch, in the middle", []int{1, 3}, 3, 2},
		{"the last batch, its last entry", []int{1, 3}, 4, 3},
		{"a batch before the last, its last entry", []int{1, 3, 1}, 4, -1},
		{"a batch before the last, its first entry", []int{1, 3, 2}, 2, -1},
		{"the only batch", []int{4}, 1, 0},
		{"the first of many", []int{1, 1, 1}, 1, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := logOf(t, 0, c.batches...)
			lines := bytes.SplitAfter(contents(t, dir), []byte("\n"))
			lines[c.damage-1] = []byte("\x00\x00garbage\n")
			text := bytes.Join(lines, nil)
			if err := os.WriteFile(filepath.Join(dir, current), text, 0o600); err != nil {
				t.Fatal(err)
			}
			l, err := Open(dir, 0, none)
			if c.opens < 0 {
				var fault *Fault
				if !errors.As(err, &fault) || fault.Seq != uint64(c.damage) || !bytes.Equal(text, contents(t, dir)) {
					t.Fatalf("got %v, want a fault at entry %d and nothing changed", err, c.damage)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if seq, _ := l.Head(); seq != uint64(c.opens) || l.Cut == 0 {
				t.Fatalf("head %d, cut %d; want %d entries", seq, l.Cut, c.opens)
			}
			more, err := l.Append([]Draft{draft(9)})
			if err != nil || more[0].Seq != uint64(c.opens)+1 || more[0].Durable != uint64(c.opens) {
				t.Fatalf("%v %+v", err, more)
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			if chain, err := Walk(dir, none); err != nil || chain.Seq != uint64(c.opens)+1 {
				t.Fatalf("%v %+v", err, chain)
			}
		})
	}
}

// TestTheLastNewline is gone from an older segment: one byte is missing of what
// is closed.
func TestTheLastNewline(t *testing.T) {
	dir := logOf(t, 1, 1, 1, 1)
	path := filepath.Join(dir, "journal.2.jsonl")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text[:len(text)-1], 0o600); err != nil {
		t.Fatal(err)
	}
	var fault *Fault
	if _, err := Walk(dir, none); !errors.As(err, &fault) {
		t.Fatalf("got %v, want a fault in the closed segment", err)
	}
}

// failing is a segment that fails in one way.
type failing struct {
	file
	write func(f file, b []byte) (int, error)
	sync  func(f file) error
	stat  func(f file) (os.FileInfo, error)
}

func (b *failing) Write(p []byte) (int, error) {
	if b.write != nil {
		return b.write(b.file, p)
	}
	return b.file.Write(p)
}

func (b *failing) Sync() error {
	if b.sync != nil {
		return b.sync(b.file)
	}
	return b.file.Sync()
}

func (b *failing) Stat() (os.FileInfo, error) {
	if b.stat != nil {
		return b.stat(b.file)
	}
	return b.file.Stat()
}

// TestAfterAnErrorNothingIsAppended breaks a write in every way. The log stays
// closed until it is opened again, with all of the batch, a beginning of it, or
// nothing, and a chain that verifies.
func TestAfterAnErrorNothingIsAppended(t *testing.T) {
	half := func(f file, b []byte, err error) (int, error) {
		n, werr := f.Write(b[:len(b)/2])
		return n, errors.Join(werr, err)
	}
	for _, c := range []struct {
		name    string
		failing failing
		want    error
	}{
		{"no space", failing{write: func(file, []byte) (int, error) { return 0, syscall.ENOSPC }}, syscall.ENOSPC},
		{"no space in the middle", failing{write: func(f file, b []byte) (int, error) { return half(f, b, syscall.ENOSPC) }}, syscall.ENOSPC},
		{"a short write", failing{write: func(f file, b []byte) (int, error) { return half(f, b, nil) }}, io.ErrShortWrite},
		{"all but the newline", failing{write: func(f file, b []byte) (int, error) { return f.Write(b[:len(b)-1]) }}, io.ErrShortWrite},
		{"written, not synced", failing{sync: func(file) error { return syscall.EIO }}, syscall.EIO},
		{"stat fails", failing{stat: func(file) (os.FileInfo, error) { return nil, syscall.EIO }}, syscall.EIO},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := logOf(t, 0, 2)
			l := openLog(t, dir, 0)
			seq, hash := l.Head()
			b := c.failing
			b.file = l.file
			l.file = &b
			entries, err := l.Append([]Draft{draft(3), draft(4), draft(5)})
			if !errors.Is(err, ErrPoisoned) || !errors.Is(err, c.want) || entries != nil {
				t.Fatalf("got %v, %v", entries, err)
			}
			l.file = b.file
			size := len(contents(t, dir))
			for range 3 {
				if entries, err := l.Append([]Draft{draft(6)}); !errors.Is(err, ErrPoisoned) || entries != nil {
					t.Fatalf("after it: %v, %v", entries, err)
				}
			}
			if s, h := l.Head(); s != seq || h != hash || len(contents(t, dir)) != size {
				t.Fatal("the head moved, or something was written")
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			again := openLog(t, dir, 0)
			if s, _ := again.Head(); s < 2 || s > 5 {
				t.Fatalf("head %d", s)
			}
			if _, err := again.Append([]Draft{draft(6)}); err != nil {
				t.Fatal(err)
			}
			if err := again.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := Walk(dir, none); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestOneWriter holds the lock against a second opening.
func TestOneWriter(t *testing.T) {
	dir := logOf(t, 0, 1)
	l := openLog(t, dir, 0)
	if _, err := Open(dir, 0, none); !errors.Is(err, ErrLocked) {
		t.Fatalf("got %v, want ErrLocked", err)
	}
	if _, err := Walk(dir, none); err != nil {
		t.Fatalf("reading takes no lock: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append([]Draft{draft(2)}); err == nil {
		t.Fatal("appended to a closed log")
	}
	again := openLog(t, dir, 0)
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
	// An opening that failed gives the lock back.
	if _, err := Open(dir, 0, func(Entry) error { return io.ErrUnexpectedEOF }); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatal(err)
	}
	again = openLog(t, dir, 0)
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestSomebodyElse meddles with an open log: the next append writes nothing.
func TestSomebodyElse(t *testing.T) {
	for _, c := range []struct {
		name   string
		meddle func(dir string) error
	}{
		{"the lock is deleted", func(dir string) error { return os.Remove(filepath.Join(dir, "lock")) }},
		{"the lock is replaced", func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, "lock")), os.WriteFile(filepath.Join(dir, "lock"), nil, 0o600))
		}},
		{"the journal is deleted", func(dir string) error { return os.Remove(filepath.Join(dir, current)) }},
		{"the journal is replaced by its copy", func(dir string) error {
			text, err := os.ReadFile(filepath.Join(dir, current))
			return errors.Join(err, os.Rename(filepath.Join(dir, current), filepath.Join(dir, "old")), os.WriteFile(filepath.Join(dir, current), text, 0o600))
		}},
		{"the journal is appended to", func(dir string) error {
			f, err := os.OpenFile(filepath.Join(dir, current), os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = f.WriteString("{}\n")
			return errors.Join(err, f.Close())
		}},
		{"the journal is cut", func(dir string) error { return os.Truncate(filepath.Join(dir, current), 10) }},
		{"the directory is moved", func(dir string) error { return os.Rename(dir, dir+"-moved") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "log")
			if err := os.CopyFS(dir, os.DirFS(logOf(t, 0, 2))); err != nil {
				t.Fatal(err)
			}
			l := openLog(t, dir, 0)
			defer l.Close()
			if err := c.meddle(dir); err != nil {
				t.Fatal(err)
			}
			info, err := l.file.Stat()
			if err != nil {
				t.Fatal(err)
			}
			if entries, err := l.Append([]Draft{draft(3)}); !errors.Is(err, ErrPoisoned) || entries != nil {
				t.Fatalf("got %v, %v", entries, err)
			}
			after, err := l.file.Stat()
			if err != nil || after.Size() != info.Size() {
				t.Fatalf("%d bytes were written before anybody looked", after.Size()-info.Size())
			}
		})
	}
}

// TestTimeNeverDecreases appends drafts whose clock goes back.
func TestTimeNeverDecreases(t *testing.T) {
	dir := logOf(t, 0, 1)
	l := openLog(t, dir, 0)
	defer l.Close()
	entries, err := l.Append([]Draft{{Time: 5000, Op: "x", Body: []byte("{}")}, {Time: start + 100, Op: "x", Body: []byte("{}")}, {Time: start + 99, Op: "x", Body: []byte("{}")}})
	if err != nil {
		t.Fatal(err)
	}
	if entries[0].Time != start+1 || entries[1].Time != start+100 || entries[2].Time != start+100 || l.Clock() != start+100 {
		t.Fatalf("%d %d %d %d", entries[0].Time, entries[1].Time, entries[2].Time, l.Clock())
	}
	// A line that goes back, with a hash of its own, does not verify.
	e := Entry{Seq: 5, Time: start, Prev: entries[2].Hash, Durable: 4, Op: "x", Body: []byte("{}")}
	e.Hash = new(hasher).of(&e, nil)
	if got, err := readLog(t, dir, append(contents(t, dir), append(e.appendLine(nil), '\n')...)); err == nil || len(got) != 4 {
		t.Fatalf("%v after %d entries", err, len(got))
	}
}

// TestADraftThatCannotBeReadBack is not written: an append that succeeds is one
// that opens again.
func TestADraftThatCannotBeReadBack(t *testing.T) {
	for _, c := range []struct {
		name string
		d    Draft
	}{
		{"an operation with other letters", Draft{Time: start, Op: "invalid(99)", Body: []byte("{}")}},
		{"no operation", Draft{Time: start, Op: "", Body: []byte("{}")}},
		{"the year 10000", Draft{Time: 253402300800, Op: "x", Body: []byte("{}")}},
		{"a line longer than can be read", Draft{Time: start, Op: "x", Body: []byte(`{"a":"` + strings.Repeat("x", maxLine+2<<20) + `"}`)}},
		{"a newline in the body", Draft{Time: start, Op: "x", Body: []byte("{\n}")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := logOf(t, 0, 1)
			l := openLog(t, dir, 0)
			_, err := l.Append([]Draft{c.d})
			_ = l.Close()
			if err != nil {
				return
			}
			if chain, err := Walk(dir, none); err != nil || chain.Seq != 2 {
				t.Fatalf("appended without an error, and reading it gives %v", err)
			}
		})
	}
}

// TestABodyHashedAheadGivesTheSameEntries appends the same drafts with and without
// their bodies hashed before.
func TestABodyHashedAheadGivesTheSameEntries(t *testing.T) {
	var files [2][]byte
	for i := range files {
		dir := logOf(t, 0, 0)
		l := openLog(t, dir, 0)
		for n := range 4 {
			drafts := []Draft{draft(2 * n), draft(2*n + 1)}
			if i == 1 {
				h := sha256.New()
				drafts[n%2].Begin(h)
				if n == 3 {
					drafts[0].Begin(sha256.New())
				}
			}
			if _, err := l.Append(drafts); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		files[i] = contents(t, dir)
		if chain, err := Walk(dir, none); err != nil || chain.Seq != 8 {
			t.Fatalf("%v after %d entries", err, chain.Seq)
		}
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Errorf("hashed ahead:\n%s\nnot:\n%s", files[1], files[0])
	}
}

// TestCanonicalForm holds every line to RFC 8785 by another writer, and finds
// every other spelling of the same JSON.
func TestCanonicalForm(t *testing.T) {
	dir := logOf(t, 0, 1, 2)
	for i, line := range bytes.Split(bytes.TrimSuffix(contents(t, dir), []byte("\n")), []byte("\n")) {
		canonical, err := action.Canonical(line)
		if err != nil || !bytes.Equal(canonical, line) {
			t.Fatalf("line %d: %v\n%s\n%s", i+1, err, line, canonical)
		}
		e, err := parseLine(line)
		if err != nil || !bytes.Equal(e.appendLine(nil), line) {
			t.Fatalf("line %d: %v, and it is written as %s", i+1, err, e.appendLine(nil))
		}
	}
	first, _, _ := bytes.Cut(contents(t, dir), []byte("\n"))
	respell := func(old, new string) string {
		if !strings.Contains(string(first), old) {
			t.Fatalf("%s holds no %s", first, old)
		}
		return strings.Replace(string(first), old, new, 1)
	}
	for _, other := range []string{
		string(first) + " ", " " + string(first), respell(`,"seq":`, `, "seq":`), respell(`"seq":1`, `"seq":1.0`), respell(`"seq":1`, `"seq":1e0`),
		respell(`"seq":1`, `"seq":01`), respell(`"op":"attempt"`, `"op":"\u0061ttempt"`), respell(`"n":1`, `"n": 1`), respell(`"n":1`, `"n":1.0`),
		respell(`"text"`, `"te\u0078t"`), respell(`Z"}`, `+00:00"}`), respell(`Z"}`, `.0Z"}`), respell(`"seq":1,"time"`, `"seq":1,"seq":1,"time"`),
		respell(`sha256:`, `SHA256:`), respell(`"prev":""`, `"prev":null`), respell(`,"seq":1`, ``), respell(`"time":"`, `"x":1,"time":"`),
		respell(`"durable":0`, `"durable":-0`), strings.ToUpper(string(first)),
	} {
		var c Chain
		if _, fault := c.Next([]byte(other)); fault == nil || fault.Seq != 1 || c.Seq != 0 {
			t.Errorf("accepted as entry 1: %s", other)
		}
	}
}

// TestRotation carries the chain over segments and reads any of them with the
// older ones beside it.
func TestRotation(t *testing.T) {
	dir := logOf(t, 300, 1, 1, 3, 1, 2, 1)
	more := openLog(t, dir, 0)
	if _, err := more.Append([]Draft{draft(10)}); err != nil {
		t.Fatal(err)
	}
	if err := more.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := Segments(dir)
	if err != nil || len(files) < 4 {
		t.Fatal(files, err)
	}
	chain, err := Walk(dir, none)
	if err != nil || chain.Seq != 10 {
		t.Fatalf("%+v %v", chain, err)
	}
	last := uint64(0)
	for i, file := range files[:len(files)-1] {
		if filepath.Base(file) != fmt.Sprintf("journal.%d.jsonl", i+1) {
			t.Errorf("segment %d is %s", i+1, file)
		}
		c, err := Walk(file, none)
		if err != nil || c.Seq <= last {
			t.Fatalf("%s: %+v, %v", file, c, err)
		}
		last = c.Seq
	}
	l := openLog(t, dir, 300)
	if seq, hash := l.Head(); seq != 10 || hash != chain.Hash {
		t.Fatalf("opened at %d", seq)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for i, file := range files[:len(files)-1] {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		// Without a segment in the middle, and with a byte of it changed, what comes
		// after does not follow; opening refuses and changes nothing.
		for _, change := range []func() error{
			func() error { return os.Remove(file) },
			func() error { return os.WriteFile(file, nil, 0o600) },
			func() error { return os.WriteFile(file, bytes.Replace(text, []byte(`"n":`), []byte(`"m":`), 1), 0o600) },
			func() error { return os.WriteFile(file, text[:len(text)/2], 0o600) },
		} {
			if err := change(); err != nil {
				t.Fatal(err)
			}
			var fault *Fault
			if _, err := Walk(dir, none); !errors.As(err, &fault) || fault.Code == TornTail {
				t.Errorf("segment %d: reading gives %v", i+1, err)
			}
			if l, err := Open(dir, 300, none); err == nil {
				t.Errorf("segment %d: opened", i+1)
				_ = l.Close()
			}
		}
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Walk(dir, none); err != nil {
		t.Fatal(err)
	}
}

// TestACrashInARotation happened between its steps: the log opens again.
func TestACrashInARotation(t *testing.T) {
	t.Run("the full segment is renamed and there is no new one", func(t *testing.T) {
		dir := logOf(t, 0, 3)
		if err := os.Rename(filepath.Join(dir, current), filepath.Join(dir, "journal.1.jsonl")); err != nil {
			t.Fatal(err)
		}
		l, err := Open(dir, 1, none)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if e, err := l.Append([]Draft{draft(4)}); err != nil || e[0].Seq != 4 {
			t.Fatalf("%v %v", e, err)
		}
	})
	t.Run("the new segment is empty", func(t *testing.T) {
		dir := logOf(t, 1, 1, 1)
		l := openLog(t, dir, 1)
		defer l.Close()
		if e, err := l.Append([]Draft{draft(3)}); err != nil || e[0].Seq != 3 {
			t.Fatalf("%v %v", e, err)
		}
	})
}

// TestReadersWhileItRotates reads a log again and again while it is written to
// with tiny segments. A reader sees a beginning of the chain, and never damage.
func TestReadersWhileItRotates(t *testing.T) {
	dir := logOf(t, 0, 1)
	l := openLog(t, dir, 300)
	defer l.Close()
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				_, err := Walk(dir, none)
				var fault *Fault
				if err != nil && !(errors.As(err, &fault) && fault.Code == TornTail) {
					t.Errorf("a whole log, read while it rotates: %v", err)
					return
				}
			}
		})
	}
	for i := range 400 {
		if _, err := l.Append([]Draft{draft(i + 2)}); err != nil {
			t.Fatal(err)
		}
	}
	close(done)
	wg.Wait()
}

// TestWhatIsAppendedIsRead writes any batches with any segment size, opening the
// log again now and then, and reads them all.
func TestWhatIsAppendedIsRead(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		dir, err := os.MkdirTemp("", "journal-")
		if err != nil {
			r.Fatal(err)
		}
		defer os.RemoveAll(dir)
		if err := Create(dir); err != nil {
			r.Fatal(err)
		}
		var want []Entry
		for range rapid.IntRange(1, 4).Draw(r, "openings") {
			var again []Entry
			l, err := Open(dir, rapid.Int64Range(1, 2000).Draw(r, "segment"), func(e Entry) error {
				e.Body = slices.Clone(e.Body)
				again = append(again, e)
				return nil
			})
			if err != nil || !equal(again, want) || l.Cut != 0 {
				r.Fatalf("%v: %d entries, want %d", err, len(again), len(want))
			}
			for range rapid.IntRange(0, 4).Draw(r, "batches") {
				var drafts []Draft
				for range rapid.IntRange(1, 4).Draw(r, "size") {
					body, err := action.CanonicalValue(map[string]any{"text": rapid.String().Draw(r, "text"), "n": rapid.Float64Range(-1e9, 1e9).Draw(r, "n")})
					if err != nil {
						r.Fatal(err)
					}
					drafts = append(drafts, Draft{Time: rapid.Int64Range(0, 1<<33).Draw(r, "time"), Op: rapid.StringMatching(`[a-z_]{1,32}`).Draw(r, "op"), Body: body})
				}
				entries, err := l.Append(drafts)
				if err != nil {
					r.Fatal(err)
				}
				for _, e := range entries {
					if want == nil {
						if e.Seq != 1 || e.Prev != "" {
							r.Fatalf("the first entry is %+v", e)
						}
					} else if before := want[len(want)-1]; e.Seq != before.Seq+1 || e.Prev != before.Hash || e.Time < before.Time || e.Durable >= e.Seq {
						r.Fatalf("%+v follows %+v", e, before)
					}
					want = append(want, e)
				}
			}
			if err := l.Close(); err != nil {
				r.Fatal(err)
			}
		}
	})
}

// FuzzLine reads any line: no panic, and what is accepted is written back as it
// was and follows nothing else.
func FuzzLine(f *testing.F) {
	e := Entry{Seq: 1, Time: start, Op: "attempt", Body: []byte(`{"a":",\"durable\":0"}`)}
	e.Hash = new(hasher).of(&e, nil)
	f.Add(e.appendLine(nil))
	f.Add([]byte(`{"body":{},"durable":0,"hash":"sha256:` + strings.Repeat("0", 64) + `","op":"x","prev":"","seq":1,"time":"2026-03-02T09:30:00Z"}`))
	f.Add([]byte(`{"body":`))
	f.Add([]byte(`{"body":,"durable":`))
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := parseLine(line)
		if err == nil && !bytes.Equal(e.appendLine(nil), line) {
			t.Fatalf("%s is written back as %s", line, e.appendLine(nil))
		}
		var c Chain
		got, fault := c.Next(line)
		switch {
		case fault != nil && (fault.Seq != 1 || c.Seq != 0):
			t.Fatalf("a fault moved the chain: %+v %+v", fault, c)
		case fault == nil && (err != nil || got.Hash != e.Hash || c.Seq != 1 || c.Hash != e.Hash):
			t.Fatalf("accepted: %v %+v %+v", err, got, c)
		case fault == nil:
			if _, again := c.Next(line); again == nil {
				t.Fatal("an entry follows itself")
			}
		}
	})
}
