package cli

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/conjunct-project/conjunct/policies"
)

// bundlePaths lists the bundles that the arguments name: a bundle itself, a
// directory that `init` wrote, or a directory of bundles. Without an argument
// it is the current directory.
func bundlePaths(c *cli.Context) ([]string, error) {
	args := c.Args().Slice()
	if len(args) == 0 {
		args = []string{"."}
	}
	var out []string
	for _, arg := range args {
		found, err := bundlesAt(arg)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

func bundlesAt(name string) ([]string, error) {
	info, err := os.Stat(name)
	if err != nil {
		hint := "name a bundle directory or tarball"
		if slices.Contains(policies.Starters(), name) {
			hint = fmt.Sprintf("`conjunct init DIR --from %s` writes that bundle", name)
		}
		return nil, usagef(hint, "%s: no such file or directory", name)
	}
	if !info.IsDir() || isBundle(name) {
		return []string{name}, nil
	}
	entries, err := os.ReadDir(name)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		if sub := filepath.Join(name, e.Name()); e.IsDir() && isBundle(sub) {
			out = append(out, sub)
		}
	}
	if len(out) == 0 && slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == "conjunct" && e.IsDir() }) {
		// Everything of a bundle but its manifest: let the loader say so.
		return []string{name}, nil
	}
	if len(out) == 0 {
		return nil, usagef(cmp.Or(above(name), "a bundle is a directory with a .manifest; `conjunct init DIR` writes one"), "%s holds no bundle", name)
	}
	return out, nil
}

// above names the bundle that a directory is a part of, or stands beside.
func above(name string) string {
	dir, err := filepath.Abs(name)
	for range 4 {
		up := filepath.Dir(dir)
		if err != nil || up == dir {
			return ""
		}
		dir = up
		for _, b := range []string{dir, filepath.Join(dir, "bundle")} {
			if isBundle(b) {
				return "did you mean " + b + "?"
			}
		}
	}
	return ""
}

func isBundle(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, ".manifest"))
	return err == nil
}
