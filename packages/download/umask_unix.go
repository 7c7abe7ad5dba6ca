//go:build unix

package download

import (
	"io/fs"
	"syscall"
)

// processUmask returns the umask of this process, which must not make files meanwhile.
func processUmask() fs.FileMode {
	mask := syscall.Umask(umask)
	syscall.Umask(mask)
	return fs.FileMode(mask)
}
