package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
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
}

// appendLine appends the canonical line of an entry, without its newline. The
// keys stand in canonical order: body, durable, hash, op, prev, seq, time.
func (e *Entry) appendLine(b []byte) []byte {
	b = append(append(b, `{"body":`...), e.Body...)
	b = strconv.AppendUint(append(b, `,"durable":`...), e.Durable, 10)
	b = append(append(append(b, `,"hash":"`...), e.Hash...), '"')
	return e.appendRest(b)
}

// appendHashed appends what the hash covers: the entry without it.
func (e *Entry) appendHashed(b []byte) []byte {
	b = append(append(b, `{"body":`...), e.Body...)
	b = strconv.AppendUint(append(b, `,"durable":`...), e.Durable, 10)
	return e.appendRest(b)
}

func (e *Entry) appendRest(b []byte) []byte {
	b = append(append(append(b, `,"op":"`...), e.Op...), `","prev":"`...)
	b = append(append(b, e.Prev...), `","seq":`...)
	b = append(strconv.AppendUint(b, e.Seq, 10), `,"time":"`...)
	b = time.Unix(e.Time, 0).UTC().AppendFormat(b, time.RFC3339)
	return append(b, `"}`...)
}

// seal sets the hash, using scratch for the bytes.
func (e *Entry) seal(scratch []byte) []byte {
	scratch = e.appendHashed(scratch[:0])
	e.Hash = hashOf(scratch)
	return scratch
}

func hashOf(b []byte) string {
	sum := sha256.Sum256(b)
	out := make([]byte, 0, len("sha256:")+2*len(sum))
	return string(hex.AppendEncode(append(out, "sha256:"...), sum[:]))
}

var tail = regexp.MustCompile(`^,"durable":(0|[1-9][0-9]{0,18}),"hash":"(sha256:[0-9a-f]{64})","op":"([a-z_]{1,32})","prev":"(|sha256:[0-9a-f]{64})","seq":([1-9][0-9]{0,18}),"time":"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z)"\}$`)

var opName = regexp.MustCompile(`^[a-z_]{1,32}$`)

var head = []byte(`{"body":`)

// parseLine reads the form of a line: everything but whether the body is
// canonical. The entry's body is part of line.
func parseLine(line []byte) (Entry, error) {
	i := bytes.LastIndex(line, []byte(`,"durable":`))
	if !bytes.HasPrefix(line, head) || i < len(head) {
		return Entry{}, fmt.Errorf("not an entry")
	}
	m := tail.FindSubmatch(line[i:])
	if m == nil {
		return Entry{}, fmt.Errorf("not an entry")
	}
	e := Entry{Body: line[len(head):i:i], Hash: string(m[2]), Op: string(m[3]), Prev: string(m[4])}
	at, err := time.Parse(time.RFC3339, string(m[6]))
	if err != nil {
		return Entry{}, fmt.Errorf("not a time: %q", m[6])
	}
	e.Time = at.Unix()
	// The expression bounds both numbers well within 64 bits.
	e.Durable, _ = strconv.ParseUint(string(m[1]), 10, 64)
	e.Seq, _ = strconv.ParseUint(string(m[5]), 10, 64)
	return e, nil
}

// verify checks that the hash is that of the bytes.
func (e *Entry) verify(scratch []byte) ([]byte, bool) {
	scratch = e.appendHashed(scratch[:0])
	return scratch, hashOf(scratch) == e.Hash
}
