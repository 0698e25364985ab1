package bench

import (
	"context"
	"testing"
	"time"
)

// TestSpeed measures with a clock that moves one second a look: each of the two
// takes one.
func TestSpeed(t *testing.T) {
	s, err := FaultStudy(FaultSeed, load(t, FaultBundle))
	if err != nil {
		t.Fatal(err)
	}
	s.Corpus.Cases = s.Corpus.Cases[:6]
	looks := 0
	clock := func() time.Time { looks++; return time.Unix(int64(looks), 0) }
	r, err := RunSpeed(context.Background(), s, 3, clock)
	if err != nil {
		t.Fatal(err)
	}
	second := Quantiles{1, 1, 1}
	if r.Facts != second || r.Decision != second || looks != 6*3*3 || r.Cases != 6 || !r.Holds() {
		t.Errorf("%d looks: %+v", looks, r)
	}
	if _, err := RunSpeed(context.Background(), s, 0, clock); err == nil {
		t.Error("nothing was measured")
	}
}

func TestQuantiles(t *testing.T) {
	var d []time.Duration
	for i := range 101 {
		d = append(d, time.Duration(100-i)*time.Second)
	}
	if got := quantiles(d); got != (Quantiles{50, 95, 100}) {
		t.Errorf("%+v", got)
	}
}
