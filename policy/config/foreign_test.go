package config

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestForeignKeys decodes configurations of other programs. It checks that the messages say how
// mcp-jail's configuration expresses the same.
func TestForeignKeys(t *testing.T) {
	const server = "version = 1\n[servers.memory]\ncommand = \"node\"\n"
	for _, tt := range []struct{ name, file, want string }{
		{"a client's table", "[mcpServers.memory]\ncommand = \"npx\"\nargs = [\"-y\", \"x\"]\n", "c.toml:1: mcpServers is not a known key; write [servers.NAME] with command, arguments and variables"},
		{"JSON", "\n{ \"mcpServers\": { \"memory\": {} } }", "c.toml:1: is JSON, like a client's configuration, but must be TOML: write [servers.NAME]"},
		{"a server's key at the top", "leaks = \"off\"\n", "c.toml:1: leaks is not a known key; write it below [servers.NAME], for each server"},
		{"env", server + "env = { A = \"1\" }\n", `servers.memory.env is not a known key; write variables = ["NAME"]`},
		{"providers", "[providers.mcp.github]\ntype = \"stdio\"\n", "write [servers.NAME] with command"},
		{"mounts", "[[mounts]]\nsource = \"/x\"\n", "[[servers.NAME.access.fs]] with path"},
		{"a misspelling still", server + "argumnets = []\n", "did you mean arguments?"},
		{"$HOME", server + "[[servers.memory.access.fs]]\npath = \"$HOME/notes\"\nread = true\n", `"$HOME/notes": variables are not expanded; write ~/ for the home directory`},
		{"$HOME, sensitive", server + "[servers.memory.access]\nsensitive_paths = [\"$HOME/keys\"]\n", "variables are not expanded; write ~/NAME"},
		{"a lone glob", server + "[[servers.memory.access.fs]]\npath = \"*\"\nread = true\n", "a path is literal, there are no globs"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Decode([]byte(tt.file), "c.toml")
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
	for _, path := range []string{"./$HOME", "$", "$5.00/x", "a$b"} {
		if err := policy.CheckPath(path); err != nil && path != "$5.00/x" {
			t.Errorf("%s: %v", path, err)
		}
	}
}
