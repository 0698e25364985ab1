package action

import (
	"bytes"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// locate finds the value that a path of keys and indices leads to in a document
// that has parsed before, and the key it stands under. Where the path ends
// early, it is the last value found. It is the slow way, taken only for errors:
// remembering the place of every value would cost each good document.
func locate(doc []byte, path []string) (key, value int) {
	p := newParser(doc)
	defer p.release()
	value = p.start()
	key = value
	for _, step := range path {
		tok, err := p.dec.ReadToken()
		if err != nil {
			return key, value
		}
		var k, v int
		var found bool
		switch tok.Kind() {
		case jsontext.KindBeginObject:
			k, v, found = p.seekKey(step)
		case jsontext.KindBeginArray:
			k, v, found = p.seekIndex(step)
		}
		if !found {
			return key, value
		}
		key, value = k, v
	}
	return key, value
}

// start is where the next token will start.
func (p *parser) start() int {
	return len(p.doc) - len(bytes.TrimLeft(p.doc[p.offset():], whitespace+",:"))
}

func (p *parser) seekKey(name string) (key, value int, found bool) {
	for {
		key = p.start()
		tok, err := p.dec.ReadToken()
		if err != nil || tok.Kind() == jsontext.KindEndObject {
			return 0, 0, false
		}
		if tok.String() == name {
			return key, p.start(), true
		}
		if p.dec.SkipValue() != nil {
			return 0, 0, false
		}
	}
}

func (p *parser) seekIndex(index string) (key, value int, found bool) {
	n, err := strconv.Atoi(index)
	if err != nil {
		return 0, 0, false
	}
	for ; n > 0; n-- {
		if p.dec.SkipValue() != nil {
			return 0, 0, false
		}
	}
	return p.start(), p.start(), true
}
