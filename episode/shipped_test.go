package episode_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/conjunct-project/conjunct/episode"
)

// TestShippedEpisodes folds the episodes in testdata, each with the bundle that
// its file is named for, and compares labels, transitions and what was looked at
// again with what the file says.
func TestShippedEpisodes(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "testdata", "episodes", "*.jsonl"))
	if err != nil || len(files) < 4 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(file[:len(file)-len(".jsonl")])
		b := load(t, name)
		lines := bufio.NewScanner(bytes.NewReader(text))
		for lines.Scan() {
			var want struct {
				ID                  string
				Labels, Transitions []string
				Reexamined          []map[string]any
			}
			if err := json.Unmarshal(lines.Bytes(), &want); err != nil {
				t.Fatal(err)
			}
			t.Run(name+"/"+want.ID, func(t *testing.T) {
				ep, err := episode.Decode(lines.Bytes(), b.Contract())
				if err != nil {
					t.Fatal(err)
				}
				r, err := ep.Run(context.Background(), b)
				if err != nil {
					t.Fatal(err)
				}
				labels, transitions := []string{}, []string{}
				for i := range r.Labels {
					labels, transitions = append(labels, r.Labels[i].String()), append(transitions, r.Transitions[i].String())
				}
				var looked []map[string]any
				if text, err := json.Marshal(r.Reexamined); err != nil || json.Unmarshal(text, &looked) != nil {
					t.Fatal(err)
				}
				if len(looked) != len(want.Reexamined) || len(looked) > 0 && !reflect.DeepEqual(looked, want.Reexamined) {
					t.Errorf("looked again at %v, want %v", looked, want.Reexamined)
				}
				if len(want.Labels) == 0 || !reflect.DeepEqual(labels, want.Labels) || !reflect.DeepEqual(transitions, want.Transitions) {
					t.Errorf("got %v %v, want %v %v", labels, transitions, want.Labels, want.Transitions)
				}
			})
		}
	}
}
