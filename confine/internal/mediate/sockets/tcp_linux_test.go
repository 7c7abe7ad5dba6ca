package sockets

import (
	"net/netip"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"golang.org/x/sys/unix"
)

// TestConnectIsBounded: a connect that does not complete keeps the supervisor for a second, not
// for as long as the kernel would try.
func TestConnectIsBounded(t *testing.T) {
	l, at, errno := OpenListener(netip.IPv4Unspecified())
	if errno != 0 {
		t.Fatal(errno)
	}
	defer unix.Close(l)
	dial := func(flags int) (fd int, errno error) {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|flags, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(fd) })
		if errno := ConnectWithin(fd, sys.Sockaddr(at)); errno != 0 {
			return fd, errno
		}
		return fd, nil
	}
	for range 4 { // until its queue is full
		dial(unix.SOCK_NONBLOCK)
	}
	fd, err := dial(0)
	if err != unix.EINPROGRESS {
		t.Errorf("connect: %v", err)
	}
	if limit, err := unix.GetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO); err != nil || limit.Nano() != 0 {
		t.Errorf("the socket is left with a time limit: %v, %v", limit, err)
	}
}
