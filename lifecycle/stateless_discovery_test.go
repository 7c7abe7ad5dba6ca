//go:build unix

package lifecycle

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/policy"
)

// pidOf is the process that an answer of resources/read names.
func pidOf(a said) string {
	_, pid, _ := strings.Cut(a.line, `"pid":`)
	return strings.TrimRight(pid, "}\n")
}

// TestDiscoveryShared: one worker answers all requests that are no calls, in any order.
func TestDiscoveryShared(t *testing.T) {
	t.Parallel()
	f := newShop()
	p := beginStateless(t, f, nil)
	p.send(clientHello)
	for i := range 50 {
		p.send(legacy(fmt.Sprint(1+i), []string{"resources/read", "prompts/get", "completion/complete"}[i%3], `{"uri":"x"}`))
	}
	p.answer("0")
	pids := map[string]bool{}
	for i := range 50 {
		pids[pidOf(p.answer(fmt.Sprint(51-i-1)))] = true
	}
	if len(pids) != 1 || f.started("") != 1 {
		t.Errorf("answered by %v, %d started", pids, f.started(""))
	}
	p.nothing()
}

// TestDiscoveryIdle: an idle discovery worker is stopped, but not before it has answered,
// and the next request starts another.
func TestDiscoveryIdle(t *testing.T) {
	t.Parallel()
	f := newShop()
	p := beginStateless(t, f, func(s *Session, _ *Stateless) {
		s.times.discoveryIdle, s.times.tick = 100*time.Millisecond, 10*time.Millisecond
	})
	p.greet()
	p.send(legacy("1", "resources/read", `{"uri":"ask"}`))
	ask := p.told("roots/list")
	time.Sleep(300 * time.Millisecond) // three times as long as it may be idle
	p.send(replyTo(ask, `{"roots":[]}`))
	has(t, p.answer("1").line, `"heard":{"roots":[]}`)
	f.of("")[f.started("")-1].ended(t)
	p.send(legacy("2", "resources/read", `{}`))
	p.answer("2")
	// One that was cancelled is not waited for.
	p.send(legacy("3", "resources/read", `{"uri":"never"}`))
	eventually(t, "it is there", func() bool { return strings.Contains(f.saw("", f.started("")-1), `"id":3`) })
	n := f.started("") - 1
	p.send(cancel("3"))
	f.of("")[n].ended(t)
	has(t, f.saw("", n), cancel("3"))
	if stderr := p.nothing(); stderr != "" {
		t.Errorf("stderr %q", stderr)
	}
}

// TestDiscoveryAbandoned: a request of ours for a call that was cancelled does not keep a
// discovery worker alive.
func TestDiscoveryAbandoned(t *testing.T) {
	t.Parallel()
	f := newShop()
	f.options = func(string, int) string { return "silent-list" }
	p := beginStateless(t, f, func(s *Session, _ *Stateless) {
		s.times.discoveryIdle, s.times.tick = 100*time.Millisecond, 10*time.Millisecond
	})
	p.greet()
	p.send(callOf("1", "echo", "{}"))
	eventually(t, "the list is asked for", func() bool { return f.started("") > 0 && strings.Contains(f.saw("", f.started("")-1), "tools/list") })
	n := f.started("") - 1
	p.send(cancel("1"))
	f.of("")[n].ended(t)
	p.nothing()
}

// TestDiscoveryCrash: requests that are open at the crash fail, and the next one starts
// another worker.
func TestDiscoveryCrash(t *testing.T) {
	t.Parallel()
	f := newShop()
	p := beginStateless(t, f, nil)
	p.greet()
	p.send(legacy("1", "resources/read", `{"uri":"never"}`))
	eventually(t, "it has begun", func() bool { return strings.Contains(f.saw("", 0), "never") })
	p.send(callOf("2", "ask", "{}")) // which has a process of its own
	ask := p.told("sampling/createMessage")
	p.send(legacy("3", "resources/read", `{"uri":"crash"}`))
	for _, id := range []string{"1", "3"} {
		failureOf(t, p.answer(id).line)
	}
	p.send(legacy("4", "resources/read", `{}`), replyTo(ask, "{}"))
	if pid := pidOf(p.answer("4")); pid != fmt.Sprint(f.of("")[1].PID()) {
		t.Errorf("answered by %s", pid)
	}
	has(t, p.answer("2").line, "id=0 result={}")
	p.nothing()
	if f.started("") != 2 {
		t.Errorf("%d processes", f.started(""))
	}
}

// TestDiscoveryDenials: the record keeps the denials of workers that are gone.
func TestDiscoveryDenials(t *testing.T) {
	t.Parallel()
	f := newShop()
	f.denials = map[string][]policy.Denial{"echo": {{Axis: policy.AxisFs, Operation: "open", Target: "/denied", Count: 1}}}
	p := beginStateless(t, f, nil)
	p.greet()
	p.send(callOf("1", "echo", "{}"))
	l := p.answer("1").line
	has(t, l, "dev.mcp-jail/denials", "/denied")
	f.of("echo")[0].ended(t)
	p.send(callOf("2", "fail", "{}"))
	if l := p.answer("2").line; strings.Contains(l, "/denied") {
		t.Errorf("another call is told of it: %q", l)
	}
	p.nothing()
	if len(p.record.Denials) != 1 || p.record.Denials[0].Target != "/denied" {
		t.Errorf("the record has %v", p.record.Denials)
	}
}

// TestAnswerDiscover: server/discover is answered for every kind of server. Each row asks
// twice, and the session goes on.
func TestAnswerDiscover(t *testing.T) {
	t.Parallel()
	for option, row := range map[string]struct {
		want []string
		not  string
		said bool // on stderr
	}{
		"ttl=0":        {[]string{`"resultType":"complete"`, `"capabilities":{"tools":{},"resources":{}}`}, "subscribe", false},
		"error-probe":  {[]string{`"error":{"code":-32601,"message":"what?"}`}, "mcp-jail", false},
		"die-probe":    {[]string{`"error":{"code":-32601,`, "ended on server/discover", "dev.mcp-jail/discover-guard"}, "result", false},
		"silent-probe": {[]string{`"error":{"code":-32601,`, "has ignored server/discover", "dev.mcp-jail/discover-guard"}, "result", false},
	} {
		t.Run(option, func(t *testing.T) {
			f := newShop()
			f.options = func(string, int) string { return option }
			p := beginStateless(t, f, func(s *Session, _ *Stateless) {
				if option == "silent-probe" {
					s.times.discover = 200 * time.Millisecond
				} else { // a program may take a while to answer, or to die
					s.times.discover = time.Minute
				}
			})
			for _, id := range []string{"1", "2"} {
				p.send(modern(id, "server/discover", ""))
				l := p.answer(id).line
				has(t, l, row.want...)
				if strings.Contains(l, row.not) {
					t.Errorf("%q", l)
				}
			}
			p.greet() // a client of both eras goes on so, or with a modern call
			p.send(callOf("3", "echo", "{}"), modern("4", "tools/call", `"name":"echo","arguments":{}`))
			has(t, p.answer("3").line, "calls=1")
			has(t, p.answer("4").line, "calls=1")
			if stderr := p.nothing(); (stderr != "") != row.said {
				t.Errorf("stderr %q", stderr)
			}
		})
	}
}

// TestStripCapabilities: capabilities that need a process that lives on are not offered.
func TestStripCapabilities(t *testing.T) {
	t.Parallel()
	p := beginStateless(t, newShop(), nil)
	for _, id := range []string{"0", "1"} { // from the server, and from the catalog
		p.send(helloFrom(id, "{}"))
		has(t, p.answer(id).line, `"capabilities":{"tools":{"listChanged":true},"logging":{},"resources":{}},"serverInfo"`)
	}
	p.nothing()
}
