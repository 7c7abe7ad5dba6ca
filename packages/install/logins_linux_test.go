package install

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/internal/testkit/registry"
)

// TestLoginsOnNoDisk: while npm and pip fetch with a login, no file below the user's directories has it but the one in
// which the user has written it.
func TestLoginsOnNoDisk(t *testing.T) {
	private := serverWheel("private-server")
	private.Token = "Basic dTpwNHNz" // u:p4ss
	stall := []registry.Fault{{Path: "*.tgz", After: 1, Stall: true}, {Path: "*.whl", After: 1, Stall: true}}
	for _, c := range []struct {
		words, file, text, secret string
		stock                     registry.Stock
	}{
		{"@scope/server", ".npmrc", "//HOST/:_authToken=" + token, token, registry.Stock{Packages: []registry.Package{plain("1.0.0"), server("1.0.0")}, Token: token, Faults: stall}},
		{"uvx private-server", ".netrc", "machine 127.0.0.1 login u password p4ss", "p4ss", registry.Stock{Wheels: []registry.Wheel{private}, Faults: stall}},
	} {
		t.Run(c.words, func(t *testing.T) {
			site := registry.Start(t, c.stock)
			c.text = strings.ReplaceAll(c.text, "HOST", strings.TrimPrefix(site.URL, "http://"))
			u := newUser(t, site.URL)
			testkit.WriteFile(t, filepath.Join(u.host.Home, c.file), c.text+"\n")
			i := u.installer()
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error)
			go func() {
				_, err := i.Install(ctx, line(t, strings.Fields(c.words)...))
				ended <- err
			}()
			testkit.Eventually(t, c.words+" is fetched with the login", func() bool {
				select {
				case err := <-ended:
					t.Fatalf("%s: %v\n%s", c.words, err, u.told)
				default:
				}
				return slices.ContainsFunc(site.Requests(), func(q registry.Request) bool { return q.Stalled })
			})
			for _, dir := range []string{"data", "config", "state", "cache"} {
				testkit.Equal(t, c.words+": the login is in", has(t, filepath.Join(u.dir, dir), c.secret), "")
			}
			testkit.Works(t, "the fetch has made no directory", testkit.ErrorOf(os.Stat(filepath.Join(i.Store.Dir, "staging"))))
			cancel()
			testkit.Fails(t, "it was stopped", <-ended, "")
		})
	}
}
