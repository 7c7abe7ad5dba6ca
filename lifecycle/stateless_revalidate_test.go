//go:build unix

package lifecycle

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/lifecycle/catalog"
)

// TestRevalidate: the client is told once that a list has changed, and not if it has not.
func TestRevalidate(t *testing.T) {
	t.Parallel()
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
			eventually(t, "the server's answer has replaced the kept one", func() bool {
				cache := &p.session.cache
				cache.mu.Lock()
				defer cache.mu.Unlock()
				for _, e := range cache.entries {
					if e.entry.Answers["tools/list"].Stored.After(p.session.client.started) {
						return true
					}
				}
				return false
			})
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

// TestListChanged: a list_changed of the server leads to a request for the list, and the
// client is told if the list differs.
func TestListChanged(t *testing.T) {
	t.Parallel()
	for _, changes := range []bool{true, false} {
		f := newShop()
		to := map[bool]string{true: "a2", false: "a1"}[changes]
		f.options = func(string, int) string { return "tools=a1 changing=" + to }
		p := beginStateless(t, f, nil)
		has(t, p.opening(), `"name":"a1"`)
		p.send(legacy("1", "resources/list", "{}")) // which it changes at
		p.answer("1")
		eventually(t, "the list is asked for again", func() bool { return strings.Count(f.saw("", 0), "tools/list") >= 2 })
		if changes {
			p.told("notifications/tools/list_changed")
		}
		p.send(legacy("2", "tools/list", "{}"))
		has(t, p.answer("2").line, `"name":"`+to+`"`)
		p.nothing()
	}
}

// TestListChangedWithoutEnd: a server that sends list_changed after each list is not asked
// without end.
func TestListChangedWithoutEnd(t *testing.T) {
	t.Parallel()
	f := newShop()
	f.options = func(string, int) string { return "list-changed" }
	p := beginStateless(t, f, func(s *Session, _ *Stateless) { s.times.tick = time.Hour })
	p.greet()
	p.send(legacy("1", "tools/list", "{}"))
	p.answer("1")
	eventually(t, "it is asked again", func() bool { return strings.Count(f.saw("", 0), "tools/list") > 1 })
	for _, id := range []string{"2", "3", "4"} { // each has the background look
		p.send(callOf(id, "echo", "{}"))
		p.answer(id)
	}
	p.nothing()
	if n := strings.Count(f.saw("", 0), "tools/list"); n != 2 {
		t.Errorf("it was asked %d times", n)
	}
}
