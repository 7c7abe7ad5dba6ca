package mac

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// systemBuild returns the build of macOS, which each update changes.
func systemBuild() (string, error) { return unix.Sysctl("kern.osversion") }

// shortDir is where directories with short paths are made.
const shortDir = "/private/tmp"

func swap(a, b string) error { return unix.RenamexNp(a, b, unix.RENAME_SWAP) }

func clone(from, to string) error { return unix.Clonefile(from, to, unix.CLONE_NOFOLLOW) }

// procargs reads the arguments and the environment of a process of the same user.
func procargs(pid string) error {
	n, err := strconv.Atoi(pid)
	if err != nil {
		return err
	}
	_, err = unix.SysctlRaw("kern.procargs2", n)
	return err
}
