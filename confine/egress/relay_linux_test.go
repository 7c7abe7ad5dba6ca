package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/policytest"
)

const get = "GET / HTTP/1.1\r\nHost: "

func TestConnections(t *testing.T) {
	for _, at := range []string{"198.51.100.7:443", "198.51.100.7:80", "198.51.100.7:5432", "[2001:db8::7]:443", "127.0.0.1:8080", "10.99.0.5:80"} {
		listen(t, at, echo(""))
	}
	names := map[string][]string{"api.test": {"198.51.100.7"}, "six.test": {"2001:db8::7"}, "db.test": {"198.51.100.7"}, "web.test": {"198.51.100.7"}, "sec.test": {"198.51.100.7"}}
	for _, row := range testkit.Rows(t, "connections.txt", 5) {
		what, dest, send, why := row[0], row[2], row[3], policy.DenialReason(row[4])
		if name, ok := strings.CutPrefix(send, "$TLS:"); ok {
			name, half := strings.CutSuffix(name, "[:100]")
			if send = string(hello(t, name)); half {
				send = send[:100]
			}
		}
		send = strings.Replace(send, "$OLD", oldTLS, 1)
		t.Run(what, func(t *testing.T) {
			g, _ := testGateway(t, names, policytest.Rules(t, row[1])...)
			host, port, _ := net.SplitHostPort(dest)
			to := dest
			if strings.HasSuffix(host, ".test") {
				to = net.JoinHostPort(resolve(t, g, host).String(), port)
			}
			conn := client(t, g, to)
			if why == "" {
				testkit.Equal(t, fmt.Sprintf("denied: %+v", g.Denials()), testkit.Get(exchange(t, conn, send))(t), send)
				return
			}
			got, err := exchange(t, conn, send)
			if got != "" || !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) && !errors.Is(err, syscall.ENOTCONN) {
				t.Errorf("%q, %v, want a reset", got, err)
			}
			if d := onlyDenial(t, g); d.Reason != why || d.Operation != "connect" || d.Target != dest && d.Target != "localhost:"+port {
				t.Errorf("%+v, want %v for %s", d, why, dest)
			}
		})
	}
}

func TestServerSpeaksFirst(t *testing.T) {
	listen(t, "198.51.100.7:25", echo("220 hello\r\n"))
	for _, r := range []rule{allowPort("mail.test", "", 25), allowPort("mail.test", "tcp", 25)} {
		t.Run(fmt.Sprintf("scheme %q", r.Scheme), func(t *testing.T) {
			g, _ := testGateway(t, map[string][]string{"mail.test": {"198.51.100.7"}}, r)
			c := client(t, g, resolve(t, g, "mail.test").String()+":25")
			b := make([]byte, 11)
			if _, err := io.ReadFull(c, b); err != nil || string(b) != "220 hello\r\n" {
				t.Errorf("%q, %v", b, err)
			}
			testkit.Equal(t, "", testkit.Get(exchange(t, c, "EHLO x\r\n"))(t), "EHLO x\r\n")
		})
	}
}

// TestConnectionEnds checks that a client sees its upstream half-close, close or reset.
func TestConnectionEnds(t *testing.T) {
	upload := strings.Repeat("x", 1<<20)
	listen(t, "198.51.100.7:1000", func(c *net.TCPConn) { // an answer once everything was said
		n, _ := io.Copy(io.Discard, c)
		if n == int64(len(upload)) {
			io.WriteString(c, "all of it")
		}
	})
	listen(t, "198.51.100.7:1001", func(c *net.TCPConn) { // says something, ends its side, and listens
		io.WriteString(c, "bye")
		c.CloseWrite()
		io.Copy(io.Discard, c)
	})
	listen(t, "198.51.100.7:1002", func(c *net.TCPConn) { reset(c) })
	ended := make(chan error, 1)
	listen(t, "198.51.100.7:1003", func(c *net.TCPConn) {
		c.SetDeadline(time.Now().Add(patience))
		_, err := io.Copy(io.Discard, c)
		ended <- err
	})
	listen(t, "198.51.100.7:1004", func(c *net.TCPConn) { // answers, and goes without reading it all
		io.ReadFull(c, make([]byte, 10))
		io.WriteString(c, "too much")
	})
	var rules []rule
	for port := 1000; port < 1006; port++ {
		rules = append(rules, allowPort("x.test", "tcp", port))
	}
	g, _ := testGateway(t, map[string][]string{"x.test": {"198.51.100.7"}}, rules...)
	at := resolve(t, g, "x.test").String()

	if got, err := exchange(t, client(t, g, at+":1000"), upload); got != "all of it" || err != nil {
		t.Errorf("half-closed by the client: %q, %v", got, err)
	}
	c := client(t, g, at+":1001")
	testkit.Equal(t, "half-closed by the server", string(testkit.Get(io.ReadAll(c))(t)), "bye")
	testkit.Works(t, "half-closed by the server, and then", testkit.ErrorOf(io.WriteString(c, upload)))
	for range 100 { // the reset comes before or after the relay's first step
		wasReset(t, client(t, g, at+":1002"))
	}
	wasReset(t, client(t, g, at+":1005")) // nothing listens
	c = client(t, g, at+":1003")
	io.WriteString(c, "x")
	reset(c)
	testkit.Is(t, "reset by the client", <-ended, syscall.ECONNRESET)
	c = client(t, g, at+":1003")
	io.WriteString(c, "x")
	c.Close()
	testkit.Works(t, "closed by the client", <-ended)
	c = client(t, g, at+":1004")
	io.WriteString(c, upload[:64<<10])
	b := make([]byte, 8)
	if _, err := io.ReadFull(c, b); string(b) != "too much" || err != nil {
		t.Errorf("an answer before a reset: %q, %v", b, err)
	}
	testkit.Empty(t, "failures of the network are on record as denials", g.Denials())
}

// fakeInterceptor keeps the target and head of a connection and echoes the head from upstream. It
// reports a refusal.
type fakeInterceptor struct {
	target Target
	got    string
}

func (x *fakeInterceptor) Serve(c Conn, head []byte, t Target, dial func(context.Context) (Conn, error)) {
	x.target, x.got = t, string(head)
	up, err := dial(context.Background())
	if err != nil {
		return
	}
	defer up.Close()
	up.Write(head)
	up.CloseWrite()
	t.Deny(policy.DeniedRequest, "GET /")
	io.Copy(c, up)
}

func TestIntercept(t *testing.T) {
	listen(t, "198.51.100.7:443", echo(""))
	listen(t, "198.51.100.7:80", echo(""))
	x := &fakeInterceptor{}
	g := testGatewayWith(t, Options{Rules: []rule{{Host: "api.test", PathPrefix: "/v1", Allow: true}}, Interceptor: x, Upstream: &fakeResolver{names: map[string][]string{"api.test": {"198.51.100.7"}}}})
	at := resolve(t, g, "api.test")
	for port, head := range map[uint16]string{443: string(hello(t, "api.test")), 80: get + "api.test\r\n\r\n"} {
		t.Run(fmt.Sprint("port ", port), func(t *testing.T) {
			to := netip.AddrPortFrom(at, port)
			c := client(t, g, to.String())
			testkit.Equal(t, fmt.Sprintf("%+v", g.Denials()), testkit.Get(exchange(t, c, head))(t), head)
			if x.got != head || x.target.Name != "api.test" || x.target.Port != int(port) || x.target.Addr != to || x.target.TLS != (port == 443) {
				t.Errorf("%+v", x.target)
			}
		})
	}
	if d := g.Denials(); len(d) != 2 || d[0].Operation != "connect" || d[0].Reason != policy.DeniedRequest || !slices.Contains([]string{"api.test:443api.test:80", "api.test:80api.test:443"}, d[0].Target+d[1].Target) {
		t.Errorf("%+v", d)
	}
}
