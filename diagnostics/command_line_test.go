package diagnostics

import (
	"strings"
	"testing"
)

// TestOwnFile: what a server with a file of its own lacks is said as mcp-jail grant takes it.
func TestOwnFile(t *testing.T) {
	for file, want := range map[string]string{"/home/u/.config/mcp-jail/servers/github.toml": "grant --read ~/notes/a.md", "/home/u/.config/mcp-jail/config.toml": "[[servers.github.access.fs]]"} {
		ev := evidence("EACCES: permission denied, open '/home/u/notes/a.md'")
		defaultProfile(ev.Profile)
		ev.File = file
		if d := Diagnose(ev); !strings.Contains(d.Fix, want) || strings.Contains(d.Fix, "keep the workspace") == strings.Contains(file, "/servers/") {
			t.Errorf("%s: %s, want %s", file, d.Fix, want)
		}
	}
}
