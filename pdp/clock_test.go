package pdp_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/conjunct-project/conjunct/bundle"
	"github.com/conjunct-project/conjunct/pdp"
	"github.com/conjunct-project/conjunct/policies"
	"github.com/conjunct-project/conjunct/signals"
)

// TestFactsAreOfTheTimeOfTheDecision puts the clock back out of a window that the
// journal is in already: a decision is never earlier than the entry before it, and
// neither are its facts.
func TestFactsAreOfTheTimeOfTheDecision(t *testing.T) {
	fsys, err := policies.FS("coding-agent")
	if err != nil {
		t.Fatal(err)
	}
	files, err := bundle.FromFS(fsys, "coding-agent")
	if err != nil {
		t.Fatal(err)
	}
	const scope, floors = "conjunct/scope/data.yaml", "conjunct/floors/floors.rego"
	files.Content[scope] = append(files.Content[scope], "\nwindows: {freeze: {zone: UTC, from: \"Mon 22:00\", to: \"Tue 06:00\"}}\n"...)
	files.Content[floors] = append(files.Content[floors], `
# METADATA
# title: Nothing changes in a freeze
# custom:
#   id: freeze
floors contains {"name": "freeze", "tier": "refuse"} if {
	input.facts.time.windows.freeze == true
}
`...)
	b, err := bundle.Load(files)
	if err != nil {
		t.Fatal(err)
	}
	const frozen, before = 4*86400 + 23*3600, 4*86400 + 12*3600 // a Monday
	dir := filepath.Join(t.TempDir(), "state")
	if err := pdp.Init(dir, b, frozen); err != nil {
		t.Fatal(err)
	}
	p := open(t, dir, pdp.Options{Now: func() int64 { return before }, World: signals.World{Files: signals.Disk{}, Dir: t.TempDir(), Home: "/home/u"}})
	d := decided(t, p, proposed(t, "1", "read_file", `{"path":"a"}`))
	if d.Permit || !strings.Contains(d.Reason, "freeze") {
		t.Errorf("permit %v in the freeze: %s", d.Permit, d.Reason)
	}
}
