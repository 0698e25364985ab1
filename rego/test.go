package rego

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/cover"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/tester"
	"github.com/open-policy-agent/opa/v1/topdown"
)

// Suite is what RunTests runs: the modules of a bundle and its test files.
type Suite struct {
	Modules []Module
	Tests   []Module
	Data    map[string]any
	Run     string        // only tests whose name matches; empty: all
	Timeout time.Duration // for one test
}

// TestResult is one test rule.
type TestResult struct {
	Package  string
	Name     string
	File     string
	Row      int
	Duration time.Duration
	Failed   bool
	Skipped  bool
	// Why is the error, or the expression that was not true.
	Why string
}

// Coverage tells for one file which rows the tests reached.
type Coverage struct {
	File       string
	Covered    []int
	NotCovered []int
}

// RunTests runs the `test_` rules of a bundle with OPA's own runner, as `opa
// test` does, and returns the results in order of file and row. When a test
// fails they run a second time with tracing, to tell where.
func RunTests(ctx context.Context, s Suite) ([]TestResult, []Coverage, []Problem) {
	modules, problems := parse(slices.Concat(s.Modules, s.Tests))
	if len(problems) > 0 {
		return nil, nil, sorted(problems)
	}
	if _, err := regexp.Compile(s.Run); err != nil {
		return nil, nil, []Problem{{Code: "test_filter", Message: err.Error()}}
	}
	reached := cover.New()
	results, err := s.run(ctx, modules, func(r *tester.Runner) *tester.Runner { return r.SetCoverageQueryTracer(reached) })
	if err != nil {
		return nil, nil, sorted(fromOPA(err))
	}
	if slices.ContainsFunc(results, func(r *tester.Result) bool { return r.Fail }) {
		if traced, err := s.run(ctx, modules, func(r *tester.Runner) *tester.Runner { return r.EnableTracing(true) }); err == nil {
			results = traced
		}
	}
	out := make([]TestResult, len(results))
	for i, r := range results {
		out[i] = testResult(r, s.Timeout)
	}
	slices.SortFunc(out, func(a, b TestResult) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Row, b.Row), cmp.Compare(a.Name, b.Name))
	})
	return out, coverage(reached, modules, s.Modules), nil
}

func (s Suite) run(ctx context.Context, modules map[string]*ast.Module, option func(*tester.Runner) *tester.Runner) ([]*tester.Result, error) {
	store := inmem.NewFromObject(toStore(s.Data))
	txn, err := store.NewTransaction(ctx)
	if err != nil {
		return nil, err
	}
	defer store.Abort(ctx, txn)
	runner := option(tester.NewRunner().SetModules(modules).SetStore(store).SetTimeout(s.Timeout).RaiseBuiltinErrors(true))
	if s.Run != "" {
		runner = runner.Filter(s.Run)
	}
	results, err := runner.RunTests(ctx, txn)
	if err != nil {
		return nil, err
	}
	var out []*tester.Result
	for r := range results {
		out = append(out, r)
	}
	return out, nil
}

func testResult(r *tester.Result, limit time.Duration) TestResult {
	out := TestResult{Package: strings.TrimPrefix(r.Package, "data."), Name: r.Name, Duration: r.Duration, Skipped: r.Skip, Failed: r.Fail || r.Error != nil}
	if r.Location != nil {
		out.File, out.Row = r.Location.File, r.Location.Row
	}
	switch {
	case topdown.IsCancel(r.Error):
		out.Why = fmt.Sprintf("not decided within %s", limit)
	case r.Error != nil:
		out.Why = r.Error.Error()
	case r.Fail:
		out.Why = "not true: " + failedAt(r, out.File)
	}
	return out
}

// failedAt is the last expression in the test's own file that did not hold.
func failedAt(r *tester.Result, file string) string {
	for _, e := range slices.Backward(r.Trace) {
		x, ok := e.Node.(*ast.Expr)
		if ok && e.Op == topdown.FailOp && x.Location != nil && x.Location.File == file {
			return fmt.Sprintf("%s (row %d)", x.Location.Text, x.Location.Row)
		}
	}
	return r.Name
}

// coverage lists rows of the bundle's own modules; tests cover themselves.
func coverage(trace *cover.Cover, modules map[string]*ast.Module, own []Module) []Coverage {
	report := trace.Report(modules)
	var out []Coverage
	for _, m := range own {
		f, ok := report.Files[m.File]
		if !ok {
			continue
		}
		out = append(out, Coverage{File: m.File, Covered: rows(f.Covered), NotCovered: rows(f.NotCovered)})
	}
	return out
}

// rows lists the rows of ranges, each once: a row may hold several.
func rows(ranges []cover.Range) (out []int) {
	for _, r := range ranges {
		for row := r.Start.Row; row <= r.End.Row; row++ {
			out = append(out, row)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// CheckTests compiles modules and tests together, strictly, and runs nothing.
func CheckTests(all []Module) []Problem {
	modules, problems := parse(all)
	if len(problems) > 0 {
		return sorted(problems)
	}
	c := ast.NewCompiler().WithStrict(true).WithDefaultRegoVersion(ast.RegoV1).WithEnablePrintStatements(true)
	if c.Compile(modules); c.Failed() {
		return sorted(fromOPA(c.Errors))
	}
	return nil
}
