//go:build linux || darwin || freebsd

package streams

import (
	"os"
	"syscall"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestPeerClosed tests both ends of a pipe and a socket, of which the peer may shut down its output and
// still read.
func TestPeerClosed(t *testing.T) {
	r, w, err := os.Pipe()
	testkit.Must(t, err)
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	testkit.Must(t, err)
	ours, theirs := os.NewFile(uintptr(fds[0]), "ours"), os.NewFile(uintptr(fds[1]), "theirs")
	defer ours.Close()
	for _, c := range []struct {
		what string
		do   func()
		f    *os.File
		want bool
	}{
		{"both ends of the pipe are open", func() {}, w, false},
		{"the pipe holds data", func() { w.WriteString("x") }, r, false},
		{"the end that reads is closed", func() { r.Close() }, w, true},
		{"the socket is open", func() {}, ours, false},
		{"the peer sent data and shut down its output", func() {
			theirs.WriteString("x")
			syscall.Shutdown(fds[1], syscall.SHUT_WR)
		}, ours, false},
		{"the peer is closed", func() { theirs.Close() }, ours, true},
	} {
		if c.do(); PeerClosed(c.f) != c.want {
			t.Errorf("%s: %t", c.what, !c.want)
		}
	}
	w.Close()
	if r, w, err = os.Pipe(); err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	w.WriteString("abc")
	if n := UnreadBytes(r); n != 3 || !Readable(r) {
		t.Errorf("%d bytes to read", n)
	}
	if w.Close(); !PeerClosed(r) {
		t.Error("the end that writes is closed, and data is left: false")
	}
}
