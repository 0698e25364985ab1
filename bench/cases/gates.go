package cases

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/conjunct-project/conjunct/action"
	"github.com/conjunct-project/conjunct/datafile"
	"github.com/conjunct-project/conjunct/engine"
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

// limits notes what may be spent of each limited argument.
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
	}
	return nil
}

// limitGates adds, for each limited argument, that it is known, and that it is
// positive and fits what is left. Without it the cost is unknown, and a person is
// asked.
func (s *setup) limitGates() {
	for _, name := range slices.Sorted(maps.Keys(s.history.numeric)) {
		if spent, known := s.spentOf(name); known {
			s.settings["spent_"+name] = spent
		}
		s.gates = append(s.gates,
			celGate{Name: "known-" + dashed(name), Expression: fmt.Sprintf("has(args.%s)", name), Message: "the amount is not given", OnFail: "review", OnUnknown: "review"},
			celGate{Name: "limit-" + dashed(name), Expression: fmt.Sprintf(fits, name),
				Message: "the amount does not fit what is left", OnFail: "block"})
	}
}

// spentOf is what was spent of a limited argument before: as the case says, of all
// of them or of each by its name, and nothing where it says nothing.
func (s *setup) spentOf(name string) (spent json.RawMessage, known bool) {
	if s.spent == nil {
		return json.RawMessage("0"), true
	}
	var each map[string]json.RawMessage
	if jsonType(s.spent) != "object" || json.Unmarshal(s.spent, &each) != nil {
		return s.spent, true
	}
	spent, known = each[name]
	return spent, known
}

// pay adds what an earlier call spent, and reports whether it spent anything. What
// the case says was spent has all of it.
func (s *setup) pay(c call) bool {
	arguments, err := c.arguments()
	if s.spent != nil || err != nil {
		return false
	}
	paid := false
	for name := range s.history.numeric {
		var before, more float64
		have, _ := s.settings["spent_"+name].(json.RawMessage)
		if json.Unmarshal(have, &before) != nil || json.Unmarshal(arguments[name], &more) != nil || more == 0 {
			continue
		}
		total, err := json.Marshal(before + more)
		if err != nil {
			continue
		}
		s.settings["spent_"+name], paid = json.RawMessage(total), true
	}
	return paid
}

// fits holds an amount to what is left. Each condition has to be known before the
// next counts: of an && CEL takes the side that is false, whatever the other side
// could not tell. Decimal amounts are doubles here and their sum may be off in its
// last bits, which is what the factor leaves room for. The comparisons with zero keep text from being read as a number.
const fits = "!has(args.%[1]s) ? true : (args.%[1]s > 0 ? (state.settings.spent_%[1]s >= 0 ? (scope.limits.%[1]s >= 0 ? " +
	"double(state.settings.spent_%[1]s) + double(args.%[1]s) <= double(scope.limits.%[1]s) * (1.0 + 1e-14) : false) : false) : false)"

var plainName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

func dashed(name string) string { return strings.ReplaceAll(name, "_", "-") }

// listGates adds a gate for each list over an argument's values. A value is on a
// list when it is as an entry says, or lies below one as a path does.
func (s *setup) listGates(arguments map[string]json.RawMessage) error {
	values := map[string]any{}
	for _, k := range slices.SortedFunc(maps.Keys(s.lists), listKey.compare) {
		name, given := about(k.noun, arguments)
		if !given {
			return &unsupported{fmt.Sprintf("a list over %q, which the call does not have", singular(k.noun))}
		}
		if !plainName.MatchString(name) {
			return &unsupported{fmt.Sprintf("a list over %q, which CEL cannot name", name)}
		}
		key := name + "_denied"
		g := celGate{Name: "denied-" + dashed(name), Message: "the value is on the deny list", OnFail: "block"}
		if k.allow {
			key = name
			g.Name, g.Message = "allowed-"+dashed(name), "the value is not on the list"
		}
		var on string
		values[key], on = entries(k, name, json.RawMessage(s.lists[k]), arguments[name])
		switch jsonType(arguments[name]) {
		case "array":
			each := strings.ReplaceAll(on, "args."+name, "e")
			on = map[bool]string{true: "size(args.%[1]s) > 0 && args.%[1]s.all(e, %[2]s)", false: "args.%[1]s.exists(e, %[2]s)"}[k.allow]
			on = fmt.Sprintf(on, name, each)
		}
		g.Expression = on
		switch {
		case k.allow:
		case sameName(json.RawMessage(s.lists[k]), arguments[name]):
			g.Expression = "false"
		default:
			g.Expression = "!(" + on + ")"
		}
		s.gates = append(s.gates, g)
	}
	if len(values) > 0 {
		s.scope["values"] = values
	}
	return nil
}

// sameName reports a value that is an entry of a list, as people write one name in
// several forms.
func sameName(list, value json.RawMessage) bool {
	var entries, values several
	if json.Unmarshal(list, &entries) != nil || json.Unmarshal(value, &values) != nil {
		return false
	}
	return slices.ContainsFunc(values, func(v string) bool {
		return slices.ContainsFunc(entries, func(e string) bool { return action.Normal(e) == action.Normal(v) })
	})
}

func (k listKey) compare(other listKey) int {
	switch {
	case k.noun != other.noun:
		return strings.Compare(k.noun, other.noun)
	case k.allow == other.allow:
		return 0
	case k.allow:
		return -1
	}
	return 1
}

// imageSources are what lists over the places that an image may come from are
// called.
var imageSources = []string{"registry", "repo", "repository", "image_registry", "image_repo"}

// about is the argument that a list is about: one of its name, for one value or for
// several. Where images may come from is about the image.
func about(noun string, arguments map[string]json.RawMessage) (string, bool) {
	one := singular(noun)
	names := []string{one, noun, one + "s"}
	if slices.Contains(imageSources, one) {
		names = append(names, "image", "images")
	}
	for _, name := range names {
		if _, given := arguments[name]; given {
			return name, true
		}
	}
	return one, false
}

// climbs is what climbs within a value, as CEL: it is not below what it begins with.
const climbs = `args.%s.matches('(^|[/\\\\]|%%2[fF])([.]|%%2[eE]){2}([/\\\\?#]|%%2[fF]|$)')`

// entries are the values of a list as gates read them, and when a value is on it.
// Of texts an entry is a pattern, of anything else the value.
func entries(k listKey, name string, raw, value json.RawMessage) (any, string) {
	var list several
	var texts []string
	isText := jsonType(value) == "string" || jsonType(value) == "array" && json.Unmarshal(value, &texts) == nil
	if !isText || json.Unmarshal(raw, &list) != nil {
		return raw, fmt.Sprintf(sameValue, name, map[bool]string{true: name, false: name + "_denied"}[k.allow])
	}
	patterns := make([]string, 0, len(list))
	for _, entry := range list {
		patterns = append(patterns, entryPattern(entry, name, k.allow))
	}
	up := fmt.Sprintf(climbs, name)
	if k.allow {
		return patterns, fmt.Sprintf("!%s && scope.values.%[2]s.exists(v, args.%[2]s.matches(v))", up, name)
	}
	return patterns, fmt.Sprintf("%s || scope.values.%[2]s_denied.exists(v, args.%[2]s.matches(v))", up, name)
}

// sameValue holds a value to the entries of a list. Of a text and something else
// nobody can tell whether the same is meant, and matching them has no value.
const sameValue = "scope.values.%[2]s.exists(v, (type(v) == string) == (type(args.%[1]s) == string) ? args.%[1]s == v : args.%[1]s.matches(v))"

// entryPattern is one entry as a regular expression: a star is any text within a
// part of a path, and at the end, alone in its part, all that is below. What is
// denied is denied in another case too.
func entryPattern(entry, name string, allow bool) string {
	if entry == "*" || entry == "**" {
		return "^"
	}
	stem, below := entry, false
	for _, end := range []string{"/**", "/*", "/"} {
		if s, ok := strings.CutSuffix(stem, end); ok && s != "" {
			stem, below = s, true
			break
		}
	}
	end := "(/.*)?$"
	switch image := strings.HasPrefix(name, "image"); {
	case below:
		end = "/."
	case image && strings.Contains(stem, "/"):
		// A repository's tags and digests; of a bare host a colon is a port.
		end = "([/:@].*)?$"
	case kindOf(name) == "url":
		end = "([/?#].*)?$"
	}
	if allow {
		return "^" + starred(stem) + end
	}
	return "^(?i:" + starred(stem) + ")" + end
}

// starred is the text of an entry as a regular expression.
func starred(text string) string {
	parts := strings.Split(text, "*")
	for i, p := range parts {
		parts[i] = regexp.QuoteMeta(p)
	}
	return strings.Join(parts, `[^/\s,;]*`)
}

// cel is an expression over the request, as a gate over the action.
func (s *setup) cel(expression string) {
	for _, m := range requested.FindAllStringSubmatch(expression, -1) {
		if name := m[2] + m[3]; name != "" {
			s.history.reads = append(s.history.reads, name)
		}
	}
	expression = requestedTool.ReplaceAllString(requested.ReplaceAllString(expression, "args$1"), "action.tool")
	s.gates = append(s.gates, celGate{Name: "expression", Expression: expression, Message: "the expression is false", OnFail: "block"})
}

// requested is an argument, or all of them, as expressions over a request name it,
// and requestedTool the tool.
var (
	requested     = regexp.MustCompile(`\b(?:request|input)\.arguments((?:\.([A-Za-z_][A-Za-z0-9_]*)|\[["']([^"'\]]*)["']\])?)`)
	requestedTool = regexp.MustCompile(`\b(?:request|input)\.tool\b`)
)

// parameters are what a constraint was given. A constraint without any has
// nothing that a value could be held against.
func (s *setup) parameters(raw json.RawMessage) error {
	var given map[string]json.RawMessage
	if err := json.Unmarshal(raw, &given); err != nil {
		return err
	}
	for name, value := range given {
		if text := string(value); text == "null" || text == "[]" || text == "{}" {
			// A parameter without a value is none.
			delete(given, name)
		}
	}
	if len(given) > 0 {
		for name, list := range given {
			s.lists[listKey{strings.TrimPrefix(name, "allowed_"), true}] = listed(list)
		}
		return nil
	}
	s.scope["parameters"] = map[string]any{}
	s.gates = append(s.gates, celGate{Name: "parameters", Expression: "scope.parameters.allowed.exists(v, v == action.tool)", Message: "the parameters do not allow the call"})
	return nil
}

// policy reads the case's own policy text as strictly as any bundle data.
func (s *setup) policy(raw json.RawMessage) error {
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return err
	}
	n, problems := datafile.Read("policy.yaml", []byte(text))
	if len(problems) > 0 {
		s.refused = fmt.Errorf("%s", problems[0])
		return nil
	}
	if len(n.Keys) == 0 {
		s.refused = errors.New("the policy says nothing")
		return nil
	}
	for _, k := range n.Keys {
		value, err := json.Marshal(n.Fields[k].Any())
		if err != nil {
			s.refused = err
			return nil
		}
		if err := s.policyKey(k, value); err != nil {
			return err
		}
	}
	return nil
}

// policyKey reads one key of a policy text: the lists that a context may give, and
// what holds where no list answers.
func (s *setup) policyKey(key string, value json.RawMessage) error {
	key = spelling(key)
	if key == "default" {
		return s.otherwise(value)
	}
	s.grants = s.grants || strings.HasPrefix(key, "allow_")
	if set, ok := s.keys[key]; ok && listKeys.MatchString(key) {
		return set(s, value)
	}
	ok, err := s.byName(key, value, nil)
	if near := engine.Nearest(key, s.policyWords()); err == nil && !ok && near != "" {
		s.refused = fmt.Errorf("the policy says %q: did it mean %q?", key, near)
		return nil
	}
	if err == nil && !ok {
		err = &unsupported{fmt.Sprintf("nothing is known of policy key %q", key)}
	}
	return err
}

// policyWords are the words that a policy text may begin a line with.
func (s *setup) policyWords() []string {
	words := []string{"default"}
	for k := range s.keys {
		if listKeys.MatchString(k) {
			words = append(words, k)
		}
	}
	slices.Sort(words)
	return words
}

var listKeys = regexp.MustCompile(`^(allow|deny|known|restricted)_`)

// otherwise is what follows where nothing else in the policy answers.
func (s *setup) otherwise(raw json.RawMessage) error {
	var word string
	if json.Unmarshal(raw, &word) != nil || word != "allow" && word != "deny" && word != "review" {
		s.refused = fmt.Errorf("the default is allow, review or deny, not %s", raw)
		return nil
	}
	s.rest = word
	return nil
}

// restGate holds what nothing in the policy allows to what its default says. A
// policy with a list or a rule that allows has its own gate for that.
func (s *setup) restGate() {
	if s.grants || s.rest == "" || s.rest == "allow" {
		return
	}
	s.gates = append(s.gates, celGate{Name: "default", Expression: "false", Message: "nothing allows the call",
		OnFail: map[string]string{"deny": "block", "review": "review"}[s.rest]})
}
