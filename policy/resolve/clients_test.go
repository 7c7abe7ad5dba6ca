package resolve

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestClientFilesAreKept tests that a grant of the home directory writes no file in which a client looks
// for servers.
func TestClientFilesAreKept(t *testing.T) {
	const toml = "[servers.s]\ncommand = \"/usr/bin/env\"\n[[servers.s.access.fs]]\npath = \"~\"\nread = true\ncreate = true\nupdate = true\ndelete = true\n"
	for os, home := range map[string]string{"darwin": "/Users/u", "linux": "/home/u"} {
		lines, files := []string{aSystem, "f " + home + "/Documents/x"}, []string{}
		if os == "darwin" {
			lines[0] = aMac
		}
		for _, c := range clients.All() {
			for _, place := range c.Places {
				loc, ok := place.Locate(clients.Host{OS: os, Home: home})
				file := loc.File
				if file == "" {
					file = loc.Dir + "/" + strings.ReplaceAll(loc.Pattern, "*", "x")
				}
				if ok && place.Scope == clients.User && policy.Within(file, home) {
					files = append(files, file)
					lines = append(lines, "f "+strings.ReplaceAll(file, " ", "%20"))
				}
			}
		}
		if len(files) < 20 {
			t.Fatalf("%s: only %q", os, files)
		}
		resolved := mustResolve
		if os == "darwin" {
			resolved = mustOnMac
		}
		p, _ := resolved(t, newFake(lines...), toml)
		for _, file := range files {
			if p.Allows(policy.OpWrite, file) {
				t.Errorf("%s: %s can be written", os, file)
			}
		}
		if !p.Allows(policy.OpWrite, home+"/Documents/x") {
			t.Errorf("control: %s: no file can be written", os)
		}
	}
}
