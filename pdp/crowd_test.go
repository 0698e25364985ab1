package pdp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/conjunct-project/conjunct/bundle"
	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/journal"
	"github.com/conjunct-project/conjunct/pdp"
)

// attempted is what an entry says of an attempt.
type attempted struct {
	Bundle   string
	Decision struct {
		TraceID  string `json:"trace_id"`
		CallID   string `json:"call_id"`
		CallHash string `json:"call_hash"`
		Permit   bool
		Reasons  []struct{ Code string }
	}
}

// attempts reads the attempts of a journal by their numbers.
func attempts(t testing.TB, dir string) map[uint64]attempted {
	t.Helper()
	out := map[uint64]attempted{}
	for _, e := range entries(t, dir) {
		if e.Op != "attempt" {
			continue
		}
		var a attempted
		if err := json.Unmarshal(e.Body, &a); err != nil {
			t.Fatal(err)
		}
		out[e.Seq] = a
	}
	return out
}

// TestACallIDHasOneContentWhoeverAsksAtOnce lets a crowd propose several contents
// under one id, and one content under several, again and again: what the journal
// holds is what asking one after the other gives.
func TestACallIDHasOneContentWhoeverAsksAtOnce(t *testing.T) {
	const callers, rounds = 64, 6
	dir := fresh(t)
	p := open(t, dir, pdp.Options{})
	reused, answers, mu := 0, map[uint64]bool{}, sync.Mutex{}
	for round := range rounds {
		start, wg := make(chan struct{}), sync.WaitGroup{}
		for w := range callers {
			trace := fmt.Sprint("t", round, "-", w%2)
			a := call(t, trace, fmt.Sprint("c", w/2%4), "read_ticket", fmt.Sprintf(`{"ticket":"INC-%d"}`, w/8%5))
			wg.Go(func() {
				<-start
				for range 3 {
					d := decided(t, p, a)
					again := len(d.Reasons) > 0 && d.Reasons[0].Code == "call_id_reused"
					mu.Lock()
					answers[d.Seq] = again
					if again {
						reused++
						if d.Permit {
							t.Error("a call under an id of another one is permitted")
						}
					}
					mu.Unlock()
				}
			})
		}
		close(start)
		wg.Wait()
	}
	bound := map[[2]string]string{}
	all := attempts(t, dir)
	for _, seq := range slices.Sorted(maps.Keys(all)) {
		a := all[seq]
		id := [2]string{a.Decision.TraceID, a.Decision.CallID}
		if bound[id] == "" {
			bound[id] = a.Decision.CallHash
		}
		found := slices.ContainsFunc(a.Decision.Reasons, func(r struct{ Code string }) bool { return r.Code == "call_id_reused" })
		if want := bound[id] != a.Decision.CallHash; found != want || answers[seq] != want {
			t.Errorf("entry %d: %v is of %s, first of %s: reused is %v in the journal, %v in the answer", seq, id, a.Decision.CallHash, bound[id], found, answers[seq])
		}
	}
	for id, want := range bound {
		if got, _ := p.Snapshot().CallHash(id[0], id[1]); got != want {
			t.Errorf("%v is bound to %s, want %s", id, got, want)
		}
	}
	if len(all) != callers*rounds*3 || reused == 0 {
		t.Errorf("%d attempts, %d of them reused", len(all), reused)
	}
	if r := replayed(t, dir); !r.OK {
		t.Errorf("replay: %+v", r)
	}
	if err := reopens(t, dir, p); err != nil {
		t.Error(shorten(err.Error()))
	}
}

// scribble writes over everything that a value leads to.
func scribble(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			scribble(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			scribble(v.Index(i))
		}
		if v.CanSet() && v.Cap() > v.Len() {
			// Whoever appends writes where a shared list goes on.
			scribble(v.Slice3(v.Len(), v.Cap(), v.Cap()))
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			scribble(v.MapIndex(k))
			v.SetMapIndex(k, reflect.Zero(v.Type().Elem()))
		}
		if v.Type().Key().Kind() == reflect.String && !v.IsNil() {
			v.SetMapIndex(reflect.ValueOf("scribbled").Convert(v.Type().Key()), reflect.Zero(v.Type().Elem()))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				scribble(v.Field(i))
			}
		}
	case reflect.String:
		if v.CanSet() {
			v.SetString("scribbled")
		}
	case reflect.Bool:
		if v.CanSet() {
			v.SetBool(!v.Bool())
		}
	case reflect.Uint8, reflect.Uint64:
		if v.CanSet() {
			v.SetUint(1)
		}
	case reflect.Int, reflect.Int64:
		if v.CanSet() {
			v.SetInt(-1)
		}
	}
}

// TestWhatIsAnsweredBelongsToWhoAsked decides from many sides with callers that go
// away, gates that run out of time, and bundles that are put in force meanwhile.
// Each answer is of the call that was asked, as its entry has it; and whoever has
// it writes all over it, which nobody else may see.
func TestWhatIsAnsweredBelongsToWhoAsked(t *testing.T) {
	slow := slowGate("review", false)
	slow[authorityData] = text(reviewers())
	one := with(t, slow)
	stricter := map[string]func(string) string{"conjunct/registry/data.yaml": swap("read_ticket:\n    {reversibility: reversible, blast_radius: task", "read_ticket:\n    {reversibility: irreversible, blast_radius: external")}
	for name, change := range slow {
		stricter[name] = change
	}
	two := with(t, stricter)
	dir := stateOf(t, one)
	p := open(t, dir, pdp.Options{Timeout: 30 * time.Millisecond})
	told, toldMu := map[uint64]string{}, sync.Mutex{}
	stop := p.Subscribe(func(d engine.Decision) {
		text := fmt.Sprintf("%+v", d)
		toldMu.Lock()
		defer toldMu.Unlock()
		told[d.Seq] = text
		scribble(reflect.ValueOf(&d).Elem())
	})
	type answer struct {
		hash, bundle string
		permit       bool
	}
	answers, mu := map[uint64]answer{}, sync.Mutex{}
	var wg sync.WaitGroup
	for w := range 48 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 7))
			for i := range 12 {
				trace, id := fmt.Sprint("t", w), fmt.Sprint("c", i)
				ticket := fmt.Sprintf("INC-%d-%d", w, i)
				var a engine.Action
				switch r.IntN(6) {
				case 0:
					a = call(t, trace, id, "reset_credentials", fmt.Sprintf(`{"account":%q}`, ticket))
				case 1:
					a = call(t, trace, id, "draft_response", fmt.Sprintf(`{"ticket":%q,"to":"x","body":"y"}`, ticket))
				case 2:
					a = call(t, trace, id, "update_ticket_status", fmt.Sprintf(`{"ticket":%q,"status":"closed"}`, ticket))
				case 3:
					a = call(t, trace, id, "read_ticket", fmt.Sprintf(`{"ticket":%q,"more":1}`, ticket)) // no such argument
				case 4:
					if i == 0 && w%8 == 0 {
						a = draft(t, trace, id, 40000+w)
						break
					}
					fallthrough
				default:
					a = call(t, trace, id, "read_ticket", fmt.Sprintf(`{"ticket":%q}`, ticket))
				}
				ctx, cancel := context.WithCancel(context.Background())
				switch r.IntN(5) {
				case 0:
					cancel()
				case 1:
					time.AfterFunc(time.Duration(r.IntN(3000))*time.Microsecond, cancel)
				}
				d, err := p.Decide(ctx, a)
				cancel()
				if err != nil || !d.Journalled {
					t.Errorf("%s/%s: %v", trace, id, err)
					continue
				}
				if d.TraceID != trace || d.CallID != id || d.Tool != a.Tool || d.CallHash != a.CallHash || d.InputHash != a.InputHash {
					t.Errorf("%s/%s %s was asked, the answer is of %s/%s %s", trace, id, a.Tool, d.TraceID, d.CallID, d.Tool)
				}
				if text := fmt.Sprintf("%+v", d); strings.Count(text, "INC-") != strings.Count(text, ticket) || strings.Contains(text, "scribbled") {
					t.Errorf("%s/%s: the answer tells of another call: %s", trace, id, shorten(text))
				}
				mu.Lock()
				if _, twice := answers[d.Seq]; twice {
					t.Errorf("entry %d answers two", d.Seq)
				}
				answers[d.Seq] = answer{d.CallHash, d.Bundle.Digest, d.Permit}
				mu.Unlock()
				scribble(reflect.ValueOf(&d).Elem())
				for name := range a.Arguments {
					a.Arguments[name] = "scribbled"
				}
				clear(a.Arguments)
			}
		})
	}
	moved := make(chan struct{})
	wg.Go(func() {
		defer close(moved)
		for i := range 12 {
			time.Sleep(4 * time.Millisecond)
			if err := p.Activate(context.Background(), []*bundle.Bundle{two, one}[i%2], operator); err != nil && !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
		}
	})
	wg.Wait()
	stop()
	all := attempts(t, dir)
	for seq, a := range answers {
		if e := all[seq]; e.Decision.CallHash != a.hash || e.Bundle != a.bundle || e.Decision.Permit != a.permit {
			t.Errorf("entry %d is %+v, its answer was %+v", seq, e, a)
		}
	}
	for seq, text := range told {
		if !answers[seq].permit || strings.Contains(text, "scribbled") || !strings.Contains(text, all[seq].Decision.CallHash) {
			t.Errorf("entry %d permits: %v; a subscriber was told %s", seq, answers[seq].permit, shorten(text))
		}
	}
	if len(all) != len(answers) || len(told) == 0 {
		t.Errorf("%d entries, %d answers, %d told", len(all), len(answers), len(told))
	}
	if r := replayed(t, dir); !r.OK {
		t.Errorf("replay: %+v", r)
	}
	if err := reopens(t, dir, p); err != nil {
		t.Error(shorten(err.Error()))
	}
}

// TestACrowdThatIsRefusedIsAnsweredOnceEach fails a sync under a crowd, or closes
// beneath it: each caller gets its own answer, and a permit is on disk.
func TestACrowdThatIsRefusedIsAnsweredOnceEach(t *testing.T) {
	for _, how := range []string{"fail", "close"} {
		t.Run(how, func(t *testing.T) {
			dir := fresh(t)
			p := open(t, dir, pdp.Options{})
			syncs := 0
			p.Intercept(func(next pdp.Append) pdp.Append {
				return func(drafts []journal.Draft) ([]journal.Entry, error) {
					if syncs++; how == "fail" && syncs > 6 {
						return nil, errors.New("the disk is gone")
					}
					return next(drafts)
				}
			})
			var wg sync.WaitGroup
			var mu sync.Mutex
			onDisk, refused := map[uint64]string{}, 0
			for w := range 100 {
				wg.Go(func() {
					for i := range 20 {
						a := call(t, fmt.Sprint("t", w), fmt.Sprint("c", i), "read_ticket", fmt.Sprintf(`{"ticket":"INC-%d-%d"}`, w, i))
						d, err := p.Decide(context.Background(), a)
						if d.CallHash != a.CallHash || d.CallID != a.CallID || d.TraceID != a.TraceID {
							t.Errorf("%s/%s was asked, the answer is of %s/%s", a.TraceID, a.CallID, d.TraceID, d.CallID)
						}
						mu.Lock()
						if err == nil {
							onDisk[d.Seq] = a.CallHash
						} else if refused++; d.Permit || d.Journalled || d.Seq != 0 {
							t.Errorf("%v, and yet permit %v, journalled %v, entry %d", err, d.Permit, d.Journalled, d.Seq)
						}
						mu.Unlock()
					}
				})
			}
			if how == "close" {
				time.Sleep(5 * time.Millisecond)
				if err := p.Close(); err != nil {
					t.Error(err)
				}
			}
			wg.Wait()
			all := attempts(t, dir)
			for seq, hash := range onDisk {
				if all[seq].Decision.CallHash != hash {
					t.Errorf("entry %d is of %s, its answer was of %s", seq, all[seq].Decision.CallHash, hash)
				}
			}
			if refused == 0 || len(onDisk) != len(all) {
				t.Errorf("%d were answered, %d are on disk, %d were refused", len(onDisk), len(all), refused)
			}
			if r := replayed(t, dir); !r.OK {
				t.Errorf("replay: %+v", r)
			}
		})
	}
}

// TestARecordBelongsToWhoAsked writes all over the record of a rejection, which
// says what it makes due: what the state keeps of that stays.
func TestARecordBelongsToWhoAsked(t *testing.T) {
	dir := withReviewers(t)
	p := open(t, dir, pdp.Options{})
	decided(t, p, onRecord(t, "t", "c0", "read_ticket", `{"ticket":"INC-1"}`, "the-record"))
	decided(t, p, onRecord(t, "t", "c1", "update_ticket_status", `{"ticket":"INC-1","status":"closed"}`, "the-record"))
	decided(t, p, onRecord(t, "t", "bad", "reset_credentials", `{"account":"x"}`, "the-record"))
	rec := reject(t, p, "t", "bad")
	if len(rec.Due) != 2 {
		t.Fatalf("%+v is due, want the read and the update", rec.Due)
	}
	before := saved(t, p)
	scribble(reflect.ValueOf(&rec).Elem())
	if after := saved(t, p); after != before {
		t.Errorf("the state moved from\n%s\nto\n%s", before, after)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if after := saved(t, open(t, dir, pdp.Options{})); after != before {
		t.Errorf("the journal gives\n%s\nwant\n%s", after, before)
	}
}
