package signals

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/conjunct-project/conjunct/engine"
)

// Programs that build and test are on many a list of what runs unasked, so what
// their options run or write by themselves has to be told.
func TestWhatOptionsOfBuildsAndTestsDo(t *testing.T) {
	for _, c := range []struct{ line, problem, touch string }{
		{"go test -exec=./evil ./...", "option_runs_program", ""},
		{"go test -exec ./evil ./...", "option_runs_program", ""},
		{"go test --exec ./evil ./...", "option_runs_program", ""},
		{"go build --toolexec=./evil ./...", "option_runs_program", ""},
		{"go vet -vettool=./evil ./...", "option_runs_program", ""},
		{"go vet -vettool ./evil ./...", "option_runs_program", ""},
		{"go test -trace=.git/config ./...", "option_writes", ".git/config write"},
		{"go test -coverprofile .git/config ./...", "option_writes", ".git/config write"},
		{"go build -o=.git/hooks/pre-commit .", "option_writes", ".git/hooks/pre-commit write"},
		{"go build -o .git/hooks/pre-commit .", "option_writes", ".git/hooks/pre-commit write"},
		{"go test ./... -args -test.outputdir=.git/hooks", "option_writes", ".git/hooks write"},
		{"go build -ldflags=-extld=./evil .", "option_runs_program", ""},
		{"go build -gcflags '-o x' .", "option_runs_program", ""},
		{"gofmt -cpuprofile=.git/config x.go", "option_writes", ".git/config write"},
		{"cargo build --config 'build.rustc=\"./evil\"'", "option_runs_program", ""},
		{"cargo build --target-dir .git/hooks", "option_writes", ".git/hooks write"},
		{"npm test --node-options=--require=./evil.js", "option_runs_program", ""},
		{"pytest --junitxml=.git/config", "option_writes", ".git/config write"},
		{"pytest --basetemp .git/hooks", "option_writes", ".git/hooks delete"},
		{"pytest -oaddopts=--basetemp=src", "option_runs_program", ""},
		{"pytest --override-ini=addopts=-pevil", "option_runs_program", ""},
		{"pytest --report-log .claude/x", "option_writes", ".claude/x write"},
		{"make test --eval='x:;evil'", "option_runs_program", ""},
		{"make test -E 'x:;evil'", "option_runs_program", ""},
		{"make test SHELL=./evil", "environment", ""},
		{"make MAKEFLAGS=--eval=x test", "environment", ""},
		{"make test -f evil.mk", "option_runs_program", "evil.mk execute"},
		{"make test --makefile=evil.mk", "option_runs_program", "evil.mk execute"},
		{"make 'X!=rm src/a' test", "option_runs_program", "src/a delete"},
		{"make test 'X=$(shell evil)'", "option_runs_program", ""},
		{"go test -exec 'rm src/a' ./...", "option_runs_program", "src/a delete"},
		{"go build -toolexec='rm src/a' ./...", "option_runs_program", "src/a delete"},
		{"go test -overlay=o.json ./...", "option_runs_program", "o.json execute"},
		{"pytest -p evil", "option_runs_program", ""},
		{"pytest -pevil tests", "option_runs_program", ""},
		{"pytest -c evil.ini tests", "option_runs_program", "evil.ini execute"},
		{"pytest --tx=popen//python=./evil", "option_runs_program", ""},
		{"npm test --script-shell './evil'", "option_runs_program", "./evil execute"},
		{"npm test --script-sh=./evil", "option_runs_program", "./evil execute"},
		{"npm test --userconfig=evil.npmrc", "option_runs_program", "evil.npmrc execute"},
		{"mocha --require ./evil.js", "option_runs_program", "./evil.js execute"},
		{"jest --config evil.js", "option_runs_program", "evil.js execute"},
		{"vitest run --environment ./evil.js", "option_runs_program", ""},
		{"mocha -R ./evil.js", "option_runs_program", ""},
		{"rspec -r ./evil.rb", "option_runs_program", "./evil.rb execute"},
		{"gradle test -I evil.gradle", "option_runs_program", "evil.gradle execute"},
		{"just --shell ./evil test", "option_runs_program", "./evil execute"},
		{"git -c core.pager='rm src/a' log", "git_config", "src/a delete"},
		{"git -c diff.external=./evil diff", "git_config", "./evil execute"},
		{"git grep -O./evil x", "option_runs_program", "./evil execute"},
		{"git grep --open-files=./evil x", "option_runs_program", "./evil execute"},
		{"git fetch --upload-pa=./evil .", "option_runs_program", "./evil execute"},
		{"git difftool -x ./evil", "option_runs_program", "./evil execute"},
		{"rg --pre ./evil x src", "option_runs_program", "./evil execute"},
		{"sort --compress-program=./evil f", "option_runs_program", "./evil execute"},
		{"tar cf a --use-compress-program='rm src/a' d", "option_runs_program", "src/a delete"},
		{"git diff --output=.git/config", "option_writes", ".git/config write"},
		{"git log --output .git/config", "option_writes", ".git/config write"},
	} {
		d, _ := New(Scope{}, []Family{Path, Shell})
		facts, _ := d.Facts(context.Background(), one(c.line, engine.CommandKind), World{Dir: "/w", Home: "/home/u"})
		var problems, touches []string
		for _, one := range facts["shell"].(map[string]any)["seen"].([]any) {
			for _, p := range one.(map[string]any)["problems"].([]any) {
				problems = append(problems, p.(string))
			}
		}
		for _, one := range facts["path"].(map[string]any)["seen"].([]any) {
			m := one.(map[string]any)
			touches = append(touches, m["declared"].(string)+" "+m["access"].(string))
		}
		if !slices.Contains(problems, c.problem) || c.touch != "" && !slices.Contains(touches, c.touch) {
			t.Errorf("%s: problems %s, touches %s", c.line, strings.Join(problems, " "), strings.Join(touches, ", "))
		}
	}
}

func TestPlainBuildsAndTestsDoNothingElse(t *testing.T) {
	for _, line := range []string{"go test ./...", "go test -run=X -count=1 -v ./...", "go test -race ./...", "go build ./...", "gofmt -l .", "cargo test --release -p x", "npm test", "npm run lint -- --fix",
		"pytest -q -k x tests", "pytest --rootdir=tests tests/unit", "pytest -c setup.cfg tests", "make test -j4 V=1", "make -f Makefile test", "pytest -p no:cacheprovider -q", "jest --coverage", "vitest run --environment jsdom --reporter=@x/y", "rspec -c -f doc spec", "mocha -R spec test",
		"git diff --text", "git diff --stat", "git log --oneline -5"} {
		d, _ := New(Scope{}, []Family{Shell})
		facts, unknown := d.Facts(context.Background(), one(line, engine.CommandKind), World{Dir: "/w", Home: "/home/u"})
		for _, one := range facts["shell"].(map[string]any)["seen"].([]any) {
			if p := one.(map[string]any)["problems"].([]any); len(p) > 0 || len(unknown) > 0 {
				t.Errorf("%s: problems %v, unknown %v", line, p, unknown)
			}
		}
	}
}

func TestWhatIsReadAsCodeFromAStreamIsUnknown(t *testing.T) {
	for _, line := range []string{"make -f - test", "make -f- test <<< 'test:;evil'", "make --file=/dev/stdin", "gmake --makefile /dev/fd/0"} {
		d, _ := New(Scope{}, []Family{Shell})
		facts, unknown := d.Facts(context.Background(), one(line, engine.CommandKind), World{Dir: "/w", Home: "/home/u"})
		if facts["shell"].(map[string]any)["commands"] != nil || !slices.Contains(unknown, "shell: code_from_stdin at /a") {
			t.Errorf("%s: unknown %v", line, unknown)
		}
	}
}

// What is a value for one program's option is a flag of another's, and the file
// behind it is read, or written, all the same.
func TestAFlagTakesNoFileWithIt(t *testing.T) {
	for line, want := range map[string]string{
		"cat -n .env": "read", "cat -d .env": "read", "wc -c .env": "read", "wc -w .env": "read", "wc -L .env": "read",
		"od -c .env": "read", "od -An -t x1 -c .env": "read", "md5sum -c .env": "read", "base64 -d .env": "read",
		"nl -ba .env": "read", "less -n .env": "read", "strings -d .env": "read", "iconv -c .env": "read", "cut -s -f 1 .env": "read",
		"sed -l p .env": "read", "bat -n .env": "read", "file -f .env": "read", "head -n 5 .env": "read",
		"chmod -x .env": "write", "chmod u-x .env": "write", "chmod 600 .env": "write", "chmod --reference=a .env": "write",
		"chown me .env": "write", "chown --reference=a .env": "write", "chattr -i .env": "write", "setfacl -b .env": "write",
		"setfacl -m u:x:rw .env": "write", "chcon -t x .env": "write", "truncate -s 0 -o .env": "write", "tee -a .env": "write",
		"base64 -o .env a": "write", "less -o .env a": "write",
	} {
		d, _ := New(Scope{}, []Family{Path, Shell})
		facts, _ := d.Facts(context.Background(), one(line, engine.CommandKind), World{Dir: "/w", Home: "/home/u"})
		if !slices.ContainsFunc(facts["path"].(map[string]any)["seen"].([]any), func(one any) bool {
			m := one.(map[string]any)
			return m["declared"] == ".env" && m["access"] == want
		}) {
			t.Errorf("%s: %v, want .env %s", line, facts["path"], want)
		}
	}
}
