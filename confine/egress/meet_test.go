package egress

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// A use is what a program does with a connection to a name, or to an address.
type use struct {
	host         string // a name, or "" for an address
	addr         netip.Addr
	port         int
	speaks       string // raw, https or http
	names        string // the host that the handshake or request names
	path, method string
	head         []byte // the first bytes
}

func (u use) String() string {
	return fmt.Sprintf("%s to %s (%s) port %d, which names %q: %s %s", u.speaks, u.host, u.addr, u.port, u.names, u.method, u.path)
}

// gates is a gateway for a list of rules.
type gates struct {
	rules []policy.NetRule
	ports []uint16
	g     *Gateway
}

func gatesOf(rules []policy.NetRule) gates {
	return gates{rules, Ports(rules), &Gateway{rules: newRuleSet(rules, func(a netip.Addr) (bool, error) { return a.IsLoopback(), nil })}}
}

// allow reports whether a gateway lets a program use a connection so. It asks what a relay asks.
func (w gates) allow(u use) bool {
	g, rules := w.g, w.rules
	if !slices.Contains(w.ports, uint16(u.port)) {
		return false
	}
	to := netip.AddrPortFrom(u.addr, uint16(u.port))
	var d destination
	if u.host == "" {
		d = g.rules.decideAddress(to)
	} else {
		d = g.rules.decideName(u.host, to)
		if _, err := g.rules.allowedAddrs([]netip.Addr{u.addr}, []int{u.port}); err != nil {
			return false
		}
	}
	r := relay{g: g, d: &d, client: &net.TCPConn{}, head: u.head}
	switch {
	case !d.granted():
		return false
	case d.opaque:
		return true
	case r.readHead() != nil:
		return false
	case d.verdict[r.protocol] == verdictIntercept: // package intercept asks so about each request
		_, ok := policy.MatchNet(rules, d.host, r.protocol.scheme(), u.port, u.path, u.method)
		return ok && (u.names == d.host || u.host == "" && isLocalhost(u.addr) && (u.names == "localhost" || u.names == u.addr.String()))
	case r.protocol == protoHTTP && d.needsNameCheck(protoHTTP):
		why, _ := g.rules.checkNames(&d, protoHTTP, []string{u.names})
		return why == ""
	}
	return true
}

// allUses returns uses of a granted name, of a name that leads to a private address, and of addresses.
func allUses(t testing.TB) (all []use) {
	public, private, local := netip.MustParseAddr("203.0.113.7"), netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("127.0.0.1")
	hellos := map[string][]byte{}
	for _, u := range []use{{host: "h.example", addr: public}, {host: "x.h.example", addr: public}, {host: "h.example", addr: private}, {host: "h.example", addr: local}, {addr: public}, {addr: private}, {addr: local}} {
		own := cmp.Or(u.host, u.addr.String())
		for _, u.port = range []int{80, 443, 5432} {
			u.speaks, u.names, u.head = "raw", "", []byte("\x00\x01 neither of both\n")
			all = append(all, u)
			for _, u.names = range []string{own, "x.h.example", "localhost", "other.test"} {
				if hellos[u.names] == nil {
					hellos[u.names] = hello(t, u.names)
				}
				for _, request := range [][2]string{{"GET", "/"}, {"POST", "/a/x"}, {"GET", "/a/b"}} {
					u.method, u.path = request[0], request[1]
					u.speaks, u.head = "https", hellos[u.names]
					all = append(all, u)
					u.speaks, u.head = "http", fmt.Appendf(nil, "%s %s HTTP/1.1\r\nHost: %s\r\n\r\n", u.method, u.path, u.names)
					all = append(all, u)
				}
			}
		}
	}
	return all
}

// someRules returns a list of rules for some hosts, for a port and for those of HTTP. Some of the rules refuse.
func someRules(random *rand.Rand, hosts []string, port int) (out []policy.NetRule) {
	one := func(words ...string) string { return words[random.IntN(len(words))] }
	for range 1 + random.IntN(4) {
		r := policy.NetRule{Host: one(hosts...), Scheme: one("", "", "http", "https", "tcp"), Allow: one("yes", "yes", "yes", "no") == "yes"}
		if r.Scheme == "tcp" || random.IntN(2) == 0 {
			r.Port = port
		}
		if r.Scheme != "tcp" {
			r.PathPrefix = one("", "", "/a", "/a/b")
			r.Methods = map[string][]string{"GET": {"GET"}, "both": {"GET", "POST"}}[one("", "", "GET", "both")]
			if r.Allow && one("", "", "TOKEN") != "" {
				r.Secrets = []policy.Secret{{Env: "TOKEN"}}
			}
		}
		if policy.CheckNetRule(r) == nil {
			out = append(out, r)
		}
	}
	return out
}

// TestMeetOfHosts checks that no use of a connection passes under the meet of two random lists of rules that does
// not pass under each of the two.
func TestMeetOfHosts(t *testing.T) {
	uses, passed, more := allUses(t), map[string]int{}, 0
	// Eight faults put in on purpose are found, in the first 244 seeds.
	for seed := range uint64(testkit.Rounds(400, 40000)) {
		random := rand.New(rand.NewPCG(seed, 0))
		hosts := []string{"h.example", "x.h.example", "*.h.example", "*.example", "*", "localhost", "127.0.0.1", "10.0.0.1", "203.0.113.7"}
		random.Shuffle(len(hosts), func(i, j int) { hosts[i], hosts[j] = hosts[j], hosts[i] })
		hosts = hosts[:1+random.IntN(3)]
		port := []int{443, 443, 80, 5432}[random.IntN(4)]
		a, b := someRules(random, hosts, port), someRules(random, hosts, port)
		for i := range b {
			b[i].Secrets = nil // a project's file has none for a server of the user's
		}
		met, err := policy.Meet(&policy.Profile{Net: a}, &policy.Profile{Net: b})
		testkit.Must(t, err)
		for _, r := range met.Net {
			testkit.Must(t, policy.CheckNetRule(r))
		}
		if len(Ports(met.Net)) == 0 {
			continue
		}
		both, first, second := gatesOf(met.Net), gatesOf(a), gatesOf(b)
		for _, u := range uses {
			in := both.allow(u)
			inA := first.allow(u)
			inB := inA && second.allow(u)
			switch {
			case in && !inB:
				t.Fatalf("seed %d: %s passes, and the first list allows it: %v, the second: %v\n%s\n%s\n%s", seed, u, inA, second.allow(u), listed(met.Net), listed(a), listed(b))
			case in:
				passed[u.speaks]++
			case inB:
				more++
			}
		}
	}
	if len(passed) != 3 || more > (passed["raw"]+passed["http"]+passed["https"])/10 {
		t.Errorf("%v passed, and %d that both lists allow did not", passed, more)
	}
}

// TestOrderOfRules checks that the order of rules decides nothing.
func TestOrderOfRules(t *testing.T) {
	uses := allUses(t)
	for seed := range uint64(testkit.Rounds(150, 4000)) {
		random := rand.New(rand.NewPCG(seed, 1))
		rules := someRules(random, []string{"h.example", "*", "localhost", "127.0.0.1", "203.0.113.7"}, 443)
		turned := slices.Clone(rules)
		slices.Reverse(turned)
		one, other := gatesOf(rules), gatesOf(turned)
		for _, u := range uses {
			if is := one.allow(u); is != other.allow(u) {
				t.Fatalf("seed %d: %s passes: %v, and not in the other order\n%s", seed, u, is, listed(rules))
			}
		}
	}
}

func listed(rules []policy.NetRule) (text string) {
	for _, r := range rules {
		text += fmt.Sprintln(r.TOMLFields())
	}
	return text
}
