package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// Limits on what is read as a bundle, so that an archive cannot fill memory.
const (
	maxFile  = 16 << 20
	maxTotal = 64 << 20
	maxFiles = 10_000
)

// Files is the content of a bundle by slash-separated path below its root.
// Only what decides is read: no tests, no scenarios.
type Files struct {
	// Path is where the files come from, for messages.
	Path    string
	Content map[string][]byte
}

// Open reads a bundle directory, or a gzipped tarball of one.
func Open(name string) (Files, error) {
	info, err := os.Stat(name)
	if err != nil {
		return Files{}, fmt.Errorf("bundle %s: %w", name, underlying(err))
	}
	if info.IsDir() {
		return FromFS(os.DirFS(name), name)
	}
	f, err := os.Open(name)
	if err != nil {
		return Files{}, fmt.Errorf("bundle %s: %w", name, underlying(err))
	}
	defer f.Close()
	return FromTarball(f, name)
}

// underlying drops the path that os errors repeat.
func underlying(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// FromFS reads a bundle from a file system, such as an embedded one.
func FromFS(fsys fs.FS, name string) (Files, error) { return fromFS(fsys, name, wanted) }

// Tests reads the Rego test files of a bundle directory. A tarball is read for
// deciding only; its tests are where it was made.
func Tests(dir string) (map[string][]byte, error) {
	files, err := fromFS(os.DirFS(dir), dir, func(p string) bool { return strings.HasSuffix(p, "_test.rego") })
	return files.Content, err
}

func fromFS(fsys fs.FS, name string, wanted func(string) bool) (Files, error) {
	files := Files{Path: name, Content: map[string][]byte{}}
	total := 0
	err := fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fmt.Errorf("bundle %s: %s: %w", name, p, underlying(err))
		case d.IsDir():
			return nil
		case d.Type()&fs.ModeSymlink != 0, wanted(p) && !d.Type().IsRegular():
			// Whatever a link leads to would silently not count.
			return fmt.Errorf("bundle %s: %s is not a regular file", name, p)
		case !wanted(p):
			return nil
		}
		f, err := fsys.Open(p)
		if err != nil {
			return fmt.Errorf("bundle %s: %s: %w", name, p, underlying(err))
		}
		defer f.Close()
		return files.add(p, f, &total)
	})
	return files, err
}

// FromTarball reads a bundle from a gzipped tar stream.
func FromTarball(r io.Reader, name string) (Files, error) {
	files := Files{Path: name, Content: map[string][]byte{}}
	z, err := gzip.NewReader(r)
	if err != nil {
		return files, fmt.Errorf("bundle %s: not a directory and not a gzipped tarball: %w", name, err)
	}
	total := 0
	archive := tar.NewReader(z)
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files, finish(z, name)
		}
		if err != nil {
			return files, fmt.Errorf("bundle %s: %w", name, err)
		}
		p := strings.TrimPrefix(path.Clean("/"+h.Name), "/")
		switch {
		case strings.HasPrefix(path.Clean(strings.TrimLeft(h.Name, "/"))+"/", "../"):
			return files, fmt.Errorf("bundle %s: %q leads out of it", name, h.Name)
		case h.Typeflag == tar.TypeDir, h.Typeflag == tar.TypeXGlobalHeader:
			continue
		case h.Typeflag == tar.TypeSymlink, h.Typeflag == tar.TypeLink, wanted(p) && h.Typeflag != tar.TypeReg:
			return files, fmt.Errorf("bundle %s: %s is not a regular file", name, p)
		case h.Size > maxTotal:
			return files, fmt.Errorf("bundle %s: %s is too large", name, p)
		case !wanted(p):
			continue
		}
		if err := files.add(p, archive, &total); err != nil {
			return files, err
		}
	}
}

// finish reads to the end of a tarball, where its checksum is, and refuses
// anything behind the archive: it would silently not count.
func finish(z io.Reader, name string) error {
	rest, err := io.ReadAll(io.LimitReader(z, 1<<20))
	if err != nil {
		return fmt.Errorf("bundle %s: damaged: %w", name, err)
	}
	if len(bytes.Trim(rest, "\x00")) > 0 || len(rest) == 1<<20 {
		return fmt.Errorf("bundle %s: something follows the archive", name)
	}
	return nil
}

func (f Files) add(p string, r io.Reader, total *int) error {
	b, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	*total += len(b)
	_, twice := f.Content[p]
	switch {
	case err != nil:
		return fmt.Errorf("bundle %s: %s: %w", f.Path, p, underlying(err))
	case twice:
		return fmt.Errorf("bundle %s: %s stands in it twice", f.Path, p)
	case len(b) > maxFile, *total > maxTotal, len(f.Content) >= maxFiles:
		return fmt.Errorf("bundle %s: too large: at most %d MiB a file, %d MiB and %d files in all", f.Path, maxFile>>20, maxTotal>>20, maxFiles)
	}
	f.Content[p] = b
	return nil
}

const manifestFile = ".manifest"

// wanted reports whether a file is part of what decides, or looks so much like
// it that leaving it out silently would surprise.
func wanted(p string) bool {
	base := path.Base(p)
	switch {
	case p == manifestFile:
		return true
	case strings.HasSuffix(base, "_test.rego"), p == ".signatures.json":
		return false
	case base == manifestFile:
		return true
	}
	name := strings.ToLower(strings.TrimSpace(base))
	return slices.ContainsFunc([]string{".rego", ".rgo", ".yaml", ".yml", ".yam", ".json", ".jsn"}, func(ext string) bool { return strings.HasSuffix(name, ext) }) ||
		name == "data" || strings.HasPrefix(name, "data.")
}

func isModule(p string) bool {
	base := path.Base(p)
	return strings.HasSuffix(base, ".rego") && !strings.HasPrefix(base, ".")
}

func isData(p string) bool {
	return slices.Contains([]string{"data.yaml", "data.yml", "data.json"}, path.Base(p))
}

// line returns the text of a row of a file, without its end.
func (f Files) line(file string, row int) string {
	lines := bytes.Split(f.Content[file], []byte("\n"))
	if row < 1 || row > len(lines) {
		return ""
	}
	return strings.TrimRight(string(lines[row-1]), "\r")
}
