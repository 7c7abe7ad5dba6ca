package egress

import (
	"net"
	"net/netip"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// standIn is a program's side of what ServeSeqpacket serves, if it does.
func standIn(t testing.TB, g *Gateway) (c *net.UnixConn, served bool) {
	t.Helper()
	fds := testkit.Get(syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_SEQPACKET|syscall.SOCK_CLOEXEC, 0))(t)
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
	return ends[0], g.ServeSeqpacket(ends[1])
}

// localQuestion asks for an address of "localhost", which needs no upstream.
var localQuestion = []byte("\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x09localhost\x00\x00\x01\x00\x01")

func TestServeSeqpacket(t *testing.T) {
	g := New(Options{})
	defer g.Close()
	c, _ := standIn(t, g)
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
	testkit.Empty(t, "refused", g.Denials())
}

// TestServeSeqpacketLimit: a program cannot have the launcher keep any number of sockets.
func TestServeSeqpacketLimit(t *testing.T) {
	g := New(Options{})
	defer g.Close()
	for range maxSeqpacket {
		if _, served := standIn(t, g); !served {
			t.Fatal("one of those that are allowed is not served")
		}
	}
	if _, served := standIn(t, g); served {
		t.Error("one more is served")
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
