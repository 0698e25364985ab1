package cases

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// tool is a registry entry for a tool that a case calls. The harm of a mistake
// is left at its smallest, so that what decides is the gates.
type tool map[string]any

// kindOf says what an argument is by the name that tools commonly give it. It
// stands for the registry that a team would write for its own tools.
var kinds = map[string]string{
	"path": "path", "file": "path", "file_path": "path", "filename": "path", "filepath": "path", "dir": "path", "directory": "path",
	"folder": "path", "paths": "path", "files": "path", "attachment": "path", "attachments": "path",
	"source": "from", "src": "from", "old_path": "from", "destination": "to", "dest": "to", "dst": "to", "new_path": "to",
	"command": "command", "cmd": "command", "script": "command", "argv": "command", "commands": "command",
	"content": "content", "contents": "content", "body": "content", "text": "content", "data": "content", "message": "content",
	"payload": "content", "value": "content", "html": "content",
	"before": "before", "old": "before", "old_string": "before", "old_text": "before",
	"after": "after", "new": "after", "new_string": "after", "new_text": "after",
	"url": "url", "uri": "url", "endpoint": "url", "link": "url",
}

// kindOf is what an argument of a name is, or nothing. A name that ends as that of a
// path does is one.
func kindOf(name string) string {
	if kind, ok := kinds[name]; ok {
		return kind
	}
	for _, end := range []string{"_path", "_paths", "_file", "_files"} {
		if strings.HasSuffix(name, end) {
			return "path"
		}
	}
	return ""
}

// readers are the verbs of tools that change nothing.
var readers = []string{"read", "get", "list", "search", "view", "find", "fetch", "show", "query", "lookup", "stat", "ls", "cat", "grep", "glob"}

// removers are the verbs of tools that delete what they name.
var removers = []string{"delete", "remove", "rm", "unlink", "purge", "drop"}

// pathNouns are the things that a tool is named after when it takes the path of one.
var pathNouns = []string{"file", "folder", "directory", "dir"}

// linkers are the words in the names of tools that make links: wherever one of
// their arguments leads is what the link is about.
var linkers = []string{"link", "symlink", "hardlink"}

// inferred is the registry entry for a call of a tool that the bundle does not
// declare, from the names and types of its arguments.
func inferred(name string, arguments map[string]json.RawMessage, numeric map[string]bool) tool {
	t := tool{"reversibility": "reversible", "blast_radius": "task", "absorbed_by": "agent", "detection_latency": "immediate", "effect": "write"}
	verbs := wordsOf(name)
	if len(verbs) > 0 && slices.Contains(readers, verbs[0]) {
		t["effect"] = "read"
	}
	declared := map[string]any{}
	for argument, value := range arguments {
		declared[argument] = argumentOf(argument, value, verbs)
	}
	for argument := range numeric {
		declared[argument] = map[string]any{"type": "number"}
	}
	t["arguments"] = declared
	return t
}

// wordsOf takes a tool's name apart.
func wordsOf(name string) []string {
	return strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == '_' || r == '.' || r == '-' })
}

// needsPath has a tool that is named after a file require the path of one: a call
// that leaves out what its tool is about is not one that is about nothing.
func (t tool) needsPath(name string) {
	if slices.ContainsFunc(wordsOf(name), func(w string) bool { return slices.Contains(pathNouns, w) }) {
		t["arguments"] = map[string]any{"path": map[string]any{"type": "string", "required": true, "kind": "path"}}
	}
}

// argumentOf is one argument's declaration.
func argumentOf(name string, value json.RawMessage, verbs []string) any {
	kind := jsonType(value)
	a := map[string]any{"type": kind}
	what := kindOf(name)
	switch {
	case slices.ContainsFunc(verbs, func(v string) bool { return slices.Contains(linkers, v) }):
		what = "path"
	case strings.HasSuffix(name, "_base64") || strings.HasSuffix(name, "_b64"):
		what = "base64"
	case what == "path" && len(verbs) > 0 && slices.Contains(removers, verbs[0]):
		what = "delete"
	}
	if what != "" && (kind == "string" || kind == "array") {
		a["kind"] = what
	}
	return a
}

func jsonType(value json.RawMessage) string {
	switch text := strings.TrimSpace(string(value)); {
	case text == "" || text == "null":
		return "any"
	case text[0] == '"':
		return "string"
	case text[0] == '[':
		return "array"
	case text[0] == '{':
		return "object"
	case text == "true" || text == "false":
		return "boolean"
	}
	return "number"
}

// known leaves a registry with nothing but the named tools.
func (s *setup) known(names []string) {
	for _, name := range names {
		if _, declared := s.tools[name]; !declared {
			s.tools[name] = nil
		}
	}
	s.history.onlyKnown = true
}

// restricted puts tools where a person has to approve them; what the registry
// does not know is asked about too.
func (s *setup) restricted(names []string) {
	for _, name := range names {
		t := inferred(name, nil, nil)
		t["reversibility"], t["blast_radius"] = "costly", "system"
		s.tools[name] = t
	}
	s.undeclared = "propose"
	s.history.restricted = names
}

// denied adds a gate that no call of the tools passes.
func (s *setup) denied(names []string) {
	s.gates = append(s.gates, celGate{Name: "denied-tools", Match: &match{names}, Expression: "false", Message: "the tool is on the deny list", OnFail: "block"})
	s.history.declare = append(s.history.declare, names...)
}

// arguments reads the arguments of a call by name.
func (c call) arguments() (map[string]json.RawMessage, error) {
	out := map[string]json.RawMessage{}
	if len(c.Arguments) == 0 {
		return out, nil
	}
	if err := json.Unmarshal(c.Arguments, &out); err != nil {
		return nil, fmt.Errorf("arguments of %s: %w", c.Tool, err)
	}
	return out, nil
}

// passesFor reports a name that could pass for a restricted tool's: it is not
// plainly another one.
func (s *setup) passesFor(name string) bool {
	if len(s.history.restricted) == 0 {
		return false
	}
	if !plainName.MatchString(name) {
		return true
	}
	return slices.ContainsFunc(s.history.restricted, func(r string) bool { return squashed(r) == squashed(name) })
}

func squashed(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", ".", "").Replace(name))
}

// declare gives every tool that is called a registry entry, with the arguments
// of all its calls, unless the case says which tools are known.
func (s *setup) declare(calls []call) error {
	byTool := map[string]map[string]json.RawMessage{}
	for _, c := range calls {
		arguments, err := c.arguments()
		if err != nil {
			return err
		}
		if byTool[c.Tool] == nil {
			byTool[c.Tool] = map[string]json.RawMessage{}
		}
		maps.Copy(byTool[c.Tool], arguments)
	}
	for _, name := range s.history.declare {
		if byTool[name] == nil {
			byTool[name] = map[string]json.RawMessage{}
		}
	}
	for name, arguments := range byTool {
		have, listed := s.tools[name]
		switch {
		case have != nil && have["arguments"] == nil && listed:
			fresh := inferred(name, arguments, s.history.numeric)
			if declared, ok := fresh["arguments"]; ok {
				have["arguments"] = declared
			}
		case have == nil && (listed || !s.history.onlyKnown) && (listed || !s.passesFor(name)):
			s.tools[name] = inferred(name, arguments, s.history.numeric)
			if len(arguments) == 0 {
				s.tools[name].needsPath(name)
			}
		}
	}
	for name, t := range s.tools {
		if t == nil {
			s.tools[name] = inferred(name, nil, nil)
		}
	}
	return nil
}
