package egress

import (
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestRebinding checks that the Gateway dials the address that it has checked, whatever the name
// resolves to by then.
func TestRebinding(t *testing.T) {
	var inside seen
	listen(t, "198.51.100.7:80", echo(""))
	for _, at := range []string{"10.99.0.5:80", "169.254.169.254:80", "203.0.113.99:80", "127.0.0.1:80"} {
		listen(t, at, func(c *net.TCPConn) { inside.Write([]byte(at)) })
	}
	for _, bad := range []string{"10.99.0.5", "169.254.169.254", "203.0.113.99", "127.0.0.1", "::ffff:127.0.0.1"} {
		t.Run(bad, func(t *testing.T) {
			g, upstream := testGateway(t, map[string][]string{"api.test": {"198.51.100.7"}}, allow("api.test"))
			to := resolve(t, g, "api.test").String() + ":80"
			request := get + "api.test\r\n\r\n"
			upstream.set("api.test", bad)
			testkit.Equal(t, "the checked address", testkit.Get(exchange(t, client(t, g, to), request))(t), request)
			g.lookups.results["api.test"].until = time.Time{} // half a minute later
			wasReset(t, client(t, g, to))
			if d := onlyDenial(t, g); d.Reason != policy.DeniedAddress || d.Target != "api.test:80" {
				t.Errorf("%+v", d)
			}
		})
	}
	// The last check, where the socket is about to be connected.
	g, _ := testGateway(t, nil, allow("api.test"))
	for _, bad := range []string{"10.99.0.5:80", "[::ffff:10.99.0.5]:80", "169.254.169.254:80"} {
		var refused *refusal
		if c, err := g.dialer.dialOne(t.Context(), netip.MustParseAddrPort(bad)); !errors.As(err, &refused) {
			t.Errorf("%s: %v, %v", bad, c, err)
		}
	}
	testkit.Equal(t, "reached", inside.String(), "")
}

// TestOwnAddressesUnknown checks that nothing is dialled if the host's own addresses are unknown.
func TestOwnAddressesUnknown(t *testing.T) {
	listen(t, "198.51.100.7:80", echo("hello"))
	unknown := errors.New("no interfaces to be seen")
	o := Options{Rules: []rule{allowPort("api.test", "tcp", 80)}, Upstream: &fakeResolver{names: map[string][]string{"api.test": {"198.51.100.7"}}}}
	known := testGatewayWith(t, o)
	if c, err := known.dialer.dialOne(t.Context(), netip.MustParseAddrPort("198.51.100.7:80")); err != nil {
		t.Error(err)
	} else {
		c.Close()
	}
	o.IsLocal = func(netip.Addr) (bool, error) { return false, unknown }
	g := testGatewayWith(t, o)
	var refused *refusal
	c, err := g.dialer.dialOne(t.Context(), netip.MustParseAddrPort("198.51.100.7:80"))
	if err == nil {
		c.Close()
	}
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), unknown.Error()) {
		t.Error(err)
	}
}
