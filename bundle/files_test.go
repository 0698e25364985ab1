package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"
)

// TestUnknownFileNames: a file that a reader takes for part of the bundle is
// part of it, or a problem at its name. The rest is not read.
func TestUnknownFileNames(t *testing.T) {
	const problem, counts, ignored = "file_not_read", "counts", "ignored"
	for _, c := range []struct{ name, text, want string }{
		{"conjunct/scope/dta.yaml", "more: 1", problem},
		{"conjunct/scope/Data.yaml", "more: 1", problem},
		{"conjunct/scope/data.YAML", "more: 1", problem},
		{"conjunct/scope/data.Json", "{}", problem},
		{"conjunct/scope/scope.yaml", "more: 1", problem},
		{"conjunct/scope/scope.json", "{}", problem},
		{"conjunct/scope/mydata.yaml", "more: 1", problem},
		{"conjunct/scope/data.yaml.yaml", "more: 1", problem},
		{"data_test.yaml", "more: 1", problem},
		{"conjunct/floors/rules.REGO", "package conjunct.floors", problem},
		{"conjunct/floors/rules.Rego", "package conjunct.floors", problem},
		{".git/config.json", "{}", problem},
		{"conjunct/scope/more/data.yaml", "more: 1", counts},
		{"conjunct/scope/more/data.yml", "more: 1", counts},
		{"conjunct/scope/more/data.json", `{"more": 1}`, counts},
		{"conjunct/floors/more.rego", "package conjunct.floors", counts},
		{"anywhere/more.rego", "package conjunct.floors", counts},
		{"conjunct/floors/more_test.rego", "not even Rego", ignored},
		{"README.md", "# x", ignored},
		{"LICENSE", "x", ignored},
		{".gitignore", "x", ignored},
		{".signatures.json", "{}", ignored},
		{"conjunct/floors/.floors.rego.swp", "x", ignored},
	} {
		t.Run(c.name, func(t *testing.T) {
			base := small(t)
			fsys := fstest.MapFS{c.name: {Data: []byte(c.text)}}
			for name, text := range base.Content {
				fsys[name] = &fstest.MapFile{Data: text}
			}
			f, err := FromFS(fsys, "small")
			if err != nil {
				t.Fatal(err)
			}
			ps := problems(t, f)
			switch {
			case c.want == problem:
				if got, want := places(f, ps), []string{c.name + ":0:0 file_not_read"}; !slices.Equal(got, want) {
					t.Errorf("problems at %q, want %q", got, want)
				}
				return
			case ps != nil:
				t.Fatalf("problems %v, want none", ps)
			}
			if changed := digestOf(t, f) != digestOf(t, base); changed != (c.want == counts) {
				t.Errorf("the digest changes: %v, want that the file %s", changed, c.want)
			}
		})
	}
}

// TestFileNamesThatSilentlyDoNotCount are reported.
func TestFileNamesThatSilentlyDoNotCount(t *testing.T) {
	for _, c := range []struct{ name, text string }{
		{"conjunct/floors/.more.rego", "package conjunct.floors\n\nfloors contains {\"name\": \"f\", \"tier\": \"refuse\"} if input.action.tool == \"pay\"\n"},
		{"conjunct/scope/more/.data.yaml", "more: 1"},
		{"conjunct/.manifest", "{}"},
		{"conjunct/floors/more.rgo", "package conjunct.floors"},
		{"conjunct/scope/more/data.yaml ", "more: 1"},
		{"conjunct/scope/more/data", "more: 1"},
		{"conjunct/scope/more/data.jsn", "{}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			base := small(t)
			fsys := fstest.MapFS{c.name: {Data: []byte(c.text)}}
			for name, text := range base.Content {
				fsys[name] = &fstest.MapFile{Data: text}
			}
			f, err := FromFS(fsys, "small")
			if err != nil {
				return
			}
			if ps := problems(t, f); ps == nil && digestOf(t, f) == digestOf(t, base) {
				t.Error("the file is neither read nor told")
			}
		})
	}
}

// TestTwoFilesAtOnePlace: what would fill one place twice is a problem.
func TestTwoFilesAtOnePlace(t *testing.T) {
	f := small(t)
	for _, c := range []struct {
		name string
		f    Files
		want []string
	}{
		{"data.yaml and data.json", with(f, "conjunct/scope/data.json", `{"limit": 5}`), []string{"conjunct/scope/data.yaml:2:1 data_duplicate_key"}},
		{"data.yaml and data.yml", with(f, "conjunct/scope/data.yml", "limit: 5"), []string{"conjunct/scope/data.yml:1:1 data_duplicate_key"}},
		{"a section and its parent", with(f, "conjunct/data.yaml", "scope: {limit: 5}"), []string{"conjunct/scope/data.yaml:2:1 data_duplicate_key"}},
		{"two Rego files of one package and name", with(f, "other/floors.rego", "package conjunct.floors\n"), []string{"other/floors.rego:0:0 rego_file_name"}},
		{"a list for a section", with(f, scopeFile, "- a\n"), []string{"conjunct/scope/data.yaml:1:1 data_object"}},
		{"null for a section", with(f, scopeFile, "~\n"), []string{"conjunct/scope/data.yaml:1:1 data_object"}},
		{"data outside the root", with(f, "other/data.yaml", "a: 1"), []string{"other/data.yaml:1:1 data_root"}},
		{"data at the top", with(f, "data.yaml", "a: 1"), []string{"data.yaml:1:4 data_root"}},
		{"a section that is none", with(f, "conjunct/scop/data.yaml", "a: 1"), []string{"conjunct/scop/data.yaml:1:1 data_section"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			ps := problems(t, c.f)
			if got := places(c.f, ps); !slices.Equal(got, c.want) {
				t.Errorf("problems at %q, want %q\n%v", got, c.want, ps)
			}
		})
	}
}

// TestProblemsOfSplitDataHaveAPlace holds against a fault: a key that a directory makes
// has no place of its own, so a problem with it names the bundle only.
func TestProblemsOfSplitDataHaveAPlace(t *testing.T) {
	f := small(t)
	for _, c := range []struct {
		name, file, text string
	}{
		{"a key of the registry misspelt", "conjunct/registry/tols/data.yaml", "{}"},
		{"a gate that no rule defines", "conjunct/contract/gates/deploy/data.yaml", "on_fail: review"},
		{"a setting that nothing reads", "conjunct/contract/start/settings/data.yaml", "capacty: 4"},
		{"a tool with an empty name", "conjunct/registry/tools/größe/data.yaml", "{reversibility: costly, blast_radius: record, absorbed_by: operator, detection_latency: hours}"},
		{"a property that is none", "conjunct/contract/high_consequence/blast_radus/data.yaml", "{}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ps := problems(t, with(f, c.file, c.text))
			if len(ps) != 1 {
				t.Fatalf("problems %v, want one", ps)
			}
			if ps[0].File != "small/"+c.file || ps[0].Row != 1 {
				fault(t, "%+v, want a problem in %s", ps[0], c.file)
			}
		})
	}
}

// TestAllProblemsInOneRun: mistakes in every file, one run, ordered by place,
// and the same run after run.
func TestAllProblemsInOneRun(t *testing.T) {
	f := with(small(t), manifestFile, `{"revision": "r", "roots": ["x"], "rego_version": 1}`, registryFile, smallRegistry+"undeclard: refuse\n", contractFile, contractHead+"threshold: 2\n",
		severityFile, "bump: -1\n", celFile, "gates: [{name: A, expression: 1 == 1, extra: 1}]\n", "conjunct/scope/dta.yaml", "a: 1", "conjunct/floors/floors.rego", "package conjunct.floors\n\nfloor contains {\"name\": \"f\"} if input.now > 0\n")
	want := []string{".manifest:1:28 manifest_roots", "conjunct/cel/data.yaml:1:16 data_name", "conjunct/cel/data.yaml:1:39 data_unknown_key", "conjunct/contract/data.yaml:2:12 data_range",
		"conjunct/floors/floors.rego:3:1 rego_unused_rule", "conjunct/registry/data.yaml:19:1 data_unknown_key", "conjunct/scope/dta.yaml:0:0 file_not_read", "conjunct/severity/data.yaml:1:7 data_range"}
	first := problems(t, f)
	if got := places(f, first); !slices.Equal(got, want) {
		t.Fatalf("problems at\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for range 5 {
		if again := problems(t, f); !slices.Equal(again, first) {
			t.Fatalf("another run tells\n%v\nafter\n%v", again, first)
		}
	}
}

// TestMissingParts: what a bundle cannot be without.
func TestMissingParts(t *testing.T) {
	f := small(t)
	for _, c := range []struct {
		file string
		code string
	}{
		{registryFile, "data_missing_key"}, {contractFile, "data_missing_key"}, {severityRego, "rego_missing_rule"}, {transitionFile, "rego_missing_rule"}, {authorityFile, "rego_missing_rule"}, {manifestFile, "manifest_missing"},
	} {
		ps := problems(t, with(f, c.file, ""))
		if !slices.ContainsFunc(ps, func(p Problem) bool { return p.Code == c.code }) {
			t.Errorf("without %s: %v, want %s", c.file, ps, c.code)
		}
	}
	if ps := problems(t, Files{Path: "none"}); len(ps) == 0 {
		t.Error("a bundle without files loads")
	}
	if ps := problems(t, with(f, floorsFile, "")); ps != nil {
		t.Errorf("without floors: %v, want none", ps)
	}
}

// archive names an entry of a hostile tarball.
func archive(headers ...tar.Header) []tar.Header { return headers }

// TestHostileArchives: no entry is written anywhere, so names cannot escape;
// what is no regular file, or comes twice, or is too large is an error.
func TestHostileArchives(t *testing.T) {
	f := small(t)
	var good []tar.Header
	for _, name := range slices.Sorted(maps.Keys(f.Content)) {
		good = append(good, tar.Header{Name: name, Typeflag: tar.TypeReg})
	}
	for _, c := range []struct {
		name    string
		headers []tar.Header
		says    string // part of the error; empty: no error
	}{
		{"a symbolic link", archive(tar.Header{Name: "conjunct/gates/gates.rego", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}), "gates.rego is not a regular file"},
		{"a symbolic link for data", archive(tar.Header{Name: "conjunct/gates/data.yaml", Typeflag: tar.TypeSymlink, Linkname: "../scope/data.yaml"}), "not a regular file"},
		{"a hard link", archive(tar.Header{Name: "conjunct/gates/gates.rego", Typeflag: tar.TypeLink, Linkname: "conjunct/floors/floors.rego"}), "not a regular file"},
		{"a character device", archive(tar.Header{Name: "conjunct/gates/gates.rego", Typeflag: tar.TypeChar}), "not a regular file"},
		{"a block device", archive(tar.Header{Name: "conjunct/gates/gates.rego", Typeflag: tar.TypeBlock}), "not a regular file"},
		{"a named pipe", archive(tar.Header{Name: "conjunct/gates/gates.rego", Typeflag: tar.TypeFifo}), "not a regular file"},
		{"the manifest as a link", archive(tar.Header{Name: ".manifest", Typeflag: tar.TypeSymlink, Linkname: "x"}), "not a regular file"},
		{"the same name twice", archive(tar.Header{Name: "conjunct/scope/data.yaml", Typeflag: tar.TypeReg}), "conjunct/scope/data.yaml stands in it twice"},
		{"the same name twice, once with ./", archive(tar.Header{Name: "./conjunct/scope/data.yaml", Typeflag: tar.TypeReg}), "stands in it twice"},
		{"the same name twice, once from the root", archive(tar.Header{Name: "/conjunct/scope/data.yaml", Typeflag: tar.TypeReg}), "stands in it twice"},
		{"the same name twice, through a parent", archive(tar.Header{Name: "x/../conjunct/scope/data.yaml", Typeflag: tar.TypeReg}), "stands in it twice"},
		{"a name from above the root", archive(tar.Header{Name: "../../conjunct/scope/data.yaml", Typeflag: tar.TypeReg}), "leads out of it"},
		{"other files of any kind", archive(tar.Header{Name: "dev/null", Typeflag: tar.TypeChar}, tar.Header{Name: "readme", Typeflag: tar.TypeFifo}), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := FromTarball(bytes.NewReader(pack(t, append(slices.Clone(good), c.headers...), f.Content)), "b")
			switch {
			case c.says == "" && err != nil:
				t.Errorf("error %v, want none", err)
			case c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)):
				t.Errorf("error %v, want one that says %q", err, c.says)
			case c.says == "" && !maps.EqualFunc(got.Content, f.Content, bytes.Equal):
				t.Errorf("got %q", slices.Sorted(maps.Keys(got.Content)))
			}
		})
	}
}

// TestArchiveNamesThatEscape: a name above the root is not silently one below.
func TestArchiveNamesThatEscape(t *testing.T) {
	f := small(t)
	names := slices.Sorted(maps.Keys(f.Content))
	for _, prefix := range []string{"../", "../../../", "conjunct/../../", "/../"} {
		got, err := FromTarball(bytes.NewReader(packed(t, f.Content, names, func(s string) string { return prefix + s }, time.Unix(0, 0))), "b")
		if err == nil {
			for name := range got.Content {
				if !fs.ValidPath(name) {
					t.Errorf("%s: the bundle holds the path %q", prefix, name)
				}
			}
			fault(t, "names that begin with %s count as if they did not", prefix)
		}
	}
}

// TestSymlinkedDirectoryDoesNotCount holds against a fault: a link to a directory has no
// name that looks like policy, so everything below it silently is not there.
func TestSymlinkedDirectoryDoesNotCount(t *testing.T) {
	f := small(t)
	missing := false
	headers := []tar.Header{}
	for _, name := range slices.Sorted(maps.Keys(f.Content)) {
		headers = append(headers, tar.Header{Name: name, Typeflag: tar.TypeReg})
	}
	headers = append(headers, tar.Header{Name: "conjunct/gates", Typeflag: tar.TypeSymlink, Linkname: "../shared/gates"})
	if _, err := FromTarball(bytes.NewReader(pack(t, headers, f.Content)), "b"); err == nil {
		missing = true
	}
	dir, shared := write(t, f), t.TempDir()
	put(t, filepath.Join(shared, "more.rego"), "package conjunct.floors\n\nfloors contains {\"name\": \"f\", \"tier\": \"refuse\"} if input.action.tool == \"pay\"\n")
	if err := os.Symlink(shared, filepath.Join(dir, "conjunct", "floors", "shared")); err != nil {
		t.Fatal(err)
	}
	if b, err := Read(dir); err == nil && len(b.FloorNames()) == 0 {
		missing = true
	}
	if missing {
		t.Error("a symbolic link to a directory of floors is neither followed nor told, in a directory and in a tarball")
	}
}

func TestNoTarball(t *testing.T) {
	f := small(t)
	good := packed(t, f.Content, slices.Sorted(maps.Keys(f.Content)), same, time.Unix(0, 0))
	plain := gunzip(t, good)
	for _, c := range []struct {
		name string
		text []byte
		says string
	}{
		{"nothing", nil, "not a gzipped tarball"},
		{"text", []byte("package conjunct.floors"), "not a gzipped tarball"},
		{"a tarball that is not compressed", plain, "not a gzipped tarball"},
		{"a gzipped text", gzipped(t, bytes.Repeat([]byte("text "), 1000)), "archive/tar"},
		{"half of the bytes", good[:len(good)/2], "unexpected EOF"},
		{"all but 40 bytes", good[:len(good)-40], "unexpected EOF"},
		{"a tarball cut within a file", gzipped(t, plain[:len(plain)/2]), "unexpected EOF"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := FromTarball(bytes.NewReader(c.text), "b.tar.gz")
			if err == nil || !strings.Contains(err.Error(), c.says) || !strings.HasPrefix(err.Error(), "bundle b.tar.gz: ") {
				t.Errorf("error %v, want one that says %q", err, c.says)
			}
		})
	}
	for cut := range len(good) - 12 {
		if got, err := FromTarball(bytes.NewReader(good[:cut]), "b"); err == nil && !maps.EqualFunc(got.Content, f.Content, bytes.Equal) {
			t.Fatalf("a tarball of the first %d bytes of %d is read as another bundle", cut, len(good))
		}
	}
}

// TestDamagedTarball holds against a fault: the reader stops at the end mark of the
// archive and never sees the checksum of the compressed stream behind it.
func TestDamagedTarball(t *testing.T) {
	f := small(t)
	plain := gunzip(t, packed(t, f.Content, slices.Sorted(maps.Keys(f.Content)), same, time.Unix(0, 0)))
	var out bytes.Buffer
	z, _ := gzip.NewWriterLevel(&out, gzip.NoCompression)
	if _, err := z.Write(plain); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Replace(out.Bytes(), []byte("limit: 100"), []byte("limit: 900"), 1)
	if bytes.Equal(damaged, out.Bytes()) {
		t.Fatal("nothing was damaged")
	}
	if got, err := FromTarball(bytes.NewReader(damaged), "b"); err == nil && bytes.Contains(got.Content[scopeFile], []byte("900")) {
		t.Error("a tarball whose checksum is wrong loads with the damaged value")
	}
}

// TestSecondArchiveBehindTheFirst holds against a fault: entries behind the end mark
// silently do not count.
func TestSecondArchiveBehindTheFirst(t *testing.T) {
	f := small(t)
	first := packed(t, f.Content, slices.Sorted(maps.Keys(f.Content)), same, time.Unix(0, 0))
	more := packed(t, map[string][]byte{"more.rego": []byte("package conjunct.floors")}, []string{"more.rego"}, same, time.Unix(0, 0))
	got, err := FromTarball(bytes.NewReader(append(slices.Clone(first), more...)), "b")
	if err == nil && got.Content["more.rego"] == nil {
		t.Error("what follows the end mark of the archive is neither read nor told")
	}
}

// TestTooLarge: neither one file, nor all, nor their number can fill memory.
func TestTooLarge(t *testing.T) {
	stream := func(sizes []int64, name func(int) string) io.Reader {
		r, w := io.Pipe()
		go func() {
			z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed)
			a := tar.NewWriter(z)
			zeros := make([]byte, 1<<20)
			for i, size := range sizes {
				if a.WriteHeader(&tar.Header{Name: name(i), Typeflag: tar.TypeReg, Size: size, Mode: 0o600}) != nil {
					break
				}
				for left := size; left > 0; left -= int64(len(zeros)) {
					if _, err := a.Write(zeros[:min(left, int64(len(zeros)))]); err != nil {
						break
					}
				}
			}
			w.CloseWithError(errors.Join(a.Close(), z.Close()))
		}()
		t.Cleanup(func() { r.Close() })
		return r
	}
	rego := func(i int) string { return fmt.Sprintf("f%d.rego", i) }
	for _, c := range []struct {
		name  string
		sizes []int64
		says  string
	}{
		{"one file of 16 MiB", []int64{maxFile}, ""},
		{"one file a byte larger", []int64{maxFile + 1}, "too large"},
		{"a bomb of 1 TiB", []int64{1 << 40}, "too large"},
		{"five files of 16 MiB", []int64{maxFile, maxFile, maxFile, maxFile, maxFile}, "too large"},
		{"10001 files", make([]int64, maxFiles+1), "too large"},
		{"10000 files", make([]int64, maxFiles), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := FromTarball(stream(c.sizes, rego), "b")
			if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("error %v, want %q", err, c.says)
			}
		})
	}
}

// TestBombOfFilesThatDoNotCount holds against a fault: an entry that is not wanted is
// decompressed to its end, whatever its size, since no limit looks at it.
func TestBombOfFilesThatDoNotCount(t *testing.T) {
	sizes, read := int64(maxTotal*3), int64(0)
	r, w := io.Pipe()
	go func() {
		z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed)
		a := tar.NewWriter(z)
		_ = a.WriteHeader(&tar.Header{Name: "README.md", Typeflag: tar.TypeReg, Size: sizes, Mode: 0o600})
		zeros := make([]byte, 1<<20)
		for ; read < sizes; read += int64(len(zeros)) {
			if _, err := a.Write(zeros); err != nil {
				return
			}
		}
		w.CloseWithError(errors.Join(a.Close(), z.Close()))
	}()
	_, err := FromTarball(r, "b")
	r.Close()
	if err == nil {
		fault(t, "%d MiB of a file that is not wanted were read, beyond the %d MiB of a bundle", sizes>>20, maxTotal>>20)
	}
}

func gunzip(t *testing.T, b []byte) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func gzipped(t *testing.T, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func put(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// write puts a bundle into a directory.
func write(t *testing.T, f Files) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range f.Content {
		put(t, filepath.Join(dir, name), string(text))
	}
	return dir
}

func TestHostileDirectories(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(t *testing.T, dir string)
		says string
	}{
		{"a linked Rego file", func(t *testing.T, dir string) {
			put(t, filepath.Join(dir, "..", "outside.rego"), "package conjunct.floors")
			if err := os.Symlink(filepath.Join(dir, "..", "outside.rego"), filepath.Join(dir, "conjunct/floors/more.rego")); err != nil {
				t.Fatal(err)
			}
		}, "conjunct/floors/more.rego is not a regular file"},
		{"a linked data file", func(t *testing.T, dir string) {
			if err := os.Symlink("../scope/data.yaml", filepath.Join(dir, "conjunct/floors/data.yaml")); err != nil {
				t.Fatal(err)
			}
		}, "conjunct/floors/data.yaml is not a regular file"},
		{"a link that leads nowhere", func(t *testing.T, dir string) {
			if err := os.Symlink("nowhere", filepath.Join(dir, "conjunct/floors/more.rego")); err != nil {
				t.Fatal(err)
			}
		}, "not a regular file"},
		{"a named pipe", func(t *testing.T, dir string) {
			if err := syscall.Mkfifo(filepath.Join(dir, "conjunct/floors/more.rego"), 0o600); err != nil {
				t.Skip(err)
			}
		}, "not a regular file"},
		{"a file nobody may read", func(t *testing.T, dir string) {
			name := filepath.Join(dir, "conjunct/floors/more.rego")
			put(t, name, "package conjunct.floors")
			if err := os.Chmod(name, 0); err != nil {
				t.Fatal(err)
			}
			if f, err := os.Open(name); err == nil {
				f.Close()
				t.Skip("this user may read everything")
			}
		}, "permission denied"},
		{"a directory named like a Rego file", func(t *testing.T, dir string) {
			put(t, filepath.Join(dir, "conjunct/floors.rego/more.rego"), "package conjunct.floors")
		}, ""},
		{"a huge file", func(t *testing.T, dir string) {
			name := filepath.Join(dir, "conjunct/floors/more.rego")
			put(t, name, "")
			if err := os.Truncate(name, 1<<40); err != nil {
				t.Skip(err)
			}
		}, "too large"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "b")
			if err := os.Rename(write(t, small(t)), dir); err != nil {
				t.Fatal(err)
			}
			c.make(t, dir)
			_, err := Open(dir)
			if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("error %v, want %q", err, c.says)
			}
		})
	}
}

func TestOpenNothing(t *testing.T) {
	name := filepath.Join(t.TempDir(), "none")
	for _, open := range []func() error{
		func() error { _, err := Open(name); return err },
		func() error { _, err := Read(name); return err },
		func() error { _, err := CheckTests(name, nil); return err },
		func() error { _, err := Tests(name); return err },
	} {
		if err := open(); !errors.Is(err, fs.ErrNotExist) || strings.Count(err.Error(), name) != 1 {
			t.Errorf("error %v, want one that no file exists, naming it once", err)
		}
	}
}

// TestReadThroughALink: the bundle itself may be a link.
func TestReadThroughALink(t *testing.T) {
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(write(t, small(t)), link); err != nil {
		t.Fatal(err)
	}
	b, err := Read(link)
	if err != nil {
		t.Fatal(err)
	}
	if b.Bundle().Digest != digestOf(t, small(t)) || b.Path != link {
		t.Errorf("got %v at %s", b.Bundle(), b.Path)
	}
}

// TestTestsAreNotThePolicy: tests are read apart, and only they.
func TestTestsAreNotThePolicy(t *testing.T) {
	tests, err := Tests(filepath.Join("..", "policies", "itsm"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"conjunct/authority/authority_test.rego", "conjunct/floors/floors_test.rego", "conjunct/severity/severity_test.rego", "conjunct/transition/transition_test.rego"}
	if got := slices.Sorted(maps.Keys(tests)); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
