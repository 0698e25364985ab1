package noise

import (
	"fmt"
	"math"

	"github.com/conjunct-project/conjunct/bench/table"
)

// Tables are the outcomes of each scenario, and what the tuned score and the
// conjunctions come to at equal load.
func (r Result) Tables() []table.Table {
	var out []table.Table
	equal := table.Table{Title: "Harmful releases at equal load: tuned score minus conjunction, percentage points",
		Head: []string{"scenario", "conjunction", "difference", "better"}}
	for _, s := range r.Scenarios {
		out = append(out, s.table(r.Config))
		for _, m := range s.Matches {
			equal.Rows = append(equal.Rows, []string{s.Scenario.Name, m.Conjunction, m.Difference.String(), m.Winner})
		}
	}
	equal.Notes = []string{"The score is tuned on one half of the proposals, threshold included, and measured on the other. An interval that holds zero names neither."}
	return append(out, equal)
}

func (s ScenarioResult) table(c Config) table.Table {
	t := table.Table{Title: s.Scenario.Name + ": " + s.Scenario.Says,
		Head: []string{"rule", "harmful released %", "harmless refused %", "requests %", "completed %", "deferred %", "delay min"}}
	for _, row := range s.Rows {
		o := row.Outcome
		t.Rows = append(t.Rows, []string{row.Rule, o.HarmfulReleases.String(), o.FalseRefusals.String(), o.Requests.String(),
			o.Completed.String(), o.Deferred.String(), o.Delay.String()})
	}
	q := s.Scenario.Reviewers
	t.Notes = []string{fmt.Sprintf("Constructed: seed %d, %d replications of %d proposals, ± 95 %%; %.0f %% harmful; a detector errs on %.0f %% of harmless and misses %.0f %% of harmful proposals;",
		c.Seed, c.Replications, c.Proposals, 100*s.Scenario.Harmful, 100*s.Scenario.FalsePositive, 100*s.Scenario.FalseNegative),
		fmt.Sprintf("%.0f proposals an hour, %d reviewing, %.0f minutes each, room for %d, %.0f minutes of patience; reviewers approve %.0f %% of harmful and reject %.0f %% of harmless ones.",
			q.PerHour, q.Servers, q.Minutes, q.Room, q.Patience, 100*q.Misses, 100*q.Spurious)}
	return t
}

// Records is every rule in every scenario in one table.
func (r Result) Records() table.Table {
	t := table.Table{Head: []string{"scenario", "rule", "harmful_released", "harmful_released_half", "harmless_refused", "harmless_refused_half", "requests", "requests_half",
		"completed", "completed_half", "deferred", "deferred_half", "delay_minutes", "delay_minutes_half"}}
	for _, s := range r.Scenarios {
		for _, row := range s.Rows {
			o, cells := row.Outcome, []string{s.Scenario.Name, row.Rule}
			for _, f := range []Figure{o.HarmfulReleases, o.FalseRefusals, o.Requests, o.Completed, o.Deferred, o.Delay} {
				cells = append(cells, fmt.Sprintf("%.4f", f.Mean), fmt.Sprintf("%.4f", f.Half))
			}
			t.Rows = append(t.Rows, cells)
		}
	}
	return t
}

// Holds reports whether every interval is a number and every comparison was
// made: the study asserts no winner.
func (r Result) Holds() bool {
	for _, s := range r.Scenarios {
		for _, m := range s.Matches {
			if math.IsNaN(m.Difference.Mean) || math.IsNaN(m.Difference.Half) {
				return false
			}
		}
	}
	return len(r.Scenarios) > 0
}
