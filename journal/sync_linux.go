package journal

import (
	"os"
	"syscall"
)

// datasync is fdatasync: the data and the size, without access times.
func datasync(f *os.File) error {
	for {
		err := syscall.Fdatasync(int(f.Fd()))
		if err != syscall.EINTR {
			return err
		}
	}
}
