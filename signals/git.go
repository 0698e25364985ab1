package signals

import (
	"cmp"
	"slices"
	"strings"
	"sync"
)

// gitOptions stand before the subcommand.
var gitOptions = parseProgram(strings.Fields(`-C=folder -c=config --config-env=config --git-dir=repository --work-tree=repository --namespace=skip
	--exec-path=repository --super-prefix=skip -p --paginate -P --no-pager --bare --no-replace-objects --literal-pathspecs --glob-pathspecs --noglob-pathspecs
	--icase-pathspecs --no-optional-locks --no-lazy-fetch --version --help -h -v --html-path --man-path --info-path`))

// gitCommand is what a subcommand does, and how its operands are accessed.
type gitCommand struct {
	effects []string
	access  access
}

var gitCommands = sync.OnceValue(func() map[string]gitCommand {
	out := map[string]gitCommand{}
	add := func(a access, effects, names string) {
		for _, n := range strings.Fields(names) {
			out[n] = gitCommand{strings.Fields(effects), a}
		}
	}
	add(read, "read", `status log diff show blame annotate describe rev-parse ls-files ls-tree cat-file shortlog grep show-ref
		for-each-ref name-rev merge-base rev-list help version whatchanged cherry check-ignore check-attr count-objects fsck var diff-tree
		diff-index diff-files range-diff show-branch verify-commit verify-tag reflog hash-object`)
	add(read, "read write", `add stage commit branch tag notes config init stash rebase merge cherry-pick revert reset bisect gc prune repack
		update-ref update-index write-tree commit-tree symbolic-ref replace pack-refs maintenance rerere sparse-checkout worktree
		format-patch archive bundle apply am remote switch read-tree fast-import fast-export`)
	add(write, "read write", "checkout restore checkout-index mergetool difftool")
	add(remove, "delete write", "rm clean mv")
	add(read, "network read write", "push fetch pull ls-remote submodule send-email svn p4 fetch-pack send-pack lfs request-pull subtree daemon instaweb http-push http-fetch credential imap-send")
	add(write, "network read write", "clone")
	return out
})

// git runs its subcommand, and whatever its configuration says.
func (l *line) git(c *invocation, words []shellWord, in dirs) (ok, failed dirs) {
	a := gitOptions.scan(words, true)
	out := in
	var places []shellWord
	for _, o := range a.options {
		for _, v := range unmatched(o.values) {
			switch o.value {
			case "folder":
				if in = in.change(v.text); v.open {
					in = dirs{open: true}
				}
				places = []shellWord{{text: "."}}
			case "config":
				l.gitConfig(c, v, in)
			case "repository":
				c.problem("git_config")
				places = append(places, v)
			}
		}
	}
	if len(a.loose) > 0 {
		l.fail("option_unknown")
	}
	if len(a.operands) == 0 {
		return out, out
	}
	sub := a.operands[0]
	if sub.open {
		l.fail("program_undetermined")
		return out, out
	}
	l.gitCommand(c, sub.text, c.pathspecs(sub.text, a.operands[1:]), in)
	c.contained = c.contained && (slices.Equal(c.effects, []string{"read"}) || sub.text == "add" || sub.text == "stage")
	place := read
	if slices.Contains(c.effects, "write") || slices.Contains(c.effects, "execute") {
		place = write
	}
	// Another repository than the one it runs in.
	l.operands(c, places, in, place)
	return out, out
}

// pathspecs are the words after a subcommand with what patterns among them match,
// where it takes all names alike. Git reads one that matches nothing by itself.
func (c *invocation) pathspecs(sub string, words []shellWord) (out []shellWord) {
	if !slices.ContainsFunc(words, isPattern) {
		return words
	}
	alike := slices.Contains(gitNames, sub)
	names := false // all that follows
	for i, w := range words {
		to := 0
		if w.matches != nil && (alike && (i == 0 || !gitTakes(words[i-1])) || names) && !slices.Contains(w.matches.words, w.pattern.text) {
			to = 1
		}
		out = append(out, c.take(words[i:i+1], 0, to)...)
		names = names || w.text == "--" && (alike || sub == "checkout")
	}
	return out
}

// gitNames are subcommands to which a word that is no option is a file.
var gitNames = strings.Fields("add stage status diff log show rm ls-files restore commit")

// gitTakes reports an option that may take the word after it.
func gitTakes(w shellWord) bool {
	switch w.text {
	case "--", "-f", "-v", "-p", "-A", "-u", "-q", "--stat", "--cached", "--staged", "--name-only", "--oneline", "--force":
		return false
	}
	return w.matches == nil && (w.open || strings.HasPrefix(w.text, "-"))
}

// gitConfig is a setting for one run: it may name a program.
func (l *line) gitConfig(c *invocation, v shellWord, in dirs) {
	key, value, _ := strings.Cut(v.text, "=")
	key = strings.ToLower(key)
	for _, plain := range []string{"user.", "author.", "committer.", "color.", "advice.", "init.", "column."} {
		if !v.open && strings.HasPrefix(key, plain) || v.open && strings.HasPrefix(key, plain) && !strings.ContainsAny(key, "$`*?[") {
			return
		}
	}
	c.problem("git_config")
	c.effect("execute")
	code, shell := strings.CutPrefix(value, "!")
	if !v.open && (shell || gitProgram(key)) {
		l.runsToo(c, shellWord{text: code}, in)
	}
}

// gitProgram reports settings whose value is a command line.
func gitProgram(key string) bool {
	last := key[strings.LastIndexByte(key, '.')+1:]
	return strings.HasPrefix(key, "pager.") || slices.Contains(strings.Fields(`pager editor sshcommand fsmonitor askpass gitproxy external command
		textconv program helper driver clean smudge process difffilter cmd packobjectshook`), last)
}

func (l *line) gitCommand(c *invocation, name string, words []shellWord, in dirs) {
	sub, known := gitCommands()[name]
	if !known {
		// An alias, or a program called git-NAME.
		c.known = false
		c.effect("execute")
		sub.access = read
	}
	c.effectsOf(sub.effects)
	l.gitHooks(c, name, words, in)
	a, only := sub.access, false
	for i, w := range words {
		t, one := w.text, words[i:i+1]
		value, attached := "", false
		if strings.HasPrefix(t, "--") {
			_, value, attached = strings.Cut(t, "=")
		}
		switch {
		case t == "--":
			only = true
		case w.open:
			l.guess(c, one, in, a)
		case attached && (strings.HasPrefix(t, "--output") || strings.HasPrefix(t, "--out")):
			c.problem("option_writes")
			l.operands(c, []shellWord{{text: value}}, in, write)
		case (t == "-o" || t == "--output" || t == "--output-directory") && i+1 < len(words):
			c.problem("option_writes")
			l.operands(c, words[i+1:i+2], in, write)
		case strings.HasPrefix(t, "ext::") || strings.HasPrefix(t, "fd::"):
			c.effect("execute")
			c.problem("option_runs_program")
		case only:
			l.operands(c, one, in, a)
		case name == "rm" && !strings.HasPrefix(t, "-"), name == "mv" && !strings.HasPrefix(t, "-"):
			l.operands(c, one, in, remove)
			if name == "mv" {
				l.operands(c, one, in, write)
			}
		default:
			l.guess(c, one, in, a)
		}
	}
	switch name {
	case "apply", "am":
		l.operands(c, []shellWord{{text: "."}}, in, write)
	case "clean":
		l.operands(c, []shellWord{{text: "."}}, in, remove)
	case "remote":
		if len(words) == 0 || slices.Contains([]string{"-v", "show", "get-url"}, words[0].text) {
			c.effects = slices.DeleteFunc(slices.Clone(c.effects), func(s string) bool { return s == "write" })
		}
		if len(words) > 0 && slices.Contains([]string{"update", "show", "prune"}, words[0].text) {
			c.effect("network")
		}
	}
}

// gitHooks reads what a subcommand's words make it run.
func (l *line) gitHooks(c *invocation, name string, words []shellWord, in dirs) {
	runs := func(w []shellWord) {
		c.effect("execute")
		l.via = append(l.via, "git")
		l.joined(c, w, in)
		l.via = l.via[:len(l.via)-1]
	}
	for i, w := range words {
		t, value, attached := strings.Cut(w.text, "=")
		rest := words[i+1:]
		switch {
		case name == "rebase" && (t == "-x" || t == "--exec") && !attached && len(rest) > 0:
			runs(rest[:1])
		case name == "rebase" && t == "--exec" && attached:
			runs([]shellWord{{text: value, open: w.open}})
		case name == "rebase" && strings.HasPrefix(t, "-x"):
			runs([]shellWord{{text: strings.TrimPrefix(w.text, "-x"), open: w.open}})
		case name == "bisect" && i == 0 && t == "run" && len(rest) > 0:
			l.via = append(l.via, "git")
			l.run(rest, in, redirects{}, nil)
			l.via = l.via[:len(l.via)-1]
			c.effect("execute")
		case name == "submodule" && t == "foreach":
			for len(rest) > 0 && strings.HasPrefix(rest[0].text, "-") {
				rest = rest[1:]
			}
			if len(rest) > 0 {
				runs(rest)
			}
		case name == "grep" && strings.HasPrefix(t, "-O"):
			l.runsToo(c, shellWord{text: cmp.Or(strings.TrimPrefix(w.text, "-O"), "less"), open: w.open}, in)
		case gitOption(t, "--upload-pack", "--receive-pack", "--exec", "--open-files-in-pager", "--extcmd"):
			switch {
			case attached:
				l.runsToo(c, shellWord{text: value, open: w.open}, in)
			case len(rest) > 0 && !gitOption(t, "--open-files-in-pager"):
				l.runsToo(c, rest[0], in)
			}
			c.effect("execute")
			c.problem("option_runs_program")
		case gitOption(t, "--ext-diff", "--template", "--textconv"), name == "clone" && (t == "-u" || t == "-c" || t == "--config"):
			c.effect("execute")
			c.problem("option_runs_program")
		case name == "filter-branch", name == "difftool", name == "mergetool":
			c.effect("execute")
			c.problem("option_runs_program")
			if name == "difftool" && t == "-x" && len(rest) > 0 {
				l.runsToo(c, rest[0], in)
			}
		case name == "config" && gitRuns(t):
			c.problem("git_config")
		}
	}
}

// gitOption reports an option, also one that is written shorter.
func gitOption(have string, names ...string) bool {
	return strings.HasPrefix(have, "--") && have != "--text" && slices.ContainsFunc(names, func(full string) bool { return have == full || abbreviates(have, full) })
}

// gitRuns reports settings whose value is, or may be, a program.
func gitRuns(key string) bool {
	key = strings.ToLower(key)
	for _, s := range []string{"alias.", "core.", "diff.", "pager.", "filter.", "merge.", "credential", "sequence.", "gpg.", "url.", "include", "remote.", "http.", "protocol.", "difftool.", "mergetool.", "uploadpack.", "interactive.", "browser.", "man."} {
		if strings.HasPrefix(key, s) {
			return true
		}
	}
	return false
}
