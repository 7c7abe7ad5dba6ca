package egress

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// standIn is a program's side of what AnswerOn serves.
func standIn(t testing.TB, g *Gateway) *net.UnixConn {
	t.Helper()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_SEQPACKET|syscall.SOCK_CLOEXEC, 0)
	testkit.Must(t, err)
	var ends [2]*net.UnixConn
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "pair")
		c, err := net.FileConn(f)
		f.Close()
		testkit.Must(t, err)
		ends[i] = c.(*net.UnixConn)
	}
	t.Cleanup(func() { ends[0].Close() })
	ends[0].SetDeadline(time.Now().Add(patience))
	g.ServeSeqpacket(ends[1])
	return ends[0]
}

// localQuestion asks for an address of "localhost", which needs no upstream.
var localQuestion = []byte("\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x09localhost\x00\x00\x01\x00\x01")

func TestServeSeqpacket(t *testing.T) {
	g := New(Options{})
	defer g.Close()
	c := standIn(t, g)
	ask := func() {
		t.Helper()
		b := make([]byte, 512)
		c.Write(localQuestion)
		if n, err := c.Read(b); err != nil || n < 12 || b[0] != 0x12 || b[7] != 1 {
			t.Fatalf("%d bytes, %v", n, err)
		}
	}
	ask()
	c.Write([]byte("no question")) // is not answered
	ask()
	c.Write(ConnectedMessage(netip.MustParseAddrPort("[2001:db8::1]:443")))
	c.Write(ConnectedMessage(netip.MustParseAddrPort("198.51.100.53:53"))) // it has changed its mind
	ask()
	if d := g.Denials(); len(d) != 0 {
		t.Errorf("refused %+v", d)
	}
}

// TestServeSeqpacketOtherPort: what is sent to another port than DNS is recorded, and
// the program's next call fails.
func TestServeSeqpacketOtherPort(t *testing.T) {
	g := New(Options{Rules: []policy.NetRule{{Host: "example.org", Allow: true}}})
	defer g.Close()
	c := standIn(t, g)
	c.Write(ConnectedMessage(netip.MustParseAddrPort("198.51.100.7:443")))
	c.Write(localQuestion) // even that
	if n, err := c.Read(make([]byte, 512)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("%d bytes, %v", n, err)
	}
	d := g.Denials()
	if len(d) != 1 || d[0].Operation != "send" || d[0].Target != "198.51.100.7:443" || d[0].Reason != policy.DeniedNotGranted {
		t.Errorf("refused %+v", d)
	}
}

// TestServeSeqpacketLimit: a program cannot have the launcher keep any number of sockets.
func TestServeSeqpacketLimit(t *testing.T) {
	g := New(Options{})
	defer g.Close()
	for range maxSeqpacket {
		standIn(t, g)
	}
	c := standIn(t, g)
	if n, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%d bytes, %v, want the end", n, err)
	}
}

// TestAcceptDNS checks that the Gateway itself answers at port 53 of any address.
func TestAcceptDNS(t *testing.T) {
	g := New(Options{})
	defer g.Close()
	c := client(t, g, "8.8.8.8:53")
	c.Write(append([]byte{0, byte(len(localQuestion))}, localQuestion...))
	b := make([]byte, 512)
	if n, err := c.Read(b); err != nil || n < 14 || b[2] != 0x12 {
		t.Errorf("%d bytes, %v", n, err)
	}
	if !g.Allowed("tcp", netip.MustParseAddrPort("8.8.8.8:53")) || g.Allowed("tcp", netip.MustParseAddrPort("8.8.8.8:54")) {
		t.Error("Allowed says otherwise")
	}
}
