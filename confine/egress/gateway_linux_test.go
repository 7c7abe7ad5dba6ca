package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

func TestClose(t *testing.T) {
	listen(t, "198.51.100.7:1000", echo("hello"))
	g, _ := testGateway(t, map[string][]string{"x.test": {"198.51.100.7"}}, allowPort("x.test", "tcp", 1000), allow("x.test"))
	at := resolve(t, g, "x.test").String()
	c, silent := client(t, g, at+":1000"), client(t, g, at+":443")
	io.ReadFull(c, make([]byte, 5))
	g.Refuse("tcp", netip.MustParseAddrPort("198.51.100.9:22"))
	g.Close()
	g.Close()
	wasReset(t, c)
	wasReset(t, silent)
	late, jail := pair(t)
	g.Accept(jail, netip.MustParseAddrPort(at+":1000"))
	wasReset(t, late)
	if d := onlyDenial(t, g); d.Target != "198.51.100.9:22" || d.Reason != policy.DeniedNotGranted {
		t.Errorf("after Close: %+v", d)
	}
	var m dnsmessage.Message
	if err := m.Unpack(g.Answer(question(t, "x.test.", dnsmessage.TypeA))); err != nil {
		t.Errorf("a question after Close: %v", err)
	}
}

func TestBytesOut(t *testing.T) {
	var got seen
	listen(t, "198.51.100.7:1000", func(c *net.TCPConn) { io.Copy(&got, c) })
	listen(t, "198.51.100.7:80", func(c *net.TCPConn) { io.Copy(&got, c) })
	g := testGatewayWith(t, Options{Rules: []rule{allowPort("x.test", "tcp", 1000), allow("x.test")}, Upstream: &fakeResolver{names: map[string][]string{"x.test": {"198.51.100.7"}}}, Limits: Limits{OutBytes: 1000}})
	at := resolve(t, g, "x.test").String()
	first := client(t, g, at+":1000")
	first.Write(make([]byte, 600))
	testkit.Eventually(t, "the first", func() bool { return len(got.String()) == 600 })
	for i, port := range []string{":80", ":1000"} {
		second := client(t, g, at+port)
		fmt.Fprintf(second, "POST / HTTP/1.1\r\nHost: x.test\r\nContent-Length: 600\r\n\r\n%600d", 0)
		b, err := io.ReadAll(second)
		if len(b) > 0 || !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("%q, %v", b, err)
		}
		testkit.Eventually(t, "the denial", func() bool { return len(g.Denials()) == i+1 })
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

// greedyInterceptor reports sent bytes on each connection until the limit is reached, and then
// dials again.
type greedyInterceptor struct {
	served int
	step   int64
	again  error // of a connection to upstream after that
}

func (*greedyInterceptor) FlushDenials() {}

func (x *greedyInterceptor) Serve(c *net.TCPConn, head []byte, t Target, dial func(context.Context) (*net.TCPConn, error)) {
	defer c.Close()
	x.served++
	x.step = t.ReportStep
	for t.ReportSent(600) {
	}
	var up *net.TCPConn
	if up, x.again = dial(context.Background()); x.again == nil {
		up.Close()
	}
}

// TestBytesOutIntercepted: an Interceptor may report sent bytes late. Once the session has sent
// its limit, it gets no new connection.
func TestBytesOutIntercepted(t *testing.T) {
	listen(t, "198.51.100.7:443", echo(""))
	x := &greedyInterceptor{}
	g := testGatewayWith(t, Options{
		Rules: []rule{{Host: "api.test", Scheme: "https", PathPrefix: "/v1", Allow: true}}, Interceptor: x, Limits: Limits{OutBytes: 1000},
		Upstream: &fakeResolver{names: map[string][]string{"api.test": {"198.51.100.7"}}},
	})
	to := netip.AddrPortFrom(resolve(t, g, "api.test"), 443).String()
	for range 3 {
		c := client(t, g, to)
		c.Write(hello(t, "api.test"))
		c.CloseWrite()
		c.Read(make([]byte, 1)) // its end
	}
	g.Close()
	if x.served != 1 {
		t.Errorf("%d connections were served, want the one that reached the limit", x.served)
	}
	if x.step != g.sent.reportStep() || x.step == 0 {
		t.Errorf("it was to tell of each %d bytes", x.step)
	}
	var r *refusal
	if !errors.As(x.again, &r) || r.why != policy.DeniedLimit {
		t.Errorf("beyond the limit a connection to upstream was %v", x.again)
	}
	if d := onlyDenial(t, g); d.Reason != policy.DeniedLimit || d.Count < 3 {
		t.Errorf("%+v", d)
	}
}

// TestReportStep checks that the bytes not yet reported are few compared with the limit.
func TestReportStep(t *testing.T) {
	for _, c := range []struct {
		limits Limits
		want   int64
	}{
		{Limits{}, 0},
		{Limits{OutBytes: 1 << 20}, 512},
		{Limits{OutBytes: 1 << 20, Connections: 60}, 2184},
		{Limits{OutBytes: 1000}, 1},
		{Limits{OutBytes: 1 << 40}, maxReportStep},
	} {
		g := testGatewayWith(t, Options{Limits: c.limits})
		if got := g.sent.reportStep(); got != c.want {
			t.Errorf("%+v: %d, want %d", c.limits, got, c.want)
		}
	}
}
