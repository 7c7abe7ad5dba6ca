package egress

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// tunnel is a proxy of the host; it answers CONNECT with status, and connects to
// what it is asked for.
func tunnel(t testing.TB, at, status string, to string) *seen {
	var asked seen
	listen(t, at, func(c *net.TCPConn) {
		b := bufio.NewReader(c)
		for {
			line, err := b.ReadString('\n')
			asked.Write([]byte(line))
			if err != nil || line == "\r\n" {
				break
			}
		}
		up, err := net.Dial("tcp", to)
		if err != nil {
			t.Error(err)
			return
		}
		defer up.Close()
		// What the other side says first comes together with the answer.
		greeting := make([]byte, 5)
		io.ReadFull(up, greeting)
		io.WriteString(c, "HTTP/1.1 "+status+"\r\nX: y\r\n\r\n"+string(greeting))
		go func() {
			io.Copy(up, b)
			up.(*net.TCPConn).CloseWrite()
		}()
		io.Copy(c, up)
	})
	return &asked
}

func TestUpstreamProxy(t *testing.T) {
	listen(t, "198.51.100.7:443", echo("hello"))
	listen(t, "198.51.100.7:80", echo("hello"))
	good := tunnel(t, "10.99.0.5:3128", "200 fine", "198.51.100.7:443")
	tunnel(t, "10.99.0.6:3128", "407 who are you", "198.51.100.7:443")
	for _, c := range testkit.Table[struct {
		proxy, port string
		asked       string
		why         policy.DenialReason
		fails       bool
	}](t, "upstream-proxy.txt") {
		before := len(good.String())
		g := testGatewayWith(t, Options{Rules: []rule{allow("api.test")}, Upstream: &fakeResolver{names: map[string][]string{"api.test": {"198.51.100.7"}}},
			Proxy: func(*url.URL) (*url.URL, error) { return url.Parse(c.proxy) }})
		conn := client(t, g, resolve(t, g, "api.test").String()+":"+c.port)
		send := string(hello(t, "api.test"))
		got, err := exchange(t, conn, send)
		if c.fails != (err != nil) || !c.fails && got != "hello"+send {
			t.Errorf("%s: %q, %v; %+v", c.proxy, got, err, g.Denials())
		}
		testkit.Equal(t, fmt.Sprintf("%s: asked", c.proxy), good.String()[before:], c.asked)
		if c.why == "" && len(g.Denials()) > 0 || c.why != "" && onlyDenial(t, g).Reason != c.why {
			t.Errorf("%s: %+v", c.proxy, g.Denials())
		}
	}
	// What the host sees of a name counts, even where a proxy would go there.
	up := &fakeResolver{names: map[string][]string{"api.test": {"198.51.100.7"}}}
	g := testGatewayWith(t, Options{Rules: []rule{allow("api.test")}, Upstream: up, Proxy: func(*url.URL) (*url.URL, error) { return url.Parse("http://10.99.0.5:3128") }})
	to := netip.AddrPortFrom(resolve(t, g, "api.test"), 443)
	up.set("api.test", "169.254.169.254")
	g.lookups.results["api.test"].until = g.lookups.results["api.test"].until.Add(-lookupTTL * 2)
	wasReset(t, client(t, g, to.String()))
	if d := onlyDenial(t, g); d.Reason != policy.DeniedAddress || !strings.Contains(d.Detail, "169.254.169.254") {
		t.Errorf("%+v", d)
	}
}
