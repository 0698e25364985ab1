package pdp_test

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/journal"
	"github.com/conjunct-project/conjunct/pdp"
)

var rounds = flag.Int("rounds", 3, "how often a decision point is killed under load")

// killed names the state directory for the process that is to be killed.
const killed = "CONJUNCT_KILLED_STATE"

// TestKilledChild is the process that the test below kills: 64 callers decide,
// and every answer is told on standard output after it was given.
func TestKilledChild(t *testing.T) {
	dir := os.Getenv(killed)
	if dir == "" {
		t.Skip("this is the child of TestNothingAnsweredIsLostWhenTheProcessIsKilled")
	}
	p, err := pdp.Open(dir, pdp.Options{Now: func() int64 { return monday }})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for w := range 64 {
		wg.Go(func() {
			for i := 0; ; i++ {
				tool, args := "draft_response", fmt.Sprintf(`{"ticket":"INC-%d-%d","to":"a@b.example","body":"x"}`, w, i)
				if i%4 == 0 {
					tool, args = "reset_credentials", fmt.Sprintf(`{"account":"acme\\u%d-%d"}`, w, i)
				}
				d, err := p.Decide(context.Background(), call(t, fmt.Sprint("t", w), fmt.Sprintf("c%d-%d", os.Getpid(), i), tool, args))
				if err != nil {
					return
				}
				mu.Lock()
				fmt.Printf("answer %d %s %s\n", d.Seq, d.Hash, d.Outcome)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}

// TestNothingAnsweredIsLostWhenTheProcessIsKilled kills a decision point at
// random moments under load, again and again on one directory, and proves that
// every answer is in the journal, that every entry follows from those before,
// and that the state which is rebuilt is the one of the journal.
func TestNothingAnsweredIsLostWhenTheProcessIsKilled(t *testing.T) {
	dir := state(t)
	answers := map[string]string{}
	for range *rounds {
		cmd := exec.Command(os.Args[0], "-test.run", "^TestKilledChild$")
		cmd.Env = append(os.Environ(), killed+"="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines, first := bufio.NewScanner(out), true
		for lines.Scan() {
			f := strings.Fields(lines.Text())
			if len(f) == 4 && f[0] == "answer" {
				answers[f[1]+" "+f[2]] = f[3]
				if first {
					first = false
					time.AfterFunc(time.Duration(rand.IntN(200))*time.Millisecond, func() { _ = cmd.Process.Kill() })
				}
			}
		}
		_ = cmd.Wait() // it was killed
	}
	if len(answers) < 64 {
		t.Fatalf("only %d answers", len(answers))
	}
	holdAnswers(t, dir, answers)
}

func holdAnswers(t *testing.T, dir string, answers map[string]string) {
	t.Helper()
	p, err := pdp.Open(dir, pdp.Options{Now: func() int64 { return monday }})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	found := 0
	if _, err := journal.Walk(dir, func(e journal.Entry) error {
		outcome, ok := answers[fmt.Sprintf("%d %s", e.Seq, e.Hash)]
		if ok {
			found++
			if !strings.Contains(string(e.Body), fmt.Sprintf(`"outcome":%q`, outcome)) || e.Op != engine.OpAttempt.String() {
				return fmt.Errorf("entry %d does not hold the outcome %s", e.Seq, outcome)
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if found != len(answers) {
		t.Errorf("%d of %d answers are in the journal", found, len(answers))
	}
	r := replayed(t, dir)
	if !r.OK || r.Redecided != r.Attempts || r.Attempts < len(answers) {
		t.Errorf("replay: %+v", r)
	}
	t.Logf("%d answers, %d attempts in the journal", len(answers), r.Attempts)
}
