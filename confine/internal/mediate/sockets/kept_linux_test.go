package sockets

import (
	"os"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp/seccomptest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"golang.org/x/sys/unix"
)

// TestKeptSockets checks which sockets are kept, and what is answered for the others. This process plays
// the server.
func TestKeptSockets(t *testing.T) {
	listener, id, _ := seccomptest.HeldCall(t)
	h := &Handler{Listener: &listener, keeps: true, streams: keptSockets{limit: 2}, datagrams: keptSockets{limit: 1}}
	call := func(fd int) *seccomp.Notification {
		n := &seccomp.Notification{Id: id, Tid: uint32(os.Getpid())}
		n.Args[0] = uint64(uint32(int32(fd)))
		return n
	}
	made := func() (fd int, inode uint64) {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		testkit.Must(t, err)
		t.Cleanup(func() { unix.Close(fd) })
		inode, errno := h.streams.keep(fd)
		if errno != 0 {
			t.Fatal(errno)
		}
		h.known.put(inode, &socketState{family: unix.AF_INET})
		return fd, inode
	}
	isKept := func(fd int, want uint64) bool {
		t.Helper()
		dup, o, errno := h.find(call(fd))
		if errno != 0 || o.id != want || o.family != unix.AF_INET {
			t.Errorf("%d: %v, %+v", fd, errno, o)
		}
		if dup < 0 {
			return false
		}
		defer unix.Close(dup)
		var a, b unix.Stat_t
		if unix.Fstat(dup, &a) != nil || unix.Fstat(fd, &b) != nil || a.Ino != b.Ino {
			t.Errorf("%d: a duplicate of another socket", fd)
		}
		return true
	}
	a, inodeA := made()
	b, inodeB := made()
	if !isKept(b, inodeB) || !isKept(a, inodeA) { // a is used last
		t.Error("a new socket is not kept")
	}
	c, inodeC := made()
	if isKept(b, inodeB) || !isKept(a, inodeA) || !isKept(c, inodeC) {
		t.Error("the socket that was not used is to go")
	}
	if got := h.perform(call(b), "connect"); got != failed(unix.ENOBUFS) {
		t.Errorf("connect of a socket that is not kept any more: %+v", got)
	}
	peer := sockaddr("192.0.2.1:443")
	h.known.put(inodeA, &socketState{family: unix.AF_INET, peer: peer, pending: true})
	h.streams.drop(inodeA)
	for _, want := range []outcome{{}, failed(unix.EISCONN), failed(unix.EISCONN)} {
		if got := h.perform(call(a), "connect"); got != want {
			t.Errorf("connect of a connected socket: %+v, want %+v", got, want)
		}
	}
	if got := h.perform(call(c), "getpeername"); got != letProceed { // the kernel answers ENOTCONN
		t.Errorf("getpeername before connect: %+v", got)
	}
	h.streams.drop(inodeC)

	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	testkit.Must(t, err)
	defer unix.Close(pair[0])
	defer unix.Close(pair[1])
	for _, row := range []struct {
		what string
		fd   int
		call string
		want outcome
	}{
		{"a pair of the server", pair[0], "connect", failed(unix.EISCONN)},
		{"a pair of the server", pair[0], "bind", failed(unix.EINVAL)},
		{"a pair of the server", pair[0], "sendmsg", letProceed},
		{"no descriptor", 1 << 20, "connect", failed(unix.EBADF)},
		{"a negative one", -1, "connect", failed(unix.EBADF)},
		{"a listener of seccomp", int(listener), "connect", failed(unix.ENOTSOCK)},
	} {
		if got := h.perform(call(row.fd), row.call); got != row.want {
			t.Errorf("%s of %s: %+v, want %+v", row.call, row.what, got, row.want)
		}
	}
	if len(h.streams.all) != 0 {
		t.Errorf("%v are still kept", h.streams.all)
	}
}
