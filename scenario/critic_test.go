package scenario

import (
	"slices"
	"testing"

	"github.com/conjunct-project/conjunct/bundle"
)

// shredder is the default bundle with a tool under a critic.
func shredder(t testing.TB) *bundle.Bundle {
	t.Helper()
	return loadFiles(t, "default", func(f bundle.Files) {
		f.Content["conjunct/registry/data.yaml"] = []byte(`tools:
  shred: {reversibility: irreversible, blast_radius: task, absorbed_by: agent, detection_latency: immediate, forward_effects: 1, rollback_effects: 1,
    arguments: {file: {type: string, required: true}}}
  read: {reversibility: reversible, blast_radius: task, absorbed_by: agent, detection_latency: immediate, effect: read, arguments: {file: {type: string}}}
`)
		f.Content["conjunct/contract/data.yaml"] = append(f.Content["conjunct/contract/data.yaml"],
			[]byte("\ncritic: {tools: [shred]}\nplan: {shred: single}\nevidence: {simulation: {sources: [lab]}}\n")...)
	})
}

const shred = `name: n
action: {trace_id: t, call_id: c, agent: {id: a, component: planner@1}, tool: shred, arguments: {file: old}, confidence: 0.96, critic: {score: 0.9, component: judge@1}}
`

func TestScenariosOfAToolUnderACritic(t *testing.T) {
	p := shredder(t)
	for name, text := range map[string]string{
		"what is new fires":              "expect: {outcome: review, cause: STRUCTURE, gates: {STRUCTURE: fail, CRITIC: not_applicable}, reasons: [entity_novel, critic_no_weight]}\n",
		"what was approved does not":     "state: {approved_entities: [old]}\nexpect: {gates: {STRUCTURE: pass, CRITIC: pass, BOUNDS: fail}}\n",
		"a simulation of the call":       "state: {evidence: {simulation: {status: pass, source: lab, by: lab, call: true}}}\nexpect: {gates: {STRUCTURE: pass, CRITIC: pass}, reasons: [simulation_passed]}\n",
		"a simulation of something else": "state: {evidence: {simulation: {status: pass, source: lab, by: lab, call: false}}}\nexpect: {gates: {STRUCTURE: fail}, reasons: [simulation_unpinned]}\n",
		"a simulation by the critic":     "state: {evidence: {simulation: {status: pass, source: lab, by: judge, call: true}}}\nexpect: {gates: {STRUCTURE: fail}, reasons: [simulation_self_attested]}\n",
	} {
		if r := parseOne(t, p, shred+text).Run(t.Context(), p); len(r.Differences) > 0 {
			t.Errorf("%s: %+v\n%s", name, r.Differences, r.Decision.Reason)
		}
	}
	for name, c := range map[string]struct{ text, want string }{
		"entities that are none":        {shred + "state: {approved_entities: [true]}\nexpect: {outcome: allow}\n", "3:29 data_type"},
		"entities as text":              {shred + "state: {approved_entities: old}\nexpect: {outcome: allow}\n", "3:28 data_type"},
		"entities of a tool under none": {"name: n\naction: {trace_id: t, call_id: c, tool: read, arguments: {}}\nstate: {approved_entities: [old]}\nexpect: {outcome: allow}\n", "3:28 scenario_entities"},
		"a call that is neither":        {shred + "state: {evidence: {simulation: {status: pass, call: c}}}\nexpect: {outcome: allow}\n", "3:53 data_type"},
		"a key misspelt":                {shred + "state: {approved_entitys: [old]}\nexpect: {outcome: allow}\n", "3:9 data_unknown_key"},
	} {
		_, problems := Parse("s.yaml", []byte(c.text), p)
		if got := places(problems); !slices.Equal(got, []string{c.want}) {
			t.Errorf("%s: problems at %q, want %s", name, got, c.want)
		}
	}
}
