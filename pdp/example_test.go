package pdp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/conjunct-project/conjunct/action"
	"github.com/conjunct-project/conjunct/bundle"
	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/pdp"
	"github.com/conjunct-project/conjunct/policies"
)

// entities is what a tool of the example returns: the entities that its result
// holds, for later calls to be traced back to it.
type entities []string

func (e entities) Produced() []string { return e }

// proposal is one call that the example's agent makes.
type proposal struct {
	id, tool   string
	arguments  map[string]any
	confidence float64
	context    map[string]any
	result     entities
}

// Example_serviceDesk plays the three runs of the service desk through Do: one
// where everything runs, one where a call waits and another is refused, and one
// where a rejection pulls back what was built on the same.
func Example_serviceDesk() {
	const partner = "ext-partner@wrong.example"
	ticket := func(id string) map[string]any { return map[string]any{"source_record": id} }
	about := func(id, entity string) map[string]any {
		return map[string]any{"source_record": id, "target_entity": entity}
	}
	runs := []struct {
		trace string
		calls []proposal
	}{
		{"clean-INC-4471", []proposal{
			{"c0", "read_ticket", map[string]any{"ticket": "INC-4471"}, 0.97, ticket("INC-4471"), nil},
			{"c1", "search_kb", map[string]any{"query": "mail bounces"}, 0.95, nil, nil},
			{"c2", "lookup_ci", map[string]any{"ci": "mail-gw-02"}, 0.96, nil, nil},
			{"c3", "draft_response", map[string]any{"ticket": "INC-4471", "to": "pat@customer.example", "body": "Done."}, 0.93, ticket("INC-4471"), nil},
			{"c4", "update_ticket_status", map[string]any{"ticket": "INC-4471", "status": "waiting"}, 0.94, ticket("INC-4471"), nil},
		}},
		{"blocked-INC-5012", []proposal{
			{"c0", "read_ticket", map[string]any{"ticket": "INC-5012"}, 0.96, ticket("INC-5012"), nil},
			{"c1", "reset_credentials", map[string]any{"account": `acme\jdoe`}, 0.90, about("INC-5012", `acme\jdoe`), nil},
			{"c2", "deprovision_account", map[string]any{"account": `acme\jdoe`}, 0.94, about("INC-5012", `acme\jdoe`), nil},
		}},
		{"override-INC-4471", []proposal{
			{"c0", "read_ticket", map[string]any{"ticket": "INC-4471"}, 0.96, ticket("INC-4471"), entities{partner}},
			{"c1", "search_kb", map[string]any{"query": "partner mail"}, 0.95, nil, nil},
			{"c2", "email_customer", map[string]any{"to": partner, "body": "Your domain is moved."}, 0.88, about("INC-4471", partner), nil},
			{"c3", "update_ticket_status", map[string]any{"ticket": "INC-4471", "status": "waiting"}, 0.90, about("INC-4471", "INC-4471"), nil},
			{"c4", "draft_response", map[string]any{"ticket": "INC-4471", "to": partner, "body": "Your domain is moved."}, 0.90, about("INC-4471", partner), nil},
		}},
	}

	gate, done := serviceDesk()
	defer done()
	ctx := context.Background()
	for _, run := range runs {
		fmt.Println(run.trace)
		for _, c := range run.calls {
			_, err := pdp.Do(ctx, gate, c.action(run.trace), func(context.Context) (entities, error) { return c.result, nil })
			var no *pdp.NotPermitted
			switch {
			case errors.As(err, &no):
				fmt.Println(" ", c.id, c.tool, no.Decision.Outcome)
			case err != nil:
				log.Fatal(err)
			default:
				fmt.Println(" ", c.id, c.tool, "ran")
			}
		}
	}
	if _, err := gate.Review(ctx, "override-INC-4471", "c2", "lena", engine.ReviewEvent{Outcome: engine.Reject, Code: "wrong_target"}); err != nil {
		log.Fatal(err)
	}
	fmt.Println("after the rejection of c2 there wait")
	for _, w := range gate.Queue() {
		fmt.Println(" ", w.TraceID, w.CallID, w.Tool)
	}
	// Output:
	// clean-INC-4471
	//   c0 read_ticket ran
	//   c1 search_kb ran
	//   c2 lookup_ci ran
	//   c3 draft_response ran
	//   c4 update_ticket_status ran
	// blocked-INC-5012
	//   c0 read_ticket ran
	//   c1 reset_credentials review
	//   c2 deprovision_account block
	// override-INC-4471
	//   c0 read_ticket ran
	//   c1 search_kb ran
	//   c2 email_customer review
	//   c3 update_ticket_status ran
	//   c4 draft_response ran
	// after the rejection of c2 there wait
	//   blocked-INC-5012 c1 reset_credentials
	//   override-INC-4471 c3 update_ticket_status
	//   override-INC-4471 c4 draft_response
}

func (c proposal) action(trace string) engine.Action {
	tree := map[string]any{"trace_id": trace, "call_id": c.id, "agent": map[string]any{"id": "itsm-agent", "component": "planner@3"},
		"tool": c.tool, "arguments": c.arguments, "confidence": c.confidence}
	if c.context != nil {
		tree["context"] = c.context
	}
	text, err := json.Marshal(tree)
	if err != nil {
		log.Fatal(err)
	}
	a, err := action.Decode(text)
	if err != nil {
		log.Fatal(err)
	}
	return a
}

// serviceDesk is a decision point with the policy for service desks, a reviewer
// and a fixed clock, on a state directory that done removes.
func serviceDesk() (gate *pdp.PDP, done func()) {
	check := func(err error) {
		if err != nil {
			log.Fatal(err)
		}
	}
	fsys, err := policies.FS("itsm")
	check(err)
	files, err := bundle.FromFS(fsys, "itsm")
	check(err)
	files.Content["conjunct/authority/data.yaml"] = []byte("reviewers:\n  lena: {role: service-desk-lead}\n")
	b, err := bundle.Load(files)
	check(err)
	dir, err := os.MkdirTemp("", "service-desk-")
	check(err)
	at := time.Date(2026, time.March, 2, 9, 30, 0, 0, time.UTC).Unix()
	state := filepath.Join(dir, "state")
	check(pdp.Init(state, b, at))
	gate, err = pdp.Open(state, pdp.Options{Now: func() int64 { return at }})
	check(err)
	return gate, func() { check(errors.Join(gate.Close(), os.RemoveAll(dir))) }
}
