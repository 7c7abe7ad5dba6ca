package mcpproxy

import (
	"os"
	"syscall"
)

// tmpFile is __O_TMPFILE; with O_DIRECTORY it is O_TMPFILE of open(2).
const tmpFile = 0x400000

// namelessFile returns a file that never had a name, so that none is left when we
// are killed at a bad moment. Not every filesystem can make one.
func namelessFile() (*os.File, error) {
	f, err := os.OpenFile(os.TempDir(), os.O_RDWR|tmpFile|syscall.O_DIRECTORY, 0o600)
	if err != nil {
		return unlinkedFile()
	}
	return f, nil
}
