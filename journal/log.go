package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"github.com/gofrs/flock"
)

// DefaultSegment is the size at which a segment closes.
const DefaultSegment = 256 << 20

// ErrPoisoned is a log whose last write or sync failed. Open it again to see
// what is on disk.
var ErrPoisoned = errors.New("journal: an earlier write failed; open the log again")

// ErrLocked is a directory that another process writes to.
var ErrLocked = errors.New("journal: another process has the log open")

// Log is the writing end. It is for one goroutine.
type Log struct {
	dir     string
	file    file
	lock    *flock.Flock
	lockIno uint64
	ino     uint64
	size    int64
	limit   int64
	chain   Chain
	durable uint64
	err     error
	buffer  []byte
	hasher  hasher
	// Cut tells how many bytes of a torn tail Open removed.
	Cut int64
}

// file is what a log needs of its segment, so that a test can break it.
type file interface {
	io.Writer
	io.Closer
	Stat() (os.FileInfo, error)
	Sync() error
}

// syncing is an os.File whose Sync leaves out metadata that reading does not
// need.
type syncing struct{ *os.File }

func (f syncing) Sync() error { return datasync(f.File) }

// Create makes an empty log in a directory, which must not have one.
func Create(dir string) error {
	f, err := os.OpenFile(filepath.Join(dir, current), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	return syncDir(dir)
}

// Open locks a log for writing and reads it from its first entry, calling visit
// for each. A torn tail is cut, and only where no later entry claims it to be on
// disk; anything else that does not verify is an error. segment is the size at
// which a segment closes; 0 is DefaultSegment.
func Open(dir string, segment int64, visit func(Entry) error) (*Log, error) {
	l := &Log{dir: dir, limit: segment, lock: flock.New(filepath.Join(dir, "lock"))}
	if l.limit <= 0 {
		l.limit = DefaultSegment
	}
	if err := l.acquire(); err != nil {
		return nil, err
	}
	if err := l.load(visit); err != nil {
		return nil, errors.Join(err, l.lock.Unlock())
	}
	return l, nil
}

func (l *Log) acquire() error {
	ok, err := l.lock.TryLock()
	if err != nil {
		return err
	}
	if !ok {
		return ErrLocked
	}
	l.lockIno, err = inode(filepath.Join(l.dir, "lock"))
	return err
}

func (l *Log) load(visit func(Entry) error) error {
	if err := l.finishRotation(); err != nil {
		return err
	}
	chain, err := Walk(l.dir, visit)
	l.chain = *chain
	path := filepath.Join(l.dir, current)
	var fault *Fault
	if errors.As(err, &fault) && fault.File == path {
		err = l.recover(path, fault)
	}
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	l.file, l.size, l.ino = syncing{f}, info.Size(), inodeOf(info)
	// What was read may still be in memory only.
	if err := l.file.Sync(); err != nil {
		return errors.Join(err, f.Close())
	}
	l.durable = l.chain.Seq
	return nil
}

// finishRotation makes the segment that a crash in the middle of a rotation left
// out.
func (l *Log) finishRotation() error {
	files, err := Segments(l.dir)
	if err != nil || len(files) == 0 || filepath.Base(files[len(files)-1]) == current {
		return err
	}
	return Create(l.dir)
}

// recover decides whether a log that does not verify to its end was torn by a
// crash. It was when what follows the last good entry could have been left by a
// write that stopped, and nothing after it claims that it was on disk. An empty
// log is whole.
func (l *Log) recover(path string, fault *Fault) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	number, end, size := 0, int64(-1), int64(0)
	torn := true
	err = lines(f, func(line []byte, offset int64, complete bool) bool {
		number++
		size = offset + int64(len(line))
		if complete {
			size++
		}
		if number < fault.Line {
			return true
		}
		if end < 0 {
			end = offset
		}
		switch e, err := parseLine(line); {
		case number == fault.Line && complete && !unwritten(line):
			torn = false // it was written to its end, so it was changed
		case complete && err == nil && e.Durable >= fault.Seq:
			torn = false // it is known to have been on disk, so it was damaged there
		}
		return true
	})
	if errors.Is(err, errLong) {
		return fault // no batch that was cut short leaves such a line
	}
	if err != nil {
		return err
	}
	if fault.Line == 0 && size == 0 {
		return nil
	}
	if !torn || end < 0 {
		return fault
	}
	l.Cut = size - end
	if err := f.Truncate(end); err != nil {
		return err
	}
	return f.Sync()
}

// unwritten reports whether a line with an end has a part that never reached the
// disk. Such a part reads as zeros, and no entry holds one: JSON escapes them.
func unwritten(line []byte) bool { return bytes.IndexByte(line, 0) >= 0 }

// Head is the number and hash of the last entry.
func (l *Log) Head() (seq uint64, hash string) { return l.chain.Seq, l.chain.Hash }

// Clock is the time of the last entry.
func (l *Log) Clock() int64 { return l.chain.Time }

// Append writes a batch: one write, one sync. When it returns without error all
// entries are on disk. An error poisons the log. An entry's time never goes
// below the one before.
func (l *Log) Append(drafts []Draft) ([]Entry, error) {
	if l.err != nil {
		return nil, l.err
	}
	for i := range drafts {
		if err := drafts[i].Sound(); err != nil {
			return nil, err // nothing was written, so nothing is poisoned
		}
	}
	entries, chain := l.link(drafts)
	if err := l.write(); err != nil {
		l.err = fmt.Errorf("%w: %w", ErrPoisoned, err)
		return nil, l.err
	}
	l.chain.Seq, l.chain.Hash, l.chain.Time = chain.Seq, chain.Hash, chain.Time
	l.durable = chain.Seq
	if err := l.rotate(); err != nil {
		// The batch is on disk; what comes after it is not safe.
		l.err = fmt.Errorf("%w: %w", ErrPoisoned, err)
	}
	return entries, nil
}

// Sound refuses a draft that could not be read again.
func (d *Draft) Sound() error {
	const year10000 = 253402300800
	switch {
	case !isOp(d.Op):
		return fmt.Errorf("journal: %q is no operation", d.Op)
	case d.Time < 0 || d.Time >= year10000:
		return fmt.Errorf("journal: the time %d has no four-digit year", d.Time)
	case len(d.Body)+1024 > maxLine || bytes.IndexByte(d.Body, '\n') >= 0 || len(d.Body) == 0:
		return fmt.Errorf("journal: the body of an entry is one line of at most %d bytes", maxLine-1024)
	}
	return nil
}

// link gives drafts their places in the chain and fills the buffer.
func (l *Log) link(drafts []Draft) ([]Entry, Chain) {
	entries := make([]Entry, len(drafts))
	c := Chain{Seq: l.chain.Seq, Hash: l.chain.Hash, Time: l.chain.Time}
	l.buffer = l.buffer[:0]
	for i, d := range drafts {
		e := &entries[i]
		*e = Entry{Seq: c.Seq + 1, Time: max(d.Time, c.Time), Prev: c.Hash, Durable: l.durable, Op: d.Op, Body: d.Body}
		e.Hash = l.hasher.of(e, d.begun)
		l.buffer = append(e.appendLine(l.buffer), '\n')
		c.Seq, c.Hash, c.Time = e.Seq, e.Hash, e.Time
	}
	return entries, c
}

func (l *Log) write() error {
	if err := l.check(); err != nil {
		return err
	}
	n, err := l.file.Write(l.buffer)
	if err != nil {
		return err
	}
	if n != len(l.buffer) {
		return io.ErrShortWrite
	}
	if err := l.file.Sync(); err != nil {
		return err
	}
	l.size += int64(n)
	return nil
}

// check sees that nobody else wrote to the log, replaced it or its lock.
func (l *Log) check() error {
	info, err := l.file.Stat()
	if err != nil {
		return err
	}
	if info.Size() != l.size {
		return fmt.Errorf("the journal has %d bytes and should have %d: somebody else wrote to it", info.Size(), l.size)
	}
	for _, f := range []struct {
		name string
		ino  uint64
	}{{current, l.ino}, {"lock", l.lockIno}} {
		ino, err := inode(filepath.Join(l.dir, f.name))
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		if ino != f.ino {
			return fmt.Errorf("%s was replaced while the log was open", f.name)
		}
	}
	return nil
}

// rotate closes a segment that is full and begins the next one. The chain goes
// on across them.
func (l *Log) rotate() error {
	if l.size < l.limit {
		return nil
	}
	files, err := Segments(l.dir)
	if err != nil {
		return err
	}
	path := filepath.Join(l.dir, current)
	older := filepath.Join(l.dir, fmt.Sprintf("journal.%d.jsonl", len(files)))
	if _, err := os.Lstat(older); err == nil {
		return fmt.Errorf("%s exists already", filepath.Base(older))
	}
	if err := errors.Join(l.file.Close(), os.Rename(path, older), Create(l.dir)); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	l.file, l.size, l.ino = syncing{f}, 0, inodeOf(info)
	return nil
}

// Close gives the log back. It may be closed after an error too.
func (l *Log) Close() error {
	if l.err == nil {
		l.err = errors.New("journal: closed")
	}
	return errors.Join(l.file.Close(), l.lock.Unlock())
}

func inode(path string) (uint64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return inodeOf(info), nil
}

func inodeOf(info os.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Ino
	}
	return 0
}

// syncDir makes names in a directory durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
