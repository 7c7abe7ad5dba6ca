package egress

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// sockets are opened here as confine has them opened in a jail.
func sockets(t testing.TB, ports ...int) Sockets {
	t.Helper()
	var s Sockets
	control := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (err error) {
		c.Control(func(fd uintptr) {
			err = errors.Join(unix.SetsockoptInt(int(fd), unix.SOL_IPV6, unix.IPV6_RECVPKTINFO, 1), unix.SetsockoptInt(int(fd), unix.SOL_IPV6, unix.IPV6_FREEBIND, 1))
		})
		return err
	}}
	dns := testkit.Get(control.ListenPacket(t.Context(), "udp", "[::]:53"))(t)
	s.DNS = dns.(*net.UDPConn)
	for _, port := range append(ports, 53) {
		l := testkit.Get(anywhere.Listen(t.Context(), "tcp", fmt.Sprintf("[::]:%d", port)))(t)
		if port == 53 {
			s.DNSTCP = l.(*net.TCPListener)
		} else {
			s.TCP = append(s.TCP, l.(*net.TCPListener))
		}
	}
	return s
}

func TestServe(t *testing.T) {
	listen(t, "[2001:db8::7]:80", echo(""))
	g, _ := testGateway(t, map[string][]string{"six.test": {"2001:db8::7"}}, allow("six.test"))
	g.Serve(sockets(t, 80))
	// Resolvers of all sorts, each of which must answer from where it was asked.
	for _, at := range []string{"127.0.0.1:53", "[2001:db8::53]:53", "[::1]:53", "198.51.100.53:53"} {
		for _, network := range []string{"udp", "tcp"} {
			r := net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, network, at)
			}}
			got, err := r.LookupHost(t.Context(), "six.test.")
			if err != nil || len(got) != 1 || got[0] != "127.64.0.1" {
				t.Errorf("%s %s: %v, %v", network, at, got, err)
			}
		}
	}
	c := testkit.Get(net.Dial("tcp", "127.64.0.1:80"))(t)
	defer c.Close()
	c.SetDeadline(time.Now().Add(patience))
	request := get + "six.test\r\n\r\n"
	if got, err := exchange(t, c.(*net.TCPConn), request); got != request || err != nil {
		t.Errorf("%q, %v; %+v", got, err, g.Denials())
	}
	if denied, err := net.Dial("tcp", "127.64.0.9:80"); err == nil {
		defer denied.Close()
		wasReset(t, denied.(*net.TCPConn))
	} else if !errors.Is(err, syscall.ECONNRESET) { // as soon as that
		t.Fatal(err)
	}
	testkit.Equal(t, "", onlyDenial(t, g).Target, "127.64.0.9:80")
	g.Close()
	if c, err := net.Dial("tcp", "127.64.0.1:80"); err == nil {
		c.Close()
		t.Error("a listener is there after Close")
	}
}

func TestDNSOverTCP(t *testing.T) {
	g, _ := testGateway(t, map[string][]string{"api.test": {"198.51.100.7"}}, allow("api.test"))
	g.Serve(sockets(t))
	c := testkit.Get(net.Dial("tcp", "127.0.0.1:53"))(t)
	defer c.Close()
	c.SetDeadline(time.Now().Add(patience))
	q := question(t, "api.test.", dnsmessage.TypeA)
	framed := append(binary.BigEndian.AppendUint16(nil, uint16(len(q))), q...)
	for range 3 { // one behind the other, cut anywhere
		c.Write(framed[:5])
		c.Write(framed[5:])
		var size [2]byte
		testkit.Must(t, testkit.ErrorOf(io.ReadFull(c, size[:])))
		answer := make([]byte, binary.BigEndian.Uint16(size[:]))
		testkit.Must(t, testkit.ErrorOf(io.ReadFull(c, answer)))
		var m dnsmessage.Message
		if err := m.Unpack(answer); err != nil || len(m.Answers) != 1 {
			t.Errorf("%+v, %v", m, err)
		}
	}
}

// packets is a socket that sees what the kernel sends on the loopback.
func packets(t testing.TB) *os.File {
	t.Helper()
	s := testkit.Get(unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0))(t)
	const all = unix.ETH_P_ALL<<8&0xff00 | unix.ETH_P_ALL>>8
	testkit.Must(t, unix.Bind(s, &unix.SockaddrLinklayer{Protocol: all, Ifindex: 1}))
	testkit.Must(t, unix.SetsockoptInt(s, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1))
	return os.NewFile(uintptr(s), "packets")
}

// TestWaitingBounded checks the number of connections of Accept that wait. Each takes a
// descriptor, and nothing else bounds them.
func TestWaitingBounded(t *testing.T) {
	listen(t, "198.51.100.7:1000", echo("hello"))
	g := testGatewayWith(t, Options{Rules: []rule{allowPort("x.test", "tcp", 1000)}, Upstream: &fakeResolver{names: map[string][]string{"x.test": {"198.51.100.7"}}}, Limits: limits{Connections: 1}})
	to := resolve(t, g, "x.test").String() + ":1000"
	first := client(t, g, to)
	testkit.Must(t, testkit.ErrorOf(io.ReadFull(first, make([]byte, 5))))
	second := client(t, g, to)
	testkit.Eventually(t, "one that waits", func() bool { return g.waiting.Load() == 1 })
	wasReset(t, client(t, g, to))
	if d := onlyDenial(t, g); d.Reason != policy.DeniedLimit || d.Count != 2 {
		t.Errorf("%+v", d)
	}
	first.Close()
	testkit.Works(t, "once there is room", testkit.ErrorOf(io.ReadFull(second, make([]byte, 5))))
}

// TestLookupsBounded checks that a program which looks up names without end, in a jail without any
// rule, costs a bounded number of answers and of records.
func TestLookupsBounded(t *testing.T) {
	const burst, perSecond, names = 1000, 1000, 2000
	g, upstream := testGateway(t, nil)
	g.Serve(sockets(t))
	c := testkit.Get(net.Dial("tcp", "127.0.0.1:53"))(t)
	defer c.Close()
	c.SetDeadline(time.Now().Add(10 * patience))
	began := time.Now()
	for i := range names {
		q := question(t, fmt.Sprintf("n%d.test.", i), dnsmessage.TypeA)
		c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(q))), q...))
		answer := make([]byte, 2+len(q))
		testkit.Must(t, testkit.ErrorOf(io.ReadFull(c, answer)))
		if code := answer[5] & 0xf; code != byte(dnsmessage.RCodeNameError) {
			t.Fatalf("n%d.test: the answer %d", i, code)
		}
	}
	if most := burst + perSecond*time.Since(began).Seconds(); names > most+1 {
		t.Errorf("%d lookups were answered at once, at most %.0f may be", names, most)
	}
	first, last, others := false, false, 0
	all := g.Denials()
	for _, d := range all {
		first, last = first || d.Target == "n0.test", last || d.Target == fmt.Sprintf("n%d.test", names-1)
		if d.Target == policy.DenialOthers {
			others = d.Count
		}
	}
	if len(all) != maxDenials+1 || !first || !last || others != names-maxDenials {
		t.Errorf("%d records, the first %t, the last %t, %d others", len(all), first, last, others)
	}
	testkit.Equal(t, "upstream was asked", len(upstream.asked), 0)
}
