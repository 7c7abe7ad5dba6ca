package sys

import (
	"net"
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestListeners: a lookup finds the listener that a connection would reach.
func TestListeners(t *testing.T) {
	fd := testkit.Get(unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG))(t)
	defer unix.Close(fd)
	l := &Listeners{Socket: fd}
	for _, c := range []struct {
		listens string
		found   []string
		not     []string
	}{
		{"127.0.0.1", []string{"127.0.0.1"}, []string{"127.0.0.2", "::1"}},
		{"0.0.0.0", []string{"127.0.0.1", "127.0.0.2"}, []string{"::1"}},
		{"[::1]", []string{"::1"}, []string{"127.0.0.1"}},
		{"[::]", []string{"::1", "127.0.0.1"}, nil},
	} {
		network := "tcp"
		if c.listens == "0.0.0.0" {
			network = "tcp4" // else it is [::], which takes both families
		}
		listener := testkit.Get(net.Listen(network, c.listens+":0"))(t)
		port := uint16(listener.Addr().(*net.TCPAddr).Port)
		at := func(addr string) bool {
			yes, known := l.At(netip.AddrPortFrom(netip.MustParseAddr(addr), port))
			if !known {
				t.Fatal("this kernel does not tell (CONFIG_INET_DIAG)")
			}
			return yes
		}
		for _, addr := range c.found {
			if !at(addr) {
				t.Errorf("a listener at %s was not found at %s", c.listens, addr)
			}
		}
		for _, addr := range c.not {
			if at(addr) {
				t.Errorf("a listener at %s was found at %s", c.listens, addr)
			}
		}
		listener.Close()
		for _, addr := range c.found {
			if at(addr) {
				t.Errorf("a closed listener was found at %s", addr)
			}
		}
	}
	if _, known := (&Listeners{Socket: -1}).At(netip.MustParseAddrPort("127.0.0.1:1")); known {
		t.Error("without a socket the answer is known")
	}
}
