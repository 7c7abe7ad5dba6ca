package egress

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestAsk: a host that no rule is about, at any port, is asked about when a program connects to it by its name, until the answer is
// yes. Before that nothing is looked up. Its addresses are checked.
func TestAsk(t *testing.T) {
	listen(t, "198.51.100.7:443", echo(""))
	listen(t, "10.99.0.1:443", func(*net.TCPConn) { t.Error("an address of a private network was reached") })
	var mu sync.Mutex
	asked := []string{}
	resolver := &fakeResolver{names: map[string][]string{"yes.test": {"198.51.100.7"}, "inside.test": {"10.99.0.1"}, "no.test": {"198.51.100.7"}, "known.test": {"198.51.100.7"}, "a.part.test": {"198.51.100.7"}}}
	g := testGatewayWith(t, Options{
		Rules: []rule{denyAll("denied.test"), allowPort("known.test", "tcp", 1000), allowPort("*.part.test", "https", 8443)}, Upstream: resolver,
		Ask: func(host string, port int) bool {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, fmt.Sprint(host, " ", port))
			if n := resolver.count(host); n > 0 && port == 443 {
				t.Errorf("%s was looked up %d times before the answer", host, n)
			}
			return host == "yes.test" || host == "inside.test"
		},
	})
	yes := string(hello(t, "yes.test"))
	for round := range 2 {
		at := resolve(t, g, "yes.test").String()
		if got, err := exchange(t, client(t, g, at+":443"), yes); got != yes {
			t.Errorf("%q, %v; %+v", got, err, g.Denials())
		}
		for _, name := range []string{"no.test", "inside.test"}[:2-round] { // once it is granted, the other one does not exist
			wasReset(t, client(t, g, resolve(t, g, name).String()+":443")) // it has not said anything yet
		}
		wasReset(t, client(t, g, at+":22")) // another port is another question
	}
	// Nothing is asked about these.
	for _, to := range []string{"198.51.100.7:443", "203.0.113.5:443"} {
		wasReset(t, client(t, g, to))
	}
	if !g.Allowed("tcp", netip.AddrPortFrom(resolve(t, g, "no.test"), 443)) || g.Allowed("tcp", netip.MustParseAddrPort("203.0.113.5:443")) {
		t.Error("a supervisor would not pass on what is asked about, or all")
	}
	for _, name := range []string{"denied.test", "known.test", "a.part.test"} {
		wasReset(t, client(t, g, resolve(t, g, name).String()+":443"))
	}
	testkit.Equal(t, "asked about", asked, []string{"yes.test 443", "no.test 443", "inside.test 443", "yes.test 22", "no.test 443"})
	testkit.Equal(t, "names were looked up without consent", resolver.count("no.test")+resolver.count("denied.test"), 0)
	reasons := map[string]string{}
	for _, d := range g.Denials() {
		reasons[d.Target] += string(d.Reason) + " " + d.Detail
	}
	if reasons["no.test:443"] != "not_granted " || !strings.Contains(reasons["inside.test:443"], "10.99.0.1") || reasons["yes.test:443"] != "" {
		t.Errorf("%v", reasons)
	}
}
