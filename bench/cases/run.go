package cases

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/conjunct-project/conjunct/action"
	"github.com/conjunct-project/conjunct/bundle"
	"github.com/conjunct-project/conjunct/engine"
)

// Run decides every case. Progress is called after each.
func Run(ctx context.Context, all []Case, progress func()) (*Report, error) {
	return run(ctx, newLoader(shipped), all, progress)
}

func run(ctx context.Context, l *loader, all []Case, progress func()) (*Report, error) {
	dir, err := os.MkdirTemp("", "conjunct-cases-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	report := &Report{Kinds: map[string]*Tally{}, Cases: []Result{}}
	for _, c := range all {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		below, err := os.MkdirTemp(dir, "case-")
		if err != nil {
			return nil, err
		}
		report.add(result(ctx, l, c, below))
		if err := os.RemoveAll(below); err != nil {
			return nil, err
		}
		progress()
	}
	return report, nil
}

func result(ctx context.Context, l *loader, c Case, dir string) Result {
	r := Result{ID: c.ID, Kind: c.Kind, Expected: c.Expected}
	a, err := decide(ctx, l, c, dir)
	var not *unsupported
	if errors.As(err, &not) {
		r.Result, r.Why = Unsupported, not.why
		return r
	}
	if err != nil {
		r.Result, r.Why = Unsupported, err.Error()
		return r
	}
	r.Got, r.Why, r.Result = a.answer, a.why, verdict(c.Expected, a.answer)
	return r
}

// answered is what came of a case and why.
type answered struct {
	answer Answer
	why    string
}

func refused(err error) (answered, error) {
	var not *unsupported
	if errors.As(err, &not) {
		return answered{}, not
	}
	var load *bundle.LoadError
	if errors.As(err, &load) {
		return answered{Error, "the policy does not load: " + load.Problems[0].Code + ": " + load.Problems[0].Message}, nil
	}
	return answered{Error, err.Error()}, nil
}

// decide takes a case through set-up and engine. An error says why the case is
// not supported.
func decide(ctx context.Context, l *loader, c Case, dir string) (answered, error) {
	switch {
	case c.Request.Raw != nil:
		return decideRaw(ctx, l, c, dir)
	case strings.HasPrefix(c.Request.Tool, "audit."):
		return audit(l, c, dir)
	}
	s, err := newSetup(c, l)
	if err != nil {
		return answered{}, err
	}
	if s.refused != nil {
		return answered{Error, s.refused.Error()}, nil
	}
	return s.run(ctx, c, dir)
}

// decideRaw reads the input as it came. What a case leaves out of an action, its
// ids, is put in front, so that nothing but the case's own fault is at fault.
func decideRaw(ctx context.Context, l *loader, c Case, dir string) (answered, error) {
	if _, err := action.Decode([]byte(withIDs(*c.Request.Raw))); err != nil {
		return answered{Error, err.Error()}, nil
	}
	var r request
	if err := json.Unmarshal([]byte(*c.Request.Raw), &r); err != nil {
		return answered{Error, err.Error()}, nil
	}
	if c.Request.Tool != "" || len(c.Request.Arguments) > 0 {
		return answered{}, &unsupported{"raw input beside a tool or arguments"}
	}
	c.Request = request{Tool: r.Tool, Arguments: r.Arguments, Context: c.Request.Context}
	return decide(ctx, l, c, dir)
}

// withIDs puts the ids that an action has and raw input leaves out in front of it.
// An id that stands anywhere in the text, in whatever depth, is left to the input.
func withIDs(raw string) string {
	rest, ok := strings.CutPrefix(strings.TrimLeft(raw, " \t\r\n"), "{")
	if !ok {
		return raw
	}
	ids := ""
	for _, id := range []string{"trace_id", "call_id"} {
		if !strings.Contains(raw, strconv.Quote(id)) {
			ids += fmt.Sprintf("%q:\"case\",", id)
		}
	}
	return "{" + ids + rest
}

// answerOf puts a decision into the corpus's words.
func answerOf(d *engine.Decision) answered {
	why := d.Cause
	for _, g := range d.Gates {
		if g.Name == d.Cause && len(g.Reasons) > 0 {
			why += ": " + g.Reasons[0].Text
		}
	}
	switch {
	case d.Permit:
		return answered{Allow, ""}
	case d.Outcome == engine.Review:
		return answered{Review, why}
	case onlyUnknown(d):
		return answered{Error, why}
	}
	return answered{Block, why}
}

// onlyUnknown reports whether nothing failed: the call is blocked for what could
// not be determined alone.
func onlyUnknown(d *engine.Decision) bool {
	unknown := false
	for _, g := range d.Gates {
		if g.Verdict == engine.Fail && !onlyAsks(g) {
			return false
		}
		switch g.Verdict {
		case engine.Unknown:
			unknown = true
		}
	}
	return unknown
}

// onlyAsks reports whether BOUNDS fails for nothing but a review that is due: that
// alone holds a call and never blocks it.
func onlyAsks(g engine.GateResult) bool {
	return g.Name == engine.Bounds && !slices.ContainsFunc(g.Reasons, func(r engine.Reason) bool { return r.Code != "review_required" })
}

// document is a call as an action, with its arguments as they were written.
func document(trace, id string, c call, more map[string]any) ([]byte, error) {
	arguments := c.Arguments
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	doc := map[string]any{"trace_id": trace, "call_id": id, "tool": c.Tool, "arguments": arguments, "confidence": json.RawMessage("0.99")}
	for k, v := range more {
		doc[k] = v
	}
	text, err := json.Marshal(doc)
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", c.Tool, err)
	}
	return text, nil
}
