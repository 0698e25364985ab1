package action

import (
	"maps"
	"slices"
	"strconv"

	"github.com/conjunct-project/conjunct/engine"
	"github.com/go-json-experiment/json/jsontext"
)

// The names of all fields there are. A name outside these lists is an error.
var (
	actionFields  = []string{"trace_id", "call_id", "agent", "tool", "arguments", "confidence", "critic", "context", "origins", "plan"}
	required      = []string{"trace_id", "call_id", "tool", "arguments"}
	agentFields   = []string{"id", "component"}
	criticFields  = []string{"score", "component"}
	contextFields = []string{"target_entity", "source_record", "retrieved_context"}
	planFields    = []string{"steps"}
	stepFields    = []string{"id", "tool", "arguments", "precondition", "postcondition", "assertion", "forward_effects", "rollback_effects"}
)

// fieldNames has one string for each name, so that not every action allocates
// them again.
var fieldNames = func() map[string]string {
	names := make(map[string]string)
	for _, list := range [][]string{actionFields, agentFields, criticFields, contextFields, planFields, stepFields} {
		for _, name := range list {
			names[name] = name
		}
	}
	return names
}()

// Decode reads one action. The error is an [*Error], and then the action is the
// zero value, which names no tool and hashes to nothing.
//
// A critic or a plan without content counts as none: Critic is nil where neither
// score nor component is given, Plan is nil where there are no steps. Document
// shows what was written.
func Decode(doc []byte) (engine.Action, error) {
	value, canonical, err := Parse(doc)
	if err != nil {
		return engine.Action{}, err
	}
	r := reader{doc: doc}
	a := r.action(value)
	if r.err != nil {
		return engine.Action{}, r.err
	}
	a.Canonical = canonical
	a.InputHash = Hash(canonical)
	a.CallHash = Hash(callBytes(&a, len(canonical)))
	a.Likeness, a.Holds = likeness(&a, len(canonical)), held(&a)
	return a, nil
}

func (r *reader) action(v any) (a engine.Action) {
	m := r.object(nil, v, actionFields)
	if r.err != nil {
		return a
	}
	for _, name := range required {
		r.require(nil, m, name)
	}
	a.TraceID = r.id(nil, m, "trace_id", false)
	a.CallID = r.id(nil, m, "call_id", false)
	a.Tool = r.id(nil, m, "tool", false)
	a.Arguments = r.free(nil, m, "arguments")
	a.Confidence = r.number(nil, m, "confidence")
	if v, ok := r.member(m, "agent"); ok {
		a.Agent = r.agent(&place{name: "agent"}, v)
	}
	if v, ok := r.member(m, "critic"); ok {
		a.Critic = r.critic(&place{name: "critic"}, v)
	}
	if v, ok := r.member(m, "context"); ok {
		a.Context = r.context(&place{name: "context"}, v)
	}
	if v, ok := r.member(m, "origins"); ok {
		a.Origins = r.origins(&place{name: "origins"}, v)
	}
	if v, ok := r.member(m, "plan"); ok {
		a.Plan = r.plan(&place{name: "plan"}, v)
	}
	delete(m, "confidence") // policies do not see it; it has been hashed
	a.Document = m
	return a
}

func (r *reader) agent(at *place, v any) engine.Agent {
	m := r.object(at, v, agentFields)
	return engine.Agent{ID: r.id(at, m, "id", true), Component: r.id(at, m, "component", true)}
}

func (r *reader) critic(at *place, v any) *engine.Critic {
	m := r.object(at, v, criticFields)
	c := engine.Critic{Score: r.number(at, m, "score"), Component: r.id(at, m, "component", true)}
	if c.Score == nil && c.Component == "" {
		return nil
	}
	return &c
}

func (r *reader) context(at *place, v any) engine.Context {
	m := r.object(at, v, contextFields)
	return engine.Context{
		TargetEntity:     r.text(at, m, "target_entity"),
		SourceRecord:     r.text(at, m, "source_record"),
		RetrievedContext: r.texts(at, m, "retrieved_context"),
	}
}

func (r *reader) origins(at *place, v any) map[string]string {
	m := r.object(at, v, nil)
	if len(m) == 0 {
		return nil
	}
	origins := make(map[string]string, len(m))
	valid := true
	for pointer, v := range m {
		origin, isText := v.(string)
		valid = valid && isText && jsontext.Pointer(pointer).IsValid()
		origins[pointer] = origin
	}
	if !valid {
		r.failOrigins(at, m)
	}
	return origins
}

// failOrigins reports the first of the bad origins in the order of their
// pointers: maps have none.
func (r *reader) failOrigins(at *place, m map[string]any) {
	for _, pointer := range slices.Sorted(maps.Keys(m)) {
		if !jsontext.Pointer(pointer).IsValid() {
			r.failKey(at, pointer, "key "+quote(pointer)+" is not a JSON pointer", `write it as in RFC 6901, for instance "/account"`)
		}
		r.text(at, m, pointer)
	}
}

func (r *reader) plan(at *place, v any) *engine.Plan {
	m := r.object(at, v, planFields)
	steps := r.array(at, m, "steps")
	if len(steps) == 0 {
		return nil
	}
	plan := &engine.Plan{Steps: make([]engine.PlanStep, len(steps))}
	list := &place{up: at, name: "steps"}
	for i, v := range steps {
		plan.Steps[i] = r.step(&place{up: list, name: strconv.Itoa(i)}, v)
	}
	return plan
}

// step reads a step of the plan. Its tool may be absent (a step that only
// asserts calls nothing), but where it is given it is a name.
func (r *reader) step(at *place, v any) engine.PlanStep {
	m := r.object(at, v, stepFields)
	return engine.PlanStep{
		ID:              r.id(at, m, "id", true),
		Tool:            r.id(at, m, "tool", false),
		Arguments:       r.free(at, m, "arguments"),
		Precondition:    r.text(at, m, "precondition"),
		Postcondition:   r.text(at, m, "postcondition"),
		Assertion:       r.text(at, m, "assertion"),
		ForwardEffects:  r.count(at, m, "forward_effects"),
		RollbackEffects: r.count(at, m, "rollback_effects"),
	}
}
