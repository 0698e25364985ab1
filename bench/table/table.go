// Package table prints small tables: for a terminal, as Markdown, as CSV and as
// HTML. It knows nothing of what stands in them.
package table

import (
	"encoding/csv"
	"fmt"
	"html"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Table is a title, a head, rows of text, and remarks that belong to it.
type Table struct {
	Title string
	Head  []string
	Rows  [][]string
	// Notes are whole sentences. CSV leaves them and the title out.
	Notes []string
}

// Formats lists the names that Write knows.
func Formats() []string { return []string{"pretty", "csv", "markdown", "html"} }

// Write prints the table in a format of Formats.
func (t Table) Write(w io.Writer, format string) error {
	var out string
	switch format {
	case "pretty":
		out = t.pretty()
	case "markdown":
		out = t.markdown()
	case "html":
		out = t.html()
	case "csv":
		return t.csv(w)
	default:
		return fmt.Errorf("table: no format %q", format)
	}
	_, err := io.WriteString(w, out)
	return err
}

// WriteAll prints tables one below the other.
func WriteAll(w io.Writer, format string, tables ...Table) error {
	for i, t := range tables {
		if i > 0 {
			if _, err := io.WriteString(w, "\n"); err != nil {
				return err
			}
		}
		if err := t.Write(w, format); err != nil {
			return err
		}
	}
	return nil
}

func (t Table) writer() (table.Writer, []table.ColumnConfig) {
	w := table.NewWriter()
	w.AppendHeader(row(t.Head))
	for _, r := range t.Rows {
		w.AppendRow(row(r))
	}
	columns := make([]table.ColumnConfig, len(t.Head))
	for i := range columns {
		columns[i] = table.ColumnConfig{Number: i + 1, Align: t.align(i), AlignHeader: t.align(i)}
	}
	return w, columns
}

// align puts a column of figures to the right.
func (t Table) align(column int) text.Align {
	for _, r := range t.Rows {
		if column >= len(r) || r[column] == "" || !strings.ContainsAny(r[column][:1], "0123456789-+.") {
			return text.AlignLeft
		}
	}
	return text.AlignRight
}

func row(cells []string) table.Row {
	out := make(table.Row, len(cells))
	for i, c := range cells {
		out[i] = c
	}
	return out
}

// widest is where a cell breaks into lines on a terminal.
const widest = 56

func (t Table) pretty() string {
	w, columns := t.writer()
	for i := range columns {
		columns[i].WidthMax, columns[i].WidthMaxEnforcer = widest, text.WrapSoft
	}
	w.SetColumnConfigs(columns)
	style := table.StyleLight
	style.Format.Header = text.FormatDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Options.SeparateHeader = true
	w.SetStyle(style)
	var b strings.Builder
	b.WriteString(t.Title + "\n")
	b.WriteString(w.Render() + "\n")
	for _, n := range t.Notes {
		b.WriteString(text.WrapSoft(n, 2*widest) + "\n")
	}
	var trimmed strings.Builder
	for line := range strings.Lines(b.String()) {
		trimmed.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return trimmed.String()
}

func (t Table) markdown() string {
	w, columns := t.writer()
	w.SetColumnConfigs(columns)
	w.Style().Format.Header = text.FormatDefault
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\n%s\n", t.Title, w.RenderMarkdown())
	for _, n := range t.Notes {
		fmt.Fprintf(&b, "\n%s\n", n)
	}
	return b.String()
}

func (t Table) html() string {
	var b strings.Builder
	fmt.Fprintf(&b, "<table>\n<caption>%s</caption>\n<thead><tr>", html.EscapeString(t.Title))
	cell := func(tag string, i int, s string) {
		class := ""
		if t.align(i) == text.AlignRight {
			class = ` class="n"`
		}
		fmt.Fprintf(&b, "<%s%s>%s</%s>", tag, class, html.EscapeString(s), tag)
	}
	for i, h := range t.Head {
		cell("th", i, h)
	}
	b.WriteString("</tr></thead>\n<tbody>\n")
	for _, r := range t.Rows {
		b.WriteString("<tr>")
		for i, c := range r {
			cell("td", i, c)
		}
		b.WriteString("</tr>\n")
	}
	b.WriteString("</tbody>\n</table>\n")
	for _, n := range t.Notes {
		fmt.Fprintf(&b, "<p class=\"note\">%s</p>\n", html.EscapeString(n))
	}
	return b.String()
}

func (t Table) csv(w io.Writer) error {
	c := csv.NewWriter(w)
	if err := c.Write(t.Head); err != nil {
		return err
	}
	if err := c.WriteAll(t.Rows); err != nil {
		return err
	}
	return c.Error()
}
