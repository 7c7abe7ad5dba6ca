//go:build unix

package lifecycle

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/lifecycle/catalog"
)

// kept returns what makes sessions share a catalogue.
func keptIn(c *catalog.Catalog) func(*Session, *Stateless) {
	return func(_ *Session, o *Stateless) { o.Catalog = c }
}

// opening is what a client begins with; it returns the list of tools.
func (p *play) opening() string {
	p.t.Helper()
	p.greet()
	p.send(legacy("-1", "tools/list", "{}"))
	return p.answer("-1").line
}

// TestCatalog: what one session was told, the next one knows, and verifies it.
func TestCatalog(t *testing.T) {
	var c catalog.Catalog
	first := beginStateless(t, newShop(), keptIn(&c))
	list := first.opening()
	first.send(legacy("1", "resources/list", "{}"))
	first.answer("1")
	first.nothing()

	f := newShop()
	f.gate = make(chan struct{}) // until then no process is started
	f.errs = map[string]error{"": errExec}
	p := beginStateless(t, f, keptIn(&c))
	if again := p.opening(); again != list {
		t.Errorf("%q, and then %q", list, again)
	}
	close(f.gate)
	p.send(legacy("1", "resources/list", "{}")) // which is asked for each time
	has(t, failureOf(t, p.answer("1").line).String(), "exec")
	// What does not start does not offer what was kept, either.
	p.send(legacy("2", "tools/list", "{}"))
	has(t, failureOf(t, p.answer("2").line).String(), "exec")
	p.close()
}

// TestVerified: the client is told, once, that a list is another one by now, and only
// then.
func TestVerified(t *testing.T) {
	for _, tools := range []string{allTools, "echo,other"} {
		t.Run(tools, func(t *testing.T) {
			var c catalog.Catalog
			first := beginStateless(t, newShop(), keptIn(&c))
			list := first.opening()
			first.nothing()
			f := newShop()
			f.options = func(string, int) string { return "tools=" + tools }
			p := beginStateless(t, f, keptIn(&c))
			if again := p.opening(); again != list {
				t.Errorf("%q", again)
			}
			if tools != allTools {
				p.told("notifications/tools/list_changed")
				p.send(legacy("1", "tools/list", "{}"))
				has(t, p.answer("1").line, `"tools":[{"name":"echo"},{"name":"other"}]`)
			}
			eventually(t, "it is verified", func() bool { return strings.Contains(f.saw("", 0), "tools/list") })
			// That is done once, however often the client asks.
			for i := range 5 {
				p.send(legacy(fmt.Sprint(10+i), "tools/list", "{}"))
				p.answer(fmt.Sprint(10 + i))
			}
			p.send(legacy("2", "resources/read", `{}`))
			p.answer("2")
			p.nothing()
			if n := strings.Count(f.saw("", 0), "tools/list"); n != 1 || f.started("") != 1 {
				t.Errorf("asked %d times, %d processes", n, f.started(""))
			}
		})
	}
}

// TestChangesTold: what the discovery process says of its lists is looked at before the
// client hears of it.
func TestChangesTold(t *testing.T) {
	for _, changes := range []bool{true, false} {
		f := newShop()
		to := map[bool]string{true: "a2", false: "a1"}[changes]
		f.options = func(string, int) string { return "tools=a1 changing=" + to }
		p := beginStateless(t, f, nil)
		has(t, p.opening(), `"name":"a1"`)
		p.send(legacy("1", "resources/list", "{}")) // which it changes at
		p.answer("1")
		eventually(t, "the list is asked for again", func() bool { return strings.Count(f.saw("", 0), "tools/list") == 2 })
		if changes {
			p.told("notifications/tools/list_changed")
		}
		p.send(legacy("2", "tools/list", "{}"))
		has(t, p.answer("2").line, `"name":"`+to+`"`)
		p.nothing()
	}
}

// TestTTL: how long a list may be used is the server's to say.
func TestTTL(t *testing.T) {
	for _, row := range []struct {
		ttl  string
		asks int // of five
	}{{"60000", 1}, {"0", 5}, {"-1", 5}, {"20", 5}} {
		f := newShop()
		f.options = func(string, int) string { return "ttl=" + row.ttl }
		p := beginStateless(t, f, nil)
		for i := range 5 {
			p.send(modern(fmt.Sprint(i), "tools/list", ""))
			has(t, p.answer(fmt.Sprint(i)).line, `"ttlMs":`)
			if row.ttl == "20" {
				time.Sleep(25 * time.Millisecond)
			}
		}
		p.nothing()
		if n := strings.Count(f.saw("", 0), "tools/list"); n != row.asks {
			t.Errorf("ttlMs %s: asked %d times", row.ttl, n)
		}
	}
}

// TestOtherClient: what one client was told is not for another one: with other
// capabilities, another name, of the other era.
func TestOtherClient(t *testing.T) {
	var c catalog.Catalog
	first := beginStateless(t, newShop(), keptIn(&c))
	first.opening()
	first.nothing()
	for _, hello := range []string{helloFrom("0", `{"roots":{}}`), strings.Replace(clientHello, `"name":"c"`, `"name":"d"`, 1), strings.Replace(clientHello, "2025-06-18", "2025-03-26", 1), clientHello} {
		f := newShop()
		f.options = func(string, int) string { return "tools=another" }
		p := beginStateless(t, f, keptIn(&c))
		p.send(hello, initialized)
		p.answer("0")
		p.send(legacy("1", "tools/list", "{}"))
		if l := p.answer("1").line; strings.Contains(l, "another") == (hello == clientHello) {
			t.Errorf("%s: %q", hello, l)
		}
		p.close()
	}
}

// TestConcurrentFirstUse: two sessions may fill a catalogue at the same time.
func TestConcurrentFirstUse(t *testing.T) {
	c := catalog.Catalog{Dir: t.TempDir() + "/catalog"}
	var plays []*play
	for range 3 {
		p := beginStateless(t, newShop(), keptIn(&c))
		p.send(clientHello, legacy("-1", "tools/list", "{}"))
		plays = append(plays, p)
	}
	for _, p := range plays {
		p.answer("0")
		has(t, p.answer("-1").line, `{"name":"echo"}`)
		p.nothing()
	}
	f := newShop()
	f.gate = make(chan struct{})
	p := beginStateless(t, f, keptIn(&c))
	has(t, p.opening(), `{"name":"echo"}`)
	close(f.gate)
	p.close()
}

// TestPages: a list in parts is passed as it is, and whole for what depends on it.
func TestPages(t *testing.T) {
	f := newShop()
	f.options = func(string, int) string { return "pages tools=echo,fail,ask" }
	p := beginStateless(t, f, func(_ *Session, o *Stateless) { o.Declared = []string{"ask", "nothing", "fail"} })
	p.greet()
	for i, params := range []string{`{"cursor":"2"}`, `{}`, `{"cursor":"1"}`, `{"cursor":"2"}`, `{"cursor":"2"}`} {
		p.send(legacy(fmt.Sprint(i), "tools/list", params))
		l := p.answer(fmt.Sprint(i)).line
		has(t, l, []string{"ask", "echo", "fail", "ask", "ask"}[i])
	}
	p.session.cache.mu.Lock()
	if paged := p.session.cache.partialTools; paged != nil {
		t.Errorf("%q are kept", paged)
	}
	p.session.cache.mu.Unlock()
	p.send(callOf("9", "echo", "{}"))
	p.answer("9")
	stderr := p.nothing()
	if strings.Count(stderr, "warning") != 1 || !strings.Contains(stderr, "[servers.test.tools.nothing] is for a tool that the server does not offer") {
		t.Errorf("stderr %q", stderr)
	}
}

// TestUnlisted: a tool that is listed nowhere is asked for once more, and refused then:
// a server that is less exact about names would run another one.
func TestUnlisted(t *testing.T) {
	f := newShop()
	f.options = func(_ string, n int) string { return "pages tools=read,echo" }
	p := beginStateless(t, f, func(_ *Session, o *Stateless) { o.Declared = []string{"hidden"} })
	p.greet()
	p.send(callOf("1", "echo", "{}")) // nobody has asked for the list yet
	has(t, p.answer("1").line, "tool=echo")
	for i, name := range []string{"READ ", "Read", "read\u00a0", "nothing", ""} {
		id := fmt.Sprint(10 + i)
		p.send(callOf(id, name, "{}"))
		l := p.answer(id).line
		if got := failureOf(t, l).Error.Code; got != -32602 {
			t.Errorf("%q: %s", name, l)
		}
	}
	p.send(callOf("2", "hidden", "{}"), callOf("3", "read", "{}"))
	has(t, p.answer("2").line, "tool=hidden")
	has(t, p.answer("3").line, "tool=read")
	has(t, p.nothing(), `lists no tool "READ "`)
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, tool := range f.tools {
		if !slices.Contains([]string{"", "echo", "hidden", "read"}, tool) {
			t.Errorf("a process was started for %q", tool)
		}
	}
}

// TestDieOnList: a server that ends on tools/list is a failure with a reason.
func TestDieOnList(t *testing.T) {
	f := newShop()
	f.options = func(string, int) string { return "die-list" }
	p := beginStateless(t, f, nil)
	p.greet()
	p.send(legacy("1", "tools/list", "{}"))
	has(t, p.answer("1").line, `"stage":"list"`)
	p.send(callOf("2", "echo", "{}"))
	has(t, p.answer("2").line, `"stage":`, "dev.mcp-jail/failure")
	p.send(legacy("3", "resources/list", "{}"))
	has(t, p.answer("3").line, `"resources":[]`)
	p.nothing()
}
