package cli

import (
	"fmt"

	"github.com/schollz/progressbar/v3"
	"github.com/urfave/cli/v2"

	"github.com/conjunct-project/conjunct/bench"
	"github.com/conjunct-project/conjunct/bench/noise"
	"github.com/conjunct-project/conjunct/bench/table"
	"github.com/conjunct-project/conjunct/bundle"
	"github.com/conjunct-project/conjunct/policies"
)

func benchCommand(env *Env) *cli.Command {
	return &cli.Command{
		Name:  "bench",
		Usage: "compare a conjunction of gates with weighted scores, on the same cases",
		Description: `What each study shows, and what in it is constructed, is in docs/bench.md.

Exit code: 0 the comparison holds, 5 it does not.`,
		Subcommands: []*cli.Command{benchTracesCommand(env), benchNoiseCommand(env)},
	}
}

func studyFormat() cli.Flag { return formatFlag("pretty", "json", "csv", "markdown") }

func benchTracesCommand(env *Env) *cli.Command {
	return &cli.Command{
		Name:  "traces",
		Usage: "fold eighteen transition traces with the whole model and with parts of it left out",
		Flags: []cli.Flag{studyFormat()},
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			r, err := runTraces(c)
			if err != nil {
				return err
			}
			return printStudy(env, c.String("format"), r)
		},
	}
}

func runTraces(c *cli.Context) (bench.Traces, error) {
	b, err := builtIn(bench.TraceBundle)
	if err != nil {
		return bench.Traces{}, err
	}
	return bench.RunTraces(c.Context, b)
}

func benchNoiseCommand(env *Env) *cli.Command {
	d := noise.Default()
	return &cli.Command{
		Name:  "noise",
		Usage: "simulate detectors that err and reviewers who are few",
		Flags: []cli.Flag{
			&cli.Uint64Flag{Name: "seed", Value: d.Seed, Usage: "`N` from which all that is random follows"},
			&cli.IntFlag{Name: "replications", Value: d.Replications, Usage: "how often each scenario is drawn"},
			&cli.IntFlag{Name: "proposals", Value: d.Proposals, Usage: "proposals in each half of a replication"},
			studyFormat(),
		},
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			r, err := runNoise(c, env)
			if err != nil {
				return err
			}
			return printStudy(env, c.String("format"), r)
		},
	}
}

func runNoise(c *cli.Context, env *Env) (noise.Result, error) {
	config := noise.Config{Seed: c.Uint64("seed"), Replications: c.Int("replications"), Proposals: c.Int("proposals")}
	if err := config.Check(); err != nil {
		return noise.Result{}, usagef("see "+helpFor(c), "%v", err)
	}
	step, done := progress(env, "replications", config.Steps())
	defer done()
	config.Step = step
	return noise.Run(c.Context, config)
}

// progress shows a bar on a terminal while step is called n times.
func progress(env *Env, what string, n int) (step, done func()) {
	if !env.Progress {
		return func() {}, func() {}
	}
	bar := progressbar.NewOptions(n, progressbar.OptionSetWriter(env.Stderr), progressbar.OptionSetDescription(what),
		progressbar.OptionShowCount(), progressbar.OptionClearOnFinish())
	return func() { _ = bar.Add(1) }, func() { _ = bar.Finish() }
}

// printStudy prints a result and says by the exit code whether it holds.
func printStudy(env *Env, format string, r bench.Result) error {
	var err error
	switch format {
	case "json":
		err = newEncoder(env.Stdout).Encode(r)
	case "csv":
		err = r.Records().Write(env.Stdout, format)
	default:
		err = table.WriteAll(env.Stdout, format, r.Tables()...)
	}
	if err != nil {
		return err
	}
	if !r.Holds() {
		fmt.Fprintln(env.Stderr, "conjunct: the comparison did not hold")
		return exitError(exitNotHeld)
	}
	return nil
}

// builtIn loads a bundle that ships with the program.
func builtIn(name string) (*bundle.Bundle, error) {
	fsys, err := policies.FS(name)
	if err != nil {
		return nil, err
	}
	files, err := bundle.FromFS(fsys, "built-in "+name)
	if err != nil {
		return nil, err
	}
	return bundle.Load(files)
}
