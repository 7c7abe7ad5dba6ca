package gateway

import (
	"net"
	"os"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"golang.org/x/sys/unix"
)

// TestInboundRetriesSocket checks that Inbound asks again for a socket that the supervisor could
// not pass, because too many descriptors were in flight.
func TestInboundRetriesSocket(t *testing.T) {
	l := testkit.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	pair := testkit.Get(unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))(t)
	ours := os.NewFile(uintptr(pair[0]), "control")
	defer ours.Close()
	in := newInbound(ours, nil, NewPorts(nil), nil, func(string) {})
	defer in.close()
	go func() { // the supervisor, whose first attempt fails
		defer unix.Close(pair[1])
		b := make([]byte, 1)
		for n := 0; ; n++ {
			if got, err := unix.Read(pair[1], b); err != nil || got == 0 {
				return
			}
			if n != 1 {
				continue
			}
			if fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err == nil {
				unix.Sendmsg(pair[1], []byte{spec.SocketInbound}, unix.UnixRights(fd), nil, 0)
				unix.Close(fd)
			}
		}
	}()
	if c, err := in.connect(loopback(l.Addr().(*net.TCPAddr).Port)[0]); err != nil {
		t.Error(err)
	} else {
		c.Close()
	}
	unix.Shutdown(int(ours.Fd()), unix.SHUT_RDWR) // the supervisor ends
}
