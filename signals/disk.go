package signals

import (
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Disk is the machine's own file system.
type Disk struct{}

func (Disk) Lstat(name string) (fs.FileInfo, error) { return os.Lstat(name) }
func (Disk) Readlink(name string) (string, error)   { return os.Readlink(name) }

// ReadFile reads a regular file. Anything else, a pipe or a device, could block
// or never end.
func (Disk) ReadFile(name string, limit int64) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("signals: %s is no regular file", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(text)) > limit {
		return nil, fmt.Errorf("signals: %s is larger than %d bytes", name, limit)
	}
	return text, err
}
