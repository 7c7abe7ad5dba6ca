//go:build unix

package lifecycle

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/lifecycle/catalog"
)

// keptIn makes sessions share a catalog.
func keptIn(c *catalog.Catalog) func(*Session, *Stateless) {
	return func(_ *Session, o *Stateless) { o.Catalog = c }
}

// opening sends initialize and tools/list, and returns the list of tools.
func (p *play) opening() string {
	p.t.Helper()
	p.greet()
	p.send(legacy("-1", "tools/list", "{}"))
	return p.answer("-1").line
}

// TestCatalog: a session answers from what an earlier session has kept, and revalidates
// it.
func TestCatalog(t *testing.T) {
	t.Parallel()
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
	// A server that does not start offers no kept list either.
	p.send(legacy("2", "tools/list", "{}"))
	has(t, failureOf(t, p.answer("2").line).String(), "exec")
	p.close()
}

// TestTTL: a list is kept for as long as the server says.
func TestTTL(t *testing.T) {
	t.Parallel()
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

// TestOtherClient: a client with another name, other capabilities or another era gets no
// answers that were kept for the first client.
func TestOtherClient(t *testing.T) {
	t.Parallel()
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

// TestConcurrentFirstUse: two sessions fill a catalog at the same time.
func TestConcurrentFirstUse(t *testing.T) {
	t.Parallel()
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

// TestForgedHandshake: members with our reserved names are removed from an answer before
// it is kept.
func TestForgedHandshake(t *testing.T) {
	t.Parallel()
	f := newShop()
	f.options = func(string, int) string { return "forged-boot" }
	p := beginStateless(t, f, nil)
	for range 2 {
		p.send(clientHello)
		if l := p.answer("0").line; strings.Contains(l, "dev.mcp-jail") || !strings.Contains(l, `"_meta":{}`) {
			t.Errorf("got %q", l)
		}
	}
	p.nothing()
	if f.started("") != 1 {
		t.Error("the second was not from the catalog")
	}
}
