package jailtest

import (
	"fmt"
	"net"
	"strings"
	"unsafe"

	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"golang.org/x/sys/unix"
)

// Addresses are the addresses of the services that attacks try to reach, by their words in the
// forms of attacks. Own is the address if the test has a network namespace of its own, Host the
// address otherwise.
var Addresses = []struct{ Word, Own, Host string }{
	{"LOCAL4", "127.0.0.1", "127.0.0.1"}, {"LOCAL6", "::1", "::1"}, {"LAN", "10.20.30.40", "127.0.0.2"},
	{"META", "169.254.169.254", "127.0.0.3"}, {"PUBLIC4", "198.51.100.7", "127.0.0.4"}, {"PUBLIC6", "2001:db8::7", "::1"}, {"RESOLVER", "9.9.9.9", "127.0.0.5"},
}

// MakeNetwork adds the Own addresses to lo in a network namespace of the test's own.
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

// NetworkEnv is set if the process has a network namespace of its own.
const NetworkEnv = "MCPJAIL_TEST_NETWORK"
