//go:build unix

package stateless

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
)

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
