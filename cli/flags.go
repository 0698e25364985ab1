package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/conjunct-project/conjunct/bundle"
	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/policies"
)

// bundleFlag names a bundle; without says what holds where it is left out.
func bundleFlag(without string) cli.Flag {
	return &cli.StringFlag{Name: "bundle", Usage: "the policy: an OPA bundle `DIR` or tarball, or the name of one that ships: " + strings.Join(policies.Starters(), ", ") +
		" (and, for its studies only, " + strings.Join(policies.Studies(), ", ") + "). " + without}
}

const orDefault = "Without it: " + policies.Default

func formatFlag(formats ...string) cli.Flag {
	return &cli.StringFlag{Name: "format", Value: formats[0], Usage: "output `FORMAT`: " + strings.Join(formats, ", "),
		Action: func(_ *cli.Context, v string) error {
			for _, f := range formats {
				if v == f {
					return nil
				}
			}
			return usagef(engine.DidYouMean(v, formats), "unknown format %q: want one of %s", v, strings.Join(formats, ", "))
		}}
}

func nowFlag() cli.Flag {
	return &cli.StringFlag{Name: "now", Usage: "decide as if it were `TIME` (RFC 3339, or whole seconds since 1970); not with --state"}
}

// clock reads --now, or the environment's clock.
func clock(c *cli.Context, env *Env) (int64, error) {
	text := c.String("now")
	if !c.IsSet("now") {
		return env.Now().Unix(), nil
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n >= 0 && n < 1<<53 {
		return n, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil || t.Unix() < 0 {
		return 0, usagef("write it like 2026-03-02T09:30:00Z", "--now %q is not a time with a zone", text)
	}
	return t.Unix(), nil
}

// loadBundle reads the bundle that --bundle names, or the built-in default.
func loadBundle(c *cli.Context) (*bundle.Bundle, error) {
	name := c.String("bundle")
	if !c.IsSet("bundle") {
		return builtIn(policies.Default)
	}
	return readBundle(name)
}

// readBundle reads a bundle that an argument names. A directory that holds one,
// or none, is told in one line.
func readBundle(name string) (*bundle.Bundle, error) {
	if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) && slices.Contains(policies.Names(), name) {
		return builtIn(name)
	}
	if info, err := os.Stat(name); err == nil && info.IsDir() && !isBundle(name) {
		if inner := filepath.Join(name, "bundle"); isBundle(inner) {
			return nil, usagef("did you mean "+inner+"?", "%s is no bundle", name)
		}
		if sub, err := os.Stat(filepath.Join(name, "conjunct")); err != nil || !sub.IsDir() {
			return nil, usagef("a bundle is a directory with a .manifest; `conjunct init DIR` writes one", "%s holds no bundle", name)
		}
	}
	b, err := bundle.Read(name)
	var load *bundle.LoadError
	if err != nil && !errors.As(err, &load) {
		hint := engine.DidYouMean(name, policies.Names())
		if hint == "" {
			hint = "give a bundle directory or a .tar.gz made of one; `conjunct init DIR` writes one"
		}
		return nil, usagef(hint, "%v", err)
	}
	return b, err
}

// openInput opens a file argument, or standard input for `-`.
func openInput(env *Env, name string) (*input, error) {
	if name == "-" {
		return &input{name: "standard input", Reader: env.Stdin}, nil
	}
	f, err := os.Open(name)
	if err == nil {
		var info fs.FileInfo
		if info, err = f.Stat(); err == nil && info.IsDir() {
			f.Close()
			return nil, usagef("", "%s is a directory, not a file", name)
		}
	}
	if err != nil {
		var p *fs.PathError
		if errors.As(err, &p) {
			err = p.Err
		}
		return nil, usagef("", "%s: %v", name, err)
	}
	return &input{name: name, Reader: f, close: f.Close}, nil
}

// oneArgument is the only argument of a command.
func oneArgument(c *cli.Context, what string) (string, error) {
	switch c.NArg() {
	case 0:
		return "", usagef("see "+helpFor(c), "%s is missing", what)
	case 1:
		return c.Args().First(), nil
	}
	return "", usagef("see "+helpFor(c), "one %s is wanted, not %d", what, c.NArg())
}

func noArguments(c *cli.Context) error {
	if c.Args().Present() {
		return usagef("see "+helpFor(c), "unexpected argument %q", c.Args().First())
	}
	return nil
}

func rfc3339(t int64) string { return fmt.Sprint(time.Unix(t, 0).UTC().Format(time.RFC3339)) }
