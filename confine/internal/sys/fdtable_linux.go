package sys

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// MinFDTable is the number of descriptors that make the kernel allocate a table of 256.
//
// The kernel replaces a full table of descriptors by a larger one. In a process with several
// threads it first waits for a grace period of RCU, 10 ms and more (expand_fdtable in
// fs/file.c). A node server opens a hundred files while it starts and would wait twice. A
// table that was enlarged before there were threads keeps its size over fork and exec, so
// the jail's init and the server start with a large one.
const MinFDTable = 128

// PadFDTable appends entries to the files of a process that is to be started, so that its
// table is large. The entries are not open descriptors: package syscall puts the pipe that it
// uses until the exec after the last of them, and closes the numbers of the entries.
func PadFDTable(files ...uintptr) []uintptr {
	for size := FDTableTarget(len(files)); len(files) < size; {
		files = append(files, ^uintptr(0))
	}
	return files
}

// FDTableTarget returns MinFDTable, or less if this process may not open as many files.
func FDTableTarget(files int) int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return files
	}
	return int(min(MinFDTable, max(limit.Cur, 16)-16)) // package syscall needs some
}

// ReserveFDTable opens a high descriptor while a process is forked from this one, because the
// new table is as large as the highest descriptor demands. It opens the number up to which
// PadFDTable pads, so that this process's own table does not grow.
func ReserveFDTable() (release func()) {
	fd, err := unix.FcntlInt(0, unix.F_DUPFD_CLOEXEC, max(FDTableTarget(0), 3))
	if err != nil {
		return func() {}
	}
	return func() { unix.Close(fd) }
}
