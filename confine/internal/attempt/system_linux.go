package attempt

import "golang.org/x/sys/unix"

func chflags(string) error { return unix.ENOTSUP }

func swap(a, b string) error {
	return unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
}

func clone(string, string) error { return unix.ENOTSUP }

// procargs reads the environment of a process of the same user.
func procargs(pid string) error { return read("/proc/" + pid + "/environ") }
