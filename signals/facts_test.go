package signals

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"github.com/conjunct-project/conjunct/action"
	"github.com/conjunct-project/conjunct/engine"
)

// files is a file system in memory: a name that ends in a slash is a folder, a
// value a link's target.
type files map[string]string

type fileInfo struct {
	name string
	mode fs.FileMode
}

func (i fileInfo) Name() string       { return i.name }
func (i fileInfo) Size() int64        { return 0 }
func (i fileInfo) Mode() fs.FileMode  { return i.mode }
func (i fileInfo) ModTime() time.Time { return time.Time{} }
func (i fileInfo) IsDir() bool        { return i.mode.IsDir() }
func (i fileInfo) Sys() any           { return nil }

func (f files) Lstat(name string) (fs.FileInfo, error) {
	if target, ok := f[name]; ok {
		switch target {
		case "":
			return fileInfo{path.Base(name), 0o644}, nil
		case "!":
			return nil, fs.ErrPermission
		}
		return fileInfo{path.Base(name), fs.ModeSymlink | 0o777}, nil
	}
	for n := range f {
		if strings.HasPrefix(n, strings.TrimSuffix(name, "/")+"/") {
			return fileInfo{path.Base(name), fs.ModeDir | 0o755}, nil
		}
	}
	return nil, fs.ErrNotExist
}

func (f files) Readlink(name string) (string, error) {
	if f[name] == "" {
		return "", fs.ErrInvalid
	}
	return f[name], nil
}

func (f files) ReadDir(name string, limit int) (out []fs.DirEntry, err error) {
	if f[name+"/"] == "!" {
		return nil, fs.ErrPermission
	}
	seen := map[string]bool{}
	for n := range f {
		rest, ok := strings.CutPrefix(n, strings.TrimSuffix(name, "/")+"/")
		first, _, _ := strings.Cut(rest, "/")
		if !ok || first == "" || seen[first] || len(out) == limit {
			continue
		}
		seen[first] = true
		info, err := f.Lstat(strings.TrimSuffix(name, "/") + "/" + first)
		if err != nil {
			return nil, err
		}
		out = append(out, fs.FileInfoToDirEntry(info))
	}
	return out, nil
}

func (files) ReadFile(string, int64) ([]byte, error) { return nil, fs.ErrNotExist }

// testCase is one line of a data file: a call, the world it is made in, and what
// facts say of it.
type testCase struct {
	Name     string
	Line     any      // a command line, or a list of words
	Path     string   // or a path
	Access   string   // its access: read, write, delete
	Files    files    // the file system; a folder /w/app is always there
	Dir      string   // working directory, /w/app
	Home     string   // home, /home/u
	Roots    []string // /w/app
	Lists    map[string][]string
	Patterns map[string][]string
	Wrappers []string

	Commands []string // text of every command, with via in front
	Effects  []string // of each command
	On       []string // of each command: lists | lists_folded
	Problems []string // of each command
	Known    []bool
	Paths    []string // access, resolved, [problems]
	Inside   []bool
	Listed   []string // of each path: lists | lists_folded | lists_under
	Unknown  []string // codes
}

func (c *testCase) call() (*Detector, *Call, World, []ScopeProblem) {
	if c.Dir == "" {
		c.Dir = "/w/app"
	}
	if c.Home == "" {
		c.Home = "/home/u"
	}
	if c.Roots == nil {
		c.Roots = []string{"/w/app"}
	}
	f := files{"/w/app/": "", "/home/u/": "", "/tmp/": "", "/etc/": ""}
	for k, v := range c.Files {
		f[k] = v
	}
	tool := engine.Tool{Name: "t", Arguments: map[string]engine.Argument{}, Effect: engine.Write}
	args := map[string]any{}
	if c.Line != nil {
		tool.Arguments["command"] = engine.Argument{Kind: engine.CommandKind}
		args["command"] = c.Line
	}
	if c.Path != "" {
		a := engine.Argument{Kind: engine.PathKind}
		switch c.Access {
		case "delete":
			a.Kind = engine.DeleteKind
		case "read":
			tool.Effect = engine.Read
		}
		tool.Arguments["path"] = a
		args["path"] = c.Path
	}
	d, problems := New(Scope{Roots: c.Roots, Paths: c.Lists, Commands: c.Patterns, Wrappers: c.Wrappers}, []Family{Path, Shell})
	return d, &Call{Action: engine.Action{Tool: "t", Arguments: args}, Tool: tool, Declared: true}, World{Files: f, Dir: c.Dir, Home: c.Home}, problems
}

func strs(v any) string {
	var out []string
	for _, e := range v.([]any) {
		out = append(out, e.(string))
	}
	return strings.Join(out, " ")
}

// observed fills in what facts say, in the form of a case.
func (c testCase) observed(t *testing.T) testCase {
	t.Helper()
	d, call, w, problems := c.call()
	if len(problems) > 0 {
		t.Fatalf("scope: %v", problems)
	}
	facts, unknown := d.Facts(context.Background(), call, w)
	c.Commands, c.Effects, c.On, c.Problems, c.Known = []string{}, []string{}, []string{}, []string{}, []bool{}
	c.Paths, c.Inside, c.Listed, c.Unknown = []string{}, []bool{}, []string{}, []string{}
	for _, u := range unknown {
		family, rest, _ := strings.Cut(u, ": ")
		code, _, _ := strings.Cut(rest, " at ")
		if _, ok := facts[family].(map[string]any)[map[string]string{"path": "paths", "shell": "commands"}[family]]; ok {
			t.Errorf("%s is unknown and its list is there all the same", u)
		}
		if !slices.Contains(c.Unknown, code) {
			c.Unknown = append(c.Unknown, code)
		}
	}
	slices.Sort(c.Unknown)
	for _, e := range facts["shell"].(map[string]any)["seen"].([]any) {
		m := e.(map[string]any)
		text := m["text"].(string)
		if via := strs(m["via"]); via != "" {
			text = via + ": " + text
		}
		c.Commands = append(c.Commands, text)
		c.Effects = append(c.Effects, strs(m["effects"]))
		c.On = append(c.On, strs(m["lists"])+"|"+strs(m["lists_folded"]))
		c.Problems = append(c.Problems, strs(m["problems"]))
		c.Known = append(c.Known, m["known"].(bool))
	}
	for _, e := range facts["path"].(map[string]any)["seen"].([]any) {
		m := e.(map[string]any)
		resolved, _ := m["resolved"].(string)
		text := m["access"].(string) + " " + resolved
		if p := strs(m["problems"]); p != "" {
			text += " [" + p + "]"
		}
		c.Paths = append(c.Paths, text)
		if inside, ok := m["inside"].(bool); ok {
			c.Inside = append(c.Inside, inside)
			c.Listed = append(c.Listed, strs(m["lists"])+"|"+strs(m["lists_folded"])+"|"+strs(m["lists_under"]))
		} else {
			c.Inside = append(c.Inside, false)
			c.Listed = append(c.Listed, "")
		}
	}
	return c
}

func readCases(t testing.TB, name string) (out []testCase) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 || lines.Bytes()[0] == '#' {
			continue
		}
		var c testCase
		d := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		d.DisallowUnknownFields()
		if err := d.Decode(&c); err != nil {
			t.Fatalf("%s: %v: %s", name, err, lines.Bytes())
		}
		out = append(out, c)
	}
	return out
}

// TestFactsData holds facts to what data files expect of calls; a field that a
// case leaves out is not looked at.
func TestFactsData(t *testing.T) {
	for _, name := range []string{"testdata/shell.jsonl", "testdata/paths.jsonl"} {
		cases := readCases(t, name)
		if len(cases) < 40 {
			t.Fatalf("%s: only %d cases", name, len(cases))
		}
		for _, c := range cases {
			label := c.Name
			if label == "" {
				label = strings.TrimSpace(c.Path + " " + toJSON(c.Line))
			}
			t.Run(label, func(t *testing.T) {
				got := c.observed(t)
				canonical(t, c)
				checked := 0
				check := func(what string, want, got any, given bool) {
					if given {
						checked++
						if toJSON(want) != toJSON(got) {
							t.Errorf("%s: got %s, want %s", what, toJSON(got), toJSON(want))
						}
					}
				}
				check("commands", c.Commands, got.Commands, c.Commands != nil)
				check("effects", c.Effects, got.Effects, c.Effects != nil)
				check("on", c.On, got.On, c.On != nil)
				check("problems", c.Problems, got.Problems, c.Problems != nil)
				check("known", c.Known, got.Known, c.Known != nil)
				check("paths", c.Paths, got.Paths, c.Paths != nil)
				check("inside", c.Inside, got.Inside, c.Inside != nil)
				check("listed", c.Listed, got.Listed, c.Listed != nil)
				// What is not said to be unknown is determined.
				check("unknown", append([]string{}, c.Unknown...), append([]string{}, got.Unknown...), true)
				if checked < 2 && len(c.Unknown) == 0 {
					t.Error("the case expects nothing")
				}
			})
		}
	}
}

func toJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// canonical holds every fact to a form that the journal can store.
func canonical(t *testing.T, c testCase) {
	t.Helper()
	d, call, w, _ := c.call()
	facts, _ := d.Facts(context.Background(), call, w)
	if _, err := action.CanonicalValue(facts); err != nil {
		t.Errorf("the facts have no canonical form: %v", err)
	}
}

// TestParserJoinsLinesAfterAComment shows the fault that continued_comment is
// there for; once it is gone, so may the code be.
func TestParserJoinsLinesAfterAComment(t *testing.T) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader("a #b\\\nrm x"), "")
	if err != nil {
		t.Fatal(err)
	}
	if len(file.Stmts) != 1 {
		t.Error("the parser ends a comment at the end of its line now: drop continuedComment")
	}
}

// TestScopeThatCannotBeUsedIsReported holds that every entry of a list that would
// silently match nothing is a problem with its place.
func TestScopeThatCannotBeUsedIsReported(t *testing.T) {
	_, problems := New(Scope{
		Roots:    []string{".", "", "a\x00", "~root"},
		Paths:    map[string][]string{"deny": {"ok", "", "[a", "../x", "~root/x", "a\nb", "a\\"}, "allow": {"{a"}},
		Commands: map[string][]string{"deny": {"rm *", "", "  ", "a && b", "a > b", "echo 'x'", "a $(b)"}},
	}, []Family{Path, Shell})
	var got []string
	for _, p := range problems {
		if p.Message == "" {
			t.Errorf("%v has no message", p.Path)
		}
		got = append(got, strings.Join(p.Path, "."))
	}
	want := "roots.1 roots.2 roots.3 paths.allow.0 paths.deny.1 paths.deny.2 paths.deny.3 paths.deny.4 paths.deny.5 paths.deny.6 " +
		"commands.deny.1 commands.deny.2 commands.deny.3 commands.deny.4 commands.deny.5 commands.deny.6"
	if strings.Join(got, " ") != want {
		t.Errorf("problems at %v, want %s", got, want)
	}
}

// TestNothingIsCleanInAWorldUnseen holds that the zero world determines nothing.
func TestNothingIsCleanInAWorldUnseen(t *testing.T) {
	for _, c := range []testCase{{Path: "/w/app/x"}, {Path: "x"}, {Line: "cat x"}, {Line: "cat /x"}, {Line: "echo x > y"}} {
		d, call, _, _ := c.call()
		facts, unknown := d.Facts(context.Background(), call, World{})
		if _, ok := facts["path"].(map[string]any)["paths"]; ok || len(unknown) == 0 {
			t.Errorf("%v: %v, unknown %v", call.Action.Arguments, facts, unknown)
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if facts, unknown := d.Facts(ctx, call, World{}); len(facts) != 0 || len(unknown) == 0 {
			t.Errorf("cancelled: %v, unknown %v", facts, unknown)
		}
	}
}

// TestTooMuchIsUnknown holds that no limit loosens.
func TestTooMuchIsUnknown(t *testing.T) {
	nested := "a"
	for range 40 {
		nested = "eval " + quote(nested)
		if len(nested) > 1<<20 {
			break
		}
	}
	for name, line := range map[string]any{
		"bytes":        "a " + strings.Repeat("x", 1<<20),
		"commands":     strings.Repeat("a;", 1000),
		"parentheses":  strings.Repeat("(", 20000) + "a" + strings.Repeat(")", 20000),
		"substitution": strings.Repeat("$(", 10000) + "a" + strings.Repeat(")", 10000),
		"braces":       "echo " + strings.Repeat("{a,b}", 60),
		"wrappers":     strings.Repeat("env ", 1000) + "rm x",
		"lines":        nested,
		"groups":       strings.Repeat("{ ", 500) + "a" + strings.Repeat(";}", 500),
		"paths":        "rm " + strings.Repeat("a b c d ", 500) + strings.Join(numbered(3000), " "),
		"words":        []any{"rm", strings.Repeat("x", 1<<20)},
	} {
		c := testCase{Line: line}
		got := c.observed(t)
		if len(got.Unknown) == 0 {
			t.Errorf("%s: nothing is unknown", name)
		}
		if slices.Contains(got.Unknown, "panic") {
			t.Errorf("%s: %v", name, got.Unknown)
		}
	}
}

func numbered(n int) (out []string) {
	for i := range n {
		out = append(out, strconv.Itoa(i))
	}
	return out
}

// TestTableOfProgramsSaysWhatIsRead holds every rule and kind of programs.txt to
// those that are read: a misspelt one would say nothing of what it touches.
func TestTableOfProgramsSaysWhatIsRead(t *testing.T) {
	rules := strings.Fields("none read write delete execute copy move link pattern mode script run shell remote url host keys here package patch su opaque foreign rewrite zip unzip guess")
	kinds := strings.Fields("skip skip2 skip1read read write delete execute target pattern patternfile sed dir code inline module option unseen data cookie replace list only except exceptfolder glob folders command plugin package")
	effects := strings.Fields("read write delete network execute stop shell tree links tree+links hidden")
	if len(programs()) < 200 {
		t.Fatalf("only %d programs", len(programs()))
	}
	for name, p := range programs() {
		if !slices.Contains(rules, p.rule) {
			t.Errorf("%s: no rule %q", name, p.rule)
		}
		if !slices.Equal(distinct(slices.Clone(p.effects)), slices.Sorted(slices.Values(p.effects))) {
			t.Errorf("%s: an effect twice in %v", name, p.effects)
		}
		for _, e := range p.effects {
			if !slices.Contains(effects, e) {
				t.Errorf("%s: no effect %q", name, e)
			}
		}
		for o, is := range p.options {
			if is.value != "" && !slices.Contains(kinds, is.value) || is.effect != "" && !slices.Contains(effects, is.effect) {
				t.Errorf("%s: %s is %+v", name, o, is)
			}
		}
	}
}
