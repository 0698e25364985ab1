// Package policies holds the bundles that ship with Conjunct. It is the only
// place with policy text.
package policies

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

//go:embed all:clinical all:coding-agent all:critic-study all:default all:fault-corpus all:industrial all:itsm all:judicial all:protected-branch
var files embed.FS

// Default is the bundle that decides when none is named.
const Default = "default"

// Studies lists the bundles that the studies of a benchmark decide under, sorted.
// Their tools are made up: there is nothing in them to switch on.
func Studies() []string { return []string{"critic-study", "fault-corpus"} }

// Starters lists the bundles that a team may start from, sorted.
func Starters() []string {
	studies := Studies()
	return slices.DeleteFunc(Names(), func(name string) bool { return slices.Contains(studies, name) })
}

// Names lists all bundles that ship, sorted.
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

//go:embed testdata/scenarios
var scenarios embed.FS

// Scenarios returns the whole decisions that test a shipped bundle, for a copy of
// it to start from. Those of studies are in the studies.
func Scenarios(name string) (fs.FS, error) {
	dir := path.Join("testdata/scenarios", name)
	if _, err := fs.Stat(scenarios, dir); err != nil {
		return nil, fmt.Errorf("no scenarios of a bundle named %q ship with Conjunct", name)
	}
	return fs.Sub(scenarios, dir)
}
