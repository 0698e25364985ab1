package bundle

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"maps"
	"slices"
)

// WriteTarball writes what decides of a bundle as a gzipped tarball: the same
// bytes for the same content. Reading it gives a bundle with the same digest.
func (b *Bundle) WriteTarball(w io.Writer) error {
	z := gzip.NewWriter(w)
	archive := tar.NewWriter(z)
	for _, name := range slices.Sorted(maps.Keys(b.files.Content)) {
		content := b.files.Content[name]
		h := &tar.Header{Name: name, Mode: 0o644, Size: int64(len(content)), Typeflag: tar.TypeReg}
		if err := archive.WriteHeader(h); err != nil {
			return err
		}
		if _, err := archive.Write(content); err != nil {
			return err
		}
	}
	return errors.Join(archive.Close(), z.Close())
}
