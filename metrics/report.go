package metrics

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
)

// Report is every figure of a journal.
type Report struct {
	// TaskCompletion is the share of all calls that were executed, at once or
	// after approval; Known leaves out those known to be wrong.
	TaskCompletion      Figure `json:"task_completion"`
	TaskCompletionKnown Figure `json:"task_completion_known"`
	// Success is the share of executed calls without error; Known without error
	// and not known to be wrong.
	Success      Figure `json:"success"`
	SuccessKnown Figure `json:"success_known"`
	// GateOverhead is how long a caller waited for the whole decision, the entry's
	// way to the disk included, as the enforcement point measured it.
	GateOverheadP50 Figure `json:"gate_overhead_p50"`
	GateOverheadP95 Figure `json:"gate_overhead_p95"`
	ToolLatencyP50  Figure `json:"tool_latency_p50"`
	ToolLatencyP95  Figure `json:"tool_latency_p95"`
	// CostPerAction is the cost of executed calls over their number; Known over
	// the number of those not known to be wrong.
	CostPerAction      Figure `json:"cost_per_action"`
	CostPerActionKnown Figure `json:"cost_per_action_known"`
	// EscalationPrecision is the share of stopped calls that a person rejected;
	// Decided of those that a person decided.
	EscalationPrecision        Figure `json:"escalation_precision"`
	EscalationPrecisionDecided Figure `json:"escalation_precision_decided"`
	// CostWeightedError is the weight of the rejected over that of all; Known that
	// of all known to be wrong, incidents of ungated executions included.
	CostWeightedError      Figure `json:"cost_weighted_error"`
	CostWeightedErrorKnown Figure `json:"cost_weighted_error_known"`
	// OverrideRate is the share of queued calls that a person rejected, by class.
	OverrideRate   map[string]Figure `json:"override_rate"`
	ReviewDelayP50 Figure            `json:"review_delay_p50"`
	ReviewDelayP95 Figure            `json:"review_delay_p95"`
	// QueueLength is how many requests nobody has answered at the end of the
	// journal, and the most that waited at once, of all that were made.
	QueueLength    Figure `json:"queue_length"`
	QueueLengthMax Figure `json:"queue_length_max"`
	// Deferrals is how many decisions were put off, of all.
	Deferrals Figure `json:"deferrals"`
	// Notes say what the figures rest on where that is less than everything.
	Notes []string `json:"notes"`
	// Torn tells that the last line has no newline; it is left out.
	Torn string `json:"torn,omitempty"`
}

// Report makes the figures of what was taken in so far.
func (f *Fold) Report() Report {
	t := f.totals()
	executed, weight, known := t.executed, whole(t.weight), whole(t.knownWeight)
	r := Report{
		TaskCompletion: ratio(executed, len(f.calls)), TaskCompletionKnown: ratio(executed-t.wrongExecuted, len(f.calls)),
		Success: ratio(executed-t.failed, executed), SuccessKnown: ratio(executed-t.failedOrWrong, executed),
		GateOverheadP50: quantile(t.overheads, 0.5, executed), GateOverheadP95: quantile(t.overheads, 0.95, executed),
		ToolLatencyP50: quantile(t.latencies, 0.5, executed), ToolLatencyP95: quantile(t.latencies, 0.95, executed),
		CostPerAction: quotient(t.cost, whole(t.priced)), CostPerActionKnown: quotient(t.cost, whole(t.priced-t.wrongPriced)),
		EscalationPrecision: ratio(t.stoppedRejected, t.stopped), EscalationPrecisionDecided: ratio(t.stoppedRejected, t.stoppedDecided),
		CostWeightedError: quotient(whole(t.rejectedWeight), weight), CostWeightedErrorKnown: quotient(whole(t.wrongWeight), known),
		OverrideRate:   map[string]Figure{},
		ReviewDelayP50: quantile(f.delays, 0.5, f.requests), ReviewDelayP95: quantile(f.delays, 0.95, f.requests),
		QueueLength: number(len(f.waiting), f.requests), QueueLengthMax: number(f.longest, f.requests),
		Deferrals: number(f.deferrals, f.decisions),
		Notes:     f.notes(&t),
	}
	for class, n := range t.queued {
		r.OverrideRate[class] = ratio(t.overridden[class], n)
	}
	return r
}

// totals are the counts that figures are made of.
type totals struct {
	executed, failed, wrongExecuted, failedOrWrong int
	stopped, stoppedRejected, stoppedDecided       int
	weight, rejectedWeight                         int
	knownWeight, wrongWeight                       int
	cost                                           *big.Rat
	priced, wrongPriced                            int
	unreported                                     int
	queued, overridden                             map[string]int
	overheads, latencies                           []float64
}

func (f *Fold) totals() totals {
	t := totals{cost: new(big.Rat), queued: map[string]int{}, overridden: map[string]int{}}
	for _, c := range f.calls {
		t.judge(c)
		if c.executed {
			t.execute(c, f.options.Library)
		}
	}
	return t
}

// judge counts what the gate and a person made of a call.
func (t *totals) judge(c *call) {
	t.weight += c.weight()
	t.knownWeight += c.knownWeight()
	if c.answer == rejected {
		t.rejectedWeight += c.weight()
	}
	if c.wrong() {
		t.wrongWeight += c.knownWeight()
	}
	if c.queued() {
		t.queued[c.class()]++
		if c.answer == rejected {
			t.overridden[c.class()]++
		}
	}
	if !c.stopped() {
		return
	}
	t.stopped++
	if c.answer != unanswered {
		t.stoppedDecided++
	}
	if c.answer == rejected {
		t.stoppedRejected++
	}
}

// execute counts what became of a call that ran.
func (t *totals) execute(c *call, library Library) {
	t.executed++
	if c.failed() {
		t.failed++
	}
	if c.wrong() {
		t.wrongExecuted++
	}
	if c.failed() || c.wrong() {
		t.failedOrWrong++
	}
	if c.result == "" {
		t.unreported++
	}
	if price, ok := c.price(library); ok {
		t.cost.Add(t.cost, price)
		t.priced++
		if c.wrong() {
			t.wrongPriced++
		}
	}
	if c.overhead != nil {
		t.overheads = append(t.overheads, *c.overhead)
	}
	if c.latency != nil {
		t.latencies = append(t.latencies, *c.latency)
	}
}

func (f *Fold) notes(t *totals) []string {
	out := []string{}
	say := func(n int, format string, args ...any) {
		if n > 0 {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	say(t.unreported, "of %d of %d executed calls no result was reported: they are taken to have run without error", t.unreported, t.executed)
	say(t.executed-t.priced, "what %d of %d executed calls cost is not known: no result says so, and the bundle in force is not beside the journal or does not declare the tool", t.executed-t.priced, t.executed)
	say(f.strayed, "%d events are about a call that cannot be told: they name none, and the bundle in force is not beside the journal", f.strayed)
	return out
}

// Named is a figure under its name.
type Named struct {
	Name, Class string
	Unit        Unit
	Help        string
	Figure
}

// All lists every figure, those of classes sorted by class.
func (r *Report) All() []Named {
	out := []Named{
		{"task_completion", "", Share, "Executed calls, at once or after approval, of all calls.", r.TaskCompletion},
		{"task_completion_known", "", Share, "Executed calls not known to be wrong, of all calls.", r.TaskCompletionKnown},
		{"success", "", Share, "Calls without error, of the executed.", r.Success},
		{"success_known", "", Share, "Calls without error and not known to be wrong, of the executed.", r.SuccessKnown},
		{"gate_overhead_p50", "", Seconds, "Median wait for the whole decision, of executed calls where it was measured.", r.GateOverheadP50},
		{"gate_overhead_p95", "", Seconds, "95th percentile of the wait for the whole decision.", r.GateOverheadP95},
		{"tool_latency_p50", "", Seconds, "Median run time of tools, of executed calls where it was reported.", r.ToolLatencyP50},
		{"tool_latency_p95", "", Seconds, "95th percentile of the run time of tools.", r.ToolLatencyP95},
		{"cost_per_action", "", Cost, "Cost of executed calls over their number.", r.CostPerAction},
		{"cost_per_action_known", "", Cost, "Cost of executed calls over the number of those not known to be wrong.", r.CostPerActionKnown},
		{"escalation_precision", "", Share, "Calls that a person rejected, of the stopped (queued and refused).", r.EscalationPrecision},
		{"escalation_precision_decided", "", Share, "Calls that a person rejected, of the stopped that a person decided.", r.EscalationPrecisionDecided},
		{"cost_weighted_error", "", Share, "Weight of rejected calls, of the weight of all.", r.CostWeightedError},
		{"cost_weighted_error_known", "", Share, "Weight of calls known to be wrong, incidents included, of the weight of all.", r.CostWeightedErrorKnown},
	}
	for _, class := range slices.Sorted(maps.Keys(r.OverrideRate)) {
		out = append(out, Named{"override_rate", class, Share, "Calls that a person rejected, of the queued, by class.", r.OverrideRate[class]})
	}
	return append(out,
		Named{"review_delay_p50", "", Seconds, "Median time from a review request to its answer.", r.ReviewDelayP50},
		Named{"review_delay_p95", "", Seconds, "95th percentile of the time from a review request to its answer.", r.ReviewDelayP95},
		Named{"queue_length", "", Number, "Review requests not answered yet, of all made.", r.QueueLength},
		Named{"queue_length_max", "", Number, "The most review requests that waited at once, of all made.", r.QueueLengthMax},
		Named{"deferrals", "", Number, "Decisions that put a call off, of all.", r.Deferrals},
	)
}
