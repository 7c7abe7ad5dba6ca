//go:build unix

package cmdline

import "syscall"

// ClearOwnerUmask removes the owner's bits from the umask, so that this program can use the
// files and directories that it creates. It returns the previous umask, for the server, or
// nil if it changed nothing.
func ClearOwnerUmask() *int {
	const owner = 0o700
	umask := syscall.Umask(0o077) // umask(2) cannot be read without being set
	syscall.Umask(umask &^ owner)
	if umask&owner == 0 {
		return nil
	}
	return &umask
}
