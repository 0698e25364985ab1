package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/conjunct-project/conjunct/bundle"
	"github.com/conjunct-project/conjunct/scenario"
)

func checkCommand(env *Env) *cli.Command {
	return &cli.Command{
		Name:      "check",
		Usage:     "find everything that is wrong with a bundle, in one run",
		ArgsUsage: "[PATH...]",
		Description: `Loads each bundle as decide would, and its scenarios besides, and shows every
problem with its file, row and column. A misspelt tool, property, value,
argument, gate, tier or key anywhere is a problem. Tells too which floors run
without OPA, and why the others do not.

PATH is a bundle, a directory that init wrote, or a directory of bundles.

Exit code: 0 nothing is wrong (warnings are not), 5 something is.`,
		Flags:  []cli.Flag{formatFlag("pretty", "json")},
		Action: func(c *cli.Context) error { return check(c, env) },
	}
}

// checked is the result for one bundle.
type checked struct {
	Path      string           `json:"path"`
	OK        bool             `json:"ok"`
	Revision  string           `json:"revision,omitempty"`
	Digest    string           `json:"digest,omitempty"`
	Tools     int              `json:"tools"`
	Gates     int              `json:"gates"`
	Scenarios int              `json:"scenarios"`
	Floors    int              `json:"floors"`
	Native    int              `json:"native_floors"`
	Fallback  []fallbackFloor  `json:"fallback"`
	Problems  []bundle.Problem `json:"problems"`
}

type fallbackFloor struct {
	Name string `json:"name"`
	Why  string `json:"why"`
}

func check(c *cli.Context, env *Env) error {
	paths, err := bundlePaths(c)
	if err != nil {
		return err
	}
	code := exitOK
	var all []checked
	for _, path := range paths {
		r, err := checkBundle(path)
		if err != nil {
			return err
		}
		if !r.OK {
			code = exitNotHeld
		}
		all = append(all, r)
	}
	if c.String("format") == "json" {
		if err := newEncoder(env.Stdout).Encode(map[string]any{"ok": code == exitOK, "bundles": all}); err != nil {
			return err
		}
		return exitError(code)
	}
	p := &painter{w: env.Stdout, color: env.Color}
	for _, r := range all {
		p.checked(r)
	}
	if p.err != nil {
		return p.err
	}
	return exitError(code)
}

func checkBundle(path string) (checked, error) {
	r := checked{Path: path, Fallback: []fallbackFloor{}, Problems: []bundle.Problem{}}
	b, err := bundle.Read(path)
	var load *bundle.LoadError
	if errors.As(err, &load) {
		r.Problems = append(r.Problems, load.Problems...)
		return r, nil
	}
	if err != nil {
		return r, usagef("", "%v", err)
	}
	native, total, others := b.Native()
	r.Revision, r.Digest, r.Native, r.Floors = b.Bundle().Revision, b.Bundle().Digest, native, total
	r.Tools, r.Gates = len(b.Tools()), len(b.OwnGates())
	for _, o := range others {
		r.Fallback = append(r.Fallback, fallbackFloor{o.Name, o.Why})
	}
	r.Problems = append(r.Problems, b.Warnings...)
	r.OK = true
	for _, dir := range scenario.Beside(path) {
		scenarios, problems, err := scenario.ReadDir(dir, b)
		if err != nil {
			return r, err
		}
		r.Scenarios += len(scenarios)
		r.Problems = append(r.Problems, problems...)
		r.OK = r.OK && len(problems) == 0
	}
	return r, r.tests(path)
}

// tests compiles the Rego tests of a bundle directory without running any.
func (r *checked) tests(path string) error {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return nil
	}
	tests, err := bundle.Tests(path)
	if err != nil {
		return err
	}
	problems, err := bundle.CheckTests(path, tests)
	r.Problems = append(r.Problems, problems...)
	r.OK = r.OK && len(problems) == 0
	return err
}

// checked prints problems with the row they stand in, then what was found.
func (p *painter) checked(r checked) {
	for _, problem := range r.Problems {
		p.problem(problem)
	}
	if !r.OK {
		p.printf("%s %s: %d problems\n", p.paint(red, "FAIL"), r.Path, len(r.Problems))
		return
	}
	p.printf("%s %s: %d tools, %d gates, %d scenarios, %d floors of which %d run without OPA\n", p.paint(green, "OK"),
		r.Path, r.Tools, r.Gates, r.Scenarios, r.Floors, r.Native)
	for _, f := range r.Fallback {
		p.printf("   floor %s asks OPA for: %s\n", f.Name, visible(f.Why))
	}
}

func (p *painter) problem(problem bundle.Problem) {
	place := problem.File
	if problem.Row > 0 {
		place += fmt.Sprintf(":%d:%d", problem.Row, max(problem.Col, 1))
	}
	kind := p.paint(red, "error")
	if problem.Warning {
		kind = p.paint(yellow, "warning")
	}
	p.printf("%s: %s: %s\n", p.paint(bold, visible(place)), kind, visible(strings.Join(strings.Fields(problem.Message), " ")))
	if problem.Row > 0 && problem.Line != "" {
		line, col := visibleLine(problem.Line, problem.Col)
		p.printf("%6d | %s\n       | %s^\n", problem.Row, line, strings.Repeat(" ", col))
	}
	if problem.Hint != "" {
		p.printf("  hint: %s\n", visible(problem.Hint))
	}
}

// visibleLine is a source line with tabs as spaces, and the column of the caret
// in it. A long line is shown around the caret.
func visibleLine(line string, col int) (string, int) {
	col = min(max(col-1, 0), len(line))
	before := visible(strings.ReplaceAll(line[:col], "\t", "    "))
	after := visible(strings.ReplaceAll(line[col:], "\t", "    "))
	const width = 110
	if n := len(before); n > width/2 {
		before = "..." + before[n-width/2:]
	}
	if len(after) > width {
		after = after[:width] + "..."
	}
	return before + after, len([]rune(before))
}
