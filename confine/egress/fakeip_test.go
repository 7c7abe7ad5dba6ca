package egress

import (
	"net/netip"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/mcp-jail/mcp-jail/policy"
)

func TestFakeIPEviction(t *testing.T) {
	names := map[string][]string{"a.test": {"198.51.100.1"}, "b.test": {"198.51.100.2"}, "c.test": {"198.51.100.3"}}
	g := testGatewayWith(t, Options{Rules: []rule{allow("*.test")}, Upstream: &fakeResolver{names: names}, Limits: Limits{Names: 2}})
	resolve(t, g, "a.test")
	resolve(t, g, "b.test")
	if m := ask(t, g, "c.test.", dnsmessage.TypeA); m.RCode != dnsmessage.RCodeRefused || onlyDenial(t, g).Reason != policy.DeniedLimit {
		t.Errorf("one name too many: %+v", m)
	}
	g.names.fakeIPs.byHost["a.test"].used = g.names.fakeIPs.byHost["a.test"].used.Add(-2 * minNameIdle)
	resolve(t, g, "c.test")
	if _, ok := g.names.fakeIPs.host(netip.MustParseAddr("198.51.100.1")); ok {
		t.Error("a name that made room still has its address")
	}
}
