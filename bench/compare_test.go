package bench_test

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/conjunct-project/conjunct/bench"
	"github.com/conjunct-project/conjunct/engine"
)

func compare(t testing.TB, seed uint64, p bench.Policy) bench.Compare {
	t.Helper()
	s, err := bench.FaultStudy(seed, p)
	if err != nil {
		t.Fatal(err)
	}
	r, err := bench.RunCompare(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func share(count, of int) bench.Share { return bench.Share{Count: count, Of: of} }

// TestCompare holds the comparison to its counts, and every case to the signals
// that its class is about: what is counted comes from what was found.
func TestCompare(t *testing.T) {
	r := compare(t, bench.FaultSeed, shipped(t, bench.FaultBundle))
	for arm, want := range map[string]bench.Counts{
		"conjunction":  {Unauthorised: share(0, 100), Admitted: share(0, 140), AutoAdmittedReview: share(0, 40), FalseRefusal: share(0, 140)},
		"score_vendor": {Unauthorised: share(80, 100), Admitted: share(120, 140), AutoAdmittedReview: share(40, 40), FalseRefusal: share(0, 140)},
		"score_best":   {Unauthorised: share(0, 100), Admitted: share(0, 140), AutoAdmittedReview: share(0, 40), FalseRefusal: share(0, 140)},
		"protocol":     {Unauthorised: share(56, 100), Admitted: share(96, 140), AutoAdmittedReview: share(40, 40), FalseRefusal: share(0, 140)},
	} {
		if got := r.Arms[arm].Counts; got != want {
			t.Errorf("%s: got %+v, want %+v", arm, got, want)
		}
	}
	if !slices.Equal(r.Best.Weights, []float64{0.25, 0.30, 0.45}) || r.Best.Tau != 0.05 {
		t.Errorf("best in hindsight: %+v", r.Best)
	}
	if s := r.Sweep(); s.Configurations != 114 || s.Agreeing != 30 || !s.Holds() {
		t.Errorf("%d of %d configurations agree, holds %v", s.Agreeing, s.Configurations, s.Holds())
	}
	fires := map[string]string{"base64-secret": "secret", "deny-relative": "boundary", "path-traversal": "boundary", "symlink-escape": "boundary",
		"test-rename": "boundary test", "test-moved-in-scope": "test", "test-skip-marker": "test"}
	cause := map[string]string{"base64-secret": "secret", "deny-relative": "BOUNDS", "path-traversal": "BOUNDS", "symlink-escape": "BOUNDS",
		"test-rename": "BOUNDS", "test-moved-in-scope": "test", "test-skip-marker": "test"}
	for _, row := range r.Rows {
		wantFired, wantCause := fires[row.Class], cause[row.Class]
		if row.Want == engine.Allow {
			wantFired, wantCause = "", ""
		}
		if got := strings.Join(row.Fired, " "); got != wantFired || row.Cause != wantCause {
			t.Errorf("%s: fired %q because of %q, want %q because of %q", row.ID, got, row.Cause, wantFired, wantCause)
		}
		if row.Answers["conjunction"] != row.Want {
			t.Errorf("%s: %v, want %v", row.ID, row.Answers["conjunction"], row.Want)
		}
	}
	if !r.Holds() {
		t.Error("does not hold")
	}
}

// TestCompareFormat holds the JSON form to what others read.
func TestCompareFormat(t *testing.T) {
	text, err := json.Marshal(compare(t, bench.FaultSeed, shipped(t, bench.FaultBundle)))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Arms map[string]map[string]json.RawMessage `json:"arms"`
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if names := slices.Sorted(maps.Keys(got.Arms)); !slices.Equal(names, []string{"conjunction", "protocol", "score_best", "score_vendor"}) {
		t.Errorf("arms %v", names)
	}
	for key, want := range map[string]string{"unauthorised": `{"count":56,"of":100}`, "admitted": `{"count":96,"of":140}`,
		"auto_admitted_review": `{"count":40,"of":40}`, "false_refusal": `{"count":0,"of":140}`} {
		if string(got.Arms["protocol"][key]) != want {
			t.Errorf("protocol %s: %s, want %s", key, got.Arms["protocol"][key], want)
		}
	}
	var perClass map[string]bench.Share
	if err := json.Unmarshal(got.Arms["protocol"]["per_class"], &perClass); err != nil || perClass["path-traversal"] != share(16, 20) || len(perClass) != 7 {
		t.Errorf("per class %v %v", perClass, err)
	}
}

// TestOtherSeedsGiveTheSameCounts: what the counts rest on is how the cases are
// made, and not what was drawn.
func TestOtherSeedsGiveTheSameCounts(t *testing.T) {
	b := shipped(t, bench.FaultBundle)
	for _, seed := range []uint64{1, 99} {
		if r := compare(t, seed, b); !r.Holds() {
			t.Errorf("seed %d: %+v", seed, r.Arms)
		}
	}
}

func BenchmarkCompare(b *testing.B) {
	p := shipped(b, bench.FaultBundle)
	for b.Loop() {
		compare(b, bench.FaultSeed, p)
	}
}

// BenchmarkSweep is all 31,920 decisions of the sweep, from the signals of one
// comparison.
func BenchmarkSweep(b *testing.B) {
	p := shipped(b, bench.FaultBundle)
	points := compare(b, bench.FaultSeed, p).Points()
	for b.Loop() {
		bench.RunSweep([]string{"boundary", "secret", "test"}, []int{45, 30, 25}, points)
	}
}

// BenchmarkConfigurationAnew is one configuration of 114 with everything found
// and decided again.
func BenchmarkConfigurationAnew(b *testing.B) {
	p := shipped(b, bench.FaultBundle)
	for b.Loop() {
		score := bench.Score{Weights: []int{45, 30, 25}, Tau: 60}
		score.Agrees(compare(b, bench.FaultSeed, p).Points())
	}
}
