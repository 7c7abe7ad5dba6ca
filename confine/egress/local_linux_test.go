package egress

import (
	"errors"
	"net/netip"
	"testing"
)

// TestIsLocal: what the kernel has a local route for is the host's own, whether an interface has
// the address or not. The network of the tests has only local routes: see world.
func TestIsLocal(t *testing.T) {
	for addr, want := range map[string]bool{
		"127.0.0.1": true, "127.9.9.9": true, "::1": true, "198.51.100.7": true, "203.0.113.200": true, "2001:db8::7": true, "::ffff:198.51.100.7": true,
		"192.0.2.1": false, "8.8.8.8": false, "2606:4700::1": false,
	} {
		if got, err := isLocal(netip.MustParseAddr(addr)); got != want || err != nil {
			t.Errorf("%s: %v, %v", addr, got, err)
		}
	}
}

// TestLocalRoute: a granted name leads to no address that the host answers itself.
func TestLocalRoute(t *testing.T) {
	listen(t, "198.51.100.7:80", echo("hello"))
	o := Options{Rules: []rule{allowPort("api.test", "tcp", 80)}, Upstream: &fakeResolver{names: map[string][]string{"api.test": {"198.51.100.7"}}}}
	to := netip.MustParseAddrPort("198.51.100.7:80")
	if c, err := testGatewayWith(t, o).dialOne(t.Context(), to); err != nil {
		t.Errorf("control: %v", err)
	} else {
		c.Close()
	}
	o.IsLocal = isLocal
	var refused *refusal
	if c, err := testGatewayWith(t, o).dialOne(t.Context(), to); !errors.As(err, &refused) {
		t.Errorf("%v, %v", c, err)
	}
}
