package meaning

import (
	"strings"
	"testing"
)

// TestInstead: a line that starts a container of a known image has another line, with the paths of this
// host. Options with and without values are told apart, so that the image is the right word.
func TestInstead(t *testing.T) {
	for line, want := range map[string]string{
		"docker run -i --rm mcp/time":                                        "uvx mcp-server-time",
		"docker run -it --init mcp/time --local-timezone UTC":                "uvx mcp-server-time --local-timezone UTC",
		"/usr/bin/podman run --rm -i docker.io/mcp/time:1":                   "uvx mcp-server-time",
		"docker container run -i --network none --name mcp/fetch mcp/time":   "uvx mcp-server-time",
		"docker run -i -eA=b --env C=d -e E mcp/time":                        "uvx mcp-server-time, and move what -e sets into its variables",
		"docker run -i -e E mcp/time":                                        "uvx mcp-server-time",
		"docker run -i -v /a/b:/projects/b:ro mcp/filesystem /projects/b/c":  "npx -y @modelcontextprotocol/server-filesystem /a/b/c",
		"docker run -i --mount type=bind,src=/a,dst=/p mcp/filesystem /p /q": "npx -y @modelcontextprotocol/server-filesystem /a /q",
		"docker run --pull=always -i ghcr.io/github/github-mcp-server stdio": "github-mcp-server stdio",
		"docker run -i unknown/image":                                        "",
		"docker run -i":                                                      "",
		"docker run --name":                                                  "",
		"docker exec -i mcp/time":                                            "",
		"docker mcp gateway run":                                             "",
		"mcp/time":                                                           "",
		"npx docker run mcp/time":                                            "",
	} {
		got := Instead(strings.Fields(line))
		if _, after, is := strings.Cut(got, "write the entry as "); is {
			got = after
		}
		if got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}
