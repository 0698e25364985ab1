package cases

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// setup is everything that a case's context comes to before the call is decided.
type setup struct {
	tree  tree               // the files and links there are
	scope map[string]any     // the bundle's scope
	lists map[listKey]listed // value lists over arguments
	tools map[string]tool    // what the registry declares besides the bundle's own
	// contract holds keys to lay over the bundle's contract, settings those of its
	// start.
	contract map[string]any
	settings map[string]any
	gates    []celGate // further gates, from rules of the case
	modules  []string  // further Rego, from rules of the case
	query    string
	// rules are that Rego in the bundle, with its gate; unknownRules is what follows
	// when it is unknown.
	rules        map[string]string
	unknownRules string
	// undeclared is the tier of a tool that the registry does not know.
	undeclared string
	// refused is what loading the case's own policy came to, if it failed.
	refused error

	loader *loader

	// keys are those that a policy text may hold too. rest is what follows where
	// nothing answers, grants that something of the case's policy allows.
	keys   map[string]func(*setup, json.RawMessage) error
	rest   string
	grants bool

	// origins are where arguments come from, nil where nobody looked; userText is
	// what the user wrote.
	origins  map[string]string
	userText *string
	history  history
	now      string
	plan     []step
	done     []step
	// spent is what was spent before of what is limited; nil: the case says nothing.
	spent json.RawMessage
	// criticGate: the contract has to say why CRITIC may be left out.
	criticGate bool
	// costLimit is what each gate of the case may cost; 0: as the engine has it.
	costLimit uint64
}

// listKey is what a list over the values of an argument is called and whether it
// allows.
type listKey struct {
	noun  string
	allow bool
}

// listed are the values of such a list.
type listed json.RawMessage

// keys says what each key of a context does. They are taken in the order of
// their names, and none looks at what another did.
var keys = map[string]func(*setup, json.RawMessage) error{
	"root":             texts(func(s *setup, v []string) { s.tree.roots = append(s.tree.roots, v...) }),
	"roots":            texts(func(s *setup, v []string) { s.tree.roots = append(s.tree.roots, v...) }),
	"cwd":              text(func(s *setup, v string) { s.tree.dir = v }),
	"home":             text(func(s *setup, v string) { s.tree.home = v }),
	"fs":               func(s *setup, raw json.RawMessage) error { return s.tree.files(raw) },
	"allow_paths":      texts(func(s *setup, v []string) { s.extend("paths", "allow", v) }),
	"scope":            texts(func(s *setup, v []string) { s.extend("paths", "allow", v) }),
	"deny_paths":       texts(func(s *setup, v []string) { s.extend("paths", "deny", v) }),
	"protected":        texts(func(s *setup, v []string) { s.extend("paths", "protected", v) }),
	"allow_commands":   texts(func(s *setup, v []string) { s.list("commands", "allow", v) }),
	"deny_commands":    texts(func(s *setup, v []string) { s.list("commands", "deny", v) }),
	"allow_hosts":      texts(func(s *setup, v []string) { s.list("hosts", "allow", v) }),
	"allow_domains":    texts(func(s *setup, v []string) { s.list("hosts", "allow", v) }),
	"deny_hosts":       texts(func(s *setup, v []string) { s.list("hosts", "deny", v) }),
	"deny_domains":     texts(func(s *setup, v []string) { s.list("hosts", "deny", v) }),
	"wrappers":         texts(func(s *setup, v []string) { s.scope["wrappers"] = v }),
	"collect":          texts(func(s *setup, v []string) { s.list("tests", "collect", v) }),
	"ignore":           texts(func(s *setup, v []string) { s.list("tests", "ignore", v) }),
	"allow_tools":      texts(func(s *setup, v []string) { s.known(v) }),
	"known_tools":      texts(func(s *setup, v []string) { s.known(v) }),
	"restricted_tools": texts((*setup).restricted),
	"deny_tools":       texts((*setup).denied),
	"limits":           (*setup).limits,
	"spent":            func(s *setup, raw json.RawMessage) error { s.spent = raw; return nil },
	"arg_origin":       (*setup).origin,
	"rule":             (*setup).rule,
	"rules":            (*setup).rule,
	"default":          (*setup).otherwise,
	"cel":              text((*setup).cel),
	"rego":             text(func(s *setup, v string) { s.modules = append(s.modules, v) }),
	"rego_files":       texts(func(s *setup, v []string) { s.modules = append(nonNil(s.modules), v...) }),
	"query":            text(func(s *setup, v string) { s.query = v }),
	"parameters":       (*setup).parameters,
	"policy_yaml":      (*setup).policy,
	"freeze":           (*setup).freeze,
	"window":           (*setup).openOnly,
	"now":              text(func(s *setup, v string) { s.now = v }),
	"evaluator":        (*setup).evaluator,
	"evaluators":       (*setup).evaluators,
	"require":          texts(func(s *setup, v []string) { s.history.required = append(s.history.required, v...) }),
	"approval":         decoded(func(s *setup, v *approval) { s.history.approval, s.history.unasked = v, v == nil }),
	"rejected":         decoded(func(s *setup, v calls) { s.history.rejected = v }),
	"trace":            decoded(func(s *setup, v calls) { s.history.trace = append(slices.Clone(v), s.history.trace...) }),
	"checked":          decoded(func(s *setup, v call) { s.history.trace = append(s.history.trace, v) }),
	"requester":        text(func(s *setup, v string) { s.history.requester = v }),
	"policy_version":   text(func(s *setup, v string) { s.history.policy = v }),
	"call_id":          text(func(s *setup, v string) { s.history.callID = v }),
	"plan":             decoded(func(s *setup, v []step) { s.plan = v }),
	"done":             decoded(func(s *setup, v []step) { s.done = v }),
	"user_text":        text(func(s *setup, v string) { s.userText = &v }),
	"cost_limit":       decoded(func(s *setup, v uint64) { s.costLimit = v }),
	// What a person reads and a gate does not: a move left the content alone.
	"content_unchanged": decoded(func(*setup, bool) {}),
}

// unsupported is a case that cannot be set up, and why.
type unsupported struct{ why string }

func (u *unsupported) Error() string { return u.why }

// newSetup reads a case's context.
func newSetup(c Case, l *loader) (*setup, error) {
	s := &setup{scope: map[string]any{}, lists: map[listKey]listed{}, tools: map[string]tool{}, contract: map[string]any{}, settings: map[string]any{},
		keys: keys, loader: l, undeclared: "refuse", tree: tree{nodes: map[string]node{}}}
	rest := maps.Clone(c.Request.Context)
	if err := s.versions(rest); err != nil {
		return nil, err
	}
	if err := s.pinned(rest); err != nil {
		return nil, err
	}
	for _, k := range slices.Sorted(maps.Keys(rest)) {
		known := spelling(k)
		s.grants = s.grants || strings.HasPrefix(known, "allow_")
		set, ok := keys[known]
		if !ok {
			ok, err := s.byName(known, rest[k], rest)
			if err != nil {
				return nil, err
			}
			if !ok {
				return nil, &unsupported{fmt.Sprintf("nothing is known of context key %q", k)}
			}
			continue
		}
		if err := set(s, rest[k]); err != nil {
			return nil, fmt.Errorf("context %s: %w", k, err)
		}
	}
	s.tree.settle()
	return s, nil
}

// spelling is the name under which a key is known: lists of folders and files are
// lists of paths, and what is allowed is on the list that allows.
func spelling(key string) string {
	for said, prefix := range map[string]string{"allowed_": "allow_", "denied_": "deny_", "allow_": "allow_", "deny_": "deny_"} {
		noun, ok := strings.CutPrefix(key, said)
		switch {
		case !ok:
		case kindOf(singular(noun)) == "path" || singular(noun) == "root":
			return prefix + "paths"
		default:
			return prefix + noun
		}
	}
	return key
}

// byName reads keys that are named after what they are about: a list over the
// values of an argument, or the status of something that is required.
func (s *setup) byName(key string, raw json.RawMessage, all map[string]json.RawMessage) (bool, error) {
	for prefix, allow := range map[string]bool{"allow_": true, "deny_": false} {
		if noun, ok := strings.CutPrefix(key, prefix); ok {
			s.lists[listKey{noun, allow}] = listed(raw)
			return true, nil
		}
	}
	var required several
	if r, ok := all["require"]; ok && json.Unmarshal(r, &required) == nil && slices.Contains(required, key) {
		s.history.reports = append(s.history.reports, report{key, standing(raw)})
		return true, nil
	}
	return false, nil
}

// pinned takes the further conditions of an approval out of a context. One that is
// not the same by now makes it void; one of which nothing more is said cannot be
// set up.
func (s *setup) pinned(ctx map[string]json.RawMessage) error {
	var a approval
	if raw, given := ctx["approval"]; !given || string(raw) == "null" || json.Unmarshal(raw, &a) != nil {
		return nil
	}
	for name, then := range a.pins {
		now, said := ctx[name]
		if !said {
			return &unsupported{fmt.Sprintf("an approval under %q, of which nothing more is said", name)}
		}
		if keys[name] == nil {
			delete(ctx, name)
		}
		s.history.moved = s.history.moved || !sameJSON(then, now)
	}
	return nil
}

func sameJSON(a, b json.RawMessage) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// singular is the argument that a list of its values is named after.
func singular(noun string) string {
	if stem, ok := strings.CutSuffix(noun, "ies"); ok {
		return stem + "y"
	}
	for _, end := range []string{"ches", "shes", "sses", "xes"} {
		if strings.HasSuffix(noun, end) {
			return strings.TrimSuffix(noun, "es")
		}
	}
	return strings.TrimSuffix(noun, "s")
}

func text(set func(*setup, string)) func(*setup, json.RawMessage) error { return decoded(set) }

func texts(set func(*setup, []string)) func(*setup, json.RawMessage) error {
	return decoded(func(s *setup, v several) { set(s, v) })
}

// several is a list of texts; one alone may stand without its brackets.
type several []string

func (l *several) UnmarshalJSON(raw []byte) error {
	var one *string
	if json.Unmarshal(raw, &one) == nil && one != nil {
		*l = several{*one}
		return nil
	}
	return json.Unmarshal(raw, (*[]string)(l))
}

func decoded[T any](set func(*setup, T)) func(*setup, json.RawMessage) error {
	return func(s *setup, raw json.RawMessage) error {
		var v T
		if err := json.Unmarshal(raw, &v); err != nil {
			return err
		}
		set(s, v)
		return nil
	}
}

func nonNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// list puts a named list into the scope.
func (s *setup) list(section, name string, values []string) {
	lists, _ := s.scope[section].(map[string]any)
	if lists == nil {
		lists = map[string]any{}
		s.scope[section] = lists
	}
	lists[name] = nonNil(values)
}

// extend adds to a named list of the scope: a context may spell it in several ways.
func (s *setup) extend(section, name string, values []string) {
	lists, _ := s.scope[section].(map[string]any)
	have, _ := lists[name].([]string)
	s.list(section, name, append(slices.Clone(have), values...))
}

// origin notes where arguments come from: one word for the whole call, or one or
// several for each argument by its name.
func (s *setup) origin(raw json.RawMessage) error {
	s.origins = map[string]string{}
	if jsonType(raw) != "object" {
		from, err := originOf(raw)
		s.origins[""] = from
		return err
	}
	var of map[string]json.RawMessage
	if err := json.Unmarshal(raw, &of); err != nil {
		return err
	}
	for argument, raw := range of {
		from, err := originOf(raw)
		if err != nil {
			return err
		}
		s.origins["/"+strings.ReplaceAll(strings.TrimPrefix(argument, "/"), ".", "/")] = from
	}
	return nil
}

// originOf is the origin that one word tells or several do: something that comes
// from the user and from elsewhere too is not the user's.
func originOf(raw json.RawMessage) (string, error) {
	words := []string{""}
	var err error
	if jsonType(raw) == "array" {
		err = json.Unmarshal(raw, &words)
	} else {
		err = json.Unmarshal(raw, &words[0])
	}
	from := "unknown"
	for i, w := range words {
		if i == 0 || w != userOrigin {
			from = w
		}
	}
	if from == "" {
		from = "unknown"
	}
	return from, err
}

// userOrigin is the origin of what the user wrote.
const userOrigin = "user"

// attest finds in what the user wrote the arguments whose origin the case does not
// tell. One that is not found has none; a text that somebody composes need not be
// found.
func (s *setup) attest(arguments map[string]json.RawMessage) {
	if s.userText == nil {
		return
	}
	told := s.origins != nil
	if !told {
		s.origins = map[string]string{}
	}
	if _, all := s.origins[""]; all {
		return
	}
	for name, raw := range arguments {
		var value string
		if json.Unmarshal(raw, &value) != nil {
			value = string(raw)
		}
		_, said := s.origins["/"+name]
		if !said && (!told && kindOf(name) == "content" || saidIn(*s.userText, value)) {
			s.origins["/"+name] = userOrigin
		}
	}
}

// saidIn reports whether a text has a value as a whole word or several.
func saidIn(text, value string) bool {
	if value == "" {
		return false
	}
	said := regexp.MustCompile(`(?:^|[\s"'(<,:;])` + regexp.QuoteMeta(value) + `(?:$|[\s"')>,:;?!]|\.(?:\s|$))`)
	return said.MatchString(text)
}
