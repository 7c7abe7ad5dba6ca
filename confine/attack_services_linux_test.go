package confine

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"unsafe"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"golang.org/x/sys/unix"
)

// network makes services on addresses of every kind. In a network namespace of
// the test's own these are real addresses of the local network, of a cloud's
// metadata, of a public resolver; elsewhere they are all of the loopback network.
func (s *suite) network(t *testing.T) {
	own := os.Getenv(suiteNetEnv) != ""
	if own && os.Getuid() == 0 {
		if err := makeTestNetwork(); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range testAddresses {
		ip := p.host
		if own {
			ip = p.own
		}
		port := "0"
		if p.word == "RESOLVER" && own && os.Getuid() == 0 {
			port = "53"
		}
		tcp := serveTCP(t, net.JoinHostPort(ip, port))
		udp := serveUDP(t, net.JoinHostPort(ip, port))
		s.words[p.word+"TCP"], s.words[p.word+"UDP"] = tcp, udp
		_, number, _ := net.SplitHostPort(tcp)
		if p.word == "LOCAL4" {
			s.words["ANY4TCP"], s.words["ANY6TCP"] = "0.0.0.0:"+number, "[::]:"+number
			s.words["MAPPEDTCP"] = "[::ffff:127.0.0.1]:" + number
			n, _ := net.LookupPort("tcp", number)
			s.words["PORTHEX"] = fmt.Sprintf("0100007F:%04X", n)
		}
	}
}

// testAddresses are where the services listen: own is the address in a network
// namespace of the test's own, host the one elsewhere.
var testAddresses = []struct{ word, own, host string }{
	{"LOCAL4", "127.0.0.1", "127.0.0.1"}, {"LOCAL6", "::1", "::1"}, {"LAN", "10.20.30.40", "127.0.0.2"},
	{"META", "169.254.169.254", "127.0.0.3"}, {"PUBLIC4", "198.51.100.7", "127.0.0.4"}, {"PUBLIC6", "2001:db8::7", "::1"}, {"RESOLVER", "9.9.9.9", "127.0.0.5"},
}

// makeTestNetwork fills a network namespace that was made for the test.
func makeTestNetwork() error {
	if _, err := networkVerbs()["raise-lo"](nil); err != nil {
		return err
	}
	for i, p := range testAddresses {
		if strings.HasPrefix(p.own, "127.") || p.own == "::1" {
			continue
		}
		if err := addLoopbackAddress(fmt.Sprint("lo:", i), p.own); err != nil {
			return fmt.Errorf("%s: %w", p.own, err)
		}
	}
	return nil
}

// serveTCP accepts whatever comes. An address that was just added can need a
// moment.
func serveTCP(t *testing.T, at string) string {
	t.Helper()
	testkit.Eventually(t, "an address "+at, func() bool {
		l, err := net.Listen("tcp", at)
		if err == nil {
			l.Close()
		}
		return !errors.Is(err, unix.EADDRNOTAVAIL)
	})
	return testkit.Accept(t, "tcp", at)
}

// serveUDP answers every datagram.
func serveUDP(t *testing.T, at string) string {
	t.Helper()
	c, err := net.ListenPacket("udp", at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	go func() {
		b := make([]byte, 2048)
		for {
			n, from, err := c.ReadFrom(b)
			if err != nil {
				return
			}
			c.WriteTo(b[:n], from)
		}
	}()
	return c.LocalAddr().String()
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
	return rawErr(unix.SYS_IOCTL, uintptr(fd), unix.SIOCSIFADDR, uintptr(unsafe.Pointer(&req)))
}
