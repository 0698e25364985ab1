// Package report writes everything that the studies came to into a directory:
// each result as JSON, CSV and Markdown, the figures as SVG and PNG, and one
// HTML page with all of it that needs no network.
package report

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"os"
	"path/filepath"

	"github.com/conjunct-project/conjunct/bench"
	"github.com/conjunct-project/conjunct/bench/figure"
	"github.com/conjunct-project/conjunct/bench/noise"
	"github.com/conjunct-project/conjunct/bench/table"
)

// Studies are the results to write.
type Studies struct {
	Compare bench.Compare
	Traces  bench.Traces
	Critic  bench.Critic
	Noise   noise.Result
}

// Holds reports whether every study came out as it says it does.
func (s *Studies) Holds() bool {
	for _, one := range s.sections() {
		if !one.result.Holds() {
			return false
		}
	}
	return true
}

// section is one study on the page.
type section struct {
	name, title string
	says        string
	result      bench.Result
	figures     []drawn
}

func (s *Studies) sections() []section {
	var frontiers []drawn
	for _, one := range s.Noise.Scenarios {
		frontiers = append(frontiers, frontier(one))
	}
	return []section{
		{"compare", "Faults that a score lets through", "Constructed faults, each with a control that differs in the fault alone, answered by every arm.", s.Compare, []drawn{classes(&s.Compare)}},
		{"sweep", "When a score equals the conjunction", "Every order of the weights at every threshold, on the same cases.", s.Compare.Sweep(), []drawn{threshold(&s.Compare)}},
		{"traces", "What has to be remembered", "Transition traces written by hand, folded by the engine and by the engine without one part.", s.Traces, nil},
		{"critic", "What a critic does not see", "Constructed proposals with a constructed critic.", s.Critic, []drawn{human(&s.Critic)}},
		{"noise", "What refusal costs", "A simulation: detectors that err, and reviewers who are few.", s.Noise, frontiers},
	}
}

//go:embed page.html
var pageText string

// Write writes the studies into a directory, which is made where it is missing,
// and lists the files.
func Write(dir string, s *Studies) ([]string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	w := &writer{dir: dir}
	var page []shown
	for _, one := range s.sections() {
		page = append(page, w.section(one))
	}
	t, err := template.New("page").Parse(pageText)
	if err != nil {
		return nil, err
	}
	w.file("index.html", func(out io.Writer) error { return t.Execute(out, page) })
	return w.files, w.err
}

// shown is a section as the page has it.
type shown struct {
	Title, Says string
	Holds       bool
	Tables      template.HTML
	Figures     []image
}

type image struct {
	Source  template.URL
	Caption string
}

// writer writes files and keeps the first error.
type writer struct {
	dir   string
	files []string
	err   error
}

func (w *writer) file(name string, write func(io.Writer) error) {
	if w.err != nil {
		return
	}
	var b bytes.Buffer
	if w.err = write(&b); w.err != nil {
		w.err = fmt.Errorf("report: %s: %w", name, w.err)
		return
	}
	w.err = os.WriteFile(filepath.Join(w.dir, name), b.Bytes(), 0o644)
	w.files = append(w.files, name)
}

func (w *writer) section(s section) shown {
	tables := s.result.Tables()
	w.file(s.name+".json", func(out io.Writer) error {
		e := json.NewEncoder(out)
		e.SetEscapeHTML(false)
		return e.Encode(s.result)
	})
	w.file(s.name+".csv", func(out io.Writer) error { return s.result.Records().Write(out, "csv") })
	w.file(s.name+".md", func(out io.Writer) error { return table.WriteAll(out, "markdown", tables...) })
	var html bytes.Buffer
	if err := table.WriteAll(&html, "html", tables...); err != nil && w.err == nil {
		w.err = err
	}
	page := shown{Title: s.title, Says: s.says, Holds: s.result.Holds(), Tables: template.HTML(html.String())}
	for _, d := range s.figures {
		page.Figures = append(page.Figures, w.figure(d))
	}
	return page
}

func (w *writer) figure(d drawn) image {
	var svg bytes.Buffer
	w.file(d.name+".svg", func(out io.Writer) error { return figure.WriteSVG(io.MultiWriter(out, &svg), d.figure) })
	w.file(d.name+".png", func(out io.Writer) error { return figure.WritePNG(out, d.figure) })
	return image{template.URL("data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString(svg.Bytes())), d.caption}
}
