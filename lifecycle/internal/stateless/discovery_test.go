//go:build unix

package stateless

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
	"github.com/mcp-jail/mcp-jail/policy"
)

// pidOf is the process that an answer of resources/read names.
func pidOf(a sessiontest.Said) string {
	_, pid, _ := strings.Cut(a.Line, `"pid":`)
	return strings.TrimRight(pid, "}\n")
}

// TestDiscoveryShared: one worker answers all requests that are no calls, in any order.
func TestDiscoveryShared(t *testing.T) {
	t.Parallel()
	f := sessiontest.NewShop()
	p := beginStateless(t, f, nil)
	p.Send(sessiontest.ClientHello)
	for i := range 50 {
		p.Send(sessiontest.Legacy(fmt.Sprint(1+i), []string{"resources/read", "prompts/get", "completion/complete"}[i%3], `{"uri":"x"}`))
	}
	p.Answer("0")
	pids := map[string]bool{}
	for i := range 50 {
		pids[pidOf(p.Answer(fmt.Sprint(51-i-1)))] = true
	}
	if len(pids) != 1 || f.Started("") != 1 {
		t.Errorf("answered by %v, %d started", pids, f.Started(""))
	}
	p.Nothing()
}

// TestDiscoveryIdle: an idle discovery worker is stopped, but not before it has answered,
// and the next request starts another.
func TestDiscoveryIdle(t *testing.T) {
	t.Parallel()
	f := sessiontest.NewShop()
	p := beginStateless(t, f, func(s *session.Session, _ *Options) {
		session.TimesOf(s).DiscoveryIdle, session.TimesOf(s).Tick = 100*time.Millisecond, 10*time.Millisecond
	})
	p.Greet()
	p.Send(sessiontest.Legacy("1", "resources/read", `{"uri":"ask"}`))
	ask := p.Told("roots/list")
	time.Sleep(300 * time.Millisecond) // three times as long as it may be idle
	p.Send(sessiontest.ReplyTo(ask, `{"roots":[]}`))
	sessiontest.Has(t, p.Answer("1").Line, `"heard":{"roots":[]}`)
	f.Of("")[f.Started("")-1].Ended(t)
	p.Ask(sessiontest.Legacy("2", "resources/read", `{}`))
	// One that was cancelled is not waited for.
	p.Send(sessiontest.Legacy("3", "resources/read", `{"uri":"never"}`))
	sessiontest.Eventually(t, "it is there", func() bool { return strings.Contains(f.Saw("", f.Started("")-1), `"id":3`) })
	n := f.Started("") - 1
	p.Send(cancel("3"))
	f.Of("")[n].Ended(t)
	sessiontest.Has(t, f.Saw("", n), cancel("3"))
	if stderr := p.Nothing(); stderr != "" {
		t.Errorf("stderr %q", stderr)
	}
}

// TestDiscoveryAbandoned: a request of ours for a call that was cancelled does not keep a
// discovery worker alive.
func TestDiscoveryAbandoned(t *testing.T) {
	t.Parallel()
	f := sessiontest.NewShop()
	f.Options = func(string, int) string { return "silent-list" }
	p := beginStateless(t, f, func(s *session.Session, _ *Options) {
		session.TimesOf(s).DiscoveryIdle, session.TimesOf(s).Tick = 100*time.Millisecond, 10*time.Millisecond
	})
	p.Greet()
	p.Send(sessiontest.CallOf("1", "echo", "{}"))
	sessiontest.Eventually(t, "the list is asked for", func() bool { return f.Started("") > 0 && strings.Contains(f.Saw("", f.Started("")-1), "tools/list") })
	n := f.Started("") - 1
	p.Send(cancel("1"))
	f.Of("")[n].Ended(t)
	p.Nothing()
}

// TestDiscoveryCrash: requests that are open at the crash fail, and the next one starts
// another worker.
func TestDiscoveryCrash(t *testing.T) {
	t.Parallel()
	f, p := greeted(t, nil)
	p.Send(sessiontest.Legacy("1", "resources/read", `{"uri":"never"}`))
	sessiontest.Eventually(t, "it has begun", func() bool { return strings.Contains(f.Saw("", 0), "never") })
	p.Send(sessiontest.CallOf("2", "ask", "{}")) // which has a process of its own
	ask := p.Told("sampling/createMessage")
	p.Send(sessiontest.Legacy("3", "resources/read", `{"uri":"crash"}`))
	for _, id := range []string{"1", "3"} {
		sessiontest.FailureOf(t, p.Answer(id).Line)
	}
	p.Send(sessiontest.Legacy("4", "resources/read", `{}`), sessiontest.ReplyTo(ask, "{}"))
	if pid := pidOf(p.Answer("4")); pid != fmt.Sprint(f.Of("")[1].PID()) {
		t.Errorf("answered by %s", pid)
	}
	sessiontest.Has(t, p.Answer("2").Line, "id=0 result={}")
	p.Nothing()
	if f.Started("") != 2 {
		t.Errorf("%d processes", f.Started(""))
	}
}

// TestDiscoveryDenials: the record keeps the denials of workers that are gone.
func TestDiscoveryDenials(t *testing.T) {
	t.Parallel()
	f := sessiontest.NewShop()
	f.Denials = map[string][]policy.Denial{"echo": {{Axis: policy.AxisFs, Operation: "open", Target: "/denied", Count: 1}}}
	p := beginStateless(t, f, nil)
	p.Greet()
	l := p.Ask(sessiontest.CallOf("1", "echo", "{}")).Line
	sessiontest.Has(t, l, "dev.mcp-jail/denials", "/denied")
	f.Of("echo")[0].Ended(t)
	if l := p.Ask(sessiontest.CallOf("2", "fail", "{}")).Line; strings.Contains(l, "/denied") {
		t.Errorf("another call is told of it: %q", l)
	}
	p.Nothing()
	if len(p.Record.Denials) != 1 || p.Record.Denials[0].Target != "/denied" {
		t.Errorf("the record has %v", p.Record.Denials)
	}
}

// TestAnswerDiscover: server/discover is answered for every kind of server. Each row asks
// twice, and the session goes on.
func TestAnswerDiscover(t *testing.T) {
	t.Parallel()
	for option, row := range testkit.Named[struct {
		want []string
		not  string
		said bool // on stderr
	}](t, "discovery.txt") {
		t.Run(option, func(t *testing.T) {
			f := sessiontest.NewShop()
			f.Options = func(string, int) string { return option }
			p := beginStateless(t, f, func(s *session.Session, _ *Options) {
				session.TimesOf(s).ExitGrace = time.Minute // a program may take a while to die
			})
			for _, id := range []string{"1", "2"} {
				l := p.Ask(sessiontest.Modern(id, "server/discover", "")).Line
				sessiontest.Has(t, l, row.want...)
				if strings.Contains(l, row.not) {
					t.Errorf("%q", l)
				}
			}
			p.Greet() // a client of both eras goes on so, or with a modern call
			p.Send(sessiontest.CallOf("3", "echo", "{}"), sessiontest.Modern("4", "tools/call", `"name":"echo","arguments":{}`))
			sessiontest.Has(t, p.Answer("3").Line, "calls=1")
			sessiontest.Has(t, p.Answer("4").Line, "calls=1")
			if stderr := p.Nothing(); (stderr != "") != row.said {
				t.Errorf("stderr %q", stderr)
			}
		})
	}
}

// TestSilentDiscover: a process that does not answer server/discover is waited for until the client
// cancels it. The session goes on.
func TestSilentDiscover(t *testing.T) {
	t.Parallel()
	f := sessiontest.NewShop()
	f.Options = func(string, int) string { return "silent-probe" }
	p := beginStateless(t, f, nil)
	p.Send(sessiontest.Modern("1", "server/discover", ""))
	sessiontest.Eventually(t, "the probe", func() bool { return strings.Contains(f.Saw("", 0), "server/discover") })
	p.Send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	p.Greet()
	p.Send(sessiontest.CallOf("3", "echo", "{}"))
	sessiontest.Has(t, p.Answer("3").Line, "calls=1")
	p.Nothing()
}

// TestIgnoredDiscover: there is no limit for the answer to server/discover.
func TestIgnoredDiscover(t *testing.T) {
	t.Parallel()
	f := sessiontest.NewShop()
	f.Options = func(string, int) string { return "silent-probe" }
	p := beginStateless(t, f, func(s *session.Session, _ *Options) { s.Profile.Startup = 50 * time.Millisecond })
	p.Send(sessiontest.Modern("1", "server/discover", ""))
	sessiontest.Eventually(t, "the probe", func() bool { return strings.Contains(f.Saw("", 0), "server/discover") })
	time.Sleep(500 * time.Millisecond)
	p.Close()
	if len(p.Record.Diagnoses) != 0 {
		t.Errorf("%v", p.Record.Diagnoses)
	}
}

// TestStuckDiscover: a process that is stuck in server/discover is used no more when the client has cancelled that.
func TestStuckDiscover(t *testing.T) {
	t.Parallel()
	f := sessiontest.NewShop()
	f.Options = func(string, int) string { return "stuck-probe" }
	p := beginStateless(t, f, nil)
	p.Send(sessiontest.Modern("1", "server/discover", ""))
	sessiontest.Eventually(t, "the probe", func() bool { return strings.Contains(f.Saw("", 0), "server/discover") })
	p.Send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, sessiontest.Modern("2", "tools/list", ""))
	sessiontest.Has(t, p.Answer("2").Line, `"tools":[`)
	p.Close()
}

// TestStripCapabilities: capabilities that need a process that lives on are not offered.
func TestStripCapabilities(t *testing.T) {
	t.Parallel()
	p := beginStateless(t, sessiontest.NewShop(), nil)
	for _, id := range []string{"0", "1"} { // from the server, and from the cache
		p.Send(sessiontest.HelloFrom(id, "{}"))
		sessiontest.Has(t, p.Answer(id).Line, `"capabilities":{"tools":{"listChanged":true},"logging":{},"resources":{}},"serverInfo"`)
	}
	p.Nothing()
}

// knowing is a modern request of a client that knows the extension for tasks.
func knowing(id, method, params string) string {
	return strings.Replace(sessiontest.Modern(id, method, params), `clientCapabilities":{}`,
		`clientCapabilities":{"elicitation":{},"extensions":{"io.modelcontextprotocol\/tasks":{}, "c/d":{}}}`, 1)
}

// TestModernTasks: neither side learns that the other has the extension for tasks, so the server
// answers with a result. A task that it answers with all the same is an error that says what to do.
func TestModernTasks(t *testing.T) {
	t.Parallel()
	f := &sessiontest.Fleet{Servers: map[string]string{"": "clerk"}}
	p := beginStateless(t, f, nil)
	p.Send(knowing("1", "server/discover", ""))
	if line := p.Answer("1").Line; !strings.Contains(line, `"extensions":{"a/b":{}}`) {
		t.Error(line)
	}
	p.Send(knowing("2", "tools/list", ""))
	if line := p.Answer("2").Line; strings.Count(line, "taskSupport") != 1 {
		t.Error(line)
	}
	p.Send(knowing("3", "tools/call", `"name":"report","arguments":{"task":1},"task":2`))
	sessiontest.Has(t, p.Answer("3").Line, `\"elicitation\":{},\"extensions\":{ \"c/d\":{}}`, `\"arguments\":{\"task\":1},\"task\":2`)
	p.Send(knowing("4", "tools/call", `"name":"slow"`)) // its word about tasks is for the legacy era
	sessiontest.Has(t, p.Answer("4").Line, `"content":`)
	p.Send(knowing("5", "tools/call", `"name":"always"`))
	line := p.Answer("5").Line
	sessiontest.Has(t, line, "tools/call with a task", "stateful = true")
	sessiontest.IsFailure(t, line, "5 -32603 call always")
	for i, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		id := fmt.Sprint(10 + i)
		p.Send(knowing(id, method, `"taskId":"t1"`))
		line := p.Answer(id).Line
		sessiontest.Has(t, line, "stateful = true")
		if got := sessiontest.FailureOf(t, line).Error.Code; got != -32601 {
			t.Errorf("%s: %s", method, line)
		}
	}
	p.Close()
}

// TestLegacyTasks: the same in the older era, in which the client asks for a task with each call.
func TestLegacyTasks(t *testing.T) {
	t.Parallel()
	f := &sessiontest.Fleet{Servers: map[string]string{"": "clerk"}}
	p := beginStateless(t, f, nil)
	p.Send(strings.Replace(sessiontest.HelloFrom("0", `{"roots":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`), "2025-06-18", "2025-11-25", 1))
	sessiontest.Has(t, p.Answer("0").Line, `"capabilities":{"tools":{},"extensions":{"a/b":{}}}`)
	p.Send(sessiontest.Initialized, sessiontest.Legacy("1", "tools/call", `{"name":"report","task":{"ttl":1},"arguments":{"task":1}}`))
	sessiontest.Has(t, p.Answer("1").Line, `"text":"{\"name\":\"report\",\"arguments\":{\"task\":1}}"`)
	for i := range 2 { // the second answer comes from the cache
		id := fmt.Sprint(2 + i)
		p.Send(sessiontest.Legacy(id, "tools/list", "{}"))
		sessiontest.Has(t, p.Answer(id).Line, `{"tools":[{"name":"report","execution":{}},{"name":"slow","execution":{}},{"name":"always","execution":{"taskSupport":"forbidden"}}]}`)
	}
	started := f.Started("slow")
	for i, row := range []struct{ tool, want string }{{"slow", "taskSupport"}, {"always", "tools/call with a task"}} {
		id := fmt.Sprint(10 + i)
		line := p.Ask(sessiontest.CallOf(id, row.tool, "{}")).Line
		sessiontest.Has(t, line, row.want, "stateful = true")
		sessiontest.FailureOf(t, line)
	}
	if f.Started("slow") != started {
		t.Error("a process was started for a tool that can only answer with a task")
	}
	p.Send(sessiontest.Legacy("20", "tasks/result", `{"taskId":"t1"}`))
	sessiontest.Has(t, p.Answer("20").Line, "-32601", "tasks/result")
	p.Close()
}

// TestCertainReads: after a failure whose cause is only possible, the next call of the tool gets a
// process whose jail records refused reads, and no warm worker, until such a call goes well. No
// other process gets one.
func TestCertainReads(t *testing.T) {
	t.Parallel()
	f := sessiontest.NewShop()
	p := beginStateless(t, f, warm(1, "vague"))
	p.Opening()
	p.warmed(f, "vague", 0)
	for i, c := range []struct {
		tool, arguments string
		certain         bool // the process of this call
	}{
		{"vague", `"well"`, false}, {"vague", "{}", false}, {"echo", "{}", false}, {"vague", "{}", true}, {"fail", "{}", false}, {"fail", "{}", false},
		{"vague", `"well"`, true}, {"vague", `"well"`, false}, {"vague", "{}", false},
	} {
		if !c.certain && c.tool == "vague" { // it takes the warm worker
			p.pooled("a warm worker", func(pool *pool) bool {
				return len(pool.warmReady()) == 1
			})
		}
		before := count(f.Certain(c.tool))
		id := fmt.Sprint(i)
		p.Ask(sessiontest.CallOf(id, c.tool, c.arguments))
		if got := count(f.Certain(c.tool)) > before; got != c.certain {
			t.Errorf("call %d, of %s: certain reads %v, want %v (%v)", i, c.tool, got, c.certain, f.Certain(c.tool))
		}
	}
	if n := count(f.Certain("")); n > 0 {
		t.Errorf("%d discovery workers have certain reads", n)
	}
	p.Nothing()
}

func count(all []bool) (n int) {
	for _, set := range all {
		if set {
			n++
		}
	}
	return n
}

// TestCertainReadsThatGoWell: a call that goes well tells nothing of the reads that were refused.
// One that fails names them.
func TestCertainReadsThatGoWell(t *testing.T) {
	t.Parallel()
	f := sessiontest.NewShop()
	p := beginStateless(t, f, nil)
	p.Opening()
	p.Ask(sessiontest.CallOf("1", "vague", "{}"))
	f.Mu.Lock()
	f.Denials = map[string][]policy.Denial{"vague": {{Axis: policy.AxisFs, Operation: "read", Target: "/srv/call", Count: 1, Time: time.Now().Add(time.Minute)}}}
	f.Mu.Unlock()
	p.Send(sessiontest.CallOf("2", "vague", `"well"`))
	if l := p.Answer("2").Line; strings.Contains(l, "denials") || strings.Contains(l, "/srv") {
		t.Errorf("it went well: %s", l)
	}
	p.Send(sessiontest.CallOf("3", "vague", `"well"`)) // in an ordinary jail, which does not record that of itself
	sessiontest.Has(t, p.Answer("3").Line, "denials", "/srv/call")
	sessiontest.Has(t, p.Ask(sessiontest.CallOf("4", "vague", "{}")).Line, "may not read /srv/call")
	p.Nothing()
}
