//go:build unix

package stateless

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
)

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
