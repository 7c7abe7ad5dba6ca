package mac

import "golang.org/x/sys/unix"

// systemBuild returns the release of the kernel.
func systemBuild() (string, error) {
	var u unix.Utsname
	err := unix.Uname(&u)
	return unix.ByteSliceToString(u.Release[:]), err
}

// shortDir is where directories with short paths are made.
const shortDir = "/tmp"

func swap(a, b string) error {
	return unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
}

func clone(string, string) error { return unix.ENOTSUP }

// procargs reads the environment of a process of the same user.
func procargs(pid string) error { return read("/proc/" + pid + "/environ") }
