package selftest

import "golang.org/x/sys/unix"

// systemBuild returns the build of macOS, which each update changes.
func systemBuild() (string, error) { return unix.Sysctl("kern.osversion") }

// shortDir is where directories with short paths are made.
const shortDir = "/private/tmp"
