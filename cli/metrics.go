package cli

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/metrics"
	"github.com/conjunct-project/conjunct/reexam"
)

func metricsCommand(env *Env) *cli.Command {
	return &cli.Command{
		Name:      "metrics",
		Usage:     "tell from a journal how well the gate does",
		ArgsUsage: "DIR-or-FILE",
		Description: `Reads a state directory, or a journal file with its older segments and bundles
beside it. Nothing is decided again and nothing is written. Every ratio has its
counts; 0/0 is no data, not 0.

A permitted call counts as executed unless it was reported that it was not run.
Figures named known count every call known to be wrong against the gate: those
a reviewer rejected, and those that ran and had an incident reported.

Exit code: 0, or 5 where the journal does not verify.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "trace", Usage: "only the calls of `TRACE`"},
			formatFlag("pretty", "json", "prometheus"),
		},
		Action: func(c *cli.Context) error { return showMetrics(c, env) },
	}
}

func showMetrics(c *cli.Context, env *Env) error {
	name, err := oneArgument(c, "DIR-or-FILE")
	if err != nil {
		return err
	}
	if !reexam.Holds(name) {
		return noJournal(name)
	}
	r, err := metrics.Of(c.Context, name, metrics.Options{Library: policiesBeside(name), Trace: c.String("trace")})
	if err != nil {
		return unread(name, err)
	}
	if r.Torn != "" {
		fmt.Fprintf(env.Stderr, "conjunct: %s\n", r.Torn)
	}
	if trace := c.String("trace"); c.IsSet("trace") && r.TaskCompletion.Of == 0 {
		fmt.Fprintf(env.Stderr, "conjunct: the journal holds no call of the trace %q\n", visible(trace))
	}
	switch c.String("format") {
	case "json":
		return newEncoder(env.Stdout).Encode(r)
	case "prometheus":
		return r.WritePrometheus(env.Stdout)
	}
	p := &painter{w: env.Stdout, color: env.Color}
	p.metrics(&r)
	return p.err
}

// policiesBeside finds the bundles beside a journal.
func policiesBeside(name string) metrics.Library {
	library := reexam.LibraryBeside(name)
	missing := map[string]bool{}
	return func(digest string) (engine.Policy, bool) {
		if missing[digest] {
			return nil, false
		}
		b, err := library(digest)
		if err != nil {
			// What rests on the bundle is told in the report's notes.
			missing[digest] = true
			return nil, false
		}
		return b, true
	}
}

// metrics prints every figure with what it was made of.
func (p *painter) metrics(r *metrics.Report) {
	for _, n := range r.All() {
		name := n.Name
		if n.Class != "" {
			name += " " + n.Class
		}
		value, counts := figure(&n)
		if n.Value == nil {
			value = p.paint(dim, fmt.Sprintf("%9s", value))
		}
		p.printf("%-38s %9s  %s\n", name, value, p.paint(dim, counts))
	}
	for _, note := range r.Notes {
		p.printf("%s\n", p.paint(dim, "note: "+note))
	}
}

// figure writes a figure's value in its unit, and its counts.
func figure(n *metrics.Named) (value, counts string) {
	plain := func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
	counts = plain(n.Count) + " of " + plain(n.Of)
	if n.Unit == metrics.Cost {
		counts = plain(n.Count) + " over " + plain(n.Of)
	}
	switch {
	case n.Value == nil:
		return "no data", counts
	case n.Unit == metrics.Share:
		return fmt.Sprintf("%.1f %%", 100**n.Value), counts
	case n.Unit == metrics.Seconds:
		return span(*n.Value), counts + " measured"
	case n.Unit == metrics.Cost:
		return fmt.Sprintf("%.3f", *n.Value), counts
	}
	return plain(*n.Value), counts
}

// span writes seconds as people write them, where they fit a duration.
func span(seconds float64) string {
	if seconds > math.MaxInt64/float64(time.Second)/2 {
		return fmt.Sprintf("%.4g s", seconds)
	}
	return time.Duration(seconds * float64(time.Second)).Round(time.Microsecond).String()
}
