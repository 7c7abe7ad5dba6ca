package clients_test

import (
	"path"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// TestHidden: the files of the user's own in which clients look for servers have tokens and ids of other
// servers, so no grant of a directory around one shows it, also where a variable moves it. Cline names the file itself.
func TestHidden(t *testing.T) {
	home := t.TempDir()
	h := testkit.Get(hostfs.LocalHostOf(home, nil))(t)
	h.Dir = home
	for _, os := range []string{"linux", "darwin"} {
		h.OS = os
		host := clients.Host{OS: os, Home: home, Env: func(string) string { return "" }}
		for _, client := range clients.All() {
			for _, place := range client.Places {
				at, ok := place.Locate(host)
				if !ok || place.Scope != clients.User {
					continue
				}
				file := at.File
				if file == "" {
					file = path.Join(at.Dir, strings.NewReplacer("**/", "", "*", "x").Replace(at.Pattern))
				}
				if resolve.Sensitive(&h, &policy.Policy{}, file) == "" {
					t.Errorf("%s on %s: %s is not hidden", client.Name, os, file)
				}
				for _, move := range place.Moves {
					moved := h
					moved.Places = []string{move.Env + "=/elsewhere"}
					if at := strings.Replace(move.To, "$"+move.Env, "/elsewhere", 1); resolve.Sensitive(&moved, &policy.Policy{}, at) == "" && !strings.HasPrefix(move.Env, "CLINE_") {
						t.Errorf("%s: %s is not hidden with %s", client.Name, at, move.Env)
					}
				}
				if other := path.Join(home, "notes", path.Base(file)); resolve.Sensitive(&h, &policy.Policy{}, other) != "" {
					t.Errorf("%s is hidden", other)
				}
			}
		}
	}
}
