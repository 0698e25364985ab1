package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/policies"
)

func initCommand(env *Env) *cli.Command {
	return &cli.Command{
		Name:      "init",
		Usage:     "write a bundle to start from",
		ArgsUsage: "DIR",
		Description: `Writes DIR/bundle, a copy of a bundle that ships, with its tests, and
DIR/scenarios, whole decisions that test it. Nothing that exists is overwritten.

   conjunct init desk
   conjunct init gate --from coding-agent`,
		Flags:  []cli.Flag{&cli.StringFlag{Name: "from", Value: policies.Default, Usage: "the `BUNDLE` to start from: " + strings.Join(policies.Starters(), ", ")}},
		Action: func(c *cli.Context) error { return initBundle(c, env) },
	}
}

func initBundle(c *cli.Context, env *Env) error {
	dir, err := oneArgument(c, "DIR")
	if err != nil {
		return err
	}
	from := c.String("from")
	template, err := policies.FS(from)
	starters := strings.Join(policies.Starters(), ", ")
	switch {
	case err != nil:
		return usagef(engine.DidYouMean(from, policies.Starters()), "no bundle named %q ships with Conjunct; there are %s", from, starters)
	case slices.Contains(policies.Studies(), from):
		return usagef("start from one of "+starters, "%s is what a study of `conjunct bench` decides under: its tools are made up", from)
	}
	scenarios, err := policies.Scenarios(from)
	if err != nil {
		return err
	}
	parts := []struct {
		name  string
		files fs.FS
	}{{"bundle", template}, {"scenarios", scenarios}}
	for _, part := range parts {
		target := filepath.Join(dir, part.name)
		if _, err := os.Lstat(target); err == nil {
			return usagef("choose another directory, or remove it first", "%s exists already", target)
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return begun(dir, err)
	}
	for _, part := range parts {
		target := filepath.Join(dir, part.name)
		if err := os.CopyFS(target, part.files); err != nil {
			return begun(dir, err)
		}
		fmt.Fprintln(env.Stdout, target)
	}
	fmt.Fprintf(env.Stderr, "next: declare your tools in %s\n", filepath.Join(dir, "bundle", "conjunct", "registry", "data.yaml"))
	return nil
}

// begun is the error of a directory that could not be written as a whole. What
// was written stays: nothing is removed that somebody else may have made.
func begun(dir string, err error) error {
	if errors.Is(err, syscall.ENOTDIR) {
		return usagef("choose another directory", "%s: a file stands in its place or above it", dir)
	}
	if info, lost := os.Stat(dir); lost != nil || !info.IsDir() {
		return fmt.Errorf("%s was not made: %w", dir, err)
	}
	return &hintedError{fmt.Errorf("%s is not whole: %w", dir, err), "remove it before you try again"}
}
