package cli

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/conjunct-project/conjunct/bench/cases"
)

func benchCasesCommand(env *Env) *cli.Command {
	return &cli.Command{
		Name:      "cases",
		Usage:     "decide a corpus of small inputs and compare with what should happen",
		ArgsUsage: "FILE.jsonl",
		Description: `Each line of the file is a case: {"id", "source", "kind", "request": {"tool",
"arguments", "context"}, "expected": "allow|review|block|error", "why"}, or a
request of {"raw": TEXT}. Its context becomes the scope of the coding-agent
bundle, files and links in a temporary tree, or what happened before the call.

   conjunct bench cases cases.jsonl

Exit code: 0 nothing ran that should not have and nothing was kept from running
that should have, 5 otherwise.`,
		Flags:  []cli.Flag{studyFormat()},
		Action: func(c *cli.Context) error { return benchCases(c, env) },
	}
}

func benchCases(c *cli.Context, env *Env) error {
	name, err := oneArgument(c, "FILE.jsonl")
	if err != nil {
		return err
	}
	in, err := openInput(env, name)
	if err != nil {
		return err
	}
	defer in.Close()
	corpus, err := cases.Read(in)
	if err != nil {
		return usagef("see "+helpFor(c), "%s: %v", name, err)
	}
	step, done := progress(env, "cases", len(corpus))
	defer done()
	r, err := cases.Run(c.Context, corpus, step)
	if err != nil {
		return fmt.Errorf("bench cases: %w", err)
	}
	return printStudy(env, c.String("format"), r)
}
