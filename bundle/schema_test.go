package bundle

import (
	"os"
	"path/filepath"
	"testing"
)

// TestInputSchemaIsUpToDate holds the published schema to the shapes that a
// bundle is loaded against. UPDATE=1 writes it anew.
func TestInputSchemaIsUpToDate(t *testing.T) {
	want, err := InputSchema()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("..", "policies", "schema", "input.json")
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("%s is out of date: run UPDATE=1 go test ./bundle -run InputSchema", file)
	}
}
