package egress

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/policy"
	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/sys/unix"
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
	dns, err := control.ListenPacket(t.Context(), "udp", "[::]:53")
	if err != nil {
		t.Fatal(err)
	}
	s.DNS = dns.(*net.UDPConn)
	for _, port := range append(ports, 53) {
		l, err := anywhere.Listen(t.Context(), "tcp", fmt.Sprintf("[::]:%d", port))
		if err != nil {
			t.Fatal(err)
		}
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
	g, _ := gate(t, map[string][]string{"six.test": {"2001:db8::7"}}, allow("six.test"))
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
	c, err := net.Dial("tcp", "127.64.0.1:80")
	if err != nil {
		t.Fatal(err)
	}
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
	if d := only(t, g); d.Target != "127.64.0.9:80" {
		t.Errorf("%+v", d)
	}
	g.Close()
	if c, err := net.Dial("tcp", "127.64.0.1:80"); err == nil {
		c.Close()
		t.Error("a listener is there after Close")
	}
}

func TestDNSOverTCP(t *testing.T) {
	g, _ := gate(t, map[string][]string{"api.test": {"198.51.100.7"}}, allow("api.test"))
	g.Serve(sockets(t))
	c, err := net.Dial("tcp", "127.0.0.1:53")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(patience))
	q := question(t, "api.test.", dnsmessage.TypeA)
	framed := append(binary.BigEndian.AppendUint16(nil, uint16(len(q))), q...)
	for range 3 { // one behind the other, cut anywhere
		c.Write(framed[:5])
		c.Write(framed[5:])
		var size [2]byte
		if _, err := io.ReadFull(c, size[:]); err != nil {
			t.Fatal(err)
		}
		answer := make([]byte, binary.BigEndian.Uint16(size[:]))
		if _, err := io.ReadFull(c, answer); err != nil {
			t.Fatal(err)
		}
		var m dnsmessage.Message
		if err := m.Unpack(answer); err != nil || len(m.Answers) != 1 {
			t.Errorf("%+v, %v", m, err)
		}
	}
}

// packets is a socket that sees what the kernel sends on the loopback.
func packets(t testing.TB) *os.File {
	t.Helper()
	s, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	const all = unix.ETH_P_ALL<<8&0xff00 | unix.ETH_P_ALL>>8
	if err := unix.Bind(s, &unix.SockaddrLinklayer{Protocol: all, Ifindex: 1}); err != nil {
		t.Fatal(err)
	}
	if err := unix.SetsockoptInt(s, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1); err != nil {
		t.Fatal(err)
	}
	return os.NewFile(uintptr(s), "packets")
}

func TestWhatTheKernelRefuses(t *testing.T) {
	g, _ := gate(t, map[string][]string{"api.test": {"198.51.100.7"}}, allow("api.test"))
	resolve(t, g, "api.test")
	g.Serve(Sockets{Refused: packets(t)})
	listen(t, "127.0.0.1:9000", echo(""))
	for _, c := range []struct{ network, at, target string }{
		{"tcp", "198.51.100.7:8123", "api.test:8123"},
		{"tcp", "198.51.100.8:8123", "198.51.100.8:8123"},
		{"tcp", "[2001:db8::1]:8123", "[2001:db8::1]:8123"},
		{"tcp", "127.0.0.1:8123", "localhost:8123"},
		{"udp", "198.51.100.7:443", "api.test:443"},
		{"udp", "198.51.100.8:443", "198.51.100.8:443"},
		{"udp", "[2001:db8::1]:443", "[2001:db8::1]:443"},
	} {
		before := len(g.Denials())
		if conn, err := net.Dial(c.network, c.at); err == nil {
			conn.SetDeadline(time.Now().Add(patience))
			conn.Write([]byte("x"))
			if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNREFUSED) {
				t.Errorf("%s: %v", c.at, err)
			}
			conn.Close()
		} else if !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("%s: %v", c.at, err)
		}
		// The program knows by now, so it is on record by now.
		all := g.Denials()
		if len(all) != before+1 {
			t.Errorf("%s: %+v", c.at, all)
			continue
		}
		operation := map[string]string{"tcp": "connect", "udp": "send"}[c.network]
		if d := all[before]; d.Target != c.target || d.Operation != operation || d.Count != 1 || (d.Reason == policy.DeniedNotGranted) != (c.at != "198.51.100.7:443") {
			t.Errorf("%s: %+v", c.at, d)
		}
	}
	n := len(g.Denials())
	c, err := net.Dial("tcp", "127.0.0.1:9000") // what is there, and what ends with a reset, is not refused
	if err != nil {
		t.Fatal(err)
	}
	c.Write([]byte("x"))
	c.Read(make([]byte, 1))
	reset(c.(*net.TCPConn))
	if all := g.Denials(); len(all) != n {
		t.Errorf("%+v", all[n:])
	}
}

// What was refused last is known after Close, whoever was quicker.
func TestCloseReadsWhatIsThere(t *testing.T) {
	g, _ := gate(t, nil, allow("api.test"))
	f := packets(t)
	defer f.Close()
	raw, err := f.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	g.refusals = []*refusalSocket{{raw: raw}} // and nobody waits for them
	if c, err := net.Dial("tcp", "198.51.100.8:8123"); err == nil {
		c.Close()
		t.Fatal("somebody listens")
	}
	g.Close()
	g.refusals = nil
	if d := only(t, g); !strings.HasPrefix(d.Target, "198.51.100.8:") {
		t.Errorf("%+v", d)
	}
}

func TestConnectionsWaitForRoom(t *testing.T) {
	listen(t, "198.51.100.7:1000", echo("hello"))
	g := gateWith(t, Options{Rules: []rule{allowPort("x.test", "tcp", 1000)}, Upstream: &resolver{names: map[string][]string{"x.test": {"198.51.100.7"}}}, Limits: Limits{Connections: 2}})
	to := resolve(t, g, "x.test").String() + ":1000"
	hello := make([]byte, 5)
	var open []*net.TCPConn
	for range 2 {
		c := client(t, g, to)
		if _, err := io.ReadFull(c, hello); err != nil {
			t.Fatal(err)
		}
		open = append(open, c)
	}
	third := client(t, g, to)
	waits(t, "the denial", func() bool { return len(g.Denials()) > 0 })
	if d := only(t, g); d.Reason != policy.DeniedLimit || !strings.HasPrefix(d.Target, "x.test:") {
		t.Errorf("%+v", d)
	}
	third.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if _, err := third.Read(hello); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("one too many: %v", err)
	}
	open[0].Close()
	third.SetReadDeadline(time.Now().Add(patience))
	if _, err := io.ReadFull(third, hello); err != nil {
		t.Errorf("once there is room: %v", err)
	}
}

// TestFewConnectionsWait: where a program's own calls make connections, nothing but this
// bounds how many of them wait, and each takes a descriptor.
func TestFewConnectionsWait(t *testing.T) {
	listen(t, "198.51.100.7:1000", echo("hello"))
	g := gateWith(t, Options{Rules: []rule{allowPort("x.test", "tcp", 1000)}, Upstream: &resolver{names: map[string][]string{"x.test": {"198.51.100.7"}}}, Limits: Limits{Connections: 1}})
	to := resolve(t, g, "x.test").String() + ":1000"
	first := client(t, g, to)
	if _, err := io.ReadFull(first, make([]byte, 5)); err != nil {
		t.Fatal(err)
	}
	second := client(t, g, to)
	waits(t, "one that waits", func() bool { return g.waiting.Load() == 1 })
	wasReset(t, client(t, g, to))
	if d := only(t, g); d.Reason != policy.DeniedLimit || d.Count != 2 {
		t.Errorf("%+v", d)
	}
	first.Close()
	if _, err := io.ReadFull(second, make([]byte, 5)); err != nil {
		t.Errorf("once there is room: %v", err)
	}
}

func TestBytesOut(t *testing.T) {
	var got seen
	listen(t, "198.51.100.7:1000", func(c *net.TCPConn) { io.Copy(&got, c) })
	listen(t, "198.51.100.7:80", func(c *net.TCPConn) { io.Copy(&got, c) })
	g := gateWith(t, Options{Rules: []rule{allowPort("x.test", "tcp", 1000), allow("x.test")}, Upstream: &resolver{names: map[string][]string{"x.test": {"198.51.100.7"}}}, Limits: Limits{OutBytes: 1000}})
	at := resolve(t, g, "x.test").String()
	first := client(t, g, at+":1000")
	first.Write(make([]byte, 600))
	waits(t, "the first", func() bool { return len(got.String()) == 600 })
	for i, port := range []string{":80", ":1000"} {
		second := client(t, g, at+port)
		fmt.Fprintf(second, "POST / HTTP/1.1\r\nHost: x.test\r\nContent-Length: 600\r\n\r\n%600d", 0)
		b, err := io.ReadAll(second)
		if len(b) > 0 || !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("%q, %v", b, err)
		}
		waits(t, "the denial", func() bool { return len(g.Denials()) == i+1 })
		if d := g.Denials()[i]; d.Reason != policy.DeniedLimit || !strings.HasPrefix(d.Target, "x.test:") {
			t.Errorf("%+v", d)
		}
	}
	if n := len(got.String()); n > 1000 {
		t.Errorf("%d bytes left, of 1000", n)
	}
	if err := func() error { _, err := first.Write([]byte("x")); return err }(); err != nil {
		t.Error(err)
	}
	wasReset(t, first)
}

// terminator keeps what it is given, and echoes it from upstream. It tells of a refusal
// when it must.
type terminator struct {
	target Target
	got    string

	mu     sync.Mutex
	untold []func()
}

func (x *terminator) FlushDenials() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, tell := range x.untold {
		tell()
	}
	x.untold = nil
}

func (x *terminator) Serve(c *net.TCPConn, head []byte, t Target, dial func(context.Context) (*net.TCPConn, error)) {
	x.target, x.got = t, string(head)
	up, err := dial(context.Background())
	if err != nil {
		return
	}
	defer up.Close()
	up.Write(head)
	up.CloseWrite()
	io.Copy(c, up)
	if !t.ReportSent(int64(len(head))) {
		panic("the limit")
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.untold = append(x.untold, func() { t.Deny(policy.DeniedRequest, "GET /") })
}

func TestTerminator(t *testing.T) {
	listen(t, "198.51.100.7:443", echo(""))
	listen(t, "198.51.100.7:80", echo(""))
	x := &terminator{}
	g := gateWith(t, Options{Rules: []rule{{Host: "api.test", PathPrefix: "/v1", Allow: true}}, Interceptor: x, Upstream: &resolver{names: map[string][]string{"api.test": {"198.51.100.7"}}}})
	at := resolve(t, g, "api.test")
	for port, head := range map[uint16]string{443: string(hello(t, "api.test")), 80: get + "api.test\r\n\r\n"} {
		to := netip.AddrPortFrom(at, port)
		c := client(t, g, to.String())
		if got, err := exchange(t, c, head); got != head || err != nil {
			t.Errorf("%q, %v; %+v", got, err, g.Denials())
		}
		if x.got != head || x.target.Name != "api.test" || x.target.Port != int(port) || x.target.Addr != to || x.target.TLS != (port == 443) {
			t.Errorf("%+v", x.target)
		}
	}
	if d := g.Denials(); len(d) != 2 || d[0].Operation != "connect" || d[0].Reason != policy.DeniedRequest || !slices.Contains([]string{"api.test:443api.test:80", "api.test:80api.test:443"}, d[0].Target+d[1].Target) {
		t.Errorf("%+v", d)
	}
}
