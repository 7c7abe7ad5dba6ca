package config

import (
	"strings"
	"testing"
)

// TestCheckScope checks that the messages are those of docs/reference.md "Stateful and
// stateless".
func TestCheckScope(t *testing.T) {
	_, err := Decode([]byte(strings.Repeat("\n", 11)+"[servers.github]\ncommand = \"x\"\n[servers.github.tools.search.access]\n"), "mcp-jail.toml")
	want := `mcp-jail.toml:14: [servers.github.tools.search.access] cannot be enforced: server "github" is stateful.
  The server runs as one shared process, so a policy for one tool cannot be applied.
  Declare access for the whole server in  [servers.github.access]
  or set  stateful = false  so that each call gets its own process.`
	if err == nil || err.Error() != want {
		t.Errorf("\n got %v\nwant %s", err, want)
	}
	_, err = Decode([]byte("[servers.github]\ncommand = \"x\"\nstateful = false\n[[servers.github.access.fs]]\npath = \".\"\nread = true\n"), "mcp-jail.toml")
	want = `mcp-jail.toml:4: [servers.github.access] cannot be enforced: server "github" is stateless.
  Each call gets its own process, so there is no process that a policy for the whole server could be applied to.
  Declare access for each tool in  [servers.github.tools.TOOL.access]
  or set  stateful = true  so that one process serves the whole session.`
	if err == nil || err.Error() != want {
		t.Errorf("\n got %v\nwant %s", err, want)
	}
}
