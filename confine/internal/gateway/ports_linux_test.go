package gateway

import (
	"context"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestPortsOfTwoSessions: a session that finds a port in use knows whether another session of its server has it. It
// takes all addresses or none, and gives them back with the last process that has them.
func TestPortsOfTwoSessions(t *testing.T) {
	l := testkit.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	port := l.Addr().(*net.TCPAddr).Port
	file := filepath.Join(t.TempDir(), "ports")
	locks := func() (*os.File, error) { return os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600) }
	mine, theirs, stranger := NewPorts(locks), NewPorts(locks), NewPorts(nil)
	running := t.Context()
	first, second, other := &inbound{ctx: running}, &inbound{ctx: running}, &inbound{ctx: running}
	at := loopback(port)
	inUse := func(what string, p *Ports, in *inbound, elsewhere bool, addresses ...netip.AddrPort) {
		t.Helper()
		testkit.Is(t, what, p.take(in, addresses...), unix.EADDRINUSE)
		testkit.Equal(t, what+": elsewhere", p.Elsewhere(port), elsewhere)
	}
	inUse("a program has it", mine, first, false, at[1], at[0])
	testkit.Must(t, l.Close(), theirs.take(other, at...)) // also ::1, which was taken and given back
	inUse("another session has it", mine, first, true, at[0])
	inUse("another server has it", stranger, first, false, at[0])
	testkit.Equal(t, "the session's own is elsewhere", theirs.Elsewhere(port), false)
	theirs.release(other)

	testkit.Must(t, mine.take(first, at...), mine.take(second, at[0]))
	mine.release(first)
	inUse("a process has it still", theirs, other, true, at[0])
	testkit.Must(t, theirs.take(other, at[1]))
	theirs.release(other)
	mine.release(second)
	testkit.Equal(t, "elsewhere after the end", theirs.Elsewhere(port), false)

	over, end := context.WithCancel(running)
	end()
	testkit.Must(t, mine.take(&inbound{ctx: over}, at...)) // release has been
	testkit.Equal(t, "taken for a jail that has ended", theirs.Elsewhere(port), false)

	var both sync.WaitGroup // who of two is later knows of the other
	results := make(chan error, 2)
	for p, in := range map[*Ports]*inbound{mine: first, theirs: other} {
		both.Go(func() {
			err := p.take(in, at[0])
			if err != nil && !p.Elsewhere(port) {
				t.Error("in use, and not elsewhere")
			}
			results <- err
		})
	}
	both.Wait()
	if a, b := <-results, <-results; (a == nil) == (b == nil) {
		t.Errorf("%v, %v", a, b)
	}
	mine.release(first)
	theirs.release(other)
}
