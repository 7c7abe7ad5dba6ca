package commands

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/internal/testkit/registry"
	"github.com/mcp-jail/mcp-jail/packages/store"
)

// gated is a registry that holds the archives of some packages back.
type gated struct {
	*registry.Registry
	asked map[string]chan struct{} // by package: an archive was asked for
	gates map[string]chan struct{} // by package: closed when the archive may come; none: it comes
}

func (g *gated) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	if name, file, ok := strings.Cut(strings.TrimPrefix(q.URL.Path, "/"), "/-/"); ok && strings.HasSuffix(file, ".tgz") {
		select {
		case g.asked[name] <- struct{}{}:
		default:
		}
		if gate := g.gates[name]; gate != nil {
			select {
			case <-gate:
			case <-q.Context().Done():
				return
			case <-time.After(testkit.Patience):
			}
		}
	}
	g.Registry.ServeHTTP(w, q)
}

// newGated serves packages of one server each, and returns a user with a server for each name.
func newGated(t *testing.T, held []string, packages, servers []string) (*gated, *npmUser) {
	t.Helper()
	stock := registry.Stock{}
	g := &gated{asked: map[string]chan struct{}{}, gates: map[string]chan struct{}{}}
	for _, name := range packages {
		stock.Packages = append(stock.Packages, registry.MCPServer{Name: name}.Package())
		g.asked[name] = make(chan struct{}, 1)
	}
	for _, name := range held {
		g.gates[name] = make(chan struct{})
	}
	g.Registry = registry.New(stock)
	served := httptest.NewServer(g)
	t.Cleanup(served.Close)
	u := newNPMUser(t, &registry.Site{Registry: g.Registry, URL: served.URL})
	text := ""
	for _, name := range servers {
		text += fmt.Sprintf("[servers.%s]\ncommand = \"npx\"\narguments = [\"-y\", %q]\n", name, strings.TrimSuffix(name, "again"))
	}
	u.configure(text)
	return g, u
}

// pinned returns the names of the pinned packages.
func (u *npmUser) pinned() (names []string) {
	f, err := store.Load(filepath.Join(u.home, ".config/mcp-jail", store.FileName))
	must(u.t, err)
	for _, e := range f.Entries() {
		names = append(names, e.Name)
	}
	return names
}

var outcome = regexp.MustCompile(`(?m)^(?:error: )?(\w+ (?:is ready|was ready already|is not ready)):`)

// outcomes returns what was said of each package, in its order.
func outcomes(said string) string {
	var all []string
	for _, m := range outcome.FindAllStringSubmatch(said, -1) {
		all = append(all, m[1])
	}
	return strings.Join(all, ", ")
}

// TestInstallSeveral: one package is missing, and one has two servers. What is said has the order of the servers.
func TestInstallSeveral(t *testing.T) {
	t.Parallel()
	g, u := newGated(t, nil, []string{"alpha", "beta", "charlie", "delta"}, []string{"alpha", "beta", "cgone", "charlie", "delta", "deltaagain"})
	said := u.types(1, []string{"install"}, "cgone", "E404")
	if got, want := outcomes(said), "alpha is ready, beta is ready, cgone is not ready, charlie is ready, delta is ready, deltaagain was ready already"; got != want {
		t.Errorf("%s, want %s:\n%s", got, want, said)
	}
	if got := len(u.pinned()); got != 4 {
		t.Errorf("pinned are %q", u.pinned())
	}
	if left, err := filepath.Glob(filepath.Join(u.home, ".local/share/mcp-jail/packages/staging/*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
	for _, name := range []string{"alpha", "delta"} {
		g.Publish(registry.MCPServer{Name: name, Version: "2.0.0"}.Package())
	}
	said = u.types(0, []string{"install", "--update", "--yes", "delta", "beta", "deltaagain", "alpha"}, "alpha 1.0.0 → 2.0.0", "beta 1.0.0 is the newest already")
	if strings.Count(said, "delta 1.0.0 → 2.0.0") != 1 || !strings.Contains(said, "delta 2.0.0 is the newest already") || strings.Count(said, "is ready: ") != 2 {
		t.Errorf("updates: %s", said)
	}
}

// TestInstallInterrupted: what is complete stays, and is said. Of the rest nothing is in the store.
func TestInstallInterrupted(t *testing.T) {
	t.Parallel()
	g, u := newGated(t, []string{"delta"}, []string{"beta", "delta"}, []string{"beta", "delta"})
	cmd := testkit.Self(commandsName, "install")
	var out bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = filepath.Join(u.home, "project"), u.env, &out, &out
	must(t, cmd.Start())
	testkit.Eventually(t, "beta is pinned, and delta is asked for", func() bool {
		return len(g.asked["delta"]) > 0 && len(u.pinned()) > 0
	})
	must(t, cmd.Process.Signal(syscall.SIGINT))
	cmd.Wait()
	said := out.String()
	if got := outcomes(said); cmd.ProcessState.ExitCode() != terminal.Failure || got != "beta is ready" || !strings.Contains(said, "Stopped. What was downloaded is kept") {
		t.Errorf("status %d, %q:\n%s", cmd.ProcessState.ExitCode(), got, said)
	}
	kept, err := os.ReadDir(filepath.Join(u.home, ".local/share/mcp-jail/packages/npm"))
	if err != nil || len(kept) != 1 || kept[0].Name() != "beta" || strings.Join(u.pinned(), " ") != "beta" {
		t.Errorf("the store has %v, %v; pinned are %q", kept, err, u.pinned())
	}
	close(g.gates["delta"])
	if got, want := outcomes(u.types(0, []string{"install"})), "beta was ready already, delta is ready"; got != want {
		t.Errorf("then %s, want %s", got, want)
	}
}
