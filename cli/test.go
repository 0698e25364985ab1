package cli

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/conjunct-project/conjunct/bundle"
	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/rego"
	"github.com/conjunct-project/conjunct/scenario"
)

func testCommand(env *Env) *cli.Command {
	return &cli.Command{
		Name:      "test",
		Usage:     "run the Rego tests and the scenarios of a bundle",
		ArgsUsage: "[PATH...]",
		Description: `Runs every test_ rule with OPA's own runner and decides every scenario with the
engine that enforces. Scenarios are YAML files in testdata/scenarios/NAME, near
the bundle, or in the scenarios directory beside a bundle that init wrote.

Exit code: 0 all passed, 5 something did not hold or nothing was tested,
2 a bundle or scenario does not load.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "run", Usage: "run only tests and scenarios whose name matches `RE`"},
			&cli.DurationFlag{Name: "timeout", Value: 5 * time.Second, Usage: "`TIME` for one test, such as 5s"},
			&cli.BoolFlag{Name: "coverage", Usage: "tell which rows, gates and floors nothing tested"},
			formatFlag("pretty", "json", "junit"),
		},
		Action: func(c *cli.Context) error { return test(c, env) },
	}
}

// testResult is one test or scenario.
type testResult struct {
	Suite       string                `json:"suite"`
	Name        string                `json:"name"`
	File        string                `json:"file"`
	Row         int                   `json:"row"`
	Status      string                `json:"status"` // passed, failed, skipped
	Seconds     float64               `json:"seconds"`
	Why         string                `json:"why,omitempty"`
	Differences []scenario.Difference `json:"differences,omitempty"`
}

// testReport is everything that `test` found.
type testReport struct {
	Total    int          `json:"total"`
	Passed   int          `json:"passed"`
	Failed   int          `json:"failed"`
	Skipped  int          `json:"skipped"`
	Results  []testResult `json:"results"`
	Coverage []coverage   `json:"coverage,omitempty"`
}

func (r *testReport) add(t testResult) {
	r.Total++
	switch t.Status {
	case "passed":
		r.Passed++
	case "skipped":
		r.Skipped++
	default:
		r.Failed++
	}
	r.Results = append(r.Results, t)
}

// coverage is what the tests of one bundle reached.
type coverage struct {
	Bundle         string              `json:"bundle"`
	Covered        int                 `json:"covered_rows"`
	Rows           int                 `json:"rows"`
	NotCovered     map[string][]int    `json:"not_covered"`
	Gates          map[string][]string `json:"gates"` // verdicts seen, by own gate
	UntestedFloors []string            `json:"untested_floors"`
}

func test(c *cli.Context, env *Env) error {
	filter, err := regexp.Compile(c.String("run"))
	if err != nil {
		return usagef("", "--run: %v", err)
	}
	if c.Duration("timeout") <= 0 {
		return usagef("write it like 5s", "--timeout %s leaves a test no time", c.Duration("timeout"))
	}
	paths, err := bundlePaths(c)
	if err != nil {
		return err
	}
	report := testReport{Results: []testResult{}}
	for _, path := range paths {
		t := &bundleTest{path: path, filter: filter, timeout: c.Duration("timeout"), report: &report}
		if err := t.run(c.Context); err != nil {
			return err
		}
		if err := c.Context.Err(); err != nil {
			return err // what was cut short failed for that alone
		}
		if c.Bool("coverage") {
			report.Coverage = append(report.Coverage, t.coverage)
		}
	}
	if err := printTests(env, c.String("format"), &report); err != nil {
		return err
	}
	if report.Failed == 0 && report.Passed == 0 {
		fmt.Fprintln(env.Stderr, "conjunct: nothing was tested, so nothing holds")
		if c.IsSet("run") {
			fmt.Fprintf(env.Stderr, "hint: no name of a test or scenario matches --run %s\n", visible(filter.String()))
		}
	}
	if report.Failed > 0 || report.Passed == 0 {
		return exitError(exitNotHeld)
	}
	return nil
}

// bundleTest runs everything that tests one bundle.
type bundleTest struct {
	path     string
	filter   *regexp.Regexp
	timeout  time.Duration
	report   *testReport
	coverage coverage
	bundle   *bundle.Bundle
	fired    map[string]bool
	gates    map[string]map[string]bool
}

func (t *bundleTest) run(ctx context.Context) error {
	b, err := bundle.Read(t.path)
	if err != nil {
		return notABundle(err)
	}
	t.bundle, t.fired, t.gates = b, map[string]bool{}, map[string]map[string]bool{}
	if err := t.rego(ctx); err != nil {
		return err
	}
	for _, dir := range scenario.Beside(t.path) {
		if err := t.scenarios(ctx, dir); err != nil {
			return err
		}
	}
	t.summarise()
	return nil
}

func notABundle(err error) error {
	var load *bundle.LoadError
	if errors.As(err, &load) {
		return err
	}
	return usagef("", "%v", err)
}

func (t *bundleTest) rego(ctx context.Context) error {
	if !isBundle(t.path) {
		return nil
	}
	tests, err := bundle.Tests(t.path)
	if err != nil {
		return err
	}
	results, covered, err := t.bundle.TestRego(ctx, tests, t.filter.String(), t.timeout)
	if err != nil {
		return err
	}
	for _, r := range results {
		status := "passed"
		if r.Skipped {
			status = "skipped"
		} else if r.Failed {
			status = "failed"
		}
		t.report.add(testResult{Suite: t.path + ": " + r.Package, Name: r.Name, File: filepath.Join(t.path, r.File), Row: r.Row,
			Status: status, Seconds: r.Duration.Seconds(), Why: r.Why})
	}
	t.regoCoverage(covered)
	return nil
}

// regoCoverage counts rows, and floors whose head a test reached.
func (t *bundleTest) regoCoverage(files []rego.Coverage) {
	t.coverage = coverage{Bundle: t.path, NotCovered: map[string][]int{}}
	reached := map[string][]int{}
	for _, f := range files {
		// A row that was reached in part was not covered.
		all := slices.Concat(f.Covered, f.NotCovered)
		slices.Sort(all)
		rows := len(slices.Compact(all))
		t.coverage.Covered += rows - len(f.NotCovered)
		t.coverage.Rows += rows
		if len(f.NotCovered) > 0 {
			t.coverage.NotCovered[f.File] = f.NotCovered
		}
		reached[f.File] = f.Covered
	}
	for _, h := range t.bundle.FloorRules() {
		if slices.Contains(reached[h.Rule.File], h.Rule.Row) {
			t.fired[h.Name] = true
		}
	}
}

func (t *bundleTest) scenarios(ctx context.Context, dir string) error {
	scenarios, problems, err := scenario.ReadDir(dir, t.bundle)
	if err != nil {
		return err
	}
	if len(problems) > 0 {
		return &bundle.LoadError{Path: dir, Problems: problems}
	}
	for _, s := range scenarios {
		if !t.filter.MatchString(s.Name) {
			continue
		}
		limited, cancel := context.WithTimeout(ctx, t.timeout)
		start := time.Now()
		r := s.Run(limited, t.bundle)
		cancel()
		result := testResult{Suite: dir, Name: s.Name, File: s.File, Row: s.Row, Status: "passed", Seconds: time.Since(start).Seconds(), Differences: r.Differences}
		if len(r.Differences) > 0 {
			result.Status = "failed"
		}
		t.report.add(result)
		t.seen(&r.Decision)
	}
	return nil
}

func (t *bundleTest) seen(d *engine.Decision) {
	for _, f := range d.Floors {
		t.fired[f.Name] = true
	}
	for _, g := range d.Gates {
		if t.gates[g.Name] == nil {
			t.gates[g.Name] = map[string]bool{}
		}
		t.gates[g.Name][g.Verdict.String()] = true
	}
}

func (t *bundleTest) summarise() {
	t.coverage.Gates = map[string][]string{}
	gates := t.bundle.OwnGates()
	if t.bundle.Contract().Critic != nil {
		gates = append(gates, engine.Structure, engine.CriticGate)
	}
	for _, name := range gates {
		t.coverage.Gates[name] = slices.Sorted(maps.Keys(t.gates[name]))
	}
	for _, name := range t.bundle.FloorNames() {
		if !t.fired[name] {
			t.coverage.UntestedFloors = append(t.coverage.UntestedFloors, name)
		}
	}
}

func printTests(env *Env, format string, r *testReport) error {
	switch format {
	case "json":
		return newEncoder(env.Stdout).Encode(r)
	case "junit":
		return printJUnit(env, r)
	}
	p := &painter{w: env.Stdout, color: env.Color}
	p.tests(r)
	return p.err
}

func (p *painter) tests(r *testReport) {
	for _, t := range r.Results {
		if t.Status == "passed" {
			continue
		}
		p.printf("%s %s:%d: %s\n", p.paint(red, strings.ToUpper(t.Status)), t.File, t.Row, visible(t.Name))
		if t.Why != "" {
			p.printf("  %s\n", visible(t.Why))
		}
		for _, d := range t.Differences {
			p.printf("  %s (row %d)\n  %s\n  %s\n", d.What, d.Row, p.paint(green, "- want "+visible(d.Want)), p.paint(red, "+ got  "+visible(d.Got)))
		}
	}
	for _, c := range r.Coverage {
		p.coverage(c)
	}
	p.printf("%d passed, %d failed, %d skipped\n", r.Passed, r.Failed, r.Skipped)
}

// spans writes sorted rows as people do: 3, 7-9.
func spans(rows []int) string {
	var out []string
	for i := 0; i < len(rows); {
		last := i
		for last+1 < len(rows) && rows[last+1] == rows[last]+1 {
			last++
		}
		if span := strconv.Itoa(rows[i]); last > i {
			out = append(out, span+"-"+strconv.Itoa(rows[last]))
		} else {
			out = append(out, span)
		}
		i = last + 1
	}
	return strings.Join(out, ", ")
}

func (p *painter) coverage(c coverage) {
	percent := 100.0
	if c.Rows > 0 {
		percent = 100 * float64(c.Covered) / float64(c.Rows)
	}
	p.printf("%s: Rego %.1f %% of rows (%d of %d)\n", c.Bundle, percent, c.Covered, c.Rows)
	for _, file := range slices.Sorted(maps.Keys(c.NotCovered)) {
		p.printf("  not reached: %s rows %s\n", file, spans(c.NotCovered[file]))
	}
	for _, gate := range slices.Sorted(maps.Keys(c.Gates)) {
		for _, verdict := range []string{"pass", "fail", "unknown"} {
			if !slices.Contains(c.Gates[gate], verdict) {
				p.printf("  gate %s: no scenario sees it %s\n", gate, verdict)
			}
		}
	}
	for _, floor := range c.UntestedFloors {
		p.printf("  floor %s: no test makes it apply\n", floor)
	}
}

// The JUnit form that continuous integration systems read.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Skipped  int          `xml:"skipped,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		File    string        `xml:"file,attr"`
		Line    int           `xml:"line,attr"`
		Time    string        `xml:"time,attr"`
		Failure *junitMessage `xml:"failure"`
		Skipped *junitMessage `xml:"skipped"`
	}
	junitMessage struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

func printJUnit(env *Env, r *testReport) error {
	all := junitSuites{Tests: r.Total, Failures: r.Failed, Skipped: r.Skipped}
	for _, t := range r.Results {
		n := len(all.Suites)
		if n == 0 || all.Suites[n-1].Name != t.Suite {
			all.Suites = append(all.Suites, junitSuite{Name: t.Suite})
			n++
		}
		s := &all.Suites[n-1]
		tc := junitCase{Class: t.Suite, Name: visible(t.Name), File: t.File, Line: t.Row, Time: fmt.Sprintf("%.6f", t.Seconds)}
		s.Tests++
		switch t.Status {
		case "failed":
			s.Failures++
			tc.Failure = &junitMessage{Message: visible(summary(t)), Text: visible(summary(t))}
		case "skipped":
			s.Skipped++
			tc.Skipped = &junitMessage{}
		}
		s.Cases = append(s.Cases, tc)
	}
	if _, err := fmt.Fprint(env.Stdout, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(env.Stdout)
	enc.Indent("", "  ")
	if err := enc.Encode(all); err != nil {
		return err
	}
	_, err := fmt.Fprintln(env.Stdout)
	return err
}

func summary(t testResult) string {
	parts := []string{}
	if t.Why != "" {
		parts = append(parts, t.Why)
	}
	for _, d := range t.Differences {
		parts = append(parts, fmt.Sprintf("%s: want %s, got %s", d.What, d.Want, d.Got))
	}
	return strings.Join(parts, "; ")
}
