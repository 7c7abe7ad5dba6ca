package sockets

import (
	"os"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp/seccomptest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"golang.org/x/sys/unix"
)

// TestReceiveEndsWithCallOrDeadline checks that a waiting receive ends at its deadline or when its
// caller no longer waits, closes its descriptors, and leaves a later datagram in the socket.
func TestReceiveEndsWithCallOrDeadline(t *testing.T) {
	l, id, letGo := seccomptest.HeldCall(t)
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	testkit.Must(t, err)
	defer unix.Close(pair[0])
	defer unix.Close(pair[1])
	s := &Handler{Listener: &l}
	isOpen := func(fd int) bool {
		_, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		return err == nil
	}
	for _, c := range []struct {
		what      string
		waits     bool
		for_      time.Duration // from now; 0: forever
		goesOn    bool
		comesThen bool
	}{
		{"for ever", true, 0, true, false},
		{"for an hour", true, time.Hour, true, false},
		{"an hour ago", true, -time.Hour, false, false},
		{"no more", false, 0, false, true},
	} {
		l, id := l, id
		if !c.waits {
			letGo()
		} else if c.for_ < 0 { // the call is answered, so it needs a notification of its own
			l, id, _ = seccomptest.HeldCall(t)
		}
		s.Listener = &l
		fd, err := unix.FcntlInt(uintptr(pair[0]), unix.F_DUPFD_CLOEXEC, 0)
		testkit.Must(t, err)
		mem, err := unix.Open("/proc/self/mem", unix.O_RDWR|unix.O_CLOEXEC, 0)
		testkit.Must(t, err)
		w := &receiving{n: seccomp.Notification{Id: id, Tid: uint32(os.Getpid())}, call: "recvfrom", state: &socketState{family: unix.AF_INET, isUDP: true}, mem: mem}
		if c.for_ != 0 {
			w.until = time.Now().Add(c.for_)
		}
		if c.comesThen { // a datagram for the next receive
			testkit.Must(t, unix.Send(pair[1], []byte("answer"), 0))
		}
		done := w.tryAgain(s, fd)
		if done == c.goesOn || isOpen(fd) != c.goesOn || isOpen(mem) != c.goesOn {
			t.Errorf("%s: done %t, its socket is open %t, its memory %t", c.what, done, isOpen(fd), isOpen(mem))
		}
		if c.goesOn {
			unix.Close(fd)
			unix.Close(mem)
		}
		if c.comesThen {
			b := make([]byte, 16)
			if n, err := unix.Read(pair[0], b); err != nil || string(b[:n]) != "answer" {
				t.Errorf("%s: the answer is %q, %v", c.what, b[:max(0, n)], err)
			}
		}
	}
}
