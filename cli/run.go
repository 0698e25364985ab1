package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/episode"
)

func runCommand(env *Env) *cli.Command {
	return &cli.Command{
		Name:      "run",
		Usage:     "fold episodes of events and print what each came to",
		ArgsUsage: "EPISODES.jsonl",
		Description: `Folds each episode on an evidence state of its own and prints one line for it:
the label (allow, review, block) and transition of every attempt, and the times
of requests, finished and invalid reviews, releases and retries. With --format
pretty it shows every event with the state, the failed gate, what is prohibited
and what has to happen next.

   conjunct run --bundle policies/protected-branch testdata/episodes/protected-branch.jsonl

An episode, as one line (labels and transitions that a file carries besides are
for its readers; they are not compared):

   {"id":"e1","events":[{"t":0,"op":"evidence","name":"ci","status":"pass"},{"t":1,"op":"attempt"}]}`,
		Flags:  []cli.Flag{bundleFlag(orDefault), formatFlag("json", "pretty")},
		Action: func(c *cli.Context) error { return run(c, env) },
	}
}

func run(c *cli.Context, env *Env) error {
	name, err := oneArgument(c, "EPISODES.jsonl")
	if err != nil {
		return err
	}
	b, err := loadBundle(c)
	if err != nil {
		return err
	}
	in, err := openInput(env, name)
	if err != nil {
		return err
	}
	defer in.Close()
	show := episodePrinter(env, c.String("format"))
	code, some := exitOK, false
	docs, _ := in.documents()
	for line, err := range docs {
		if c.Context.Err() != nil {
			return interrupted(in, line)
		}
		some = true
		var result episode.Result
		if err == nil {
			var ep episode.Episode
			if ep, err = episode.Decode(line.Text, b.Contract()); err == nil {
				result, err = ep.Run(c.Context, b)
			}
		}
		if c.Context.Err() != nil {
			return interrupted(in, line)
		}
		if err != nil {
			report(env.Stderr, fmt.Errorf("%s: %w", in.name, line.Locate(err)))
			code = worst(code, codeOf(err))
			continue
		}
		if err := show(&result); err != nil {
			return err
		}
	}
	if !some {
		return usagef("", "%s holds no episode", in.name)
	}
	return exitError(code)
}

func episodePrinter(env *Env, format string) func(*episode.Result) error {
	if format == "json" {
		enc := newEncoder(env.Stdout)
		return func(r *episode.Result) error { return enc.Encode(r) }
	}
	p := &painter{w: env.Stdout, color: env.Color}
	return p.episode
}

// episode prints every event of an episode with its record.
func (p *painter) episode(r *episode.Result) error {
	if p.count++; p.count > 1 {
		p.printf("\n")
	}
	p.printf("%s\n", p.paint(bold, visible(r.ID)))
	for _, rec := range r.Records {
		p.record(&rec)
	}
	return p.err
}

func (p *painter) record(rec *engine.Record) {
	switch {
	case rec.Second != nil:
		p.secondLook(rec)
	case rec.Decision != nil:
		p.attempt(rec)
	case rec.Invalid != "":
		p.printf("  t=%-4d %-10s %s  %s\n", rec.Time, rec.Op, p.paint(red, rec.Invalid), p.paint(dim, visible(firstText(rec.Reasons))))
	case rec.Op == engine.OpEngage:
		p.printf("  t=%-4d %-10s %s  %s\n", rec.Time, rec.Op, rec.Transition, p.paint(dim, rec.ComponentVersion))
	case rec.Reviewer != nil:
		p.printf("  t=%-4d %-10s %s by %s\n", rec.Time, rec.Op, rec.ReviewOutcome, visible(*rec.Reviewer))
	default:
		p.printf("  t=%-4d %s\n", rec.Time, rec.Op)
	}
}

// attempt prints the state, the gate that failed, what is prohibited, what has
// to happen, and the record's number.
func (p *painter) attempt(rec *engine.Record) {
	d := rec.Decision
	p.printf("  t=%-4d %-10s %s\n", rec.Time, rec.Op, p.paint(outcomeColor[d.Outcome], d.Outcome.String()))
	p.printf("         state       %s -> %s\n", rec.StateBefore, rec.StateAfter)
	if d.Cause != "" {
		var why []string
		for _, r := range d.Gate(d.Cause).Reasons {
			why = append(why, r.Code)
		}
		p.printf("         failed gate %s  %s\n", d.Cause, p.paint(dim, strings.Join(slices.Compact(why), ", ")))
		p.printf("         prohibited  %s\n", d.Tool)
	}
	p.printf("         transition  %s\n", d.Transition)
	p.printf("         record      %d  %s\n", rec.Seq, p.paint(dim, fmt.Sprintf("retries left %d, review %s", rec.RetryLeft, rec.ReviewOutcome)))
}

// secondLook prints what became of a call that was looked at again.
func (p *painter) secondLook(rec *engine.Record) {
	look, c := rec.Second, yellow
	if look.Effect == engine.PulledBack {
		c = red
	}
	p.printf("  t=%-4d %-10s %s %s\n", rec.Time, rec.Op, p.paint(c, look.Effect.String()), visible(look.Path.Trace+"/"+look.CallID))
	for _, item := range look.Items {
		p.printf("         suspect     %s %s\n", item.Kind, visible(item.Value))
	}
	switch {
	case look.Origin:
		p.printf("         origin      the suspect items came from here\n")
	case look.Effect != engine.FlaggedRead:
		p.printf("         authority   %s, %s -> %s, %s\n", look.Was.Outcome, look.Was.Tier, look.Now.Outcome, look.Now.Tier)
	}
	p.printf("         record      %d  %s\n", rec.Seq, p.paint(dim, fmt.Sprintf("because of entry %d", look.Rejection)))
}

func firstText(reasons []engine.Reason) string {
	if len(reasons) == 0 {
		return ""
	}
	return reasons[0].Text
}
