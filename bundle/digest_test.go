package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conjunct-project/conjunct/action"
	"github.com/conjunct-project/conjunct/datafile"
	"github.com/conjunct-project/conjunct/policies"
)

func digestOf(t testing.TB, f Files) string {
	t.Helper()
	return load(t, f).Bundle().Digest
}

// pack makes a gzipped tarball of entries.
func pack(t testing.TB, headers []tar.Header, bodies map[string][]byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	for _, h := range headers {
		body := bodies[h.Name]
		if h.Typeflag == tar.TypeReg || h.Typeflag == 0 {
			h.Size = int64(len(body))
		} else {
			body = nil
		}
		if h.Mode == 0 && h.Typeflag != tar.TypeXGlobalHeader {
			h.Mode = 0o644
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(body); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// packed is a tarball of files, each name through rename.
func packed(t testing.TB, content map[string][]byte, names []string, rename func(string) string, at time.Time) []byte {
	t.Helper()
	var headers []tar.Header
	bodies := map[string][]byte{}
	for _, name := range names {
		as := rename(name)
		headers = append(headers, tar.Header{Name: as, Typeflag: tar.TypeReg, ModTime: at})
		bodies[as] = content[name]
	}
	return pack(t, headers, bodies)
}

func fromBytes(t testing.TB, tarball []byte) Files {
	t.Helper()
	f, err := FromTarball(bytes.NewReader(tarball), "b.tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func same(s string) string { return s }

// TestDigestDoesNotDependOnStorage: the same bundle has one digest wherever and
// however it is stored.
func TestDigestDoesNotDependOnStorage(t *testing.T) {
	f := filesOf(t, "itsm")
	want := digestOf(t, f)
	names := slices.Sorted(maps.Keys(f.Content))
	reversed := slices.Clone(names)
	slices.Reverse(reversed)
	extra := maps.Clone(f.Content)
	extra["README.md"] = []byte("# a bundle")
	extra["conjunct/floors/more_test.rego"] = []byte("package conjunct.floors_test\n\ntest_x if 1 == 1\n")
	extra["conjunct/floors/broken_test.rego"] = []byte("this is no Rego")
	extra["LICENSE"] = []byte("x")
	for _, c := range []struct {
		name string
		of   func(t *testing.T) Files
	}{
		{"a directory", func(t *testing.T) Files {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(filepath.Join("..", "policies", "itsm"))); err != nil {
				t.Fatal(err)
			}
			f, err := Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			return f
		}},
		{"a tarball file", func(t *testing.T) Files {
			name := filepath.Join(t.TempDir(), "b.tar.gz")
			if err := os.WriteFile(name, packed(t, f.Content, names, same, time.Unix(0, 0)), 0o600); err != nil {
				t.Fatal(err)
			}
			f, err := Open(name)
			if err != nil {
				t.Fatal(err)
			}
			return f
		}},
		{"a tarball with ./ in front of names", func(t *testing.T) Files {
			return fromBytes(t, packed(t, f.Content, names, func(s string) string { return "./" + s }, time.Unix(0, 0)))
		}},
		{"a tarball with / in front of names, as opa build writes", func(t *testing.T) Files {
			return fromBytes(t, packed(t, f.Content, names, func(s string) string { return "/" + s }, time.Unix(0, 0)))
		}},
		{"a tarball in another order", func(t *testing.T) Files { return fromBytes(t, packed(t, f.Content, reversed, same, time.Unix(0, 0))) }},
		{"a tarball of another time", func(t *testing.T) Files {
			return fromBytes(t, packed(t, f.Content, names, same, time.Unix(1_700_000_000, 0)))
		}},
		{"a tarball with directories, long names and a global header", func(t *testing.T) Files {
			long := strings.Repeat("deep/", 40) + "readme.txt"
			headers := []tar.Header{{Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"comment": "x"}},
				{Name: "conjunct/", Typeflag: tar.TypeDir, Mode: 0o755}, {Name: "conjunct/floors/", Typeflag: tar.TypeDir, Mode: 0o755}, {Name: long, Typeflag: tar.TypeReg, Format: tar.FormatPAX}}
			bodies := maps.Clone(f.Content)
			bodies[long] = []byte("x")
			for _, name := range names {
				headers = append(headers, tar.Header{Name: name, Typeflag: tar.TypeReg})
			}
			return fromBytes(t, pack(t, headers, bodies))
		}},
		{"other files beside", func(t *testing.T) Files {
			return fromBytes(t, packed(t, extra, slices.Sorted(maps.Keys(extra)), same, time.Unix(0, 0)))
		}},
		{"a moved Rego file of the same package and name", func(t *testing.T) Files {
			return with(f, floorsFile, "", "elsewhere/floors.rego", string(f.Content[floorsFile]))
		}},
		{"another revision", func(t *testing.T) Files {
			return with(f, manifestFile, `{"revision": "other", "roots": ["conjunct"], "rego_version": 1}`)
		}},
		{"another form of the manifest", func(t *testing.T) Files {
			return with(f, manifestFile, "{\"rego_version\":1,\n\"roots\":[\"conjunct\"],\"revision\":\"itsm-1\"}")
		}},
		{"data in one file at the top", func(t *testing.T) Files { return merge(t, f, "data.json") }},
		{"data in one file of the root", func(t *testing.T) Files {
			moved := merge(t, f, "data.json")
			var tree map[string]json.RawMessage
			if err := json.Unmarshal(moved.Content["data.json"], &tree); err != nil {
				t.Fatal(err)
			}
			return with(moved, "data.json", "", "conjunct/data.json", string(tree["conjunct"]))
		}},
		{"a section split over two files", func(t *testing.T) Files {
			return edit(t, with(f, "conjunct/contract/approval/data.yaml", "uses: once\nvoided_by: [pins, bundle, facts, evidence, suspicion]\n"), contractFile,
				"approval:\n  uses: once\n  voided_by: [pins, bundle, facts, evidence, suspicion]\n", "")
		}},
		{"comments and order in data", func(t *testing.T) Files {
			return with(f, scopeFile, "change_windows: {initech: {to: 6.0, from: 0, days: [6]}, \"acme\": {days: [1, 2, 3, 4, 5], from: 8, to: 18}}\n# c\nrecipient_domains: [customer.example, partner.example]\n")
		}},
		{"data.yml", func(t *testing.T) Files {
			return with(f, scopeFile, "", "conjunct/scope/data.yml", string(f.Content[scopeFile]))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := load(t, c.of(t))
			if got := b.Bundle().Digest; got != want {
				t.Errorf("digest %s, want %s", got, want)
			}
		})
	}
}

// merge moves all data of a bundle into one JSON file.
func merge(t *testing.T, f Files, name string) Files {
	t.Helper()
	root := &datafile.Node{Kind: datafile.Object, Fields: map[string]*datafile.Node{}}
	out := with(f)
	for _, p := range slices.Sorted(maps.Keys(f.Content)) {
		if !isData(p) {
			continue
		}
		n, problems := datafile.Read(p, f.Content[p])
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		if problems := datafile.Merge(root, strings.Split(filepath.ToSlash(filepath.Dir(p)), "/"), n); len(problems) > 0 {
			t.Fatal(problems)
		}
		delete(out.Content, p)
	}
	text, err := json.Marshal(root.Any())
	if err != nil {
		t.Fatal(err)
	}
	out.Content[name] = text
	return out
}

// TestDigestSeesEveryChange: any byte of a module, any value of the data.
func TestDigestSeesEveryChange(t *testing.T) {
	f := small(t)
	f = with(f, floorsFile, "package conjunct.floors\n\n# a comment\nfloors contains {\"name\": \"f\", \"tier\": \"refuse\"} if input.action.tool == \"pay\"\n")
	want := digestOf(t, f)
	seen := map[string]string{want: "the bundle itself"}
	for _, c := range []struct {
		name string
		f    Files
	}{
		{"a comment in a module", edit(t, f, floorsFile, "# a comment", "# a Comment")},
		{"a blank in a module", edit(t, f, floorsFile, "if input", "if  input")},
		{"a newline at the end of a module", with(f, floorsFile, string(f.Content[floorsFile])+"\n")},
		{"CRLF in a module", with(f, floorsFile, strings.ReplaceAll(string(f.Content[floorsFile]), "\n", "\r\n"))},
		{"a tier", edit(t, f, floorsFile, "refuse", "propose")},
		{"another file name", with(f, floorsFile, "", "conjunct/floors/other.rego", string(f.Content[floorsFile]))},
		{"one more module", with(f, "conjunct/floors/more.rego", "package conjunct.floors\n")},
		{"a number in the data", edit(t, f, scopeFile, "100", "101")},
		{"an item of a list", edit(t, f, scopeFile, "[a, b]", "[b, a]")},
		{"text for a number", edit(t, f, scopeFile, "100", "\"100\"")},
		{"one more key", with(f, scopeFile, string(f.Content[scopeFile])+"more: null\n")},
		{"a cost", edit(t, f, registryFile, "    effect: write\n", "    effect: write\n    cost: 0.1\n")},
		{"a default written out", edit(t, f, registryFile, "    effect: write\n", "    effect: write\n    idempotent: false\n")},
		{"a role", edit(t, f, contractFile, "[reviewer]", "[reviewr]")},
		{"a rationale", edit(t, f, contractFile, "CONTEXT: {scope: s, rationale: r}", "CONTEXT: {scope: s, rationale: rr}")},
		{"a CEL gate", with(f, celFile, "gates: [{name: g, expression: 1 == 1}]\n")},
		{"a message of a CEL gate", with(f, celFile, "gates: [{name: g, expression: 1 == 1, message: m}]\n")},
	} {
		got := digestOf(t, c.f)
		if other, twice := seen[got]; twice {
			t.Errorf("%s has the digest of %s", c.name, other)
		}
		seen[got] = c.name
	}
}

// TestDigestIsWhatTheDesignSays: SHA-256 over the RFC 8785 form of data and
// modules, by a second way of writing it.
func TestDigestIsWhatTheDesignSays(t *testing.T) {
	f := with(small(t), "conjunct/floors/data.yaml", "x: 1\n")
	doc := map[string]any{"modules": map[string]any{}}
	root := &datafile.Node{Kind: datafile.Object, Fields: map[string]*datafile.Node{}}
	for p, text := range f.Content {
		switch {
		case strings.HasSuffix(p, ".rego"):
			doc["modules"].(map[string]any)[p] = action.Hash(text)
		case isData(p):
			n, _ := datafile.Read(p, text)
			datafile.Merge(root, strings.Split(filepath.ToSlash(filepath.Dir(p)), "/"), n)
		}
	}
	doc["data"] = root.Any()
	text, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	_, canonical, err := action.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := digestOf(t, f), action.Hash(canonical); got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
}

// TestShippedDigests: directory and embedded copy agree for every bundle, and
// no two bundles have one digest.
func TestShippedDigests(t *testing.T) {
	seen := map[string]string{}
	for _, name := range policies.Names() {
		embedded := shipped(t, name).Bundle()
		b, err := Read(filepath.Join("..", "policies", name))
		if err != nil {
			t.Fatal(err)
		}
		if b.Bundle() != embedded {
			t.Errorf("%s: directory %v, embedded %v", name, b.Bundle(), embedded)
		}
		if other, twice := seen[embedded.Digest]; twice {
			t.Errorf("%s and %s have one digest", name, other)
		}
		seen[embedded.Digest] = name
	}
}
