package signals

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conjunct-project/conjunct/engine"
)

// writer writes random lines of shell out of harmless programs: stubs that log
// how they were called, and programs that change files below the folder they
// start in.
type writer struct {
	r *rand.Rand
}

func (w *writer) pick(options ...string) string { return options[w.r.IntN(len(options))] }

func (w *writer) line(depth int) string {
	var parts []string
	for range 1 + w.r.IntN(3) {
		parts = append(parts, w.stmt(depth))
	}
	return strings.Join(parts, w.pick("; ", "\n", " && ", " || ", " | ", " ;\n", "& wait; "))
}

func (w *writer) stmt(depth int) string {
	if depth <= 0 {
		return w.simple(depth)
	}
	in := func() string { return w.line(depth - 1) }
	switch w.r.IntN(34) {
	case 0:
		return "( " + in() + " )"
	case 1:
		return "{ " + in() + "\n}"
	case 2:
		return "if " + in() + "\nthen " + in() + "\nelse " + in() + "\nfi"
	case 3:
		return "for x in 1 2; do " + in() + "\ndone"
	case 4:
		return "case $(" + in() + ") in s*) " + in() + ";; *) " + in() + "\n;; esac"
	case 5:
		return "f() { " + in() + "\n}; f" + w.pick("", " x", "; unset -f f")
	case 6:
		return "! " + w.stmt(depth-1)
	case 7:
		return w.pick("sh", "bash", "sh -e", "bash -u") + " -c " + quote(in())
	case 8:
		return "eval " + quote(in())
	case 9:
		return w.pick("sh", "bash") + " <<'END'\n" + in() + "\nEND\n"
	case 10:
		return "bash <<< " + quote(in())
	case 11:
		return w.pick("env A=1", "nice", "nice -n 1", "nohup", "timeout 5", "timeout -k 1 5", "command", "xargs -n 1", "env -i PATH=\"$PATH\" LOG=\"$LOG\"", "stdbuf -o L", "setsid -w", "exec", "builtin command") + " " + w.call(depth)
	case 12:
		return "find . -maxdepth 0 -exec " + w.call(depth) + " \\;"
	case 13:
		return "trap " + quote(in()) + " EXIT"
	case 14:
		return "( " + in() + " ) > " + w.file()
	case 15:
		return "cat <(" + in() + ")"
	case 16:
		return "[[ -n $(" + in() + ") ]]"
	case 17:
		return "x=${y:-`" + w.simple(0) + "`}"
	case 18:
		return "(( $(" + in() + "; echo 1) ))"
	case 19:
		return w.pick("git -c alias.z='!", "git -c alias.z='! ") + w.stub() + "' z"
	case 20:
		return "f() { cd " + w.pick("d0", "d1") + "; }; f\n" + in()
	case 21:
		return "f() { " + in() + "\n}\ncd " + w.pick("d0", "d1") + "\nf"
	case 22:
		return "while read l; do " + in() + "\nbreak; done <<< x"
	case 23:
		return "[ -d d0 ] && " + w.stmt(depth-1)
	case 24:
		return "eval \"eval " + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(quote(in())) + "\""
	case 25:
		return "function g { " + in() + "\n}\ng"
	case 26:
		return "cat <<END\n$(" + in() + ")\nEND\n"
	case 27:
		return "time " + w.stmt(depth-1)
	case 28:
		return "set -- " + w.call(depth) + "\n\"$@\""
	case 29:
		return "declare v=$(" + in() + ")"
	case 30:
		return "a=($(" + in() + ") x)"
	case 31:
		return "# " + w.simple(0) + "\n" + w.simple(depth)
	case 32:
		return "s\\\n0 x; cd d0 || exit; " + w.stmt(depth-1)
	case 33:
		return "env -C " + w.pick("d0", "d1") + " touch f0"
	}
	return w.simple(depth)
}

// torn is a line with signs in it that quote, join, end or hide what follows. None
// comes before a separator: what is below the folder must stay so.
func (w *writer) torn(text string) string {
	for range 1 + w.r.IntN(3) {
		i := w.r.IntN(len(text))
		if text[i] != '/' && text[i] != '.' {
			text = text[:i] + w.pick("\\\n", "#", " #", "'", "\"", ";", "\n", "&", "|", "\\", "\\\n#", "#\\\n", "(", ")", "{", "}", "!", "\t") + text[i:]
		}
	}
	return text
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func (w *writer) stub() string { return w.pick("s0", "s1", "s2", "s3") }

func (w *writer) file() string {
	return w.pick("f0", "f1", "d0/f2", "d1/f3", "./f0", "d0/../f1", "l0", "l1/f4")
}

// glob is a pattern of names.
func (w *writer) glob() string {
	return w.pick("f*", "*", "d?/*", "*/f*", "[fl]*", "f[0-9]", "l*", "d0/*", "**/f*", ".*", "d[!1]*", "l1/*", "n*", "*/", "./f?")
}

// call is a program and its arguments, quoted in all ways.
func (w *writer) call(depth int) string {
	name := w.stub()
	switch w.r.IntN(7) {
	case 0:
		name = `\` + name
	case 1:
		name = "'" + name[:1] + "'" + name[1:]
	case 2:
		name = `"` + name + `"`
	case 3:
		name = "$'\\x73'" + name[1:]
	}
	out := name
	for range w.r.IntN(3) {
		out += " " + w.argument(depth)
	}
	return out
}

func (w *writer) argument(depth int) string {
	switch w.r.IntN(12) {
	case 0:
		return "'a b'"
	case 1:
		return `"x\"y"`
	case 2:
		return `a\ b`
	case 3:
		return "{p,q}"
	case 4:
		return "$HOME"
	case 5:
		return "~/z"
	case 6:
		return "$(" + w.line(depth-1) + ")"
	case 7:
		return "$UNSET"
	case 8:
		return `$'t\tu'`
	case 9:
		return "f*"
	case 10:
		return "#c"
	}
	return w.pick("a", "-f", "--long=1", "b;", "c&", `"$PWD"`)
}

func (w *writer) simple(depth int) string {
	switch w.r.IntN(16) {
	case 12:
		return w.pick("rm -f ", "touch ", "tee ", "chmod +x ", "mkdir -p ") + w.glob()
	case 13:
		return w.pick("cp -r ", "mv -f ") + w.glob() + " " + w.pick("d0", "d1", "l1", w.glob(), w.file())
	case 14:
		return w.pick("echo ", "printf %s ", "wc -l ", "ls ") + w.glob() + w.pick("", " > "+w.file(), " | tee "+w.file())
	case 15:
		in := w.pick("touch", "rm -f", "rm -rf") + " " + w.glob() + "; touch " + w.file()
		return w.pick("for x in 1 2; do "+in+"; done", "{ "+in+"; }", "( "+in+" )", "f() { "+in+"; }; f; f", "sh -c "+quote(in))
	case 0:
		return "cd " + w.pick("d0", "d1", "d0/sub", "..", "l1", ".", "none")
	case 1:
		return "touch " + w.file()
	case 2:
		return "rm -f " + w.file()
	case 3:
		return "cp f9 " + w.file()
	case 4:
		return "mv -f f9 " + w.file()
	case 5:
		return "echo x " + w.pick(">", ">>", "&>", ">|") + " " + w.file()
	case 6:
		return "ln -s f9 " + w.pick("n0", "d0/n1")
	case 7:
		return "echo f9 | xargs " + w.pick("touch", "s0", "rm -f")
	case 8:
		return "A=1 " + w.call(depth)
	}
	return w.call(depth)
}

// realLines runs random lines and holds that whatever ran, and whatever changed,
// is in the facts, unless they say that not all is known.
func realLines(t *testing.T, from, to uint64) (ran, changed int) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash here")
	}
	stubs := t.TempDir()
	for _, name := range []string{"s0", "s1", "s2", "s3"} {
		// One write each, or the calls of a pipe mix.
		text := "#!/bin/sh\nl=" + name + "\nfor a; do l=\"$l\x1f$a\"; done\nprintf '%s\\036' \"$l\" >> \"$LOG\"\n"
		if err := os.WriteFile(filepath.Join(stubs, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	tool := engine.Tool{Arguments: map[string]engine.Argument{"command": {Kind: engine.CommandKind}}}
	for seed := from; seed < to; seed++ {
		w := writer{rand.New(rand.NewPCG(seed, 3))}
		text := w.line(2)
		if seed%2 == 1 {
			text = w.torn(text)
		}
		top, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(top, "1", "2", "3", "4", "5", "work")
		for _, d := range []string{"d0/sub", "d1"} {
			if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		for name, target := range map[string]string{"l0": "d1/f5", "l1": "../", "d1/l1": "../d0"} {
			if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, "f9"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		home := filepath.Join(top, "home")
		d, _ := New(Scope{Roots: []string{dir}}, []Family{Path, Shell})
		call := &Call{Action: engine.Action{Arguments: map[string]any{"command": text}}, Tool: tool, Declared: true}
		facts, unknown := d.Facts(context.Background(), call, World{Files: Disk{}, Dir: dir, Home: home})

		before := snapshot(t, top)
		// What is left running in the background goes on writing its own log.
		log := filepath.Join(stubs, fmt.Sprint("log", seed))
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		cmd := exec.CommandContext(ctx, bash, "--norc", "--noprofile", "-c", text)
		cmd.Dir, cmd.Env = dir, []string{"PATH=" + stubs + ":/usr/bin:/bin", "LOG=" + log, "HOME=" + home, "PWD=" + dir}
		cmd.WaitDelay = time.Second
		// What it prints and how it ends is of no interest.
		_ = cmd.Run()
		cancel()
		logged, _ := os.ReadFile(log)

		if commands, ok := facts["shell"].(map[string]any)["commands"].([]any); ok {
			ran += heldCommands(t, seed, text, commands, logged)
		}
		if paths, ok := facts["path"].(map[string]any)["paths"].([]any); ok {
			changed += heldPaths(t, seed, text, paths, before, snapshot(t, top))
		} else if len(unknown) == 0 {
			t.Fatalf("seed %d: no paths and nothing unknown", seed)
		}
	}
	return ran, changed
}

// heldCommands holds that every call of a stub is one of the commands, word by
// word where the words are known.
func heldCommands(t *testing.T, seed uint64, text string, commands []any, logged []byte) (ran int) {
	t.Helper()
	for one := range bytes.SplitSeq(logged, []byte{0x1e}) {
		if len(one) == 0 {
			continue
		}
		ran++
		words := strings.Split(string(one), "\x1f")
		if !slices.ContainsFunc(commands, func(c any) bool {
			m := c.(map[string]any)
			if m["program"] != words[0] {
				return false
			}
			if slices.Contains(m["problems"].([]any), any("undetermined_word")) {
				return true
			}
			return slices.EqualFunc(m["words"].([]any), words, func(a any, b string) bool { return a == b })
		}) {
			t.Fatalf("seed %d: %q ran, and is no command of\n%s\n%s", seed, words, text, listing(commands))
		}
	}
	return ran
}

func listing(list []any) string {
	var b strings.Builder
	for _, e := range list {
		m := e.(map[string]any)
		fmt.Fprintln(&b, m["via"], m["text"], m["access"], m["resolved"], m["problems"])
	}
	return b.String()
}

// heldPaths holds that every name that came, went or changed is a path that the
// line writes or deletes, or is below one.
func heldPaths(t *testing.T, seed uint64, text string, paths []any, before, after map[string]string) (changed int) {
	t.Helper()
	names := map[string]bool{}
	for n := range before {
		names[n] = before[n] != after[n]
	}
	for n := range after {
		names[n] = before[n] != after[n]
	}
	for n, is := range names {
		if !is {
			continue
		}
		changed++
		if !slices.ContainsFunc(paths, func(p any) bool {
			m := p.(map[string]any)
			resolved := m["resolved"].(string)
			// cp and mv into a folder write below it.
			return (m["access"] == "write" || m["access"] == "delete") && (below(resolved, n) || m["link"] == n)
		}) {
			t.Fatalf("seed %d: %s changed (%q to %q), and is no path of\n%s\n%s", seed, n, before[n], after[n], text, listing(paths))
		}
	}
	return changed
}

// snapshot is every name below a folder and what is there, folders by name only.
func snapshot(t *testing.T, top string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(top, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch {
		case e.IsDir():
			out[name] = "folder"
		case e.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(name)
			out[name] = "link " + target
			return err
		default:
			info, err := e.Info()
			if err != nil {
				return err
			}
			out[name] = fmt.Sprint("file ", info.Size())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestWhatRunsIsInTheFacts(t *testing.T) {
	ran, changed := realLines(t, 0, 80)
	if ran < 20 || changed < 3 {
		t.Fatalf("only %d programs ran and %d files changed where all was known", ran, changed)
	}
	t.Logf("%d programs ran and %d files changed where all was known", ran, changed)
}

// FuzzShell holds that no text crashes the reading of commands, and that there
// are commands exactly where nothing is unknown.
func FuzzShell(f *testing.F) {
	for _, c := range readCases(f, "testdata/shell.jsonl") {
		if s, ok := c.Line.(string); ok {
			f.Add(s)
		}
	}
	d, _ := New(Scope{Roots: []string{"/w/app"}, Commands: map[string][]string{"deny": {"rm -rf *", "git push *"}, "allow": {"*"}}}, []Family{Path, Shell})
	tool := engine.Tool{Arguments: map[string]engine.Argument{"command": {Kind: engine.CommandKind}}}
	w := World{Files: files{"/w/app/": "", "/home/u/": ""}, Dir: "/w/app", Home: "/home/u"}
	f.Fuzz(func(t *testing.T, text string) {
		call := &Call{Action: engine.Action{Arguments: map[string]any{"command": text}}, Tool: tool, Declared: true}
		facts, unknown := d.Facts(context.Background(), call, w)
		shell := false
		for _, u := range unknown {
			if strings.Contains(u, "panic") {
				t.Fatalf("%q: %s", text, u)
			}
			shell = shell || strings.HasPrefix(u, "shell")
		}
		commands, ok := facts["shell"].(map[string]any)["commands"].([]any)
		if ok == shell {
			t.Fatalf("%q: commands %v and unknown %v", text, commands, unknown)
		}
		if ok && (len(commands) == 0 || unreadableLine(text) != "") {
			t.Fatalf("%q is clean", text)
		}
	})
}
