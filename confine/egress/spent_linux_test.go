package egress

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// spender sends as much as it may upstream on each connection, and tells of it at the
// end, as who counts for itself does.
type spender struct {
	served int
	step   int64
	most   int64
	again  error // of a connection to upstream after that
}

func (*spender) FlushDenials() {}

func (x *spender) Serve(c *net.TCPConn, head []byte, t Target, dial func(context.Context) (*net.TCPConn, error)) {
	defer c.Close()
	x.served++
	x.step, x.most = t.ReportStep, t.MaxBytes
	for t.ReportSent(600) {
	}
	var up *net.TCPConn
	if up, x.again = dial(context.Background()); x.again == nil {
		up.Close()
	}
}

// TestBytesOutOfRequests: whoever counts what a connection sent says so after the fact.
// Once the session has sent what it may there is no new connection to say it of.
func TestBytesOutOfRequests(t *testing.T) {
	listen(t, "198.51.100.7:443", echo(""))
	x := &spender{}
	g := gateWith(t, Options{
		Rules: []rule{{Host: "api.test", Scheme: "https", PathPrefix: "/v1", Allow: true}}, Interceptor: x, Limits: Limits{OutBytes: 1000},
		Upstream: &resolver{names: map[string][]string{"api.test": {"198.51.100.7"}}},
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
	if x.step != g.reportStep() || x.step == 0 || x.most != 1000 {
		t.Errorf("it was to tell of each %d bytes, of %d", x.step, x.most)
	}
	var r *refusal
	if !errors.As(x.again, &r) || r.why != policy.DeniedLimit {
		t.Errorf("beyond the limit a connection to upstream was %v", x.again)
	}
	if d := only(t, g); d.Reason != policy.DeniedLimit || d.Count < 3 {
		t.Errorf("%+v", d)
	}
}

// TestStep: what all connections may keep to themselves is little beside the limit.
func TestStep(t *testing.T) {
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
		g := gateWith(t, Options{Limits: c.limits})
		if got := g.reportStep(); got != c.want {
			t.Errorf("%+v: %d, want %d", c.limits, got, c.want)
		}
	}
}
