//go:build unix

package lifecycle

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestPages: the client gets each page of a list as it is, and the whole list decides
// about warm workers and warnings.
func TestPages(t *testing.T) {
	t.Parallel()
	f := newShop()
	f.options = func(string, int) string { return "pages tools=echo,fail,ask" }
	p := beginStateless(t, f, func(_ *Session, o *Stateless) {
		o.Declared = func() []string { return []string{"ask", "nothing", "fail"} }
	})
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

// TestUnlisted: a call of a tool that is not listed leads to a request for the list, and
// is refused if that does not have the tool. A server that reads names loosely would run
// another one.
func TestUnlisted(t *testing.T) {
	t.Parallel()
	f := newShop()
	f.options = func(_ string, n int) string { return "pages tools=read,echo" }
	p := beginStateless(t, f, func(_ *Session, o *Stateless) { o.Declared = func() []string { return []string{"hidden"} } })
	p.greet()
	p.send(callOf("1", "echo", "{}")) // before the first tools/list
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

// TestDieOnList: a server that ends on tools/list leads to a failure with a reason.
func TestDieOnList(t *testing.T) {
	t.Parallel()
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

// TestManyTools: the tools that are remembered are bounded, and so are those with warm
// workers.
func TestManyTools(t *testing.T) {
	t.Parallel()
	s := idleSession(t, Session{}, Stateless{Warm: func(tool string) int { return strings.Count(tool, "echo") }})
	for n := range 3 {
		list := []string{`{"name":"echo"}`}
		for i := range maxTools / 2 {
			list = append(list, fmt.Sprintf(`{"name":"%d %d"}`, n, i))
		}
		s.addToolsPage([]byte(`{"tools":[`+strings.Join(list, ",")+`]}`), true)
	}
	if n, tools := len(s.cache.tools), s.pool.order; n != maxTools || !s.cache.tools["0 1"] || len(tools) != 1 || tools[0] != "echo" {
		t.Errorf("%d tools, %d with warm workers", n, len(tools))
	}
	s = idleSession(t, Session{}, Stateless{})
	long := strings.Repeat("x", maxToolName)
	s.addToolsPage([]byte(`{"tools":[{"name":"`+long+`"},{"name":"`+long+`x"}]}`), true)
	if len(s.cache.tools) != 1 || !s.cache.tools[long] {
		t.Errorf("%d tools with long names, want the shorter of two", len(s.cache.tools))
	}
}
