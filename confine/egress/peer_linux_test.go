package egress

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

const patience = testkit.Patience

// anywhere listens at addresses that are the machine's by a route alone, and beside
// who listens at all of them.
var anywhere = net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (err error) {
	c.Control(func(fd uintptr) {
		err = errors.Join(unix.SetsockoptInt(int(fd), unix.SOL_IP, unix.IP_FREEBIND, 1), unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1))
	})
	return err
}}

// listen is a server of the tests' world; serve runs for each connection.
func listen(t testing.TB, at string, serve func(c *net.TCPConn)) {
	t.Helper()
	l := testkit.Get(anywhere.Listen(t.Context(), "tcp", at))(t)
	var running sync.WaitGroup
	running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer c.Close()
				serve(c.(*net.TCPConn))
			})
		}
	})
	t.Cleanup(func() { l.Close(); running.Wait() })
}

// echo sends back what it gets, after a greeting.
func echo(greeting string) func(*net.TCPConn) {
	return func(c *net.TCPConn) {
		c.SetDeadline(time.Now().Add(patience))
		io.WriteString(c, greeting)
		io.Copy(c, c)
	}
}

// client returns a program's connection to an address, which the gateway has accepted.
func client(t testing.TB, g *Gateway, to string) *net.TCPConn {
	t.Helper()
	client, jail := pair(t)
	client.SetDeadline(time.Now().Add(patience))
	g.Accept(jail, netip.MustParseAddrPort(to))
	return client
}

func pair(t testing.TB) (client, server *net.TCPConn) {
	t.Helper()
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	testkit.Must(t, err)
	defer l.Close()
	client, err = net.DialTCP("tcp", nil, l.Addr().(*net.TCPAddr))
	testkit.Must(t, err)
	t.Cleanup(func() { client.Close() })
	if server, err = l.AcceptTCP(); err != nil {
		t.Fatal(err)
	}
	return client, server
}

// exchange sends and returns all that comes back.
func exchange(t testing.TB, c *net.TCPConn, send string) (string, error) {
	t.Helper()
	if _, err := io.WriteString(c, send); err != nil {
		return "", err
	}
	if err := c.CloseWrite(); err != nil {
		return "", err
	}
	b, err := io.ReadAll(c)
	return string(b), err
}

// wasReset waits for the end of a connection and checks that it is a reset, with
// nothing before it.
func wasReset(t testing.TB, c *net.TCPConn) {
	t.Helper()
	if b, err := io.ReadAll(c); !errors.Is(err, syscall.ECONNRESET) || len(b) > 0 {
		t.Errorf("%q, %v, want a reset", b, err)
	}
}

// seen are bytes that a server got.
type seen struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *seen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

func (s *seen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
