// Package policies holds the bundles that ship with Conjunct. It is the only
// place with policy text.
package policies

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

//go:embed all:clinical all:coding-agent all:critic-study all:default all:fault-corpus all:industrial all:itsm all:judicial all:protected-branch
var files embed.FS

// Default is the bundle that decides when none is named.
const Default = "default"

// Names lists the shipped bundles, sorted.
func Names() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		return nil
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	slices.Sort(names)
	return names
}

// FS returns the files of a shipped bundle, tests included.
func FS(name string) (fs.FS, error) {
	if !slices.Contains(Names(), name) {
		return nil, fmt.Errorf("no bundle named %q ships with Conjunct: there are %s", name, strings.Join(Names(), ", "))
	}
	return fs.Sub(files, name)
}

//go:embed init/scenarios
var scenarios embed.FS

// Scenarios returns the example scenarios for a new bundle.
func Scenarios() fs.FS {
	sub, err := fs.Sub(scenarios, "init/scenarios")
	if err != nil {
		// The directory is part of this package; it cannot be missing.
		panic(err)
	}
	return sub
}
