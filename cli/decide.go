package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/conjunct-project/conjunct/action"
	"github.com/conjunct-project/conjunct/bundle"
	"github.com/conjunct-project/conjunct/engine"
)

func decideCommand(env *Env) *cli.Command {
	return &cli.Command{
		Name:      "decide",
		Usage:     "decide one action, or each line of a JSONL file",
		ArgsUsage: "ACTION.json",
		Description: `Reads a proposed tool call and says whether it may run, with the reasons.
This is a dry run from the contract's start state: nothing is journalled, so its
answer is not for enforcement.

   conjunct decide --bundle policies/itsm testdata/itsm/blocked.jsonl
   echo '{"trace_id":"t","call_id":"c","tool":"x","arguments":{}}' | conjunct decide -

Exit code: 0 allowed, 3 blocked, 4 held for review, 2 malformed input; for many
actions the worst of them, 2 over 3 over 4 over 0.`,
		Flags: []cli.Flag{bundleFlag(), nowFlag(),
			&cli.BoolFlag{Name: "explain", Usage: "show what each rule did, and what stands between the action and allow"},
			formatFlag("pretty", "json")},
		Action: func(c *cli.Context) error { return decide(c, env) },
	}
}

func decide(c *cli.Context, env *Env) error {
	name, err := oneArgument(c, "ACTION.json")
	if err != nil {
		return err
	}
	now, err := clock(c, env)
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
	run := &dryRun{bundle: b, now: now, explain: c.Bool("explain"), show: answerPrinter(env, c.String("format"))}
	code, err := run.all(c.Context, in, func(err error) { report(env.Stderr, err) })
	if err != nil {
		return err
	}
	if run.shown > 0 && c.String("format") == "pretty" {
		fmt.Fprintln(env.Stderr, "dry run: nothing was journalled; not for enforcement")
	}
	return exitError(code)
}

// dryRun decides actions from the contract's start state, each on its own.
type dryRun struct {
	bundle  *bundle.Bundle
	now     int64
	explain bool
	show    func(*answer) error
	shown   int
}

// answer is a decision and, where asked for, how it came about.
type answer struct {
	*engine.Decision
	Explain *explanation `json:"explain,omitempty"`
}

type explanation struct {
	Rules []bundle.Explanation `json:"rules"`
	Needs []engine.Need        `json:"needs"`
}

// all decides every document of an input. In an input of many a malformed one
// is complained about and the others are still decided.
func (r *dryRun) all(ctx context.Context, in *input, complain func(error)) (code int, err error) {
	some := false
	docs, many := in.documents()
	for line, err := range docs {
		some = true
		var outcome engine.Outcome
		if err == nil {
			outcome, err = r.one(ctx, line.Text)
		}
		switch {
		case err == nil:
			code = worst(code, exitFor(outcome))
		case many:
			complain(fmt.Errorf("%s: %w", in.name, line.Locate(err)))
			code = worst(code, codeOf(err))
		default:
			return 0, fmt.Errorf("%s: %w", in.name, err)
		}
	}
	if !some {
		return 0, usagef("", "%s holds no action", in.name)
	}
	return code, nil
}

func (r *dryRun) one(ctx context.Context, doc []byte) (engine.Outcome, error) {
	a, err := action.Decode(doc)
	if err != nil {
		return engine.Block, err
	}
	in := engine.Input{Action: a, State: r.bundle.Start(), Now: r.now}
	d := engine.Decide(ctx, r.bundle, in)
	out := answer{Decision: &d}
	if r.explain {
		low := engine.LowConfidence(a.Confidence, r.bundle.Contract().Threshold)
		out.Explain = &explanation{Rules: r.bundle.Explain(ctx, in, &d, low), Needs: d.Needs()}
	}
	r.shown++
	return d.Outcome, r.show(&out)
}

// answerPrinter returns the function that shows an answer in a format.
func answerPrinter(env *Env, format string) func(*answer) error {
	if format == "json" {
		enc := newEncoder(env.Stdout)
		return func(a *answer) error { return enc.Encode(a) }
	}
	p := &painter{w: env.Stdout, color: env.Color}
	return func(a *answer) error {
		p.decision(a.Decision)
		if a.Explain != nil {
			p.explanation(a.Explain)
		}
		return p.err
	}
}

func newEncoder(w io.Writer) *json.Encoder {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc
}
