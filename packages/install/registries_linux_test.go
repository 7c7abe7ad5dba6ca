package install

import (
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/internal/testkit/registry"
)

// TestInstallScopes installs a package whose scope has a registry of its own, with a token, and
// whose dependency comes from the usual one. The token goes to its registry only.
func TestInstallScopes(t *testing.T) {
	t.Parallel()
	usual := registry.Start(t, registry.Stock{Packages: []registry.Package{plain("1.0.0"), {Name: "@scope/server", Version: "9.0.0"}}})
	own := registry.Start(t, registry.Stock{Packages: []registry.Package{server("1.0.0"), plain("9.0.0")}, Token: token})
	u := newUser(t, usual.URL)
	testkit.WriteFile(t, filepath.Join(u.host.Home, ".npmrc"), "@scope:registry="+own.URL+"/\n"+strings.TrimPrefix(own.URL, "http:")+"/:_authToken="+token+"\n")
	others := u.installer() // a line of a project
	others.Own = false
	u.fails(others, "@scope/server", "E401", strings.TrimPrefix(own.URL, "http://"), "No login of yours was used", "mcp-jail install -- npx -y")
	for _, q := range own.Requests() {
		if strings.Contains(fmt.Sprint(q), token) {
			t.Errorf("a line of a project sent the token: %+v", q)
		}
	}
	u.installs(u.installer(), "@scope/server")
	u.runs(u.installer(), "@scope/server", "1.0.0")
	for _, q := range usual.Requests() {
		if q.Header.Get("Authorization") != "" || strings.HasPrefix(q.Path, "/@scope") {
			t.Errorf("the usual registry was asked for %s, with %q", q.URI, q.Header.Get("Authorization"))
		}
	}
}

// TestPrivateDependency installs a public package that needs one of a registry with a login: that is said.
func TestPrivateDependency(t *testing.T) {
	t.Parallel()
	open := registry.MCPServer{Name: "open", Dependencies: map[string]string{"@scope/server": "1", "plain": "1"}}.Package()
	usual := registry.Start(t, registry.Stock{Packages: []registry.Package{open, plain("1.0.0")}})
	own := registry.Start(t, registry.Stock{Packages: []registry.Package{server("1.0.0")}, Token: token})
	u := newUser(t, usual.URL)
	testkit.WriteFile(t, filepath.Join(u.host.Home, ".npmrc"), "@scope:registry="+own.URL+"/\n"+strings.TrimPrefix(own.URL, "http:")+"/:_authToken="+token+"\n")
	i, said := u.installer(), ""
	i.Note = func(line string) { said += line + "\n" }
	u.installs(i, "@scope/server") // the user has asked for it
	testkit.Equal(t, "the control", said, "")
	u.installs(i, "open")
	testkit.Equal(t, "what is said", said, "open needs @scope/server, which comes with your login from "+own.URL+": the server can read that code\n")
}

// TestInstallCertificate tests a registry whose certificate comes from an authority of its own.
func TestInstallCertificate(t *testing.T) {
	t.Parallel()
	site := httptest.NewUnstartedServer(registry.New(registry.Stock{Packages: []registry.Package{plain("1.0.0"), server("1.0.0")}}))
	site.Config.ErrorLog = log.New(io.Discard, "", 0) // npm ends the handshake
	site.StartTLS()
	defer site.Close()
	u := newUser(t, site.URL)
	u.fails(u.installer(), "@scope/server", "npm does not trust the registry's certificate", "npm config set cafile FILE")
	file := filepath.Join(u.host.Home, "authority.pem")
	testkit.WriteFile(t, file, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: site.Certificate().Raw})))
	u.host.Environ = append(u.host.Environ, "npm_config_cafile="+file)
	u.installs(u.installer(), "@scope/server")
	u.runs(u.installer(), "@scope/server", "1.0.0")
}
