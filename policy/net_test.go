package policy

import (
	"fmt"
	"math/rand"
	"net/netip"
	"slices"
	"strings"
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
		if got := NeedsTerminating(tt.rules, "A.b.", tt.scheme, tt.port); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
	if NeedsTerminating([]NetRule{path}, "a@b", "https", 443) {
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
		if NeedsTerminating(rules, "a.b", "https", 443) {
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

func TestNetRuleProblems(t *testing.T) {
	for _, tt := range []struct{ rule, want string }{
		{"host = \"*\"\nmethods = [\"GET\"]\nallow = true", "TLS is terminated for hosts that are named"},
		{"host = \"*\"\npath_prefix = \"/x\"", "TLS is terminated for hosts that are named"},
		{"host = \"*\"\nsecret = { env = \"T\" }\nallow = true", "TLS is terminated for hosts that are named"},
		{"host = \"*\"\nscheme = \"http\"\nmethods = [\"GET\"]\nallow = true", ""},
		{"host = \"*.a\"\nsecret = { env = \"T\" }\nallow = true", ""},
		{"host = \"a\"\nsecret = { env = \"T\" }", "allow = true is missing"},
		{"host = \"a\"\nscheme = \"http\"\nsecret = { env = \"T\" }\nallow = true", `scheme = "http" would send the secret in the open`},
		{"host = \"a\"\nscheme = \"tcp\"\nport = 5432\nsecret = { env = \"T\" }\nallow = true", `scheme = "tcp" would send the secret in the open`},
		{"host = \"a\"\nsecret = [{ env = \"T\" }, { env = \"U\", file = \"~/u\" }]\nallow = true", ""},
		{"host = \"a\"\nsecret = [{ env = \"T\" }, { env = \"T\" }]\nallow = true", "secret: T is there twice"},
		{"host = \"a\"\nsecret = { file = \"~/t\" }\nallow = true", "net.secret.env: servers.s.access.net.secret has no env"},
		{"host = \"a\"\nsecret = { env = \"\" }\nallow = true", "net.secret.env is empty"},
		{"host = \"a\"\nsecret = { env = \"T-X\" }\nallow = true", `env = "T-X": a secret's variable has letters`},
		{"host = \"a\"\nsecret = { env = \"PATH\" }\nallow = true", `env = "PATH": no program takes a secret from this variable`},
		{"host = \"a\"\nsecret = { env = \"LD_PRELOAD\" }\nallow = true", `no program takes a secret from this variable`},
		{"host = \"a\"\nsecret = { env = \"MCP_JAIL_POLICY\" }\nallow = true", `no program takes a secret from this variable`},
		{"host = \"a\"\nsecret = { env = \"T\", file = \"~/t\", command = [\"x\"] }\nallow = true", "the secret T has a file and a command"},
		{"host = \"a\"\nsecret = { env = \"T\", file = \"t\" }\nallow = true", `file = "t": write it as an absolute path or with ~/`},
		{"host = \"a\"\nsecret = { env = \"T\", file = \"/x/[t]\" }\nallow = true", `without wildcards`},
		{"host = \"a\"\nsecret = { env = \"T\", command = [] }\nallow = true", "the command of the secret T is empty"},
		{"host = \"a\"\nsecret = { env = \"T\", command = [\"./x\"] }\nallow = true", `command "./x": write the program as a name in PATH`},
		{"host = \"a\"\nsecret = { env = \"T\", command = [\"op\", \"a\\u0000\"] }\nallow = true", "the command of the secret T contains a NUL"},
		{"host = \"a\"\nsecret = { env = \"T\", from = \"x\" }\nallow = true", "net.secret.from is not a known key"},
		{"host = \"a\"\nsecret = \"T\"\nallow = true", "net.secret must be a table, not a string"},
		{"host = \"a\"\nport = 53\nallow = true", "port 53 is for names"},
		{"host = \"a\"\nport = 53", ""},
		{"host = \"a\"\nmethods = [\"M-SEARCH\"]\nallow = true", ""},
		{"host = \"a\"\nmethods = [\"GET /\"]\nallow = true", `"GET /" is no method`},
	} {
		_, err := Decode([]byte("[servers.s]\ncommand = \"x\"\n[[servers.s.access.net]]\n"+tt.rule+"\n"), "f")
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s\n got %v\nwant %s", tt.rule, err, tt.want)
		}
	}
	// A policy that a program built is refused in the same way.
	for _, r := range []NetRule{
		{Host: "a", Methods: []string{"get"}, Allow: true},
		{Host: "a", Secrets: []Secret{{Env: "T"}}},
		{Host: "a", Secrets: []Secret{{Env: "T", Command: []string{}}}, Allow: true},
	} {
		p, err := InPlace(InPlaceOptions{Command: []string{"server"}, Net: []string{"b"}})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := Resolve(p, newFake(aSystem).host()); err != nil {
			t.Fatal(err)
		}
		p.Net = append(p.Net, r)
		if _, _, err := Resolve(p, newFake(aSystem).host()); err == nil {
			t.Errorf("Resolve takes %+v", r)
		}
	}
}

func TestInbound(t *testing.T) {
	policyOf := func(rules string) (*Policy, error) {
		return decoded(t, "[servers.s]\ncommand = \"server\"\n"+rules).Policy("s", "")
	}
	rule := func(n int) string { return fmt.Sprintf("[[servers.s.access.inbound]]\nport = %d\n", n) }
	p, err := policyOf(rule(8080) + rule(3334) + rule(8080))
	if err != nil {
		t.Fatal(err)
	}
	profile, _, err := Resolve(p, newFake(aSystem).host())
	if err != nil || !slices.Equal(profile.Inbound, []int{3334, 8080}) {
		t.Errorf("%v, %v", profile.Inbound, err)
	}
	many := ""
	for i := range 65 {
		many += rule(3000 + i)
	}
	out := "[[servers.s.access.net]]\nhost = \"localhost\"\nport = 3334\n"
	for rules, want := range map[string]string{
		rule(3334) + out + "allow = true\n": "f:3: inbound: port 3334 leads to localhost as well (f:5)",
		rule(443) + "[[servers.s.access.net]]\nhost = \"a\"\nscheme = \"https\"\nallow = true\n": "port 443 leads to a as well",
		rule(3334) + out:                  "",
		rule(53) + out + "allow = true\n": "port 53 is where names are looked up as well (f:5)",
		rule(53) + out:                    "",
		many:                              "inbound: 65 ports; more than 64 are refused",
	} {
		if _, err := policyOf(rules); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %s", rules, err, want)
		}
	}
	for _, port := range []int{0, -1, 65536} {
		p.Inbound = []InboundRule{{Port: port, Where: "here"}}
		if _, _, err := Resolve(p, newFake(aSystem).host()); err == nil {
			t.Errorf("Resolve takes port %d", port)
		}
	}
}

// What is the same but for its place is there once.
func TestDedupNet(t *testing.T) {
	layer := func(file, secret string) *Config {
		c, ps := decodeLayer([]byte("[servers.s.access]\nnet = { strategy = \"dedup\", value = [{ host = \"a\", allow = true, methods = [\"GET\"], secret = { env = \""+secret+"\" } }] }\n"), file)
		if len(ps) > 0 {
			t.Fatal(ps)
		}
		return c
	}
	c := layer("one", "T")
	c.overlay(layer("two", "T"))
	if got := len(c.Servers["s"].Access.Net); got != 1 {
		t.Errorf("%d rules", got)
	}
	c.overlay(layer("three", "U"))
	if got := len(c.Servers["s"].Access.Net); got != 2 {
		t.Errorf("%d rules: another secret is another rule", got)
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
	if !NeedsTerminating([]NetRule{{Host: "*", Port: 8080, Allow: true}, {Host: "a.b", PathPrefix: "/x"}}, "a.b", "http", 8080) {
		t.Error("what a path refuses on every port has to be seen on every port")
	}
	refused := []NetRule{{Host: "93.184.216.34"}, {Host: "*", Port: 8080, Allow: true}}
	for addr, want := range map[string]bool{"93.184.216.34": false, "93.184.216.35": true} {
		if reason, ok := CheckAddress(refused, netip.MustParseAddr(addr), 8080, nil); ok != want {
			t.Errorf("%s on port 8080: %v, %s", addr, ok, reason)
		}
	}
}
