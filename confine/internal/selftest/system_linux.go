package selftest

import "golang.org/x/sys/unix"

// systemBuild returns the release of the kernel.
func systemBuild() (string, error) {
	var u unix.Utsname
	err := unix.Uname(&u)
	return unix.ByteSliceToString(u.Release[:]), err
}

// shortDir is where directories with short paths are made.
const shortDir = "/tmp"
