package egress

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io"
	"net"
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
	c, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	testkit.Must(t, err)
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
	status, err := b.ReadString('\n')
	testkit.Must(t, err)
	if strings.Contains(status, " 200 ") {
		line, err := b.ReadString('\n')
		testkit.Must(t, err)
		if line != "\r\n" {
			t.Fatalf("after the status: %q", line)
		}
	}
	return c, b, strings.TrimSpace(status)
}

// TestProxyConnect: a tunnel is checked as any connection of the jail is.
func TestProxyConnect(t *testing.T) {
	listen(t, "198.51.100.7:443", echo(""))
	g, _ := testGateway(t, map[string][]string{"api.test": {"198.51.100.7"}}, allow("api.test"))
	port := serveProxy(t, g)

	c, b, status := connectTo(t, port, "api.test:443")
	if status != "HTTP/1.1 200 Connection established" {
		t.Fatalf("%q; %+v", status, g.Denials())
	}
	good := string(hello(t, "api.test"))
	io.WriteString(c, good)
	c.CloseWrite()
	if got, err := io.ReadAll(b); string(got) != good || err != nil {
		t.Errorf("%q, %v; %+v", got, err, g.Denials())
	}
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
