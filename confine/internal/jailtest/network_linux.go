package jailtest

import (
	"fmt"
	"net"
	"strings"
	"unsafe"

	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"golang.org/x/sys/unix"
)

// Addresses are where the services listen: own is the address in a network
// namespace of the test's own, host the one elsewhere.
var Addresses = []struct{ Word, Own, Host string }{
	{"LOCAL4", "127.0.0.1", "127.0.0.1"}, {"LOCAL6", "::1", "::1"}, {"LAN", "10.20.30.40", "127.0.0.2"},
	{"META", "169.254.169.254", "127.0.0.3"}, {"PUBLIC4", "198.51.100.7", "127.0.0.4"}, {"PUBLIC6", "2001:db8::7", "::1"}, {"RESOLVER", "9.9.9.9", "127.0.0.5"},
}

// MakeNetwork fills a network namespace that was made for the test.
func MakeNetwork() error {
	if _, err := attacker.NetworkVerbs()["raise-lo"](nil); err != nil {
		return err
	}
	for i, p := range Addresses {
		if strings.HasPrefix(p.Own, "127.") || p.Own == "::1" {
			continue
		}
		if err := addLoopbackAddress(fmt.Sprint("lo:", i), p.Own); err != nil {
			return fmt.Errorf("%s: %w", p.Own, err)
		}
	}
	return nil
}

// addLoopbackAddress gives lo another address, in a network namespace of the
// test's own.
func addLoopbackAddress(label, ip string) error {
	addr := net.ParseIP(ip)
	if v4 := addr.To4(); v4 != nil {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		r, err := unix.NewIfreq(label)
		if err != nil {
			return err
		}
		if err := r.SetInet4Addr(v4); err != nil {
			return err
		}
		return unix.IoctlIfreq(fd, unix.SIOCSIFADDR, r)
	}
	fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	req := struct { // struct in6_ifreq
		addr   [16]byte
		prefix uint32
		index  int32
	}{[16]byte(addr.To16()), 128, 1}
	return attacker.RawErr(unix.SYS_IOCTL, uintptr(fd), unix.SIOCSIFADDR, uintptr(unsafe.Pointer(&req)))
}

// suiteEnv is set in the run that has a network namespace of its own.
const NetworkEnv = "MCPJAIL_TEST_NETWORK"
