package pdp_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/conjunct-project/conjunct/bundle"
	"github.com/conjunct-project/conjunct/pdp"
	"github.com/conjunct-project/conjunct/reexam"
)

// redacting is the ITSM bundle with a contract that keeps the body of drafts
// out of the journal.
func redacting(t *testing.T) *bundle.Bundle {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "itsm")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("..", "policies", "itsm"))); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "conjunct", "contract", "data.yaml"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("\nredact:\n  draft_response: [body, to]\n"); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := bundle.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestRedactedArgumentsNeverReachTheJournal(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	if err := pdp.Init(dir, redacting(t), monday); err != nil {
		t.Fatal(err)
	}
	secret := call(t, "t", "c1", "draft_response", `{"ticket":"INC-1","to":"pat@private.example","body":"the patient is well"}`)

	// Without a key the call is not decided: its text could only be written down.
	p, err := pdp.Open(dir, pdp.Options{Now: func() int64 { return monday }})
	if err != nil {
		t.Fatal(err)
	}
	if d, err := p.Decide(context.Background(), secret); !errors.Is(err, reexam.ErrNoKey) || d.Permit {
		t.Fatalf("without a key: permit %v, %v", d.Permit, err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}

	p = open(t, dir, pdp.Options{RedactionKey: []byte("0123456789abcdef")})
	d, err := p.Decide(context.Background(), secret)
	if err != nil || !d.Permit {
		t.Fatalf("permit %v, %v", d.Permit, err)
	}
	// A failing argument check is about the redacted value and may not show it.
	if _, err := p.Decide(context.Background(), call(t, "t", "c2", "draft_response", `{"ticket":"INC-1","to":7,"body":"the patient is well"}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Decide(context.Background(), call(t, "t", "c3", "read_ticket", `{"ticket":"INC-1"}`)); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "journal.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"patient", "private.example", `"value":7`} {
		if strings.Contains(string(text), word) {
			t.Errorf("the journal holds %q", word)
		}
	}
	if n := strings.Count(string(text), "hmac-sha256"); n != 4 {
		t.Errorf("the journal holds %d HMACs, want 4", n)
	}
	r := replayed(t, dir)
	if !r.OK || r.Attempts != 3 || r.Redecided != 1 || r.Redacted != 2 {
		t.Fatalf("replay: %+v", r)
	}
	// What a redacted entry released is released after a restart too.
	again, err := reexam.Load(context.Background(), dir, pdp.Versions())
	if err != nil {
		t.Fatal(err)
	}
	if path := again.Store.Snapshot().Path("t", secret.CallHash); path.Released != d.Seq {
		t.Errorf("released by entry %d, want %d", path.Released, d.Seq)
	}
}
