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
	"github.com/conjunct-project/conjunct/pdp"
	"github.com/conjunct-project/conjunct/reexam"
	"github.com/conjunct-project/conjunct/signals"
)

func decideCommand(env *Env) *cli.Command {
	return &cli.Command{
		Name:      "decide",
		Usage:     "decide one action, or each line of a JSONL file",
		ArgsUsage: "ACTION.json",
		Description: `Reads a proposed tool call and says whether it may run, with the reasons.
With --state the decision is journalled in a state directory and takes what
happened before into account. Without it this is a dry run from the contract's
start state, and its answer is not for enforcement.

   conjunct decide --bundle policies/itsm testdata/itsm/blocked.jsonl
   echo '{"trace_id":"t","call_id":"c","tool":"x","arguments":{}}' | conjunct decide -

Exit code: 0 allowed, 3 blocked, 4 held for review, 2 malformed input; for many
actions the worst of them, 2 over 3 over 4 over 0.`,
		Flags: []cli.Flag{bundleFlag(orDefault + "; with --state: the one in force, and no other may be named"), stateFlag(), nowFlag(),
			&cli.StringFlag{Name: "redaction-key", Usage: "the key in `FILE` under which redacted arguments are kept, with --state"},
			&cli.BoolFlag{Name: "explain", Usage: "show what each rule did, and what stands between the action and allow; not with --state"},
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
	if c.IsSet("state") {
		return decideOn(c, env, name)
	}
	b, err := loadBundle(c)
	if err != nil {
		return err
	}
	run := &decider{explain: c.Bool("explain"), show: answerPrinter(env, c.String("format")), decide: dryRun(b, now, env.World)}
	code, err := run.file(c.Context, env, name)
	if err != nil {
		return err
	}
	if run.shown > 0 && c.String("format") == "pretty" {
		fmt.Fprintln(env.Stderr, "dry run: nothing was journalled; not for enforcement")
	}
	return exitError(code)
}

// dryRun decides each action on its own, from the contract's start state.
func dryRun(b *bundle.Bundle, now int64, w signals.World) func(context.Context, engine.Action, action.Line, error) (*answer, error) {
	return func(ctx context.Context, a engine.Action, _ action.Line, err error) (*answer, error) {
		if err != nil {
			return nil, err
		}
		in := engine.Input{Action: a, State: b.Start(), Now: now}
		if b.ReadsFacts() {
			in.Facts, in.FactsUnknown = b.Facts(ctx, a, now, w)
		}
		d := engine.Decide(ctx, b, in)
		if err := ctx.Err(); err != nil {
			return nil, err // what was cut short says nothing of the action
		}
		low := engine.LowConfidence(a.Confidence, b.Contract().Threshold)
		return &answer{Decision: &d, explain: func() *explanation {
			return &explanation{Rules: b.Explain(ctx, in, &d, low), Needs: d.Needs()}
		}}, nil
	}
}

// decideOn decides on a state directory: what it answers is in the journal.
func decideOn(c *cli.Context, env *Env, name string) error {
	if c.IsSet("now") || c.Bool("explain") {
		return usagef("leave --state out for a dry run", "--now and --explain are for dry runs")
	}
	return withState(c, env, func(p *pdp.PDP) error {
		if c.IsSet("bundle") {
			b, err := loadBundle(c)
			if err != nil {
				return err
			}
			if b.Bundle().Digest != p.Bundle().Bundle().Digest {
				return usagef("put it in force with `conjunct state activate`", "the state has another bundle in force (%s)", p.Bundle().Bundle().Digest)
			}
		}
		run := &decider{show: answerPrinter(env, c.String("format")), decide: func(ctx context.Context, a engine.Action, line action.Line, err error) (*answer, error) {
			var bad *action.Error
			if errors.As(err, &bad) {
				return nil, errors.Join(err, p.Refuse(line, bad))
			}
			if err != nil {
				return nil, err
			}
			// A decision under way is short, and is finished when it is interrupted: what
			// is journalled is what the policy says, and not that somebody had enough.
			d, err := p.Decide(context.WithoutCancel(ctx), a)
			if errors.Is(err, reexam.ErrNoKey) {
				err = usagef("give it with --redaction-key FILE, the same for every command on this state", "%s has arguments that the contract redacts, and there is no key to do it with", a.Tool)
			}
			return &answer{Decision: &d}, err
		}}
		code, err := run.file(c.Context, env, name)
		if err != nil {
			return err
		}
		return exitError(code)
	})
}

// decider decides the documents of an input, one way or the other.
type decider struct {
	explain bool
	// decide answers an action, or takes note of what was none.
	decide func(ctx context.Context, a engine.Action, line action.Line, err error) (*answer, error)
	show   func(*answer) error
	shown  int
}

func (r *decider) file(ctx context.Context, env *Env, name string) (int, error) {
	in, err := openInput(env, name)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	return r.all(ctx, in, func(err error) { report(env.Stderr, err) })
}

// answer is a decision and, where asked for, how it came about.
type answer struct {
	*engine.Decision
	Explain *explanation `json:"explain,omitempty"`
	explain func() *explanation
}

type explanation struct {
	Rules []bundle.Explanation `json:"rules"`
	Needs []engine.Need        `json:"needs"`
}

// all decides every document of an input. In an input of many a malformed one
// is complained about and the others are still decided. An interrupt ends it
// between two documents, and so does a journal that cannot be written: nothing
// more would be permitted.
func (r *decider) all(ctx context.Context, in *input, complain func(error)) (code int, err error) {
	some := false
	docs, many := in.documents()
	for line, err := range docs {
		if ctx.Err() != nil {
			return 0, interrupted(in, line)
		}
		some = true
		var outcome engine.Outcome
		var bad *action.Error
		if err == nil || errors.As(err, &bad) {
			outcome, err = r.one(ctx, line, err)
		}
		switch {
		case err == nil:
			code = worst(code, exitFor(outcome))
		case ctx.Err() != nil && errors.Is(err, ctx.Err()):
			return 0, interrupted(in, line)
		case errors.Is(err, pdp.ErrUnwritten), errors.Is(err, errUnshown):
			return 0, stopped(in, line, err)
		case many:
			complain(fmt.Errorf("%s: %w", in.name, located(line, err)))
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

// interrupted is the error of an input that was left at a line; 0 is one that is a
// single document.
func interrupted(in *input, at action.Line) error {
	if at.Number == 0 {
		return fmt.Errorf("%s: %w", in.name, errInterrupted)
	}
	return fmt.Errorf("%s: %w before line %d: it and what follows were left out", in.name, errInterrupted, at.Number)
}

// errUnshown is an answer that was given and could not be printed.
var errUnshown = errors.New("the answer could not be printed")

// stopped is the error of an input behind whose line nothing is decided, because
// answers can no longer be journalled or given.
func stopped(in *input, at action.Line, err error) error {
	hint := "the next answers would not be seen either"
	if errors.Is(err, pdp.ErrUnwritten) {
		hint = "nothing is permitted while the journal cannot be written; ask again when it can"
	}
	if at.Number > 0 {
		hint = fmt.Sprintf("what follows line %d was left out; ", at.Number) + hint
	}
	return &hintedError{fmt.Errorf("%s: %w", in.name, located(at, err)), hint}
}

// located puts an error at its line.
func located(line action.Line, err error) error {
	var bad *action.Error
	if line.Number == 0 || errors.As(err, &bad) {
		return line.Locate(err)
	}
	return fmt.Errorf("line %d: %w", line.Number, err)
}

// one decides a document; err is why there is none to decode. An answer is shown
// also where it comes with an error: it blocks then, and says why.
func (r *decider) one(ctx context.Context, line action.Line, err error) (engine.Outcome, error) {
	var a engine.Action
	if err == nil {
		a, err = action.Decode(line.Text)
	}
	out, err := r.decide(ctx, a, line, err)
	if out == nil {
		return engine.Block, err
	}
	if r.explain {
		out.Explain = out.explain()
	}
	r.shown++
	if unshown := r.show(out); unshown != nil {
		return engine.Block, fmt.Errorf("%w: %w", errUnshown, unshown)
	}
	return out.Outcome, err
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
