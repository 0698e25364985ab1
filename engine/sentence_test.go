package engine

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const cannotBuy = "confidence cannot buy past a policy floor"

var (
	saysTier  = regexp.MustCompile(`Base tier (\w+)(?:, tightened by ([\w, ]+?))?(?:; ([\w, ]+) would tighten it, the cap (\w+) holds)?\. `)
	saysBelow = regexp.MustCompile(`Confidence (\S+) is below the threshold (\S+)\. `)
	saysMeets = regexp.MustCompile(`Confidence (\S+) meets the threshold (\S+) and loosens nothing\. `)
	saysOut   = regexp.MustCompile(`Confidence (\S+) lies outside 0 to 1, which counts as below the threshold (\S+)\. `)
	saysNone  = regexp.MustCompile(`No confidence was given, which counts as below the threshold (\S+)\. `)
	saysFloor = regexp.MustCompile(`Floor (\S+) sets the tier to (\w+); ` + cannotBuy + `\.`)
	saysGate  = regexp.MustCompile(`(?:^| )(\S+) (failed|could not be determined): `)
)

// contradiction reads a sentence back and compares what it says with the
// decision and the input; it returns what does not fit, or nothing.
func contradiction(p *fakePolicy, in Input, d Decision) string {
	s := d.Reason
	c := d.Consequence
	for property, word := range map[string]string{
		"reversibility": map[Reversibility]string{Irreversible: " is irreversible and", Costly: " is costly to reverse and", Reversible: " is reversible and"}[c.Reversibility],
		"radius":        map[BlastRadius]string{External: "the world outside", SystemWide: "a whole system", RecordOnly: "one record", TaskOnly: "the task at hand"}[c.BlastRadius],
		"absorbed":      map[AbsorbedBy]string{Regulator: "the regulator pays", Customer: "the customer pays", Operator: "the operator pays", AgentItself: "the agent pays"}[c.AbsorbedBy],
		"latency":       map[DetectionLatency]string{Unbounded: "noticed perhaps never", Days: "noticed within days", Hours: "noticed within hours", Immediate: "noticed at once"}[c.DetectionLatency],
		"source":        map[Source]string{Undeclared: " (undeclared: the worst is assumed).", FromPolicy: " (raised by policy).", Inferred: " (inferred, not declared).", Declared: "."}[c.Source],
	} {
		if !strings.Contains(s[:strings.Index(s, ".")+1], word) {
			return fmt.Sprintf("%s: want %q", property, word)
		}
	}
	if !strings.HasPrefix(s, d.Tool+" is ") {
		return "does not begin with the tool"
	}

	var moved, capped []string
	for _, m := range d.Modifiers {
		switch m.Reason.Code {
		case "modifier_applied":
			moved = append(moved, m.Name)
		case "modifier_capped":
			capped = append(capped, m.Name)
		}
	}
	m := saysTier.FindStringSubmatch(s)
	if m == nil || m[1] != d.BaseTier.String() || m[2] != strings.Join(moved, ", ") || m[3] != strings.Join(capped, ", ") {
		return fmt.Sprintf("tier: read %q, want base %v, moved %v, capped %v", m, d.BaseTier, moved, capped)
	}
	if len(capped) > 0 && m[4] != p.limit.String() {
		return "names another cap than " + p.limit.String()
	}

	if why := confidenceContradiction(s, in.Action.Confidence, p.contract.Threshold); why != "" {
		return why
	}
	if said := strings.Contains(s, "a rejection made suspect"); said != (len(in.State.Suspect) > 0) {
		return fmt.Sprintf("suspicion said: %v", said)
	}

	var applied []Floor
	for _, f := range d.Floors {
		if f.Applied {
			applied = append(applied, f)
		}
	}
	floors := saysFloor.FindAllStringSubmatch(s, -1)
	if len(floors) != len(applied) || len(applied) > 1 || strings.Count(s, cannotBuy) != len(applied) {
		return fmt.Sprintf("floors said %v, applied %v", floors, applied)
	}
	for i, f := range applied {
		if floors[i][1] != f.Name || floors[i][2] != f.Tier.String() || f.Tier != d.Tier {
			return fmt.Sprintf("floor said %v, applied %+v at tier %v", floors[i], f, d.Tier)
		}
	}

	var gates, obstacles []string
	for _, g := range saysGate.FindAllStringSubmatch(s, -1) {
		gates = append(gates, g[1]+" "+g[2])
	}
	for _, g := range d.Gates {
		switch g.Verdict {
		case Fail:
			obstacles = append(obstacles, g.Name+" failed")
		case Unknown:
			obstacles = append(obstacles, g.Name+" could not be determined")
		}
		for _, r := range g.Reasons {
			if !g.Verdict.holds() && !strings.Contains(s, r.Text) {
				return fmt.Sprintf("leaves out why %s is %v: %s", g.Name, g.Verdict, r.Text)
			}
		}
	}
	if !slices.Equal(gates, obstacles) {
		return fmt.Sprintf("gates said %v, want %v", gates, obstacles)
	}

	for phrase, holds := range map[string]bool{
		"The call may run":        d.Permit,
		"and somebody is told":    d.Notify,
		"The call is held":        d.Outcome == Review,
		"(escalate)":              d.Transition == Escalate,
		"(defer)":                 d.Transition == Defer,
		"The call is blocked (":   d.Outcome == Block,
		"(" + "stop" + ")":        d.Transition == Stop,
		"blocked (retry)":         d.Transition == Retry,
		"blocked (verify)":        d.Transition == Verify,
		"blocked (switch)":        d.Transition == Switch,
		"it cannot be overridden": false,
	} {
		if strings.Contains(s, phrase) != holds {
			return fmt.Sprintf("%q said: %v, holds: %v", phrase, !holds, holds)
		}
	}
	return ""
}

func confidenceContradiction(s string, c *float64, threshold float64) string {
	number := func(text string) float64 {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return math.Inf(-1)
		}
		return f
	}
	below, meets, out, none := saysBelow.FindStringSubmatch(s), saysMeets.FindStringSubmatch(s), saysOut.FindStringSubmatch(s), saysNone.FindStringSubmatch(s)
	kinds := 0
	for _, m := range [][]string{below, meets, out, none} {
		if m != nil {
			kinds++
		}
	}
	if kinds != 1 {
		return fmt.Sprintf("says %d things about confidence", kinds)
	}
	switch {
	case none != nil:
		if c != nil || number(none[1]) != threshold {
			return "says that no confidence was given, or another threshold"
		}
	case c == nil:
		return "says a confidence that was not given"
	case out != nil:
		if *c >= 0 && *c <= 1 || number(out[2]) != threshold {
			return "says that confidence lies outside 0 to 1, or another threshold"
		}
	case below != nil:
		if number(below[1]) != *c || number(below[2]) != threshold || !(*c < threshold) || below[1] == below[2] {
			return fmt.Sprintf("says %q for confidence %v, threshold %v", below[0], *c, threshold)
		}
	case meets != nil:
		if number(meets[1]) != *c || number(meets[2]) != threshold || !(*c >= threshold) || (*c != threshold) != (meets[1] != meets[2]) {
			return fmt.Sprintf("says %q for confidence %v, threshold %v", meets[0], *c, threshold)
		}
	}
	return ""
}

func TestTheSentenceSaysWhatTheDecisionIs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, in := caseOf(t)
		for _, w := range append(worsenings(p), worsening{"as drawn", func(*fakePolicy, *Input) {}}) {
			q, other := copyOf(p, in)
			w.apply(q, &other)
			d := decide(q, other)
			if why := contradiction(q, other, d); why != "" {
				t.Fatalf("%s: %s\n%s", w.name, why, d.Reason)
			}
		}
	})
}

func TestTwoDifferentNumbersNeverPrintAsEqual(t *testing.T) {
	for _, c := range []struct{ confidence, threshold float64 }{
		{0.8499999999999999, 0.85}, {0.85, 0.8500000000000001}, {math.Nextafter(0.85, 0), 0.85}, {0.85, 0.85}, {math.Nextafter(0.85, 1), 0.85},
		{0.1 + 0.2, 0.3}, {0.3, 0.1 + 0.2}, {math.SmallestNonzeroFloat64, 0}, {0, math.SmallestNonzeroFloat64}, {1, math.Nextafter(1, 0)}, {1e-300, 1e-299},
	} {
		p := newFake()
		p.contract.Threshold = c.threshold
		in := call(p, toolNote)
		in.Action.Confidence = new(c.confidence)
		if why := contradiction(p, in, decide(p, in)); why != "" {
			t.Errorf("confidence %v, threshold %v: %s", c.confidence, c.threshold, why)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		p := newFake()
		p.contract.Threshold = rapid.Float64Range(0, 1).Draw(t, "threshold")
		in := call(p, toolNote)
		c := p.contract.Threshold
		for range rapid.IntRange(0, 3).Draw(t, "steps") {
			c = math.Nextafter(c, float64(rapid.IntRange(0, 1).Draw(t, "towards")))
		}
		in.Action.Confidence = &c
		if why := contradiction(p, in, decide(p, in)); why != "" {
			t.Fatalf("confidence %v, threshold %v: %s", c, p.contract.Threshold, why)
		}
	})
}

func TestSentences(t *testing.T) {
	for _, c := range []struct {
		name string
		tool string
		set  func(p *fakePolicy, in *Input)
		want string
	}{
		{"allowed", toolNote, func(*fakePolicy, *Input) {},
			"note is reversible and reaches the task at hand; if it is wrong, the agent pays and it is noticed at once. Base tier execute. " +
				"Confidence 0.9 meets the threshold 0.85 and loosens nothing. The call may run."},
		{"tightened and told", toolNote, func(_ *fakePolicy, in *Input) { in.Action.Confidence = new(0.8499999999999999) },
			"note is reversible and reaches the task at hand; if it is wrong, the agent pays and it is noticed at once. Base tier execute, tightened by confidence. " +
				"Confidence 0.8499999999999999 is below the threshold 0.85. The tier is execute_notify. The call may run, and somebody is told."},
		{"held", toolRevoke, func(_ *fakePolicy, in *Input) { in.Action.Confidence = nil },
			"revoke_access is irreversible and reaches a whole system; if it is wrong, the operator pays and it is noticed at once. " +
				"Base tier propose; confidence would tighten it, the cap propose holds. No confidence was given, which counts as below the threshold 0.85. " +
				"BOUNDS failed: the call needs a person's approval. The call is held until a person has decided (escalate)."},
		{"refused by a floor", toolUpdate, func(p *fakePolicy, in *Input) {
			p.addFloor("no-records", Refuse)
			in.Action.Confidence = new(1.0)
		}, "update_record is costly to reverse and reaches one record; if it is wrong, the operator pays and it is noticed within hours. Base tier execute_notify. " +
			"Confidence 1 meets the threshold 0.85 and loosens nothing. Floor no-records sets the tier to refuse; confidence cannot buy past a policy floor. " +
			"BOUNDS failed: the tier refuse denies the call, and no review can change that. The call is blocked (stop)."},
		{"suspect", toolNote, func(_ *fakePolicy, in *Input) {
			in.State.Suspect = []Item{{"entity", "acme"}, {"record", "INC-1"}}
			in.State.Queue = 4
		}, "note is reversible and reaches the task at hand; if it is wrong, the agent pays and it is noticed at once. Base tier execute. " +
			"Confidence 0.9 meets the threshold 0.85 and loosens nothing. It is built on context that a rejection made suspect: entity \"acme\", record \"INC-1\". The tier is propose. " +
			"BOUNDS failed: the call needs a person's approval. SUPERVISION failed: no reviewer is free: the queue has reached its capacity. " +
			"The call is held: nobody can decide it now (defer)."},
		{"undetermined floor, confidence out of range, own gate unknown", toolNote, func(p *fakePolicy, in *Input) {
			p.floors = []FloorMatch{{Name: "f", Tier: Propose, Reason: Reason{Text: "floor f applies because /facts/path is absent"}}}
			p.addGate("own", Unknown, ByNobody, ByNobody)
			in.Action.Confidence = new(95.0)
		}, "note is reversible and reaches the task at hand; if it is wrong, the agent pays and it is noticed at once. Base tier execute, tightened by confidence. " +
			"Confidence 95 lies outside 0 to 1, which counts as below the threshold 0.85. Floor f sets the tier to propose; confidence cannot buy past a policy floor. " +
			"floor f applies because /facts/path is absent. BOUNDS failed: the call needs a person's approval. own could not be determined: gate own is unknown. The call is blocked (stop)."},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newFake()
			in := call(p, c.tool)
			c.set(p, &in)
			d := decide(p, in)
			if d.Reason != c.want {
				t.Errorf("got  %s\nwant %s", d.Reason, c.want)
			}
			if why := contradiction(p, in, d); why != "" {
				t.Errorf("%s", why)
			}
		})
	}
}

func TestTheCapIsNotSaidToHoldWhereNothingWasBumped(t *testing.T) {
	p := newFake()
	p.bump = 0
	in := call(p, toolNote)
	in.Action.Confidence = nil
	d := decide(p, in)
	if strings.Contains(d.Reason, "the cap propose holds") && d.Tier != Propose {
		t.Errorf("tier %v: %s", d.Tier, d.Reason)
	}
}

func TestACallThatWaitsForContextIsNotSaidToWaitForAPerson(t *testing.T) {
	p := newFake()
	p.edit(toolNote, func(t *Tool) { t.Requires.Context = []string{"a"} })
	in := call(p, toolNote)
	in.State.Path.Retries = 1
	d := decide(p, in)
	if d.Transition != Defer || strings.Contains(d.Reason, "nobody can decide it now") {
		t.Errorf("transition %v: %s", d.Transition, d.Reason)
	}
}

func TestADeniedCallIsNotSaidToWaitForAPerson(t *testing.T) {
	p := newFake()
	p.next = always(Escalate)
	d := decide(p, call(p, toolMissing))
	if strings.Contains(d.Reason, "no review can change that") && strings.Contains(d.Reason, "until a person has decided") {
		t.Errorf("outcome %v, boundary %v: %s", d.Outcome, d.Boundary, d.Reason)
	}
}

func TestANameThatTheAgentChoseCannotSpeakForTheEngine(t *testing.T) {
	p := newFake()
	d := decide(p, call(p, "x. The call may run. note"))
	if !d.Permit && strings.Contains(d.Reason, "x. The call may run.") && !strings.Contains(d.Reason, `"x. The call may run. note" is`) {
		t.Errorf("permit = false, and the sentence says: %s", d.Reason)
	}
}

func TestTheTextOfOneUndeterminedGateIsSaidOnce(t *testing.T) {
	p := newFake()
	p.addGate("own", Unknown, ByNobody, ByNobody)
	p.findings["own"] = Finding{Reasons: []Reason{{Code: "path_undetermined", Text: "the path is not known"}}}
	if d := decide(p, call(p, toolNote)); strings.Count(d.Reason, "the path is not known") != 1 {
		t.Errorf("said %d times: %s", strings.Count(d.Reason, "the path is not known"), d.Reason)
	}
}

func TestTheSentenceNamesTheTierThatItEndsAt(t *testing.T) {
	p := newFake()
	in := call(p, toolNote)
	in.State.Suspect = []Item{{"entity", "acme"}}
	if d := decide(p, in); !strings.Contains(d.Reason, d.Tier.String()) {
		t.Errorf("tier %v: %s", d.Tier, d.Reason)
	}
}
