package episode_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/conjunct-project/conjunct/bundle"
	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/episode"
)

// The invariants of the design's section 4, attacked through a bundle's own
// Rego and data, and through episodes.

// everybody lets everybody do everything.
var everybody = edit{authorityFile, "", "package conjunct.authority\n\n# METADATA\n# title: Everybody may do everything\n# custom:\n#   id: everybody\nmay := true\n"}

// always names one transition for every cause.
func always(transition string) edit {
	return edit{nextFile, "", fmt.Sprintf("package conjunct.transition\n\n# METADATA\n# title: Always %s\n# custom:\n#   id: always\nnext := {\"transition\": %q}\n", transition, transition)}
}

// hostileBundle lets everybody do everything and names one transition.
func hostileBundle(t testing.TB, transition string, more ...edit) *bundle.Bundle {
	t.Helper()
	return variant(t, append([]edit{everybody, always(transition)}, more...)...)
}

// hostileBundles has one of them for each transition, read once.
var hostileBundles = struct {
	sync.Mutex
	read map[string]*bundle.Bundle
}{read: map[string]*bundle.Bundle{}}

func naming(t testing.TB, transition string) *bundle.Bundle {
	t.Helper()
	hostileBundles.Lock()
	defer hostileBundles.Unlock()
	if hostileBundles.read[transition] == nil {
		hostileBundles.read[transition] = hostileBundle(t, transition)
	}
	return hostileBundles.read[transition]
}

var allTransitions = []string{"stop", "defer", "escalate", "verify", "retry", "switch", "execute", "act"}

// everyAttack is one event of each kind, by somebody.
func everyAttack(t int, by string) []string {
	who := fmt.Sprintf(`"t":%d,"by":%q,"role":"operator","qualified":true`, t, by)
	return []string{
		fmt.Sprintf(`{%s,"op":"evidence","name":"ci","status":"pass"}`, who),
		fmt.Sprintf(`{%s,"op":"change","pusher":"nobody"}`, who),
		fmt.Sprintf(`{%s,"op":"change","component":"other"}`, who),
		fmt.Sprintf(`{%s,"op":"settings","review_required":false,"scope":true,"capacity":99,"deadline":999,"review_ttl":999,"eligible":true}`, who),
		fmt.Sprintf(`{%s,"op":"failure","active":false}`, who),
		fmt.Sprintf(`{%s,"op":"result","status":"not_run"}`, who),
		fmt.Sprintf(`{%s,"op":"result","status":"ok"}`, who),
		fmt.Sprintf(`{%s,"op":"engage","component":"m2","task":"x"}`, who),
		fmt.Sprintf(`{%s,"op":"review","outcome":"revoke"}`, who),
		fmt.Sprintf(`{%s,"op":"review","outcome":"return"}`, who),
		fmt.Sprintf(`{%s,"op":"review","outcome":"reject"}`, who),
		fmt.Sprintf(`{%s,"op":"review","outcome":"approve"}`, who),
		fmt.Sprintf(`{"t":%d,"op":"review","outcome":"approve","reviewer":%q,"qualified":true}`, t, by),
	}
}

func TestI1AHostileAgentUnderAHostileBundle(t *testing.T) {
	identities := []string{"merge-agent", "Merge-Agent", " merge-agent", "merge-agent ", "m1", "M1"}
	for _, transition := range allTransitions {
		b := naming(t, transition)
		for _, by := range identities {
			events := slices.Concat([]string{attempt(0)}, everyAttack(0, by), []string{attempt(1)}, everyAttack(1, by), []string{failure(2, true), ci(2), attempt(2), attempt(2)}, everyAttack(3, by), []string{attempt(4), attempt(4)})
			r := play(t, b, events...)
			if slices.Contains(r.Labels, engine.Allow) || len(r.Log.Release) != 0 || len(r.Log.ReviewComplete) != 0 {
				t.Errorf("next %s, agent as %q: labels %v, log %+v", transition, by, r.Labels, r.Log)
			}
			for i, rec := range r.Records {
				if rec.Op != engine.OpAttempt && rec.Source == by && rec.Invalid == "" {
					t.Errorf("next %s: event %d, %v by %q, took effect", transition, i, rec.Op, by)
				}
			}
		}
	}
}

// A rejected call stays rejected whatever is tried with it.
func TestI1ARejectedCallIsSentAgain(t *testing.T) {
	b := hostileBundle(t, "escalate", in("rejection:\n  voided_by: [pins]", "rejection:\n  voided_by: none"))
	setUp := []string{ci(0), attempt(1), review(2, "ada", "reject"), set(3, "review_required", "false")}
	var again []string
	for i, trace := range []string{"branch", "other", "third"} {
		again = append(again, fmt.Sprintf(`{"t":4,"op":"evidence","name":"ci","status":"pass","trace_id":%q}`, trace),
			fmt.Sprintf(`{"t":4,"op":"settings","review_required":false,"trace_id":%q}`, trace),
			with(4, merge(trace, fmt.Sprint("again", i), 0.9+float64(i)/100)), with(4, merge(trace, fmt.Sprint("again", i+10), 1), `,"facts":{"x":1}`))
	}
	r := play(t, b, append(setUp, again...)...)
	if slices.Contains(r.Labels, engine.Allow) {
		t.Errorf("labels %v", r.Labels)
	}
	// And it is the rejection that held it.
	r = play(t, b, slices.Concat(setUp, []string{review(4, "bob", "revoke")}, again)...)
	if !slices.Contains(r.Labels, engine.Allow) {
		t.Errorf("nothing is allowed after the rejection was revoked: %v", r.Labels)
	}
}

func TestI1AReleaseIsReplayed(t *testing.T) {
	b := hostileBundle(t, "escalate", in("calls: decide_anew", "calls: once"), in("uses: many", "uses: once"))
	events := []string{ci(0), attempt(1), review(2, "ada", "approve"), attempt(3)}
	for i := range 5 {
		events = append(events, with(4, merge("branch", fmt.Sprint("k", i), float64(i)/4)))
	}
	r := play(t, b, events...)
	if len(r.Log.Release) != 1 {
		t.Errorf("released at %v, want once: %s", r.Log.Release, names(r.Transitions))
	}
}

func TestI1TheAuthorUnderAHostileBundle(t *testing.T) {
	b := naming(t, "escalate")
	for _, outcome := range []string{"approve", "reject", "return"} {
		r := play(t, b, ci(0), attempt(1), review(2, "author", outcome), attempt(3))
		if len(r.Log.InvalidReview) != 1 || names(r.Transitions) != "escalate escalate" {
			t.Errorf("%s by the author: log %+v, %s", outcome, r.Log, names(r.Transitions))
		}
	}
}

// Whatever the transition is that a bundle names, what is failed, unknown,
// refused, late, rejected or without a reviewer does not run.
func TestI2AndI4UnderEveryTransition(t *testing.T) {
	for _, transition := range allTransitions {
		b := naming(t, transition)
		for name, events := range map[string][]string{
			"no checks":       {attempt(1)},
			"checks failed":   {`{"t":0,"op":"evidence","name":"ci","status":"fail"}`, attempt(1)},
			"checks unknown":  {`{"t":0,"op":"evidence","name":"ci","status":"unknown"}`, attempt(1)},
			"failed":          {ci(0), set(0, "review_required", "false"), failure(0, true), attempt(1), attempt(1), attempt(1)},
			"out of scope":    {ci(0), set(0, "review_required", "false"), set(0, "scope", "false"), attempt(1), review(1, "ada", "approve"), attempt(1)},
			"not eligible":    {ci(0), set(0, "review_required", "false"), set(0, "eligible", "false"), attempt(1)},
			"eligible null":   {ci(0), set(0, "review_required", "false"), set(0, "eligible", "null"), attempt(1)},
			"late":            {ci(0), set(0, "review_required", "false"), attempt(21)},
			"no review":       {ci(0), attempt(1), attempt(1), attempt(2)},
			"queue full":      {ci(0), set(0, "queue", "1"), attempt(1), review(1, "ada", "approve"), attempt(1)},
			"no capacity":     {ci(0), set(0, "capacity", "0"), attempt(1), review(1, "ada", "approve"), attempt(1)},
			"capacity null":   {ci(0), set(0, "capacity", "null"), attempt(1), review(1, "ada", "approve"), attempt(1)},
			"odd argument":    {ci(0), set(0, "review_required", "false"), with(1, `{"trace_id":"branch","call_id":"k","tool":"merge","arguments":{"branch":1,"change":"x"}}`)},
			"undeclared tool": {ci(0), set(0, "review_required", "false"), with(1, `{"trace_id":"branch","call_id":"k","tool":"rm","arguments":{}}`)},
		} {
			r := play(t, b, events...)
			if slices.Contains(r.Labels, engine.Allow) || len(r.Log.Release) != 0 {
				t.Errorf("next %s, %s: %v %s", transition, name, r.Labels, names(r.Transitions))
			}
			if strings.HasPrefix(name, "queue") || strings.HasPrefix(name, "no capacity") || name == "capacity null" {
				if len(r.Log.ReviewRequest) != 0 || len(r.Log.ReviewComplete) != 0 {
					t.Errorf("next %s, %s: log %+v", transition, name, r.Log)
				}
				for _, tr := range r.Transitions {
					if tr != engine.Defer && tr != engine.Stop {
						t.Errorf("next %s, %s: %v, want defer or stop", transition, name, tr)
					}
				}
			}
		}
	}
}

// What nothing holds back is permitted, so that the tests above show something.
func TestAHostileBundlePermitsWhatNothingHoldsBack(t *testing.T) {
	for _, transition := range allTransitions {
		r := play(t, naming(t, transition), ci(0), set(0, "review_required", "false"), attempt(1))
		if names(r.Transitions) != "act" {
			t.Errorf("next %s: %s, want act", transition, names(r.Transitions))
		}
	}
}

func TestI3ConfidenceNeverLoosens(t *testing.T) {
	b := load(t, "protected-branch")
	for _, c := range []struct {
		confidence string
		want       string
	}{{"0", "escalate"}, {"0.849999", "escalate"}, {"0.85", "act"}, {"1", "act"}, {"1.5", "escalate"}, {"-1", "escalate"}} {
		action := `{"trace_id":"branch","call_id":"k","agent":{"id":"merge-agent"},"tool":"merge","arguments":{"branch":"main","change":"head"},"confidence":` + c.confidence + `}`
		r := play(t, b, ci(0), set(0, "review_required", "false"), with(1, action))
		if got := names(r.Transitions); got != c.want {
			// One modifier moves execute to execute_notify, which still acts.
			if c.want == "escalate" && got == "act" && r.Records[2].Decision.Tier == engine.ExecuteNotify {
				continue
			}
			t.Errorf("confidence %s: %s, want %s", c.confidence, got, c.want)
		}
		r = play(t, b, ci(0), attempt(1), review(1, "ada", "reject"), with(2, strings.Replace(action, `"k"`, `"k2"`, 1)))
		if got := names(r.Transitions); got != "escalate stop" {
			t.Errorf("rejected, confidence %s: %s", c.confidence, got)
		}
	}
}

// Determinism.

// render is everything an episode came to, in bytes.
func render(t testing.TB, b engine.Governance, text []byte) []byte {
	ep, err := episode.Decode(text, b.Contract())
	if err != nil {
		t.Errorf("%v in %s", err, text)
		return nil
	}
	r, err := ep.Run(context.Background(), b)
	if err != nil {
		t.Errorf("%v in %s", err, text)
		return nil
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	if err := enc.Encode(r); err != nil {
		t.Error(err)
	}
	if err := enc.Encode(r.Records); err != nil {
		t.Error(err)
	}
	return out.Bytes()
}

func someEpisodes(t testing.TB, n int) [][]byte {
	g := generator{rand.New(rand.NewPCG(7, 7))}
	out := make([][]byte, n)
	for i := range out {
		text, err := json.Marshal(map[string]any{"id": fmt.Sprint(i), "events": g.episode()})
		if err != nil {
			t.Fatal(err)
		}
		out[i] = text
	}
	return out
}

func TestAnEpisodeFoldsToTheSameBytesEachTime(t *testing.T) {
	bundles := []*bundle.Bundle{
		load(t, "protected-branch"),
		variant(t, in("queue: setting", "queue: counted"), in("calls: decide_anew", "calls: once"), in("required: 1", "required: 2\ncounters: {a: {tools: [merge]}, b: {tools: [merge], by: branch}, c: {tools: [merge], window: 3}}")),
		naming(t, "escalate"),
	}
	for _, b := range bundles {
		for _, text := range someEpisodes(t, 60) {
			first := render(t, b, text)
			for range 3 {
				if again := render(t, b, text); !bytes.Equal(first, again) {
					t.Fatalf("folded twice:\n%s\n%s", first, again)
				}
			}
		}
	}
}

func TestTheSameBundleReadTwiceFoldsTheSame(t *testing.T) {
	one, two := variant(t), variant(t)
	for _, text := range someEpisodes(t, 40) {
		if a, b := render(t, one, text), render(t, two, text); !bytes.Equal(a, b) {
			t.Fatalf("two readings of one bundle:\n%s\n%s", a, b)
		}
	}
}

func TestManyGoroutinesFoldOneBundle(t *testing.T) {
	b := load(t, "protected-branch")
	texts := someEpisodes(t, 40)
	want := make([][]byte, len(texts))
	for i, text := range texts {
		want[i] = render(t, b, text)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i, text := range texts {
				if got := render(t, b, text); !bytes.Equal(got, want[i]) {
					t.Errorf("episode %d differs beside others", i)
					return
				}
			}
		})
	}
	wg.Wait()
}
