//go:build unix

package stateless

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// keptIn makes sessions share the lists in a directory.
func keptIn(dir string) func(*session.Session, *Options) {
	return func(_ *session.Session, o *Options) { o.Lists = dir }
}

// TestKeptLists: a session answers from what an earlier session has kept, and revalidates
// it.
func TestKeptLists(t *testing.T) {
	t.Parallel()
	kept := keptIn(t.TempDir() + "/lists")
	first := beginStateless(t, sessiontest.NewShop(), kept)
	list := first.Opening()
	first.Send(sessiontest.Legacy("1", "resources/list", "{}"))
	first.Answer("1")
	first.Nothing()

	f := sessiontest.NewShop()
	f.Gate = make(chan struct{}) // until then no process is started
	f.Errs = map[string]error{"": sessiontest.ErrExec}
	p := beginStateless(t, f, kept)
	if again := p.Opening(); again != list {
		t.Errorf("%q, and then %q", list, again)
	}
	close(f.Gate)
	p.Send(sessiontest.Legacy("1", "resources/list", "{}")) // which is asked for each time
	sessiontest.Has(t, sessiontest.FailureOf(t, p.Answer("1").Line).String(), "exec")
	// A server that does not start offers no kept list either.
	p.Send(sessiontest.Legacy("2", "tools/list", "{}"))
	sessiontest.Has(t, sessiontest.FailureOf(t, p.Answer("2").Line).String(), "exec")
	p.Close()
}

// TestTTL: a list is kept for as long as the server says.
func TestTTL(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		ttl  string
		asks int // of five
	}{{"60000", 1}, {"0", 5}, {"-1", 5}, {"20", 5}} {
		f := sessiontest.NewShop()
		f.Options = func(string, int) string { return "ttl=" + row.ttl }
		p := beginStateless(t, f, nil)
		for i := range 5 {
			sessiontest.Has(t, p.Ask(sessiontest.Modern(fmt.Sprint(i), "tools/list", "")).Line, `"ttlMs":`)
			if row.ttl == "20" {
				time.Sleep(25 * time.Millisecond)
			}
		}
		p.Nothing()
		if n := strings.Count(f.Saw("", 0), "tools/list"); n != row.asks {
			t.Errorf("ttlMs %s: asked %d times", row.ttl, n)
		}
	}
}

// TestUpgradeWithinTTL: when the program has changed, the next session's client gets the old list with a
// ttlMs of 0, and then the new one, although the time that the server has set is not over.
func TestUpgradeWithinTTL(t *testing.T) {
	t.Parallel()
	kept := keptIn(t.TempDir() + "/lists")
	begin := func(tools string) *statelessPlay {
		f := sessiontest.NewShop()
		f.Options = func(string, int) string { return "ttl=60000 tools=" + tools }
		return beginStateless(t, f, kept)
	}
	ask := func(p *statelessPlay, id int) string {
		return p.Ask(sessiontest.Modern(fmt.Sprint(id), "tools/list", "")).Line
	}
	p := begin("old")
	sessiontest.Has(t, ask(p, 1), `{"name":"old"}`, `"ttlMs":60000`)
	p.Nothing()
	p = begin("new")
	sessiontest.Has(t, ask(p, 1), `{"name":"old"}`, `"ttlMs":0`)
	id := 1
	sessiontest.Eventually(t, "the list is asked for again", func() bool {
		id++
		return strings.Contains(ask(p, id), `{"name":"new"}`)
	})
	p.Nothing()
	p = begin("new")
	sessiontest.Has(t, ask(p, 1), `{"name":"new"}`)
	p.Nothing()
}

// TestOtherClient: a client with another name, other capabilities or another era gets no
// answers that were kept for the first client.
func TestOtherClient(t *testing.T) {
	t.Parallel()
	kept := keptIn(t.TempDir() + "/lists")
	first := beginStateless(t, sessiontest.NewShop(), kept)
	first.Opening()
	first.Nothing()
	for _, hello := range []string{sessiontest.HelloFrom("0", `{"roots":{}}`), strings.Replace(sessiontest.ClientHello, `"name":"c"`, `"name":"d"`, 1), strings.Replace(sessiontest.ClientHello, "2025-06-18", "2025-03-26", 1), sessiontest.ClientHello} {
		f := sessiontest.NewShop()
		f.Options = func(string, int) string { return "tools=another" }
		p := beginStateless(t, f, kept)
		p.Send(hello, sessiontest.Initialized)
		p.Answer("0")
		p.Send(sessiontest.Legacy("1", "tools/list", "{}"))
		if l := p.Answer("1").Line; strings.Contains(l, "another") == (hello == sessiontest.ClientHello) {
			t.Errorf("%s: %q", hello, l)
		}
		p.Close()
	}
}

// TestForgedHandshake: members with our reserved names are removed from an answer before
// it is kept.
func TestForgedHandshake(t *testing.T) {
	t.Parallel()
	f := sessiontest.NewShop()
	f.Options = func(string, int) string { return "forged-boot" }
	p := beginStateless(t, f, nil)
	for range 2 {
		p.Send(sessiontest.ClientHello)
		if l := p.Answer("0").Line; strings.Contains(l, "dev.mcp-jail") || !strings.Contains(l, `"_meta":{}`) {
			t.Errorf("got %q", l)
		}
	}
	p.Nothing()
	if f.Started("") != 1 {
		t.Error("the second was not from the cache")
	}
}

// TestRevalidate: the client is told once that a list has changed, and not if it has not.
func TestRevalidate(t *testing.T) {
	t.Parallel()
	for _, tools := range []string{sessiontest.AllTools, "echo,other"} {
		t.Run(tools, func(t *testing.T) {
			kept := keptIn(t.TempDir() + "/lists")
			first := beginStateless(t, sessiontest.NewShop(), kept)
			list := first.Opening()
			first.Nothing()
			f := sessiontest.NewShop()
			f.Options = func(string, int) string { return "tools=" + tools }
			p := beginStateless(t, f, kept)
			if again := p.Opening(); again != list {
				t.Errorf("%q", again)
			}
			if tools != sessiontest.AllTools {
				p.Told("notifications/tools/list_changed")
				p.Send(sessiontest.Legacy("1", "tools/list", "{}"))
				sessiontest.Has(t, p.Answer("1").Line, `"tools":[{"name":"echo"},{"name":"other"}]`)
				// That is done once, however often the client asks.
				for i := range 5 {
					p.Send(sessiontest.Legacy(fmt.Sprint(10+i), "tools/list", "{}"))
					p.Answer(fmt.Sprint(10 + i))
				}
			}
			sessiontest.Eventually(t, "the list is asked for again", func() bool { return strings.Contains(f.Saw("", 0), "tools/list") })
			p.Ask(sessiontest.Legacy("2", "resources/read", `{}`))
			p.Nothing()
			if n := strings.Count(f.Saw("", 0), "tools/list"); n != 1 || f.Started("") != 1 {
				t.Errorf("asked %d times, %d processes", n, f.Started(""))
			}
		})
	}
}

// TestListChanged: a list_changed of the server leads to a request for the list, and the
// client is told if the list differs.
func TestListChanged(t *testing.T) {
	t.Parallel()
	for _, changes := range []bool{true, false} {
		f := sessiontest.NewShop()
		to := map[bool]string{true: "a2", false: "a1"}[changes]
		f.Options = func(string, int) string { return "tools=a1 changing=" + to }
		p := beginStateless(t, f, nil)
		sessiontest.Has(t, p.Opening(), `"name":"a1"`)
		p.Send(sessiontest.Legacy("1", "resources/list", "{}")) // which it changes at
		p.Answer("1")
		sessiontest.Eventually(t, "the list is asked for again", func() bool { return strings.Count(f.Saw("", 0), "tools/list") >= 2 })
		if changes {
			p.Told("notifications/tools/list_changed")
		}
		sessiontest.Has(t, p.Ask(sessiontest.Legacy("2", "tools/list", "{}")).Line, `"name":"`+to+`"`)
		p.Nothing()
	}
}

// TestListChangedWithoutEnd: a server that sends list_changed after each list is not asked
// without end.
func TestListChangedWithoutEnd(t *testing.T) {
	t.Parallel()
	f := sessiontest.NewShop()
	f.Options = func(string, int) string { return "list-changed" }
	p := beginStateless(t, f, func(s *session.Session, _ *Options) { session.TimesOf(s).Tick = time.Hour })
	p.Greet()
	p.Ask(sessiontest.Legacy("1", "tools/list", "{}"))
	sessiontest.Eventually(t, "it is asked again", func() bool { return strings.Count(f.Saw("", 0), "tools/list") > 1 })
	for _, id := range []string{"2", "3", "4"} { // each has the background look
		p.Ask(sessiontest.CallOf(id, "echo", "{}"))
	}
	p.Nothing()
	if n := strings.Count(f.Saw("", 0), "tools/list"); n != 2 {
		t.Errorf("it was asked %d times", n)
	}
}

// TestPages: the client gets each page of a list as it is, and the whole list decides
// about warm workers and warnings.
func TestPages(t *testing.T) {
	t.Parallel()
	f := sessiontest.NewShop()
	f.Options = func(string, int) string { return "pages tools=echo,fail,ask" }
	p := beginStateless(t, f, func(_ *session.Session, o *Options) {
		o.Declared = func() []string { return []string{"ask", "nothing", "fail"} }
	})
	p.Greet()
	for i, params := range []string{`{"cursor":"2"}`, `{}`, `{"cursor":"1"}`, `{"cursor":"2"}`, `{"cursor":"2"}`} {
		l := p.Ask(sessiontest.Legacy(fmt.Sprint(i), "tools/list", params)).Line
		sessiontest.Has(t, l, []string{"ask", "echo", "fail", "ask", "ask"}[i])
	}
	p.Ask(sessiontest.CallOf("9", "echo", "{}"))
	stderr := p.Nothing()
	if strings.Count(stderr, "warning") != 1 || !strings.Contains(stderr, "[servers.test.tools.nothing] is for a tool that the server does not offer") {
		t.Errorf("stderr %q", stderr)
	}
}

// TestUnlisted: a call of a tool that is not listed leads to a request for the list, and
// is refused if that does not have the tool. A server that reads names loosely would run
// another one.
func TestUnlisted(t *testing.T) {
	t.Parallel()
	f := sessiontest.NewShop()
	f.Options = func(_ string, n int) string { return "pages tools=read,echo" }
	p := beginStateless(t, f, func(_ *session.Session, o *Options) { o.Declared = func() []string { return []string{"hidden"} } })
	p.Greet()
	p.Send(sessiontest.CallOf("1", "echo", "{}")) // before the first tools/list
	sessiontest.Has(t, p.Answer("1").Line, "tool=echo")
	for i, name := range []string{"READ ", "Read", "read\u00a0", "nothing", ""} {
		id := fmt.Sprint(10 + i)
		l := p.Ask(sessiontest.CallOf(id, name, "{}")).Line
		if got := sessiontest.FailureOf(t, l).Error.Code; got != -32602 {
			t.Errorf("%q: %s", name, l)
		}
	}
	p.Send(sessiontest.CallOf("2", "hidden", "{}"), sessiontest.CallOf("3", "read", "{}"))
	sessiontest.Has(t, p.Answer("2").Line, "tool=hidden")
	sessiontest.Has(t, p.Answer("3").Line, "tool=read")
	sessiontest.Has(t, p.Nothing(), `lists no tool "READ "`)
	f.Mu.Lock()
	defer f.Mu.Unlock()
	for _, tool := range f.Tools {
		if !slices.Contains([]string{"", "echo", "hidden", "read"}, tool) {
			t.Errorf("a process was started for %q", tool)
		}
	}
}

// TestDieOnList: a server that ends on tools/list leads to a failure with a reason.
func TestDieOnList(t *testing.T) {
	t.Parallel()
	f := sessiontest.NewShop()
	f.Options = func(string, int) string { return "die-list" }
	p := beginStateless(t, f, nil)
	p.Greet()
	sessiontest.Has(t, p.Ask(sessiontest.Legacy("1", "tools/list", "{}")).Line, `"stage":"list"`)
	sessiontest.Has(t, p.Ask(sessiontest.CallOf("2", "echo", "{}")).Line, `"stage":`, "dev.mcp-jail/failure")
	sessiontest.Has(t, p.Ask(sessiontest.Legacy("3", "resources/list", "{}")).Line, `"resources":[]`)
	p.Nothing()
}

// TestToolsOfPool: only tools with warm workers are entered in the pool, and each once.
func TestToolsOfPool(t *testing.T) {
	t.Parallel()
	s := idleSession(t, session.Session{}, Options{Warm: func(tool string) int { return strings.Count(tool, "echo") }})
	for range 3 {
		s.discovery.addToolsPage([]byte(`{"tools":[{"name":"echo"},{"name":"other"}]}`), true)
	}
	if len(s.pool.warmTools) != 1 || s.pool.warmTools[0].name != "echo" {
		t.Errorf("the pool has %d tools", len(s.pool.warmTools))
	}
}

// tableOf returns a table of its own, and a function that makes requests for it.
func tableOf(t *testing.T, maxCalls int) (*requestTable, func(id int) *clientRequest) {
	t.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	testkit.Must(t, err)
	t.Cleanup(func() { null.Close() })
	s := idleSession(t, session.Session{In: null, Out: null, Err: null}, Options{MaxCalls: maxCalls})
	return &s.dispatcher.table, func(id int) *clientRequest {
		f := mcpproxy.Parse(fmt.Appendf(nil, `{"id":%d,"method":"tools/call"}`, id))
		return &clientRequest{id: f.Messages[0].ID, frame: f, done: make(chan struct{}), cancel: func() {}}
	}
}

// TestClaimOnce: of several goroutines that want to answer a request one may, while the request is
// entrusted to a worker.
func TestClaimOnce(t *testing.T) {
	t.Parallel()
	table, request := tableOf(t, 1)
	for i := range 40 {
		rq, w := request(i), &worker{requests: map[string]*clientRequest{}}
		if !table.add(rq) || table.add(request(i)) {
			t.Fatal("an id is in the table twice, or not at all")
		}
		var claimed atomic.Int32
		var all sync.WaitGroup
		// A goroutine that has waited for a mutex for 1 ms gets it before one that unlocks and locks it
		// again. So if claim unlocked between looking and acting, all would look before one acts.
		table.mu.Lock()
		for range 4 {
			all.Go(func() {
				if table.claim(rq) {
					claimed.Add(1)
					table.finish(rq)
				}
			})
		}
		all.Go(func() { table.entrust(rq, w) })
		time.Sleep(3 * time.Millisecond)
		early := claimed.Load()
		table.mu.Unlock()
		table.mu.Lock()
		time.Sleep(time.Millisecond)
		table.mu.Unlock()
		all.Wait()
		if n := claimed.Load(); n != 1 || early != 0 || len(table.open) != 0 {
			t.Fatalf("request %d was claimed %d times, %d of them without the lock; %d are open", i, n, early, len(table.open))
		}
	}
}

// TestEntrust: a worker gets a request that is open, and none that was answered, even if another
// request has its id by now.
func TestEntrust(t *testing.T) {
	t.Parallel()
	table, request := tableOf(t, 2)
	w := &worker{requests: map[string]*clientRequest{}}
	open, answered := request(1), request(2)
	table.add(open)
	table.add(answered)
	table.claim(answered)
	table.finish(answered)
	refused := func() bool {
		f, _ := table.entrust(answered, w)
		return f == nil && answered.worker == nil && len(w.requests) == 0 && !w.active
	}
	if !refused() {
		t.Error("a worker has a request that was answered")
	}
	again := request(2)
	table.add(again)
	if !refused() {
		t.Error("a worker has a request that was answered, whose id another one has")
	}
	for i, rq := range []*clientRequest{open, again} {
		if f, beside := table.entrust(rq, w); f == nil || beside != (i > 0) || w.requests[rq.key()] != rq || table.workerOf(rq) != w || !w.active {
			t.Errorf("the worker has no request %s, or beside is %t", rq.id, beside)
		}
	}
}
