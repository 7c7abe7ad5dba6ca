//go:build unix

package stateless

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/lifecycle/catalog"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
)

// keptIn makes sessions share a catalog.
func keptIn(c *catalog.Catalog) func(*session.Session, *Options) {
	return func(_ *session.Session, o *Options) { o.Catalog = c }
}

// TestCatalog: a session answers from what an earlier session has kept, and revalidates
// it.
func TestCatalog(t *testing.T) {
	t.Parallel()
	var c catalog.Catalog
	first := beginStateless(t, sessiontest.NewShop(), keptIn(&c))
	list := first.Opening()
	first.Send(sessiontest.Legacy("1", "resources/list", "{}"))
	first.Answer("1")
	first.Nothing()

	f := sessiontest.NewShop()
	f.Gate = make(chan struct{}) // until then no process is started
	f.Errs = map[string]error{"": sessiontest.ErrExec}
	p := beginStateless(t, f, keptIn(&c))
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

// TestUpgradeWithinTTL: when the program changes, no client gets the lists of the old one, neither
// for the time that the server has set nor until they are revalidated.
func TestUpgradeWithinTTL(t *testing.T) {
	t.Parallel()
	program := t.TempDir() + "/server"
	var c catalog.Catalog
	for _, tools := range []string{"old", "new"} {
		testkit.Must(t, os.WriteFile(program, []byte("the program of "+tools), 0o700))
		f := sessiontest.NewShop()
		f.Options = func(string, int) string { return "ttl=60000 tools=" + tools }
		p := beginStateless(t, f, func(s *session.Session, o *Options) {
			s.Profile.Program, o.Catalog = program, &c
		})
		for id, line := range map[string]string{"1": sessiontest.Modern("1", "tools/list", ""), "2": sessiontest.Legacy("2", "tools/list", "{}")} {
			if id == "2" {
				p.Greet()
			}
			p.Send(line)
			sessiontest.Has(t, p.Answer(id).Line, `{"name":"`+tools+`"}`)
		}
		p.Nothing()
	}
}

// TestOtherClient: a client with another name, other capabilities or another era gets no
// answers that were kept for the first client.
func TestOtherClient(t *testing.T) {
	t.Parallel()
	var c catalog.Catalog
	first := beginStateless(t, sessiontest.NewShop(), keptIn(&c))
	first.Opening()
	first.Nothing()
	for _, hello := range []string{sessiontest.HelloFrom("0", `{"roots":{}}`), strings.Replace(sessiontest.ClientHello, `"name":"c"`, `"name":"d"`, 1), strings.Replace(sessiontest.ClientHello, "2025-06-18", "2025-03-26", 1), sessiontest.ClientHello} {
		f := sessiontest.NewShop()
		f.Options = func(string, int) string { return "tools=another" }
		p := beginStateless(t, f, keptIn(&c))
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
		t.Error("the second was not from the catalog")
	}
}
