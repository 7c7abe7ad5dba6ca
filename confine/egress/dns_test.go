package egress

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

func TestGrantedNames(t *testing.T) {
	g, upstream := testGateway(t, map[string][]string{
		"api.test":    {"::ffff:198.51.100.7", "2001:db8::7"},
		"other.test":  {"198.51.100.7"},
		"six.test":    {"2001:db8::6"},
		"a.wild.test": {"198.51.100.8"}, "b.a.wild.test": {"198.51.100.9"}, "wild.test": {"198.51.100.10"},
		"named.test": {"198.51.100.20"},
	}, allow("api.test"), allow("other.test"), allow("six.test"), allow("*.wild.test"), allow("named.test"), allow("198.51.100.20"))
	for _, c := range testkit.Table[struct{ name, want string }](t, "granted-names.txt") {
		testkit.Equal(t, c.name, resolve(t, g, c.name).String(), c.want)
	}
	testkit.Empty(t, "denials", g.Denials())
	if m := ask(t, g, "wild.test.", dnsmessage.TypeA); m.RCode != dnsmessage.RCodeNameError {
		t.Errorf("the name above a wildcard: %+v", m)
	}
	for _, kind := range []dnsmessage.Type{dnsmessage.TypeAAAA, dnsmessage.TypeMX, dnsmessage.TypeTXT, dnsmessage.TypeSRV, 64, 65, dnsmessage.TypeALL} {
		if m := ask(t, g, "api.test.", kind); m.RCode != dnsmessage.RCodeSuccess || len(m.Answers) != 0 {
			t.Errorf("type %v: %+v", kind, m)
		}
	}
	testkit.Equal(t, "upstream was asked … times within half a minute", upstream.count("api.test"), 1)
	for name, want := range map[string]string{"7.100.51.198": "api.test.", "1.0.64.127": "other.test.", "1.0.0.127": "localhost."} {
		m := ask(t, g, name+".in-addr.arpa.", dnsmessage.TypePTR)
		if len(m.Answers) != 1 || m.Answers[0].Body.(*dnsmessage.PTRResource).PTR.String() != want {
			t.Errorf("%s: %+v, want %s", name, m, want)
		}
	}
}

func TestOtherNames(t *testing.T) {
	g, upstream := testGateway(t, map[string][]string{"api.test": {"198.51.100.7"}, "evil.test": {"198.51.100.66"}},
		allow("api.test"), allow("*.gone.test"), allow("*"), denyAll("evil.test"), denyAll("*.evil.test"))
	g2, upstream2 := testGateway(t, map[string][]string{"evil.test": {"198.51.100.66"}}, allow("api.test"))
	for _, name := range []string{"evil.test.", "EVIL.test.", "x.evil.test.", "_bad-.evil.test."} {
		for range 2 {
			if m := ask(t, g, name, dnsmessage.TypeA); m.RCode != dnsmessage.RCodeNameError || len(m.Answers) != 0 {
				t.Errorf("%s: %+v", name, m)
			}
			testkit.Equal(t, name, ask(t, g2, name, dnsmessage.TypeAAAA).RCode, dnsmessage.RCodeNameError)
		}
	}
	if len(upstream.asked)+len(upstream2.asked) != 0 {
		t.Errorf("names that are not granted left the process: %v %v", upstream.asked, upstream2.asked)
	}
	first := g.Denials()[0]
	if first.Target != "evil.test" || first.Operation != "resolve" || first.Reason != policy.DeniedNotGranted || first.Count != 4 || first.Time.After(first.Last) {
		t.Errorf("the denial: %+v", first)
	}
	// Granted, and not there: no denial.
	n := len(g.Denials())
	if m := ask(t, g, "missing.gone.test.", dnsmessage.TypeA); m.RCode != dnsmessage.RCodeNameError || len(g.Denials()) != n {
		t.Errorf("a name that does not exist: %+v, %+v", m, g.Denials())
	}
	upstream.err = errors.New("the resolver is down")
	if m := ask(t, g, "other.gone.test.", dnsmessage.TypeA); m.RCode != dnsmessage.RCodeServerFailure || len(g.Denials()) != n {
		t.Errorf("a resolver that fails: %+v", m)
	}
	// What is no host's name is on record in characters that show, and not longer than it is.
	odd := "a\x00\xff b." + strings.Repeat(strings.Repeat("\x01", 63)+".", 3) + "secret.test"
	ask(t, g2, odd+".", dnsmessage.TypeA)
	want := `"a?? b.` + strings.Repeat(strings.Repeat("?", 63)+".", 3) + `secret.test"`
	testkit.Equal(t, "what is no name", g2.Denials()[len(g2.Denials())-1].Target, want)
	// Reverse lookups of other addresses fail, are not recorded and do not leave the process.
	for _, name := range []string{"66.100.51.198.in-addr.arpa.", "x.in-addr.arpa.", "8.b.d.0.1.0.0.2.ip6.arpa."} {
		if m := ask(t, g, name, dnsmessage.TypePTR); m.RCode != dnsmessage.RCodeNameError || len(g.Denials()) != n {
			t.Errorf("%s: %+v", name, m)
		}
	}
}

// TestForbiddenAddresses: a granted name that leads to no address that may be dialled is refused, and the others of a mixed
// answer are used. TestSpecialAddresses of package policy has the addresses.
func TestForbiddenAddresses(t *testing.T) {
	for _, c := range testkit.Table[struct {
		addrs []string
		want  string // "" where it is refused
		says  string
	}](t, "forbidden-addresses.txt") {
		g, _ := testGateway(t, map[string][]string{"api.test": c.addrs}, allow("api.test"), allow("10.99.0.77"))
		if c.want != "" {
			if got := resolve(t, g, "api.test"); got.String() != c.want || len(g.Denials()) != 0 {
				t.Errorf("%v: %s, want %s; %+v", c.addrs, got, c.want, g.Denials())
			}
			continue
		}
		m := ask(t, g, "api.test.", dnsmessage.TypeA)
		d := onlyDenial(t, g)
		if m.RCode != dnsmessage.RCodeNameError || d.Reason != policy.DeniedAddress || !strings.Contains(d.Detail, c.says) || d.Target != "api.test" {
			t.Errorf("%v: %+v, %+v, want %q", c.addrs, m, d, c.says)
		}
	}
}

func TestMalformedQueries(t *testing.T) {
	g, _ := testGateway(t, map[string][]string{"api.test": {"198.51.100.7"}}, allow("api.test"))
	pack := func(change func(*dnsmessage.Message)) []byte {
		var m dnsmessage.Message
		testkit.Must(t, m.Unpack(question(t, "api.test.", dnsmessage.TypeA)))
		change(&m)
		b := testkit.Get(m.Pack())(t)
		return b
	}
	for _, c := range []struct {
		name  string
		query []byte
		want  dnsmessage.RCode
		none  bool
	}{
		{"as it should be", pack(func(*dnsmessage.Message) {}), 0, false},
		{"empty", nil, 0, true},
		{"cut", pack(func(*dnsmessage.Message) {})[:14], dnsmessage.RCodeFormatError, false},
		{"an answer", pack(func(m *dnsmessage.Message) { m.Response = true }), 0, true},
		{"no question", pack(func(m *dnsmessage.Message) { m.Questions = nil }), dnsmessage.RCodeFormatError, false},
		{"two", pack(func(m *dnsmessage.Message) { m.Questions = append(m.Questions, m.Questions[0]) }), dnsmessage.RCodeFormatError, false},
		{"an update", pack(func(m *dnsmessage.Message) { m.OpCode = 5 }), dnsmessage.RCodeNotImplemented, false},
		{"chaos", pack(func(m *dnsmessage.Message) { m.Questions[0].Class = dnsmessage.ClassCHAOS }), dnsmessage.RCodeRefused, false},
	} {
		b := g.answer(c.query)
		testkit.Equal(t, fmt.Sprintf("%s: %x", c.name, b), c.none, (b == nil))
		if b == nil {
			continue
		}
		var m dnsmessage.Message
		if err := m.Unpack(b); err != nil || m.RCode != c.want {
			t.Errorf("%s: %+v, %v, want %v", c.name, m, err, c.want)
		}
	}
	with := g.answer(pack(func(m *dnsmessage.Message) {
		var h dnsmessage.ResourceHeader
		h.SetEDNS0(4096, 0, false)
		m.Additionals = []dnsmessage.Resource{{Header: h, Body: &dnsmessage.OPTResource{}}}
	}))
	var m dnsmessage.Message
	if err := m.Unpack(with); err != nil || len(m.Additionals) != 1 || m.Additionals[0].Header.Class != answerSize {
		t.Errorf("EDNS: %+v, %v", m, err)
	}
}

func TestNamesBelowWildcard(t *testing.T) {
	g, upstream := testGateway(t, nil, allow("*.wild.test"), allow(strings.Repeat("a", 60)+"."+strings.Repeat("b", 60)+".wild.test"))
	long := strings.Repeat("x", 60) + "." + strings.Repeat("y", 60)
	if m := ask(t, g, long+".wild.test.", dnsmessage.TypeA); m.RCode != dnsmessage.RCodeRefused || upstream.count(long+".wild.test") != 0 {
		t.Errorf("a tunnel: %+v", m)
	}
	testkit.Equal(t, "", onlyDenial(t, g).Reason, policy.DeniedLimit)
	exact := strings.Repeat("a", 60) + "." + strings.Repeat("b", 60) + ".wild.test"
	upstream.set(exact, "198.51.100.7")
	resolve(t, g, exact) // what a rule spells out may be as long as it likes
	refused := 0
	for i := range 2 * newNameBurst {
		if ask(t, g, "n"+string(rune('a'+i%26))+strings.Repeat("z", i/26)+".wild.test.", dnsmessage.TypeA).RCode == dnsmessage.RCodeRefused {
			refused++
		}
	}
	if refused == 0 {
		t.Error("names below a wildcard have no bound in number")
	}
}

func TestNamesOfProxy(t *testing.T) {
	proxy, _ := url.Parse("http://192.0.2.1:3128")
	up := &fakeResolver{names: map[string][]string{"inside.test": {"10.99.0.5"}}}
	g := testGatewayWith(t, Options{Rules: []rule{allow("far.test"), allow("inside.test"), allowPort("db.test", "tcp", 5432)}, Upstream: up,
		Proxy: func(u *url.URL) (*url.URL, error) { return proxy, nil }})
	testkit.Equal(t, "a name that this host cannot resolve", resolve(t, g, "far.test").String(), "127.64.0.1")
	if m := ask(t, g, "inside.test.", dnsmessage.TypeA); m.RCode != dnsmessage.RCodeNameError || onlyDenial(t, g).Reason != policy.DeniedAddress {
		t.Errorf("a name that leads inside: %+v", m)
	}
	if m := ask(t, g, "db.test.", dnsmessage.TypeA); m.RCode != dnsmessage.RCodeNameError {
		t.Errorf("a name that the proxy is not for: %+v", m)
	}
}

// TestNewNamesPerSecond asks for new names below a wildcard at a pace at which fractions of
// the refill interval add up.
func TestNewNamesPerSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := testGateway(t, nil, allow("*.wild.test"))
		asked := 0
		accepted := func() (n int) {
			for ; ask(t, g, fmt.Sprintf("n%d.wild.test.", asked), dnsmessage.TypeA).RCode != dnsmessage.RCodeRefused; n++ {
				asked++
			}
			return n
		}
		testkit.Equal(t, "names at once", accepted(), newNameBurst)
		const pause, rounds = 390 * time.Millisecond, 100
		total := 0
		for range rounds {
			time.Sleep(pause)
			total += accepted()
		}
		testkit.Equal(t, fmt.Sprintf("names in %v", rounds*pause), total, int(rounds*pause/newNameInterval))
	})
}
