package signals

import (
	"context"
	"encoding/base64"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/conjunct-project/conjunct/engine"
)

// secretFacts lists the secrets in the arguments, whatever encodings they are in:
// every text of them is looked at, names of members included, since what a tool
// does with an argument that nobody described is not known. What an edit takes out
// is left out: it is neither written nor sent. A finding has the
// argument, the rule and the encodings, never the secret or a digest of it.
func secretFacts(d *Detector, ctx context.Context, c *Call, _ World) (map[string]any, []Unknown) {
	s := search{ctx: ctx, found: map[finding][]string{}}
	var err error
	if s.scanner, err = d.scanner(); err != nil {
		return nil, []Unknown{{Family: Secret, Code: "scanner"}}
	}
	kept := maps.Clone(c.Action.Arguments)
	for _, name := range c.given() {
		at := engine.Pointer(name)
		if s.text("", "", name); len(s.found) > 0 && s.within("", name) {
			at = "" // the name would tell the secret
		}
		switch c.Tool.Arguments[name].Kind {
		case engine.BeforeKind:
			delete(kept, name)
		case engine.Base64Kind:
			s.base64(at, c.Action.Arguments[name])
		case engine.CommandKind:
			if line, ok := c.Action.Arguments[name].(string); ok {
				s.unquoted(at, line)
			}
			fallthrough
		default:
			s.walk(at, name, c.Action.Arguments[name])
		}
	}
	s.join("", kept)
	if ctx.Err() != nil {
		s.miss("", "timeout")
	}
	list := s.list()
	facts := map[string]any{"seen": list}
	if len(s.unknown) == 0 {
		facts["findings"] = list
	}
	return facts, s.unknown
}

// finding is a secret, told apart from others by what may be told of it.
type finding struct {
	argument, rule string
	value          string // never leaves
	certainty      certainty
}

// search goes through the texts of a call.
type search struct {
	ctx     context.Context
	scanner *scanner
	found   map[finding][]string // to the fewest encodings it was found in
	unknown []Unknown
}

func (s *search) miss(at, code string) {
	s.unknown = append(s.unknown, Unknown{Family: Secret, Code: code, Where: at})
}

// walk looks at every text in a value. name is what the value is called: a
// password often is one only by its name.
func (s *search) walk(at, name string, v any) {
	switch v := v.(type) {
	case string:
		s.text(at, name, v)
	case []any:
		for i, e := range v {
			s.walk(at+"/"+strconv.Itoa(i), name, e)
		}
		s.join(at, v)
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			inner := at + engine.Pointer(k)
			if n := len(s.found); len(k) >= shortest {
				s.text(at, "", k)
				if len(s.found) > n {
					inner = at // the name would tell the secret
				}
			}
			s.walk(inner, k, v[k])
		}
		s.join(at, v)
	}
}

// shortest is the length below which nothing is a secret.
const shortest = 8

func (s *search) text(at, name, text string) {
	if len(text) < shortest {
		return
	}
	start := []piece{{text: text, certainty: certain}}
	if namesSecret.MatchString(name) && len(text) <= 200 && !strings.ContainsAny(text, "\r\n\"") {
		start = append(start, piece{text: name + `="` + text + `"`, certainty: certain})
	}
	s.read(at, start...)
}

// unquoted looks at a command line as its words are once a shell has taken the
// quotes within them away.
func (s *search) unquoted(at, line string) {
	if text := innerQuote.ReplaceAllString(line, "$1$2"); text != line && len(text) >= shortest {
		s.read(at, piece{text: text, encodings: []string{"quoted"}, certainty: certain})
	}
}

// innerQuote is a quote within a word.
var innerQuote = re(`([A-Za-z0-9_+/-])["']+([A-Za-z0-9_+/-])`)

var namesSecret = re(`(?i)pass|pwd|secret|token|key|credential|auth`)

// base64 looks at an argument that the registry says is in base64.
func (s *search) base64(at string, v any) {
	encoded, ok := v.(string)
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || !ok {
		s.miss(at, "not_base64")
		s.walk(at, "", v)
		return
	}
	text, packing, problem := open(raw)
	if problem != "" {
		s.miss(at, problem)
	}
	p := piece{text: text, encodings: []string{"base64"}, certainty: certain}
	if packing != "" {
		p.encodings = append(p.encodings, packing)
	}
	s.read(at, p)
}

// read scans every reading of a text.
func (s *search) read(at string, start ...piece) {
	pieces, problem := readings(start...)
	if problem != "" {
		s.miss(at, problem)
	}
	for _, p := range pieces {
		if s.ctx.Err() != nil {
			return
		}
		for _, h := range s.scanner.scan(s.ctx, p.text) {
			if p.certainty == possible {
				if h.rule == "generic-api-key" || h.rule == "password-assignment" || s.within(at, h.value) {
					continue // any two neighbours may look like it, or it is known already
				}
				h.certainty = possible
			}
			s.keep(at, h, p.encodings)
		}
	}
}

// keep notes a finding by the shortest way to it.
func (s *search) keep(at string, h hit, encodings []string) {
	f := finding{argument: at, rule: h.rule, value: h.value, certainty: h.certainty}
	if f.certainty == possible {
		sure := f
		sure.certainty = certain
		if _, ok := s.found[sure]; ok {
			return
		}
	}
	if have, ok := s.found[f]; ok && len(have) <= len(encodings) {
		return
	}
	s.found[f] = slices.Clip(encodings)
}

// join looks for a secret of which the neighbours in a value hold the parts. That
// they will be put together is a guess.
func (s *search) join(at string, v any) {
	parts := texts(v)
	if len(parts) < 2 || len(parts) > maxJoined {
		return
	}
	text := neighbours(parts)
	if text == "" {
		return
	}
	for _, h := range s.scanner.scan(s.ctx, text) {
		if h.rule == "generic-api-key" || h.rule == "password-assignment" || s.within(at, h.value) {
			continue
		}
		h.certainty = possible
		s.keep(at, h, []string{"split"})
	}
}

// within reports whether a value was found in one of the texts below already.
func (s *search) within(at, value string) bool {
	for f := range s.found {
		if strings.HasPrefix(f.argument, at) && (strings.Contains(f.value, value) || strings.Contains(value, f.value)) {
			return true
		}
	}
	return false
}

// texts lists the texts that are direct members of a value, in order.
func texts(v any) (list []string) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if t, ok := e.(string); ok {
				list = append(list, t)
			}
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if t, ok := v[k].(string); ok {
				list = append(list, t)
			}
		}
	}
	return list
}

// list is the findings in a fixed order, once each.
func (s *search) list() []any {
	type row struct{ argument, rule, encodings, certainty string }
	rows := map[row][]string{}
	for f, encodings := range s.found {
		rows[row{f.argument, f.rule, strings.Join(encodings, " "), string(f.certainty)}] = encodings
	}
	keys := slices.SortedFunc(maps.Keys(rows), func(a, b row) int {
		return slices.Compare([]string{a.argument, a.rule, a.encodings, a.certainty}, []string{b.argument, b.rule, b.encodings, b.certainty})
	})
	list := []any{}
	for _, k := range keys {
		encodings := []any{}
		for _, e := range rows[k] {
			encodings = append(encodings, e)
		}
		list = append(list, map[string]any{"argument": k.argument, "rule": k.rule, "encodings": encodings, "certainty": k.certainty})
	}
	return list
}
