package tlsworker

import (
	"errors"
	"net"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestNotTaken: the launcher keeps a copy of each connection until the process has taken it, of so many
// at most, and none when the socket is closed.
func TestNotTaken(t *testing.T) {
	ours, theirs, err := socketPair()
	testkit.Must(t, err)
	s, err := newSocket(ours, maxMessage)
	testkit.Must(t, err)
	peer, err := newSocket(theirs, maxRules)
	testkit.Must(t, err)
	defer peer.Close()
	a, b, err := tcpPair()
	testkit.Must(t, err)
	defer a.Close()
	defer b.Close()
	pass := func() error {
		if err := s.send(message{Done: 1}, a); err != nil {
			return err
		}
		_, c, err := peer.receive()
		if c == nil {
			t.Fatalf("no connection came: %v", err)
		}
		return c.Close()
	}
	for n := range maxHeld {
		if err := pass(); err != nil {
			t.Fatalf("connection %d: %v", n, err)
		}
	}
	if err := pass(); !errors.Is(err, errNotTaken) {
		t.Errorf("one more: %v", err)
	}
	first := s.held[0]
	s.release()
	if _, err := unix.FcntlInt(uintptr(first), unix.F_GETFD, 0); !errors.Is(err, unix.EBADF) {
		t.Errorf("the copy of one that was taken is open: %v", err)
	}
	if err := pass(); err != nil {
		t.Errorf("after one was taken: %v", err)
	}
	last := s.held[len(s.held)-1]
	s.Close()
	if _, err := unix.FcntlInt(uintptr(last), unix.F_GETFD, 0); !errors.Is(err, unix.EBADF) {
		t.Errorf("a copy is open after the end: %v", err)
	}
	if err := s.send(message{Done: 1}, a); !errors.Is(err, net.ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
}
