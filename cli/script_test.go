package cli

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// fixed is the clock of every transcript: a Monday morning.
func fixed() time.Time { return time.Date(2026, time.March, 2, 9, 30, 0, 0, time.UTC) }

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"conjunct": func() {
			env := System()
			env.Now = fixed
			os.Exit(Main(env))
		},
	})
}

// TestTranscripts runs the command line as a user would. Every script says also
// what must not appear.
func TestTranscripts(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		UpdateScripts:       os.Getenv("UPDATE") != "",
		Setup: func(env *testscript.Env) error {
			env.Setenv("ROOT", root)
			return nil
		},
	})
}
