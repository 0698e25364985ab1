package pdp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/conjunct-project/conjunct/action"
	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/evidence"
	"github.com/conjunct-project/conjunct/journal"
	"github.com/conjunct-project/conjunct/pdp"
	"github.com/conjunct-project/conjunct/reexam"
)

var kills = flag.Int("kills", 5, "how often TestKilledUnderLoad kills")

const victim = "CONJUNCT_TEST_VICTIM"

func TestMain(m *testing.M) {
	if dir := os.Getenv(victim); dir != "" {
		die(dir, os.Getenv("CONJUNCT_TEST_ROUND"))
	}
	flag.Parse()
	code := m.Run()
	if template.dir != "" {
		_ = os.RemoveAll(strings.TrimSuffix(template.dir, "/state"))
	}
	os.Exit(code)
}

// die decides in 64 goroutines and prints each answer after it was given, until
// it is killed.
func die(dir, round string) {
	p, err := pdp.Open(dir, pdp.Options{Segment: 512 << 10})
	if err != nil {
		fmt.Println("open:", err)
		os.Exit(3)
	}
	ctx := context.Background()
	for w := range 64 {
		go func() {
			trace := fmt.Sprintf("r%s-%d", round, w)
			for i := 0; ; i++ {
				doc := fmt.Sprintf(`{"trace_id":%q,"call_id":"c%d","agent":{"id":"itsm-agent"},"tool":"draft_response","arguments":{"ticket":"INC-%d","to":"a@b.example","body":"x"},"confidence":0.95}`, trace, i, i)
				if i%4 == 3 {
					doc = fmt.Sprintf(`{"trace_id":%q,"call_id":"c%d","agent":{"id":"itsm-agent"},"tool":"reset_credentials","arguments":{"account":"acme\\u%d"},"confidence":0.95}`, trace, i, i)
				}
				a, err := action.Decode([]byte(doc))
				if err != nil {
					panic(err)
				}
				d, err := p.Decide(ctx, a)
				if err != nil {
					panic(err)
				}
				answer(d.Seq, d.Hash, d.Outcome)
				switch {
				case d.Permit && i%3 == 0:
					_ = p.Result(ctx, a.TraceID, a.CallID, engine.ResultEvent{Status: engine.ResultOK, Recoverable: true})
				case d.Request != 0 && i%8 == 3:
					rec, err := p.Apply(ctx, review(a, "otto", engine.ReviewEvent{Outcome: engine.Approve}))
					if err != nil {
						panic(err)
					}
					answer(rec.Seq, "", engine.Block)
				case d.Request != 0:
					_, _ = p.Apply(ctx, review(a, "otto", engine.ReviewEvent{Outcome: engine.Return}))
				}
			}
		}()
	}
	select {}
}

// answer is one write, so that lines of many goroutines do not mix.
func answer(seq uint64, hash string, o engine.Outcome) {
	_, _ = os.Stdout.WriteString(fmt.Sprintf("%d %s %v\n", seq, hash, o))
}

type told struct {
	seq     uint64
	hash    string
	outcome string
}

// killVictim runs a victim on a directory for a while and returns what it answered.
func killVictim(t *testing.T, dir string, round int) []told {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), victim+"="+dir, fmt.Sprintf("CONJUNCT_TEST_ROUND=%d", round))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var answers []told
	lines := bufio.NewReader(out)
	kill := time.AfterFunc(time.Hour, func() { _ = cmd.Process.Kill() })
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			break // what has no newline was not told whole
		}
		if len(answers) == 0 {
			kill.Reset(time.Duration(20+rand.IntN(100)) * time.Millisecond)
		}
		f := strings.Split(strings.TrimSuffix(line, "\n"), " ")
		if len(f) != 3 {
			t.Errorf("the victim said %q", line)
			continue
		}
		var a told
		if _, err := fmt.Sscan(f[0], &a.seq); err != nil {
			t.Fatal(err)
		}
		a.hash, a.outcome = f[1], f[2]
		answers = append(answers, a)
	}
	kill.Stop()
	_ = cmd.Wait()
	return answers
}

// TestKilledUnderLoad kills a process that decides in 64 goroutines, again and
// again on the same directory: whatever it had answered is in the journal, every
// attempt decides again to equal bytes, and the state that opens is the fold of
// the journal. -kills N makes it hundreds.
func TestKilledUnderLoad(t *testing.T) {
	dir := stateOf(t, with(t, map[string]func(string) string{authorityData: text(reviewers()), contractData: swap("capacity: 4", "capacity: 40")}))
	total, cut := 0, int64(0)
	for round := range *kills {
		answers := killVictim(t, dir, round)
		total += len(answers)
		byseq := map[uint64]journal.Entry{}
		last := uint64(0)
		chain, err := journal.Walk(dir, func(e journal.Entry) error {
			e.Body = append([]byte(nil), e.Body...)
			byseq[e.Seq], last = e, e.Seq
			return nil
		})
		var torn *journal.Fault
		if err != nil {
			var ok bool
			if torn, ok = err.(*journal.Fault); !ok || torn.Code != journal.TornTail {
				t.Fatalf("round %d: %v", round, err)
			}
		}
		for _, a := range answers {
			e, ok := byseq[a.seq]
			if !ok {
				t.Fatalf("round %d: entry %d was answered and is not in the journal, which ends at %d", round, a.seq, last)
			}
			if a.hash == "" {
				continue
			}
			var body struct{ Decision struct{ Outcome string } }
			if err := json.Unmarshal(e.Body, &body); err != nil {
				t.Fatal(err)
			}
			if e.Hash != a.hash || body.Decision.Outcome != a.outcome {
				t.Fatalf("round %d: entry %d is %s %s, the caller was told %s %s", round, a.seq, e.Hash, body.Decision.Outcome, a.hash, a.outcome)
			}
		}
		if r := replayed(t, dir); !r.OK || r.Attempts != r.Redecided || uint64(r.Entries) != last || r.Head != chain.Hash {
			t.Fatalf("round %d: replay: %+v", round, r)
		}
		p, err := pdp.Open(dir, pdp.Options{})
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		cut += p.Cut
		if (p.Cut > 0) != (torn != nil) {
			t.Errorf("round %d: cut %d bytes, torn: %v", round, p.Cut, torn)
		}
		sameFold(t, dir, p.Snapshot())
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d kills, %d answers, all in the journal; %d bytes of torn tails", *kills, total, cut)
	if total < 20**kills {
		t.Errorf("only %d answers: there was no load", total)
	}
}

// sameFold holds a state to the fold of the journal: every trace, call, path,
// rejection, setting and the queue.
func sameFold(t *testing.T, dir string, got *evidence.View) {
	t.Helper()
	fold := reexam.NewFold(reexam.LibraryBeside(dir), pdp.Versions())
	type id struct{ trace, call string }
	seen := map[id]bool{}
	if _, err := journal.Walk(dir, func(e journal.Entry) error {
		var body struct {
			Action struct{ Trace_id, Call_id string }
		}
		if err := json.Unmarshal(e.Body, &body); err == nil && e.Op == "attempt" {
			seen[id{body.Action.Trace_id, body.Action.Call_id}] = true
		}
		return fold.Next(context.Background(), e)
	}); err != nil {
		t.Fatal(err)
	}
	want := fold.Store.Snapshot()
	if got.Clock() != want.Clock() || !reflect.DeepEqual(got.Waiting(), want.Waiting()) {
		t.Fatalf("clock %d, waiting %v; the fold has %d, %v", got.Clock(), got.Waiting(), want.Clock(), want.Waiting())
	}
	for s := range seen {
		hash, ok := got.CallHash(s.trace, s.call)
		if wanted, known := want.CallHash(s.trace, s.call); hash != wanted || ok != known || !ok {
			t.Fatalf("%v has the hash %s, in the fold %s", s, hash, wanted)
		}
		r, rejected := got.Rejection(hash)
		wantR, wantRejected := want.Rejection(hash)
		if !reflect.DeepEqual(got.Path(s.trace, hash), want.Path(s.trace, hash)) || !reflect.DeepEqual(got.Trace(s.trace), want.Trace(s.trace)) ||
			!reflect.DeepEqual(r, wantR) || rejected != wantRejected {
			t.Fatalf("%v differs:\n%+v\n%+v", s, got.Path(s.trace, hash), want.Path(s.trace, hash))
		}
	}
}

// TestStateIsTheFoldOfTheJournal compares the living state, too, with nobody
// killed.
func TestStateIsTheFoldOfTheJournal(t *testing.T) {
	dir := fresh(t)
	p := open(t, dir, pdp.Options{Segment: 64 << 10})
	var wg sync.WaitGroup
	for w := range 32 {
		wg.Go(func() {
			for i := range 12 {
				a := call(t, fmt.Sprint("t", w%4), fmt.Sprintf("c%d-%d", w, i), "reset_credentials", fmt.Sprintf(`{"account":"acme\\u%d"}`, i))
				if i%3 > 0 {
					a = call(t, fmt.Sprint("t", w%4), fmt.Sprintf("c%d-%d", w, i), "draft_response", fmt.Sprintf(`{"ticket":"INC-%d","to":"x","body":"x"}`, w*100+i))
				}
				if d := decided(t, p, a); d.Permit {
					_ = p.Result(context.Background(), a.TraceID, a.CallID, engine.ResultEvent{Status: engine.ResultStatus(1 + i%3), Recoverable: true})
				}
			}
		})
	}
	wg.Wait()
	sameFold(t, dir, p.Snapshot())
	if files, err := journal.Segments(dir); err != nil || len(files) < 3 {
		t.Errorf("no rotation happened: %v %v", files, err)
	}
	if r := replayed(t, copied(t, dir)); !r.OK || r.Attempts != 32*12 {
		t.Errorf("replay elsewhere: %+v", r)
	}
}
