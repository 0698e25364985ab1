package pdp_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/conjunct-project/conjunct/pdp"
)

// found is the result of a tool that tells what it holds and what it cost.
type found struct{ names []string }

func (f found) Produced() []string { return f.names }
func (f found) Cost() float64      { return 0.2 }

func TestDoReportsLatencyCostAndWhatTheResultHolds(t *testing.T) {
	dir := fresh(t)
	p := open(t, dir, pdp.Options{})
	want := found{[]string{"pat@customer.example"}}
	got, err := pdp.Do(context.Background(), p, call(t, "t", "c1", "read_ticket", `{"ticket":"INC-1"}`), func(context.Context) (found, error) { return want, nil })
	if err != nil || len(got.names) != 1 {
		t.Fatal(got, err)
	}
	all := entries(t, dir)
	var body struct {
		Event struct {
			Status                  string
			Latency, Overhead, Cost *float64
			Produced                []string
		}
	}
	if err := json.Unmarshal(all[len(all)-1].Body, &body); err != nil {
		t.Fatal(err)
	}
	e := body.Event
	if e.Status != "ok" || e.Latency == nil || *e.Latency < 0 || e.Overhead == nil || !(*e.Overhead > 0) || e.Cost == nil || *e.Cost != 0.2 || len(e.Produced) != 1 || e.Produced[0] != want.names[0] {
		t.Errorf("journalled %+v", e)
	}
	if err := reopens(t, dir, p); err != nil {
		t.Fatal(err)
	}
}
