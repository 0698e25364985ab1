package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/conjunct-project/conjunct/policies"
)

func initCommand(env *Env) *cli.Command {
	return &cli.Command{
		Name:      "init",
		Usage:     "write a bundle to start from",
		ArgsUsage: "DIR",
		Description: `Writes DIR/bundle, a copy of the default bundle with its tests, and
DIR/scenarios, examples of whole decisions to test. Nothing that exists is
overwritten.`,
		Action: func(c *cli.Context) error { return initBundle(c, env) },
	}
}

func initBundle(c *cli.Context, env *Env) error {
	dir, err := oneArgument(c, "DIR")
	if err != nil {
		return err
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
	template, err := policies.FS(policies.Default)
	if err != nil {
		return err
	}
	if err := os.CopyFS(filepath.Join(dir, "bundle"), template); err != nil {
		return err
	}
	if err := os.CopyFS(filepath.Join(dir, "scenarios"), policies.Scenarios()); err != nil {
		return err
	}
	fmt.Fprintf(env.Stdout, "%s\n%s\n", filepath.Join(dir, "bundle"), filepath.Join(dir, "scenarios"))
	fmt.Fprintf(env.Stderr, "next: declare your tools in %s\n", filepath.Join(dir, "bundle", "conjunct", "registry", "data.yaml"))
	return nil
}
