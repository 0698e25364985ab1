package signals

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// special are the commands that are more than a line of the table.
func special(name string) func(*line, *invocation, []shellWord, dirs) (dirs, dirs) {
	switch name {
	case "cd":
		return (*line).cd
	case "pushd", "popd":
		return (*line).pushd
	case "eval":
		return (*line).eval
	case "trap":
		return (*line).trap
	case "exit":
		return (*line).exit
	case "source", ".":
		return (*line).include
	case "alias":
		return (*line).alias
	case "sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "rbash":
		return (*line).shell
	case "find", "gfind":
		return (*line).find
	case "git":
		return (*line).git
	case "tar", "gtar", "bsdtar":
		return (*line).tar
	case "enable", "bind", "complete", "compgen", "mapfile", "readarray", "fc", "compopt":
		return (*line).rebinding
	}
	return nil
}

// run notes a command whose words are known, and what it would run in turn. It
// returns where the next command may run.
func (l *line) run(words []shellWord, in dirs, r redirects, settings []string) (ok, failed dirs) {
	if len(l.via) > maxDepth {
		l.fail("too_deep")
		return in, in
	}
	first := words[0]
	if l.passes(words) {
		return l.pass(words, in, r, settings)
	}
	c := l.out.room.command()
	c.words = words
	l.add(c)
	defer c.settle()
	c.problem(settings...)
	r.apply(c)
	if first.open || first.text == "" || strings.HasPrefix(first.text, "=") {
		// A shell may look =name up.
		c.problem("program_undetermined")
		l.fail("program_undetermined")
		return in, in
	}
	name := l.named(c, first, in)
	l.out.options = l.out.options || expandsOtherwise(name, words[1:])
	if f := special(name); f != nil {
		c.known = !slices.Contains(c.problems, "path_qualified")
		c.contained = c.known
		rest := words[1:]
		if !takesPatterns(name) {
			rest = unmatched(rest)
		}
		ok, failed = f(l, c, rest, in)
		c.contained = c.contained && !c.actsUnseen()
		return ok, failed
	}
	p := programs()[name]
	if p == nil {
		l.scripted(c, first, in)
		l.guess(c, words[1:], in, read)
		return in, in
	}
	c.known = p.rule != "guess" && p.rule != "package" && p.rule != "opaque" && p.rule != "foreign" && !slices.Contains(c.problems, "path_qualified")
	return l.apply(c, p, name, words[1:], in)
}

// takesPatterns reports special commands that say themselves which of their words
// may be patterns.
func takesPatterns(name string) bool {
	switch name {
	case "find", "gfind", "git", "tar", "gtar", "bsdtar":
		return true
	}
	return false
}

// expandsOtherwise reports a command after which, or in which, patterns may be
// expanded another way than sh does it by itself.
func expandsOtherwise(name string, words []shellWord) bool {
	switch name {
	case "shopt", "setopt", "unsetopt", "emulate", "options", "noglob", "zsh", "ksh", "mksh":
		return true
	case "set":
		return !keepsGlobs(words)
	}
	return false
}

// named looks at how a program is named and gives the name it is known under. A
// path-qualified name is another program than the plain one; it is read like it
// all the same, so that a rule against the plain one holds.
func (l *line) named(c *invocation, first shellWord, in dirs) string {
	name := first.text
	if !strings.Contains(name, "/") {
		c.builtin = builtins()[name] && !slices.Contains(c.via, "env") && !slices.Contains(c.via, "sudo")
		if l.functions[name] {
			c.problem("function")
		}
	} else {
		c.effect("execute")
		c.touches = l.touches(c.touches, first, in, execute, false)
		if dir := path.Dir(name); !slices.Contains([]string{"/bin", "/usr/bin", "/sbin", "/usr/sbin", "/usr/local/bin"}, dir) {
			c.problem("path_qualified")
		}
		name = path.Base(name)
	}
	if programs()[name] == nil && special(name) == nil {
		// python3.12 is a python.
		if s := strings.TrimRight(name, "0123456789.-"); programs()[s] != nil {
			return s
		}
		if s := strings.TrimSuffix(strings.ToLower(name), ".exe"); programs()[s] != nil || special(s) != nil {
			return s
		}
	}
	return name
}

// passes reports a wrapper that the scope names.
func (l *line) passes(words []shellWord) bool {
	n := l.wrapper(words)
	if n != 1 {
		return n > 0
	}
	// Of one that is known it is known where its own words end.
	p := programs()[words[0].text]
	return p == nil || !p.plain()
}

// wrapper is how many words a wrapper that the scope names has, before the command
// that it runs; zero where there is none.
func (l *line) wrapper(words []shellWord) (n int) {
	for _, name := range l.detector.scope.Wrappers {
		parts := strings.Fields(name)
		if len(parts) > n && len(words) > len(parts) && beginWith(words, parts) {
			n = len(parts)
		}
	}
	return n
}

func beginWith(words []shellWord, parts []string) bool {
	for i, p := range parts {
		if words[i].open || words[i].text != p {
			return false
		}
	}
	return true
}

func (l *line) pass(words []shellWord, in dirs, r redirects, settings []string) (ok, failed dirs) {
	n := l.wrapper(words)
	if words[n].open || strings.HasPrefix(words[n].text, "-") {
		// Its options are nobody's business but its own.
		l.fail("option_unknown")
	}
	l.via = append(l.via, words[0].text)
	l.run(words[n:], in, r, settings)
	l.via = l.via[:len(l.via)-1]
	return in, in
}

// apply reads the arguments of a command as the table says.
func (l *line) apply(c *invocation, p *program, name string, words []shellWord, in dirs) (ok, failed dirs) {
	if pages(name) && slices.ContainsFunc(words, func(w shellWord) bool { return strings.HasPrefix(w.text, "+") }) {
		// A command of theirs, which may run a program.
		c.effect("execute")
		c.problem("option_runs_program")
	}
	runs := p.rule == "run" || p.rule == "shell"
	a := p.scan(words, runs || p.rule == "script" || p.rule == "foreign")
	c.effectsOf(p.effects)
	l.implied(c, p.runs, in)
	if p.privilege {
		c.problem("privilege")
	}
	s := l.options(c, p, a, in)
	operands := c.operandsTaken(p, name, a.operands, s)
	defer func() {
		c.contained = c.contained || c.known && p.contained(c, name, a)
		if s.tree || p.tree {
			s.walk.follows = s.walk.follows || p.links
			s.walk.visible = p.visible && !s.hidden
			c.whole(s.walk)
		}
	}()
	if runs && len(a.loose) > 0 {
		l.fail("option_unknown")
	}
	if len(a.loose) > 0 && filterActs(name) != nil {
		c.problem("filter_acts")
	}
	for _, w := range a.loose {
		l.guess(c, []shellWord{w}, in, read)
	}
	if name == "make" || name == "gmake" {
		l.makes(c, operands, in)
	}
	if s.operands != "" && p.rule != "pattern" {
		l.operands(c, operands, in, s.operands)
	}
	if runs {
		return l.wrapped(c, p, name, operands, in, s)
	}
	l.byRule(c, p, name, words, operands, in, s)
	return in, in
}

// byRule reads the operands of a command by its program's rule.
func (l *line) byRule(c *invocation, p *program, name string, words, operands []shellWord, in dirs, s optionSettings) {
	switch p.rule {
	case "none":
		l.variables(c, name, words)
	case "here":
		if len(operands) == 0 {
			operands = []shellWord{{text: "."}}
		}
		l.operands(c, operands, in, read)
	case "read", "write", "delete", "execute":
		l.operands(c, operands, in, access(p.rule))
	case "rewrite":
		l.operands(c, operands, in, write)
	case "patch":
		// What it reads says which files it changes.
		l.operands(c, append(slices.Clone(operands), shellWord{text: "."}), in, write)
	case "copy", "move", "link", "remote":
		l.copies(c, linkRule(p.rule, words), operands, in, s.target)
	case "zip":
		l.each(c, operands, in, write, read)
	case "unzip":
		l.each(c, operands, in, read, write)
		l.operands(c, []shellWord{{text: "."}}, in, write)
	case "pattern":
		if !s.pattern && len(operands) > 0 {
			l.script(c, name, operands[0])
			operands = operands[1:]
		}
		if len(operands) == 0 && (l.stdin == nil || s.tree) {
			// Those that search folders begin here.
			operands = []shellWord{{text: "."}}
		}
		if s.operands == "" {
			l.operands(c, operands, in, read)
		} else {
			l.operands(c, operands, in, s.operands)
		}
	case "mode":
		l.operands(c, withoutMode(name, operands, words), in, write)
	case "keys":
		l.keys(c, operands, in)
	case "url", "host":
		l.addresses(c, operands)
		if p.rule == "host" && len(operands) > 1 {
			l.guess(c, operands[1:], in, read)
		}
	case "script", "foreign":
		l.interpreted(c, operands, in, s.inline)
	case "package":
		if len(operands) > 0 && (operands[0].open || slices.Contains(fetching, operands[0].text)) {
			c.effect("network", "write")
		}
		l.guess(c, operands, in, read)
		l.subcommand(c, name, words, in)
	case "opaque":
		l.fail("unseen_command")
		l.guess(c, operands, in, read)
	case "su":
		if !s.code {
			// A shell, which reads what it is given, or runs a script.
			l.fail("code_undetermined")
		}
	default:
		a := read
		if slices.Contains(p.effects, "write") {
			a = write
		}
		l.guess(c, operands, in, a)
	}
}

// running are the subcommands of package managers that run the command after them.
var running = map[string][]string{"uv": {"run"}, "poetry": {"run"}, "bundle": {"exec"}, "conda": {"run"}, "npm": {"exec", "x"}, "pnpm": {"exec", "dlx"},
	"yarn": {"exec", "dlx"}, "bun": {"x"}, "composer": {"exec"}}

// subcommand reads the command that a package manager is told to run.
func (l *line) subcommand(c *invocation, name string, words []shellWord, in dirs) {
	at := slices.IndexFunc(words, func(w shellWord) bool { return w.open || !strings.HasPrefix(w.text, "-") })
	if at < 0 || !slices.Contains(running[name], words[at].text) {
		return
	}
	rest := words[at+1:]
	for len(rest) > 0 && !rest[0].open && strings.HasPrefix(rest[0].text, "-") {
		rest = rest[1:]
	}
	if len(rest) == 0 {
		return
	}
	l.via = append(l.via, name)
	l.run(rest, in, redirects{}, nil)
	l.via = l.via[:len(l.via)-1]
}

// makes reads operands of make that set variables, before all that the file sets.
// X!=Y sets one to what a command prints, and $(shell Y) in a value is one too.
func (l *line) makes(c *invocation, operands []shellWord, in dirs) {
	for _, w := range operands {
		key, value, ok := strings.Cut(w.text, "=")
		if ok && sensitive(strings.TrimRight(key, ":+?! ")) {
			c.problem("environment")
		}
		switch {
		case w.open:
		case ok && strings.HasSuffix(key, "!"):
			l.runsToo(c, shellWord{text: value}, in)
		case strings.Contains(w.text, "$"):
			c.effect("execute")
			c.problem("option_runs_program")
		}
	}
}

// pages reports pagers and editors that take commands of their own.
func pages(name string) bool {
	return slices.Contains([]string{"less", "more", "zless", "man", "view", "vi", "vim", "nvim", "ex", "emacs", "nano"}, name)
}

// withoutMode are the operands that are files: without the mode or the owner that
// comes first, unless an option says it, or gives what to take it from.
func withoutMode(name string, operands, words []shellWord) []shellWord {
	if len(operands) < 2 || operands[0].open {
		return operands
	}
	first := operands[0].text
	switch name {
	case "chmod":
		if !modeOfFile.MatchString(first) {
			return operands
		}
	case "chattr":
		if !strings.HasPrefix(first, "+") && !strings.HasPrefix(first, "=") {
			return operands
		}
	case "chcon":
		if !strings.Contains(first, ":") {
			return operands
		}
	case "setfacl":
		return operands
	}
	if slices.ContainsFunc(words, func(w shellWord) bool { return strings.HasPrefix(w.text, "--ref") }) {
		return operands
	}
	return operands[1:]
}

var modeOfFile = regexp.MustCompile(`^([0-7]+|[ugoa]*[-+=][-+=ugoarwxXst,]*|[ugoa]+[-+=].*)$`)

// implied are files that a program runs where it is started, without being told,
// as far as they are there.
func (l *line) implied(c *invocation, names []string, in dirs) {
	if len(names) == 0 || l.world.Files == nil {
		return
	}
	for _, dir := range in.names {
		for _, name := range names {
			if p := l.tree.resolveIn(dir, name, true); p.unknown == "" && p.exists {
				c.touches = append(c.touches, touch{argument: l.argument, declared: name, access: execute, dir: dir, literal: true})
			}
		}
	}
}

// fetching are the subcommands of package managers and build tools that reach the
// network.
var fetching = strings.Fields(`add audit bin-add ci clone create dedupe deploy dlx download exec fetch get i init install isntall
	it link login logout mod outdated owner pack publish pull push restore search self show sync uninstall unpublish
	update upgrade vendor view whoami x yank`)

// optionSettings are what the options of a command say.
type optionSettings struct {
	target, pattern, inline, code, stop, shell bool
	replace                                    string
	operands                                   access
	tree, hidden                               bool // folders are read with what is in them, hidden files too
	walk                                       walk
}

func (l *line) options(c *invocation, p *program, a arguments, in dirs) (s optionSettings) {
	for _, o := range a.options {
		switch o.effect {
		case "":
		case "stop":
			s.stop = true
		case "shell":
			s.shell = true
		case "tree", "links", "tree+links":
			s.tree = s.tree || o.effect != "links"
			s.walk.follows = s.walk.follows || o.effect != "tree"
		case "hidden":
			s.hidden = true
		default:
			c.effect(o.effect)
			if o.effect == "write" && (p.rule == "none" || p.rule == "read") {
				c.problem("option_writes")
			}
		}
		if o.operands != "" {
			s.operands = o.operands
		}
		if o.operands == write || o.operands == remove {
			c.problem("option_writes")
		}
		for i, v := range unmatched(o.values) {
			l.value(c, o.option, i, v, in, &s)
		}
		if p.append && (o.name == "-i" || o.name == "--replace") {
			s.replace = "{}"
			if len(o.values) > 0 {
				s.replace = o.values[0].text
			}
		}
	}
	return s
}

// value reads the value of an option.
func (l *line) value(c *invocation, o option, i int, v shellWord, in dirs, s *optionSettings) {
	switch o.value {
	case "read", "write", "delete", "execute":
		if o.value == "write" || o.value == "delete" {
			c.problem("option_writes")
		}
		c.effect(o.value)
		if p := programs()[path.Base(c.program())]; o.value == "execute" && (p == nil || !slices.Contains(p.runs, v.text)) {
			// Other code than it runs by itself.
			c.problem("option_runs_program")
		}
		if o.value == "execute" && (v.text == "-" || v.text == "/dev/stdin" || v.text == "/dev/fd/0") {
			l.fail("code_from_stdin")
		}
		l.operands(c, []shellWord{v}, in, access(o.value))
	case "list":
		// What it names is read.
		l.operands(c, []shellWord{v, {text: v.text, open: true, many: true}}, in, read)
	case "folders":
		s.tree = s.tree || v.open || strings.HasPrefix(v.text, "r")
	case "glob":
		if v.open || !strings.HasPrefix(v.text, "!") {
			s.hidden = true
			s.walk.filter("only", v)
		}
	case "only", "except", "exceptfolder":
		s.walk.filter(o.value, v)
	case "target":
		s.target = true
		l.operands(c, []shellWord{v}, in, write)
	case "pattern":
		s.pattern = true
	case "sed":
		s.pattern = true
		l.script(c, "sed", v)
	case "patternfile":
		s.pattern = true
		if filterActs(path.Base(c.program())) != nil {
			c.problem("script_unread")
		}
		l.operands(c, []shellWord{v}, in, read)
	case "skip1read":
		if i == 1 {
			l.operands(c, []shellWord{v}, in, read)
		}
	case "dir":
		c.problem("changes_directory")
		l.fail("directory_unknown")
	case "code":
		s.code = true
		c.effect("execute")
		l.code(c, v, in)
	case "inline":
		s.inline = true
		l.inline(c, v, in)
		l.script(c, path.Base(c.program()), v)
	case "module":
		s.inline = true
		c.effect("execute")
	case "unseen":
		c.effect("execute")
		l.fail("unseen_command")
	case "command":
		l.runsToo(c, v, in)
	case "plugin", "package":
		harmless := strings.HasPrefix(v.text, "no:")
		if o.value == "package" {
			harmless = strings.HasPrefix(v.text, "@") || !looksLikePath(v.text)
		}
		if v.open || !harmless {
			c.effect("execute")
			c.problem("option_runs_program")
		}
	case "option":
		c.effect("execute")
		c.problem("option_runs_program")
	case "replace":
		s.replace = v.text
		if v.open || v.text == "" {
			l.fail("option_unknown")
		}
	case "cookie":
		if !strings.Contains(v.text, "=") {
			l.operands(c, []shellWord{v}, in, read)
		}
	case "data":
		if _, file, ok := strings.Cut(v.text, "@"); ok && !v.open {
			l.operands(c, []shellWord{{text: file}}, in, read)
		} else if v.open {
			l.operands(c, []shellWord{v}, in, read)
		}
	}
}

// runsToo reads a command that an option of another one names.
func (l *line) runsToo(c *invocation, v shellWord, in dirs) {
	c.effect("execute")
	c.problem("option_runs_program")
	l.via = append(l.via, path.Base(c.program()))
	l.code(c, v, in)
	l.via = l.via[:len(l.via)-1]
}

// operands are paths that all get the same treatment. A dash is a stream.
func (l *line) operands(c *invocation, words []shellWord, in dirs, a access) {
	for _, w := range words {
		if w.stream || !w.open && (w.text == "-" || harmless(w.text)) {
			continue
		}
		c.effect(string(a))
		c.touches = l.touches(c.touches, w, in, a, false)
	}
}

// each treats the first operand one way and the others another.
func (l *line) each(c *invocation, words []shellWord, in dirs, first, others access) {
	if len(words) == 0 {
		return
	}
	l.operands(c, words[:1], in, first)
	l.operands(c, words[1:], in, others)
}

// copies reads sources and a target.
func (l *line) copies(c *invocation, rule string, words []shellWord, in dirs, target bool) {
	sources, a := words, read
	switch rule {
	case "move":
		a = remove
	case "symlink":
		a = link
	}
	if !target {
		switch {
		case len(words) > 1 || len(words) == 1 && words[0].open:
			n := len(words) - 1
			l.remote(c, rule, words[n:], in, write)
			sources = words[:n]
		case (rule == "link" || rule == "symlink") && len(words) == 1:
			l.operands(c, []shellWord{{text: path.Base(words[0].text)}}, in, write)
		}
	}
	l.remote(c, rule, sources, in, a)
	if (rule == "link" || rule == "symlink") && len(words) > 1 && !words[len(words)-1].open {
		l.linked(c, sources, words[len(words)-1].text, in, a)
	}
}

// linkRule tells links that only name another place from those that are one more
// name of the file itself.
func linkRule(rule string, words []shellWord) string {
	if rule == "link" && slices.ContainsFunc(words, symbolic) {
		return "symlink"
	}
	return rule
}

func symbolic(w shellWord) bool {
	if strings.HasPrefix(w.text, "--") {
		return w.text == "--symbolic"
	}
	return strings.HasPrefix(w.text, "-") && strings.Contains(w.text, "s")
}

// linked looks up what links would point at: a relative target starts from the
// folder of the link, which is the name given or is put below it.
func (l *line) linked(c *invocation, targets []shellWord, name string, in dirs, a access) {
	for _, w := range targets {
		if !w.open && !path.IsAbs(w.text) {
			l.operands(c, []shellWord{{text: path.Join(path.Dir(name), w.text)}, {text: path.Join(name, w.text)}}, in, a)
		}
	}
}

// remote is operands that may be on another machine.
func (l *line) remote(c *invocation, rule string, words []shellWord, in dirs, a access) {
	for _, w := range words {
		host, _, far := strings.Cut(w.text, ":")
		if rule == "remote" && far && !w.open && !strings.Contains(host, "/") {
			c.effect("network")
			continue
		}
		l.operands(c, []shellWord{w}, in, a)
	}
}

func (l *line) keys(c *invocation, words []shellWord, in dirs) {
	for _, w := range words {
		key, value, _ := strings.Cut(w.text, "=")
		a := read
		if key == "of" {
			a = write
		}
		switch {
		case w.open:
			l.operands(c, []shellWord{w}, in, write)
		case key == "if" || key == "of":
			l.operands(c, []shellWord{{text: value}}, in, a)
		}
	}
}

// addresses are places on the network; some name a file instead.
func (l *line) addresses(c *invocation, words []shellWord) {
	for _, w := range words {
		if rest, ok := cutFold(w.text, "file://"); ok && !w.open {
			if i := strings.IndexByte(rest, '/'); i >= 0 {
				c.effect("read")
				c.touches = l.touches(c.touches, shellWord{text: rest[i:]}, dirs{}, read, false)
			}
		}
	}
}

func cutFold(s, prefix string) (string, bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return "", false
	}
	return s[len(prefix):], true
}

// variables looks at builtins that set a variable or evaluate their words.
func (l *line) variables(c *invocation, name string, words []shellWord) {
	formatted := name == "printf" && len(words) > 1 && words[0].text == "-v"
	switch name {
	case "read", "getopts", "unset", "let", "test", "[":
		formatted = true
	case "hash", "set", "shopt":
		if len(words) > 0 && name != "set" {
			c.problem("environment")
		}
		if name == "hash" && len(words) > 1 || name == "set" && slices.ContainsFunc(words, physical) {
			l.fail("rebinding")
		}
	}
	if !formatted {
		return
	}
	for _, w := range words {
		if hidesSubstitution(w.text) {
			l.fail("hidden_substitution")
		}
		if name != "test" && name != "[" && name != "unset" && sensitive(strings.TrimLeft(w.text, "-v")) {
			c.problem("environment")
		}
		l.sets(w.text)
	}
}

// physical reports an option of set after which cd takes `..` off the folder and
// not off its name.
func physical(w shellWord) bool {
	return w.text == "physical" || !w.open && strings.HasPrefix(w.text, "-") && strings.Contains(w.text, "P")
}

// wrapped reads the command that a wrapper runs.
func (l *line) wrapped(c *invocation, p *program, name string, words []shellWord, in dirs, s optionSettings) (ok, failed dirs) {
	n := p.skip
	for p.assignments && n < len(words) {
		key, value, ok := strings.Cut(words[n].text, "=")
		if words[n].open && !ok || !ok {
			break
		}
		if set(key, shellWord{text: value, open: words[n].open}) || strings.ContainsAny(key, "$`'\"\\*?[") {
			c.problem("environment")
		}
		l.rebound = l.rebound || key == "HOME" || words[n].open
		n++
	}
	if s.stop || s.operands != "" {
		return in, in
	}
	for _, w := range words[:min(n, len(words))] {
		if w.open && w.many {
			l.fail("program_undetermined")
		}
	}
	if n >= len(words) {
		if s.shell {
			l.fail("code_from_stdin")
		}
		return in, in
	}
	words = words[n:]
	c.contained = c.known && name != "nohup"
	uses := len(l.out.uses)
	defer func() { l.out.overlap(l.out.uses[uses:], len(l.out.commands), true) }()
	c.passes = p.plain() && len(c.effects) == 0 && len(c.touches) == 0 && len(c.problems) == 0
	c.effect("execute")
	l.via = append(l.via, name)
	defer func() { l.via = l.via[:len(l.via)-1] }()
	switch {
	case p.rule == "shell" || s.shell:
		return l.joined(c, words, in)
	case words[0].text == "-c" || words[0].text == "--command":
		return l.joined(c, words[1:], in)
	case strings.HasPrefix(words[0].text, "-"):
		l.fail("option_unknown")
	case p.append:
		words = appended(words, s.replace)
	}
	// It is the command that is run to which they mean anything.
	c.taken = c.patterns()
	ok, failed = l.run(words, in, redirects{}, nil)
	if name == "command" || name == "builtin" {
		return ok, failed
	}
	return in, in
}

// appended is a command as a wrapper runs it that adds words it reads, or puts
// them where a mark stands.
func appended(words []shellWord, mark string) []shellWord {
	out := slices.Clone(words)
	if mark == "" {
		return append(out, shellWord{text: "...", open: true, many: true})
	}
	for i, w := range out {
		// The mark may be in a name that a pattern matches.
		if out[i].matches = nil; strings.Contains(w.text, mark) {
			out[i].open = true
		}
	}
	return out
}

// joined reads words as one line of shell.
func (l *line) joined(c *invocation, words []shellWord, in dirs) (ok, failed dirs) {
	var text []string
	for _, w := range words {
		if w.open {
			return l.code(c, w, in)
		}
		text = append(text, w.text)
	}
	return l.code(c, shellWord{text: strings.Join(text, " ")}, in)
}

// code reads shell text that a command runs.
func (l *line) code(c *invocation, w shellWord, in dirs) (ok, failed dirs) {
	if w.open {
		c.problem("code_undetermined")
		l.fail("code_undetermined")
		return in, in
	}
	child := *l
	child.depth++
	child.stdin = nil
	// Another shell does not have them, and this one may set them in the text.
	child.bindings = nil
	ok, failed = child.read(w.text, in)
	l.rebound = l.rebound || child.rebound
	return ok, failed
}

func (l *line) eval(c *invocation, words []shellWord, in dirs) (ok, failed dirs) {
	if len(words) > 0 && words[0].text == "--" {
		words = words[1:]
	}
	if len(words) == 0 {
		return in, in
	}
	c.effect("execute")
	l.via = append(l.via, "eval")
	defer func() { l.via = l.via[:len(l.via)-1] }()
	return l.joined(c, words, in)
}

func (l *line) trap(c *invocation, words []shellWord, in dirs) (ok, failed dirs) {
	for len(words) > 0 && strings.HasPrefix(words[0].text, "-") && !words[0].open {
		words = words[1:]
	}
	if len(words) > 1 {
		l.out.later = true
		uses := len(l.out.uses)
		l.code(c, words[0], in)
		l.out.overlap(l.out.uses[uses:], always, true)
	}
	return in, in
}

func (l *line) alias(c *invocation, words []shellWord, in dirs) (ok, failed dirs) {
	for _, w := range words {
		if w.open {
			l.fail("code_undetermined")
		}
		if _, text, ok := strings.Cut(w.text, "="); ok {
			c.problem("alias")
			l.fail("alias")
			l.out.later = true
			l.code(c, shellWord{text: text}, in)
		}
	}
	return in, in
}

// exit ends the line, unless the line gave the name another meaning.
func (l *line) exit(c *invocation, words []shellWord, in dirs) (ok, failed dirs) {
	if len(l.functions) > 0 {
		return in, in
	}
	return dirs{}, dirs{}
}

// include runs a script in this shell: it may change the folder.
func (l *line) include(c *invocation, words []shellWord, in dirs) (ok, failed dirs) {
	l.out.moved, l.out.renames = true, true
	switch {
	case len(words) > 0 && words[0].stream:
		l.code(c, shellWord{open: true}, in)
	case len(words) > 0 && stdinName(words[0]):
		l.code(c, l.input(), in)
	case len(words) > 0:
		l.interpreted(c, words, in, false)
		l.file(c, words[0], in)
	}
	return dirs{open: true}, in
}

// stdinName reports names of what a command reads.
func stdinName(w shellWord) bool {
	return !w.open && slices.Contains([]string{"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"}, w.text)
}

// rebinding is builtins that give names and keys another meaning.
func (l *line) rebinding(c *invocation, words []shellWord, in dirs) (ok, failed dirs) {
	if len(words) > 0 {
		c.problem("environment")
		if slices.ContainsFunc(words, func(w shellWord) bool { return strings.HasPrefix(w.text, "-") }) {
			l.fail("rebinding")
		}
	}
	return in, in
}

// cd changes the folder of what follows, if it succeeds.
func (l *line) cd(c *invocation, words []shellWord, in dirs) (ok, failed dirs) {
	l.out.moved = true
	for len(words) > 0 && (words[0].text == "-L" || words[0].text == "--") {
		words = words[1:]
	}
	if len(words) == 0 {
		if !l.homeKnown() {
			return dirs{open: true}, in
		}
		words = []shellWord{{text: l.world.Home}}
	}
	w := words[0]
	if w.open || len(words) > 1 || strings.HasPrefix(w.text, "-") || w.text == "" {
		return dirs{open: true}, in
	}
	return in.change(w.text), in
}

// change is where a cd leads. A shell takes `..` off the name it came by.
func (d dirs) change(to string) (out dirs) {
	if path.IsAbs(to) {
		return dirs{names: []string{path.Clean(to)}}
	}
	out.open = d.open
	for _, n := range d.names {
		out = out.or(dirs{names: []string{path.Join(n, to)}})
	}
	return out
}

func (l *line) pushd(c *invocation, words []shellWord, in dirs) (ok, failed dirs) {
	l.out.moved = true
	if len(words) == 1 && !words[0].open && !strings.HasPrefix(words[0].text, "-") && !strings.HasPrefix(words[0].text, "+") && c.program() == "pushd" {
		return in.change(words[0].text), in
	}
	return dirs{open: true}, in
}

// shell is another shell: text after -c, a script, or what it reads.
func (l *line) shell(c *invocation, words []shellWord, in dirs) (ok, failed dirs) {
	c.effect("execute")
	code, stdin := false, false
	for len(words) > 0 {
		w := words[0]
		if w.open || len(w.text) < 2 || w.text[0] != '-' && w.text[0] != '+' {
			break
		}
		words = words[1:]
		if w.text == "--" {
			break
		}
		if strings.HasPrefix(w.text, "--") {
			l.out.options = true
			name, _, attached := strings.Cut(w.text, "=")
			if (name == "--rcfile" || name == "--init-file") && len(words) > 0 && !attached {
				l.operands(c, words[:1], in, execute)
				words = words[1:]
			}
			continue
		}
		code = code || w.text[0] == '-' && strings.Contains(w.text, "c")
		l.out.options = l.out.options || w.text[0] != '-' || strings.Trim(w.text, "-ceuxl") != ""
		stdin = stdin || strings.Contains(w.text, "s")
		for range strings.Count(strings.ToLower(w.text), "o") {
			words = words[min(1, len(words)):]
		}
	}
	l.via = append(l.via, path.Base(c.program()))
	defer func() { l.via = l.via[:len(l.via)-1] }()
	switch {
	case code && len(words) > 0:
		l.code(c, words[0], in)
	case len(words) > 0 && !stdin && !code && words[0].stream:
		l.code(c, shellWord{open: true}, in)
	case len(words) > 0 && !stdin && !code && !stdinName(words[0]):
		l.interpreted(c, words, in, false)
		l.file(c, words[0], in)
	default:
		l.code(c, l.input(), in)
	}
	return in, in
}

// input is what a command reads, where that is known.
func (l *line) input() shellWord {
	if l.stdin == nil {
		return shellWord{open: true}
	}
	return *l.stdin
}

// interpreted is the script that an interpreter runs.
func (l *line) interpreted(c *invocation, words []shellWord, in dirs, inline bool) {
	c.effect("execute")
	switch {
	case inline:
	case len(words) == 0 || stdinName(words[0]):
		if l.stdin != nil {
			l.inline(c, *l.stdin, in)
		}
	case words[0].stream:
		c.problem("inline_code")
	default:
		l.operands(c, words[:1], in, execute)
		words = words[1:]
	}
	l.guess(c, words, in, read)
}

// inline is code in another language. What it names in quotes is looked up.
func (l *line) inline(c *invocation, w shellWord, in dirs) {
	c.effect("execute")
	c.problem("inline_code")
	if w.open {
		c.problem("code_undetermined")
		return
	}
	for _, m := range quoted.FindAllString(w.text, -1) {
		l.guess(c, []shellWord{{text: m[1 : len(m)-1]}}, in, read)
	}
}

var quoted = regexp.MustCompile(`'[^'\n]*'|"[^"\n]*"`)

// script is the program of sed or awk, which may run and write by itself.
func (l *line) script(c *invocation, name string, w shellWord) {
	var runs *regexp.Regexp
	switch name {
	case "sed", "gsed":
		runs = sedRuns
	case "awk", "gawk", "mawk", "nawk":
		runs = awkRuns
	default:
		return
	}
	if w.open || runs.MatchString(w.text) {
		c.effect("execute", "write")
		c.problem("inline_code")
	}
	if acts := filterActs(name); !w.open && acts != nil && acts.MatchString(w.text) {
		c.problem("filter_acts")
	}
}

// filterActs matches scripts of a filter that write or run something and do not
// only compare: what is suspected of running code is more than that.
func filterActs(name string) *regexp.Regexp {
	switch name {
	case "sed", "gsed":
		return sedRuns
	case "awk", "gawk", "mawk", "nawk":
		return awkActs
	}
	return nil
}

var awkActs = regexp.MustCompile(`system\s*\(|getline|ENVIRON|@|(^|[^|])\|([^|]|$)|\bprintf?\b[^;}\n]*>`)

var (
	sedRuns = regexp.MustCompile(`(^|[;{}\n0-9$/,!~+])\s*[eErRwW](\s|$)|[^\\a-zA-Z0-9\s][gpiImM0-9]*[ew][gpiImM0-9]*\s*([;}\n]|$|\s)`)
	awkRuns = regexp.MustCompile("system|getline|[|>]|@")
)

// guess looks up words that may name a path.
func (l *line) guess(c *invocation, words []shellWord, in dirs, a access) {
	for _, w := range words {
		if w.open {
			c.touches = l.touches(c.touches, w, in, a, false)
			continue
		}
		if w.stream || harmless(w.text) {
			continue
		}
		var room [6]string
		for _, s := range pieces(room[:0], w.text) {
			c.touches = l.touches(c.touches, shellWord{text: s}, in, a, true)
		}
	}
}

// pieces are the parts of a word that may name a path: after an option, a key
// or a mark. They are put into out, which is empty.
func pieces(out []string, s string) []string {
	if strings.Contains(s, "://") {
		rest, ok := cutFold(s, "file://")
		if i := strings.IndexByte(rest, '/'); ok && i >= 0 {
			return append(out, rest[i:])
		}
		return out
	}
	add := func(s string) {
		if s != "" && !slices.Contains(out, s) && unreadable(s) == "" && len(s) <= maxPath {
			out = append(out, s)
		}
	}
	if !strings.HasPrefix(s, "-") {
		add(s)
	} else if i := strings.IndexAny(s, "/.~"); i > 0 && !strings.Contains(s, "=") {
		add(s[i:])
	}
	if !strings.ContainsAny(s, "=@:,") {
		return out // nearly always
	}
	for _, sep := range []string{"=", "@", ":", ","} {
		if _, after, ok := strings.Cut(s, sep); ok {
			add(after)
		}
	}
	if before, _, ok := strings.Cut(s, ":"); ok {
		add(before)
	}
	return out
}

// looksLikePath reports words that name a file by their form.
func looksLikePath(s string) bool {
	if strings.ContainsAny(s, " \n\t(){};<>|&") {
		return false
	}
	return strings.Contains(s, "/") || strings.HasPrefix(s, ".") || strings.HasPrefix(s, "~") || strings.LastIndexByte(s, '.') > 0
}
