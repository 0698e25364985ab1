package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/policies"
)

func initCommand(env *Env) *cli.Command {
	return &cli.Command{
		Name:      "init",
		Usage:     "write a bundle to start from",
		ArgsUsage: "DIR",
		Description: `Writes DIR/bundle, a copy of a bundle that ships, with its tests, and of the
default one DIR/scenarios, examples of whole decisions to test. Nothing that
exists is overwritten.

   conjunct init desk
   conjunct init gate --from coding-agent`,
		Flags:  []cli.Flag{&cli.StringFlag{Name: "from", Value: policies.Default, Usage: "the `BUNDLE` to start from: " + strings.Join(policies.Names(), ", ")}},
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
	if err != nil {
		return usagef(cmp.Or(engine.DidYouMean(from, policies.Names()), "name one of them"), "%v", err)
	}
	for _, part := range []string{"bundle", "scenarios"} {
		target := filepath.Join(dir, part)
		if _, err := os.Lstat(target); !errors.Is(err, fs.ErrNotExist) {
			return usagef("choose another directory, or remove it first", "%s exists already", target)
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := os.CopyFS(filepath.Join(dir, "bundle"), template); err != nil {
		return err
	}
	fmt.Fprintln(env.Stdout, filepath.Join(dir, "bundle"))
	if from == policies.Default {
		if err := os.CopyFS(filepath.Join(dir, "scenarios"), policies.Scenarios()); err != nil {
			return err
		}
		fmt.Fprintln(env.Stdout, filepath.Join(dir, "scenarios"))
	}
	fmt.Fprintf(env.Stderr, "next: declare your tools in %s\n", filepath.Join(dir, "bundle", "conjunct", "registry", "data.yaml"))
	return nil
}
