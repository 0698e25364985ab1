package cli

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/urfave/cli/v2"

	"github.com/conjunct-project/conjunct/bench"
	"github.com/conjunct-project/conjunct/bench/noise"
	studies "github.com/conjunct-project/conjunct/bench/report"
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
		Subcommands: []*cli.Command{benchCompareCommand(env), benchSweepCommand(env), benchTracesCommand(env), benchCriticCommand(env),
			benchNoiseCommand(env), benchCasesCommand(env), benchSpeedCommand(env), benchReportCommand(env)},
	}
}

func studyFormat() cli.Flag { return formatFlag("pretty", "json", "csv", "markdown") }

func benchCompareCommand(env *Env) *cli.Command {
	return &cli.Command{
		Name:  "compare",
		Usage: "let a conjunction, two scores and a protocol answer the same faults and their controls",
		Description: `Without --corpus: 280 constructed cases under the bundle fault-corpus. With it, and
with --bundle, your own cases under your own bundle (docs/bench.md has the
format). A signal of the score is a floor or gate of the bundle, by its name: it
is on where that floor matched or that gate did not pass.

Exit code: 0 the conjunction answered every case as wanted, and for the 280 cases
every arm came to the counts that the study asserts; 5 otherwise.`,
		Flags: append(corpusFlags(), &cli.StringFlag{Name: "export", Usage: "write the cases to a corpus `FILE` besides"}, studyFormat()),
		Action: func(c *cli.Context) error {
			r, err := runCompare(c, env)
			if err != nil {
				return err
			}
			return printStudy(env, c.String("format"), r)
		},
	}
}

func benchSweepCommand(env *Env) *cli.Command {
	return &cli.Command{
		Name:  "sweep",
		Usage: "try every order of the score's weights at every threshold on the same cases",
		Description: `Exit code: 0 a score agrees with the conjunction exactly where its threshold is at
most the smallest weight; 5 otherwise.`,
		Flags: append(corpusFlags(), studyFormat()),
		Action: func(c *cli.Context) error {
			r, err := runCompare(c, env)
			if err != nil {
				return err
			}
			return printStudy(env, c.String("format"), r.Sweep())
		},
	}
}

func corpusFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "bundle", Usage: "the policy: an OPA bundle `DIR` or tarball (default: the built-in " + bench.FaultBundle + ")"},
		&cli.StringFlag{Name: "corpus", Usage: "a `FILE` of your own cases (default: the built-in faults)"},
		&cli.StringFlag{Name: "weights", Usage: "the score's signals as `NAME=WEIGHT,...`, whole hundredths (default: boundary=0.45,secret=0.30,test=0.25)"},
		&cli.StringFlag{Name: "tau", Value: "0.60", Usage: "the `THRESHOLD` at which the score refuses, whole hundredths"},
		seedFlag(bench.FaultSeed),
	}
}

func runCompare(c *cli.Context, env *Env) (bench.Compare, error) {
	if err := noArguments(c); err != nil {
		return bench.Compare{}, err
	}
	s, err := readStudy(c, env, c.Uint64("seed"))
	if err != nil {
		return bench.Compare{}, err
	}
	if name := c.String("export"); name != "" {
		if err := exportCorpus(name, &s.Corpus); err != nil {
			return bench.Compare{}, err
		}
	}
	return compareStudy(c, env, s)
}

func compareStudy(c *cli.Context, env *Env, s bench.Study) (bench.Compare, error) {
	step, done := progress(env, "cases", len(s.Corpus.Cases))
	defer done()
	s.Step = step
	r, err := bench.RunCompare(c.Context, s)
	var silent *bench.SignalError
	if errors.As(err, &silent) {
		return r, usagef("a signal is a floor or gate of the bundle, by its name", "%v", silent)
	}
	return r, err
}

// readStudy is the built-in study, with what flags put in its place. Counts are
// asserted of the study as it is alone.
func readStudy(c *cli.Context, env *Env, seed uint64) (bench.Study, error) {
	b, err := builtIn(bench.FaultBundle)
	if c.IsSet("bundle") {
		b, err = readBundle(c.String("bundle"))
	}
	if err != nil {
		return bench.Study{}, err
	}
	s, err := bench.FaultStudy(seed, b)
	if err != nil {
		return s, err
	}
	if c.IsSet("bundle") || c.IsSet("corpus") || c.IsSet("weights") || c.IsSet("tau") {
		s.Asserts = nil
	}
	if c.IsSet("corpus") {
		if s.Corpus, err = readCorpus(env, c.String("corpus")); err != nil {
			return s, err
		}
	}
	if c.IsSet("weights") {
		if s.Signals, err = readWeights(c.String("weights")); err != nil {
			return s, err
		}
	}
	if c.IsSet("tau") {
		s.Tau, err = readHundredths("tau", c.String("tau"))
	}
	return s, err
}

func readCorpus(env *Env, name string) (bench.Corpus, error) {
	in, err := openInput(env, name)
	if err != nil {
		return bench.Corpus{}, err
	}
	defer in.Close()
	corpus, err := bench.ReadCorpus(in)
	if err != nil {
		return corpus, fmt.Errorf("%s: %w", in.name, err)
	}
	return corpus, nil
}

func exportCorpus(name string, corpus *bench.Corpus) error {
	f, err := os.Create(name)
	if err != nil {
		return usagef("", "%v", err)
	}
	return errors.Join(corpus.Write(f), f.Close())
}

// mostSignals is how many weights there may be: the sweep tries every order.
const mostSignals = 6

func readWeights(text string) (out []bench.Signal, err error) {
	for _, part := range strings.Split(text, ",") {
		name, weight, ok := strings.Cut(strings.TrimSpace(part), "=")
		if !ok || name == "" {
			return nil, usagef("write them like boundary=0.45,secret=0.30", "%q is no signal with a weight", part)
		}
		if slices.ContainsFunc(out, func(s bench.Signal) bool { return s.Name == name }) {
			return nil, usagef("", "signal %q has two weights", name)
		}
		s := bench.Signal{Name: name}
		if s.Weight, err = readHundredths("the weight of "+name, weight); err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	if len(out) > mostSignals {
		return nil, usagef("", "%d signals are too many to try every order of their weights: at most %d", len(out), mostSignals)
	}
	return out, nil
}

// readHundredths reads a number above 0 and up to 1 that is a whole number of
// hundredths: sums of such have no rounding.
func readHundredths(what, text string) (int, error) {
	f, err := strconv.ParseFloat(text, 64)
	n := int(math.Round(100 * f))
	if err != nil || !(f > 0 && f <= 1) || float64(n)/100 != f {
		return 0, usagef("write it like 0.45", "%s %q is no whole number of hundredths above 0 and up to 1", what, text)
	}
	return n, nil
}

func benchSpeedCommand(env *Env) *cli.Command {
	return &cli.Command{
		Name:  "speed",
		Usage: "measure how long facts and decisions take on this machine",
		Flags: append(corpusFlags()[:2], &cli.IntFlag{Name: "rounds", Value: 20, Usage: "how `OFTEN` each case is decided"}, studyFormat()),
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			if n := c.Int("rounds"); n < 1 || n > 100_000 {
				return usagef("", "--rounds %d is not from 1 to 100,000", n)
			}
			s, err := readStudy(c, env, bench.FaultSeed)
			if err != nil {
				return err
			}
			step, done := progress(env, "cases", len(s.Corpus.Cases))
			defer done()
			s.Step = step
			r, err := bench.RunSpeed(c.Context, s, c.Int("rounds"), time.Now)
			if err != nil {
				return err
			}
			return printStudy(env, c.String("format"), r)
		},
	}
}

func benchReportCommand(env *Env) *cli.Command {
	return &cli.Command{
		Name:      "report",
		Usage:     "run every study and write tables, figures and one page",
		ArgsUsage: "DIR",
		Action: func(c *cli.Context) error {
			dir, err := oneArgument(c, "DIR")
			if err != nil {
				return err
			}
			return writeReport(c, env, dir)
		},
	}
}

func writeReport(c *cli.Context, env *Env, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err // before the studies, which take a while
	}
	var s studies.Studies
	b, err := builtIn(bench.FaultBundle)
	if err != nil {
		return err
	}
	study, err := bench.FaultStudy(bench.FaultSeed, b)
	if err != nil {
		return err
	}
	if s.Compare, err = compareStudy(c, env, study); err != nil {
		return err
	}
	if s.Traces, err = runTraces(c); err != nil {
		return err
	}
	if s.Critic, err = runCritic(c, env, bench.CriticSeed); err != nil {
		return err
	}
	if s.Noise, err = runNoise(c, env, noise.Default()); err != nil {
		return err
	}
	files, err := studies.Write(dir, &s)
	if err != nil {
		return err
	}
	for _, f := range files {
		fmt.Fprintln(env.Stdout, filepath.Join(dir, f))
	}
	if !s.Holds() {
		fmt.Fprintln(env.Stderr, "conjunct: a comparison did not hold")
		return exitError(exitNotHeld)
	}
	return nil
}

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

func benchCriticCommand(env *Env) *cli.Command {
	return &cli.Command{
		Name:  "critic",
		Usage: "compare a critic's score with structural signals and with the conjunction of both",
		Flags: []cli.Flag{seedFlag(bench.CriticSeed), studyFormat()},
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			r, err := runCritic(c, env, c.Uint64("seed"))
			if err != nil {
				return err
			}
			return printStudy(env, c.String("format"), r)
		},
	}
}

func runCritic(c *cli.Context, env *Env, seed uint64) (bench.Critic, error) {
	b, err := builtIn(bench.CriticBundle)
	if err != nil {
		return bench.Critic{}, err
	}
	step, done := progress(env, "proposals", bench.CriticProposals)
	defer done()
	return bench.RunCritic(c.Context, b, seed, step)
}

func seedFlag(value uint64) cli.Flag {
	return &cli.Uint64Flag{Name: "seed", Value: value, Usage: "`N` from which all that is random follows"}
}

func benchNoiseCommand(env *Env) *cli.Command {
	d := noise.Default()
	return &cli.Command{
		Name:  "noise",
		Usage: "simulate detectors that err and reviewers who are few",
		Flags: []cli.Flag{
			seedFlag(d.Seed),
			&cli.IntFlag{Name: "replications", Value: d.Replications, Usage: "`N` times each scenario is drawn"},
			&cli.IntFlag{Name: "proposals", Value: d.Proposals, Usage: "`N` proposals in each half of a replication"},
			studyFormat(),
		},
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			r, err := runNoise(c, env, noise.Config{Seed: c.Uint64("seed"), Replications: c.Int("replications"), Proposals: c.Int("proposals")})
			if err != nil {
				return err
			}
			return printStudy(env, c.String("format"), r)
		},
	}
}

func runNoise(c *cli.Context, env *Env, config noise.Config) (noise.Result, error) {
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
