package cli

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"

	"github.com/conjunct-project/conjunct/bundle"
	"github.com/conjunct-project/conjunct/engine"
)

// Rules of everything printed for people: lower case, one line a fact, the
// answer first, colour only as a second hint and only on a terminal, and no
// control character of an input ever reaches the terminal.

// painter prints for people.
type painter struct {
	w     io.Writer
	color bool
	err   error
	count int
}

func (p *painter) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

// The colours, as SGR parameters.
const (
	green  = "32"
	yellow = "33"
	red    = "31"
	dim    = "2"
	bold   = "1"
)

func (p *painter) paint(sgr, s string) string {
	if !p.color {
		return s
	}
	return "\x1b[" + sgr + "m" + s + "\x1b[0m"
}

// visible replaces everything that could move a cursor or hide text by its
// escape, so that what is read is what is there.
func visible(s string) string {
	if !strings.ContainsFunc(s, hidden) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if hidden(r) {
			q := strconv.QuoteRuneToASCII(r)
			b.WriteString(q[1 : len(q)-1])
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func hidden(r rune) bool {
	return r != ' ' && !unicode.IsGraphic(r) || unicode.Is(unicode.Zs, r) && r != ' '
}

var outcomeColor = map[engine.Outcome]string{engine.Allow: green, engine.Review: yellow, engine.Block: red}

var verdictColor = map[engine.Verdict]string{engine.Pass: green, engine.Fail: red, engine.Unknown: yellow, engine.NotApplicable: dim}

// decision prints one decision.
func (p *painter) decision(d *engine.Decision) {
	if p.count++; p.count > 1 {
		p.printf("\n")
	}
	p.printf("%s  %s  %s\n", p.paint(bold+";"+outcomeColor[d.Outcome], strings.ToUpper(d.Outcome.String())),
		p.paint(bold, d.Tool), p.paint(dim, d.TraceID+" / "+d.CallID))
	c := d.Consequence
	p.field("consequence", fmt.Sprintf("%s, %s, absorbed by %s, detection %s (%s)", c.Reversibility, c.BlastRadius, c.AbsorbedBy, c.DetectionLatency, c.Source))
	p.field("tier", p.tier(d))
	p.field("boundary", d.Boundary.String())
	p.gates(d.Gates)
	p.field("transition", p.transition(d))
	p.printf("\n%s\n", wrap(visible(d.Reason), 96, "  "))
}

func (p *painter) field(label, text string) { p.printf("  %-12s %s\n", label, text) }

func (p *painter) tier(d *engine.Decision) string {
	s := p.paint(bold, d.Tier.String())
	notes := []string{"base " + d.BaseTier.String()}
	for _, m := range d.Modifiers {
		if m.Applied {
			notes = append(notes, m.Name)
		}
	}
	for _, f := range d.Floors {
		if f.Applied {
			notes = append(notes, "floor "+f.Name)
		}
	}
	return s + "  " + p.paint(dim, strings.Join(notes, ", "))
}

// gates prints every gate with its verdict, those that need a reader first.
func (p *painter) gates(gates []engine.GateResult) {
	label := "gates"
	line := func(v engine.Verdict, text string) {
		p.field(label, p.paint(verdictColor[v], fmt.Sprintf("%-14s", v))+" "+text)
		label = ""
	}
	for _, v := range []engine.Verdict{engine.Fail, engine.Unknown} {
		for _, g := range gates {
			if g.Verdict == v {
				line(v, g.Name+"  "+p.paint(dim, visible(codes(g))))
			}
		}
	}
	for _, v := range []engine.Verdict{engine.Pass, engine.NotApplicable} {
		var names []string
		for _, g := range gates {
			if g.Verdict == v {
				names = append(names, g.Name)
			}
		}
		if len(names) > 0 {
			line(v, strings.Join(names, ", "))
		}
	}
}

func codes(g engine.GateResult) string {
	list := make([]string, len(g.Reasons))
	for i, r := range g.Reasons {
		list[i] = r.Code
	}
	return strings.Join(list, ", ")
}

func (p *painter) transition(d *engine.Decision) string {
	if d.Cause == "" {
		return d.Transition.String()
	}
	return fmt.Sprintf("%s  %s", d.Transition, p.paint(dim, "because of "+d.Cause))
}

// explanation prints what the rules did and what is missing.
func (p *painter) explanation(e *explanation) {
	p.printf("\n  rules\n")
	for _, x := range e.Rules {
		p.printf("    %s\n", x.Entry)
		if x.Err != "" {
			p.printf("      %s\n", p.paint(red, visible(x.Err)))
		}
		for _, s := range x.Steps {
			p.step(s)
		}
	}
	if len(e.Needs) > 0 {
		p.printf("\n  what stands between this call and allow\n")
	}
	for _, n := range e.Needs {
		p.printf("    - %s\n", visible(n.Text))
	}
}

func (p *painter) step(s bundle.Step) {
	mark, note := p.paint(green, "holds"), s.Rule.Title
	if !s.Held {
		mark = p.paint(dim, "   no")
		if s.Failed != "" {
			note = fmt.Sprintf("row %d: %s", s.Row, strings.Join(strings.Fields(s.Failed), " "))
		}
	}
	p.printf("      %s  %s:%d  %s\n", mark, s.Rule.File, s.Rule.Row, visible(note))
}

// wrap breaks text at spaces into lines of at most width characters, each
// behind indent.
func wrap(text string, width int, indent string) string {
	var b strings.Builder
	n := 0
	for _, word := range strings.Fields(text) {
		l := len([]rune(word))
		switch {
		case n == 0:
			b.WriteString(indent)
		case n+1+l > width-len(indent):
			b.WriteString("\n" + indent)
			n = 0
		default:
			b.WriteByte(' ')
			n++
		}
		b.WriteString(word)
		n += l
	}
	return b.String()
}
