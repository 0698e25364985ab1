package rego

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/cover"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/tester"
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
// test` does, and returns the results in order of file and row.
func RunTests(ctx context.Context, s Suite) ([]TestResult, []Coverage, []Problem) {
	modules, problems := parse(slices.Concat(s.Modules, s.Tests))
	if len(problems) > 0 {
		return nil, nil, sorted(problems)
	}
	if _, err := regexp.Compile(s.Run); err != nil {
		return nil, nil, []Problem{{Code: "test_filter", Message: err.Error()}}
	}
	store := inmem.NewFromObject(toStore(s.Data))
	txn, err := store.NewTransaction(ctx)
	if err != nil {
		return nil, nil, []Problem{{Code: "test_store", Message: err.Error()}}
	}
	defer store.Abort(ctx, txn)
	trace := cover.New()
	runner := tester.NewRunner().SetModules(modules).SetStore(store).SetCoverageQueryTracer(trace).
		SetTimeout(s.Timeout).RaiseBuiltinErrors(true).CapturePrintOutput(true)
	if s.Run != "" {
		runner = runner.Filter(s.Run)
	}
	results, err := runner.RunTests(ctx, txn)
	if err != nil {
		return nil, nil, sorted(fromOPA(err))
	}
	var out []TestResult
	for r := range results {
		out = append(out, testResult(r))
	}
	slices.SortFunc(out, func(a, b TestResult) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Row, b.Row), cmp.Compare(a.Name, b.Name))
	})
	return out, coverage(trace, modules, s.Modules), nil
}

func testResult(r *tester.Result) TestResult {
	out := TestResult{Package: strings.TrimPrefix(r.Package, "data."), Name: r.Name, Duration: r.Duration, Skipped: r.Skip, Failed: r.Fail || r.Error != nil}
	if r.Location != nil {
		out.File, out.Row = r.Location.File, r.Location.Row
	}
	switch {
	case r.Error != nil:
		out.Why = r.Error.Error()
	case r.Fail && r.FailedAt != nil:
		out.Why = "not true: " + r.FailedAt.String()
	case r.Fail:
		out.Why = "not true"
	}
	return out
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

func rows(ranges []cover.Range) (out []int) {
	for _, r := range ranges {
		for row := r.Start.Row; row <= r.End.Row; row++ {
			out = append(out, row)
		}
	}
	return out
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
