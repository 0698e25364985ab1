package main_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/conjunct-project/conjunct"

// edges is the layer table: which rooms a room may import. Imports point down;
// docs/design.md says what each room is for. A new edge is a design change.
var edges = map[string][]string{
	".":            {"cli"},
	"cli":          {"bench", "bench/cases", "bench/noise", "bench/report", "bench/table", "pdp", "metrics", "reexam", "episode", "scenario", "bundle", "signals", "policies", "floors", "rego", "cel", "datafile", "action", "engine"},
	"pdp":          {"reexam", "bundle", "signals", "episode", "evidence", "journal", "rego", "cel", "action", "engine"},
	"reexam":       {"bundle", "episode", "evidence", "journal", "action", "engine"},
	"metrics":      {"journal", "engine"},
	"journal":      {},
	"episode":      {"evidence", "action", "engine"},
	"evidence":     {"engine"},
	"scenario":     {"signals", "datafile", "action", "engine"},
	"bundle":       {"signals", "floors", "rego", "cel", "datafile", "action", "engine"},
	"policies":     {},
	"bench":        {"bench/table", "episode", "signals", "action", "engine"},
	"bench/report": {"bench", "bench/noise", "bench/table", "bench/figure"},
	"bench/figure": {},
	"bench/noise":  {"bench/table"},
	"bench/cases":  {"bench/table", "pdp", "reexam", "bundle", "signals", "policies", "datafile", "action", "engine"},
	"bench/table":  {},
	"floors":       {"rego", "engine"},
	"rego":         {"engine"},
	"cel":          {"engine"},
	"datafile":     {"engine"},
	"signals":      {"engine"},
	"action":       {"engine"},
	"engine":       {},
}

// only says which rooms may import a library at all.
var only = map[string][]string{
	"github.com/open-policy-agent/opa":      {"rego"},
	"github.com/google/cel-go":              {"cel"},
	"github.com/urfave/cli":                 {"cli"},
	"gopkg.in/yaml.v3":                      {"datafile"},
	"github.com/go-json-experiment/json":    {"action"},
	"github.com/hashicorp/go-memdb":         {"evidence"},
	"github.com/gofrs/flock":                {"journal"},
	"github.com/jedib0t/go-pretty":          {"bench/table"},
	"gonum.org/v1/plot":                     {"bench/figure"},
	"gonum.org/v1/gonum":                    {"bench/noise"},
	"github.com/prometheus":                 {"metrics"},
	"github.com/zricethezav/gitleaks":       {"signals"},
	"github.com/spf13/viper":                {"signals"},
	"mvdan.cc/sh":                           {"signals"},
	"github.com/bmatcuk/doublestar":         {"signals", "bench"},
	"golang.org/x/text":                     {"action", "signals"},
	"cel.dev/":                              {},
	"github.com/open-policy-agent/opa/cmd":  {},
	"github.com/open-policy-agent/opa/rego": {},
}

func TestLayers(t *testing.T) {
	seen := map[string]bool{}
	walkImports(t, func(file, room, path string) {
		seen[room] = true
		if _, known := edges[room]; !known {
			t.Errorf("%s: room %q is not in the layer table", file, room)
			return
		}
		if rest, ours := strings.CutPrefix(path, module+"/"); ours {
			if !slices.Contains(edges[room], rest) {
				t.Errorf("%s: room %s may not import %s", file, room, rest)
			}
			return
		}
		if room == "engine" && strings.Contains(path, ".") {
			t.Errorf("%s: engine imports the standard library only, not %s", file, path)
		}
		for library, rooms := range only {
			if strings.HasPrefix(path, library) && !slices.Contains(rooms, room) {
				t.Errorf("%s: room %s may not import %s", file, room, path)
			}
		}
	})
	for room := range edges {
		if !seen[room] {
			t.Errorf("the layer table lists room %s, and no file of it imports anything", room)
		}
	}
}

// TestPurity holds the core to having no clock, file, network, environment or
// random source within reach.
func TestPurity(t *testing.T) {
	impure := []string{"os", "net", "time", "math/rand", "math/rand/v2", "crypto/rand", "syscall", "unsafe", "os/exec", "io/fs"}
	walkImports(t, func(file, room, path string) {
		if room == "engine" && slices.Contains(impure, path) {
			t.Errorf("%s: engine imports %s", file, path)
		}
	})
}

// walkImports visits every import of every file that is not a test.
func walkImports(t *testing.T, visit func(file, room, path string)) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && file != "." || d.Name() == "testdata"):
			return filepath.SkipDir
		case filepath.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go"):
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		files++
		for _, spec := range f.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			visit(file, filepath.ToSlash(filepath.Dir(file)), path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 30 {
		t.Fatalf("only %d files looked at", files)
	}
}
