package signals

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/conjunct-project/conjunct/engine"
)

// corpusCase is one of the small inputs with an expected outcome.
type corpusCase struct {
	ID, Kind, Expected, Why string
	Request                 struct {
		Tool      string
		Arguments map[string]any
		Context   struct {
			Collect, Ignore []string
		}
	}
}

func corpus(t *testing.T, kinds string) (cases []corpusCase) {
	f, err := os.Open("../../shared/cases/cases.jsonl")
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var c corpusCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			continue // kinds of another form
		}
		if strings.Contains(kinds, c.Kind) {
			cases = append(cases, c)
		}
	}
	if len(cases) == 0 {
		t.Fatal("no cases")
	}
	return cases
}

// kinds says what the names of arguments in tests mean.
var kinds = map[string]engine.ArgumentKind{
	"path": engine.PathKind, "content": engine.ContentKind, "content_base64": engine.Base64Kind, "body": engine.ContentKind,
	"url": engine.URLKind, "argv": engine.CommandKind, "command": engine.CommandKind, "before": engine.BeforeKind, "after": engine.AfterKind,
	"source": engine.FromKind, "destination": engine.ToKind, "paths": engine.DeleteKind,
}

func call(arguments map[string]any) *Call {
	tool := engine.Tool{Arguments: map[string]engine.Argument{}}
	for name := range arguments {
		tool.Arguments[name] = engine.Argument{Kind: kinds[name]}
	}
	return &Call{Action: engine.Action{Arguments: arguments}, Tool: tool, Declared: true}
}

// sharedScanner is loaded once for all tests.
var sharedScanner = sync.OnceValues(newScanner)

func facts(t *testing.T, f Family, s Scope, c *Call, w World) (map[string]any, []string) {
	t.Helper()
	d, problems := New(s, []Family{f})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	d.scanner = sharedScanner
	got, unknown := d.Facts(context.Background(), c, w)
	m, _ := got[string(f)].(map[string]any)
	return m, unknown
}

func TestSecretCorpus(t *testing.T) {
	for _, c := range corpus(t, "secret-encoded secret-control") {
		got, unknown := facts(t, Secret, Scope{}, call(c.Request.Arguments), World{})
		outcome := "allow"
		list, ok := got["findings"].([]any)
		if !ok {
			outcome = "unknown"
		}
		for _, f := range list {
			if f.(map[string]any)["certainty"] == "secret" {
				outcome = "block"
			} else if outcome != "block" {
				outcome = "review"
			}
		}
		if outcome != c.Expected {
			t.Errorf("%s (%s): got %s, want %s; %v %v", c.ID, c.Why, outcome, c.Expected, got, unknown)
		}
	}
}

func TestTestCorpus(t *testing.T) {
	for _, c := range corpus(t, "test-skip-marker test-rename-move test-weakened") {
		scope := Scope{Tests: TestScope{Collect: c.Request.Context.Collect, Ignore: c.Request.Context.Ignore}}
		got, unknown := facts(t, Tests, scope, call(c.Request.Arguments), World{Dir: "/w/app"})
		outcome := "allow"
		list, ok := got["changes"].([]any)
		if !ok {
			outcome = "unknown"
		}
		for _, f := range list {
			switch f.(map[string]any)["change"] {
			case "expectation_changed", "deleted":
				if outcome == "allow" {
					outcome = "review"
				}
			default:
				outcome = "block"
			}
		}
		if outcome != c.Expected {
			t.Errorf("%s (%s): got %s, want %s; %v %v", c.ID, c.Why, outcome, c.Expected, got, unknown)
		}
	}
}
