package signals

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// summary is what changed, a question mark behind what is only possible.
func summary(list any) (kinds []string) {
	rows, _ := list.([]any)
	for _, r := range rows {
		row := r.(map[string]any)
		kind := row["change"].(string)
		if row["certainty"] != "certain" {
			kind += "?"
		}
		if !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	slices.Sort(kinds)
	return kinds
}

// TestChanges: the same changes are seen in an edit by itself, in the file that
// the edit is in, and in a file that is written anew.
func TestChanges(t *testing.T) {
	type editCase struct {
		Name, Path, Before, After string
		Want                      []string
	}
	files, err := filepath.Glob("testdata/tests/*.yaml")
	if err != nil || len(files) < 7 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var cases []editCase
		d := yaml.NewDecoder(bytes.NewReader(text))
		d.KnownFields(true)
		if err := d.Decode(&cases); err != nil || len(cases) == 0 {
			t.Fatal(file, err)
		}
		for _, c := range cases {
			slices.Sort(c.Want)
			there := World{Dir: "/w", Files: memory{"/w/" + c.Path: c.Before}}
			for how, f := range map[string]func() (map[string]any, []string){
				"edit": func() (map[string]any, []string) {
					return facts(t, Tests, Scope{}, call(map[string]any{"path": c.Path, "before": c.Before, "after": c.After}), World{})
				},
				"edit in the file": func() (map[string]any, []string) {
					return facts(t, Tests, Scope{}, call(map[string]any{"path": c.Path, "before": c.Before, "after": c.After}), there)
				},
				"write": func() (map[string]any, []string) {
					return facts(t, Tests, Scope{}, call(map[string]any{"path": "/w/" + c.Path, "content": c.After}), there)
				},
				"write in base64": func() (map[string]any, []string) {
					return facts(t, Tests, Scope{}, call(map[string]any{"path": c.Path, "content_base64": base64.StdEncoding.EncodeToString([]byte(c.After))}), there)
				},
			} {
				got, unknown := f()
				if got["changes"] == nil || !slices.Equal(summary(got["changes"]), c.Want) && len(summary(got["changes"]))+len(c.Want) > 0 {
					t.Errorf("%s: %s, %s: got %v, want %v: %v %v", file, c.Name, how, summary(got["changes"]), c.Want, got["seen"], unknown)
					break
				}
				canonicalises(t, got)
			}
		}
	}
}

// memory is a file system of texts.
type memory map[string]string

func (m memory) Lstat(name string) (fs.FileInfo, error) {
	if _, ok := m[name]; ok {
		return os.Lstat("tests_test.go")
	}
	for file := range m {
		if strings.HasPrefix(file, name+"/") {
			return os.Lstat("testdata")
		}
	}
	return nil, fs.ErrNotExist
}

func (m memory) Readlink(string) (string, error) { return "", fs.ErrInvalid }

func (m memory) ReadDir(string, int) ([]fs.DirEntry, error) { return nil, fs.ErrPermission }

func (m memory) ReadFile(name string, limit int64) ([]byte, error) {
	text, ok := m[name]
	switch {
	case !ok:
		return nil, fs.ErrNotExist
	case text == "locked":
		return nil, fs.ErrPermission
	case int64(len(text)) > limit:
		return nil, errors.New("too large")
	}
	return []byte(text), nil
}

func TestMovesAndDeletions(t *testing.T) {
	disk := World{Dir: "/w", Files: memory{"/w/tests/test_pay.py": "x", "/w/src/deep/pay.py": "x", "/w/pay.go": "x"}}
	only := TestScope{Collect: []string{"check_*.py"}, Ignore: []string{"old", "src/gen/**"}}
	for _, c := range []struct {
		name  string
		scope TestScope
		args  map[string]any
		want  string
	}{
		{"test deleted", TestScope{}, map[string]any{"paths": "tests/test_pay.py"}, "[deleted]"},
		{"several deleted", TestScope{}, map[string]any{"paths": []any{"a.py", "pay_test.go"}}, "[deleted]"},
		{"source deleted", TestScope{}, map[string]any{"paths": []any{"pay.go"}}, "[]"},
		{"workflow deleted", TestScope{}, map[string]any{"paths": []any{".github/workflows/ci.yml"}}, "[deleted]"},
		{"folder of tests deleted", TestScope{}, map[string]any{"paths": "tests"}, "[deleted]"},
		{"folder deleted", TestScope{}, map[string]any{"paths": "src"}, "unknown [tests: directory at /paths]"},
		{"pattern deleted", TestScope{}, map[string]any{"paths": "src/*.py"}, "unknown [tests: unseen at /paths]"},
		{"list of numbers", TestScope{}, map[string]any{"paths": []any{7.0}}, "unknown [tests: argument_mismatch at /paths/0]"},
		{"renamed out", TestScope{}, map[string]any{"source": "pay_test.go", "destination": "pay_check.go"}, "[not_collected]"},
		{"renamed within", TestScope{}, map[string]any{"source": "pay_test.go", "destination": "refund_test.go"}, "[]"},
		{"moved where it is collected", TestScope{}, map[string]any{"source": "tests/test_pay.py", "destination": "tests/unit/test_pay.py"}, "[]"},
		{"moved into a folder", TestScope{}, map[string]any{"source": "tests/test_pay.py", "destination": "tests/unit/"}, "[]"},
		{"moved into testdata", TestScope{}, map[string]any{"source": "pay_test.go", "destination": "testdata/pay_test.go"}, "[not_collected]"},
		{"hidden", TestScope{}, map[string]any{"source": "pay_test.go", "destination": "_pay_test.go"}, "[not_collected]"},
		{"other system", TestScope{}, map[string]any{"source": "pay_test.go", "destination": "pay_plan9_test.go"}, "[not_collected?]"},
		{"another extension", TestScope{}, map[string]any{"source": "a.test.js", "destination": "a.test.js.bak"}, "[not_collected]"},
		{"workflow moved", TestScope{}, map[string]any{"source": ".github/workflows/ci.yml", "destination": "docs/ci.yml"}, "[not_collected]"},
		{"into an ignored folder", only, map[string]any{"source": "check_pay.py", "destination": "old/check_pay.py"}, "[not_collected]"},
		{"into an ignored tree", only, map[string]any{"source": "check_pay.py", "destination": "src/gen/x/check_pay.py"}, "[not_collected]"},
		{"the scope's names", only, map[string]any{"source": "check_pay.py", "destination": "test_pay.py"}, "[not_collected]"},
		{"another language than the scope's", only, map[string]any{"source": "pay_test.go", "destination": "pay.go"}, "[not_collected]"},
		{"into place", TestScope{}, map[string]any{"source": "pay_check.go", "destination": "pay_test.go"}, "[]"},
		{"folder moved", TestScope{}, map[string]any{"source": "src", "destination": "lib"}, "unknown [tests: directory at /source]"},
		{"rm", TestScope{}, map[string]any{"command": "cd tests && rm -f test_pay.py"}, "[deleted]"},
		{"git rm", TestScope{}, map[string]any{"command": "git rm tests/test_pay.py"}, "[deleted]"},
		{"rm of source", TestScope{}, map[string]any{"command": "rm pay.go"}, "[]"},
		{"words", TestScope{}, map[string]any{"argv": []any{"rm", "pay_test.go"}}, "[deleted]"},
		{"mv", TestScope{}, map[string]any{"command": "mv tests/test_pay.py tests/pay_checks.py"}, "[not_collected]"},
		{"mv within", TestScope{}, map[string]any{"command": "mv tests/test_pay.py tests/test_refund.py"}, "[]"},
		{"git mv", TestScope{}, map[string]any{"command": "git mv tests/test_pay.py tests/pay_checks.py"}, "[not_collected]"},
		{"running tests", TestScope{}, map[string]any{"command": "pytest tests/test_pay.py && go test ./..."}, "[]"},
		{"reading tests", TestScope{}, map[string]any{"command": "cat tests/test_pay.py | grep refund"}, "[]"},
		{"redirect into a test", TestScope{}, map[string]any{"command": "echo pass > tests/test_pay.py"}, "unknown [tests: unseen at /command]"},
		{"rewriting a test", TestScope{}, map[string]any{"command": "sed -i s/5/4/ tests/test_pay.py"}, "unknown [tests: unseen at /command]"},
		{"a program that nobody knows", TestScope{}, map[string]any{"command": "rewrite tests/test_pay.py"}, "unknown [tests: unseen at /command]"},
		{"a program that nobody knows elsewhere", TestScope{}, map[string]any{"command": "rewrite src/pay.py"}, "[]"},
		{"code in a command", TestScope{}, map[string]any{"command": "python -c \"open('tests/test_pay.py', 'w')\" tests/test_pay.py"}, "unknown [tests: unseen at /command]"},
		{"formatting a test", TestScope{}, map[string]any{"command": "gofmt -w pay_test.go && black tests/test_pay.py"}, "[]"},
		{"checking a test", TestScope{}, map[string]any{"command": "ruff check tests/test_pay.py && python -m pytest tests/test_pay.py"}, "[]"},
		{"moved above", TestScope{}, map[string]any{"source": "tests/test_pay.py", "destination": "../test_pay.py"}, "[not_collected]"},
		{"moved away", TestScope{}, map[string]any{"source": "tests/test_pay.py", "destination": "/tmp/test_pay.py"}, "[not_collected]"},
		{"moved over a test", TestScope{}, map[string]any{"source": "src/deep/test_x.py", "destination": "tests/test_pay.py"}, "[deleted]"},
		{"a command that is none", TestScope{}, map[string]any{"command": "rm 'tests"}, "unknown [tests: parse at /command]"},
		{"nowhere", TestScope{}, map[string]any{"source": "pay_test.go"}, "unknown [tests: argument_mismatch at /source]"},
	} {
		got, unknown := facts(t, Tests, Scope{Tests: c.scope}, call(c.args), disk)
		result := fmt.Sprint(summary(got["changes"]))
		if got["changes"] == nil {
			result = fmt.Sprint("unknown ", unknown)
		}
		if result != c.want {
			t.Errorf("%s: got %s, want %s: %v", c.name, result, c.want, got)
		}
		canonicalises(t, got)
	}
}

func TestTestsUnknown(t *testing.T) {
	locked := World{Dir: "/w", Files: memory{"/w/a_test.go": "locked", "/w/b_test.go": strings.Repeat("x", maxFile+1), "/w/c_test.go": "a\x00b"}}
	for _, c := range []struct {
		name  string
		args  map[string]any
		world World
		want  string
	}{
		{"file that cannot be read", map[string]any{"path": "a_test.go", "content": "package a\n"}, locked, "[tests: unreadable at /content]"},
		{"file that is too large", map[string]any{"path": "b_test.go", "content": "package a\n"}, locked, "[tests: unreadable at /content]"},
		{"content that is too large", map[string]any{"path": "d_test.go", "content": strings.Repeat("x ", maxSource)}, locked, "[tests: too_large at /content]"},
		{"file that is no text", map[string]any{"path": "c_test.go", "content": "package a\n"}, locked, "[tests: unreadable at /content]"},
		{"nothing to look at", map[string]any{"path": "a_test.go", "content": "package a\n"}, World{Dir: "/w"}, "[tests: unseen at /content]"},
		{"no directory", map[string]any{"path": "a_test.go", "content": "package a\n"}, World{Files: memory{}}, "[tests: unreadable at /content]"},
		{"file that is not there", map[string]any{"path": "d_test.go", "content": "package a\n"}, locked, "[]"},
		{"end of a comment is outside", map[string]any{"path": "d_test.go", "before": "a", "after": "/* a"}, World{}, "[tests: unparsed at /after]"},
		{"end of a string is outside", map[string]any{"path": "test_d.py", "before": "a", "after": "\"\"\" a"}, World{}, "[tests: unparsed at /after]"},
		{"no content", map[string]any{"path": "d_test.go"}, World{}, "[tests: no_content at /path]"},
		{"content that is no text", map[string]any{"path": "d_test.go", "content": 7.0}, World{}, "[tests: argument_mismatch at /content tests: no_content at /path]"},
		{"not base64", map[string]any{"path": "d_test.go", "content_base64": "%"}, World{}, "[tests: no_content at /path tests: not_base64 at /content_base64]"},
		{"nothing about tests", map[string]any{"path": "d.go", "content": "package a\n"}, World{}, "[]"},
	} {
		got, unknown := facts(t, Tests, Scope{}, call(c.args), c.world)
		if fmt.Sprint(unknown) != c.want || (got["changes"] == nil) != (len(unknown) > 0) {
			t.Errorf("%s: got %v, want %s: %v", c.name, unknown, c.want, got)
		}
	}
}

// TestNewFile: of a file that was not there before only markers count.
func TestNewFile(t *testing.T) {
	world := World{Dir: "/w", Files: memory{}}
	for text, want := range map[string]string{
		"def test_a():\n    assert f(1) == 1\n":                       "[]",
		"@pytest.mark.skip\ndef test_a():\n    assert f(1) == 1\n":    "[skip_marker]",
		"CODE = '@pytest.mark.skip'\ndef test_a():\n    lint(CODE)\n": "[]",
	} {
		got, unknown := facts(t, Tests, Scope{}, call(map[string]any{"path": "test_a.py", "content": text}), world)
		if s := fmt.Sprint(summary(got["changes"])); s != want || len(unknown) > 0 {
			t.Errorf("%q: got %s %v, want %s", text, s, unknown, want)
		}
	}
}

// TestEditInsideAString: where the file can be seen, what is code in it is plain.
func TestEditInsideAString(t *testing.T) {
	file := "SAMPLE = '''\ndef test_x():\n    pass\n'''\ndef test_lint():\n    assert lint(SAMPLE)\n"
	world := World{Dir: "/w", Files: memory{"/w/test_a.py": file}}
	args := map[string]any{"path": "test_a.py", "before": "def test_x():\n", "after": "@pytest.mark.skip\ndef test_x():\n"}
	if got, unknown := facts(t, Tests, Scope{}, call(args), world); fmt.Sprint(summary(got["changes"])) != "[]" || len(unknown) > 0 {
		t.Errorf("got %v %v", got, unknown)
	}
	// By itself it is an edit of a test.
	if got, _ := facts(t, Tests, Scope{}, call(args), World{}); fmt.Sprint(summary(got["changes"])) != "[skip_marker]" {
		t.Errorf("got %v", got)
	}
}

// FuzzTests: no panic, the same facts each time, no change where nothing changes.
func FuzzTests(f *testing.F) {
	for _, file := range []string{"a_test.go", "test_a.py", "ATest.java", "a.test.ts", "a_spec.rb", "a.rs", "Makefile", "package.json"} {
		f.Add(file, "it('a', () => { expect(`${x}`).toBe(1) })", "#[test]\n#[ignore]\nfn a() { assert!(x) }")
		f.Add(file, "def test_a():\n  assert (x == 1", "expect { x }.to raise_error\nif x := f(); x != 1 { t.Fatal() }")
	}
	f.Add("a.rs", "assert (x == 1", "expect (0)!to 0")
	d, _ := New(Scope{}, []Family{Tests})
	f.Fuzz(func(t *testing.T, file, before, after string) {
		before, after = strings.ToValidUTF8(before, "?"), strings.ToValidUTF8(after, "?")
		run := func(before, after string) (map[string]any, []string) {
			got, unknown := d.Facts(context.Background(), call(map[string]any{"path": file, "before": before, "after": after}), World{})
			if strings.Contains(fmt.Sprint(unknown), "panic") {
				t.Error(unknown)
			}
			m, _ := got["tests"].(map[string]any)
			return m, unknown
		}
		one, unknown := run(before, after)
		two, again := run(before, after)
		if fmt.Sprint(one, unknown) != fmt.Sprint(two, again) {
			t.Errorf("two answers: %v %v", one, two)
		}
		if same, _ := run(before, before); len(summary(same["seen"])) > 0 {
			t.Errorf("nothing changed: %v", same)
		}
	})
}
