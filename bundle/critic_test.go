package bundle

import (
	"slices"
	"strings"
	"testing"

	"github.com/conjunct-project/conjunct/engine"
)

// droppable is the small bundle with two tools that cannot be undone.
func droppable(t testing.TB) Files {
	t.Helper()
	return with(small(t), registryFile, smallRegistry+`  drop:
    {reversibility: irreversible, blast_radius: task, absorbed_by: agent, detection_latency: immediate, forward_effects: 1, rollback_effects: 1,
     precondition: saved, postcondition: dropped, arguments: {table: {type: string, required: true}, reason: {type: string}}, read_only: [reason]}
  wipe: {reversibility: irreversible, blast_radius: task, absorbed_by: agent, detection_latency: immediate}
`)
}

const criticGate = "gates: {CONTEXT: {scope: s, rationale: r}, EVIDENCE: {scope: s, rationale: r}, ELIGIBILITY: {scope: s, rationale: r}, CRITIC: {scope: s, rationale: r}}\n"

func TestCriticKeysOfTheContract(t *testing.T) {
	const drop = "critic: {tools: [drop]}\n"
	for _, c := range []refusal{
		{"a tool that nobody declares", "critic: {tools: [drp]}", []string{"3:17 data_unknown_tool"}, `did you mean "drop"?`},
		{"a tool that can be undone", "critic: {tools: [drop, pay]}", []string{"3:17 data_critic"}, "costly and not irreversible"},
		{"a tool twice", "critic: {tools: [drop, drop]}", []string{"3:24 data_duplicate_item"}, ""},
		{"no tools", "critic: {threshold: 0.9}", []string{"3:9 data_missing_key"}, `lacks "tools"`},
		{"an empty list", "critic: {tools: []}", []string{"3:17 data_range"}, "never apply"},
		{"tools as text", "critic: {tools: drop}", []string{"3:17 data_type"}, ""},
		{"a threshold above 1", "critic: {tools: [drop], threshold: 1.1}", []string{"3:36 data_range"}, "between 0 and 1"},
		{"a threshold below 0", "critic: {tools: [drop], threshold: -0.1}", []string{"3:36 data_range"}, ""},
		{"a threshold of words", "critic: {tools: [drop], threshold: high}", []string{"3:36 data_type"}, ""},
		{"a misspelt key", "critic: {tools: [drop], treshold: 0.9}", []string{"3:25 data_unknown_key"}, `did you mean "threshold"?`},
		{"critic as text", "critic: drop", []string{"3:9 data_type"}, ""},
		{"a plan of no kind", drop + "plan: {drop: singel}", []string{"4:14 data_unknown_value"}, `did you mean "single"?`},
		{"a plan of a tool under no critic", drop + "plan: {wipe: single}", []string{"4:8 data_critic"}, "no tool under a critic"},
		{"a plan of a tool that nobody declares", drop + "plan: {dorp: single}", []string{"4:8 data_critic"}, `did you mean "drop"?`},
		{"a plan without a critic", "plan: {drop: single}", []string{"3:8 data_critic"}, ""},
		{"a plan of a tool whose effects nobody knows", "critic: {tools: [wipe]}\nplan: {wipe: single}", []string{"4:8 data_critic"}, "never pass"},
		{"entities of a tool under no critic", drop + "approved_entities: {wipe: [a]}", []string{"4:21 data_critic"}, ""},
		{"entities that name nothing", drop + "approved_entities: {drop: [true, [a], {a: 1}, null]}", []string{"4:28 data_type", "4:34 data_type", "4:39 data_type", "4:47 data_type"}, "text or a number"},
		{"an entity twice", drop + "approved_entities: {drop: [a, 1, a, 1.0]}", []string{"4:34 data_duplicate_item", "4:37 data_duplicate_item"}, ""},
		{"entities as text", drop + "approved_entities: {drop: a}", []string{"4:27 data_type"}, ""},
		{"a redacted argument that names something", drop + "redact: {drop: [table]}", []string{"4:16 data_critic"}, "read_only"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := with(droppable(t), contractFile, contractHead+criticGate+c.text)
			ps := problems(t, f)
			var want []string
			for _, w := range c.want {
				want = append(want, contractFile+":"+w)
			}
			if got := places(f, ps); !slices.Equal(got, want) {
				t.Fatalf("%s: problems at %q, want %q\n%v", c.text, got, want, ps)
			}
			if !slices.ContainsFunc(ps, func(p Problem) bool { return strings.Contains(p.Message+" "+p.Hint, c.hint) }) {
				t.Errorf("%s: none of %v says %q", c.text, ps, c.hint)
			}
		})
	}
}

func TestACriticNeedsTheScopeOfWhatItLeavesOut(t *testing.T) {
	f := with(droppable(t), contractFile, contractHead+"critic: {tools: [drop]}\n")
	if got := places(f, problems(t, f)); !slices.Equal(got, []string{contractFile + ":2:9 data_gate"}) {
		t.Errorf("problems at %q, want the critic at 2:9", got)
	}
}

func TestEffectsAndConditionsOfATool(t *testing.T) {
	head := smallRegistry + "  x: {reversibility: costly, blast_radius: task, absorbed_by: agent, detection_latency: hours, "
	for _, c := range []struct{ text, code string }{
		{"forward_effects: -1", "data_range"}, {"rollback_effects: all", "data_type"}, {"forward_effects: 2000000000000000", "data_range"}, {"forward_effects: null", "data_type"},
		{"precondition: ''", "data_range"}, {"postcondition: ' '", "data_range"}, {"precondition: [a]", "data_type"}, {"precondition: 1", "data_type"},
		{"forward_effect: 1", "data_unknown_key"},
	} {
		f := with(small(t), registryFile, head+c.text+"}\n")
		ps := problems(t, f)
		if len(ps) != 1 || ps[0].Code != c.code || ps[0].Row != strings.Count(head, "\n")+1 || ps[0].Col == 0 {
			t.Errorf("%s: %v, want one %s in its row", c.text, ps, c.code)
		}
	}
}

func TestACriticAsTheContractSaysIt(t *testing.T) {
	b := load(t, with(droppable(t), contractFile, contractHead+criticGate+`start: {settings: {capacity: 4}}
critic: {tools: [drop, wipe]}
plan: {drop: single}
approved_entities: {drop: [orders, 7]}
evidence: {simulation: {sources: [staging]}}
redact: {drop: [reason]}
`))
	c := b.Contract()
	if c.Critic.Threshold != 0.85 || !slices.Equal(c.Critic.Tools, []string{"drop", "wipe"}) || !slices.Equal(c.SinglePlan, []string{"drop"}) ||
		!slices.Equal(c.ApprovedEntities["drop"], []engine.Entity{"text:orders", "number:7"}) {
		t.Errorf("contract %+v, %v, %v", c.Critic, c.SinglePlan, c.ApprovedEntities)
	}
	tool, _ := b.Tool("drop")
	if *tool.ForwardEffects != 1 || *tool.RollbackEffects != 1 || tool.Precondition != "saved" || tool.Postcondition != "dropped" {
		t.Errorf("tool %+v", tool)
	}
	for _, x := range []struct {
		arguments, critic string
		permit            bool
		cause             string
	}{
		{`{"table":"orders","reason":"x"}`, `{"score":0.85,"component":"judge@1"}`, true, ""},
		{`{"table":"orders"}`, `{"score":0.84,"component":"judge@1"}`, false, engine.CriticGate},
		{`{"table":"users"}`, `{"score":1,"component":"judge@1"}`, false, engine.Structure},
		{`{"table":"orders"}`, `{"score":1,"component":"m@2"}`, false, engine.CriticGate},
	} {
		a := decode(t, `{"trace_id":"t","call_id":"c","agent":{"id":"a","component":"m@1"},"tool":"drop","confidence":0.95,"arguments":`+x.arguments+`,"critic":`+x.critic+`}`)
		d := engine.Decide(t.Context(), b, inputOf(b, a))
		if d.Permit != x.permit || d.Cause != x.cause {
			t.Errorf("%s, %s: permit %v, cause %s: want %v, %s (%s)", x.arguments, x.critic, d.Permit, d.Cause, x.permit, x.cause, d.Reason)
		}
	}
}
