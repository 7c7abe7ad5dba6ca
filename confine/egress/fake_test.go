package egress

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// fakeResolver is a host's resolver with the names that a test gives it.
type fakeResolver struct {
	mu    sync.Mutex
	names map[string][]string
	err   error
	asked map[string]int
}

func (r *fakeResolver) LookupNetIP(_ context.Context, network, host string) ([]netip.Addr, error) {
	if network != "ip" {
		panic("the network " + network)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asked == nil {
		r.asked = map[string]int{}
	}
	r.asked[host]++
	if r.err != nil {
		return nil, r.err
	}
	addrs, ok := r.names[host]
	if !ok {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	var out []netip.Addr
	for _, a := range addrs {
		out = append(out, netip.MustParseAddr(a))
	}
	return out, nil
}

func (r *fakeResolver) set(host string, addrs ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.names == nil {
		r.names = map[string][]string{}
	}
	r.names[host] = addrs
}

func (r *fakeResolver) count(host string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asked[host]
}

func noProxy(*url.URL) (*url.URL, error) { return nil, nil }

// testGateway makes a Gateway that knows the names and nothing of this host.
func testGateway(t testing.TB, names map[string][]string, rules ...policy.NetRule) (*Gateway, *fakeResolver) {
	t.Helper()
	r := &fakeResolver{names: names}
	return testGatewayWith(t, Options{Rules: rules, Upstream: r}), r
}

func testGatewayWith(t testing.TB, o Options) *Gateway {
	t.Helper()
	if o.Proxy == nil {
		o.Proxy = noProxy
	}
	if o.IsLocal == nil {
		o.IsLocal = func(a netip.Addr) (bool, error) { return a == netip.MustParseAddr("203.0.113.99"), nil }
	}
	g := New(o)
	t.Cleanup(g.Close)
	return g
}

func allow(host string) policy.NetRule { return policy.NetRule{Host: host, Allow: true} }

func allowPort(host, scheme string, port int) policy.NetRule {
	return policy.NetRule{Host: host, Scheme: scheme, Port: port, Allow: true}
}

func mustPrefix(s string) netip.Prefix { return netip.MustParsePrefix(s) }

func question(t testing.TB, name string, kind dnsmessage.Type) []byte {
	t.Helper()
	n := testkit.Get(dnsmessage.NewName(name))(t)
	m := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: 77, RecursionDesired: true},
		Questions: []dnsmessage.Question{{Name: n, Type: kind, Class: dnsmessage.ClassINET}},
	}
	b := testkit.Get(m.Pack())(t)
	return b
}

// ask asks the gateway's resolver, and checks what every answer must have.
func ask(t testing.TB, g *Gateway, name string, kind dnsmessage.Type) dnsmessage.Message {
	t.Helper()
	var m dnsmessage.Message
	testkit.Must(t, m.Unpack(g.answer(question(t, name, kind))))
	if m.ID != 77 || !m.Response || !m.RecursionAvailable || !m.RecursionDesired || len(m.Questions) != 1 || m.Questions[0].Name.String() != name {
		t.Errorf("%s: the answer's head is %+v", name, m)
	}
	return m
}

// resolve returns the one address that a name must have.
func resolve(t testing.TB, g *Gateway, name string) netip.Addr {
	t.Helper()
	m := ask(t, g, name+".", dnsmessage.TypeA)
	testkit.MustEqual(t, fmt.Sprintf("%s: %+v; denied: %+v", name, m, g.Denials()), len(m.Answers), 1)
	return netip.AddrFrom4(m.Answers[0].Body.(*dnsmessage.AResource).A)
}

// onlyDenial checks that there is one denial, and returns it.
func onlyDenial(t testing.TB, g *Gateway) policy.Denial {
	t.Helper()
	all := g.Denials()
	testkit.MustEqual(t, fmt.Sprintf("denials: %+v, want one", all), len(all), 1)
	return all[0]
}

type rule = policy.NetRule

func denyAll(host string) rule { return rule{Host: host} }
