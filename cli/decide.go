package cli

import (
	"context"
	"encoding/json"
	"errors"
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
		Flags:  []cli.Flag{bundleFlag(), nowFlag(), formatFlag("pretty", "json")},
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
	show := decisionPrinter(env, c.String("format"))
	code, some := exitOK, false
	docs, many := in.documents()
	for doc, err := range docs {
		some = true
		answer := engine.Decision{}
		if err == nil {
			answer, err = dryRun(c.Context, b, doc.text, now)
		}
		if err != nil {
			if err = inDocument(in.name, doc, many, err); !many {
				return err
			}
			report(env.Stderr, err)
			code = worst(code, codeOf(err))
			continue
		}
		if err := show(&answer); err != nil {
			return err
		}
		code = worst(code, exitFor(answer.Outcome))
	}
	if !some {
		return usagef("", "%s holds no action", in.name)
	}
	if c.String("format") == "pretty" {
		fmt.Fprintln(env.Stderr, "dry run: nothing was journalled; not for enforcement")
	}
	return exitError(code)
}

// dryRun decides one document from the contract's start state.
func dryRun(ctx context.Context, b *bundle.Bundle, doc []byte, now int64) (engine.Decision, error) {
	a, err := action.Decode(doc)
	if err != nil {
		return engine.Decision{}, err
	}
	return engine.Decide(ctx, b, engine.Input{Action: a, State: b.Start(), Now: now}), nil
}

// inDocument names the file, and in a file of many the line, in which an action
// is malformed.
func inDocument(name string, doc document, many bool, err error) error {
	var e *action.Error
	if !errors.As(err, &e) {
		return fmt.Errorf("%s: %w", name, err)
	}
	placed := *e
	if many && doc.line > 0 {
		placed.Line = doc.line
	}
	return fmt.Errorf("%s: %w", name, &placed)
}

// decisionPrinter returns the function that shows a decision in a format.
func decisionPrinter(env *Env, format string) func(*engine.Decision) error {
	if format == "json" {
		enc := newEncoder(env.Stdout)
		return func(d *engine.Decision) error { return enc.Encode(d) }
	}
	p := &painter{w: env.Stdout, color: env.Color}
	return p.decision
}

func newEncoder(w io.Writer) *json.Encoder {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc
}
