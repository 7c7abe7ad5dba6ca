package policy

import (
	"net/netip"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

// TestMeetNet checks that no request is allowed that one of two random lists refuses, and that equal lists
// are left alone.
func TestMeetNet(t *testing.T) {
	allowed, wider := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		one := func(words ...string) string { return rapid.SampledFrom(words).Draw(rt, "word") }
		list := func() (out []NetRule) {
			for range rapid.IntRange(1, 4).Draw(rt, "rules") {
				r := NetRule{Host: one("h.example", "x.h.example", "*.h.example", "*.example", "*", "localhost", "10.0.0.1"), Scheme: one("", "", "http", "https", "tcp"), Allow: one("a", "a", "") != ""}
				r.Port = map[string]int{"": 0, "443": 443, "80": 80}[one("", "443", "80")]
				if r.Scheme == "tcp" && r.Port == 0 {
					r.Port = 443
				}
				if r.Scheme != "tcp" {
					r.PathPrefix = one("", "", "/a", "/a/b")
					r.Methods = map[string][]string{"": nil, "GET": {"GET"}, "both": {"GET", "POST"}}[one("", "", "GET", "both")]
				}
				if CheckNetRule(r) == nil {
					out = append(out, r)
				}
			}
			return out
		}
		a, b := list(), list()
		met, err := meetNet(a, b)
		if same, _ := meetNet(a, a); !reflect.DeepEqual(same, a) {
			rt.Fatalf("%+v becomes %+v", a, same)
		}
		if err != nil {
			return
		}
		local := netip.MustParseAddr("127.0.0.1")
		for _, port := range []int{80, 443} {
			for _, addr := range []netip.Addr{local, netip.MustParseAddr("10.0.0.1")} {
				_, in := CheckAddress(met, addr, port, addr == local)
				_, inA := CheckAddress(a, addr, port, addr == local)
				_, inB := CheckAddress(b, addr, port, addr == local)
				if in && !(inA && inB) {
					rt.Fatalf("%s:%d is dialled: %+v\n%+v\n%+v", addr, port, met, a, b)
				}
			}
		}
		for _, host := range []string{"h.example", "x.h.example", "y.h.example", "other.example", "example", "localhost", "10.0.0.1"} {
			for scheme, port := range map[string]int{"http": 80, "https": 443, "tcp": 443, "": 80} {
				for _, path := range []string{"", "/", "/a", "/a/b", "/a/b/c", "/c"} {
					for _, method := range []string{"GET", "POST", "PUT"} {
						if path == "" {
							method = ""
						}
						_, in := MatchNet(met, host, scheme, port, path, method)
						_, inA := MatchNet(a, host, scheme, port, path, method)
						_, inB := MatchNet(b, host, scheme, port, path, method)
						switch {
						case in && !(inA && inB):
							rt.Fatalf("%s %s://%s:%d%s is allowed: %+v\n%+v\n%+v", method, scheme, host, port, path, met, a, b)
						case in:
							allowed++
						case inA && inB:
							wider++
						}
					}
				}
			}
		}
	})
	if allowed < 200 || wider > allowed {
		t.Errorf("%d requests were allowed, and %d that both lists allow were not", allowed, wider)
	}
}

// TestMeetLoopback checks that a rule for localhost, or for its addresses, does not lift a refusal in
// another list that has the other of the two names.
func TestMeetLoopback(t *testing.T) {
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
		for _, lists := range [][2][]NetRule{{{c.asked, c.refusal}, {c.asked}}, {{c.asked}, {c.refusal, c.asked}}} {
			out, err := meetNet(lists[0], lists[1])
			if err != nil {
				t.Fatal(err)
			}
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
		out, err := meetNet([]NetRule{refusal, asked}, []NetRule{asked})
		if err != nil {
			t.Fatal(err)
		}
		for path, want := range map[string]bool{"/admin/x": false, "/open": true} {
			if _, ok := MatchNet(out, asked.Host, "http", 80, path, "GET"); ok != want {
				t.Errorf("%s of %s, where %s is refused: %v, want %v\n%+v", path, asked.Host, refusal.Host, ok, want, out)
			}
		}
	}
}

// TestNetIncludes tests which rules add nothing to another one.
func TestNetIncludes(t *testing.T) {
	wide := NetRule{Host: "*.example.com", Allow: true}
	secret := NetRule{Host: "a.example.com", Secrets: []Secret{{Env: "T"}}, Allow: true}
	for _, c := range []struct {
		wide, narrow NetRule
		want         bool
	}{
		{wide, NetRule{Host: "a.example.com", Allow: true}, true},
		{wide, NetRule{Host: "a.example.com", Scheme: "https", Port: 443, PathPrefix: "/a", Methods: []string{"GET"}, Allow: true}, true},
		{NetRule{Host: "a.example.com", PathPrefix: "/a", Allow: true}, NetRule{Host: "a.example.com", PathPrefix: "/a/b", Allow: true}, true},
		{wide, secret, false},
		{secret, NetRule{Host: "a.example.com", Allow: true}, false},
		{wide, NetRule{Host: "a.example.com", Port: 8443, Allow: true}, false},
		{wide, NetRule{Host: "example.com", Allow: true}, false},
		{wide, NetRule{Host: "a.example.com"}, false},
		{NetRule{Host: "*", Allow: true}, NetRule{Host: "10.0.0.1", Allow: true}, false},
	} {
		if got := c.wide.Includes(c.narrow); got != c.want {
			t.Errorf("%+v includes %+v: %v", c.wide, c.narrow, got)
		}
	}
}
