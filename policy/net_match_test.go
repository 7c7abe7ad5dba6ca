package policy

import (
	"math/rand"
	"strings"
	"testing"
)

func TestMatchNet(t *testing.T) {
	rule := func(host string, edit ...func(*NetRule)) NetRule {
		r := NetRule{Host: host, Allow: true}
		for _, e := range edit {
			e(&r)
		}
		return r
	}
	deny := func(r *NetRule) { r.Allow = false }
	scheme := func(s string) func(*NetRule) { return func(r *NetRule) { r.Scheme = s } }
	port := func(p int) func(*NetRule) { return func(r *NetRule) { r.Port = p } }
	prefix := func(p string) func(*NetRule) { return func(r *NetRule) { r.PathPrefix = p } }
	method := func(words ...string) func(*NetRule) { return func(r *NetRule) { r.Methods = words } }
	type q struct {
		host, scheme string
		port         int
		path         string
	}
	tests := []struct {
		name  string
		rules []NetRule
		q     q // a method may stand before its path
		want  bool
	}{
		{"empty is no network", nil, q{"a.b", "https", 443, "/"}, false},
		{"exact", []NetRule{rule("a.b")}, q{"a.b", "https", 443, "/"}, true},
		{"other port", []NetRule{rule("a.b")}, q{"a.b", "https", 8443, "/"}, false},
		{"normalised on both sides", []NetRule{rule("a.b")}, q{"A.B.", "https", 443, "/"}, true},
		{"no suffix", []NetRule{rule("api.github.com")}, q{"api.github.com.evil.com", "https", 443, "/"}, false},
		{"no prefix", []NetRule{rule("github.com")}, q{"api.github.com", "https", 443, "/"}, false},
		{"wildcard", []NetRule{rule("*.b")}, q{"x.a.b", "https", 443, "/"}, true},
		{"not the name itself", []NetRule{rule("*.b")}, q{"b", "https", 443, "/"}, false},
		{"by label", []NetRule{rule("*.b")}, q{"ab", "https", 443, "/"}, false},
		{"star", []NetRule{rule("*")}, q{"any.thing", "https", 443, "/"}, true},
		{"bad host", []NetRule{rule("*")}, q{"a@b", "https", 443, "/"}, false},
		{"https rule, http", []NetRule{rule("a", scheme("https"))}, q{"a", "http", 80, "/"}, false},
		{"https rule, port 80", []NetRule{rule("a", scheme("https"))}, q{"a", "https", 80, "/"}, false},
		{"https rule, own port", []NetRule{rule("a", scheme("https"), port(8443))}, q{"a", "https", 8443, "/"}, true},
		{"scheme not visible", []NetRule{rule("a", scheme("https"))}, q{"a", "", 443, ""}, true},
		{"tcp covers https", []NetRule{rule("a", scheme("tcp"), port(443))}, q{"a", "https", 443, "/"}, true},
		{"https is not tcp", []NetRule{rule("a", scheme("https"))}, q{"a", "tcp", 443, ""}, false},
		{"address", []NetRule{rule("10.0.0.1", port(5432))}, q{"10.0.0.1", "tcp", 5432, ""}, true},
		{"v4-mapped", []NetRule{rule("10.0.0.1", port(5432))}, q{"::ffff:10.0.0.1", "tcp", 5432, ""}, true},
		{"an exact name refused", []NetRule{rule("a.b", deny), rule("*.b"), rule("*")}, q{"a.b", "https", 443, "/"}, false},
		{"a refusal that says less", []NetRule{rule("a", scheme("https"), port(443)), rule("a", port(443), deny)}, q{"a", "https", 443, "/"}, false},
		{"refused first", []NetRule{rule("a", deny), rule("a")}, q{"a", "https", 443, "/"}, false},
		{"a path of a wider host refused", []NetRule{rule("*.b", prefix("/x/y/z"), deny), rule("a.b")}, q{"a.b", "https", 443, "/x/y/z"}, false},
		{"segments", []NetRule{rule("a", prefix("/admin"))}, q{"a", "https", 443, "/admin/users"}, true},
		{"query", []NetRule{rule("a", prefix("/admin"))}, q{"a", "https", 443, "/admin?x=/y"}, true},
		{"not by string", []NetRule{rule("a", prefix("/admin"))}, q{"a", "https", 443, "/administration"}, false},
		{"path denied", []NetRule{rule("a"), rule("a", prefix("/admin"), deny)}, q{"a", "https", 443, "/admin/x"}, false},
		{"path denied, other path", []NetRule{rule("a"), rule("a", prefix("/admin"), deny)}, q{"a", "https", 443, "/x"}, true},
		{"escaped", []NetRule{rule("a"), rule("a", prefix("/admin"), deny)}, q{"a", "https", 443, "/%61dmin"}, false},
		{"dots", []NetRule{rule("a"), rule("a", prefix("/admin"), deny)}, q{"a", "https", 443, "/x/../admin"}, false},
		{"empty segment", []NetRule{rule("a", prefix("/api"))}, q{"a", "https", 443, "//api"}, false},
		{"path not visible, allow", []NetRule{rule("a", prefix("/api"))}, q{"a", "https", 443, ""}, false},
		{"path not visible, deny", []NetRule{rule("a"), rule("a", prefix("/admin"), deny)}, q{"a", "https", 443, ""}, false},
		{"a method that is listed", []NetRule{rule("a", method("GET", "HEAD"))}, q{"a", "https", 443, "GET /"}, true},
		{"not listed", []NetRule{rule("a", method("GET", "HEAD"))}, q{"a", "https", 443, "POST /"}, false},
		{"its case counts", []NetRule{rule("a", method("GET", "HEAD"))}, q{"a", "https", 443, "get /"}, false},
		{"method not visible, allow", []NetRule{rule("a", method("GET"))}, q{"a", "https", 443, " "}, false},
		{"a method refused", []NetRule{rule("a"), rule("a", method("DELETE"), deny)}, q{"a", "https", 443, "DELETE /"}, false},
		{"in any case", []NetRule{rule("a"), rule("a", method("DELETE"), deny)}, q{"a", "https", 443, "Delete /"}, false},
		{"other methods pass", []NetRule{rule("a"), rule("a", method("DELETE"), deny)}, q{"a", "https", 443, "GET /"}, true},
		{"method not visible, deny", []NetRule{rule("a"), rule("a", method("DELETE"), deny)}, q{"a", "https", 443, " "}, false},
		{"a prefix of no segment is no condition", []NetRule{rule("a", prefix("/"))}, q{"a", "https", 443, " "}, true},
		// A rule that refuses a host and names no port covers every port and scheme.
		{"control: another port", []NetRule{rule("*", port(8080))}, q{"a.b", "http", 8080, "/"}, true},
		{"refused on every port", []NetRule{rule("*", port(8080)), rule("a.b", deny)}, q{"a.b", "http", 8080, "/"}, false},
		{"also as tcp", []NetRule{rule("*.b", port(5432), scheme("tcp")), rule("a.b", deny)}, q{"a.b", "tcp", 5432, ""}, false},
		{"by a wildcard", []NetRule{rule("*", port(8080)), rule("*.b", deny)}, q{"a.b", "http", 8080, "/"}, false},
		{"another host refused", []NetRule{rule("*", port(8080)), rule("c.b", deny)}, q{"a.b", "http", 8080, "/"}, true},
		{"another port refused", []NetRule{rule("*", port(8080)), rule("a.b", port(80), deny)}, q{"a.b", "http", 8080, "/"}, true},
		{"a scheme refused on every port", []NetRule{rule("*", port(8080)), rule("a.b", scheme("http"), deny)}, q{"a.b", "http", 8080, "/"}, false},
		{"another scheme refused", []NetRule{rule("*", port(8080)), rule("a.b", scheme("http"), deny)}, q{"a.b", "https", 8080, "/"}, true},
		{"a path refused on every port", []NetRule{rule("*", port(8080)), rule("a.b", prefix("/x"), deny)}, q{"a.b", "http", 8080, "/x/y"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			method, path, has := strings.Cut(tt.q.path, " ")
			if !has {
				method, path = "GET", tt.q.path
			}
			if _, got := MatchNet(tt.rules, tt.q.host, tt.q.scheme, tt.q.port, path, method); got != tt.want {
				t.Errorf("%+v on %+v: %v", tt.rules, tt.q, got)
			}
		})
	}
}

func TestAnyNeedsInterception(t *testing.T) {
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
		{"a path of a wider host", []NetRule{all, {Host: "*.b", PathPrefix: "/x"}}, "https", 443, true},
		{"a secret of a wider host", []NetRule{{Host: "*.b", Secrets: secret.Secrets, Allow: true}, all}, "https", 443, true},
		{"said again without the secret", []NetRule{secret, all}, "https", 443, true},
		{"a refused path before the host", []NetRule{{Host: "a.b", PathPrefix: "/x"}, {Host: "a.b", Port: 443, Scheme: "https", Allow: true}}, "https", 443, true},
		{"refused as a whole", []NetRule{{Host: "a.b", Port: 443}, path}, "https", 443, false},
		{"allowed with and without", []NetRule{all, path}, "https", 443, false},
		{"refused with and without", []NetRule{{Host: "a.b", PathPrefix: "/x"}}, "https", 443, false},
		{"a host that is refused", nil, "https", 443, false},
		{"no host", []NetRule{path}, "https", 443, true},
		{"a path that is refused on every port", []NetRule{{Host: "*", Port: 8080, Allow: true}, {Host: "a.b", PathPrefix: "/x"}}, "http", 8080, true},
	} {
		if got := AnyNeedsInterception(tt.rules, "A.b.", tt.scheme, tt.port); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
	if AnyNeedsInterception([]NetRule{path}, "a@b", "https", 443) {
		t.Error("a text that is not a host needs interception")
	}
}

// TestUnseenRequests checks that where no request must be intercepted, every request
// gets the decision of its connection and none carries a secret.
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
