package sockets

import (
	"os"
	"runtime"
	"syscall"
	"testing"
	"unsafe"

	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp/seccomptest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"golang.org/x/sys/unix"
)

// TestStaleSocketCallIsRefused checks that a socket call is refused with ESRCH when its caller
// no longer waits. The thread ID may then belong to another process, whose memory and sockets
// must not be used. This process plays the one that has the ID.
func TestStaleSocketCallIsRefused(t *testing.T) {
	text := []byte("1234")
	at := func(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(&b[0]))) }
	var pinned runtime.Pinner
	pinned.Pin(&text[0])
	defer pinned.Unpin()
	file, err := os.Open(os.DevNull)
	testkit.Must(t, err)
	defer file.Close()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	testkit.Must(t, err)
	defer unix.Close(pair[0])
	defer unix.Close(pair[1])
	closeIt := func(fd int, errno syscall.Errno) syscall.Errno {
		if errno == 0 {
			unix.Close(fd)
		}
		return errno
	}
	for _, c := range []struct {
		what string
		try  func(l seccomp.Listener, n *seccomp.Notification) syscall.Errno
	}{
		{"an address", func(l seccomp.Listener, n *seccomp.Notification) syscall.Errno {
			return (&Handler{Listener: &l}).read(n, at(text), make([]byte, 4))
		}},
		{"the memory", func(l seccomp.Listener, n *seccomp.Notification) syscall.Errno {
			return closeIt((&Handler{Listener: &l}).memory(n))
		}},
		{"the socket", func(l seccomp.Listener, n *seccomp.Notification) syscall.Errno {
			n.Args[0] = uint64(file.Fd())
			return closeIt((&Handler{Listener: &l}).duplicate(n))
		}},
		{"the socket, by the pidfd of the process", func(l seccomp.Listener, n *seccomp.Notification) syscall.Errno {
			n.Args[0] = uint64(file.Fd())
			return closeIt((&Handler{Listener: &l, noThreadPidfd: true}).duplicate(n))
		}},
		{"the socket, by its inode", func(l seccomp.Listener, n *seccomp.Notification) syscall.Errno {
			n.Args[0] = uint64(pair[0])
			_, _, errno := (&Handler{Listener: &l, keeps: true}).find(n)
			return errno
		}},
	} {
		t.Run(c.what, func(t *testing.T) {
			l, id, letGo := seccomptest.HeldCall(t)
			n := seccomp.Notification{Id: id, Tid: uint32(os.Getpid())}
			if errno := c.try(l, &n); errno != 0 {
				t.Errorf("while the caller waits: %v", errno)
			}
			letGo()
			if errno := c.try(l, &n); errno != unix.ESRCH {
				t.Errorf("when the caller is gone: %v", errno)
			}
		})
	}
}
