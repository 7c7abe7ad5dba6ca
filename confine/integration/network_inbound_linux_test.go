package integration

import (
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

var givenPorts sync.Map

// freePort returns a port of the loopback that no process listens on, and that no other call
// returned. The kernel gives a port that was closed again.
func freePort(t testing.TB) int {
	t.Helper()
	for {
		l := testkit.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
		port := l.Addr().(*net.TCPAddr).Port
		l.Close()
		if _, given := givenPorts.LoadOrStore(port, true); !given {
			return port
		}
	}
}

// call says something and reads the answer.
func call(address, word string) (string, error) {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return "", err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(testkit.Patience))
	if _, err := io.WriteString(c, word); err != nil {
		return "", err // a reset is reported once, so the read would find an end
	}
	c.(*net.TCPConn).CloseWrite()
	b, err := io.ReadAll(c)
	return string(b), err
}

// TestJailInbound: connections to a port of the host's loopback reach the server, more of them
// than there were sockets at first. While the server does not listen they are refused.
func TestJailInbound(t *testing.T) {
	jailtest.Needs(t)
	for _, listens := range []string{"127.0.0.1", "[::1]", "0.0.0.0", "[::]"} {
		t.Run(listens, func(t *testing.T) {
			const calls = 3 * spec.InboundSockets
			port := freePort(t)
			p := jailtest.Profile(t)
			p.Inbound = []int{port}
			inside := fmt.Sprintf("%s:%d", listens, port)
			s := jailtest.Begin(t, p, attacker.Try("callback", inside, fmt.Sprint(calls)))
			s.Out.Await(t, "listening")
			if ports, known := s.Listening(); !known || !slices.Equal(ports, []int{53, port}) { // 53 is the resolver
				t.Errorf("listens at %d, %v; want 53 and %d", ports, known, port)
			}
			for i := range calls {
				host := []string{"127.0.0.1", "[::1]"}[i%2]
				word := fmt.Sprint("word", i)
				if got, err := call(fmt.Sprintf("%s:%d", host, port), word); err != nil || got != "heard "+word {
					t.Fatalf("call %d: %q, %v", i, got, err)
				}
			}
			testkit.Equal(t, "", s.Finish(), (confine.Exit{}))
			if ports, known := s.Listening(); known {
				t.Errorf("after its end it listens at %d", ports)
			}
			if _, err := net.Dial("tcp", fmt.Sprint("127.0.0.1:", port)); !errors.Is(err, syscall.ECONNREFUSED) {
				t.Errorf("after its end: %v", err)
			}
		})
	}
}

// TestJailInboundLastBytesArrive: what a server has sent arrives, even if the server has ended
// since.
func TestJailInboundLastBytesArrive(t *testing.T) {
	jailtest.Needs(t)
	const size = 1 << 20
	port := freePort(t)
	p := jailtest.Profile(t)
	p.Inbound = []int{port}
	address := fmt.Sprint("127.0.0.1:", port)
	s := jailtest.Begin(t, p, attacker.Try("parting", address, fmt.Sprint(size)))
	s.Out.Await(t, "listening")
	c := testkit.Get(net.Dial("tcp", address))(t)
	defer c.Close()
	s.Out.Await(t, "answered")
	testkit.Eventually(t, "the port is the host's again", func() bool {
		other, err := net.Dial("tcp", address)
		if err == nil {
			other.Close()
		}
		return errors.Is(err, syscall.ECONNREFUSED)
	})
	testkit.Equal(t, "of … bytes, and then", testkit.Get(io.Copy(io.Discard, c))(t), size)
	testkit.Equal(t, "", s.Finish(), (confine.Exit{}))
}

// TestJailInboundOnly: no other port of the host leads into the jail, and an inbound port leads
// nowhere else. If the server does not listen, the port refuses.
func TestJailInboundOnly(t *testing.T) {
	jailtest.Needs(t)
	port, other := freePort(t), freePort(t)
	p := jailtest.Profile(t)
	p.Inbound = []int{port}
	service := testkit.Accept(t, "tcp", "127.0.0.1:0")
	s := jailtest.Begin(t, p, attacker.Try("dial", "tcp", service), attacker.Try("callback", fmt.Sprint("127.0.0.1:", other), "1"))
	s.Out.Await(t, "listening")
	if _, err := net.Dial("tcp", fmt.Sprint("127.0.0.1:", other)); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("a port that is not inbound: %v", err)
	}
	if got, err := call(fmt.Sprint("127.0.0.1:", port), "word"); err == nil {
		t.Errorf("an inbound port where the server does not listen: %q", got)
	}
	s.Kill()
	s.Finish()
}

// TestJailInboundTaken: a port that another process has does not prevent the start. It leads to
// the server once it is free.
func TestJailInboundTaken(t *testing.T) {
	t.Parallel()
	jailtest.Needs(t)
	l := testkit.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	port := l.Addr().(*net.TCPAddr).Port
	p := jailtest.Profile(t)
	p.Inbound = []int{port}
	s := jailtest.Begin(t, p, attacker.Try("callback", fmt.Sprint("127.0.0.1:", port), "1"))
	told := make(chan confine.Notice, 8)
	s.OnNotice(func(r confine.Notice) { told <- r })
	s.Out.Await(t, "listening")
	if r := <-told; !r.Warning || !strings.Contains(r.Text, fmt.Sprint("inbound port ", port, " leads nowhere yet")) {
		t.Errorf("%+v", r)
	}
	l.Close()
	testkit.Eventually(t, "the port leads to the server", func() bool {
		got, err := call(fmt.Sprint("127.0.0.1:", port), "word")
		return err == nil && got == "heard word"
	})
	s.Finish()
}
