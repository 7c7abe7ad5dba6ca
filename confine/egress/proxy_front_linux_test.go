package egress

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

const testPassword = "0123456789abcdef0123456789abcdef"

var authorization = "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("jail:"+testPassword)) + "\r\n"

// serveProxy starts the session's proxy and returns its port.
func serveProxy(t testing.TB, g *Gateway) (port int) {
	t.Helper()
	listeners, port, err := NewProxyListeners()
	testkit.Must(t, err)
	g.ServeProxy(listeners, testPassword)
	return port
}

// proxyConn connects to the session's proxy.
func proxyConn(t testing.TB, port int) *net.TCPConn {
	t.Helper()
	c := testkit.Get(net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))))(t)
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(patience))
	return c.(*net.TCPConn)
}

// connectTo asks the proxy for a tunnel and returns the status line of its answer.
func connectTo(t testing.TB, port int, target string) (*net.TCPConn, *bufio.Reader, string) {
	t.Helper()
	c := proxyConn(t, port)
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %[1]s\r\n%s\r\n", target, authorization)
	b := bufio.NewReader(c)
	status := testkit.Get(b.ReadString('\n'))(t)
	if strings.Contains(status, " 200 ") {
		line := testkit.Get(b.ReadString('\n'))(t)
		testkit.MustEqual(t, "after the status", line, "\r\n")
	}
	return c, b, strings.TrimSpace(status)
}

// TestProxyConnect: a tunnel is checked as any connection of the jail is.
func TestProxyConnect(t *testing.T) {
	listen(t, "198.51.100.7:443", echo(""))
	g, _ := testGateway(t, map[string][]string{"api.test": {"198.51.100.7"}}, allow("api.test"))
	port := serveProxy(t, g)

	c, b, status := connectTo(t, port, "api.test:443")
	testkit.MustEqual(t, g.Denials(), status, "HTTP/1.1 200 Connection established")
	good := string(hello(t, "api.test"))
	io.WriteString(c, good)
	c.CloseWrite()
	testkit.Equal(t, fmt.Sprintf("%+v", g.Denials()), string(testkit.Get(io.ReadAll(b))(t)), good)
	if d := g.Denials(); len(d) > 0 {
		t.Fatalf("%+v", d)
	}

	c, b, _ = connectTo(t, port, "api.test:443")
	c.Write(hello(t, "evil.test"))
	if got, err := io.ReadAll(b); len(got) > 0 || err == nil {
		t.Errorf("%q, %v, want a reset", got, err)
	}
	if d := onlyDenial(t, g); d.Reason != policy.DeniedWrongName || d.Target != "api.test:443" {
		t.Errorf("%+v", d)
	}

	_, b, status = connectTo(t, port, "evil.test:8443")
	if want := "HTTP/1.1 403 mcp-jail: evil.test:8443 is not granted; to grant it: --net evil.test:8443"; status != want {
		t.Errorf("%q, want %q", status, want)
	}
	if body, err := io.ReadAll(b); err != nil || !strings.HasSuffix(string(body), "--net evil.test:8443\n") {
		t.Errorf("%q, %v", body, err)
	}
	if d := g.Denials(); len(d) != 2 || d[1].Target != "evil.test:8443" || d[1].Reason != policy.DeniedNotGranted || d[1].Operation != "connect" {
		t.Errorf("%+v", d)
	}
}

// TestProxyDecisions: the proxy grants what other connections of the jail get, and nothing else. A
// refusal has its reason in the status line and on record.
func TestProxyDecisions(t *testing.T) {
	for _, at := range []string{"198.51.100.7:443", "198.51.100.7:80", "127.0.0.1:8080", "169.254.169.254:80", "10.99.0.5:80", "203.0.113.99:443"} {
		listen(t, at, echo("hello\r\n"))
	}
	names := map[string][]string{
		"api.test": {"198.51.100.7"}, "xn--bcher-kva.test": {"198.51.100.7"}, "meta.test": {"169.254.169.254"}, "inside.test": {"10.99.0.5"},
		"own.test": {"203.0.113.99"}, "shut.test": {"198.51.100.8"}, "a.wild.test": {"198.51.100.7"},
	}
	rules := []rule{
		allow("api.test"), allow("xn--bcher-kva.test"), allow("meta.test"), allow("inside.test"), allow("own.test"), allow("gone.test"), allow("shut.test"),
		allow("*.wild.test"), {Host: "bad.wild.test"}, allowPort("localhost", "", 8080), allowPort("sec.test", "https", 0),
	}
	for _, row := range testkit.Rows(t, "proxy_decisions.txt", 3) {
		target, wantStatus, denied := row[0], row[1], row[2]
		g, r := testGateway(t, names, rules...)
		port := serveProxy(t, g)
		conn, _, status := connectTo(t, port, target)
		conn.Close()
		got := ""
		for _, d := range g.Denials() {
			got = d.Target + " " + string(d.Reason)
		}
		if !strings.Contains(status, wantStatus) || got != denied || len(g.Denials()) > 1 {
			t.Errorf("%s: %q, %q, want %q, %q", target, status, got, wantStatus, denied)
		}
		if strings.HasSuffix(denied, "not_granted") && len(r.asked) > 0 {
			t.Errorf("%s: names were looked up: %v", target, r.asked)
		}
		g.Close()
	}
}

// TestProxyURL: a request for a URL reaches its host in origin form, without what was for the proxy, and
// no second request follows it.
func TestProxyURL(t *testing.T) {
	var got seen
	listen(t, "198.51.100.7:80", func(c *net.TCPConn) {
		b := make([]byte, 4096)
		n, _ := c.Read(b)
		got.Write(b[:n])
		io.WriteString(c, "HTTP/1.1 200 Yes\r\n\r\n")
		io.Copy(&got, c)
	})
	names := map[string][]string{"api.test": {"198.51.100.7"}, "tcp.test": {"198.51.100.7"}, "web.test": {"198.51.100.7"}, "sec.test": {"198.51.100.7"}}
	rules := []rule{allow("api.test"), allowPort("tcp.test", "tcp", 80), allow("web.test"), allowPort("sec.test", "https", 80)}
	fill := strings.NewReplacer("$AUTH", authorization, "$SENT", "GET /x HTTP/1.1\r\nHost: api.test\r\nA: b\r\n", "$CLOSED", "Connection: close\r\n\r\n")
	for _, row := range testkit.Rows(t, "proxy_urls.txt", 5) {
		what, send, wantAnswer, wantSent, denied := row[0], fill.Replace(row[1]), row[2], fill.Replace(row[3]), policy.DenialReason(row[4])
		g, _ := testGateway(t, names, rules...)
		port := serveProxy(t, g)
		before := len(got.String())
		conn := proxyConn(t, port)
		io.WriteString(conn, send)
		if wantSent != "" {
			testkit.Eventually(t, "the host gets it", func() bool { return len(got.String())-before >= len(wantSent) })
		}
		if denied == "" {
			conn.CloseWrite()
		}
		answer, _ := io.ReadAll(conn) // a second request ends in a reset
		if !strings.HasPrefix(string(answer), wantAnswer) {
			t.Errorf("%s: %q, want %q", what, answer, wantAnswer)
		}
		g.Close()
		testkit.Equal(t, fmt.Sprintf("%s: the host", what), got.String()[before:], wantSent)
		if d := g.Denials(); len(d) > 1 || len(d) == 0 && denied != "" || len(d) == 1 && d[0].Reason != denied {
			t.Errorf("%s: %+v", what, d)
		}
	}
}

// TestProxySOCKS: connections by SOCKS5 are checked in the same way.
func TestProxySOCKS(t *testing.T) {
	listen(t, "198.51.100.7:443", echo(""))
	g, _ := testGateway(t, map[string][]string{"api.test": {"198.51.100.7"}}, allow("api.test"), allow("gone.test"))
	port := serveProxy(t, g)
	for target, want := range map[string]byte{"api.test": 0, "evil.test": 2, "gone.test": 4, "169.254.169.254": 2, "api.test\x00": 2} {
		c := proxyConn(t, port)
		fmt.Fprintf(c, "\x05\x01\x02\x01\x04jail\x20%s\x05\x01\x00\x03%c%s\x01\xbb", testPassword, len(target), target)
		answer := make([]byte, 14)
		if _, err := io.ReadFull(c, answer); err != nil || string(answer[:5]) != "\x05\x02\x01\x00\x05" || answer[5] != want {
			t.Errorf("%q: %q, %v", target, answer, err)
		}
		if want != 0 {
			testkit.Empty(t, target, testkit.Get(io.ReadAll(c))(t))
			continue
		}
		c.Write(hello(t, "evil.test"))
		if rest, err := io.ReadAll(c); len(rest) > 0 || err == nil {
			t.Errorf("a handshake with another host: %q, %v", rest, err)
		}
	}
	var got []string
	for _, d := range g.Denials() {
		got = append(got, d.Target+" "+string(d.Reason))
	}
	slices.Sort(got)
	if want := []string{`"api.test\x00" not_granted`, "169.254.169.254:443 not_granted", "api.test:443 wrong_name", "evil.test:443 not_granted"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestProxyIntercept: an Interceptor gets the connections whose requests the rules tell apart, with the
// bytes that were read already. A client hears of the connection before it sends them.
func TestProxyIntercept(t *testing.T) {
	listen(t, "198.51.100.7:443", echo(""))
	listen(t, "198.51.100.7:80", echo(""))
	x := &fakeInterceptor{}
	g := testGatewayWith(t, Options{Rules: []rule{{Host: "api.test", PathPrefix: "/v1", Allow: true}}, Interceptor: x, Upstream: &fakeResolver{names: map[string][]string{"api.test": {"198.51.100.7"}}}})
	port := serveProxy(t, g)

	c, b, status := connectTo(t, port, "api.test:443")
	head := string(hello(t, "api.test"))
	io.WriteString(c, head)
	if got, err := io.ReadAll(b); !strings.Contains(status, " 200 ") || string(got) != head || err != nil {
		t.Errorf("%q, %q, %v; %+v", status, got, err, g.Denials())
	}
	if x.got != head || x.target.Name != "api.test" || x.target.Port != 443 || !x.target.TLS {
		t.Errorf("%q, %+v", x.got, x.target)
	}

	c = proxyConn(t, port)
	io.WriteString(c, "GET http://api.test/v1 HTTP/1.1\r\nHost: api.test\r\n"+authorization+"\r\n")
	head = "GET /v1 HTTP/1.1\r\nHost: api.test\r\nConnection: close\r\n\r\n"
	if got, err := io.ReadAll(c); string(got) != head || err != nil || x.got != head || x.target.TLS {
		t.Errorf("%q, %v; %+v; %+v", got, err, x, g.Denials())
	}

	// Without an Interceptor the client is not told that the host is connected and then cut off alone: the
	// refusal is on record.
	g, _ = testGateway(t, map[string][]string{"api.test": {"198.51.100.7"}}, rule{Host: "api.test", PathPrefix: "/v1", Allow: true})
	c, b, _ = connectTo(t, serveProxy(t, g), "api.test:443")
	c.Write(hello(t, "api.test"))
	if got, err := io.ReadAll(b); len(got) > 0 || err == nil || onlyDenial(t, g).Reason != policy.DeniedUnsupported {
		t.Errorf("%q, %v; %+v", got, err, g.Denials())
	}
}

// TestProxyLimits: the limits of the session hold for the proxy, and a client without the password takes
// none of its places.
func TestProxyLimits(t *testing.T) {
	listen(t, "198.51.100.7:1000", func(c *net.TCPConn) { io.Copy(io.Discard, c) })
	g := testGatewayWith(t, Options{
		Rules: []rule{allowPort("x.test", "tcp", 1000), allow("*.wild.test")}, Limits: limits{Connections: 1},
		Upstream: &fakeResolver{names: map[string][]string{"x.test": {"198.51.100.7"}}},
	})
	port := serveProxy(t, g)
	silent := proxyConn(t, port)
	first, _, status := connectTo(t, port, "x.test:1000")
	if !strings.Contains(status, " 200 ") {
		t.Fatalf("%q", status)
	}
	second := proxyConn(t, port)
	io.WriteString(second, "CONNECT x.test:1000 HTTP/1.1\r\n"+authorization+"\r\n")
	testkit.Eventually(t, "it waits", func() bool { return g.waiting.Load() == 1 })
	_, _, status = connectTo(t, port, "x.test:1000")
	testkit.Contains(t, "", status, " 403 mcp-jail: 1 connections are open, and as many wait")
	first.Close()
	testkit.Contains(t, "", testkit.Get(bufio.NewReader(second).ReadString('\n'))(t), " 200 ")
	second.Close()
	long := strings.Repeat("a", 60) + "." + strings.Repeat("b", 60) + ".wild.test"
	if _, _, status = connectTo(t, port, long+":443"); !strings.Contains(status, " 403 mcp-jail: "+long+":443 is refused: a limit was reached") {
		t.Errorf("%q", status)
	}
	g.Close()
	testkit.Fails(t, "a connection is open after Close", testkit.ErrorOf(silent.Read(make([]byte, 1))), "")
	if _, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))); err == nil {
		t.Error("the proxy listens after Close")
	}
}

// TestProxyListeners: one port on both loopback addresses, and nothing on another address.
func TestProxyListeners(t *testing.T) {
	g, _ := testGateway(t, nil)
	port := serveProxy(t, g)
	for _, host := range []string{"127.0.0.1", "::1"} {
		c := testkit.Get(net.Dial("tcp", net.JoinHostPort(host, strconv.Itoa(port))))(t)
		fmt.Fprintf(c, "CONNECT x.test:443 HTTP/1.1\r\n\r\n")
		testkit.Contains(t, host, testkit.Get(bufio.NewReader(c).ReadString('\n'))(t), " 407 ")
		c.Close()
	}
	if c, err := net.Dial("tcp", net.JoinHostPort("198.51.100.1", strconv.Itoa(port))); err == nil {
		c.Close()
		t.Error("the proxy listens on another address")
	}
	if d := onlyDenial(t, g); d.Reason != policy.DeniedUnsupported || strings.Contains(d.Target, "x.test") {
		t.Errorf("%+v", d)
	}
}
