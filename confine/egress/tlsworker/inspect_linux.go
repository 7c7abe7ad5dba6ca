package tlsworker

import "golang.org/x/sys/unix"

// preventInspection keeps other processes of the user from inspecting this one (ptrace(2)).
func preventInspection() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }

// refuseRights has the kernel refuse descriptors that the other end sends, from Linux 6.16 on. On an older
// one the launcher closes those that it receives at once.
func refuseRights(fd int) { unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PASSRIGHTS, 0) }
