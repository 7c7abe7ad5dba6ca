package egress

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/mcp-jail/mcp-jail/confine/egress/learning"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// watcher collects what a Gateway observes.
type watcher struct {
	mu  sync.Mutex
	all []policy.Observation
}

func (w *watcher) observe(o policy.Observation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, o)
}

// texts returns the observations so far as words, without their times, those that are equal counted together.
func (w *watcher) texts() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	counts := map[string]int{}
	for _, o := range w.all {
		text := strings.Join(strings.Fields(fmt.Sprintf("%s %s %s %s", o.Operation, o.Scheme, o.Target, o.Request)), " ")
		if o.Refused {
			text += " refused"
		}
		if o.Absent {
			text += " absent"
		}
		if o.Axis != policy.AxisNet || o.Time.IsZero() || o.Count < 1 {
			text += fmt.Sprintf(" %+v", o)
		}
		counts[text] += o.Count
	}
	var out []string
	for text, n := range counts {
		if n > 1 {
			text += fmt.Sprint(" x", n)
		}
		out = append(out, text)
	}
	slices.Sort(out)
	return out
}

// fatalResolver and the proxy of closedGateway fail the test: nothing may leave.
type fatalResolver struct{ t testing.TB }

func (r fatalResolver) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	r.t.Errorf("%s was looked up", host)
	return nil, errClosed
}

func closedGateway(t testing.TB, limits Limits, rules ...rule) (*Gateway, *watcher) {
	t.Helper()
	w := &watcher{}
	fails := func(u *url.URL) (*url.URL, error) { t.Errorf("the proxy for %s was asked for", u); return nil, nil }
	ask := func(_ context.Context, host string, _ int) bool { t.Errorf("%s was asked about", host); return true }
	return testGatewayWith(t, Options{Rules: rules, Limits: limits, Upstream: fatalResolver{t}, Proxy: fails, Observe: w.observe, Closed: true, Ask: ask}), w
}

// reached fails the test if anything is sent to the addresses of the tests' world.
func reached(t testing.TB, ports ...int) {
	t.Helper()
	for _, addr := range []string{"198.51.100.7", "203.0.113.5", "[2001:db8::7]"} {
		for _, port := range ports {
			at := fmt.Sprintf("%s:%d", addr, port)
			listen(t, at, func(c *net.TCPConn) {
				b, _ := io.ReadAll(c)
				t.Errorf("%s was reached, with %q", at, b)
			})
		}
	}
}

// TestClosed: in a closed network each name has an address of the jail's own, each connection is read and
// reset, and nothing is looked up, dialled or sent, although rules grant hosts.
func TestClosed(t *testing.T) {
	reached(t, 80, 443, 1000)
	g, w := closedGateway(t, Limits{}, allow("*"), allowPort("198.51.100.7", "tcp", 1000), allow("known.test"))
	known, other := resolve(t, g, "known.test").String(), resolve(t, g, "Other.Test").String()
	for _, addr := range []string{known, other} {
		if !netip.MustParsePrefix("127.64.0.0/10").Contains(netip.MustParseAddr(addr)) {
			t.Errorf("a name has the address %s", addr)
		}
	}
	for _, c := range []struct{ to, send string }{
		{known + ":443", string(hello(t, "known.test"))}, {known + ":443", string(hello(t, "fronted.test"))}, {other + ":443", string(hello(t, ""))},
		{other + ":80", "GET /v1/items/secret-name/a/b/c?key=SECRET HTTP/1.1\r\nHost: other.test:80\r\nAuthorization: Bearer SECRET\r\n\r\n"},
		{other + ":80", "POST http://third.test/upload#x HTTP/1.1\r\nHost: third.test\r\n\r\nSECRET"},
		{"198.51.100.7:1000", "SSH-2.0-OpenSSH\r\n"}, {"198.51.100.7:443", string(hello(t, "known.test"))}, {"[2001:db8::7]:80", "GET / HTTP/1.0\r\n\r\n"},
		{"203.0.113.5:1000", ""},
	} {
		conn := client(t, g, c.to)
		io.WriteString(conn, c.send)
		wasReset(t, conn)
	}
	if c := ask(t, g, "198.51.100.9.", dnsmessage.TypeA); c.RCode != dnsmessage.RCodeNameError {
		t.Errorf("an address is a name: %+v", c)
	}
	if c := ask(t, g, "known.test.", dnsmessage.TypeAAAA); c.RCode != dnsmessage.RCodeSuccess || len(c.Answers) != 0 {
		t.Errorf("%+v", c)
	}
	ask(t, g, "a b.test.", dnsmessage.TypeA)
	if !g.Allowed("tcp", netip.MustParseAddrPort("203.0.113.5:9999")) || g.Allowed("udp", netip.MustParseAddrPort("203.0.113.5:9999")) {
		t.Error("a supervisor would not pass the connections on, or others too")
	}
	g.Refuse("tcp", netip.MustParseAddrPort(other+":5432"))
	g.Refuse("udp", netip.MustParseAddrPort("203.0.113.5:9999"))
	g.Close()
	want := []string{
		"connect 203.0.113.5:1000 refused", "connect http [2001:db8::7]:80 refused", "connect http other.test:80 refused x2", "connect http third.test:80 refused",
		"connect https 198.51.100.7:443 refused", "connect https fronted.test:443 refused", "connect https known.test:443 refused x3", "connect https other.test:443 refused",
		"connect other.test:5432 refused", "connect tcp 198.51.100.7:1000 refused",
		"request http [2001:db8::7]:80 GET / refused", "request http other.test:80 GET /v1/items/secret-name/a/ refused", "request http other.test:80 POST /upload refused",
		`resolve "a b.test" refused`, "resolve 198.51.100.9 refused", "resolve known.test x2", "resolve other.test", "send 203.0.113.5:9999 refused",
	}
	if got := w.texts(); !slices.Equal(got, want) {
		t.Errorf("observed\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if d := g.Denials(); !slices.ContainsFunc(d, func(d policy.Denial) bool {
		return d.Target == "known.test:443" && d.Detail == closedDetail && d.Count == 2
	}) {
		t.Errorf("%+v", d)
	}
	if text := fmt.Sprint(w.all, g.Denials()); strings.Contains(text, "SECRET") {
		t.Errorf("a secret was recorded: %s", text)
	}
}

// TestClosedControl: what TestClosed connects to is reached where the network is not closed.
func TestClosedControl(t *testing.T) {
	listen(t, "198.51.100.7:443", echo(""))
	w := &watcher{}
	g := testGatewayWith(t, Options{Rules: []rule{allow("known.test")}, Observe: w.observe, Upstream: &fakeResolver{names: map[string][]string{"known.test": {"198.51.100.7"}}}})
	first := string(hello(t, "known.test"))
	if got, err := exchange(t, client(t, g, resolve(t, g, "known.test").String()+":443"), first); got != first {
		t.Errorf("%q, %v", got, err)
	}
}

// TestClosedIsBounded: a flood of names, connections and paths is counted, and the gateway keeps little of it.
func TestClosedIsBounded(t *testing.T) {
	g, w := closedGateway(t, Limits{Names: 100})
	for i := range 3000 {
		name := fmt.Sprintf("n%d.test", i)
		if m := ask(t, g, name+".", dnsmessage.TypeA); (len(m.Answers) == 1) != (i < 100) {
			t.Fatalf("%s: %+v", name, m)
		}
		g.Refuse("tcp", netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 51, byte(i >> 8), byte(i)}), 22))
	}
	at := resolve(t, g, "n1.test").String() + ":80"
	for i := range 100 {
		c := client(t, g, at)
		fmt.Fprintf(c, "GET /%d HTTP/1.1\r\nHost: n1.test\r\n\r\n", i)
		wasReset(t, c)
	}
	big := client(t, g, at)
	go big.Write([]byte("GET /" + strings.Repeat("x", 1<<20)))
	wasReset(t, big)
	g.Close()
	sum := map[string]int{}
	for _, o := range w.all {
		sum[o.Operation] += o.Count
		if o.Target == policy.DenialOthers {
			sum["others"] += o.Count
		}
		if strings.HasSuffix(o.Request, policy.DenialOthers) {
			sum["other requests"] += o.Count
		}
		if len(o.Request) > 7+200 {
			t.Errorf("a path of %d bytes", len(o.Request))
		}
	}
	if len(w.all) > 2*1024+100 || sum["connect"] != 3101 || sum["others"] < 1900 || sum["request"] < 100 || sum["other requests"] < 30 {
		t.Errorf("%d observations: %v", len(w.all), sum)
	}
}

// TestObserve: what rules grant is observed, and what they refuse. A slow observer delays no connection.
func TestObserve(t *testing.T) {
	listen(t, "198.51.100.7:443", echo(""))
	listen(t, "198.51.100.7:80", echo(""))
	listen(t, "198.51.100.7:1000", echo("hello"))
	w := &watcher{}
	held := make(chan struct{})
	first := sync.OnceFunc(func() { <-held })
	g := testGatewayWith(t, Options{
		Rules:    []rule{allow("x.test"), allowPort("x.test", "tcp", 1000), denyAll("no.test"), allow("gone.test"), allowPort("198.51.100.7", "tcp", 1000)},
		Upstream: &fakeResolver{names: map[string][]string{"x.test": {"198.51.100.7"}}},
		Observe:  func(o policy.Observation) { first(); w.observe(o) },
	})
	at := resolve(t, g, "x.test").String()
	ask(t, g, "no.test.", dnsmessage.TypeA)
	ask(t, g, "other.test.", dnsmessage.TypeA)
	ask(t, g, "gone.test.", dnsmessage.TypeA)
	requests := "GET /a?q=1 HTTP/1.1\r\nHost: x.test\r\n\r\nPOST /b HTTP/1.1\r\nHost: x.test\r\nContent-Length: 2\r\n\r\nhiGET /a HTTP/1.1\r\nHost: x.test\r\n\r\n"
	for to, send := range map[string]string{":443": string(hello(t, "x.test")), ":80": requests, ":1000": "anything"} {
		if got, err := exchange(t, client(t, g, at+to), send); strings.TrimPrefix(got, "hello") != send {
			t.Errorf("%s: %q, %v", to, got, err)
		}
	}
	refused := client(t, g, at+":443")
	refused.Write(hello(t, "y.test"))
	wasReset(t, refused)
	wasReset(t, client(t, g, at+":22"))
	close(held)
	g.Close()
	want := []string{
		"connect http x.test:80", "connect https x.test:443", "connect tcp x.test:1000", "connect x.test:22 refused", "connect x.test:443 refused",
		"request http x.test:80 GET /a x2", "request http x.test:80 POST /b",
		"resolve gone.test absent", "resolve no.test refused", "resolve other.test refused", "resolve x.test",
	}
	if got := w.texts(); !slices.Equal(got, want) {
		t.Errorf("observed\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestAsk: a host that no rule is about is asked about once, when a program connects to it by its name. Until
// the answer nothing is looked up. Its addresses are checked.
func TestAsk(t *testing.T) {
	listen(t, "198.51.100.7:443", echo(""))
	listen(t, "10.99.0.1:443", func(*net.TCPConn) { t.Error("an address of a private network was reached") })
	var mu sync.Mutex
	asked := []string{}
	resolver := &fakeResolver{names: map[string][]string{"yes.test": {"198.51.100.7"}, "inside.test": {"10.99.0.1"}, "no.test": {"198.51.100.7"}}}
	w := &watcher{}
	g := testGatewayWith(t, Options{
		Rules: []rule{denyAll("denied.test"), allowPort("known.test", "tcp", 1000)}, Upstream: resolver, Observe: w.observe,
		Ask: func(_ context.Context, host string, port int) bool {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, fmt.Sprint(host, " ", port))
			if n := resolver.count(host); n > 0 && port == 443 {
				t.Errorf("%s was looked up %d times before the answer", host, n)
			}
			return host == "yes.test" || host == "inside.test"
		},
	})
	yes, no := string(hello(t, "yes.test")), string(hello(t, "no.test"))
	for round := range 2 {
		at := resolve(t, g, "yes.test").String()
		if got, err := exchange(t, client(t, g, at+":443"), yes); got != yes {
			t.Errorf("%q, %v; %+v", got, err, g.Denials())
		}
		for _, name := range []string{"no.test", "inside.test"}[:2-round] { // once it is granted, the other one does not exist
			c := client(t, g, resolve(t, g, name).String()+":443")
			io.WriteString(c, no)
			wasReset(t, c)
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
	wasReset(t, client(t, g, resolve(t, g, "denied.test").String()+":443"))
	if want := []string{"yes.test 443", "no.test 443", "inside.test 443", "yes.test 22"}; !slices.Equal(asked, want) {
		t.Errorf("asked about %q, want %q", asked, want)
	}
	if n := resolver.count("no.test") + resolver.count("denied.test"); n != 0 {
		t.Errorf("%d names were looked up without consent", n)
	}
	reasons := map[string]string{}
	for _, d := range g.Denials() {
		reasons[d.Target] += string(d.Reason) + " " + d.Detail
	}
	if !strings.Contains(reasons["no.test:443"], "the answer was no") || !strings.Contains(reasons["inside.test:443"], "10.99.0.1") || reasons["yes.test:443"] != "" {
		t.Errorf("%v", reasons)
	}
	g.Close()
	if got := w.texts(); !slices.Contains(got, "connect no.test:443 refused x2") || !slices.Contains(got, "connect https yes.test:443 x2") {
		t.Errorf("%q", got)
	}
}

// TestAskIsBounded: connections that wait for one answer ask once, the number of questions is limited, and the
// end of the jail ends the wait, although the function does not return.
func TestAskIsBounded(t *testing.T) {
	var mu sync.Mutex
	asked := 0
	held := make(chan struct{})
	defer close(held)
	g := testGatewayWith(t, Options{Upstream: fatalResolver{t}, Ask: func(context.Context, string, int) bool {
		mu.Lock()
		asked++
		mu.Unlock()
		<-held
		return false
	}})
	at := resolve(t, g, "slow.test").String() + ":443"
	waiting := []*net.TCPConn{client(t, g, at), client(t, g, at)}
	for i := range learning.MaxAsked + 10 {
		waiting = append(waiting, client(t, g, resolve(t, g, fmt.Sprintf("n%d.test", i)).String()+":443"))
	}
	testkit.Eventually(t, "the questions", func() bool { mu.Lock(); defer mu.Unlock(); return asked == learning.MaxAsked })
	testkit.Eventually(t, "the refusals", func() bool { return len(g.Denials()) == 11 })
	g.Close()
	for _, c := range waiting {
		wasReset(t, c)
	}
	if asked != learning.MaxAsked {
		t.Errorf("%d questions", asked)
	}
}
