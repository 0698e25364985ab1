package cases

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// tool is a registry entry for a tool that a case calls. The harm of a mistake
// is left at its smallest, so that what decides is the gates.
type tool map[string]any

// kinds says what an argument is by the name that tools commonly give it. It
// stands for the registry that a team would write for its own tools.
var kinds = map[string]string{
	"path": "path", "file": "path", "file_path": "path", "filename": "path", "filepath": "path", "dir": "path", "directory": "path",
	"folder": "path", "paths": "path", "files": "path", "file_name": "path", "attachment": "path", "attachments": "path",
	"entry": "path", "entries": "path", "member": "path", "members": "path",
	"source": "from", "src": "from", "old_path": "from", "destination": "to", "dest": "to", "dst": "to", "new_path": "to",
	"source_path": "from", "src_path": "from", "from_path": "from", "dest_path": "to", "destination_path": "to", "dst_path": "to", "to_path": "to",
	"command": "command", "cmd": "command", "script": "command", "argv": "command", "commands": "command", "command_line": "command",
	"content": "content", "contents": "content", "body": "content", "text": "content", "data": "content", "message": "content",
	"payload": "content", "value": "content", "html": "content",
	"before": "before", "old": "before", "old_string": "before", "old_text": "before",
	"after": "after", "new": "after", "new_string": "after", "new_text": "after",
	"url": "url", "uri": "url", "endpoint": "url", "link": "url",
}

// endings are what the name of an argument for a path ends in, where more is said
// of which one.
var endings = []string{"_path", "_paths", "_file", "_files", "_filename", "_dir", "_directory", "_folder"}

// kindOf is the kind of an argument by its name; empty where the name says nothing.
func kindOf(name string) string {
	name = snake(name)
	if kind := kinds[name]; kind != "" {
		return kind
	}
	if slices.ContainsFunc(endings, func(end string) bool { return strings.HasSuffix(name, end) }) {
		return "path"
	}
	return ""
}

// snake is a name with its words put apart by underscores.
func snake(name string) string {
	var out strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 && out.String()[out.Len()-1] != '_' && !unicode.IsUpper(rune(name[i-1])) {
			out.WriteByte('_')
		}
		out.WriteRune(unicode.ToLower(r))
	}
	return strings.ReplaceAll(out.String(), "-", "_")
}

// shells are the words in the names of tools that run what they are given.
var shells = []string{"shell", "bash", "sh", "zsh", "terminal", "powershell", "tmux", "command", "cmd", "cli", "exec", "execute"}

// spoken are what the argument of such a tool may be called.
var spoken = []string{"input", "code", "keys", "text", "line", "data"}

// renamers are the verbs of tools that take the old name and the new one of a file.
var renamers = []string{"rename", "move", "mv"}

// copiers are the verbs of tools that leave what they take where it is.
var copiers = []string{"copy", "cp", "duplicate", "backup", "upload"}

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
	nameless(declared, arguments)
	t["arguments"] = declared
	return t
}

// nameless declares the texts of a call that none of its arguments' names says
// anything of: they are nothing but text, whatever is in them.
func nameless(declared map[string]any, arguments map[string]json.RawMessage) {
	for _, a := range declared {
		if a.(map[string]any)["kind"] != nil {
			return
		}
	}
	for argument, value := range arguments {
		if a, _ := declared[argument].(map[string]any); a["type"] != "number" && wordy.Match(value) {
			a["kind"] = "plain"
		}
	}
}

// wordy is a value with a text in it that is more than a short name.
var wordy = regexp.MustCompile(`"[^"]{16,}"`)

// wordsOf takes a tool's name apart.
func wordsOf(name string) []string {
	return strings.FieldsFunc(snake(name), func(r rune) bool { return r == '_' || r == '.' })
}

// needsPath has a tool that is named after a file require the path of one: a call
// that leaves out what its tool is about is not one that is about nothing.
func (t tool) needsPath(name string) {
	if among(wordsOf(name), pathNouns) {
		t["arguments"] = map[string]any{"path": map[string]any{"type": "string", "required": true, "kind": "path"}}
	}
}

// argumentOf is one argument's declaration.
func argumentOf(name string, value json.RawMessage, verbs []string) any {
	kind := jsonType(value)
	a := map[string]any{"type": kind}
	what := kindOf(name)
	switch {
	case among(verbs, shells) && slices.Contains(spoken, snake(name)):
		what = "command"
	case what == "from" && among(verbs, copiers):
		what = "path" // where a link leads is what is copied
	case among(verbs, renamers) && strings.HasPrefix(snake(name), "old"):
		what = "from"
	case among(verbs, renamers) && strings.HasPrefix(snake(name), "new"):
		what = "to"
	case among(verbs, linkers):
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

func among(words, list []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(list, w) })
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
		delete(t, "arguments")
		t["reversibility"], t["blast_radius"] = "costly", "system"
		s.tools[name] = t
	}
	s.undeclared = "propose"
	s.history.restricted = append(s.history.restricted, names...)
}

// denied notes tools that no call passes.
func (s *setup) denied(names []string) {
	s.history.denied = append(s.history.denied, names...)
	s.history.declare = append(s.history.declare, names...)
}

// deniedGate is the gate that no call of a denied tool passes, nor one of a tool
// whose name could be taken for the name of one.
func (s *setup) deniedGate(asked string) {
	names := slices.Clone(s.history.denied)
	if len(names) == 0 {
		return
	}
	if passes(asked, names) && !slices.Contains(names, asked) {
		names = append(names, asked)
	}
	s.gates = append(s.gates, celGate{Name: "denied-tools", Match: &match{names}, Expression: "false", Message: "the tool is on the deny list", OnFail: "block"})
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
	return len(s.history.restricted) > 0 && (!plainName.MatchString(name) || passes(name, s.history.restricted))
}

// passes reports a name that is one of the list to somebody who reads no closer:
// in another case or form, or with its words put apart by other signs.
func passes(name string, list []string) bool {
	return slices.ContainsFunc(list, func(l string) bool { return squashed(l) == squashed(name) })
}

func squashed(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, name)
}

// commandLine is arguments with a command in one list of words, where it stands as
// a program and its arguments or in a list by another name, or in one text, where
// it stands in several or a shell is given it.
func commandLine(arguments json.RawMessage) json.RawMessage {
	var all map[string]json.RawMessage
	if json.Unmarshal(arguments, &all) != nil || all["argv"] != nil {
		return arguments
	}
	var lines []string
	if all["command"] == nil && json.Unmarshal(all["commands"], &lines) == nil {
		delete(all, "commands")
		return with(all, "command", strings.Join(lines, "\n"))
	}
	for _, name := range []string{"command", "program", "executable", "cmd"} {
		var program string
		var words []string
		switch {
		case json.Unmarshal(all[name], &words) == nil && len(words) > 0:
		case json.Unmarshal(all[name], &program) == nil && json.Unmarshal(all["args"], &words) == nil && program != "":
			words = append([]string{program}, words...)
			delete(all, "args")
		default:
			continue
		}
		delete(all, name)
		if len(words) == 3 && slices.Contains(shells, words[0]) && (words[1] == "-c" || words[1] == "-lc") {
			return with(all, "command", words[2])
		}
		return with(all, "argv", words)
	}
	return arguments
}

func with(all map[string]json.RawMessage, name string, value any) json.RawMessage {
	// What was read as JSON can be written as JSON.
	all[name], _ = json.Marshal(value)
	out, _ := json.Marshal(all)
	return out
}

// printable reports a name that a tool can have: no action names another one.
func printable(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r > '~' })
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
	for name := range s.tools {
		if !printable(name) {
			delete(s.tools, name)
		}
	}
	for name, arguments := range byTool {
		have, listed := s.tools[name]
		switch {
		case !printable(name):
		case have != nil && have["arguments"] == nil && listed:
			fresh := inferred(name, arguments, s.history.numeric)
			if declared, ok := fresh["arguments"]; ok {
				have["arguments"] = declared
			}
		case have == nil && !listed && passes(name, s.history.restricted):
			s.tools[name] = inferred(name, arguments, s.history.numeric)
			s.tools[name]["reversibility"], s.tools[name]["blast_radius"] = "costly", "system"
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
