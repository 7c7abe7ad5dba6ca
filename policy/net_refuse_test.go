package policy

import (
	"net/netip"
	"testing"
)

// TestRefuseLoopback checks that a rule of a project's file for localhost, or for its addresses, does
// not lift a refusal that has the other of the two names.
func TestRefuseLoopback(t *testing.T) {
	allow, deny := func(host string, port int) NetRule { return NetRule{Host: host, Port: port, Allow: true} }, func(host string, port int) NetRule { return NetRule{Host: host, Port: port} }
	for _, c := range []struct {
		name    string
		refusal NetRule
		asked   NetRule
		given   map[string]bool // by address: whether port 80 can be reached there
	}{
		{"localhost", deny("localhost", 0), allow("127.0.0.1", 80), map[string]bool{"127.0.0.1": false, "::1": false}},
		{"localhost of IPv6", deny("localhost", 0), allow("::1", 80), map[string]bool{"127.0.0.1": false, "::1": false}},
		{"one port", deny("localhost", 80), allow("127.0.0.1", 80), map[string]bool{"127.0.0.1": false}},
		{"another port", deny("localhost", 81), allow("127.0.0.1", 80), map[string]bool{"127.0.0.1": true}},
		{"an address", deny("127.0.0.1", 0), allow("localhost", 80), map[string]bool{"127.0.0.1": false, "::1": true}},
		{"an address with a port", deny("127.0.0.1", 80), NetRule{Host: "localhost", Port: 80, Scheme: "http", Allow: true}, map[string]bool{"127.0.0.1": false, "::1": true}},
		{"another address", deny("::1", 0), allow("127.0.0.1", 80), map[string]bool{"127.0.0.1": true}},
		{"localhost for tcp", deny("localhost", 0), NetRule{Host: "127.0.0.1", Port: 80, Scheme: "tcp", Allow: true}, map[string]bool{"127.0.0.1": false}},
	} {
		// The refusal may come before the rule, as where the project's file has rules alone.
		for _, rules := range [][]NetRule{{c.asked}, {c.refusal, c.asked}} {
			out, _ := RefuseNet(rules, []NetRule{c.refusal}, func(NetRule) bool { return false })
			for addr, want := range c.given {
				_, byName := MatchNet(out, c.asked.Host, "http", 80, "", "")
				_, byAddress := CheckAddress(out, netip.MustParseAddr(addr), 80, true)
				if got := byName && byAddress; got != want {
					t.Errorf("%s: port 80 of %s by the name %s is reached: %v, want %v\n%+v", c.name, addr, c.asked.Host, got, want, out)
				}
			}
		}
	}
	conditional := NetRule{Host: "localhost", PathPrefix: "/admin"}
	for _, refusal := range []NetRule{conditional, {Host: "127.0.0.1", PathPrefix: "/admin"}} {
		asked := allow("127.0.0.1", 80)
		if refusal.Host == asked.Host {
			asked.Host = "localhost"
		}
		out, _ := RefuseNet([]NetRule{refusal, asked}, []NetRule{refusal}, func(NetRule) bool { return false })
		for path, want := range map[string]bool{"/admin/x": false, "/open": true} {
			if _, ok := MatchNet(out, asked.Host, "http", 80, path, "GET"); ok != want {
				t.Errorf("%s of %s, where %s is refused: %v, want %v\n%+v", path, asked.Host, refusal.Host, ok, want, out)
			}
		}
	}
}

// TestRefuseExtension checks that a rule of a project's file for a path with an extension does not lift
// the refusal of the path without it.
func TestRefuseExtension(t *testing.T) {
	refusal := NetRule{Host: "*.example.com", PathPrefix: "/repos/secret"}
	for path, want := range map[string]bool{"/repos/secret.json": false, "/repos/secrets": true, "/repos/secrets.json": true} {
		asked := NetRule{Host: "api.example.com", Scheme: "https", PathPrefix: path, Methods: []string{"GET"}, Allow: true}
		out, _ := RefuseNet([]NetRule{refusal, asked}, []NetRule{refusal}, func(NetRule) bool { return false })
		if _, got := MatchNet(out, "api.example.com", "https", 443, path, "GET"); got != want {
			t.Errorf("%s is allowed: %v\n%+v", path, got, out)
		}
	}
}
