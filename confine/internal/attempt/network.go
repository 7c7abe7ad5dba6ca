//go:build darwin || linux

package attempt

import (
	"errors"
	"net"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"
)

// connect asks for a connection, and does not wait for the other end: a refusal by the jail comes at
// once. The outcome is Works if the system lets the call through, also where the other end refuses it.
func connect(kind int, to string, bind bool) error {
	addr, err := netip.ParseAddrPort(to)
	if err != nil {
		return errors.New("no address is named")
	}
	family := unix.AF_INET
	if addr.Addr().Is6() {
		family = unix.AF_INET6
	}
	fd, err := unix.Socket(family, kind, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.SetNonblock(fd, true); err != nil {
		return err
	}
	if bind {
		any := netip.IPv4Unspecified()
		if family == unix.AF_INET6 {
			any = netip.IPv6Unspecified()
		}
		if err := unix.Bind(fd, sockaddr(netip.AddrPortFrom(any, 0))); err != nil {
			return err
		}
	}
	if err = unix.Connect(fd, sockaddr(addr)); err == nil && kind == unix.SOCK_DGRAM {
		_, err = unix.Write(fd, []byte("x"))
	}
	switch err {
	case unix.EINPROGRESS, unix.ECONNREFUSED, unix.EHOSTUNREACH, unix.ENETUNREACH, unix.EADDRNOTAVAIL:
		return nil // it is the network that says so
	}
	return err
}

// connectName connects to a host by its name. A refusal by the jail comes at once.
func connectName(to string) error {
	c, err := net.DialTimeout("tcp", to, 2*time.Second)
	if err == nil {
		err = c.Close()
	}
	return err
}

func sockaddr(a netip.AddrPort) unix.Sockaddr {
	if a.Addr().Is4() {
		return &unix.SockaddrInet4{Addr: a.Addr().As4(), Port: int(a.Port())}
	}
	return &unix.SockaddrInet6{Addr: a.Addr().As16(), Port: int(a.Port())}
}

func connectUnix(path string) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Connect(fd, &unix.SockaddrUnix{Name: path})
}

func bindUnix(path string) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		return err
	}
	return unix.Listen(fd, 1)
}
