package attempt

import (
	"errors"
	"strconv"

	"golang.org/x/sys/unix"
)

const hidden = 0x8000 // UF_HIDDEN of sys/stat.h

func chflags(path string) error { return unix.Chflags(path, hidden) }

func swap(a, b string) error { return unix.RenamexNp(a, b, unix.RENAME_SWAP) }

func clone(from, to string) error { return unix.Clonefile(from, to, unix.CLONE_NOFOLLOW) }

// procargs reads the arguments and the environment of a process of the same user.
func procargs(pid string) error {
	n, err := strconv.Atoi(pid)
	if err != nil {
		return err
	}
	b, err := unix.SysctlRaw("kern.procargs2", n)
	if err == nil && len(b) == 0 {
		return errors.New("nothing could be read")
	}
	return err
}
