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
