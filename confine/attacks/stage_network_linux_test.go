package attacks

import (
	"errors"
	"fmt"
	"net"
	"os"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"golang.org/x/sys/unix"
)

// network starts services on addresses of every kind. In a network namespace of the test's own
// these are the addresses of a local network, of a cloud's metadata service and of a public
// resolver. Otherwise all are loopback addresses.
func (s *suite) network(t *testing.T) {
	own := os.Getenv(jailtest.NetworkEnv) != ""
	if own && os.Getuid() == 0 {
		testkit.Must(t, jailtest.MakeNetwork())
	}
	for _, p := range jailtest.Addresses {
		ip := p.Host
		if own {
			ip = p.Own
		}
		port := "0"
		if p.Word == "RESOLVER" && own && os.Getuid() == 0 {
			port = "53"
		}
		tcp := serveTCP(t, net.JoinHostPort(ip, port))
		udp := serveUDP(t, net.JoinHostPort(ip, port))
		s.words[p.Word+"TCP"], s.words[p.Word+"UDP"] = tcp, udp
		_, number, _ := net.SplitHostPort(tcp)
		if p.Word == "LOCAL4" {
			s.words["ANY4TCP"], s.words["ANY6TCP"] = "0.0.0.0:"+number, "[::]:"+number
			s.words["MAPPEDTCP"] = "[::ffff:127.0.0.1]:" + number
			n, _ := net.LookupPort("tcp", number)
			s.words["PORTHEX"] = fmt.Sprintf("0100007F:%04X", n)
		}
	}
}

// serveTCP accepts every connection. It waits until an address that was just added can be used.
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
	c := testkit.Get(net.ListenPacket("udp", at))(t)
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
