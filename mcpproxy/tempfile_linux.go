package mcpproxy

import (
	"os"
	"syscall"
)

// oTmpfile is __O_TMPFILE; with O_DIRECTORY it is O_TMPFILE of open(2).
const oTmpfile = 0x400000

// tempFile returns a file that never had a name, so none is left behind when the process
// is killed. Filesystems that cannot make one get a file that is unlinked at once.
func tempFile() (*os.File, error) {
	f, err := os.OpenFile(os.TempDir(), os.O_RDWR|oTmpfile|syscall.O_DIRECTORY, 0o600)
	if err != nil {
		return unlinkedTempFile()
	}
	return f, nil
}
