package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"strconv"
	"time"
)

// Entry is one record. Body is canonical JSON.
type Entry struct {
	Seq     uint64
	Time    int64 // whole seconds since the epoch
	Prev    string
	Hash    string
	Durable uint64 // the last entry known to be on disk when this was written
	Op      string
	Body    []byte
}

// Draft is an entry that has no place in the chain yet. Body must be canonical.
type Draft struct {
	Time int64
	Op   string
	Body []byte

	begun hash.Hash // of everything up to the end of Body; nil: not begun
}

// Begin hashes the body ahead with h, which is the draft's own until the draft
// is appended: it comes first in what an entry's hash covers. Whoever makes
// drafts in parallel takes that work from the one who puts them in order.
func (d *Draft) Begin(h hash.Hash) {
	h.Reset()
	h.Write(head)
	h.Write(d.Body)
	d.begun = h
}

var head = []byte(`{"body":`)

// appendDurable appends what follows the body, up to where the hash stands. The
// keys of an entry are in canonical order: body, durable, hash, op, prev, seq,
// time.
func (e *Entry) appendDurable(b []byte) []byte {
	return strconv.AppendUint(append(b, `,"durable":`...), e.Durable, 10)
}

func (e *Entry) appendRest(b []byte) []byte {
	b = append(append(append(b, `,"op":"`...), e.Op...), `","prev":"`...)
	b = append(append(b, e.Prev...), `","seq":`...)
	b = append(strconv.AppendUint(b, e.Seq, 10), `,"time":"`...)
	b = time.Unix(e.Time, 0).UTC().AppendFormat(b, time.RFC3339)
	return append(b, `"}`...)
}

// appendLine appends the canonical line of an entry, without its newline.
func (e *Entry) appendLine(b []byte) []byte {
	b = e.appendDurable(append(append(b, head...), e.Body...))
	b = append(append(append(b, `,"hash":"`...), e.Hash...), '"')
	return e.appendRest(b)
}

// hasher computes hashes of entries, one after the other.
type hasher struct {
	whole hash.Hash
	tail  []byte
	sum   []byte
}

// of is the hash of an entry: over its canonical form without the hash itself.
// begun has hashed the head and the body already, or is nil.
func (h *hasher) of(e *Entry, begun hash.Hash) string {
	if begun == nil {
		if h.whole == nil {
			h.whole = sha256.New()
		}
		begun = h.whole
		begun.Reset()
		begun.Write(head)
		begun.Write(e.Body)
	}
	h.tail = e.appendRest(e.appendDurable(h.tail[:0]))
	begun.Write(h.tail)
	h.sum = begun.Sum(h.sum[:0])
	out := make([]byte, 0, len(hashPrefix)+2*sha256.Size)
	return string(hex.AppendEncode(append(out, hashPrefix...), h.sum))
}

const hashPrefix = "sha256:"

// parseLine reads the form of a line: everything but whether the body is
// canonical. The entry's body is part of line.
func parseLine(line []byte) (Entry, error) {
	i := bytes.LastIndex(line, []byte(`,"durable":`))
	if !bytes.HasPrefix(line, head) || i < len(head) {
		return Entry{}, errNoEntry
	}
	e := Entry{Body: line[len(head):i:i]}
	r := scanner{rest: line[i:], ok: true}
	r.literal(`,"durable":`)
	e.Durable = r.number()
	r.literal(`,"hash":"`)
	e.Hash = r.hash()
	r.literal(`","op":"`)
	e.Op = r.name()
	r.literal(`","prev":"`)
	if !bytes.HasPrefix(r.rest, []byte(`"`)) {
		e.Prev = r.hash()
	}
	r.literal(`","seq":`)
	e.Seq = r.number()
	r.literal(`,"time":"`)
	e.Time = r.time()
	r.literal(`"}`)
	if !r.ok || len(r.rest) > 0 || e.Seq == 0 {
		return Entry{}, errNoEntry
	}
	return e, nil
}

var errNoEntry = errors.New("not an entry")

// scanner reads the end of a line, part by part. Once something is not as it has
// to be, ok is false for good.
type scanner struct {
	rest []byte
	ok   bool
}

// take is the next n bytes.
func (r *scanner) take(n int) []byte {
	if !r.ok || len(r.rest) < n {
		r.ok = false
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *scanner) literal(text string) {
	if string(r.take(len(text))) != text {
		r.ok = false
	}
}

// while is how many of the next bytes are of a class.
func (r *scanner) while(class func(byte) bool) int {
	n := 0
	for n < len(r.rest) && class(r.rest[n]) {
		n++
	}
	return n
}

// number is a whole number as JSON writes it, of at most 19 digits.
func (r *scanner) number() (n uint64) {
	digits := r.while(func(c byte) bool { return c >= '0' && c <= '9' })
	if digits == 0 || digits > 19 || digits > 1 && r.rest[0] == '0' {
		r.ok = false
	}
	for _, c := range r.take(digits) {
		n = 10*n + uint64(c-'0') // 19 digits fit
	}
	return n
}

func (r *scanner) hash() string {
	h := r.take(len(hashPrefix) + 2*sha256.Size)
	if !bytes.HasPrefix(h, []byte(hashPrefix)) {
		r.ok = false
		return ""
	}
	for _, c := range h[len(hashPrefix):] {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			r.ok = false
		}
	}
	return string(h)
}

func (r *scanner) name() string {
	n := r.while(isNameByte)
	if n == 0 || n > maxOp {
		r.ok = false
	}
	return string(r.take(n))
}

func isNameByte(c byte) bool { return c >= 'a' && c <= 'z' || c == '_' }

// isOp reports whether a text can name an operation.
func isOp(s string) bool {
	for i := range len(s) {
		if !isNameByte(s[i]) {
			return false
		}
	}
	return s != "" && len(s) <= maxOp
}

// time is an instant in UTC, in the one form in which it is written.
func (r *scanner) time() int64 {
	text := string(r.take(len("2006-01-02T15:04:05Z")))
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || at.UTC().Format(time.RFC3339) != text {
		r.ok = false
		return 0
	}
	return at.Unix()
}

const maxOp = 32
