package download

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// jailed reports whether this process may be in a jail: there it can neither look at processes, itself
// included, nor signal the one that started it.
func jailed() bool {
	_, err := unix.SysctlKinfoProc("kern.proc.pid", os.Getpid())
	return errors.Is(err, unix.EPERM) || errors.Is(unix.Kill(os.Getppid(), 0), unix.EPERM)
}
