package policy

import (
	"math/rand"
	"net/netip"
	"slices"
	"testing"
)

func TestMatchMethods(t *testing.T) {
	read := NetRule{Host: "a", Methods: []string{"GET", "HEAD"}, Allow: true}
	all := NetRule{Host: "a", Allow: true}
	noDelete := NetRule{Host: "a", Methods: []string{"DELETE"}}
	under := NetRule{Host: "a", PathPrefix: "/v1", Allow: true}
	for _, tt := range []struct {
		name         string
		rules        []NetRule
		path, method string
		want         bool
	}{
		{"listed", []NetRule{read}, "/", "GET", true},
		{"not listed", []NetRule{read}, "/", "POST", false},
		{"case counts", []NetRule{read}, "/", "get", false},
		{"not visible, allowed", []NetRule{read}, "", "", false},
		{"refused", []NetRule{noDelete, all}, "/", "DELETE", false},
		{"others pass", []NetRule{noDelete, all}, "/", "GET", true},
		{"not visible, refused", []NetRule{noDelete, all}, "", "", false},
		{"methods say more than nothing", []NetRule{all, noDelete}, "/", "DELETE", false},
		{"as much as a segment: the later", []NetRule{under, noDelete}, "/v1/x", "DELETE", false},
		{"as much as a segment: the later allows", []NetRule{noDelete, under}, "/v1/x", "DELETE", true},
		{"a path of two segments says more", []NetRule{{Host: "a", PathPrefix: "/v1/x", Allow: true}, noDelete}, "/v1/x", "DELETE", true},
		{"a prefix of no segment is no condition", []NetRule{{Host: "a", PathPrefix: "/", Allow: true}}, "", "", true},
	} {
		if _, got := MatchNet(tt.rules, "a", "https", 443, tt.path, tt.method); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

func TestNeedsTerminating(t *testing.T) {
	all := NetRule{Host: "a.b", Allow: true}
	path := NetRule{Host: "a.b", PathPrefix: "/x", Allow: true}
	secret := NetRule{Host: "a.b", Secrets: []Secret{{Env: "T"}}, Allow: true}
	for _, tt := range []struct {
		name   string
		rules  []NetRule
		scheme string
		port   int
		want   bool
	}{
		{"no condition", []NetRule{all}, "https", 443, false},
		{"path", []NetRule{path}, "https", 443, true},
		{"method", []NetRule{{Host: "a.b", Methods: []string{"GET"}, Allow: true}}, "http", 80, true},
		{"secret", []NetRule{secret}, "https", 443, true},
		{"a secret is not sent in the open", []NetRule{secret}, "http", 80, false},
		{"a path of another host", []NetRule{all, {Host: "b.b", PathPrefix: "/x"}}, "https", 443, false},
		{"a path at another port", []NetRule{all, {Host: "a.b", Port: 8443, PathPrefix: "/x"}}, "https", 443, false},
		{"a path of a wider host never decides", []NetRule{all, {Host: "*.b", PathPrefix: "/x"}}, "https", 443, false},
		{"a secret of a wider host never decides", []NetRule{{Host: "*.b", Secrets: secret.Secrets, Allow: true}, all}, "https", 443, false},
		{"what is said again later", []NetRule{secret, all}, "https", 443, false},
		{"what says less comes first", []NetRule{{Host: "a.b", PathPrefix: "/x"}, {Host: "a.b", Port: 443, Scheme: "https", Allow: true}}, "https", 443, false},
		{"a tie, the condition later", []NetRule{{Host: "a.b", Port: 443}, path}, "https", 443, true},
		{"allowed with and without", []NetRule{all, path}, "https", 443, false},
		{"refused with and without", []NetRule{{Host: "a.b", PathPrefix: "/x"}}, "https", 443, false},
		{"a host that is refused", nil, "https", 443, false},
		{"no host", []NetRule{path}, "https", 443, true},
	} {
		if got := AnyNeedsInterception(tt.rules, "A.b.", tt.scheme, tt.port); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
	if AnyNeedsInterception([]NetRule{path}, "a@b", "https", 443) {
		t.Error("what is no host needs nothing")
	}
}

// Where no request has to be seen, all of them are decided as the connection is,
// and none carries a secret.
func TestUnseenRequests(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	pick := func(s ...string) string { return s[r.Intn(len(s))] }
	requests := [][2]string{}
	for _, path := range []string{"/", "/x", "/x/y", "/z", "/x/../z", "*"} {
		for _, method := range []string{"GET", "PUT", "OPTIONS"} {
			requests = append(requests, [2]string{path, method})
		}
	}
	unseen := 0
	for range 20000 {
		rules := make([]NetRule, 1+r.Intn(4))
		for i := range rules {
			rules[i] = NetRule{Host: pick("a.b", "a.b", "*.b", "*"), Scheme: pick("", "", "https", "http"), PathPrefix: pick("", "", "/", "/x", "/x/y"), Allow: r.Intn(3) > 0}
			if r.Intn(4) == 0 {
				rules[i].Methods = []string{pick("GET", "PUT")}
			}
			if r.Intn(4) == 0 {
				rules[i].Port = 443
			}
			if r.Intn(6) == 0 && rules[i].Allow {
				rules[i].Secrets = []Secret{{Env: "T"}}
			}
		}
		if AnyNeedsInterception(rules, "a.b", "https", 443) {
			continue
		}
		unseen++
		_, want := MatchNet(rules, "a.b", "https", 443, "", "")
		for _, q := range requests {
			if rule, got := MatchNet(rules, "a.b", "https", 443, q[0], q[1]); got != want || got && len(rule.Secrets) > 0 {
				t.Fatalf("%+v\n%s %s: %v by %+v, and %v unseen", rules, q[1], q[0], got, rule, want)
			}
		}
	}
	if unseen < 1000 {
		t.Errorf("only %d sets of rules tell anything", unseen)
	}
}

// TestRefusedEverywhere: a rule that refuses and names no port is about every port and
// scheme, whatever wider rules allow.
func TestRefusedEverywhere(t *testing.T) {
	wide := []NetRule{{Host: "*", Port: 8080, Allow: true}, {Host: "*.b", Port: 5432, Scheme: "tcp", Allow: true}, {Host: "*", Port: 5432, Allow: true}, {Host: "*", Allow: true}}
	for _, port := range []int{80, 443, 8080, 5432} {
		for _, scheme := range []string{"", "http", "https", "tcp"} {
			if _, ok := MatchNet(wide, "a.b", scheme, port, "/", "GET"); !ok {
				t.Errorf("control: %s %d is refused", scheme, port)
			}
			if rule, ok := MatchNet(append(slices.Clone(wide), NetRule{Host: "a.b"}), "a.b", scheme, port, "/", "GET"); ok {
				t.Errorf("%s %d is allowed by %+v", scheme, port, rule)
			}
		}
	}
	for _, tt := range []struct {
		name         string
		rules        []NetRule
		scheme, path string
		want         bool
	}{
		{"a wildcard that refuses", []NetRule{{Host: "*", Port: 8080, Allow: true}, {Host: "*.b"}}, "http", "/", false},
		{"another host", []NetRule{{Host: "*", Port: 8080, Allow: true}, {Host: "c.b"}}, "http", "/", true},
		{"the same host's own port says more", []NetRule{{Host: "a.b", Port: 8080, Allow: true}, {Host: "a.b"}}, "http", "/", true},
		{"the port that is refused is another", []NetRule{{Host: "*", Port: 8080, Allow: true}, {Host: "a.b", Port: 80}}, "http", "/", true},
		{"a scheme on every port", []NetRule{{Host: "*", Port: 8080, Allow: true}, {Host: "a.b", Scheme: "http"}}, "http", "/", false},
		{"another scheme", []NetRule{{Host: "*", Port: 8080, Allow: true}, {Host: "a.b", Scheme: "http"}}, "https", "/", true},
		{"a path on every port", []NetRule{{Host: "*", Port: 8080, Allow: true}, {Host: "a.b", PathPrefix: "/x"}}, "http", "/x/y", false},
		{"another path", []NetRule{{Host: "*", Port: 8080, Allow: true}, {Host: "a.b", PathPrefix: "/x"}}, "http", "/y", true},
		{"a rule that allows has its ports only", []NetRule{{Host: "a.b", Allow: true}}, "http", "/", false},
	} {
		if _, got := MatchNet(tt.rules, "a.b", tt.scheme, 8080, tt.path, "GET"); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
	if !AnyNeedsInterception([]NetRule{{Host: "*", Port: 8080, Allow: true}, {Host: "a.b", PathPrefix: "/x"}}, "a.b", "http", 8080) {
		t.Error("what a path refuses on every port has to be seen on every port")
	}
	refused := []NetRule{{Host: "93.184.216.34"}, {Host: "*", Port: 8080, Allow: true}}
	for addr, want := range map[string]bool{"93.184.216.34": false, "93.184.216.35": true} {
		if reason, ok := CheckAddress(refused, netip.MustParseAddr(addr), 8080, nil); ok != want {
			t.Errorf("%s on port 8080: %v, %s", addr, ok, reason)
		}
	}
}
