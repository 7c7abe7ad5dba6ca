package meaning_test

import (
	"github.com/mcp-jail/mcp-jail/cmd/internal/meaning"
	"strings"
	"testing"
)

// TestInstead: a line that starts a container of a known image has another line.
func TestInstead(t *testing.T) {
	for line, want := range map[string]string{
		"docker run -i --rm mcp/time --local-timezone UTC":                   "uvx mcp-server-time",
		"/usr/bin/podman run --rm -i docker.io/mcp/time:1":                   "uvx mcp-server-time",
		"docker run -i -v /a/b:/projects/b:ro mcp/filesystem /projects/b":    "npx -y @modelcontextprotocol/server-filesystem",
		"docker run --pull=always -i ghcr.io/github/github-mcp-server stdio": "github-mcp-server",
		"docker run -i unknown/image":                                        "",
		"docker mcp gateway run":                                             "",
	} {
		got := meaning.Instead(strings.Fields(line))
		_, got, _ = strings.Cut(got, "without one: ")
		if got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}
