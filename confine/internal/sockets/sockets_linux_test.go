package sockets

import (
	"fmt"
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp/seccomptest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// openSocket makes a socket that ends with the test.
func openSocket(t *testing.T, family, kind int) (fd int) {
	t.Helper()
	fd = testkit.Get(unix.Socket(family, kind|unix.SOCK_CLOEXEC, 0))(t)
	t.Cleanup(func() { unix.Close(fd) })
	return fd
}

// openPair makes a pair of UNIX sockets that end with the test.
func openPair(t *testing.T) (pair [2]int) {
	t.Helper()
	pair = testkit.Get(unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0))(t)
	t.Cleanup(func() { unix.Close(pair[0]); unix.Close(pair[1]) })
	return pair
}

// TestKnownSockets checks which sockets are known, and what is answered for the others. This process
// plays the server.
func TestKnownSockets(t *testing.T) {
	listener, id, _ := seccomptest.HeldCall(t)
	h := &Handler{listener: &listener}
	call := func(fd int) *seccomp.Notification {
		n := &seccomp.Notification{Id: id, Tid: uint32(os.Getpid())}
		n.Args[0] = uint64(uint32(int32(fd)))
		return n
	}
	tcp := func() (fd int) {
		fd = openSocket(t, unix.AF_INET, unix.SOCK_STREAM)
		own := testkit.Get(unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0))(t)
		testkit.Must(t, h.add(fd, &socket{family: unix.AF_INET, fd: own}))
		return fd
	}
	knows := func(fd int) bool {
		inode, errno := h.inode(call(fd))
		testkit.MustEqual(t, "", errno, 0)
		o := h.find(inode)
		if o == nil {
			return false
		}
		var a, b unix.Stat_t
		if unix.Fstat(o.fd, &a) != nil || unix.Fstat(fd, &b) != nil || a.Ino != b.Ino {
			t.Errorf("%d: a descriptor of another socket", fd)
		}
		return true
	}
	first, second := tcp(), tcp()
	for len(h.made) < maxSockets {
		h.made = append(h.made, &socket{inode: uint64(len(h.made)), fd: -1})
	}
	if !knows(first) { // which was used last now
		t.Error("a new socket is not known")
	}
	third := tcp()
	if knows(second) || !knows(first) || !knows(third) {
		t.Error("the socket that was not used is to go")
	}
	pair := openPair(t)
	for _, row := range []struct {
		what string
		fd   int
		call string
		want outcome
	}{
		{"a forgotten socket", second, "connect", failed(unix.EISCONN)},
		{"a known one", first, "getsockname", letProceed},
		{"a pair of the server", pair[0], "connect", failed(unix.EISCONN)},
		{"a pair of the server", pair[0], "bind", failed(unix.EINVAL)},
		{"a pair of the server", pair[0], "recvmsg", letProceed},
		{"no descriptor", 1 << 20, "connect", failed(unix.EBADF)},
		{"no descriptor", 1 << 20, "recvmsg", letProceed}, // the kernel says the same
		{"a negative one", -1, "bind", failed(unix.EBADF)},
		{"a listener of seccomp", int(listener), "connect", failed(unix.ENOTSOCK)},
	} {
		testkit.Equal(t, fmt.Sprintf("%s of %s", row.call, row.what), h.perform(call(row.fd), row.call), row.want)
	}
}

// TestStaleSocketCallIsRefused checks that a socket call is refused with ESRCH when its caller
// no longer waits. The thread ID may then belong to another process, whose memory and sockets
// must not be used. This process plays the one that has the ID.
func TestStaleSocketCallIsRefused(t *testing.T) {
	m := newMemory(t)
	pair := openPair(t)
	for _, c := range []struct {
		what string
		try  func(h *Handler, n *seccomp.Notification) syscall.Errno
	}{
		{"read", func(h *Handler, n *seccomp.Notification) syscall.Errno {
			return h.read(n, m.at(0), make([]byte, 4))
		}},
		{"write", func(h *Handler, n *seccomp.Notification) syscall.Errno {
			return h.write(n, m.at(0), make([]byte, 4))
		}},
		{"find the socket", func(h *Handler, n *seccomp.Notification) syscall.Errno {
			n.Args[0] = uint64(pair[0])
			_, errno := h.inode(n)
			return errno
		}},
	} {
		t.Run(c.what, func(t *testing.T) {
			l, id, letGo := seccomptest.HeldCall(t)
			h, n := &Handler{listener: &l}, seccomp.Notification{Id: id, Tid: uint32(os.Getpid())}
			testkit.Equal(t, "while the caller waits", c.try(h, &n), 0)
			letGo()
			testkit.Equal(t, "when the caller is gone", c.try(h, &n), unix.ESRCH)
		})
	}
}
