package egress

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/policy"
)

const get = "GET / HTTP/1.1\r\nHost: "

func TestConnections(t *testing.T) {
	for _, at := range []string{"198.51.100.7:443", "198.51.100.7:80", "198.51.100.7:5432", "[2001:db8::7]:443", "127.0.0.1:8080", "10.99.0.5:80"} {
		listen(t, at, echo(""))
	}
	names := map[string][]string{"api.test": {"198.51.100.7"}, "six.test": {"2001:db8::7"}, "db.test": {"198.51.100.7"}, "web.test": {"198.51.100.7"}, "sec.test": {"198.51.100.7"}}
	tlsTo := func(name string) string { return string(hello(t, name)) }
	for _, c := range []struct {
		what  string
		rules []rule
		to    string // a name or an address, with a port
		send  string
		why   policy.DenialReason // "" where it passes
	}{
		{"TLS", []rule{allow("api.test")}, "api.test:443", tlsTo("api.test"), ""},
		{"TLS by IPv6", []rule{allow("six.test")}, "six.test:443", tlsTo("six.test"), ""},
		{"TLS to another name", []rule{allow("api.test")}, "api.test:443", tlsTo("evil.test"), policy.DeniedWrongName},
		{"TLS to another granted name", []rule{allow("api.test"), allow("web.test")}, "api.test:443", tlsTo("web.test"), policy.DeniedWrongName},
		{"TLS without a name", []rule{allow("api.test")}, "api.test:443", tlsTo(""), policy.DeniedWrongName},
		{"TLS in the format of SSLv2", []rule{allow("api.test")}, "api.test:443", oldTLS, policy.DeniedWrongName},
		{"requests, in the format of SSLv2", []rule{{Host: "api.test", PathPrefix: "/v1", Allow: true}}, "api.test:443", oldTLS, policy.DeniedWrongName},
		{"the beginning of that", []rule{allow("api.test")}, "api.test:80", oldTLS[:3], ""},
		{"tcp, in the format of SSLv2", []rule{allowPort("db.test", "tcp", 5432)}, "db.test:5432", oldTLS, ""},
		{"a broken handshake", []rule{allow("api.test")}, "api.test:443", "\x16\x03\x01\x00\x05\x02aaaa", policy.DeniedAmbiguous},
		{"half a handshake", []rule{allow("api.test")}, "api.test:443", tlsTo("api.test")[:100], policy.DeniedAmbiguous},
		{"HTTP", []rule{allow("api.test")}, "api.test:80", get + "api.test\r\n\r\n", ""},
		{"HTTP on the other port", []rule{allow("api.test")}, "api.test:443", get + "api.test\r\n\r\n", ""},
		{"HTTP to another host", []rule{allow("api.test")}, "api.test:80", get + "evil.test\r\n\r\n", policy.DeniedWrongName},
		{"HTTP without a host", []rule{allow("api.test")}, "api.test:80", "GET / HTTP/1.0\r\n\r\n", policy.DeniedWrongName},
		{"an absolute target elsewhere", []rule{allow("api.test")}, "api.test:80", "GET http://evil.test/x HTTP/1.1\r\nHost: api.test\r\n\r\n", policy.DeniedWrongName},
		{"a tunnel", []rule{allow("api.test")}, "api.test:80", "CONNECT evil.test:443 HTTP/1.1\r\nHost: api.test\r\n\r\n", policy.DeniedAmbiguous},
		{"HTTP/2 in the open", []rule{allow("api.test")}, "api.test:80", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", policy.DeniedAmbiguous},
		{"a second request", []rule{allow("api.test")}, "api.test:80", get + "api.test\r\n\r\n" + get + "api.test\r\n\r\n", ""},
		{"neither", []rule{allow("api.test")}, "api.test:80", "EHLO x\r\n", ""},
		{"neither, on the port of HTTPS", []rule{allow("api.test")}, "api.test:443", "EHLO x\r\n", policy.DeniedWrongScheme},
		{"neither, with tcp on the port of HTTPS", []rule{allow("api.test"), allowPort("api.test", "tcp", 443)}, "api.test:443", "EHLO x\r\n", ""},
		{"TLS with that rule", []rule{allow("api.test"), allowPort("api.test", "tcp", 443)}, "api.test:443", tlsTo("api.test"), ""},
		{"half a request", []rule{allow("api.test")}, "api.test:80", "GET http://evil.test/ HTTP/1.0", policy.DeniedAmbiguous},
		{"nothing", []rule{allow("api.test")}, "api.test:443", "", ""},
		{"https only, TLS", []rule{allowPort("sec.test", "https", 0)}, "sec.test:443", tlsTo("sec.test"), ""},
		{"https only, HTTP", []rule{allowPort("sec.test", "https", 0)}, "sec.test:443", get + "sec.test\r\n\r\n", policy.DeniedWrongScheme},
		{"http only, HTTP", []rule{allowPort("web.test", "http", 0)}, "web.test:80", get + "web.test\r\n\r\n", ""},
		{"http only, TLS", []rule{allowPort("web.test", "http", 80)}, "web.test:80", tlsTo("web.test"), policy.DeniedWrongScheme},
		{"tcp", []rule{allowPort("db.test", "tcp", 5432)}, "db.test:5432", "\x00\x00\x00\x08\x04\xd2\x16\x2f", ""},
		{"tcp, whatever it says", []rule{allowPort("db.test", "tcp", 5432)}, "db.test:5432", get + "evil.test\r\n\r\n", ""},
		{"another port", []rule{allow("api.test")}, "api.test:5432", "x", policy.DeniedNotGranted},
		{"a denied port", []rule{allow("api.test"), {Host: "api.test", Port: 80}}, "api.test:80", get + "api.test\r\n\r\n", policy.DeniedNotGranted},
		{"the address of a name that was not asked for", []rule{allow("api.test")}, "198.51.100.7:443", tlsTo("api.test"), policy.DeniedNotGranted},
		{"localhost", []rule{allowPort("localhost", "", 8080)}, "127.0.0.1:8080", "x", ""},
		{"localhost, by an address that is refused on every port", []rule{allowPort("localhost", "", 8080), {Host: "127.0.0.1"}}, "127.0.0.1:8080", "x", policy.DeniedNotGranted},
		{"an address", []rule{allow("198.51.100.7")}, "198.51.100.7:443", tlsTo("evil.test"), ""},
		{"another address", []rule{allow("198.51.100.7")}, "198.51.100.8:443", "x", policy.DeniedNotGranted},
		{"any", []rule{allow("*")}, "api.test:443", tlsTo("api.test"), ""},
		{"any, an address", []rule{allow("*")}, "198.51.100.7:443", tlsTo(""), ""},
		{"any over TLS, another name at the address of one", []rule{allowPort("*", "https", 0)}, "api.test:443", tlsTo("web.test"), ""},
		{"any, another name at an invented address", []rule{allow("*")}, "six.test:443", tlsTo("web.test"), policy.DeniedWrongName},
		{"any but one, at an address", []rule{allow("*"), {Host: "evil.test"}}, "198.51.100.7:443", tlsTo("evil.test"), policy.DeniedWrongName},
		{"any but one, at a name's address", []rule{allow("*"), {Host: "evil.test"}}, "api.test:443", tlsTo("evil.test"), policy.DeniedWrongName},
		{"any, a private address", []rule{allow("*")}, "10.99.0.5:80", "x", policy.DeniedNotGranted},
		{"a private address", []rule{allow("10.99.0.5")}, "10.99.0.5:80", "x\r\n", ""},
		{"any, this host", []rule{allow("*"), allowPort("*", "", 8080)}, "127.0.0.1:8080", "x", policy.DeniedNotGranted},
		{"localhost", []rule{allowPort("localhost", "", 8080)}, "127.0.0.1:8080", get + "evil.test\r\n\r\n", ""},
		{"localhost by IPv6", []rule{allowPort("localhost", "", 8080)}, "[::1]:8080", "x\r\n", ""},
		{"localhost by address", []rule{allowPort("127.0.0.1", "", 8080)}, "127.0.0.1:8080", "x\r\n", ""},
		{"localhost, but not by address", []rule{allowPort("localhost", "", 8080), {Host: "127.0.0.1", Port: 8080}}, "127.0.0.1:8080", "x\r\n", policy.DeniedNotGranted},
		{"localhost, another port", []rule{allowPort("localhost", "", 8080)}, "127.0.0.1:443", "x", policy.DeniedNotGranted},
		{"requests that nobody sees", []rule{{Host: "api.test", PathPrefix: "/v1", Allow: true}}, "api.test:443", tlsTo("api.test"), policy.DeniedUnsupported},
		{"requests that nobody sees, and no HTTP", []rule{{Host: "api.test", PathPrefix: "/v1", Allow: true}}, "api.test:443", "EHLO x\r\n", policy.DeniedWrongScheme},
	} {
		t.Run(c.what, func(t *testing.T) {
			g, _ := testGateway(t, names, c.rules...)
			host, port, _ := net.SplitHostPort(c.to)
			to := c.to
			if strings.HasSuffix(host, ".test") {
				to = net.JoinHostPort(resolve(t, g, host).String(), port)
			}
			conn := client(t, g, to)
			if c.why == "" {
				if got, err := exchange(t, conn, c.send); got != c.send || err != nil {
					t.Errorf("%q, %v, want %q; denied: %+v", got, err, c.send, g.Denials())
				}
				return
			}
			got, err := exchange(t, conn, c.send)
			if got != "" || !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) && !errors.Is(err, syscall.ENOTCONN) {
				t.Errorf("%q, %v, want a reset", got, err)
			}
			if d := onlyDenial(t, g); d.Reason != c.why || d.Operation != "connect" || d.Target != c.to && d.Target != "localhost:"+port {
				t.Errorf("%+v, want %v for %s", d, c.why, c.to)
			}
		})
	}
}

func TestServerSpeaksFirst(t *testing.T) {
	listen(t, "198.51.100.7:25", echo("220 hello\r\n"))
	for _, r := range []rule{allowPort("mail.test", "", 25), allowPort("mail.test", "tcp", 25)} {
		g, _ := testGateway(t, map[string][]string{"mail.test": {"198.51.100.7"}}, r)
		c := client(t, g, resolve(t, g, "mail.test").String()+":25")
		b := make([]byte, 11)
		if _, err := io.ReadFull(c, b); err != nil || string(b) != "220 hello\r\n" {
			t.Errorf("%q, %v", b, err)
		}
		if got, err := exchange(t, c, "EHLO x\r\n"); got != "EHLO x\r\n" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
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
	if got, err := io.ReadAll(c); string(got) != "bye" || err != nil {
		t.Errorf("half-closed by the server: %q, %v", got, err)
	}
	if _, err := io.WriteString(c, upload); err != nil {
		t.Errorf("half-closed by the server, and then: %v", err)
	}
	wasReset(t, client(t, g, at+":1002"))
	wasReset(t, client(t, g, at+":1005")) // nothing listens
	c = client(t, g, at+":1003")
	io.WriteString(c, "x")
	reset(c)
	if err := <-ended; !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("reset by the client: %v", err)
	}
	c = client(t, g, at+":1003")
	io.WriteString(c, "x")
	c.Close()
	if err := <-ended; err != nil {
		t.Errorf("closed by the client: %v", err)
	}
	c = client(t, g, at+":1004")
	io.WriteString(c, upload[:64<<10])
	b := make([]byte, 8)
	if _, err := io.ReadFull(c, b); string(b) != "too much" || err != nil {
		t.Errorf("an answer before a reset: %q, %v", b, err)
	}
	if d := g.Denials(); len(d) != 0 {
		t.Errorf("failures of the network are on record as denials: %+v", d)
	}
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
