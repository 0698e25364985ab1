package signals

import (
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conjunct-project/conjunct/engine"
)

// patternLine is a random line of commands that read, make and change files, most
// of them by patterns.
func patternLine(w *writer) string {
	if w.r.IntN(5) == 0 {
		return patternLoop(w)
	}
	var parts []string
	for range 1 + w.r.IntN(3) {
		parts = append(parts, patternCommand(w))
	}
	text := strings.Join(parts, w.pick("; ", " && ", " || ", "\n", " | ", "; ", " && "))
	switch w.r.IntN(14) {
	case 0:
		return "for x in 1 2; do " + text + "\ndone"
	case 1:
		return "{ " + text + "\n} > " + w.file()
	case 2:
		return "bash -c " + quote(text)
	case 3:
		return "f() { " + text + "\n}; f; f"
	case 4:
		return "cd d0 && " + text
	case 5:
		return w.pick("set -f; ", "set -e; ", "shopt -s dotglob; ", "shopt -s nullglob; ", "set -eu; ", "GLOBIGNORE='f*'; ") + text
	case 6:
		return text + " & wait"
	case 7:
		return "eval " + quote(text)
	case 8:
		return "find . -maxdepth 1 -name 'f[01]' -exec sh -c " + quote(text) + " \\;"
	case 9:
		return "trap " + quote(text) + " EXIT; " + patternCommand(w)
	}
	return text
}

func patternCommand(w *writer) string {
	switch w.r.IntN(16) {
	case 13, 14:
		return patternLoop(w)
	case 0, 1, 2:
		return w.pick("cat ", "tail -n 5 ", "grep -h . ", "cat -- ", "timeout 5 cat ", "sort ", "sed -n p ") + w.glob()
	case 3:
		return "rm -rf " + w.glob()
	case 4:
		return w.pick("cp ", "cp -r ", "mv ", "mv -f ") + w.glob() + " " + w.pick("d0", "d1", w.glob(), w.file())
	case 5:
		return "touch " + w.pick(w.glob(), w.file())
	case 6:
		return "cat " + w.glob() + w.pick(" > ", " >> ", " | tee ") + w.file()
	case 7:
		return "mkdir " + w.pick("d2", "f7", w.glob())
	case 8:
		return "ln -s " + w.pick("f9", "../secret", "d1") + " " + w.pick("f8", "d0/f8", "n1")
	case 9:
		return "ls " + w.glob()
	case 10:
		return "tar cf - " + w.glob()
	case 11:
		return "cat $(echo " + w.glob() + ") " + w.glob()
	}
	return "cat " + w.glob() + " " + w.glob()
}

// patternLoop is a loop over names and patterns whose body uses its variable.
func patternLoop(w *writer) string {
	items := w.pick(w.glob(), w.glob()+" "+w.file(), w.file()+" d1", "{f0,d0/f2}", "d0/{f2,*}", "'f 1' f0", "$(ls)", "f'*' f0", "d?")
	body := ""
	for range 1 + w.r.IntN(2) {
		body += w.pick(`cat $f`, `cat "$f"`, `rm -f $f`, `touch "$f.x"`, `cp -r $f d0`, `cp $f f8; cat f8`, `mv $f d1/n`, `cat $f > $f.out`,
			`cat f?$f`, `[ -f $f ] && cat $f`, `(cd $f && cat *)`, `cd $f && cat f*`, `f=f0; cat $f`, `read f; cat $f`, `for g in f0 $f; do cat "$g"; done`,
			`for f in f9; do cat $f; done; cat $f`, `: ${f:=f9}; cat $f`, `g=$f; cat $g`, `sh -c 'cat $f f0'`, `sh -c "cat $f"`, `eval cat $f`,
			`cat < $f`, `cat ${f%0}9`, `tee $f < f0`, `ln -s $f n1`, `find $f -type f -exec cat {} +`) + "; "
	}
	return w.pick("", "", "", "set -f; ", "IFS=/; ", "declare -n r=f; ", "f=f9; ") + "for f in " + items + "; do " + body + "done" + w.pick("", "", "; cat $f")
}

var fileName = regexp.MustCompile(`<<[^<>\n]*>>`)

// TestPatternsInLines runs random lines with patterns, each file holding its own
// name, and holds that whatever was printed or changed is in the facts, unless
// they say that not all is known.
func TestPatternsInLines(t *testing.T) {
	known, printed, changed := patternLines(t, 0, 160)
	t.Logf("%d lines were known; they printed %d files and changed %d", known, printed, changed)
	if known < 40 || printed < 60 || changed < 20 {
		t.Fatal("too few to mean anything")
	}
}

func patternLines(t *testing.T, from, to uint64) (known, printed, changed int) {
	t.Helper()
	tool := engine.Tool{Arguments: map[string]engine.Argument{"command": {Kind: engine.CommandKind}}}
	for seed := from; seed < to; seed++ {
		w := &writer{rand.New(rand.NewPCG(seed, 21))}
		text := patternLine(w)
		top, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		dir := plantNamed(t, top)
		d, _ := New(Scope{Roots: []string{dir}}, []Family{Path, Shell})
		call := &Call{Action: engine.Action{Arguments: map[string]any{"command": text}}, Tool: tool, Declared: true}
		facts, _ := d.Facts(context.Background(), call, World{Files: Disk{}, Dir: dir, Home: filepath.Join(top, "home")})
		paths, ok := facts["path"].(map[string]any)["paths"].([]any)
		if !ok {
			continue
		}
		known++
		before := snapshot(t, top)
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		cmd := exec.CommandContext(ctx, []string{"bash", "sh"}[seed%2], "-c", text)
		cmd.Dir, cmd.Env = dir, []string{"PATH=/usr/bin:/bin", "PWD=" + dir}
		out, _ := cmd.Output() // how it ends is of no interest
		cancel()
		for _, name := range fileName.FindAllString(string(out), -1) {
			printed++
			file := filepath.Join(top, strings.Trim(name, "<>"))
			if !slices.ContainsFunc(paths, func(p any) bool {
				m := p.(map[string]any)
				// A folder that is copied or packed is read as a whole.
				return m["access"] != "link" && below(m["resolved"].(string), file)
			}) {
				t.Fatalf("seed %d: %s was printed, and is no path of\n%s\n%s", seed, file, text, listing(paths))
			}
		}
		changed += heldPaths(t, seed, text, paths, before, snapshot(t, top))
	}
	return known, printed, changed
}

// plantNamed makes a tree in which every file holds its name.
func plantNamed(t *testing.T, top string) string {
	t.Helper()
	dir := filepath.Join(top, "1", "2", "work")
	for _, name := range []string{"1/secret", "1/2/secret", "1/2/work/f0", "1/2/work/f9", "1/2/work/.f1", "1/2/work/d0/f2", "1/2/work/d0/.f3", "1/2/work/d0/sub/f4", "1/2/work/d1/f5", "1/2/work/d1/l2"} {
		full := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte("<<"+name+">>\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"l0": "d1/f5", "l1": "../", "d1/l1": "../d0", "f6": "../secret"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
