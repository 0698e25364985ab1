package cases

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// operators are the comparisons of rules as CEL, over a field and a value.
var operators = map[string]string{
	"eq": "%[1]s == %[2]s", "ne": "%[1]s != %[2]s", "lt": "%[1]s < %[2]s", "le": "%[1]s <= %[2]s",
	"gt": "%[1]s > %[2]s", "ge": "%[1]s >= %[2]s", "in": "%[1]s in %[2]s", "not_in": "!(%[1]s in %[2]s)",
	"contains": "(type(%[1]s) == string ? %[1]s.contains(%[2]s) : %[2]s in %[1]s)", "not_contains": "!(type(%[1]s) == string ? %[1]s.contains(%[2]s) : %[2]s in %[1]s)",
	"starts_with": "%[1]s.startsWith(%[2]s)", "ends_with": "%[1]s.endsWith(%[2]s)", "matches": "%[1]s.matches(%[2]s)", "exists": "has(%[1]s) == %[2]s",
}

// operatorNames are further names for the comparisons.
var operatorNames = map[string]string{"==": "eq", "=": "eq", "equals": "eq", "equal": "eq", "is": "eq", "!=": "ne", "neq": "ne", "not_equals": "ne", "not_equal": "ne", "not_eq": "ne",
	"<": "lt", "<=": "le", "lte": "le", ">": "gt", ">=": "ge", "gte": "ge", "one_of": "in", "nin": "not_in", "notin": "not_in", "not in": "not_in", "none_of": "not_in",
	"startswith": "starts_with", "prefix": "starts_with", "endswith": "ends_with", "suffix": "ends_with", "regex": "matches", "match": "matches"}

// comparison is a declared rule: what follows when a field compares to a value.
type comparison struct {
	Effect string          `json:"effect"`
	Field  string          `json:"field"`
	Op     string          `json:"op"`
	Value  json.RawMessage `json:"value"`
}

// rule turns declared comparisons, one or a list, into gates. A rule that denies or
// asks is a gate that passes when its comparison is known not to hold; of those that
// allow, one has to hold.
func (s *setup) rule(raw json.RawMessage) error {
	all := []json.RawMessage{raw}
	if jsonType(raw) == "array" {
		if err := json.Unmarshal(raw, &all); err != nil {
			return err
		}
	}
	var allows []string
	for i, one := range all {
		var r comparison
		if err := strictly(one, &r); err != nil {
			return &unsupported{"rule: " + err.Error()}
		}
		holds, err := s.holds(r)
		if err != nil {
			return err
		}
		g := celGate{Name: fmt.Sprintf("rule-%d", i+1), Expression: "!(" + holds + ")", Message: "the rule denies the call", OnFail: "block"}
		switch r.Effect {
		case "allow":
			allows = append(allows, "("+holds+")")
			continue
		case "review", "ask":
			g.Message, g.OnFail, g.OnUnknown = "the rule asks for a person", "review", "review"
		}
		s.gates = append(s.gates, g)
	}
	if len(allows) > 0 {
		s.grants = true
		s.gates = append(s.gates, celGate{Name: "rule", Expression: strings.Join(allows, " || "), Message: "no rule allows the call", OnFail: "block"})
	}
	return nil
}

// holds is a comparison as CEL.
func (s *setup) holds(r comparison) (string, error) {
	name := strings.ToLower(r.Op)
	if other, ok := operatorNames[name]; ok {
		name = other
	}
	op, known := operators[name]
	if !known || !slices.Contains([]string{"deny", "allow", "review", "ask"}, r.Effect) {
		return "", &unsupported{fmt.Sprintf("a rule with effect %q and op %q", r.Effect, r.Op)}
	}
	if len(r.Value) == 0 {
		return "", &unsupported{"a rule that compares to nothing"}
	}
	if r.Field == "tool" {
		return fmt.Sprintf(op, "action.tool", r.Value), nil
	}
	field, read := fieldOf(r.Field)
	if field == "" || name == "exists" && strings.HasSuffix(field, "]") {
		return "", &unsupported{fmt.Sprintf("a rule on %q, which CEL cannot name", r.Field)}
	}
	s.history.reads = append(s.history.reads, read)
	return fmt.Sprintf(op, field, r.Value), nil
}

// fieldOf is a dotted path below the arguments as CEL names it, and the argument
// that it begins with.
func fieldOf(path string) (field, argument string) {
	field = "args"
	parts := strings.Split(strings.TrimPrefix(path, "arguments."), ".")
	for _, part := range parts {
		switch {
		case part == "":
			return "", ""
		case identifier.MatchString(part) && !slices.Contains([]string{"in", "true", "false", "null"}, part):
			field += "." + part
		default:
			field += "[" + strconv.Quote(part) + "]"
		}
	}
	return field, parts[0]
}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
