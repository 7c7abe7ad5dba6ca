package egress

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/egress/egresstest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// socksServer is a SOCKS5 proxy that answers requests itself: it says hello, and echoes. It tells what
// it was asked for. Its user is "me", and the password "se:cret".
func socksServer(t *testing.T, login bool, answer byte) (at string, asked chan string) {
	asked = make(chan string, 16)
	at = listenProxy(t, func(c net.Conn) {
		b := bufio.NewReader(c)
		read := func(n int) []byte {
			p := make([]byte, n)
			io.ReadFull(b, p)
			return p
		}
		methods := read(int(read(2)[1]))
		want := byte(0)
		if login {
			want = 2
		}
		if !strings.Contains(string(methods), string(want)) {
			c.Write([]byte{5, 0xff})
			return
		}
		c.Write([]byte{5, want})
		if login {
			user := read(int(read(2)[1]))
			password := read(int(read(1)[0]))
			if string(user) != "me" || string(password) != "se:cret" {
				c.Write([]byte{1, 1})
				return
			}
			c.Write([]byte{1, 0})
		}
		var host string
		switch kind := read(4)[3]; kind {
		case 1:
			host = net.IP(read(4)).String()
		case 3:
			host = string(read(int(read(1)[0])))
		case 4:
			host = net.IP(read(16)).String()
		}
		asked <- fmt.Sprint(host, " ", binary.BigEndian.Uint16(read(2)))
		// What the host says first comes together with the answer.
		c.Write(append([]byte{5, answer, 0, 1, 127, 0, 0, 1, 0, 80}, "hello"...))
		io.Copy(c, b)
	})
	return at, asked
}

func listenProxy(t *testing.T, serve func(net.Conn)) string {
	l := testkit.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { l.Close() })
	go egresstest.Serve(l, serve)
	return l.Addr().String()
}

// TestSOCKS: socks5h asks for the name, socks5 for the address, and no byte after the answer is lost.
// An error contains no password.
func TestSOCKS(t *testing.T) {
	open, asked := socksServer(t, false, 0)
	closed, askedClosed := socksServer(t, true, 0)
	refuses, _ := socksServer(t, false, 5)
	for _, c := range []struct{ proxy, want, fails string }{
		{"socks5h://" + open, "api.test 443", ""},
		{"socks5://" + open, "198.51.100.7 443", ""},
		{"socks5h://me:se%3Acret@" + closed, "api.test 443", ""},
		{"socks5h://" + closed, "", "no acceptable authentication"},
		{"socks5h://me:wrong@" + closed, "", "authentication failed"},
		{"socks5h://" + refuses, "", "connection refused"},
		{"socks4://" + open, "", "socks4:// is not supported"},
		{"https://" + open, "", "needs mcp-jail-tls"},
	} {
		u := testkit.Get(url.Parse(c.proxy))(t)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		conn, err := DialProxy(ctx, u, "api.test", netip.MustParseAddrPort("198.51.100.7:443"), nil)
		cancel()
		if c.fails != "" {
			if err == nil || !strings.Contains(err.Error(), c.fails) || strings.Contains(err.Error(), "wrong") {
				t.Errorf("%s: %v, want %s", c.proxy, err, c.fails)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.proxy, err)
			continue
		}
		io.WriteString(conn, "ping")
		got := make([]byte, 9)
		io.ReadFull(conn, got)
		conn.Close()
		from := asked
		if strings.Contains(c.proxy, closed) {
			from = askedClosed
		}
		if to := <-from; to != c.want || string(got) != "helloping" {
			t.Errorf("%s: asked for %s and got %q, want %s", c.proxy, to, got, c.want)
		}
	}
}

// TestDialEnds: a proxy that does not answer is given up when the caller ends.
func TestDialEnds(t *testing.T) {
	for _, scheme := range []string{"http", "socks5", "socks5h"} {
		begun := make(chan bool, 1)
		at := listenProxy(t, func(c net.Conn) {
			begun <- true
			io.Copy(io.Discard, c)
		})
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-begun
			cancel()
		}()
		if c, err := DialProxy(ctx, &url.URL{Scheme: scheme, Host: at}, "api.test", netip.MustParseAddrPort("198.51.100.7:443"), nil); err == nil {
			c.Close()
			t.Errorf("%s: no error", scheme)
		}
	}
}

// TestFromEnvironment: the variable of the scheme counts before ALL_PROXY, NO_PROXY before both, and
// protocols that an HTTP proxy refuses go through a SOCKS proxy only.
func TestFromEnvironment(t *testing.T) {
	for _, row := range testkit.Rows(t, "environments.txt", 3) {
		environ, of, want := row[0], row[1], row[2]
		for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "REQUEST_METHOD"} {
			t.Setenv(name, "")
			t.Setenv(strings.ToLower(name), "")
		}
		for _, v := range strings.Fields(environ) {
			name, value, _ := strings.Cut(v, "=")
			t.Setenv(name, value)
		}
		u := testkit.Get(url.Parse(of))(t)
		got := ""
		if p, err := proxyFromEnvironment()(u); err != nil {
			t.Errorf("%s: %v", environ, err)
		} else if p != nil {
			got = p.String()
		}
		testkit.Equal(t, fmt.Sprintf("%s, %s", environ, of), got, want)
	}
}

// TestConnect: an HTTP proxy gets the credentials of its URL, only the status 2xx is a connection, and
// no byte after the head is lost.
func TestConnect(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n\r\n"
	for _, c := range []struct{ user, head, fails string }{
		{"", ok, ""},
		{"me:se%3Acret@", ok, ""},
		{"", "HTTP/1.0 204 \r\nA: b\r\n\r\n", ""},
		{"me:wrong@", "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", "refused CONNECT"},
		{"", "HTTP/1.1 301 Moved\r\n\r\n", "refused CONNECT"},
		{"", "HTTP/1.1 2\r\n\r\n", "refused CONNECT"},
		{"", "SSH-2.0-x 200 \r\n\r\n", "refused CONNECT"},
		{"", "HTTP/1.1 200 OK\r\nA: " + strings.Repeat("b", maxProxyHead) + "\r\n\r\n", "too long"},
		{"", "HTTP/1.1 200 OK\r\n", "EOF"},
	} {
		asked := make(chan string, 1)
		at := listenProxy(t, func(conn net.Conn) {
			head := ""
			for b := bufio.NewReader(conn); !strings.HasSuffix(head, "\r\n\r\n"); {
				line, err := b.ReadString('\n')
				if head += line; err != nil {
					break
				}
			}
			asked <- head
			io.WriteString(conn, c.head+"hello")
		})
		u := testkit.Get(url.Parse("http://" + c.user + at))(t)
		conn, err := DialProxy(t.Context(), u, "api.test", netip.MustParseAddrPort("198.51.100.7:443"), nil)
		head := <-asked
		if want := "Proxy-Authorization: Basic bWU6c2U6Y3JldA==\r\n"; !strings.HasPrefix(head, "CONNECT api.test:443 HTTP/1.1\r\nHost: api.test:443\r\n") || strings.Contains(head, want) != strings.Contains(c.user, "cret") {
			t.Errorf("%q asks %q", c.user, head)
		}
		switch {
		case c.fails != "":
			if err == nil || !strings.Contains(err.Error(), c.fails) || strings.Contains(err.Error(), "wrong") {
				t.Errorf("%.50q: %v, want %s", c.head, err, c.fails)
			}
		case err != nil:
			t.Errorf("%.50q: %v", c.head, err)
		default:
			if got, err := io.ReadAll(conn); string(got) != "hello" {
				t.Errorf("%.50q: then %q, %v", c.head, got, err)
			}
		}
		if conn != nil {
			conn.Close()
		}
	}
}
