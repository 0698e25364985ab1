package signals

import (
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// parsers are the parsers of one variant of shell. A parser is as large as what most
// lines are read into, and is used again: it begins each text anew and keeps
// nothing of what it gave out. It is safe for concurrent use.
type parsers struct{ pool sync.Pool }

var bashParsers, posixParsers = newParsers(syntax.LangBash), newParsers(syntax.LangPOSIX)

func newParsers(variant syntax.LangVariant) *parsers {
	return &parsers{sync.Pool{New: func() any { return syntax.NewParser(syntax.Variant(variant)) }}}
}

// parse reads shell text. A parser that failed, or panicked, is not used again.
func (p *parsers) parse(src string) (*syntax.File, error) {
	parser := p.pool.Get().(*syntax.Parser)
	file, err := parser.Parse(strings.NewReader(src), "")
	if err == nil {
		p.pool.Put(parser)
	}
	return file, err
}
