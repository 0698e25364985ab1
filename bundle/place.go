package bundle

import (
	"strings"
	"unicode"

	"github.com/conjunct-project/conjunct/datafile"
)

// within finds the place in the file of a row and column, from 1, of a scalar's
// text: text is what was read from the rows behind the node's place, in whatever
// way YAML lets it be written. Columns are characters.
func within(files Files, n *datafile.Node, text string, line, column int) (row, col int) {
	s := &source{rows: strings.Split(string(files.Content[n.File]), "\n"), row: n.Row - 1}
	s.begin()
	s.skip(n.Col - 1)
	s.open()
	target := offset(text, line, column)
	blank := true // in front of the text
	for _, r := range text[:target] {
		if unicode.IsSpace(r) {
			blank = true
			continue
		}
		if blank || s.joined() {
			s.blanks()
		}
		blank = false
		s.next()
	}
	if blank || s.joined() {
		s.blanks()
	}
	return s.row + 1, s.col + 1
}

// offset is where a row and column of a text lie in its bytes.
func offset(text string, line, column int) int {
	at := 0
	for ; line > 1; line-- {
		end := strings.IndexByte(text[at:], '\n')
		if end < 0 {
			return len(text)
		}
		at += end + 1
	}
	for i := range text[at:] {
		if column--; column < 1 {
			return at + i
		}
	}
	return len(text)
}

// source walks the rows of a scalar beside its text. Of blanks, which YAML folds,
// joins and cuts, it is enough that where there are some in the text there are
// some here.
type source struct {
	rows     []string
	row, col int    // from 0
	rest     []rune // of the row
	quote    rune   // the scalar is in these
}

func (s *source) begin() {
	if s.col, s.rest = 0, nil; s.row < len(s.rows) {
		s.rest = []rune(s.rows[s.row])
	}
}

func (s *source) skip(n int) {
	n = min(max(n, 0), len(s.rest))
	s.col, s.rest = s.col+n, s.rest[n:]
}

// open passes what stands in front of the text: a quote, or the row of a block's
// mark.
func (s *source) open() {
	if len(s.rest) == 0 {
		return
	}
	switch s.rest[0] {
	case '"', '\'':
		s.quote = s.rest[0]
		s.skip(1)
	case '|', '>':
		s.skip(len(s.rest))
	}
}

// joined reports whether the row ends here and goes on in the next one.
func (s *source) joined() bool { return s.quote == '"' && len(s.rest) == 1 && s.rest[0] == '\\' }

// blanks passes blanks, and the ends of rows.
func (s *source) blanks() {
	for {
		switch {
		case len(s.rest) == 0:
			if s.row+1 >= len(s.rows) {
				return
			}
			s.row++
			s.begin()
		case unicode.IsSpace(s.rest[0]):
			s.skip(1)
		case s.joined():
			s.skip(1)
		case s.quote == '"' && s.rest[0] == '\\' && len(s.rest) > 1 && strings.ContainsRune(`nrtvf LPN_`, s.rest[1]):
			s.skip(2)
		default:
			return
		}
	}
}

// next passes one character of the text, which is none of the blanks.
func (s *source) next() {
	if len(s.rest) < 2 {
		s.skip(1)
		return
	}
	switch {
	case s.quote == '\'' && s.rest[0] == '\'':
		s.skip(2)
	case s.quote == '"' && s.rest[0] == '\\':
		s.skip(2 + map[rune]int{'x': 2, 'u': 4, 'U': 8}[s.rest[1]])
	default:
		s.skip(1)
	}
}
