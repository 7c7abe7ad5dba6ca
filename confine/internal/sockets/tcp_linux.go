package sockets

import (
	"math/rand/v2"
	"net/netip"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
)

// connect connects a TCP socket to a listener of the handler, if the gateway permits the address.
func (s *Handler) connect(n *seccomp.Notification, o *socket) syscall.Errno {
	_, to, errno := s.address(n, o, n.Args[1], n.Args[2])
	if errno != 0 || !to.IsValid() { // AF_UNSPEC disconnects, and it is not connected
		return errno
	}
	mapped := o.family == unix.AF_INET6 && to.Addr().Is4()
	if to.Addr().IsUnspecified() { // which means loopback in connect(2)
		to = netip.AddrPortFrom(loopbackOf(to.Addr().Is4()), to.Port())
	}
	if !s.broker.request(spec.RequestConnect, to) {
		return unix.ECONNREFUSED
	}
	if errno := s.join(o.fd, to, mapped); errno != 0 {
		return errno
	}
	s.drop(o.inode)
	return 0
}

func loopbackOf(is4 bool) netip.Addr {
	if is4 {
		return netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	return netip.IPv6Loopback()
}

const (
	joinTimeout  = time.Second // for a connection over lo
	joinAttempts = 4
)

// join connects fd, and passes the other end of the connection to the launcher. A socket that does
// not wait is connected then too: a connection over lo is made at once.
func (s *Handler) join(fd int, to netip.AddrPort, mapped bool) syscall.Errno {
	l, at, errno := openListener(to.Addr())
	if errno != 0 {
		return errno
	}
	defer unix.Close(l)
	name := sys.Sockaddr(at)
	if mapped {
		name = sys.Sockaddr(netip.AddrPortFrom(netip.AddrFrom16(at.Addr().As16()), at.Port()))
	}
	if errno := connectWithin(fd, name); errno != 0 && errno != unix.EINPROGRESS {
		return errno
	}
	other := acceptFrom(l, at, fd)
	if other < 0 {
		return unix.ETIMEDOUT
	}
	defer unix.Close(other)
	if !s.broker.request(spec.PassTCP, to, other) {
		return unix.ECONNREFUSED // the connection ends with its other end
	}
	return 0
}

// connectWithin connects and waits for at most joinTimeout. The server could attach a filter to
// its socket that drops the answer, and the receiver would block with all mediated calls. Only the
// kernel reads O_NONBLOCK: the server can clear it at any time.
func connectWithin(fd int, name []byte) syscall.Errno {
	before, err := unix.GetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO)
	if err != nil {
		return sys.ErrnoOrEIO(err)
	}
	limit := unix.NsecToTimeval(int64(joinTimeout))
	unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &limit)
	defer unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, before)
	return connectRaw(fd, name)
}

// openListener opens a listener on lo. For IPv4 it takes a random address of 127.128.0.0/9, so
// that the ports do not run out.
func openListener(family netip.Addr) (fd int, at netip.AddrPort, errno syscall.Errno) {
	err := error(unix.EADDRNOTAVAIL)
	for range joinAttempts {
		var sa unix.Sockaddr = &unix.SockaddrInet6{Addr: netip.IPv6Loopback().As16()}
		domain := unix.AF_INET6
		if family.Is4() {
			r := rand.Uint32()
			domain, sa = unix.AF_INET, &unix.SockaddrInet4{Addr: [4]byte{127, 128 | byte(r), byte(r >> 8), 1 | byte(r>>16)}}
		}
		if fd, err = unix.Socket(domain, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0); err != nil {
			break
		}
		if err = sys.BindToLoopback(fd); err == nil {
			err = unix.Bind(fd, sa)
		}
		if err == nil {
			err = unix.Listen(fd, 1)
		}
		if err == nil {
			if at, ok := sys.AddrPortOf(unix.Getsockname(fd)); ok {
				return fd, at, 0
			}
			err = unix.EINVAL
		}
		unix.Close(fd)
	}
	if err == unix.EADDRNOTAVAIL || err == unix.EAFNOSUPPORT {
		err = unix.ENETUNREACH // no IPv6 here
	}
	return -1, at, sys.ErrnoOrEIO(err)
}

// acceptFrom accepts fd's connection to the listener l at the address at, or returns -1. It closes
// connections of other processes, which it knows by their two addresses: no two connections of a
// network have the same pair.
func acceptFrom(l int, at netip.AddrPort, fd int) (other int) {
	for end := time.Now().Add(joinTimeout); ; {
		other, sa, err := unix.Accept4(l, unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK)
		if err == nil {
			from, _ := sys.AddrPortOf(sa, nil)
			peer, connected := sys.AddrPortOf(unix.Getpeername(fd))
			if local, ok := sys.AddrPortOf(unix.Getsockname(fd)); ok && connected && peer == at && local == from {
				return other
			}
			unix.Close(other)
		}
		left := time.Until(end)
		if left <= 0 {
			return -1
		}
		if err == unix.EAGAIN {
			unix.Poll([]unix.PollFd{{Fd: int32(l), Events: unix.POLLIN}}, int(left.Milliseconds())+1)
		}
	}
}

// connectRaw calls connect(2) once. It does not retry after EINTR.
func connectRaw(fd int, raw []byte) syscall.Errno {
	_, _, errno := unix.Syscall(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(&raw[0])), uintptr(len(raw)))
	runtime.KeepAlive(raw)
	return errno
}
