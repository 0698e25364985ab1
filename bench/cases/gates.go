package cases

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/conjunct-project/conjunct/datafile"
)

// celGate is a gate as the bundle's CEL file holds it.
type celGate struct {
	Name       string `json:"name"`
	Match      *match `json:"match,omitempty"`
	Expression string `json:"expression"`
	Message    string `json:"message,omitempty"`
	Reason     string `json:"reason,omitempty"`
	CostLimit  uint64 `json:"cost_limit,omitempty"`
	OnFail     string `json:"on_fail,omitempty"`
	OnUnknown  string `json:"on_unknown,omitempty"`
}

type match struct {
	Tools []string `json:"tools"`
}

// limits adds, for each limited argument, that it is known, and that it is
// positive and fits what is left. Without it the cost is unknown, and a person is
// asked.
func (s *setup) limits(raw json.RawMessage) error {
	var limits map[string]json.RawMessage
	if err := json.Unmarshal(raw, &limits); err != nil {
		return err
	}
	s.scope["limits"] = limits
	s.history.numeric = map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		if !plainName.MatchString(name) {
			return &unsupported{fmt.Sprintf("a limit on %q, which CEL cannot name", name)}
		}
		s.history.numeric[name] = true
		if _, given := s.settings["spent"]; !given {
			s.settings["spent"] = json.RawMessage("0")
		}
		s.gates = append(s.gates,
			celGate{Name: "known-" + dashed(name), Expression: fmt.Sprintf("has(args.%s)", name), Message: "the amount is not given", OnFail: "review", OnUnknown: "review"},
			celGate{Name: "limit-" + dashed(name), Expression: fmt.Sprintf(fits, name),
				Message: "the amount does not fit what is left", OnFail: "block"})
	}
	return nil
}

// fits holds an amount to what is left. Each condition has to be known before the
// next counts: of an && CEL takes the side that is false, whatever the other side
// could not tell. The comparisons with zero keep text from being read as a number.
const fits = "!has(args.%[1]s) ? true : (args.%[1]s > 0 ? (state.settings.spent >= 0 ? (scope.limits.%[1]s >= 0 ? " +
	"double(state.settings.spent) + double(args.%[1]s) <= double(scope.limits.%[1]s) : false) : false) : false)"

var plainName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

func dashed(name string) string { return strings.ReplaceAll(name, "_", "-") }

// listGates adds a gate for each list over an argument's values. A value is on a
// list when it equals an entry, or lies below one as a path does.
func (s *setup) listGates(arguments map[string]json.RawMessage) error {
	values := map[string]json.RawMessage{}
	for _, name := range slices.Sorted(maps.Keys(s.lists)) {
		list := s.lists[name]
		if _, given := arguments[name]; !given {
			return &unsupported{fmt.Sprintf("a list over %q, which the call does not have", name)}
		}
		if !plainName.MatchString(name) {
			return &unsupported{fmt.Sprintf("a list over %q, which CEL cannot name", name)}
		}
		values[name] = list.values
		on := fmt.Sprintf("scope.values.%[1]s.exists(v, args.%[1]s == v)", name)
		if jsonType(arguments[name]) == "string" {
			on = fmt.Sprintf("scope.values.%[1]s.exists(v, args.%[1]s == v || args.%[1]s.startsWith(v + '/'))", name)
		}
		g := celGate{Name: "allowed-" + dashed(name), Expression: on, Message: "the value is not on the list", OnFail: "block"}
		if !list.allow {
			g.Name, g.Expression, g.Message = "denied-"+dashed(name), "!("+on+")", "the value is on the deny list"
		}
		s.gates = append(s.gates, g)
	}
	if len(values) > 0 {
		s.scope["values"] = values
	}
	return nil
}

// rule turns one declared comparison into a gate. A rule that denies is a gate
// that passes when its comparison is known not to hold.
func (s *setup) rule(raw json.RawMessage) error {
	var r struct {
		Effect string          `json:"effect"`
		Field  string          `json:"field"`
		Op     string          `json:"op"`
		Value  json.RawMessage `json:"value"`
	}
	if err := strictly(raw, &r); err != nil {
		return &unsupported{"rule: " + err.Error()}
	}
	op, known := map[string]string{"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "lte": "<=", "gt": ">", "ge": ">=", "gte": ">=", "in": "in"}[r.Op]
	if !known || r.Effect != "deny" && r.Effect != "allow" {
		return &unsupported{fmt.Sprintf("a rule with effect %q and op %q", r.Effect, r.Op)}
	}
	for _, part := range strings.Split(r.Field, ".") {
		if !plainName.MatchString(part) {
			return &unsupported{fmt.Sprintf("a rule on %q, which CEL cannot name", r.Field)}
		}
	}
	field := "args." + strings.TrimPrefix(r.Field, "arguments.")
	holds := fmt.Sprintf("%s %s %s", field, op, r.Value)
	if r.Effect == "deny" {
		holds = "!(" + holds + ")"
	}
	s.gates = append(s.gates, celGate{Name: "rule", Expression: holds, Message: "the rule denies the call", OnFail: "block"})
	s.history.reads = append(s.history.reads, strings.Split(strings.TrimPrefix(r.Field, "arguments."), ".")[0])
	return nil
}

// cel is an expression over the request, as a gate over the action.
func (s *setup) cel(expression string) {
	names := requested.FindAllStringSubmatch(expression, -1)
	for _, m := range names {
		s.history.reads = append(s.history.reads, m[1])
	}
	s.gates = append(s.gates, celGate{Name: "expression", Expression: requested.ReplaceAllString(expression, "args.$1"), Message: "the expression is false", OnFail: "block"})
}

// requested is an argument as expressions over a request name it.
var requested = regexp.MustCompile(`\b(?:request|input)\.arguments\.([A-Za-z_][A-Za-z0-9_]*)`)

// parameters are what a constraint was given. A constraint without any has
// nothing that a value could be held against.
func (s *setup) parameters(raw json.RawMessage) error {
	var given map[string]json.RawMessage
	if err := json.Unmarshal(raw, &given); err != nil {
		return err
	}
	if len(given) > 0 {
		for name, list := range given {
			s.lists[singular(strings.TrimPrefix(name, "allowed_"))] = listed{true, list}
		}
		return nil
	}
	s.scope["parameters"] = map[string]any{}
	s.gates = append(s.gates, celGate{Name: "parameters", Expression: "scope.parameters.allowed.exists(v, v == action.tool)", Message: "the parameters do not allow the call"})
	return nil
}

// policy reads the case's own policy text as strictly as any bundle data.
func (s *setup) policy(text string) {
	n, problems := datafile.Read("policy.yaml", []byte(text))
	if len(problems) > 0 {
		s.refused = fmt.Errorf("%s", problems[0])
		return
	}
	for _, k := range n.Keys {
		value, err := json.Marshal(n.Fields[k].Any())
		if err != nil {
			s.refused = err
			return
		}
		for prefix, allow := range map[string]bool{"allow_": true, "deny_": false} {
			if noun, ok := strings.CutPrefix(k, prefix); ok {
				s.lists[singular(noun)] = listed{allow, value}
			}
		}
	}
}

// freeze is a recurring window of local time in which nothing may be done.
func (s *setup) freeze(raw json.RawMessage) error {
	var w struct{ TZ, From, To string }
	if err := strictly(raw, &w); err != nil {
		return &unsupported{"freeze: " + err.Error()}
	}
	s.scope["windows"] = map[string]any{"freeze": map[string]any{"zone": w.TZ, "from": w.From, "to": w.To}}
	s.gates = append(s.gates, celGate{Name: "freeze", Expression: "facts.time.windows.freeze == false", Message: "the freeze is on", OnFail: "block"})
	return nil
}
