package sockets

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestConnectIsBounded: a connect that does not complete keeps the supervisor for a second, not
// for as long as the kernel would try.
func TestConnectIsBounded(t *testing.T) {
	l, at, errno := openListener(netip.IPv4Unspecified())
	testkit.MustEqual(t, "", errno, 0)
	defer unix.Close(l)
	dial := func(flags int) (fd int, errno error) {
		fd = openSocket(t, unix.AF_INET, unix.SOCK_STREAM|flags)
		if errno := connectWithin(fd, sys.Sockaddr(at)); errno != 0 {
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

// TestAcceptFromForeignConnection: the supervisor does not take a foreign connection to its
// listener for the server's.
func TestAcceptFromForeignConnection(t *testing.T) {
	for _, family := range []string{"127.0.0.1", "::1"} {
		t.Run(family, func(t *testing.T) {
			if l, err := net.Listen("tcp", net.JoinHostPort(family, "0")); err != nil {
				testkit.Skip(t, "ipv6", "%v", err)
			} else {
				l.Close()
			}
			l, at, errno := openListener(netip.MustParseAddr(family))
			testkit.MustEqual(t, "", errno, 0)
			defer unix.Close(l)
			stranger := testkit.Get(net.Dial("tcp", at.String()))(t)
			defer stranger.Close()
			domain := unix.AF_INET
			if family == "::1" {
				domain = unix.AF_INET6
			}
			fd := openSocket(t, domain, unix.SOCK_STREAM|unix.SOCK_NONBLOCK)
			testkit.MustEqual(t, "", connectRaw(fd, sys.Sockaddr(at)), unix.EINPROGRESS)
			other := acceptFrom(l, at, fd)
			if other < 0 {
				t.Fatal("the server's own connection is not accepted")
			}
			defer unix.Close(other)
			from, _ := sys.AddrPortOf(unix.Getpeername(other))
			if local, _ := sys.AddrPortOf(unix.Getsockname(fd)); from != local {
				t.Errorf("the connection of %v is taken for that of %v", from, local)
			}
			stranger.SetReadDeadline(time.Now().Add(testkit.Patience))
			if n, err := stranger.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("the stranger's connection goes on: %d, %v", n, err)
			}
		})
	}
}
