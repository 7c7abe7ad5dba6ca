package installed

import (
	"os"

	"golang.org/x/sys/unix"
)

// inputOf returns a file in memory, which a program can read as often as it likes, and which ends with its readers.
func inputOf(text string) (*os.File, error) {
	fd, err := unix.MemfdCreate("input", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), "input")
	_, err = f.WriteAt([]byte(text), 0)
	return f, err
}
