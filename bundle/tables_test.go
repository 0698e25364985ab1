package bundle

import (
	"slices"
	"strings"
	"testing"
)

// refusal is one mistake in one file and the places at which it must be told.
type refusal struct {
	name, text string
	want       []string // row:col code
	hint       string   // part of a problem's message or hint
}

func runRefusals(t *testing.T, file string, before string, cases []refusal) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := with(small(t), file, before+c.text)
			ps := problems(t, f)
			want := []string{}
			for _, w := range c.want {
				want = append(want, file+":"+w)
			}
			got := places(f, ps)
			slices.Sort(got)
			if slices.Sort(want); !slices.Equal(got, want) {
				t.Fatalf("%s: problems at %q, want %q\n%v", c.text, got, want, ps)
			}
			if !slices.ContainsFunc(ps, func(p Problem) bool { return strings.Contains(p.Message+" "+p.Hint, c.hint) }) {
				t.Errorf("%s: none of %v says %q", c.text, ps, c.hint)
			}
			for _, p := range ps {
				if p.Row > 0 && p.Line != strings.Split(before+c.text, "\n")[p.Row-1] {
					t.Errorf("%s: the line of %v is %q", c.text, p, p.Line)
				}
			}
		})
	}
}

// runReported are mistakes that load, or that are told elsewhere: reported.
func runReported(t *testing.T, file string, before string, cases []refusal) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := with(small(t), file, before+c.text)
			ps := problems(t, f)
			if len(ps) == 0 {
				fault(t, "%s loads", c.text)
			}
			if got := places(f, ps); len(got) == 0 || !strings.HasPrefix(got[0], file+":") {
				fault(t, "%s is told at %q", c.text, got)
			}
		})
	}
}

const contractHead = "roles: [reviewer]\n"

// TestContractKeys: every key of the contract, wrong type, out of range,
// unknown value, at its place.
func TestContractKeys(t *testing.T) {
	runRefusals(t, contractFile, contractHead, []refusal{
		{"an unknown key", "treshold: 1", []string{"2:1 data_unknown_key"}, `did you mean "threshold"?`},
		{"a key twice", "required: 1\nrequired: 2", []string{"3:1 data_duplicate_key"}, "remove the other"},
		{"roles are no list", "required: 1\npins: reviewer", []string{"3:7 data_type"}, "pins must be an object"},
		{"threshold is text", "threshold: high", []string{"2:12 data_type"}, "threshold must be a number"},
		{"threshold above 1", "threshold: 1.01", []string{"2:12 data_range"}, "between 0 and 1"},
		{"threshold below 0", "threshold: -0.01", []string{"2:12 data_range"}, "between 0 and 1"},
		{"retry budget of a fraction", "retry_budget: 1.5", []string{"2:15 data_type"}, "whole number"},
		{"retry budget below 0", "retry_budget: -1", []string{"2:15 data_range"}, ""},
		{"required of nobody", "required: 0", []string{"2:11 data_range"}, ""},
		{"signed reviews of a word", "signed_reviews: yes", []string{"2:17 data_type"}, "true or false"},
		{"start is a list", "start: [settings]", []string{"2:8 data_type"}, ""},
		{"an unknown key of start", "start: {setings: {}}", []string{"2:9 data_unknown_key"}, `did you mean "settings"?`},
		{"a setting is an object", "start: {settings: {capacity: {a: 1}}}", []string{"2:30 data_type"}, ""},
		{"a setting is a list", "start: {settings: {capacity: [4]}}", []string{"2:30 data_type"}, ""},
		{"capacity is text", "start: {settings: {capacity: '4'}}", []string{"2:30 data_type"}, "number or null"},
		{"queue is true", "start: {settings: {queue: true}}", []string{"2:27 data_type"}, "number or null"},
		{"deadline is a date", "start: {settings: {deadline: 2026-03-02}}", []string{"2:30 data_type"}, "number or null"},
		{"review_ttl is text", "start: {settings: {review_ttl: 1h}}", []string{"2:32 data_type"}, "number or null"},
		{"eligible is null", "start: {settings: {eligible: null}}", []string{"2:30 data_type"}, "true or false"},
		{"a setting that nothing reads", "start: {settings: {capacty: 4}}", []string{"2:20 data_unused_setting"}, `did you mean "capacity"?`},
		{"a pin that the contract has not", "start: {pins: {contxt: v1}}", []string{"2:24 data_unknown_pin"}, `did you mean "context"?`},
		{"a pin that is a number", "start: {pins: {context: 1}}", []string{"2:25 data_type"}, ""},
		{"evidence that the contract has not", "evidence: {scan: {}}\nstart: {evidence: {scn: pass}}", []string{"3:25 data_unknown_evidence"}, `did you mean "scan"?`},
		{"evidence of an unknown status", "evidence: {scan: {}}\nstart: {evidence: {scan: passed}}", []string{"3:26 data_unknown_value"}, `did you mean "pass"?`},
		{"an unknown kind of pins", "pins: {traces: [a]}", []string{"2:8 data_unknown_key"}, `did you mean "trace"?`},
		{"a pin twice", "pins: {trace: [a, a]}", []string{"2:19 data_duplicate_item"}, ""},
		{"evidence is a list", "evidence: [scan]", []string{"2:11 data_type"}, ""},
		{"evidence without a body", "evidence: {scan: }", []string{"2:18 data_type"}, ""},
		{"an unknown key of evidence", "evidence: {scan: {tll: 5}}", []string{"2:19 data_unknown_key"}, `did you mean "ttl"?`},
		{"a ttl below 0", "evidence: {scan: {ttl: -1}}", []string{"2:24 data_range"}, ""},
		{"a ttl of words", "evidence: {scan: {ttl: 1h}}", []string{"2:24 data_type"}, ""},
		{"a source twice", "evidence: {scan: {sources: [a, a]}}", []string{"2:32 data_duplicate_item"}, ""},
		{"a pin of evidence that the contract has not", "evidence: {scan: {pins: [inpt]}}", []string{"2:18 data_unknown_pin"}, `did you mean "input"?`},
		{"a field that events have not", "evidence: {scan: {fields: [sorce]}}", []string{"2:27 data_unknown_value"}, `did you mean "source"?`},
		{"the same for context", "context: {kb: {pins: [contxt]}}", []string{"2:15 data_unknown_pin"}, `did you mean "context"?`},
		{"components without tools", "components: {m@1: {}}", []string{"2:19 data_missing_key"}, `lacks "tools"`},
		{"an unknown key of a component", "components: {m@1: {tools: [pay], task: [x]}}", []string{"2:34 data_unknown_key"}, `did you mean "tasks"?`},
		{"until of a fraction", "components: {m@1: {tools: [pay], until: 1.5}}", []string{"2:41 data_type"}, ""},
		{"a component's tool that nobody declares", "components: {m@1: {tools: [pay, lok]}}", []string{"2:27 data_unknown_tool"}, `did you mean "look"?`},
		{"high consequence of no property", "high_consequence: {blast_radus: [external]}", []string{"2:20 data_unknown_key"}, `did you mean "blast_radius"?`},
		{"high consequence of no value", "high_consequence: {blast_radius: [externl]}", []string{"2:34 data_unknown_value"}, `did you mean "external"?`},
		{"high consequence of text", "high_consequence: {blast_radius: external}", []string{"2:34 data_type"}, ""},
		{"gates are a list", "gates: [BOUNDS]", []string{"2:8 data_type"}, ""},
		{"an unknown key of a gate", "gates: {CONTEXT: {scop: x}}", []string{"2:19 data_unknown_key"}, `did you mean "scope"?`},
		{"a scope for BOUNDS", "gates: {BOUNDS: {scope: x, rationale: y}}", []string{"2:17 data_gate"}, "no scope"},
		{"a scope for SUPERVISION", "gates: {SUPERVISION: {scope: x, rationale: y}}", []string{"2:22 data_gate"}, "no scope"},
		{"a scope for RESOLUTION", "gates: {RESOLUTION: {scope: x, rationale: y}}", []string{"2:21 data_gate"}, "no scope"},
		{"on_fail for a standard gate", "gates: {EVIDENCE: {on_fail: review}}", []string{"2:19 data_gate"}, "fixed"},
		{"tools for a standard gate", "gates: {CRITIC: {tools: [pay]}}", []string{"2:17 data_gate"}, "fixed"},
		{"a standard gate misspelt", "gates: {EVIDENC: {scope: x, rationale: y}}", []string{"2:9 rego_missing_gate"}, `did you mean "EVIDENCE"?`},
		{"a standard gate in lower case", "gates: {evidence: {scope: x, rationale: y}}", []string{"2:9 rego_missing_gate"}, `did you mean "EVIDENCE"?`},
		{"a gate that no rule defines", "gates: {deploy: {on_fail: review}}", []string{"2:9 rego_missing_gate"}, "deploy"},
		{"on_fail of no resolution", "gates: {CONTEXT: {scope: x, rationale: y}, deploy: {on_fail: defer}}", []string{"2:44 rego_missing_gate", "2:62 data_unknown_value"}, ""},
		{"a family that is none", "gates: {deploy: {family: EVIDENC}}", []string{"2:9 rego_missing_gate", "2:26 data_unknown_value"}, ""},
		{"priority is text", "priority: context", append([]string{"2:11 data_type"}, slices.Repeat([]string{"2:11 data_missing_key"}, 12)...), ""},
		{"priority lacks causes", "priority: [out_of_scope, ineligible, deadline_past, context, evidence, own_block, own_review, failure, rejected, structure]",
			[]string{"2:11 data_missing_key", "2:11 data_missing_key"}, "lacks the cause critic"},
		{"a cause twice", "priority: [out_of_scope, ineligible, deadline_past, context, evidence, own_block, own_review, failure, rejected, structure, critic, review_due, context]",
			[]string{"2:145 data_duplicate_item"}, "context twice"},
		{"a cause that is none", "priority: [none, out_of_scope, ineligible, deadline_past, context, evidence, own_block, own_review, failure, rejected, structure, critic, review_due]",
			[]string{"2:11 data_unknown_value"}, "none"},
		{"an author that is no pin", "author: contxt", []string{"2:9 data_unknown_pin"}, `did you mean "context"?`},
		{"an approval used twice", "approval: {uses: twice}", []string{"2:18 data_unknown_value"}, "once, many"},
		{"an approval voided by nothing known", "approval: {voided_by: [pin]}", []string{"2:24 data_unknown_value"}, `did you mean "pins"?`},
		{"an approval voided by text", "approval: {voided_by: none}", []string{"2:23 data_type"}, ""},
		{"an unknown key of approval", "approval: {use: once}", []string{"2:12 data_unknown_key"}, `did you mean "uses"?`},
		{"a rejection voided by text", "rejection: {voided_by: nne}", []string{"2:24 data_type"}, ""},
		{"a rejection voided by the bundle", "rejection: {voided_by: [bundle]}", []string{"2:24 data_unknown_value"}, "none or [pins]"},
		{"rejection is text", "rejection: none", []string{"2:12 data_type"}, ""},
		{"expiry in another case", "expiry: Final", []string{"2:9 data_unknown_value"}, `did you mean "final"?`},
		{"a queue that is none", "queue: settng", []string{"2:8 data_unknown_value"}, `did you mean "setting"?`},
		{"calls of no kind", "calls: twice", []string{"2:8 data_unknown_value"}, "once, decide_anew"},
		{"reexamination of no kind", "reexamination: of", []string{"2:16 data_unknown_value"}, `did you mean "off"?`},
		{"a window below 1", "reexamination: window\nwindow: 0", []string{"3:9 data_range"}, ""},
		{"counters are a list", "counters: [n]", []string{"2:11 data_type"}, ""},
		{"a counter without tools", "counters: {n: {sum: amount}}", []string{"2:15 data_missing_key"}, `lacks "tools"`},
		{"an unknown key of a counter", "counters: {n: {tools: [pay], sun: amount}}", []string{"2:30 data_unknown_key"}, `did you mean "sum"?`},
		{"a counter's tool that nobody declares", "counters: {n: {tools: [pya]}}", []string{"2:23 data_unknown_tool"}, `did you mean "pay"?`},
		{"a sum of an unknown argument", "counters: {n: {tools: [pay], sum: amunt}}", []string{"2:35 data_counter"}, `did you mean "amount"?`},
		{"a sum of text", "counters: {n: {tools: [pay], sum: to}}", []string{"2:35 data_counter"}, "as number"},
		{"a sum that one tool lacks", "counters: {n: {tools: [pay, look], sum: amount}}", []string{"2:41 data_counter"}, "tool look"},
		{"a counter by an argument that may be absent", "counters: {n: {tools: [pay], by: note}}", []string{"2:34 data_counter"}, "note"},
		{"a counter by a number", "counters: {n: {tools: [pay], by: amount}}", []string{"2:34 data_counter"}, "as string"},
		{"a counter by what is redacted", "redact: {pay: [to]}\ncounters: {n: {tools: [pay], by: to}}", []string{"3:34 data_counter"}, "do not redact it"},
		{"a sum of what is redacted", "redact: {pay: [amount]}\ncounters: {n: {tools: [pay], sum: amount}}", []string{"3:35 data_counter"}, "do not redact it"},
		{"a window below 0", "counters: {n: {tools: [pay], window: -1}}", []string{"2:38 data_range"}, ""},
		{"a default action without an id", "default_action: {trace_id: t, tool: pay, arguments: {}}", []string{"2:17 data_action"}, "call_id"},
		{"a default action that is text", "default_action: pay", []string{"2:17 data_action"}, ""},
		{"an unknown field of the default action", "default_action: {trace_id: t, call_id: c, tool: pay, arguments: {}, confidense: 1}", []string{"2:17 data_action"}, "confidense"},
	})
}

// TestContractAccepts: what a contract may say, and that nothing of it is told
// as a problem.
func TestContractAccepts(t *testing.T) {
	for _, text := range []string{
		"", "threshold: 0", "threshold: 1", "start: {settings: {capacity: null, deadline: null, review_ttl: null}}", "start: {settings: {eligible: false}}", "pins: {trace: [a], path: [b]}\nauthor: a",
		"evidence: {scan: {ttl: 0, sources: [ci], pins: [context, input], fields: [source, expires]}}\nstart: {evidence: {scan: pass}}", "context: {kb: {ttl: null}}",
		"components: {m@1: {tools: [pay, look], tasks: [t], until: 5}, m@2: {tools: [pay], until: null}}", "high_consequence: {blast_radius: [external, system], reversibility: [irreversible]}",
		"counters: {n: {tools: [pay], sum: amount, by: to, window: 0}, m: {tools: [pay, look]}}", "reexamination: window\nwindow: 60", "reexamination: off", "rejection: {voided_by: none}", "rejection: {voided_by: [pins]}",
		"approval: {uses: many, voided_by: [pins, bundle, facts, evidence, suspicion]}", "approval: {voided_by: []}", "expiry: derived\nqueue: setting\ncalls: decide_anew\nsigned_reviews: true\nrequired: 2\nretry_budget: 0",
		"default_action: {trace_id: t, call_id: c, tool: pay, arguments: {to: a, amount: 1}}",
	} {
		if ps := problems(t, with(small(t), contractFile, contractHead+text)); ps != nil {
			t.Errorf("%s: %v, want none", text, ps)
		}
	}
}

// TestContractHoles are reported: a contract that says something that does not
// count, or names what does not exist, and loads.
func TestContractHoles(t *testing.T) {
	runReported(t, contractFile, contractHead, []refusal{
		{name: "a scope without a rationale", text: "gates: {CONTEXT: {scope: x}}"},
		{name: "a rationale for BOUNDS", text: "gates: {BOUNDS: {rationale: x}}"},
		{name: "a pin of the trace and of the path", text: "pins: {trace: [a], path: [a]}"},
		{name: "a counter of no tool", text: "counters: {n: {tools: []}}"},
		{name: "a default action of a tool that nobody declares", text: "default_action: {trace_id: t, call_id: c, tool: pya, arguments: {}}"},
		{name: "a default action with an unknown argument", text: "default_action: {trace_id: t, call_id: c, tool: pay, arguments: {amunt: 1}}"},
		{name: "window without its seconds", text: "reexamination: window"},
		{name: "seconds of a window that is not used", text: "reexamination: trace\nwindow: 60"},
		{name: "one name for evidence and context", text: "evidence: {a: {}}\ncontext: {a: {ttl: 5}}"},
		{name: "evidence that starts as not applicable", text: "evidence: {a: {}}\nstart: {evidence: {a: not_applicable}}"},
		{name: "a binding twice", text: "approval: {voided_by: [pins, pins]}"},
		{name: "a capacity below zero", text: "start: {settings: {capacity: -1}}"},
		{name: "a high consequence of no value", text: "high_consequence: {blast_radius: []}"},
	})
}

// TestPathPinsKeepTheirDefault holds against a fault: a contract that names its trace
// pins loses the path pins input and output, so a moved input voids nothing.
func TestPathPinsKeepTheirDefault(t *testing.T) {
	b := load(t, with(small(t), contractFile, contractHead+"pins: {trace: [context, rule, component, extra]}"))
	if got, want := b.Contract().PathPins, []string{"input", "output"}; !slices.Equal(got, want) {
		fault(t, "path pins %q, want the default %q", got, want)
	}
}

// TestCounterHintNamesAnotherWord holds against a fault: an argument of the wrong type is
// no misspelling.
func TestCounterHintNamesAnotherWord(t *testing.T) {
	ps := problems(t, with(small(t), contractFile, contractHead+"counters: {n: {tools: [pay], sum: to}}"))
	if len(ps) == 1 && ps[0].Hint == `did you mean "to"?` {
		fault(t, "%v", ps[0])
	}
}

const toolHead = "tools:\n  look: {reversibility: reversible, blast_radius: task, absorbed_by: agent, detection_latency: immediate}\n  pay:\n    reversibility: costly\n    blast_radius: record\n    absorbed_by: operator\n"

// TestRegistryKeys: every key of the registry. Row 7 is the first of the case.
func TestRegistryKeys(t *testing.T) {
	const last = "    detection_latency: hours\n"
	runRefusals(t, registryFile, toolHead, []refusal{
		{"a property is missing", "    cost: 1", []string{"4:5 data_missing_key"}, `lacks "detection_latency"`},
		{"a property misspelt", "    detection_latancy: hours", []string{"4:5 data_missing_key", "7:5 data_unknown_key"}, ""},
		{"a property's value misspelt", "    detection_latency: hour", []string{"7:24 data_unknown_value"}, `did you mean "hours"?`},
		{"a property's value in another case", "    detection_latency: Hours", []string{"7:24 data_unknown_value"}, `did you mean "hours"?`},
		{"a property's value is a number", "    detection_latency: 5", []string{"7:24 data_type"}, ""},
		{"a tool without a body", last + "  other:", []string{"8:9 data_type"}, "must be an object"},
		{"a tool twice", last + "  look: {}", []string{"8:3 data_duplicate_key"}, ""},
		{"a source that is never written", last + "    source: policy", []string{"8:13 data_unknown_value"}, "declared or inferred"},
		{"a cost below 0", last + "    cost: -0.1", []string{"8:11 data_range"}, ""},
		{"a cost of words", last + "    cost: low", []string{"8:11 data_type"}, ""},
		{"a huge cost", last + "    cost: 1000000000000001", []string{"8:11 data_range"}, ""},
		{"an effect misspelt", last + "    effect: red", []string{"8:13 data_unknown_value"}, `did you mean "read"?`},
		{"idempotent is a word", last + "    idempotent: no", []string{"8:17 data_type"}, ""},
		{"arguments are a list", last + "    arguments: [to]", []string{"8:16 data_type"}, ""},
		{"required is text", last + "    arguments: {to: {type: string, required: \"true\"}}", []string{"8:46 data_type"}, ""},
		{"an unknown key of an argument", last + "    arguments: {to: {type: string, requird: true}}", []string{"8:36 data_unknown_key"}, `did you mean "required"?`},
		{"read_only of an unknown argument", last + "    arguments: {to: {type: string}}\n    read_only: [too]", []string{"9:16 data_unknown_value"}, `did you mean "to"?`},
		{"read_only twice", last + "    arguments: {to: {type: string}}\n    read_only: [to, to]", []string{"9:21 data_duplicate_item"}, ""},
		{"an unknown key of requires", last + "    requires: {evidense: [scan]}", []string{"8:16 data_unknown_key"}, `did you mean "evidence"?`},
		{"requires evidence that the contract has not", last + "    requires: {evidence: [scan]}", []string{"8:15 data_unknown_evidence"}, "scan"},
		{"requires context that the contract has not", last + "    requires: {context: [kb]}", []string{"8:15 data_unknown_context"}, "kb"},
		{"requires.component is text", last + "    requires: {component: m@1}", []string{"8:27 data_type"}, ""},
		{"undeclared tools allowed", last + "undeclared: execute", []string{"8:13 data_unknown_value"}, "refuse or propose"},
		{"undeclared tools under a tier that is none", last + "undeclared: allow", []string{"8:13 data_unknown_value"}, "refuse or propose"},
		{"undeclared tools under a misspelt tier", last + "undeclared: refused", []string{"8:13 data_unknown_value"}, "refuse"},
		{"undeclared tools under a number", last + "undeclared: 5", []string{"8:13 data_type"}, ""},
		{"undeclared tools told to somebody", last + "undeclared: execute_notify", []string{"8:13 data_unknown_value"}, "refuse or propose"},
		{"undeclared misspelt", last + "undeclared: refus", []string{"8:13 data_unknown_value"}, `did you mean "refuse"?`},
		{"inferred is text", last + "inferred: propose", []string{"8:11 data_type"}, ""},
		{"an unknown key of inferred", last + "inferred: {flor: propose}", []string{"8:12 data_unknown_key"}, `did you mean "floor"?`},
		{"an inferred floor that is none", last + "inferred: {floor: propos}", []string{"8:19 data_unknown_value"}, `did you mean "propose"?`},
		{"an unknown key of the registry", last + "tool: {}", []string{"8:1 data_unknown_key"}, `did you mean "tools"?`},
		{"a tool's name with a control character", last + "  \"a\\tb\": {reversibility: costly, blast_radius: record, absorbed_by: operator, detection_latency: hours}", []string{"8:3 data_name"}, ""},
		{"a tool's name of another script", last + "  größe: {reversibility: costly, blast_radius: record, absorbed_by: operator, detection_latency: hours}", []string{"8:3 data_name"}, ""},
		{"an empty tool's name", last + "  \"\": {reversibility: costly, blast_radius: record, absorbed_by: operator, detection_latency: hours}", []string{"8:3 data_name"}, ""},
		{"a tool's name of 257 characters", last + "  " + strings.Repeat("a", 257) + ": {reversibility: costly, blast_radius: record, absorbed_by: operator, detection_latency: hours}", []string{"8:3 data_name"}, ""},
	})
}

// TestOneMistakeIsOneProblem holds against a fault: a value that does not decode is told
// once more in words that lead away from it.
func TestOneMistakeIsOneProblem(t *testing.T) {
	const last = "    detection_latency: hours\n    arguments: "
	for _, c := range []struct{ name, file, text, want string }{
		{"an argument without a type", registryFile, toolHead + last + "{to: {required: true}}", "8:21 data_missing_key"},
		{"an argument that is text", registryFile, toolHead + last + "{to: string}", "8:21 data_type"},
		{"an argument type misspelt", registryFile, toolHead + last + "{to: {type: strng}}", "8:28 data_unknown_value"},
		{"an argument type that is none", registryFile, toolHead + last + "{to: {type: none}}", "8:28 data_unknown_value"},
		{"a cap misspelt", severityFile, severityHead + "  external: {reversible: propose, costly: propose, irreversible: propose}\ncap: propos", "6:6 data_unknown_value"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := with(small(t), c.file, c.text)
			got := places(f, problems(t, f))
			if !slices.Contains(got, c.file+":"+c.want) {
				t.Fatalf("%s: problems at %q, want one at %s", c.text, got, c.want)
			}
			if len(got) != 1 {
				fault(t, "%s: problems at %q, want only %s", c.text, got, c.want)
			}
		})
	}
}

func TestRegistryAccepts(t *testing.T) {
	const last = "    detection_latency: hours\n"
	for _, text := range []string{
		last, last + "    source: inferred", last + "    cost: 0", last + "    effect: read\n    idempotent: true", last + "undeclared: propose", last + "inferred: {floor: refuse}",
		last + "    arguments: {a: {type: string}, b: {type: number}, c: {type: integer}, d: {type: boolean}, e: {type: array}, f: {type: object, required: false}}\n    read_only: [a, b]",
		last + "  " + strings.Repeat("a", 256) + ": {reversibility: costly, blast_radius: record, absorbed_by: operator, detection_latency: hours}",
		last + "  \"a b\": {reversibility: costly, blast_radius: record, absorbed_by: operator, detection_latency: hours}",
	} {
		if ps := problems(t, with(small(t), registryFile, toolHead+text)); ps != nil {
			t.Errorf("%s: %v, want none", text, ps)
		}
	}
}

// TestRegistryHoles are reported.
func TestRegistryHoles(t *testing.T) {
	runReported(t, registryFile, toolHead+"    detection_latency: hours\n", []refusal{
		{name: "components to trust, which nothing reads", text: "inferred: {trust: [m@1]}"},
		{name: "an inferred floor that pins nothing", text: "inferred: {floor: execute}"},
	})
}

// TestEmptyRegistry: a bundle without tools is one that refuses every call.
func TestEmptyRegistry(t *testing.T) {
	for _, text := range []string{"# nothing\n", "tools: {}\n", "undeclared: refuse\n"} {
		b := load(t, with(small(t), registryFile, text))
		if got := b.Tools(); len(got) != 0 {
			t.Errorf("%q: tools %q", text, got)
		}
	}
	for _, text := range []string{"tools:\n", "tools: []\n", "- pay\n"} {
		if ps := problems(t, with(small(t), registryFile, text)); ps == nil {
			t.Errorf("%q loads", text)
		}
	}
}

const severityHead = "table:\n  task: {reversible: execute, costly: execute_notify, irreversible: propose}\n  record: {reversible: execute, costly: execute_notify, irreversible: propose}\n  system: {reversible: execute_notify, costly: propose, irreversible: propose}\n"

func TestSeverityKeys(t *testing.T) {
	const last = "  external: {reversible: propose, costly: propose, irreversible: propose}\n"
	runRefusals(t, severityFile, severityHead, []refusal{
		{"bump below 0", last + "bump: -1", []string{"6:7 data_range"}, ""},
		{"bump of a fraction", last + "bump: 0.5", []string{"6:7 data_type"}, ""},
		{"bump of words", last + "bump: one", []string{"6:7 data_type"}, ""},
		{"cap of refuse", last + "cap: refuse", []string{"6:6 data_range"}, "floor"},
		{"an unknown key", last + "bumb: 1", []string{"6:1 data_unknown_key"}, `did you mean "bump"?`},
	})
	for _, c := range []struct{ name, text, want string }{
		{"a row is missing", "bump: 1", "2:3 data_missing_key"},
		{"a row misspelt", "  externl: {reversible: propose, costly: propose, irreversible: propose}", "5:3 data_unknown_key"},
		{"a cell is missing", "  external: {reversible: propose, costly: propose}", "5:13 data_missing_key"},
		{"a cell misspelt", "  external: {reversible: propse, costly: propose, irreversible: propose}", "5:26 data_unknown_value"},
		{"a cell of refuse", "  external: {reversible: propose, costly: refuse, irreversible: propose}", "5:43 data_range"},
		{"a cell beyond the cap", "  external: {reversible: propose, costly: propose, irreversible: propose}\ncap: execute_notify", "2:69 data_range"},
		{"a row is a list", "  external: [propose]", "5:13 data_type"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := with(filesOf(t, "default"), severityFile, severityHead+c.text)
			got := places(f, problems(t, f))
			if !slices.Contains(got, severityFile+":"+c.want) {
				t.Errorf("%s: problems at %q, want one at %s", c.text, got, c.want)
			}
		})
	}
}

func TestManifest(t *testing.T) {
	const good = `{"revision": "r", "roots": ["conjunct"], "rego_version": 1}`
	if ps := problems(t, with(small(t), manifestFile, good)); ps != nil {
		t.Fatal(ps)
	}
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"missing", "", []string{".manifest:0:0 manifest_missing"}},
		{"empty", "# nothing", []string{".manifest:1:1 data_missing_key", ".manifest:1:1 data_missing_key", ".manifest:1:1 data_missing_key"}},
		{"a key of OPA's", `{"revision": "r", "roots": ["conjunct"], "rego_version": 1, "wasm": []}`, []string{".manifest:1:61 data_unknown_key"}},
		{"metadata", `{"revision": "r", "roots": ["conjunct"], "rego_version": 1, "metadata": {}}`, []string{".manifest:1:61 data_unknown_key"}},
		{"a key twice", `{"revision": "r", "revision": "s", "roots": ["conjunct"], "rego_version": 1}`, []string{".manifest:1:19 data_duplicate_key"}},
		{"no roots", `{"revision": "r", "rego_version": 1}`, []string{".manifest:1:1 data_missing_key"}},
		{"empty roots", `{"revision": "r", "roots": [], "rego_version": 1}`, []string{".manifest:1:28 manifest_roots"}},
		{"another root", `{"revision": "r", "roots": ["conjunkt"], "rego_version": 1}`, []string{".manifest:1:28 manifest_roots"}},
		{"the whole tree as root", `{"revision": "r", "roots": [""], "rego_version": 1}`, []string{".manifest:1:28 manifest_roots"}},
		{"two roots", `{"revision": "r", "roots": ["conjunct", "other"], "rego_version": 1}`, []string{".manifest:1:28 manifest_roots"}},
		{"roots as text", `{"revision": "r", "roots": "conjunct", "rego_version": 1}`, []string{".manifest:1:28 data_type", ".manifest:1:28 manifest_roots"}},
		{"Rego version 0", `{"revision": "r", "roots": ["conjunct"], "rego_version": 0}`, []string{".manifest:1:58 manifest_rego_version"}},
		{"Rego version 2", `{"revision": "r", "roots": ["conjunct"], "rego_version": 2}`, []string{".manifest:1:58 manifest_rego_version"}},
		{"Rego version 1.5", `{"revision": "r", "roots": ["conjunct"], "rego_version": 1.5}`, []string{".manifest:1:58 manifest_rego_version"}},
		{"Rego version as text", `{"revision": "r", "roots": ["conjunct"], "rego_version": "1"}`, []string{".manifest:1:58 data_type", ".manifest:1:58 manifest_rego_version"}},
		{"a revision that is a number", `{"revision": 1, "roots": ["conjunct"], "rego_version": 1}`, []string{".manifest:1:14 data_type"}},
		{"a second document", good + "\n---\n" + good, []string{".manifest:2:1 data_second_document"}},
		{"a list", "[1]", []string{".manifest:1:1 data_type"}},
		{"no UTF-8", "\xff", []string{".manifest:1:1 data_encoding"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := with(small(t), manifestFile, c.text)
			got := places(f, problems(t, f))
			slices.Sort(got)
			if slices.Sort(c.want); !slices.Equal(got, c.want) {
				t.Errorf("%s: problems at %q, want %q", c.text, got, c.want)
			}
		})
	}
}

// TestManifestIsJSON holds against a fault: OPA reads the manifest as JSON only.
func TestManifestIsJSON(t *testing.T) {
	if ps := problems(t, with(small(t), manifestFile, "revision: r\nroots: [conjunct]\nrego_version: 1\n")); ps == nil {
		t.Error("a manifest in YAML loads, and OPA refuses the same bundle")
	}
}
