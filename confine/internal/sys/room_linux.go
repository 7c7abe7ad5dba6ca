package sys

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// A table of descriptors that is full is replaced by a larger one. In a process of
// several threads the kernel first waits for a grace period of RCU (expand_fdtable in
// fs/file.c), which takes 10 ms and more: a node server, which opens a hundred files
// at once while it starts, would wait for two of them, and the shim, which holds a
// descriptor for each mount, for one where a policy has sixty. But a table that was
// enlarged before there were threads stays large through fork and exec. So the shim's
// and the server's have room from the start.
const TableRoom = 128 // and one more makes a table of 256

// withRoom makes the table of a process to be started larger than these files need. The
// package syscall puts the pipe that it uses until the execution beyond the last of
// them, and closes those that are none; what the table has room for is all that stays.
func WithRoom(files ...uintptr) []uintptr {
	for room := RoomFor(len(files)); len(files) < room; {
		files = append(files, ^uintptr(0))
	}
	return files
}

// roomFor is tableRoom, or less where this process may not have that many.
func RoomFor(files int) int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return files
	}
	return int(min(TableRoom, max(limit.Cur, 16)-16)) // which leaves some for package syscall
}

// holdRoom holds a descriptor for as long as a process is forked from this one: its
// table is as large as the highest of ours demands. That is where withRoom had it, so
// that ours does not grow.
func HoldRoom() (release func()) {
	fd, err := unix.FcntlInt(0, unix.F_DUPFD_CLOEXEC, max(RoomFor(0), 3))
	if err != nil {
		return func() {}
	}
	return func() { unix.Close(fd) }
}
