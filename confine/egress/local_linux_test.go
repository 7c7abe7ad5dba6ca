package egress

import (
	"cmp"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestIsLocal: what the kernel has a local route for is the host's own, whether an interface has
// the address or not. The network of the tests has only local routes: see world.
func TestIsLocal(t *testing.T) {
	for addr, want := range map[string]bool{
		"127.0.0.1": true, "127.9.9.9": true, "::1": true, "198.51.100.7": true, "203.0.113.200": true, "2001:db8::7": true, "::ffff:198.51.100.7": true,
		"192.0.2.1": false, "8.8.8.8": false, "2606:4700::1": false,
	} {
		testkit.Equal(t, addr, testkit.Get(isLocal(netip.MustParseAddr(addr)))(t), want)
	}
}

// TestLocalRoute: a granted name leads to no address that the host answers itself, in no form of it.
// The control asks no routes: what is no special form then passes.
func TestLocalRoute(t *testing.T) {
	listen(t, "[::]:80", echo(""))
	for _, c := range testkit.Table[struct{ addr, form string }](t, "local-route.txt") {
		for _, asks := range []bool{false, true} {
			o := Options{Rules: []rule{allow("api.test")}, Upstream: &fakeResolver{names: map[string][]string{"api.test": {c.addr}}}}
			want := c.form
			if asks {
				o.IsLocal = isLocal
				want = cmp.Or(want, "this machine's own")
			}
			g := testGatewayWith(t, o)
			named := dialNamed(t, g, "api.test", 80)
			conn, err := g.dialer.dialOne(t.Context(), netip.AddrPortFrom(netip.MustParseAddr(c.addr), 80))
			if err == nil {
				conn.Close()
			}
			var byName, atSocket *refusal
			switch {
			case want == "" && named != nil:
				t.Errorf("control: %s: %v", c.addr, named)
			case want != "" && (!errors.As(named, &byName) || byName.why != policy.DeniedAddress || !strings.Contains(byName.detail, want) || !errors.As(err, &atSocket)):
				t.Errorf("%s (asks the kernel: %v): %v; at the socket %v", c.addr, asks, named, err)
			}
		}
	}
}

// dialNamed dials a name as for a program in the jail.
func dialNamed(t *testing.T, g *Gateway, host string, port uint16) error {
	t.Helper()
	d := g.rules.decideName(host, netip.AddrPortFrom(netip.Addr{}, port))
	conn, err := g.dialer.dial(t.Context(), &d)
	if err == nil {
		conn.Close()
	}
	return err
}
