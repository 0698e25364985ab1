package action

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Limits of a document.
const (
	MaxSize  = 1 << 20 // bytes, white space included
	MaxDepth = 64      // objects and arrays within each other; the outermost is one
	MaxID    = 256     // bytes of an identifier
)

// Parse reads one JSON value of any kind as strictly as [Decode] does. Objects
// are map[string]any, arrays []any, numbers float64; canonical holds the RFC 8785
// bytes that stand for the same value. The error is an [*Error], and then
// nothing else is returned.
func Parse(doc []byte) (value any, canonical []byte, err error) {
	return parseWithin(doc, limits{MaxSize, MaxDepth})
}

// ParseEntry is [Parse] for a journal entry, which wraps an action of full size
// and depth in its own objects.
func ParseEntry(doc []byte) (value any, canonical []byte, err error) {
	return parseWithin(doc, limits{16 * MaxSize, MaxDepth + 16})
}

// limits bound the bytes and the nesting of a document.
type limits struct{ size, depth int }

func parseWithin(doc []byte, l limits) (value any, canonical []byte, err error) {
	value, err = parse(doc, l)
	if err != nil {
		return nil, nil, err
	}
	canonical, err = canonicalValue(value, len(doc))
	if err != nil {
		return nil, nil, err
	}
	if len(canonical) > l.size {
		// What is written down must be readable again.
		return nil, nil, &Error{Msg: fmt.Sprintf("the document has %d bytes in its canonical form, more than %d", len(canonical), l.size), Hint: "numbers such as 1e20 are written out there"}
	}
	return value, canonical, nil
}

func parse(doc []byte, l limits) (any, error) {
	if err := checkStart(doc, l.size); err != nil {
		return nil, err
	}
	p := newParser(doc)
	p.depth = l.depth
	defer p.release()
	value, err := p.next(0)
	if err != nil {
		return nil, err
	}
	if rest := bytes.TrimLeft(doc[p.offset():], whitespace); len(rest) > 0 {
		return nil, errorAt(doc, len(doc)-len(rest), "", "something follows the document", "one document only; many go one a line in a JSON Lines file")
	}
	return value, nil
}

const whitespace = " \t\r\n"

// checkStart refuses what is better told at once than as a syntax error.
func checkStart(doc []byte, size int) error {
	switch {
	case len(doc) > size:
		return &Error{Msg: fmt.Sprintf("the document has more than %d bytes", size), Hint: "put large content elsewhere and name it"}
	case bytes.HasPrefix(doc, []byte("\xef\xbb\xbf")):
		return errorAt(doc, 0, "", "the document begins with a byte order mark", "save it as UTF-8 without BOM")
	case bytes.HasPrefix(doc, []byte("\xff\xfe")), bytes.HasPrefix(doc, []byte("\xfe\xff")):
		return errorAt(doc, 0, "", "the document is UTF-16", "save it as UTF-8")
	case len(bytes.TrimLeft(doc, whitespace)) == 0:
		return errorAt(doc, len(doc), "", "the document is empty", "expected one JSON value")
	}
	return nil
}

// parser builds Go values from the tokens of a document.
type parser struct {
	doc   []byte
	depth int // containers within each other, at most
	src   bytes.Buffer
	dec   jsontext.Decoder
}

// parsers keeps decoders for their name tables, which take a third of the
// allocations of a small document. They carry nothing from one document to the
// next.
var parsers = sync.Pool{New: func() any { return new(parser) }}

// newParser begins at the start of a document. The options are the library's
// defaults; they are spelt out since everything here leans on them.
func newParser(doc []byte) *parser {
	p := parsers.Get().(*parser)
	p.doc = doc
	p.src = *bytes.NewBuffer(doc) // a bytes.Buffer is read in place, not copied
	p.dec.Reset(&p.src, jsontext.AllowDuplicateNames(false), jsontext.AllowInvalidUTF8(false))
	return p
}

// release gives the parser back. What it returned stays good: values and errors
// are copies.
func (p *parser) release() {
	p.doc, p.src = nil, bytes.Buffer{}
	p.dec.Reset(&p.src) // lets go of the document
	parsers.Put(p)
}

// offset is where the last token ended.
func (p *parser) offset() int { return int(p.dec.InputOffset()) }

// next reads the next value, which has depth containers around it.
func (p *parser) next(depth int) (any, error) {
	tok, err := p.dec.ReadToken()
	if err != nil {
		return nil, p.syntax(err)
	}
	return p.value(tok, depth)
}

func (p *parser) value(tok jsontext.Token, depth int) (any, error) {
	switch tok.Kind() {
	case jsontext.KindNull:
		return nil, nil
	case jsontext.KindTrue, jsontext.KindFalse:
		return tok.Bool(), nil
	case jsontext.KindString:
		return tok.String(), nil
	case jsontext.KindNumber:
		literal := tok.String()
		f, msg, hint := parseNumber(literal)
		if msg != "" {
			return nil, errorAt(p.doc, p.offset()-len(literal), p.dec.StackPointer(), msg, hint)
		}
		return f, nil
	}
	// The library stops at 10,000; the recursion below stops here.
	if depth >= p.depth {
		return nil, errorAt(p.doc, p.offset()-1, p.dec.StackPointer(), fmt.Sprintf("objects and arrays are nested deeper than %d", p.depth), "flatten the value")
	}
	if tok.Kind() == jsontext.KindBeginObject {
		return p.object(depth + 1)
	}
	return p.array(depth + 1)
}

func (p *parser) object(depth int) (any, error) {
	size := 0
	if depth == 1 {
		size = len(actionFields) // an action outgrows the smallest map
	}
	m := make(map[string]any, size)
	for {
		tok, err := p.dec.ReadToken()
		if err != nil {
			return nil, p.syntax(err)
		}
		if tok.Kind() == jsontext.KindEndObject {
			return m, nil
		}
		name, ok := fieldNames[tok.String()] // this String does not allocate, the next one does
		if !ok {
			name = tok.String()
		}
		v, err := p.next(depth)
		if err != nil {
			return nil, err
		}
		m[name] = v
	}
}

func (p *parser) array(depth int) (any, error) {
	a := []any{}
	for {
		tok, err := p.dec.ReadToken()
		if err != nil {
			return nil, p.syntax(err)
		}
		if tok.Kind() == jsontext.KindEndArray {
			return a, nil
		}
		v, err := p.value(tok, depth)
		if err != nil {
			return nil, err
		}
		a = append(a, v)
	}
}

// syntax turns an error of the decoder into one of ours.
func (p *parser) syntax(err error) error {
	var syntactic *jsontext.SyntacticError
	if !errors.As(err, &syntactic) {
		return errorAt(p.doc, len(p.doc), "", err.Error(), "")
	}
	offset, pointer := int(syntactic.ByteOffset), syntactic.JSONPointer
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		return errorAt(p.doc, offset, pointer, "duplicate key "+quote(pointer.LastToken()), "give each key once: readers differ on which one counts")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errorAt(p.doc, len(p.doc), pointer, "the document ends too early", "is it cut off?")
	case errors.Is(err, jsontext.ErrNonStringName):
		return errorAt(p.doc, offset, pointer, "an object key must be a string", "put keys in double quotes")
	}
	return errorAt(p.doc, offset, pointer, syntactic.Err.Error(), p.hint(offset))
}

// hint says what usually stands behind a syntax error at an offset. It looks at
// the document, never at the text of the error.
func (p *parser) hint(offset int) string {
	rest := p.doc[min(offset, len(p.doc)):]
	if r, size := utf8.DecodeRune(rest); r == utf8.RuneError && size == 1 {
		return "the document must be UTF-8"
	}
	for _, known := range [...]struct{ prefixes, hint string }{
		{"NaN Infinity -Infinity Inf -Inf inf -inf nan", "JSON has no NaN or Infinity; leave the field out or send a string"},
		{`\ud \uD`, "a lone surrogate is not a character; write both halves or the character itself"},
		{`\`, `escapes are \" \\ \/ \b \f \n \r \t and \u with four hex digits`},
		{"// /* #", "JSON has no comments"},
		{"'", "strings and keys are in double quotes"},
		{"} ] ,", "is there a comma too many, or a bracket of the wrong kind?"},
		{"0 1 2 3 4 5 6 7 8 9", "is a comma missing, or are there leading zeros?"},
		{"True False None undefined", "the literals are true, false and null"},
	} {
		for prefix := range strings.FieldsSeq(known.prefixes) {
			if bytes.HasPrefix(rest, []byte(prefix)) {
				return known.hint
			}
		}
	}
	if len(rest) > 0 && rest[0] < 0x20 {
		return `write control characters in strings as \u00XX`
	}
	return "expected JSON as in RFC 8259"
}
