package signals

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:embed programs.txt
var programText string

// program is what is known of a program; programs.txt says what the rules and
// the kinds of options mean.
type program struct {
	rule        string
	effects     []string
	skip        int
	assignments bool
	append      bool
	privilege   bool
	whole       bool
	tree, links bool // folders are read whole, and links in them followed
	visible     bool // but for hidden files
	runs        []string
	options     map[string]option
}

// plain reports a wrapper that neither lends rights nor makes words of its own.
func (p *program) plain() bool { return p.rule == "run" && !p.privilege && !p.append }

// option is what an option means. The zero value means nothing and takes no value.
type option struct {
	value    string // kind of the value it takes
	effect   string
	operands access // what it makes of the operands
}

// programs is the table, by name.
var programs = sync.OnceValue(func() map[string]*program {
	out := map[string]*program{}
	for line := range strings.Lines(programText) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] == "#" {
			continue
		}
		p := parseProgram(fields[1:])
		for name := range strings.SplitSeq(fields[0], ",") {
			if out[name] != nil {
				panic(fmt.Sprintf("signals: programs.txt has two lines for %s", name))
			}
			out[name] = p
		}
	}
	return out
})

func parseProgram(fields []string) *program {
	p := &program{options: map[string]option{}}
	for _, f := range fields {
		key, value, _ := strings.Cut(f, "=")
		switch {
		case f[0] == '-':
			name, o := parseOption(f)
			p.options[name] = o
		case key == "operands":
			p.rule = value
		case key == "effects":
			p.effects = strings.Split(value, ",")
		case key == "runs":
			p.runs = strings.Split(value, ",")
		case key == "skip":
			p.skip, _ = strconv.Atoi(value)
		case key == "assignments":
			p.assignments = true
		case key == "append":
			p.append = true
		case key == "privilege":
			p.privilege = true
		case key == "whole":
			p.whole = true
		case key == "tree":
			p.tree = true
		case key == "links":
			p.links = true
		case key == "visible":
			p.visible = true
		default:
			panic("signals: programs.txt has no field " + f)
		}
	}
	return p
}

func parseOption(f string) (string, option) {
	if name, effect, ok := strings.Cut(f, "!"); ok {
		if a, ok := strings.CutPrefix(effect, "operands:"); ok {
			return name, option{effect: a, operands: access(a)}
		}
		return name, option{effect: effect}
	}
	name, value, _ := strings.Cut(f, "=")
	return name, option{value: value}
}

// lookup finds an option by its name or, as programs do, by the beginning of it.
func (p *program) lookup(name string) (option, bool) {
	if o, ok := p.options[name]; ok {
		return o, true
	}
	if len(name) < 4 || !strings.HasPrefix(name, "--") {
		return option{}, false
	}
	var found []option
	for full, o := range p.options {
		if strings.HasPrefix(full, name) && !slices.Contains(found, o) {
			found = append(found, o)
		}
	}
	if len(found) != 1 {
		return option{}, false
	}
	return found[0], true
}

// arguments are a command's words taken apart.
type arguments struct {
	options  []givenOption
	operands []shellWord
	loose    []shellWord // options that nobody knows
}

// givenOption is an option that was given.
type givenOption struct {
	option
	name   string
	values []shellWord
}

// scan takes words apart. With first set it ends at the first operand: what
// follows is another command.
func (p *program) scan(words []shellWord, first bool) (a arguments) {
	ended := false
	for i := 0; i < len(words); i++ {
		w := words[i]
		_, dash := p.options["-"]
		switch {
		case w.open && !ended && p.idle(w.text):
			p.narrow(&a, w.text)
		case w.open || ended || !strings.HasPrefix(w.text, "-") || w.text == "-" && !dash:
			if first {
				a.operands = words[i:]
				return a
			}
			a.operands = append(a.operands, w)
		case w.text == "--":
			ended = true
		default:
			i += p.option(&a, w, words[i+1:])
		}
	}
	return a
}

// idle reports an open word that is only a pattern behind a long option whose
// value is of no interest: whatever it matches begins with the option.
func (p *program) idle(text string) bool {
	name, value, ok := strings.Cut(text, "=")
	o, known := p.options[name]
	return ok && known && slices.Contains([]string{"skip", "only", "except", "exceptfolder"}, o.value) && !strings.ContainsAny(value, "$`({<>")
}

// narrow adds an idle word that says which files alone are read: whatever it
// matches says no more of them.
func (p *program) narrow(a *arguments, text string) {
	name, value, _ := strings.Cut(text, "=")
	if o := p.options[name]; o.value == "only" {
		a.options = append(a.options, givenOption{option: o, name: name, values: []shellWord{{text: value}}})
	}
}

// option takes one option word apart and says how many words after it are its
// values.
func (p *program) option(a *arguments, w shellWord, rest []shellWord) (used int) {
	name, value, attached := w.text, "", false
	if strings.HasPrefix(name, "--") || p.whole {
		name, value, attached = strings.Cut(name, "=")
	}
	if p.whole {
		name = "-" + strings.TrimLeft(name, "-")
	}
	if o, ok := p.lookup(name); ok {
		g := givenOption{option: o, name: name}
		n := o.takes()
		if attached {
			g.values, n = append(g.values, shellWord{text: value}), n-1
		}
		used = max(0, min(n, len(rest)))
		g.values = append(g.values, rest[:used]...)
		a.options = append(a.options, g)
		return used
	}
	if strings.HasPrefix(name, "--") || p.whole {
		a.loose = append(a.loose, w)
		return 0
	}
	if strings.Trim(name[1:], "0123456789") == "" {
		return 0
	}
	for i := 1; i < len(name); i++ {
		o, ok := p.options["-"+name[i:i+1]]
		if !ok {
			a.loose = append(a.loose, w)
			continue
		}
		g := givenOption{option: o, name: "-" + name[i:i+1]}
		if n := o.takes(); n > 0 {
			if i+1 < len(name) {
				g.values, n = append(g.values, shellWord{text: name[i+1:]}), n-1
			}
			used = min(n, len(rest))
			g.values = append(g.values, rest[:used]...)
			i = len(name)
		}
		a.options = append(a.options, g)
	}
	return used
}

// takes is how many values an option has.
func (o option) takes() int {
	switch o.value {
	case "":
		return 0
	case "skip2", "skip1read":
		return 2
	}
	return 1
}

// builtins are the commands that a shell runs itself.
var builtins = sync.OnceValue(func() map[string]bool {
	names := strings.Fields(`. : [ alias bg bind break builtin caller cd command compgen complete compopt
	continue declare dirs disown echo enable eval exec exit export false fc fg getopts hash help history jobs kill
	let local logout mapfile popd printf pushd pwd read readarray readonly return set shift shopt source suspend
	test times trap true type typeset ulimit umask unalias unset wait`)
	out := make(map[string]bool, len(names))
	for _, name := range names {
		out[name] = true
	}
	return out
})

// modes are variables that sensitive would report and that only say in which mode a
// program works, who commits, or what it logs.
var modes = []string{"NODE_ENV", "NODE_NO_WARNINGS", "RUST_BACKTRACE", "RUST_LOG", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PYTHONHASHSEED", "PYTHONUTF8",
	"PYTHONIOENCODING", "CARGO_TERM_COLOR", "CARGO_INCREMENTAL", "GIT_TERMINAL_PROMPT", "GIT_OPTIONAL_LOCKS", "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL",
	"GIT_AUTHOR_DATE", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "GIT_COMMITTER_DATE", "AWS_REGION", "AWS_DEFAULT_REGION", "DOCKER_BUILDKIT", "PIP_NO_INPUT",
	"PIP_DISABLE_PIP_VERSION_CHECK"}

// set reports a setting that changes what a later command runs, reads or talks to.
// A pager or an editor that does nothing is none.
func set(name string, value shellWord) bool {
	switch {
	case !sensitive(name) || slices.Contains(modes, name):
		return false
	case strings.HasSuffix(name, "PAGER") || strings.HasSuffix(name, "EDITOR"):
		return value.open || !slices.Contains([]string{"", "cat", "true", ":"}, value.text)
	}
	return true
}

// sensitive reports variables that change what a later command runs, reads or
// talks to.
func sensitive(name string) bool {
	for _, s := range []string{"LD_", "DYLD_", "GIT_", "PYTHON", "PERL", "RUBY", "NODE_", "JAVA_", "JDK_", "BASH", "npm_", "NPM_", "CARGO_", "RUST", "MAKE", "SSH_", "SUDO_", "PIP_", "UV_", "DOCKER_", "AWS_", "KUBE", "LESS", "ZSH"} {
		if strings.HasPrefix(name, s) {
			return true
		}
	}
	for _, s := range []string{"PAGER", "EDITOR", "PATH", "OPTIONS", "OPTS", "FLAGS", "_PROXY", "_proxy", "ASKPASS", "WRAPPER", "_RSH", "COMMAND"} {
		if strings.HasSuffix(name, s) {
			return true
		}
	}
	return slices.Contains([]string{"ENV", "IFS", "HOME", "PWD", "OLDPWD", "SHELL", "SHELLOPTS", "PS0", "PS1", "PS2", "PS4", "VISUAL",
		"BROWSER", "CC", "CXX", "GOROOT", "ZDOTDIR", "CURL_HOME", "WGETRC", "SYSTEM_WGETRC", "XDG_CONFIG_HOME", "GLOBIGNORE", "EXECIGNORE", "INPUTRC", "HOSTALIASES", "TERMINFO", "LOCPATH", "NLSPATH"}, name)
}
