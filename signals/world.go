package signals

import "io/fs"

// World is the read-only view of the machine that facts are computed on. The
// zero value sees nothing: what needs to look at it is unknown.
type World struct {
	// Files is the file system that absolute paths name; nil: it cannot be seen.
	Files Files
	// Dir is the working directory that relative paths start from, absolute.
	Dir string
	// Home is the agent's home directory, absolute.
	Home string
}

// Files is what path, shell and test facts look up. Names are absolute.
type Files interface {
	// Lstat describes a name without following it.
	Lstat(name string) (fs.FileInfo, error)
	// Readlink is where a symbolic link points.
	Readlink(name string) (string, error)
	// ReadDir is what is in a folder, without following links, in any order: all
	// of it, or limit entries where there are more.
	ReadDir(name string, limit int) ([]fs.DirEntry, error)
	// ReadFile reads a file of at most limit bytes; a longer one is an error.
	ReadFile(name string, limit int64) ([]byte, error)
}
