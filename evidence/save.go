package evidence

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/conjunct-project/conjunct/engine"
)

// codec reads the values of one kind of record back.
type codec struct {
	typ    reflect.Type
	decode func([]byte) (any, error)
}

func of[T any]() codec {
	return codec{reflect.TypeFor[T](), func(text []byte) (any, error) {
		var v T
		err := json.Unmarshal(text, &v)
		return v, err
	}}
}

// codecs lists every kind of record, by what its keys begin with. A record of
// another kind cannot be stored; a test writes every field of engine.Writes and
// reads the state back.
func codecs() catalogue {
	return catalogue{
		"clock":     of[int64](),
		"trace":     of[engine.Trace](),
		"settings":  of[map[string]any](),
		"evidence":  of[map[string]engine.Evidence](),
		"path":      of[engine.Path](),
		"call":      of[string](),
		"rejection": of[engine.Rejection](),
		"entity":    of[engine.EntityRecord](),
		"waiting":   of[int](),
		"*waiting":  of[engine.PathKey](),
		"counter":   of[int](),
		"*counter":  of[engine.Contribution](),

		"*results":       of[[]string](),
		"*producers":     of[engine.Producer](),
		"suspected":      of[int](),
		"*suspected":     of[engine.Suspicion](),
		"suspicions":     of[int](),
		"*suspicions":    of[engine.Suspicion](),
		"suspicions_of":  of[int](),
		"*suspicions_of": of[engine.Suspicion](),
		"refused":        of[uint64](),
		"flagged":        of[int](),
		"*flagged":       of[engine.PathKey](),
	}
}

// catalogue is every codec by the kind of record.
type catalogue map[string]codec

// kindOf is the kind of record that a key is of.
func kindOf(key string) string {
	kind, _, _ := strings.Cut(key, "\x00")
	return kind
}

// Save writes the state that a view reads: one line a record, its key and value
// as a JSON array, in the order of the keys. The same state gives the same bytes,
// and Load gives the same state.
func (v *View) Save(w io.Writer) error {
	known := codecs()
	out := bufio.NewWriterSize(w, 1<<16)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	err := v.each(func(r *record) error {
		key := string(r.key)
		c, ok := known[kindOf(key)]
		if !ok || reflect.TypeOf(r.value) != c.typ || !utf8.ValidString(key) {
			return fmt.Errorf("evidence: a record %q of type %T cannot be stored", key, r.value)
		}
		return enc.Encode([2]any{key, r.value})
	})
	return errors.Join(err, out.Flush())
}

// each visits all records in the order of their keys.
func (v *View) each(visit func(*record) error) error {
	it, err := v.version.txn.Get(table, "id")
	if err != nil {
		return err
	}
	var written []string
	if v.batch != nil {
		written = slices.Sorted(maps.Keys(v.batch.pending))
	}
	pending := func(below []byte) error {
		for len(written) > 0 && (below == nil || written[0] < string(below)) {
			if r := v.batch.pending[written[0]].there(); r != nil && r.own(written[0]) {
				if err := visit(r); err != nil {
					return err
				}
			}
			written = written[1:]
		}
		return nil
	}
	for obj := it.Next(); obj != nil; obj = it.Next() {
		r := obj.(*record)
		if err := pending(r.key); err != nil {
			return err
		}
		if len(written) > 0 && written[0] == string(r.key) {
			continue // the batch wrote it anew
		}
		if err := visit(r); err != nil {
			return err
		}
	}
	return pending(nil)
}

// record reads one line: a key and a value.
func (k catalogue) record(line []byte) (*record, error) {
	if !bytes.HasPrefix(line, []byte(`["`)) || !bytes.HasSuffix(line, []byte("]")) {
		return nil, errNoRecord
	}
	quoted, err := strconv.QuotedPrefix(string(line[1:]))
	if err != nil || len(quoted)+2 >= len(line) || line[1+len(quoted)] != ',' {
		return nil, errors.Join(err, errNoRecord)
	}
	// What JSON escapes in a key reads the same in Go.
	key, err := strconv.Unquote(quoted)
	if err != nil {
		return nil, err
	}
	c, ok := k[kindOf(key)]
	if !ok {
		return nil, errNoRecord
	}
	value, err := c.decode(line[len(quoted)+2 : len(line)-1])
	return &record{key: []byte(key), value: value}, err
}

// Form is a digest of what kinds of records there are and what is in each. A
// state that was stored in another form says less or more than this program
// knows.
func Form() string {
	var b strings.Builder
	known := codecs()
	for _, kind := range slices.Sorted(maps.Keys(known)) {
		b.WriteString(kind + " ")
		describe(&b, known[kind].typ, nil)
		b.WriteByte('\n')
	}
	sum := sha256.Sum256([]byte(b.String()))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// describe writes a type down to its last field. above are the types that it is
// a part of.
func describe(b *strings.Builder, t reflect.Type, above []reflect.Type) {
	b.WriteString(t.String())
	if slices.Contains(above, t) {
		return
	}
	above = append(above, t)
	switch t.Kind() {
	case reflect.Map:
		b.WriteByte('[')
		describe(b, t.Key(), above)
		b.WriteByte(']')
		describe(b, t.Elem(), above)
	case reflect.Pointer, reflect.Slice, reflect.Array:
		b.WriteByte('[')
		describe(b, t.Elem(), above)
		b.WriteByte(']')
	case reflect.Struct:
		b.WriteByte('{')
		for i := range t.NumField() {
			f := t.Field(i)
			b.WriteString(f.Name + " " + string(f.Tag) + " ")
			describe(b, f.Type, above)
			b.WriteByte(';')
		}
		b.WriteByte('}')
	default:
		b.WriteString(t.Kind().String())
	}
}

// Load reads what Save wrote.
func Load(text []byte) (*Store, error) {
	s := New()
	txn := s.db.Txn(true)
	defer txn.Abort()
	first, last := *s.version.Load(), ""
	for part := range parts(text) {
		if part.err != nil {
			return nil, part.err
		}
		for _, r := range part.records {
			key := string(r.key)
			if key <= last {
				return nil, fmt.Errorf("evidence: %q stands behind %q: %w", key, last, errNoRecord)
			}
			if key == clockKey {
				first.clock = r.value.(int64)
			}
			if err := first.read(r); err != nil {
				return nil, err
			}
			last = key
			if err := txn.Insert(table, r); err != nil {
				return nil, err
			}
		}
	}
	txn.Commit()
	first.txn = s.db.Txn(false)
	s.version.Store(&first)
	return s, nil
}

// part is some of the records of a stored state.
type part struct {
	records []*record
	err     error
}

// parts reads the records of a stored state, some at a time and several at once,
// and gives them in their order.
func parts(text []byte) iter.Seq[part] {
	const size = 256 << 10
	return func(yield func(part) bool) {
		read := make(chan chan part, runtime.GOMAXPROCS(0)) // bounds how many are read at once
		stop := make(chan struct{})
		defer close(stop)
		go func() {
			defer close(read)
			for len(text) > 0 {
				n := min(size, len(text))
				if end := bytes.IndexByte(text[n-1:], '\n'); end < 0 {
					n = len(text)
				} else {
					n += end
				}
				lines, done := text[:n], make(chan part, 1)
				text = text[n:]
				go func() { done <- readPart(lines) }()
				select {
				case read <- done:
				case <-stop:
					return
				}
			}
		}()
		for done := range read {
			if !yield(<-done) {
				return
			}
		}
	}
}

func readPart(text []byte) (p part) {
	known := codecs()
	for len(text) > 0 {
		line, rest, complete := bytes.Cut(text, []byte("\n"))
		text = rest
		r, err := known.record(line)
		if err != nil || !complete {
			p.err = fmt.Errorf("evidence: no record: %.80q: %w", line, errors.Join(err, errNoRecord))
			return p
		}
		p.records = append(p.records, r)
	}
	return p
}

var errNoRecord = errors.New("it must be [key, value], of a known kind, behind smaller keys")
