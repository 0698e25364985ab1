package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/schollz/progressbar/v3"
	"github.com/urfave/cli/v2"

	"github.com/conjunct-project/conjunct/bundle"
	"github.com/conjunct-project/conjunct/pdp"
	"github.com/conjunct-project/conjunct/reexam"
)

func replayCommand(env *Env) *cli.Command {
	return &cli.Command{
		Name:      "replay",
		Usage:     "verify a journal and decide every attempt in it again",
		ArgsUsage: "DIR-or-FILE",
		Description: `Reads a state directory, or a journal file with its older segments and bundles
beside it, and derives every entry anew: the bytes must be equal. Nothing is
written. With --against it tells which calls another bundle would decide
otherwise, newly allowed first.

Exit code: 0 everything follows, 5 something does not, or --against would newly
allow a call.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "head", Usage: "the `HASH` of an entry that must be there: a cut tail is found"},
			&cli.StringFlag{Name: "against", Usage: "another `BUNDLE` to decide everything under"},
			formatFlag("pretty", "json"),
		},
		Action: func(c *cli.Context) error { return replay(c, env) },
	}
}

func replay(c *cli.Context, env *Env) error {
	name, err := oneArgument(c, "DIR-or-FILE")
	if err != nil {
		return err
	}
	o := reexam.Options{Head: c.String("head"), Versions: pdp.Versions()}
	if c.IsSet("against") {
		if o.Against, err = readBundle(c.String("against")); err != nil {
			return err
		}
	}
	if env.Progress {
		bar := progressbar.NewOptions(-1, progressbar.OptionSetWriter(env.Stderr), progressbar.OptionSetDescription("entries"),
			progressbar.OptionShowCount(), progressbar.OptionClearOnFinish())
		o.Progress = func(n int) { _ = bar.Set(n) }
		defer func() { _ = bar.Finish() }()
	}
	if !reexam.Holds(name) {
		return noJournal(name)
	}
	r, err := reexam.Replay(c.Context, name, o)
	if errors.Is(err, fs.ErrNotExist) {
		return usagef("name a state directory or its journal.jsonl", "%v", err)
	}
	if err != nil {
		return err
	}
	if err := printReplay(env, c.String("format"), &r, o.Against); err != nil {
		return err
	}
	if !r.OK || len(r.Changes) > 0 && r.Changes[0].NewlyAllowed() {
		return exitError(exitNotHeld)
	}
	return nil
}

// noJournal says why no journal is read from a path.
func noJournal(name string) error {
	if _, err := os.Stat(filepath.Join(name, "journal.jsonl")); errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%s: %w", name, err)
	}
	return usagef("name a state directory or its journal.jsonl", "%s holds no journal", name)
}

func printReplay(env *Env, format string, r *reexam.Report, against *bundle.Bundle) error {
	if format == "json" {
		return newEncoder(env.Stdout).Encode(r)
	}
	p := &painter{w: env.Stdout, color: env.Color}
	if r.Torn != "" {
		fmt.Fprintf(env.Stderr, "conjunct: %s\n", r.Torn)
	}
	if r.Due > 0 {
		fmt.Fprintf(env.Stderr, "conjunct: %d calls are due to be looked at again after the last entry: it was cut short, and opening the state adds them\n", r.Due)
	}
	for _, problem := range r.Problems {
		p.printf("%s entry %d: %s: %s\n", p.paint(red, "FAIL"), problem.Seq, problem.Code, visible(problem.Text))
	}
	for _, ch := range r.Changes {
		mark := p.paint(yellow, "changed")
		if ch.NewlyAllowed() {
			mark = p.paint(red, "newly allowed")
		}
		p.printf("%s  %s/%s (entry %d): %s -> %s because of %s\n", mark, visible(ch.TraceID), visible(ch.CallID), ch.Seq, ch.Was, ch.Now, ch.Cause)
	}
	if against != nil {
		p.printf("%d of %d attempts would be decided otherwise under %s\n", len(r.Changes), r.Attempts, visible(against.Bundle().Revision))
	}
	p.printf("%d entries verified, %d of %d attempts decided again to equal bytes", r.Entries, r.Redecided, r.Attempts)
	if r.Imposed > 0 {
		p.printf(", %d with verdicts that time had imposed", r.Imposed)
	}
	if r.Redacted > 0 {
		p.printf(", %d redacted: verified and not decided again", r.Redacted)
	}
	if r.Checkpoints > 0 {
		p.printf(", %d checkpoints of the same state", r.Checkpoints)
	}
	if r.Unread > 0 {
		p.printf(", %d checkpoints in the form of another version: not compared", r.Unread)
	}
	p.printf("\nhead %s\n", r.Head)
	return p.err
}
